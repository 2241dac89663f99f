//! What a driver changes in a fragment shader's code and header when its state differs from what
//! was compiled for.
//!
//! Source: Mesa 22.3.6, codegen/nv50_ir_emit_nvc0.cpp and nv50_ir_emit_gk110.cpp (`interpApply`,
//! `selpFlip`), and nvc0_state.c (the header's colours).

use crate::chip::Chip;
use crate::isa::header::{Header, Interpolation};
use crate::stage::attribute;

/// Value of [`Fixup::Interpolation`]'s `mode` for a perspective or linear value as it is.
pub(crate) const MODE_PASS: u8 = 0;
/// The value times a register.
pub(crate) const MODE_MULTIPLY: u8 = 1;
/// The value of one vertex.
pub const MODE_CONSTANT: u8 = 2;
/// A colour: flat or smooth, as the rasteriser's state says.
pub(crate) const MODE_COLOR: u8 = 3;

/// An instruction that may be changed. `pc` is its byte address in the code section.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fixup {
    /// An interpolation, as it was emitted.
    Interpolation {
        /// Its address.
        pc: u32,
        /// One of `MODE_*`.
        mode: u8,
        /// 0 the pixel's centre, 1 the centroid, 2 an offset.
        sample: u8,
        /// The register that it multiplies with; RZ's number where there is none.
        w: u8,
    },
    /// A selection, whose predicate operand is PT: it gives its first operand, or the second where
    /// the condition holds.
    Selection {
        /// Its address.
        pc: u32,
        /// On what it depends.
        when: Condition,
    },
}

/// State on which a selection depends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Condition {
    /// The shader is made to run once a sample.
    PerSample,
    /// The target has several samples.
    Multisampled,
}

/// State of the rasteriser.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct State {
    /// Colours without an interpolation of their own are flat.
    pub flat_shade: bool,
    /// The shader is made to run once a sample.
    pub per_sample: bool,
    /// The target has several samples.
    pub multisampled: bool,
}

/// A colour input whose interpolation is the rasteriser's choice.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DefaultColor {
    /// How it is interpolated where the state does not say flat.
    pub interpolation: Interpolation,
    /// Components that are read, x in bit 0.
    pub mask: u8,
}

/// A record that the code does not bear out.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a fixup names the instruction at {pc:#x}, but the code has {bytes} bytes")]
pub struct BadFixup {
    /// The address.
    pub pc: u32,
    /// The code's size.
    pub bytes: usize,
}

/// Applies a shader's records for a state. Code and header are as compiled; call it on a copy for
/// each state.
///
/// # Errors
/// A record outside the code; nothing is changed then.
pub fn apply(
    chip: Chip,
    fixups: &[Fixup],
    colors: &[Option<DefaultColor>; 2],
    state: State,
    header: &mut Header,
    code: &mut [u64],
) -> Result<(), BadFixup> {
    let bytes = 8 * code.len();
    for fixup in fixups {
        let (Fixup::Interpolation { pc, .. } | Fixup::Selection { pc, .. }) = *fixup;
        if !pc.is_multiple_of(4) || pc as usize + 8 > bytes {
            return Err(BadFixup { pc, bytes });
        }
    }
    for fixup in fixups {
        match *fixup {
            Fixup::Interpolation { pc, mut mode, mut sample, mut w } => {
                if state.flat_shade && mode == MODE_COLOR {
                    (mode, w) = (MODE_CONSTANT, zero(chip));
                }
                if state.per_sample && sample == 0 && mode != MODE_CONSTANT {
                    sample = 1;
                }
                let (at_mode, at_sample, at_w, w_bits) = interpolation_bits(chip);
                change(code, pc, |word| {
                    let word = word & !(3 << at_mode | 3 << at_sample | w_bits << at_w);
                    let fields = u64::from(mode & 3) << at_mode | u64::from(sample & 3) << at_sample;
                    word | fields | (u64::from(w) & w_bits) << at_w
                });
            }
            Fixup::Selection { pc, when } => {
                let holds = match when {
                    Condition::PerSample => state.per_sample,
                    Condition::Multisampled => state.multisampled,
                };
                let not = if chip == Chip::Gk110 { 45 } else { 52 };
                change(code, pc, |word| word & !(1 << not) | u64::from(holds) << not);
            }
        }
    }
    for (address, color) in [attribute::COLOR, attribute::COLOR + 0x10].into_iter().zip(colors) {
        let Some(color) = color else { continue };
        let kind = if state.flat_shade { Interpolation::Flat } else { color.interpolation };
        for c in 0..4 {
            let read = color.mask >> c & 1 != 0;
            header.set_interpolation(address + 4 * c, if read { kind } else { Interpolation::Unused });
        }
    }
    Ok(())
}

/// The register that is always zero.
pub(super) fn zero(chip: Chip) -> u8 {
    if chip == Chip::Gk110 { 255 } else { 63 }
}

/// Where an interpolation has its mode, its sample and its second register, and the register's
/// bits.
fn interpolation_bits(chip: Chip) -> (u32, u32, u32, u64) {
    match chip {
        Chip::Gf100 | Chip::Gk104 => (6, 8, 26, 63),
        Chip::Gk110 => (53, 51, 23, 255),
    }
}

/// Changes the eight bytes at an address, which may lie across two words: GF100 has instructions of
/// four bytes.
fn change(code: &mut [u64], pc: u32, change: impl Fn(u64) -> u64) {
    let at = pc as usize / 8;
    if pc.is_multiple_of(8) {
        code[at] = change(code[at]);
        return;
    }
    let both = change(code[at] >> 32 | code[at + 1] << 32);
    code[at] = code[at] & 0xffff_ffff | both << 32;
    code[at + 1] = code[at + 1] & !0xffff_ffff | both >> 32;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa;
    use crate::stage::Stage;

    const CODE: [&str; 5] = [
        "IPA R1, a[0x80], R4",
        "IPA.SC R2, a[0x280], R4",
        "IPA.PASS.CENTROID R3, a[0x90], RZ",
        "IPA.CONSTANT R3, a[0x90], RZ",
        "SEL R0, RZ, 0x3, PT",
    ];

    fn assemble(chip: Chip) -> Vec<u64> {
        let word = |text: &&str| {
            let m =
                isa::text::parse(chip, text, 0, &|_| None).unwrap_or_else(|e| panic!("{chip} {text}: {e}"));
            isa::encode(chip, &m, 0).unwrap_or_else(|e| panic!("{chip} {text}: {e:?}"))
        };
        CODE.iter().map(word).collect()
    }

    fn texts(chip: Chip, code: &[u64]) -> Vec<String> {
        let print = |&w: &u64| isa::text::print(chip, &isa::decode(chip, w, 0).expect("it decodes"));
        code.iter().map(print).collect()
    }

    fn fixups(chip: Chip) -> Vec<Fixup> {
        let z = zero(chip);
        vec![
            Fixup::Interpolation { pc: 0, mode: MODE_MULTIPLY, sample: 0, w: 4 },
            Fixup::Interpolation { pc: 8, mode: MODE_COLOR, sample: 0, w: 4 },
            Fixup::Interpolation { pc: 16, mode: MODE_PASS, sample: 1, w: z },
            Fixup::Interpolation { pc: 24, mode: MODE_CONSTANT, sample: 0, w: z },
            Fixup::Selection { pc: 32, when: Condition::Multisampled },
        ]
    }

    #[test]
    fn states_change_what_they_are_about_and_back() {
        let colors = [Some(DefaultColor { interpolation: Interpolation::Perspective, mask: 7 }), None];
        for chip in [Chip::Gf100, Chip::Gk104, Chip::Gk110] {
            let original = assemble(chip);
            let mut code = original.clone();
            let mut header = Header::new(Stage::Fragment);
            let mut set = |state, code: &mut [u64]| {
                apply(chip, &fixups(chip), &colors, state, &mut header, code).unwrap();
                header.encode()[14]
            };
            assert_eq!(set(State::default(), &mut code), 0x2a);
            assert_eq!(code, original, "{chip}");
            let flat = State { flat_shade: true, multisampled: true, ..State::default() };
            assert_eq!(set(flat, &mut code), 0x15);
            let got = texts(chip, &code);
            assert_eq!(got[1], "IPA.CONSTANT R2, a[0x280], RZ", "{chip}");
            assert_eq!([&got[0], &got[2], &got[3]], [CODE[0], CODE[2], CODE[3]], "{chip}");
            assert_eq!(got[4], "SEL R0, RZ, 0x3, !PT", "{chip}");
            set(State { per_sample: true, ..State::default() }, &mut code);
            let got = texts(chip, &code);
            assert_eq!(got[0], "IPA.CENTROID R1, a[0x80], R4", "{chip}");
            assert_eq!(got[1], "IPA.SC.CENTROID R2, a[0x280], R4", "{chip}");
            assert_eq!([&got[3], &got[4]], [CODE[3], CODE[4]], "{chip}");
            set(State::default(), &mut code);
            assert_eq!(code, original, "{chip}");
        }
    }

    #[test]
    fn instructions_across_two_words_are_found_and_those_outside_refused() {
        let chip = Chip::Gf100;
        let word = assemble(chip)[0];
        let mut code = [word << 32 | 0x1234, word >> 32 | 0x5678 << 32];
        let at = |pc| [Fixup::Interpolation { pc, mode: MODE_PASS, sample: 2, w: 63 }];
        let mut header = Header::new(Stage::Fragment);
        apply(chip, &at(4), &[None; 2], State::default(), &mut header, &mut code).unwrap();
        assert_eq!(texts(chip, &[code[0] >> 32 | code[1] << 32]), ["IPA.PASS.OFFSET R1, a[0x80], RZ"]);
        assert_eq!((code[0] as u32, code[1] >> 32), (0x1234, 0x5678));
        let before = code;
        for pc in [2, 12, 16, u32::MAX - 3] {
            let refused = apply(chip, &at(pc), &[None; 2], State::default(), &mut header, &mut code);
            assert_eq!(refused, Err(BadFixup { pc, bytes: 16 }));
        }
        assert_eq!(code, before);
    }
}
