//! Variables of functions that are constants: compilers copy a constant array to a variable to index it.
//!
//! ```text
//! %table = OpVariable %_ptr_Function_array Function
//!          OpStore %table %constant
//! %p     = OpAccessChain %_ptr_Function_uint %table %i
//! ```
//!
//! All that is done with such a variable is to store one constant to it as a whole and to load from it: a load before the
//! store gives anything. So it holds the constant from the beginning of the program, stored once and not in each round
//! of a loop, and variables for one constant share it.

use super::pointer::Pointer;
use super::{Lower, R};
use crate::front::spirv::calls;
use crate::front::spirv::module::{Module, is_of_numbers};
use crate::front::spirv::read::Inst;
use crate::front::spirv::types::Type;
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{Op, StorageClass};

/// The constants that variables are, as far as these lie in memory.
fn find(m: &Module, in_memory: impl Fn(u32) -> bool) -> FxHashMap<u32, u32> {
    let is_constant = |(n, inst): (usize, &Inst)| match (inst.op, m.code.operands(n)) {
        (Op::Variable, &[_, init]) => in_memory(inst.result) && m.constants.contains(init),
        (Op::Store, &[variable, value, ..]) => in_memory(variable) && m.constants.contains(value),
        _ => false,
    };
    // What stands before functions has variables of functions nowhere.
    let insts = || m.code.insts.iter().enumerate().skip(m.declared);
    if !insts().any(is_constant) {
        return FxHashMap::default();
    }
    let mut roots = Roots::default();
    let mut constant: FxHashMap<u32, u32> = FxHashMap::default();
    let mut other = FxHashSet::default();
    let mut store = |variable: u32, value: u32| {
        // A constant of another type makes no table: lowering the store says what is wrong.
        m.constants.contains(value)
            && m.leads_to(variable) == m.code.type_of(value)
            && *constant.entry(variable).or_insert(value) == value
    };
    for (n, inst) in insts() {
        let x = m.code.operands(n);
        let ok = match inst.op {
            Op::Name | Op::Decorate | Op::EntryPoint | Op::Load | Op::LifetimeStart | Op::LifetimeStop => {
                true
            }
            Op::AccessChain | Op::InBoundsAccessChain => true,
            Op::Variable if is_private(m, inst.result) => {
                x.get(1).is_none_or(|&init| store(inst.result, init))
            }
            Op::Store if roots.find(m, x[0]) == Some(x[0]) => store(x[0], x[1]),
            op => is_of_numbers(op) || m.is_debug(n),
        };
        if ok {
            continue;
        }
        other.extend((inst.op == Op::Variable).then_some(inst.result));
        m.for_ids(n, |id| other.extend(roots.find(m, id)));
    }
    constant.retain(|variable, _| !other.contains(variable));
    constant
}

fn is_private(m: &Module, id: u32) -> bool {
    let ty = m.code.type_of(id).and_then(|ty| m.ty(ty));
    matches!(ty, Some(Type::Pointer { class: StorageClass::Function, .. }))
}

/// The variables of functions that pointers lead into, as far as they were asked for.
#[derive(Default)]
struct Roots {
    known: FxHashMap<u32, Option<u32>>,
}

impl Roots {
    fn find(&mut self, m: &Module, pointer: u32) -> Option<u32> {
        if !is_private(m, pointer) {
            return None;
        }
        let mut way = Vec::new();
        let mut id = pointer;
        let root = loop {
            if let Some(&root) = self.known.get(&id) {
                break root;
            }
            // Code that nothing reaches may go round.
            self.known.insert(id, None);
            way.push(id);
            let Some(n) = m.code.def(id).filter(|_| is_private(m, id)) else { break None };
            match (m.code.insts[n].op, m.code.operands(n).first()) {
                (Op::Variable, _) => break Some(id),
                (Op::AccessChain | Op::InBoundsAccessChain, Some(&base)) => id = base,
                _ => break None,
            }
        };
        self.known.extend(way.into_iter().map(|id| (id, root)));
        root
    }
}

impl Lower<'_, '_> {
    pub(super) fn is_table(&self, id: u32) -> bool {
        self.tables.contains_key(&id)
    }

    /// Stores the constants that variables of the functions at hand are.
    pub(super) fn tables(&mut self, function: usize) -> R<()> {
        let constants = find(self.m, |id| is_private(self.m, id) && !self.simple.whole(id));
        if constants.is_empty() {
            return Ok(());
        }
        let mut stored: FxHashMap<(u32, u32), Pointer> = FxHashMap::default();
        for f in calls::reached(self.m, function) {
            for n in self.m.functions[f].blocks.iter().flat_map(|block| block.insts.clone()) {
                let id = self.m.code.insts[n].result;
                let Some(&constant) = constants.get(&id).filter(|_| !self.simple.whole(id)) else { continue };
                self.locate(n);
                let (_, to) = self.pointee(self.ty())?;
                let p = match stored.get(&(constant, to)) {
                    Some(p) => p.clone(),
                    None => {
                        let p = self.private_variable(id, to)?;
                        self.fill(&p, constant)?;
                        stored.insert((constant, to), p.clone());
                        p
                    }
                };
                self.tables.insert(id, p);
            }
        }
        Ok(())
    }
}
