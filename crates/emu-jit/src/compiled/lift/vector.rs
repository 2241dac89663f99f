//! Vectors of a group of lanes: what generated code computes with.
//!
//! A value has a lane of 32 bits for each thread of the group; a mask has all bits or none in each.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{Block, BlockArg, ConstantData, InstBuilder, MemFlagsData, Type, Value, types};
use cranelift_frontend::FunctionBuilder;
use nvir_emu::engine::open::{LANES, LaneVec, Modifier, Width};

/// Lanes of a group: as many as a vector of the code generator has.
pub(super) const GROUP: usize = 4;

/// Groups of a warp.
pub(super) const GROUPS: usize = LANES / GROUP;

/// Bytes of a group's part of a row.
pub(super) const GROUP_BYTES: i64 = 4 * GROUP as i64;

/// A group's values, and the same bits as floats.
pub(super) const WORDS: Type = types::I32X4;
pub(super) const FLOATS: Type = types::F32X4;

/// The sign of a float.
pub(super) const SIGN: u32 = 0x8000_0000;

/// The NaN of 32-bit operations.
const NAN: u32 = nvir_base::num::float::NAN32;

/// Bytes of a row.
pub(super) const ROW: usize = size_of::<LaneVec>();

/// Writes vector code.
pub(super) struct Emitter<'f> {
    pub(super) b: FunctionBuilder<'f>,
    /// One above the highest register that is read or written.
    pub(super) named: u32,
}

/// Accesses to memory whose words are aligned, but not vectors of them.
pub(super) const UNALIGNED: MemFlagsData = MemFlagsData::new().with_notrap();

/// Accesses to rows, masks and the state of warps, which lie where they are said to and are aligned.
pub(super) const PLAIN: MemFlagsData = MemFlagsData::trusted();

impl Emitter<'_> {
    /// Where a register is from the first one's row on.
    pub(super) fn row(&mut self, reg: u8) -> usize {
        self.named = self.named.max(u32::from(reg) + 1);
        usize::from(reg) * ROW
    }

    pub(super) fn load(&mut self, ty: Type, base: Value, offset: usize) -> Value {
        self.b.ins().load(ty, PLAIN, base, offset as i32)
    }

    pub(super) fn store(&mut self, value: Value, base: Value, offset: usize) {
        self.b.ins().store(PLAIN, value, base, offset as i32);
    }

    pub(super) fn int(&mut self, v: u32) -> Value {
        self.b.ins().iconst(types::I32, i64::from(v))
    }

    /// Goes on here unless something is wrong.
    pub(super) fn go_on_if_not(&mut self, wrong: Value, otherwise: Block) {
        let on = self.b.create_block();
        self.branch(wrong, otherwise, on);
        self.b.switch_to_block(on);
    }

    /// Goes on here if an address of 64 bits, and those that are a multiple of `step` behind it, are aligned for accesses of this width.
    pub(super) fn aligned(&mut self, (at, step): (Value, Value), width: Width, otherwise: Block) {
        let align = i64::from(width.align() - 1);
        if align != 0 {
            let low = self.or(at, step);
            let low = self.b.ins().band_imm_u(low, align);
            self.go_on_if_not(low, otherwise);
        }
    }

    pub(super) fn long(&mut self, v: i64) -> Value {
        self.b.ins().iconst(types::I64, v)
    }

    pub(super) fn jump(&mut self, to: Block, args: &[Value]) {
        let args: Vec<BlockArg> = args.iter().map(|&v| v.into()).collect();
        self.b.ins().jump(to, &args);
    }

    /// Branches with arguments for both blocks.
    pub(super) fn branch_with(&mut self, on: Value, yes: (Block, &[Value]), no: (Block, &[Value])) {
        let [yes_args, no_args] =
            [yes.1, no.1].map(|args| args.iter().map(|&v| v.into()).collect::<Vec<BlockArg>>());
        self.b.ins().brif(on, yes.0, &yes_args, no.0, &no_args);
    }

    /// Gives a block more parameters.
    pub(super) fn params(&mut self, block: Block, all: &[Type]) {
        all.iter().for_each(|&ty| {
            self.b.append_block_param(block, ty);
        });
    }

    /// What a block is given, of which there are so many.
    pub(super) fn values_of<const N: usize>(&self, block: Block) -> [Value; N] {
        self.b.block_params(block).try_into().expect("as many as it has been given")
    }

    pub(super) fn branch(&mut self, on: Value, yes: Block, no: Block) {
        self.b.ins().brif(on, yes, &[], no, &[]);
    }

    /// The same value in each lane.
    pub(super) fn all(&mut self, v: u32) -> Value {
        self.lanes([v; GROUP])
    }

    /// A value for each lane.
    pub(super) fn lanes(&mut self, values: [u32; GROUP]) -> Value {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let constant = self.b.func.dfg.constants.insert(ConstantData::from(&bytes[..]));
        self.b.ins().vconst(WORDS, constant)
    }

    pub(super) fn floats(&mut self, v: Value) -> Value {
        self.b.ins().bitcast(FLOATS, little_endian(), v)
    }

    pub(super) fn words(&mut self, v: Value) -> Value {
        self.b.ins().bitcast(WORDS, little_endian(), v)
    }

    pub(super) fn and(&mut self, a: Value, b: Value) -> Value {
        self.b.ins().band(a, b)
    }

    pub(super) fn or(&mut self, a: Value, b: Value) -> Value {
        self.b.ins().bor(a, b)
    }

    pub(super) fn xor(&mut self, a: Value, b: Value) -> Value {
        self.b.ins().bxor(a, b)
    }

    pub(super) fn not(&mut self, a: Value) -> Value {
        self.b.ins().bnot(a)
    }

    pub(super) fn add(&mut self, a: Value, b: Value) -> Value {
        self.b.ins().iadd(a, b)
    }

    pub(super) fn sub(&mut self, a: Value, b: Value) -> Value {
        self.b.ins().isub(a, b)
    }

    pub(super) fn mul(&mut self, a: Value, b: Value) -> Value {
        self.b.ins().imul(a, b)
    }

    /// `yes` in the lanes of a mask, `no` in the others.
    pub(super) fn pick(&mut self, mask: Value, yes: Value, no: Value) -> Value {
        self.b.ins().bitselect(mask, yes, no)
    }

    pub(super) fn icmp(&mut self, cc: IntCC, a: Value, b: Value) -> Value {
        self.b.ins().icmp(cc, a, b)
    }

    pub(super) fn is_zero(&mut self, a: Value) -> Value {
        let zero = self.all(0);
        self.icmp(IntCC::Equal, a, zero)
    }

    /// Of words as floats.
    pub(super) fn fcmp(&mut self, cc: FloatCC, a: Value, b: Value) -> Value {
        let (a, b) = (self.floats(a), self.floats(b));
        self.b.ins().fcmp(cc, a, b)
    }

    /// A comparison of floats: less 1, equal 2, greater 4, unordered 8.
    pub(super) fn float_test(&mut self, test: u8, a: Value, b: Value) -> Value {
        use FloatCC::*;
        let cc = match test & 15 {
            0 => return self.all(0),
            1 => LessThan,
            2 => Equal,
            3 => LessThanOrEqual,
            4 => GreaterThan,
            6 => GreaterThanOrEqual,
            7 => Ordered,
            8 => Unordered,
            9 => UnorderedOrLessThan,
            11 => UnorderedOrLessThanOrEqual,
            12 => UnorderedOrGreaterThan,
            13 => NotEqual,
            14 => UnorderedOrGreaterThanOrEqual,
            15 => return self.all(u32::MAX),
            other => {
                // Vectors have no such comparison.
                let (less, greater) = (self.fcmp(LessThan, a, b), self.fcmp(GreaterThan, a, b));
                let differs = self.or(less, greater);
                return if other == 5 { differs } else { self.not(differs) };
            }
        };
        self.fcmp(cc, a, b)
    }

    /// A comparison of integers: less 1, equal 2, greater 4.
    pub(super) fn int_test(&mut self, test: u8, signed: bool, a: Value, b: Value) -> Value {
        use IntCC::*;
        let cc = match (test & 7, signed) {
            (0, _) => return self.all(0),
            (1, true) => SignedLessThan,
            (1, false) => UnsignedLessThan,
            (2, _) => Equal,
            (3, true) => SignedLessThanOrEqual,
            (3, false) => UnsignedLessThanOrEqual,
            (4, true) => SignedGreaterThan,
            (4, false) => UnsignedGreaterThan,
            (5, _) => NotEqual,
            (6, true) => SignedGreaterThanOrEqual,
            (6, false) => UnsignedGreaterThanOrEqual,
            _ => return self.all(u32::MAX),
        };
        self.icmp(cc, a, b)
    }

    /// Shifted to the left; 32 and more shift everything out.
    pub(super) fn shl(&mut self, a: Value, by: u32) -> Value {
        match by {
            0 => a,
            1..32 => {
                let by = self.int(by);
                self.b.ins().ishl(a, by)
            }
            _ => self.all(0),
        }
    }

    pub(super) fn shr(&mut self, a: Value, by: u32) -> Value {
        match by {
            0 => a,
            1..32 => {
                let by = self.int(by);
                self.b.ins().ushr(a, by)
            }
            _ => self.all(0),
        }
    }

    /// The same with the sign shifted in.
    pub(super) fn sar(&mut self, a: Value, by: u32) -> Value {
        if by == 0 {
            return a;
        }
        let by = self.int(by.min(31));
        self.b.ins().sshr(a, by)
    }

    /// A mask of lanes whose highest bit is set.
    pub(super) fn is_negative(&mut self, a: Value) -> Value {
        self.sar(a, 31)
    }

    /// Lane by lane, what there is no vector code for.
    pub(super) fn each(
        &mut self,
        a: Value,
        b: Value,
        mut f: impl FnMut(&mut Self, Value, Value) -> Value,
    ) -> Value {
        let mut out = a;
        for lane in 0..GROUP as u8 {
            let x = self.b.ins().extractlane(a, lane);
            let y = self.b.ins().extractlane(b, lane);
            let v = f(self, x, y);
            out = self.b.ins().insertlane(out, v, lane);
        }
        out
    }

    /// Words of even lanes and of odd lanes, each multiplied to 64 bits: the high halves of all products.
    pub(super) fn mul_high(&mut self, a: Value, b: Value, [a_signed, b_signed]: [bool; 2]) -> Value {
        let both = a_signed && b_signed;
        let mut half = |low: bool| {
            let mut widen = |v| match (both, low) {
                (true, true) => self.b.ins().swiden_low(v),
                (true, false) => self.b.ins().swiden_high(v),
                (false, true) => self.b.ins().uwiden_low(v),
                (false, false) => self.b.ins().uwiden_high(v),
            };
            let (x, y) = (widen(a), widen(b));
            let product = self.b.ins().imul(x, y);
            self.b.ins().bitcast(types::I8X16, little_endian(), product)
        };
        let (low, high) = (half(true), half(false));
        let out = self.shuffle_words(low, high, [1, 3, 5, 7]);
        let mut out = self.words(out);
        // A signed operand is what it is as unsigned, less 2^32 where it is negative.
        for (signed, negative, other) in [(a_signed && !both, a, b), (b_signed && !both, b, a)] {
            if signed {
                let negative = self.is_negative(negative);
                let less = self.and(negative, other);
                out = self.sub(out, less);
            }
        }
        out
    }

    /// Bytes of two vectors of bytes.
    pub(super) fn shuffle(&mut self, a: Value, b: Value, bytes: &[u8]) -> Value {
        let mask = self.b.func.dfg.immediates.push(ConstantData::from(bytes));
        self.b.ins().shuffle(a, b, mask)
    }

    /// Words of two vectors of bytes: from the fifth on, those of the second.
    pub(super) fn shuffle_words(&mut self, a: Value, b: Value, words: [u8; GROUP]) -> Value {
        let bytes: Vec<u8> = words.iter().flat_map(|w| (0..4).map(move |i| 4 * w + i)).collect();
        self.shuffle(a, b, &bytes)
    }

    pub(super) fn bytes(&mut self, v: Value) -> Value {
        self.b.ins().bitcast(types::I8X16, little_endian(), v)
    }

    /// Subnormals become zeros of their sign.
    pub(super) fn flush(&mut self, a: Value) -> Value {
        let exponent = self.all(0x7f80_0000);
        let exponent = self.and(a, exponent);
        let small = self.is_zero(exponent);
        let magnitude = self.all(!SIGN);
        let magnitude = self.and(small, magnitude);
        let keep = self.not(magnitude);
        self.and(a, keep)
    }

    /// Every NaN becomes the machine's.
    pub(super) fn canonical(&mut self, a: Value) -> Value {
        let nan = self.all(NAN);
        let is_nan = self.fcmp(FloatCC::Unordered, a, a);
        self.pick(is_nan, nan, a)
    }

    /// From 0 to 1; a NaN becomes 0.
    pub(super) fn saturate(&mut self, a: Value) -> Value {
        let (zero, one) = (self.all(0), self.all(1f32.to_bits()));
        let positive = self.fcmp(FloatCC::GreaterThan, a, zero);
        let large = self.fcmp(FloatCC::GreaterThanOrEqual, a, one);
        let a = self.and(positive, a);
        self.pick(large, one, a)
    }

    /// A source modifier.
    pub(super) fn modify(&mut self, modifier: Modifier, a: Value) -> Value {
        match modifier {
            Modifier::None => a,
            Modifier::Inv => self.not(a),
            Modifier::NegInt => self.b.ins().ineg(a),
            Modifier::AbsInt => self.b.ins().iabs(a),
            Modifier::NegAbsInt => {
                let a = self.b.ins().iabs(a);
                self.b.ins().ineg(a)
            }
            Modifier::NegF32 => {
                let sign = self.all(SIGN);
                self.xor(a, sign)
            }
            Modifier::AbsF32 => {
                let magnitude = self.all(!SIGN);
                self.and(a, magnitude)
            }
            Modifier::NegAbsF32 => {
                let sign = self.all(SIGN);
                self.or(a, sign)
            }
        }
    }

    /// How many lanes of a group are counted in a vector of negative numbers.
    pub(super) fn sum_of_lanes(&mut self, counts: Value) -> Value {
        let mut sum = self.b.ins().extractlane(counts, 0u8);
        for lane in 1..GROUP as u8 {
            let more = self.b.ins().extractlane(counts, lane);
            sum = self.b.ins().iadd(sum, more);
        }
        sum
    }
}

fn little_endian() -> MemFlagsData {
    MemFlagsData::new().with_endianness(cranelift_codegen::ir::Endianness::Little)
}
