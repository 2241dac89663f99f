//! Vertex fetch: attributes of vertices from arrays in memory.
//!
//! A [`Plan`] is what the registers say, resolved once for the vertices of a draw: what is the same
//! for all of them (constants, arrays that advance with the instance, stride 0) is read when the plan
//! is made. Rows of the vertex stage's input buffer are then filled attribute by attribute.

use crate::Memory;
use crate::device::EngineResult;
use crate::engine::registers::Registers;
use nvir_base::format::{Kind, Layout};
use nvir_base::stage::attribute::{GENERIC, INSTANCE_ID, VERTEX_ID};
use nvir_emu::decode_texel;
use nvir_emu::stage::batch::{AttributeBuffer, Slots};
use nvir_hw::format::vertex::{Attribute, Type, bits};
use nvir_hw::method::three_d::*;
use nvir_hw::word::{ArrayFetch, AttributeDefine, VertexIdReplace};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Attributes that there are.
pub(super) const ATTRIBUTES: usize = 32;

const ONE: u32 = 0x3f80_0000;

/// What an attribute has where nothing is read.
const ABSENT: [u32; 4] = [0, 0, 0, ONE];

/// The values of attributes that are the same for all vertices: VTX_ATTR_DEFINE and VTX_ATTR_DATA.
#[derive(Clone, Debug)]
pub(super) struct Current([[u32; 4]; ATTRIBUTES]);

impl Default for Current {
    fn default() -> Current {
        Current([ABSENT; ATTRIBUTES])
    }
}

impl Current {
    /// VTX_ATTR_DATA(`n`), of the attribute that VTX_ATTR_DEFINE names.
    pub(super) fn data(&mut self, r: &Registers, n: u32, value: u32) -> EngineResult {
        let define = AttributeDefine::from_bits(r.get(VTX_ATTR_DEFINE));
        let ty = Type::from_code(define.ty()).filter(|_| define.size() == AttributeDefine::WORDS);
        let ty = ty.ok_or_else(|| format!("VTX_ATTR_DEFINE {:#x} names no type", define.into_bits()))?;
        let Some(attribute) = self.0.get_mut(define.attribute() as usize) else {
            return Err(format!("there is no attribute {}", define.attribute()));
        };
        let format = Format::new(ty, [32, 0, 0, 0], false);
        if n == 0 {
            *attribute = format.decode(0);
        }
        if n < define.components() {
            attribute[n as usize] = format.decode(value.into())[0];
        }
        Ok(())
    }
}

/// How the components of an element are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Format {
    /// Of scaled integers those of integers.
    layout: Layout,
    /// Integers become floats.
    scaled: bool,
}

impl Format {
    fn new(ty: Type, bits: [u8; 4], bgra: bool) -> Format {
        let kind = match ty {
            Type::Snorm => Kind::Snorm,
            Type::Unorm => Kind::Unorm,
            Type::Sint | Type::Sscaled => Kind::Sint,
            Type::Uint | Type::Uscaled => Kind::Uint,
            Type::Float => Kind::Float,
        };
        let scaled = matches!(ty, Type::Sscaled | Type::Uscaled);
        Format { layout: Layout { kind, bits, bgra }, scaled }
    }

    fn bytes(self) -> u64 {
        u64::from(self.layout.bytes())
    }

    /// The components of an element, from its bytes as a number; absent ones are 0, 0, 0, 1.
    fn decode(self, raw: u128) -> [u32; 4] {
        let mut out = decode_texel(self.layout, std::array::from_fn(|i| (raw >> (32 * i)) as u32));
        if self.scaled {
            let float = |v: u32| match self.layout.kind {
                Kind::Sint => (v as i32) as f32,
                _ => v as f32,
            };
            out = out.map(|v| float(v).to_bits());
        }
        out
    }

    /// Whether each component is the word that is stored.
    fn is_plain(self) -> bool {
        let Layout { kind, bits, bgra } = self.layout;
        let words = bits.iter().all(|b| matches!(b, 0 | 32));
        words && matches!(kind, Kind::Float | Kind::Uint | Kind::Sint) && !bgra && !self.scaled
    }

    /// What an absent component has where the others are words.
    fn absent(self, component: usize) -> u32 {
        self.decode(0)[component]
    }
}

/// Bytes of memory, from a multiple of 4 on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes<'m> {
    words: &'m [AtomicU32],
    /// The first byte's place in the first word.
    skip: u64,
}

impl<'m> Bytes<'m> {
    pub(super) fn of(memory: &'m Memory, address: u64) -> Option<Bytes<'m>> {
        Some(Bytes { words: memory.words_from(address & !3)?, skip: address & 3 })
    }

    pub(super) fn len(&self) -> u64 {
        (self.words.len() as u64 * 4).saturating_sub(self.skip)
    }

    /// Up to 16 bytes at an offset, all of which are there.
    pub(super) fn load(&self, offset: u64, bytes: u64) -> u128 {
        let at = offset + self.skip;
        let first = (at / 4) as usize;
        let last = ((at + bytes - 1) / 4) as usize;
        let (mut low, mut high) = (0u128, 0u128);
        for (i, word) in self.words[first..=last].iter().enumerate() {
            let word = u128::from(word.load(Relaxed));
            if i < 4 { low |= word << (32 * i) } else { high = word }
        }
        match 8 * (at % 4) {
            0 => low,
            shift => low >> shift | high << (128 - shift),
        }
    }
}

/// An array that is read for each vertex.
#[derive(Clone, Copy, Debug)]
struct Array<'m> {
    bytes: Bytes<'m>,
    /// From the start of an element on.
    offset: u64,
    stride: u64,
    /// Bytes that may be read.
    len: u64,
    format: Format,
}

impl Array<'_> {
    /// Where an element's attribute begins, if all of it is there.
    #[inline]
    fn place(&self, element: u32) -> Option<u64> {
        let at = u64::from(element) * self.stride + self.offset;
        (at + self.format.bytes() <= self.len).then_some(at)
    }

    fn value(&self, element: u32) -> Option<[u32; 4]> {
        self.place(element).map(|at| self.format.decode(self.bytes.load(at, self.format.bytes())))
    }

    fn element(&self, element: u32) -> [u32; 4] {
        // What is not there is read from a place where the driver keeps zeros.
        self.value(element).unwrap_or(BEYOND)
    }
}

/// Where a component of the input buffer comes from.
#[derive(Clone, Debug)]
enum Source<'m> {
    Same([u32; 4]),
    Array(Array<'m>),
    /// There is no memory for it.
    Nowhere,
}

/// What an attribute has where its array ends before: what the driver keeps for it.
const BEYOND: [u32; 4] = [0; 4];

/// An attribute, with the slots of the components that the program reads.
#[derive(Clone, Debug)]
struct Fetched<'m> {
    number: u32,
    slots: [Option<usize>; 4],
    source: Source<'m>,
}

/// What a vertex program reads, and from where.
#[derive(Debug)]
pub(super) struct Plan<'m> {
    attributes: Vec<Fetched<'m>>,
    vertex_id: Option<(usize, Option<(Source<'m>, usize)>)>,
    instance_id: Option<(usize, u32)>,
}

/// The number of an element and what the program is told of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Vertex {
    /// The element of arrays that advance with vertices.
    pub element: u32,
    /// VertexID.
    pub id: u32,
}

impl<'m> Plan<'m> {
    /// What the registers say for a program that reads these slots, in one instance.
    pub(super) fn new(
        r: &Registers,
        current: &Current,
        memory: &'m Memory,
        slots: &Slots,
        instance: u32,
    ) -> EngineResult<Plan<'m>> {
        let mut attributes = Vec::with_capacity(slots.len().div_ceil(4));
        for i in 0..ATTRIBUTES as u32 {
            let slots = [0, 4, 8, 12].map(|c| slots.slot(GENERIC + 16 * i + c));
            if slots.iter().any(Option::is_some) {
                let source = source(r, current, memory, i, instance)?;
                attributes.push(Fetched { number: i, slots, source });
            }
        }
        let vertex_id = match slots.slot(VERTEX_ID) {
            None => None,
            Some(slot) => {
                let replace = VertexIdReplace::from_bits(r.get(VERTEX_ID_REPLACE));
                let input = (4 * replace.input()).wrapping_sub(GENERIC);
                let instead = if replace.enable() && input < 16 * ATTRIBUTES as u32 {
                    let source = source(r, current, memory, input / 16, instance)?;
                    Some((source, (input / 4 % 4) as usize))
                } else {
                    None
                };
                Some((slot, instead))
            }
        };
        let instance_id = slots.slot(INSTANCE_ID).map(|slot| (slot, instance));
        Ok(Plan { attributes, vertex_id, instance_id })
    }

    /// Each attribute that some vertex needs from beyond its array, with the first such vertex.
    pub(super) fn beyond<'p>(&'p self, vertices: &'p [Vertex]) -> impl Iterator<Item = (u32, Vertex)> + 'p {
        self.attributes.iter().filter_map(|f| {
            let is_beyond = |v: &&Vertex| match &f.source {
                Source::Same(_) => false,
                Source::Array(array) => array.place(v.element).is_none(),
                Source::Nowhere => true,
            };
            vertices.iter().find(is_beyond).map(|v| (f.number, *v))
        })
    }

    /// Appends rows for vertices.
    pub(super) fn fetch(&self, vertices: &[Vertex], to: &mut AttributeBuffer) {
        let first = to.len();
        to.resize(first + vertices.len());
        for Fetched { slots, source, .. } in &self.attributes {
            let value = match source {
                Source::Array(array) => {
                    array.fetch(vertices, slots, to, first);
                    continue;
                }
                Source::Same(value) => value,
                Source::Nowhere => &BEYOND,
            };
            for (slot, value) in slots.iter().zip(value) {
                let Some(slot) = *slot else { continue };
                (first..to.len()).for_each(|row| to.set(row, slot, *value));
            }
        }
        if let Some((slot, instead)) = &self.vertex_id {
            for (row, v) in (first..).zip(vertices) {
                let id = match instead {
                    None => v.id,
                    Some((Source::Same(value), component)) => value[*component],
                    Some((Source::Nowhere, component)) => BEYOND[*component],
                    Some((Source::Array(array), component)) => array.element(v.element)[*component],
                };
                to.set(row, *slot, id);
            }
        }
        if let Some((slot, instance)) = self.instance_id {
            (first..to.len()).for_each(|row| to.set(row, slot, instance));
        }
    }
}

impl Array<'_> {
    fn fetch(&self, vertices: &[Vertex], slots: &[Option<usize>; 4], to: &mut AttributeBuffer, first: usize) {
        let aligned = (self.bytes.skip | self.offset | self.stride).is_multiple_of(4);
        if !aligned || !self.format.is_plain() {
            for (row, v) in (first..).zip(vertices) {
                let value = self.element(v.element);
                for (slot, value) in slots.iter().zip(value) {
                    if let Some(slot) = *slot {
                        to.set(row, slot, value);
                    }
                }
            }
            return;
        }
        for (c, slot) in slots.iter().enumerate() {
            let Some(slot) = *slot else { continue };
            let there = self.format.layout.bits[c] != 0;
            let absent = self.format.absent(c);
            for (row, v) in (first..).zip(vertices) {
                let value = match self.place(v.element) {
                    None => 0,
                    Some(at) if there => self.bytes.words[at as usize / 4 + c].load(Relaxed),
                    Some(_) => absent,
                };
                to.set(row, slot, value);
            }
        }
    }
}

/// Where attribute `i` comes from.
fn source<'m>(
    r: &Registers,
    current: &Current,
    memory: &'m Memory,
    i: u32,
    instance: u32,
) -> EngineResult<Source<'m>> {
    let attribute = Attribute::from_bits(r.get(VERTEX_ATTRIB_FORMAT.at(i)));
    if attribute.constant() {
        return Ok(Source::Same(current.0[i as usize]));
    }
    let a = attribute.array();
    let fetch = ArrayFetch::from_bits(r.get(VERTEX_ARRAY_FETCH.at(a)));
    if !fetch.enable() {
        return Ok(Source::Same(ABSENT));
    }
    let bad = |what: &str| format!("attribute {i}: {what} {:#x}", attribute.into_bits());
    let bits = bits(attribute.size()).ok_or_else(|| bad("no such size in"))?;
    let ty = Type::from_code(attribute.ty()).ok_or_else(|| bad("no such type in"))?;
    if ty == Type::Float && bits.iter().any(|b| !matches!(b, 0 | 10 | 11 | 16 | 32)) {
        return Err(bad("floats of such a size in"));
    }
    let format = Format::new(ty, bits, attribute.bgra());
    let start = r.address(VERTEX_ARRAY_START_HIGH.at(a));
    let limit = r.address(VERTEX_ARRAY_LIMIT_HIGH.at(a));
    let Some(bytes) = Bytes::of(memory, start).filter(|_| start <= limit) else {
        return Ok(Source::Nowhere);
    };
    let same = |value: Option<[u32; 4]>| value.map_or(Source::Nowhere, Source::Same);
    let array = Array {
        bytes,
        offset: attribute.offset().into(),
        stride: fetch.stride().into(),
        len: bytes.len().min(limit - start + 1),
        format,
    };
    if r.get(VERTEX_ARRAY_PER_INSTANCE.at(a)) & 1 == 0 {
        return Ok(if array.stride == 0 { same(array.value(0)) } else { Source::Array(array) });
    }
    let steps = instance.checked_div(r.get(VERTEX_ARRAY_DIVISOR.at(a))).unwrap_or(0);
    Ok(same(array.value(r.get(VB_INSTANCE_BASE).wrapping_add(steps))))
}
