//! Launches of GF100: everything is in the registers of the compute class.

use super::request::{Request, State};
use crate::engine::registers::Registers;
use crate::image::surface_format::SurfaceFormat;
use nvir_base::tiling::{Order, TileMode};
use nvir_hw::method::Family;
use nvir_hw::method::bindings::*;
use nvir_hw::method::fermi_compute::*;
use nvir_hw::method::shader::CODE_ADDRESS_HIGH;
use nvir_hw::surface::Slot;
use nvir_hw::word::{ImageFormat, ImageHeight};

pub(super) fn request(state: &State) -> Request {
    let get = |m: u32| state.regs.get(m);
    let halves = |m: u32| [get(m) & 0xffff, get(m) >> 16];
    let xyz = |yx: u32, z: u32| {
        let [x, y] = halves(yx);
        [x, y, get(z) & 0xffff]
    };
    Request {
        code: state.regs.address(CODE_ADDRESS_HIGH),
        entry: get(CP_START_ID),
        grid: xyz(GRIDDIM_YX, GRIDDIM_Z),
        block: xyz(BLOCKDIM_YX, BLOCKDIM_Z),
        gprs: get(CP_GPR_ALLOC),
        shared: get(SHARED_SIZE),
        local: u64::from(get(LOCAL_POS_ALLOC)) + u64::from(get(LOCAL_NEG_ALLOC)),
        banks: state.bindings.banks.to_vec(),
        releases: [None; 2],
    }
}

/// The surface slots; without a format that a surface can have, there is none.
pub(crate) fn surfaces(regs: &Registers) -> Vec<Option<Slot>> {
    (0..IMAGE_FORMAT.count).map(|i| surface(regs, i)).collect()
}

fn surface(regs: &Registers, i: u32) -> Option<Slot> {
    let get = |methods: Family| regs.get(methods.at(i));
    let (width, tile) = (get(IMAGE_WIDTH), get(IMAGE_TILE_MODE));
    let height = ImageHeight::from_bits(get(IMAGE_HEIGHT));
    let texel = SurfaceFormat::from_code(ImageFormat::from_bits(get(IMAGE_FORMAT)).color())?.format();
    let order = if height.linear() { Order::Pitch } else { Order::Blocks(TileMode(tile & 0xff0)) };
    let address = regs.address(IMAGE_ADDRESS_HIGH.at(i));
    Some(Slot { address, width, height: height.rows(), texel, order })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shader::Bank;

    #[test]
    fn every_field_is_in_its_register() {
        let mut state = State::default();
        for (register, value) in [
            (CODE_ADDRESS_HIGH, 0x12),
            (CODE_ADDRESS_HIGH + 4, 0x3456_7800),
            (LOCAL_POS_ALLOC, 0x120),
            (LOCAL_NEG_ALLOC, 0x10),
            (GRIDDIM_YX, 0x0002_0003),
            (GRIDDIM_Z, 4),
            (SHARED_SIZE, 0x400),
            (CP_GPR_ALLOC, 20),
            (BLOCKDIM_YX, 0x0005_0006),
            (BLOCKDIM_Z, 7),
            (CP_START_ID, 0x180),
        ] {
            state.regs.set(register, value);
        }
        state.bindings.banks[15] = Some(Bank { address: 0x100, size: 32 });
        let got = request(&state);
        let mut banks = vec![None; state.bindings.banks.len()];
        banks[15] = state.bindings.banks[15];
        let expected = Request {
            code: 0x12_3456_7800,
            entry: 0x180,
            grid: [3, 2, 4],
            block: [6, 5, 7],
            gprs: 20,
            shared: 0x400,
            local: 0x130,
            banks,
            releases: [None; 2],
        };
        assert_eq!(got, expected);
    }

    #[test]
    fn surfaces_are_what_the_registers_say() {
        let mut state = State::default();
        let mut set = |i: u32, words: [u32; 6]| {
            words
                .iter()
                .enumerate()
                .for_each(|(n, w)| state.regs.set(IMAGE_ADDRESS_HIGH.at(i) + 4 * n as u32, *w))
        };
        set(0, [0, 0, 0, 0, 0x14000, 0]);
        set(1, [1, 0x2000, 64, 32, 0x14000 | 0xe4 << 4, 0x20]);
        set(7, [0, 0x3000, 256, 1 << 20 | 1, 0xd5 << 4, 0]);
        let got = surfaces(&state.regs);
        let slot = |address, width, height, format: &str, order| {
            Some(Slot {
                address,
                width,
                height,
                texel: format.parse::<nvir_base::format::Format>().expect("a format").layout(),
                order,
            })
        };
        assert_eq!(got.len(), 8);
        assert_eq!(got[0], None);
        assert_eq!(got[1], slot(0x1_0000_2000, 64, 32, "r32ui", Order::Blocks(TileMode(0x20))));
        assert_eq!(got[7], slot(0x3000, 256, 1, "rgba8", Order::Pitch));
    }
}
