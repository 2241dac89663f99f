//! The table of ALU opcodes: for each name what it computes and the shapes it takes.
//!
//! A row's signature reads `result = operands`, each a base (`f`loat, `i`nt, `u`nsigned, `b`ool), the bits of a
//! component where they are fixed, and after `x` the components where those are fixed: `u32x1=u16x2` makes one
//! 32-bit value of two 16-bit components. Without `x` an opcode works component by component. Families that
//! differ in a size only (`ieq8`, `ieq16`, `ieq32`; `fdot2` … `fdot16`; `u2u8` … `u2u64`) share an [`Op`]: the
//! sizes are those of the operands and of the result, which the text gives. Source: Mesa `nir_opcodes.py`,
//! 22.3 and later; opcodes that exist for one vendor's hardware are known by name and compute nothing here.

use crate::diag::closest;
pub use crate::front::common::emit::op::Op;
use arrayvec::ArrayVec;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::sync::{LazyLock, OnceLock};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Base {
    Float,
    Int,
    Uint,
    Bool,
}

/// Type of an operand. Zero bits: any; zero components: as many as the result has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ty {
    pub base: Base,
    pub bits: u8,
    pub comps: u8,
}

/// Those of all operands: `vec16` has the most.
pub type Types = ArrayVec<Ty, 16>;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AluInfo {
    pub name: Cow<'static, str>,
    pub op: Op,
    pub dest: Ty,
    pub srcs: Types,
    /// Bits of the parts of an operand that an integer dot product multiplies (`sdot_4x8_iadd`, `udot_2x16_uadd`).
    pub part: u8,
}

/// Names without families.
#[rustfmt::skip]
const ROWS: &[(&str, Op, &str)] = &[
    ("mov", Op::Mov, "u=u"),
    ("bcsel", Op::Bcsel, "u=b1uu"), ("b8csel", Op::Bcsel, "u=b8uu"), ("b16csel", Op::Bcsel, "u=b16uu"),
    ("b32csel", Op::Bcsel, "u=b32uu"),
    ("fcsel", Op::Fcsel, "f32=f32f32f32"), ("fcsel_gt", Op::FcselGt, "f32=f32f32f32"),
    ("fcsel_ge", Op::FcselGe, "f32=f32f32f32"),
    ("fcsel_eqn", Op::FcselNan, "f=fff"), ("icsel_eqz", Op::IcselEqz, "i=iii"),
    ("i32csel_gt", Op::IcselGt, "i32=i32i32i32"), ("i32csel_ge", Op::IcselGe, "i32=i32i32i32"),
    // float
    ("fadd", Op::Fadd, "f=ff"), ("fsub", Op::Fsub, "f=ff"), ("fmul", Op::Fmul, "f=ff"), ("fdiv", Op::Fdiv, "f=ff"),
    ("fmulz", Op::Fmulz, "f32=f32f32"), ("ffma", Op::Ffma, "f=fff"), ("ffmaz", Op::Ffmaz, "f32=f32f32f32"),
    ("flrp", Op::Flrp, "f=fff"), ("fneg", Op::Fneg, "f=f"), ("fabs", Op::Fabs, "f=f"), ("fsat", Op::Fsat, "f=f"),
    ("fsat_signed", Op::FsatSigned, "f=f"), ("fsat_signed_mali", Op::FsatSigned, "f=f"),
    ("fclamp_pos", Op::FclampPos, "f=f"), ("fclamp_pos_mali", Op::FclampPos, "f=f"),
    ("fsign", Op::Fsign, "f=f"), ("fmin", Op::Fmin, "f=ff"), ("fmax", Op::Fmax, "f=ff"),
    ("frcp", Op::Frcp, "f=f"), ("frsq", Op::Frsq, "f=f"), ("fsqrt", Op::Fsqrt, "f=f"),
    ("fexp2", Op::Fexp2, "f=f"), ("flog2", Op::Flog2, "f=f"), ("fpow", Op::Fpow, "f=ff"),
    ("fsin", Op::Fsin, "f=f"), ("fcos", Op::Fcos, "f=f"),
    ("ffloor", Op::Ffloor, "f=f"), ("fceil", Op::Fceil, "f=f"), ("ftrunc", Op::Ftrunc, "f=f"),
    ("fround_even", Op::FroundEven, "f=f"), ("ffract", Op::Ffract, "f=f"), ("fmod", Op::Fmod, "f=ff"),
    ("frem", Op::Frem, "f=ff"), ("ldexp", Op::Ldexp, "f=fi32"), ("frexp_exp", Op::FrexpExp, "i32=f"),
    ("frexp_sig", Op::FrexpSig, "f=f"), ("fquantize2f16", Op::Fquantize2F16, "f=f"),
    ("fisfinite", Op::Fisfinite, "b1=f"), ("fisfinite32", Op::Fisfinite, "b32=f"),
    ("fisnormal", Op::Fisnormal, "b1=f"), ("fcanonicalize", Op::Fcanonicalize, "f=f"),
    ("seq", Op::Seq, "f=ff"), ("sne", Op::Sne, "f=ff"), ("slt", Op::Slt, "f=ff"), ("sge", Op::Sge, "f=ff"),
    // integer
    ("iadd", Op::Iadd, "i=ii"), ("isub", Op::Isub, "i=ii"), ("imul", Op::Imul, "i=ii"), ("amul", Op::Imul, "i=ii"),
    ("idiv", Op::Idiv, "i=ii"), ("udiv", Op::Udiv, "u=uu"), ("imod", Op::Imod, "i=ii"), ("umod", Op::Umod, "u=uu"),
    ("irem", Op::Irem, "i=ii"), ("ineg", Op::Ineg, "i=i"), ("iabs", Op::Iabs, "i=i"), ("inot", Op::Inot, "i=i"),
    ("iand", Op::Iand, "u=uu"), ("ior", Op::Ior, "u=uu"), ("ixor", Op::Ixor, "u=uu"),
    ("ishl", Op::Ishl, "i=iu32"), ("ishr", Op::Ishr, "i=iu32"), ("ushr", Op::Ushr, "u=uu32"),
    ("urol", Op::Urol, "u=uu32"), ("uror", Op::Uror, "u=uu32"), ("shfr", Op::FunnelShr, "u32=u32u32u32"),
    ("imin", Op::Imin, "i=ii"), ("imax", Op::Imax, "i=ii"), ("umin", Op::Umin, "u=uu"), ("umax", Op::Umax, "u=uu"),
    ("isign", Op::Isign, "i=i"), ("imul_high", Op::ImulHigh, "i=ii"), ("umul_high", Op::UmulHigh, "u=uu"),
    ("imul_2x32_64", Op::ImulWide, "i64=i32i32"), ("umul_2x32_64", Op::UmulWide, "u64=u32u32"),
    ("umul_low", Op::UmulLow, "u32=u32u32"), ("imul24", Op::Imul24, "i32=i32i32"),
    ("imul24_relaxed", Op::Imul24, "i32=i32i32"), ("umul24", Op::Umul24, "u32=u32u32"),
    ("umul24_relaxed", Op::Umul24, "u32=u32u32"), ("umad24", Op::Umad24, "u32=u32u32u32"),
    ("umad24_relaxed", Op::Umad24, "u32=u32u32u32"), ("imul_32x16", Op::Imul32x16, "i32=i32i32"),
    ("umul_32x16", Op::Umul32x16, "u32=u32u32"), ("imul_16x16", Op::Imul16x16, "i32=i32i32"),
    ("umul_16x16", Op::Umul16x16, "u32=u32u32"), ("iadd3", Op::Iadd3, "i=iii"), ("imad", Op::Imad, "i=iii"),
    ("uadd_carry", Op::UaddCarry, "u=uu"), ("usub_borrow", Op::UsubBorrow, "u=uu"),
    ("iadd_sat", Op::IaddSat, "i=ii"), ("uadd_sat", Op::UaddSat, "u=uu"), ("isub_sat", Op::IsubSat, "i=ii"),
    ("usub_sat", Op::UsubSat, "u=uu"), ("ihadd", Op::Ihadd, "i=ii"), ("uhadd", Op::Uhadd, "u=uu"),
    ("irhadd", Op::Irhadd, "i=ii"), ("urhadd", Op::Urhadd, "u=uu"), ("uabs_isub", Op::UabsIsub, "u=ii"),
    ("uabs_usub", Op::UabsUsub, "u=uu"),
    // bits
    ("bit_count", Op::BitCount, "u32=u"), ("bitfield_reverse", Op::BitReverse, "u=u"),
    ("find_lsb", Op::FindLsb, "i32=i"), ("ifind_msb", Op::IfindMsb, "i32=i"), ("ufind_msb", Op::UfindMsb, "i32=u"),
    ("ifind_msb_rev", Op::IfindMsbRev, "i32=i"), ("ufind_msb_rev", Op::UfindMsbRev, "i32=u"),
    ("uclz", Op::Uclz, "u32=u"), ("bitfield_insert", Op::BitfieldInsert, "u32=u32u32i32i32"),
    ("bfi", Op::Bfi, "u32=u32u32u32"), ("bfm", Op::Bfm, "u32=i32i32"),
    ("bitfield_select", Op::BitfieldSelect, "u=uuu"), ("ibitfield_extract", Op::IbitfieldExtract, "i32=i32i32i32"),
    ("ubitfield_extract", Op::UbitfieldExtract, "u32=u32i32i32"), ("ibfe", Op::Ibfe, "i32=i32u32u32"),
    ("ubfe", Op::Ubfe, "u32=u32u32u32"), ("extract_u8", Op::ExtractU8, "u=uu"), ("extract_i8", Op::ExtractI8, "i=ii"),
    ("extract_u16", Op::ExtractU16, "u=uu"), ("extract_i16", Op::ExtractI16, "i=ii"),
    ("insert_u8", Op::InsertU8, "u=uu"), ("insert_u16", Op::InsertU16, "u=uu"),
    ("prmt_nv", Op::Permute, "u32=u32u32u32"),
    // conversions with a rule of their own
    ("f2f16_rtne", Op::F2F, "f16=f"), ("f2f16_rtz", Op::F2FRtz, "f16=f"), ("f2fmp", Op::F2F, "f16=f32"),
    ("f2imp", Op::F2I, "i16=f32"), ("f2ump", Op::F2U, "u16=f32"), ("i2fmp", Op::I2F, "f16=i32"),
    ("i2imp", Op::I2I, "i16=i32"), ("u2fmp", Op::U2F, "f16=u32"),
    ("bf2f", Op::BfloatToF, "f32=u16"), ("f2bf", Op::FToBfloat, "u16=f32"),
    // packing
    ("pack_64_2x32", Op::Pack, "u64x1=u32x2"), ("pack_64_4x16", Op::Pack, "u64x1=u16x4"),
    ("pack_32_2x16", Op::Pack, "u32x1=u16x2"), ("pack_32_4x8", Op::Pack, "u32x1=u8x4"),
    ("pack_double_2x32_dxil", Op::Pack, "u64x1=u32x2"),
    ("pack_64_2x32_split", Op::PackSplit, "u64=u32u32"), ("pack_32_2x16_split", Op::PackSplit, "u32=u16u16"),
    ("pack_32_4x8_split", Op::PackSplit, "u32=u8u8u8u8"),
    ("unpack_64_2x32", Op::Unpack, "u32x2=u64x1"), ("unpack_64_4x16", Op::Unpack, "u16x4=u64x1"),
    ("unpack_32_2x16", Op::Unpack, "u16x2=u32x1"), ("unpack_32_4x8", Op::Unpack, "u8x4=u32x1"),
    ("unpack_double_2x32_dxil", Op::Unpack, "u32x2=u64x1"),
    ("unpack_64_2x32_split_x", Op::UnpackX, "u32=u64"), ("unpack_64_2x32_split_y", Op::UnpackY, "u32=u64"),
    ("unpack_32_2x16_split_x", Op::UnpackX, "u16=u32"), ("unpack_32_2x16_split_y", Op::UnpackY, "u16=u32"),
    ("pack_half_2x16", Op::PackHalf, "u32x1=f32x2"), ("pack_half_2x16_rtz", Op::PackHalfRtz, "u32x1=f32x2"),
    ("pack_half_2x16_split", Op::PackHalfSplit, "u32=f32f32"),
    ("pack_half_2x16_rtz_split", Op::PackHalfSplitRtz, "u32=f32f32"),
    ("unpack_half_2x16", Op::UnpackHalf, "f32x2=u32x1"),
    ("unpack_half_2x16_flush_to_zero", Op::UnpackHalf, "f32x2=u32x1"),
    ("unpack_half_2x16_split_x", Op::UnpackHalfX, "f32=u32"), ("unpack_half_2x16_split_y", Op::UnpackHalfY, "f32=u32"),
    ("unpack_half_2x16_split_x_flush_to_zero", Op::UnpackHalfX, "f32=u32"),
    ("unpack_half_2x16_split_y_flush_to_zero", Op::UnpackHalfY, "f32=u32"),
    ("pack_snorm_2x16", Op::PackSnorm, "u32x1=f32x2"), ("pack_snorm_4x8", Op::PackSnorm, "u32x1=f32x4"),
    ("pack_unorm_2x16", Op::PackUnorm, "u32x1=f32x2"), ("pack_unorm_4x8", Op::PackUnorm, "u32x1=f32x4"),
    ("unpack_snorm_2x16", Op::UnpackSnorm, "f32x2=u32x1"), ("unpack_snorm_4x8", Op::UnpackSnorm, "f32x4=u32x1"),
    ("unpack_unorm_2x16", Op::UnpackUnorm, "f32x2=u32x1"), ("unpack_unorm_4x8", Op::UnpackUnorm, "f32x4=u32x1"),
    ("pack_uvec2_to_uint", Op::PackTrunc, "u32x1=u32x2"), ("pack_uvec4_to_uint", Op::PackTrunc, "u32x1=u32x4"),
    ("pack_sint_2x16", Op::PackSint2x16, "i32x1=i32x2"), ("pack_uint_2x16", Op::PackUint2x16, "u32x1=u32x2"),
    // dot products
    ("fdph", Op::Fdph, "fx1=fx3fx4"), ("fdph_replicated", Op::FdphReplicated, "f=fx3fx4"),
    ("sdot_4x8_iadd", Op::SdotIadd, "i32=u32u32i32"), ("sdot_4x8_iadd_sat", Op::SdotIaddSat, "i32=u32u32i32"),
    ("udot_4x8_uadd", Op::UdotUadd, "u32=u32u32u32"), ("udot_4x8_uadd_sat", Op::UdotUaddSat, "u32=u32u32u32"),
    ("sudot_4x8_iadd", Op::SudotIadd, "i32=u32u32i32"), ("sudot_4x8_iadd_sat", Op::SudotIaddSat, "i32=u32u32i32"),
    ("sdot_2x16_iadd", Op::SdotIadd, "i32=u32u32i32"), ("sdot_2x16_iadd_sat", Op::SdotIaddSat, "i32=u32u32i32"),
    ("udot_2x16_uadd", Op::UdotUadd, "u32=u32u32u32"), ("udot_2x16_uadd_sat", Op::UdotUaddSat, "u32=u32u32u32"),
    ("msad_4x8", Op::Msad4x8, "u32=u32u32u32"), ("mqsad_4x8", Op::Mqsad4x8, "u32x4=u32x1u32x2u32x4"),
    ("sad_u8x4", Op::SadU8x4, "u32x1=u32x1u32x1u32x1"),
    // derivatives
    ("fddx", Op::Ddx, "f=f"), ("fddx_coarse", Op::Ddx, "f=f"), ("fddx_fine", Op::Ddx, "f=f"),
    ("fddy", Op::Ddy, "f=f"), ("fddy_coarse", Op::Ddy, "f=f"), ("fddy_fine", Op::Ddy, "f=f"),
    // other hardware
    ("fddx_must_abs_mali", Op::Vendor, "f=f"), ("fddy_must_abs_mali", Op::Vendor, "f=f"),
    ("cube_face_coord_amd", Op::Vendor, "f32x2=f32x3"), ("cube_face_index_amd", Op::Vendor, "f32x1=f32x3"),
    ("cube_amd", Op::Vendor, "f32x4=f32x3"), ("cube_r600", Op::Vendor, "f32x4=f32x3"),
    ("fsin_amd", Op::Vendor, "f=f"), ("fcos_amd", Op::Vendor, "f=f"), ("fsin_agx", Op::Vendor, "f=f"),
    ("imad24_ir3", Op::Vendor, "i32=i32i32i32"), ("imadsh_mix16", Op::Vendor, "i32=i32i32i32"),
    ("umax_4x8_vc4", Op::Vendor, "i32=i32i32"), ("umin_4x8_vc4", Op::Vendor, "i32=i32i32"),
    ("usadd_4x8_vc4", Op::Vendor, "i32=i32i32"), ("ussub_4x8_vc4", Op::Vendor, "i32=i32i32"),
    ("umul_unorm_4x8_vc4", Op::Vendor, "i32=i32i32"),
];

/// Comparisons: one name with a 1-bit result, and three with 8, 16 and 32 bits.
#[rustfmt::skip]
const COMPARISONS: &[(&str, Op, &str)] = &[
    ("feq", Op::Feq, "ff"), ("fneu", Op::Fneu, "ff"), ("flt", Op::Flt, "ff"), ("fge", Op::Fge, "ff"),
    ("funord", Op::Funord, "ff"), ("ford", Op::Ford, "ff"), ("fequ", Op::Fequ, "ff"), ("fneo", Op::Fneo, "ff"),
    ("fltu", Op::Fltu, "ff"), ("fgeu", Op::Fgeu, "ff"),
    ("ieq", Op::Ieq, "ii"), ("ine", Op::Ine, "ii"), ("ilt", Op::Ilt, "ii"), ("ige", Op::Ige, "ii"),
    ("ult", Op::Ult, "uu"), ("uge", Op::Uge, "uu"), ("bitz", Op::Bitz, "uu32"), ("bitnz", Op::Bitnz, "uu32"),
];

/// Conversions, by the bases of operand and result.
const CONVERSIONS: &[(&str, &str, Op, &[u8])] = &[
    ("f", "f", Op::F2F, &[16, 32, 64]),
    ("f", "i", Op::F2I, &[1, 8, 16, 32, 64]),
    ("f", "u", Op::F2U, &[1, 8, 16, 32, 64]),
    ("f", "b", Op::F2B, &[1, 8, 16, 32]),
    ("i", "f", Op::I2F, &[16, 32, 64]),
    ("i", "i", Op::I2I, &[1, 8, 16, 32, 64]),
    ("i", "b", Op::I2B, &[1, 8, 16, 32]),
    ("u", "f", Op::U2F, &[16, 32, 64]),
    ("u", "u", Op::U2U, &[1, 8, 16, 32, 64]),
    ("b", "f", Op::B2F, &[16, 32, 64]),
    ("b", "i", Op::B2I, &[1, 8, 16, 32, 64]),
    ("b", "b", Op::B2B, &[1, 8, 16, 32]),
];

/// Opcodes over whole vectors, by the number of components: name before and after it, result, operands.
const REDUCTIONS: &[(&str, &str, Op, &str, &str)] = &[
    ("fdot", "", Op::Fdot, "fx1", "ff"),
    ("fdot", "_replicated", Op::FdotReplicated, "f", "ff"),
    ("fsum", "", Op::Fsum, "fx1", "f"),
    ("fall_equal", "", Op::FallEqual, "f32x1", "ff"),
    ("fany_nequal", "", Op::FanyNequal, "f32x1", "ff"),
    ("all_fequal", "", Op::AllFequal, "b", "ff"),
    ("all_iequal", "", Op::AllIequal, "b", "ii"),
    ("any_fnequal", "", Op::AnyFnequal, "b", "ff"),
    ("any_inequal", "", Op::AnyInequal, "b", "ii"),
];

fn base(letter: u8) -> Option<Base> {
    match letter {
        b'f' => Some(Base::Float),
        b'i' => Some(Base::Int),
        b'u' => Some(Base::Uint),
        b'b' => Some(Base::Bool),
        _ => None,
    }
}

/// The types of a signature, of so many components each where it does not say how many.
fn types(signature: &str, comps: u8) -> Types {
    let mut list = Types::new();
    let mut of_comps = false;
    for c in signature.bytes() {
        if let Some(base) = base(c) {
            of_comps = false;
            list.push(Ty { base, bits: 0, comps });
        } else if let Some(ty) = list.last_mut() {
            if c == b'x' {
                (of_comps, ty.comps) = (true, 0);
            } else {
                let field = if of_comps { &mut ty.comps } else { &mut ty.bits };
                *field = *field * 10 + (c - b'0');
            }
        }
    }
    list
}

type Rows = FxHashMap<Cow<'static, str>, AluInfo>;

/// A row, its operands of so many components where the signature does not say how many.
fn row(name: impl Into<Cow<'static, str>>, op: Op, dest: Ty, srcs: &str, comps: u8) -> AluInfo {
    let name = name.into();
    let part = if name.contains("4x8") { 8 } else { 16 };
    AluInfo { name, op, dest, srcs: types(srcs, comps), part }
}

fn add(rows: &mut Rows, name: impl Into<Cow<'static, str>>, op: Op, dest: Ty, srcs: &str, comps: u8) {
    let row = row(name, op, dest, srcs, comps);
    rows.insert(row.name.clone(), row);
}

/// All opcodes but reductions. It is made once a process, and most compile few shaders: so names are not copied.
static TABLE: LazyLock<Rows> = LazyLock::new(|| {
    let mut rows = Rows::with_capacity_and_hasher(512, Default::default());
    let bool_of = |bits| Ty { base: Base::Bool, bits, comps: 0 };
    for &(name, op, signature) in ROWS {
        if let Some((dest, srcs)) = signature.split_once('=') {
            add(&mut rows, name, op, types(dest, 0)[0], srcs, 0);
        }
    }
    for &(name, op, srcs) in COMPARISONS {
        add(&mut rows, name, op, bool_of(1), srcs, 0);
        for (bits, digits) in [(8, "8"), (16, "16"), (32, "32")] {
            add(&mut rows, [name, digits].concat(), op, bool_of(bits), srcs, 0);
        }
    }
    for &(from, to, op, sizes) in CONVERSIONS {
        for &bits in sizes {
            let dest = Ty { bits, ..types(to, 0)[0] };
            add(&mut rows, format!("{from}2{to}{bits}"), op, dest, from, 0);
        }
    }
    for comps in [2, 3, 4, 5, 8, 16] {
        let dest = Ty { base: Base::Uint, bits: 0, comps };
        add(&mut rows, format!("vec{comps}"), Op::Vec, dest, &"u".repeat(comps.into()), 1);
    }
    rows
});

/// Numbers of components of [`REDUCTIONS`].
const COUNTS: [(u8, &str); 6] = [(2, "2"), (3, "3"), (4, "4"), (5, "5"), (8, "8"), (16, "16")];

/// What the names of reductions to a truth begin with, and its bits.
const TRUTHS: [(u8, &str); 4] = [(1, "b"), (8, "b8"), (16, "b16"), (32, "b32")];

/// The same of reductions to this result; no bits: it has those that its signature says.
fn prefixes(dest: &str) -> &'static [(u8, &'static str)] {
    if dest == "b" { &TRUTHS } else { &[(0, "")] }
}

/// A reduction. Its row is made when it is first asked for: all rows at once take longer than a shader.
fn reduction(name: &str) -> Option<&'static AluInfo> {
    type Made = [[OnceLock<AluInfo>; COUNTS.len()]; TRUTHS.len()];
    static MADE: [Made; REDUCTIONS.len()] = [const { [const { [const { OnceLock::new() }; _] }; _] }; _];
    for (&(before, after, op, dest, srcs), made) in REDUCTIONS.iter().zip(&MADE) {
        for (&(bits, prefix), made) in prefixes(dest).iter().zip(made) {
            // Most names have another length.
            let digits = name.len().wrapping_sub(prefix.len() + before.len() + after.len());
            if !matches!(digits, 1 | 2) {
                continue;
            }
            let count = name
                .strip_prefix(prefix)
                .and_then(|n| n.strip_prefix(before))
                .and_then(|n| n.strip_suffix(after));
            let Some(n) = count.and_then(|count| COUNTS.iter().position(|c| c.1 == count)) else { continue };
            let dest = if bits == 0 { types(dest, 0)[0] } else { Ty { base: Base::Bool, bits, comps: 1 } };
            return Some(made[n].get_or_init(|| row(name.to_string(), op, dest, srcs, COUNTS[n].0)));
        }
    }
    None
}

/// Makes the table that every text needs.
pub(super) fn prepare() {
    LazyLock::force(&TABLE);
}

/// Every opcode's name.
pub fn names() -> impl Iterator<Item = &'static str> {
    let reductions = REDUCTIONS.iter().flat_map(|&(before, after, _, dest, _)| {
        prefixes(dest).iter().flat_map(move |prefix| {
            COUNTS.iter().filter_map(move |count| reduction(&[prefix.1, before, count.1, after].concat()))
        })
    });
    TABLE.values().chain(reductions).map(|row| &*row.name)
}

/// The opcode that is written most like `name`.
pub fn nearest(name: &str) -> Option<&'static str> {
    closest(name, &names().collect::<Vec<_>>())
}

/// The row of an opcode.
pub fn lookup(name: &str) -> Option<&'static AluInfo> {
    TABLE.get(name).or_else(|| reduction(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_and_no_other() {
        let all: Vec<&str> = names().collect();
        assert_eq!(all.iter().filter(|n| lookup(n).is_some_and(|row| row.name == **n)).count(), all.len());
        // Nine reductions of six sizes, four of them with four truths.
        assert_eq!(all.iter().filter(|n| reduction(n).is_some()).count(), (5 + 4 * 4) * 6);
        for name in [
            "ball_iequal6",
            "ball_iequal",
            "all_iequal2",
            "b64all_iequal2",
            "bfdot2",
            "fdot02",
            "fdot2_replicate",
        ] {
            assert_eq!(lookup(name), None, "{name}");
        }
    }

    #[test]
    fn families_have_their_sizes() {
        let ty = |base, bits, comps| Ty { base, bits, comps };
        let row = lookup("b32all_iequal3").expect("in the table");
        assert_eq!(
            (row.op, row.dest, row.srcs.as_slice()),
            (Op::AllIequal, ty(Base::Bool, 32, 1), &[ty(Base::Int, 0, 3), ty(Base::Int, 0, 3)][..])
        );
        assert_eq!(lookup("ieq16").map(|r| r.dest), Some(ty(Base::Bool, 16, 0)));
        assert_eq!(lookup("u2u64").map(|r| (r.op, r.dest.bits)), Some((Op::U2U, 64)));
        assert_eq!(lookup("vec16").map(|r| r.srcs.len()), Some(16));
        assert_eq!(lookup("fdph").map(|r| r.srcs[1].comps), Some(4));
    }
}
