//! What a card does, for whoever looks on: commands one by one, with the state and the targets that they have, and within a
//! draw its vertices and fragments.
//!
//! Nothing of it changes results. Who asks for fragments has primitives that touch such pixels shaded one by one, so that what a
//! fragment finds in the targets is what the one before it left there.

mod reads;

use crate::Memory;
use crate::device::{MethodLocation, WriteKind, Written};
use crate::frames::{Drawn, extend};
use crate::registers::Registers;
use nvir_base::stage::Stage;
use nvir_emu::stage::batch::AttributeBuffer;
use nvir_emu::{Profile, Program};
use std::ops::Range;
use std::sync::Arc;

pub use crate::frames::{Layer, Pixels, Target};
pub use crate::shader::Bank;
pub use reads::{Reads, SamplerState, TextureHeader};

/// Who looks on.
pub trait Watch: Send {
    /// A command begins. Which fragments of it are wanted.
    fn begin(&mut self, seen: &Seen<'_>) -> Wanted;

    /// It has ended.
    fn end(&mut self, _seen: &Seen<'_>, _done: &Done) {}

    /// What a stage of a draw makes of a batch of vertices.
    fn vertices(&mut self, _vertices: &Vertices<'_>) {}

    /// The program of a stage is about to run for a batch of a draw.
    fn runs(&mut self, _stage: Stage) {}

    /// A fragment of a pixel that is wanted has come to its end.
    fn fragment(&mut self, _fragment: Fragment) {}
}

/// Fragments that are wanted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Wanted {
    /// None.
    #[default]
    Nothing,
    /// Those of these pixels.
    Pixels(Vec<[u32; 2]>),
    /// All.
    All,
}

impl Wanted {
    /// Whether fragments of a pixel are wanted.
    pub fn has(&self, at: [u32; 2]) -> bool {
        match self {
            Wanted::Nothing => false,
            Wanted::Pixels(all) => all.contains(&at),
            Wanted::All => true,
        }
    }
}

/// What a command is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What {
    /// Vertices from BEGIN to END.
    Draw {
        /// What their primitives are.
        topology: &'static str,
        /// The number of the instance.
        instance: u32,
    },
    /// Of a rectangle of targets.
    Clear(String),
    /// Of the 2D engine.
    Blit(String),
    /// Of bytes, from memory or from the stream.
    Copy(String),
    /// Of a grid.
    Launch(String),
}

/// A command with what surrounds it.
pub struct Seen<'a> {
    /// Counted from 0 in the card's life.
    pub number: u64,
    /// The method that executes it.
    pub place: MethodLocation,
    /// What it is.
    pub what: What,
    /// The card's memory.
    pub memory: &'a Memory,
    /// The class's registers.
    pub registers: &'a Registers,
    /// The targets that it may write.
    pub targets: &'a [Target],
    /// State by group, in the order of a draw.
    pub state: Vec<Field>,
}

/// A part of the state of a draw.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// What it belongs to: `color 0`, `depth`, `raster`...
    pub group: String,
    /// Its name there.
    pub name: &'static str,
    /// What it is.
    pub value: String,
    /// How a line of the log says it, if it does.
    pub(crate) said: Option<String>,
}

/// What a command has done.
#[derive(Clone, Debug, Default)]
pub struct Done {
    /// What was counted, by name.
    pub counts: Vec<(&'static str, u64)>,
    /// The programs that have run.
    pub programs: Vec<Ran>,
    /// What methods have written for it, and maybe right before; `None`: nobody kept it.
    pub written: Option<Vec<Written>>,
    /// Where a draw's fragments lie in the targets: x and y of the first pixel, and one behind the last; `None`: it may have changed
    /// others, too.
    pub touched: Option<[u32; 4]>,
}

impl Done {
    /// Whether a target may have changed.
    pub fn may_change(&self, target: &Target) -> bool {
        self.may_write(&target.span())
    }

    /// Whether bytes of a span may have changed.
    pub fn may_write(&self, span: &Range<u64>) -> bool {
        let Some(written) = &self.written else { return true };
        let inside = |w: &Written| w.address < span.end && span.start < w.address.saturating_add(w.bytes);
        written.iter().any(|w| w.what == WriteKind::Launch || inside(w))
    }
}

/// A program that has run.
#[derive(Clone, Debug)]
pub struct Ran {
    /// Its stage.
    pub stage: Stage,
    /// Of its first instruction.
    pub address: u64,
    /// The same, from the start of `program`.
    pub entry: u32,
    /// Its code, decoded.
    pub program: Arc<Program>,
    /// Instructions that threads have executed for the command.
    pub instructions: u64,
    /// What its instructions were counted to do for the command, if launches are profiled.
    pub profile: Option<Profile>,
    /// What it has read.
    pub reads: Reads,
}

/// What a stage makes of a batch of vertices.
pub struct Vertices<'a> {
    /// The stage whose outputs they are.
    pub stage: Stage,
    /// What it read of each, where it reads one vertex for each that it writes.
    pub inputs: Option<&'a AttributeBuffer>,
    /// What it left.
    pub outputs: &'a AttributeBuffer,
    /// Vertices of a primitive.
    pub size: usize,
    /// The vertices of all primitives, one after the other.
    pub primitives: &'a [u32],
    /// Whether they are what is rasterised.
    pub last: bool,
}

/// What became of a fragment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It was written, where masks let it through.
    Written,
    /// The tests of depth and stencil, before the program ran.
    FailedEarly,
    /// The program discarded it.
    Discarded,
    /// The program's sample mask, the alpha test or alpha to coverage left nothing of it.
    Uncovered,
    /// The tests of depth and stencil, behind the program.
    FailedLate,
}

impl Outcome {
    /// All, in their order.
    pub const ALL: [Outcome; 5] =
        [Outcome::Written, Outcome::FailedEarly, Outcome::Discarded, Outcome::Uncovered, Outcome::FailedLate];

    /// What people read.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Written => "written",
            Outcome::FailedEarly => "failed depth or stencil before the program",
            Outcome::Discarded => "discarded by the program",
            Outcome::Uncovered => "left without samples by alpha or sample mask",
            Outcome::FailedLate => "failed depth or stencil",
        }
    }
}

/// Where among the launches of a draw the program ran for a fragment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Thread {
    /// The launch, counted from 0 among those of the stage in the draw.
    pub launch: u32,
    /// The warp of the launch.
    pub warp: u32,
    /// The lane.
    pub lane: u32,
}

/// What a target holds of a pixel: red, green, blue, alpha as bits of numbers; or depth as such and stencil.
pub type Texel = [u32; 4];

/// A fragment.
#[derive(Clone, Debug)]
pub struct Fragment {
    /// Its pixel, in memory's order of rows.
    pub at: [u32; 2],
    /// The layer of the targets.
    pub layer: u32,
    /// The number of its primitive in the batch that the rasteriser gets.
    pub primitive: u32,
    /// Its front faces the viewer.
    pub front: bool,
    /// Samples that its primitive covers, and those that were written.
    pub cover: [u8; 2],
    /// What became of it.
    pub outcome: Outcome,
    /// Where its program ran, if it did.
    pub thread: Option<Thread>,
    /// Values at the middle of the pixel by the addresses of the program's inputs; perspective ones are divided.
    pub inputs: Vec<(u32, u32)>,
    /// What the program left for each target; `None`: nothing.
    pub colors: Vec<Option<[u32; 4]>>,
    /// The depth that was tested.
    pub depth: u32,
    /// Each colour target before and after, of the first sample.
    pub texels: Vec<[Texel; 2]>,
    /// The depth buffer before and after: depth, stencil.
    pub zeta: Option<[Texel; 2]>,
}

/// Who looks on, and at what.
pub(crate) struct Watching {
    pub who: Box<dyn Watch>,
    pub wanted: Wanted,
    /// Commands so far.
    commands: u64,
    /// The targets of the command that executes.
    targets: Vec<Target>,
    /// Where its fragments lie.
    touched: Option<[u32; 4]>,
}

impl Watching {
    pub(crate) fn new(who: Box<dyn Watch>) -> Watching {
        Watching { who, wanted: Wanted::Nothing, commands: 0, targets: Vec::new(), touched: None }
    }

    /// A command begins.
    pub(crate) fn begin(&mut self, moment: Moment<'_>, what: What, targets: Vec<Drawn>) {
        self.targets = targets.into_iter().map(Target).collect();
        self.wanted = Wanted::Nothing;
        self.touched = None;
        let seen = moment.seen(self.commands, what, &self.targets, Vec::new());
        self.wanted = self.who.begin(&seen);
    }

    /// Fragments lie in a rectangle.
    pub(crate) fn touch(&mut self, rect: [u32; 4]) {
        extend(&mut self.touched, rect);
    }

    /// Where fragments of the command lie.
    pub(crate) fn touched(&self) -> [u32; 4] {
        self.touched.unwrap_or_default()
    }

    /// The command that began last has ended.
    pub(crate) fn end(&mut self, moment: Moment<'_>, what: What, state: Vec<Field>, done: &Done) {
        let seen = moment.seen(self.commands, what, &self.targets, state);
        self.who.end(&seen, done);
        self.commands += 1;
        self.wanted = Wanted::Nothing;
    }
}

/// What a command finds around it.
pub(crate) struct Moment<'a> {
    pub place: MethodLocation,
    pub memory: &'a Memory,
    pub registers: &'a Registers,
}

impl<'a> Moment<'a> {
    fn seen(self, number: u64, what: What, targets: &'a [Target], state: Vec<Field>) -> Seen<'a> {
        let Moment { place, memory, registers } = self;
        Seen { number, place, what, memory, registers, targets, state }
    }
}
