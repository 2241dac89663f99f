//! Patches of an evaluation program: a control program of ours makes them, with levels for which the tessellator makes the
//! points of the test.

use super::capture::Capture;
use super::{
    OnDevice, Subject, check_number, component_addresses, elements, failed, fetching, given, hand_through,
    mask,
};
use nvir::emu::stage::{Attributes, Output, Point, Primitive};
use nvir::hw::state::Topology;
use nvir::image::stage::Graphics;
use nvir::options::{Domain, Spacing, TessInfo};
use nvir::stage::{Semantic, Stage, attribute};
use nvir_driver::{Bindings, Counter, Draw, Indices, Pipeline, PipelineDesc, Program, Raster, Slice};
use nvir_fixture::kernel::LaunchError;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Levels of tessellation, at most.
const MAX_LEVEL: u32 = 64;
/// Points that the tessellator makes of a patch, at most.
const MAX_POINTS: u64 = ((MAX_LEVEL + 2) * (MAX_LEVEL + 2)) as u64;
/// How far a point of a test may be from that of the tessellator, whose points are multiples of 2^-16.
const NEAR: f32 = 1.0 / 32768.0;

/// Outer and inner levels, as bits.
type Levels = [u32; 6];

/// A pipeline of patches, all points of which are captured.
struct Evaluation {
    pipeline: Pipeline,
    capture: Capture,
}

/// A patch of the test as the pipelines get it.
struct Patch {
    /// In front of it come so many others, of which the tessellator makes nothing.
    number: u32,
    array: Slice,
    indices: Indices,
    /// Attributes of the patch.
    constants: Vec<u32>,
}

impl OnDevice {
    pub(super) fn points(
        &mut self,
        s: &Subject<'_>,
        all: &[Primitive],
        points: &[Point],
    ) -> Result<Output, LaunchError> {
        let graphics = stage_of(&s.program)?;
        let Some(domain) = graphics.tess.domain else {
            return Err(LaunchError::Unseen("the program does not say the domain of its patches".into()));
        };
        let semantics = given(all.iter().flat_map(|p| &p.vertices));
        let has = |s: &Semantic| matches!(s, Semantic::Patch(_)) && all.iter().any(|p| has_patch(p, *s));
        let of_patch: Vec<Semantic> = Semantic::all().filter(has).collect();
        let size = all[0].vertices.len() as u32;
        let before = [
            self.helper(&hand_through(&semantics))?,
            self.helper(&controlling(size, &semantics, &of_patch))?,
        ];
        let probe = self.probe(graphics.tess_mode)?;
        let tested = self.evaluation(&before, &s.program, size, semantics.len())?;
        let probed = self.evaluation(&before, &probe, size, semantics.len())?;
        let mut out = vec![Attributes::new(); points.len()];
        for (n, primitive) in all.iter().enumerate() {
            check_number(primitive.id)?;
            let patch = Patch {
                number: primitive.id,
                array: self.words(&elements(&semantics, primitive.vertices.iter()))?,
                indices: self.indices(&(0..=primitive.id).flat_map(|_| 0..size).collect::<Vec<u32>>(), 0)?,
                constants: elements(&of_patch, std::iter::once(&primitive.patch)),
            };
            let mine = points.iter().enumerate().filter(|(_, p)| p.patch == n);
            let mut missing: BTreeMap<usize, [f32; 2]> = mine.map(|(i, p)| (i, p.at)).collect();
            for levels in candidates(primitive, domain, &graphics.tess, &missing) {
                if missing.is_empty() {
                    break;
                }
                let made = self.evaluate(s, &probed, &patch, levels)?;
                let found = find(&missing, &made);
                if found.is_empty() {
                    continue;
                }
                if s.stores() && (found.len() < missing.len() || made.len() != missing.len()) {
                    return Err(LaunchError::Unseen(
                        "the program changes memory, and the tessellator makes other points of its patches"
                            .into(),
                    ));
                }
                let left = self.evaluate(s, &tested, &patch, levels)?;
                for (i, at) in found {
                    out[i] = left.get(at).cloned().unwrap_or_default();
                    missing.remove(&i);
                }
            }
            if let Some((_, [u, v])) = missing.first_key_value() {
                return Err(LaunchError::Unseen(format!(
                    "the tessellator makes no point ({u}, {v}) of patch {n}"
                )));
            }
        }
        Ok(Output::Vertices(out))
    }

    fn evaluation(
        &mut self,
        before: &[Program; 2],
        program: &Program,
        size: u32,
        inputs: usize,
    ) -> Result<Evaluation, LaunchError> {
        let capture = Capture::new(&stage_of(program)?.header, vec![0])?;
        let desc = PipelineDesc {
            programs: before.iter().chain([program]).cloned().collect(),
            topology: Topology::Patches,
            patch_vertices: size,
            raster: Raster { discard: true, ..Raster::default() },
            feedback: capture.feedback(),
            ..fetching(inputs)
        };
        Ok(Evaluation { pipeline: self.context.get_mut().pipeline(desc).map_err(failed)?, capture })
    }

    /// All points of a patch, in the tessellator's order.
    fn evaluate(
        &mut self,
        s: &Subject<'_>,
        evaluation: &Evaluation,
        patch: &Patch,
        levels: Levels,
    ) -> Result<Vec<Attributes>, LaunchError> {
        let rest = [patch.number, 0, 0, 0].into_iter().chain(levels).chain([0; 2]);
        let uniforms = patch.constants.iter().copied().chain(rest).flat_map(u32::to_le_bytes).collect();
        let control = (Stage::TessControl, Bindings { uniforms, ..Bindings::default() });
        let records = evaluation.capture.records(self, MAX_POINTS)?;
        let size = evaluation.pipeline.desc().patch_vertices;
        let mut draw = Draw {
            indices: Some(patch.indices.clone()),
            arrays: vec![patch.array.clone()],
            feedback: records.buffers.clone(),
            ..s.draw(&evaluation.pipeline, size * (patch.number + 1))
        };
        draw.bindings.push(control);
        let counted = self.draw_alone(&draw, &[Counter::EvaluationInvocations])?;
        records.read(self, 0, 0, counted[0].min(MAX_POINTS))
    }

    /// An evaluation program that says where its points are.
    fn probe(&mut self, mode: Option<u32>) -> Result<Program, LaunchError> {
        let text = "TESS_EVAL
PROPERTY TES_PRIM_MODE 7
PROPERTY TES_POINT_MODE 1
DCL SV[0], TESSCOORD
DCL OUT[0].xy, GENERIC[0]
MOV OUT[0].xy, SV[0].xyyy
END
";
        let mut shader = self.helper(text)?.shader().clone();
        if let Some(graphics) = &mut shader.stage {
            graphics.tess_mode = mode;
        }
        self.context.get_mut().program(&shader).map_err(failed)
    }
}

fn stage_of(program: &Program) -> Result<&Graphics, LaunchError> {
    let stage = program.shader().stage.as_deref();
    stage.ok_or_else(|| LaunchError::Setup("the program is a kernel".into()))
}

fn has_patch(p: &Primitive, s: Semantic) -> bool {
    s.address().is_some_and(|at| component_addresses(s, at).any(|at| p.patch.get(at).is_some()))
}

/// Which of the wanted points were made: their numbers, and where they are among those.
fn find(wanted: &BTreeMap<usize, [f32; 2]>, made: &[Attributes]) -> Vec<(usize, usize)> {
    let component =
        |v: &Attributes, c: u32| f32::from_bits(v.get(attribute::GENERIC + 4 * c).unwrap_or_default());
    let near =
        |v: &Attributes, at: &[f32; 2]| (0..2).all(|c| (component(v, c) - at[c as usize]).abs() <= NEAR);
    let place = |(&i, at): (&usize, &[f32; 2])| Some((i, made.iter().position(|v| near(v, at))?));
    wanted.iter().filter_map(place).collect()
}

/// Levels for which the tessellator may make the points that are missing: those that the program is to read, or others.
fn candidates(
    patch: &Primitive,
    domain: Domain,
    tess: &TessInfo,
    missing: &BTreeMap<usize, [f32; 2]>,
) -> Vec<Levels> {
    // The outer ones are at 0x00 to 0x0c, the inner at 0x10.
    let given: Levels = std::array::from_fn(|n| patch.patch.get(4 * n as u32).unwrap_or(1f32.to_bits()));
    if has_patch(patch, Semantic::TessOuter) || has_patch(patch, Semantic::TessInner) {
        return vec![given];
    }
    let (first, step) = match tess.spacing {
        Some(Spacing::FractionalOdd) => (1, 2),
        Some(Spacing::FractionalEven) => (2, 2),
        Some(Spacing::Equal) | None => (1, 1),
    };
    let all = || (first..=MAX_LEVEL).step_by(step);
    // Into how many parts an edge is divided that has a point there.
    let parts = |x: f32| {
        let off = |n: u32| (x * n as f32 - (x * n as f32).round()).abs();
        all().find(|&n| off(n) <= n as f32 * NEAR).unwrap_or(first)
    };
    let levels = |all: [u32; 6]| all.map(|n| (n as f32).to_bits());
    let mut found: Vec<Levels> = match domain {
        Domain::Triangles => return all().map(|n| levels([n; 6])).collect(),
        Domain::Quads => {
            let grid = |&[u, v]: &[f32; 2]| (parts(u), parts(v));
            missing.values().map(grid).map(|(a, b)| levels([b, a, b, a, a, b])).collect()
        }
        // Lines are at multiples of v, and the last is left out.
        Domain::Isolines => {
            let lines = |&[u, v]: &[f32; 2]| levels([parts(v).max(2), parts(u), 1, 1, 1, 1]);
            missing.values().map(lines).collect()
        }
    };
    found.sort_unstable();
    found.dedup();
    // Larger levels have more of the points.
    found.reverse();
    found
}

/// A control program whose outputs are its inputs, with attributes of the patch and levels from its constants, where those
/// are behind the number of the patch that is not dropped.
fn controlling(size: u32, of_vertex: &[Semantic], of_patch: &[Semantic]) -> String {
    let mut t = format!("TESS_CTRL\nPROPERTY TCS_VERTICES_OUT {size}\n");
    let mut body = String::new();
    for (n, s) in of_vertex.iter().enumerate() {
        let mask = mask(*s);
        let _ = writeln!(t, "DCL IN[][{n}], {s}\nDCL OUT[][{n}]{mask}, {s}");
        let _ = writeln!(body, "MOV TEMP[0], IN[ADDR[0].x][{n}]\nMOV OUT[ADDR[0].x][{n}]{mask}, TEMP[0]");
    }
    for (n, s) in of_patch.iter().enumerate() {
        let at = of_vertex.len() + n;
        let _ = writeln!(t, "DCL OUT[{at}], {s}");
        let _ = writeln!(body, "MOV OUT[{at}], CONST[{n}]");
    }
    let (outer, constant) = (of_vertex.len() + of_patch.len(), of_patch.len());
    let _ = write!(
        t,
        "DCL OUT[{outer}], TESSOUTER
DCL OUT[{inner}].xy, TESSINNER
DCL SV[0], INVOCATIONID
DCL SV[1], PRIM_ID
DCL CONST[0..{last}]
DCL TEMP[0..1]
DCL ADDR[0]
UARL ADDR[0].x, SV[0].xxxx
{body}USEQ TEMP[0].x, SV[1].xxxx, CONST[{constant}].xxxx
AND TEMP[1], TEMP[0].xxxx, CONST[{levels}]
MOV OUT[{outer}], TEMP[1]
AND TEMP[1].xy, TEMP[0].xxxx, CONST[{last}].xyyy
MOV OUT[{inner}].xy, TEMP[1].xyyy
END
",
        inner = outer + 1,
        levels = constant + 1,
        last = constant + 2,
    );
    t
}
