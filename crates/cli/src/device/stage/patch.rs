//! Patches of a control program: what it leaves is stored by an evaluation program of ours.

use super::{
    OnDevice, Subject, component_addresses, elements, failed, fetching, given, hand_through, mask, runs,
};
use nvir::emu::stage::{Attributes, Output, PatchOutput, Primitive};
use nvir::hw::state::Topology;
use nvir::stage::{Semantic, Stage};
use nvir_driver::{Bindings, Draw, PipelineDesc, Raster};
use nvir_fixture::kernel::LaunchError;
use std::fmt::Write;

/// `TESS_MODE` with its domain and spacing, and points as what comes out.
pub(super) fn as_points(mode: u32) -> u32 {
    mode & 0x3f
}

impl OnDevice {
    pub(super) fn patches(&mut self, s: &Subject<'_>, all: &[Primitive]) -> Result<Output, LaunchError> {
        let header = s.run.header;
        let threads = usize::from(header.threads);
        let writes = |s: &Semantic| {
            s.address().is_some_and(|at| component_addresses(*s, at).any(|at| header.writes(at)))
        };
        let of_vertex: Vec<Semantic> = Semantic::all().filter(|s| !s.is_per_patch() && writes(s)).collect();
        let patch_bytes = 4 * u32::from(header.patch_words);
        let in_patch = |s: &Semantic| s.is_per_patch() && s.address().is_some_and(|at| at < patch_bytes);
        let of_patch: Vec<Semantic> = Semantic::all().filter(in_patch).collect();
        let semantics = given(all.iter().flat_map(|p| &p.vertices));
        let through = self.helper(&hand_through(&semantics))?;
        let (text, slot_words) = storing(threads, &of_vertex, &of_patch);
        let store = self.helper(&text)?;
        let size = all[0].vertices.len() as u32;
        let pipeline = PipelineDesc {
            programs: vec![through, s.program.clone(), store],
            topology: Topology::Patches,
            patch_vertices: size,
            raster: Raster { discard: true, ..Raster::default() },
            ..fetching(semantics.len())
        };
        let pipeline = self.context.get_mut().pipeline(pipeline).map_err(failed)?;
        let array = self.words(&elements(&semantics, all.iter().flat_map(|p| &p.vertices)))?;
        let stored = self.words(&vec![0; slot_words * all.len()])?;
        let mut first = 0;
        for (number, run) in runs(all) {
            let indices = s.numbered(number, run.len(), first * size, size)?;
            let slots = stored
                .buffer
                .slice(u64::from(first) * 4 * slot_words as u64, 4 * (run.len() * slot_words) as u64);
            // Stores of patches before the run lie outside of what is bound.
            let uniforms = [number.wrapping_neg(), 4 * slot_words as u32, run.len() as u32, 0];
            let storing = Bindings {
                uniforms: uniforms.into_iter().flat_map(u32::to_le_bytes).collect(),
                buffers: vec![(0, slots)],
                ..Bindings::default()
            };
            let mut draw = Draw {
                indices: Some(self.indices(&indices, 0)?),
                arrays: vec![array.clone()],
                ..s.draw(&pipeline, indices.len() as u32)
            };
            draw.bindings.push((Stage::TessEval, storing));
            self.draw_alone(&draw, &[])?;
            first += run.len() as u32;
        }
        self.context.get_mut().finish().map_err(failed)?;
        let got = self.read_words(&stored)?;
        let mut out = Vec::new();
        for (n, slot) in got.chunks_exact(slot_words).take(all.len()).enumerate() {
            let (seen, mut rest) = slot.split_at(4);
            if seen[0] == 0 {
                return Err(LaunchError::Unseen(format!(
                    "patch {n} has levels for which the tessellator makes nothing of it"
                )));
            }
            let mut take = |s: &Semantic, to: &mut Attributes, wanted: &dyn Fn(u32) -> bool| {
                let (words, others) = rest.split_at(4);
                rest = others;
                let Some(at) = s.address() else { return };
                for (at, &word) in component_addresses(*s, at).zip(words).filter(|(at, _)| wanted(*at)) {
                    to.put(at, Some(word));
                }
            };
            let mut patch = PatchOutput::default();
            for _ in 0..threads {
                let mut vertex = Attributes::new();
                of_vertex.iter().for_each(|s| take(s, &mut vertex, &|at| header.writes(at)));
                patch.vertices.push(vertex);
            }
            of_patch.iter().for_each(|s| take(s, &mut patch.patch, &|at| at < patch_bytes));
            out.push(patch);
        }
        Ok(Output::Patches(out))
    }
}

/// An evaluation program that stores what a control program left, and the words of a patch: 1 in the first four, vertices,
/// then what belongs to the patch. Its constants: what is added to a patch's number, bytes of a patch, patches.
fn storing(threads: usize, of_vertex: &[Semantic], of_patch: &[Semantic]) -> (String, usize) {
    let mut t = String::from("TESS_EVAL\nPROPERTY TES_PRIM_MODE 4\nPROPERTY TES_POINT_MODE 1\n");
    let mut body = String::new();
    let _ = of_vertex.iter().enumerate().try_for_each(|(n, s)| writeln!(t, "DCL IN[][{n}]{}, {s}", mask(*s)));
    let store = |body: &mut String, from: &str| {
        let _ = write!(
            body,
            "MOV TEMP[1], {from}\nSTORE BUFFER[0].xyzw, TEMP[0].xxxx, TEMP[1]\nUADD TEMP[0].x, TEMP[0].xxxx, IMM[0].xxxx\n"
        );
    };
    store(&mut body, "IMM[0].yyyy");
    for v in 0..threads {
        (0..of_vertex.len()).for_each(|n| store(&mut body, &format!("IN[{v}][{n}]")));
    }
    for (n, s) in of_patch.iter().enumerate() {
        // Levels are values of the system there, behind the number of the patch.
        let from = match s {
            Semantic::Patch(_) => format!("IN[{}]", of_vertex.len() + n),
            _ => format!("SV[{}]", 1 + n),
        };
        let _ = writeln!(t, "DCL {from}, {s}");
        store(&mut body, &from);
    }
    t += "DCL SV[0], PRIM_ID
DCL OUT[0], POSITION
DCL BUFFER[0]
DCL CONST[0..0]
DCL TEMP[0..2]
IMM[0] UINT32 {16, 1, 0, 0}
UADD TEMP[0].x, SV[0].xxxx, CONST[0].xxxx
USLT TEMP[2].x, TEMP[0].xxxx, CONST[0].zzzz
UMUL TEMP[0].x, TEMP[0].xxxx, CONST[0].yyyy
UIF TEMP[2].xxxx
";
    t += &body;
    t += "ENDIF\nMOV OUT[0], IMM[0].zzzz\nEND\n";
    (t, 4 * (1 + threads * of_vertex.len() + of_patch.len()))
}
