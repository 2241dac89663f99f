//! What a launch needs and what the chip allows: limits, the parameters of CUDA binaries, call-return stack, and the
//! container that other tools read all of this from.

use nvir::Chip;
use nvir::compiler::{Compiler, Language, OptLevel, Options, Source};
use nvir::image::{Shader, cubin, listing};
use nvir_fixture::format::Fixture;
use nvir_fixture::run::{Loaded, Outcome, Settings};
use object::elf;
use object::read::elf::{ElfFile64, SectionHeader, Sym};
use object::{Endianness, Object, ObjectSection};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

fn compile(language: Language, text: &str, chip: Chip, opt_level: OptLevel) -> Result<Shader, String> {
    let compiler = Compiler::new(chip).with_options(Options::at(opt_level));
    compiler.compile(&Source { language, text, entry: None, name: "k" }).map_err(|e| e.to_string())
}

fn outcomes(source: &str, fixture: &str, data: &[u8], chip: Chip) -> Result<Vec<Outcome>, String> {
    let path = Path::new("k.toml");
    let fixture =
        Fixture::parse(path, &format!("source = \"{source}\"\n{fixture}")).map_err(|e| e.to_string())?;
    let loaded = Loaded::new(path, fixture, data.to_vec()).map_err(|e| e.to_string())?;
    let reports = loaded.run(chip, None, &Settings::default(), &mut None, |_, _| ());
    Ok(reports.into_iter().map(|r| r.outcome).collect())
}

/// Why the only test of a fixture failed, or the fixture is refused; empty if it passed.
fn failure(source: &str, fixture: &str, data: &[u8], chip: Chip) -> String {
    match outcomes(source, fixture, data, chip).as_deref() {
        Ok([Outcome::Passed]) => String::new(),
        Ok([Outcome::Failed(why)]) => why.clone(),
        Err(why) => why.clone(),
        other => panic!("not one result: {other:?}"),
    }
}

// Arguments of CUDA binaries.

/// A kernel that takes a pointer, a byte, and 32 bytes at offset 12, and stores what it finds of them.
const TAKES_A_STRUCTURE: &str = "\
.chip gk110
.kernel k
.param 0 0 8
.param 1 8 1
.param 2 12 32
        MOV R2, c[0x0][0x140];
        MOV R3, c[0x0][0x144];
        MOV R0, c[0x0][0x148];
        ST.E [R2], R0;
        MOV R0, c[0x0][0x14c];
        ST.E [R2+0x4], R0;
        MOV R0, c[0x0][0x168];
        ST.E [R2+0x8], R0;
        EXIT;
";

fn with_args(args: &str) -> String {
    let assembly = listing::assemble(TAKES_A_STRUCTURE, Chip::Gk110, "k").expect("the text assembles");
    let data = cubin::write(Chip::Gk110, &assembly.kernels);
    let fixture = format!(
        "[[tests]]\nname = \"t\"\ngrid = [1, 1, 1]\nblock = [1, 1, 1]\nargs = [{args}]\n\
         [tests.buffers.out]\ntype = \"u32\"\nlen = 3\ninit = {{ fill = 0 }}\nexpect = [7, 0x04030201, 0x201f1e1d]\n"
    );
    failure("k.cubin", &fixture, &data, Chip::Gk110)
}

/// Bytes 1 to 32.
fn structure() -> String {
    let digits: String = (1..=32).map(|n| format!("{n:02x}")).collect();
    format!("{{ bytes = \"{digits}\" }}")
}

#[test]
fn arguments_that_do_not_match_the_cubins_parameters_are_refused() {
    let s = structure();
    for (args, says) in [
        (
            "{ buffer = \"out\" }, { u8 = 7 }".to_string(),
            "the 32 bytes at offset 12 of the kernel input are missing",
        ),
        (format!("{{ buffer = \"out\" }}, {{ u8 = 7 }}, {s}, {{ u32 = 1 }}"), "argument 3: one too many"),
        (
            format!("{{ buffer = \"out\" }}, {{ u32 = 7 }}, {s}"),
            "argument 1: 4 bytes, but the parameter at offset 8 takes 1",
        ),
        ("{ buffer = \"out\" }, { u8 = 7 }, { bytes = \"0102\" }".to_string(), "argument 2: 2 bytes"),
        (
            format!("{{ buffer = \"out\" }}, {{ u8 = 7 }}, {{ offset = 16, {}", &s[2..]),
            "no parameter at offset 16",
        ),
        (
            "{ buffer = \"out\" }, { u8 = 7 }, { offset = 8, u8 = 7 }".to_string(),
            "at offset 8 is given twice",
        ),
        (String::new(), "0 arguments for 3 parameters"),
    ] {
        let why = with_args(&args);
        assert!(why.contains(says), "{args}: `{why}` does not say `{says}`");
    }
}

#[test]
fn arguments_lie_where_the_cubins_table_says() {
    let s = structure();
    assert_eq!(with_args(&format!("{{ buffer = \"out\" }}, {{ u8 = 7 }}, {s}")), "");
    // In any order, where offsets say which is which.
    let s = &s[2..];
    assert_eq!(
        with_args(&format!(
            "{{ offset = 12, {s}, {{ offset = 0, buffer = \"out\" }}, {{ offset = 8, u8 = 7 }}"
        )),
        ""
    );
}

// Limits.

const STORES_7: &str = "\
COMP
DCL BUFFER[0]
IMM[0] UINT32 {0, 7, 0, 0}
  0: STORE BUFFER[0].x, IMM[0].xxxx, IMM[0].yyyy
  1: END
";

fn launched(chip: Chip, test: &str) -> String {
    let fixture = format!(
        "[[tests]]\nname = \"t\"\nssbo = {{ 0 = \"out\" }}\n{test}\n\
         [tests.buffers.out]\ntype = \"u32\"\nlen = 1\ninit = [0]\nexpect = [7]\n"
    );
    failure("k.tgsi", &fixture, STORES_7.as_bytes(), chip)
}

#[test]
fn fixtures_beyond_the_chips_limits_are_refused() {
    for chip in Chip::ALL {
        for (test, says) in [
            ("grid = [1, 65536, 1]\nblock = [1, 1, 1]", "a grid of 65536 in y"),
            ("grid = [1, 1, 65536]\nblock = [1, 1, 1]", "a grid of 65536 in z"),
            ("grid = [0, 1, 1]\nblock = [1, 1, 1]", "the grid is 0 in x"),
            ("grid = [2147483648, 1, 1]\nblock = [1, 1, 1]", "a grid of 2147483648 in x"),
            ("grid = [1, 1, 1]\nblock = [0, 1, 1]", "the block is 0 in x"),
            ("grid = [1, 1, 1]\nblock = [1, 1, 65]", "a block of 65 in z"),
            ("grid = [1, 1, 1]\nblock = [1025, 1, 1]", "a block of 1025 in x"),
            ("grid = [1, 1, 1]\nblock = [32, 32, 2]", "has 2048 threads"),
            ("grid = [1, 1, 1]\nblock = [65536, 65536, 1]", "a block of 65536 in x"),
            (
                "grid = [1, 1, 1]\nblock = [1, 1, 1]\nargs = [{ shared = 4294967295 }]",
                "4294967295 bytes of shared",
            ),
            (
                "grid = [1, 1, 1]\nblock = [1, 1, 1]\nargs = [{ shared = 32768 }, { shared = 16385 }]",
                "49153 bytes of shared",
            ),
            ("grid = [1, 1, 1]\nblock = [1, 1, 1]\nshared_dynamic = 49153", "49153 bytes of shared"),
            ("grid = [1, 1, 1]\nblock = [1, 1, 1]\nprivate_bytes = 524289", "524289 bytes of local"),
            (
                "launches = [{ grid = [1, 1, 1], block = [1, 1, 1] }, { grid = [1, 65536, 1], block = [1, 1, 1] }]",
                "launch 2: a grid of 65536 in y",
            ),
        ] {
            let why = launched(chip, test);
            assert!(why.contains(says), "{chip}, {test}: `{why}` does not say `{says}`");
        }
    }
    assert!(
        launched(Chip::Gf100, "grid = [65536, 1, 1]\nblock = [1, 1, 1]").contains("a grid of 65536 in x")
    );
}

#[test]
fn fixtures_at_the_chips_limits_run() {
    for chip in Chip::ALL {
        for test in [
            "grid = [2, 1, 1]\nblock = [1024, 1, 1]",
            "grid = [1, 1, 1]\nblock = [16, 1, 64]",
            "grid = [1, 1, 1]\nblock = [1, 1, 1]\nshared_dynamic = 49152",
            "grid = [1, 1, 1]\nblock = [1, 1, 1]\nprivate_bytes = 524288",
        ] {
            assert_eq!(launched(chip, test), "", "{chip}, {test}");
        }
    }
    assert_eq!(launched(Chip::Gk104, "grid = [65536, 1, 1]\nblock = [1, 1, 1]"), "");
}

#[test]
fn programs_that_no_launch_can_run_are_refused_where_they_say_so() {
    let tgsi = |w: u32, h: u32, d: u32| {
        format!(
            "COMP\nPROPERTY CS_FIXED_BLOCK_WIDTH {w}\nPROPERTY CS_FIXED_BLOCK_HEIGHT {h}\n\
             PROPERTY CS_FIXED_BLOCK_DEPTH {d}\n  0: END\n"
        )
    };
    let nir = |block: &str, shared: u32| {
        format!(
            "shader: MESA_SHADER_KERNEL\nname: x\nworkgroup_size: {block}\nshared_size: {shared}\n\
             decl_function main () (entrypoint)\n\nimpl main {{\n    block b0:\n}}\n"
        )
    };
    for chip in Chip::ALL {
        for (size, says, line) in [
            ([2048, 1, 1], "a block of 2048 in x", 2),
            ([1, 1, 65], "a block of 65 in z", 4),
            ([64, 64, 1], "has 4096 threads", 2),
            ([4294967295, 4294967295, 2], "a block of 4294967295 in x", 2),
        ] {
            let why = compile(Language::Tgsi, &tgsi(size[0], size[1], size[2]), chip, OptLevel::O3)
                .expect_err("too large");
            assert!(why.contains(says) && why.contains(&format!("k:{line}:1")), "{chip}: {why}");
            let text = nir(&format!("{}, {}, {}", size[0], size[1], size[2]), 0);
            let why = compile(Language::Nir, &text, chip, OptLevel::O3).expect_err("too large");
            assert!(why.contains(says) && why.contains("k:3:1"), "{chip}: {why}");
        }
        let why = compile(Language::Nir, &nir("32, 1, 1", 49153), chip, OptLevel::O3).expect_err("too large");
        assert!(why.contains("49153 bytes of shared memory") && why.contains("k:4:1"), "{chip}: {why}");
        assert!(compile(Language::Nir, &nir("32, 32, 1", 49152), chip, OptLevel::O3).is_ok());
        // Variable block sizes are declared as zeros.
        assert!(compile(Language::Tgsi, &tgsi(0, 0, 0), chip, OptLevel::O3).is_ok());
        let ir = |head: &str| -> Result<(), String> {
            let text = format!("program {head}\nkernel k() {{\nb0:\n  exit\n}}\n");
            let program = nvir::ir::parse::program(&text).expect("IR");
            Compiler::new(chip).compile(program).map(drop).map_err(|d| d.to_string())
        };
        for (head, says) in [
            ("block 1 1 65", "a block of 65 in z"),
            ("block any any 65", "a block of 65 in z"),
            ("block any 1025 any", "a block of 1025 in y"),
            ("shared 49153", "49153 bytes of shared"),
            ("private 524289", "524289 bytes of local"),
            ("input 65537", "65537 bytes of kernel input"),
        ] {
            let why = ir(head).expect_err("beyond a limit");
            assert!(why.contains(says), "{chip}, {head}: {why}");
        }
    }
}

#[test]
fn options_out_of_range_are_refused() {
    type Set = fn(&mut Options);
    let cases: [(Set, &str); 5] = [
        (|o| o.max_gprs = Some(15), "max_gprs is 15: gk110 takes 16 to 255"),
        (|o| o.max_gprs = Some(256), "max_gprs is 256"),
        (|o| o.threads = Some(0), "threads is 0: gk110 takes 1 to 1024"),
        (|o| o.threads = Some(1025), "threads is 1025"),
        (|o| o.private_bytes = 524289, "private_bytes is 524289"),
    ];
    for (set, says) in cases {
        let mut options = Options::default();
        set(&mut options);
        let program = nvir::ir::parse::program("program\nkernel k() {\nb0:\n  exit\n}\n").expect("IR");
        let why = Compiler::new(Chip::Gk110)
            .with_options(options)
            .compile(program)
            .expect_err("out of range")
            .to_string();
        assert!(why.contains(says), "`{why}` does not say `{says}`");
    }
}

#[test]
fn listings_beyond_the_chips_limits_are_refused() {
    for line in [
        ".registers 256",
        ".barriers 17",
        ".shared 49153",
        ".stack 524289",
        ".param_bytes 4294967295",
        ".constant 3 16\n.constant 3 16",
        // All of a listing is for one chip: 200 registers are too many for the other.
        ".registers 200\n.chip gf100",
    ] {
        let text = format!(".chip gk110\n.kernel k\n{line}\n EXIT;\n");
        assert!(listing::assemble(&text, Chip::Gk110, "k").is_err(), "{line}");
    }
}

#[test]
fn results_in_registers_that_the_chip_does_not_have_are_refused() {
    let text = "program\nstage frag\noutput COLOR[0] xyzw\n\nkernel main() -> r in 200 {\nb0:\n mov f32 %r0 0x3f800000\n ret {%r0}\n}\n";
    for chip in Chip::ALL {
        let program = nvir::ir::parse::program(text).expect("valid text");
        let compiled = Compiler::new(chip).compile(program).map(drop).map_err(|e| e.to_string());
        let want = if chip == Chip::Gk110 {
            Ok(())
        } else {
            Err(format!("a result in register 200: {chip} has 63"))
        };
        assert_eq!(compiled, want, "{chip}");
    }
}

// The call-return stack.

/// `depth` ifs on what each thread loads, each inside the other: in its second side or its first.
fn nested(depth: usize, second: bool) -> String {
    let mut text = "COMP\nPROPERTY CS_FIXED_BLOCK_WIDTH 32\nPROPERTY CS_FIXED_BLOCK_HEIGHT 1\n\
                    PROPERTY CS_FIXED_BLOCK_DEPTH 1\nDCL SV[0], THREAD_ID\nDCL BUFFER[0]\nDCL TEMP[0..2]\n\
                    IMM[0] UINT32 {4, 1, 7, 0}\n  0: UMUL TEMP[0].x, SV[0].xxxx, IMM[0].xxxx\n"
        .to_string();
    let mut n = 1;
    let mut line = |s: &str| {
        text += &format!("{n:3}: {s}\n");
        n += 1;
    };
    let work = ["ATOMUADD TEMP[2].x, BUFFER[0], TEMP[0].xxxx, IMM[0].yyyy"; 8];
    for _ in 0..depth {
        line("LOAD TEMP[1].x, BUFFER[0], TEMP[0].xxxx");
        line("UIF TEMP[1].xxxx");
        work.iter().for_each(|w| line(w));
        if second {
            line("ELSE");
        }
    }
    for _ in 0..depth {
        work.iter().for_each(|w| line(w));
        if !second {
            line("ELSE");
            work.iter().for_each(|w| line(w));
        }
        line("ENDIF");
    }
    line("END");
    text
}

#[test]
fn launches_of_deep_nests_are_given_call_return_stack() {
    for chip in Chip::ALL {
        // An SSY each, but for the outermost, behind which the kernel ends; and the lanes of the second side run while
        // those of the first wait: once, or at each level.
        for (depth, second, bytes) in [
            (1, false, 0),
            (16, false, 0),
            (17, false, 1024),
            (32, false, 1024),
            (33, false, 1536),
            (8, true, 0),
            (9, true, 1024),
            (16, true, 1024),
            (17, true, 1536),
        ] {
            let image =
                compile(Language::Tgsi, &nested(depth, second), chip, OptLevel::O0).expect("it compiles");
            assert_eq!(image.stack_bytes, bytes, "{chip}, {depth} nested, second side: {second}");
            let file = cubin::Cubin::read(&cubin::write(chip, &[image.kernel()])).expect("a cubin");
            assert_eq!(file.kernels[0].call_stack, bytes);
            let text = listing::print(chip, &file.kernels, listing::Options::default());
            let again = listing::assemble(&text, chip, "k").expect("what is printed assembles");
            assert_eq!(again.kernels[0].call_stack, bytes);
        }
    }
}

// The container.

/// Kernels with barriers, shared and local memory, calls, deep nests, parameters, several in a file.
fn cubins(chip: Chip) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for name in ["aes_sbox_lds", "atomic_float_cas", "bfs_step", "bigint_add_sub"] {
        let text = std::fs::read_to_string(root.join(format!("nir-fixtures/{name}.nir"))).expect("a fixture");
        let image = compile(Language::Nir, &text, chip, OptLevel::O3).expect("fixtures compile");
        all.push((name.to_string(), vec![image.kernel()]));
    }
    let divides = "COMP\nDCL BUFFER[0]\nDCL TEMP[0]\nIMM[0] UINT32 {0, 4, 0, 0}\n  0: LOAD TEMP[0].xy, BUFFER[0], \
                   IMM[0].xxxx\n  1: UDIV TEMP[0].x, TEMP[0].xxxx, TEMP[0].yyyy\n  2: STORE BUFFER[0].x, IMM[0].xxxx, \
                   TEMP[0].xxxx\n  3: END\n";
    let library = compile(Language::Tgsi, divides, chip, OptLevel::O3).expect("it compiles");
    all.push(("library".into(), vec![library.kernel()]));
    let deep = compile(Language::Tgsi, &nested(20, true), chip, OptLevel::O3).expect("it compiles");
    all.push(("nested".into(), vec![deep.kernel()]));
    let mut several: Vec<cubin::Kernel> = all.iter().flat_map(|(_, k)| k.clone()).collect();
    for (n, k) in several.iter_mut().enumerate() {
        k.name = format!("k{n}");
        k.banks = vec![(2, vec![1, 2, 3, 4])];
        k.params = vec![
            cubin::Param { ordinal: 0, offset: 0, size: 8 },
            cubin::Param { ordinal: 1, offset: 8, size: 32 },
        ];
        k.param_bytes = 40;
        k.shared = 64 * n as u32;
        k.stack = 16 * n as u32;
    }
    all.push(("several".into(), several));
    all.into_iter().map(|(name, kernels)| (name, cubin::write(chip, &kernels))).collect()
}

fn u32_at(data: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(data[at..at + 4].try_into().expect("four bytes"))
}

/// Attribute records: number and payload.
fn records(mut data: &[u8]) -> Vec<(u8, &[u8])> {
    let mut all = Vec::new();
    while let [format, attribute, a, b, rest @ ..] = data {
        let size = if *format == 4 { usize::from(u16::from_le_bytes([*a, *b])) } else { 0 };
        assert!(matches!(format, 3 | 4) && size <= rest.len(), "a damaged record");
        all.push((*attribute, if *format == 4 { &rest[..size] } else { &data[2..4] }));
        data = &rest[size..];
    }
    assert!(data.is_empty(), "bytes behind the last record");
    all
}

fn check_structure(what: &str, data: &[u8]) {
    let file = ElfFile64::<Endianness>::parse(data).expect("an ELF file");
    let e = file.endian();
    let sections: Vec<_> = file.sections().collect();
    let table = file.elf_symbol_table();
    let symbols = table.symbols();
    let section_name = |n: usize| {
        let s = sections.iter().find(|s| s.index().0 == n);
        s.unwrap_or_else(|| panic!("{what}: no section {n}")).name().expect("a name").to_string()
    };
    let symbol = |n: u32| {
        let s = symbols.get(n as usize).unwrap_or_else(|| panic!("{what}: no symbol {n}"));
        (s.st_type(), section_name(s.st_shndx(e).0.into()))
    };
    // Local symbols first, as `sh_info` of the table says.
    let symtab = sections.iter().find(|s| s.name() == Ok(".symtab")).expect("symbols");
    let first_global = symtab.elf_section_header().sh_info(e) as usize;
    for (n, s) in symbols.iter().enumerate() {
        let local = s.st_bind() == elf::STB_LOCAL;
        assert_eq!(local, n < first_global, "{what}: symbol {n}");
    }
    let mut kernels = 0;
    for s in &sections {
        let (name, header) = (s.name().expect("a name"), s.elf_section_header());
        let (flags, info) = (header.sh_flags(e).0, header.sh_info(e));
        if let Some(kernel) = name.strip_prefix(".text.") {
            kernels += 1;
            assert_eq!(flags & 0xf, 6, "{what}: allocated, executable, not written");
            let (kind, home) = symbol(info & 0xff_ffff);
            assert_eq!((kind, home.as_str()), (elf::STT_FUNC, name), "{what}");
            assert!(info >> 24 >= Chip::MIN_LAUNCH_GPRS, "{what}: four registers at least");
            assert!(sections.iter().any(|s| s.name() == Ok(&format!(".nv.constant0.{kernel}"))), "{what}");
        } else if let Some(kernel) = name.strip_prefix(".nv.info.") {
            assert_eq!(section_name(info as usize), format!(".text.{kernel}"), "{what}");
            let all = records(s.data().expect("bytes"));
            let bank = all.iter().find(|r| r.0 == 0x0a).expect("PARAM_CBANK").1;
            let expected = (elf::STT_SECTION, format!(".nv.constant0.{kernel}"));
            assert_eq!(symbol(u32_at(bank, 0)), expected, "{what}: PARAM_CBANK names a section's symbol");
        } else if name == ".nv.info" {
            let all = records(s.data().expect("bytes"));
            for (attribute, payload) in &all {
                assert!(matches!(attribute, 0x2f | 0x23 | 0x12 | 0x11), "{what}: record {attribute:#x}");
                assert_eq!(symbol(u32_at(payload, 0)).0, elf::STT_FUNC, "{what}: record {attribute:#x}");
            }
            assert!(!all.is_empty());
        } else if name.starts_with(".nv.constant") || name.starts_with(".nv.shared.") {
            assert_eq!(flags & 7, if name.starts_with(".nv.shared.") { 3 } else { 2 }, "{what}: {name}");
            assert!(section_name(info as usize).starts_with(".text."), "{what}: {name}");
        }
    }
    assert!(kernels > 0, "{what}");
}

#[test]
fn records_and_sections_of_cubins_name_symbols_of_the_right_kind() {
    for chip in Chip::ALL {
        for (name, data) in cubins(chip) {
            check_structure(&format!("{chip}, {name}"), &data);
        }
    }
}

/// NVIDIA's tools: in `CUDA_BIN`, or on the path.
fn tool(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("CUDA_BIN").map(PathBuf::from).into_iter();
    let path = std::env::var_os("PATH").unwrap_or_default();
    folders.chain(std::env::split_paths(&path)).map(|d| d.join(name)).find(|p| p.is_file())
}

#[test]
fn nvidias_tools_read_every_cubin_without_a_word_of_complaint() {
    let (Some(nvdisasm), Some(cuobjdump)) = (tool("nvdisasm"), tool("cuobjdump")) else {
        // Not by `eprintln`, which the test harness keeps to itself.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: nvdisasm and cuobjdump are neither in CUDA_BIN nor on PATH: nothing was tried"
        );
        return;
    };
    let folder = std::env::temp_dir().join(format!("nvir-cubins-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let run = |tool: &Path, options: &[&str], file: &Path| {
        let out = Command::new(tool).args(options).arg(file).output().expect("the tool runs");
        let (text, complaint) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
        let clean = out.status.success() && complaint.trim().is_empty();
        assert!(clean, "{} {options:?} {}: {complaint}", tool.display(), file.display());
        text.into_owned()
    };
    // The tools know no chip before sm_35 any more.
    for (name, data) in cubins(Chip::Gk110) {
        let file = folder.join(format!("{name}.cubin"));
        std::fs::write(&file, &data).expect("written");
        let kernels = cubin::Cubin::read(&data).expect("a cubin").kernels;
        let text = run(&nvdisasm, &["-hex"], &file);
        let graph = run(&nvdisasm, &["-cfg"], &file);
        let ranges = run(&nvdisasm, &["-plr"], &file);
        let code = run(&cuobjdump, &["-sass"], &file);
        let elf = run(&cuobjdump, &["-elf"], &file);
        let usage = run(&cuobjdump, &["-res-usage"], &file);
        assert!(graph.starts_with("digraph"), "{name}: no graph");
        assert!(ranges.contains("GPR") && ranges.contains("Register usage"), "{name}: no live ranges");
        for k in &kernels {
            for (n, word) in k.code.iter().enumerate() {
                assert!(
                    text.contains(&format!("0x{word:016x}")),
                    "{name}, {}: word {n} is not shown",
                    k.name
                );
            }
            assert!(graph.contains(&format!("cluster_{}", k.name)), "{name}: {} is not in the graph", k.name);
            assert!(code.contains(&format!("Function : {}", k.name)), "{name}");
            let says =
                |what: String| assert!(elf.contains(&what), "{name}: cuobjdump -elf does not say `{what}`");
            says(format!("bar = {}\treg = {}\tlmem=0\tsmem={}", k.barriers, k.gprs, k.shared));
            for p in &k.params {
                says(format!(
                    "Ordinal : {:#x}\tOffset  : {:#x}\tSize    : {:#x}",
                    p.ordinal, p.offset, p.size
                ));
            }
            if k.call_stack > 0 {
                says(format!("EIATTR_CRS_STACK_SIZE\n\tFormat:\tEIFMT_SVAL\n\tValue:\t{:#x}", k.call_stack));
            }
            let resources = format!("REG:{} STACK:{} SHARED:{} LOCAL:0", k.gprs, k.stack, k.shared);
            assert!(usage.contains(&resources), "{name}: no `{resources}` in {usage}");
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
}
