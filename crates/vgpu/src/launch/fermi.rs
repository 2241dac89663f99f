//! Launches of GF100: everything is in the registers of the compute class.

use super::{Request, method};
use crate::colour::Colour;
use crate::compute::State;
use nvir::driver::surface::Slot;
use nvir::tiling::{Order, TileMode};

const LOCAL_POS_ALLOC: u32 = 0x204;
const LOCAL_NEG_ALLOC: u32 = 0x208;
const GRIDDIM_YX: u32 = 0x238;
const GRIDDIM_Z: u32 = 0x23c;
const SHARED_SIZE: u32 = 0x24c;
const CP_GPR_ALLOC: u32 = 0x2c0;
const BLOCKDIM_YX: u32 = 0x3ac;
const BLOCKDIM_Z: u32 = 0x3b0;
const CP_START_ID: u32 = 0x3b4;
/// IMAGE(i): address high and low, width, height, format, tile mode.
const IMAGE: u32 = 0x2700;
const IMAGE_STEP: u32 = 0x20;
/// Surface slots.
const IMAGES: u32 = 8;
/// In the height: rows follow each other.
const IMAGE_LINEAR: u32 = 1 << 20;

pub(super) fn request(state: &State) -> Request {
    let get = |m: u32| state.regs.get(m);
    let halves = |m: u32| [get(m) & 0xffff, get(m) >> 16];
    let xyz = |yx: u32, z: u32| {
        let [x, y] = halves(yx);
        [x, y, get(z) & 0xffff]
    };
    Request {
        code: state.regs.address(method::CODE_ADDRESS),
        entry: get(CP_START_ID),
        grid: xyz(GRIDDIM_YX, GRIDDIM_Z),
        block: xyz(BLOCKDIM_YX, BLOCKDIM_Z),
        gprs: get(CP_GPR_ALLOC),
        shared: get(SHARED_SIZE),
        local: u64::from(get(LOCAL_POS_ALLOC)) + u64::from(get(LOCAL_NEG_ALLOC)),
        banks: state.banks.to_vec(),
        releases: [None; 2],
    }
}

/// The surface slots; without a format that a surface can have, there is none.
pub(super) fn surfaces(state: &State) -> Vec<Option<Slot>> {
    (0..IMAGES).map(|i| surface(state, IMAGE + IMAGE_STEP * i)).collect()
}

fn surface(state: &State, at: u32) -> Option<Slot> {
    let get = |n: u32| state.regs.get(at + 4 * n);
    let (height, tile) = (get(3), get(5));
    let texel = Colour::from_code(get(4) >> 4 & 0xff)?.format();
    let order = if height & IMAGE_LINEAR != 0 { Order::Pitch } else { Order::Blocks(TileMode(tile & 0xff0)) };
    Some(Slot { address: state.regs.address(at), width: get(2), height: height & 0xf_ffff, texel, order })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compute::Bank;

    #[test]
    fn every_field_is_in_its_register() {
        let mut state = State::default();
        for (register, value) in [
            (method::CODE_ADDRESS, 0x12),
            (method::CODE_ADDRESS + 4, 0x3456_7800),
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
        state.banks[15] = Some(Bank { address: 0x100, size: 32 });
        let got = request(&state);
        let mut banks = vec![None; crate::compute::BANKS];
        banks[15] = state.banks[15];
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
                .for_each(|(n, w)| state.regs.set(IMAGE + IMAGE_STEP * i + 4 * n as u32, *w))
        };
        set(0, [0, 0, 0, 0, 0x14000, 0]);
        set(1, [1, 0x2000, 64, 32, 0x14000 | 0xe4 << 4, 0x20]);
        set(7, [0, 0x3000, 256, IMAGE_LINEAR | 1, 0xd5 << 4, 0]);
        let got = surfaces(&state);
        let slot = |address, width, height, format: &str, order| {
            Some(Slot { address, width, height, format: format.parse().expect("a format"), order })
        };
        assert_eq!(got.len(), 8);
        assert_eq!(got[0], None);
        assert_eq!(got[1], slot(0x1_0000_2000, 64, 32, "r32ui", Order::Blocks(TileMode(0x20))));
        assert_eq!(got[7], slot(0x3000, 256, 1, "rgba8", Order::Pitch));
    }
}
