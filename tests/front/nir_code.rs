//! What NIR's opcodes cost: instruction counts that must not grow.

use nvir::{Chip, Compiler, Source};

fn count(chip: Chip, text: &str) -> usize {
    let shader = Compiler::new(chip).compile(&Source::nir(text)).unwrap_or_else(|e| panic!("{e}"));
    shader.instructions as usize
}

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
    count(chip, &text)
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

/// Instructions of an OpenCL kernel that stores the sum of the elements of `arrays` arguments, each at an index of its own.
fn sum_of_elements(chip: Chip, arrays: usize) -> usize {
    let mut body = String::new();
    for k in 1..=arrays {
        let (pointer, place) = (10 * k, 8 * k);
        body += &format!(
            "    32 %{} = load_const (0x{place:08x})\n    64 %{pointer} = @load_kernel_input (%{} (0x{place:x})) (base=0, range=0, \
             align_mul=256, align_offset={place})\n    32 %{} = load_const (0x{k:08x})\n    32 %{} = imul %2.x, %{}\n\
             \x20   64 %{} = i2i64 %{}\n    64 %{} = ishl %{}, %1 (0x2)\n    64 %{} = iadd %{pointer}, %{}\n\
             \x20   32 %{} = @load_global (%{}) (access=none, align_mul=4, align_offset=0)\n    32 %{} = iadd %{}, %{}\n",
            pointer + 1,
            pointer + 1,
            pointer + 2,
            pointer + 3,
            pointer + 2,
            pointer + 4,
            pointer + 3,
            pointer + 5,
            pointer + 4,
            pointer + 6,
            pointer + 5,
            pointer + 7,
            pointer + 6,
            pointer + 8,
            if k == 1 { 0 } else { pointer - 2 },
            pointer + 7,
        );
    }
    count(
        chip,
        &format!(
            "shader: MESA_SHADER_KERNEL\nworkgroup_size: 64, 1, 1\ndecl_function main () (entrypoint)\n\nimpl main {{\n\
             block b0:  // preds:\n    32 %0 = load_const (0x00000000)\n    32 %1 = load_const (0x00000002)\n\
             \x20   32x3 %2 = @load_local_invocation_id\n{body}\n\
             \x20   64 %3 = @load_kernel_input (%0 (0x0)) (base=0, range=0, align_mul=256, align_offset=0)\n\
             \x20   @store_global (%{}, %3) (wrmask=x, access=none, align_mul=4, align_offset=0)\nblock b1:\n}}\n",
            10 * arrays + 8
        ),
    )
}

#[test]
fn an_element_of_an_argument_costs_two_instructions_and_its_load() {
    for chip in Chip::ALL {
        // The index, a shift-add, a multiply-add with carry whose factor all share, the load, the sum.
        let more = sum_of_elements(chip, 5) - sum_of_elements(chip, 3);
        assert!(more <= 2 * 5, "{chip}: two elements more cost {more} instructions");
    }
}

#[test]
fn a_fence_for_the_block_before_its_barrier_costs_nothing() {
    let kernel = |fence: &str| {
        format!(
            "shader: MESA_SHADER_COMPUTE\nworkgroup_size: 64, 1, 1\nshared_size: 256\ndecl_function main () (entrypoint)\n\n\
             impl main {{\n    block b0:  // preds:\n    32 %0 = load_const (0x00000000)\n    32 %1 = load_const (0x00000002)\n\
             \x20   32 %2 = @load_local_invocation_index\n    32 %3 = ishl %2, %1 (0x2)\n\
             \x20   @store_shared (%2, %3) (base=0, wrmask=x, align_mul=4, align_offset=0)\n{fence}\
             \x20   32 %4 = @load_shared (%0 (0x0)) (base=0, align_mul=4, align_offset=0)\n\
             \x20   @store_ssbo (%4, %0 (0x0), %3) (wrmask=x, access=none, align_mul=4, align_offset=0)\nblock b1:\n}}\n"
        )
    };
    for chip in Chip::ALL {
        let bare = count(chip, &kernel("    @control_barrier\n"));
        for fence in [
            "    @group_memory_barrier\n    @memory_barrier_shared\n    @control_barrier\n",
            "    @barrier (execution_scope=WORKGROUP, memory_scope=WORKGROUP, mem_semantics=ACQ|REL, mem_modes=shared)\n",
        ] {
            assert_eq!(count(chip, &kernel(fence)), bare, "{chip}: {fence}");
        }
        let device = "    @memory_barrier\n    @control_barrier\n";
        assert_eq!(count(chip, &kernel(device)), bare + 1, "{chip}: a fence for the device stays");
    }
}

#[test]
fn an_access_across_the_end_of_a_bank_compiles() {
    let text = "shader: MESA_SHADER_KERNEL\ndecl_function main () (entrypoint)\n\nimpl main {\n\
         block b0:  // preds:\n    32 %0 = load_const (0x0000ffff)\n\
         \x20   64 %1 = @load_kernel_input (%0 (0xffff)) (base=0, range=0, align_mul=256, align_offset=8)\n\
         \x20   32 %2 = load_const (0x00000000)\n    64 %3 = @load_kernel_input (%2 (0x0)) (base=0, range=0, \
         align_mul=256, align_offset=0)\n\
         \x20   @store_global (%1, %3) (wrmask=x, access=none, align_mul=8, align_offset=0)\n\
         \x20   // succs: b1\nblock b1:\n}\n";
    for chip in Chip::ALL {
        assert!(count(chip, text) > 2, "{chip}");
    }
}

/// Instructions of an OpenCL kernel that stores to `out[i * scale]` and `out[i * scale + k]`; the index is extended and
/// the sum printed as said.
fn store_beside(chip: Chip, scale: u32, k: u32, extend: &str, sum: &str) -> usize {
    let text = format!(
        "shader: MESA_SHADER_KERNEL\nworkgroup_size: 64, 1, 1\ndecl_function main () (entrypoint)\n\nimpl main {{\n\
         block b0:  // preds:\n    32 %0 = load_const (0x00000000)\n    32 %1 = load_const (0x00000002)\n\
         \x20   32 %4 = load_const (0x{scale:08x})\n    32 %5 = load_const (0x{k:08x})\n\
         \x20   32x3 %2 = @load_global_invocation_id\n\
         \x20   64 %3 = @load_kernel_input (%0 (0x0)) (base=0, range=0, align_mul=256, align_offset=0)\n\
         \x20   32 %6 = imul %2.x, %4\n    32 %7 = {sum} %6, %5\n\
         \x20   64 %8 = {extend} %6\n    64 %9 = ishl %8, %1 (0x2)\n    64 %10 = iadd %3, %9\n\
         \x20   64 %11 = {extend} %7\n    64 %12 = ishl %11, %1 (0x2)\n    64 %13 = iadd %3, %12\n\
         \x20   @store_global (%6, %10) (wrmask=x, access=none, align_mul=4, align_offset=0)\n\
         \x20   @store_global (%6, %13) (wrmask=x, access=none, align_mul=4, align_offset=0)\nblock b1:\n}}\n"
    );
    count(chip, &text)
}

#[test]
fn the_constant_of_an_index_goes_to_the_address_where_no_carry_is_lost() {
    for chip in Chip::ALL {
        // An address of its own takes an addition and two instructions more.
        let apart = store_beside(chip, 8, 8, "u2u64", "iadd");
        for extend in ["u2u64", "i2i64"] {
            for k in [1, 5, 7] {
                let beside = store_beside(chip, 8, k, extend, "iadd");
                assert!(
                    beside + 2 <= apart,
                    "{chip}: {extend} of 8 * i + {k}: {beside}, not below {apart} - 1"
                );
            }
            // 12 * i + 6 is 12 * i + 4 and 2, but shares nothing with 12 * i; 7 * i + 1 may carry anywhere.
            for (scale, k) in [(12, 6), (7, 1), (8, 8), (8, u32::MAX)] {
                assert!(
                    store_beside(chip, scale, k, extend, "iadd") + 1 >= apart,
                    "{chip}: {scale} * i + {k}"
                );
            }
        }
        // What the text promises of a signed sum says nothing about one that is not.
        assert!(store_beside(chip, 7, 1, "i2i64", "iadd.nsw") + 2 <= apart, "{chip}");
        assert!(store_beside(chip, 7, 1, "u2u64", "iadd.nsw") + 1 >= apart, "{chip}");
    }
}

/// Instructions of a kernel that loads the same word among what its last argument points to before and after it stores through the
/// first one.
fn loads_around_a_store(chip: Chip, header: &str, name: &str, store_to: &str) -> usize {
    let text = format!(
        "shader: MESA_SHADER_KERNEL\nworkgroup-size: 64, 1, 1\ninputs: 0\nuniforms: 16\n{header}\
         decl_var uniform INTERP_MODE_NONE uint64_t @0 (0, 0, 0)\n\
         decl_var uniform INTERP_MODE_NONE uint64_t {name} (1, 8, 0)\n\
         decl_function main (0 params)\n\nimpl main {{\n\
         \tblock block_0:\n\t/* preds: */\n\
         \tvec1 32 ssa_0 = load_const (0x00000000 = 0.000000)\n\
         \tvec1 32 ssa_1 = load_const (0x00000008 = 0.000000)\n\
         \tvec1 64 ssa_2 = load_const (0x0000000000000004 = 0.000000)\n\
         \tvec1 64 ssa_3 = intrinsic load_kernel_input (ssa_0) (base=0, range=0, align_mul=256, align_offset=0)\n\
         \tvec1 64 ssa_4 = intrinsic load_kernel_input (ssa_1) (base=0, range=0, align_mul=256, align_offset=8)\n\
         \tvec3 32 ssa_5 = intrinsic load_local_invocation_id () ()\n\
         \tvec1 64 ssa_6 = u2u64 ssa_5.x\n\
         \tvec1 64 ssa_7 = iadd ssa_4, ssa_6\n\
         \tvec1 64 ssa_8 = iadd ssa_7, ssa_2\n\
         \tvec1 32 ssa_9 = intrinsic load_global (ssa_8) (access=0, align_mul=4, align_offset=0)\n\
         \tintrinsic store_global (ssa_9, {store_to}) (wrmask=x /*1*/, access=0, align_mul=4, align_offset=0)\n\
         \tvec1 32 ssa_10 = intrinsic load_global (ssa_8) (access=0, align_mul=4, align_offset=0)\n\
         \tvec1 64 ssa_11 = iadd ssa_3, ssa_2\n\
         \tintrinsic store_global (ssa_10, ssa_11) (wrmask=x /*1*/, access=0, align_mul=4, align_offset=0)\n\
         \t/* succs: block_1 */\n\tblock block_1:\n}}\n"
    );
    count(chip, &text)
}

#[test]
fn nobody_writes_a_kernels_constants() {
    let (constants, name) = ("constants: 64\n", "constant_buffer_addr");
    for chip in Chip::ALL {
        let once = loads_around_a_store(chip, constants, name, "ssa_3");
        let twice = loads_around_a_store(chip, constants, "@1", "ssa_3");
        assert!(once < twice, "{chip}: {once} instructions, {twice} through an argument of the kernel's own");
        // Without constants of the program the name is the kernel's own; what it writes through is none of constants.
        assert_eq!(loads_around_a_store(chip, "", name, "ssa_3"), twice, "{chip}");
        let written = loads_around_a_store(chip, constants, name, "ssa_7");
        assert_eq!(loads_around_a_store(chip, constants, "@1", "ssa_7"), written, "{chip}");
    }
}

#[test]
fn an_atomic_without_a_reader_is_guarded_instead_of_branched_around() {
    let kernel = |body: &str| {
        format!(
            "shader: MESA_SHADER_COMPUTE\nworkgroup_size: 8, 1, 1\ndecl_function main () (entrypoint)\n\nimpl main {{\n\
             block b0:  // preds:\n    32 %0 = load_const (0x00000000)\n    32 %1 = load_const (0x00000001)\n\
             \x20   32x3 %2 = @load_workgroup_id\n    1 %3 = ine %2.x, %0\n{body}}}\n"
        )
    };
    let atomic = "32 %4 = @ssbo_atomic (%0, %0, %1) (access=none, atomic_op=iadd)";
    let always = kernel(&format!("    {atomic}\n    // succs: b1\nblock b1:\n"));
    let sometimes = kernel(&format!(
        "    // succs: b1 b2\nif %3 {{\nblock b1:  // preds: b0\n    {atomic}\n    // succs: b3\n\
         }} else {{\nblock b2:  // preds: b0, succs: b3\n}}\nblock b3:  // preds: b1 b2\n    // succs: b4\nblock b4:\n"
    ));
    for chip in Chip::ALL {
        // The identity of the block is read and compared.
        assert_eq!(count(chip, &sometimes), count(chip, &always) + 2, "{chip}");
    }
}
