//! The state of a draw for people: what is on, by the values that its registers mean.

use super::fetch;
use super::raster::{Cull, PolygonMode, Rect, SampleAt};
use super::regs::{Target, View};
use crate::engine::registers::Registers;
use crate::image::surface_format::color_name;
use crate::watch::Field;
use nvir_base::stage::attribute::GENERIC;
use nvir_emu::stage::batch::Slots;
use nvir_hw::format::color::Color;
use nvir_hw::format::vertex::{Attribute, Type, bits};
use nvir_hw::format::zeta::Zeta;
use nvir_hw::method::three_d::*;
use nvir_hw::word::ArrayFetch;

/// A group of fields that is being made.
struct Group<'f> {
    name: String,
    fields: &'f mut Vec<Field>,
}

impl Group<'_> {
    fn push(&mut self, name: &'static str, value: String, said: Option<String>) {
        self.fields.push(Field { group: self.name.clone(), name, value, said });
    }

    /// What a line of the log leaves out.
    fn quiet(&mut self, name: &'static str, value: impl ToString) {
        self.push(name, value.to_string(), None);
    }

    /// What a line of the log says as it is.
    fn plain(&mut self, name: &'static str, value: String) {
        self.push(name, value.clone(), Some(value));
    }

    /// What a line of the log says with its name, if it is on.
    fn named(&mut self, name: &'static str, value: Option<String>) {
        let said = value.as_ref().map(|v| format!("{name} {v}"));
        self.push(name, value.unwrap_or_else(|| "off".into()), said);
    }
}

/// State of a draw, in lines.
pub(super) fn lines(view: View<'_>) -> Vec<String> {
    let mut lines: Vec<(String, String)> = Vec::new();
    for Field { group, said, .. } in state(view) {
        let Some(said) = said else { continue };
        match lines.last_mut().filter(|l| l.0 == group) {
            Some((_, line)) => *line += &format!(", {said}"),
            None => lines.push((group, said)),
        }
    }
    lines.into_iter().map(|(group, line)| format!("{group}: {line}")).collect()
}

/// State of a draw, field by field.
pub(super) fn state(view: View<'_>) -> Vec<Field> {
    let mut fields = Vec::new();
    for (n, target) in view.targets() {
        let Some(color) = Color::from_code(target.format) else { continue };
        let mut group = Group { name: format!("color {n}"), fields: &mut fields };
        group.plain("target", place(&target, &color_name(color), color.format.bytes()));
        match view.color(n, color) {
            Err(why) => group.plain("error", why),
            Ok(state) => {
                let blend = state.blend.map(|b| format!("{} alpha {}", b.color, b.alpha));
                group.named("blend", blend);
                if let Some(b) = state.blend {
                    group.quiet("blend constant", format!("{:?}", b.constant));
                }
                let logic = state.logic.map(|l| format!("{l:?}"));
                group.push("logic", logic.clone().unwrap_or_else(|| "off".into()), logic);
                let written = "rgba".chars().zip(state.mask).filter(|c| c.1).map(|c| c.0).collect::<String>();
                let said = (state.mask != [true; 4]).then(|| format!("writes {written}"));
                group.push("writes", written, said);
            }
        }
    }
    depth(view, &mut fields);
    raster(view, &mut fields);
    fields
}

/// Where the attributes come from that a program reads.
pub(super) fn arrays(r: &Registers, slots: &Slots) -> Vec<Field> {
    let mut fields = Vec::new();
    for i in 0..fetch::ATTRIBUTES as u32 {
        if [0, 4, 8, 12].iter().all(|c| slots.slot(GENERIC + 16 * i + c).is_none()) {
            continue;
        }
        let attribute = Attribute::from_bits(r.get(VERTEX_ATTRIB_FORMAT.at(i)));
        let mut group = Group { name: format!("attribute {i}"), fields: &mut fields };
        let a = attribute.array();
        let fetch = ArrayFetch::from_bits(r.get(VERTEX_ARRAY_FETCH.at(a)));
        if attribute.constant() || !fetch.enable() {
            group.quiet("source", if attribute.constant() { "a constant" } else { "nothing is bound" });
            continue;
        }
        group.quiet("source", format!("array {a} at {:#x}", r.address(VERTEX_ARRAY_START_HIGH.at(a))));
        group.quiet("ends at", format!("{:#x}", r.address(VERTEX_ARRAY_LIMIT_HIGH.at(a))));
        group.quiet("stride", fetch.stride());
        group.quiet("offset", attribute.offset());
        let bits = bits(attribute.size()).map_or("?".into(), |b| format!("{b:?} bits"));
        let ty = Type::from_code(attribute.ty()).map_or("?".into(), |t| format!("{t:?}").to_lowercase());
        group.quiet("format", format!("{ty} {bits}{}", if attribute.bgra() { ", blue first" } else { "" }));
        if r.get(VERTEX_ARRAY_PER_INSTANCE.at(a)) & 1 != 0 {
            group.quiet("instances for each element", r.get(VERTEX_ARRAY_DIVISOR.at(a)));
        }
    }
    fields
}

/// The index buffer, from which index on it is read and how many there are, and some of them.
pub(super) fn indices(
    r: &Registers,
    [first, count]: [u64; 2],
    some: Vec<u32>,
    restart: Option<u32>,
) -> Vec<Field> {
    let mut fields = Vec::new();
    let mut group = Group { name: "indices".into(), fields: &mut fields };
    let [start, limit] = [INDEX_ARRAY_START_HIGH, INDEX_ARRAY_LIMIT_HIGH].map(|at| r.address(at));
    group.quiet("buffer", format!("{start:#x}, ends at {limit:#x}"));
    group.quiet("format", ["8 bits", "16 bits", "32 bits"].get(r.get(INDEX_FORMAT) as usize).unwrap_or(&"?"));
    group.quiet("first", first);
    group.quiet("count", count);
    let more = if count > some.len() as u64 { ", ..." } else { "" };
    group.quiet("values", some.iter().map(u32::to_string).collect::<Vec<_>>().join(", ") + more);
    if let Some(restart) = restart {
        group.quiet("restart at", format!("{restart:#x}"));
    }
    fields
}

/// The depth buffer and its tests.
fn depth(view: View<'_>, fields: &mut Vec<Field>) {
    let target = view.zeta();
    let Some(format) = Zeta::from_code(target.format).filter(|_| view.uses_zeta()) else { return };
    let mut group = Group { name: "depth".into(), fields };
    group.plain("target", place(&target, &format!("{format:?}").to_lowercase(), format.bytes() as u32));
    let state = match view.depth_stencil() {
        Err(why) => return group.plain("error", why),
        Ok(state) => state,
    };
    group
        .named("test", state.depth.map(|t| format!("{:?}{}", t.func, if t.write { ", writes" } else { "" })));
    group.named("bounds", state.bounds.map(|[near, far]| format!("{near}..{far}")));
    group.named("stencil", state.stencil.map(|[front, _]| format!("{front:?}")));
    if let Some([_, back]) = state.stencil.filter(|[front, back]| front != back) {
        group.push("stencil of back faces", format!("{back:?}"), Some(format!("of back faces {back:?}")));
    }
}

/// Viewport, scissors and what decides which pixels are covered.
fn raster(view: View<'_>, fields: &mut Vec<Field>) {
    let Ok(state) = view.raster(0, Rect::ALL, None) else { return };
    let mut group = Group { name: "raster".into(), fields };
    let [[x0, x1], [y0, y1]] = [state.rect.x, state.rect.y];
    let pixels = format!("({x0}, {y0}) to ({x1}, {y1})");
    let said = Some(format!("pixels {pixels}"));
    group.push("pixels", pixels, said);
    let front = format!("{:?}", state.front_face);
    group.push("front", front.clone(), Some(format!("front {front}")));
    let cull = format!("{:?}", state.cull);
    let said = (state.cull != Cull::Nothing).then(|| format!("culls {cull}"));
    group.push("culls", cull, said);
    let polygons = format!("{:?}", state.polygon);
    let said = (state.polygon != [PolygonMode::Fill; 2]).then(|| format!("polygons {polygons}"));
    group.push("polygons", polygons, said);
    let on = state.offset.point || state.offset.line || state.offset.fill;
    let offset = on.then(|| format!("{} + {} units", state.offset.factor, state.offset.units));
    group.named("offset", offset);
    if state.polygon_stipple.is_some() || state.line.stipple.is_some() {
        group.push("stipple", "on".into(), Some("stippled".into()));
    }
    let samples = &state.samples;
    let said = (samples.at == SampleAt::Samples && samples.count > 1)
        .then(|| format!("{} samples, mask {:x?}", samples.count, samples.mask));
    group.push("samples", said.clone().unwrap_or_else(|| "1".into()), said);
    group.named("windows", state.windows.as_ref().map(|w| format!("{:?}", w.mode)));
    let alpha = view.alpha_test().ok().flatten().map(|t| format!("{:?} {}", t.func, t.reference));
    group.named("alpha", alpha);
    let float = |at: u32| f32::from_bits(view.0.get(at));
    let three = |x: f32, y: f32, z: f32| format!("({x}, {y}, {z})");
    group.quiet(
        "viewport scale",
        three(float(VIEWPORT_SCALE_X.at(0)), float(VIEWPORT_SCALE_Y.at(0)), float(VIEWPORT_SCALE_Z.at(0))),
    );
    group.quiet(
        "viewport translation",
        three(
            float(VIEWPORT_TRANSLATE_X.at(0)),
            float(VIEWPORT_TRANSLATE_Y.at(0)),
            float(VIEWPORT_TRANSLATE_Z.at(0)),
        ),
    );
}
/// Size, layers and address of a target.
fn place(target: &Target, format: &str, bytes: u32) -> String {
    let words = &target.words;
    let width = if words.linear { words.width / bytes.max(1) } else { words.width };
    let layers = match (words.layers, target.base_layer) {
        (0 | 1, 0) => String::new(),
        (count, first) => format!(", layers {first} to {}", first + count.max(1) - 1),
    };
    format!("{format} {width}x{} at {:#x}{layers}", words.height, words.address)
}
