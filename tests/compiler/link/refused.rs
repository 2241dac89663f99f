//! What is refused, by the compiler and by the linker, and in which words.

use super::rig::*;
use nvir::compiler::{OptLevel, Options, Sanitize};
use nvir::image::separate::{Unit, UnitError};
use nvir::{Chip, Compiler, Language, Source};

fn plain() -> Compiler {
    compiler(Chip::Gk110, OptLevel::O2)
}

fn of(text: &str) -> Unit {
    unit(&plain(), text)
}

fn refuses(units: Vec<Unit>, said: &str) {
    let e = link(units).expect_err("it does not go together");
    assert_eq!(e.to_string(), said);
}

const CALLER: &str = "program\nkernel k() {\nb0:\n rdsv u32 %r0 sv[tid.x]\n call u32 %r1 f1{%r0}\n st u32 # g[%r1+0x0 align 4] %r0\n exit\n}\nextern f(%r0) -> r\n";
const CALLEE: &str = "program\nsub f(%r0) -> r {\nb0:\n add u32 %r1 %r0 0x1\n ret {%r1}\n}\n";

#[test]
fn symbols() {
    link(vec![of(CALLER), of(CALLEE)]).expect("this is right");
    refuses(vec![of(CALLER)], "`f` is not defined; `k` in a calls it");
    refuses(vec![of(CALLER), of(CALLEE), of(CALLEE)], "`f` is defined in b and in c");
    refuses(vec![of(CALLEE)], "no kernel, only functions");
    refuses(vec![], "no kernel, only functions");
    let kernel = of(&CALLER.replace("kernel k", "kernel f").replace("extern f", "extern g"));
    let calls = of(&CALLER.replace("kernel k", "kernel m"));
    refuses(
        vec![calls, kernel, of(&CALLEE.replace(" f(", " g("))],
        "`m` calls `f`, which is a kernel: kernels are launched only",
    );
}

#[test]
fn types_of_functions() {
    let two = CALLEE.replace("(%r0)", "(%r0 %r5)");
    refuses(
        vec![of(CALLER), of(&two)],
        "`k` in a calls `f` with 1 words of arguments for 1 of results; it takes 2 and gives 1",
    );
}

#[test]
fn chips() {
    let fermi = unit(&compiler(Chip::Gf100, OptLevel::O2), CALLEE);
    refuses(vec![of(CALLER), fermi], "b is for gf100, a for gk110");
}

#[test]
fn recursion() {
    let ping = "program\nsub f(%r0) -> r {\nb0:\n call u32 %r1 f1{%r0}\n ret {%r1}\n}\nextern g(%r0) -> r\n";
    let pong = ping.replace(" f(", " h(").replace(" g(", " f(").replace(" h(", " g(");
    refuses(vec![of(CALLER), of(ping), of(&pong)], "recursion, whose stack has no bound: f calls g calls f");
}

#[test]
fn registers() {
    let few = Compiler::new(Chip::Gk110).with_options(Options { max_gprs: Some(16), ..Options::default() });
    let body: String = (2..18).map(|n| format!(" mad u32 %r{n} %r{} %r0 0x{n}\n", n - 1)).collect();
    let sum: String = (20..36).map(|n| format!(" xor u32 %r{n} %r{} %r{}\n", n - 1, n - 18)).collect();
    let text = format!(
        "program\nsub f(%r0) -> r {{\nb0:\n add u32 %r1 %r0 0x1\n{body} mov u32 %r19 0x1\n{sum} ret {{%r35}}\n}}\n"
    );
    let many = of(&text);
    let gprs = many.functions[0].facts.gprs;
    assert!(gprs > 16 && gprs <= 24, "{gprs}");
    refuses(
        vec![unit(&few, CALLER), many],
        &format!("`f` needs {gprs} registers, and threads of `k` have 16 at most"),
    );
    link(vec![unit(&few, CALLER), unit(&few, &text)]).expect("this has few");
}

#[test]
fn barriers_in_a_part_of_the_lanes() {
    let meets = "program\nsub f(%r0) -> r {\nb0:\n bar.sync u32 #\n ret {%r0}\n}\n";
    link(vec![of(CALLER), of(meets)]).expect("all lanes come");
    let within = |cond: &str| {
        format!(
            "program\nkernel k() {{\nb0:\n rdsv u32 %r0 sv[tid.x]\n rdsv u32 %r9 sv[ctaid.x]\n set.lt pred u32 %p1 {cond} 0x8\n if %p1 b1 b2 join b2\nb1:\n call u32 %r2 f1{{%r0}}\n st u32 # g[%r2+0x0 align 4] %r0\n jump b2\nb2:\n exit\n}}\nextern f(%r0) -> r\n"
        )
    };
    refuses(
        vec![of(&within("%r0")), of(meets)],
        "`k` calls `f` where lanes of a warp may have parted, and a barrier waits there for all of them",
    );
    link(vec![of(&within("%r9")), of(meets)]).expect("all lanes come, or none");
    // The barrier may be further down, and a loop may be what parts them.
    let through =
        "program\nsub f(%r0) -> r {\nb0:\n call u32 %r1 f1{%r0}\n ret {%r1}\n}\nextern g(%r0) -> r\n";
    refuses(
        vec![of(&within("%r0")), of(through), of(&meets.replace(" f(", " g("))],
        "`k` calls `f` where lanes of a warp may have parted, and a barrier waits there for all of them",
    );
    let round = |limit: &str| {
        format!(
            "program\nkernel k() {{\nb0:\n rdsv u32 %r0 sv[tid.x]\n rdsv u32 %r9 sv[ctaid.x]\n mov u32 %r1 0x0\n jump b1(%r1)\nb1(%r2): loop exit b4 cont b3\n set.gt pred u32 %p3 %r2 {limit}\n jump b2\nb2:\n if %p3 b4 b3\nb3:\n call u32 %r4 f1{{%r2}}\n add u32 %r5 %r2 0x1\n jump b1(%r5)\nb4:\n exit\n}}\nextern f(%r0) -> r\n"
        )
    };
    let e = link(vec![of(&round("%r0")), of(meets)]).expect_err("lanes leave one by one").to_string();
    assert!(e.contains("barrier"), "{e}");
    link(vec![of(&round("%r9")), of(meets)]).expect("lanes leave together");
    // What joins again within a round is no reason.
    let arm = "program\nkernel k() {\nb0:\n rdsv u32 %r0 sv[tid.x]\n rdsv u32 %r9 sv[ctaid.x]\n mov u32 %r1 0x0\n jump b1(%r1)\nb1(%r2): loop exit b6 cont b3\n set.gt pred u32 %p3 %r2 %r9\n jump b2\nb2:\n if %p3 b6 b3\nb3:\n set.lt pred u32 %p6 %r0 %r2\n if %p6 b4 b5 join b5\nb4:\n st u32 # g[%r2+0x0 align 4] %r0\n jump b5\nb5:\n call u32 %r4 f1{%r2}\n add u32 %r5 %r2 0x1\n jump b1(%r5)\nb6:\n exit\n}\nextern f(%r0) -> r\n";
    link(vec![of(arm), of(meets)]).expect("lanes have met again");
    let early = "program\nsub h(%r0) -> r {\nb0:\n set.lt pred u32 %p1 %r0 0x8\n if %p1 b1 b2 join b2\nb1:\n ret {%r0}\nb2:\n call u32 %r2 f1{%r0}\n ret {%r2}\n}\nextern f(%r0) -> r\n";
    let caller = CALLER.replace("extern f", "extern h");
    let e = link(vec![of(&caller), of(early), of(meets)]).expect_err("some have returned").to_string();
    assert!(e.starts_with("`h` calls `f`"), "{e}");
}

#[test]
fn memory() {
    let mut large = of(CALLEE);
    large.functions[0].facts.shared = 1 << 20;
    let e = link(vec![of(CALLER), large]).expect_err("too much").to_string();
    assert!(e.starts_with("`k`: ") && e.contains("shared"), "{e}");
    let mut large = of(CALLEE);
    large.functions[0].facts.frame = 1 << 24;
    let e = link(vec![of(CALLER), large]).expect_err("too much").to_string();
    assert!(e.starts_with("`k`: ") && e.contains("local"), "{e}");
}

#[test]
fn files_that_are_no_units() {
    let linked = link(vec![of(CALLER), of(CALLEE)]).expect("this is right");
    assert_eq!(Unit::read(&linked.write()), Err(UnitError::Closed));
    let whole = plain().compile(&source("program\nkernel k() {\nb0:\n exit\n}\n")).expect("a kernel");
    let cubin = nvir::image::cubin::write(whole.chip, &[whole.kernel()]);
    assert_eq!(Unit::read(&cubin), Err(UnitError::Closed));
    let mut file = of(CALLEE).write();
    let at = file.windows(11).position(|w| w == b".nvir.facts").expect("a section");
    file[at + 1] = b'x';
    let e = Unit::read(&file).expect_err("it is a stranger's");
    assert_eq!(e.to_string(), "another compiler's relocatable cubin: it has no section `.nvir.facts`");
    assert!(Unit::read(b"no cubin").is_err());
}

#[test]
fn tables_that_say_something_else() {
    let file = of(CALLER).write();
    let with = |from: &str, to: &str| {
        assert_eq!(from.len(), to.len());
        let mut file = file.clone();
        let at = file.windows(from.len()).position(|w| w == from.as_bytes()).expect("it stands there");
        file[at..at + to.len()].copy_from_slice(to.as_bytes());
        Unit::read(&file).expect_err("it is wrong").to_string()
    };
    assert_eq!(with("nvir.facts 1 open", "nvir.facts 9 open"), "facts of schema 9: this nvir reads 1");
    assert_eq!(
        with("nvir.facts 1 open", "nvir,facts 1 open"),
        "section .nvir.facts, line 1: it does not begin with `nvir.facts`"
    );
    assert_eq!(
        with("returns never", "returns nevar"),
        "section .nvir.facts, line 2: `returns` is never `nevar`"
    );
    assert_eq!(with("barriers 0", "barriers x"), "section .nvir.facts, line 2: `barriers x` is not a size");
    assert_eq!(
        with("special tid.x", "special tid.w"),
        "section .nvir.facts, line 2: no special register `tid.w`"
    );
    assert_eq!(
        with("call f params", "call g params"),
        "function `k`: it calls `f`, which the facts do not say"
    );
    assert_eq!(with("kernel k ", "kernel m "), "function `m`: no section has its code");
    assert_eq!(with("apart no", "apart  n"), "section .nvir.facts, line 3: `apart` is never `n`");
}

#[test]
fn what_cannot_be_compiled_separately() {
    let says = |compiler: &Compiler, source: &Source<'_>, part: &str| {
        let e = compiler.unit(source, &mut Default::default()).expect_err("refused").to_string();
        assert!(e.contains(part), "{e}");
    };
    let ir = |text: &str, part: &str| says(&plain(), &source(text), part);
    ir("program\nsub f(%p0) {\nb0:\n ret\n}\n", "has a predicate among its parameters or results");
    let many: String = (0..13).map(|n| format!("%r{n} ")).collect();
    ir(&format!("program\nsub f({many}) {{\nb0:\n ret\n}}\n"), "13 words of parameters or results");
    ir("program\nsub f() {\nb0:\n ret\n}\nsub f() {\nb0:\n ret\n}\n", "two functions have the name `f`");
    ir("program\nsub f() {\nb0:\n call u32 # f0{}\n ret\n}\n", "calls itself");
    let kernel = "program\nkernel k() {\nb0:\n exit\n}\n";
    ir(
        &format!("{kernel}sub f() {{\nb0:\n call u32 # f0{{}}\n ret\n}}\n"),
        "`f` calls `k`, which is a kernel",
    );
    ir(
        &format!("{kernel}library l() {{\nb0:\n call u32 # f2{{}}\n ret\n}}\nextern f()\n"),
        "`l` is not a function that others may call, and calls `f`",
    );
    ir(
        "program wholewarps\nkernel k() {\nb0:\n exit\n}\n",
        "a kernel that runs whole warps cannot be compiled separately",
    );
    let options = Options { sanitize: Sanitize::ALL, ..Options::default() };
    says(&Compiler::new(Chip::Gk110).with_options(options), &source(kernel), "checks its own accesses");
    let options = Options { work_dim: Some(2), ..Options::default() };
    says(&Compiler::new(Chip::Gk110).with_options(options), &source(kernel), "work dimension");
    let frag =
        "FRAG\nDCL OUT[0], COLOR\nIMM[0] FLT32 {1.0, 0.0, 0.0, 0.0}\n  0: MOV OUT[0], IMM[0]\n  1: END\n";
    let frag = Source { language: Language::Tgsi, text: frag, entry: None, name: "f.tgsi" };
    says(&plain(), &frag, "a graphics stage cannot be compiled separately");
}

/// Without `--separate`, a program is whole.
#[test]
fn what_is_not_whole_is_not_compiled_as_if_it_were() {
    let says = |text: &str, part: &str| {
        let e = plain().compile(&source(text)).expect_err("it is not whole").to_string();
        assert!(e.contains(part) && e.contains("--separate"), "{e}");
    };
    says(CALLER, "the function `f` is declared only");
    says(CALLEE, "a program has a `kernel`");
}

/// What a text says of effects and of parameters is not believed.
#[test]
fn claims_of_a_text_are_forgotten() {
    let text = "program\nsub f(%r0) -> r given 0x5 to 0x5 align 1 uniform {\nb0:\n ld u32 %r1 c0[0x0 align 4]\n shl u32 %r3 %r0 0x2\n add u32 %r2 %r1 %r3\n st u32 # g[%r2+0x0 align 4] %r0\n ret {%r1}\n}\nkernel k() {\nb0:\n rdsv u32 %r0 sv[tid.x]\n call u32 %r1 f0{%r0} pure\n exit\n}\n";
    let read = nvir::ir::parse::program(text).expect("it is text of IR");
    assert_eq!(
        nvir::ir::parse::program(&read.to_string()).expect("it is printed").to_string(),
        read.to_string()
    );
    for level in OptLevel::ALL {
        let shader = compiler(Chip::Gk110, level).compile(&source(text)).expect("a kernel");
        assert_eq!(run(&shader, 32).expect("no fault"), (0..32).collect::<Vec<u32>>());
    }
}

/// A kernel of another language has nothing that others call, and is linked like all.
#[test]
fn a_kernel_in_tgsi_is_a_unit() {
    let text = "COMP\nPROPERTY CS_FIXED_BLOCK_WIDTH 32\nPROPERTY CS_FIXED_BLOCK_HEIGHT 1\nPROPERTY CS_FIXED_BLOCK_DEPTH 1\nDCL SV[0], THREAD_ID\nDCL BUFFER[0]\nDCL TEMP[0..1]\nIMM[0] UINT32 {2, 0, 0, 0}\n  0: SHL TEMP[0].x, SV[0].xxxx, IMM[0].xxxx\n  1: STORE BUFFER[0].x, TEMP[0].xxxx, SV[0].xxxx\n  2: END\n";
    let tgsi = Source::tgsi(text);
    for chip in Chip::ALL {
        let compiler = compiler(chip, OptLevel::O3);
        let unit = compiler.unit(&tgsi, &mut Default::default()).expect("a kernel");
        let linked = link(vec![unit]).expect("nothing is missing");
        let whole = compiler.compile(&tgsi).expect("a kernel");
        let code = &linked.kernels[0].kernel.code;
        assert_eq!(code[..whole.code.len()], whole.code);
        assert_eq!(linked.kernels[0].kernel.block_size, Some([32, 1, 1]));
    }
}
