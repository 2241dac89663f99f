//! What declarations keep beyond their grammar: interfaces of entry points, what members are decorated, and that whatever lies
//! in a shader's buffers says where. Members do not overlap: [`super::declare`] sees to that.

use super::module::Module;
use super::types::Type;
use crate::diag::{Diagnostic, Diagnostics};
use rustc_hash::FxHashSet;
use spirv::{Decoration, Op, StorageClass};

pub(super) fn check(m: &Module) -> Result<(), Diagnostics> {
    let mut diags = Diagnostics::default();
    entry_points(m, &mut diags);
    let mut seen = FxHashSet::default();
    for (n, inst) in m.code.insts[..m.declared].iter().enumerate() {
        let x = || m.code.operands(n);
        let wrong = match inst.op {
            Op::MemberDecorate | Op::MemberDecorateString => member(m, n, x()[0], x()[1]),
            Op::GroupMemberDecorate => {
                x()[1..].chunks_exact(2).find_map(|pair| member(m, n, pair[0], pair[1]))
            }
            Op::TypePointer if !m.kernel => match StorageClass::from_u32(x()[0]) {
                Some(
                    StorageClass::Uniform
                    | StorageClass::StorageBuffer
                    | StorageClass::PushConstant
                    | StorageClass::PhysicalStorageBuffer,
                ) => explicit_layout(m, x()[1], &mut seen),
                _ => None,
            },
            _ => None,
        };
        wrong.into_iter().for_each(|d| diags.push(d));
    }
    if diags.has_errors() { Err(diags) } else { Ok(()) }
}

/// Interfaces name variables, and no two entry points of a model have one name.
fn entry_points(m: &Module, diags: &mut Diagnostics) {
    let mut names = FxHashSet::default();
    for entry in &m.entries {
        if !names.insert((entry.model as u32, entry.name.as_str())) {
            diags.push(
                m.error(entry.at, format!("there are two entry points `{}` of that model", entry.name)),
            );
        }
        let variable = |id: &u32| m.code.def(*id).is_some_and(|n| m.globals.binary_search(&n).is_ok());
        if let Some(&id) = entry.interface.iter().find(|id| !variable(id)) {
            let what =
                format!("the interface names {}, which is not a variable outside functions", m.name(id));
            diags.push(m.error(entry.at, what));
        }
    }
}

fn member(m: &Module, n: usize, id: u32, member: u32) -> Option<Diagnostic> {
    match m.ty(id) {
        Some(Type::Struct { members }) if (member as usize) < members.len() => None,
        Some(Type::Struct { .. }) => Some(m.error(n, format!("{} has no member {member}", m.name(id)))),
        _ => Some(m.error(n, format!("{} is not a structure", m.name(id)))),
    }
}

/// What is below arrays.
pub(super) fn innermost(m: &Module, mut ty: u32) -> u32 {
    while let Some(Type::Array { part, .. } | Type::RuntimeArray { part }) = m.ty(ty) {
        ty = *part;
    }
    ty
}

/// Looks for what lies in a type and does not say where. `seen`: types that were looked at.
fn explicit_layout(m: &Module, ty: u32, seen: &mut FxHashSet<u32>) -> Option<Diagnostic> {
    let mut open = vec![ty];
    while let Some(ty) = open.pop() {
        if !seen.insert(ty) {
            continue;
        }
        let wrong = |what: String| m.code.def(ty).map(|n| m.error(n, what));
        match m.ty(ty) {
            Some(&Type::Array { part, .. } | &Type::RuntimeArray { part }) => {
                let inner = innermost(m, part);
                // Arrays of buffers do not lie in memory.
                let block = [Decoration::Block, Decoration::BufferBlock].iter().any(|&d| m.has(inner, d));
                if !block && !m.has(ty, Decoration::ArrayStride) {
                    return wrong("an array in a buffer has no ArrayStride".into());
                }
                open.push(part);
            }
            Some(Type::Struct { members }) => {
                for (i, &part) in members.iter().enumerate() {
                    let needs = |d| m.member_decoration(ty, i as u32, d).is_none();
                    if needs(Decoration::Offset) {
                        return wrong(format!("member {i} of a structure in a buffer has no Offset"));
                    }
                    let matrix = matches!(m.ty(innermost(m, part)), Some(Type::Matrix { .. }));
                    if matrix && needs(Decoration::MatrixStride) {
                        return wrong(format!("member {i} of a structure in a buffer has no MatrixStride"));
                    }
                    open.push(part);
                }
            }
            _ => {}
        }
    }
    None
}
