//! System values of graphics stages: attributes, driver's constants, special registers.

use crate::driver::Abi;
use crate::ir::build::Builder;
use crate::ir::expand::expand;
use crate::ir::*;
use crate::stage::Semantic;

pub(super) fn concerns(i: &Inst) -> bool {
    matches!(i.aux, Aux::Sv(sv) if i.op == Op::Rdsv && is_of_stage(sv))
}

fn is_of_stage(sv: Sv) -> bool {
    use Sv::*;
    matches!(
        sv,
        VertexId
            | InstanceId
            | BaseVertex
            | BaseInstance
            | DrawId
            | PrimitiveId
            | VerticesIn
            | TessCoordX
            | TessCoordY
            | TessCoordZ
            | FrontFace
            | Helper
            | SampleId
            | SamplePosX
            | SamplePosY
            | SampleMaskIn
    )
}

pub(super) fn run(f: &mut Function, abi: &Abi, interface: &Interface) {
    let coordinates = tess_coordinates(f);
    let cx = Cx { abi, interface, coordinates };
    expand(f, concerns, |b, i| {
        let (Aux::Sv(sv), Some(&d)) = (i.aux, i.dsts.first()) else { return false };
        let Some(value) = cx.value(b, sv) else { return false };
        b.push(Inst::new(Op::Mov, Type::U32).src(value).dst(d));
        true
    });
}

struct Cx<'a> {
    abi: &'a Abi,
    interface: &'a Interface,
    /// Where the vertex lies in its patch, x and y, where a program asks for it.
    coordinates: Option<[ValueId; 2]>,
}

fn attribute(space: Space, semantic: Semantic, component: u32) -> MemRef {
    let address = semantic.address().unwrap_or_default() + 4 * component;
    MemRef::new(space).with_offset(address as i32).with_align(Align::new(16, address & 15))
}

impl Cx<'_> {
    fn value(&self, b: &mut Builder<'_>, sv: Sv) -> Option<Src> {
        let fragment = self.interface.stage == Stage::Fragment;
        Some(match sv {
            Sv::VertexId => b.ld(Type::U32, attribute(Space::Input, Semantic::VertexId, 0))[0].into(),
            Sv::InstanceId => b.ld(Type::U32, attribute(Space::Input, Semantic::InstanceId, 0))[0].into(),
            Sv::BaseVertex => Src::cbuf(self.abi.aux_bank, self.abi.draw_info),
            Sv::BaseInstance => Src::cbuf(self.abi.aux_bank, self.abi.draw_info + 4),
            Sv::DrawId => Src::cbuf(self.abi.aux_bank, self.abi.draw_info + 8),
            Sv::PrimitiveId if fragment => flat(b, Semantic::PrimitiveId).into(),
            Sv::PrimitiveId => {
                let mut at = attribute(Space::Input, Semantic::PrimitiveId, 0);
                if self.interface.stage == Stage::TessEval {
                    // The patch's number is its first vertex's.
                    at.index = Some(b.value(Inst::new(Op::Vertex, Type::U32).src(0)));
                }
                b.ld(Type::U32, at)[0].into()
            }
            Sv::VerticesIn => {
                let word = b.sv(Sv::PrimType);
                b.op2(Op::Ext, Type::U32, word, 0x808u32).into()
            }
            Sv::TessCoordX => self.coordinates?[0].into(),
            Sv::TessCoordY => self.coordinates?[1].into(),
            // The third one of triangles is what the others leave of 1.
            Sv::TessCoordZ if self.interface.properties.tess_domain == 1 => {
                let [x, y] = self.coordinates?;
                let both = b.add(Type::F32, x, y);
                b.op2(Op::Sub, Type::F32, Src::f32(1.0), both).into()
            }
            Sv::TessCoordZ => Src::imm(0),
            Sv::FrontFace => flat(b, Semantic::Face).into(),
            Sv::Helper => {
                let killed = b.sv(Sv::ThreadKill);
                let helps = b.setp(Cond::Ne, Type::U32, killed, 0u32);
                b.sel(helps, u32::MAX, 0u32).into()
            }
            Sv::SampleId => pixel(b, PixelOp::SampleId).into(),
            Sv::SamplePosX => self.sample_position(b, 0),
            Sv::SamplePosY => self.sample_position(b, 4),
            Sv::SampleMaskIn => self.sample_mask(b),
            _ => return None,
        })
    }

    fn sample_position(&self, b: &mut Builder<'_>, offset: u16) -> Src {
        let id = pixel(b, PixelOp::SampleId);
        let bytes = b.op2(Op::Shl, Type::U32, id, 3u32);
        let place = MemRef::new(Space::Const)
            .with_buffer(self.abi.aux_bank.into())
            .with_base(&[bytes])
            .with_offset((self.abi.sample_positions + offset).into())
            .with_align(Align::multiple_of(4));
        b.ld(Type::U32, place)[0].into()
    }

    /// Where the shader runs for each sample, it sees its own only.
    fn sample_mask(&self, b: &mut Builder<'_>) -> Src {
        let mask = pixel(b, PixelOp::CoverageMask);
        let id = pixel(b, PixelOp::SampleId);
        let own = b.op2(Op::Shl, Type::U32, 1u32, id);
        let seen = match self.interface.properties.per_sample {
            0 => {
                let choice = Inst::new(Op::SelFact, Type::U32).src(own).src(u32::MAX);
                b.value(choice.with_aux(Aux::Fact(Fact::PerSample)))
            }
            _ => own,
        };
        b.op2(Op::And, Type::U32, mask, seen).into()
    }
}

fn flat(b: &mut Builder<'_>, semantic: Semantic) -> ValueId {
    let how = Interp { mode: InterpMode::Flat, at: InterpAt::Center };
    let inst = Inst::new(Op::Interp, Type::U32).with_aux(Aux::Interp(how));
    b.value(inst.with_mem(attribute(Space::Input, semantic, 0)))
}

fn pixel(b: &mut Builder<'_>, what: PixelOp) -> ValueId {
    b.value(Inst::new(Op::Pixel, Type::U32).with_aux(Aux::Pixel(what)))
}

/// The tessellator leaves a vertex's coordinates among the outputs of its lane. They are loaded
/// once, at the entry.
fn tess_coordinates(f: &mut Function) -> Option<[ValueId; 2]> {
    let wanted = |i: &Inst| matches!(i.aux, Aux::Sv(Sv::TessCoordX | Sv::TessCoordY | Sv::TessCoordZ));
    if !f.insts_in_order().any(|(_, i)| f.insts[i].op == Op::Rdsv && wanted(&f.insts[i])) {
        return None;
    }
    let entry = f.entry();
    let body = std::mem::take(&mut f.blocks[entry].body);
    let mut b = Builder::new(f, entry);
    let lane = b.sv(Sv::Laneid);
    let coordinates = [0, 1].map(|component| {
        let mut at = attribute(Space::Output, Semantic::TessCoord, component);
        at.index = Some(lane);
        b.ld(Type::U32, at)[0]
    });
    f.blocks[entry].body.extend(body);
    Some(coordinates)
}
