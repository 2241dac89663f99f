//! What a graphics stage takes and gives, beside its code: attributes and properties.
//!
//! ```text
//! program
//! stage frag
//! input GENERIC[0] xyzw persp
//! output COLOR[0] xyzw
//! property early_tests 1
//! ```

use super::InterpMode;
use crate::stage::{Semantic, Stage};
use std::fmt::{self, Display, Formatter, Write};

/// An input or output of vectors of four words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attribute {
    /// Inputs of vertex shaders are `GENERIC`, by their number.
    pub semantic: Semantic,
    /// Components that the program's text reads or writes, bit 0 = x. The code may need fewer.
    pub mask: u8,
    /// How an input of a fragment shader is interpolated.
    pub mode: InterpMode,
    /// It is interpolated in what is covered of the pixel, or at the sample.
    pub centroid: bool,
    /// An output that the program reads back.
    pub read_back: bool,
}

impl Attribute {
    pub fn new(semantic: Semantic, mask: u8) -> Attribute {
        Attribute { semantic, mask, mode: InterpMode::Flat, centroid: false, read_back: false }
    }

    /// Where its first component lies, if it has a place.
    pub fn address(&self) -> Option<u32> {
        self.semantic.address()
    }
}

macro_rules! properties {
    ($($(#[$doc:meta])* $name:ident: $ty:ty,)*) => {
        /// What a stage declares in numbers; 0 where it declares nothing.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct Properties {
            $($(#[$doc])* pub $name: $ty,)*
        }

        impl Properties {
            /// Those that are not 0, by name.
            fn list(&self) -> Vec<(&'static str, u32)> {
                let all = [$((stringify!($name), u32::from(self.$name)),)*];
                all.into_iter().filter(|p| p.1 != 0).collect()
            }

            /// Sets one by its name; false if there is no such property, or it cannot be that
            /// large.
            pub fn set(&mut self, name: &str, value: u32) -> bool {
                $(if name == stringify!($name) {
                    let Ok(value) = value.try_into() else { return false };
                    self.$name = value;
                    return true;
                })*
                false
            }
        }
    };
}

properties! {
    /// Tessellation control: vertices of the output patch.
    vertices_out: u16,
    /// Tessellation: 1 triangles, 2 quads, 3 isolines.
    tess_domain: u8,
    /// Tessellation: 1 equal, 2 fractional odd, 3 fractional even.
    tess_spacing: u8,
    /// Tessellation: triangles wind clockwise.
    tess_cw: u8,
    /// Tessellation: points are made.
    tess_points: u8,
    /// Geometry: vertices of an input primitive.
    vertices_in: u16,
    /// Geometry: 1 points, 2 line strips, 3 triangle strips are made.
    strips: u8,
    /// Geometry: vertices that an invocation emits at most.
    max_vertices: u16,
    /// Geometry: invocations for a primitive.
    invocations: u16,
    /// Clip distances among the components of CLIPDIST, and cull distances behind them.
    clip_distances: u8,
    cull_distances: u8,
    /// User clip planes for which the shader makes clip distances.
    clip_planes: u8,
    /// No code for user clip planes may be added.
    no_clip_planes: u8,
    /// A stage behind this one reads its clip vertex.
    clip_vertex_read: u8,
    /// Fragment: colour 0 goes to all targets.
    color_everywhere: u8,
    /// Fragment: depth and stencil tests come before the shader.
    early_tests: u8,
    /// Fragment: the coverage that is read is that after depth and stencil tests.
    post_depth_coverage: u8,
    /// Fragment: colours of the framebuffer are read.
    reads_framebuffer: u8,
    /// Fragment: it must run for each sample.
    per_sample: u8,
    /// Vertex: base vertex, base instance or the number of the draw are read.
    draw_parameters: u8,
    /// Vertex: one more than the number of the input that the edge flag is copied from.
    edge_flag: u8,
}

/// The interface of a graphics stage.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Interface {
    pub stage: Stage,
    pub inputs: Vec<Attribute>,
    pub outputs: Vec<Attribute>,
    pub properties: Properties,
    /// System values that the text declares to use, by TGSI's names and in its order.
    pub system: Vec<Semantic>,
}

impl Interface {
    pub fn new(stage: Stage) -> Interface {
        Interface { stage, ..Interface::default() }
    }
}

const COMPONENTS: &str = "xyzw";

impl Display for Interface {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "stage {}", self.stage)?;
        for (kind, list) in [("input", &self.inputs), ("output", &self.outputs)] {
            for a in list {
                write!(f, "{kind} {} ", a.semantic)?;
                for (c, letter) in COMPONENTS.chars().enumerate().filter(|(c, _)| a.mask >> c & 1 != 0) {
                    let _ = c;
                    f.write_char(letter)?;
                }
                if a.mask == 0 {
                    f.write_char('-')?;
                }
                if kind == "input" && self.stage == Stage::Fragment {
                    write!(f, " {}", a.mode.name())?;
                }
                for (on, name) in [(a.centroid, "centroid"), (a.read_back, "read_back")] {
                    if on {
                        write!(f, " {name}")?;
                    }
                }
                f.write_char('\n')?;
            }
        }
        for s in &self.system {
            writeln!(f, "system {s}")?;
        }
        for (name, value) in self.properties.list() {
            writeln!(f, "property {name} {value}")?;
        }
        Ok(())
    }
}

/// Reads one line of the listing into an interface; what was expected, if it is none.
pub(super) fn read_line(interface: &mut Interface, line: &str) -> Result<(), String> {
    let mut words = line.split_whitespace();
    let kind = words.next().unwrap_or("");
    let name = words.next().ok_or("a name")?;
    match kind {
        "stage" => interface.stage = name.parse()?,
        "system" => interface.system.push(name.parse()?),
        "property" => {
            let value = words.next().and_then(|n| n.parse().ok()).ok_or("a number")?;
            if !interface.properties.set(name, value) {
                return Err(format!("a property and its value, not `{name} {value}`"));
            }
        }
        _ => {
            let mut a = Attribute::new(name.parse()?, 0);
            for c in words.next().ok_or("components")?.chars().filter(|c| *c != '-') {
                a.mask |= 1 << COMPONENTS.find(c).ok_or("components of xyzw, or `-`")?;
            }
            for word in words.by_ref() {
                match word {
                    "centroid" => a.centroid = true,
                    "read_back" => a.read_back = true,
                    _ => {
                        let mode = InterpMode::from_name(word).filter(|m| *m != InterpMode::OverW);
                        a.mode = mode.ok_or("a mode of interpolation")?;
                    }
                }
            }
            if kind == "input" { &mut interface.inputs } else { &mut interface.outputs }.push(a);
        }
    }
    match words.next() {
        None => Ok(()),
        Some(_) => Err("the end of the line".to_owned()),
    }
}
