//! Fragments of pixels that somebody wants to see: what they find, what becomes of them, and what they leave.

use super::bindings::Program;
use super::output::{Output, Work};
use super::raster::Quad;
use super::target::Layer;
use crate::device::EngineResult;
use crate::watch::{Fragment, Outcome, Texel, Thread, Wanted};
use nvir_emu::stage::batch::{FragmentResults, Fragments};

/// Quads of a warp.
const QUADS: usize = 8;

/// Pixels that are wanted of a batch whose shapes share none of them.
#[derive(Default)]
pub(super) struct Probe {
    pixels: Vec<Pixel>,
}

struct Pixel {
    /// The rasteriser's quad, and which of its pixels.
    quad: usize,
    pixel: usize,
    at: [u32; 2],
    before: Held,
}

/// What targets hold of a pixel.
struct Held {
    colors: Vec<Texel>,
    zeta: Option<Texel>,
}

/// Whether quads have a pixel that is wanted.
pub(super) fn touches(quads: &[Quad], wanted: &Wanted) -> bool {
    match wanted {
        Wanted::Nothing => false,
        Wanted::All => !quads.is_empty(),
        Wanted::Pixels(all) => quads.iter().any(|quad| {
            let near = |&[x, y]: &[u32; 2]| (x & !1, y & !1) == (quad.x.into(), quad.y.into());
            all.iter().any(near)
        }),
    }
}

/// The pixels that quads lie in: x and y of the first, and one behind the last.
pub(super) fn rectangle(quads: &[Quad]) -> [u32; 4] {
    quads.iter().fold([u32::MAX, u32::MAX, 0, 0], |[x0, y0, x1, y1], quad| {
        let (x, y) = (u32::from(quad.x), u32::from(quad.y));
        [x0.min(x), y0.min(y), x1.max(x + 2), y1.max(y + 2)]
    })
}

impl Probe {
    /// Looks at the targets before the batch is tested.
    pub(super) fn new(work: &Work<'_, '_>, wanted: &Wanted) -> EngineResult<Probe> {
        let mut probe = Probe::default();
        let mut layer = None;
        for (n, quad) in work.batch.quads.iter().enumerate() {
            for pixel in (0..4).filter(|&p| quad.cover[p] != 0) {
                let at = [u32::from(quad.x) + (pixel as u32 & 1), u32::from(quad.y) + (pixel as u32 >> 1)];
                if wanted.has(at) {
                    let layer = work.targets.switch(&mut layer, work.shape(quad).1.layer)?;
                    probe.pixels.push(Pixel { quad: n, pixel, at, before: held(work, layer, at) });
                }
            }
        }
        Ok(probe)
    }

    /// Tells what became of each, once the batch is written. `launch` is the number of the program's run.
    pub(super) fn tell(
        self,
        work: &Work<'_, '_>,
        (program, fragments): (&Program, &Fragments),
        (output, results): (&Output, &FragmentResults),
        launch: u32,
        mut tell: impl FnMut(Fragment),
    ) -> EngineResult {
        let mut layer = None;
        for Pixel { quad: n, pixel, at, before } in self.pixels {
            let quad = &work.batch.quads[n];
            let (shape, place) = work.shape(quad);
            let layer = work.targets.switch(&mut layer, place.layer)?;
            let after = held(work, layer, at);
            // Quads of the program that are of it: several where it runs once a sample.
            let ran = output.of(n as u32).filter(|&k| fragments.quads[k].live >> pixel & 1 != 0);
            let ran: Vec<usize> = ran.collect();
            let written = ran.iter().fold(0, |all, &k| all | output.written(k)[pixel]);
            let live = ran.iter().any(|&k| results.live(k) >> pixel & 1 != 0);
            let tested = ran.iter().any(|&k| output.tested(k)[pixel] != 0);
            let outcome = match (ran.is_empty(), live, tested, written) {
                (true, ..) => Outcome::FailedEarly,
                (_, false, ..) => Outcome::Discarded,
                (_, _, false, _) => Outcome::Uncovered,
                (_, _, _, 0) => Outcome::FailedLate,
                _ => Outcome::Written,
            };
            let first = ran.first().copied();
            let thread = first.map(|k| Thread {
                launch,
                warp: (k / QUADS) as u32,
                lane: (4 * (k % QUADS) + pixel) as u32,
            });
            let center = at.map(|v| f64::from(v) + 0.5);
            let inputs = fragments.inputs(&program.interface, quad.shape, center);
            let color = |output: u32| {
                let k = first?;
                let component = |c| results.color(k, output as usize, c).map(|p| p[pixel]);
                let found = [0, 1, 2, 3].map(component);
                found.iter().any(Option::is_some).then(|| found.map(|c| c.unwrap_or(0)))
            };
            let depth = match first.and_then(|k| results.depth(k)) {
                Some(written) => written[pixel],
                None => (place.range.clamp(shape.depth_at(center[0], center[1])) as f32).to_bits(),
            };
            tell(Fragment {
                at,
                layer: place.layer,
                primitive: shape.primitive,
                front: shape.front,
                cover: [quad.cover[pixel], written],
                outcome,
                thread,
                inputs,
                colors: work.targets.colors.iter().map(|target| color(target.output)).collect(),
                depth,
                texels: before.colors.iter().zip(&after.colors).map(|(a, b)| [*a, *b]).collect(),
                zeta: before.zeta.zip(after.zeta).map(|(a, b)| [a, b]),
            });
        }
        Ok(())
    }
}

fn held(work: &Work<'_, '_>, layer: &Layer<'_>, [x, y]: [u32; 2]) -> Held {
    let colors = work.targets.colors.iter().zip(&layer.colors);
    Held {
        colors: colors.map(|(target, s)| target.rop.channels(s.load(s.sample(x, y, 0)))).collect(),
        zeta: work.targets.zeta_at(layer, [x, y]),
    }
}
