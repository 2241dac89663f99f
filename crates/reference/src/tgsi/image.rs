//! Images of the interpreter: loads, stores, atomics and sizes. What texels are is [`texel`]'s, the emulator's too.

use super::memory::atomic;
use super::thread::Thread;
use super::{Block, Trap};
use nvir::emu::{FaultKind, Image, texel};
use nvir::format::Format;
use nvir::front::tgsi::ast::*;

/// What an instruction says of the image that it names.
struct View<'a> {
    image: Option<&'a Image>,
    target: Target,
    format: Option<Format>,
    /// Addressed in bytes (the 2011 dialect).
    raw: bool,
}

impl Thread<'_> {
    /// LOAD, STORE, ATOM... and RESQ of an image. Outside of one, and where none is bound, loads give the texel of zeros,
    /// and stores are dropped.
    pub(super) fn image(&mut self, block: &mut Block<'_>, inst: &Inst<'_>, reg: &Reg) -> Result<(), Trap> {
        let view = self.view(block, inst, reg);
        if inst.op == Opcode::RESQ {
            return self.write_result(&inst.dsts[0], view.image.map_or([0; 4], |i| size(i, view.target)));
        }
        let at = self.coordinates(block, inst, view.target)?;
        let place = view
            .image
            .and_then(|i| Some(i.address + i.texel(0, if view.raw { [0, at[1], at[2]] } else { at })?));
        if view.raw {
            let row = view.image.map_or(0, |i| i.levels[0].size[0] * i.desc.format.bytes());
            return self.raw(block, inst, place, at[0], row);
        }
        let Some(format) = view.format.or(view.image.map(|i| i.desc.format)) else {
            return if inst.op == Opcode::STORE { Ok(()) } else { self.write_result(&inst.dsts[0], [0; 4]) };
        };
        match inst.op {
            Opcode::LOAD => {
                let words = match place {
                    Some(address) => read(block, address, format.bytes())?,
                    None => [0; 4],
                };
                let channels = texel::decode(format.layout(), words);
                self.write_result(&inst.dsts[0], inst.srcs[0].swizzle.map(|c| channels[usize::from(c)]))
            }
            Opcode::STORE => {
                let Some(address) = place else { return Ok(()) };
                let mut channels = [0; 4];
                for (c, channel) in channels.iter_mut().enumerate() {
                    *channel = self.operand32(block, inst, 1, c)?;
                }
                write(block, address, format.bytes(), texel::encode(format.layout(), channels))
            }
            op => {
                let mut data = [0; 2];
                for n in 2..inst.srcs.len() {
                    data[n - 2] = self.operand32(block, inst, n, 0)?;
                }
                let mut old = 0;
                if let Some(address) = place {
                    old = read(block, address, 4)?[0];
                    write(block, address, 4, [atomic(op, old, data), 0, 0, 0])?;
                }
                self.write_result(&inst.dsts[0], [old; 4])
            }
        }
    }

    fn view<'a>(&self, block: &Block<'a>, inst: &Inst<'a>, reg: &Reg) -> View<'a> {
        let launch = block.launch;
        let (declared, format, raw) =
            match launch.program.decl(reg.file, reg.index.offset.max(0) as u32).map(|d| &d.kind) {
                Some(DeclKind::Image { target, format, .. }) => (*target, *format, false),
                Some(DeclKind::Res { target, raw, .. }) => (*target, None, *raw),
                _ => (Target::Unknown, None, false),
            };
        let memory = inst.memory;
        let number = usize::try_from(self.index(&reg.index)).ok();
        View {
            image: number.and_then(|n| launch.images.get(n)).and_then(|i| i.as_ref()),
            target: memory.and_then(|m| m.target).unwrap_or(declared),
            format: memory.and_then(|m| m.format).or(format),
            raw,
        }
    }

    /// Column, row, and layer, depth slice, face or sample.
    fn coordinates(&self, block: &Block<'_>, inst: &Inst<'_>, target: Target) -> Result<[u32; 3], Trap> {
        let operand = if inst.op == Opcode::STORE { 0 } else { 1 };
        let mut at = [0; 3];
        for (c, at) in at.iter_mut().enumerate().take(target.dims()) {
            *at = self.operand32(block, inst, operand, c)?;
        }
        if target.is_array() && !target.is_cube() {
            at[2] = self.operand32(block, inst, operand, target.dims())?;
        }
        if target.is_msaa() {
            at[2] = self.operand32(block, inst, operand, 3)?;
        }
        Ok(at)
    }

    /// Words at byte `x` of the row that begins at `place`.
    fn raw(
        &mut self,
        block: &mut Block<'_>,
        inst: &Inst<'_>,
        place: Option<u64>,
        x: u32,
        row: u32,
    ) -> Result<(), Trap> {
        let word = |c: usize| {
            let end = u64::from(x) + 4 * c as u64 + 4;
            place.filter(|_| end <= row.into()).map(|p| p + end - 4)
        };
        let mut r = [0; 4];
        match inst.op {
            Opcode::STORE => {
                for c in inst.dsts[0].comps() {
                    let v = self.operand32(block, inst, 1, c)?;
                    if let Some(address) = word(c) {
                        write(block, address, 4, [v, 0, 0, 0])?;
                    }
                }
                return Ok(());
            }
            _ => {
                for c in inst.dsts[0].comps() {
                    let from = usize::from(inst.srcs[0].swizzle[c]);
                    if let Some(address) = word(from) {
                        r[c] = read(block, address, 4)?[0];
                    }
                }
            }
        }
        self.write_result(&inst.dsts[0], r)
    }
}

/// Width, height, depth or layers, samples.
fn size(image: &Image, target: Target) -> [u32; 4] {
    let [w, h, d] = image.levels[0].size;
    let samples = if target.is_msaa() { d } else { 1 };
    match target {
        _ if target.is_cube() => [w, h, d / 6, 1],
        _ if target.is_array() && target.dims() == 1 => [w, d, d, 1],
        _ => [w, h, d, samples],
    }
}

fn outside(e: impl ToString) -> Trap {
    Trap(FaultKind::OutOfBounds, e.to_string())
}

/// Up to 16 bytes as words.
pub(super) fn read(block: &Block<'_>, address: u64, bytes: u32) -> Result<[u32; 4], Trap> {
    let mut all = [0u8; 16];
    let found = block.memory.read(address, bytes.into()).map_err(outside)?;
    all[..found.len()].copy_from_slice(&found);
    Ok(std::array::from_fn(|n| {
        u32::from_le_bytes([all[4 * n], all[4 * n + 1], all[4 * n + 2], all[4 * n + 3]])
    }))
}

fn write(block: &mut Block<'_>, address: u64, bytes: u32, words: [u32; 4]) -> Result<(), Trap> {
    let all: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).take(bytes as usize).collect();
    block.memory.write(address, &all).map_err(outside)
}
