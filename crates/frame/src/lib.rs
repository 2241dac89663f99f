//! A page that shows what a recording draws: its commands with state, targets before and after, vertices, counts, the history of
//! each pixel and the steps of a thread. It is what `nvir frame` writes and serves.
//!
//! ```text
//! recording --replay, with a Watch--> commands, patches of targets, vertices   (collect, pictures, reads)
//!           --again, if they are few--> all fragments                          (fragments)
//!           --again, when asked--> a pixel's fragments, a thread's steps       (pixel, steps)
//! ```
//!
//! A replay is the same each time, so a command, a launch and a thread are known by their numbers, and what is asked for rarely is
//! not kept: it is looked for in another replay. Targets are kept as patches: what each command changes, as a picture of the
//! smallest rectangle.
//!
//! The crate writes no file and prints nothing; that is for who calls it.

#![warn(clippy::print_stdout, clippy::print_stderr)]

mod collect;
mod fragments;
mod names;
mod page;
mod pictures;
mod pixel;
mod reads;
mod site;
mod steps;

pub use site::Server;

use nvir_emu::engine::Engine;
use nvir_vgpu::replay::{self, replay};
use nvir_vgpu::watch::Watch;
use serde_json::Value;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is shown of a recording.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The recording.
    pub path: PathBuf,
    /// The first command, counted from 0.
    pub first: u64,
    /// So many at most.
    pub count: u64,
    /// Pixels whose fragments are shown with their steps, in memory's order of rows.
    pub pixels: Vec<[u32; 2]>,
    /// What executes programs where steps are not wanted; `None`: the interpreter.
    pub engine: Option<Arc<dyn Engine>>,
    /// Programs show how often each instruction was issued, and estimated cycles; the interpreter executes them.
    pub profile: bool,
    /// Each sample of targets with several has pictures of its own.
    pub samples: bool,
    /// The first row of targets is the top one, as for the project's own driver; else a viewport that does not turn the picture
    /// over has its lowest row first, as OpenGL has it.
    pub top_first: bool,
    /// Who made the page.
    pub version: String,
}

/// Commands that a page has, if nobody says otherwise.
pub const COMMANDS: u64 = 2000;

impl Frame {
    /// All of the page's data.
    ///
    /// # Errors
    /// The recording cannot be read, contradicts itself, or has no command to show.
    pub fn data(&self, progress: &mut dyn FnMut(u64)) -> Result<Value, String> {
        let (mut data, fragments) = collect::commands(self, progress)?;
        let rows = data["commands"].as_array().map_or(0, Vec::len);
        if rows == 0 {
            return Err(match self.first {
                0 => "nothing is drawn, cleared, copied or launched".into(),
                first => format!("there is no command {first}"),
            });
        }
        data["fragments"] = fragments::all(self, fragments)?;
        let pixels = self.pixels.iter().map(|&at| pixel::with_steps(self, at));
        data["pixels"] = Value::Array(pixels.collect::<Result<_, _>>()?);
        Ok(data)
    }

    /// The page of such data.
    pub fn page(data: &Value) -> String {
        page::whole(data, None)
    }

    /// Whether a command is among those that are shown.
    fn shows(&self, command: u64) -> bool {
        command >= self.first && command - self.first < self.count
    }

    /// How it is replayed where nothing else is wanted.
    fn options(&self) -> replay::Options {
        replay::Options { engine: self.engine.clone(), ..replay::Options::default() }
    }

    /// Replays the recording before a watch. What ended it early, if anything did.
    fn replay(
        &self,
        watch: impl Watch + 'static,
        options: replay::Options,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Option<String>, String> {
        let file = open(&self.path)?;
        let options = replay::Options { watch: Some(Box::new(watch)), ..options };
        let report = replay(BufReader::new(file), options, progress).map_err(|e| e.to_string())?;
        Ok(match (&report.fault, report.wrong) {
            (Some((submission, fault)), _) => Some(format!("submission {submission}: {fault}")),
            (None, 0) => None,
            (None, wrong) => Some(format!("{wrong} words are not as recorded")),
        })
    }
}

/// What a watch gathers, for who replays before it.
struct Shared<T>(Arc<Mutex<T>>);

impl<T: Default> Default for Shared<T> {
    fn default() -> Shared<T> {
        Shared(Arc::default())
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Shared<T> {
        Shared(self.0.clone())
    }
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn open(path: &Path) -> Result<File, String> {
    File::open(path).map_err(|e| nvir_base::input::why(&e))
}
