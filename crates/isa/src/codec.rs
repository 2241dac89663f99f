//! Words to instructions and back, over the rows.

use super::row::{Bits, Group, ImmEnc, Kind, Row, Slot, SrcBits};
use super::table::Table;
use super::{ImmKind, MInst, Mod, Op, Operand, Pred, Reg, Sel, SrcMods};
use half::f16;
use nvir_base::Chip;

/// Rows are numbered with 16 bits.
pub(super) const MAX_ROWS_PER_TABLE: usize = 1 << 16;

/// Why an instruction cannot be encoded. The operand is counted from 0 in text order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Misfit {
    /// No row has the operation.
    #[error("the chip does not have this operation")]
    Op,
    /// No row takes these kinds of operands.
    #[error("no form of the operation takes these kinds of operands")]
    Operands,
    /// No row takes these suffixes.
    #[error("the operation cannot have these suffixes, or not in this order")]
    Mods,
    /// The row has no guard, or not this one.
    #[error("this form cannot be predicated")]
    Guard,
    /// The row cannot synchronise (`.S`).
    #[error("this form cannot have the suffix .S")]
    Sync,
    /// The register of that operand does not exist.
    #[error("operand {}: the register does not exist", .0 + 1)]
    Register(u8),
    /// The number of that operand does not fit its field.
    #[error("operand {}: the number does not fit its field", .0 + 1)]
    Range(u8),
    /// That operand cannot carry its modifiers.
    #[error("operand {}: it cannot have this modifier", .0 + 1)]
    Modifier(u8),
    /// That operand's name is none of the field's.
    #[error("operand {}: this name is not valid here", .0 + 1)]
    Name(u8),
    /// Each part fits, but the word would mean something else.
    #[error("this combination has no encoding")]
    Combination,
}

/// What [`encode`] refuses.
pub type EncodeError = Misfit;

/// Operand kinds, four bits each from the first operand up, and in the top bit whether it is a
/// short form.
pub(super) fn shape(m: &MInst) -> u64 {
    let short = u64::from(m.is_short()) << SHORT_SHAPE;
    m.operands.iter().enumerate().fold(short, |s, (i, o)| s | (operand_kind(o) << (4 * i)))
}

const SHORT_SHAPE: u32 = 63;

fn operand_kind(o: &Operand) -> u64 {
    match o {
        Operand::Reg { .. } => 1,
        Operand::Pred(_) => 2,
        Operand::Imm { .. } => 3,
        Operand::Const { .. } => 4,
        Operand::Mem { .. } => 5,
        Operand::Attr { .. } => 6,
        Operand::Sreg(_) => 7,
        Operand::Target(_) => 8,
        Operand::CcTest(_) => 9,
        Operand::Word(_) => 10,
    }
}

/// The same for a row.
pub(super) fn row_shape(row: &Row) -> u64 {
    let short = u64::from(row.short) << SHORT_SHAPE;
    row.slots.iter().enumerate().fold(short, |s, (i, slot)| s | (slot_kind(slot) << (4 * i)))
}

fn slot_kind(slot: &Slot) -> u64 {
    match slot.kind {
        Kind::Reg(_) | Kind::Tied { .. } => 1,
        Kind::Pred { .. } | Kind::True => 2,
        Kind::Imm { .. } => 3,
        Kind::Const { .. } | Kind::ConstOf { .. } | Kind::ConstInd { .. } => 4,
        Kind::Mem { .. } => 5,
        Kind::Attr { .. } => 6,
        Kind::Sreg(_) => 7,
        Kind::TargetRel(_) | Kind::TargetNear(_) | Kind::TargetAbs(_) => 8,
        Kind::CcTest(_) => 9,
        Kind::Word { .. } => 10,
    }
}

/// The row that encodes an instruction, whatever its branch target and whatever register stands for
/// a value that has none yet (R0 does on every chip). This is the back end's question "may this
/// operand stand here?".
pub fn fits(chip: Chip, m: &MInst) -> Result<&'static Row, Misfit> {
    if never_selected(m) { Err(Misfit::Mods) } else { row_of(chip, m) }
}

/// The row of an instruction, whether or not a card has it.
pub fn row_of(chip: Chip, m: &MInst) -> Result<&'static Row, Misfit> {
    select(chip, m, None).map(|(row, _)| row)
}

/// Instructions that are read and written, but not made by this compiler: those that
/// [`no_card_has`], and FTZ with FMZ, which flushes as well: nvdisasm calls the pair invalid on
/// GK110. (Mesa has it on GF100 and GK104, so it is executed.)
pub fn never_selected(m: &MInst) -> bool {
    let float = matches!(m.op, Op::Fmul | Op::Fmul32i | Op::Ffma | Op::Ffma32i);
    no_card_has(m) || float && m.has(Mod::Ftz) && m.has(Mod::Fmz)
}

/// Instructions that disassemblers name and this decoder reads, but that cards do not have.
///
/// - `SHF.L.HI`, `SHF.L.XHI`: an illegal instruction on a card (NAK); SHF.L gives the high word
///   without it.
/// - `F2I.U8`, `F2I.S8`: before Volta there is no such result (NAK); ptxas converts to a word
///   first.
pub fn no_card_has(m: &MInst) -> bool {
    match m.op {
        Op::Shf => m.has(Mod::L) && (m.has(Mod::Hi) || m.has(Mod::Xhi)),
        Op::F2i => m.has(Mod::U8) || m.has(Mod::S8),
        _ => false,
    }
}

/// The word of an instruction at byte address `pc` of the code.
pub fn encode(chip: Chip, m: &MInst, pc: u32) -> Result<u64, EncodeError> {
    select(chip, m, Some(pc)).map(|(_, word)| word)
}

fn select(chip: Chip, m: &MInst, pc: Option<u32>) -> Result<(&'static Row, u64), Misfit> {
    let rows = Table::for_chip(chip).of_shape(m.op, shape(m)).ok_or(Misfit::Op)?;
    // The misfit of the row that came closest says most.
    let mut worst = Misfit::Operands;
    for row in rows {
        match encode_row(row, m, pc) {
            Ok(word) => return Ok((row, word)),
            Err(e) => worst = worst.worse(e),
        }
    }
    Err(worst)
}

impl Misfit {
    /// The one of two rows' misfits that came closer to an encoding.
    pub(super) fn worse(self, other: Misfit) -> Misfit {
        if other.closeness() > self.closeness() { other } else { self }
    }

    /// The operand at fault, if it is one.
    pub fn operand(self) -> Option<u8> {
        match self {
            Misfit::Register(i) | Misfit::Range(i) | Misfit::Modifier(i) | Misfit::Name(i) => Some(i),
            _ => None,
        }
    }

    fn closeness(self) -> u8 {
        match self {
            Misfit::Op => 0,
            Misfit::Operands => 1,
            Misfit::Mods => 2,
            Misfit::Name(_) => 3,
            Misfit::Modifier(_) => 4,
            Misfit::Register(_) | Misfit::Range(_) => 5,
            Misfit::Guard | Misfit::Sync => 6,
            Misfit::Combination => 7,
        }
    }
}

/// The word of an instruction whose row is chosen already.
pub(super) fn encode_as(row: &Row, m: &MInst, pc: u32) -> Result<u64, Misfit> {
    if row.shape != shape(m) {
        return Err(Misfit::Operands);
    }
    encode_row(row, m, Some(pc))
}

fn encode_row(row: &Row, m: &MInst, pc: Option<u32>) -> Result<u64, Misfit> {
    let (mut word, form) = encode_groups(row, &m.mods, m.form & FORM_BITS)?;
    if m.form & !FORM_BITS != row.variant_form() {
        return Err(Misfit::Combination);
    }
    for (i, (slot, o)) in row.slots.iter().zip(&m.operands).enumerate() {
        word |= match *o {
            // Most operands are plain registers.
            Operand::Reg { reg, mods, sel: Sel::Whole, cc: false }
                if mods == SrcMods::default()
                    && slot.sel.is_none()
                    && let Kind::Reg(at) = slot.kind =>
            {
                encode_reg(at, reg).ok_or(Misfit::Register(i as u8))?
            }
            _ => encode_operand(slot, o, i as u8, pc)?,
        };
    }
    word |= match row.guard {
        _ if m.guard.is_true() => row.unguarded,
        Some(ref guard) => encode_pred(guard, m.guard).ok_or(Misfit::Guard)?,
        None => return Err(Misfit::Guard),
    };
    if m.sync {
        if !row.sync.exists() {
            return Err(Misfit::Sync);
        }
        word |= row.sync.mask();
    }
    let free = if form == 0 { 0 } else { deposit(form, row.free).ok_or(Misfit::Combination)? };
    word |= row.bits | (free ^ row.free_default);
    if row.matches(word) && (!row.tied || tied_registers_agree(row, m, word)) {
        Ok(word)
    } else {
        Err(Misfit::Combination)
    }
}

fn tied_registers_agree(row: &Row, m: &MInst, word: u64) -> bool {
    row.slots.iter().zip(&m.operands).all(|(slot, o)| match (slot.kind, o) {
        (Kind::Tied { at, plus }, Operand::Reg { reg, .. }) => *reg == tied_reg(at, plus, word),
        _ => true,
    })
}

/// The register `plus` after a field's; RZ has no successor.
fn tied_reg(at: Bits, plus: u8, word: u64) -> Reg {
    match decode_reg(at, word) {
        Reg::Z => Reg::Z,
        Reg(n) => Reg(n.saturating_add(plus)),
    }
}

const VARIANT_SHIFT: u32 = 60;
/// The rest of a form: all that is neither the variant nor [`MInst::SHORT`], the bit below it.
const FORM_BITS: u64 = MInst::SHORT - 1;

/// Field bits of the suffixes, and the form that is left after the values with the same name are
/// told apart.
///
/// Each group takes the longest name that stands next; the form counts, group by group, which of
/// the values with that name is meant.
pub(super) fn encode_groups(row: &Row, mods: &[Mod], mut form: u64) -> Result<(u64, u64), Misfit> {
    if mods.is_empty() && form == 0 {
        return row.unsuffixed.map(|word| (word, 0)).ok_or(Misfit::Mods);
    }
    let mut rest = mods;
    let mut word = 0;
    for g in &row.groups {
        if rest.is_empty() && form == 0 {
            return g.plain.map(|bits| (word | bits, 0)).ok_or(Misfit::Mods);
        }
        let (value, len, same) = longest_name(g, rest).ok_or(Misfit::Mods)?;
        let value = if same > 1 {
            let which = form % same;
            form /= same;
            nth_same(g, value, which)
        } else {
            value
        };
        rest = &rest[len..];
        word |= g.at.put(value);
    }
    if rest.is_empty() { Ok((word, form)) } else { Err(Misfit::Mods) }
}

/// The first value with the longest name that `mods` starts with, the name's length, and how many
/// values share it.
fn longest_name(g: &Group, mods: &[Mod]) -> Option<(u64, usize, u64)> {
    let first = match mods {
        [first, ..] if g.names.begins.contains(*first) => first,
        _ => return g.names.unnamed.map(|(value, same)| (value, 0, same)),
    };
    if g.names.simple {
        let is_first = |name: &Option<&[Mod]>| matches!(name, Some([only]) if only == first);
        return g.names.iter().position(is_first).map(|value| (value as u64, 1, 1));
    }
    let mut best: Option<(u64, usize, u64)> = None;
    for (value, name) in g.names.iter().enumerate() {
        let Some(name) = name else { continue };
        if !mods.starts_with(name) {
            continue;
        }
        match &mut best {
            Some((_, len, same)) if *len == name.len() => *same += 1,
            Some((_, len, _)) if *len > name.len() => {}
            _ => best = Some((value as u64, name.len(), 1)),
        }
    }
    best
}

/// The `which`th value with the same name as `first`.
fn nth_same(g: &Group, first: u64, which: u64) -> u64 {
    let name = g.name(first);
    (first..g.names.len() as u64).filter(|&v| g.name(v) == name).nth(which as usize).unwrap_or(first)
}

#[inline]
pub(super) fn encode_pred(kind: &Kind, p: Pred) -> Option<u64> {
    let &Kind::Pred { at, not } = kind else { return None };
    if p.num > 7 || (p.not && !not.exists()) {
        return None;
    }
    Some(at.put(u64::from(p.num)) | if p.not { not.mask() } else { 0 })
}

#[inline(always)]
fn encode_reg(at: Bits, reg: Reg) -> Option<u64> {
    let rz = at.max();
    match u64::from(reg.0) {
        n if n < rz => Some(at.put(n)),
        _ if reg == Reg::Z => Some(at.put(rz)),
        _ => None,
    }
}

#[inline]
fn encode_mods(bits: SrcBits, mods: SrcMods) -> Option<u64> {
    if mods == SrcMods::default() {
        return Some(0);
    }
    let mut word = 0;
    for (on, bit) in [(mods.neg, bits.neg), (mods.abs, bits.abs), (mods.inv, bits.inv)] {
        if on {
            if !bit.exists() {
                return None;
            }
            word |= bit.mask();
        }
    }
    Some(word)
}

#[inline]
fn encode_sel(slot: &Slot, sel: Sel) -> Option<u64> {
    match slot.sel {
        None => (sel == Sel::Whole).then_some(0),
        // Most name the whole register first.
        Some((_, [Some(first), ..])) if sel == *first => Some(0),
        Some((at, names)) => {
            let value = names.iter().position(|&n| n == Some(sel))?;
            Some(at.put(value as u64))
        }
    }
}

pub(super) fn encode_operand(slot: &Slot, o: &Operand, i: u8, pc: Option<u32>) -> Result<u64, Misfit> {
    let range = Misfit::Range(i);
    let register = Misfit::Register(i);
    match (&slot.kind, o) {
        (&Kind::Reg(at), &Operand::Reg { reg, mods, sel, cc }) => {
            if cc && !slot.cc.exists() {
                return Err(Misfit::Modifier(i));
            }
            let flags = encode_mods(slot.mods, mods).ok_or(Misfit::Modifier(i))?;
            let part = encode_sel(slot, sel).ok_or(Misfit::Modifier(i))?;
            let reg = encode_reg(at, reg).ok_or(register)?;
            Ok(reg | flags | part | if cc { slot.cc.mask() } else { 0 })
        }
        (Kind::Tied { .. }, &Operand::Reg { mods, sel: Sel::Whole, cc: false, .. }) => {
            encode_mods(slot.mods, mods).ok_or(Misfit::Modifier(i))
        }
        (kind @ Kind::Pred { .. }, &Operand::Pred(p)) => encode_pred(kind, p).ok_or(Misfit::Modifier(i)),
        (Kind::True, &Operand::Pred(p)) => p.is_true().then_some(0).ok_or(register),
        (&Kind::Imm { at, enc }, &Operand::Imm { bits, kind, mods }) => {
            if kind != imm_kind(enc) {
                return Err(Misfit::Operands);
            }
            let flags = encode_mods(slot.mods, mods).ok_or(Misfit::Modifier(i))?;
            Ok(encode_imm(at, enc, bits).ok_or(range)? | flags)
        }
        (
            &Kind::Const { bank, offset, shift, .. },
            &Operand::Const { bank: n, base, offset: bytes, mods, sel },
        ) => {
            if base != Reg::Z {
                return Err(Misfit::Operands);
            }
            let flags = encode_mods(slot.mods, mods).ok_or(Misfit::Modifier(i))?;
            let part = encode_sel(slot, sel).ok_or(Misfit::Modifier(i))?;
            let bank = put_checked(bank, u64::from(n)).ok_or(range)?;
            Ok(bank | encode_scaled(offset, bytes, shift, false).ok_or(range)? | flags | part)
        }
        (
            &Kind::ConstOf { bank, offset, shift },
            &Operand::Const { bank: n, base, offset: bytes, mods, sel },
        ) => {
            if base != Reg::Z {
                return Err(Misfit::Operands);
            }
            if mods != SrcMods::default() || sel != Sel::Whole {
                return Err(Misfit::Modifier(i));
            }
            (n == bank).then(|| encode_scaled(offset, bytes, shift, false)).flatten().ok_or(range)
        }
        (
            &Kind::ConstInd { bank, base, offset, shift },
            &Operand::Const { bank: n, base: r, offset: bytes, mods, sel },
        ) => {
            if mods != SrcMods::default() || sel != Sel::Whole {
                return Err(Misfit::Modifier(i));
            }
            let bank = put_checked(bank, u64::from(n)).ok_or(range)?;
            let base = encode_reg(base, r).ok_or(register)?;
            Ok(bank | base | encode_scaled(offset, bytes, shift, true).ok_or(range)?)
        }
        (&Kind::Mem { base, offset, shift, always_signed }, &Operand::Mem { base: r, offset: bytes }) => {
            let signed = always_signed || r != Reg::Z;
            Ok(encode_base(base, r).ok_or(register)?
                | encode_scaled(offset, bytes, shift, signed).ok_or(range)?)
        }
        (&Kind::Attr { base, offset, shift, signed }, &Operand::Attr { base: r, offset: bytes }) => {
            Ok(encode_base(base, r).ok_or(register)?
                | encode_scaled(offset, bytes, shift, signed).ok_or(range)?)
        }
        (&Kind::Sreg(at), &Operand::Sreg(n)) | (&Kind::CcTest(at), &Operand::CcTest(n)) => {
            put_checked(at, u64::from(n)).ok_or(Misfit::Name(i))
        }
        (&Kind::TargetRel(at), &Operand::Target(t)) => {
            let Some(pc) = pc else { return Ok(0) };
            let distance = i64::from(t.wrapping_sub(pc.wrapping_add(8)) as i32);
            if !at.fits_signed(distance) {
                return Err(range);
            }
            Ok(at.put(distance as u64 & at.max()))
        }
        (&Kind::TargetNear(at), &Operand::Target(t)) => {
            let Some(pc) = pc else { return Ok(0) };
            encode_scaled(at, t.wrapping_sub(pc.wrapping_add(4)) as i32, 2, true).ok_or(range)
        }
        (&Kind::TargetAbs(at), &Operand::Target(t)) => put_checked(at, u64::from(t)).ok_or(range),
        (&Kind::Word { at, words }, &Operand::Word(w)) => {
            let value = words.iter().position(|&x| x == Some(w)).ok_or(Misfit::Name(i))?;
            Ok(at.put(value as u64))
        }
        _ => Err(Misfit::Operands),
    }
}

fn put_checked(at: Bits, value: u64) -> Option<u64> {
    at.fits(value).then(|| at.put(value))
}

fn encode_base(at: Bits, reg: Reg) -> Option<u64> {
    if at.width() == 0 { (reg == Reg::Z).then_some(0) } else { encode_reg(at, reg) }
}

fn encode_scaled(at: Bits, bytes: i32, shift: u8, signed: bool) -> Option<u64> {
    if bytes & ((1 << shift) - 1) != 0 {
        return None;
    }
    if at.width() == 0 {
        return (bytes == 0).then_some(0);
    }
    if signed {
        let units = i64::from(bytes >> shift);
        at.fits_signed(units).then(|| at.put(units as u64 & at.max()))
    } else {
        // A 32-bit unsigned field covers every pattern; a narrower one only what is not negative.
        put_checked(at, u64::from(bytes as u32 >> shift))
    }
}

/// How an immediate with this encoding is written.
pub(super) fn imm_kind(enc: ImmEnc) -> ImmKind {
    match enc {
        ImmEnc::F16 | ImmEnc::F32 => ImmKind::F32,
        ImmEnc::F64 => ImmKind::F64,
        _ => ImmKind::Int,
    }
}

fn encode_imm(at: Bits, enc: ImmEnc, bits: u32) -> Option<u64> {
    match enc {
        ImmEnc::Unsigned | ImmEnc::Decimal => put_checked(at, u64::from(bits)),
        ImmEnc::Signed | ImmEnc::SignedAsHex => {
            let v = i64::from(bits as i32);
            at.fits_signed(v).then(|| at.put(v as u64 & at.max()))
        }
        ImmEnc::F32 | ImmEnc::F64 => {
            let low = 32 - u32::from(at.width());
            (u64::from(bits) & ((1u64 << low) - 1) == 0).then(|| at.put(u64::from(bits) >> low))
        }
        ImmEnc::F16 => {
            let half = half_bits(bits);
            (f32_of_half(half) == bits).then(|| at.put(u64::from(half)))
        }
        ImmEnc::Negated => put_checked(at, u64::from(bits.wrapping_neg())),
        ImmEnc::Scaled(shift) => {
            (bits & ((1 << shift) - 1) == 0).then_some(())?;
            put_checked(at, u64::from(bits >> shift))
        }
    }
}

/// The instruction that a word at byte address `pc` stands for, with its row; none if any bit of it
/// has no meaning.
pub fn decode_row(chip: Chip, word: u64, pc: u32) -> Option<(MInst, &'static Row)> {
    let row = Table::for_chip(chip).find(chip, word)?;
    let mut m = MInst::new(row.op);
    decode_fields(row, word, pc, &mut m)?;
    Some((m, row))
}

/// The instruction that a word at byte address `pc` stands for.
pub fn decode(chip: Chip, word: u64, pc: u32) -> Option<MInst> {
    let row = Table::for_chip(chip).find(chip, word)?;
    let mut m = MInst::new(row.op);
    decode_fields(row, word, pc, &mut m)?;
    Some(m)
}

fn decode_fields(row: &Row, word: u64, pc: u32, m: &mut MInst) -> Option<()> {
    if let Some(Kind::Pred { at, not }) = row.guard {
        m.guard = Pred { num: at.get(word) as u8, not: not.get(word) };
    }
    m.sync = row.sync.get(word);
    // The form is a number with a digit for each ambiguous group, the first one lowest, and the
    // free bits on top.
    let (mut form, mut weight) = (0, 1);
    for g in &row.groups {
        let value = g.at.get(word);
        let name = g.name(value)?;
        for &suffix in name {
            m.mods.try_push(suffix).ok()?;
        }
        if g.names.ambiguous {
            let (which, same) = same_name(g, value, name);
            form += which * weight;
            weight *= same;
        }
    }
    for slot in &row.slots {
        m.operands.try_push(decode_slot(slot, word, pc)?).ok()?;
    }
    form += extract(word ^ row.free_default, row.free) * weight;
    m.form = form | row.variant_form();
    Some(())
}

impl Row {
    /// What [`MInst::form`] holds for instructions of this row beside free bits.
    pub(super) fn variant_form(&self) -> u64 {
        u64::from(self.variant) << VARIANT_SHIFT | if self.short { MInst::SHORT } else { 0 }
    }
}

/// Which of the values with its name this one is, and how many there are.
fn same_name(g: &Group, value: u64, name: &[Mod]) -> (u64, u64) {
    let (mut before, mut all) = (0, 0);
    for (v, n) in g.names.iter().enumerate() {
        if *n == Some(name) {
            all += 1;
            before += u64::from((v as u64) < value);
        }
    }
    (before, all)
}

fn decode_reg(at: Bits, word: u64) -> Reg {
    let n = at.get(word);
    if n == at.max() { Reg::Z } else { Reg(n as u8) }
}

fn decode_base(at: Bits, word: u64) -> Reg {
    if at.width() == 0 { Reg::Z } else { decode_reg(at, word) }
}

fn decode_scaled(at: Bits, word: u64, shift: u8, signed: bool) -> i32 {
    if at.width() == 0 {
        0
    } else if signed {
        (at.get_signed(word) << shift) as i32
    } else {
        (at.get(word) << shift) as i32
    }
}

fn decode_sel(slot: &Slot, word: u64) -> Option<Sel> {
    match slot.sel {
        None => Some(Sel::Whole),
        Some((at, names)) => names.get(at.get(word) as usize).copied().flatten(),
    }
}

fn decode_slot(slot: &Slot, word: u64, pc: u32) -> Option<Operand> {
    let mods =
        SrcMods { neg: slot.mods.neg.get(word), abs: slot.mods.abs.get(word), inv: slot.mods.inv.get(word) };
    Some(match slot.kind {
        Kind::Reg(at) => Operand::Reg {
            reg: decode_reg(at, word),
            mods,
            sel: decode_sel(slot, word)?,
            cc: slot.cc.get(word),
        },
        Kind::Tied { at, plus } => {
            Operand::Reg { reg: tied_reg(at, plus, word), mods, sel: Sel::Whole, cc: false }
        }
        Kind::Pred { at, not } => Operand::Pred(Pred { num: at.get(word) as u8, not: not.get(word) }),
        Kind::True => Operand::Pred(Pred::T),
        Kind::Imm { at, enc } => {
            let bits = match enc {
                ImmEnc::Unsigned | ImmEnc::Decimal => at.get(word) as u32,
                ImmEnc::Signed | ImmEnc::SignedAsHex => at.get_signed(word) as u32,
                ImmEnc::F32 | ImmEnc::F64 => (at.get(word) as u32) << (32 - at.width()),
                ImmEnc::F16 => f32_of_half(at.get(word) as u16),
                ImmEnc::Negated => (at.get(word) as u32).wrapping_neg(),
                ImmEnc::Scaled(shift) => (at.get(word) as u32) << shift,
            };
            Operand::Imm { bits, kind: imm_kind(enc), mods }
        }
        Kind::Const { bank, offset, shift, .. } => Operand::Const {
            bank: bank.get(word) as u8,
            base: Reg::Z,
            offset: decode_scaled(offset, word, shift, false),
            mods,
            sel: decode_sel(slot, word)?,
        },
        Kind::ConstOf { bank, offset, shift } => Operand::Const {
            bank,
            base: Reg::Z,
            offset: decode_scaled(offset, word, shift, false),
            mods,
            sel: Sel::Whole,
        },
        Kind::ConstInd { bank, base, offset, shift } => Operand::Const {
            bank: bank.get(word) as u8,
            base: decode_reg(base, word),
            offset: decode_scaled(offset, word, shift, true),
            mods,
            sel: Sel::Whole,
        },
        Kind::Mem { base, offset, shift, always_signed } => {
            let base = decode_base(base, word);
            let signed = always_signed || base != Reg::Z;
            Operand::Mem { base, offset: decode_scaled(offset, word, shift, signed) }
        }
        Kind::Attr { base, offset, shift, signed } => Operand::Attr {
            base: decode_base(base, word),
            offset: decode_scaled(offset, word, shift, signed),
        },
        Kind::Sreg(at) => Operand::Sreg(at.get(word) as u8),
        Kind::TargetRel(at) => Operand::Target(pc.wrapping_add(8).wrapping_add(at.get_signed(word) as u32)),
        Kind::TargetNear(at) => {
            Operand::Target(pc.wrapping_add(4).wrapping_add((at.get_signed(word) << 2) as u32))
        }
        Kind::TargetAbs(at) => Operand::Target(at.get(word) as u32),
        Kind::CcTest(at) => Operand::CcTest(at.get(word) as u8),
        Kind::Word { at, words } => Operand::Word(words.get(at.get(word) as usize).copied().flatten()?),
    })
}

/// The f32 with the value of an f16; a NaN keeps its payload.
fn f32_of_half(half: u16) -> u32 {
    if f16::from_bits(half).is_nan() {
        (u32::from(half & 0x8000) << 16) | 0x7f80_0000 | (u32::from(half & 0x3ff) << 13)
    } else {
        f16::from_bits(half).to_f32().to_bits()
    }
}

/// The nearest f16; of a NaN the high bits of the payload.
pub fn half_bits(bits: u32) -> u16 {
    let value = f32::from_bits(bits);
    if value.is_nan() {
        (bits >> 16 & 0x8000) as u16 | 0x7c00 | (bits >> 13 & 0x3ff) as u16
    } else {
        f16::from_f32(value).to_bits()
    }
}

/// Packs the bits of `word` under `mask`, lowest first.
fn extract(word: u64, mut mask: u64) -> u64 {
    let (mut out, mut k) = (0, 0);
    while mask != 0 {
        let (low, n) = lowest_run(mask);
        let ones = u64::MAX >> (64 - n);
        out |= (word >> low & ones) << k;
        k += n;
        mask &= !(ones << low);
    }
    out
}

/// The first bit and the length of the lowest run of ones.
fn lowest_run(mask: u64) -> (u32, u32) {
    let low = mask.trailing_zeros();
    (low, (mask >> low).trailing_ones())
}

/// The inverse of [`extract`]; none if `packed` has more bits than the mask.
fn deposit(packed: u64, mut mask: u64) -> Option<u64> {
    if packed == 0 {
        return Some(0);
    }
    if packed >> mask.count_ones().min(63) > 0 {
        return None;
    }
    let (mut out, mut k) = (0, 0);
    while mask != 0 {
        let (low, n) = lowest_run(mask);
        let ones = u64::MAX >> (64 - n);
        out |= (packed >> k & ones) << low;
        k += n;
        mask &= !(ones << low);
    }
    Some(out)
}
