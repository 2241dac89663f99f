//! What is assumed where, and that it is not assumed in the other world.

use super::rig::*;
use nvir::Chip;
use nvir::compiler::OptLevel;
use nvir::image::separate::{Effects, Returns};

/// All passes but inlining, which would leave nothing to look at.
fn apart() -> nvir::Compiler {
    let compiler = compiler(Chip::Gk110, OptLevel::O3);
    let mut options = compiler.options().clone();
    let names = nvir::opt::PASSES.iter().map(|p| p.name.to_string());
    options.debug.passes = Some(names.filter(|p| p != "inline").collect());
    compiler.with_options(options)
}

/// The machine code of pieces that were compiled as one.
fn closed_listing(head: &str, all: &[Piece]) -> String {
    let shader = closed(&apart(), head, all);
    nvir::image::listing::print(shader.chip, &[shader.kernel()], nvir::image::listing::Options::default())
}

fn count(listing: &str, op: &str) -> usize {
    listing.split_whitespace().filter(|w| w.trim_end_matches(';') == op).count()
}

/// All callers pass less than 64: the mask does nothing.
const MASKED: &[Piece] = &[
    kernel(store!("b0:\n    rdsv u32 %r0 sv[tid.x]\n    call u32 %r9 @low{%r0}")),
    sub("low", "(%r0) -> r", "b0:\n    and u32 %r1 %r0 0x3f\n    mad u32 %r2 %r1 %r1 0x1\n    ret {%r2}"),
];

#[test]
fn ranges_of_parameters_hold_where_all_callers_are_known() {
    let head = " block 64 1 1 input 8";
    assert!(!closed_listing(head, MASKED).contains("LOP"));
    // The same function with other callers.
    let compiler = compiler(Chip::Gk110, OptLevel::O3);
    let function = unit(&compiler, &text(head, MASKED, &[1]));
    let other = [
        kernel(store!(
            "b0:\n    rdsv u32 %r0 sv[tid.x]\n    mad u32 %r1 %r0 0x11 0x3e8\n    call u32 %r9 @low{%r1}"
        )),
        MASKED[1],
    ];
    let caller = unit(&compiler, &text(" block 96 1 1 input 8", &other, &[0]));
    let linked = link(vec![caller, function]).expect("they go together");
    let low = |x: u32| (x & 0x3f) * (x & 0x3f) + 1;
    let expected: Vec<u32> = (0..96).map(|t| low(17 * t + 1000)).collect();
    assert_eq!(run(&shader(&linked), 96).expect("no fault"), expected);
    // It is the same when it stands in a file with a caller that passes less: others may call it, too.
    let together = unit(&compiler, &text(head, MASKED, &[0, 1]));
    assert_eq!(together.functions[1].code, link_alone(&compiler, head));
}

fn link_alone(compiler: &nvir::Compiler, head: &str) -> Vec<u64> {
    unit(compiler, &text(head, MASKED, &[1])).functions[0].code.clone()
}

/// The size of blocks is the kernel's: a function that others call does not know it.
#[test]
fn the_size_of_blocks_holds_for_the_kernel_that_declares_it() {
    let all = [
        kernel(store!("b0:\n    rdsv u32 %r0 sv[tid.x]\n    call u32 %r9 @mine{}")),
        sub("mine", "() -> r", "b0:\n    rdsv u32 %r0 sv[tid.x]\n    and u32 %r1 %r0 0x1f\n    ret {%r1}"),
    ];
    assert!(!closed_listing(" block 32 1 1 input 8", &all).contains("LOP"));
    let compiler = compiler(Chip::Gk110, OptLevel::O3);
    let both = unit(&compiler, &text(" block 32 1 1 input 8", &all, &[0, 1]));
    let mut function = both.clone();
    function.functions.retain(|f| f.name == "mine");
    let caller = unit(&compiler, &text(" block 128 1 1 input 8", &all, &[0]));
    let linked = link(vec![caller, function]).expect("they go together");
    assert_eq!(
        run(&shader(&linked), 128).expect("no fault"),
        (0..128).map(|t| t & 0x1f).collect::<Vec<u32>>()
    );
}

#[test]
fn alignment_of_a_parameter_lets_accesses_be_wide_where_all_callers_are_known() {
    let all = [
        kernel(
            "b0:
    rdsv u32 %r0 sv[tid.x]
    shl u32 %r1 %r0 0x3
    call u32 # @pair{%r1}
    bar.sync u32 #
    call u32 %r2 @sum{%r1}
    mov u32 %r9 %r2
    shl u32 %r90 %r0 0x2
    ld u32 %r91 c0[0x0 align 4]
    add u32 %r92 %r90 %r91
    st u32 # g[%r92+0x0 align 4] %r9
    exit",
        ),
        sub(
            "pair",
            "(%r0)",
            "b0:\n    st u32 # s[%r0+0x0 align 4] %r0\n    st u32 # s[%r0+0x4 align 4] 0x5\n    ret {}",
        ),
        sub(
            "sum",
            "(%r0) -> r",
            "b0:\n    ld u32 %r1 s[%r0+0x0 align 4]\n    ld u32 %r2 s[%r0+0x4 align 4]\n    add u32 %r3 %r1 %r2\n    ret {%r3}",
        ),
    ];
    let head = " shared 512 input 8";
    let listing = closed_listing(head, &all);
    assert!(listing.contains("STS.64") && listing.contains("LDS.64"), "{listing}");
    let compiler = apart();
    let linked = linked(&compiler, head, &all);
    let kernel = shader(&linked).kernel();
    let listing =
        nvir::image::listing::print(linked.chip, &[kernel], nvir::image::listing::Options::default());
    assert!(!listing.contains(".64"), "{listing}");
    assert_eq!(
        run(&shader(&linked), 32).expect("no fault"),
        (0..32).map(|t| 8 * t + 5).collect::<Vec<u32>>()
    );
}

const TWICE: &[Piece] = &[
    kernel(store!(
        "b0:
    rdsv u32 %r0 sv[tid.x]
    call u32 %r1 @poly{%r0}
    call u32 %r2 @poly{%r0}
    call u32 %r3 @poly{%r2}
    add u32 %r9 %r1 %r2"
    )),
    sub("poly", "(%r0) -> r", "b0:\n    mad u32 %r1 %r0 %r0 0x3\n    mad u32 %r2 %r1 %r0 0x5\n    ret {%r2}"),
];

#[test]
fn a_function_that_only_computes_is_called_once_for_equal_arguments_and_not_for_nobody() {
    let poly = |x: u32| (x * x + 3) * x + 5;
    let expected: Vec<u32> = (0..32).map(|t| 2 * poly(t)).collect();
    let whole = closed(&apart(), " input 8", TWICE);
    assert_eq!(run(&whole, 32).expect("no fault"), expected);
    assert_eq!(count(&closed_listing(" input 8", TWICE), "CAL"), 1);
    // Elsewhere, it may do anything.
    let linked = linked(&apart(), " input 8", TWICE);
    assert_eq!(run(&shader(&linked), 32).expect("no fault"), expected);
    let kernel = shader(&linked).kernel();
    let listing =
        nvir::image::listing::print(linked.chip, &[kernel], nvir::image::listing::Options::default());
    assert_eq!(count(&listing, "CAL"), 3, "{listing}");
    // In the same file it is known, whoever else calls it.
    let both = unit(&apart(), &text(" input 8", TWICE, &[0, 1]));
    assert_eq!(both.functions[0].relocs.len(), 1);
}

/// What reads memory may go, but is not the same twice; what writes stays.
#[test]
fn effects_keep_calls() {
    let body = |callee: &'static str| {
        [
            kernel(store!(
                "b0:
    rdsv u32 %r0 sv[tid.x]
    shl u32 %r1 %r0 0x2
    call u32 %r2 @look{%r1}
    st u32 # s[%r1+0x0 align 4] %r0
    call u32 %r3 @look{%r1}
    call u32 %r4 @look{%r3}
    add u32 %r9 %r3 0x0"
            )),
            sub("look", "(%r0) -> r", callee),
        ]
    };
    let reads = body("b0:\n    ld u32 %r1 s[%r0+0x0 align 4]\n    ret {%r1}");
    let listing = closed_listing(" shared 128 input 8", &reads);
    assert_eq!(count(&listing, "CAL"), 1, "{listing}");
    let whole = closed(&apart(), " shared 128 input 8", &reads);
    assert_eq!(run(&whole, 32).expect("no fault"), (0..32).collect::<Vec<u32>>());
    let writes = body("b0:\n    st u32 # s[%r0+0x0 align 4] %r0\n    ret {%r0}");
    assert_eq!(count(&closed_listing(" shared 128 input 8", &writes), "CAL"), 3);
    let endless = body(
        "b0:\n    jump b1\nb1: loop exit b3 cont b2\n    set.eq pred u32 %p1 %r0 0x77\n    jump b2\nb2:\n    if %p1 b3 b1\nb3:\n    ret {%r0}",
    );
    assert_eq!(count(&closed_listing(" shared 128 input 8", &endless), "CAL"), 3);
}

#[test]
fn nothing_stands_behind_a_call_that_never_comes_back() {
    let all = [
        kernel(store!(
            "b0:
    rdsv u32 %r0 sv[tid.x]
    set.lt pred u32 %p1 %r0 0x8
    if %p1 b1 b2 join b2
b1:
    call u32 # @stop{%r0}
    mul u32 %r3 %r0 %r0
    st u32 # g[%r3+0x0 align 4] %r3
    jump b2
b2:
    mov u32 %r9 0x7"
        )),
        sub(
            "stop",
            "(%r0)",
            "b0:
    shl u32 %r1 %r0 0x2
    ld u32 %r2 c0[0x0 align 4]
    add u32 %r3 %r1 %r2
    st u32 # g[%r3+0x0 align 4] 0x2
    exit",
        ),
    ];
    let whole = closed(&apart(), " input 8", &all);
    let expected: Vec<u32> = (0..32).map(|t| if t < 8 { 2 } else { 7 }).collect();
    assert_eq!(run(&whole, 32).expect("no fault"), expected);
    assert!(!closed_listing(" input 8", &all).contains("MUL"));
    let linked = linked(&apart(), " input 8", &all);
    assert_eq!(run(&shader(&linked), 32).expect("no fault"), expected);
    let stop = &linked.kernels[0].functions[0];
    assert_eq!((stop.0.as_str(), stop.1.returns), ("stop", Returns::Never));
}

#[test]
fn branches_on_what_all_lanes_pass_push_nothing() {
    let all = [
        kernel(store!(
            "b0:
    rdsv u32 %r0 sv[tid.x]
    rdsv u32 %r1 sv[ctaid.x]
    call u32 %r9 @pick{%r1 %r0}"
        )),
        sub(
            "pick",
            "(%r0 %r1) -> r",
            "b0:
    set.eq pred u32 %p2 %r0 0x0
    if %p2 b1 b2 join b3
b1:
    mul u32 %r3 %r1 %r1
    st u32 # s[0x0 align 4] %r3
    ld u32 %r30 s[0x4 align 4]
    mul u32 %r31 %r3 %r1
    mul u32 %r32 %r31 %r1
    mul u32 %r33 %r32 %r1
    st u32 # s[0x8 align 4] %r33
    st u32 # s[0x10 align 4] %r32
    jump b3(%r3)
b2:
    st u32 # s[0x4 align 4] %r1
    st u32 # s[0xc align 4] %r0
    mul u32 %r41 %r0 %r1
    mul u32 %r42 %r41 %r1
    mul u32 %r43 %r42 %r1
    st u32 # s[0x14 align 4] %r43
    st u32 # s[0x18 align 4] %r42
    jump b3(%r1)
b3(%r4):
    st u32 # s[0x20 align 4] %r4
    ld u32 %r5 s[0x1c align 4]
    min u32 %r6 %r5 0x0
    add u32 %r7 %r6 %r4
    ret {%r7}",
        ),
    ];
    let head = " shared 64 input 8";
    assert_eq!(count(&closed_listing(head, &all), "SSY"), 0);
    let linked = linked(&apart(), head, &all);
    let kernel = shader(&linked).kernel();
    let listing =
        nvir::image::listing::print(linked.chip, &[kernel], nvir::image::listing::Options::default());
    assert_eq!(count(&listing, "SSY"), 1, "{listing}");
    assert!(linked.kernels[0].facts.diverges);
    for shader in [shader(&linked), closed(&apart(), head, &all)] {
        assert_eq!(run(&shader, 32).expect("no fault"), (0..32).map(|t| t * t).collect::<Vec<u32>>());
    }
}

#[test]
fn the_linker_adds_up_what_functions_use() {
    let all = [
        kernel(store!("b0:\n    rdsv u32 %r0 sv[tid.x]\n    call u32 %r9 @mid{%r0}")),
        sub(
            "mid",
            "(%r0) -> r",
            "b0:\n    rdsv u32 %r1 sv[laneid]\n    call u32 %r2 @low{%r1}\n    add u32 %r3 %r0 %r2\n    ret {%r3}",
        ),
        sub(
            "low",
            "(%r0) -> r",
            "b0:\n    rdsv u32 %r1 sv[ctaid.x]\n    bar.sync u32 # 0x2\n    add u32 %r2 %r0 %r1\n    ret {%r2}",
        ),
    ];
    let compiler = compiler(Chip::Gk110, OptLevel::O3);
    let linked = linked(&compiler, " shared 64 input 8", &all);
    let k = &linked.kernels[0];
    let names: Vec<&str> = k.functions.iter().map(|f| f.0.as_str()).collect();
    assert_eq!(names, ["mid", "low"]);
    assert_eq!(k.facts.special_registers().collect::<Vec<_>>(), ["tid.x", "ctaid.x", "laneid"]);
    assert_eq!((k.facts.barriers, k.kernel.barriers), (3, 3));
    assert_eq!((k.facts.stack, k.kernel.call_stack), (2, 0));
    assert_eq!((k.facts.shared, k.functions[0].1.shared), (64, 0));
    assert_eq!(k.facts.gprs, k.functions.iter().map(|f| f.1.gprs).fold(k.kernel.gprs, u32::max));
    assert_eq!(k.functions[0].1.effects, Effects::Reads);
    assert_eq!(k.functions[1].1.effects, Effects::Any);
    assert_eq!(run(&shader(&linked), 32).expect("no fault"), (0..32).map(|t| 2 * t).collect::<Vec<u32>>());
}
