//! Opcodes that do more than compute: memory, images, textures, barriers, warps, control flow. Each has a small program
//! whose results are known; it is compiled for every chip, unoptimised and optimised, and interpreted.

use super::case::{self, Setup, bytes};
use super::refusal;
use nvir::front::tgsi::ast::Opcode::{self, *};
use nvir::{Chip, OptLevel, Options};
use nvir_fixture::run::Settings;

/// Threads of the only block: two warps.
const THREADS: u32 = 64;

/// A program, and what it leaves.
pub(crate) struct Program {
    /// The opcodes that it is about.
    pub ops: &'static [Opcode],
    pub decls: &'static str,
    /// Immediates from IMM[4] on.
    pub imms: &'static str,
    /// Instructions without numbers. TEMP[0].x is the thread, TEMP[0].y its place in the output, 16 bytes each; the
    /// result is to be in TEMP[1], which begins as zeros.
    /// Instructions before `code`.
    pub begin: &'static str,
    pub code: &'static str,
    /// Subroutines, after the END.
    pub subs: &'static str,
    pub setup: fn(Setup) -> Setup,
    /// What a thread leaves in TEMP[1].
    pub want: fn(u32) -> [u32; 4],
}

pub(crate) const NONE: Program =
    Program { ops: &[], decls: "", imms: "", begin: "", code: "", subs: "", setup: |s| s, want: |_| [0; 4] };

/// The text; `@name` in the code stands for the number of the instruction that `name:` stands before.
fn text(p: &Program) -> String {
    let begin =
        "MOV TEMP[0].x, SV[0].xxxx\nSHL TEMP[0].y, TEMP[0].xxxx, IMM[0].wwww\nMOV TEMP[1], IMM[1].xxxx";
    let end = "STORE BUFFER[0], TEMP[0].yyyy, TEMP[1]\nEND";
    let lines = [begin, p.begin, p.code, end, p.subs].into_iter().flat_map(str::lines).map(str::trim);
    let mut labels = Vec::new();
    let mut body = Vec::new();
    for line in lines.filter(|l| !l.is_empty()) {
        let line = match line.split_once(": ") {
            Some((label, rest)) => {
                labels.push((format!("@{label}"), body.len()));
                rest
            }
            None => line,
        };
        body.push(line.to_owned());
    }
    let mut t = format!(
        "COMP
PROPERTY CS_FIXED_BLOCK_WIDTH {THREADS}
PROPERTY CS_FIXED_BLOCK_HEIGHT 1
PROPERTY CS_FIXED_BLOCK_DEPTH 1
DCL SV[0], THREAD_ID
DCL BUFFER[0]
DCL TEMP[0..7], LOCAL
DCL ADDR[0]
{}
IMM[0] UINT32 {{1, 2, 3, 4}}
IMM[1] UINT32 {{0, 7, 15, 31}}
IMM[2] FLT32 {{0.5, 1.0, 0.25, 2.0}}
IMM[3] UINT32 {{100, 1000, 0xffffffff, 0x80000000}}
{}
",
        p.decls, p.imms
    );
    for (n, line) in body.iter().enumerate() {
        let mut line = line.clone();
        for (label, at) in &labels {
            line = line.replace(label, &format!(":{at}"));
        }
        t += &format!("{n:3}: {line}\n");
    }
    t
}

pub(crate) fn check(programs: &[Program]) {
    let mut failures = String::new();
    for p in programs {
        let text = text(p);
        let setup = Setup::new(1, [THREADS, 1, 1]).buffer(&vec![0; (THREADS * 16) as usize]);
        let fixture = (p.setup)(setup).fixture();
        let mut runs = vec![("interpreted".to_owned(), case::interpreted(&fixture, &text))];
        for chip in Chip::ALL {
            for opt_level in [OptLevel::O0, OptLevel::O3] {
                let settings = Settings { options: Options::at(opt_level), ..Settings::default() };
                runs.push((
                    format!("{chip} -O{opt_level}"),
                    case::compiled(&fixture, &text, chip, &settings),
                ));
            }
        }
        for (way, left) in runs {
            let problem = match left {
                Err(e) => Some(e),
                Ok(left) => {
                    let words = case::words(&left["buffer0"]);
                    (0..THREADS).find_map(|t| {
                        let (got, want) = (&words[4 * t as usize..][..4], (p.want)(t));
                        (got != want).then(|| format!("thread {t}: {got:x?}, not {want:x?}"))
                    })
                }
            };
            if let Some(problem) = problem {
                failures += &format!("{way}: {:?}: {problem}\n{text}\n", p.ops);
            }
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

/// Words that tell their place.
fn numbered(n: u32) -> Vec<u8> {
    bytes(&(0..n).map(|i| i * 3 + 5).collect::<Vec<u32>>())
}

fn number(i: u32) -> u32 {
    i * 3 + 5
}

const MEMORY: &[Program] = &[
    Program {
        ops: &[LOAD, STORE],
        decls: "DCL BUFFER[1]\nDCL BUFFER[2]",
        code: "LOAD TEMP[3], BUFFER[1], TEMP[0].yyyy
            STORE BUFFER[2].xw, TEMP[0].yyyy, TEMP[3].wzyx
            LOAD TEMP[4], BUFFER[2], TEMP[0].yyyy
            LOAD TEMP[5].yz, BUFFER[1].xzyw, TEMP[0].yyyy
            MOV TEMP[1].xw, TEMP[4].xxxw\nMOV TEMP[1].yz, TEMP[5].xyzx",
        setup: |s| s.buffer(&numbered(256)).buffer(&[0; 1024]),
        want: |t| [number(4 * t + 3), number(4 * t + 2), number(4 * t + 1), number(4 * t)],
        ..NONE
    },
    Program {
        // Beyond the end reads give zeros and writes are dropped, however far away. Words that follow each other
        // are one access, which is inside or is not.
        ops: &[],
        decls: "DCL BUFFER[1]",
        imms: "IMM[4] UINT32 {0xfffffffc, 0xfffffff0, 0x7ffffffc, 120}",
        code: "LOAD TEMP[1], BUFFER[1], TEMP[0].yyyy
            STORE BUFFER[1].x, IMM[4].xxxx, TEMP[0].xxxx\nSTORE BUFFER[1], IMM[4].yyyy, TEMP[0].xxxx
            STORE BUFFER[1], IMM[4].zzzz, TEMP[0].xxxx\nSTORE BUFFER[1].x, IMM[4].wwww, TEMP[0].xxxx
            UADD TEMP[2], IMM[4], -TEMP[0].yyyy
            STORE BUFFER[1].x, TEMP[2].xxxx, TEMP[0].xxxx\nSTORE BUFFER[1], TEMP[2].yyyy, TEMP[0].xxxx
            LOAD TEMP[3], BUFFER[1], TEMP[2].zzzz\nOR TEMP[1], TEMP[1], TEMP[3]
            LOAD TEMP[3], BUFFER[1], TEMP[2].yyyy\nOR TEMP[1], TEMP[1], TEMP[3]",
        setup: |s| s.buffer(&numbered(30)),
        want: |t| std::array::from_fn(|c| if 4 * t + 3 < 30 { number(4 * t + c as u32) } else { 0 }),
        ..NONE
    },
    Program {
        // Words with a gap between them are two accesses.
        ops: &[],
        decls: "DCL BUFFER[1]\nDCL BUFFER[2]",
        code: "LOAD TEMP[3].xzw, BUFFER[1], TEMP[0].yyyy
            STORE BUFFER[2].xyw, TEMP[0].yyyy, TEMP[3].xzww\nMOV TEMP[1].y, TEMP[3].wwww
            LOAD TEMP[1].xzw, BUFFER[2].xyyx, TEMP[0].yyyy",
        setup: |s| s.buffer(&numbered(31)).buffer(&[0; 4 * 4 * 7 + 8]),
        want: |t| match t {
            0..7 => [number(4 * t), number(4 * t + 3), number(4 * t + 2), number(4 * t)],
            7 => [number(28), 0, 0, number(28)],
            _ => [0; 4],
        },
        ..NONE
    },
    Program {
        ops: &[RESQ],
        decls: "DCL BUFFER[1]\nDCL IMAGE[0], 2D, PIPE_FORMAT_R32_UINT\nDCL IMAGE[1], CUBEARRAY, PIPE_FORMAT_R32_UINT
            DCL IMAGE[2], 1D_ARRAY, PIPE_FORMAT_R32_UINT",
        code: "RESQ TEMP[1].x, BUFFER[1]\nRESQ TEMP[2], IMAGE[0], 2D\nRESQ TEMP[3], IMAGE[1], CUBEARRAY
            RESQ TEMP[4], IMAGE[2], 1D_ARRAY\nMOV TEMP[1].y, TEMP[2].xxxx\nMOV TEMP[1].z, TEMP[3].zzzz
            UMAD TEMP[1].w, TEMP[4].yyyy, IMM[3].xxxx, TEMP[2].yyyy",
        setup: |s| {
            s.buffer(&[0; 100])
                .image("2d", "r32ui", [9, 5, 1], &[])
                .image("cube_array", "r32ui", [4, 4, 12], &[])
                .image("1d_array", "r32ui", [4, 3, 1], &[])
        },
        want: |_| [100, 9, 2, 305],
        ..NONE
    },
    Program {
        ops: &[ATOMUADD, ATOMXCHG, ATOMCAS, ATOMAND],
        decls: "DCL BUFFER[1]",
        code: "ATOMUADD TEMP[2].x, BUFFER[1], TEMP[0].yyyy, IMM[3].xxxx
            ATOMXCHG TEMP[2].y, BUFFER[1], TEMP[0].yyyy, TEMP[0].xxxx
            ATOMCAS TEMP[2].z, BUFFER[1], TEMP[0].yyyy, TEMP[0].xxxx, IMM[1].wwww
            ATOMAND TEMP[2].w, BUFFER[1], TEMP[0].yyyy, IMM[1].yyyy
            LOAD TEMP[3].x, BUFFER[1], TEMP[0].yyyy
            MOV TEMP[1].xyz, TEMP[2].xyzz\nUMAD TEMP[1].w, TEMP[3].xxxx, IMM[3].xxxx, TEMP[2].wwww",
        setup: |s| s.buffer(&numbered(256)),
        want: |t| [number(4 * t), number(4 * t) + 100, t, 731],
        ..NONE
    },
    Program {
        ops: &[ATOMOR, ATOMXOR, ATOMUMIN, ATOMUMAX],
        decls: "DCL MEMORY[0], SHARED",
        code: "STORE MEMORY[0].x, TEMP[0].yyyy, TEMP[0].xxxx
            ATOMOR TEMP[1].x, MEMORY[0], TEMP[0].yyyy, IMM[3].wwww
            ATOMXOR TEMP[1].y, MEMORY[0], TEMP[0].yyyy, IMM[0].zzzz
            ATOMUMIN TEMP[1].z, MEMORY[0], TEMP[0].yyyy, IMM[1].zzzz
            ATOMUMAX TEMP[1].w, MEMORY[0], TEMP[0].yyyy, IMM[1].wwww",
        setup: |s| s.shared(1024),
        want: |t| [t, t | 1 << 31, (t ^ 3) | 1 << 31, 15],
        ..NONE
    },
    Program {
        ops: &[ATOMIMIN, ATOMIMAX, ATOMINC_WRAP, ATOMDEC_WRAP],
        decls: "DCL MEMORY[0], SHARED",
        code: "UADD TEMP[2].x, TEMP[0].xxxx, -IMM[1].wwww
            STORE MEMORY[0].x, TEMP[0].yyyy, TEMP[2].xxxx
            ATOMIMIN TEMP[1].x, MEMORY[0], TEMP[0].yyyy, IMM[1].yyyy
            ATOMIMAX TEMP[1].y, MEMORY[0], TEMP[0].yyyy, IMM[1].xxxx
            ATOMINC_WRAP TEMP[1].z, MEMORY[0], TEMP[0].yyyy, IMM[0].wwww
            ATOMDEC_WRAP TEMP[1].w, MEMORY[0], TEMP[0].yyyy, IMM[0].yyyy",
        setup: |s| s.shared(1024),
        want: |t| {
            let a = t as i32 - 31;
            let b = a.min(7);
            let c = b.max(0);
            let d = if c >= 4 { 0 } else { c + 1 };
            [a, b, c, d].map(|v| v as u32)
        },
        ..NONE
    },
    Program {
        // A counter behind the storage buffers, which all threads add to.
        ops: &[ATOMFADD],
        decls: "DCL HWATOMIC[0][0..3]\nDCL MEMORY[0], SHARED",
        code: "STORE MEMORY[0].x, TEMP[0].yyyy, IMM[2].xxxx
            ATOMFADD TEMP[1].x, MEMORY[0], TEMP[0].yyyy, IMM[2].wwww
            LOAD TEMP[1].y, MEMORY[0].yxyy, TEMP[0].yyyy
            ATOMUADD TEMP[2].x, HWATOMIC[0][1], IMM[1].xxxx, IMM[0].yyyy
            MEMBAR IMM[1].wwww\nBARRIER
            LOAD TEMP[1].zw, HWATOMIC[0][1].xxxx, IMM[1].xxxx",
        setup: |s| s.shared(1024).buffer(&numbered(4)),
        want: |_| [0.5f32.to_bits(), 2.5f32.to_bits(), 128 + 8, 128 + 8],
        ..NONE
    },
    Program {
        ops: &[],
        decls: "DCL MEMORY[0], PRIVATE",
        imms: "IMM[4] UINT32 {16, 0, 0, 0}",
        code: "STORE MEMORY[0], IMM[4].xxxx, TEMP[0].xyxx
            ATOMUADD TEMP[1].x, MEMORY[0], IMM[4].xxxx, IMM[3].xxxx
            ATOMCAS TEMP[2].x, MEMORY[0], IMM[4].xxxx, IMM[3].xxxx, IMM[3].yyyy
            LOAD TEMP[1].yz, MEMORY[0].xxyy, IMM[4].xxxx\nMOV TEMP[1].w, TEMP[2].xxxx",
        setup: |s| s.private(64),
        want: |t| [t, if t == 0 { 1000 } else { t + 100 }, 16 * t, t + 100],
        ..NONE
    },
];

const SYNC: &[Program] = &[
    Program {
        // Lanes that part at the end of a round of a loop are together behind it, and at the barrier there.
        ops: &[],
        decls: "DCL MEMORY[0], SHARED\nDCL MEMORY[1], PRIVATE\nDCL BUFFER[1]\nDCL CONST[0][0]",
        imms: "IMM[4] UINT32 {1008, 0, 0, 0}",
        code: "AND TEMP[4].x, TEMP[0].xxxx, IMM[0].zzzz
        BGNLOOP
        USGE TEMP[2].x, TEMP[3].xxxx, CONST[0][0].xxxx\nUIF TEMP[2].xxxx\nBRK\nENDIF
        UADD TEMP[3].x, TEMP[3].xxxx, IMM[0].xxxx
        UIF TEMP[4].xxxx
        LOAD TEMP[5].x, BUFFER[1], TEMP[0].yyyy\nUADD TEMP[4].x, TEMP[4].xxxx, IMM[3].zzzz
        UMUL TEMP[5].x, TEMP[5].xxxx, TEMP[5].xxxx\nUADD TEMP[5].x, TEMP[5].xxxx, TEMP[3].xxxx
        STORE BUFFER[1].x, TEMP[0].yyyy, TEMP[5].xxxx
        ENDIF
        ENDLOOP
        STORE MEMORY[0].x, TEMP[0].yyyy, TEMP[0].xxxx
        BARRIER
        UADD TEMP[2].x, IMM[4].xxxx, -TEMP[0].yyyy
        LOAD TEMP[1].x, MEMORY[0], TEMP[2].xxxx
        LOAD TEMP[1].y, BUFFER[1].xxxx, TEMP[0].yyyy",
        setup: |s| s.shared(1024).buffer(&[0; 1024]).uniforms(&bytes(&[4, 0, 0, 0])),
        want: |t| [63 - t, [0, 1, 3, 12][t as usize % 4], 0, 0],
        ..NONE
    },
    Program {
        // What the thread at the other end has left.
        ops: &[BARRIER, MEMBAR, MFENCE, LFENCE, SFENCE],
        decls: "DCL MEMORY[0], SHARED\nDCL BUFFER[1]",
        imms: "IMM[4] UINT32 {1008, 0, 0, 0}",
        code: "STORE MEMORY[0].x, TEMP[0].yyyy, TEMP[0].xxxx
        STORE BUFFER[1].x, TEMP[0].yyyy, TEMP[0].xxxx
        MEMBAR IMM[1].wwww\nMFENCE MEMORY[0]\nLFENCE BUFFER[1]\nSFENCE BUFFER[1]
        BARRIER
        UADD TEMP[2].x, IMM[4].xxxx, -TEMP[0].yyyy
        LOAD TEMP[1].x, MEMORY[0], TEMP[2].xxxx
        LOAD TEMP[1].y, BUFFER[1].xxxx, TEMP[2].xxxx",
        setup: |s| s.shared(1024).buffer(&[0; 1024]),
        want: |t| [63 - t, 63 - t, 0, 0],
        ..NONE
    },
];

const LANES: &[Program] = &[
    Program {
        ops: &[VOTE_ANY, VOTE_ALL, VOTE_EQ, BALLOT],
        code: "USEQ TEMP[2].x, TEMP[0].xxxx, IMM[1].yyyy
            USLT TEMP[2].y, TEMP[0].xxxx, IMM[3].xxxx
            VOTE_ANY TEMP[1].x, TEMP[2].xxxx\nVOTE_ALL TEMP[1].y, TEMP[2].yyyy\nVOTE_EQ TEMP[1].z, TEMP[2].xxxx
            BALLOT TEMP[3].xy, TEMP[2].xxxx\nOR TEMP[1].w, TEMP[3].xxxx, TEMP[3].yyyy",
        want: |t| if t < 32 { [u32::MAX, u32::MAX, 0, 1 << 7] } else { [0, u32::MAX, u32::MAX, 0] },
        ..NONE
    },
    Program {
        // In both arms of a branch, among those who are there.
        ops: &[READ_INVOC, READ_FIRST],
        code: "AND TEMP[2].x, TEMP[0].xxxx, IMM[0].wwww
            UIF TEMP[2].xxxx
            READ_FIRST TEMP[1].x, TEMP[0].xxxx\nBALLOT TEMP[1].z, TEMP[0].xxxx
            ELSE
            READ_FIRST TEMP[1].x, TEMP[0].xxxx\nVOTE_ALL TEMP[1].z, TEMP[0].xxxx
            ENDIF
            READ_INVOC TEMP[1].yw, TEMP[0].xxyy, IMM[1].yyyy",
        want: |t| {
            let warp = t & 32;
            let first = warp + (t & 4);
            let third = if t & 4 != 0 { 0xf0f0_f0f0 } else if warp == 0 { 0 } else { u32::MAX };
            [first, warp + 7, third, 16 * (warp + 7)]
        },
        ..NONE
    },
    Program {
        // Both arms of the last `if` of a round are short: lanes go into the next round together all the same.
        ops: &[],
        decls: "DCL CONST[0][0..1]",
        code: "AND TEMP[4].x, TEMP[0].xxxx, IMM[0].zzzz
            BGNLOOP
            USGE TEMP[2].x, TEMP[3].xxxx, CONST[0][0].xxxx\nBREAKC TEMP[2].xxxx
            UADD TEMP[3].x, TEMP[3].xxxx, IMM[0].xxxx
            UIF TEMP[4].xxxx
            AND TEMP[5].x, TEMP[6].xxxx, IMM[0].xxxx\nUARL ADDR[0].x, TEMP[5].xxxx
            MOV TEMP[6].x, CONST[0][ADDR[0].x].xxxx
            ELSE\nMOV TEMP[6].x, TEMP[0].yyyy\nMOV TEMP[5].x, TEMP[0].xxxx\nENDIF
            ENDLOOP
            BALLOT TEMP[1].xy, IMM[0].xxxx\nMOV TEMP[1].z, TEMP[5].xxxx\nMOV TEMP[1].w, TEMP[6].xxxx",
        setup: |s| s.uniforms(&bytes(&[4, 0, 0, 0, 5, 0, 0, 0])),
        want: |t| match t % 4 {
            0 => [u32::MAX, 0, t, 16 * t],
            _ => [u32::MAX, 0, 0, 4],
        },
        ..NONE
    },
    Program {
        // Time passes: later is not earlier.
        ops: &[CLOCK],
        code: "CLOCK TEMP[2].xy\nCLOCK TEMP[3].xy\nU64SGE TEMP[1].x, TEMP[3].xyxy, TEMP[2].xyxy",
        want: |_| [u32::MAX, 0, 0, 0],
        ..NONE
    },
];

const FLOW: &[Program] = &[
    Program {
        // All of a whole block is asked for; tests/whole_warp has the others.
        ops: &[IF_ASKED],
        code: "IF_ASKED\nMOV TEMP[1].x, IMM[0].yyyy\nELSE\nMOV TEMP[1].x, IMM[0].zzzz\nENDIF",
        want: |_| [2, 0, 0, 0],
        ..NONE
    },
    Program {
        // NaN is true to IF, minus zero is false.
        ops: &[IF, UIF, ELSE, ENDIF, NOP],
        imms: "IMM[4] UINT32 {0x7fc00000, 0x80000000, 0, 0}",
        code:
            "AND TEMP[2].x, TEMP[0].xxxx, IMM[0].xxxx\nUIF TEMP[2].xxxx\nMOV TEMP[1].x, IMM[0].yyyy\nNOP\nELSE
            MOV TEMP[1].x, IMM[0].zzzz\nENDIF
            UCMP TEMP[3].x, TEMP[2].xxxx, IMM[4].xxxx, IMM[4].yyyy
            IF TEMP[3].xxxx\nMOV TEMP[1].y, IMM[0].xxxx\nENDIF
            UIF TEMP[3].xxxx\nMOV TEMP[1].z, IMM[0].xxxx\nELSE\nMOV TEMP[1].z, IMM[0].yyyy\nENDIF",
        want: |t| [if t & 1 != 0 { 2 } else { 3 }, t & 1, 1, 0],
        ..NONE
    },
    Program {
        // Adds the odd numbers up to the thread's, and counts.
        ops: &[BGNLOOP, ENDLOOP, BRK, BREAKC, CONT],
        code: "BGNLOOP
            USLT TEMP[2].x, TEMP[0].xxxx, TEMP[3].xxxx\nBREAKC TEMP[2].xxxx
            UADD TEMP[3].x, TEMP[3].xxxx, IMM[0].xxxx
            USEQ TEMP[2].y, TEMP[3].xxxx, IMM[1].wwww\nUIF TEMP[2].yyyy\nBRK\nENDIF
            AND TEMP[2].z, TEMP[3].xxxx, IMM[0].xxxx\nUIF TEMP[2].zzzz\nELSE\nCONT\nENDIF
            UADD TEMP[1].x, TEMP[1].xxxx, TEMP[3].xxxx\nUADD TEMP[1].y, TEMP[1].yyyy, IMM[0].xxxx
            ENDLOOP\nMOV TEMP[1].z, TEMP[3].xxxx",
        want: |t| {
            let last = (t + 1).min(31);
            let odd: Vec<u32> = (1..=last).filter(|n| n % 2 == 1 && *n < 31).collect();
            [odd.iter().sum(), odd.len() as u32, last, 0]
        },
        ..NONE
    },
    Program {
        // 0 falls through to the default, which falls through to 1; 2 continues the loop around.
        ops: &[SWITCH, CASE, DEFAULT, ENDSWITCH],
        code: "BGNLOOP
            USEQ TEMP[2].x, TEMP[3].xxxx, IMM[0].wwww\nUIF TEMP[2].xxxx\nBRK\nENDIF
            UADD TEMP[3].x, TEMP[3].xxxx, IMM[0].xxxx
            UADD TEMP[2].y, TEMP[0].xxxx, TEMP[3].xxxx\nAND TEMP[2].y, TEMP[2].yyyy, IMM[1].yyyy
            SWITCH TEMP[2].yyyy
            CASE IMM[1].xxxx\nUADD TEMP[1].x, TEMP[1].xxxx, IMM[0].xxxx
            DEFAULT\nUADD TEMP[1].y, TEMP[1].yyyy, IMM[0].xxxx
            CASE IMM[0].xxxx\nUADD TEMP[1].z, TEMP[1].zzzz, IMM[0].xxxx\nBRK
            CASE IMM[0].yyyy\nCONT
            ENDSWITCH
            UADD TEMP[1].w, TEMP[1].wwww, IMM[0].xxxx
            ENDLOOP",
        want: |t| {
            let mut r = [0; 4];
            for n in 1..=4 {
                let v = (t + n) & 7;
                r[0] += u32::from(v == 0);
                r[1] += u32::from(v != 1 && v != 2);
                r[2] += u32::from(v != 2);
                r[3] += u32::from(v != 2);
            }
            r
        },
        ..NONE
    },
    Program {
        // Calls in divergent flow, nested, with an early return.
        ops: &[CAL, CALLNZ, RET, BGNSUB, ENDSUB],
        code:
            "AND TEMP[2].x, TEMP[0].xxxx, IMM[0].xxxx\nUIF TEMP[2].xxxx\nCAL @outer\nELSE\nCAL @inner\nENDIF
            AND TEMP[2].y, TEMP[0].xxxx, IMM[0].yyyy\nCALLNZ TEMP[2].yyyy @inner",
        subs: "outer: BGNSUB\nCAL @inner\nUADD TEMP[1].y, TEMP[1].yyyy, IMM[0].zzzz\nENDSUB
            inner: BGNSUB\nUADD TEMP[1].x, TEMP[1].xxxx, IMM[0].xxxx
            USLT TEMP[3].x, TEMP[0].xxxx, IMM[1].wwww\nUIF TEMP[3].xxxx\nRET\nENDIF
            UADD TEMP[1].z, TEMP[1].zzzz, TEMP[0].xxxx\nENDSUB",
        want: |t| {
            let calls = 1 + (t >> 1 & 1);
            [calls, 3 * (t & 1), if t < 31 { 0 } else { calls * t }, 0]
        },
        ..NONE
    },
    Program {
        // What a subroutine leaves in an array, the main code reads.
        ops: &[],
        decls: "DCL TEMP[8..11], ARRAY(1), LOCAL",
        code: "AND TEMP[2].x, TEMP[0].xxxx, IMM[0].zzzz\nUARL ADDR[0].x, TEMP[2].xxxx
            MOV TEMP[8], IMM[1].xxxx\nMOV TEMP[9], IMM[1].xxxx\nMOV TEMP[10], IMM[1].xxxx\nMOV TEMP[11], IMM[1].xxxx
            BGNLOOP\nUSLT TEMP[3].x, IMM[0].xxxx, TEMP[3].yyyy\nBREAKC TEMP[3].xxxx
            UADD TEMP[3].y, TEMP[3].yyyy, IMM[0].xxxx\nCAL @fill\nENDLOOP
            MOV TEMP[1].x, TEMP[8].xxxx\nMOV TEMP[1].y, TEMP[9].xxxx\nMOV TEMP[1].z, TEMP[10].xxxx
            MOV TEMP[1].w, TEMP[11].xxxx",
        subs: "fill: BGNSUB\nBGNLOOP\nUSLT TEMP[4].x, IMM[0].zzzz, TEMP[4].yyyy\nBREAKC TEMP[4].xxxx
            UADD TEMP[4].y, TEMP[4].yyyy, IMM[0].xxxx\nMOV TEMP[ADDR[0].x+8](1), TEMP[0].xxxx\nENDLOOP\nENDSUB",
        want: |t| std::array::from_fn(|c| if t % 4 == c as u32 { t } else { 0 }),
        ..NONE
    },
    Program {
        // Some threads end in a loop, some in a subroutine: what they have not stored is not there.
        ops: &[END],
        code: "BGNLOOP\nUSEQ TEMP[2].x, TEMP[0].xxxx, TEMP[3].xxxx\nUIF TEMP[2].xxxx
            AND TEMP[2].y, TEMP[0].xxxx, IMM[0].xxxx\nUIF TEMP[2].yyyy\nEND\nENDIF\nBRK\nENDIF
            UADD TEMP[3].x, TEMP[3].xxxx, IMM[0].xxxx\nENDLOOP
            CAL @last\nMOV TEMP[1].x, TEMP[3].xxxx",
        subs: "last: BGNSUB\nUSEQ TEMP[2].x, TEMP[0].xxxx, IMM[0].yyyy\nUIF TEMP[2].xxxx\nEND\nENDIF
            UADD TEMP[1].y, TEMP[0].xxxx, IMM[0].zzzz\nENDSUB",
        want: |t| if t % 2 == 1 || t == 2 { [0; 4] } else { [t, t + 3, 0, 0] },
        ..NONE
    },
];

#[test]
fn memory_is_read_written_and_updated() {
    check(MEMORY);
}

#[test]
fn threads_meet_at_barriers_and_see_what_was_written() {
    check(SYNC);
}

#[test]
fn lanes_of_a_warp_see_each_other() {
    check(LANES);
}

#[test]
fn control_flow_goes_where_it_is_told() {
    check(FLOW);
}

#[test]
fn images_are_read_written_and_updated() {
    check(super::pictures::IMAGES);
}

#[test]
fn textures_are_sampled_fetched_and_queried() {
    check(super::pictures::TEXTURES);
}

/// Opcodes without a meaning here.
const REFUSED: &[(Opcode, &str)] = &[
    (SAMP2HND, "DCL SAMP[0]\nDCL TEMP[0]\n  0: SAMP2HND TEMP[0].xy, SAMP[0], 2D"),
    (IMG2HND, "DCL IMAGE[0], 2D, PIPE_FORMAT_R32_UINT\nDCL TEMP[0]\n  0: IMG2HND TEMP[0].xy, IMAGE[0], 2D"),
    (
        SAMPLE_POS,
        "DCL SVIEW[0], 2D_MSAA, FLOAT\nDCL TEMP[0]\n  0: SAMPLE_POS TEMP[0], SVIEW[0], TEMP[0].xxxx",
    ),
];

#[test]
fn what_is_not_supported_is_refused_by_name_and_place() {
    for (op, line) in REFUSED {
        for chip in Chip::ALL {
            let report = refusal(&format!("COMP\n{line}\n  1: END\n"), chip).expect("it is refused");
            assert!(report.contains(op.name()) && report.contains("test.tgsi:4:"), "{report}");
        }
    }
}

/// Opcodes that this file tests.
pub(crate) fn opcodes() -> impl Iterator<Item = Opcode> {
    let all = [MEMORY, SYNC, LANES, FLOW, super::pictures::IMAGES, super::pictures::TEXTURES];
    all.into_iter().flatten().flat_map(|p| p.ops).copied().chain(REFUSED.iter().map(|r| r.0))
}
