//! What the 3D class of a channel is told once. Source: Mesa `nvc0_screen.c` (`nvc0_screen_create`, `nvc0_magic_3d_init`):
//! its values, but for what is about compression, the culling of depth tiles and the sizes of caches, which this driver leaves
//! as they are at reset.

use super::{Graphics, STAGES};
use crate::commands::{Subchannel, halves};
use crate::context::Context;
use crate::error::Result;
use crate::setup;
use nvir::Chip;
use nvir_hw::Class;
use nvir_hw::method::bindings::*;
use nvir_hw::method::condition::COND_MODE;
use nvir_hw::method::shader::*;
use nvir_hw::method::three_d::*;
use nvir_hw::window;
use nvir_hw::word::{AttributeDefault, TexMisc, VertexIdMode, condition};

/// The window in which the shaders of the 3D class see no local memory: as for compute.
const LOCAL: u32 = window::LOCAL;
/// SHADE_MODEL: colours without an interpolation of their own are interpolated; flat ones are compiled in.
const SMOOTH: u32 = 0x1d01;
/// Slots of textures and samplers that each stage can bind on GF100: 32 and 16 (log2 in a nibble each).
const TEXTURE_LIMITS: u32 = 0x54;
/// Depths of calls, as a power of two.
const CALL_LIMIT: u32 = 8;
/// The size code of the memory for vertices in flight, as Mesa has it for every chip.
const QUARANTINE_SIZE: u32 = 3;

impl Context {
    /// Makes the channel able to draw, if it is not yet.
    pub(crate) fn graphics(&mut self) -> Result<&mut Graphics> {
        if self.graphics.is_none() {
            let graphics = Graphics::new(&self.device)?;
            self.bind_object(Subchannel::ThreeD, Class::ThreeD)?;
            self.graphics = Some(Box::new(graphics));
            setup::code_address(self);
            setup::table_addresses(self, Subchannel::ThreeD);
            setup::local_area(self);
            self.initial_state();
        }
        match &mut self.graphics {
            Some(graphics) => Ok(graphics),
            None => unreachable!("it was just made"),
        }
    }

    fn initial_state(&mut self) {
        let Some(graphics) = &self.graphics else { return };
        let [zeros, quarantine] = [graphics.zeros(), graphics.quarantine()].map(halves);
        let chip = self.chip;
        let mut one = |method: u32, word: u32| {
            self.commands.methods(Subchannel::ThreeD, method, &[word]);
        };
        one(COND_MODE, condition::ALWAYS);
        one(LOCAL_BASE, LOCAL);
        one(CALL_LIMIT_LOG, CALL_LIMIT);
        one(LINKED_TSC, 0);
        match chip {
            Chip::Gf100 => one(TEX_MISC, TexMisc::new().with_seamless_cube(true).into()),
            Chip::Gk104 | Chip::Gk110 => one(TEX_CB_INDEX, 15),
        }
        if chip == Chip::Gf100 {
            for stage in 0..STAGES as u32 {
                one(TEX_LIMITS.at(stage), TEXTURE_LIMITS);
            }
        }
        // Vertices: what arrays do not have is zero, and the numbers of those that arrays give begin at the first.
        let [high, low] = zeros;
        one(VERTEX_RUNOUT_ADDRESS_HIGH, high);
        one(VERTEX_RUNOUT_ADDRESS_LOW, low);
        let [high, low] = quarantine;
        one(VERTEX_QUARANTINE_ADDRESS_HIGH, high);
        one(VERTEX_QUARANTINE_ADDRESS_LOW, low);
        one(VERTEX_QUARANTINE_SIZE, QUARANTINE_SIZE);
        one(VERTEX_ID_GEN_MODE, VertexIdMode::new().with_from_first(true).into());
        one(PRIM_RESTART_WITH_DRAW_ARRAYS, 0);
        one(EDGEFLAG, 1);
        // What a stage reads where the one before writes nothing is 0, 0, 0, 1.
        let defaults = AttributeDefault::new().with_color_1(true).with_generic(true).with_texture(true);
        one(ATTRIBUTE_DEFAULT, defaults.into());
        // The first row of a target is y 0, and pixels have their centres at halves.
        one(SCREEN_Y_CONTROL, 0);
        one(WINDOW_OFFSET_X, 0);
        one(WINDOW_OFFSET_Y, 0);
        one(PIXEL_CENTER_INTEGER, 0);
        one(VIEWPORT_TRANSFORM_EN, 1);
        one(CLIP_RECTS_EN, 0);
        one(CLIPID_ENABLE, 0);
        one(CLEAR_FLAGS, 0);
        one(ZCULL_REGION, 0x3f);
        one(CSAA_ENABLE, 0);
        one(LINE_WIDTH_SEPARATE, 1);
        for off in [
            LINE_SMOOTH_ENABLE,
            LINE_STIPPLE_ENABLE,
            POINT_SMOOTH_ENABLE,
            POLYGON_SMOOTH_ENABLE,
            POLYGON_STIPPLE_ENABLE,
            VERTEX_TWO_SIDE_ENABLE,
            VERT_COLOR_CLAMP_EN,
            ZETA_COMP_ENABLE,
        ] {
            one(off, 0);
        }
        one(POINT_SPRITE_ENABLE, 1);
        one(POINT_RASTER_RULES, 0);
        one(SHADE_MODEL, SMOOTH);
        // Outputs go to their own target, with masks and blending of their own, and are not clamped but by the format.
        one(RT_SEPARATE_FRAG_DATA, 1);
        one(PS_OUTPUT_SAMPLE_MASK_USAGE, 3);
        one(FRAG_COLOR_CLAMP_EN, 0);
        one(COLOR_MASK_COMMON, 0);
        one(BLEND_ENABLE_COMMON, 0);
        one(BLEND_INDEPENDENT, 1);
        one(BLEND_FLOAT_OPTION, 1);
        for target in 0..8 {
            one(IBLEND_SEPARATE_ALPHA.at(target), 1);
            one(RT_COMP_ENABLE.at(target), 0);
        }
        one(LOGIC_OP_ENABLE, 0);
        one(ALPHA_TEST_ENABLE, 0);
        one(SAMPLECNT_ENABLE, 1);
        one(SP_SELECT.at(0), 0);
    }
}
