//! A scene for draws: a card with a target, vertices, and programs that pass a colour on. Tests and benches change what they
//! need.

use super::kernel;
use super::{Client, Commands, THREE_D};
use nvir::Chip;
use nvir_base::stage::{Stage, attribute};
use nvir_hw::method::three_d::*;
use nvir_hw::method::{bindings, shader};
use nvir_isa::header::{Header, Interpolation};
use nvir_vgpu::{Config, GemInfo};

/// Where headers are: code follows 80 bytes behind, at a multiple of 64.
pub(crate) const VERTEX: u32 = 0x1030;
pub(crate) const FRAGMENT: u32 = 0x2030;
/// Bytes for code.
const CODE: u64 = 0x8000;
/// Bytes of a vertex: position and colour.
pub(crate) const VERTEX_BYTES: u32 = 32;

pub(crate) const POINTS: u32 = 0;
pub(crate) const LINES: u32 = 1;
pub(crate) const TRIANGLES: u32 = 4;
pub(crate) const STRIP: u32 = 5;
pub(crate) const QUADS: u32 = 7;

/// BEGIN of an instance that follows another one.
pub(crate) const NEXT_INSTANCE: u32 = 1 << 26;

/// Position in the window and colour.
pub(crate) type Vertex = ([f32; 2], [f32; 4]);

/// A program with its header.
pub(crate) struct Program {
    pub header: Header,
    pub lines: Vec<String>,
}

impl Program {
    pub(crate) fn new(header: Header, lines: &[impl AsRef<str>]) -> Program {
        Program { header, lines: lines.iter().map(|l| l.as_ref().to_string()).collect() }
    }

    /// Passes a position and four words on.
    pub(crate) fn pass() -> Program {
        let mut header = Header::new(Stage::Vertex);
        for c in [0, 4, 8, 12] {
            header.set_read(0x80 + c);
            header.set_read(0x90 + c);
            header.set_written(attribute::POSITION + c);
            header.set_written(0x80 + c);
        }
        let lines = [
            "ALD.128 R0, a[0x80]",
            "AST.128 a[0x70], R0",
            "ALD.128 R0, a[0x90]",
            "AST.128 a[0x80], R0",
            "EXIT",
        ];
        Program::new(header, &lines)
    }

    /// Writes the provoking vertex's colour.
    pub(crate) fn flat() -> Program {
        let lines = [0, 1, 2, 3].map(|n| format!("IPA.CONSTANT R{n}, a[{:#x}], RZ", 0x80 + 4 * n));
        Program::new(fragment_header(Interpolation::Flat), &[&lines[..], &["EXIT".into()]].concat())
    }

    /// Writes the colour between the vertices'.
    pub(crate) fn smooth() -> Program {
        let lines = [0, 1, 2, 3].map(|n| format!("IPA.PASS R{n}, a[{:#x}], RZ", 0x80 + 4 * n));
        Program::new(fragment_header(Interpolation::Linear), &[&lines[..], &["EXIT".into()]].concat())
    }

    /// Looks up texture 0 at the first two words of the colour.
    pub(crate) fn textured(chip: Chip) -> Program {
        let numbers = match chip {
            Chip::Gf100 => "0x0, 0x0",
            Chip::Gk104 => "0x8, 0x0",
            Chip::Gk110 => "0x8",
        };
        let look = format!("TEX.P R0, R4, {numbers}, 2D, 0xf");
        let lines = ["IPA.PASS R4, a[0x80], RZ", "IPA.PASS R5, a[0x84], RZ", &look, "EXIT"];
        Program::new(fragment_header(Interpolation::Linear), &lines)
    }
}

/// The header of a fragment program that reads four words and writes a colour.
pub(crate) fn fragment_header(interpolation: Interpolation) -> Header {
    let mut header = Header::new(Stage::Fragment);
    for c in [0, 4, 8, 12] {
        header.set_interpolation(0x80 + c, interpolation);
    }
    header.set_color_mask(0, 0xf);
    header
}

/// How the target lies.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Row after row.
    Linear,
    /// In blocks of 16 gobs.
    Blocks,
}

pub(crate) struct Scene {
    pub client: Client,
    pub chip: Chip,
    /// RGBA8.
    pub target: GemInfo,
    pub vertices: GemInfo,
    pub push: Commands,
    code: GemInfo,
}

impl Scene {
    /// A square target of so many pixels a side; positions are window coordinates.
    pub(crate) fn new(config: Config, side: u32, order: Order, vertices: u64) -> Scene {
        let chip = config.chip;
        let client = Client::with(config);
        let code = client.buffer(CODE);
        let bytes = u64::from(side * side.next_multiple_of(128)) * 4;
        let target = client.buffer(bytes.max(0x4000));
        let bytes = (vertices * u64::from(VERTEX_BYTES)).max(0x4000);
        let vertices = client.buffer(bytes);
        let mut push = Commands::default();
        push.address(THREE_D, shader::CODE_ADDRESS_HIGH, code.offset);
        push.address(THREE_D, RT_ADDRESS_HIGH.at(0), target.offset);
        let (width, mode) = match order {
            Order::Linear => (4 * side, 1 << 12),
            Order::Blocks => (side, 0x40),
        };
        push.inc(THREE_D, RT_HORIZ.at(0), &[width, side, 0xd5, mode, 1, 0, 0]);
        push.inc(THREE_D, RT_CONTROL, &[0xfac_6881]).inc(THREE_D, RT_SEPARATE_FRAG_DATA, &[1]);
        push.inc(THREE_D, SCREEN_SCISSOR_HORIZ, &[side << 16, side << 16]);
        push.inc(THREE_D, VIEWPORT_HORIZ.at(0), &[side << 16, side << 16, 0, 1f32.to_bits()]);
        push.inc(THREE_D, VIEW_VOLUME_CLIP_CTRL, &[2]).inc(THREE_D, RASTERIZE_ENABLE, &[1]);
        push.inc(THREE_D, POLYGON_MODE_FRONT, &[0x1b02, 0x1b02]).inc(THREE_D, ATTRIBUTE_DEFAULT, &[0xe]);
        push.inc(THREE_D, COLOR_MASK.at(0), &[0x1111]).inc(THREE_D, COLOR_MASK_COMMON, &[1]);
        push.inc(THREE_D, VIEWPORT_TRANSFORM_EN, &[0]);
        push.inc(THREE_D, VERTEX_ATTRIB_FORMAT.at(0), &[0x3820_0000, 0x3820_0000 | 16 << 7]);
        push.inc(THREE_D, VERTEX_ARRAY_FETCH.at(0), &[1 << 12 | VERTEX_BYTES]);
        push.address(THREE_D, VERTEX_ARRAY_START_HIGH.at(0), vertices.offset);
        push.address(THREE_D, VERTEX_ARRAY_LIMIT_HIGH.at(0), vertices.offset + bytes - 1);
        let mut scene = Scene { client, chip, target, vertices, push, code };
        scene.program(1, VERTEX, &Program::pass()).program(5, FRAGMENT, &Program::flat());
        scene
    }

    /// Puts a program for a stage (by its number in SP_SELECT) at a place among the code, and selects it.
    pub(crate) fn program(&mut self, stage: u32, at: u32, program: &Program) -> &mut Scene {
        let words: Vec<u8> = program.header.encode().iter().flat_map(|w| w.to_le_bytes()).collect();
        self.client.write_bytes(self.code.offset + u64::from(at), &words);
        let code = kernel::bytes(self.chip, at + 80, &program.lines);
        self.client.write_bytes(self.code.offset + u64::from(at) + 80, &code);
        self.set(SP_SELECT.at(stage), &[stage << 4 | 1, at]).set(SP_GPR_ALLOC.at(stage), &[8])
    }

    /// Binds a square RGBA8 texture in rows to slot 0 of the fragment stage. The filters where it is larger and where it is smaller:
    /// 1 nearest, 2 linear.
    pub(crate) fn texture(&mut self, texels: &GemInfo, side: u32, [mag, min]: [u32; 2]) -> &mut Scene {
        let tables = self.client.buffer(0x2000);
        let constants = self.client.buffer(0x1000);
        let address = texels.offset;
        let components = 8 | (0..4).map(|c| 2 << (6 + 3 * c) | (2 + c) << (18 + 3 * c)).sum::<u32>();
        let high = (address >> 32) as u32 | 7 << 14 | 1 << 18 | 1 << 31;
        let tic = [components, address as u32, high, 4 * side, side | 1 << 31, side | 1 << 16, 0, 0];
        // To the edge.
        let tsc = [2 | 2 << 3 | 2 << 6, mag | min << 4 | 1 << 6, 0xfff << 12, 0, 0, 0, 0, 0];
        self.client.gpu().write(tables.offset, &tic).unwrap();
        self.client.gpu().write(tables.offset + 0x1000, &tsc).unwrap();
        let at = |a: u64| [(a >> 32) as u32, a as u32];
        let [[high, low], [samplers_high, samplers_low]] = [tables.offset, tables.offset + 0x1000].map(at);
        self.set(shader::TIC_ADDRESS_HIGH, &[high, low, 0]);
        self.set(shader::TSC_ADDRESS_HIGH, &[samplers_high, samplers_low, 0]);
        if self.chip == Chip::Gf100 {
            return self.set(BIND_TIC.at(4), &[1]).set(BIND_TSC.at(4), &[1]);
        }
        let [high, low] = at(constants.offset);
        self.set(shader::TEX_CB_INDEX, &[15]).set(bindings::CB_SIZE, &[0x1000, high, low]);
        self.set(CB_BIND.at(4), &[15 << 4 | 1])
    }

    /// Puts vertices into the array.
    pub(crate) fn vertices(&mut self, all: &[Vertex]) {
        let words = all.iter().flat_map(|([x, y], c)| [*x, *y, 0.5, 1.0].into_iter().chain(*c));
        let words: Vec<u32> = words.map(f32::to_bits).collect();
        self.client.gpu().write(self.vertices.offset, &words).unwrap();
    }

    pub(crate) fn set(&mut self, method: u32, values: &[u32]) -> &mut Scene {
        self.push.inc(THREE_D, method, values);
        self
    }

    /// Adds colours to what is there.
    pub(crate) fn add(&mut self) -> &mut Scene {
        self.set(BLEND_ENABLE.at(0), &[1]).set(BLEND_EQUATION_RGB, &[0x8006, 0x4001, 0x4001]);
        self.set(BLEND_EQUATION_ALPHA, &[0x8006, 0x4001]).set(BLEND_FUNC_DST_ALPHA, &[0x4001])
    }

    pub(crate) fn draw(&mut self, primitive: u32, first: u32, count: u32) -> &mut Scene {
        self.set(VERTEX_BEGIN_GL, &[primitive])
            .set(VERTEX_BUFFER_FIRST, &[first, count])
            .set(VERTEX_END_GL, &[0])
    }

    /// Submits what there is.
    pub(crate) fn run(&mut self) {
        let push = std::mem::take(&mut self.push);
        self.client.run(&push).unwrap_or_else(|e| panic!("{e}"));
    }

    /// The fault of what there is.
    pub(crate) fn fault(&mut self) -> String {
        let push = std::mem::take(&mut self.push);
        self.client.run(&push).expect_err("a fault").message
    }
}

/// The corners of a rectangle, as a strip.
pub(crate) fn rectangle(x: [f32; 2], y: [f32; 2], c: [f32; 4]) -> [Vertex; 4] {
    [([x[0], y[0]], c), ([x[1], y[0]], c), ([x[0], y[1]], c), ([x[1], y[1]], c)]
}
