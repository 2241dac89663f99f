//! The history of one pixel: every fragment of it, in order.

use crate::{Frame, Shared, names, steps};
use nvir_base::stage::Stage;
use nvir_vgpu::watch::{Fragment, Seen, Thread, Wanted, Watch};
use serde_json::{Value, json};

/// Fragments of a pixel that are listed, and those of them whose steps a page has.
const MAX_FRAGMENTS: usize = 1000;
const MAX_STEPPED: usize = 24;

#[derive(Default)]
struct Found {
    current: u64,
    fragments: Vec<(u64, Fragment)>,
}

struct Finder {
    frame: Frame,
    at: [u32; 2],
    to: Shared<Found>,
}

impl Watch for Finder {
    fn begin(&mut self, seen: &Seen<'_>) -> Wanted {
        self.to.lock().current = seen.number;
        if self.frame.shows(seen.number) { Wanted::Pixels(vec![self.at]) } else { Wanted::Nothing }
    }

    fn fragment(&mut self, fragment: Fragment) {
        let mut to = self.to.lock();
        let number = to.current;
        if to.fragments.len() < MAX_FRAGMENTS {
            to.fragments.push((number, fragment));
        }
    }
}

fn found(frame: &Frame, at: [u32; 2]) -> Result<Vec<(u64, Fragment)>, String> {
    let to = Shared::<Found>::default();
    frame.replay(Finder { frame: frame.clone(), at, to: to.clone() }, frame.options(), &mut |_| {})?;
    Ok(std::mem::take(&mut *to.lock()).fragments)
}

/// The fragments of a pixel.
pub(crate) fn history(frame: &Frame, at: [u32; 2]) -> Result<Value, String> {
    let all = found(frame, at)?;
    Ok(json!({ "at": at, "fragments": all.iter().map(|(n, f)| json(*n, f)).collect::<Vec<_>>() }))
}

/// The same with the steps of each.
pub(crate) fn with_steps(frame: &Frame, at: [u32; 2]) -> Result<Value, String> {
    let all = found(frame, at)?;
    let mut fragments = Vec::new();
    for (n, (command, fragment)) in all.iter().enumerate() {
        let mut value = json(*command, fragment);
        if let Some(thread) = fragment.thread.filter(|_| n < MAX_STEPPED) {
            let which = steps::Which {
                command: *command,
                stage: Stage::Fragment,
                thread,
                wanted: Wanted::Pixels(vec![at]),
            };
            value["steps"] = steps::of(frame, which)?;
        }
        fragments.push(value);
    }
    Ok(json!({ "at": at, "fragments": fragments }))
}

fn json(command: u64, f: &Fragment) -> Value {
    let inputs = f.inputs.iter().map(|(a, bits)| json!([names::of(*a, Some(Stage::Fragment)), bits]));
    json!({
        "command": command,
        "at": f.at,
        "layer": f.layer,
        "primitive": f.primitive,
        "front": f.front,
        "cover": f.cover,
        "outcome": f.outcome.name(),
        "thread": f.thread.map(|Thread { launch, warp, lane }| [launch, warp, lane]),
        "inputs": inputs.collect::<Vec<_>>(),
        "colors": f.colors,
        "depth": f.depth,
        "texels": f.texels,
        "zeta": f.zeta,
    })
}
