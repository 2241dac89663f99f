//! Accesses to memory: in line if no lane can be at fault.
//!
//! Whole warps whose lanes access one, two or four words that follow each other are the shortest way; then those whose lanes are equally
//! far from the next ones; then any lanes at any places ([`scatter`](super::scatter)).
//! Whatever else there is takes the call that follows: [`access`](super::super::access).

use super::super::frame::field;
use super::scatter::{Does, Request, WINDOW};
use super::vector::{GROUP, GROUP_BYTES, GROUPS, ROW, UNALIGNED, WORDS};
use super::{Active, Lift};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Type, Value, types};
use nvir_emu::engine::open::{Addr, LANES, Modifier, NULL, POOL, Slot, Space, Src, Width};
use std::mem::offset_of;

impl Lift<'_, '_> {
    /// A load, store or atomic.
    pub(super) fn access(&mut self, index: usize, request: &Request<'_>) {
        let inst = self.inst(index);
        let slot = self.slot(index);
        let done = self.meeting();
        let mut mask = None;
        if matches!(self.now.active, Active::All) && inst.is_for_all() {
            self.counted();
            self.regular(request, slot, done);
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

    /// The access of a whole warp whose lanes are equally far from the next ones, in line; else it goes on behind.
    fn regular(&mut self, request: &Request<'_>, slot: u32, done: Block) {
        let nothing = matches!(request.does, Does::Load(NULL));
        let simple = |src: Src| src.modifier == Modifier::None;
        let Addr { base, base_hi, .. } = *request.addr;
        let known = simple(base) && base.row < POOL && base_hi.is_none_or(simple);
        if nothing || request.space == Space::Local || !known {
            return;
        }
        let width = request.width;
        let in_order = match request.does {
            Does::Load(reg) => Some((reg, false)),
            Does::Store(reg) if reg != NULL => Some((reg, true)),
            _ => None,
        };
        let otherwise = self.e.b.create_block();
        let (host, step) = self.host_address(request, slot, otherwise);
        if let Some((reg, is_store)) = in_order
            && matches!(width, Width::B32 | Width::B64 | Width::B128)
        {
            let apart = self.e.b.create_block();
            let differs = self.e.b.ins().icmp_imm_s(IntCC::NotEqual, step, i64::from(width.bytes()));
            self.e.go_on_if_not(differs, apart);
            self.copy((reg, width), host, is_store);
            self.accessed(None, done);
            self.e.b.switch_to_block(apart);
        }
        let [] = self.groups([], |this, offset, []| {
            let lane = this.e.b.ins().ushr_imm_u(offset, 2);
            let distance = this.e.mul(lane, step);
            let mut hosts = [this.e.add(host, distance); GROUP];
            for l in 1..GROUP {
                hosts[l] = this.e.add(hosts[l - 1], step);
            }
            this.at_hosts(request, &hosts, 4, None, offset);
            []
        });
        self.accessed(None, done);
        self.e.b.switch_to_block(otherwise);
    }

    /// Copies the words of all lanes, which lie in their order.
    fn copy(&mut self, (reg, width): (u8, Width), host: Value, is_store: bool) {
        let rows: Vec<usize> = (reg..).take(width.regs() as usize).map(|reg| self.e.row(reg)).collect();
        if let [row] = rows[..] {
            for offset in (0..GROUPS).map(|group| group * GROUP_BYTES as usize) {
                self.copy_group(&[row + offset], self.state.regs, (host, offset), is_store);
            }
            return;
        }
        let [] = self.groups([], |this, offset, []| {
            let regs = this.e.add(this.state.regs, offset);
            let offset = this.e.b.ins().imul_imm_s(offset, rows.len() as i64);
            let host = this.e.add(host, offset);
            this.copy_group(&rows, regs, (host, 0), is_store);
            []
        });
    }

    /// Copies a group's part of one, two or four rows from or to memory, where a lane's words are one behind the other.
    fn copy_group(&mut self, rows: &[usize], regs: Value, (host, first): (Value, usize), is_store: bool) {
        const BYTES: Type = types::I8X16;
        let at = |n: usize| (first + n * GROUP_BYTES as usize) as i32;
        if is_store {
            let parts: Vec<Value> = rows.iter().map(|&row| self.e.load(BYTES, regs, row)).collect();
            for (n, v) in self.interleaved(&parts).into_iter().enumerate() {
                self.e.b.ins().store(UNALIGNED, v, host, at(n));
            }
        } else {
            let parts: Vec<Value> =
                (0..rows.len()).map(|n| self.e.b.ins().load(BYTES, UNALIGNED, host, at(n))).collect();
            for (v, &row) in self.taken_apart(&parts).into_iter().zip(rows) {
                self.e.store(v, regs, row);
            }
        }
    }

    /// Of vectors of lanes, one for each word: one lane's words behind the other's.
    fn interleaved(&mut self, words: &[Value]) -> Vec<Value> {
        let mut zip = |a, b| [[0, 4, 1, 5], [2, 6, 3, 7]].map(|of| self.e.shuffle_words(a, b, of));
        match *words {
            [a, b] => zip(a, b).into(),
            [a, b, c, d] => {
                let ([ac, ac_high], [bd, bd_high]) = (zip(a, c), zip(b, d));
                [zip(ac, bd), zip(ac_high, bd_high)].concat()
            }
            _ => words.into(),
        }
    }

    /// The opposite.
    fn taken_apart(&mut self, lanes: &[Value]) -> Vec<Value> {
        match *lanes {
            [a, b] => [[0, 2, 4, 6], [1, 3, 5, 7]].map(|of| self.e.shuffle_words(a, b, of)).into(),
            // Four rows and four columns: they change places.
            _ => self.interleaved(lanes),
        }
    }

    /// Where the host has what the first lane accesses, and how far from it that of each next one is; else it goes elsewhere.
    fn host_address(&mut self, request: &Request<'_>, slot: u32, otherwise: Block) -> (Value, Value) {
        let &Request { addr, space, width, .. } = request;
        let Pattern { wrong, low: first, high, step, reach, .. } = self.pattern(addr);
        self.e.go_on_if_not(wrong, otherwise);
        // With a high word, the offset is added to both.
        let low = match (space, high) {
            (Space::Generic, Some(_)) => first,
            _ => self.e.b.ins().iadd_imm_s(first, i64::from(addr.offset as i32)),
        };
        let (at, size, data) = match space {
            Space::Generic => {
                let mut at = self.e.b.ins().uextend(types::I64, low);
                // Low words that pass their end begin again at zero.
                let last = self.e.add(at, reach);
                let wraps = self.e.b.ins().ushr_imm_u(last, 32);
                self.e.go_on_if_not(wraps, otherwise);
                if let Some(high) = high {
                    let high = self.e.b.ins().uextend(types::I64, high);
                    let high = self.e.b.ins().ishl_imm_u(high, 32);
                    at = self.e.or(at, high);
                    at = self.e.b.ins().iadd_imm_s(at, addr.offset);
                }
                self.e.aligned((at, step), width, otherwise);
                let [base, size, data] = self.buffer(slot);
                (self.e.sub(at, base), size, data)
            }
            _ => {
                let at = self.e.b.ins().band_imm_u(low, i64::from(WINDOW));
                let at = self.e.b.ins().uextend(types::I64, at);
                self.e.aligned((at, step), width, otherwise);
                let [size, data] = [field::SHARED_BYTES, field::SHARED]
                    .map(|of| self.e.load(types::I64, self.state.frame, of));
                (at, size, data)
            }
        };
        // If the first and the last lane are inside, all between them are.
        let last = self.e.add(at, reach);
        let last = self.e.b.ins().umax(at, last);
        let beyond = self.e.icmp(IntCC::UnsignedGreaterThan, last, size);
        self.e.go_on_if_not(beyond, otherwise);
        let room = self.e.sub(size, last);
        let short = self.e.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, room, i64::from(width.bytes()));
        self.e.go_on_if_not(short, otherwise);
        let host = self.e.add(data, at);
        if space == Space::Generic {
            let slots = self.e.load(types::I64, self.state.frame, field::SLOTS);
            let slot = slot as usize * size_of::<Slot>();
            self.e.store(host, slots, slot + offset_of!(Slot, last));
            self.e.store(step, slots, slot + offset_of!(Slot, step));
        }
        (host, step)
    }

    /// How the lanes' addresses follow each other in registers: what has been found out of the same ones just before, or anew.
    fn pattern(&mut self, addr: &Addr) -> Pattern {
        let of = (addr.base.row, addr.base_hi.map(|hi| hi.row));
        if let Some(known) = self.pattern.filter(|known| known.of == of) {
            return known;
        }
        let row = self.e.row(addr.base.row as u8);
        let [low, second] = [0, 4].map(|lane| self.e.load(types::I32, self.state.regs, row + lane));
        let step = self.e.sub(second, low);
        let mut wrong = self.differences(row, low, Some(step));
        let high = addr.base_hi.map(|hi| match hi.row.checked_sub(POOL) {
            None => {
                let row = self.e.row(hi.row as u8);
                let first = self.e.load(types::I32, self.state.regs, row);
                let more = self.differences(row, first, None);
                wrong = self.e.or(wrong, more);
                first
            }
            Some(row) => self.e.load(types::I32, self.state.pool, usize::from(row) * ROW),
        });
        let wrong = self.e.b.ins().vany_true(wrong);
        let step = self.e.b.ins().sextend(types::I64, step);
        let reach = self.e.b.ins().imul_imm_s(step, LANES as i64 - 1);
        let found = Pattern { of, wrong, low, high, step, reach };
        self.pattern = Some(found);
        found
    }

    /// An instruction has written its registers: what was known of them no longer holds.
    pub(super) fn written(&mut self, index: usize) {
        let is_written = |row: u16| {
            let writes = |&(first, count): &(u8, u8)| {
                (u16::from(first)..u16::from(first) + u16::from(count)).contains(&row)
            };
            self.insts[index].writes.iter().any(writes)
        };
        self.pattern = self.pattern.filter(|p| !is_written(p.of.0) && !p.of.1.is_some_and(is_written));
    }

    /// Bits in which a row is not `first` in its first lane and `step` more in each of the next ones.
    fn differences(&mut self, row: usize, first: Value, step: Option<Value>) -> Value {
        let mut want = self.e.b.ins().splat(WORDS, first);
        let next = step.map(|step| {
            let each = self.e.b.ins().splat(WORDS, step);
            let lanes = self.e.lanes(std::array::from_fn(|l| l as u32));
            let distances = self.e.mul(each, lanes);
            want = self.e.add(want, distances);
            self.e.shl(each, GROUP.ilog2())
        });
        let mut all = None;
        for group in 0..GROUPS {
            if let Some(next) = next.filter(|_| group != 0) {
                want = self.e.add(want, next);
            }
            let v = self.e.load(WORDS, self.state.regs, row + group * GROUP_BYTES as usize);
            let wrong = self.e.xor(v, want);
            all = Some(all.map_or(wrong, |all| self.e.or(all, wrong)));
        }
        all.unwrap_or(want)
    }
}

/// How the addresses of a whole warp's lanes follow each other.
#[derive(Clone, Copy)]
pub(super) struct Pattern {
    /// The rows of their low and high words.
    of: (u16, Option<u16>),
    /// Whether they are not equally far from the next ones, or differ in high words.
    wrong: Value,
    /// The first lane's words.
    low: Value,
    high: Option<Value>,
    /// How far the next lane's address is, and the last one's: in 64 bits.
    step: Value,
    reach: Value,
}
