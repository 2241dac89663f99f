//! Snapshots of a program during a compile: its IR after each step that changed it, for people.

use crate::diag::Loc;
use crate::ir::{Phase, Program, print};

/// The program after a step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The pass, or what else was done: `front-end`, `lower`, `legalise`.
    pub name: &'static str,
    /// The phase of the IR behind it.
    pub phase: Phase,
    /// What the pass says of what it did.
    pub notes: Vec<String>,
    /// The listing.
    pub text: String,
    /// Where each of its lines comes from.
    pub places: Vec<Loc>,
}

/// The steps of a compile, where they are wanted.
#[derive(Default)]
pub struct Steps(Option<Vec<Step>>);

impl Steps {
    /// From now on steps are kept.
    pub fn want(&mut self) {
        self.0 = Some(Vec::new());
    }

    /// Those so far, which are kept here no longer.
    pub fn take(&mut self) -> Vec<Step> {
        self.0.take().unwrap_or_default()
    }

    /// Keeps what a program is now, unless that is what it was.
    pub fn note(&mut self, name: &'static str, phase: Phase, program: &Program, notes: &[String]) {
        let Some(steps) = &mut self.0 else { return };
        let text = program.to_string();
        if steps.last().is_none_or(|s| s.text != text) {
            let places = print::places(program);
            steps.push(Step { name, phase, notes: notes.to_vec(), text, places });
        }
    }
}
