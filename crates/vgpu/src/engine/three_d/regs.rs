//! The register file of the 3D classes, as its fields mean it. Registers are the only truth: a view
//! is computed when it is asked for.

use super::assemble::Provoking;
use super::clip::{ClipState, DepthRange, Outside, Transform};
use super::feedback::{Buffer, Layout, MAX_COMPONENTS};
use super::raster::{
    Cull, FrontFace, LineState, LineStipple, OffsetUnit, PointOrigin, PointState, PolygonMode, PolygonOffset,
    PolygonStipple, RasterState, Rect, SampleAt, SampleState, WindowMode, WindowRects,
};
use super::rop::Compare;
use super::rop::alpha::AlphaTest;
use super::rop::blend::{BlendState, Equation, Factor, LogicOp, Operation, ZeroRule};
use super::rop::color::{ColorClamp, ColorState};
use super::rop::depth_stencil::{DepthStencilState, DepthTest, StencilFace, StencilOp};
use super::tessellator::Levels;
use crate::device::EngineResult;
use crate::engine::registers::Registers;
use crate::frames::Top;
use crate::image::surface::Words;
use nvir_base::stage::attribute;
use nvir_emu::stage::batch::Defaults;
use nvir_hw::format::color::Color;
use nvir_hw::format::zeta::Zeta;
use nvir_hw::method::Family;
use nvir_hw::method::three_d::*;
use nvir_hw::samples::Mode;
use nvir_hw::word::{AttributeDefault, Layer, MultisampleControl, PointReplace, ViewVolume};

/// SHADE_MODEL of flat colours.
const SHADE_FLAT: u32 = 0x1d00;
/// A polygon mode.
const POLYGON_POINT: u32 = 0x1b00;
const ONE: u32 = 0x3f80_0000;

const LINEAR: u32 = 1 << 12;
const VOLUME: u32 = 1 << 16;
/// The block dimensions of a tile mode.
const BLOCKS: u32 = 0xfff;

/// Views of a register file.
#[derive(Clone, Copy)]
pub(super) struct View<'a>(pub &'a Registers);

/// A colour target or the depth buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Target {
    /// Its number; 0: there is none.
    pub format: u32,
    pub words: Words,
    /// Counted to the layers that a clear or primitive names.
    pub base_layer: u32,
}

/// The limits in a word: first, and one behind the last.
fn limits(word: u32) -> [u32; 2] {
    [word & 0xffff, word >> 16]
}

/// The limits in a word that has the first and how many.
fn extent(word: u32) -> [u32; 2] {
    let first = word & 0xffff;
    [first, first + (word >> 16)]
}

impl View<'_> {
    /// Colour target `i`, below 8.
    pub(super) fn target(self, i: u32) -> Target {
        let get = |family: Family| self.0.get(family.at(i));
        let (tile_mode, array) = (get(RT_TILE_MODE), get(RT_ARRAY_MODE));
        Target {
            format: get(RT_FORMAT),
            words: Words {
                address: self.0.address(RT_ADDRESS_HIGH.at(i)),
                width: get(RT_HORIZ),
                height: get(RT_VERT),
                linear: tile_mode & LINEAR != 0,
                tile_mode: tile_mode & BLOCKS,
                layers: array & 0xffff,
                layer_stride: u64::from(get(RT_LAYER_STRIDE)) * 4,
                volume: (tile_mode | array) & VOLUME != 0,
            },
            base_layer: get(RT_BASE_LAYER) & 0xffff,
        }
    }

    /// The depth buffer.
    pub(super) fn zeta(self) -> Target {
        let tile_mode = self.0.get(ZETA_TILE_MODE);
        Target {
            format: self.0.get(ZETA_FORMAT),
            words: Words {
                address: self.0.address(ZETA_ADDRESS_HIGH),
                width: self.0.get(ZETA_HORIZ),
                height: self.0.get(ZETA_VERT),
                linear: tile_mode & LINEAR != 0,
                tile_mode: tile_mode & BLOCKS,
                layers: self.0.get(ZETA_ARRAY_MODE) & 0xffff,
                layer_stride: u64::from(self.0.get(ZETA_LAYER_STRIDE)) * 4,
                volume: false,
            },
            base_layer: self.0.get(ZETA_BASE_LAYER) & 0xffff,
        }
    }

    /// Samples of a pixel.
    pub(super) fn samples(self) -> Mode {
        Mode::from_code(self.0.get(MULTISAMPLE_MODE) & 15)
    }

    /// Which row of the targets is the top one: a viewport that is no mirror has its lowest row first.
    pub(super) fn top(self) -> Top {
        let upwards = self.is_on(VIEWPORT_TRANSFORM_EN) && self.float(VIEWPORT_SCALE_Y.at(0)) > 0.0;
        if upwards { Top::LastRow } else { Top::FirstRow }
    }

    /// What is there of the targets, in pixels.
    pub(super) fn screen(self) -> Rect {
        Rect { x: extent(self.0.get(SCREEN_SCISSOR_HORIZ)), y: extent(self.0.get(SCREEN_SCISSOR_VERT)) }
    }

    /// Window rectangles, if there are any.
    pub(super) fn window_rects(self) -> Option<WindowRects> {
        (self.0.get(CLIP_RECTS_EN) & 1 != 0).then(|| WindowRects {
            mode: match self.0.get(CLIP_RECTS_MODE) & 1 {
                0 => WindowMode::InsideAny,
                _ => WindowMode::OutsideAll,
            },
            rects: std::array::from_fn(|i| Rect {
                x: limits(self.0.get(CLIP_RECT_HORIZ.at(i as u32))),
                y: limits(self.0.get(CLIP_RECT_VERT.at(i as u32))),
            }),
        })
    }

    fn is_on(self, method: u32) -> bool {
        self.0.get(method) & 1 != 0
    }

    fn float(self, method: u32) -> f32 {
        f32::from_bits(self.0.get(method))
    }

    /// Which vertex flat inputs come from.
    pub(super) fn provoking(self) -> Provoking {
        if self.is_on(PROVOKING_VERTEX_LAST) { Provoking::Last } else { Provoking::First }
    }

    /// Whether colours of the fixed pipeline are flat.
    pub(super) fn flat_shade(self) -> bool {
        self.0.get(SHADE_MODEL) == SHADE_FLAT
    }

    /// What stages read that the ones before did not write.
    pub(super) fn defaults(self) -> Defaults {
        let d = AttributeDefault::from_bits(self.0.get(ATTRIBUTE_DEFAULT));
        let w = |on: bool| if on { ONE } else { 0 };
        Defaults::new(|a| {
            let is_w = a % 16 == 12;
            match a {
                ..attribute::POSITION | attribute::CLIP_DISTANCE..attribute::TEX_COORD => 0,
                attribute::POSITION..attribute::GENERIC => w(is_w),
                attribute::COLOR..attribute::BACK_COLOR if a & 16 == 0 => w(is_w || d.color_0()),
                attribute::COLOR..attribute::BACK_COLOR => w(is_w && d.color_1()),
                attribute::BACK_COLOR..attribute::CLIP_DISTANCE => w(is_w),
                attribute::GENERIC..attribute::COLOR => w(is_w && d.generic()),
                _ => w(is_w && d.texture()),
            }
        })
    }

    /// The levels of patches that no program gives any.
    pub(super) fn levels(self) -> Levels {
        Levels {
            outer: [0, 1, 2, 3].map(|i| self.float(TESS_LEVEL_OUTER.at(i))),
            inner: [0, 1].map(|i| self.float(TESS_LEVEL_INNER.at(i))),
        }
    }

    /// The colour targets that are drawn to, by the number of the output that goes to each.
    pub(super) fn targets(self) -> impl Iterator<Item = (u32, Target)> {
        let control = self.0.get(RT_CONTROL);
        let count = (control & 15).min(RT_FORMAT.count);
        (0..count).map(move |i| (i, self.target(control >> (4 + 3 * i) & 7))).filter(|(_, t)| t.format != 0)
    }

    /// Distances at which primitives are cut, and by which they are dropped.
    pub(super) fn distances(self) -> (u8, u8) {
        let enabled = self.0.get(CLIP_DISTANCE_ENABLE) as u8;
        let mode = self.0.get(CLIP_DISTANCE_MODE);
        let cull = (0..8).filter(|i| mode >> (4 * i) & 1 != 0).fold(0, |m, i| m | 1 << i);
        (enabled & !cull, enabled & cull)
    }

    /// The state of the rasteriser for a viewport, below 16; `extent` is what all targets have in common.
    pub(super) fn raster(
        self,
        viewport: u32,
        extent_of_targets: Rect,
        zeta: Option<Zeta>,
    ) -> EngineResult<RasterState> {
        let (clip, cull) = self.distances();
        let of = |family: Family| self.float(family.at(viewport));
        let transform = if self.is_on(VIEWPORT_TRANSFORM_EN) {
            Transform::Viewport {
                scale: [of(VIEWPORT_SCALE_X), of(VIEWPORT_SCALE_Y), of(VIEWPORT_SCALE_Z)],
                translate: [of(VIEWPORT_TRANSLATE_X), of(VIEWPORT_TRANSLATE_Y), of(VIEWPORT_TRANSLATE_Z)],
            }
        } else {
            Transform::Window
        };
        let mut rect = self.screen().intersect(extent_of_targets).intersect(Rect {
            x: extent(self.0.get(VIEWPORT_HORIZ.at(viewport))),
            y: extent(self.0.get(VIEWPORT_VERT.at(viewport))),
        });
        if self.is_on(SCISSOR_ENABLE.at(viewport)) {
            rect = rect.intersect(Rect {
                x: limits(self.0.get(SCISSOR_HORIZ.at(viewport))),
                y: limits(self.0.get(SCISSOR_VERT.at(viewport))),
            });
        }
        let polygon = |method| match self.0.get(method) {
            POLYGON_POINT => Ok(PolygonMode::Point),
            0x1b01 => Ok(PolygonMode::Line),
            0x1b02 => Ok(PolygonMode::Fill),
            mode => Err(format!("there is no polygon mode {mode:#x}")),
        };
        let pattern =
            || PolygonStipple::new(std::array::from_fn(|i| self.0.get(POLYGON_STIPPLE_PATTERN.at(i as u32))));
        Ok(RasterState {
            clip: ClipState { transform, clip, cull },
            depth: self.depth_range(viewport),
            rect,
            windows: self.window_rects(),
            samples: self.sample_state(),
            front_face: match self.0.get(FRONT_FACE) {
                0x900 => FrontFace::Clockwise,
                _ => FrontFace::CounterClockwise,
            },
            cull: match (self.is_on(CULL_FACE_ENABLE), self.0.get(CULL_FACE)) {
                (false, _) => Cull::Nothing,
                (_, 0x404) => Cull::Front,
                (_, 0x405) => Cull::Back,
                (_, 0x408) => Cull::Both,
                (_, face) => return Err(format!("there is no face {face:#x}")),
            },
            polygon: [polygon(POLYGON_MODE_FRONT)?, polygon(POLYGON_MODE_BACK)?],
            offset: PolygonOffset {
                point: self.is_on(POLYGON_OFFSET_POINT_ENABLE),
                line: self.is_on(POLYGON_OFFSET_LINE_ENABLE),
                fill: self.is_on(POLYGON_OFFSET_FILL_ENABLE),
                factor: self.float(POLYGON_OFFSET_FACTOR),
                units: self.float(POLYGON_OFFSET_UNITS),
                clamp: self.float(POLYGON_OFFSET_CLAMP),
                unit: match zeta {
                    Some(Zeta::Z32 | Zeta::Z32S8) => OffsetUnit::Float,
                    Some(Zeta::Z16) => OffsetUnit::Fixed(-16),
                    _ => OffsetUnit::Fixed(-24),
                },
            },
            polygon_stipple: self.is_on(POLYGON_STIPPLE_ENABLE).then(pattern),
            line: LineState {
                width_aliased: self.float(LINE_WIDTH_ALIASED),
                width_smooth: self.float(LINE_WIDTH_SMOOTH),
                smooth: self.is_on(LINE_SMOOTH_ENABLE),
                stipple: self
                    .is_on(LINE_STIPPLE_ENABLE)
                    .then(|| LineStipple::from_bits(self.0.get(LINE_STIPPLE_PATTERN))),
            },
            point: PointState {
                size: self.float(POINT_SIZE),
                sprite: self.is_on(POINT_SPRITE_ENABLE),
                smooth: self.is_on(POINT_SMOOTH_ENABLE),
                origin: if PointReplace::from_bits(self.0.get(POINT_COORD_REPLACE)).upper_left() {
                    PointOrigin::Upper
                } else {
                    PointOrigin::Lower
                },
            },
        })
    }

    /// The depths of a viewport.
    pub(super) fn depth_range(self, viewport: u32) -> DepthRange {
        let control = ViewVolume::from_bits(self.0.get(VIEW_VOLUME_CLIP_CTRL));
        let outside = |clamps: bool| if clamps { Outside::Clamp } else { Outside::Kill };
        let (near, far) = if control.unit_range() {
            (0.0, 1.0)
        } else {
            (self.float(DEPTH_RANGE_NEAR.at(viewport)), self.float(DEPTH_RANGE_FAR.at(viewport)))
        };
        DepthRange::new((near, outside(control.clamp_near())), (far, outside(control.clamp_far())))
    }

    /// Samples, and which of them are drawn.
    pub(super) fn sample_state(self) -> SampleState {
        SampleState {
            count: self.samples().samples.min(8),
            at: if self.is_on(MULTISAMPLE_ENABLE) { SampleAt::Samples } else { SampleAt::Centre },
            mask: [0, 1, 2, 3].map(|i| self.0.get(MSAA_MASK.at(i)) as u8),
        }
    }

    /// What alpha does to samples.
    pub(super) fn multisample_control(self) -> MultisampleControl {
        MultisampleControl::from_bits(self.0.get(MULTISAMPLE_CTRL))
    }

    /// Whether fragment programs run once for each sample.
    pub(super) fn runs_per_sample(self) -> bool {
        self.0.get(SAMPLE_SHADING) & 15 > 1
    }

    /// Whether depth and stencil are tested before the fragment program runs.
    pub(super) fn tests_early(self) -> bool {
        self.is_on(FORCE_EARLY_FRAGMENT_TESTS)
    }

    /// Whether the depth buffer is used.
    pub(super) fn uses_zeta(self) -> bool {
        self.is_on(ZETA_ENABLE)
    }

    /// Whether the outputs of a program go to a target each; else the first goes to all.
    pub(super) fn has_several_outputs(self) -> bool {
        self.is_on(RT_SEPARATE_FRAG_DATA)
    }

    /// Whether back faces have colours of their own.
    pub(super) fn is_two_sided(self) -> bool {
        self.is_on(VERTEX_TWO_SIDE_ENABLE)
    }

    /// Whether colours of vertices are fractions.
    pub(super) fn clamps_vertex_colors(self) -> bool {
        self.is_on(VERT_COLOR_CLAMP_EN)
    }

    /// Whether polygons may be drawn as points.
    pub(super) fn draws_points(self) -> bool {
        [POLYGON_MODE_FRONT, POLYGON_MODE_BACK].iter().any(|&m| self.0.get(m) == POLYGON_POINT)
    }

    /// Whether vertices have sizes of their own; the size of those that have not.
    pub(super) fn point_size(self) -> (bool, f32) {
        (self.is_on(VP_POINT_SIZE), self.float(POINT_SIZE))
    }

    /// The layer that is drawn to.
    pub(super) fn layer(self) -> Layer {
        Layer::from_bits(self.0.get(LAYER))
    }

    /// Whether samples are counted.
    pub(super) fn counts_samples(self) -> bool {
        self.is_on(SAMPLECNT_ENABLE)
    }

    /// The alpha test, if it is on.
    pub(super) fn alpha_test(self) -> EngineResult<Option<AlphaTest>> {
        if !self.is_on(ALPHA_TEST_ENABLE) {
            return Ok(None);
        }
        let func = self.compare(ALPHA_TEST_FUNC)?;
        Ok(Some(AlphaTest { func, reference: self.float(ALPHA_TEST_REF) }))
    }

    fn compare(self, method: u32) -> EngineResult<Compare> {
        let code = self.0.get(method);
        Compare::from_code(code).ok_or_else(|| format!("there is no comparison {code:#x}"))
    }

    fn stencil_op(self, method: u32) -> EngineResult<StencilOp> {
        let code = self.0.get(method);
        StencilOp::from_code(code).ok_or_else(|| format!("there is no stencil operation {code:#x}"))
    }

    /// The tests of depth and stencil.
    pub(super) fn depth_stencil(self) -> EngineResult<DepthStencilState> {
        let depth = if self.is_on(DEPTH_TEST_ENABLE) {
            Some(DepthTest { func: self.compare(DEPTH_TEST_FUNC)?, write: self.is_on(DEPTH_WRITE_ENABLE) })
        } else {
            None
        };
        let bounds = || [0, 1].map(|i| self.float(DEPTH_BOUNDS.at(i)));
        let stencil = if self.is_on(STENCIL_ENABLE) {
            let byte = |method| self.0.get(method) as u8;
            let front = StencilFace {
                func: self.compare(STENCIL_FRONT_FUNC_FUNC)?,
                reference: byte(STENCIL_FRONT_FUNC_REF),
                func_mask: byte(STENCIL_FRONT_FUNC_MASK),
                write_mask: byte(STENCIL_FRONT_MASK),
                fail: self.stencil_op(STENCIL_FRONT_OP_FAIL)?,
                depth_fail: self.stencil_op(STENCIL_FRONT_OP_ZFAIL)?,
                pass: self.stencil_op(STENCIL_FRONT_OP_ZPASS)?,
            };
            let back = if self.is_on(STENCIL_TWO_SIDE_ENABLE) {
                StencilFace {
                    func: self.compare(STENCIL_BACK_FUNC_FUNC)?,
                    reference: byte(STENCIL_BACK_FUNC_REF),
                    func_mask: byte(STENCIL_BACK_FUNC_MASK),
                    write_mask: byte(STENCIL_BACK_MASK),
                    fail: self.stencil_op(STENCIL_BACK_OP_FAIL)?,
                    depth_fail: self.stencil_op(STENCIL_BACK_OP_ZFAIL)?,
                    pass: self.stencil_op(STENCIL_BACK_OP_ZPASS)?,
                }
            } else {
                front
            };
            Some([front, back])
        } else {
            None
        };
        Ok(DepthStencilState { depth, bounds: self.is_on(DEPTH_BOUNDS_EN).then(bounds), stencil })
    }

    /// What happens to the colours of target `n`.
    pub(super) fn color(self, n: u32, format: Color) -> EngineResult<ColorState> {
        let logic = if self.is_on(LOGIC_OP_ENABLE) {
            let code = self.0.get(LOGIC_OP);
            Some(LogicOp::from_code(code).ok_or_else(|| format!("there is no logic operation {code:#x}"))?)
        } else {
            None
        };
        let enabled = if self.is_on(BLEND_ENABLE_COMMON) { 0 } else { n };
        let blend = if self.is_on(BLEND_ENABLE.at(enabled)) { Some(self.blend(n)?) } else { None };
        let mask = self.0.get(COLOR_MASK.at(if self.is_on(COLOR_MASK_COMMON) { 0 } else { n }));
        Ok(ColorState {
            format,
            clamp: match self.0.get(FRAG_COLOR_CLAMP_EN) >> (4 * n) & 15 {
                0 => ColorClamp::Off,
                _ => ColorClamp::On,
            },
            blend,
            logic,
            mask: [0, 4, 8, 12].map(|bit| mask >> bit & 1 != 0),
        })
    }

    fn blend(self, n: u32) -> EngineResult<BlendState> {
        let equation = |methods: [u32; 3]| -> EngineResult<Equation> {
            let [operation, source, destination] = methods.map(|m| self.0.get(m));
            let factor =
                |code| Factor::from_code(code).ok_or_else(|| format!("there is no blend factor {code:#x}"));
            Ok(Equation {
                operation: Operation::from_code(operation)
                    .ok_or_else(|| format!("there is no blend equation {operation:#x}"))?,
                source: factor(source)?,
                destination: factor(destination)?,
            })
        };
        let (color, alpha) = if self.is_on(BLEND_INDEPENDENT) {
            (
                [IBLEND_EQUATION_RGB, IBLEND_FUNC_SRC_RGB, IBLEND_FUNC_DST_RGB].map(|m| m.at(n)),
                [IBLEND_EQUATION_ALPHA, IBLEND_FUNC_SRC_ALPHA, IBLEND_FUNC_DST_ALPHA].map(|m| m.at(n)),
            )
        } else {
            (
                [BLEND_EQUATION_RGB, BLEND_FUNC_SRC_RGB, BLEND_FUNC_DST_RGB],
                [BLEND_EQUATION_ALPHA, BLEND_FUNC_SRC_ALPHA, BLEND_FUNC_DST_ALPHA],
            )
        };
        Ok(BlendState {
            color: equation(color)?,
            alpha: equation(alpha)?,
            constant: [0, 1, 2, 3].map(|i| self.float(BLEND_COLOR.at(i))),
            zero: if self.is_on(BLEND_FLOAT_OPTION) { ZeroRule::ZeroWins } else { ZeroRule::Ieee },
        })
    }

    /// A buffer of transform feedback, if it is written; its offset is 0.
    pub(super) fn feedback(self, n: u32) -> Option<Buffer> {
        let get = |family: Family| self.0.get(family.at(n));
        let count = get(TFB_VARYING_COUNT).min(MAX_COMPONENTS as u32) as usize;
        if get(TFB_BUFFER_ENABLE) & 1 == 0 || count == 0 {
            return None;
        }
        let mut components = [0; MAX_COMPONENTS];
        for (i, bytes) in components.chunks_exact_mut(4).enumerate() {
            let word = self.0.get(TFB_VARYING_LOCS.at(32 * n + i as u32));
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        let layout =
            Layout { stream: get(TFB_STREAM) as usize, stride: get(TFB_BUFFER_STRIDE), components, count };
        Some(Buffer { layout, size: get(TFB_BUFFER_SIZE), offset: 0 })
    }
}
