//! Dependencies between the library's modules point downwards only, as ARCHITECTURE.md's column of layers says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The column in ARCHITECTURE.md, lowest first: each module with the line that it stands on.
fn column(architecture: &str) -> BTreeMap<String, usize> {
    let (_, rest) = architecture.split_once("<!-- layers -->").expect("the column is marked");
    let (table, _) = rest.split_once("<!-- end of layers -->").expect("and its end");
    let rows = table.lines().filter(|l| l.starts_with("| `"));
    let mut column = BTreeMap::new();
    for (height, row) in rows.enumerate() {
        let cell = row.split('|').nth(1).expect("a first cell");
        for name in cell.split('`').skip(1).step_by(2) {
            assert!(column.insert(name.to_string(), height).is_none(), "`{name}` stands twice in the column");
        }
    }
    column
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("readable").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// What code outside tests and comments names with `crate::`: each name with its line.
fn named(text: &str) -> Vec<(usize, String)> {
    let mut names = Vec::new();
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or("");
    let mut list = false;
    for (n, line) in code.lines().enumerate() {
        let line = line.split("//").next().unwrap_or("");
        for part in line.split("crate::").skip(1) {
            if part.starts_with('{') {
                list = true;
            } else {
                let name: String = part.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
                names.push((n + 1, name));
            }
        }
        if list {
            // `use crate::{a, b::c};`, over lines
            let items = line.split_once("crate::{").map_or(line, |(_, items)| items);
            for item in items.split([',', '{', '}', ';']).map(str::trim) {
                let name: String = item.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
                if !name.is_empty() && name != "self" {
                    names.push((n + 1, name));
                }
            }
            list = !line.contains("};");
        }
    }
    names
}

/// What is wrong with the dependencies of one module.
fn upward(module: &str, text: &str, column: &BTreeMap<String, usize>) -> Vec<String> {
    let Some(&own) = column.get(module) else { return vec![format!("`{module}` is not in the column")] };
    let mut wrong = Vec::new();
    for (line, name) in named(text) {
        match column.get(&name) {
            Some(&other) if name != module && other >= own => {
                wrong.push(format!("line {line}: `{module}` uses `{name}`, which does not lie below it"))
            }
            _ => {}
        }
    }
    wrong
}

#[test]
fn every_module_uses_only_what_lies_below_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let architecture = std::fs::read_to_string(root.join("ARCHITECTURE.md")).expect("readable");
    let column = column(&architecture);
    let mut files = Vec::new();
    sources(&root.join("src"), &mut files);
    files.sort();
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for file in &files {
        let within = file.strip_prefix(root.join("src")).expect("below src");
        let first = within.iter().next().expect("a name").to_string_lossy();
        let module = first.strip_suffix(".rs").unwrap_or(&first).to_string();
        if module == "lib" {
            continue;
        }
        let text = std::fs::read_to_string(file).expect("readable");
        wrong.extend(
            upward(&module, &text, &column).into_iter().map(|w| format!("{}: {w}", within.display())),
        );
        seen.insert(module);
    }
    wrong.extend(column.keys().filter(|m| !seen.contains(*m)).map(|m| format!("there is no module `{m}`")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen.len() > 20, "{seen:?}");
}

#[test]
fn a_forbidden_use_is_found_in_each_of_its_forms() {
    let column: BTreeMap<String, usize> =
        [("ir", 0), ("opt", 1), ("ra", 2)].map(|(n, h)| (n.to_string(), h)).into();
    for bad in [
        "use crate::ra::Target;\n",
        "use crate::{ir, ra};\n",
        "use crate::{\n    ir::Inst,\n    ra,\n};\n",
        "fn f() {\n    let x = crate::ra::thing();\n}\n",
        "use crate::opt::x;\nuse crate::ra;\n",
    ] {
        assert_eq!(upward("opt", bad, &column).len(), 1, "{bad}");
    }
    for good in [
        "use crate::ir::Inst;\n",
        "// crate::ra is above\n",
        "#[cfg(test)]\nmod tests {\n    use crate::ra;\n}\n",
    ] {
        assert_eq!(upward("opt", good, &column), [] as [String; 0], "{good}");
    }
    assert_eq!(upward("new", "", &column), ["`new` is not in the column"]);
}
