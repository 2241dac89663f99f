//! Which values may come from a register that was never written.
//!
//! ```text
//! undef u32 %r0                   never initialised
//! b1(%r1): from %r0 and %r5       possibly uninitialised: initialised on one way here only
//! add u32 %r2 %r1 0x1             reads it; the sum itself is a value
//! ```
//!
//! `undef` is how IR says that a source register is read before any write. It travels through
//! copies, choices and block parameters; any other operation on it is a read of an uninitialised
//! register, and its result counts as initialised. The analysis starts from everything being
//! initialised and adds what is shown not to be, so that a loop's variable is not held against
//! itself.

use crate::ir::*;
use cranelift_entity::SecondaryMap;

/// What is known of a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) enum Init {
    /// Written on every way to its definition.
    #[default]
    Always,
    /// Not written on some way.
    Maybe,
    /// Written on no way.
    Never,
}

/// The state of every value of a function.
pub(crate) struct MustInit {
    state: SecondaryMap<ValueId, Init>,
}

impl MustInit {
    pub(crate) fn new(f: &Function) -> MustInit {
        let mut m = MustInit { state: SecondaryMap::new() };
        // No `undef`, nothing to find: the usual case.
        if !f.insts_in_order().any(|(_, i)| f.insts[i].op == Op::Undef) {
            return m;
        }
        let mut changed = true;
        while changed {
            changed = false;
            for &b in &f.layout {
                let block = &f.blocks[b];
                for &i in &block.body {
                    let inst = &f.insts[i];
                    let new = match inst.op {
                        Op::Undef => Init::Never,
                        Op::Mov | Op::Sel | Op::Pcopy => {
                            let mut new = Init::Always;
                            inst.for_uses(|v| new = new.max(m.state[v].min(Init::Maybe)));
                            new
                        }
                        _ => continue,
                    };
                    inst.for_defs(|d| changed |= m.raise(d, new));
                }
                for e in block.term.edges() {
                    for (&p, &a) in f.blocks[e.to].params.iter().zip(&e.args) {
                        let new = m.state[a].min(Init::Maybe);
                        changed |= m.raise(p, new);
                    }
                }
            }
        }
        m
    }

    fn raise(&mut self, v: ValueId, to: Init) -> bool {
        let old = self.state[v];
        if to > old {
            self.state[v] = to;
        }
        to > old
    }

    pub(crate) fn state(&self, v: ValueId) -> Init {
        self.state.get(v).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_variable_without_a_first_value_may_be_uninitialised_and_a_sum_of_it_is_not() {
        let text = "program\nkernel k() {\nb0:
    undef u32 %r0
    rdsv u32 %r1 sv[tid.x]
    jump b1(%r0 %r1)
b1(%r2 %r3): loop exit b3 cont b2
    add u32 %r4 %r2 %r3
    set.lt pred u32 %p5 %r4 0x10
    if %p5 b2 b3
b2:
    jump b1(%r4 %r3)
b3:
    exit\n}\n";
        let p = parse::program(text).expect("valid text");
        let f = &p.funcs[p.entry];
        let init = MustInit::new(f);
        let states: Vec<Init> = f.values.keys().map(|v| init.state(v)).collect();
        use Init::*;
        assert_eq!(states, [Never, Always, Maybe, Always, Always, Always]);
    }
}
