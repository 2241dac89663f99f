//! The grammar of instructions: what follows each opcode.
//!
//! A row names an opcode and its operands, a letter each:
//!
//! | letter | operand |
//! | --- | --- |
//! | `t` | id of the result's type |
//! | `r` | id of the result |
//! | `i` | an id; `i?` one or none, `i*` any number |
//! | `l` | a literal or enumerant of one word; `l?`, `l*` |
//! | `s` | a string; `s?` |
//! | `M` | memory operands, if any: a mask, and what its bits bring along |
//! | `O` | image operands, likewise |
//! | `P` | pairs of ids |
//! | `W` | pairs of a literal and an id: a literal has as many words as the switch's selector |
//! | `G` | pairs of an id and a literal |
//! | `S` | an opcode and its operands, some of which are literals |
//!
//! Opcodes that are not here are of capabilities that are not supported. Source: SPIR-V 1.6, section 3.

use spirv::Op;

/// Rows, one a group of opcodes with the same operands.
#[rustfmt::skip]
const ROWS: &[(&str, &[Op])] = &[
    ("", &[Op::Nop, Op::NoLine, Op::FunctionEnd, Op::Kill, Op::Return, Op::Unreachable, Op::TerminateInvocation,
        Op::DemoteToHelperInvocation, Op::EmitVertex, Op::EndPrimitive, Op::BeginInvocationInterlockEXT,
        Op::EndInvocationInterlockEXT]),
    ("s", &[Op::SourceContinued, Op::SourceExtension, Op::Extension, Op::ModuleProcessed]),
    ("lli?s?", &[Op::Source]),
    ("is", &[Op::Name]),
    ("ils", &[Op::MemberName]),
    ("rs", &[Op::String, Op::ExtInstImport, Op::TypeOpaque]),
    ("ill", &[Op::Line]),
    ("trili*", &[Op::ExtInst, Op::ExtInstWithForwardRefsKHR]),
    ("ll", &[Op::MemoryModel]),
    ("lisi*", &[Op::EntryPoint]),
    ("ill*", &[Op::ExecutionMode, Op::Decorate]),
    ("ili*", &[Op::ExecutionModeId, Op::DecorateId]),
    ("ils*", &[Op::DecorateString]),
    ("ills*", &[Op::MemberDecorateString]),
    ("illl*", &[Op::MemberDecorate]),
    ("ii*", &[Op::GroupDecorate]),
    ("iG", &[Op::GroupMemberDecorate]),
    ("l", &[Op::Capability]),
    ("r", &[Op::TypeVoid, Op::TypeBool, Op::TypeSampler, Op::TypeEvent, Op::DecorationGroup, Op::Label,
        Op::TypeDeviceEvent, Op::TypeReserveId, Op::TypeQueue]),
    ("rll", &[Op::TypeInt]),
    ("rll?", &[Op::TypeFloat]),
    ("rl", &[Op::TypePipe]),
    ("ril", &[Op::TypeVector, Op::TypeMatrix]),
    ("rilllllll?", &[Op::TypeImage]),
    ("ri", &[Op::TypeSampledImage, Op::TypeRuntimeArray]),
    ("rii", &[Op::TypeArray]),
    ("ri*", &[Op::TypeStruct]),
    ("rli", &[Op::TypePointer]),
    ("rii*", &[Op::TypeFunction]),
    ("il", &[Op::TypeForwardPointer, Op::SelectionMerge, Op::LifetimeStart, Op::LifetimeStop]),
    ("tr", &[Op::Undef, Op::ConstantTrue, Op::ConstantFalse, Op::ConstantNull, Op::SpecConstantTrue,
        Op::SpecConstantFalse, Op::FunctionParameter, Op::IsHelperInvocationEXT]),
    ("trl*", &[Op::Constant, Op::SpecConstant]),
    ("tri*", &[Op::ConstantComposite, Op::SpecConstantComposite, Op::CompositeConstruct]),
    ("trlll", &[Op::ConstantSampler]),
    ("trS", &[Op::SpecConstantOp]),
    ("trli", &[Op::Function]),
    ("trii*", &[Op::FunctionCall, Op::AccessChain, Op::InBoundsAccessChain]),
    ("triii*", &[Op::PtrAccessChain, Op::InBoundsPtrAccessChain]),
    ("trli?", &[Op::Variable]),
    ("triM", &[Op::Load]),
    ("iiM", &[Op::Store]),
    ("iiMM", &[Op::CopyMemory]),
    ("iiiMM", &[Op::CopyMemorySized]),
    ("tril", &[Op::ArrayLength]),
    ("tri", &[Op::GenericPtrMemSemantics, Op::CopyObject, Op::CopyLogical, Op::Transpose, Op::Image,
        Op::ImageQueryFormat, Op::ImageQueryOrder, Op::ImageQuerySize, Op::ImageQueryLevels,
        Op::ImageQuerySamples, Op::ConvertFToU, Op::ConvertFToS, Op::ConvertSToF, Op::ConvertUToF, Op::UConvert,
        Op::SConvert, Op::FConvert, Op::QuantizeToF16, Op::ConvertPtrToU, Op::SatConvertSToU, Op::SatConvertUToS,
        Op::ConvertUToPtr, Op::PtrCastToGeneric, Op::GenericCastToPtr, Op::Bitcast, Op::SNegate, Op::FNegate,
        Op::Any, Op::All, Op::IsNan, Op::IsInf, Op::IsFinite, Op::IsNormal, Op::SignBitSet, Op::LogicalNot,
        Op::Not, Op::BitReverse, Op::BitCount, Op::DPdx, Op::DPdy, Op::Fwidth, Op::DPdxFine, Op::DPdyFine,
        Op::FwidthFine, Op::DPdxCoarse, Op::DPdyCoarse, Op::FwidthCoarse, Op::SizeOf, Op::GroupNonUniformElect,
        Op::SubgroupBallotKHR, Op::SubgroupFirstInvocationKHR, Op::SubgroupAllKHR, Op::SubgroupAnyKHR,
        Op::SubgroupAllEqualKHR, Op::ReadClockKHR, Op::GroupNonUniformQuadAllKHR, Op::GroupNonUniformQuadAnyKHR,
        Op::UCountLeadingZerosINTEL, Op::UCountTrailingZerosINTEL]),
    ("trii", &[Op::VectorExtractDynamic, Op::SampledImage, Op::ImageQuerySizeLod, Op::ImageQueryLod, Op::IAdd,
        Op::FAdd, Op::ISub, Op::FSub, Op::IMul, Op::FMul, Op::UDiv, Op::SDiv, Op::FDiv, Op::UMod, Op::SRem,
        Op::SMod, Op::FRem, Op::FMod, Op::VectorTimesScalar, Op::MatrixTimesScalar, Op::VectorTimesMatrix,
        Op::MatrixTimesVector, Op::MatrixTimesMatrix, Op::OuterProduct, Op::Dot, Op::IAddCarry, Op::ISubBorrow,
        Op::UMulExtended, Op::SMulExtended, Op::LessOrGreater, Op::Ordered, Op::Unordered, Op::LogicalEqual,
        Op::LogicalNotEqual, Op::LogicalOr, Op::LogicalAnd, Op::IEqual, Op::INotEqual, Op::UGreaterThan,
        Op::SGreaterThan, Op::UGreaterThanEqual, Op::SGreaterThanEqual, Op::ULessThan, Op::SLessThan,
        Op::ULessThanEqual, Op::SLessThanEqual, Op::FOrdEqual, Op::FUnordEqual, Op::FOrdNotEqual,
        Op::FUnordNotEqual, Op::FOrdLessThan, Op::FUnordLessThan, Op::FOrdGreaterThan, Op::FUnordGreaterThan,
        Op::FOrdLessThanEqual, Op::FUnordLessThanEqual, Op::FOrdGreaterThanEqual, Op::FUnordGreaterThanEqual,
        Op::ShiftRightLogical, Op::ShiftRightArithmetic, Op::ShiftLeftLogical, Op::BitwiseOr, Op::BitwiseXor,
        Op::BitwiseAnd, Op::PtrEqual, Op::PtrNotEqual, Op::PtrDiff, Op::GroupAll, Op::GroupAny,
        Op::GroupNonUniformAll, Op::GroupNonUniformAny, Op::GroupNonUniformAllEqual,
        Op::GroupNonUniformBroadcastFirst, Op::GroupNonUniformBallot, Op::GroupNonUniformInverseBallot,
        Op::GroupNonUniformBallotFindLSB, Op::GroupNonUniformBallotFindMSB, Op::SubgroupReadInvocationKHR,
        Op::ExpectKHR, Op::AbsISubINTEL, Op::AbsUSubINTEL, Op::IAddSatINTEL, Op::UAddSatINTEL, Op::IAverageINTEL,
        Op::UAverageINTEL, Op::IAverageRoundedINTEL, Op::UAverageRoundedINTEL, Op::ISubSatINTEL, Op::USubSatINTEL,
        Op::IMul32x16INTEL, Op::UMul32x16INTEL]),
    ("triil*", &[Op::VectorShuffle, Op::CompositeInsert]),
    ("tril*", &[Op::CompositeExtract]),
    ("triii", &[Op::VectorInsertDynamic, Op::ImageTexelPointer, Op::Select, Op::BitFieldSExtract,
        Op::BitFieldUExtract, Op::AtomicLoad, Op::AtomicIIncrement, Op::AtomicIDecrement, Op::GroupBroadcast,
        Op::GroupNonUniformBroadcast, Op::GroupNonUniformBallotBitExtract, Op::GroupNonUniformShuffle,
        Op::GroupNonUniformShuffleXor, Op::GroupNonUniformShuffleUp, Op::GroupNonUniformShuffleDown,
        Op::GroupNonUniformQuadBroadcast, Op::GroupNonUniformQuadSwap, Op::AtomicFlagTestAndSet]),
    ("iii", &[Op::AtomicFlagClear, Op::ControlBarrier, Op::GroupWaitEvents]),
    ("ii", &[Op::MemoryBarrier]),
    ("triiii", &[Op::BitFieldInsert, Op::AtomicExchange, Op::AtomicIAdd, Op::AtomicISub, Op::AtomicSMin,
        Op::AtomicUMin, Op::AtomicSMax, Op::AtomicUMax, Op::AtomicAnd, Op::AtomicOr, Op::AtomicXor,
        Op::AtomicFAddEXT, Op::AtomicFMinEXT, Op::AtomicFMaxEXT]),
    ("iiii", &[Op::AtomicStore]),
    ("triiiiii", &[Op::AtomicCompareExchange, Op::AtomicCompareExchangeWeak, Op::GroupAsyncCopy]),
    ("tril", &[Op::GenericCastToPtrExplicit]),
    ("triiO", &[Op::ImageSampleImplicitLod, Op::ImageSampleExplicitLod, Op::ImageSampleProjImplicitLod,
        Op::ImageSampleProjExplicitLod, Op::ImageFetch, Op::ImageRead]),
    ("triiiO", &[Op::ImageSampleDrefImplicitLod, Op::ImageSampleDrefExplicitLod,
        Op::ImageSampleProjDrefImplicitLod, Op::ImageSampleProjDrefExplicitLod, Op::ImageGather,
        Op::ImageDrefGather]),
    ("iiiO", &[Op::ImageWrite]),
    ("i", &[Op::EmitStreamVertex, Op::EndStreamPrimitive, Op::Branch, Op::ReturnValue, Op::AssumeTrueKHR]),
    ("trP", &[Op::Phi]),
    ("iill*", &[Op::LoopMerge]),
    ("iiil*", &[Op::BranchConditional]),
    ("iiW", &[Op::Switch]),
    ("trili", &[Op::GroupIAdd, Op::GroupFAdd, Op::GroupFMin, Op::GroupUMin, Op::GroupSMin, Op::GroupFMax,
        Op::GroupUMax, Op::GroupSMax, Op::GroupNonUniformBallotBitCount]),
    ("trilii?", &[Op::GroupNonUniformIAdd, Op::GroupNonUniformFAdd, Op::GroupNonUniformIMul,
        Op::GroupNonUniformFMul, Op::GroupNonUniformSMin, Op::GroupNonUniformUMin, Op::GroupNonUniformFMin,
        Op::GroupNonUniformSMax, Op::GroupNonUniformUMax, Op::GroupNonUniformFMax, Op::GroupNonUniformBitwiseAnd,
        Op::GroupNonUniformBitwiseOr, Op::GroupNonUniformBitwiseXor, Op::GroupNonUniformLogicalAnd,
        Op::GroupNonUniformLogicalOr, Op::GroupNonUniformLogicalXor]),
    ("triiii?", &[Op::GroupNonUniformRotateKHR]),
    ("triil?", &[Op::SDot, Op::UDot, Op::SUDot]),
    ("triiil?", &[Op::SDotAccSat, Op::UDotAccSat, Op::SUDotAccSat]),
];

/// Opcodes are below this, but for those of vendors.
const COUNT: usize = 6200;

/// By number: an opcode that has a row, and which.
static TABLE: [Option<(Op, u8)>; COUNT] = {
    let mut table = [None; COUNT];
    let mut row = 0;
    while row < ROWS.len() {
        let ops = ROWS[row].1;
        let mut n = 0;
        while n < ops.len() {
            if (ops[n] as usize) < COUNT {
                table[ops[n] as usize] = Some((ops[n], row as u8));
            }
            n += 1;
        }
        row += 1;
    }
    table
};

fn entry(number: u32) -> Option<(Op, u8)> {
    TABLE.get(number as usize).copied().flatten()
}

/// An opcode by its number.
pub(super) fn opcode(number: u32) -> Option<Op> {
    entry(number).map(|(op, _)| op).or_else(|| Op::from_u32(number))
}

/// Of each row, its operands if they are words one by one, apart from masks at the end.
static WORDS: [Option<OneByOne>; ROWS.len()] = {
    let mut words = [None; ROWS.len()];
    let mut row = 0;
    while row < ROWS.len() {
        words[row] = OneByOne::of(ROWS[row].0.as_bytes());
        row += 1;
    }
    words
};

/// Operands that are ids and literals of one word each, of which the last may be missing, or be many.
#[derive(Clone, Copy)]
struct OneByOne {
    /// Which are ids: a bit each, the highest for all from there on.
    ids: u32,
    fewest: usize,
    most: usize,
    /// More words are masks, and what these bring along.
    masks: bool,
}

impl OneByOne {
    const fn of(letters: &[u8]) -> Option<OneByOne> {
        let mut words = OneByOne { ids: 0, fewest: 0, most: 0, masks: false };
        let mut n = 0;
        while n < letters.len() {
            if matches!(letters[n], b'M' | b'O') {
                words.masks = true;
                n += 1;
                continue;
            }
            let is_id = matches!(letters[n], b't' | b'r' | b'i');
            if !is_id && letters[n] != b'l' || words.fewest != words.most || n >= 31 {
                return None;
            }
            let many = if n + 1 < letters.len() { letters[n + 1] } else { 0 };
            if is_id {
                words.ids |= if many == b'*' { u32::MAX << words.most } else { 1 << words.most };
            }
            (words.fewest, words.most, n) = match many {
                b'*' => (words.fewest, usize::MAX, n + 2),
                b'?' => (words.fewest, words.most + 1, n + 2),
                _ => (words.fewest + 1, words.most + 1, n + 1),
            };
        }
        Some(words)
    }

    fn walk(&self, words: &[u32], mut f: impl FnMut(Operand)) -> Result<(), Misfit> {
        for (n, &word) in words.iter().take(self.most).enumerate() {
            f(if self.ids >> n.min(31) & 1 != 0 { Operand::Id(word) } else { Operand::Literal(word) });
        }
        self.fit(words.len())
    }

    /// Whether there may be so many.
    fn fit(&self, words: usize) -> Result<(), Misfit> {
        match words {
            len if len < self.fewest => Err(Misfit::Short),
            len if len > self.most => Err(Misfit::Long),
            _ => Ok(()),
        }
    }
}

/// Ids in front, of instructions of so many words at most.
#[derive(Clone, Copy)]
struct Leading {
    ids: usize,
    most: usize,
}

/// Of each row, the ids in front if there are none behind; else none at all.
static LEADING: [Leading; ROWS.len()] = {
    let mut leading = [Leading { ids: 0, most: 0 }; ROWS.len()];
    let mut row = 0;
    while row < ROWS.len() {
        if let Some(OneByOne { ids, most, .. }) = WORDS[row] {
            leading[row] = match ids.trailing_ones() {
                32 => Leading { ids: usize::MAX, most },
                n if ids >> n == 0 => Leading { ids: n as usize, most },
                _ => Leading { ids: 0, most: 0 },
            };
        }
        row += 1;
    }
    leading
};

/// What is known of the operands of an opcode.
#[derive(Clone, Copy)]
pub(super) struct Row(usize);

impl Row {
    /// That of an opcode; `None`: it is not supported.
    pub(super) fn of(op: Op) -> Option<Row> {
        entry(op as u32).map(|(_, row)| Row(row.into()))
    }

    /// The operands, a letter each.
    pub(super) fn pattern(self) -> &'static str {
        ROWS[self.0].0
    }

    /// Whether an instruction has a result, and a type of it.
    pub(super) fn results(self) -> (bool, bool) {
        let first = self.pattern().as_bytes().first();
        let typed = first == Some(&b't');
        (typed, typed || first == Some(&b'r'))
    }

    /// How many ids stand in front of the other operands, of so many words behind the first, if there are none behind.
    pub(super) fn leading_ids(self, words: usize) -> Option<usize> {
        let Leading { ids, most } = LEADING[self.0];
        (words <= most).then(|| ids.min(words))
    }

    /// Calls `f` with each operand of an instruction, by its words behind the first. `selector_words`: of an `OpSwitch`,
    /// words of a literal.
    pub(super) fn walk(
        self,
        words: &[u32],
        selector_words: usize,
        f: impl FnMut(Operand),
    ) -> Result<(), Misfit> {
        match self.one_by_one(words) {
            Some(one_by_one) => one_by_one.walk(words, f),
            None => walk_pattern(self.pattern(), words, selector_words, f),
        }
    }

    /// Whether an instruction's words behind the first are operands as they should be.
    pub(super) fn check(self, words: &[u32], selector_words: usize) -> Result<(), Misfit> {
        match self.one_by_one(words) {
            Some(one_by_one) => one_by_one.fit(words.len()),
            None => walk_pattern(self.pattern(), words, selector_words, |_| {}),
        }
    }

    fn one_by_one(self, words: &[u32]) -> Option<&'static OneByOne> {
        WORDS[self.0].as_ref().filter(|one_by_one| !one_by_one.masks || words.len() <= one_by_one.most)
    }
}

/// What an operand is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operand {
    Id(u32),
    Literal(u32),
    /// Words of a string.
    Text {
        at: usize,
        len: usize,
    },
}

/// What does not fit the grammar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Misfit {
    /// Operands are missing.
    Short,
    /// There are more than there should be.
    Long,
    /// A string does not end.
    Endless,
    /// `OpSpecConstantOp` with an opcode that it cannot have.
    Opcode(u32),
}

/// Literal operands of the opcodes in `OpSpecConstantOp`, by position from the end of the ids.
pub(super) fn literals_from(op: Op) -> Option<usize> {
    match op {
        Op::CompositeExtract => Some(1),
        Op::CompositeInsert | Op::VectorShuffle => Some(2),
        _ => None,
    }
}

/// Words of a string that begins there; `None`: it does not end.
pub(super) fn string_words(words: &[u32]) -> Option<usize> {
    // A byte of a word borrows from its highest bit, which was not set, where it is 0.
    let ends = |&w: &u32| w.wrapping_sub(0x0101_0101) & !w & 0x8080_8080 != 0;
    words.iter().position(ends).map(|n| n + 1)
}

fn walk_pattern(
    pattern: &str,
    words: &[u32],
    selector_words: usize,
    mut f: impl FnMut(Operand),
) -> Result<(), Misfit> {
    let mut at = 0;
    let letters = pattern.as_bytes();
    let mut n = 0;
    while n < letters.len() {
        let letter = letters[n];
        let many = letters.get(n + 1).copied();
        let repeat = match many {
            Some(b'?') => (0, 1),
            Some(b'*') => (0, usize::MAX),
            _ => (1, 1),
        };
        n += if repeat == (1, 1) { 1 } else { 2 };
        let mut count = 0;
        while count < repeat.1 && (count < repeat.0 || at < words.len()) {
            count += 1;
            match letter {
                b't' | b'r' | b'i' => f(Operand::Id(take(words, &mut at)?)),
                b'l' => f(Operand::Literal(take(words, &mut at)?)),
                b's' => {
                    let len = string_words(words.get(at..).unwrap_or_default()).ok_or(Misfit::Endless)?;
                    f(Operand::Text { at, len });
                    at += len;
                }
                b'M' | b'O' => masked(letter, words, &mut at, &mut f)?,
                b'P' => {
                    while at < words.len() {
                        f(Operand::Id(take(words, &mut at)?));
                        f(Operand::Id(take(words, &mut at)?));
                    }
                }
                b'W' => {
                    while at < words.len() {
                        for _ in 0..selector_words {
                            f(Operand::Literal(take(words, &mut at)?));
                        }
                        f(Operand::Id(take(words, &mut at)?));
                    }
                }
                b'G' => {
                    while at < words.len() {
                        f(Operand::Id(take(words, &mut at)?));
                        f(Operand::Literal(take(words, &mut at)?));
                    }
                }
                _ => {
                    let number = take(words, &mut at)?;
                    f(Operand::Literal(number));
                    let op = Op::from_u32(number).ok_or(Misfit::Opcode(number))?;
                    let literal = literals_from(op).map_or(usize::MAX, |n| at + n);
                    while at < words.len() {
                        let word = words[at];
                        f(if at < literal { Operand::Id(word) } else { Operand::Literal(word) });
                        at += 1;
                    }
                }
            }
        }
    }
    if at < words.len() { Err(Misfit::Long) } else { Ok(()) }
}

fn take(words: &[u32], at: &mut usize) -> Result<u32, Misfit> {
    let word = words.get(*at).copied().ok_or(Misfit::Short)?;
    *at += 1;
    Ok(word)
}

/// A mask, if there is one, and for each of its bits, from the lowest, what that brings along.
fn masked(letter: u8, words: &[u32], at: &mut usize, f: &mut impl FnMut(Operand)) -> Result<(), Misfit> {
    let Some(&mask) = words.get(*at) else { return Ok(()) };
    *at += 1;
    f(Operand::Literal(mask));
    for bit in (0..32).filter(|b| mask >> b & 1 != 0) {
        let (ids, literals) = match (letter, 1u32 << bit) {
            (b'M', 2) => (0, 1),
            (b'M', 8 | 16 | 0x1_0000 | 0x2_0000) => (1, 0),
            (b'M', _) => (0, 0),
            // Grad brings two; what says how texels are extended, volatile and the like, nothing.
            (_, 4) => (2, 0),
            (_, 1 | 2 | 8 | 0x10 | 0x20 | 0x40 | 0x80 | 0x100 | 0x200 | 0x1_0000) => (1, 0),
            _ => (0, 0),
        };
        for _ in 0..ids {
            f(Operand::Id(take(words, at)?));
        }
        for _ in 0..literals {
            f(Operand::Literal(take(words, at)?));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leading_ids_are_those_of_a_walk() {
        let mut found = 0;
        for (_, ops) in ROWS {
            for len in 0..16 {
                // No mask has bits, so that it brings nothing along.
                let words: Vec<u32> = (0..len).map(|n| n << 24).collect();
                let mut ids = Vec::new();
                let row = Row::of(ops[0]).unwrap();
                let fits = row.walk(&words, 1, |operand| {
                    if let Operand::Id(id) = operand {
                        ids.push(id);
                    }
                });
                assert_eq!(row.check(&words, 1), fits, "{:?} of {len} words", ops[0]);
                if let (Ok(()), Some(leading)) = (fits, row.leading_ids(len as usize)) {
                    assert_eq!(words[..leading], ids, "{:?} of {len} words", ops[0]);
                    found += usize::from(len > 0);
                }
            }
        }
        assert!(found > 100, "{found}");
    }
}
