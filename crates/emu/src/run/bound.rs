//! What a launch or a draw binds: constants, banks, textures, and the code's instructions for them.

use crate::bank::{self, CONST_BANKS};
use crate::code::decode::Uniform;
use crate::code::micro::{Inst, Micro};
use crate::code::steps::Step;
use crate::launch::Launch;
use crate::memory::Memory;
use crate::state::lanes::LaneVec;
use crate::units::texture::descriptors::Descriptors;
use std::borrow::Cow;

/// Decoded once for a launch or a draw; all its blocks share it.
pub(crate) struct Bound<'a> {
    pub launch: &'a Launch<'a>,
    pub memory: &'a Memory,
    pub banks: [bank::View<'a>; CONST_BANKS],
    /// The program's instructions; those that name a register or a constant that this launch does not have are faults.
    pub insts: Cow<'a, [Inst]>,
    /// The same for the interpreter.
    pub steps: Cow<'a, [Step]>,
    /// The values of the program's uniforms.
    pub pool: Vec<LaneVec>,
    pub descriptors: Descriptors,
}

impl<'a> Bound<'a> {
    pub(crate) fn new(launch: &'a Launch<'a>, memory: &'a Memory) -> Bound<'a> {
        let banks = bank::View::all(&launch.consts, memory, launch.zero_beyond_banks);
        let (insts, steps, pool) = bind(launch, &banks);
        Bound { launch, memory, banks, insts, steps, pool, descriptors: Descriptors::default() }
    }

    /// Whether instructions are faults in this launch that are none in the code.
    pub(crate) fn is_patched(&self) -> bool {
        matches!(self.insts, Cow::Owned(_))
    }

    /// A constant bank; one that no launch can bind is like one that this does not.
    pub(crate) fn bank(&self, n: u32) -> bank::View<'a> {
        self.banks.get(n as usize).copied().unwrap_or(bank::View::none(self.launch.zero_beyond_banks))
    }
}

/// The values of the program's uniforms; instructions that name a register or a constant that this launch does
/// not have become faults.
fn bind<'a>(
    launch: &'a Launch<'_>,
    banks: &[bank::View<'_>; CONST_BANKS],
) -> (Cow<'a, [Inst]>, Cow<'a, [Step]>, Vec<LaneVec>) {
    let program = &launch.program.code;
    let mut missing = vec![None; program.pool.uniforms.len()];
    let mut pool = Vec::with_capacity(missing.len());
    for (u, missing) in program.pool.uniforms.iter().zip(&mut missing) {
        pool.push(LaneVec::splat(match *u {
            Uniform::Imm(v) => v,
            Uniform::Const(bank, at) => {
                let view = banks.get(bank as usize).copied().unwrap_or(bank::View::none(false));
                *missing = view.refuses(at, 4).map(|why| format!("4 bytes at c[{bank:#x}][{at:#x}]; {why}"));
                view.word(at as usize)
            }
        }));
    }
    let bad = |i: &Inst| {
        if i.gprs() > launch.gprs {
            Some(format!("R{}; the launch gives {} registers to a thread", i.gprs() - 1, launch.gprs))
        } else {
            i.uniforms.iter().find_map(|&u| missing[u as usize].clone())
        }
    };
    if !program.insts.iter().any(|i| bad(i).is_some()) {
        return (Cow::Borrowed(&program.insts), Cow::Borrowed(&program.steps), pool);
    }
    let patch = |i: &Inst| match bad(i) {
        None => i.clone(),
        Some(why) => {
            let mut j = Inst::new(Micro::OutOfBounds(why.into()));
            j.guard = i.guard;
            (j.bytes, j.leader) = (i.bytes, i.leader);
            j
        }
    };
    let insts: Vec<Inst> = program.insts.iter().map(patch).collect();
    let steps = program.steps_of(&insts);
    (Cow::Owned(insts), Cow::Owned(steps), pool)
}
