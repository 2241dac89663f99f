//! What NIR's opcodes cost: instruction counts that must not grow.

use nvir::Chip;
use nvir::compile::{Options, compile};
use nvir::front::{Language, Request, program};

/// Instructions at -O3 of a kernel that loads two words, computes `%9` of `%7` and `%8`, and stores it.
fn instructions(chip: Chip, stage: &str, line: &str) -> usize {
    let text = format!(
        "shader: {stage}\nworkgroup_size: 1, 1, 1\ndecl_function main () (entrypoint)\n\nimpl main {{\n\
         block b0:  // preds:\n    32 %0 = load_const (0x00000000)\n    32 %1 = load_const (0x00000004)\n\
         \x20   32 %7 = @load_ssbo (%0 (0x0), %0 (0x0)) (access=none, align_mul=4, align_offset=0)\n\
         \x20   32 %8 = @load_ssbo (%0 (0x0), %1 (0x4)) (access=none, align_mul=4, align_offset=0)\n    {line}\n\
         \x20   @store_ssbo (%9, %0 (0x0), %0 (0x0)) (wrmask=x, access=none, align_mul=4, align_offset=0)\n\
         \x20   // succs: b1\nblock b1:\n}}\n"
    );
    let options = Options::new(chip);
    let request =
        Request { text: &text, chip, abi: &options.abi, entry: None, pointer_align: 4, private_bytes: 0 };
    let p = program(Language::Nir, &request).unwrap_or_else(|d| panic!("{d}"));
    compile(p, chip, &options).unwrap_or_else(|d| panic!("{d}")).instructions as usize
}

#[test]
fn glsl_divides_by_the_reciprocal() {
    for chip in Chip::ALL {
        let stage = "MESA_SHADER_COMPUTE";
        let product = instructions(chip, stage, "32 %9 = fmul %7, %8");
        let quotient = instructions(chip, stage, "32 %9 = fdiv %7, %8");
        assert_eq!(quotient, product + 1, "{chip}: a reciprocal more than a product");
        let opencl = instructions(chip, "MESA_SHADER_KERNEL", "32 %9 = fdiv %7, %8");
        assert!(opencl > quotient, "{chip}: OpenCL's divisor may have any size");
    }
}
