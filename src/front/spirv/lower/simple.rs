//! Variables that need no memory: all that happens to them are loads and stores of parts that are known beforehand.
//!
//! A pointer is simple if everything that is done with it is to load from it, to store to it, or to make simple pointers of it
//! by indices that are constants within their arrays; passed to a function, if the parameter is simple there; or loaded from and
//! stored to by `vloadn` and `vstoren` with constant offsets. A pointer of another type may say when it lives. What is not simple
//! spreads back from pointers to what they were made of; of a structure, from a member to this member alone, where the
//! structure as a whole is only loaded, stored and passed on.

use crate::front::spirv::by_id::Ids;
use crate::front::spirv::module::{Module, Set, is_of_numbers};
use crate::front::spirv::types::Type;
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{Op, StorageClass};

/// Scalars of a variable that lies in registers at most.
const MOST: u32 = 256;

/// Pointers to variables of the classes `Function` and `Private`, and parameters that point to such, by how simple they are.
#[derive(Default)]
pub(super) struct Simple {
    /// Those that need no memory.
    whole: Ids,
    /// Structures of which some members need memory, and those members.
    members: FxHashMap<u32, FxHashSet<u32>>,
}

impl Simple {
    /// Whether nothing of it needs memory.
    pub(super) fn whole(&self, id: u32) -> bool {
        self.whole.contains(id)
    }

    /// The members that need memory, where others do not.
    pub(super) fn members(&self, id: u32) -> Option<&FxHashSet<u32>> {
        self.members.get(&id)
    }
}

/// What of a pointer is not simple.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Part {
    All,
    Member(u32),
}

/// What a pointer was made of.
#[derive(Clone, Copy)]
enum Link {
    /// Of another to the same.
    Same(u32),
    /// Of a pointer to a structure: it leads into a member.
    Member(u32, u32),
    /// Of a pointer to something else.
    Inside(u32),
}

impl Link {
    /// What of the pointer that it was made of is not simple, if a part of this is not.
    fn back(self, part: Part) -> (u32, Part) {
        match self {
            Link::Same(id) => (id, part),
            Link::Member(id, member) => (id, Part::Member(member)),
            Link::Inside(id) => (id, Part::All),
        }
    }

    fn into(m: &Module, base: u32, path: &[u32]) -> Link {
        let to = m.leads_to(base).and_then(|to| m.ty(to));
        match (to, path.first().map(|&id| m.constant_index(id))) {
            (Some(Type::Struct { members }), Some(Some(n))) if (0..members.len() as i64).contains(&n) => {
                Link::Member(base, n as u32)
            }
            (_, None) => Link::Same(base),
            _ => Link::Inside(base),
        }
    }
}

/// What is simple in a module.
pub(super) fn find(m: &Module) -> Simple {
    // Pointers to private memory, and what each was made of.
    let mut made_of: FxHashMap<u32, Vec<Link>> = FxHashMap::default();
    let mut pointers = Ids::default();
    // What stands before functions and is no variable does nothing with one.
    let insts = || m.globals.iter().copied().chain(m.declared..m.code.insts.len());
    for n in insts() {
        let inst = &m.code.insts[n];
        if inst.ty != 0
            && let Some(Type::Pointer { class: StorageClass::Function | StorageClass::Private, .. }) =
                m.ty(inst.ty)
        {
            pointers.insert(inst.result);
        }
    }
    if pointers.is_empty() {
        return Simple::default();
    }
    let mut casts = Ids::default();
    for n in m.declared..m.code.insts.len() {
        let inst = &m.code.insts[n];
        if inst.op == Op::Bitcast && pointers.contains(inst.result) {
            casts.insert(inst.result);
        }
    }
    let any_casts = !casts.is_empty();
    let mut complex = Vec::new();
    for n in insts() {
        let inst = m.code.insts[n];
        let x = m.code.operands(n);
        let mut spoil = |id: u32| {
            if pointers.contains(id) {
                complex.push((id, Part::All));
            }
        };
        let lives = || matches!(inst.op, Op::LifetimeStart | Op::LifetimeStop);
        if any_casts && !lives() && !m.is_debug(n) {
            m.for_ids(n, |id| {
                if id != inst.result && casts.contains(id) {
                    spoil(id);
                }
            });
        }
        match inst.op {
            Op::LifetimeStart | Op::LifetimeStop => {}
            Op::Variable => {
                let to = m.leads_to(inst.result).and_then(|to| m.info(to));
                if !to.is_some_and(|info| info.comps <= MOST && !info.opaque) {
                    spoil(inst.result);
                }
                x[1..].iter().for_each(|&id| spoil(id));
            }
            Op::Load => {}
            Op::Store => spoil(x[1]),
            Op::CopyMemory if !m.kernel => {}
            Op::AccessChain | Op::InBoundsAccessChain => {
                let link = Link::into(m, x[0], &x[1..]);
                made_of.entry(inst.result).or_default().push(link);
                if !known_path(m, x[0], &x[1..]) {
                    spoil(inst.result);
                    if pointers.contains(x[0]) {
                        complex.push(link.back(Part::All));
                    }
                }
            }
            Op::InBoundsPtrAccessChain | Op::PtrAccessChain if m.constant_index(x[1]) == Some(0) => {
                let link = Link::into(m, x[0], &x[2..]);
                made_of.entry(inst.result).or_default().push(link);
                if !known_path(m, x[0], &x[2..]) {
                    spoil(inst.result);
                    if pointers.contains(x[0]) {
                        complex.push(link.back(Part::All));
                    }
                }
            }
            Op::Bitcast if casts.contains(inst.result) && pointers.contains(x[0]) => {
                made_of.entry(inst.result).or_default().push(Link::Inside(x[0]));
            }
            Op::ExtInst if vector_in_memory(m, x).is_some_and(|v| v.fits(m)) => {}
            Op::CopyObject => made_of.entry(inst.result).or_default().push(Link::Same(x[0])),
            Op::FunctionCall => {
                let params = m.function_of.get(&x[0]).map(|&f| &m.functions[f].params);
                for (i, &arg) in x[1..].iter().enumerate() {
                    match params.and_then(|params| params.get(i)) {
                        Some(&param) if pointers.contains(param) => {
                            made_of.entry(param).or_default().push(Link::Same(arg));
                        }
                        _ => spoil(arg),
                    }
                }
                spoil(inst.result);
            }
            Op::FunctionParameter => {}
            op if is_of_numbers(op) || m.is_debug(n) => {}
            _ => m.for_ids(n, spoil),
        }
    }
    let mut spoilt = FxHashSet::default();
    while let Some((id, part)) = complex.pop() {
        if spoilt.insert((id, part)) {
            complex.extend(made_of.get(&id).into_iter().flatten().map(|link| link.back(part)));
        }
    }
    let mut simple = Simple { whole: pointers, ..Simple::default() };
    for &(id, part) in &spoilt {
        simple.whole.remove(id);
        if let Part::Member(member) = part
            && !spoilt.contains(&(id, Part::All))
        {
            simple.members.entry(id).or_default().insert(member);
        }
    }
    simple
}

/// A vector that `vloadn` or `vstoren` moves: the pointer to scalars, the offset in vectors, and the components.
struct Moved {
    pointer: u32,
    offset: u32,
    components: u32,
}

fn vector_in_memory(m: &Module, x: &[u32]) -> Option<Moved> {
    use spirv::OpenclStd100Op as Cl;
    if !matches!(m.sets.get(x.first()?), Some(Set::OpenCl)) {
        return None;
    }
    match (Cl::from_u32(*x.get(1)?)?, &x[2..]) {
        (Cl::vloadn, &[offset, pointer, components]) => Some(Moved { pointer, offset, components }),
        (Cl::vstoren, &[data, offset, pointer]) => {
            let shape = m.shape(m.code.type_of(data)?)?;
            Some(Moved { pointer, offset, components: shape.comps.into() })
        }
        _ => None,
    }
}

impl Moved {
    /// Whether it lies, by constants, within the array whose element the pointer is an access to.
    fn fits(&self, m: &Module) -> bool {
        let end = m.constant_index(self.offset).and_then(|offset| {
            u64::try_from(offset).ok()?.checked_add(1)?.checked_mul(self.components.into())
        });
        match (end, room(m, self.pointer)) {
            (Some(end), Some(room)) => end <= u64::from(room),
            _ => false,
        }
    }
}

/// Elements of an array of scalars from the one on that a chain of accesses leads to.
fn room(m: &Module, pointer: u32) -> Option<u32> {
    let n = m.code.def(pointer)?;
    let x = m.code.operands(n);
    let path = match m.code.insts[n].op {
        Op::AccessChain | Op::InBoundsAccessChain => x.get(1..)?,
        Op::InBoundsPtrAccessChain | Op::PtrAccessChain => x.get(2..)?,
        _ => return None,
    };
    let mut ty = m.leads_to(x[0])?;
    let (&last, path) = path.split_last()?;
    for &id in path {
        ty = m.part(ty, u32::try_from(m.constant_index(id)?).ok()?)?;
    }
    let Some(Type::Array { part, len }) = m.ty(ty) else { return None };
    m.shape(*part).filter(|shape| shape.comps == 1)?;
    len.checked_sub(u32::try_from(m.constant_index(last)?).ok()?)
}

/// Whether indices are constants within what they index.
fn known_path(m: &Module, base: u32, path: &[u32]) -> bool {
    let Some(mut ty) = m.leads_to(base) else { return false };
    path.iter().all(|&id| {
        let Some(index) = m.constant_index(id).and_then(|i| u32::try_from(i).ok()) else { return false };
        let inside = m.parts(ty).is_some_and(|parts| index < parts);
        ty = m.part(ty, index).unwrap_or(0);
        inside
    })
}
