//! Loads and stores in line: of whole warps whose lanes access words that follow each other.
//!
//! Whatever else there is takes the call that follows: [`access`](crate::compiled::access).

use super::vector::{GROUP, GROUP_BYTES, PLAIN, ROW, WORDS};
use super::{Active, Lift};
use crate::compiled::frame::field;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Value, types};
use nvir_emu::engine::open::{Addr, Inst, LANES, Micro, Modifier, NULL, POOL, PSrc, Slot, Space, Src, Width};
use std::mem::offset_of;

/// Groups of a warp.
const GROUPS: usize = LANES / GROUP;

/// Accesses to memory whose words are aligned, but not vectors of them.
const UNALIGNED: MemFlagsData = MemFlagsData::new().with_notrap();

impl Lift<'_, '_> {
    /// A load or store that has a fast path.
    pub(super) fn access(&mut self, index: usize, active: Active) {
        let inst = self.inst(index);
        let slot = self.slot(index);
        let done = self.e.b.create_block();
        if let Active::All = active
            && inst.guard == PSrc::TRUE
            && inst.quad == 15
        {
            self.in_order(inst, slot, done);
        }
        self.skip_if_nobody(index, active, done);
        let stopped = self.callback(index, field::ACCESS, slot);
        self.e.branch(stopped, self.outcome, done);
        self.e.b.switch_to_block(done);
    }

    /// The number of the slot of an instruction.
    fn slot(&mut self, index: usize) -> u32 {
        let accesses = &mut self.accesses;
        *self.slots[index].get_or_insert_with(|| {
            accesses.push(index as u32);
            accesses.len() as u32 - 1
        })
    }

    /// The access of a whole warp to words in the order of its lanes, in line; else it goes on behind.
    fn in_order(&mut self, inst: &Inst, slot: u32, done: Block) {
        let (space, reg, addr, is_store) = match &inst.micro {
            Micro::Load { space, width: Width::B32, dst, addr } => (*space, *dst, addr, false),
            Micro::Store { space, width: Width::B32, src, addr } => (*space, *src, addr, true),
            _ => return,
        };
        if space == Space::Local || reg == NULL {
            return;
        }
        let otherwise = self.e.b.create_block();
        let Some(host) = self.host_address(addr, space, slot, otherwise) else { return };
        let row = self.e.row(reg);
        for group in 0..GROUPS {
            let offset = group * GROUP_BYTES as usize;
            if is_store {
                let v = self.e.load(WORDS, self.state.regs, row + offset);
                self.e.b.ins().store(UNALIGNED, v, host, offset as i32);
            } else {
                let v = self.e.b.ins().load(WORDS, UNALIGNED, host, offset as i32);
                self.e.store(v, self.state.regs, row + offset);
            }
        }
        let threads = self.e.long(LANES as i64);
        self.count(1, threads);
        self.e.jump(done, &[]);
        self.e.b.switch_to_block(otherwise);
    }

    /// Where the host has the words of the lanes, one behind the other; else it goes elsewhere. None: addresses of this kind are not
    /// known here.
    fn host_address(&mut self, addr: &Addr, space: Space, slot: u32, otherwise: Block) -> Option<Value> {
        let simple = |src: Src| src.modifier == Modifier::None;
        if !simple(addr.base) || addr.base.row >= POOL || addr.base_hi.is_some_and(|hi| !simple(hi)) {
            return None;
        }
        let low_row = self.e.row(addr.base.row as u8);
        let first_low = self.e.load(types::I32, self.state.regs, low_row);
        let mut wrong = self.differences(low_row, first_low, 4);
        let high = addr.base_hi.map(|hi| match hi.row.checked_sub(POOL) {
            None => {
                let row = self.e.row(hi.row as u8);
                let first = self.e.load(types::I32, self.state.regs, row);
                let more = self.differences(row, first, 0);
                wrong = self.e.or(wrong, more);
                first
            }
            Some(row) => self.e.load(types::I32, self.state.pool, usize::from(row) * ROW),
        });
        let any = self.e.b.ins().vany_true(wrong);
        self.go_on_if_not(any, otherwise);
        let bytes = 4 * LANES as i64;
        let host = match space {
            Space::Generic => {
                // Without a high word all of the address is in the low one, with the offset.
                let low = match high {
                    Some(_) => first_low,
                    None => self.e.b.ins().iadd_imm_s(first_low, i64::from(addr.offset as i32)),
                };
                let mut at = self.e.b.ins().uextend(types::I64, low);
                // What follows in the low words would begin again at zero.
                let last = self.e.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, at, (1 << 32) - bytes);
                self.go_on_if_not(last, otherwise);
                if let Some(high) = high {
                    let high = self.e.b.ins().uextend(types::I64, high);
                    let high = self.e.b.ins().ishl_imm_u(high, 32);
                    at = self.e.or(at, high);
                    at = self.e.b.ins().iadd_imm_s(at, addr.offset);
                }
                let unaligned = self.e.b.ins().band_imm_u(at, 3);
                self.go_on_if_not(unaligned, otherwise);
                let slots = self.e.load(types::I64, self.state.frame, field::SLOTS as usize);
                let mut part =
                    |field: usize| self.e.load(types::I64, slots, slot as usize * size_of::<Slot>() + field);
                let (base, size, data) = (
                    part(offset_of!(Slot, base)),
                    part(offset_of!(Slot, size)),
                    part(offset_of!(Slot, data)),
                );
                let inside = self.e.sub(at, base);
                let beyond = self.e.icmp(IntCC::UnsignedGreaterThan, inside, size);
                self.go_on_if_not(beyond, otherwise);
                let room = self.e.sub(size, inside);
                let short = self.e.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, room, bytes);
                self.go_on_if_not(short, otherwise);
                self.e.add(data, inside)
            }
            Space::Shared => {
                let low = self.e.b.ins().iadd_imm_s(first_low, i64::from(addr.offset as i32));
                let at = self.e.b.ins().band_imm_u(low, 0x00ff_ffff);
                let unaligned = self.e.b.ins().band_imm_u(at, 3);
                self.go_on_if_not(unaligned, otherwise);
                let at = self.e.b.ins().uextend(types::I64, at);
                let size = self.e.load(types::I64, self.state.frame, field::SHARED_BYTES as usize);
                let end = self.e.b.ins().iadd_imm_s(at, bytes);
                let beyond = self.e.icmp(IntCC::UnsignedGreaterThan, end, size);
                self.go_on_if_not(beyond, otherwise);
                let shared = self.e.load(types::I64, self.state.frame, field::SHARED as usize);
                self.e.add(shared, at)
            }
            Space::Local => return None,
        };
        Some(host)
    }

    /// Bits in which a row is not `first` in its first lane and `step` more in each of the next ones.
    fn differences(&mut self, row: usize, first: Value, step: u32) -> Value {
        let first = self.e.b.ins().splat(WORDS, first);
        let mut all = None;
        for group in 0..GROUPS {
            let v = self.e.b.ins().load(
                WORDS,
                PLAIN,
                self.state.regs,
                (row + group * GROUP_BYTES as usize) as i32,
            );
            let want = match step {
                0 => first,
                _ => {
                    let lanes: [u32; GROUP] = std::array::from_fn(|l| (group * GROUP + l) as u32 * step);
                    let steps = self.e.lanes(lanes);
                    self.e.add(first, steps)
                }
            };
            let wrong = self.e.xor(v, want);
            all = Some(all.map_or(wrong, |all| self.e.or(all, wrong)));
        }
        all.unwrap_or(first)
    }

    fn go_on_if_not(&mut self, wrong: Value, otherwise: Block) {
        let on = self.e.b.create_block();
        self.e.branch(wrong, otherwise, on);
        self.e.b.switch_to_block(on);
    }
}
