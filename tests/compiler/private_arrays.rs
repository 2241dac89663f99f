//! Private arrays become registers where copies of the loops over them know every element's address,
//! and what they compute stays the same.

use nvir::Chip;
use nvir::compiler::Options;
use nvir::ir::{Op, Program, Space, parse};
use nvir::opt::{Session, Stage};
use nvir_reference::eval::{self, Machine};

/// Where the results go, and where the first operand is.
const PLACE: u64 = 0x1000_0000;

/// Fills an array of `n` words, changes each by one at an index that a division makes, and sums them
/// up; `index` is what it is read at last.
fn program(n: u32, index: &str) -> Program {
    let end = 4 * n;
    let text = format!(
        "program
kernel k() local {end} {{
b0:
    ld u32 %r0 c0[0x0 align 4]
    ld u32 %r1 c0[0x4 align 4]
    ld u32 %r2 g[{{%r0 %r1}}+0x0 align 4]
    and u32 %r3 %r2 0x3c
    mov u32 %r4 0x0
    jump b1(%r4)
b1(%r5): loop exit b3 cont b2
    set.ge pred u32 %p6 %r5 {n:#x}
    if %p6 b3 b2
b2:
    mul u32 %r7 %r5 %r2
    shl u32 %r8 %r5 0x2
    st u32 # l[%r8+0x0 align 4] %r7
    add u32 %r9 %r5 0x1
    jump b1(%r9)
b3:
    jump b4(%r4)
b4(%r10): loop exit b6 cont b5
    set.ge pred u32 %p11 %r10 {n:#x}
    if %p11 b6 b5
b5:
    mul u32 %r12 %r10 0x7
    mod u32 %r13 %r12 {n:#x}
    shl u32 %r14 %r13 0x2
    ld u32 %r15 l[%r14+0x0 align 4]
    shl u32 %r16 %r10 0x2
    ld u32 %r17 l[%r16+0x0 align 4]
    xor u32 %r18 %r15 %r17
    add u32 %r19 %r18 %r2
    st u32 # l[%r16+0x0 align 4] %r19
    add u32 %r20 %r10 0x1
    jump b4(%r20)
b6:
    jump b7(%r4 %r4)
b7(%r21 %r22): loop exit b9 cont b8
    set.ge pred u32 %p23 %r21 {n:#x}
    if %p23 b9 b8
b8:
    shl u32 %r24 %r21 0x2
    ld u32 %r25 l[%r24+0x0 align 4]
    mad u32 %r26 %r22 0x21 %r25
    add u32 %r27 %r21 0x1
    jump b7(%r27 %r26)
b9:
    ld u32 %r28 l[{index} align 4]
    st u32 # g[{{%r0 %r1}}+0x4 align 4] %r22
    st u32 # g[{{%r0 %r1}}+0x8 align 4] %r28
    exit
}}
"
    );
    parse::program(&text).unwrap_or_else(|e| panic!("{e:?}\n{text}"))
}

fn results(p: &Program, operand: u32) -> [u32; 2] {
    let mut m = Machine::new(100_000);
    m.words.insert((Space::Global, PLACE), operand);
    eval::run(p, &mut m).unwrap_or_else(|e| panic!("{e}\n{p}"));
    [4, 8].map(|k| m.words.get(&(Space::Global, PLACE + k)).copied().unwrap_or(0))
}

fn local_accesses(p: &Program) -> usize {
    let f = &p.funcs[p.entry];
    let is_local = |i: &&nvir::ir::Inst| {
        matches!(i.op, Op::Ld | Op::St) && i.mem.is_some_and(|m| m.space == Space::Local)
    };
    f.insts_in_order().map(|(_, i)| &f.insts[i]).filter(is_local).count()
}

#[test]
fn arrays_become_registers_where_all_addresses_are_known() {
    for (n, index, known) in [(100, "0x10", true), (300, "0x4a0", true), (100, "%r3+0x0", false)] {
        let before = program(n, index);
        let mut after = before.clone();
        let options = Options::default();
        Session::new().run(Stage::Front, &mut after, Chip::Gk110, &options).expect("passes");
        assert_eq!(local_accesses(&after) == 0, known, "{n} words, read at {index}");
        for operand in [0, 1, 0x1234_5678, u32::MAX] {
            assert_eq!(results(&before, operand), results(&after, operand), "{n} words, {operand:#x}");
        }
    }
}
