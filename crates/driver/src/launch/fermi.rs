//! Launches of GF100: everything is in the registers of the compute class. Source: Mesa `nvc0_compute.c`
//! (`nvc0_launch_grid`), `nvc0_tex.c` (`nvc0_validate_suf`), and its recordings.

use super::Request;
use crate::commands::{Subchannel::Compute, halves};
use crate::context::{BANKS, Context};
use crate::setup::STACK_BYTES;
use nvir::hw::surface::{self, View};
use nvir::tiling::Order;
use nvir_hw::method::bindings::{CB_SIZE, IMAGE_ADDRESS_HIGH};
use nvir_hw::method::compute::FLUSH;
use nvir_hw::method::fermi_compute::*;
use nvir_hw::method::shader::SERIALIZE;
use nvir_hw::word::{BindTic, BindTsc, CbBind, ImageFormat, ImageHeight, flush};

/// The format word of a surface slot that is empty, as Mesa has it.
const NO_IMAGE: ImageFormat = ImageFormat::new().with_zeta(0x14);

impl Context {
    pub(super) fn launch_fermi(&mut self, r: &Request) {
        let c = &mut self.commands;
        for index in 0..BANKS as u8 {
            let bind = CbBind::new().with_index(index.into());
            match r.banks.iter().find(|b| b.index == index) {
                Some(bank) => {
                    let [high, low] = halves(bank.address);
                    c.methods(Compute, CB_SIZE, &[bank.size(), high, low]);
                    c.methods(Compute, CB_BIND, &[bind.with_valid(true).into()]);
                }
                None => c.methods(Compute, CB_BIND, &[bind.into()]),
            }
        }
        for &(slot, [texture, sampler]) in &r.textures {
            let texture = BindTic::new().with_valid(true).with_slot(slot).with_entry(texture);
            let sampler = BindTsc::new().with_valid(true).with_slot(slot).with_entry(sampler);
            c.methods(Compute, BIND_TIC, &[texture.into()]);
            c.methods(Compute, BIND_TSC, &[sampler.into()]);
        }
        for slot in 0..IMAGE_ADDRESS_HIGH.count {
            let view = r.images.iter().find(|(n, _)| *n == slot).map(|(_, v)| v);
            c.methods(Compute, IMAGE_ADDRESS_HIGH.at(slot), &image_slot(view));
        }
        c.methods(Compute, FLUSH, &[flush::CONSTANTS]);
        c.methods(Compute, CP_START_ID, &[r.entry]);
        c.methods(Compute, LOCAL_POS_ALLOC, &[r.local.next_multiple_of(16), 0, r.stack.max(STACK_BYTES)]);
        let threads = r.block.iter().product();
        c.methods(Compute, SHARED_SIZE, &[r.shared.next_multiple_of(0x100), threads, r.barriers]);
        c.methods(Compute, CP_GPR_ALLOC, &[r.gprs]);
        c.methods(Compute, GRIDID, &[1]);
        c.methods(Compute, UNK036C, &[0]);
        c.methods(Compute, FLUSH, &[flush::GLOBAL]);
        for (method, [x, y, z]) in [(BLOCKDIM_YX, r.block), (GRIDDIM_YX, r.grid)] {
            c.methods(Compute, method, &[y << 16 | x, z]);
        }
        c.methods(Compute, COMPUTE_BEGIN, &[0]);
        c.methods(Compute, UNK0A08, &[0]);
        c.methods(Compute, LAUNCH, &[0x1000]);
        c.methods(Compute, COMPUTE_END, &[0]);
        c.methods(Compute, UNK0360, &[1]);
        c.methods(Compute, SERIALIZE, &[0]);
    }
}

/// Address, width, height, format, block size.
pub(crate) fn image_slot(view: Option<&View>) -> [u32; 6] {
    let none = [0, 0, 0, 0, NO_IMAGE.into(), 0];
    let Some(view) = view else { return none };
    let slot = surface::slot(view);
    let code = u32::from(view.format.fermi_code());
    let [high, low] = halves(slot.address);
    let (linear, tile) = match slot.order {
        Order::Pitch => (true, 0),
        Order::Blocks(tile) => (false, tile.0 & 0xf0),
    };
    let height = ImageHeight::new().with_rows(slot.height).with_linear(linear);
    [high, low, slot.width, height.into(), NO_IMAGE.with_color(code).into(), tile]
}
