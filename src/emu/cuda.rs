//! The launch ABI of NVIDIA's CUDA binaries: what the driver puts into the constant banks.
//!
//! | | sm_20 | sm_30, sm_35, sm_37 |
//! |---|---|---|
//! | parameters | `c[0][0x20]` | `c[0][0x140]` |
//! | block, grid size | special registers | `c[0][0x28]`, `c[0][0x34]` |
//! | initial stack pointer | `c[1][0x100]` | `c[0][0x44]` |
//! | shared, local window | `c[0][0x0]`, `c[0][0x4]` | `c[0][0x20]`, `c[0][0x24]` |

use super::{Launch, Program};
use crate::Chip;
use crate::driver::cuda_params;
use crate::image::cubin::Kernel;

impl Program {
    /// The code of one kernel of a cubin.
    pub fn from_cubin(chip: Chip, kernel: &Kernel) -> Program {
        Program::new(chip, &kernel.code)
    }
}

/// Sets up a launch of a cubin's kernel. `params` is the parameter block, laid out by the kernel's own offsets.
/// Local memory gets what the kernel's frames need and 1 KiB of stack on top, as CUDA's default limit is; 16 KiB
/// where recursion leaves the need unknown.
pub fn launch<'a>(
    program: &'a Program,
    kernel: &Kernel,
    grid: [u32; 3],
    block: [u32; 3],
    params: &[u8],
    shared_dynamic: u32,
) -> Launch<'a> {
    let chip = program.chip();
    let mut l = Launch::new(program);
    l.kernel = kernel.name.clone();
    l.grid = grid;
    l.block = block;
    l.gprs = kernel.gprs.clamp(1, chip.gprs());
    l.shared_bytes = kernel.shared.saturating_add(shared_dynamic);
    let frames = if kernel.stack <= chip.max_local() - 1024 { kernel.stack } else { 15 << 10 };
    l.local_bytes = (frames + 1024).next_multiple_of(16);
    for (bank, data) in &kernel.banks {
        l.set_const(*bank as usize, 0, data);
    }
    let base = cuda_params(chip) as usize;
    match chip {
        Chip::Gf100 => {
            l.set_const_u32(0, 0x0, l.shared_window);
            l.set_const_u32(0, 0x4, l.local_window);
            for i in 0..3 {
                l.set_const_u32(0, 0x8 + 4 * i, block[i]);
                l.set_const_u32(0, 0x14 + 4 * i, grid[i]);
            }
            l.set_const_u32(1, 0x100, l.local_bytes);
        }
        Chip::Gk104 | Chip::Gk110 => {
            l.set_const_u32(0, 0x20, l.shared_window);
            l.set_const_u32(0, 0x24, l.local_window);
            for i in 0..3 {
                l.set_const_u32(0, 0x28 + 4 * i, block[i]);
                l.set_const_u32(0, 0x34 + 4 * i, grid[i]);
            }
            l.set_const_u32(0, 0x44, l.local_bytes);
            l.set_const_u32(0, 0x114, shared_dynamic);
        }
    }
    l.set_const(0, base, params);
    let end = base + (kernel.param_bytes as usize).max(params.len());
    l.consts[0].grow(end.min(super::CONST_BANK_BYTES));
    l
}
