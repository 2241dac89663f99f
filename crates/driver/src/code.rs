//! Kernels, and the memory where code lies: theirs, and that of graphics programs.

use crate::context::Context;
use crate::device::{Alloc, Device, Domain, Memory};
use crate::error::{Error, Result, invalid};
use crate::memory::Shared;
use crate::setup;
use nvir::Shader;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A compiled kernel that a context can launch. Clones are the same kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub(crate) shader: Arc<Shader>,
    id: u64,
}

impl Kernel {
    /// What the compiler said of it.
    pub fn shader(&self) -> &Shader {
        &self.shader
    }
}

/// Code lies at multiples of this. Scheduling words are at multiples of 64 bytes; Kepler loads code in lines of 128.
const ALIGN: u64 = 128;
/// Code is read ahead of what executes.
const READ_AHEAD: u64 = 256;
/// Bytes of the segment at first, and at most: entries are 24 bits.
const FIRST_BYTES: u64 = 512 << 10;
const MAX_BYTES: u64 = 16 << 20;

/// What a piece of code is known by: a kernel or program, and which of its forms.
type Key = (u64, u8);

/// What goes to the code segment: bytes whose first is so many behind a multiple of [`ALIGN`].
pub(crate) struct Piece {
    pub bytes: Vec<u8>,
    pub skip: u64,
}

/// The code segment: pieces one after the other. When it is full, it begins anew, larger.
#[derive(Debug)]
pub(crate) struct CodeHeap {
    shared: Arc<Shared>,
    bytes: u64,
    next: u64,
    /// Offsets of what is there.
    placed: BTreeMap<Key, u32>,
    /// Counts how often all pieces were forgotten.
    pub generation: u32,
}

impl CodeHeap {
    pub(crate) fn new(device: &Arc<dyn Device>) -> Result<CodeHeap> {
        CodeHeap::of(device, FIRST_BYTES)
    }

    fn of(device: &Arc<dyn Device>, bytes: u64) -> Result<CodeHeap> {
        let what = Alloc { align: 1 << 17, ..Alloc::linear(bytes, Domain::Vram) };
        let shared = Shared::new(device.clone(), device.alloc(what)?);
        Ok(CodeHeap { shared, bytes, next: 0, placed: BTreeMap::new(), generation: 0 })
    }

    pub(crate) fn address(&self) -> u64 {
        self.shared.memory.address
    }

    pub(crate) fn memory(&self) -> Memory {
        self.shared.memory
    }
}

static NEXT_ID: AtomicU64 = AtomicU64::new(0);

impl Context {
    /// A kernel of compiled code. It is uploaded when it is launched for the first time.
    ///
    /// # Errors
    /// The code is for another chip, or larger than a code segment.
    pub fn kernel(&mut self, shader: &Shader) -> Result<Kernel> {
        let id = self.new_code(shader)?;
        if let Some(stage) = &shader.stage {
            return invalid(format!("a {} program cannot be launched: draw with it", stage.stage.name()));
        }
        Ok(Kernel { shader: Arc::new(shader.clone()), id })
    }

    /// A number for code that this context can hold.
    pub(crate) fn new_code(&self, shader: &Shader) -> Result<u64> {
        if shader.chip != self.chip {
            return invalid(format!("code for {} on {}", shader.chip, self.chip));
        }
        if u64::from(shader.code_bytes()) + READ_AHEAD + ALIGN > MAX_BYTES {
            return Err(Error::Unsupported(format!("{} bytes of code", shader.code_bytes())));
        }
        Ok(NEXT_ID.fetch_add(1, Ordering::Relaxed))
    }

    /// The kernel's offset in the code segment, to which it is uploaded if it is not there.
    pub(crate) fn place(&mut self, kernel: &Kernel) -> Result<u32> {
        let key = (kernel.id, 0);
        if let Some(at) = self.placed(key) {
            return Ok(at);
        }
        let bytes = kernel.shader.code.iter().flat_map(|w| w.to_le_bytes()).collect();
        self.place_piece(key, Piece { bytes, skip: 0 })
    }

    /// Whether programs of so many bytes fit into the code segment together.
    pub(crate) fn check_together(&self, bytes: impl Iterator<Item = u32>) -> Result<()> {
        // A header and what is left free at either end.
        let all: u64 = bytes.map(|b| u64::from(b) + READ_AHEAD + 2 * ALIGN).sum();
        match all <= MAX_BYTES {
            true => Ok(()),
            false => Err(Error::Unsupported(format!("{all} bytes of code in one pipeline"))),
        }
    }

    /// Where a piece is, if it is there.
    pub(crate) fn placed(&self, key: Key) -> Option<u32> {
        self.code.placed.get(&key).copied()
    }

    /// Uploads a piece; its offset in the segment. Others may be gone then: see [`CodeHeap::generation`].
    pub(crate) fn place_piece(&mut self, key: Key, piece: Piece) -> Result<u32> {
        let end = |at: u64| at + (piece.skip + piece.bytes.len() as u64 + READ_AHEAD).next_multiple_of(ALIGN);
        if end(self.code.next) > self.code.bytes {
            // Whatever runs needs its code until then.
            self.finish()?;
            let bytes = (2 * self.code.bytes).max(end(0).next_power_of_two()).min(MAX_BYTES);
            let generation = self.code.generation + 1;
            if bytes > self.code.bytes {
                self.code = CodeHeap::of(&self.device, bytes)?;
                setup::code_address(self);
            } else {
                (self.code.next, self.code.placed) = (0, BTreeMap::new());
            }
            self.code.generation = generation;
        }
        let at = self.code.next + piece.skip;
        self.code.next = end(self.code.next);
        self.upload(self.code.address() + at, &piece.bytes)?;
        self.flush_code();
        self.code.placed.insert(key, at as u32);
        Ok(at as u32)
    }
}
