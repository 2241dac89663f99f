//! Headers in words.

use super::{Header, Interpolation, Topology};
use nvir_base::stage::{ATTRIBUTE_BYTES, Semantic, Stage, attribute, vertex_input};
use std::fmt::Write;

impl Header {
    /// The inputs of a vertex, in the order of their addresses: name (VERT: `IN[n]`), and what its
    /// components are declared as (FRAG; others: [`Interpolation::Flat`] where it is read).
    pub fn inputs(&self) -> Vec<(String, [Interpolation; 4])> {
        let kind = |address: u32| match self.stage {
            Stage::Fragment => self.interpolation(address),
            _ if self.reads(address) => Interpolation::Flat,
            _ => Interpolation::Unused,
        };
        // The front-facing flag is declared nowhere.
        let declared = |a: &Attribute| !(self.stage == Stage::Fragment && a.address == attribute::FACE);
        let name = |a: &Attribute| match a.address.checked_sub(vertex_input(0)) {
            Some(offset) if self.stage == Stage::Vertex && offset < 0x200 => format!("IN[{}]", offset / 16),
            _ => a.name.clone(),
        };
        let all = attributes(kind).into_iter();
        all.filter(declared).map(|a| (name(&a), a.kinds)).collect()
    }

    /// The outputs of a vertex, in the order of their addresses: name and components, x in bit 0.
    pub fn outputs(&self) -> Vec<(String, u8)> {
        let kind = |a: u32| if self.writes(a) { Interpolation::Flat } else { Interpolation::Unused };
        attributes(kind).into_iter().map(|a| (a.name, mask_of(&a.kinds))).collect()
    }

    /// What it declares, in words: a line each.
    pub fn describe(&self) -> String {
        let mut text = format!("{} shader\n", long_name(self.stage));
        let mut line = |what: &str| {
            let _ = writeln!(text, "  {what}");
        };
        if self.local_bytes != 0 {
            line(&format!("local memory: {} bytes a thread", self.local_bytes));
        }
        for (is, what) in [
            (self.memory, "reads or writes local or global memory"),
            (self.global_stores, "writes global memory"),
            (self.doubles, "computes with doubles"),
            (self.kills, "may discard fragments"),
            (self.several_targets, "colour targets get values of their own"),
            (self.writes_sample_mask(), "writes the sample mask"),
            (self.writes_depth(), "writes the depth"),
        ] {
            if is {
                line(what);
            }
        }
        match self.stage {
            Stage::TessControl => {
                line(&format!("vertices out: {}", self.threads));
                line(&format!("words of a patch: {}", self.patch_words));
            }
            Stage::Geometry => {
                line(&format!("invocations: {}", self.threads));
                line(&format!("emits: {}", self.topology.map_or("nothing", Topology::name)));
                line(&format!("vertices of an invocation: {} at most", self.max_vertices));
                line(&format!("streams: {}", numbers_of(self.streams)));
            }
            _ => {}
        }
        let [first, last] = self.read_back;
        if first <= last && self.read_back != [0, 0] {
            line(&format!("reads back outputs {:#x} to {:#x}", 4 * u32::from(first), 4 * u32::from(last)));
        }
        for (name, kinds) in self.inputs() {
            let components = components(mask_of(&kinds));
            if self.stage != Stage::Fragment {
                line(&format!("reads {name}.{components}"));
                continue;
            }
            let mut groups: Vec<String> = Vec::new();
            for kind in [Interpolation::Flat, Interpolation::Perspective, Interpolation::Linear] {
                let mask = (0..4).fold(0, |m, c| m | u8::from(kinds[c] == kind) << c);
                if mask != 0 {
                    groups.push(format!(".{} {}", self::components(mask), kind.name()));
                }
            }
            line(&format!("reads {name}{}", groups.join(", ")));
        }
        for (name, mask) in self.outputs() {
            line(&format!("writes {name}.{}", components(mask)));
        }
        for target in 0..8 {
            if self.color_mask(target) != 0 {
                line(&format!("writes COLOR[{target}].{}", components(self.color_mask(target))));
            }
        }
        text
    }
}

/// An attribute of which something is declared.
struct Attribute {
    address: u32,
    name: String,
    kinds: [Interpolation; 4],
}

/// The attributes of a vertex that are declared, where `kind` says so of each four bytes; in the
/// order of their addresses.
fn attributes(kind: impl Fn(u32) -> Interpolation) -> Vec<Attribute> {
    let of_vertex = |s: &Semantic| !s.is_per_patch() && *s != Semantic::ClipVertex;
    let mut named: Vec<(u32, Semantic)> =
        Semantic::all().filter(of_vertex).filter_map(|s| Some((s.address()?, s))).collect();
    named.sort_unstable_by_key(|n| n.0);
    let mut named = named.into_iter().peekable();
    let mut found = Vec::new();
    let mut address = 0;
    while address < ATTRIBUTE_BYTES {
        let (name, count) = match named.next_if(|n| n.0 == address) {
            Some((_, s)) => (s.to_string(), s.components()),
            None => (format!("a[{address:#x}]"), 1),
        };
        let mut kinds = [Interpolation::Unused; 4];
        for (c, slot) in (0u32..).zip(&mut kinds).take(count.into()) {
            *slot = kind(address + 4 * c);
        }
        if kinds != [Interpolation::Unused; 4] {
            found.push(Attribute { address, name, kinds });
        }
        address += 4 * u32::from(count);
    }
    found
}

fn mask_of(kinds: &[Interpolation; 4]) -> u8 {
    (0..4).fold(0, |m, c| m | u8::from(kinds[c] != Interpolation::Unused) << c)
}

fn components(mask: u8) -> String {
    "xyzw".chars().enumerate().filter(|(c, _)| mask >> c & 1 != 0).map(|(_, name)| name).collect()
}

fn numbers_of(mask: u8) -> String {
    let numbers: Vec<String> = (0..8).filter(|n| mask >> n & 1 != 0).map(|n| n.to_string()).collect();
    if numbers.is_empty() { "none".to_string() } else { numbers.join(", ") }
}

fn long_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Compute => "compute",
        Stage::Vertex => "vertex",
        Stage::TessControl => "tessellation control",
        Stage::TessEval => "tessellation evaluation",
        Stage::Geometry => "geometry",
        Stage::Fragment => "fragment",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::tests::{CONTROL, FRAGMENT, GEOMETRY, words};

    #[test]
    fn headers_are_described() {
        let text = Header::decode(&words(FRAGMENT)).unwrap().describe();
        for line in [
            "fragment shader\n",
            "  local memory: 16 bytes a thread\n",
            "  may discard fragments\n",
            "  reads GENERIC[0].x flat\n",
            "  reads COLOR[0].xyzw perspective\n",
            "  reads TEXCOORD[1].xy linear\n",
            "  writes COLOR[1].xyzw\n",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
        let text = Header::decode(&words(CONTROL)).unwrap().describe();
        assert!(text.contains("  reads back outputs 0x70 to 0x8c\n"), "{text}");
        let text = Header::decode(&words(GEOMETRY)).unwrap().describe();
        assert!(text.contains("  emits: triangle_strip\n") && text.contains("  streams: 0\n"), "{text}");
        assert!(text.contains("  reads PRIMID.x\n"), "{text}");
        let mut h = Header::new(Stage::Vertex);
        [0x84, 0x27c, 0x2fc].into_iter().for_each(|a| h.set_read(a));
        [0x84, 0x3a0].into_iter().for_each(|a| h.set_written(a));
        let text = h.describe();
        for line in [
            "  reads IN[0].y\n",
            "  reads IN[31].w\n",
            "  reads VERTEXID.x\n",
            "  writes GENERIC[0].y\n",
            "  writes a[0x3a0].x\n",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
    }
}
