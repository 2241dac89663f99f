//! What operations on single components compute. They have NIR's names, whose definitions (Mesa's `nir_opcodes.py`) are theirs.

/// What an opcode computes, whatever its sizes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "variants are named as NIR's opcodes")]
#[rustfmt::skip]
pub enum Op {
    Mov, Vec, Bcsel, Fcsel, FcselGt, FcselGe, FcselNan, IcselGt, IcselGe, IcselEqz,
    Fadd, Fsub, Fmul, Fmulz, Fdiv, Fneg, Fabs, Fsat, FsatSigned, FclampPos, Fsign, Fmin, Fmax, Ffma, Ffmaz, Flrp,
    Frcp, Frsq, Fsqrt, Fexp2, Flog2, Fpow, Fsin, Fcos, Ffloor, Fceil, Ftrunc, FroundEven, Ffract, Fmod, Frem,
    Ldexp, FrexpExp, FrexpSig, Fquantize2F16, Fisfinite, Fisnormal, Fcanonicalize,
    Feq, Fneu, Flt, Fge, Funord, Ford, Fequ, Fneo, Fltu, Fgeu, Ieq, Ine, Ilt, Ige, Ult, Uge, Bitz, Bitnz,
    Seq, Sne, Slt, Sge,
    Iadd, Isub, Imul, Idiv, Udiv, Imod, Umod, Irem, Ineg, Iabs, Inot, Iand, Ior, Ixor, Ishl, Ishr, Ushr, Urol, Uror,
    FunnelShr,
    Imin, Imax, Umin, Umax, Isign, ImulHigh, UmulHigh, ImulWide, UmulWide, UmulLow, Imul24, Umul24, Umad24,
    Imul32x16, Umul32x16, Imul16x16, Umul16x16, Iadd3, Imad, UaddCarry, UsubBorrow, IaddSat, UaddSat, IsubSat,
    UsubSat, Ihadd, Uhadd, Irhadd, Urhadd, UabsIsub, UabsUsub,
    BitCount, BitReverse, FindLsb, IfindMsb, UfindMsb, IfindMsbRev, UfindMsbRev, Uclz, BitfieldInsert, Bfi, Bfm,
    BitfieldSelect, IbitfieldExtract, UbitfieldExtract, Ibfe, Ubfe, ExtractU8, ExtractI8, ExtractU16, ExtractI16,
    InsertU8, InsertU16, Permute,
    F2F, F2FRtz, F2I, F2U, I2F, U2F, I2I, U2U, B2F, B2I, B2B, I2B, F2B, BfloatToF, FToBfloat,
    Pack, PackSplit, Unpack, UnpackX, UnpackY, PackHalf, PackHalfRtz, PackHalfSplit, PackHalfSplitRtz, UnpackHalf,
    UnpackHalfX, UnpackHalfY, PackSnorm, PackUnorm, UnpackSnorm, UnpackUnorm, PackTrunc, PackSint2x16, PackUint2x16,
    Fdot, FdotReplicated, Fdph, FdphReplicated, Fsum, AllFequal, AllIequal, AnyFnequal, AnyInequal, FallEqual,
    FanyNequal, SdotIadd, UdotUadd, SudotIadd, SdotIaddSat, UdotUaddSat, SudotIaddSat, SadU8x4,
    Msad4x8, Mqsad4x8,
    Ddx, Ddy,
    /// Of another vendor's hardware.
    Vendor,
}
