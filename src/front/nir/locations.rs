//! Locations of inputs and outputs: the numbers that Mesa gives them, the names that its printers write, what they mean.
//!
//! Source: Mesa, `shader_enums.h`, and `tgsi_from_mesa.c` for the meanings.

use crate::stage::{Semantic, Stage};

/// What an access says of an input or output (`io location=32 slots=1`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Location {
    /// As the text has it.
    pub number: u32,
    /// Vectors that the access may reach.
    pub slots: u32,
    /// The second of two colours that are blended.
    pub dual_source: bool,
}

/// Names, the number of the first, and how many there are; a digit follows where there are several.
const NAMES: &[(&str, u32, u32)] = &[
    // Between stages.
    ("VARYING_SLOT_POS", 0, 1),
    ("VARYING_SLOT_COL", 1, 2),
    ("VARYING_SLOT_FOGC", 3, 1),
    ("VARYING_SLOT_TEX", 4, 8),
    ("VARYING_SLOT_PSIZ", 12, 1),
    ("VARYING_SLOT_BFC", 13, 2),
    ("VARYING_SLOT_EDGE", 15, 1),
    ("VARYING_SLOT_CLIP_VERTEX", 16, 1),
    ("VARYING_SLOT_CLIP_DIST", 17, 2),
    ("VARYING_SLOT_CULL_DIST", 19, 2),
    ("VARYING_SLOT_PRIMITIVE_ID", 21, 1),
    ("VARYING_SLOT_LAYER", 22, 1),
    ("VARYING_SLOT_VIEWPORT", 23, 1),
    ("VARYING_SLOT_FACE", 24, 1),
    ("VARYING_SLOT_PNTC", 25, 1),
    ("VARYING_SLOT_TESS_LEVEL_OUTER", 26, 1),
    ("VARYING_SLOT_TESS_LEVEL_INNER", 27, 1),
    ("VARYING_SLOT_VAR", 32, 32),
    ("VARYING_SLOT_PATCH", 64, 32),
    // Inputs of vertex shaders.
    ("VERT_ATTRIB_POS", 0, 1),
    ("VERT_ATTRIB_NORMAL", 1, 1),
    ("VERT_ATTRIB_COLOR", 2, 2),
    ("VERT_ATTRIB_FOG", 4, 1),
    ("VERT_ATTRIB_COLOR_INDEX", 5, 1),
    ("VERT_ATTRIB_TEX", 6, 8),
    ("VERT_ATTRIB_POINT_SIZE", 14, 1),
    ("VERT_ATTRIB_GENERIC", 15, 16),
    ("VERT_ATTRIB_EDGEFLAG", EDGE_FLAG, 1),
    // Results of fragment shaders.
    ("FRAG_RESULT_DEPTH", 0, 1),
    ("FRAG_RESULT_STENCIL", 1, 1),
    ("FRAG_RESULT_COLOR", COLOR_EVERYWHERE, 1),
    ("FRAG_RESULT_SAMPLE_MASK", 3, 1),
    ("FRAG_RESULT_DATA", 4, 8),
];

/// The input of a vertex shader that edge flags are copied from.
pub(crate) const EDGE_FLAG: u32 = 31;

/// The result of a fragment shader that goes to all colour targets.
pub(crate) const COLOR_EVERYWHERE: u32 = 2;

/// The number of a location, which texts give by number or by name.
pub fn number(text: &str) -> Option<u32> {
    if text.bytes().all(|b| b.is_ascii_digit()) {
        return text.parse().ok();
    }
    let name = text.trim_end_matches(|c: char| c.is_ascii_digit());
    let &(_, first, count) = NAMES.iter().find(|n| n.0 == name)?;
    match &text[name.len()..] {
        "" if count == 1 => Some(first),
        digits => digits.parse().ok().filter(|&n| n < count && count > 1).map(|n: u32| first + n),
    }
}

/// What a location between stages, or of a result, means. Inputs of vertex shaders have no meaning but their number.
pub fn semantic(stage: Stage, input: bool, location: u32) -> Option<Semantic> {
    let n = u8::try_from(location).ok()?;
    if stage == Stage::Fragment && !input {
        return Some(match n {
            0 => Semantic::Depth,
            1 => Semantic::Stencil,
            2 => Semantic::Color(0),
            3 => Semantic::SampleMask,
            4..=11 => Semantic::Color(n - 4),
            _ => return None,
        });
    }
    Some(match n {
        0 => Semantic::Position,
        1 | 2 => Semantic::Color(n - 1),
        3 => Semantic::Fog,
        4..=11 => Semantic::TexCoord(n - 4),
        12 => Semantic::PointSize,
        13 | 14 => Semantic::BackColor(n - 13),
        15 => Semantic::EdgeFlag,
        16 => Semantic::ClipVertex,
        17 | 18 => Semantic::ClipDist(n - 17),
        21 => Semantic::PrimitiveId,
        22 => Semantic::Layer,
        23 => Semantic::ViewportIndex,
        24 => Semantic::Face,
        25 => Semantic::PointCoord,
        26 => Semantic::TessOuter,
        27 => Semantic::TessInner,
        32..=63 => Semantic::Generic(n - 32),
        64..=95 => Semantic::Patch(n - 64),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_mean_the_same() {
        assert_eq!((number("VARYING_SLOT_VAR31"), number("63")), (Some(63), Some(63)));
        assert_eq!((number("VERT_ATTRIB_GENERIC0"), number("FRAG_RESULT_DATA7")), (Some(15), Some(11)));
        assert_eq!(
            number("VARYING_SLOT_COL1").and_then(|n| semantic(Stage::Vertex, false, n)),
            Some(Semantic::Color(1))
        );
        for wrong in [
            "VARYING_SLOT_VAR",
            "VARYING_SLOT_VAR32",
            "VARYING_SLOT_POS0",
            "FRAG_RESULT_DATA8",
            "99999999999",
        ] {
            assert_eq!(number(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_location_means_other_things_as_a_result() {
        assert_eq!(semantic(Stage::Fragment, false, 0), Some(Semantic::Depth));
        assert_eq!(semantic(Stage::Fragment, true, 0), Some(Semantic::Position));
        assert_eq!(semantic(Stage::Fragment, false, 5), Some(Semantic::Color(1)));
        assert_eq!(semantic(Stage::TessControl, false, 65), Some(Semantic::Patch(1)));
        assert_eq!((semantic(Stage::Vertex, false, 19), semantic(Stage::Vertex, false, 96)), (None, None));
    }
}
