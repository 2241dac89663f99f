//! What a blit does with source and destination: OPERATION.

use crate::device::EngineResult;
use crate::engine::registers::Registers;
use crate::image::surface_format::SurfaceFormat;
use nvir_emu::Channels;
use nvir_hw::method::two_d::*;
use nvir_hw::word::{Beta4, operation};

/// An operation with what it needs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Operation {
    /// Texels are copied.
    Copy,
    /// A truth table of pattern, source and destination, by bit, of texels of one word.
    Rop { table: u8, pattern: u32 },
    /// Texels are multiplied: red, green, blue, alpha, of 255.
    Multiply([u8; 4]),
}

/// The truth table whose result is the source: nothing of pattern and destination.
const ALL: u32 = u32::MAX;

impl Operation {
    /// What the registers say, for texels of the destination.
    pub(super) fn of(r: &Registers, to: SurfaceFormat) -> EngineResult<Operation> {
        Ok(match r.get(OPERATION) {
            operation::SOURCE_COPY => Operation::Copy,
            operation::ROP => {
                if to.bytes() != 4 || r.get(PATTERN_SELECT) != 0 {
                    return Err(
                        "a raster operation with texels other than 32-bit words, or a coloured pattern"
                            .into(),
                    );
                }
                let bitmap = [0, 1].map(|i| r.get(PATTERN_BITMAP.at(i)));
                let color = match bitmap {
                    [0, 0] => 0,
                    [ALL, ALL] => 1,
                    _ => return Err("a raster operation with a pattern of two colours".into()),
                };
                let pattern = r.get(PATTERN_BITMAP_COLOR.at(color));
                Operation::Rop { table: r.get(ROP) as u8, pattern }
            }
            operation::SOURCE_COPY_PREMULTIPLIED => {
                let beta = Beta4::from_bits(r.get(BETA4));
                let factors = [beta.red(), beta.green(), beta.blue(), beta.alpha()];
                if to.is_integer() && factors.iter().any(|f| !matches!(f, 0 | 255)) {
                    return Err("a blit that multiplies integers".into());
                }
                Operation::Multiply(factors)
            }
            other => {
                return Err(format!(
                    "2D operation {other}: copies (3, 5) and raster operations (4) are there"
                ));
            }
        })
    }

    /// Changes a texel that goes to the destination.
    pub(super) fn source(self, texel: &mut Channels) {
        let Operation::Multiply(factors) = self else { return };
        for (channel, factor) in texel.iter_mut().zip(factors) {
            *channel = match factor {
                0 => 0,
                255 => *channel,
                f => (f32::from_bits(*channel) * f32::from(f) / 255.0).to_bits(),
            };
        }
    }

    /// Joins a row's bytes with what is there.
    pub(super) fn join(self, new: &mut [u8], old: &[u8]) {
        let Operation::Rop { table, pattern } = self else { return };
        for (new, old) in new.chunks_exact_mut(4).zip(old.chunks_exact(4)) {
            let word = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
            let inputs = [pattern, word(new), word(old)];
            new.copy_from_slice(&rop(table, inputs).to_le_bytes());
        }
    }

    /// Whether the destination is read.
    pub(super) fn reads(self) -> bool {
        matches!(self, Operation::Rop { .. })
    }
}

/// Bit by bit the entry of the table whose number is made of pattern, source and destination.
fn rop(table: u8, [pattern, source, old]: [u32; 3]) -> u32 {
    let pick = |word: u32, on: u32| if on != 0 { word } else { !word };
    (0..8u32)
        .filter(|i| table >> i & 1 != 0)
        .fold(0, |out, i| out | pick(pattern, i & 4) & pick(source, i & 2) & pick(old, i & 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_join_words() {
        let words = [0x00ff_00ff, 0x1234_5678, 0x9abc_def0];
        assert_eq!(rop(0xca, words), 0x9a34_de78);
        assert_eq!(rop(0xcc, words), words[1]);
        assert_eq!(rop(0xaa, words), words[2]);
        assert_eq!(rop(0x66, words), words[1] ^ words[2]);
        assert_eq!((rop(0, words), rop(0xff, words)), (0, u32::MAX));
    }
}
