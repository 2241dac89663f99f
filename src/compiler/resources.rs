//! What a program uses.

use crate::image::{Access, ConstantBank, Resources};
use crate::ir::{Inst, Op, Program, Space, SrcKind, Surf, Tex, TexOp, TexRole};
use std::collections::BTreeMap;

/// The resources that a program in its first phase names; its banks of constants come later ([`constants`]).
pub(super) fn of_program(program: &Program) -> Resources {
    let mut all = Resources::default();
    for f in program.funcs.values() {
        for (_, i) in f.insts_in_order() {
            let inst = &f.insts[i];
            memory(&mut all, inst);
            if let Some(surf) = inst.surf() {
                image(&mut all, inst, surf);
            }
            if let Some(tex) = inst.tex() {
                texture(&mut all, tex);
            }
        }
    }
    all
}

fn access(op: Op) -> Access {
    match op {
        Op::Ld | Op::LdLock | Op::Suld => Access::READ,
        Op::St | Op::StUnlock | Op::Sust => Access::WRITTEN,
        Op::Atom | Op::Sured => Access::BOTH,
        _ => Access::QUERIED,
    }
}

fn memory(all: &mut Resources, inst: &Inst) {
    let Some(mem) = &inst.mem else { return };
    let slot = mem.index.is_none().then_some(mem.buffer.into());
    match mem.space {
        Space::Buffer => all.buffers.note(slot, access(inst.op)),
        Space::Uniform => all.uniforms.note(slot, access(inst.op)),
        _ => {}
    }
}

fn image(all: &mut Resources, inst: &Inst, surf: &Surf) {
    let access = access(inst.op);
    if surf.handle.is_some() {
        all.bindless_images = Some(all.bindless_images.unwrap_or_default().and(access));
    } else {
        all.images.note(surf.index.is_none().then_some(surf.image.into()), access);
    }
}

fn texture(all: &mut Resources, tex: &Tex) {
    let has = |role| tex.operands.iter().any(|(r, _)| *r == role);
    if has(TexRole::Handle) {
        all.bindless_textures = true;
        return;
    }
    let query = matches!(tex.op, TexOp::Size | TexOp::Samples);
    let access = if query { Access::QUERIED } else { Access::READ };
    all.textures.note((!has(TexRole::Index)).then_some(tex.texture.into()), access);
    if !query && tex.op != TexOp::Fetch {
        all.samplers.note((!has(TexRole::SamplerIndex)).then_some(tex.sampler.into()), Access::READ);
        let pair = [tex.texture.into(), tex.sampler.into()];
        if tex.texture != tex.sampler
            && !has(TexRole::Index)
            && let Err(at) = all.sampled_by_others.binary_search(&pair)
        {
            all.sampled_by_others.insert(at, pair);
        }
    }
}

/// The banks of constant memory that a program in its last phase reads.
pub(super) fn constants(program: &Program) -> Vec<ConstantBank> {
    let mut banks: BTreeMap<u8, Option<u32>> = BTreeMap::new();
    let mut note = |bank: u8, end: Option<u32>| {
        let bytes = banks.entry(bank).or_insert(Some(0));
        *bytes = bytes.zip(end).map(|(a, b)| a.max(b));
    };
    for f in program.funcs.values() {
        for (_, i) in f.insts_in_order() {
            let inst = &f.insts[i];
            for (n, src) in inst.srcs.iter().enumerate() {
                if let SrcKind::Const { bank, offset } = src.kind {
                    note(bank, Some(u32::from(offset) + 4 * inst.src_type(n).words() as u32));
                }
            }
            let Some(mem) = inst.mem.as_ref().filter(|m| m.space == Space::Const) else { continue };
            if mem.index.is_some() {
                // Any bank from this one on.
                (mem.buffer..18).for_each(|bank| note(bank as u8, None));
            } else {
                let end = u32::try_from(mem.offset).ok().map(|offset| offset + inst.ty.bytes());
                note(mem.buffer as u8, end.filter(|_| mem.base().is_empty()));
            }
        }
    }
    banks.into_iter().map(|(bank, bytes)| ConstantBank { bank, bytes }).collect()
}
