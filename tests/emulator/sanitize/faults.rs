//! Programs with a bad access each.

use super::{WAYS, only, settings};
use nvir::Chip;
use nvir::compiler::{OptLevel, Sanitize};
use nvir_fixture::run::Outcome;

/// A TGSI kernel for 32 threads. TEMP[0].x is the thread's number times four, TEMP[0].y its number.
fn tgsi(code: &str) -> String {
    let mut text = String::from(
        "COMP
PROPERTY CS_FIXED_BLOCK_WIDTH 32
PROPERTY CS_FIXED_BLOCK_HEIGHT 1
PROPERTY CS_FIXED_BLOCK_DEPTH 1
DCL SV[0], THREAD_ID
DCL SV[1], BLOCK_ID
DCL MEMORY[0], SHARED
DCL MEMORY[1], GLOBAL
DCL MEMORY[2], PRIVATE
DCL MEMORY[3], INPUT
DCL BUFFER[0]
DCL BUFFER[1]
DCL TEMP[0..3]
DCL ADDR[0]
DCL TEMP[4..7], ARRAY(1)
DCL TEMP[8..11], ARRAY(2)
IMM[0] UINT32 {2, 4, 0, 1}
IMM[1] UINT32 {64, 56, 4294967292, 8}
SHL TEMP[0].x, SV[0].xxxx, IMM[0].xxxx
MOV TEMP[0].y, SV[0].xxxx
LOAD TEMP[1].x, MEMORY[3], IMM[0].zzzz
",
    );
    text += code;
    text
}

/// 64 bytes of shared and of private memory, and of the buffer that the argument points to.
const LAUNCH: &str = "[[tests]]
name = \"t\"
grid = [2, 1, 1]
block = [32, 1, 1]
shared_dynamic = 64
private_bytes = 64
args = [{ buffer = \"g\" }]
ssbo = { 0 = \"out\" }
[tests.buffers.g]
type = \"u32\"
len = 16
[tests.buffers.out]
type = \"u32\"
len = 64
";

/// Kind, block and thread, and the line of the source in a fault's text.
fn place(text: &str) -> (String, String, String) {
    let cut = |from: &str, to: &str| -> String {
        // Operands of instructions have brackets, too.
        let at = text.find(from).unwrap_or_else(|| panic!("no `{from}` in {text}"));
        let rest = &text[at..];
        rest[..rest.find(to).unwrap_or_else(|| panic!("no `{to}` in {text}"))].to_string()
    };
    (cut("", ":"), cut("block (", " at "), cut(" [k.", "])"))
}

/// The emulator's check of the plain program and the program that checks itself stop at the same line in the same thread.
fn agree(name: &str, source: &str, text: &str, toml: &str, line: &str) {
    for chip in Chip::ALL {
        for way in WAYS {
            let [plain, own] = [Sanitize::default(), Sanitize::ALL].map(|sanitize| {
                match only(source, text, toml, chip, &settings(way, sanitize)).outcome {
                    Outcome::Failed(why) => why,
                    other => panic!("{name}, {chip} {way:?}, sanitized: {sanitize}: {other:?}"),
                }
            });
            assert_eq!(place(&plain), place(&own), "{name}, {chip} {way:?}:\n{plain}\n{own}");
            assert!(place(&own).2.contains(line), "{name}, {chip} {way:?}: {own}");
            assert!(own.contains(" at 0x") && own.contains(" bytes"), "{own}");
        }
    }
}

#[test]
fn bad_accesses_of_tgsi_are_found_where_the_emulator_finds_them() {
    // The statement, and what stands around it.
    let cases: &[(&str, &str, &str, &str)] = &[
        ("shared write", "", "STORE MEMORY[0].x, TEMP[0].xxxx, SV[0].xxxx", ""),
        (
            "shared read",
            "",
            "LOAD TEMP[2].x, MEMORY[0], TEMP[0].xxxx",
            "STORE BUFFER[0].x, TEMP[0].xxxx, TEMP[2].xxxx\n",
        ),
        (
            "shared atomic",
            "",
            "ATOMUADD TEMP[2].x, MEMORY[0], TEMP[0].xxxx, IMM[0].wwww",
            "STORE BUFFER[0].x, TEMP[0].xxxx, TEMP[2].xxxx\n",
        ),
        (
            "shared compare and swap",
            "",
            "ATOMCAS TEMP[2].x, MEMORY[0], TEMP[0].xxxx, IMM[0].wwww, IMM[0].xxxx",
            "STORE BUFFER[0].x, TEMP[0].xxxx, TEMP[2].xxxx\n",
        ),
        ("shared, a constant place", "", "STORE MEMORY[0].x, IMM[1].xxxx, SV[0].xxxx", ""),
        ("shared, the end of a vector", "", "STORE MEMORY[0].xyzw, IMM[1].yyyy, TEMP[0].xyxy", ""),
        (
            "shared, below zero",
            "UADD TEMP[2].x, TEMP[0].xxxx, IMM[1].zzzz\n",
            "STORE MEMORY[0].x, TEMP[2].xxxx, SV[0].xxxx",
            "",
        ),
        (
            "global write",
            "UADD TEMP[1].x, TEMP[1].xxxx, TEMP[0].xxxx\n",
            "STORE MEMORY[1].x, TEMP[1].xxxx, SV[0].xxxx",
            "",
        ),
        (
            "global read",
            "UADD TEMP[1].x, TEMP[1].xxxx, TEMP[0].xxxx\n",
            "LOAD TEMP[2].x, MEMORY[1], TEMP[1].xxxx",
            "STORE BUFFER[0].x, TEMP[0].xxxx, TEMP[2].xxxx\n",
        ),
        (
            "global, below",
            "UADD TEMP[1].x, TEMP[1].xxxx, IMM[1].zzzz\n",
            "STORE MEMORY[1].x, TEMP[1].xxxx, SV[0].xxxx",
            "",
        ),
        (
            "global, below zero",
            "MOV TEMP[1].x, IMM[1].zzzz\n",
            "STORE MEMORY[1].x, TEMP[1].xxxx, SV[0].xxxx",
            "",
        ),
        (
            "global, the end of a vector",
            "UADD TEMP[1].x, TEMP[1].xxxx, IMM[1].yyyy\n",
            "STORE MEMORY[1].xyzw, TEMP[1].xxxx, TEMP[0].xyxy",
            "",
        ),
        (
            "global atomic",
            "UADD TEMP[1].x, TEMP[1].xxxx, TEMP[0].xxxx\n",
            "ATOMUADD TEMP[2].x, MEMORY[1], TEMP[1].xxxx, IMM[0].wwww",
            "STORE BUFFER[0].x, TEMP[0].xxxx, TEMP[2].xxxx\n",
        ),
        (
            "private write",
            "SHL TEMP[2].x, TEMP[0].xxxx, IMM[0].xxxx\n",
            "STORE MEMORY[2].x, TEMP[2].xxxx, SV[0].xxxx",
            "LOAD TEMP[2].x, MEMORY[2], IMM[0].zzzz\nSTORE BUFFER[0].x, TEMP[0].xxxx, TEMP[2].xxxx\n",
        ),
        (
            "in divergent flow",
            "USGE TEMP[2].x, TEMP[0].yyyy, IMM[1].wwww\nUIF TEMP[2].xxxx\nUADD TEMP[0].z, TEMP[0].xxxx, TEMP[0].xxxx\n",
            "STORE MEMORY[0].x, TEMP[0].zzzz, SV[0].xxxx",
            "ELSE\nSTORE MEMORY[0].x, TEMP[0].xxxx, SV[0].xxxx\nENDIF\n",
        ),
        (
            "in a loop",
            "MOV TEMP[0].z, IMM[0].zzzz\nBGNLOOP\nUSGE TEMP[2].x, TEMP[0].zzzz, TEMP[0].xxxx\nBREAKC TEMP[2].xxxx\n",
            "STORE MEMORY[0].x, TEMP[0].zzzz, SV[0].xxxx",
            "UADD TEMP[0].z, TEMP[0].zzzz, IMM[0].yyyy\nENDLOOP\n",
        ),
    ];
    for (name, before, statement, after) in cases {
        let text = tgsi(&format!("{before}{statement}\n{after}END\n"));
        agree(name, "k.tgsi", &text, LAUNCH, statement);
    }
}

#[test]
fn bad_accesses_of_a_subroutine_are_found_in_it() {
    let statement = "STORE MEMORY[0].x, TEMP[0].xxxx, SV[0].xxxx";
    let lines = tgsi("").lines().filter(|l| !l.starts_with(|c: char| "CPDI".contains(c))).count();
    let text = tgsi(&format!(
        "CAL :{}\nUADD TEMP[0].x, TEMP[0].xxxx, IMM[0].yyyy\nCAL :{}\nEND\nBGNSUB\n{statement}\nRET\nENDSUB\n",
        lines + 4,
        lines + 4
    ));
    agree("subroutine", "k.tgsi", &text, LAUNCH, statement);
}

#[test]
fn storage_buffers_are_told_and_stay_robust() {
    let text = tgsi(
        "STORE BUFFER[1].x, TEMP[0].xxxx, SV[0].xxxx
LOAD TEMP[2].x, BUFFER[0], IMM[1].zzzz
UADD TEMP[2].x, TEMP[2].xxxx, IMM[0].yyyy
STORE BUFFER[0].x, TEMP[0].xxxx, TEMP[2].xxxx
END
",
    );
    let toml = LAUNCH.replace("len = 64", "len = 8").replace("grid = [2", "grid = [1")
        + "expect = [4, 4, 4, 4, 4, 4, 4, 4]\n";
    for chip in Chip::ALL {
        for way in WAYS {
            let r = only("k.tgsi", &text, &toml, chip, &settings(way, Sanitize::ALL));
            assert_eq!(r.outcome, Outcome::Passed, "{chip} {way:?}");
            let notes: Vec<String> = r.stats.notes.iter().map(|n| n.to_string()).collect();
            let has = |parts: &[&str]| notes.iter().any(|n| parts.iter().all(|p| n.contains(p)));
            assert_eq!(notes.len(), 3, "{chip} {way:?}: {notes:#?}");
            assert!(
                has(&["write of 4 bytes at 0x0, of storage buffer 1, which is not bound", "; 32 times"]),
                "{notes:#?}"
            );
            assert!(
                has(&["read of 4 bytes at 0xfffffffc, outside storage buffer 0 of 32 bytes"]),
                "{notes:#?}"
            );
            assert!(
                has(&["write of 4 bytes at 0x20, outside storage buffer 0", "thread (8,0,0)", "; 24 times"]),
                "{notes:#?}"
            );
        }
    }
}

#[test]
fn the_first_failure_of_a_check_is_recorded_and_all_are_counted() {
    let text = tgsi(
        "MOV TEMP[0].z, IMM[0].zzzz
BGNLOOP
USGE TEMP[2].x, TEMP[0].zzzz, IMM[1].xxxx
BREAKC TEMP[2].xxxx
STORE MEMORY[0].x, IMM[1].zzzz, SV[0].xxxx
UADD TEMP[0].z, TEMP[0].zzzz, IMM[0].wwww
ENDLOOP
STORE MEMORY[0].x, IMM[1].xxxx, SV[0].xxxx
END
",
    );
    for chip in Chip::ALL {
        let mut settings = settings((OptLevel::O0, None), Sanitize::ALL);
        settings.faults = 2;
        let r = only("k.tgsi", &text, LAUNCH, chip, &settings);
        let faults: Vec<String> = r.stats.faults.iter().map(|n| n.to_string()).collect();
        // 64 rounds of 32 threads in two blocks.
        assert_eq!(faults.len(), 2, "{faults:#?}");
        assert!(
            faults[0].contains("write of 4 bytes at 0xfffffffc, outside shared memory of 64 bytes"),
            "{faults:#?}"
        );
        assert!(faults[1].contains("at 0x40,") && faults[1].contains("thread (0,0,0)"), "{faults:#?}");
        assert!(faults[0].ends_with("; 4096 times") && faults[1].ends_with("; 64 times"), "{faults:#?}");
    }
}

#[test]
fn values_are_those_without_the_bad_access() {
    // What a failed load gives is 0, and a failed store leaves its neighbours.
    let text = tgsi(
        "STORE MEMORY[0].x, TEMP[0].xxxx, SV[0].xxxx
BARRIER
UADD TEMP[2].x, TEMP[0].xxxx, IMM[0].yyyy
LOAD TEMP[2].y, MEMORY[0].xxxx, TEMP[2].xxxx
STORE BUFFER[0].x, TEMP[0].xxxx, TEMP[2].yyyy
END
",
    );
    let expect: Vec<String> = (0..32).map(|n| if n < 15 { n + 1 } else { 0 }.to_string()).collect();
    let toml = LAUNCH.replace("len = 64", "len = 32") + &format!("expect = [{}]\n", expect.join(", "));
    for chip in Chip::ALL {
        for way in WAYS {
            let mut settings = settings(way, Sanitize::ALL);
            settings.faults = 100;
            let mut seen = None;
            let path = std::path::Path::new("k.toml");
            let fixture = nvir_fixture::format::Fixture::parse(path, &format!("source = \"k.tgsi\"\n{toml}"));
            let loaded =
                nvir_fixture::run::Loaded::new(path, fixture.expect("a fixture"), text.clone().into_bytes())
                    .expect("loads");
            loaded.run(chip, None, &settings, &mut None, |test, env| {
                seen = Some(env.compare(test, path));
            });
            assert_eq!(seen, Some(Ok(None)), "{chip} {way:?}");
        }
    }
}

/// NIR with two variables in shared memory and an array of the function's.
fn nir(body: &str) -> String {
    format!(
        "shader: MESA_SHADER_COMPUTE
name: zones
workgroup_size: 8, 1, 1
shared_size: 0
decl_var ssbo INTERP_MODE_NONE none uint[] out (0, 0, 0)
decl_var shared INTERP_MODE_NONE none uint[8] first
decl_var shared INTERP_MODE_NONE none uint[8] second

decl_function main () (entrypoint)

impl main {{
    decl_var  INTERP_MODE_NONE none uint[4] own
    block b0:  // preds: 
    32    %0 = load_const (0x00000000)
    32    %1 = @load_local_invocation_index
    32    %2 = load_const (0x00000001)
    32    %3 = iadd %1, %2
    32    %4 = load_const (0x00000002)
    32    %5 = ishl %1, %4
    32    %6 = deref_var &first (shared uint[8])
    32    %7 = deref_var &second (shared uint[8])
    32    %8 = deref_var &own (function_temp uint[4])
    32    %9 = deref_array &(*%7)[%1] (shared uint)
    @store_deref (%9, %1) (wrmask=x, access=none)
{body}    @store_ssbo (%11, %0, %5) (wrmask=x, access=none, align_mul=4, align_offset=0)
    block b1:  // preds: 
}}
"
    )
}

#[test]
fn variables_have_their_own_bounds() {
    let toml = "[[tests]]
name = \"t\"
grid = [1, 1, 1]
block = [8, 1, 1]
ssbo = { 0 = \"out\" }
[tests.buffers.out]
type = \"u32\"
len = 8
";
    let cases = [
        // One beyond the end of the first: nothing is there.
        (
            "    32    %10 = deref_array &(*%6)[%3] (shared uint)\n\
             \x20   @store_deref (%10, %1) (wrmask=x, access=none)\n\
             \x20   32    %11 = @load_deref (%9) (access=none)\n",
            "in a red zone of shared memory",
            "thread (7,0,0)",
            "@store_deref (%10",
        ),
        // Far enough beyond it to be in the second, which no red zone can see.
        (
            "    32    %20 = load_const (0x0000000c)\n\
             \x20   32    %21 = iadd %1, %20\n\
             \x20   32    %10 = deref_array &(*%6)[%21] (shared uint)\n\
             \x20   32    %11 = @load_deref (%10) (access=none)\n",
            "outside a variable of 32 bytes at 0x0 in shared memory",
            "thread (0,0,0)",
            "@load_deref (%10",
        ),
        // Below the second.
        (
            "    32    %20 = load_const (0xffffffff)\n\
             \x20   32    %21 = iadd %1, %20\n\
             \x20   32    %10 = deref_array &(*%7)[%21] (shared uint)\n\
             \x20   32    %11 = @deref_atomic (%10, %2) (access=none, atomic_op=iadd)\n",
            "in a red zone of shared memory",
            "thread (0,0,0)",
            "@deref_atomic (%10",
        ),
        (
            "    32    %10 = deref_array &(*%8)[%1] (function_temp uint)\n\
             \x20   @store_deref (%10, %1) (wrmask=x, access=none)\n\
             \x20   32    %22 = deref_array &(*%8)[%0] (function_temp uint)\n\
             \x20   32    %11 = @load_deref (%22) (access=none)\n",
            "outside a variable of 16 bytes at 0x0 in local memory",
            "thread (4,0,0)",
            "@store_deref (%10",
        ),
    ];
    for (body, what, thread, line) in cases {
        for chip in Chip::ALL {
            for way in WAYS {
                let r = only("k.nir", &nir(body), toml, chip, &settings(way, Sanitize::ALL));
                let Outcome::Failed(why) = &r.outcome else {
                    panic!("{chip} {way:?} {what}: {:?}", r.outcome)
                };
                for part in [what, thread, line] {
                    assert!(why.contains(part), "{chip} {way:?}: no `{part}` in {why}");
                }
                if what.contains("red zone") {
                    let zones = Sanitize { zones: true, ..Sanitize::default() };
                    let r = only("k.nir", &nir(body), toml, chip, &settings(way, zones));
                    let Outcome::Failed(plain) = &r.outcome else {
                        panic!("{chip} {way:?}: {:?}", r.outcome)
                    };
                    assert!(plain.contains(what), "{plain}");
                    assert_eq!(place(plain), place(why), "{chip} {way:?}:\n{plain}\n{why}");
                }
            }
        }
    }
}

#[test]
fn graphics_stages_are_refused() {
    use nvir::{Compiler, Options, Source};
    let text = "VERT\nDCL IN[0]\nDCL OUT[0], POSITION\nMOV OUT[0], IN[0]\nEND\n";
    let options = Options { sanitize: Sanitize::ALL, ..Options::default() };
    let error = Compiler::new(Chip::Gk110).with_options(options).compile(&Source::tgsi(text)).unwrap_err();
    assert_eq!(error.fault(), nvir::diag::Fault::Unsupported);
    assert!(error.to_string().contains("graphics stages cannot be sanitized"), "{error}");
}

#[test]
fn pointers_of_a_kernel_stay_in_one_of_its_variables() {
    let text = "shader: MESA_SHADER_KERNEL
name: pointers
workgroup_size: 32, 1, 1
shared_size: 0

decl_function main () (entrypoint)

impl main {
    block b0:  // preds: 
    32    %0 = load_const (0x00000000)
    32    %1 = load_const (0x00000008)
    32    %2 = @load_kernel_input (%0) (base=0, range=4, align_mul=8, align_offset=0)
    32    %3 = @load_kernel_input (%1) (base=0, range=12, align_mul=8, align_offset=0)
    32    %4 = @load_local_invocation_index
    32    %5 = load_const (0x00000002)
    32    %6 = ishl %4, %5
    32    %7 = iadd %2, %6
    @store_shared (%4, %7) (base=0, wrmask=x, align_mul=4, align_offset=0)
    32    %9 = @load_shared (%3) (base=0, align_mul=4, align_offset=0)
    @store_shared (%9, %2) (base=0, wrmask=x, align_mul=4, align_offset=0)
    block b1:  // preds: 
}
";
    let toml = "[[tests]]
name = \"t\"
grid = [1, 1, 1]
block = [32, 1, 1]
args = [{ shared = 64 }, { shared = 64 }]
";
    let zones = Sanitize { zones: true, ..Sanitize::default() };
    for chip in Chip::ALL {
        for way in WAYS {
            let [plain, own] = [zones, Sanitize::ALL].map(|how| {
                match only("k.nir", text, toml, chip, &settings(way, how)).outcome {
                    Outcome::Failed(why) => why,
                    other => panic!("{chip} {way:?}: {other:?}"),
                }
            });
            assert!(own.contains("write of 4 bytes at 0x40, in a red zone of shared memory"), "{own}");
            assert!(own.contains("thread (16,0,0)"), "{own}");
            assert_eq!(place(&plain), place(&own), "{chip} {way:?}:\n{plain}\n{own}");
        }
    }
}
