//! What each pass does, in a line; [`super::PASSES`] has what it runs.

/// By name, in alphabetical order.
const SUMMARIES: &[(&str, &str)] = &[
    ("address", "constant additions move from the base of an access into its offset"),
    ("algebra", "identities, canonical forms, booleans as predicates"),
    ("bits", "what known bits and ranges decide"),
    ("byte_stores", "bytes with known values that are stored side by side become one store"),
    ("calls", "what functions do and what their callers pass is noted where it may be assumed"),
    ("choose", "choices by a comparison with zero compare by themselves"),
    ("complement", "of two choices by one condition in opposite order, the second is made from the first"),
    ("copy_prop", "reads of a copy become reads of the original"),
    ("dce", "what nobody reads and has no effect goes"),
    ("dead_params", "parameters that a subroutine does not read, and results that no caller reads, go"),
    ("divmod", "divisions by constants become multiplications and shifts"),
    ("flow", "decided branches, unreachable blocks, jumps to jumps"),
    ("fold", "an operation on constants becomes its result"),
    ("fuse", "multiply-add, shift-add, bytes put together become one instruction"),
    ("gvn", "of two computations of the same thing, the dominated one goes"),
    ("hoist", "what both sides of a branch compute is computed in front of it"),
    ("if_convert", "short sides of a branch are executed by all lanes"),
    ("init_regs", "registers read before any write get a value"),
    ("inline", "subroutines become part of their callers"),
    ("licm", "what does not change in a loop moves in front of it"),
    ("long_division", "a division that is written out bit by bit becomes one division"),
    ("masks", "a comparison takes the one along that its mask is joined with, as a predicate"),
    ("mem_combine", "neighbouring accesses become one of 64 or 128 bits"),
    ("mem_forward", "a load of what was just stored becomes the value; dead stores go"),
    ("mods", "negations, absolute values and saturation become part of the instructions that can carry them"),
    ("operand", "constants become operands where the instruction encodes them"),
    ("project", "an input that is divided by another takes it in place of w"),
    ("quotient", "a quotient that is estimated and corrected becomes a division by a constant"),
    ("rotate", "two shifts of a word by a variable become a rotation"),
    ("saturate", "sums that are compared to see whether they overflowed become saturating ones"),
    ("sink", "constants and inputs move to where they are read"),
    ("strength", "multiplications by constants become cheaper operations"),
    ("strips", "the end of a strip goes with the last vertex of it"),
    ("subword", "multiplications of 16 or 24 bits use the multiply-add for parts of words"),
    ("unroll", "a loop that runs a few times becomes copies of its body"),
];

/// What a pass does, in a line; empty where there is no such pass.
pub fn of(pass: &str) -> &'static str {
    SUMMARIES.iter().find(|s| s.0 == pass).map_or("", |s| s.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pass_has_a_line() {
        for p in super::super::PASSES {
            assert!(!of(p.name).is_empty(), "{} has no line", p.name);
        }
        assert!(SUMMARIES.is_sorted_by_key(|s| s.0));
        assert!(SUMMARIES.iter().all(|s| !s.1.is_empty() && s.1.len() <= 100));
    }
}
