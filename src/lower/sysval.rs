//! System values that the chip has no special register for.
//!
//! On Kepler the sizes of block and grid are words of the driver's constant bank; a block size that
//! is declared, or known of all launches, is a constant everywhere, and so is a known number of
//! dimensions. The number of a warp, and how many there are, follow from the thread's coordinates:
//! the hardware packs threads into warps in x, then y, then z.

use crate::driver::Abi;
use crate::ir::build::Builder;
use crate::ir::expand::expand;
use crate::ir::*;

/// Whether an instruction reads a system value that not every chip has a special register for.
pub(crate) fn concerns(i: &Inst) -> bool {
    matches!(i.aux, Aux::Sv(sv) if i.op == Op::Rdsv && !sv.is_special_register())
}

/// Lowers all reads of system values of a function to special registers, constant memory and
/// arithmetic.
pub(crate) fn run(f: &mut Function, abi: &Abi, block_size: Option<[u32; 3]>, work_dim: Option<u32>) -> bool {
    expand(f, concerns, |b, i| {
        let (Op::Rdsv, Aux::Sv(sv)) = (i.op, i.aux) else { return false };
        let Some(&d) = i.dsts.first() else { return false };
        let sizes = LaunchSizes { abi, block_size, work_dim };
        let value = match sv {
            Sv::WarpId => warp_id(b, &sizes),
            Sv::NumWarps => warp_count(b, &sizes),
            _ => match sizes.operand(sv) {
                Some(s) => s,
                None => return false,
            },
        };
        b.push(Inst::new(Op::Mov, Type::U32).src(value).dst(d));
        true
    })
}

/// Where sizes are.
struct LaunchSizes<'a> {
    abi: &'a Abi,
    block_size: Option<[u32; 3]>,
    work_dim: Option<u32>,
}

impl LaunchSizes<'_> {
    /// An operand for a system value that is not in a special register.
    fn operand(&self, sv: Sv) -> Option<Src> {
        let word = match sv {
            Sv::NtidX => 0,
            Sv::NtidY => 1,
            Sv::NtidZ => 2,
            Sv::NctaidX => 3,
            Sv::NctaidY => 4,
            Sv::NctaidZ => 5,
            Sv::Gridid => 6,
            Sv::WorkDim => 7,
            _ => return None,
        };
        if let (Some(size), 0..3) = (self.block_size, word)
            && size[word] != 0
        {
            return Some(Src::imm(size[word]));
        }
        if let (Some(dimensions), Sv::WorkDim) = (self.work_dim, sv) {
            return Some(Src::imm(dimensions));
        }
        if self.abi.sizes_in_sregs && sv != Sv::WorkDim {
            return None;
        }
        Some(Src::cbuf(self.abi.aux_bank, self.abi.grid_info + 4 * word as u16))
    }

    fn read(&self, b: &mut Builder<'_>, sv: Sv) -> Src {
        self.operand(sv).unwrap_or_else(|| b.sv(sv).into())
    }
}

fn warp_id(b: &mut Builder<'_>, sizes: &LaunchSizes<'_>) -> Src {
    let (nx, ny) = (sizes.read(b, Sv::NtidX), sizes.read(b, Sv::NtidY));
    let (x, y, z) = (b.sv(Sv::TidX), b.sv(Sv::TidY), b.sv(Sv::TidZ));
    let row = b.op3(Op::Mad, Type::U32, z, ny, y);
    let thread = b.op3(Op::Mad, Type::U32, row, nx, x);
    b.op2(Op::Shr, Type::U32, thread, 5u32).into()
}

fn warp_count(b: &mut Builder<'_>, sizes: &LaunchSizes<'_>) -> Src {
    let [x, y, z] = [Sv::NtidX, Sv::NtidY, Sv::NtidZ].map(|sv| sizes.read(b, sv));
    let plane = b.mul(Type::U32, x, y);
    let threads = b.op3(Op::Mad, Type::U32, plane, z, 31u32);
    b.op2(Op::Shr, Type::U32, threads, 5u32).into()
}
