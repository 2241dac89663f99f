//! Textures and samplers of a launch, decoded when a lookup first needs them.

use super::plain::Plain;
use super::source::Texture;
use crate::image::Sampler;
use crate::launch::Launch;
use crate::memory::Memory;
use crate::run::bound::Bound;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A texture of a launch.
#[derive(Debug)]
pub(crate) struct Ready {
    pub texture: Texture,
    /// The same as one of the plain ones, if it is.
    pub(super) plain: Option<Plain>,
}

/// The textures and samplers of a launch or draw that lookups have needed so far: each is decoded once.
#[derive(Debug, Default)]
pub(crate) struct Descriptors(Mutex<Seen>);

/// Textures and samplers by their index. Each block keeps those that it has met, so that it need not ask again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    textures: FxHashMap<u32, Arc<Ready>>,
    samplers: FxHashMap<u32, Sampler>,
}

impl Seen {
    pub(crate) fn texture(&mut self, bound: &Bound<'_>, index: u32) -> Result<Arc<Ready>, String> {
        if let Some(known) = self.textures.get(&index) {
            return Ok(known.clone());
        }
        let texture = bound.descriptors.texture(bound.launch, bound.memory, index)?;
        self.textures.insert(index, texture.clone());
        Ok(texture)
    }

    pub(crate) fn sampler(&mut self, bound: &Bound<'_>, index: u32) -> Result<Sampler, String> {
        if let Some(known) = self.samplers.get(&index) {
            return Ok(*known);
        }
        let sampler = bound.descriptors.sampler(bound.launch, bound.memory, index)?;
        self.samplers.insert(index, sampler);
        Ok(sampler)
    }

    /// Forgets them, for another launch.
    pub(crate) fn clear(&mut self) {
        self.textures.clear();
        self.samplers.clear();
    }
}

impl Descriptors {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        // Entries are whole even if a thread panicked while it held the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn texture(&self, launch: &Launch<'_>, memory: &Memory, index: u32) -> Result<Arc<Ready>, String> {
        let mut seen = self.seen();
        if let Some(known) = seen.textures.get(&index) {
            return Ok(known.clone());
        }
        let texture: Texture = match launch.tables {
            Some(tables) => tables.texture(memory, index)?,
            None => {
                let image = launch.textures.get(index as usize).and_then(|t| t.as_ref());
                image.ok_or_else(|| format!("texture {index} is not bound"))?.into()
            }
        };
        let plain = Plain::new(&texture, memory);
        let made = Arc::new(Ready { texture, plain });
        seen.textures.insert(index, made.clone());
        Ok(made)
    }

    fn sampler(&self, launch: &Launch<'_>, memory: &Memory, index: u32) -> Result<Sampler, String> {
        let Some(tables) = launch.tables else {
            return Ok(launch.samplers.get(index as usize).copied().unwrap_or_default());
        };
        let mut seen = self.seen();
        if let Some(known) = seen.samplers.get(&index) {
            return Ok(*known);
        }
        let made = tables.sampler(memory, index)?;
        seen.samplers.insert(index, made);
        Ok(made)
    }
}
