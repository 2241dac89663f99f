//! Names of attributes by their addresses.

use nvir_base::stage::{ATTRIBUTE_BYTES, Semantic, Stage, attribute};

/// A component of what lies at an address between stages: `GENERIC[0].x`; of a vertex program's inputs `attribute 0.x`.
pub(crate) fn of(address: u32, inputs_of: Option<Stage>) -> String {
    const COMPONENTS: [&str; 4] = ["x", "y", "z", "w"];
    let generic = attribute::GENERIC..attribute::GENERIC + 16 * 32;
    if inputs_of == Some(Stage::Vertex) && generic.contains(&address) {
        let at = address - attribute::GENERIC;
        return format!("attribute {}.{}", at / 16, COMPONENTS[at as usize / 4 % 4]);
    }
    let found = Semantic::all().filter(|s| !s.is_per_patch()).find_map(|s| {
        let component = address.checked_sub(s.address()?)? / 4;
        (component < s.components().into()).then_some((s, component))
    });
    match found {
        Some((s, _)) if s.components() == 1 => s.to_string(),
        Some((s, component)) => format!("{s}.{}", COMPONENTS[component as usize]),
        None if address < ATTRIBUTE_BYTES => format!("a[{address:#x}]"),
        None => format!("{address:#x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_names() {
        let names = [0x70, 0x84, 0x6c, 0x2c8, 0x2e0, 0x10].map(|a| of(a, None));
        assert_eq!(names, ["POSITION.x", "GENERIC[0].y", "PSIZE", "CLIPDIST[0].z", "PCOORD.x", "a[0x10]"]);
        assert_eq!(of(0x98, Some(Stage::Vertex)), "attribute 1.z");
        assert_eq!(of(0x98, Some(Stage::Fragment)), "GENERIC[1].z");
    }
}
