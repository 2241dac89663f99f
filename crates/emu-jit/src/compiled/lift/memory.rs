//! Accesses to memory: in line if no lane can be at fault.
//!
//! Whole warps whose lanes access words that follow each other are the shortest way; then any lanes at any places ([`scatter`](super::scatter)).
//! Whatever else there is takes the call that follows: [`access`](super::super::access).

use super::super::frame::field;
use super::scatter::Request;
use super::vector::{GROUP, GROUP_BYTES, GROUPS, PLAIN, ROW, UNALIGNED, WORDS};
use super::{Active, Lift};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use nvir_emu::engine::open::{Addr, LANES, Micro, Modifier, NULL, POOL, PSrc, Slot, Space, Src, Width};
use std::mem::offset_of;

impl Lift<'_, '_> {
    /// A load, store or atomic.
    pub(super) fn access(&mut self, index: usize, request: &Request<'_>) {
        let inst = self.inst(index);
        let slot = self.slot(index);
        let done = self.meeting();
        let mut mask = None;
        if matches!(self.now.active, Active::All) && inst.guard == PSrc::TRUE && inst.quad == 15 {
            self.counted();
            self.in_order(&inst.micro, slot, done);
        } else {
            self.skip_if_nobody(index, done);
            self.counted();
            mask = Some(self.executing(inst));
        }
        self.scattered(request, slot, mask, done);
        self.callback(index, field::ACCESS, slot);
        let counted = self.counted();
        self.e.jump(done, &counted);
        self.begin(done);
    }

    /// An access has been done by the lanes of a mask, or by all.
    pub(super) fn accessed(&mut self, mask: Option<Value>, done: Block) {
        let now = self.now;
        let threads = match mask {
            None => self.e.long(LANES as i64),
            Some(mask) => self.threads_of(mask),
        };
        self.count(1, 0, Some(threads));
        let counted = self.counted();
        self.e.jump(done, &counted);
        self.now = now;
    }

    /// The number of the slot of an instruction.
    fn slot(&mut self, index: usize) -> u32 {
        let accesses = &mut self.accesses;
        *self.slots[index].get_or_insert_with(|| {
            accesses.push(index as u32);
            accesses.len() as u32 - 1
        })
    }

    /// The buffer that an instruction accessed last: address, bytes, where the host has it.
    pub(super) fn buffer(&mut self, slot: u32) -> [Value; 3] {
        let slots = self.e.load(types::I64, self.state.frame, field::SLOTS);
        let first = slot as usize * size_of::<Slot>();
        [offset_of!(Slot, base), offset_of!(Slot, size), offset_of!(Slot, data)]
            .map(|part| self.e.load(types::I64, slots, first + part))
    }

    /// The access of a whole warp to words in the order of its lanes, in line; else it goes on behind.
    fn in_order(&mut self, micro: &Micro, slot: u32, done: Block) {
        let (space, reg, addr, is_store) = match micro {
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
        self.accessed(None, done);
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
        self.e.go_on_if_not(any, otherwise);
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
                self.e.go_on_if_not(last, otherwise);
                if let Some(high) = high {
                    let high = self.e.b.ins().uextend(types::I64, high);
                    let high = self.e.b.ins().ishl_imm_u(high, 32);
                    at = self.e.or(at, high);
                    at = self.e.b.ins().iadd_imm_s(at, addr.offset);
                }
                let unaligned = self.e.b.ins().band_imm_u(at, 3);
                self.e.go_on_if_not(unaligned, otherwise);
                let [base, size, data] = self.buffer(slot);
                let inside = self.e.sub(at, base);
                let beyond = self.e.icmp(IntCC::UnsignedGreaterThan, inside, size);
                self.e.go_on_if_not(beyond, otherwise);
                let room = self.e.sub(size, inside);
                let short = self.e.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, room, bytes);
                self.e.go_on_if_not(short, otherwise);
                self.e.add(data, inside)
            }
            Space::Shared => {
                let low = self.e.b.ins().iadd_imm_s(first_low, i64::from(addr.offset as i32));
                let at = self.e.b.ins().band_imm_u(low, 0x00ff_ffff);
                let unaligned = self.e.b.ins().band_imm_u(at, 3);
                self.e.go_on_if_not(unaligned, otherwise);
                let at = self.e.b.ins().uextend(types::I64, at);
                let size = self.e.load(types::I64, self.state.frame, field::SHARED_BYTES);
                let end = self.e.b.ins().iadd_imm_s(at, bytes);
                let beyond = self.e.icmp(IntCC::UnsignedGreaterThan, end, size);
                self.e.go_on_if_not(beyond, otherwise);
                let shared = self.e.load(types::I64, self.state.frame, field::SHARED);
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
}
