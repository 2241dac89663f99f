//! Pixels: inputs between the corners of a triangle (OpenGL 4.6, section 14.6.1), and operations of a quad.

use super::stage::Register;
use super::thread::Thread;
use super::{Block, Trap};
use nvir::emu::stage::{Quad, Triangle};
use nvir::front::tgsi::ast::*;
use nvir::hw::samples::sample_position;
use nvir::stage::Semantic as Meaning;

/// How an input lies between the corners.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    /// As at one corner.
    Flat,
    /// Straight in the window.
    Linear,
    /// Straight in space.
    Perspective,
    /// As the state says, flat or straight in space.
    Color,
}

impl Mode {
    pub(super) fn of(d: &Decl, meaning: Meaning) -> Mode {
        match (meaning, d.interpolate) {
            (Meaning::Position, _) => Mode::Linear,
            (Meaning::PrimitiveId | Meaning::Layer | Meaning::ViewportIndex | Meaning::Face, _) => Mode::Flat,
            (_, Some(Interpolate::Constant)) => Mode::Flat,
            (_, Some(Interpolate::Linear)) => Mode::Linear,
            (_, Some(Interpolate::Color)) => Mode::Color,
            (_, Some(Interpolate::Perspective) | None) => Mode::Perspective,
        }
    }
}

/// The pixel of a lane of a quad.
pub(super) fn pixel(quad: &Quad, lane: u32) -> [u32; 2] {
    let [x, y] = quad.at;
    [x + (lane & 1), y + (lane >> 1)]
}

/// Where in the window a lane of a quad is evaluated: an offset from its centre.
pub(super) fn place(quad: &Quad, lane: u32, offset: Option<[f64; 2]>) -> [f64; 2] {
    let [dx, dy] = offset.unwrap_or_default();
    let [x, y] = pixel(quad, lane).map(f64::from);
    [x + 0.5 + dx, y + 0.5 + dy]
}

/// The offset of the sample that a quad runs for, or of the middle of those that are covered; `None`: the pixel's centre.
pub(super) fn centroid(samples: u32, quad: &Quad, lane: u32) -> Option<[f64; 2]> {
    let offset = |sample| sample_position(samples, sample).map(|v| f64::from(v) - 0.5);
    if let Some(sample) = quad.sample {
        return Some(offset(sample));
    }
    let covered: Vec<u32> = (0..samples).filter(|&s| quad.cover[lane as usize] >> s & 1 != 0).collect();
    if covered.is_empty() || covered.len() == samples as usize {
        return None;
    }
    let mean = |c: usize| covered.iter().map(|&s| offset(s)[c]).sum::<f64>() / covered.len() as f64;
    Some([mean(0), mean(1)])
}

/// Twice the signed area.
fn area(a: [f64; 2], b: [f64; 2], c: [f64; 2]) -> f64 {
    (b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1])
}

/// A component of an input at a place of the window.
pub(super) fn input(t: &Triangle, r: Register, comp: usize, at: [f64; 2], flat_shade: bool) -> u32 {
    let corners = t.window.map(|[x, y, ..]| [x, y]);
    let [a, b, c] = corners;
    let whole = area(a, b, c);
    let weights = [area(at, b, c) / whole, area(a, at, c) / whole, area(a, b, at) / whole];
    let sum = |v: [f64; 3]| weights[0] * v[0] + weights[1] * v[1] + weights[2] * v[2];
    match (r.meaning, comp) {
        (Meaning::Position, 0 | 1) => return (at[comp] as f32).to_bits(),
        (Meaning::Position, _) => return (sum(t.window.map(|w| w[comp])) as f32).to_bits(),
        (Meaning::Face, _) => return if t.front { 1f32 } else { -1.0 }.to_bits(),
        (Meaning::PrimitiveId, _) => return t.id,
        _ => {}
    }
    let address = r.meaning.address().unwrap_or(0) + 4 * comp as u32;
    let value = |n: usize| t.varyings[n].get(address).unwrap_or(0);
    let mode = match r.mode {
        Mode::Color if flat_shade => Mode::Flat,
        Mode::Color => Mode::Perspective,
        mode => mode,
    };
    if mode == Mode::Flat {
        return value(t.flat_vertex);
    }
    let values = [0, 1, 2].map(|n| f64::from(f32::from_bits(value(n))));
    let inverse = t.window.map(|w| w[3]);
    let v = if mode == Mode::Linear {
        sum(values)
    } else {
        sum(std::array::from_fn(|n| values[n] * inverse[n])) / sum(inverse)
    };
    (v as f32).to_bits()
}

/// Whether an operation needs the other lanes of its quad.
pub(super) fn is_of_quad(block: &Block<'_>, inst: &Inst<'_>) -> bool {
    use Opcode::*;
    let pixels = block.group.as_ref().is_some_and(|g| g.quad().is_some());
    let derivative = matches!(inst.op, DDX | DDX_FINE | DDY | DDY_FINE);
    let lookup = matches!(inst.op, TEX | TEX2 | TXP | TXB | TXB2 | LODQ | SAMPLE | SAMPLE_B | SAMPLE_C | LOD);
    pixels && (derivative || lookup)
}

/// Executes such an operation for lanes of a quad that have come to it together.
pub(super) fn operation(
    block: &Block<'_>,
    quad: &mut [Thread<'_>],
    lanes: &[usize],
    inst: &Inst<'_>,
) -> Result<(), (usize, Trap)> {
    if inst.op.info().shape != Shape::Graphics {
        return lookup(block, quad, lanes, inst);
    }
    let bit = if matches!(inst.op, Opcode::DDX | Opcode::DDX_FINE) { 1 } else { 2 };
    let mut results = Vec::with_capacity(4);
    for &l in lanes {
        let mut r = [0; 4];
        for c in inst.dsts[0].comps() {
            let value = |lane: usize| match quad.get(lane) {
                Some(t) => t.operand32(block, inst, 0, c).map(f32::from_bits).map_err(|trap| (l, trap)),
                None => Ok(0.0),
            };
            r[c] = super::alu::fbits(value(l | bit)? - value(l & !bit)?);
            if inst.saturate {
                r[c] = super::alu::saturated(r[c]);
            }
        }
        results.push(r);
    }
    for (&l, r) in lanes.iter().zip(results) {
        quad[l].write_result(&inst.dsts[0], r).map_err(|trap| (l, trap))?;
    }
    Ok(())
}

/// A texture lookup at the level of detail that coordinates in the quad give: each lane goes by its own row and column, or by the
/// other ones where a lane of those does not take part.
fn lookup(
    block: &Block<'_>,
    quad: &mut [Thread<'_>],
    lanes: &[usize],
    inst: &Inst<'_>,
) -> Result<(), (usize, Trap)> {
    let mut footprints = Vec::with_capacity(lanes.len());
    for &l in lanes {
        let mut moved = [[0.0f32; 3]; 2];
        for (moved, [bit, other]) in moved.iter_mut().zip([[1, 2], [2, 1]]) {
            let pairs = [l, l ^ other].map(|lane| (lane & !bit, lane | bit));
            let together = |p: &(usize, usize)| lanes.contains(&p.0) && lanes.contains(&p.1);
            if let Some((a, b)) = pairs.into_iter().find(together) {
                *moved = quad[l].texture_moves(block, inst, &quad[a], &quad[b]).map_err(|trap| (l, trap))?;
            }
        }
        footprints.push(moved);
    }
    for (&l, moved) in lanes.iter().zip(footprints) {
        quad[l].texture(block, inst, Some(moved)).map_err(|trap| (l, trap))?;
    }
    Ok(())
}
