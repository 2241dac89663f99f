//! Launches of GF100: everything is in the registers of the compute class. Source: Mesa `nvc0_compute.c`
//! (`nvc0_launch_grid`), `nvc0_tex.c` (`nvc0_validate_suf`), and its recordings.

use super::Request;
use crate::class::compute::*;
use crate::commands::{Subchannel::Compute, halves};
use crate::context::{BANKS, Context};
use crate::setup::STACK_BYTES;
use nvir::driver::surface::{self, View};
use nvir::tiling::Order;

/// Surface slots, and the format word of one that is empty.
const IMAGES: u32 = 8;
const NO_IMAGE: u32 = 0x1_4000;
/// In a surface's height: rows follow each other.
const IMAGE_LINEAR: u32 = 1 << 20;

impl Context {
    pub(super) fn launch_fermi(&mut self, r: &Request) {
        let c = &mut self.commands;
        for index in 0..BANKS as u8 {
            match r.banks.iter().find(|b| b.index == index) {
                Some(bank) => {
                    let [high, low] = halves(bank.address);
                    c.methods(Compute, CB_SIZE, &[bank.size(), high, low]);
                    c.methods(Compute, CB_BIND, &[u32::from(index) << 8 | 1]);
                }
                None => c.methods(Compute, CB_BIND, &[u32::from(index) << 8]),
            }
        }
        for &(slot, [texture, sampler]) in &r.textures {
            c.methods(Compute, BIND_TIC, &[texture << 9 | slot << 1 | 1]);
            c.methods(Compute, BIND_TSC, &[sampler << 12 | slot << 4 | 1]);
        }
        for slot in 0..IMAGES {
            let view = r.images.iter().find(|(n, _)| *n == slot).map(|(_, v)| v);
            c.methods(Compute, IMAGE + IMAGE_STEP * slot, &image(view));
        }
        c.methods(Compute, FLUSH, &[FLUSH_CONSTANTS]);
        c.methods(Compute, CP_START_ID, &[r.entry]);
        c.methods(Compute, LOCAL_POS_ALLOC, &[r.local.next_multiple_of(16), 0, r.stack.max(STACK_BYTES)]);
        let threads = r.block.iter().product();
        c.methods(Compute, SHARED_SIZE, &[r.shared.next_multiple_of(0x100), threads, r.barriers]);
        c.methods(Compute, CP_GPR_ALLOC, &[r.gprs]);
        c.methods(Compute, GRIDID, &[1]);
        c.methods(Compute, UNK_36C, &[0]);
        c.methods(Compute, FLUSH, &[FLUSH_GLOBAL]);
        for (method, [x, y, z]) in [(BLOCKDIM, r.block), (GRIDDIM, r.grid)] {
            c.methods(Compute, method, &[y << 16 | x, z]);
        }
        c.methods(Compute, BEGIN, &[0]);
        c.methods(Compute, UNK_A08, &[0]);
        c.methods(Compute, LAUNCH_FERMI, &[0x1000]);
        c.methods(Compute, END, &[0]);
        c.methods(Compute, UNK_360, &[1]);
        c.methods(Compute, SERIALIZE, &[0]);
    }
}

/// Address, width, height, format, block size.
fn image(view: Option<&View>) -> [u32; 6] {
    let none = [0, 0, 0, 0, NO_IMAGE, 0];
    let Some(view) = view else { return none };
    let slot = surface::slot(view);
    let code = u32::from(view.format.fermi_code());
    let [high, low] = halves(slot.address);
    let (linear, tile) = match slot.order {
        Order::Pitch => (IMAGE_LINEAR, 0),
        Order::Blocks(tile) => (0, tile.0 & 0xf0),
    };
    [high, low, slot.width, slot.height | linear, code << 4 | NO_IMAGE, tile]
}
