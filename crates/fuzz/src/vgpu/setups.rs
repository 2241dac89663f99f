//! Engines set up at random: registers with values of their kind, and the method that starts the work.

use super::values;
use nvir::Chip;
use nvir::random::Random;
use nvir_hw::Class;
use nvir_hw::method::{Effect, Method};
use nvir_hw::method::{
    bindings, channel, condition, copy, fermi_compute, kepler_compute, m2mf, macros, query, shader, three_d,
    two_d, upload,
};
use nvir_hw::push::{Header, kind};

#[derive(Clone, Copy)]
enum Kind {
    /// Two words.
    Address,
    /// A number that is small, mostly.
    Small,
    /// Of bytes, texels or rows.
    Size,
    Tile,
    /// Number of a colour format or of a depth format.
    Format,
    /// Two halves: first, how many.
    Range,
    Bits,
    /// One of a few words.
    Of(&'static [u32]),
    /// The high half of a 32.32 number.
    Step,
}

use Kind::{Address, Bits, Format, Of, Range, Size, Small, Step, Tile};

type Setup = &'static [(u32, Kind)];

const CLEAR: Setup = &[
    (three_d::RT_ADDRESS_HIGH.at(0), Address),
    (three_d::RT_HORIZ.at(0), Size),
    (three_d::RT_VERT.at(0), Size),
    (three_d::RT_FORMAT.at(0), Format),
    (three_d::RT_TILE_MODE.at(0), Tile),
    (three_d::RT_ARRAY_MODE.at(0), Small),
    (three_d::RT_LAYER_STRIDE.at(0), Size),
    (three_d::RT_BASE_LAYER.at(0), Small),
    (three_d::CLEAR_COLOR.at(0), Bits),
    (three_d::CLEAR_DEPTH, Bits),
    (three_d::CLEAR_STENCIL, Small),
    (three_d::ZETA_ADDRESS_HIGH, Address),
    (three_d::ZETA_FORMAT, Of(&[0xa, 0x13, 0x14, 0x15, 0x16, 0x19, 0])),
    (three_d::ZETA_TILE_MODE, Tile),
    (three_d::ZETA_LAYER_STRIDE, Size),
    (three_d::SCREEN_SCISSOR_HORIZ, Range),
    (three_d::SCREEN_SCISSOR_VERT, Range),
    (three_d::ZETA_HORIZ, Size),
    (three_d::ZETA_VERT, Size),
    (three_d::ZETA_ARRAY_MODE, Small),
    (three_d::MULTISAMPLE_MODE, Small),
    (three_d::ZETA_BASE_LAYER, Small),
    (three_d::CLEAR_BUFFERS, Of(&[0x3c, 0x3, 0x3f, 0x4, 0x28, 0x43c, 0x83f, 0x7c, 0x1, 0x2])),
];
const QUERY: Setup = &[
    (query::QUERY_ADDRESS_HIGH, Address),
    (query::QUERY_SEQUENCE, Bits),
    (query::QUERY_GET, Of(&[0x1000_f010, 0x5002, 0x0900_5002, 0x1, 0x2])),
];
const CONSTANTS: Setup = &[
    (bindings::CB_SIZE, Size),
    (bindings::CB_ADDRESS_HIGH, Address),
    (bindings::CB_POS, Size),
    (bindings::CB_DATA.at(0), Bits),
    (bindings::CB_DATA.at(1), Bits),
    (fermi_compute::CB_BIND, Small),
];
const CONDITION: Setup = &[
    (condition::COND_ADDRESS_HIGH, Address),
    (condition::COND_MODE, Small),
    (three_d::CLEAR_BUFFERS, Of(&[0x3c])),
];
const UPLOAD: Setup = &[
    (upload::UPLOAD_LINE_LENGTH_IN, Size),
    (upload::UPLOAD_LINE_COUNT, Small),
    (upload::UPLOAD_DST_ADDRESS_HIGH, Address),
    (upload::UPLOAD_DST_PITCH, Size),
    (upload::UPLOAD_DST_TILE_MODE, Tile),
    (upload::UPLOAD_DST_WIDTH, Size),
    (upload::UPLOAD_DST_HEIGHT, Size),
    (upload::UPLOAD_DST_DEPTH, Small),
    (upload::UPLOAD_DST_Z, Small),
    (upload::UPLOAD_DST_X, Small),
    (upload::UPLOAD_DST_Y, Small),
    (upload::UPLOAD_EXEC, Of(&[0x1001, 0x1000, 0, 1])),
    (upload::UPLOAD_DATA, Bits),
    (upload::UPLOAD_DATA, Bits),
];
const M2MF: Setup = &[
    (m2mf::TILING_MODE_IN, Tile),
    (m2mf::TILING_PITCH_IN, Size),
    (m2mf::TILING_HEIGHT_IN, Size),
    (m2mf::TILING_DEPTH_IN, Small),
    (m2mf::TILING_POSITION_IN_Z, Small),
    (m2mf::TILING_MODE_OUT, Tile),
    (m2mf::TILING_PITCH_OUT, Size),
    (m2mf::TILING_HEIGHT_OUT, Size),
    (m2mf::TILING_DEPTH_OUT, Small),
    (m2mf::TILING_POSITION_OUT_Z, Small),
    (m2mf::OFFSET_OUT_HIGH, Address),
    (m2mf::OFFSET_IN_HIGH, Address),
    (m2mf::PITCH_IN, Size),
    (m2mf::PITCH_OUT, Size),
    (m2mf::LINE_LENGTH_IN, Size),
    (m2mf::LINE_COUNT, Size),
    (m2mf::QUERY_ADDRESS_HIGH, Address),
    (m2mf::QUERY_SEQUENCE, Bits),
    (m2mf::TILING_POSITION_IN_X, Small),
    (m2mf::TILING_POSITION_IN_Y, Small),
    (m2mf::TILING_POSITION_OUT_X, Small),
    (m2mf::TILING_POSITION_OUT_Y, Small),
    (m2mf::EXEC, Of(&[0x10_0111, 0x10_0110, 0x10_0010, 0x10_0100, 0x10_0000, 0x3110, 0x1110])),
    (m2mf::DATA, Bits),
];
const COPY: Setup = &[
    (copy::QUERY_ADDRESS_HIGH, Address),
    (copy::QUERY_SEQUENCE, Bits),
    (copy::SRC_ADDRESS_HIGH, Address),
    (copy::DST_ADDRESS_HIGH, Address),
    (copy::SRC_PITCH, Size),
    (copy::DST_PITCH, Size),
    (copy::X_COUNT, Size),
    (copy::Y_COUNT, Size),
    (copy::REMAP_CONST_A, Bits),
    (
        copy::SWIZZLE,
        Of(&[
            0x3210,
            0x3_3210,
            0x0303_3210 & 0x0330_3210,
            0x0331_3210,
            0x0110_0010,
            0x0113_3210,
            0x4444,
            0x0333_5410,
        ]),
    ),
    (copy::DST_BLOCK_DIMENSIONS, Tile),
    (copy::DST_SIZE_X, Size),
    (copy::DST_SIZE_Y, Size),
    (copy::DST_SIZE_Z, Small),
    (copy::DST_POS_Z, Small),
    (copy::DST_POS_XY, Range),
    (copy::SRC_BLOCK_DIMENSIONS, Tile),
    (copy::SRC_SIZE_X, Size),
    (copy::SRC_SIZE_Y, Size),
    (copy::SRC_SIZE_Z, Small),
    (copy::SRC_POS_Z, Small),
    (copy::SRC_POS_XY, Range),
    (copy::EXEC, Of(&[0x186, 0x686, 0x706, 0x606, 0x386, 0x18e, 0x196, 0x786, 0x602])),
];
const TWO_D: Setup = &[
    (two_d::DST_FORMAT, Format),
    (two_d::DST_LINEAR, Small),
    (two_d::DST_BLOCK_DIMENSIONS, Tile),
    (two_d::DST_DEPTH, Small),
    (two_d::DST_LAYER, Small),
    (two_d::DST_PITCH, Size),
    (two_d::DST_WIDTH, Size),
    (two_d::DST_HEIGHT, Size),
    (two_d::DST_ADDRESS_HIGH, Address),
    (two_d::SRC_FORMAT, Format),
    (two_d::SRC_LINEAR, Small),
    (two_d::SRC_BLOCK_DIMENSIONS, Tile),
    (two_d::SRC_DEPTH, Small),
    (two_d::SRC_LAYER, Small),
    (two_d::SRC_PITCH, Size),
    (two_d::SRC_WIDTH, Size),
    (two_d::SRC_HEIGHT, Size),
    (two_d::SRC_ADDRESS_HIGH, Address),
    (two_d::CLIP_X, Small),
    (two_d::CLIP_Y, Small),
    (two_d::CLIP_W, Size),
    (two_d::CLIP_H, Size),
    (two_d::CLIP_ENABLE, Small),
    (two_d::OPERATION, Of(&[3, 3, 3, 0, 1, 5])),
    (two_d::BLIT_CONTROL, Of(&[0, 1, 0x10, 0x11])),
    (two_d::BLIT_DST_X, Small),
    (two_d::BLIT_DST_Y, Small),
    (two_d::BLIT_DST_W, Size),
    (two_d::BLIT_DST_H, Size),
    (two_d::BLIT_DU_DX_FRACT, Bits),
    (two_d::BLIT_DU_DX_INT, Step),
    (two_d::BLIT_DV_DY_FRACT, Bits),
    (two_d::BLIT_DV_DY_INT, Step),
    (two_d::BLIT_SRC_X_FRACT, Bits),
    (two_d::BLIT_SRC_X_INT, Step),
    (two_d::BLIT_SRC_Y_FRACT, Bits),
    (two_d::BLIT_SRC_Y_INT, Step),
];
const SEMAPHORE: Setup = &[
    (channel::SEMAPHORE_ADDRESS_HIGH, Address),
    (channel::SEMAPHORE_SEQUENCE, Small),
    (channel::SEMAPHORE_TRIGGER, Of(&[1, 2, 4, 0x1001, 0x1004, 0x100_0002])),
];
const FERMI_LAUNCH: Setup = &[
    (fermi_compute::LOCAL_POS_ALLOC, Size),
    (fermi_compute::LOCAL_NEG_ALLOC, Size),
    (fermi_compute::GRIDDIM_YX, Range),
    (fermi_compute::GRIDDIM_Z, Small),
    (fermi_compute::SHARED_SIZE, Size),
    (fermi_compute::CP_GPR_ALLOC, Small),
    (fermi_compute::BLOCKDIM_YX, Range),
    (fermi_compute::BLOCKDIM_Z, Small),
    (shader::TSC_ADDRESS_HIGH, Address),
    (shader::TSC_LIMIT, Size),
    (shader::TIC_ADDRESS_HIGH, Address),
    (shader::TIC_LIMIT, Size),
    (bindings::IMAGE_ADDRESS_HIGH.at(0), Address),
    (bindings::IMAGE_WIDTH.at(0), Size),
    (bindings::IMAGE_HEIGHT.at(0), Size),
    (bindings::IMAGE_FORMAT.at(0), Bits),
    (bindings::IMAGE_TILE_MODE.at(0), Tile),
    (fermi_compute::LAUNCH, Small),
];
const KEPLER_LAUNCH: Setup = &[
    (shader::TSC_ADDRESS_HIGH, Address),
    (shader::TSC_LIMIT, Size),
    (shader::TIC_ADDRESS_HIGH, Address),
    (shader::TIC_LIMIT, Size),
    (shader::TEX_CB_INDEX, Small),
    (kepler_compute::LAUNCH_DESC_ADDRESS, Of(&[0x100_0000, 0x104_0000, 0x102_0000])),
    (kepler_compute::LAUNCH, Small),
];
const MACROS: Setup = &[
    (macros::MACRO_UPLOAD_POS, Small),
    (macros::MACRO_UPLOAD_DATA, Bits),
    (macros::MACRO_UPLOAD_DATA, Bits),
    (macros::MACRO_UPLOAD_DATA, Bits),
    (macros::MACRO_ID, Small),
    (macros::MACRO_POS, Small),
];

/// Each on the subchannel that Mesa uses.
const ALL: &[(Class, Setup)] = &[
    (Class::ThreeD, CLEAR),
    (Class::ThreeD, QUERY),
    (Class::ThreeD, CONSTANTS),
    (Class::ThreeD, CONDITION),
    (Class::ThreeD, UPLOAD),
    (Class::ThreeD, SEMAPHORE),
    (Class::ThreeD, MACROS),
    (Class::Compute, QUERY),
    (Class::Compute, UPLOAD),
    (Class::Compute, CONSTANTS),
    (Class::Compute, FERMI_LAUNCH),
    (Class::Compute, KEPLER_LAUNCH),
    (Class::P2mf, UPLOAD),
    (Class::P2mf, M2MF),
    (Class::TwoD, TWO_D),
    (Class::Copy, COPY),
];

/// A method that drawing reads, or that draws.
pub(super) fn drawing_method(r: &mut Random, chip: Chip) -> u32 {
    use nvir_hw::method::Group::*;
    let is_of_draws = |m: &&Method| {
        let group = matches!(
            m.group,
            Assembly
                | Blend
                | Clear
                | Clip
                | Constants
                | DepthStencil
                | Draw
                | Feedback
                | Fragment
                | Images
                | Index
                | Program
                | Query
                | Raster
                | Samples
                | Scissor
                | Target
                | Textures
                | VertexInput
                | Viewport
        );
        group && m.effect != Effect::Nothing
    };
    let all: Vec<&Method> = Class::ThreeD.table(chip).methods().filter(is_of_draws).collect();
    let method = *r.of_list(&all);
    // The first of many are used most.
    let n = if r.one_in(2) { 0 } else { r.below(method.count) };
    method.address + n * method.stride
}

/// Packets for one engine: most of its registers, then the start.
pub(super) fn packets(r: &mut Random, chip: Chip, buffers: &[(u64, u64)], out: &mut Vec<u32>) {
    let (class, setup) = *r.of_list(ALL);
    // On GF100 nothing is there.
    let class = if class == Class::Copy && chip == Chip::Gf100 { Class::M2mf } else { class };
    let sub = class.subchannel();
    for (i, (method, kind)) in setup.iter().enumerate() {
        if i + 1 != setup.len() && r.one_in(8) {
            continue;
        }
        let words = value(r, *kind, buffers);
        let count = if matches!(kind, Address) { 2 } else { 1 };
        out.push(Header::packet(kind::INCREASING, sub, *method, count).into());
        out.extend(&words[..count as usize]);
    }
}

fn value(r: &mut Random, kind: Kind, buffers: &[(u64, u64)]) -> [u32; 2] {
    if r.one_in(24) {
        return [values::word(r, buffers), values::word(r, buffers)];
    }
    let size = |r: &mut Random| match r.below(4) {
        0 => r.below(64),
        1 => 1 << r.below(14),
        _ => r.below(1024),
    } as u32;
    let one = match kind {
        Address => {
            let a = values::near(r, buffers);
            return [(a >> 32) as u32, a as u32];
        }
        Small => (r.below(64) >> r.below(7)) as u32,
        Size => size(r),
        Tile => (r.below(6) << 4 | r.below(3) << 8 | r.below(2) << 12 | (r.below(8) / 7) << 16) as u32,
        Format => 0xc0 + r.below(0x3b) as u32,
        Range => size(r) << 16 | size(r),
        Bits => r.word() as u32,
        Of(list) => *r.of_list(list),
        Step => r.below(6u32).wrapping_sub(2),
    };
    [one, 0]
}
