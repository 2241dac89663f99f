//! What the functions of an entry point do with its inputs and outputs: which members of blocks they name, and which outputs
//! they read back. `gl_PerVertex` is declared whole by compilers, whatever is used of it.

use super::by_id::Ids;
use super::module::{Module, is_of_numbers};
use super::types::Type;
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{BuiltIn, Decoration, Op, StorageClass};

#[derive(Debug, Default)]
pub(super) struct Used {
    /// Variables with the members that are named.
    members: FxHashSet<(u32, u32)>,
    /// Variables that are named as a whole.
    whole: FxHashSet<u32>,
    /// Outputs that are read, or whose pointers go who knows where.
    read_back: FxHashSet<u32>,
    /// An invocation asks whether it is a helper now.
    pub(super) asks_helper: bool,
    /// Values of neighbours are asked for: derivatives, textures whose level follows from such, quads.
    pub(super) neighbours: bool,
}

impl Used {
    /// Whether a variable is named at all.
    pub(super) fn variable(&self, id: u32) -> bool {
        self.whole.contains(&id)
    }

    /// Whether a member is named of a variable that is a block, or a whole that holds it.
    pub(super) fn member(&self, id: u32, member: u32) -> bool {
        self.members.contains(&(id, member)) || self.whole.contains(&id)
    }

    pub(super) fn reads_back(&self, id: u32) -> bool {
        self.read_back.contains(&id)
    }
}

/// Looks through functions.
pub(super) fn find(m: &Module, functions: impl Iterator<Item = usize>) -> Used {
    // The types of pointers into inputs and outputs.
    let mut types = Ids::default();
    for inst in m.code.insts[..m.declared].iter().filter(|inst| inst.op == Op::TypePointer) {
        if let Some(Type::Pointer { class: StorageClass::Input | StorageClass::Output, .. }) =
            m.ty(inst.result)
        {
            types.insert(inst.result);
        }
    }
    // Of such a pointer, whether it is to all of one.
    let pointer = |id: u32| {
        let inst = &m.code.insts[m.code.def(id)?];
        types.contains(inst.ty).then_some(inst.op == Op::Variable)
    };
    let attribute = |id: u32| pointer(id) == Some(true);
    let mut used = Used::default();
    // Pointers, and what each was made of; those that are read through.
    let mut made_of: FxHashMap<u32, u32> = FxHashMap::default();
    let mut read = Vec::new();
    for f in functions {
        let f = &m.functions[f];
        for n in f.blocks.iter().flat_map(|b| b.insts.clone()) {
            if m.is_debug(n) {
                continue;
            }
            let inst = m.code.insts[n];
            let x = m.code.operands(n);
            used.asks_helper |= inst.op == Op::IsHelperInvocationEXT || asks_now(m, inst.op, x);
            used.neighbours |= needs_neighbours(inst.op);
            match inst.op {
                Op::AccessChain | Op::InBoundsAccessChain => {
                    let Some(attribute) = pointer(x[0]) else { continue };
                    made_of.insert(inst.result, x[0]);
                    if attribute {
                        match member_named(m, x[0], &x[1..]) {
                            Some(member) => drop(used.members.insert((x[0], member))),
                            None => drop(used.whole.insert(x[0])),
                        }
                    }
                }
                Op::Store => {
                    if attribute(x[0]) {
                        used.whole.insert(x[0]);
                    }
                }
                op if is_of_numbers(op) => {}
                _ => m.for_ids(n, |id| {
                    let Some(attribute) = pointer(id) else { return };
                    read.push(id);
                    if attribute {
                        used.whole.insert(id);
                    }
                }),
            }
        }
    }
    let mut seen = FxHashSet::default();
    while let Some(id) = read.pop() {
        if !seen.insert(id) {
            continue;
        }
        match made_of.get(&id) {
            Some(&base) => read.push(base),
            None if attribute(id) => drop(used.read_back.insert(id)),
            None => {}
        }
    }
    used
}

/// The member that a path into a block leads to, through an array of blocks if there is one.
fn member_named(m: &Module, id: u32, path: &[u32]) -> Option<u32> {
    let to = m.leads_to(id)?;
    let constant =
        |at: usize| path.get(at).and_then(|&id| m.constant_index(id)).and_then(|n| n.try_into().ok());
    match m.ty(to) {
        Some(Type::Struct { .. }) => constant(0),
        Some(Type::Array { part, .. }) if matches!(m.ty(*part), Some(Type::Struct { .. })) => constant(1),
        _ => None,
    }
}

/// Whether a load asks what an invocation is now, of what may change.
fn asks_now(m: &Module, op: Op, x: &[u32]) -> bool {
    const VOLATILE: u32 = 1;
    let helper = [BuiltIn::HelperInvocation as u32];
    op == Op::Load
        && m.decoration(x[0], Decoration::BuiltIn) == Some(&helper)
        && (m.has(x[0], Decoration::Volatile) || x.get(1).is_some_and(|mask| mask & VOLATILE != 0))
}

fn needs_neighbours(op: Op) -> bool {
    matches!(
        op,
        Op::DPdx
            | Op::DPdy
            | Op::Fwidth
            | Op::DPdxFine
            | Op::DPdyFine
            | Op::FwidthFine
            | Op::DPdxCoarse
            | Op::DPdyCoarse
            | Op::FwidthCoarse
            | Op::ImageSampleImplicitLod
            | Op::ImageSampleDrefImplicitLod
            | Op::ImageSampleProjImplicitLod
            | Op::ImageSampleProjDrefImplicitLod
            | Op::ImageQueryLod
            | Op::GroupNonUniformQuadBroadcast
            | Op::GroupNonUniformQuadSwap
            | Op::GroupNonUniformQuadAllKHR
            | Op::GroupNonUniformQuadAnyKHR
    )
}
