//! What must hold for every row of every table, whatever it says.

use nvir::Chip;
use nvir::isa::row::{Bits, ImmEnc, Kind, Row, Slot};
use nvir::isa::{self, ImmKind, Kw, MInst, Operand, Pred, Reg, Sel, SrcMods, Table};
use nvir::random::Random;

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
        all.extend(s.fields().map(|(what, at)| (format!("operand {i} {what}"), at)));
    }
    all
}

#[test]
fn fields_of_a_row_do_not_overlap() {
    for chip in Chip::ALL {
        for row in Table::for_chip(chip).rows() {
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
        for row in Table::for_chip(chip).rows() {
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
        let rows = Table::for_chip(chip).rows();
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

/// A random operand for a slot, as a compiler might write it.
fn operand(rng: &mut Random, chip: Chip, slot: &Slot) -> Operand {
    let r = rng.word();
    let flag = |n: u32, exists: bool| exists && r >> n & 3 == 0;
    let mods = SrcMods {
        neg: flag(0, slot.mods.neg.exists()),
        abs: flag(2, slot.mods.abs.exists()),
        inv: flag(4, slot.mods.inv.exists()),
    };
    let reg = |n: u64| if n.is_multiple_of(5) { Reg::Z } else { Reg((n % u64::from(chip.gprs())) as u8) };
    let sel = match slot.sel {
        Some((_, names)) => names[(r >> 8) as usize % names.len()].unwrap_or_default(),
        None => Sel::Whole,
    };
    let scaled = |at: Bits, shift: u8| {
        let half = at.max() / 2;
        (((r >> 16) & half) << shift) as i32
    };
    match slot.kind {
        Kind::Reg(_) | Kind::Tied { .. } => {
            Operand::Reg { reg: reg(r >> 16), mods, sel, cc: flag(6, slot.cc.exists()) }
        }
        Kind::Pred { not, .. } => {
            Operand::Pred(Pred { num: (r >> 16 & 7) as u8, not: flag(6, not.exists()) })
        }
        Kind::Imm { at, enc } => {
            let field = r >> 8 & at.max();
            let (bits, kind) = match enc {
                ImmEnc::F32 => ((field << (32 - at.width())) as u32, ImmKind::F32),
                ImmEnc::F64 => ((field << (32 - at.width())) as u32, ImmKind::F64),
                ImmEnc::F16 => (f32::from((r >> 8 & 0x3ff) as u16).to_bits(), ImmKind::F32),
                ImmEnc::Negated => ((field as u32).wrapping_neg(), ImmKind::Int),
                ImmEnc::Scaled(shift) => ((field << shift) as u32, ImmKind::Int),
                ImmEnc::Signed | ImmEnc::SignedAsHex if at.width() > 0 => {
                    (at.get_signed(at.put(field)) as u32, ImmKind::Int)
                }
                _ => (field as u32, ImmKind::Int),
            };
            Operand::Imm { bits, kind, mods }
        }
        Kind::Const { bank, offset, shift, .. } => Operand::Const {
            bank: (r >> 40 & bank.max()) as u8,
            base: Reg::Z,
            offset: scaled(offset, shift),
            mods,
            sel,
        },
        Kind::True => Operand::Pred(Pred::T),
        Kind::ConstOf { bank, offset, shift } => {
            Operand::Const { bank, base: Reg::Z, offset: scaled(offset, shift), mods, sel }
        }
        Kind::ConstInd { bank, offset, shift, .. } => Operand::Const {
            bank: (r >> 40 & bank.max()) as u8,
            base: reg(r >> 48),
            offset: scaled(offset, shift),
            mods,
            sel,
        },
        Kind::Mem { base, offset, shift, .. } => {
            let base = if base.width() > 0 { reg(r >> 48) } else { Reg::Z };
            Operand::Mem { base, offset: scaled(offset, shift) }
        }
        Kind::Attr { base, offset, shift, .. } => {
            let base = if base.width() > 0 { reg(r >> 48) } else { Reg::Z };
            Operand::Attr { base, offset: scaled(offset, shift) }
        }
        Kind::Sreg(at) => Operand::Sreg((r >> 16 & at.max()) as u8),
        Kind::TargetRel(_) => Operand::Target(0x10008 + (r >> 16 & 0xfff8) as u32),
        Kind::TargetNear(_) => Operand::Target(0xc00c + (r >> 16 & 0x7ffc) as u32),
        Kind::TargetAbs(_) => Operand::Target((r >> 16 & 0xfff8) as u32),
        Kind::CcTest(at) => Operand::CcTest((r >> 16 & at.max()) as u8),
        Kind::Word { words, .. } => {
            let legal: Vec<Kw> = words.iter().flatten().copied().collect();
            Operand::Word(legal[(r >> 16) as usize % legal.len()])
        }
    }
}

/// A random instruction of a row, in the encoding that a compiler chooses.
fn instruction(rng: &mut Random, chip: Chip, row: &Row) -> MInst {
    let mut m = MInst::new(row.op);
    for g in &row.groups {
        let legal = g.names.iter().flatten().count();
        let n = rng.word() as usize % legal.max(1);
        m.mods.extend(g.names.iter().flatten().nth(n).copied().unwrap_or_default().iter().copied());
    }
    m.operands.extend(row.slots.iter().map(|s| operand(rng, chip, s)));
    if row.guard.is_some() {
        m.guard = Pred { num: (rng.word() & 7) as u8, not: rng.word() & 1 == 1 };
    }
    m.sync = row.sync.exists() && rng.word() & 3 == 0;
    m.form = if row.short { MInst::SHORT } else { 0 };
    m
}

/// The other direction: what encodes must decode to the same instruction, whichever row the encoder took.
#[test]
fn instructions_of_every_row_survive_encoding() {
    let mut rng = Random::new(0x0123_4567_89ab_cdef);
    let pc = 0x10008;
    let mut encoded = 0u32;
    for chip in Chip::ALL {
        for row in Table::for_chip(chip).rows() {
            for _ in 0..1000 {
                let m = instruction(&mut rng, chip, row);
                let Ok(word) = isa::encode(chip, &m, pc) else { continue };
                assert_eq!(
                    isa::decode(chip, word, pc).as_ref(),
                    Some(&m),
                    "{chip} {word:016x} {}",
                    describe(row)
                );
                encoded += 1;
            }
        }
    }
    assert!(encoded > 1_000_000, "only {encoded} instructions had an encoding");
}

/// Instructions put together from operands and suffixes of different rows: most have no encoding, and the encoder
/// says so.
#[test]
fn mismatched_instructions_are_refused_or_encoded_faithfully() {
    let mut rng = Random::new(0x1357_9bdf_0246_8ace);
    for chip in Chip::ALL {
        let rows = Table::for_chip(chip).rows();
        for _ in 0..200_000 {
            let pick = |rng: &mut Random| &rows[rng.word() as usize % rows.len()];
            let (a, b, c) = (pick(&mut rng), pick(&mut rng), pick(&mut rng));
            let mut m = instruction(&mut rng, chip, a);
            m.mods = instruction(&mut rng, chip, b).mods;
            if rng.word() & 1 == 0 {
                m.op = c.op;
            }
            if let (Some(o), Some(slot)) = (m.operands.last_mut(), c.slots.first()) {
                *o = operand(&mut rng, chip, slot);
            }
            let encoded = isa::encode(chip, &m, 0x8000).is_ok();
            if let (Err(isa::Misfit::Range(n)), true) = (isa::encode(chip, &m, 0x8000), m.is_short())
                && matches!(m.operands[usize::from(n)], Operand::Target(_))
            {
                // Too far for a short form, which says nothing about where else it could stand.
                continue;
            }
            let selected = encoded && !isa::codec::never_selected(&m);
            assert_eq!(isa::fits(chip, &m).is_ok(), selected, "{chip} {m:?}");
            if let Ok(word) = isa::encode(chip, &m, 0x8000) {
                assert_eq!(isa::decode(chip, word, 0x8000), Some(m), "{chip} {word:016x}");
            }
        }
    }
}

/// Random words: nothing panics, and what decodes is encoded again.
#[test]
fn random_words_decode_to_what_encodes_to_them_or_not_at_all() {
    let mut rng = Random::new(0xfeed_f00d_dead_beef);
    for chip in Chip::ALL {
        for _ in 0..300_000 {
            let word = rng.word();
            if let Some(m) = isa::decode(chip, word, 0) {
                assert_eq!(isa::encode(chip, &m, 0), Ok(word), "{chip} {m:?}");
            }
        }
    }
}

/// Random words of every row: what decodes must encode to the same word, and print and parse to the same
/// instruction.
#[test]
fn words_of_every_row_survive_decoding_and_printing() {
    let mut rng = Random::new(0x9e37_79b9_7f4a_7c15);
    for chip in Chip::ALL {
        for row in Table::for_chip(chip).rows() {
            for n in 0..400u32 {
                // Sparse, dense and uniform patterns: extreme values matter most.
                let noise = match n % 3 {
                    0 => rng.word() & rng.word() & rng.word(),
                    1 => rng.word() | rng.word(),
                    _ => rng.word(),
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
                isa::text::print_row(&mut text, chip, &m, Some(found));
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

/// NaNs of any payload, and the choice of lanes beside an immediate, are in the text.
#[test]
fn immediates_keep_payloads_and_lanes_in_text() {
    let words: [(Chip, u64, &str); 10] = [
        (Chip::Gk110, 0xb560_1fff_801c_121d, "FCMP.GTU R135, R4, +QNAN , R7"),
        (Chip::Gk110, 0xb560_1ffe_001c_121d, "FCMP.GTU R135, R4, +QNAN(0x7fc00000) , R7"),
        (Chip::Gk110, 0x9460_1fff_801c_121d, "FFMA.RM.SAT R135, R4, +QNAN , R7"),
        (Chip::Gf100, 0x8400_0000_0000_2084, "@!P0 VMNMX4.UD.U8.U8.MX.NONE R0, R0.0000, 0x0.4444, R0"),
        (Chip::Gf100, 0x9400_0000_0000_a084, "@!P0 VSHL4.UD.U8.WRAP.NONE R2, R0.0000, 0x0.4444, R0"),
        (Chip::Gf100, 0x8110_4404_818c_1c84, "VADD4.UD.U8.U8.ACC.YZ R48, R24, 0x20.NEG.4444, R8"),
        (Chip::Gf100, 0x8110_4444_818c_1c84, "VADD4.UD.U8.U8.ACC.YZ R48, R24, 0x20.NEG, R8"),
        (Chip::Gk104, 0x880e_0000_1c04_1c04, "VABSDIFF4.U8.U8.NONE R16, R0.0000, 0x7.4444, R7"),
        (Chip::Gk104, 0x880e_00a0_1c04_1c04, "VABSDIFF4.U8.U8.NONE R16, R0.0000, 0x7.5476, R7"),
        (Chip::Gk110, 0xb540_1ffe_001c_121d, ""),
    ];
    for (chip, word, text) in words {
        let m = isa::decode(chip, word, 0).unwrap_or_else(|| panic!("{chip} {word:016x}"));
        let printed = isa::text::print(chip, &m);
        if !text.is_empty() {
            assert_eq!(printed, text);
        }
        let again =
            isa::text::parse(chip, &printed, 0, &|_| None).unwrap_or_else(|e| panic!("{printed}: {e}"));
        assert_eq!(isa::encode(chip, &again, 0), Ok(word), "{printed}");
    }
    // What begins as a NaN must be one, of the sign that is written.
    for bad in
        ["+QNAN(0x7f000000)", "+QNAN(0xffc00000)", "-QNAN(0x7fc00000)", "+QNAN(7)", "+QNAN(", "+QNAN()"]
    {
        let text = format!("FCMP.GTU R0, R0, {bad}, R0");
        assert!(isa::text::parse(Chip::Gk110, &text, 0, &|_| None).is_err(), "{text}");
    }
}

#[test]
fn what_no_card_has_is_read_and_written_but_never_selected() {
    for (chip, text) in [
        (Chip::Gk110, "SHF.L.U64.HI R4, R5, R6, R7"),
        (Chip::Gk110, "F2I.U8.F32 R4, R5"),
        (Chip::Gk110, "F2I.S8.F32 R4, R5"),
        (Chip::Gk104, "FMUL.FTZ.FMZ R0, R1, R2"),
        (Chip::Gf100, "FFMA.FTZ.FMZ R0, R1, R2, R0"),
    ] {
        let m = isa::text::parse(chip, text, 0, &|_| None).unwrap_or_else(|e| panic!("{text}: {e}"));
        let word = isa::encode(chip, &m, 0).unwrap_or_else(|e| panic!("{text}: {e}"));
        let back = isa::decode(chip, word, 0).map(|m| isa::text::print(chip, &m));
        assert_eq!(back.as_deref(), Some(text));
        assert!(isa::fits(chip, &m).is_err(), "{text}");
    }
    let plain = isa::text::parse(Chip::Gk104, "FMUL.FMZ R0, R1, R2", 0, &|_| None).expect("it is one");
    assert!(isa::fits(Chip::Gk104, &plain).is_ok());
}
