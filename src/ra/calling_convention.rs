//! The calling convention of functions that are compiled separately.
//!
//! ```text
//! R0 to R23, P0 to P6, CC     the callee's: nothing of the caller is in them
//! R4, R5, ..                  parameters, a word each, at most twelve; results likewise
//! R24 ..                      the caller's: a callee never writes them
//! ```
//!
//! A callee saves nothing, since it uses none of the caller's registers, and a caller keeps in its
//! own what lives through the call. A function that calls others has none of its own, so what lives
//! through such a call goes to its frame.
//!
//! Frames have no stack pointer: a linker, who knows all callers, gives each function's frame an
//! address in local memory above those of what it calls. There is no recursion.

use super::{Phys, RegSet, Summary};
use crate::ir::{Class, Function, Linkage, Program};

/// The first register that a parameter, or a result, is in.
pub const FIRST: u8 = 4;
/// Words of parameters, and of results, at most.
pub(crate) const MOST_WORDS: usize = 12;
/// Registers from 0 on that are the callee's.
pub const CALLEES: u32 = 24;

/// Whether callers and callee agree on registers beforehand.
fn is_separate(f: &Function) -> bool {
    f.linkage != Linkage::Internal
}

/// General registers that a function may use.
pub fn limit(f: &Function) -> u32 {
    if is_separate(f) { CALLEES } else { u32::MAX }
}

fn registers(n: usize) -> Vec<u8> {
    (FIRST..).take(n).collect()
}

/// Names the registers of parameters and results where others may call.
pub(crate) fn name_registers(p: &mut Program) {
    for f in p.funcs.values_mut().filter(|f| f.linkage == Linkage::Visible) {
        f.param_regs = registers(f.params.len());
        f.result_regs = registers(f.results.len());
    }
}

/// Why functions of this type cannot be linked separately.
pub fn refuses(f: &Function) -> Option<String> {
    let name = &f.name;
    let words = f.params.iter().map(|&v| f.class(v)).chain(f.results.iter().copied());
    if words.into_iter().any(|c| c != Class::Gpr) {
        return Some(format!("the function `{name}` has a predicate among its parameters or results"));
    }
    let most = f.params.len().max(f.results.len());
    (most > MOST_WORDS).then(|| {
        format!(
            "the function `{name}` has {most} words of parameters or results: {MOST_WORDS} go in registers"
        )
    })
}

/// What callers know of a function before it has its registers; `frame_base` is where all frames
/// begin. None where they learn it from the code.
pub fn summary(f: &Function, frame_base: u32) -> Option<Summary> {
    if !is_separate(f) {
        return None;
    }
    let mut clobbers = RegSet::default();
    (0..CALLEES as u8).for_each(|r| clobbers.insert(Phys::Gpr(r)));
    (0..7).for_each(|p| clobbers.insert(Phys::Pred(p)));
    clobbers.insert(Phys::Carry);
    let places = |n| registers(n).into_iter().map(Phys::Gpr).collect();
    Some(Summary {
        params: places(f.params.len()),
        results: places(f.results.len()),
        clobbers,
        frame_end: frame_base,
    })
}
