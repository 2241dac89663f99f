//! Kernels whose tail runs with all lanes of every warp ([`Op::WholeWarp`]).
//!
//! ```text
//! wholewarp pred %p0             rdsv u32 %r1 sv[tid.x]             the block is launched as whole warps, in x alone
//! rdsv u32 %r2 sv[tid.y]         set.lt pred u32 %p0 %r1 0x23       asked for: below 5 * 7, the real size
//!                                div u32 %r2 %r1 0x5
//! ```
//!
//! The machine is told a block of one dimension, its size rounded up to a multiple of 32
//! ([`driver::whole_warps`]). So a thread's number is `tid.x`, its coordinates follow from the real
//! size, and the real size itself is a constant where the program declares it, else words of the
//! driver's bank (on Fermi, too, where the special registers have the rounded one). Lanes that
//! nobody asked for have the coordinates with which the block would go on in its last dimension of
//! more than one thread; so the number of a thread that is computed from its coordinates is right
//! for all lanes.
//!
//! This comes before every pass. From here on `%p0` is a predicate like any other, and what is true
//! of the tail holds by construction: see `docs/whole-warps.md`.
//!
//! [`driver::whole_warps`]: crate::driver::whole_warps

use crate::driver::Abi;
use crate::ir::build::Builder;
use crate::ir::expand::expand;
use crate::ir::*;

/// Lowers a program that asks which lanes were asked for; others stay as they are.
pub(crate) fn run(p: &mut Program, abi: &Abi) {
    let asks = |f: &Function| f.ops.contains(Op::WholeWarp);
    let entry = &p.funcs[p.entry];
    if !asks(entry) || !entry.insts_in_order().any(|(_, i)| entry.insts[i].op == Op::WholeWarp) {
        return;
    }
    p.whole_warps = true;
    let block = BlockSize { abi, fixed: p.whole_block() };
    for f in p.funcs.values_mut() {
        expand(f, concerns, |b, i| lower(b, i, &block));
    }
}

fn concerns(i: &Inst) -> bool {
    i.op == Op::WholeWarp || i.op == Op::Rdsv && matches!(i.aux, Aux::Sv(sv) if describes_block(sv))
}

/// Whether a system value is about the block, of which the machine's special registers say
/// something else.
fn describes_block(sv: Sv) -> bool {
    use Sv::*;
    matches!(sv, TidX | TidY | TidZ | NtidX | NtidY | NtidZ | WarpId | NumWarps)
}

/// Where the real size is.
struct BlockSize<'a> {
    abi: &'a Abi,
    fixed: Option<[u32; 3]>,
}

impl BlockSize<'_> {
    /// Threads in dimension `d`.
    fn size(&self, d: usize) -> Src {
        match self.fixed {
            Some(size) => Src::imm(size[d]),
            None => Src::cbuf(self.abi.aux_bank, self.abi.grid_info + 4 * d as u16),
        }
    }

    /// Threads of the block.
    fn threads(&self, b: &mut Builder<'_>) -> Src {
        if let Some([x, y, z]) = self.fixed {
            return Src::imm(x * y * z);
        }
        let row = b.mov(self.size(0));
        let plane = b.mul(Type::U32, row, self.size(1));
        b.mul(Type::U32, plane, self.size(2)).into()
    }
}

fn lower(b: &mut Builder<'_>, i: &Inst, block: &BlockSize<'_>) -> bool {
    let Some(&d) = i.dsts.first() else { return false };
    // The number of the thread, since the block is launched in one dimension.
    let thread = b.sv(Sv::TidX);
    if i.op == Op::WholeWarp {
        let threads = block.threads(b);
        let mut asked = Inst::new(Op::Set, Type::Pred).src(thread).src(threads).dst(d);
        (asked.cond, asked.sty) = (Cond::Lt, Type::U32);
        b.push(asked);
        return true;
    }
    let value = match i.aux {
        Aux::Sv(Sv::NtidX) => block.size(0),
        Aux::Sv(Sv::NtidY) => block.size(1),
        Aux::Sv(Sv::NtidZ) => block.size(2),
        Aux::Sv(Sv::WarpId) => b.op2(Op::Shr, Type::U32, thread, 5u32).into(),
        Aux::Sv(Sv::NumWarps) => {
            let threads = block.threads(b);
            let up = b.add(Type::U32, threads, 31u32);
            b.op2(Op::Shr, Type::U32, up, 5u32).into()
        }
        Aux::Sv(sv) => {
            let at = match block.fixed {
                Some(size) => of_fixed(b, thread, size),
                None => coordinates(b, thread, block),
            };
            at[match sv {
                Sv::TidX => 0,
                Sv::TidY => 1,
                _ => 2,
            }]
        }
        _ => return false,
    };
    b.push(Inst::new(Op::Mov, Type::U32).src(value).dst(d));
    true
}

/// The coordinates of a thread in a block of known size.
fn of_fixed(b: &mut Builder<'_>, thread: ValueId, [x, y, z]: [u32; 3]) -> [Src; 3] {
    if y == 1 && z == 1 {
        return [thread.into(), Src::imm(0), Src::imm(0)];
    }
    let (column, row) = divide(b, thread, x);
    if z == 1 {
        return [column, row, Src::imm(0)];
    }
    let row = b.mov(row);
    let (row, plane) = divide(b, row, y);
    [column, row, plane]
}

/// Remainder and quotient by a known size.
fn divide(b: &mut Builder<'_>, n: ValueId, by: u32) -> (Src, Src) {
    let rest = b.op2(Op::Mod, Type::U32, n, by);
    (rest.into(), b.op2(Op::Div, Type::U32, n, by).into())
}

/// The coordinates of a thread in a block whose size the driver says: with a reciprocal, which is
/// exact enough. Thread and sizes are at most 1024, so `(n + 0.5) / size` is at least `1 / 2048` of
/// itself away from the next integer, and off by a few units of `2^-23`.
fn coordinates(b: &mut Builder<'_>, thread: ValueId, block: &BlockSize<'_>) -> [Src; 3] {
    let [x, y, z] = [0, 1, 2].map(|d| b.mov(block.size(d)));
    let others = b.mul(Type::U32, y, z);
    let mut divide = |n: ValueId, by: ValueId, beyond: ValueId| {
        let float = b.cvt(Type::F32, Type::U32, n);
        let middle = b.add(Type::F32, float, 0.5f32.to_bits());
        let size = b.cvt(Type::F32, Type::U32, by);
        let inverse = b.op1(Op::Rcp, Type::F32, size);
        let quotient = b.mul(Type::F32, middle, inverse);
        let mut whole = Inst::new(Op::Cvt, Type::U32).src(quotient);
        (whole.sty, whole.rnd) = (Type::F32, Rnd::Zero);
        let quotient = b.value(whole);
        // The block goes on in its last dimension.
        let last = b.setp(Cond::Eq, Type::U32, beyond, 1u32);
        let quotient = b.sel(last, 0u32, quotient);
        let whole = b.mul(Type::U32, quotient, by);
        (b.op2(Op::Sub, Type::U32, n, whole), quotient)
    };
    let (column, row) = divide(thread, x, others);
    let (row, plane) = divide(row, y, z);
    [column.into(), row.into(), plane.into()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chip::Chip;
    use crate::ir::parse;
    use crate::verify;

    fn lowered(block: &str) -> Program {
        let text = format!(
            "program{block}\nkernel k() {{\nb0:\n    rdsv u32 %r1 sv[tid.y]\n    rdsv u32 %r2 sv[ntid.x]\n    wholewarp pred %p0\n    if %p0 b1 b2 join b2\n\
             b1:\n    st u32 # g[{{%r1 %r1}}+0x0 align 4] %r2\n    jump b2\nb2:\n    exit\n}}\n"
        );
        let mut p = parse::program(&text).expect("valid text");
        verify::program(&p, Phase::Front).expect("valid");
        run(&mut p, &Abi::nvc0(Chip::Gf100));
        verify::program(&p, Phase::Front).unwrap_or_else(|v| panic!("{v}\n{p}"));
        p
    }

    #[test]
    fn a_declared_block_is_launched_in_one_dimension_and_its_size_is_a_constant() {
        let p = lowered(" block 5 7 1");
        assert_eq!((p.block_size, p.launched_block()), (Some([5, 7, 1]), Some([64, 1, 1])));
        let text = p.to_string();
        assert!(text.starts_with("program block 5 7 1 wholewarps\n"), "{text}");
        assert!(text.contains("set.lt pred u32 %p0 %r8 0x23") || text.contains(" 0x23\n"), "{text}");
        assert!(text.contains("mov u32 %r2 0x5") && !text.contains("tid.y"), "{text}");
        assert_eq!(parse::program(&text).expect("it reads back").to_string(), text);
    }

    #[test]
    fn a_size_that_the_launch_gives_is_read_from_the_drivers_bank_on_fermi_too() {
        let p = lowered("");
        assert_eq!((p.whole_warps, p.launched_block()), (true, None));
        let text = p.to_string();
        assert!(text.contains("mov u32 %r2 c15[0x100]") && !text.contains("sv[ntid"), "{text}");
    }

    #[test]
    fn other_programs_stay_as_they_are() {
        let text = "program block 5 7 1\n\nkernel k() {\nb0:\n    rdsv u32 %r1 sv[tid.y]\n    exit\n}\n";
        let mut p = parse::program(text).expect("valid text");
        run(&mut p, &Abi::nvc0(Chip::Gk104));
        assert_eq!(p.to_string(), text);
    }
}
