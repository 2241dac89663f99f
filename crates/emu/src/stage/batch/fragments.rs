//! Triangles with the planes of their inputs, and quads of pixels that name them.
//!
//! With b the weights of a triangle's corners at a point of the window, v an input's values there and r the values 1/w, an
//! input that the header declares linear is sum(b v), a perspective one sum(b v r): the program divides by sum(b r), which is
//! what it finds at 0x7c. Source: Mesa 22.3.6's code for these shaders, and that its results agree with llvmpipe's. All three are
//! linear over the window: a plane each, computed once for a triangle.

use super::Interface;
use super::attributes::{AttributeBuffer, Defaults, Slots, WORDS};
use nvir_base::stage::attribute;
use nvir_isa::header::{Header, Interpolation};
use rustc_hash::FxHashSet;

/// A value over the window: `a + x dx + y dy`. Pixels have size 1.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Plane {
    /// At the window's origin.
    pub a: f64,
    /// From a pixel to the next one on the right.
    pub dx: f64,
    /// From a row to the next one.
    pub dy: f64,
}

impl Plane {
    /// The same everywhere.
    pub const fn constant(a: f64) -> Plane {
        Plane { a, dx: 0.0, dy: 0.0 }
    }

    /// What has these values at the corners, by the weights of corners 1 and 2. What is the same at all corners stays so to
    /// the bit.
    #[inline]
    pub fn through([v0, v1, v2]: [f64; 3], [b1, b2]: &[Plane; 2]) -> Plane {
        let (d1, d2) = (v1 - v0, v2 - v0);
        Plane { a: v0 + d1 * b1.a + d2 * b2.a, dx: d1 * b1.dx + d2 * b2.dx, dy: d1 * b1.dy + d2 * b2.dy }
    }

    /// The value at a point.
    #[inline]
    pub fn at(&self, x: f64, y: f64) -> f64 {
        self.a + self.dx * x + self.dy * y
    }
}

/// The weights of corners 1 and 2 of a triangle over the window; none if it has no area.
pub fn weights([[ax, ay], [bx, by], [cx, cy]]: [[f64; 2]; 3]) -> Option<[Plane; 2]> {
    let area = (bx - ax) * (cy - ay) - (cx - ax) * (by - ay);
    if !area.is_finite() || area == 0.0 {
        return None;
    }
    let over = |a: f64, dx: f64, dy: f64| Plane { a: a / area, dx: dx / area, dy: dy / area };
    Some([over(cx * ay - ax * cy, cy - ay, ax - cx), over(ax * by - bx * ay, ay - by, bx - ax)])
}

/// Whether front and back colours are apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sides {
    /// Both sides have the front colours.
    One,
    /// Triangles whose back faces the viewer have the back colours.
    Two,
}

/// Where an input's values are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    Slot(u16),
    Default(u32),
}

/// One declared input.
#[derive(Clone, Copy, Debug)]
struct Input {
    /// Of triangles whose front, and whose back faces the viewer.
    sources: [Source; 2],
    /// What its plane is of, if it has one.
    plane: Option<Interpolation>,
}

/// Which inputs of a fragment header have words and planes in [`Fragments`]: in the order of addresses.
#[derive(Clone, Debug)]
pub(crate) struct Inputs {
    /// By word address: the number of its word, which is the flat vertex's, and of its plane.
    pub words: [u16; WORDS],
    pub planes: [u16; WORDS],
}

/// What has no number.
pub(crate) const NONE: u16 = u16::MAX;

/// The inputs that have words: what the rasteriser itself makes is not among them.
fn declared(header: &Header) -> impl Iterator<Item = (u32, Interpolation)> + '_ {
    let all = (0..4 * WORDS as u32).step_by(4).map(|a| (a, header.interpolation(a)));
    all.filter(|&(a, kind)| kind != Interpolation::Unused && a != attribute::FACE)
}

fn has_plane(address: u32, kind: Interpolation) -> bool {
    kind != Interpolation::Flat && !(attribute::POSITION..=attribute::POSITION_W).contains(&address)
}

impl Inputs {
    pub(crate) fn new(header: &Header) -> Inputs {
        let mut inputs = Inputs { words: [NONE; WORDS], planes: [NONE; WORDS] };
        let mut planes = 0;
        for (n, (address, kind)) in declared(header).enumerate() {
            inputs.words[address as usize / 4] = n as u16;
            if has_plane(address, kind) {
                inputs.planes[address as usize / 4] = planes;
                planes += 1;
            }
        }
        inputs
    }
}

/// Where the inputs of a fragment program are among the attributes of vertices: made once a draw.
#[derive(Clone, Debug)]
pub struct Linkage {
    inputs: Vec<Input>,
    planes: usize,
    defaults_defined: bool,
}

impl Linkage {
    /// Of the inputs that `header` declares, in vertices that have these slots.
    pub fn new(header: &Header, vertices: &Slots, defaults: &Defaults, sides: Sides) -> Linkage {
        const BACK: u32 = attribute::BACK_COLOR - attribute::COLOR;
        let source = |a: u32| match vertices.slot(a) {
            Some(slot) => Source::Slot(slot as u16),
            None => Source::Default(defaults.word(a)),
        };
        let input = |(a, kind): (u32, Interpolation)| {
            let colour = (attribute::COLOR..attribute::BACK_COLOR).contains(&a);
            let back = if colour && sides == Sides::Two { a + BACK } else { a };
            Input { sources: [source(a), source(back)], plane: has_plane(a, kind).then_some(kind) }
        };
        let inputs: Vec<Input> = declared(header).map(input).collect();
        let planes = inputs.iter().filter(|i| i.plane.is_some()).count();
        Linkage { inputs, planes, defaults_defined: defaults.defined }
    }
}

/// A triangle in the window, or what stands for a line or a point: any three corners with any weights.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Triangle {
    /// Rows of the vertices' attributes; they may repeat.
    pub corners: [u32; 3],
    /// The row that flat inputs are taken from. It need not be a corner's.
    pub flat: u32,
    /// Of corners 1 and 2: [`weights`] of the whole triangle for clipped pieces; 0 to 1 along the major axis for a line, whose
    /// corner 2 is corner 1 again; 0 to 1 over x and over y for a point, whose corners have coordinates (0, 0), (1, 0), (0, 1).
    pub weights: [Plane; 2],
    /// What a program finds at 0x78.
    pub depth: Plane,
    /// 1/w at the corners.
    pub inverse_w: [f64; 3],
    /// Its front faces the viewer.
    pub front: bool,
    /// The number of the primitive.
    pub id: u32,
    /// The layer that it goes to.
    pub layer: u32,
    /// The viewport that it went through.
    pub viewport: u32,
}

/// Four pixels: (x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quad {
    /// The number of its triangle.
    pub triangle: u32,
    /// Of the first pixel; even numbers.
    pub at: [u32; 2],
    /// Samples that the triangle covers, a mask for each pixel.
    pub cover: [u8; 4],
    /// A bit for each pixel that has an effect; the others run for their neighbours only. Pixels that are covered, as a rule;
    /// those that passed where tests come before the program.
    pub live: u8,
    /// The sample that the program runs for, if it runs once a sample: `cover` is that one alone.
    pub sample: Option<u8>,
}

impl Quad {
    /// A quad whose covered pixels have an effect.
    pub fn new(triangle: u32, at: [u32; 2], cover: [u8; 4]) -> Quad {
        let live = cover.iter().rev().fold(0, |m, &c| m << 1 | u8::from(c != 0));
        Quad { triangle, at, cover, live, sample: None }
    }
}

/// What all inputs of a triangle share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shared {
    pub depth: Plane,
    pub inverse_w: Plane,
    pub front: bool,
    pub id: u32,
    pub layer: u32,
    pub viewport: u32,
}

/// The quads of a launch, and the triangles that they are of.
///
/// ```
/// use nvir_base::stage::Stage;
/// use nvir_emu::stage::batch::{self, AttributeBuffer, Defaults, Fragments, Linkage, Plane, Quad, Sides, Slots};
/// use nvir_isa::header::{Header, Interpolation};
/// let mut header = Header::new(Stage::Fragment);
/// header.set_interpolation(0x80, Interpolation::Linear);
/// let mut vertices = AttributeBuffer::new(std::sync::Arc::new(Slots::new([0x80])));
/// for value in [1.0f32, 2.0, 4.0] {
///     let vertex = vertices.push() as usize;
///     vertices.set(vertex, 0, value.to_bits());
/// }
/// let link = Linkage::new(&header, vertices.slots(), &Defaults::zero(), Sides::One);
/// let mut fragments = Fragments::new();
/// let triangle = fragments.triangle(&link, &vertices, &batch::Triangle {
///     corners: [0, 1, 2],
///     flat: 2,
///     weights: batch::weights([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]]).unwrap(),
///     depth: Plane::constant(0.5),
///     inverse_w: [1.0; 3],
///     front: true,
///     id: 0,
///     layer: 0,
///     viewport: 0,
/// });
/// fragments.quad(Quad::new(triangle, [2, 2], [1, 1, 1, 0]));
/// assert_eq!((fragments.quads.len(), fragments.quads[0].live), (1, 0b0111));
/// ```
#[derive(Clone, Default, Debug)]
pub struct Fragments {
    /// Groups of four pixels: eight of them are a warp, in order.
    pub quads: Vec<Quad>,
    triangles: Vec<Shared>,
    /// For each triangle the flat vertex's words, then the planes of the next one follow.
    words: Vec<u32>,
    planes: Vec<Plane>,
    /// Triangle and input (words first, then planes) of what has no value.
    undefined: FxHashSet<(u32, u16)>,
    words_each: usize,
    planes_each: usize,
}

impl Fragments {
    /// No triangles and no quads.
    pub fn new() -> Fragments {
        Fragments::default()
    }

    /// Drops all triangles and quads; the next ones may be of another header.
    pub fn clear(&mut self) {
        self.quads.clear();
        self.triangles.clear();
        self.words.clear();
        self.planes.clear();
        self.undefined.clear();
    }

    /// Triangles so far.
    pub fn triangles(&self) -> usize {
        self.triangles.len()
    }

    /// Adds a quad.
    pub fn quad(&mut self, quad: Quad) {
        self.quads.push(quad);
    }

    /// Adds a triangle of vertices that are in the buffer: its number. All triangles of a launch are for one header.
    pub fn triangle(&mut self, link: &Linkage, vertices: &AttributeBuffer, t: &Triangle) -> u32 {
        (self.words_each, self.planes_each) = (link.inputs.len(), link.planes);
        let number = self.triangles.len() as u32;
        self.triangles.push(Shared {
            depth: t.depth,
            inverse_w: Plane::through(t.inverse_w, &t.weights),
            front: t.front,
            id: t.id,
            layer: t.layer,
            viewport: t.viewport,
        });
        let corners = t.corners.map(|c| c as usize);
        let flat = t.flat as usize;
        let (mut word, mut plane) = (0, link.inputs.len() as u16);
        for input in &link.inputs {
            let source = input.sources[usize::from(!t.front)];
            let get = |vertex| match source {
                Source::Slot(slot) => vertices.get(vertex, slot.into()),
                Source::Default(word) => word,
            };
            let defined = |vertex| match source {
                Source::Slot(slot) => vertices.is_defined(vertex, slot.into()),
                Source::Default(_) => link.defaults_defined,
            };
            self.words.push(get(flat));
            if !defined(flat) {
                self.undefined.insert((number, word));
            }
            word += 1;
            let Some(kind) = input.plane else { continue };
            let mut values = corners.map(|c| f64::from(f32::from_bits(get(c))));
            if kind == Interpolation::Perspective {
                values = std::array::from_fn(|i| values[i] * t.inverse_w[i]);
            }
            self.planes.push(Plane::through(values, &t.weights));
            if !corners.iter().all(|&c| defined(c)) {
                self.undefined.insert((number, plane));
            }
            plane += 1;
        }
        number
    }

    /// What a program reads at a point of a triangle, by the addresses of its inputs: perspective ones divided.
    pub fn inputs(&self, interface: &Interface, triangle: u32, [x, y]: [f64; 2]) -> Vec<(u32, u32)> {
        let shared = self.shared(triangle);
        let inputs = interface.fragment_inputs();
        let value = |address: u32, kind: Interpolation| {
            let word = address as usize / 4;
            let plane = |plane: &Plane| (plane.at(x, y) as f32).to_bits();
            match address {
                attribute::POSITION => (x as f32).to_bits(),
                attribute::POSITION_Y => (y as f32).to_bits(),
                attribute::POSITION_Z => plane(&shared.depth),
                attribute::POSITION_W => plane(&shared.inverse_w),
                attribute::PRIMITIVE_ID => shared.id,
                attribute::LAYER => shared.layer,
                attribute::VIEWPORT_INDEX => shared.viewport,
                _ if inputs.planes[word] == NONE => self.flat(triangle, inputs.words[word]),
                _ if kind == Interpolation::Perspective => {
                    let plane = self.plane(triangle, inputs.planes[word]);
                    ((plane.at(x, y) / shared.inverse_w.at(x, y)) as f32).to_bits()
                }
                _ => plane(self.plane(triangle, inputs.planes[word])),
            }
        };
        declared(&interface.header).map(|(address, kind)| (address, value(address, kind))).collect()
    }

    /// Whether quads name triangles that there are, and those are for inputs of this many words.
    pub(crate) fn check(&self, inputs: &Inputs) -> Result<(), String> {
        let words = inputs.words.iter().filter(|&&w| w != NONE).count();
        if !self.quads.is_empty() && self.words_each != words {
            return Err(format!(
                "triangles have {} inputs, and the header declares {words}",
                self.words_each
            ));
        }
        match self.quads.iter().find(|q| q.triangle as usize >= self.triangles.len()) {
            None => Ok(()),
            Some(q) => {
                let last = self.triangles.len().wrapping_sub(1);
                Err(format!("a quad is of triangle {}: index out of range (0 to {last})", q.triangle))
            }
        }
    }

    pub(crate) fn shared(&self, triangle: u32) -> &Shared {
        &self.triangles[triangle as usize]
    }

    /// The word that a triangle's flat vertex has for an input.
    #[inline]
    pub(crate) fn flat(&self, triangle: u32, word: u16) -> u32 {
        self.words[triangle as usize * self.words_each + usize::from(word)]
    }

    #[inline]
    pub(crate) fn plane(&self, triangle: u32, plane: u16) -> &Plane {
        &self.planes[triangle as usize * self.planes_each + usize::from(plane)]
    }

    /// Whether any input of any triangle has no value.
    pub(crate) fn lacks_any(&self) -> bool {
        !self.undefined.is_empty()
    }

    /// Whether a triangle's input has no value at its flat vertex.
    pub(crate) fn lacks_word(&self, triangle: u32, word: u16) -> bool {
        self.lacks(triangle, word)
    }

    /// Whether a triangle's input has no value at one of its corners.
    pub(crate) fn lacks_plane(&self, triangle: u32, plane: u16) -> bool {
        self.lacks(triangle, self.words_each as u16 + plane)
    }

    fn lacks(&self, triangle: u32, which: u16) -> bool {
        self.undefined.contains(&(triangle, which))
    }
}
