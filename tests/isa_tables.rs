//! What must hold for every row of every table, whatever it says.

use nvir::Chip;
use nvir::isa::row::{Bits, Kind, Row};
use nvir::isa::{self, ImmKind, MInst, Operand, Table};

/// A small deterministic generator (xorshift64*).
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

fn describe(row: &Row) -> String {
    format!("{} bits {:016x} mask {:016x}", row.op, row.bits, row.mask)
}

fn fields(row: &Row) -> Vec<(String, Bits)> {
    let mut all = Vec::new();
    if let Some(Kind::Pred { at, not }) = row.guard {
        all.push(("guard".into(), at));
        all.push(("guard not".into(), Bits { lo: not.0, n: 1, lo2: 0, n2: 0 }));
    }
    if row.sync.exists() {
        all.push((".S".into(), Bits { lo: row.sync.0, n: 1, lo2: 0, n2: 0 }));
    }
    for (i, g) in row.groups.iter().enumerate() {
        all.push((format!("suffix {i}"), g.at));
    }
    for (i, s) in row.slots.iter().enumerate() {
        all.extend(s.fields().into_iter().map(|(what, at)| (format!("operand {i} {what}"), at)));
    }
    all
}

#[test]
fn fields_of_a_row_do_not_overlap() {
    for chip in Chip::ALL {
        for row in Table::of(chip).rows() {
            let mut seen = row.mask;
            for (what, at) in fields(row) {
                assert_eq!(seen & at.mask(), 0, "{chip} {}: {what} overlaps", describe(row));
                seen |= at.mask();
            }
            assert_eq!(seen & row.free, 0, "{chip} {}: free bits overlap", describe(row));
            assert_eq!(seen | row.free, u64::MAX, "{chip} {}: bits without a meaning", describe(row));
            assert_eq!(row.bits & !row.mask, 0, "{chip} {}: opcode outside its mask", describe(row));
        }
    }
}

#[test]
fn every_field_value_has_room_in_its_name_table() {
    for chip in Chip::ALL {
        for row in Table::of(chip).rows() {
            for g in &row.groups {
                assert!(g.names.len() as u64 <= g.at.max() + 1, "{chip} {}: {:?}", describe(row), g.names);
            }
        }
    }
}

/// Tries every value of the bits by which the rows leave words to each other.
fn share_no_word(a: &Row, b: &Row) -> bool {
    let deciding = a.except.iter().chain(&b.except).fold(0, |m, e| m | e.0) & !(a.mask | b.mask);
    if deciding.count_ones() > 16 {
        return false;
    }
    let mut subset = 0u64;
    loop {
        let word = a.bits | b.bits | subset;
        if a.matches(word) && b.matches(word) {
            return false;
        }
        subset = subset.wrapping_sub(deciding) & deciding;
        if subset == 0 {
            return true;
        }
    }
}

#[test]
fn no_word_matches_two_rows() {
    for chip in Chip::ALL {
        let rows = Table::of(chip).rows();
        for (i, a) in rows.iter().enumerate() {
            for b in &rows[i + 1..] {
                let common = a.mask & b.mask;
                if a.bits & common != b.bits & common {
                    continue;
                }
                // The rows share opcode bits: one must leave the words of the other to it.
                let apart = |x: &Row, y: &Row| {
                    x.except.iter().any(|&(mask, value)| y.mask & mask == mask && y.bits & mask == value)
                };
                assert!(
                    apart(a, b) || apart(b, a) || share_no_word(a, b),
                    "{chip}: {} and {}",
                    describe(a),
                    describe(b)
                );
            }
        }
    }
}

/// A NaN is written without its payload.
fn forget_nan_payloads(m: &mut MInst) {
    for o in &mut m.operands {
        if let Operand::Imm { bits, kind, .. } = o {
            let nan = match kind {
                ImmKind::Int => false,
                ImmKind::F32 => f32::from_bits(*bits).is_nan(),
                ImmKind::F64 => f64::from_bits(u64::from(*bits) << 32).is_nan(),
            };
            if nan {
                *bits |= 0x7fff_ffff;
            }
        }
    }
}

/// Random words of every row: what decodes must encode to the same word, and print and parse to the same
/// instruction.
#[test]
fn words_of_every_row_survive_decoding_and_printing() {
    let mut rng = Rng(0x9e37_79b9_7f4a_7c15);
    for chip in Chip::ALL {
        for row in Table::of(chip).rows() {
            for n in 0..400u32 {
                // Sparse, dense and uniform patterns: extreme values matter most.
                let noise = match n % 3 {
                    0 => rng.next() & rng.next() & rng.next(),
                    1 => rng.next() | rng.next(),
                    _ => rng.next(),
                };
                let word = (noise & !row.mask) | row.bits;
                let pc = 0x10008;
                let Some((mut m, found)) = isa::decode_row(chip, word, pc) else { continue };
                assert_eq!(
                    isa::encode(chip, &m, pc),
                    Ok(word),
                    "{chip} {word:016x} {m:?} {}",
                    describe(found)
                );
                let mut text = String::new();
                isa::text::print_row(&mut text, &m, Some(found));
                let mut back = isa::text::parse(chip, &text, pc, &|_| None)
                    .unwrap_or_else(|e| panic!("{chip} {word:016x} `{text}`: {e}"));
                back.form = m.form;
                forget_nan_payloads(&mut back);
                forget_nan_payloads(&mut m);
                assert_eq!(back, m, "{chip} {word:016x} `{text}`");
            }
        }
    }
}
