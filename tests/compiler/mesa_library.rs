//! Mesa's own machine code for integer division, which runs on cards: in the emulator it divides as the host does.
//!
//! Its words are read from Mesa's source, nothing of which is here: `MESA_SOURCE=FOLDER cargo test --test compiler mesa_library`.

use nvir::emu::{Launch, Memory, Options, Program, run};
use nvir::{Chip, isa};
use std::path::Path;

/// Threads of a launch, each with a division.
const THREADS: u32 = 256;

/// The 64-bit words of the array of that name in a C header.
fn words(text: &str, array: &str) -> Vec<u64> {
    let (_, rest) = text.split_once(&format!("{array}[] = {{")).expect("the array is there");
    let (body, _) = rest.split_once('}').expect("it ends");
    let hex = |word: &str| u64::from_str_radix(word.trim().strip_prefix("0x")?, 16).ok();
    let body: String = body.split("/*").map(|part| part.split_once("*/").map_or(part, |p| p.1)).collect();
    body.split(',').filter_map(hex).collect()
}

/// Loads a pair by the thread's number, calls what stands at `target`, and stores the pair of results there.
fn caller(chip: Chip, target: u32) -> Vec<u64> {
    let call = format!("CAL {target:#x}");
    let lines = [
        "S2R R8, SR_TID.X",
        "SHL R8, R8, 0x3",
        "IADD R10, R8, c[0x0][0x0]",
        "LD.64 R0, [R10]",
        &call,
        "ST.64 [R10], R0",
        "EXIT",
    ];
    let mut code: Vec<u64> = Vec::new();
    if chip != Chip::Gf100 {
        // Neither an instruction nor waits matter to the emulator here.
        code.push(if chip == Chip::Gk104 { 0x2000_0000_0000_0007 } else { 0x0800_0000_0000_0000 });
    }
    for line in lines {
        let pc = 8 * code.len() as u32;
        let m = isa::text::parse(chip, line, pc, &|_| None).unwrap_or_else(|e| panic!("{line}: {e}"));
        code.push(isa::encode(chip, &m, pc).unwrap_or_else(|e| panic!("{line}: {e:?}")));
    }
    code
}

/// Quotient and remainder as the library leaves them.
fn divide(chip: Chip, code: &[u64], pairs: &[[u32; 2]]) -> Vec<[u32; 2]> {
    let mut memory = Memory::new();
    let size = 8 * pairs.len() as u64;
    let buffer = memory.alloc(size, 16).expect("it fits");
    let bytes: Vec<u8> = pairs.iter().flatten().flat_map(|w| w.to_le_bytes()).collect();
    memory.write(buffer, &bytes).expect("it is mapped");
    let program = Program::new(chip, code);
    let mut launch = Launch::new(&program);
    launch.block = [THREADS, 1, 1];
    launch.set_const(0, 0, &buffer.to_le_bytes());
    run(&launch, &mut memory, &mut Options::default()).unwrap_or_else(|f| panic!("{chip}: {f:?}"));
    let bytes = memory.read(buffer, size).expect("it is mapped");
    let word = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
    bytes.chunks_exact(8).map(|b| [word(b), word(&b[4..])]).collect()
}

#[test]
fn mesas_division_divides() {
    let Some(source) = std::env::var_os("MESA_SOURCE") else {
        eprintln!("SKIPPED: Mesa's division needs Mesa's source, and MESA_SOURCE names none");
        return;
    };
    let rounds =
        std::env::var("NVIR_OPERANDS").ok().and_then(|n| n.parse().ok()).unwrap_or(20_000u32) / THREADS;
    let mut state = 0x2545_f491_4f6c_dd1du64;
    // As many numbers of few bits as of many, some of them negative.
    let mut number = || {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        let v = state.wrapping_mul(0x2545_f491_4f6c_dd1d);
        let small = (v >> 32) as u32 >> (v & 31);
        if v & 32 == 0 { small } else { small.wrapping_neg() }
    };
    for chip in Chip::ALL {
        let path = Path::new(&source).join(format!("src/nouveau/codegen/lib/{chip}.asm.h"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let library = words(&text, &format!("{chip}_builtin_code"));
        let offsets = words(&text, &format!("{chip}_builtin_offsets"));
        for (signed, offset) in [false, true].into_iter().zip(offsets) {
            let mut code = caller(chip, 0);
            while !code.len().is_multiple_of(8) {
                code.push(code[code.len() - 1]);
            }
            let start = 8 * code.len() as u32;
            let head = caller(chip, start + offset as u32);
            code[..head.len()].copy_from_slice(&head);
            code.extend(&library);
            for _ in 0..rounds {
                let pairs: Vec<[u32; 2]> = (0..THREADS).map(|_| [number(), number().max(1)]).collect();
                for (p, got) in pairs.iter().zip(divide(chip, &code, &pairs)) {
                    let [a, b] = *p;
                    let want = if signed {
                        let (a, b) = (a as i32, b as i32);
                        [a.wrapping_div(b) as u32, a.wrapping_rem(b) as u32]
                    } else {
                        [a / b, a % b]
                    };
                    assert_eq!(got, want, "{chip}: {a:#x} / {b:#x}, signed: {signed}");
                }
            }
        }
        println!("{chip}: {} divisions of each sign", rounds * THREADS);
    }
}
