//! A fixture as TOML, with comments that say what is what. It writes the keys that [`super::fixture`] sets, no others.

use super::fixture::Draft;
use nvir_fixture::format::{Arg, Bound, Data, Item, Test};
use nvir_fixture::stage::format::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_string()).to_string()
}

/// `key = value`, if there is a value.
fn line(out: &mut String, key: &str, value: Option<String>) {
    if let Some(value) = value {
        let _ = writeln!(out, "{key} = {value}");
    }
}

fn item(i: &Item) -> String {
    match i {
        Item::Int(n) => n.to_string(),
        Item::Uint(n) => n.to_string(),
        Item::Float(x) => format!("{x:?}"),
        Item::Text(t) => quoted(t),
    }
}

fn list<T>(all: &[T], one: impl Fn(&T) -> String) -> String {
    format!("[{}]", all.iter().map(one).collect::<Vec<_>>().join(", "))
}

fn value(v: &Value) -> String {
    list(&v.0, |i| i.as_ref().map_or("\"nan\"".into(), item))
}

/// `{ 0 = "a", 1 = "b" }`, in the order of the numbers.
fn slots<T>(all: &BTreeMap<String, T>, one: impl Fn(&T) -> String) -> Option<String> {
    let mut numbered: Vec<(u32, &T)> = all.iter().map(|(n, t)| (n.parse().unwrap_or(u32::MAX), t)).collect();
    numbered.sort_by_key(|(n, _)| *n);
    let items: Vec<String> = numbered.iter().map(|(n, t)| format!("{n} = {}", one(t))).collect();
    (!items.is_empty()).then(|| format!("{{ {} }}", items.join(", ")))
}

fn arg(a: &Arg) -> String {
    let value = match (&a.buffer, &a.bytes, a.shared, a.scalars().next()) {
        (Some(name), ..) => format!("buffer = {}", quoted(name)),
        (_, Some(bytes), ..) => {
            format!("bytes = \"{}\"", bytes.iter().map(|b| format!("{b:02x}")).collect::<String>())
        }
        (_, _, Some(n), _) => format!("shared = {n}"),
        (_, _, _, Some((elem, i))) => format!("{} = {}", elem.name(), item(i)),
        _ => String::new(),
    };
    match a.offset {
        Some(offset) => format!("{{ {value}, offset = {offset} }}"),
        None => format!("{{ {value} }}"),
    }
}

fn data(d: &Data) -> String {
    match d {
        Data::Fill(i) => format!("{{ fill = {} }}", item(i)),
        Data::List(items) => list(items, |i| i.as_ref().map_or("\"nan\"".into(), item)),
        Data::File(path) => format!("{{ file = {} }}", quoted(&path.to_string_lossy())),
        Data::Hex(bytes) => {
            format!("{{ hex = \"{}\" }}", bytes.iter().map(|b| format!("{b:02x}")).collect::<String>())
        }
        Data::Words(words) => format!("{{ words = {} }}", list(words, |w| w.unwrap_or(0).to_string())),
    }
}

/// The text of a fixture that is written to `to`.
pub(super) fn toml(draft: &Draft, to: &Path) -> String {
    let f = &draft.fixture;
    let mut out = "# Made by `nvir new`. docs/fixtures.md has all keys.\n".to_string();
    for note in &draft.notes {
        let _ = writeln!(out, "# Note: {note}.");
    }
    line(&mut out, "source", Some(quoted(&f.source.to_string_lossy())));
    line(&mut out, "kernel", f.kernel.as_ref().map(|k| quoted(&k.to_string())));
    line(&mut out, "targets", f.targets.as_ref().map(|t| list(t, |c| quoted(c))));
    line(&mut out, "pointer_bytes", f.pointer_bytes.map(|n| n.to_string()));
    line(&mut out, "input_bytes", f.input_bytes.map(|n| n.to_string()));
    if let Some(t) = &f.nir_tess {
        let keys = format!(
            "{{ vertices_out = {}, primitive_mode = {}, spacing = {} }}",
            t.vertices_out, t.primitive_mode, t.spacing
        );
        line(&mut out, "nir_tess", Some(format!("{keys}    # what the text does not say")));
    }
    if let Some(g) = &f.nir_gs {
        let keys = format!(
            "{{ input = {}, output = {}, vertices_out = {}, vertices_in = {}, invocations = {}, streams = {} }}",
            g.input, g.output, g.vertices_out, g.vertices_in, g.invocations, g.streams
        );
        line(&mut out, "nir_gs", Some(format!("{keys}    # what the text does not say")));
    }
    for t in &f.tests {
        test(&mut out, t, draft, to);
    }
    out
}

fn test(out: &mut String, t: &Test, draft: &Draft, to: &Path) {
    out.push_str("\n[[tests]]\n");
    line(out, "name", Some(quoted(&t.name)));
    let sizes = |s: &[u32; 3]| list(s, u32::to_string);
    line(out, "grid", t.grid.as_ref().map(sizes));
    line(out, "block", t.block.as_ref().map(sizes));
    line(out, "private_bytes", (t.private_bytes > 0).then(|| t.private_bytes.to_string()));
    if !t.args.is_empty() {
        let all: String = t.args.iter().map(|a| format!("    {},\n", arg(a))).collect();
        line(out, "args", Some(format!("[\n{all}]")));
    }
    line(out, "ssbo", slots(&t.ssbo, |n| quoted(n)));
    line(out, "ubo", slots(&t.ubo, |n| quoted(n)));
    line(out, "uniforms", t.uniforms.as_ref().map(|n| quoted(n)));
    line(out, "images_bound", slots(&t.images_bound, |b: &Bound| quoted(b.image())));
    let textures = slots(&t.textures, |x| {
        let compare = x.compare.as_ref().map_or(String::new(), |c| format!(", compare = {}", quoted(c)));
        format!("{{ image = {}{compare} }}", quoted(&x.image))
    });
    line(out, "textures", textures);
    line(out, "framebuffer", t.framebuffer.as_ref().map(|n| quoted(n)));
    if !t.quads.is_empty() {
        let quad = |q: &nvir_fixture::stage::format::Quad| {
            format!("{{ at = {}, cover = {} }}", list(&q.at, u32::to_string), list(&q.cover, u32::to_string))
        };
        line(out, "quads", Some(list(&t.quads, quad)));
    }
    stages(out, t);
    let what = |name: &str| draft.parts.get(name).map_or(String::new(), |w| format!("\n# {w}"));
    for (name, b) in &t.buffers {
        let _ = writeln!(out, "{}\n[tests.buffers.{name}]", what(name));
        line(out, "type", Some(quoted(b.ty.name())));
        line(out, "len", Some(b.len.to_string()));
        line(out, "init", b.init.as_ref().map(data));
        if b.init.is_none() {
            out.push_str("# init = [1, 2, 3]\n");
        }
        bless(out, to);
    }
    for (name, i) in &t.images {
        let _ = writeln!(out, "{}\n[tests.images.{name}]", what(name));
        line(out, "type", Some(quoted(&i.ty)));
        line(out, "format", Some(quoted(&i.format)));
        line(out, "size", Some(sizes(&i.size)));
        out.push_str("# init = { fill = 0 }\n");
        bless(out, to);
    }
}

fn bless(out: &mut String, to: &Path) {
    let name = match to.file_name() {
        Some(name) if to != Path::new("-") => name.to_string_lossy(),
        _ => "FIXTURE".into(),
    };
    let _ = writeln!(
        out,
        "# expect = {{ fill = 0 }}    # uncomment, then `nvir test {name} --bless` writes what is left here"
    );
}

/// Values of attributes: a line each, those of a vertex, patch or primitive beside each other.
fn stages(out: &mut String, t: &Test) {
    let vertices = |all: &Vec<Value>| list(all, value);
    let rows = |all: &Vec<Vec<Value>>| list(all, vertices);
    if let Some(v) = &t.vertices {
        let _ = writeln!(out, "\n[tests.vertices]\ncount = {}", v.count);
        table(out, "tests.vertices.inputs", &v.inputs, vertices);
    }
    if let Some(p) = &t.patches {
        let _ = writeln!(out, "\n[tests.patches]\ncount = {}\nvertices_in = {}", p.count, p.vertices_in);
        if let Some(i) = &p.invocations {
            let at = list(&i.tess_coord, |c| list(c, |x| format!("{x:?}")));
            let _ = writeln!(
                out,
                "invocations = {{ patch = {}, TESSCOORD = {at} }}",
                list(&i.patch, usize::to_string)
            );
        }
        table(out, "tests.patches.inputs", &p.inputs, rows);
        table(out, "tests.patches.patch_inputs", &p.patch_inputs, vertices);
    }
    if let Some(p) = &t.primitives {
        let _ = writeln!(out, "\n[tests.primitives]\ncount = {}\nvertices_in = {}", p.count, p.vertices_in);
        table(out, "tests.primitives.inputs", &p.inputs, rows);
    }
    if let Some(p) = &t.triangle {
        let corners = list(&p.window, |c| list(c, |x| format!("{x:?}")));
        let _ = writeln!(out, "\n[tests.triangle]\nwindow = {corners}    # x, y, z, 1/w of each corner");
        table(out, "tests.triangle.varyings", &p.varyings, vertices);
    }
}

fn table<T>(out: &mut String, head: &str, all: &BTreeMap<String, T>, one: impl Fn(&T) -> String) {
    if all.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n[{head}]");
    for (name, t) in all {
        let _ = writeln!(out, "{} = {}", quoted(name), one(t));
    }
}
