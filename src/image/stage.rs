//! What a driver must know of a graphics shader besides its code.
//!
//! Source: Mesa 22.3.6, nvc0_program.c (`nvc0_program_translate`), which takes the same from
//! nv50_ir.

use super::fixup::{self, BadFixup, DefaultColor, Fixup, State};
use crate::chip::Chip;
use crate::isa::header::Header;
use crate::options::TessInfo;
use crate::stage::{Semantic, Stage};

/// A graphics shader: its header, and the state that goes with it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Graphics {
    /// The stage.
    pub stage: Stage,
    /// The 20 words in front of the code.
    pub header: Header,
    /// What changes with the rasteriser's state; fragment shaders only.
    pub fixups: Vec<Fixup>,
    /// Inputs, in the program's order.
    pub inputs: Vec<Slot>,
    /// Outputs, in the program's order.
    pub outputs: Vec<Slot>,
    /// Clip distances that are written, one bit each.
    pub clip_enable: u8,
    /// Cull distances that are written, one bit each: the bits after those of the clip distances.
    pub cull_enable: u8,
    /// The hardware's clip mode: bit 4i for each distance i that culls.
    pub clip_mode: u32,
    /// User clip planes that the code evaluates.
    pub clip_planes: u8,
    /// VTG: user clip planes have an effect; otherwise it writes distances itself, or forbids them.
    pub takes_clip_planes: bool,
    /// VERT: number of the input that is the edge flag.
    pub edge_flag: Option<u8>,
    /// VERT: it reads the number of the vertex.
    pub needs_vertex_id: bool,
    /// VERT: it reads base vertex, base instance or draw id from the driver's constants.
    pub needs_draw_parameters: bool,
    /// VTG: it writes the layer.
    pub writes_layer: bool,
    /// Tessellation: the hardware's mode (domain in bits 0 to 3, spacing in 4 to 7, clockwise bit
    /// 8, connected bit 9); none if the other tessellation shader says it.
    pub tess_mode: Option<u32>,
    /// Tessellation: what the program declares.
    pub tess: TessInfo,
    /// FRAG: colour inputs whose interpolation is the rasteriser's choice.
    pub colors: [Option<DefaultColor>; 2],
    /// FRAG: depth and stencil tests come before it runs.
    pub early_tests: bool,
    /// FRAG: it reads the coverage mask.
    pub reads_sample_mask: bool,
    /// FRAG: it reads the framebuffer.
    pub reads_framebuffer: bool,
    /// FRAG: the coverage mask is that after the early tests.
    pub post_depth_coverage: bool,
}

impl Graphics {
    /// A shader that declares nothing.
    pub fn new(stage: Stage) -> Graphics {
        Graphics {
            stage,
            header: Header::new(stage),
            fixups: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            clip_enable: 0,
            cull_enable: 0,
            clip_mode: 0,
            clip_planes: 0,
            takes_clip_planes: false,
            edge_flag: None,
            needs_vertex_id: false,
            needs_draw_parameters: false,
            writes_layer: false,
            tess_mode: None,
            tess: TessInfo::default(),
            colors: [None; 2],
            early_tests: false,
            reads_sample_mask: false,
            reads_framebuffer: false,
            post_depth_coverage: false,
        }
    }

    /// Flags of the early depth test (`ZCULL_TEST_MASK`): not before the shader, if it writes the
    /// depth.
    pub fn zcull_flags(&self) -> u32 {
        if self.header.writes_depth() { 0x11 } else { 0 }
    }

    /// Header and code for a state of the rasteriser.
    ///
    /// # Errors
    /// A record that lies outside the code.
    pub fn in_state(&self, chip: Chip, state: State, code: &[u64]) -> Result<(Header, Vec<u64>), BadFixup> {
        let (mut header, mut code) = (self.header.clone(), code.to_vec());
        fixup::apply(chip, &self.fixups, &self.colors, state, &mut header, &mut code)?;
        Ok((header, code))
    }
}

/// An input or output.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Slot {
    /// What it is.
    pub what: Attribute,
    /// Components that are used, x in bit 0.
    pub mask: u8,
    /// Where it lies.
    pub location: SlotLocation,
}

/// What an input or output is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Attribute {
    /// The n-th input of a vertex shader.
    Vertex(u8),
    /// Everything else.
    Semantic(Semantic),
}

/// Where component x of an input or output lies; the others follow.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SlotLocation {
    /// At a byte address of the vertex's attributes; four bytes a component.
    Vertex(u32),
    /// At a byte address of the patch's attributes; four bytes a component.
    Patch(u32),
    /// FRAG results: in a register when the shader ends; one a component.
    Register(u32),
    /// Nowhere: the driver takes care of it.
    Nowhere,
}

impl SlotLocation {
    /// Where component `c` lies.
    pub fn component(self, c: u32) -> SlotLocation {
        match self {
            SlotLocation::Vertex(address) => SlotLocation::Vertex(address + 4 * c),
            SlotLocation::Patch(address) => SlotLocation::Patch(address + 4 * c),
            SlotLocation::Register(first) => SlotLocation::Register(first + c),
            SlotLocation::Nowhere => SlotLocation::Nowhere,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::header::Interpolation;

    #[test]
    fn a_state_gives_a_header_and_code_of_its_own() {
        let mut g = Graphics::new(Stage::Fragment);
        g.header.set_depth(true);
        g.colors[1] = Some(DefaultColor { interpolation: Interpolation::Linear, mask: 1 });
        let flat = State { flat_shade: true, ..State::default() };
        let (header, code) = g.in_state(Chip::Gk104, flat, &[7]).unwrap();
        assert_eq!(
            (header.interpolation(0x290), code, g.zcull_flags()),
            (Interpolation::Flat, vec![7], 0x11)
        );
        assert_eq!(g.header.interpolation(0x290), Interpolation::Unused);
        assert_eq!(SlotLocation::Patch(0x20).component(2), SlotLocation::Patch(0x28));
        assert_eq!(SlotLocation::Register(4).component(3), SlotLocation::Register(7));
    }
}
