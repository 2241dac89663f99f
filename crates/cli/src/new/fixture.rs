//! A fixture for what a program needs: sizes that most programs can run with, and values that are neither large nor all zero.

use super::needs::{Needs, Picture, Uses};
use crate::launch::scalar;
use crate::program::{Code, Program};
use nvir::driver::Abi;
use nvir::driver::constants::MAX_TEXTURES;
use nvir::image::cubin;
use nvir::ir::{self, Dim, Interface, Type};
use nvir::stage::{Semantic, Stage};
use nvir::{Chip, Language};
use nvir_fixture::Fixture;
use nvir_fixture::format::{Arg, Bound, Buffer, Data, Image, Item, Name, Test, Texture};
use nvir_fixture::stage::format::{
    Attributes, Geometry, Patches, Points, PrimitiveSystem, Primitives, Quad, Tess, Triangle, Value,
    VertexSystem, Vertices,
};
use nvir_fixture::values::Elem;
use std::collections::BTreeMap;

/// Elements of a buffer whose size the program does not say.
const LEN: u32 = 1024;
/// Slots that are bound where a program computes their number.
const SLOTS: u32 = 8;

/// A fixture, and what its parts are: by the name of a buffer or image, and of the whole.
#[derive(Default)]
pub(super) struct Draft {
    pub fixture: Fixture,
    /// What a buffer or image is bound as.
    pub parts: BTreeMap<String, String>,
    /// What the reader should look at.
    pub notes: Vec<String>,
    /// The fixture must say what the text of a NIR stage does not.
    assumed: bool,
}

impl Draft {
    /// For a program; `source` is how the fixture names its file.
    ///
    /// # Errors
    /// Machine code that says nothing of what it needs.
    pub(super) fn of(program: &Program, source: std::path::PathBuf) -> Result<Draft, String> {
        let mut draft = Draft { assumed: program.assumed, ..Draft::default() };
        draft.fixture.source = source;
        draft.fixture.kernel = program.entry.clone().map(|e| match e.parse() {
            Ok(n) => Name::Number(n),
            Err(_) => Name::Text(e),
        });
        let mut test = Test { name: nvir::input::stem(&program.path), ..Test::default() };
        match &program.code {
            Code::Text(ir) => draft.of_text(ir, Language::of(&program.path), &mut test),
            Code::Cubin { kernel, .. } => draft.of_cubin(kernel, &mut test),
            Code::Sass { .. } | Code::Words => {
                return Err("machine code does not say what it needs: write the fixture by hand \
                            (docs/fixtures.md), or bind buffers with `nvir run --arg`"
                    .into());
            }
        }
        draft.fixture.tests = vec![test];
        Ok(draft)
    }

    fn of_text(&mut self, ir: &ir::Program, language: Option<Language>, test: &mut Test) {
        let stage = ir.interface.as_ref().map_or(Stage::Compute, |i| i.stage);
        let chip = Chip::Gk110;
        let abi = if stage.is_graphics() { Abi::nvc0_graphics(chip) } else { Abi::nvc0(chip) };
        let needs = Needs::of(ir, &abi);
        self.input(&needs, language, ir.input_bytes, test);
        self.buffers(&needs, test);
        self.images(&needs, test);
        test.private_bytes = needs.private_bytes;
        if needs.handles {
            self.notes.push(
                "it reads images or textures by handles that are data: bind them by images_bindless".into(),
            );
        }
        match &ir.interface {
            Some(interface) if stage.is_graphics() => self.stage(interface, &needs, test),
            _ => {
                test.grid = Some([1; 3]);
                test.block = Some(ir.block_size.unwrap_or([32, 1, 1]));
            }
        }
    }

    /// The kernel input: arguments, if some of its words are pointers; else one buffer of uniforms.
    fn input(&mut self, needs: &Needs, language: Option<Language>, declared: u32, test: &mut Test) {
        if needs.pointers.is_empty() {
            let end = needs.input.keys().next_back().map_or(0, |&at| at + 4);
            let end = if needs.input_computed { end.max(4 * LEN) } else { end.max(declared) };
            if end > 0 {
                test.uniforms = Some("uniforms".into());
                let buffer = constants(&needs.input, end.div_ceil(4));
                self.add_buffer(test, "uniforms", "The default uniform block.", buffer);
            }
            return;
        }
        let usual = if language == Some(Language::Tgsi) { 4 } else { 8 };
        let bytes = needs.pointers.values().map(|p| p.bytes).max().unwrap_or(usual);
        self.fixture.pointer_bytes = (bytes != usual).then_some(bytes);
        let mut all: BTreeMap<u32, (Arg, u32)> = BTreeMap::new();
        for (n, (&at, p)) in needs.pointers.iter().enumerate() {
            if p.shared {
                all.insert(at, (Arg { shared: Some(4 * LEN), ..Arg::default() }, bytes));
                continue;
            }
            let name = format!("arg{n}");
            let what = format!("The argument at byte {at} of the kernel input, {}.", access(&p.uses));
            self.add_buffer(test, &name, &what, storage(&p.uses));
            all.insert(at, (Arg { buffer: Some(name), ..Arg::default() }, bytes));
        }
        for (&at, uses) in &needs.input {
            // What the next argument leaves room for.
            let room = needs.input.range(at + 1..).next().map_or(4, |(&next, _)| next - at);
            let wide = needs.input.get(&(at + 4)).is_some_and(|u| u.high) && at % 8 == 0;
            let (elem, item) = match uses.is_float() {
                // OpenCL's offsets of a part of a grid, mostly.
                _ if wide => (Elem::U64, Item::Int(0)),
                _ if room == 1 || at % 2 != 0 => (Elem::U8, Item::Int(1)),
                _ if room < 4 || at % 4 != 0 => (Elem::U16, Item::Int(1)),
                true => (Elem::F32, Item::Float(1.0)),
                false => (Elem::U32, Item::Int(1)),
            };
            if uses.high && needs.input.contains_key(&(at.wrapping_sub(4))) && at % 8 == 4 {
                continue;
            }
            all.insert(at, (scalar(elem, item), elem.size() as u32));
        }
        let mut next = 0u32;
        for (at, (mut arg, size)) in all {
            if at != next.next_multiple_of(size) {
                arg.offset = Some(at);
            }
            next = at + size;
            test.args.push(arg);
        }
        self.fixture.input_bytes = (declared > next).then_some(declared);
    }

    fn buffers(&mut self, needs: &Needs, test: &mut Test) {
        for (&slot, uses) in &needs.buffers {
            let slots = if needs.indexed_buffers {
                slot..(slot + SLOTS).min(Abi::MAX_BUFFERS)
            } else {
                slot..slot + 1
            };
            for n in slots {
                let name = format!("ssbo{n}");
                if test.ssbo.insert(n.to_string(), name.clone()).is_none() {
                    let what = format!("Storage buffer {n}, {}.", access(uses));
                    self.add_buffer(test, &name, &what, storage(uses));
                }
            }
        }
        for (&slot, uses) in &needs.uniforms {
            let last = if needs.indexed_uniforms { slot + SLOTS } else { slot + 1 };
            let least = uses.bytes.div_ceil(4).max(4);
            let words = if uses.computed { LEN.max(least) } else { least };
            let used = BTreeMap::from([(0, *uses)]);
            for n in slot..last.min(Abi::MAX_UBOS) {
                let name = format!("ubo{n}");
                if test.ubo.insert(n.to_string(), name.clone()).is_none() {
                    let buffer = constants(&used, words.min(16384));
                    self.add_buffer(test, &name, &format!("Uniform block {n}."), buffer);
                }
            }
        }
    }

    fn images(&mut self, needs: &Needs, test: &mut Test) {
        for (&slot, p) in &needs.images {
            for n in slot..(slot + if p.indexed { SLOTS } else { 1 }).min(Abi::MAX_IMAGES) {
                let name = format!("image{n}");
                if test.images_bound.insert(n.to_string(), Bound::Whole(name.clone())).is_none() {
                    let what = if p.format.is_some() {
                        "of the format that the program declares"
                    } else {
                        "of any format"
                    };
                    self.add_image(test, &name, &format!("Image {n}, {what}."), p);
                }
            }
        }
        for (&slot, p) in &needs.textures {
            for n in slot..(slot + if p.indexed { SLOTS } else { 1 }).min(MAX_TEXTURES) {
                let name = format!("texture{n}");
                let compare = p.shadow.then(|| "lequal".to_string());
                let texture = Texture { image: name.clone(), compare, ..Texture::default() };
                if test.textures.insert(n.to_string(), texture).is_none() {
                    self.add_image(test, &name, &format!("Texture {n}, read with the default sampler."), p);
                }
            }
        }
        if needs.framebuffer {
            test.framebuffer = Some("framebuffer".into());
            let what = "What the shader reads as its framebuffer.";
            let p = Picture {
                dim: Dim::D2,
                array: false,
                shadow: false,
                format: None,
                ty: Type::F32,
                written: false,
                indexed: false,
            };
            self.add_image(test, "framebuffer", what, &p);
        }
    }

    fn add_buffer(&mut self, test: &mut Test, name: &str, what: &str, buffer: Buffer) {
        self.parts.insert(name.into(), what.into());
        test.buffers.insert(name.into(), buffer);
    }

    fn add_image(&mut self, test: &mut Test, name: &str, what: &str, p: &Picture) {
        self.parts.insert(name.into(), what.into());
        test.images.insert(name.into(), picture(p));
    }

    /// The parameters that a cubin's kernel has: one of eight bytes may be an address, of four it is not where addresses have eight.
    fn of_cubin(&mut self, kernel: &cubin::Kernel, test: &mut Test) {
        test.grid = Some([1; 3]);
        test.block =
            Some(kernel.block_size.filter(|b| b.iter().product::<u32>() <= 64).unwrap_or([32, 1, 1]));
        let mut params = kernel.params.clone();
        params.sort_by_key(|p| p.offset);
        for p in &params {
            let arg = match p.size {
                8 => {
                    let name = format!("arg{}", p.ordinal);
                    let what = format!(
                        "Parameter {}, taken as an address: {{ u64 = 1 }} if it is a number.",
                        p.ordinal
                    );
                    self.add_buffer(test, &name, &what, storage(&Uses::default()));
                    Arg { buffer: Some(name), ..Arg::default() }
                }
                4 => scalar(Elem::U32, Item::Int(1)),
                size => Arg { bytes: Some(vec![0; size as usize]), ..Arg::default() },
            };
            test.args.push(Arg { offset: Some(p.offset.into()), ..arg });
        }
    }

    fn stage(&mut self, interface: &Interface, needs: &Needs, test: &mut Test) {
        self.notes
            .push("with `expect`, docs/fixtures-graphics.md, it compares what the threads leave".into());
        let p = &interface.properties;
        let corners = match p.tess_domain {
            2 => 4,
            3 => 2,
            _ => 3,
        };
        let missing = |n: u16, other: usize| if n == 0 { other } else { n.into() };
        match interface.stage {
            Stage::Vertex => {
                let row = |n: u8, a: &ir::Attribute| {
                    let uses = needs.attributes.get(&(false, nvir::stage::vertex_input(n.into())));
                    (format!("IN[{n}]"), (0..4).map(|v| value(a.mask, uses, v)).collect())
                };
                let inputs = interface.inputs.iter().map(|a| row(a.semantic.index(), a)).collect();
                test.vertices = Some(Vertices { count: 4, inputs, system: VertexSystem::default() });
            }
            Stage::TessControl => {
                if p.vertices_out == 0 || self.assumed {
                    self.fixture.nir_tess = Some(tess(3));
                }
                let vertices_in = self.vertices(needs, missing(p.vertices_out, 3));
                test.patches = Some(patches(interface, needs, vertices_in, None));
            }
            Stage::TessEval => {
                if p.tess_domain == 0 || self.assumed {
                    self.fixture.nir_tess = Some(tess(0));
                }
                let at = [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.25, 0.25]];
                let invocations =
                    Points { patch: vec![0; at.len()], tess_coord: at.iter().map(|p| p.to_vec()).collect() };
                let vertices_in = self.vertices(needs, corners);
                test.patches = Some(patches(interface, needs, vertices_in, Some(invocations)));
            }
            Stage::Geometry => {
                if p.vertices_in == 0 || self.assumed {
                    // GL_TRIANGLES and GL_TRIANGLE_STRIP.
                    let (vertices_out, vertices_in) = (missing(p.max_vertices, 3) as u16, 3);
                    let gs = Geometry {
                        input: 4,
                        output: 5,
                        vertices_out,
                        vertices_in,
                        invocations: 1,
                        streams: 1,
                    };
                    self.fixture.nir_gs = Some(gs);
                }
                let vertices_in = missing(p.vertices_in, 3);
                let inputs = of_vertices(interface, needs, vertices_in);
                let system = PrimitiveSystem::default();
                test.primitives =
                    Some(Primitives { count: 1, vertices_in, invocations: None, inputs, system });
            }
            Stage::Fragment => {
                test.triangle = Some(triangle(interface, needs));
                test.quads = vec![Quad { at: [0, 0], cover: [1; 4] }];
            }
            Stage::Compute => {}
        }
    }

    /// How many vertices a patch has: at least those that the code names.
    fn vertices(&mut self, needs: &Needs, least: usize) -> usize {
        match needs.vertices {
            Some(n) => least.max(n as usize).min(32),
            None => 32,
        }
    }
}

fn tess(vertices_out: u8) -> Tess {
    Tess {
        vertices_out,
        primitive_mode: 1,
        spacing: 1,
        ccw: Default::default(),
        point_mode: Default::default(),
    }
}

fn patches(interface: &Interface, needs: &Needs, vertices_in: usize, invocations: Option<Points>) -> Patches {
    let per_patch = interface.inputs.iter().filter(|a| a.semantic.is_per_patch());
    let patch_inputs = per_patch.map(|a| (a.semantic.to_string(), vec![value(a.mask, uses(needs, a), 0)]));
    Patches {
        count: 1,
        vertices_in,
        vertices_out: None,
        inputs: of_vertices(interface, needs, vertices_in),
        patch_inputs: patch_inputs.collect(),
        system: PrimitiveSystem::default(),
        invocations,
    }
}

fn uses<'a>(needs: &'a Needs, a: &ir::Attribute) -> Option<&'a Uses> {
    needs.attributes.get(&(a.semantic.is_per_patch(), a.semantic.address()? & !15))
}

/// Inputs of each vertex of the only patch or primitive.
fn of_vertices(interface: &Interface, needs: &Needs, vertices: usize) -> Attributes<Vec<Vec<Value>>> {
    let placed = |a: &&ir::Attribute| a.semantic.address().is_some() && !a.semantic.is_per_patch();
    let told = |a: &&ir::Attribute| !matches!(a.semantic, Semantic::PrimitiveId | Semantic::TessCoord);
    let row = |a: &ir::Attribute| {
        let all = (0..vertices).map(|v| value(a.mask, uses(needs, a), v)).collect();
        (a.semantic.to_string(), vec![all])
    };
    interface.inputs.iter().filter(placed).filter(told).map(row).collect()
}

fn triangle(interface: &Interface, needs: &Needs) -> Triangle {
    let told = |a: &&ir::Attribute| {
        let by_rasteriser = matches!(a.semantic, Semantic::Position | Semantic::Face | Semantic::PrimitiveId);
        a.semantic.address().is_some() && !by_rasteriser
    };
    let row = |a: &ir::Attribute| {
        (a.semantic.to_string(), (0..3).map(|v| value(a.mask, uses(needs, a), v)).collect())
    };
    Triangle {
        window: [[0.0, 0.0, 0.5, 1.0], [8.0, 0.0, 0.5, 1.0], [0.0, 8.0, 0.5, 1.0]],
        front: true,
        flat_vertex: 2,
        primitive_id: 0,
        varyings: interface.inputs.iter().filter(told).map(row).collect(),
    }
}

/// An attribute of the vertex of that number: integers 0, 1, 2 ..., or floats; a fourth component is 1.
fn value(mask: u8, uses: Option<&Uses>, vertex: usize) -> Value {
    let integer = uses.is_some_and(|u| u.integers > 0 && u.floats == 0);
    let semantic = |c: u32| match (integer, c) {
        (true, _) => Item::Int(vertex as i64),
        (false, 3) => Item::Float(1.0),
        (false, c) => Item::Float(0.25 * (vertex as f64 + f64::from(c)).rem_euclid(4.0)),
    };
    let components = 8 - mask.max(1).leading_zeros();
    Value((0..components).map(|c| Some(semantic(c))).collect())
}

fn access(uses: &Uses) -> &'static str {
    match (uses.read, uses.written) {
        (true, true) => "read and written",
        (true, false) => "read",
        (false, true) => "written",
        (false, false) => "whose size is read",
    }
}

/// A buffer that a program reads or writes by addresses that it computes.
fn storage(uses: &Uses) -> Buffer {
    let ty = match uses.smallest {
        _ if uses.doubles > 0 && uses.floats == 0 => Elem::F64,
        1 => Elem::U8,
        2 => Elem::U16,
        _ if uses.is_float() => Elem::F32,
        _ => Elem::U32,
    };
    let least = uses.bytes.min(1 << 20).div_ceil(ty.size() as u32);
    Buffer { ty, len: LEN.max(least), init: None, expect: None, tolerance: Default::default() }
}

/// Constants: ones, each as a number of the type that it is read as, since loops are as often counted by them as not.
fn constants(words: &BTreeMap<u32, Uses>, len: u32) -> Buffer {
    let (floats, integers): (Vec<_>, Vec<_>) =
        words.iter().filter(|(_, u)| u.floats + u.integers > 0).partition(|(_, u)| u.is_float());
    let one = Some(Data::Fill(Item::Int(1)));
    let (ty, init) = match (floats.is_empty(), integers.is_empty()) {
        (false, true) => (Elem::F32, Some(Data::Fill(Item::Float(1.0)))),
        (true, _) => (Elem::U32, one),
        (false, false) => {
            let word = |n: u32| match words.get(&(4 * n)) {
                Some(u) if u.is_float() => Item::Text("0x3f800000".into()),
                _ => Item::Int(1),
            };
            (Elem::U32, Some(Data::List((0..len).map(|n| Some(word(n))).collect())))
        }
    };
    Buffer { ty, len, init, expect: None, tolerance: Default::default() }
}

fn picture(p: &Picture) -> Image {
    let (ty, size) = match (p.dim, p.array) {
        (Dim::Buffer, _) => ("buffer", [64, 1, 1]),
        (Dim::D1, false) => ("1d", [16, 1, 1]),
        (Dim::D1, true) => ("1d_array", [16, 4, 1]),
        (Dim::D2, false) => ("2d", [16, 16, 1]),
        (Dim::D2, true) => ("2d_array", [16, 16, 4]),
        (Dim::D3, _) => ("3d", [16, 16, 4]),
        (Dim::Cube, false) => ("cube", [16, 16, 6]),
        (Dim::Cube, true) => ("cube_array", [16, 16, 12]),
        (Dim::Ms, _) => ("2d_ms", [16, 16, 4]),
    };
    let format = match p.format {
        Some(format) => format.to_string(),
        None => match p.ty {
            _ if p.shadow => "r32f",
            Type::S32 => "rgba32i",
            Type::F32 => "rgba8",
            _ => "r32ui",
        }
        .to_string(),
    };
    Image {
        ty: ty.into(),
        format,
        size,
        levels: None,
        layout: None,
        init: None,
        expect: None,
        tolerance: Default::default(),
    }
}
