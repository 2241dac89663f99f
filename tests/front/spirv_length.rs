//! Code made of SPIR-V against code made of Mesa's NIR for the same shader: `docs/spirv.md` says why some are longer.

use nvir::{Chip, Compiler, Source};

/// Those that are longer by more than a fifth for a reason of their own, and by how much they are at most. They are not in the mean:
/// of all shaders of the corpus, which it is about, these fixtures are the hard ones.
const LONGER: &[(&str, f64)] =
    &[("gl.const_table_dyn", 2.4), ("gl.double_dyn_array", 1.35), ("gl.loops_nested_return", 1.9)];

#[test]
fn shaders_are_as_short_as_from_nir() {
    let root = env!("CARGO_MANIFEST_DIR");
    let mut names: Vec<String> = std::fs::read_dir(format!("{root}/spirv-fixtures"))
        .unwrap()
        .filter_map(|f| f.ok()?.file_name().into_string().ok()?.strip_suffix(".spv").map(String::from))
        .filter(|name| name.starts_with("gl."))
        .collect();
    names.sort();
    let mut logs = Vec::new();
    for name in names {
        // The variant stands behind the shader's name.
        let shader = name.splitn(3, '.').take(2).collect::<Vec<_>>().join(".");
        let Ok(text) = std::fs::read_to_string(format!("{root}/nir-fixtures/{shader}.nir")) else { continue };
        let listing =
            nvir::front::spirv::listing(&std::fs::read(format!("{root}/spirv-fixtures/{name}.spv")).unwrap())
                .unwrap();
        let instructions = |source: Source<'_>| {
            let shader = Compiler::new(Chip::Gk110).compile(&source).unwrap();
            f64::from(shader.instructions + shader.library)
        };
        let ratio = instructions(Source::spirv(&listing)) / instructions(Source::nir(&text));
        let longer = LONGER.iter().find(|(longer, _)| *longer == shader).map(|(_, most)| *most);
        assert!(ratio <= longer.unwrap_or(1.2), "{name}: {ratio:.3} times as long as from NIR");
        if longer.is_none() {
            logs.push(ratio.ln());
        }
    }
    assert!(logs.len() >= 15, "{}", logs.len());
    let mean = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
    assert!(mean <= 1.02, "geometric mean {mean:.3}");
}
