//! What a driver should ask of Mesa's NIR: the fields of `nir_shader_compiler_options` (Mesa 22.3 and 25.0 `nir.h`). A version has
//! those that it knows.
//!
//! The short answer is: nothing. The front-end knows every opcode, and what is lowered before it comes here hides an idiom
//! for which the chips have an instruction, or a shorter sequence than Mesa's. `docs/nir-options.md` and
//! `crates/capi/include/nvir_nir_options.h` are made from this table.

/// A field of `nir_shader_compiler_options`, and what to set it to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NirOption {
    /// Mesa's name of the field.
    pub name: &'static str,
    /// 0 and 1 for a flag.
    pub value: u32,
    /// Opcodes that reach the front-end because of it.
    pub opcodes: &'static [&'static str],
    /// Why.
    pub why: &'static str,
}

const fn leave(name: &'static str, opcodes: &'static [&'static str], why: &'static str) -> NirOption {
    NirOption { name, value: 0, opcodes, why }
}

const fn set(
    name: &'static str,
    value: u32,
    opcodes: &'static [&'static str],
    why: &'static str,
) -> NirOption {
    NirOption { name, value, opcodes, why }
}

/// The fields that matter for compute. Those that are not listed may be zero.
pub const OPTIONS: &[NirOption] = &[
    // Floats.
    leave("lower_fdiv", &["fdiv"], "a reciprocal and a product, with the corrections that the type wants"),
    leave("lower_ffma16", &["ffma"], "in 32 bits, where the rounding is right"),
    leave("lower_ffma32", &["ffma"], "FFMA"),
    leave("lower_ffma64", &["ffma"], "DFMA"),
    leave("fuse_ffma16", &["fmul", "fadd"], "products and sums are fused here where neither is exact"),
    leave("fuse_ffma32", &["fmul", "fadd"], "products and sums are fused here where neither is exact"),
    leave("fuse_ffma64", &["fmul", "fadd"], "products and sums are fused here where neither is exact"),
    leave("lower_flrp16", &["flrp"], "two fused operations"),
    leave("lower_flrp32", &["flrp"], "two fused operations"),
    leave("lower_flrp64", &["flrp"], "two fused operations"),
    leave("lower_fpow", &["fpow"], "x to the power of 0 is 1 for all x, as GLSL's users expect"),
    leave("lower_fsat", &["fsat"], "a modifier of most float instructions"),
    leave("lower_fsqrt", &["fsqrt"], "the root's reciprocal and a product; a subroutine for doubles"),
    leave("lower_sincos", &["fsin", "fcos"], "RRO and MUFU"),
    leave("lower_fmod", &["fmod", "frem"], "shares the quotient's steps"),
    leave("lower_ldexp", &["ldexp"], "on the bits, in fewer steps"),
    leave("lower_ffloor", &["ffloor"], "one conversion"),
    leave("lower_fceil", &["fceil"], "one conversion"),
    leave("lower_ftrunc", &["ftrunc"], "one conversion"),
    leave("lower_fround_even", &["fround_even"], "one conversion"),
    leave("lower_ffract", &["ffract"], "one conversion and a difference"),
    leave("lower_fsign", &["fsign"], "two comparisons that give floats"),
    leave("lower_scmp", &["seq", "sne", "slt", "sge"], "FSET gives 1.0 by itself"),
    leave("lower_fisnormal", &["fisnormal"], "two comparisons"),
    leave("lower_fdot", &["fdot2", "fdot3", "fdot4"], "a chain of fused operations"),
    leave("lower_fdph", &["fdph"], "a chain of fused operations"),
    set("has_fsub", 1, &["fsub"], "FADD negates for nothing"),
    set("has_fmulz", 1, &["fmulz", "ffmaz"], "FMUL.FMZ"),
    // Integers.
    leave("lower_uadd_carry", &["uadd_carry"], "the carry flag"),
    leave("lower_usub_borrow", &["usub_borrow"], "the carry flag"),
    leave("lower_mul_high", &["imul_high", "umul_high"], "IMUL.HI"),
    leave("lower_mul_2x32_64", &["imul_2x32_64", "umul_2x32_64"], "both halves of one product"),
    leave("lower_mul_32x16", &["imul_32x16", "umul_32x16"], "a product of known bits"),
    leave("lower_isign", &["isign"], "a minimum and a maximum"),
    leave("lower_iabs", &["iabs"], "I2I with |x|, or a modifier"),
    leave("lower_umin", &["umin"], "IMNMX"),
    leave("lower_umax", &["umax"], "IMNMX"),
    leave("lower_rotate", &["urol", "uror"], "SHF on GK110; elsewhere a shift and a fused shift and sum"),
    set("has_rotate8", 1, &["urol", "uror"], "the same, of fields (Mesa 23.3 and later)"),
    set("has_rotate16", 1, &["urol", "uror"], "the same, of fields (Mesa 23.3 and later)"),
    set("has_rotate32", 1, &["urol", "uror"], "`lower_rotate` of Mesa 23.3 and later"),
    leave("lower_hadd", &["ihadd", "uhadd", "irhadd", "urhadd"], "three operations on the bits"),
    leave("lower_hadd64", &["ihadd", "uhadd"], "the same on pairs of words"),
    leave("lower_iadd_sat", &["iadd_sat", "isub_sat"], "IADD.SAT"),
    leave("lower_uadd_sat", &["uadd_sat"], "the carry flag and a selection"),
    leave("lower_usub_sat", &["usub_sat"], "the carry flag and a selection"),
    leave("lower_uclz", &["uclz"], "FLO.SH"),
    set("has_uclz", 1, &["uclz"], "`lower_uclz` of later versions of Mesa"),
    leave("lower_bitfield_extract", &["ubitfield_extract", "ibitfield_extract"], "BFE"),
    leave("lower_bitfield_extract_to_shifts", &["ubitfield_extract", "ibitfield_extract"], "BFE"),
    leave("lower_bitfield_insert", &["bitfield_insert"], "BFI"),
    leave("lower_bitfield_insert_to_shifts", &["bitfield_insert"], "BFI"),
    leave("lower_bitfield_insert_to_bitfield_select", &["bitfield_insert"], "BFI"),
    leave("lower_bitfield_reverse", &["bitfield_reverse"], "BREV, or BFE.BREV"),
    leave("lower_bit_count", &["bit_count"], "POPC"),
    leave("lower_ifind_msb", &["ifind_msb"], "FLO"),
    leave("lower_find_msb_to_reverse", &["ufind_msb"], "FLO"),
    leave("lower_find_lsb", &["find_lsb"], "BREV and FLO"),
    set("has_isub", 1, &["isub"], "IADD negates for nothing"),
    set("has_iadd3", 1, &["iadd3"], "two sums, of which one may fuse"),
    set("has_imul24", 1, &["imul24"], "a product; the high bits are known"),
    set("has_umul24", 1, &["umul24"], "a product; the high bits are known"),
    set("has_umad24", 1, &["umad24"], "a product; the high bits are known"),
    set("has_find_msb_rev", 1, &["ufind_msb_rev", "ifind_msb_rev"], "FLO.SH"),
    set("has_sdot_4x8", 1, &["sdot_4x8_iadd"], "four fields and fused products"),
    set("has_udot_4x8", 1, &["udot_4x8_uadd"], "four fields and fused products"),
    set("has_sudot_4x8", 1, &["sudot_4x8_iadd"], "four fields and fused products"),
    set("has_sdot_4x8_sat", 1, &["sdot_4x8_iadd_sat"], "the same and IADD.SAT"),
    set("has_udot_4x8_sat", 1, &["udot_4x8_uadd_sat"], "the same and the carry flag"),
    set("has_sudot_4x8_sat", 1, &["sudot_4x8_iadd_sat"], "the same and IADD.SAT"),
    set("has_dot_2x16", 1, &["sdot_2x16_iadd", "udot_2x16_uadd"], "two fields and fused products"),
    set("has_ford_funord", 1, &["ford", "funord"], "one comparison"),
    // Parts of words.
    leave("lower_extract_byte", &["extract_u8", "extract_i8"], "BFE, or a conversion's own selection"),
    leave("lower_extract_word", &["extract_u16", "extract_i16"], "BFE, or a conversion's own selection"),
    leave("lower_insert_byte", &["insert_u8"], "BFI or PRMT"),
    leave("lower_insert_word", &["insert_u16"], "BFI or PRMT"),
    leave("lower_pack_split", &["pack_64_2x32_split", "unpack_64_2x32_split_x"], "registers' names"),
    leave("lower_pack_half_2x16", &["pack_half_2x16"], "two conversions and PRMT"),
    leave("lower_unpack_half_2x16", &["unpack_half_2x16"], "a conversion that selects the half"),
    leave("lower_pack_unorm_2x16", &["pack_unorm_2x16"], "conversions that saturate, and PRMT"),
    leave("lower_pack_snorm_2x16", &["pack_snorm_2x16"], "conversions, and PRMT"),
    leave("lower_pack_unorm_4x8", &["pack_unorm_4x8"], "conversions that saturate, and PRMT"),
    leave("lower_pack_snorm_4x8", &["pack_snorm_4x8"], "conversions, and PRMT"),
    leave("lower_unpack_unorm_2x16", &["unpack_unorm_2x16"], "conversions that select the half"),
    leave("lower_unpack_snorm_2x16", &["unpack_snorm_2x16"], "conversions that select the half"),
    leave("lower_unpack_unorm_4x8", &["unpack_unorm_4x8"], "conversions that select the byte"),
    leave("lower_unpack_snorm_4x8", &["unpack_snorm_4x8"], "conversions that select the byte"),
    // Wide types, loops, order.
    leave(
        "lower_int64_options",
        &["imul", "idiv", "udiv", "umod"],
        "pairs of words; division by a subroutine, once",
    ),
    leave(
        "lower_doubles_options",
        &["fdiv", "fsqrt", "frcp"],
        "subroutines that round right, once for all shaders",
    ),
    leave("lower_to_scalar", &["vec4"], "the front-end takes vectors apart where it reads them"),
    set(
        "max_unroll_iterations",
        32,
        &[],
        "so that indices of arrays become constants before variables become memory",
    ),
    set("use_scoped_barrier", 1, &[], "barriers say which memory they order"),
];

#[cfg(test)]
mod tests {
    use super::OPTIONS;
    use crate::front::nir::alu;
    use std::collections::BTreeSet;

    #[test]
    fn what_is_left_to_us_is_known_here_and_stands_once() {
        for o in OPTIONS {
            for op in o.opcodes {
                assert!(alu::lookup(op).is_some() || *op == "vec4", "{}: {op}", o.name);
            }
        }
        let names: BTreeSet<&str> = OPTIONS.iter().map(|o| o.name).collect();
        assert_eq!(names.len(), OPTIONS.len());
    }
}
