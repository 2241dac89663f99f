//! The header of a graphics shader and what its driver must know, from the code that is left of it.
//!
//! Inputs that nobody reads any more and outputs that nobody writes are not declared. What is indexed by a register declares
//! all inputs, or outputs, of the program.

use crate::chip::Chip;
use crate::front::common::graphics::{result_register, takes_clip_planes};
use crate::image::fixup::{DefaultColor, Fixup};
use crate::image::stage::{Attribute as What, Graphics, Slot, SlotLocation};
use crate::ir::{Attribute, Aux, Inst, Interface, InterpMode, MemRef, Op, Program, Space, Type};
use crate::isa::header::{Header, Interpolation, Topology};
use crate::options::{Domain, Spacing, TessInfo};
use crate::stage::attribute;
use crate::stage::{Semantic, Stage};

/// What a program in its last phase is to its driver; `local_bytes` are those of a thread.
pub(super) fn graphics(
    chip: Chip,
    program: &Program,
    interface: &Interface,
    local_bytes: u32,
    fixups: Vec<Fixup>,
) -> Graphics {
    let mut g = Graphics::new(interface.stage);
    g.fixups = fixups;
    let mut declare = Declare { header: &mut g.header, interface };
    declare.properties();
    for f in program.funcs.values() {
        f.insts_in_order().for_each(|(_, i)| declare.instruction(&f.insts[i]));
    }
    declare.results();
    g.header.local_bytes = local_bytes.next_multiple_of(16);
    g.header.memory |= local_bytes > 0;
    slots(&mut g, chip, interface);
    driver(&mut g, interface);
    g
}

/// Registers that a thread has at least: the machine takes all four components of each colour at the end, written or not.
pub(super) fn result_registers(chip: Chip, interface: &Interface) -> u32 {
    if interface.stage != Stage::Fragment {
        return 0;
    }
    let mut end = 0;
    let mut result = |semantic, component| {
        end = end.max(result_register(interface, chip, semantic, component).map_or(0, |r| u32::from(r) + 1));
    };
    for a in &interface.outputs {
        result(a.semantic, if matches!(a.semantic, Semantic::Color(_)) { 3 } else { 0 });
    }
    let any = |a: &Attribute| matches!(a.semantic, Semantic::Color(_) | Semantic::Depth);
    // Without a colour and a depth the header declares one colour.
    if interface.outputs.iter().any(any) { end } else { end.max(4) }
}

struct Declare<'a> {
    header: &'a mut Header,
    interface: &'a Interface,
}

impl Declare<'_> {
    fn properties(&mut self) {
        let p = &self.interface.properties;
        let h = &mut *self.header;
        match self.interface.stage {
            Stage::TessControl => {
                h.threads = p.vertices_out.min(32) as u8;
                let patch = self.interface.outputs.iter().filter_map(|a| match a.semantic {
                    Semantic::Patch(n) => Some(8 + 4 * (n + 1)),
                    _ => None,
                });
                h.patch_words = patch.max().unwrap_or(6);
            }
            Stage::Geometry => {
                h.threads = p.invocations.min(32) as u8;
                let (topology, streams) = match p.strips {
                    1 => (Topology::Points, 15),
                    2 => (Topology::Lines, 1),
                    _ => (Topology::Triangles, 1),
                };
                (h.topology, h.streams) = (Some(topology), streams);
                h.max_vertices = p.max_vertices.clamp(1, 1024);
            }
            Stage::Fragment => {
                h.several_targets = p.color_everywhere == 0;
                if p.reads_framebuffer != 0 {
                    let position = [attribute::LAYER, attribute::POSITION, attribute::POSITION_Y];
                    position.into_iter().for_each(|a| h.set_read(a));
                }
            }
            _ => {}
        }
    }

    /// The words that an access touches; none where a register says which.
    fn words(m: &MemRef, inst: &Inst) -> Option<impl Iterator<Item = u32> + use<>> {
        let first = u32::try_from(m.offset).ok().filter(|_| m.base().is_empty())?;
        Some((first..first + inst.ty.bytes()).step_by(4))
    }

    fn instruction(&mut self, inst: &Inst) {
        self.header.doubles |= [inst.ty, inst.sty].contains(&Type::F64);
        self.header.kills |= inst.op == Op::Discard;
        match inst.op {
            Op::Suld | Op::Sured | Op::Sust => {
                self.header.memory = true;
                self.header.global_stores |= inst.op != Op::Suld;
            }
            _ => {}
        }
        // What is accessed at an address that was computed, the access says.
        let Some(m) = inst.mem.as_ref().filter(|_| inst.op != Op::AttrAddr) else { return };
        let outputs = || self.interface.outputs.iter().filter(|a| !a.semantic.is_per_patch());
        let every = |address: Option<u32>, count: u8| {
            address.into_iter().flat_map(move |a| (0..u32::from(count)).map(move |c| a + 4 * c))
        };
        let read = !matches!(inst.op, Op::St);
        match m.space {
            Space::Global | Space::Generic | Space::Local => {
                self.header.memory = true;
                let stores = matches!(inst.op, Op::St | Op::Atom) && m.space != Space::Local;
                self.header.global_stores |= stores;
            }
            Space::Input if inst.op == Op::Interp => self.interpolated(m, inst),
            Space::Input => match Self::words(m, inst) {
                Some(words) => words.for_each(|a| self.header.set_read(a)),
                None => {
                    let all = self.interface.inputs.iter().filter(|a| !a.semantic.is_per_patch());
                    all.flat_map(|a| every(a.address(), a.semantic.components()))
                        .for_each(|a| self.header.set_read(a));
                }
            },
            Space::Output => {
                let words: Vec<u32> = match Self::words(m, inst) {
                    Some(words) => words.collect(),
                    None => outputs().flat_map(|a| every(a.address(), a.semantic.components())).collect(),
                };
                if read {
                    words.iter().for_each(|&a| self.header.set_read_back(a));
                } else {
                    words.iter().for_each(|&a| self.header.set_written(a));
                }
            }
            _ => {}
        }
    }

    fn interpolated(&mut self, m: &MemRef, inst: &Inst) {
        let Aux::Interp(how) = inst.aux else { return };
        let kind = match how.mode {
            InterpMode::Flat => Interpolation::Flat,
            InterpMode::Linear => Interpolation::Linear,
            InterpMode::Perspective | InterpMode::Color | InterpMode::OverW => Interpolation::Perspective,
        };
        let positions = attribute::PRIMITIVE_ID..attribute::GENERIC;
        match Self::words(m, inst) {
            Some(words) => words.for_each(|a| match positions.contains(&a) {
                true => self.header.set_read(a),
                false => self.header.merge_interpolation(a, kind),
            }),
            None => {
                for a in &self.interface.inputs {
                    let Some(address) = a.address().filter(|a| !positions.contains(a)) else { continue };
                    let components = u32::from(a.semantic.components());
                    (0..components).for_each(|c| self.header.merge_interpolation(address + 4 * c, kind));
                }
            }
        }
    }

    /// What a fragment shader leaves in registers.
    fn results(&mut self) {
        if self.interface.stage != Stage::Fragment {
            return;
        }
        let (mut colors, mut depth) = (false, false);
        for a in &self.interface.outputs {
            match a.semantic {
                Semantic::Color(n) => {
                    self.header.set_color_mask(n.into(), 15);
                    colors = true;
                }
                Semantic::Depth => {
                    self.header.set_depth(true);
                    depth = true;
                }
                Semantic::SampleMask => self.header.set_sample_mask(true),
                _ => {}
            }
        }
        if !colors && !depth {
            self.header.set_color_mask(0, 15);
        }
    }
}

fn slots(g: &mut Graphics, chip: Chip, interface: &Interface) {
    let in_memory = |semantic: Semantic| match semantic.address() {
        Some(a) if semantic.is_per_patch() => SlotLocation::Patch(a),
        Some(a) => SlotLocation::Vertex(a),
        None => SlotLocation::Nowhere,
    };
    g.inputs = (interface.inputs.iter().enumerate())
        .map(|(n, a)| {
            let what = match interface.stage {
                Stage::Vertex => What::Vertex(match a.semantic {
                    Semantic::Generic(n) => n,
                    _ => n as u8,
                }),
                _ => What::Semantic(a.semantic),
            };
            Slot { what, mask: a.mask, location: in_memory(a.semantic) }
        })
        .collect();
    let register = |semantic: Semantic| {
        let first = result_register(interface, chip, semantic, 0);
        first.map_or(SlotLocation::Nowhere, |r| SlotLocation::Register(r.into()))
    };
    g.outputs = (interface.outputs.iter())
        .map(|a| {
            let place =
                if interface.stage == Stage::Fragment { register(a.semantic) } else { in_memory(a.semantic) };
            Slot { what: What::Semantic(a.semantic), mask: a.mask, location: place }
        })
        .collect();
}

/// NVC0_3D_TESS_MODE. Lines are connected by the bit that otherwise says clockwise.
fn tess_mode(domain: Domain, tess: &TessInfo) -> u32 {
    const CW: u32 = 0x100;
    const CONNECTED: u32 = 0x200;
    let (domain, connected, cw) = match domain {
        Domain::Isolines => (0, CW, 0),
        Domain::Triangles => (1, CONNECTED, CW),
        Domain::Quads => (2, CONNECTED, CW),
    };
    let spacing = match tess.spacing {
        Some(Spacing::FractionalOdd) => 0x10,
        Some(Spacing::FractionalEven) => 0x20,
        Some(Spacing::Equal) | None => 0,
    };
    domain | spacing | if tess.point_mode { 0 } else { connected } | if tess.ccw { 0 } else { cw }
}

fn driver(g: &mut Graphics, interface: &Interface) {
    let p = &interface.properties;
    let bits = |n: u8| ((1u32 << n.min(8)) - 1) as u8;
    let planes = if p.clip_planes > 0 { p.clip_planes } else { p.clip_distances };
    g.clip_enable = bits(planes);
    g.cull_enable = (u32::from(bits(p.cull_distances)) << planes.min(8)) as u8;
    g.clip_mode = (0..8).filter(|i| g.cull_enable >> i & 1 != 0).map(|i| 1 << (4 * i)).sum();
    g.clip_planes = p.clip_planes;
    g.takes_clip_planes = p.clip_planes > 0 || takes_clip_planes(interface);
    g.edge_flag = p.edge_flag.checked_sub(1);
    g.writes_layer = g.header.writes(attribute::LAYER);
    let reads = |s: Semantic| interface.system.contains(&s);
    g.needs_vertex_id = interface.stage == Stage::Vertex && reads(Semantic::VertexId);
    g.needs_draw_parameters = p.draw_parameters != 0;
    g.tess = TessInfo {
        vertices_out: p.vertices_out.min(255) as u8,
        domain: match p.tess_domain {
            1 => Some(Domain::Triangles),
            2 => Some(Domain::Quads),
            3 => Some(Domain::Isolines),
            _ => None,
        },
        spacing: match p.tess_spacing {
            1 => Some(Spacing::Equal),
            2 => Some(Spacing::FractionalOdd),
            3 => Some(Spacing::FractionalEven),
            _ => None,
        },
        ccw: p.tess_domain != 0 && p.tess_cw == 0,
        point_mode: p.tess_points != 0,
    };
    g.tess_mode = g.tess.domain.map(|domain| tess_mode(domain, &g.tess));
    g.early_tests = p.early_tests != 0;
    g.post_depth_coverage = p.post_depth_coverage != 0;
    g.reads_framebuffer = p.reads_framebuffer != 0;
    g.reads_sample_mask = reads(Semantic::SampleMask);
    for a in interface.inputs.iter().filter(|a| a.mode == InterpMode::Color) {
        if let (Semantic::Color(n @ 0..2), 1..) = (a.semantic, a.mask) {
            let interpolation = Interpolation::Perspective;
            g.colors[usize::from(n)] = Some(DefaultColor { interpolation, mask: a.mask });
        }
    }
}
