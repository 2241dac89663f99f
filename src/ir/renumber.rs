//! Large functions made anew in the order of their layout.
//!
//! Passes leave most of a large function's instructions dead in the arena, and the living ones in
//! the order in which they were made. Going through a function is then a walk from one place in
//! memory to another; in order, the processor fetches ahead. Small functions lie in its caches as
//! they are.

use super::func::{Def, Function, Term, ValueData};
use super::inst::Inst;
use super::op::{Op, OpSet};
use super::types::Type;
use super::{InstId, ValueId};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{PrimaryMap, SecondaryMap};

/// Instructions in the arena from which on a function is large. Measured: below, the copy costs
/// what it gains.
const LARGE: usize = 1 << 16;

/// [`renumber`] for functions that are large.
pub(crate) fn large(f: &mut Function) {
    if f.insts.len() >= LARGE {
        renumber(f);
    }
}

/// Numbers the instructions and values of a function anew, without those that no block has. The
/// code is the same; ids from before mean nothing any more.
pub(crate) fn renumber(f: &mut Function) {
    let living = f.inst_count();
    let mut insts: PrimaryMap<InstId, Inst> = PrimaryMap::with_capacity(living);
    let mut names = Names {
        old: std::mem::take(&mut f.values),
        new: PrimaryMap::with_capacity(living),
        renamed: SecondaryMap::new(),
    };
    names.renamed.resize(names.old.len());
    f.ops = OpSet::default();
    for v in &mut f.params {
        *v = names.define(*v, Def::Func);
    }
    let mut placed: SecondaryMap<_, bool> = SecondaryMap::new();
    for &b in &f.layout {
        placed[b] = true;
        let block = &mut f.blocks[b];
        for v in &mut block.params {
            *v = names.define(*v, Def::Block(b));
        }
        for i in &mut block.body {
            let mut inst = std::mem::replace(&mut f.insts[*i], Inst::new(Op::Undef, Type::U32));
            *i = insts.next_key();
            inst.map_uses(|v| names.renamed(v));
            inst.map_defs(|v| names.define(v, Def::Inst(*i)));
            f.ops.insert(inst.op);
            insts.push(inst);
        }
        block.term.map_uses(|v| names.renamed(v));
    }
    for (_, block) in f.blocks.iter_mut().filter(|(b, _)| !placed[*b]) {
        block.params.clear();
        block.body.clear();
        block.term = Term::Unreachable;
    }
    (f.insts, f.values) = (insts, names.new);
}

/// What the values are called afterwards.
struct Names {
    old: PrimaryMap<ValueId, ValueData>,
    new: PrimaryMap<ValueId, ValueData>,
    renamed: SecondaryMap<ValueId, PackedOption<ValueId>>,
}

impl Names {
    fn renamed(&mut self, v: ValueId) -> ValueId {
        self.renamed[v].expand().unwrap_or_else(|| {
            let new = self.new.push(ValueData { class: self.old[v].class, def: Def::None });
            self.renamed[v] = new.into();
            new
        })
    }

    fn define(&mut self, v: ValueId, def: Def) -> ValueId {
        let new = self.renamed(v);
        self.new[new].def = def;
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Phase;
    use crate::ir::{Program, parse};
    use crate::verify;

    const TEXT: &str = "program

kernel main() {
b0:
    rdsv u32 %r7 sv[tid.x]
    mov u32 %r5 0x0
    jump b3(%r5)

b3(%r9): loop exit b4 cont b3
    add u32 %r2 %r9 %r7
    set.lt pred u32 %p1 %r2 0x64
    if %p1 b3(%r2) b4

b4:
    st u32 # g[%r7+0x4] %r2
    exit
}
";

    fn program() -> Program {
        parse::program(TEXT).unwrap_or_else(|d| panic!("{d:?}"))
    }

    #[test]
    fn code_stays_and_dead_instructions_go() {
        let mut p = program();
        let f = &mut p.funcs[p.entry];
        for _ in 0..10 {
            let v = f.new_value(crate::ir::Class::Gpr);
            f.make(Inst::new(Op::Mul, Type::U32).src(v).src(3u32).dst(v));
        }
        renumber(f);
        assert_eq!((f.insts.len(), f.values.len()), (5, 5));
        assert!(!f.ops.contains(Op::Mul));
        verify::program(&p, Phase::Front).unwrap_or_else(|v| panic!("{v}"));
        let again = {
            let mut q = program();
            let entry = q.entry;
            renumber(&mut q.funcs[entry]);
            q.to_string()
        };
        assert_eq!(p.to_string(), again);
        for (old, new) in [("%r7", "%r0"), ("%r5", "%r1"), ("%r9", "%r2"), ("%r2", "%r3"), ("%p1", "%p4")] {
            let count = |text: &str, name: &str| text.matches(name).count();
            assert_eq!(count(TEXT, old), count(&again, new), "{old} is {new} now:\n{again}");
        }
    }
}
