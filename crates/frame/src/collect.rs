//! The commands of a recording, with all that a page shows of each but fragments.

use crate::pictures::{Pictures, When, words};
use crate::reads::Contents;
use crate::{Frame, Shared, names};
use nvir_base::stage::{Stage, attribute};
use nvir_emu::stage::batch::AttributeBuffer;
use nvir_emu::{Profile, Program};
use nvir_hw::method;
use nvir_vgpu::replay::Options;
use nvir_vgpu::shader::estimated_cycles;
use nvir_vgpu::watch::{Done, Ran, Seen, Vertices, Wanted, Watch, What};
use serde_json::{Value, json};
use std::sync::Arc;

/// Vertices of a draw that are listed, and of all draws together.
const VERTICES: usize = 256;
const ALL_VERTICES: usize = 1 << 16;

/// Primitives of a draw that are outlined, and of all draws together.
const PRIMITIVES: usize = 4000;
const ALL_PRIMITIVES: usize = 1 << 18;

/// Registers that are listed as changed by a draw.
const REGISTERS: usize = 400;

#[derive(Default)]
struct Collected {
    commands: Vec<Value>,
    pictures: Pictures,
    contents: Contents,
    programs: Vec<Listed>,
    /// What the command that executes has of vertices.
    vertices: Vec<Value>,
    wire: Vec<Value>,
    /// Patches that come before it.
    before: Vec<Value>,
    /// The registers at the draw before, by class.
    registers: Option<(u32, Vec<u32>)>,
    submission: u64,
    listed_vertices: usize,
    listed_primitives: usize,
    fragments: u64,
    /// Commands behind the last that is shown.
    more: u64,
}

struct Listed {
    address: u64,
    stage: Stage,
    program: Arc<Program>,
}

struct Collector {
    frame: Frame,
    to: Shared<Collected>,
}

/// The page's data without fragments, and how many of these there are.
pub(crate) fn commands(frame: &Frame, progress: &mut dyn FnMut(u64)) -> Result<(Value, u64), String> {
    let to = Shared::<Collected>::default();
    to.lock().pictures.with_samples = frame.samples;
    let collector = Collector { frame: frame.clone(), to: to.clone() };
    let options = Options { profile: frame.profile, ..frame.options() };
    let ended = frame.replay(collector, options, progress)?;
    let mut collected = std::mem::take(&mut *to.lock());
    let [textures, constants] = collected.contents.lists();
    let name = frame.path.file_name().unwrap_or_default().to_string_lossy();
    let data = json!({
        "schema": 1,
        "version": frame.version,
        "title": name,
        "first": frame.first,
        "more": collected.more,
        "ended": ended,
        "commands": collected.commands,
        "targets": collected.pictures.json(frame.top_first),
        "programs": collected.programs.iter().map(Listed::json).collect::<Vec<_>>(),
        "textures": textures,
        "constants": constants,
    });
    Ok((data, collected.fragments))
}

impl Watch for Collector {
    fn begin(&mut self, seen: &Seen<'_>) -> Wanted {
        if self.frame.shows(seen.number) {
            self.to.lock().begin(seen);
        }
        Wanted::Nothing
    }

    fn end(&mut self, seen: &Seen<'_>, done: &Done) {
        let mut to = self.to.lock();
        match self.frame.shows(seen.number) {
            true => to.end(seen, done),
            false => {
                to.contents.passed(seen, done);
                to.more += u64::from(seen.number >= self.frame.first);
            }
        }
    }

    fn vertices(&mut self, vertices: &Vertices<'_>) {
        self.to.lock().vertices(vertices);
    }
}

impl Collected {
    fn begin(&mut self, seen: &Seen<'_>) {
        self.vertices.clear();
        self.wire.clear();
        self.before.clear();
        let clean = std::mem::replace(&mut self.submission, seen.place.submission) == seen.place.submission;
        for target in seen.targets {
            if let Some(n) = self.pictures.number(target) {
                self.before.extend(self.pictures.patches(
                    (n, None),
                    seen.memory,
                    (seen.number, When::Before, clean),
                ));
            }
        }
    }

    fn end(&mut self, seen: &Seen<'_>, done: &Done) {
        let draws = matches!(seen.what, What::Draw { .. } | What::Clear(_));
        let written: Vec<usize> = match draws {
            true => seen.targets.iter().filter_map(|t| self.pictures.number(t)).collect(),
            false => self.pictures.changed_by(done).collect(),
        };
        let mut patches = std::mem::take(&mut self.before);
        for &n in &written {
            let after = (seen.number, When::After, true);
            patches.extend(self.pictures.patches((n, done.touched), seen.memory, after));
        }
        self.pictures.passed(seen.number, &written);
        let (kind, title) = match &seen.what {
            What::Draw { topology, instance: 0 } => ("draw", bare(topology).to_string()),
            What::Draw { topology, instance } => ("draw", format!("{}, instance {instance}", bare(topology))),
            What::Clear(what) => ("clear", what.clone()),
            What::Blit(what) => ("blit", what.clone()),
            What::Copy(what) => ("copy", what.clone()),
            What::Launch(what) => ("launch", what.clone()),
        };
        let is_draw = kind == "draw";
        let count = |name: &str| done.counts.iter().find(|c| c.0 == name).map_or(0, |c| c.1);
        self.fragments += count("fragments");
        let state = seen.state.iter().map(|f| json!([f.group, f.name, f.value]));
        self.contents.passed(seen, done);
        let programs = done.programs.iter().map(|ran| {
            json!({
                "stage": ran.stage.name(),
                "program": self.programs.number(ran),
                "instructions": ran.instructions,
                "profile": ran.profile.as_ref().map(|p| counted(&ran.program, p)),
                "reads": self.contents.json(ran, seen.memory),
            })
        });
        let programs: Vec<Value> = programs.collect();
        let registers = if is_draw { self.changed_registers(seen) } else { Vec::new() };
        let targets = seen.targets.iter().filter_map(|t| self.pictures.number(t));
        let command = json!({
            "number": seen.number,
            "submission": seen.place.submission,
            "address": format!("{:#x}", seen.place.address),
            "method": method::name(seen.place.class, seen.place.method),
            "kind": kind,
            "title": title,
            "counts": done.counts,
            "targets": if draws { targets.collect::<Vec<_>>() } else { Vec::new() },
            "state": state.collect::<Vec<_>>(),
            "registers": registers,
            "programs": programs,
            "vertices": std::mem::take(&mut self.vertices),
            "wire": std::mem::take(&mut self.wire),
            "viewport": if is_draw { viewport(seen) } else { Value::Null },
            "patches": patches,
        });
        self.commands.push(command);
    }

    /// Registers that are not as at the draw before, by name.
    fn changed_registers(&mut self, seen: &Seen<'_>) -> Vec<Value> {
        let class = seen.place.class;
        let now: Vec<u32> = (0..method::COUNT as u32).map(|n| seen.registers.get(4 * n)).collect();
        let before = self.registers.replace((class, now));
        let (Some((old_class, before)), Some((_, now))) = (before, &self.registers) else {
            return Vec::new();
        };
        if old_class != class {
            return Vec::new();
        }
        let changed = before.iter().zip(now).enumerate().filter(|(_, (a, b))| a != b);
        let named = changed.map(|(n, (a, b))| {
            json!([method::name(class, 4 * n as u32), format!("{a:#x}"), format!("{b:#x}")])
        });
        named.take(REGISTERS).collect()
    }

    fn vertices(&mut self, v: &Vertices<'_>) {
        // Behind the vertex stage alone its outputs are shown with its inputs.
        if !v.last || v.stage != Stage::Vertex {
            let rows = v.outputs.len().min(VERTICES).min(ALL_VERTICES - self.listed_vertices);
            self.listed_vertices += rows;
            self.vertices.push(json!({
                "stage": v.stage.name(),
                "total": v.outputs.len(),
                "inputs": v.inputs.map(|inputs| table(inputs, rows, Some(v.stage))),
                "outputs": table(v.outputs, rows, None),
            }));
        }
        if v.last && v.size > 0 {
            let total = v.primitives.len() / v.size;
            let count = total.min(PRIMITIVES).min(ALL_PRIMITIVES - self.listed_primitives);
            self.listed_primitives += count;
            let slots = [0, 4, 8, 12].map(|c| v.outputs.slots().slot(attribute::POSITION + c));
            let corners = v.primitives[..count * v.size]
                .iter()
                .flat_map(|&row| slots.map(|slot| slot.map_or(0, |slot| v.outputs.get(row as usize, slot))));
            self.wire.push(json!({
                "size": v.size,
                "total": total,
                "corners": words(corners),
                "rows": words(v.primitives[..count * v.size].iter().copied()),
            }));
        }
    }
}

/// A topology without its article.
fn bare(topology: &str) -> &str {
    topology.strip_prefix("a ").unwrap_or(topology)
}

/// The first rows of a buffer, attribute by attribute.
fn table(buffer: &AttributeBuffer, rows: usize, inputs_of: Option<Stage>) -> Value {
    let columns = buffer.slots().addresses().enumerate().map(|(slot, address)| {
        json!([names::of(address, inputs_of), words((0..rows).map(|row| buffer.get(row, slot)))])
    });
    json!({ "rows": rows, "columns": columns.collect::<Vec<_>>() })
}

/// Scale and translation of the first viewport; `null` where positions are those of the window.
fn viewport(seen: &Seen<'_>) -> Value {
    use nvir_hw::method::three_d::*;
    if seen.registers.get(VIEWPORT_TRANSFORM_EN) & 1 == 0 {
        return Value::Null;
    }
    let float = |at: u32| f32::from_bits(seen.registers.get(at));
    json!({
        "scale": [float(VIEWPORT_SCALE_X.at(0)), float(VIEWPORT_SCALE_Y.at(0))],
        "translation": [float(VIEWPORT_TRANSLATE_X.at(0)), float(VIEWPORT_TRANSLATE_Y.at(0))],
    })
}

trait Programs {
    fn number(&mut self, ran: &Ran) -> usize;
}

impl Programs for Vec<Listed> {
    /// The number of a program: of the same code at the same place.
    fn number(&mut self, ran: &Ran) -> usize {
        let same = |p: &Listed| {
            (p.address, p.stage) == (ran.address, ran.stage)
                && (Arc::ptr_eq(&p.program, &ran.program) || p.program.code().eq(ran.program.code()))
        };
        self.iter().position(same).unwrap_or_else(|| {
            let Ran { address, stage, program, .. } = ran;
            self.push(Listed { address: *address, stage: *stage, program: program.clone() });
            self.len() - 1
        })
    }
}

/// By instruction: its address, how often warps issued it, threads that executed it, estimated cycles.
fn counted(program: &Program, profile: &Profile) -> Value {
    let cycles = estimated_cycles(program, profile);
    let rows = profile.by_pc.iter().map(|(pc, p)| json!([pc, p.issues, p.threads, cycles[pc]]));
    Value::Array(rows.collect())
}

impl Listed {
    fn json(&self) -> Value {
        json!({
            "stage": self.stage.name(),
            "address": format!("{:#x}", self.address),
            "lines": nvir_page::steps::listing(&self.program),
        })
    }
}
