//! The library as a driver meets it: the same bytes from every thread, errors told apart, facts that are true.

use nvir::compiler::{Cancel, DebugOptions};
use nvir::compiler::{Distances, Domain, FragmentInfo, GeometryInfo, TessInfo};
use nvir::diag::Fault;
use nvir::driver::Abi;
use nvir::image::{Access, ConstantBank, Use};
use nvir::{Chip, Compiler, InitRegs, Language, Observer, OptLevel, Options, Shader, Source};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

fn texts() -> Vec<(Language, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in ["tgsi", "nir-fixtures"] {
        nvir::input::walk(&root.join(folder), &|f| Language::of(f).is_some(), &mut files).expect("readable");
    }
    files.sort();
    let read = |f: &std::path::PathBuf| Some((Language::of(f)?, std::fs::read_to_string(f).ok()?));
    files.iter().filter_map(read).step_by(5).collect()
}

#[test]
fn eight_threads_make_the_bytes_that_one_makes() {
    let texts = texts();
    assert!(texts.len() > 50);
    let compilers = Chip::ALL.map(Compiler::new);
    let all = |first: usize| -> Vec<Option<Vec<u64>>> {
        let count = texts.len() * 3;
        let mut made = vec![None; count];
        for n in (0..count).map(|n| (n + first) % count) {
            let (language, text) = &texts[n / 3];
            let source = Source { language: *language, text, entry: None, name: "text" };
            made[n] = compilers[n % 3].compile(&source).ok().map(|s| s.code);
        }
        made
    };
    let want = all(0);
    assert!(want.iter().flatten().count() > 100);
    std::thread::scope(|scope| {
        let all = &all;
        let threads: Vec<_> = (1..=8).map(|n| scope.spawn(move || all(17 * n))).collect();
        for thread in threads {
            assert!(thread.join().expect("no panic") == want);
        }
    });
}

fn fault(chip: Chip, source: &Source<'_>) -> Fault {
    Compiler::new(chip).compile(source).expect_err("it does not compile").fault()
}

#[test]
fn errors_say_whose_fault_they_are() {
    let tgsi = |body: &str| format!("COMP\nDCL TEMP[0..1]\n{body}\n  9: END\n");
    assert_eq!(fault(Chip::Gk104, &Source::tgsi(&tgsi("  0: MOVE TEMP[0], TEMP[1]"))), Fault::Input);
    let stencil = "FRAG\nDCL IN[0], GENERIC[0], CONSTANT\nDCL OUT[0], STENCIL\n  0: MOV OUT[0].y, IN[0].xxxx\n  1: END\n";
    assert_eq!(fault(Chip::Gk104, &Source::tgsi(stencil)), Fault::Unsupported);
    let mesh = "shader: MESA_SHADER_MESH\ndecl_function main (0 params)\n\nimpl main {\nblock block_0:\nblock block_1:\n}\n";
    assert_eq!(fault(Chip::Gk104, &Source::nir(mesh)), Fault::Unsupported);
    assert_eq!(fault(Chip::Gk104, &Source::nir("what is this")), Fault::Input);
    let ir = "program\nkernel k() {\nb0:\n    add u32 %r1 %r0 0x1\n    exit\n}\n";
    let error = Compiler::new(Chip::Gf100).compile(&Source::ir(ir).with_name("k.ir")).expect_err("undefined");
    assert_eq!(error.fault(), Fault::Input);
    assert!(error.to_string().contains("k.ir:4:5") && error.to_string().contains("^^^"), "{error}");
    assert_eq!(error.diagnostics().list[0].primary.as_ref().map(|p| p.0.start), Some(29));
}

/// A program that breaks what front-ends promise is refused as a defect, and nothing is printed.
#[test]
fn a_broken_program_is_a_defect_and_no_panic() {
    let text =
        "program\nkernel k() {\nb0:\n    rdsv u32 %r0 sv[tid.x]\n    add u32 %r1 %r0 0x1\n    exit\n}\n";
    let compiler = Compiler::new(Chip::Gk110);
    let mut program = compiler.front(&Source::ir(text)).expect("valid");
    let entry = program.entry;
    let f = &mut program.funcs[entry];
    f.blocks[f.layout[0]].body.remove(0);
    let options = Options { debug: DebugOptions::verifying(), ..Options::default() };
    let error = compiler.with_options(options).compile(program).expect_err("%r0 is defined nowhere");
    assert_eq!(error.fault(), Fault::Defect);
    assert!(error.to_string().contains("after the front-end"), "{error}");
    assert!(error.diagnostics().list[0].helps[0].contains("bug in nvir"));
}

#[test]
fn functions_that_call_themselves_are_refused_at_every_level() {
    let text = "program\nsub f(%r0) -> r {\nb0:\n    call u32 %r1 f0{%r0}\n    ret {%r1}\n}\nkernel k() {\nb0:\n    \
                rdsv u32 %r0 sv[tid.x]\n    call u32 %r1 f0{%r0}\n    st u32 # g[%r0+0x0] %r1\n    exit\n}\n";
    for level in [OptLevel::O0, OptLevel::O1, OptLevel::O2, OptLevel::O3] {
        let compiler = Compiler::new(Chip::Gk110).with_options(Options::at(level));
        let error = compiler.compile(&Source::ir(text)).expect_err("there is no stack for it");
        assert!(error.to_string().contains("calls itself"), "-O{level}: {error}");
    }
}

#[test]
fn a_compile_that_nobody_wants_any_more_ends() {
    let lines: String =
        (0..20_000).map(|n| format!("{n}: UADD TEMP[0].x, TEMP[0].xxxx, SV[0].xxxx\n")).collect();
    let text = format!(
        "COMP\nDCL SV[0], THREAD_ID\nDCL TEMP[0]\nDCL BUFFER[0]\n{lines}20000: STORE BUFFER[0].x, TEMP[0].xxxx, TEMP[0].xxxx\n20001: END\n"
    );
    let (compiler, source) = (Compiler::new(Chip::Gk110), Source::tgsi(&text));
    assert!(compiler.compile(&source).is_ok());
    let until = |cancel| {
        let result = compiler.observed(&source, &mut Observer::with_cancel(cancel));
        result.map(drop).map_err(|e| e.fault())
    };
    assert_eq!(until(Cancel::at(Instant::now() - Duration::from_millis(1))), Err(Fault::Cancelled));
    let flag = Arc::new(AtomicBool::new(false));
    assert_eq!(until(Cancel::when(flag.clone())), Ok(()));
    flag.store(true, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(until(Cancel::when(flag)), Err(Fault::Cancelled));
}

#[test]
fn options_that_do_not_exist_are_refused_by_name() {
    let bad = |options: Options| {
        Compiler::new(Chip::Gk104).with_options(options).check().expect_err("refused").to_string()
    };
    let passes = Some(vec!["fuze".to_string()]);
    let debug = DebugOptions { passes, ..DebugOptions::default() };
    assert!(
        bad(Options { debug, ..Options::default() }).contains("unknown pass `fuze`; did you mean `fuse`?")
    );
    assert!(bad(Options { pointer_align: 3, ..Options::default() }).contains("power of two, not 3"));
}

#[test]
fn a_cache_key_changes_with_everything_that_may_change_the_code_and_nothing_else() {
    let text = "COMP\n  0: END\n";
    let source = Source::tgsi(text);
    let base = Compiler::new(Chip::Gk110);
    let set = |set: fn(&mut Options)| {
        let mut options = Options::default();
        set(&mut options);
        base.clone().with_options(options).cache_key(&source)
    };
    let mut abi = Abi::nvc0(Chip::Gk110);
    abi.buf_info += 16;
    let mut keys = vec![
        base.cache_key(&source),
        Compiler::new(Chip::Gk104).cache_key(&source),
        base.clone().with_abi(abi).cache_key(&source),
        base.cache_key(&Source::nir(text)),
        base.cache_key(&Source::tgsi("COMP\n  0: NOP\n  1: END\n")),
        base.cache_key(&source.with_entry(Some("0"))),
        base.cache_key(&source.with_entry(Some(""))),
        set(|o| o.opt_level = OptLevel::O2),
        set(|o| o.init_regs = InitRegs::All),
        set(|o| o.max_gprs = Some(32)),
        set(|o| o.threads = Some(32)),
        set(|o| o.pointer_align = 8),
        set(|o| o.private_bytes = 16),
        set(|o| o.stage.clip_planes = 1),
        set(|o| o.stage.tess = Some(TessInfo::default())),
        set(|o| o.stage.tess = Some(TessInfo { domain: Some(Domain::Quads), ..TessInfo::default() })),
        set(|o| o.stage.geometry = Some(GeometryInfo::default())),
        set(|o| o.stage.fragment = Some(FragmentInfo::default())),
        set(|o| o.stage.fragment = Some(FragmentInfo { uses_demote: true, ..FragmentInfo::default() })),
        set(|o| o.stage.distances = Some(Distances { clip: 1, cull: 0 })),
        set(|o| o.debug.passes = Some(vec!["dce".into()])),
        set(|o| o.debug.passes = Some(vec![])),
        set(|o| o.debug.bisect_limit = Some(0)),
    ];
    let count = keys.len();
    assert_eq!(keys.drain(..).collect::<HashSet<_>>().len(), count);
    let same = base.clone().cache_key(&source.with_name("another name"));
    assert_eq!(same, base.cache_key(&source));
    assert_eq!(set(|o| o.debug.verify_each = true), same);
    assert_eq!(same.to_string().len(), 64);
}

fn compiled(chip: Chip, text: &str) -> Shader {
    Compiler::new(chip).compile(&Source::tgsi(text)).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn a_shader_says_what_it_uses_and_how() {
    let text = "COMP
PROPERTY CS_FIXED_BLOCK_WIDTH 64
PROPERTY CS_FIXED_BLOCK_HEIGHT 2
PROPERTY CS_FIXED_BLOCK_DEPTH 1
DCL SV[0], THREAD_ID
DCL CONST[0][0..2]
DCL BUFFER[0]
DCL BUFFER[3]
DCL BUFFER[5], ATOMIC
DCL IMAGE[1], 2D, PIPE_FORMAT_R32_UINT, WR
DCL SAMP[2]
DCL SVIEW[2], 2D, FLOAT
DCL MEMORY[0], SHARED
DCL TEMP[0..3]
IMM[0] UINT32 {0, 4, 1, 2}
IMM[1] FLT32 {0.5, 0.25, 0.0, 0.0}
  0: LOAD TEMP[0].x, BUFFER[0], IMM[0].xxxx
  1: ATOMUADD TEMP[1].x, BUFFER[5], IMM[0].yyyy, TEMP[0].xxxx
  2: UADD TEMP[0].x, TEMP[0].xxxx, CONST[0][1].yyyy
  3: STORE BUFFER[3].x, IMM[0].yyyy, TEMP[0].xxxx
  4: STORE IMAGE[1], SV[0], TEMP[0].xxxx, 2D, PIPE_FORMAT_R32_UINT
  5: TXL TEMP[2], IMM[1].xyzz, SAMP[2], 2D
  6: STORE BUFFER[3].x, IMM[0].xxxx, TEMP[2].xxxx
  7: BARRIER
  8: END
";
    for chip in Chip::ALL {
        let shader = compiled(chip, text);
        let uses = &shader.resources;
        let of = |slot, read, written| Use { slot, read, written };
        assert_eq!(uses.buffers.slots, [of(0, true, false), of(3, false, true), of(5, true, true)], "{chip}");
        assert_eq!(uses.buffers.indexed, None);
        assert_eq!(uses.images.slots, [of(1, false, true)]);
        assert_eq!(uses.textures.slots, [of(2, true, false)]);
        assert_eq!(uses.samplers.slots, [of(2, true, false)]);
        assert!(!uses.uniforms.any() && !uses.bindless_textures && uses.bindless_images.is_none());
        // CONST[0] is the input bank; its second vector's y ends at byte 24.
        assert_eq!(uses.constants[0], ConstantBank { bank: 0, bytes: Some(24) });
        let driver = Abi::nvc0(chip).aux_bank;
        assert!(uses.constants.iter().any(|c| c.bank == driver), "{chip}: {:?}", uses.constants);
        assert_eq!(shader.input_bytes, 24);
        assert_eq!((shader.block_size, shader.barriers), (Some([64, 2, 1]), 1));
        let warps = shader.resident_warps(None);
        assert!((4..=64).contains(&warps) && warps.is_multiple_of(4), "{chip}: {warps}");
        assert!(shader.instructions > 8 && shader.cycles > 0 && !shader.lines.is_empty());
    }
}

#[test]
fn what_is_indexed_may_be_any() {
    let text = "COMP
DCL SV[0], THREAD_ID
DCL BUFFER[0..3]
DCL ADDR[0]
DCL TEMP[0..1]
IMM[0] UINT32 {0, 4, 1, 2}
  0: UARL ADDR[0].x, SV[0].xxxx
  1: LOAD TEMP[0].x, BUFFER[ADDR[0].x], IMM[0].xxxx
  2: STORE BUFFER[2].x, IMM[0].xxxx, TEMP[0].xxxx
  3: END
";
    let shader = compiled(Chip::Gk110, text);
    assert_eq!(shader.resources.buffers.indexed, Some(Access::READ));
    assert_eq!(shader.resources.buffers.slots, [Use { slot: 2, read: false, written: true }]);
    // The table of buffers is indexed, so how much of the driver's bank is read is not known.
    assert!(shader.resources.constants.iter().any(|c| c.bytes.is_none()));
}

/// What is known of all launches becomes constant, is part of the cache's key, and is held against the chip's limits.
#[test]
fn facts_about_launches_make_code_for_them_alone() {
    let text = "COMP
DCL SV[0], BLOCK_SIZE
DCL SV[1], WORK_DIM
DCL BUFFER[0]
DCL TEMP[0]
IMM[0] UINT32 {0, 1000, 0, 0}
  0: UMAD TEMP[0].x, SV[1].xxxx, IMM[0].yyyy, SV[0].yyyy
  1: STORE BUFFER[0].x, IMM[0].xxxx, TEMP[0].xxxx
  2: END
";
    let source = Source::tgsi(text);
    for chip in Chip::ALL {
        let plain = Compiler::new(chip);
        let known = |block_size, work_dim| {
            plain.clone().with_options(Options { block_size, work_dim, ..Options::default() })
        };
        let special = known(Some([8, 4, 1]), Some(2));
        let shader = special.compile(&source).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(shader.block_size, Some([8, 4, 1]));
        let sass = nvir::image::listing::print(chip, &[shader.kernel()], Default::default());
        assert!(sass.contains("0x7d4"), "{chip}: 2 * 1000 + 4 is known\n{sass}");
        assert_ne!(special.cache_key(&source), plain.cache_key(&source));
        assert_ne!(special.cache_key(&source), known(Some([4, 8, 1]), Some(2)).cache_key(&source));
        for bad in [known(Some([0, 1, 1]), None), known(Some([1024, 2, 1]), None), known(None, Some(4))] {
            assert!(bad.check().is_err() && bad.compile(&source).is_err(), "{chip}");
        }
        // What the program declares stands.
        let declared = text.replace(
            "DCL SV[0]",
            "PROPERTY CS_FIXED_BLOCK_WIDTH 2\nPROPERTY CS_FIXED_BLOCK_HEIGHT 3\nPROPERTY CS_FIXED_BLOCK_DEPTH 1\nDCL SV[0]",
        );
        let shader = special.compile(&Source::tgsi(&declared)).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(shader.block_size, Some([2, 3, 1]));
    }
}
