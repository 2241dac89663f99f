//! Which buffers variables are: the default table of bindings.
//!
//! Storage buffers, uniform blocks, textures with samplers, and images are numbered each for themselves. A number is the variable's `Binding`, plus, for sets
//! above the lowest one that the class uses, what the lower sets take; an array takes as many numbers as it has elements.
//! Atomic counters lie behind the storage buffers. Uniforms outside blocks (OpenGL) lie in the input, in the order of their
//! locations, each at a multiple of 16 bytes, by the rules of std140.

use super::R;
use crate::driver::{Abi, constants::MAX_TEXTURES};
use crate::front::spirv::module::Module;
use crate::front::spirv::types::Type;
use crate::ir::Space;
use rustc_hash::FxHashMap;
use spirv::{Decoration, StorageClass};
use std::collections::BTreeMap;

/// The class and the first number of each variable that is bound.
pub(super) type Bindings = FxHashMap<u32, (Class, u32)>;

/// Classes of resources that are numbered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    Storage,
    Uniform,
    Counter,
    /// Textures and samplers.
    Texture,
    Image,
}

impl Class {
    /// Where buffers of the class are.
    pub(super) fn space(self) -> Space {
        if self == Class::Uniform { Space::Uniform } else { Space::Buffer }
    }
}

/// The innermost element type of an array, and how many elements there are; 0: not known.
pub(super) fn elements(m: &Module, mut ty: u32) -> (u32, u32) {
    let mut count = 1u32;
    loop {
        match m.ty(ty) {
            Some(Type::Array { part, len }) => {
                count = count.saturating_mul(*len);
                ty = *part;
            }
            Some(Type::RuntimeArray { part }) => {
                count = 0;
                ty = *part;
            }
            _ => return (ty, count),
        }
    }
}

fn class(m: &Module, class: StorageClass, to: u32) -> Option<Class> {
    let block = |d| m.decoration(elements(m, to).0, d).is_some();
    match class {
        StorageClass::StorageBuffer => Some(Class::Storage),
        StorageClass::Uniform if block(Decoration::BufferBlock) => Some(Class::Storage),
        StorageClass::Uniform => Some(Class::Uniform),
        StorageClass::AtomicCounter => Some(Class::Counter),
        StorageClass::UniformConstant => match m.ty(elements(m, to).0) {
            Some(Type::Image(image)) if image.sampled == 2 => Some(Class::Image),
            Some(Type::Image(_) | Type::Sampler | Type::SampledImage { .. }) => Some(Class::Texture),
            _ => None,
        },
        _ => None,
    }
}

/// Where uniforms outside blocks lie in the input, by variable.
pub(super) fn uniforms(m: &Module) -> FxHashMap<u32, u32> {
    let located = |&n: &usize| {
        let inst = m.code.insts[n];
        let location = m.decoration(inst.result, Decoration::Location)?.first().copied()?;
        match m.ty(inst.ty) {
            Some(&Type::Pointer { class: StorageClass::UniformConstant, to }) => {
                let size = m.info(to).filter(|info| !info.opaque)?.std140.size;
                Some((location, inst.result, size))
            }
            _ => None,
        }
    };
    let mut found: Vec<(u32, u32, u64)> = m.globals.iter().filter_map(located).collect();
    found.sort_unstable();
    let mut at = 0u64;
    let mut places = FxHashMap::default();
    for (_, id, size) in found {
        places.insert(id, u32::try_from(at).unwrap_or(u32::MAX));
        at = at.saturating_add(size.checked_next_multiple_of(16).unwrap_or(u64::MAX));
    }
    places
}

pub(super) fn bindings(m: &Module) -> R<Bindings> {
    let mut found = Vec::new();
    for &n in &m.globals {
        let inst = m.code.insts[n];
        let Some(&Type::Pointer { class: storage, to }) = m.ty(inst.ty) else { continue };
        let Some(class) = class(m, storage, to) else { continue };
        let number = |d| m.decoration(inst.result, d).and_then(|x| x.first()).copied();
        let Some(binding) = number(Decoration::Binding) else {
            return Err(Box::new(m.error(n, format!("{} has no Binding", m.name(inst.result)))));
        };
        found.push((n, class, number(Decoration::DescriptorSet).unwrap_or(0), binding, elements(m, to).1));
    }
    let mut bindings = Bindings::default();
    let mut storage = 0;
    for (wanted, most) in [
        (Class::Storage, Abi::MAX_BUFFERS),
        (Class::Uniform, Abi::MAX_UBOS),
        (Class::Counter, Abi::MAX_BUFFERS),
        (Class::Texture, MAX_TEXTURES),
        (Class::Image, Abi::MAX_IMAGES),
    ] {
        let mut sets: BTreeMap<u32, u32> = BTreeMap::new();
        for &(_, class, set, binding, count) in &found {
            if class == wanted {
                let end = sets.entry(set).or_default();
                *end = (*end).max(binding.saturating_add(count.max(1)));
            }
        }
        let mut base = if wanted == Class::Counter { storage } else { 0 };
        for end in sets.values_mut() {
            let size = *end;
            *end = base;
            base = base.saturating_add(size);
        }
        if wanted == Class::Storage {
            storage = base;
        }
        for &(n, class, set, binding, count) in &found {
            if class != wanted {
                continue;
            }
            let id = m.code.insts[n].result;
            let first = sets[&set].saturating_add(binding);
            if first.saturating_add(count.max(1)) > most {
                let what = format!("{} has the number {first}, and {most} is the limit", m.name(id));
                return Err(Box::new(m.unsupported(n, what)));
            }
            bindings.insert(id, (wanted, first));
        }
    }
    Ok(bindings)
}
