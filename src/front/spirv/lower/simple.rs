//! Variables that need no memory: all that happens to them are loads and stores of parts that are known beforehand.
//!
//! A pointer is simple if everything that is done with it is to load from it, to store to it, or to make simple pointers of it
//! by indices that are constants within their arrays; passed to a function, if the parameter is simple there. What is not
//! spreads back from pointers to what they were made of.

use crate::front::spirv::module::Module;
use crate::front::spirv::types::Type;
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{Op, StorageClass};

/// Scalars of a variable that lies in registers at most.
const MOST: u32 = 256;

/// The variables of the classes `Function` and `Private`, and parameters that point to such, that are simple.
pub(super) fn find(m: &Module) -> FxHashSet<u32> {
    // Pointers to private memory, and what each was made of.
    let mut made_of: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
    let mut pointers = FxHashSet::default();
    for inst in &m.code.insts {
        if inst.ty != 0
            && let Some(Type::Pointer { class: StorageClass::Function | StorageClass::Private, .. }) =
                m.ty(inst.ty)
        {
            pointers.insert(inst.result);
        }
    }
    let mut complex = Vec::new();
    for n in 0..m.code.insts.len() {
        let inst = m.code.insts[n];
        let x = m.code.operands(n);
        let mut spoil = |id: u32| {
            if pointers.contains(&id) {
                complex.push(id);
            }
        };
        match inst.op {
            Op::Name | Op::Decorate | Op::EntryPoint | Op::LifetimeStart | Op::LifetimeStop => {}
            Op::Variable => {
                let small = match m.ty(inst.ty) {
                    Some(Type::Pointer { to, .. }) => {
                        m.info(*to).is_some_and(|info| info.comps <= MOST && !info.opaque)
                    }
                    _ => false,
                };
                if !small {
                    spoil(inst.result);
                }
                x[1..].iter().for_each(|&id| spoil(id));
            }
            Op::Load => {}
            Op::Store => spoil(x[1]),
            Op::CopyMemory if !m.kernel => {}
            Op::AccessChain | Op::InBoundsAccessChain => {
                if known_path(m, x[0], &x[1..]) {
                    made_of.entry(inst.result).or_default().push(x[0]);
                } else {
                    spoil(x[0]);
                    spoil(inst.result);
                }
            }
            Op::InBoundsPtrAccessChain | Op::PtrAccessChain
                if m.constant_index(x[1]) == Some(0) && known_path(m, x[0], &x[2..]) =>
            {
                made_of.entry(inst.result).or_default().push(x[0]);
            }
            Op::CopyObject => made_of.entry(inst.result).or_default().push(x[0]),
            Op::FunctionCall => {
                let params = m.function_of.get(&x[0]).map(|&f| &m.functions[f].params);
                for (i, &arg) in x[1..].iter().enumerate() {
                    match params.and_then(|params| params.get(i)) {
                        Some(&param) if pointers.contains(&param) => {
                            made_of.entry(param).or_default().push(arg);
                        }
                        _ => spoil(arg),
                    }
                }
                spoil(inst.result);
            }
            Op::FunctionParameter => {}
            _ if m.is_debug(n) => {}
            _ => m.for_ids(n, spoil),
        }
    }
    let mut spoilt = FxHashSet::default();
    while let Some(id) = complex.pop() {
        if spoilt.insert(id) {
            complex.extend(made_of.get(&id).into_iter().flatten());
        }
    }
    pointers.retain(|id| !spoilt.contains(id));
    pointers
}

/// Whether indices are constants within what they index.
fn known_path(m: &Module, base: u32, path: &[u32]) -> bool {
    let Some(Type::Pointer { to, .. }) = m.code.type_of(base).and_then(|ty| m.ty(ty)) else { return false };
    let mut ty = *to;
    path.iter().all(|&id| {
        let Some(index) = m.constant_index(id).and_then(|i| u32::try_from(i).ok()) else { return false };
        let inside = m.parts(ty).is_some_and(|parts| index < parts);
        ty = m.part(ty, index).unwrap_or(0);
        inside
    })
}
