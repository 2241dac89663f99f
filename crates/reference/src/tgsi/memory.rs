//! Memory of the interpreter: buffers, shared, private and global memory, the kernel input, constant lookups.

use super::thread::{Thread, illegal};
use super::{Block, Trap};
use nvir::emu::FaultKind;
use nvir::front::tgsi::ast::*;
use std::ops::Range;

/// Where an access goes.
#[derive(Clone, Copy)]
enum Place {
    Buffer { address: u64, size: u64 },
    Kind(MemoryKind),
}

impl Place {
    /// Whether all of the words after an address may be accessed, where the place is a buffer.
    fn holds(self, at: u32, words: Range<u32>) -> bool {
        let Place::Buffer { size, .. } = self else { return true };
        u64::from(at.wrapping_add(4 * words.start)) + 4 * words.len() as u64 <= size
    }
}

/// The words of a mask that follow each other around one of them: they are checked together.
fn neighbours(mask: u8, word: u32) -> Range<u32> {
    let has = |w: &u32| mask >> w & 1 != 0;
    let start = (0..word).rev().take_while(has).last().unwrap_or(word);
    start..(word..8).take_while(has).count() as u32 + word
}

impl Thread<'_> {
    pub(super) fn memory(&mut self, block: &mut Block<'_>, inst: &Inst<'_>) -> Result<(), Trap> {
        let stores = inst.op == Opcode::STORE;
        let reg = if stores { inst.dsts[0].reg } else { inst.srcs[0].reg };
        if is_image(block.launch.program, &reg) {
            return self.image(block, inst, &reg);
        }
        let (place, base) = self.place(block, &reg)?;
        if inst.op == Opcode::RESQ {
            let Place::Buffer { size, .. } = place else { return Err(illegal("this memory has no size")) };
            return self.write_result(&inst.dsts[0], [size as u32; 4]);
        }
        let operand = if stores { 0 } else { 1 };
        let counter = reg.file == File::HwAtomic;
        let offset = self.operand32(block, inst, operand, 0)?;
        let at = base.wrapping_add(if counter { offset.wrapping_mul(4) } else { offset });
        match inst.op {
            Opcode::LOAD => {
                let swizzle = inst.srcs[0].swizzle;
                let mask = inst.dsts[0].comps().fold(0, |mask, c| mask | 1 << swizzle[c]);
                let mut r = [0; 4];
                for c in inst.dsts[0].comps() {
                    let word = u32::from(swizzle[c]);
                    if place.holds(at, neighbours(mask, word)) {
                        r[c] = self.read(block, place, at.wrapping_add(4 * word))?.unwrap_or(0);
                    }
                }
                self.write_result(&inst.dsts[0], r)
            }
            Opcode::STORE => {
                for c in inst.dsts[0].comps() {
                    let v = self.operand32(block, inst, 1, c)?;
                    if place.holds(at, neighbours(inst.dsts[0].mask, c as u32)) {
                        self.store(block, place, at.wrapping_add(4 * c as u32), v)?;
                    }
                }
                Ok(())
            }
            op if op.is_atomic() => {
                let mut data = [0; 2];
                for n in 2..inst.srcs.len() {
                    data[n - 2] = self.operand32(block, inst, n, 0)?;
                }
                let old = self.read(block, place, at)?;
                if let Some(old) = old {
                    self.store(block, place, at, atomic(op, old, data))?;
                }
                self.write_result(&inst.dsts[0], [old.unwrap_or(0); 4])
            }
            _ => Err(illegal(format!("{} is not interpreted", inst.op.name()))),
        }
    }

    /// What a resource operand names, and what is added to the address.
    fn place(&self, block: &Block<'_>, reg: &Reg) -> Result<(Place, u32), Trap> {
        let index = self.index(&reg.index);
        let buffer = |n: i64| {
            let b = usize::try_from(n).ok().and_then(|n| block.launch.buffers.get(n)).copied();
            let (address, size) = b.unwrap_or((0, 0));
            Place::Buffer { address, size }
        };
        let program = block.launch.program;
        Ok(match reg.file {
            File::Buffer => (buffer(index), 0),
            File::HwAtomic => {
                let n = reg.dim.map_or(0, |d| self.index(&d)) + i64::from(program.counter_buffers());
                (buffer(n), (index as u32).wrapping_mul(4))
            }
            File::Memory => (Place::Kind(program.memory_kind(index as u32)), 0),
            File::Res => match Program::res_memory(&reg.index) {
                Some(kind) => (Place::Kind(kind), 0),
                None => (buffer(index), 0),
            },
            f => return Err(illegal(format!("{} is not memory", f.name()))),
        })
    }

    /// A word; none outside a buffer or private memory.
    fn read(&self, block: &Block<'_>, place: Place, at: u32) -> Result<Option<u32>, Trap> {
        let word = |w: &[u8]| u32::from_le_bytes([w[0], w[1], w[2], w[3]]);
        let global = |address: u64| {
            aligned(address)?;
            let bytes =
                block.memory.read(address, 4).map_err(|e| Trap(FaultKind::OutOfBounds, e.to_string()))?;
            Ok(Some(word(&bytes)))
        };
        let local = |memory: &[u8]| {
            aligned(at.into())?;
            let end = at as usize + 4;
            memory.get(at as usize..end).map(|w| Some(word(w))).ok_or_else(|| outside(at, memory.len()))
        };
        match place {
            Place::Buffer { address, size } => {
                if u64::from(at) + 4 > size {
                    return Ok(None);
                }
                global(address + u64::from(at))
            }
            Place::Kind(MemoryKind::Global) => global(at.into()),
            Place::Kind(MemoryKind::Shared) => local(&block.shared),
            // As on the emulator, where a value that nobody uses may be read outside.
            Place::Kind(MemoryKind::Private) if at as usize >= self.private.len() => {
                aligned(at.into()).map(|()| None)
            }
            Place::Kind(MemoryKind::Private) => local(&self.private),
            Place::Kind(MemoryKind::Input) => local(&block.launch.input),
        }
    }

    fn store(&mut self, block: &mut Block<'_>, place: Place, at: u32, v: u32) -> Result<(), Trap> {
        let memory = match place {
            Place::Buffer { address, size } => {
                if u64::from(at) + 4 > size {
                    return Ok(());
                }
                return write_global(block, address + u64::from(at), v);
            }
            Place::Kind(MemoryKind::Global) => return write_global(block, at.into(), v),
            Place::Kind(MemoryKind::Shared) => &mut block.shared,
            Place::Kind(MemoryKind::Private) => &mut self.private,
            Place::Kind(MemoryKind::Input) => return Err(illegal("the kernel input cannot be written")),
        };
        aligned(at.into())?;
        let size = memory.len();
        let to = memory.get_mut(at as usize..at as usize + 4).ok_or_else(|| outside(at, size))?;
        to.copy_from_slice(&v.to_le_bytes());
        Ok(())
    }
}

/// Whether a resource operand is an image. Buffers of the 2011 dialect are declared as resources, too.
fn is_image(program: &Program, reg: &Reg) -> bool {
    match reg.file {
        File::Image => true,
        File::Res if Program::res_memory(&reg.index).is_none() => {
            let decl = program.decl(File::Res, reg.index.offset.max(0) as u32);
            !matches!(decl.map(|d| &d.kind), Some(DeclKind::Res { target: Target::Buffer, .. }))
        }
        _ => false,
    }
}

fn write_global(block: &mut Block<'_>, address: u64, v: u32) -> Result<(), Trap> {
    aligned(address)?;
    let written = block.memory.write(address, &v.to_le_bytes());
    written.map_err(|e| Trap(FaultKind::OutOfBounds, e.to_string()))
}

fn aligned(address: u64) -> Result<(), Trap> {
    if address.is_multiple_of(4) {
        return Ok(());
    }
    Err(Trap(FaultKind::Misaligned, format!("4 bytes at {address:#x}")))
}

fn outside(at: u32, size: usize) -> Trap {
    Trap(FaultKind::OutOfBounds, format!("4 bytes at {at:#x} of {size}"))
}

/// What an atomic operation leaves in memory.
pub(super) fn atomic(op: Opcode, old: u32, [a, b]: [u32; 2]) -> u32 {
    match op {
        Opcode::ATOMUADD => old.wrapping_add(a),
        Opcode::ATOMFADD => (f32::from_bits(old) + f32::from_bits(a)).to_bits(),
        Opcode::ATOMCAS => {
            if old == a {
                b
            } else {
                old
            }
        }
        Opcode::ATOMAND => old & a,
        Opcode::ATOMOR => old | a,
        Opcode::ATOMXOR => old ^ a,
        Opcode::ATOMUMIN => old.min(a),
        Opcode::ATOMUMAX => old.max(a),
        Opcode::ATOMIMIN => (old as i32).min(a as i32) as u32,
        Opcode::ATOMIMAX => (old as i32).max(a as i32) as u32,
        Opcode::ATOMINC_WRAP => {
            if old >= a {
                0
            } else {
                old + 1
            }
        }
        Opcode::ATOMDEC_WRAP => {
            if old == 0 || old > a {
                a
            } else {
                old - 1
            }
        }
        _ => a,
    }
}
