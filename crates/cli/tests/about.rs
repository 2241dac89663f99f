//! What surrounds the program: its version, completions, manual pages, the schema of fixtures, licences of dependencies.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn nvir(args: &[&str]) -> String {
    let ran =
        Command::new(env!("CARGO_BIN_EXE_nvir")).args(args).current_dir(root()).output().expect("it runs");
    assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).expect("text")
}

#[test]
fn the_version_names_its_commit_where_there_is_one() {
    let version = nvir(&["--version"]);
    let rest = version.strip_prefix(&format!("nvir {}", env!("CARGO_PKG_VERSION"))).expect("name and number");
    let commit = rest.trim().trim_matches(['(', ')']).split(' ').next().unwrap_or_default();
    assert!(
        commit.is_empty() || commit.len() >= 7 && commit.chars().all(|c| c.is_ascii_hexdigit()),
        "{version}"
    );
}

#[test]
fn shells_and_man_know_every_command() {
    let help = nvir(&["--help"]);
    let (_, list) = help.split_once("Commands:\n").expect("a list");
    let names: Vec<&str> = list
        .lines()
        .take_while(|l| !l.is_empty())
        .filter_map(|l| l.strip_prefix("  ").filter(|l| !l.starts_with(' '))?.split(' ').next())
        .filter(|n| *n != "help")
        .collect();
    assert!(names.len() > 20 && names.contains(&"bisect"), "{names:?}");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = nvir(&["completions", shell]);
        assert!(names.iter().all(|n| text.contains(n)), "{shell}");
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("man");
    let _ = std::fs::remove_dir_all(&folder);
    nvir(&["man", folder.to_str().expect("text")]);
    for name in names {
        let page = std::fs::read_to_string(folder.join(format!("nvir-{name}.1"))).expect(name);
        assert!(page.contains(".SH SYNOPSIS"), "{name}");
    }
}

/// Whether a value is as a schema says: what schemas of fixtures use of JSON Schema.
fn valid(schema: &Value, all: &Value, value: &Value) -> bool {
    if let Some(path) = schema["$ref"].as_str() {
        let name = path.strip_prefix("#/$defs/").expect("a definition");
        assert!(all["$defs"][name].is_object(), "{name}");
        return valid(&all["$defs"][name], all, value);
    }
    let of_type = |t: &str| match t {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("no type {other}"),
    };
    let types = match &schema["type"] {
        Value::String(t) => of_type(t),
        Value::Array(list) => list.iter().filter_map(Value::as_str).any(of_type),
        _ => true,
    };
    let listed = schema["enum"].as_array().is_none_or(|list| list.contains(value));
    let any = schema["anyOf"].as_array().is_none_or(|list| list.iter().any(|s| valid(s, all, value)));
    let items = value.as_array().is_none_or(|list| {
        let n = list.len() as u64;
        schema["minItems"].as_u64().is_none_or(|min| n >= min)
            && schema["maxItems"].as_u64().is_none_or(|max| n <= max)
            && (!schema["items"].is_object() || list.iter().all(|v| valid(&schema["items"], all, v)))
    });
    let fields = value.as_object().is_none_or(|fields| {
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let known =
            |(key, v): (&String, &Value)| match (&schema["properties"][key], &schema["additionalProperties"])
            {
                (Value::Null, Value::Bool(more)) => *more,
                (Value::Null, Value::Null) => true,
                (Value::Null, more) => valid(more, all, v),
                (own, _) => valid(own, all, v),
            };
        required.into_iter().all(|key| fields.contains_key(key)) && fields.iter().all(known)
    });
    types && listed && any && items && fields
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").path()) {
        match entry.extension().and_then(|e| e.to_str()) {
            _ if entry.is_dir() => walk(&entry, found),
            Some("toml" | "json") => found.push(entry),
            _ => {}
        }
    }
}

#[test]
fn the_schema_takes_every_fixture_and_refuses_what_is_none() {
    let schema: Value = serde_json::from_str(&nvir(&["check", "--schema"])).expect("JSON");
    let mut files = Vec::new();
    walk(&root().join("tgsi"), &mut files);
    walk(&root().join("nir-fixtures"), &mut files);
    walk(&root().join("scenes"), &mut files);
    assert!(files.len() > 200);
    for file in files {
        let text = std::fs::read_to_string(&file).expect("there");
        let value: Value = match file.extension().and_then(|e| e.to_str()) {
            Some("json") => serde_json::from_str(&text).expect("JSON"),
            _ => toml::from_str(&text).expect("TOML"),
        };
        assert!(valid(&schema, &schema, &value), "{}", file.display());
    }
    for wrong in [
        r#"{ "tests": [] }"#,
        r#"{ "source": "a.tgsi", "test": [] }"#,
        r#"{ "programs": { "a": { "sorce": "a.tgsi" } }, "tests": [] }"#,
        r#"{ "programs": { "a": { "source": "a.tgsi" } }, "tests": [{ "name": "t", "passes": [{ "draws": [{ "cull": "left" }] }] }] }"#,
        r#"{ "source": "a.tgsi", "tests": [{ "name": "t", "grid": [1, 1] }] }"#,
        r#"{ "source": "a.tgsi", "tests": [{ "name": "t", "fault": "misalined" }] }"#,
        r#"{ "source": "a.tgsi", "tests": [{ "name": "t", "buffers": { "b": { "type": "u31", "len": 1 } } }] }"#,
        r#"{ "source": "a.tgsi", "tests": [{ "name": "t", "buffers": { "b": { "type": "u32", "len": 1, "init": { "fil": 1 } } } }] }"#,
    ] {
        let value = serde_json::from_str(wrong).expect("JSON");
        assert!(!valid(&schema, &schema, &value), "{wrong}");
    }
}

/// A part of what `cargo deny check licenses` does, where that is not installed.
#[test]
fn licences_of_dependencies_are_those_of_the_list() {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline", "--locked"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    if !metadata.status.success() {
        eprintln!("SKIPPED: cargo metadata: {}", String::from_utf8_lossy(&metadata.stderr));
        return;
    }
    let metadata: Value = serde_json::from_slice(&metadata.stdout).expect("JSON");
    let text = std::fs::read_to_string(root().join("deny.toml")).expect("there");
    let deny: Value = toml::from_str(&text).expect("TOML");
    let list = |v: &Value| -> Vec<String> {
        v.as_array().into_iter().flatten().filter_map(|l| l.as_str().map(str::to_string)).collect()
    };
    let allowed = list(&deny["licenses"]["allow"]);
    for package in metadata["packages"].as_array().expect("packages") {
        let name = package["name"].as_str().expect("a name");
        let exceptions = deny["licenses"]["exceptions"].as_array().into_iter().flatten();
        let own: Vec<String> =
            exceptions.filter(|e| e["crate"] == name).flat_map(|e| list(&e["allow"])).collect();
        let licence = package["license"].as_str().unwrap_or_else(|| panic!("{name} has no licence"));
        let licence = licence.replace('/', " OR ").replace(['(', ')'], "");
        // All of what AND joins, one of what OR joins.
        let taken = licence.split(" AND ").all(|part| {
            part.split(" OR ").map(str::trim).any(|l| allowed.iter().chain(&own).any(|a| a == l))
        });
        assert!(taken, "{name}: {licence}");
    }
}
