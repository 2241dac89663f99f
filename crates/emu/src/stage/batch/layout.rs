//! Which registers of a fragment shader are results.

use nvir_base::Chip;
use nvir_isa::header::Header;

/// Where a fragment shader's results are: the first registers hold the components of the colour targets that the header
/// declares, in their order; then comes the sample mask, then the depth, before which Kepler always leaves room for the mask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    /// The register of a target's component.
    pub colors: [[u8; 4]; 8],
    pub mask: u8,
    pub depth: u8,
    /// How many registers hold results, with gaps.
    pub registers: u8,
}

/// What the header does not declare.
pub(super) const NONE: u8 = u8::MAX;

impl Layout {
    /// No results.
    pub(crate) const EMPTY: Layout = Layout { colors: [[NONE; 4]; 8], mask: NONE, depth: NONE, registers: 0 };

    pub(crate) fn new(header: &Header, chip: Chip) -> Layout {
        let mut layout = Layout::EMPTY;
        for (target, components) in layout.colors.iter_mut().enumerate() {
            let mask = header.color_mask(target as u32);
            for (_, register) in components.iter_mut().enumerate().filter(|(c, _)| mask >> c & 1 != 0) {
                *register = layout.registers;
                layout.registers += 1;
            }
        }
        let colors = layout.registers;
        if header.writes_sample_mask() {
            layout.mask = colors;
            layout.registers = colors + 1;
        }
        if header.writes_depth() {
            layout.depth = colors + u8::from(header.writes_sample_mask() || chip != Chip::Gf100);
            layout.registers = layout.depth + 1;
        }
        layout
    }

    /// Whether a register holds a result.
    pub(crate) fn holds(&self, register: u8) -> bool {
        register == self.mask
            || register == self.depth
            || self.colors.iter().flatten().any(|&r| r == register)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nvir_base::stage::Stage;

    #[test]
    fn results_follow_the_colours_that_the_header_declares() {
        let mut header = Header::new(Stage::Fragment);
        header.set_color_mask(0, 0b1010);
        header.set_color_mask(3, 0b0001);
        header.set_depth(true);
        let [fermi, kepler] = [Chip::Gf100, Chip::Gk104].map(|chip| Layout::new(&header, chip));
        assert_eq!((fermi.colors[0], fermi.colors[3][0]), ([NONE, 0, NONE, 1], 2));
        assert_eq!((fermi.depth, fermi.registers, kepler.depth, kepler.registers), (3, 4, 4, 5));
        assert!(!kepler.holds(3) && kepler.holds(4) && kepler.holds(0));
        header.set_sample_mask(true);
        let fermi = Layout::new(&header, Chip::Gf100);
        assert_eq!((fermi.mask, fermi.depth), (3, 4));
    }
}
