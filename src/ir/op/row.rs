//! What a row of the operation table says.

use super::super::{Aux, Ext, Inst, Space, SrcMods, Type};

/// A set of types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Types(u16);

impl Types {
    pub const NONE: Types = Types(0);
    pub const ALL: Types = Types((1 << Type::ALL.len()) - 1);
    pub const PRED: Types = Types::new(&[Type::Pred]);
    /// Integers of a word.
    pub const WORD: Types = Types::new(&[Type::U32, Type::S32]);
    /// Integers of two words, which lowering takes apart.
    pub const WIDE: Types = Types::new(&[Type::U64, Type::S64]);
    pub const INT: Types = Types::WORD.union(Types::WIDE);
    pub const F32: Types = Types::new(&[Type::F32]);
    pub const F64: Types = Types::new(&[Type::F64]);
    pub const FLOAT: Types = Types::F32.union(Types::F64);
    /// All that are computed with.
    pub const NUMBER: Types = Types::INT.union(Types::FLOAT);
    /// Bytes and halves, which occur in memory and conversions only.
    pub const SMALL: Types = Types::new(&[Type::U8, Type::S8, Type::U16, Type::S16, Type::F16]);
    /// What fills whole registers.
    pub const WHOLE: Types = Types::NUMBER.union(Types::new(&[Type::B96, Type::B128]));
    /// What a load or store moves.
    pub const DATA: Types = Types::WHOLE.union(Types::SMALL);

    pub const fn new(types: &[Type]) -> Types {
        let (mut set, mut k) = (0, 0);
        while k < types.len() {
            set |= 1 << types[k] as u16;
            k += 1;
        }
        Types(set)
    }

    pub const fn union(self, other: Types) -> Types {
        Types(self.0 | other.0)
    }

    pub const fn has(self, ty: Type) -> bool {
        self.0 >> ty as u16 & 1 != 0
    }

    pub fn iter(self) -> impl Iterator<Item = Type> {
        Type::ALL.into_iter().filter(move |&t| self.has(t))
    }
}

/// What a source reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reads {
    /// The instruction's type.
    Ty,
    /// The source type.
    Sty,
    /// A word, whatever the type.
    Word,
    Pred,
    /// One to four general values, or a predicate: what the details of the instruction ask for.
    Tuple,
}

/// A source operand.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    pub reads: Reads,
    /// May be left out, with all that follow.
    pub optional: bool,
    /// Takes neg and abs where it is read as a float.
    pub float: bool,
    /// Takes neg where it is read as an integer of a word.
    pub neg: bool,
    /// Takes abs where it is read as a signed integer of a word.
    pub abs: bool,
    /// Takes the bitwise complement where it is read as an integer; a predicate always takes `not`.
    pub not: bool,
    /// Is an immediate below this; 0 where it may be any operand.
    pub below: u32,
}

impl Source {
    const fn new(reads: Reads) -> Source {
        let (float, neg, abs, not) = (false, false, false, false);
        Source { reads, optional: false, float, neg, abs, not, below: 0 }
    }

    /// Of the instruction's type.
    pub(crate) const TY: Source = Source::new(Reads::Ty);
    /// Of the source type.
    pub(crate) const STY: Source = Source::new(Reads::Sty);
    pub const WORD: Source = Source::new(Reads::Word);
    pub const PRED: Source = Source::new(Reads::Pred);
    pub(crate) const TUPLE: Source = Source::new(Reads::Tuple);

    pub const fn float(self) -> Source {
        Source { float: true, ..self }
    }

    pub const fn neg(self) -> Source {
        Source { neg: true, ..self }
    }

    pub const fn abs(self) -> Source {
        Source { abs: true, ..self }
    }

    pub const fn not(self) -> Source {
        Source { not: true, ..self }
    }

    pub const fn below(self, bound: u32) -> Source {
        Source { below: bound, ..self }
    }

    pub const fn optional(self) -> Source {
        Source { optional: true, ..self }
    }

    /// Whether it takes these modifiers, read as a type.
    pub fn takes(&self, mods: SrcMods, ty: Type) -> bool {
        let word = Types::WORD.has(ty);
        let int = Types::INT.has(ty) || Types::SMALL.has(ty) && !ty.is_float();
        let float = ty.is_float() && self.float;
        let neg = float || self.neg && word;
        let abs = float || self.abs && ty == Type::S32;
        let inv = ty == Type::Pred || self.not && int;
        (!mods.neg || neg)
            && (!mods.abs || abs)
            && (!mods.inv || inv)
            && !(mods.inv && (mods.neg || mods.abs))
    }
}

/// What the destinations are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Results {
    None,
    /// One value of the instruction's type.
    Value,
    /// The same, or nothing.
    MaybeValue,
    /// A value of the instruction's type, then perhaps a predicate.
    ValuePred,
    /// Perhaps a predicate.
    MaybePred,
    /// Perhaps a word, perhaps a predicate; at least one of them.
    Ballot,
    /// A general value for each bit of the mask.
    Components,
    /// What the image access gives, perhaps with a predicate.
    Image,
    /// As the callee says; they stand in [`Call`](super::super::Call).
    Call,
    /// A value for each word of the sources.
    Copies,
}

/// What the source type ([`Inst::sty`]) may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SourceTypes {
    /// The instruction's type.
    Same,
    /// One of these.
    Of(Types),
}

/// Which [`Aux`] or [`Ext`] belongs to an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Detail {
    None,
    Sv,
    Atom,
    Bar,
    Scope,
    Vote,
    Shfl,
    /// A part of the source, or rounding to an integral value; or nothing.
    Part,
    /// Perhaps [`Aux::Wrap`].
    Wrap,
    /// Perhaps [`Aux::Shift`].
    Shift,
    Quad,
    Count,
    Suclamp,
    Subfm,
    Madsp,
    Interp,
    Pixel,
    Emit,
    Fact,
    Call,
    Tex,
    Surf,
}

impl Detail {
    /// Whether an instruction has what is asked for, and nothing else.
    pub fn fits(self, inst: &Inst) -> bool {
        let ext = match inst.ext.as_deref() {
            None => Detail::None,
            Some(Ext::Call(_)) => Detail::Call,
            Some(Ext::Tex(_)) => Detail::Tex,
            Some(Ext::Surf(_)) => Detail::Surf,
        };
        match inst.aux {
            Aux::None if matches!(self, Detail::Part | Detail::Wrap | Detail::Shift) => ext == Detail::None,
            aux => match (aux.detail(), ext) {
                (Detail::None, ext) => self == ext,
                (aux, Detail::None) => self == aux,
                _ => false,
            },
        }
    }

    /// How the listing writes it, for the reference.
    pub const fn text(self) -> &'static str {
        match self {
            Detail::None => "",
            Detail::Sv => "sv[..]",
            Detail::Atom => ".OPERATION",
            Detail::Bar => ".sync|.arv|.popc|.and|.or",
            Detail::Scope => ".cta|.gl|.sys",
            Detail::Vote => ".all|.any|.uni",
            Detail::Shfl => ".idx|.up|.down|.bfly",
            Detail::Part => "{.bN|.int}",
            Detail::Wrap => "{.wrap}",
            Detail::Shift => "{.shift}",
            Detail::Quad => ".qLANE.OPERATIONS",
            Detail::Count => ".nCOUNT",
            Detail::Suclamp => ".mMODE{.2d}{.s}.{n}BIAS",
            Detail::Subfm => "{.3d}",
            Detail::Madsp => ".mPARTS",
            Detail::Interp => ".flat|.linear|.persp|.color{.center|.centroid|.offset}",
            Detail::Pixel => ".mask|.offset|.sample",
            Detail::Emit => ".vertex|.cut|.both",
            Detail::Fact => ".persample|.msaa",
            Detail::Call => "fN{..}",
            Detail::Tex => "[texture operation]",
            Detail::Surf => "[image access]",
        }
    }
}

impl Aux {
    /// What kind of detail it is.
    pub const fn detail(self) -> Detail {
        match self {
            Aux::None => Detail::None,
            Aux::Sv(_) => Detail::Sv,
            Aux::Atom(_) => Detail::Atom,
            Aux::Bar(_) => Detail::Bar,
            Aux::Scope(_) => Detail::Scope,
            Aux::Vote(_) => Detail::Vote,
            Aux::Shfl(_) => Detail::Shfl,
            Aux::Byte(_) | Aux::Integral => Detail::Part,
            Aux::Wrap => Detail::Wrap,
            Aux::Shift => Detail::Shift,
            Aux::Quad { .. } => Detail::Quad,
            Aux::Count(_) => Detail::Count,
            Aux::Suclamp { .. } => Detail::Suclamp,
            Aux::Subfm { .. } => Detail::Subfm,
            Aux::Madsp(_) => Detail::Madsp,
            Aux::Interp(_) => Detail::Interp,
            Aux::Pixel(_) => Detail::Pixel,
            Aux::Emit(_) => Detail::Emit,
            Aux::Fact(_) => Detail::Fact,
        }
    }
}

/// Sources 0 and 1 may be exchanged.
pub(crate) const COMMUTES: u16 = 1 << 0;
/// Must not be removed, duplicated or reordered with others of this kind even if nobody reads its
/// results.
pub(crate) const EFFECT: u16 = 1 << 1;
/// Has a memory operand [`MemRef`](super::super::MemRef).
pub const MEMORY: u16 = 1 << 2;
/// Reads memory or other state: equal operands do not mean equal results.
pub(crate) const READS: u16 = 1 << 3;
/// May take a carry as its last source (32-bit integers).
pub const CARRY_IN: u16 = 1 << 4;
/// May give a carry as its last destination (32-bit integers).
pub const CARRY_OUT: u16 = 1 << 5;
/// Reads or writes registers of other lanes, so the set of active lanes matters: never moved across
/// control flow.
pub(crate) const CROSS: u16 = 1 << 6;
/// Exists only before lowering.
pub(crate) const FRONT: u16 = 1 << 7;
/// Has a condition (`.lt`).
pub const COND: u16 = 1 << 8;
/// Combines its third source by a logic operation (`.and`).
pub const LOGIC: u16 = 1 << 9;
/// Integers of two words stay after lowering.
pub const WIDE: u16 = 1 << 10;
/// Flushes denormals where `.ftz` says so and a type is f32 or f16.
pub const FTZ: u16 = 1 << 11;
/// Rounds as `.rm`, `.rp`, `.rz` say, where a type is a float.
pub const RND: u16 = 1 << 12;

/// Facts about one operation.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub name: &'static str,
    /// What it does, a line each.
    pub meaning: &'static [&'static str],
    pub types: Types,
    pub from: SourceTypes,
    pub results: Results,
    pub srcs: &'static [Source],
    pub detail: Detail,
    /// Types on which `.sat` has a meaning.
    pub sat: Types,
    /// A bit for each memory space that it accesses.
    pub spaces: u16,
    pub flags: u16,
}

impl Row {
    /// With one result of the instruction's type.
    pub const fn new(types: Types, srcs: &'static [Source]) -> Row {
        Row {
            name: "",
            meaning: &[],
            types,
            from: SourceTypes::Same,
            results: Results::Value,
            srcs,
            detail: Detail::None,
            sat: Types::NONE,
            spaces: 0,
            flags: 0,
        }
    }

    pub const fn named(self, name: &'static str, meaning: &'static [&'static str]) -> Row {
        Row { name, meaning, ..self }
    }

    pub const fn from(self, types: Types) -> Row {
        Row { from: SourceTypes::Of(types), ..self }
    }

    pub const fn gives(self, results: Results) -> Row {
        Row { results, ..self }
    }

    pub const fn detail(self, detail: Detail) -> Row {
        Row { detail, ..self }
    }

    pub const fn sat(self, types: Types) -> Row {
        Row { sat: types, ..self }
    }

    pub const fn flags(self, flags: u16) -> Row {
        Row { flags: self.flags | flags, ..self }
    }

    /// With a memory operand in one of these spaces.
    pub const fn memory(self, spaces: &[Space]) -> Row {
        let (mut set, mut k) = (0, 0);
        while k < spaces.len() {
            set |= 1 << spaces[k] as u8;
            k += 1;
        }
        Row { spaces: set, flags: self.flags | MEMORY, ..self }
    }

    pub const fn is(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    /// Sources at least, without a carry.
    pub const fn least(&self) -> usize {
        let mut n = 0;
        while n < self.srcs.len() && !self.srcs[n].optional {
            n += 1;
        }
        n
    }

    /// Whether a source that is no predicate may carry a modifier.
    pub(crate) const fn is_modifiable(&self) -> bool {
        let mut n = 0;
        while n < self.srcs.len() {
            let s = &self.srcs[n];
            if s.float | s.neg | s.abs | s.not {
                return true;
            }
            n += 1;
        }
        false
    }

    /// The types of the sources that go with a type of the instruction.
    pub fn source_types(&self, ty: Type) -> impl Iterator<Item = Type> + use<> {
        let set = match self.from {
            SourceTypes::Same => Types::new(&[ty]),
            SourceTypes::Of(types) => types,
        };
        set.iter()
    }

    pub const fn accesses(&self, space: Space) -> bool {
        self.spaces >> space as u8 & 1 != 0
    }
}

impl Inst {
    /// The type that source `n` is read as; one behind the last is a carry, a word.
    pub fn src_type(&self, n: usize) -> Type {
        match self.op.row().srcs.get(n).map(|s| s.reads) {
            Some(Reads::Ty | Reads::Tuple) => self.ty,
            Some(Reads::Sty) => self.sty,
            Some(Reads::Pred) => Type::Pred,
            Some(Reads::Word) | None => Type::U32,
        }
    }
}
