//! Stipple patterns of polygons and lines.

/// 32 x 32 pixels that are drawn or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PolygonStipple {
    /// Bit `x % 32` of row `y % 32`.
    rows: [u32; 32],
}

impl PolygonStipple {
    /// From the words of the pattern: pixel x of a row is bit `7 - x % 8` of byte `x / 8`, the first byte lowest, as Mesa
    /// sends it.
    pub(crate) fn new(words: [u32; 32]) -> PolygonStipple {
        let row = |word: u32| u32::from_le_bytes(word.to_le_bytes().map(u8::reverse_bits));
        PolygonStipple { rows: words.map(row) }
    }

    pub(super) fn shows(&self, x: u32, y: u32) -> bool {
        self.rows[y as usize % 32] >> (x % 32) & 1 != 0
    }
}

/// LINE_STIPPLE_PATTERN, while it is on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LineStipple {
    /// Bit 0 comes first.
    pub pattern: u16,
    /// Pixels of a bit: 1 to 256.
    pub factor: u32,
}

impl LineStipple {
    /// From the register: 7:0 factor - 1, 23:8 pattern.
    pub(crate) fn from_bits(word: u32) -> LineStipple {
        LineStipple { pattern: (word >> 8) as u16, factor: (word & 0xff) + 1 }
    }

    /// Whether the pixel after so many steps along the line is drawn.
    pub(super) fn shows(self, step: u32) -> bool {
        self.pattern >> (step / self.factor.max(1) % 16) & 1 != 0
    }
}

/// A line's pattern where it is rasterised as an area.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinePattern {
    pub stipple: LineStipple,
    /// 0: steps are columns; 1: rows.
    pub axis: usize,
    /// Where step `step` is, and whether steps go down from there.
    pub first: i64,
    pub descending: bool,
    pub step: u32,
}

impl LinePattern {
    pub(super) fn shows(&self, x: u32, y: u32) -> bool {
        let at = i64::from([x, y][self.axis]);
        let steps = if self.descending { self.first - at } else { at - self.first };
        // What lies before the first pixel belongs to it.
        self.stipple.shows(self.step.wrapping_add(steps.max(0) as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_a_row_go_from_left_to_right_and_bits_from_the_highest() {
        let mut words = [0; 32];
        words[3] = 0x0100_0080;
        let s = PolygonStipple::new(words);
        let shown: Vec<u32> = (0..64).filter(|&x| s.shows(x, 35)).collect();
        assert_eq!(shown, [0, 31, 32, 63]);
        assert!(!s.shows(0, 4));
    }

    #[test]
    fn bits_of_a_line_last_for_the_factor() {
        let s = LineStipple::from_bits(0x8005 << 8 | 1);
        let shown: Vec<u32> = (0..36).filter(|&n| s.shows(n)).collect();
        assert_eq!(shown, [0, 1, 4, 5, 30, 31, 32, 33]);
    }
}
