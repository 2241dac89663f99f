//! Broken NIR: whatever is done to a text, there are diagnostics or valid IR, never a panic.
//!
//! `NVIR_FUZZ_SECONDS=600 cargo test --release --test nir_fuzz` goes on for that long with other mutations.

use nvir::chip::Chip;
use nvir::driver::Abi;
use nvir::front::{Language, Request, program};
use nvir::ir::verify::{self, Phase};
use std::time::{Duration, Instant};

/// xorshift64*
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 33) as usize % n.max(1)
    }
}

/// Texts in the newer printer's form and with the rarer things, besides those of the fixtures.
const SEEDS: &[&str] = &[
    "shader: MESA_SHADER_KERNEL\ndecl_var shared INTERP_MODE_NONE none int[8] s\ndecl_function f (64 p, 32)\n\n\
     impl f {\n    block b0:  // preds:\n    64   %0 = @load_param (param_idx=0)\n    32   %1 = @load_param (param_idx=1)\n\
     \x20   64   %2 = deref_cast (int *)%0 (global int)  (ptr_stride=4, align_mul=4, align_offset=0)\n\
     \x20   64   %3 = deref_ptr_as_array &(*%2)[%1] (global int)\n         @store_deref (%3, %1) (wrmask=x, access=none)\n\
     \x20   // succs: b1\n    block b1:\n}\n\ndecl_function main () (entrypoint)\n\nimpl main {\n    block b0:\n\
     \x20   32   %0 = load_const (0x00000004)\n    64   %1 = @load_kernel_input (%0 (0x4)) (base=0, range=8)\n\
     \x20   con 32 %2 = @reduce (%0 (0x4)) (reduction_op=iadd, cluster_size=8)\n    call f p %1, %2\n\
     \x20   32   %3 = deref_var &s (shared int[8])\n    32   %4 = deref_array &(*%3)[%2] (shared int)\n\
     \x20   32   %5 = @deref_atomic (%4, %0) (access=none, atomic_op=iadd)\n\
     \x20   32x4 %6 = (float32)txl %1 (texture_handle), %0 (coord), %0 (lod), 0 (texture), 0 (sampler), 1D\n\
     \x20   @barrier (exec_scope=WORKGROUP, mem_scope=WORKGROUP, mem_semantics=ACQ|REL, mem_modes=shared)\n\
     \x20   64   %7 = @global_atomic_swap (%1, %1, %1) (atomic_op=cmpxchg)\n    block b1:\n}\n",
    "shader: MESA_SHADER_COMPUTE\nworkgroup-size: 64, 1, 1\ndecl_function main (0 params)\nimpl main {\n\
     decl_reg vec4 32 r0[4]\ndecl_reg vec1 1 r1\nblock block_0:\nvec1 32 ssa_0 = load_const (0x00000001 = 0.0)\n\
     vec1 1 ssa_1 = load_const (true)\nr1 = mov ssa_1\nr0[1 + ssa_0].yw = iadd.sat ssa_0.xx, r0[2].xy\nloop {\n\
     block block_1:\nvec1 32 ssa_2 = phi block_0: ssa_0, block_4: ssa_5\nif ssa_1 {\nblock block_2:\nbreak\n} else {\n\
     block block_3:\n}\nblock block_4:\nvec1 32 ssa_5 = isub ssa_2, ssa_0\n}\nblock block_5:\n\
     vec2 64 ssa_9 = undefined\nvec2 64 ssa_10 = fmul! ssa_9.yx, -abs(ssa_9)\n\
     vec1 8 ssa_11 = u2u8 ssa_0\nvec1 8 ssa_12 = idiv ssa_11, ssa_11\nhalt\nblock block_6:\n}\n",
];

fn seeds() -> Vec<String> {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/nir-fixtures");
    let mut paths: Vec<_> = std::fs::read_dir(dir)
        .expect("the fixtures are part of the project")
        .map(|e| e.expect("readable").path())
        .filter(|p| p.extension().is_some_and(|e| e == "nir"))
        .collect();
    paths.sort();
    let mut texts: Vec<String> = SEEDS.iter().map(|s| s.to_string()).collect();
    texts.extend(paths.iter().map(|p| std::fs::read_to_string(p).expect("text")));
    texts.retain(|t| t.len() < 40_000);
    texts
}

const WORDS: &[&str] = &[
    "0",
    "1",
    "255",
    "4294967295",
    "ssa_0",
    "ssa_4294967295",
    "%0",
    "r0",
    "r0[1 + ssa_0]",
    "vec16 64",
    "vec1 1",
    "vec3 8",
    "16x8",
    "64x16",
    "1",
    "iadd",
    "fdot4",
    "pack_64_4x16",
    "bcsel",
    "f2i64",
    "unpack_32_4x8",
    "intrinsic load_ssbo",
    "@shuffle",
    "@load_reg",
    "loop {",
    "} continue {",
    "if ssa_0 {",
    "}",
    "else",
    "break",
    "continue",
    "halt",
    "(",
    ")",
    "(true)",
    "align_mul=3",
    "align_offset=99999999",
    "wrmask=",
    "access=volatile|coherent",
    "block_0",
    "\n",
    "é",
    "/*",
    "//",
    "\0",
    "undefined",
    "phi",
    "deref_array &(*ssa_0)[*]",
    "call main",
    "0x",
    "mat4",
    "int[4294967295][4294967295]",
];

fn mutate(text: &str, other: &str, r: &mut Random) -> String {
    let mut s = text.to_string();
    for _ in 0..1 + r.below(4) {
        let lines: Vec<&str> = s.split_inclusive('\n').collect();
        let at = r.below(lines.len());
        let mut out: Vec<String> = lines.iter().map(|l| l.to_string()).collect();
        match r.below(8) {
            0 => out.truncate(at),
            1 => {
                out.remove(at);
            }
            2 => out.swap(at, r.below(lines.len())),
            3 => out.insert(at, lines[r.below(lines.len())].to_string()),
            4 => {
                let others: Vec<&str> = other.split_inclusive('\n').collect();
                out.insert(at, others[r.below(others.len())].to_string());
            }
            5 => {
                // A line loses its end, anywhere.
                let line = &out[at];
                let mut cut = r.below(line.len() + 1);
                while !line.is_char_boundary(cut) {
                    cut -= 1;
                }
                out[at].truncate(cut);
            }
            _ => {
                // A word gives way to another one.
                let words: Vec<&str> = lines[at].split_inclusive([' ', ',', '.', '=']).collect();
                let k = r.below(words.len());
                let from = if r.below(2) == 0 { WORDS } else { &words[..] };
                let new = from[r.below(from.len())].to_string();
                let mut line: String = words[..k].concat();
                line += &new;
                line += " ";
                line += &words[(k + 1).min(words.len())..].concat();
                out[at] = line;
            }
        }
        s = out.concat();
        if s.is_empty() {
            return s;
        }
    }
    s
}

#[test]
fn mutated_texts_give_diagnostics_or_valid_ir() {
    let seeds = seeds();
    let seconds: Option<u64> = std::env::var("NVIR_FUZZ_SECONDS").ok().and_then(|s| s.parse().ok());
    let mut random = Random(match seconds {
        Some(_) => 0x1234_5678_9abc_def1 ^ std::process::id() as u64,
        None => 0x9e37_79b9_7f4a_7c15,
    });
    let start = Instant::now();
    let (mut runs, mut valid) = (0, 0);
    while match seconds {
        Some(s) => start.elapsed() < Duration::from_secs(s),
        None => runs < 3000,
    } {
        let text = &seeds[random.below(seeds.len())];
        let other = &seeds[random.below(seeds.len())];
        let text = mutate(text, other, &mut random);
        let chip = Chip::ALL[random.below(3)];
        let abi = Abi::nvc0(chip);
        let request =
            Request { text: &text, chip, abi: &abi, entry: None, pointer_align: 1, private_bytes: 0 };
        let result = std::panic::catch_unwind(|| program(Language::Nir, &request));
        let Ok(result) = result else {
            std::fs::write(std::env::temp_dir().join("nvir-fuzz.nir"), &text).expect("writable");
            panic!("the front-end panicked; the text is nvir-fuzz.nir in the folder for temporary files");
        };
        runs += 1;
        if let Ok(p) = result {
            valid += 1;
            if let Err(v) = verify::program(&p, Phase::Front) {
                std::fs::write(std::env::temp_dir().join("nvir-fuzz.nir"), &text).expect("writable");
                panic!("{v}\nthe text is nvir-fuzz.nir in the folder for temporary files");
            }
        }
    }
    assert!(valid * 20 > runs, "too few mutations leave a text valid: {valid} of {runs}");
}
