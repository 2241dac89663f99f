//! What a generation's table is made of: one [`Row`] for each shape of text that a word can have.
//!
//! A row says which bits of the word are fixed, where the modifiers and the operands stand, and
//! which bits mean nothing. Everything else (encoder, decoder, printer, parser, operand legality,
//! the reference page) reads it.
//!
//! Invariants, which tests check over every table:
//! - every bit of the word is fixed, or belongs to exactly one field, or is free;
//! - no word matches two rows; where two shapes share opcode bits, [`Row::except`] says which
//!   values of a field belong to the other one;
//! - a field value without a name is refused by the decoder, never dropped.

use super::{Kw, Mod, Op, Sel};
use nvir_base::Chip;

/// A field: up to two runs of bits, the low part first. Width 0 is a field that is always zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bits {
    /// The lowest bit.
    pub lo: u8,
    /// How many bits.
    pub n: u8,
    /// The lowest bit of the upper part, where the field has two.
    pub lo2: u8,
    /// How many bits the upper part has; 0 for none.
    pub n2: u8,
}

/// A run of `n` bits from bit `lo` on.
pub const fn b(lo: u8, n: u8) -> Bits {
    Bits { lo, n, lo2: 0, n2: 0 }
}

/// A field in two parts: `n` bits from `lo` on are its low part, `n2` from `lo2` on its high part.
pub const fn b2(lo: u8, n: u8, lo2: u8, n2: u8) -> Bits {
    Bits { lo, n, lo2, n2 }
}

/// So many ones: fewer than the word has bits.
const fn ones(n: u8) -> u64 {
    (1 << n) - 1
}

impl Bits {
    /// No bits at all: the field of a modifier that the opcode implies.
    pub const NONE: Bits = b(0, 0);

    /// Bits of both parts.
    pub const fn width(self) -> u8 {
        self.n + self.n2
    }

    /// The bits of the word that the field covers.
    pub const fn mask(self) -> u64 {
        (ones(self.n) << self.lo) | (ones(self.n2) << self.lo2)
    }

    /// The largest number that fits.
    pub const fn max(self) -> u64 {
        ones(self.width())
    }

    /// The number in a word.
    pub const fn get(self, word: u64) -> u64 {
        ((word >> self.lo) & ones(self.n)) | (((word >> self.lo2) & ones(self.n2)) << self.n)
    }

    /// The field's value as a two's complement number.
    pub const fn get_signed(self, word: u64) -> i64 {
        let shift = 64 - self.width() as u32;
        ((self.get(word) << shift) as i64) >> shift
    }

    /// The word bits of a value, which must fit.
    #[inline]
    pub const fn put(self, value: u64) -> u64 {
        debug_assert!(self.fits(value));
        if self.n2 == 0 {
            return value << self.lo;
        }
        ((value & ones(self.n)) << self.lo) | ((value >> self.n) << self.lo2)
    }

    /// Whether a number fits.
    pub const fn fits(self, value: u64) -> bool {
        value <= self.max()
    }

    pub(crate) const fn fits_signed(self, value: i64) -> bool {
        let half = 1i64 << (self.width() - 1);
        value >= -half && value < half
    }
}

/// A single bit by its number, or none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bit(pub u8);

impl Bit {
    pub(crate) const NO: Bit = Bit(255);

    /// Whether there is such a bit.
    pub const fn exists(self) -> bool {
        self.0 < 64
    }

    /// The bit as a mask; 0 if there is none.
    pub const fn mask(self) -> u64 {
        if self.exists() { 1 << self.0 } else { 0 }
    }

    /// Whether it is set in a word.
    pub const fn get(self, word: u64) -> bool {
        word & self.mask() != 0
    }
}

/// What the values of a modifier field are called, by value: no entry or `None` is no legal value,
/// an empty list is the default that is not printed. Write them with
/// [`names!`](macro@crate::names).
pub type Names = &'static NameTable;

/// Names by value, with what the encoder asks about them: worked out when the program is compiled.
#[derive(Debug)]
pub struct NameTable {
    by_value: &'static [Option<&'static [Mod]>],
    /// Several values have the same name, so that [`super::MInst::form`] must tell them apart.
    pub ambiguous: bool,
    /// The suffixes that the names begin with: of any other, only the value without a name can be
    /// meant.
    pub(super) begins: ModSet,
    /// The first value without a name, and how many there are.
    pub(super) unnamed: Option<(u64, u64)>,
    /// Every name is one suffix, and no two values share theirs.
    pub(super) simple: bool,
}

impl NameTable {
    pub(crate) const fn new(by_value: &'static [Option<&'static [Mod]>]) -> NameTable {
        let mut table =
            NameTable { by_value, ambiguous: false, begins: ModSet([0; _]), unnamed: None, simple: true };
        let mut value = 0;
        while value < by_value.len() {
            if let Some(name) = by_value[value] {
                table.simple &= name.len() <= 1;
                table.ambiguous |= table.is_named_before(name, value);
                if let Some(&first) = name.first() {
                    table.begins.insert(first);
                } else {
                    table.unnamed = match table.unnamed {
                        None => Some((value as u64, 1)),
                        Some((first, count)) => Some((first, count + 1)),
                    };
                }
            }
            value += 1;
        }
        table.simple &= !table.ambiguous;
        table
    }

    /// Whether a value below `end` has this name.
    const fn is_named_before(&self, name: &[Mod], end: usize) -> bool {
        let mut value = 0;
        while value < end {
            if let Some(other) = self.by_value[value]
                && same(other, name)
            {
                return true;
            }
            value += 1;
        }
        false
    }
}

const fn same(a: &[Mod], b: &[Mod]) -> bool {
    let mut n = 0;
    while n < a.len() && n < b.len() && a[n] as u16 == b[n] as u16 {
        n += 1;
    }
    n == a.len() && n == b.len()
}

impl std::ops::Deref for NameTable {
    type Target = [Option<&'static [Mod]>];

    fn deref(&self) -> &Self::Target {
        self.by_value
    }
}

/// Builds [`Names`]: `_` is the value that prints nothing, `!` a value that no instruction has,
/// `[A B]` a value that prints as two suffixes.
#[macro_export]
macro_rules! names {
    ($($t:tt),* $(,)?) => { const { &$crate::row::NameTable::new(&[$($crate::names!(@ $t)),*]) } };
    (@ _) => { Some(&[] as &[$crate::Mod]) };
    (@ !) => { None };
    (@ [$($m:ident)*]) => { Some(&[$($crate::Mod::$m),*] as &[$crate::Mod]) };
    (@ $m:ident) => { Some(&[$crate::Mod::$m] as &[$crate::Mod]) };
}

/// One position in the list of suffixes.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// Where the group stands.
    pub at: Bits,
    /// The suffixes, by the field's value.
    pub names: Names,
    /// Field bits of this group and those after it where none of them is named; the first value of
    /// each.
    pub(super) plain: Option<u64>,
}

/// A set of suffixes.
#[derive(Clone, Copy, Debug)]
pub(super) struct ModSet([u64; Mod::ALL.len().div_ceil(64)]);

impl ModSet {
    const fn insert(&mut self, m: Mod) {
        self.0[m as usize / 64] |= 1 << (m as usize % 64);
    }

    pub(crate) fn contains(&self, m: Mod) -> bool {
        self.0[m as usize / 64] >> (m as usize % 64) & 1 == 1
    }
}

impl Group {
    /// The suffixes that stand for a value, if it is legal.
    pub fn name(&self, value: u64) -> Option<&'static [Mod]> {
        self.names.get(value as usize).copied().flatten()
    }
}

/// Where a source operand's modifiers stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SrcBits {
    /// Negation.
    pub neg: Bit,
    /// The absolute value.
    pub abs: Bit,
    /// Bitwise inversion.
    pub inv: Bit,
}

impl SrcBits {
    pub(crate) const NONE: SrcBits = SrcBits { neg: Bit::NO, abs: Bit::NO, inv: Bit::NO };
}

/// How an immediate field stands for 32 bits, and how it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImmEnc {
    /// Zero-extended, hexadecimal.
    Unsigned,
    /// Sign-extended, hexadecimal with a sign.
    Signed,
    /// Sign-extended, hexadecimal of the 32-bit pattern.
    SignedAsHex,
    /// The bits of an f16; the instruction holds the same value as an f32.
    F16,
    /// The high bits of an f32; the low ones are zero.
    F32,
    /// The high bits of the high word of an f64; the low ones are zero.
    F64,
    /// Zero-extended, decimal.
    Decimal,
    /// The field is the absolute value of a negative number.
    Negated,
    /// Left-shifted by the amount, hexadecimal.
    Scaled(u8),
}

/// What stands at one place of the operand list.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "fields of a variant: where in the word each part stands")]
pub enum Kind {
    /// A general register; all ones is RZ.
    Reg(Bits),
    Pred {
        at: Bits,
        not: Bit,
    },
    /// PT without a field: what the form implies.
    True,
    Imm {
        at: Bits,
        enc: ImmEnc,
    },
    /// A register that is already another operand: the field's register, `plus` further.
    Tied {
        at: Bits,
        plus: u8,
    },
    /// `c[bank][offset]`; the field counts units of `1 << shift` bytes. Offsets from 0x8000 on are
    /// written as negative 16-bit numbers where nvdisasm does so.
    Const {
        bank: Bits,
        offset: Bits,
        shift: u8,
        signed_text: bool,
    },
    /// `c[bank][offset]` of a bank that the opcode says.
    ConstOf {
        bank: u8,
        offset: Bits,
        shift: u8,
    },
    /// `c[bank][base + offset]`, the offset signed and in units of `1 << shift` bytes.
    ConstInd {
        bank: Bits,
        base: Bits,
        offset: Bits,
        shift: u8,
    },
    /// `[base + offset]`: offset in units of `1 << shift` bytes; without a base field the address
    /// is absolute. The offset is signed, but where the base is RZ only if this says so: else it is
    /// an address then.
    Mem {
        base: Bits,
        offset: Bits,
        shift: u8,
        always_signed: bool,
    },
    /// `a[base + offset]`.
    Attr {
        base: Bits,
        offset: Bits,
        shift: u8,
        signed: bool,
    },
    Sreg(Bits),
    /// Signed offset from the next word.
    TargetRel(Bits),
    /// Signed distance from the next instruction in units of 4 bytes: in short forms.
    TargetNear(Bits),
    /// Absolute byte address.
    TargetAbs(Bits),
    CcTest(Bits),
    /// A keyword by field value; `None` is no legal value.
    Word {
        at: Bits,
        words: &'static [Option<Kw>],
    },
}

impl Kind {
    /// The bits of its fields.
    const fn mask(self) -> u64 {
        match self {
            Kind::Reg(at) | Kind::Sreg(at) | Kind::CcTest(at) => at.mask(),
            Kind::TargetRel(at) | Kind::TargetNear(at) | Kind::TargetAbs(at) => at.mask(),
            Kind::Imm { at, .. } | Kind::Word { at, .. } => at.mask(),
            Kind::Pred { at, not } => at.mask() | not.mask(),
            Kind::Tied { .. } | Kind::True => 0,
            Kind::Const { bank, offset, .. } => bank.mask() | offset.mask(),
            Kind::ConstOf { offset, .. } => offset.mask(),
            Kind::ConstInd { bank, base, offset, .. } => bank.mask() | base.mask() | offset.mask(),
            Kind::Mem { base, offset, .. } | Kind::Attr { base, offset, .. } => base.mask() | offset.mask(),
        }
    }
}

/// One operand of a row.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// What the operand is.
    pub kind: Kind,
    /// Its modifiers.
    pub mods: SrcBits,
    /// The part of the register that is used: its field, and the meaning of every value.
    pub sel: Option<(Bits, &'static [Option<Sel>])>,
    /// `.CC` on a destination.
    pub cc: Bit,
    /// How it is written.
    pub style: Style,
    /// The numbers that cards take; the field may hold others.
    pub domain: Domain,
    /// The bits of all its fields.
    mask: u64,
}

/// Which immediates of a field a card executes; with others the instruction encodes, and faults.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Domain {
    /// The largest one.
    pub most: u32,
    /// What they are multiples of.
    pub step: u32,
}

impl Domain {
    /// All numbers that fit the field.
    pub const ALL: Domain = Domain { most: u32::MAX, step: 1 };
}

/// Peculiarities of the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// As it is.
    Plain,
    /// `c[0x0] [0x4]`.
    Spaced,
    /// No comma before the operand: `BRX R0 -0x8`.
    Gap,
    /// `v[R0+0x4]`: vertex data.
    Vertex,
    /// An immediate of which this part is meant: `0x1234.H1`. The instruction does not hold it;
    /// rows that differ in it are variants.
    Part(Sel),
    /// An immediate as eight letters, `PPNNZZPP`: what FSWZ does with each lane of a quad.
    Swizzle,
}

impl Slot {
    /// An operand without modifiers.
    pub const fn new(kind: Kind) -> Slot {
        Slot {
            kind,
            mods: SrcBits::NONE,
            sel: None,
            cc: Bit::NO,
            style: Style::Plain,
            domain: Domain::ALL,
            mask: kind.mask(),
        }
    }

    /// Written in this style.
    pub const fn style(mut self, style: Style) -> Slot {
        self.style = style;
        self
    }

    /// Cards take numbers up to this one only.
    pub const fn most(mut self, most: u32) -> Slot {
        self.domain.most = most;
        self
    }

    /// Cards take multiples of this number only.
    pub const fn multiple_of(mut self, step: u32) -> Slot {
        self.domain.step = step;
        self
    }

    /// Negated by that bit.
    pub const fn neg(mut self, bit: u8) -> Slot {
        self.mods.neg = Bit(bit);
        self.with_bits(Bit(bit).mask())
    }

    /// Made absolute by that bit.
    pub const fn abs(mut self, bit: u8) -> Slot {
        self.mods.abs = Bit(bit);
        self.with_bits(Bit(bit).mask())
    }

    /// Inverted by that bit.
    pub const fn inv(mut self, bit: u8) -> Slot {
        self.mods.inv = Bit(bit);
        self.with_bits(Bit(bit).mask())
    }

    /// Writes the condition code, too, by that bit.
    pub const fn cc(mut self, bit: u8) -> Slot {
        self.cc = Bit(bit);
        self.with_bits(Bit(bit).mask())
    }

    /// Of which a part is selected by that field.
    pub const fn sel(mut self, at: Bits, names: &'static [Option<Sel>]) -> Slot {
        self.sel = Some((at, names));
        self.with_bits(at.mask())
    }

    const fn with_bits(mut self, bits: u64) -> Slot {
        self.mask |= bits;
        self
    }

    /// Every field of the slot with what it is, for the overlap test and the reference page.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, Bits)> {
        const NO: (&str, Bits) = ("", Bits::NONE);
        let own = match self.kind {
            Kind::Reg(at) => [("reg", at), NO, NO],
            Kind::Tied { .. } | Kind::True => [NO; 3],
            Kind::Pred { at, not } => [("pred", at), ("not", bit(not)), NO],
            Kind::Imm { at, .. } => [("imm", at), NO, NO],
            Kind::Const { bank, offset, .. } => [("bank", bank), ("offset", offset), NO],
            Kind::ConstOf { offset, .. } => [("offset", offset), NO, NO],
            Kind::ConstInd { bank, base, offset, .. } => [("bank", bank), ("base", base), ("offset", offset)],
            Kind::Mem { base, offset, .. } | Kind::Attr { base, offset, .. } => {
                [("base", base), ("offset", offset), NO]
            }
            Kind::Sreg(at) => [("special", at), NO, NO],
            Kind::TargetRel(at) | Kind::TargetNear(at) | Kind::TargetAbs(at) => [("target", at), NO, NO],
            Kind::CcTest(at) => [("cc test", at), NO, NO],
            Kind::Word { at, .. } => [("word", at), NO, NO],
        };
        let common = [
            ("neg", bit(self.mods.neg)),
            ("abs", bit(self.mods.abs)),
            ("inv", bit(self.mods.inv)),
            ("cc", bit(self.cc)),
            ("part", self.sel.map_or(Bits::NONE, |(at, _)| at)),
        ];
        own.into_iter().chain(common).filter(|(_, at)| at.width() > 0)
    }
}

fn bit(b: Bit) -> Bits {
    if b.exists() { self::b(b.0, 1) } else { Bits::NONE }
}

/// The functional unit that executes an operation, which is what its latency goes by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Unit {
    /// Integer and float arithmetic, moves, conversions, selections.
    Alu,
    /// Double precision.
    Double,
    /// Comparisons whose result is a predicate.
    Compare,
    /// Transcendentals.
    Sfu,
    /// Shared memory and lane exchange.
    Shared,
    /// Global and local memory, atomics, surfaces.
    Memory,
    /// Constant memory through LDC.
    Constant,
    /// Textures: results are waited for with TEXDEPBAR on Kepler.
    Texture,
    /// Shader inputs and outputs.
    Attribute,
    /// Control flow and barriers.
    Flow,
}

/// One shape of instruction word.
#[derive(Clone, Debug)]
pub struct Row {
    /// The operation.
    pub op: Op,
    /// The chip that has it first; the Fermi layout ends with GK104.
    pub since: Chip,
    /// Bits that every word of this row has the same.
    pub mask: u64,
    /// Their values.
    pub bits: u64,
    /// Where the guard predicate stands; without it the instruction is unconditional.
    pub guard: Option<Kind>,
    /// `.S`.
    pub sync: Bit,
    /// Suffixes, in the order in which they are written.
    pub groups: Vec<Group>,
    /// Operands, in text order.
    pub slots: Vec<Slot>,
    /// Bits that mean nothing; their difference from `free_default` becomes [`super::MInst::form`].
    pub free: u64,
    /// What a compiler writes into the free bits.
    pub free_default: u64,
    /// Words that belong to another row, as mask and value.
    pub except: Vec<(u64, u64)>,
    /// Tells apart rows with the same text; 0 is what a compiler writes.
    pub variant: u8,
    /// A short form of GF100: an instruction of 4 bytes, with the text of one of 8. Its word has no
    /// high half.
    pub short: bool,
    /// The unit that executes it.
    pub unit: Unit,
    /// Field bits of the suffixes where there is none; none if one must be written.
    pub(super) unsuffixed: Option<u64>,
    /// Field bits of the guard PT.
    pub(super) unguarded: u64,
    /// Kinds of the operands, for a quick comparison with an instruction's; see
    /// [`super::codec::shape`].
    pub(super) shape: u64,
    /// Some operand is [`Kind::Tied`].
    pub(super) tied: bool,
}

impl Row {
    /// A row with these opcode bits fixed and everything else zero.
    pub fn new(op: Op, mask: u64, bits: u64) -> Row {
        Row {
            op,
            since: Chip::Gf100,
            mask,
            bits,
            guard: None,
            sync: Bit::NO,
            groups: Vec::new(),
            slots: Vec::with_capacity(5),
            free: 0,
            free_default: 0,
            except: Vec::new(),
            variant: 0,
            short: false,
            unit: super::latency::unit(op),
            unsuffixed: None,
            unguarded: 0,
            shape: 0,
            tied: false,
        }
    }

    /// A modifier field.
    pub fn m(mut self, at: Bits, names: Names) -> Row {
        self.groups.push(Group { at, names, plain: None });
        self
    }

    /// A modifier of one bit: printed when set.
    pub fn flag(self, at: u8, names: Names) -> Row {
        self.m(b(at, 1), names)
    }

    /// A suffix that every word of the row has.
    pub fn always(self, names: Names) -> Row {
        self.m(Bits::NONE, names)
    }

    /// An operand.
    pub fn s(mut self, slot: Slot) -> Row {
        self.slots.push(slot);
        self
    }

    /// Fixes a field.
    pub fn fix(mut self, at: Bits, value: u64) -> Row {
        self.mask |= at.mask();
        self.bits = (self.bits & !at.mask()) | at.put(value);
        self
    }

    /// Bits without a meaning, normally zero.
    pub fn free(self, at: Bits) -> Row {
        self.free_as(at, 0)
    }

    /// Bits without a meaning, and what compilers write there.
    pub(crate) fn free_as(mut self, at: Bits, default: u64) -> Row {
        self.free |= at.mask();
        self.free_default = (self.free_default & !at.mask()) | at.put(default);
        self
    }

    /// The value of a field that another row has.
    pub fn except(mut self, at: Bits, value: u64) -> Row {
        self.except.push((at.mask(), at.put(value)));
        self
    }

    /// The values of several fields together that another row has.
    pub(crate) fn except_all(mut self, fields: &[(Bits, u64)]) -> Row {
        let word = fields.iter().fold((0, 0), |(m, v), &(at, x)| (m | at.mask(), v | at.put(x)));
        self.except.push(word);
        self
    }

    /// Marks a second encoding of the same text.
    pub fn variant(mut self, n: u8) -> Row {
        self.variant = n;
        self
    }

    /// Marks a form of 4 bytes.
    pub fn short(mut self) -> Row {
        self.short = true;
        self
    }

    /// Only from that chip on.
    pub fn since(mut self, chip: Chip) -> Row {
        self.since = chip;
        self
    }

    /// Executed by that unit.
    pub fn unit(mut self, unit: Unit) -> Row {
        self.unit = unit;
        self
    }

    /// Whether the word is one of this row's, apart from field values that have no name.
    pub fn matches(&self, word: u64) -> bool {
        word & self.mask == self.bits && self.except.iter().all(|&(m, v)| word & m != v)
    }

    /// Bits covered by fields.
    pub(crate) fn field_mask(&self) -> u64 {
        let guard = match self.guard {
            Some(Kind::Pred { at, not }) => at.mask() | not.mask(),
            _ => 0,
        };
        let groups = self.groups.iter().fold(0, |m, g| m | g.at.mask());
        let slots = self.slots.iter().fold(0, |m, s| m | s.mask);
        guard | self.sync.mask() | groups | slots
    }

    /// Completes the row. The bits without a role that was said mean nothing, or else must be zero.
    pub(super) fn finish(&mut self, rest_free: bool) {
        let rest = !(self.mask | self.field_mask() | self.free);
        *if rest_free { &mut self.free } else { &mut self.mask } |= rest;
        let mut plain = Some(0);
        for g in self.groups.iter_mut().rev() {
            plain = plain.zip(g.names.unnamed).map(|(word, (value, _))| word | g.at.put(value));
            g.plain = plain;
        }
        self.unsuffixed = plain;
        if let Some(Kind::Pred { at, .. }) = self.guard {
            self.unguarded = at.put(super::Pred::T.num.into());
        }
        self.shape = super::codec::row_shape(self);
        self.tied = self.slots.iter().any(|s| matches!(s.kind, Kind::Tied { .. }));
    }
}
