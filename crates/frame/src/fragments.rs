//! All fragments of a recording, where they are few enough for a page: for each command columns of words, deflated.

use crate::pictures::base64;
use crate::{Frame, Shared, names};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use nvir_base::stage::Stage;
use nvir_vgpu::watch::{Fragment, Outcome, Seen, Wanted, Watch};
use serde_json::{Value, json};
use std::io::Write;

/// Words of all fragments together, and fragments.
const MAX_WORDS: usize = 1 << 24;
const MAX_FRAGMENTS: u64 = 1 << 19;

/// The fragments of a command so far.
struct Command {
    number: u64,
    inputs: Vec<u32>,
    colors: usize,
    has_depth: bool,
    /// By column: as [`columns`] gives them.
    columns: Vec<Vec<u32>>,
}

#[derive(Default)]
struct Gathered {
    commands: Vec<Command>,
    current: u64,
    words: usize,
}

struct Gatherer {
    frame: Frame,
    to: Shared<Gathered>,
}

/// All fragments, if so many fit; else why not, as text.
pub(crate) fn all(frame: &Frame, fragments: u64) -> Result<Value, String> {
    if fragments > MAX_FRAGMENTS {
        return Ok(json!(format!("{fragments} fragments are too many for the page")));
    }
    let to = Shared::<Gathered>::default();
    frame.replay(Gatherer { frame: frame.clone(), to: to.clone() }, frame.options(), &mut |_| {})?;
    let gathered = std::mem::take(&mut *to.lock());
    if gathered.words > MAX_WORDS {
        return Ok(json!("all values of all fragments are too many for the page"));
    }
    Ok(json!({
        "outcomes": Outcome::ALL.map(Outcome::name),
        "commands": gathered.commands.iter().map(Command::json).collect::<Vec<_>>(),
    }))
}

impl Watch for Gatherer {
    fn begin(&mut self, seen: &Seen<'_>) -> Wanted {
        let mut to = self.to.lock();
        to.current = seen.number;
        if self.frame.shows(seen.number) && to.words <= MAX_WORDS { Wanted::All } else { Wanted::Nothing }
    }

    fn fragment(&mut self, f: Fragment) {
        let to = &mut *self.to.lock();
        let inputs = || f.inputs.iter().map(|i| i.0);
        let fits = |c: &Command| {
            (c.number, c.colors, c.has_depth) == (to.current, f.texels.len(), f.zeta.is_some())
                && c.inputs.iter().copied().eq(inputs())
        };
        if !to.commands.last().is_some_and(fits) {
            to.commands.push(Command {
                number: to.current,
                inputs: inputs().collect(),
                colors: f.texels.len(),
                has_depth: f.zeta.is_some(),
                columns: Vec::new(),
            });
        }
        let Some(command) = to.commands.last_mut() else { return };
        let words = columns(&f);
        command.columns.resize_with(words.len(), Vec::new);
        command.columns.iter_mut().zip(&words).for_each(|(column, word)| column.push(*word));
        to.words += words.len();
    }
}

/// What a page knows of a fragment, as words. The page's script reads them in this order.
fn columns(f: &Fragment) -> Vec<u32> {
    let [covered, written] = f.cover.map(u32::from);
    let mut words = vec![
        f.at[0] | f.at[1] << 16,
        f.layer,
        f.primitive,
        f.outcome as u32 | u32::from(f.front) << 3 | covered << 8 | written << 16,
        f.depth,
    ];
    let thread = f.thread.map_or([u32::MAX; 2], |t| [t.launch, t.warp << 5 | t.lane]);
    words.extend(thread);
    words.extend(f.inputs.iter().map(|i| i.1));
    for (color, texels) in f.colors.iter().zip(&f.texels) {
        words.push(color.is_some().into());
        words.extend(color.unwrap_or_default());
        words.extend(texels.as_flattened());
    }
    if let Some([before, after]) = f.zeta {
        words.extend([before[0], before[1], after[0], after[1]]);
    }
    words
}

impl Command {
    fn json(&self) -> Value {
        let bytes: Vec<u8> = self.columns.iter().flatten().flat_map(|w| w.to_le_bytes()).collect();
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        // Writing to memory does not fail.
        let _ = encoder.write_all(&bytes);
        let deflated = encoder.finish().unwrap_or_default();
        let inputs = self.inputs.iter().map(|&a| names::of(a, Some(Stage::Fragment)));
        json!({
            "command": self.number,
            "count": self.columns.first().map_or(0, Vec::len),
            "inputs": inputs.collect::<Vec<_>>(),
            "colors": self.colors,
            "depth": self.has_depth,
            "words": base64(&deflated),
        })
    }
}
