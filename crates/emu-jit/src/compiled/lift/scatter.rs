//! Accesses of any lanes to any places of one buffer, of shared or of local memory.
//!
//! First all addresses are looked at, group by group: if a lane's is not aligned or not inside, nothing is done here. Then the lanes
//! access one after the other, in ascending order.

use super::super::frame::field;
use super::Lift;
use super::group::spread;
use super::vector::{GROUP, GROUP_BYTES, ROW, UNALIGNED, WORDS};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use nvir_emu::engine::open::{
    Addr, AtomOp, AtomTy, Inst, LANES, Micro, Modifier, NULL, POOL, Space, Src, Width,
};

/// Addresses in shared and local memory wrap at 24 bits.
pub(super) const WINDOW: u32 = 0x00ff_ffff;

/// What is done with the words of each lane, by registers from the first one on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Does {
    Load(u8),
    Store(u8),
    /// With the old value's register and the operands'.
    Atom(AtomOp, AtomTy, u8, [u8; 2]),
}

/// An instruction that accesses memory.
pub(super) struct Request<'a> {
    pub(super) space: Space,
    pub(super) width: Width,
    pub(super) addr: &'a Addr,
    pub(super) does: Does,
}

impl<'a> Request<'a> {
    /// That of an instruction, if it is one that [`Lift::access`] knows.
    pub(super) fn of(inst: &'a Inst) -> Option<Request<'a>> {
        let (space, width, addr, does) = match &inst.micro {
            _ if inst.sync => return None,
            Micro::Load { space, width, dst, addr } => (*space, *width, addr, Does::Load(*dst)),
            Micro::Store { space, width, src, addr } => (*space, *width, addr, Does::Store(*src)),
            Micro::Atom { op, ty: ty @ (AtomTy::U32 | AtomTy::S32), dst, addr, src } => {
                (Space::Generic, Width::B32, addr, Does::Atom(*op, *ty, *dst, *src))
            }
            _ => return None,
        };
        Some(Request { space, width, addr, does })
    }
}

/// What the addresses of a request's lanes become places by, the same for all of them.
struct Reach {
    /// The high words of all addresses, where there are any.
    high: Option<Value>,
    /// What is added to low words: the offset, and with `high` all between the buffer's begin and the address's.
    delta: Value,
    /// Whether that must carry: all ones or zero.
    carry: Option<Value>,
    /// The last place at which an access may begin.
    last: Value,
    /// Where the host has what is accessed.
    host: Value,
}

impl Lift<'_, '_> {
    /// The access of the lanes of a mask, or of all; what it is not for goes on behind.
    pub(super) fn scattered(&mut self, request: &Request<'_>, slot: u32, mask: Option<Value>, done: Block) {
        let nothing = matches!(request.does, Does::Load(NULL));
        if nothing || request.addr.base_hi.is_some_and(|hi| hi.modifier != Modifier::None) {
            return;
        }
        let otherwise = self.e.b.create_block();
        let reach = self.reach(request, slot, mask, otherwise);
        // Whether any lane is wrong.
        let none = self.e.all(0);
        let [wrong] = self.groups([none], |this, offset, [all]| {
            let (at, mut wrong) = this.places(request, &reach, offset);
            let aligned = request.width.align() - 1;
            if aligned != 0 {
                let low = this.e.all(aligned);
                let low = this.e.and(at.address, low);
                wrong = Some(wrong.map_or(low, |w| this.e.or(w, low)));
            }
            let beyond = this.e.icmp(IntCC::UnsignedGreaterThan, at.place, reach.last);
            let mut wrong = wrong.map_or(beyond, |w| this.e.or(w, beyond));
            if let Some(mask) = mask {
                let lanes = this.lanes_of(mask, offset);
                wrong = this.e.and(wrong, lanes);
            }
            [this.e.or(all, wrong)]
        });
        let any = self.e.b.ins().vany_true(wrong);
        self.e.go_on_if_not(any, otherwise);
        let [] = self.groups([], |this, offset, []| {
            this.access_group(request, &reach, mask, offset);
            []
        });
        self.accessed(mask, done);
        self.e.b.switch_to_block(otherwise);
    }

    /// Does something for each group, which begins at a row's byte; with values that go from group to group.
    pub(super) fn groups<const N: usize>(
        &mut self,
        first: [Value; N],
        body: impl FnOnce(&mut Self, Value, [Value; N]) -> [Value; N],
    ) -> [Value; N] {
        let [head, done] = [(); 2].map(|()| self.e.b.create_block());
        self.e.params(head, &[types::I64]);
        for block in [head, done] {
            self.e.params(block, &[WORDS; N]);
        }
        let start = self.e.long(0);
        let args: Vec<Value> = [start].into_iter().chain(first).collect();
        self.e.jump(head, &args);
        self.e.b.switch_to_block(head);
        let params = self.e.b.block_params(head).to_vec();
        let carried = std::array::from_fn(|n| params[n + 1]);
        let last = body(self, params[0], carried);
        let next = self.e.b.ins().iadd_imm_s(params[0], GROUP_BYTES);
        let more = self.e.b.ins().icmp_imm_s(IntCC::UnsignedLessThan, next, ROW as i64);
        let again: Vec<Value> = [next].into_iter().chain(last).collect();
        self.e.branch_with(more, (head, &again), (done, &last));
        self.e.b.switch_to_block(done);
        self.e.values_of(done)
    }

    /// The lanes of a group that are in a mask, as a vector.
    fn lanes_of(&mut self, mask: Value, offset: Value) -> Value {
        let lane = self.e.b.ins().ushr_imm_u(offset, 2);
        let lane = self.e.b.ins().ireduce(types::I32, lane);
        spread(&mut self.e, mask, lane, self.state.tables)
    }

    /// An operand of a group.
    fn operand(&mut self, src: Src, offset: Value) -> Value {
        let v = match src.row.checked_sub(POOL) {
            Some(row) => self.e.load(WORDS, self.state.pool, usize::from(row) * ROW),
            None => self.register(src.row as u8, offset),
        };
        self.e.modify(src.modifier, v)
    }

    /// A register of a group.
    fn register(&mut self, reg: u8, offset: Value) -> Value {
        let row = self.e.row(reg);
        let rows = self.e.add(self.state.regs, offset);
        self.e.load(WORDS, rows, row)
    }

    /// What the places of a request depend on. The high words must be those of the first lane, which is one of the mask.
    fn reach(&mut self, request: &Request<'_>, slot: u32, mask: Option<Value>, otherwise: Block) -> Reach {
        let addr = request.addr;
        let bytes = i64::from(request.width.bytes());
        let offset = addr.offset as u32;
        let (size, host) = match request.space {
            Space::Shared => (field::SHARED_BYTES, field::SHARED),
            Space::Local => (field::LOCAL_ROWS, field::LOCAL),
            Space::Generic => {
                let [base, size, host] = self.buffer(slot);
                let last = self.last(size, bytes, otherwise);
                let (high, to) = match addr.base_hi {
                    None => (None, self.e.long(0)),
                    Some(hi) => {
                        let high = self.first_of(hi, mask);
                        let long = self.e.b.ins().uextend(types::I64, high);
                        let long = self.e.b.ins().ishl_imm_u(long, 32);
                        (
                            Some(self.e.b.ins().splat(WORDS, high)),
                            self.e.b.ins().iadd_imm_s(long, addr.offset),
                        )
                    }
                };
                let delta = self.e.sub(to, base);
                let [low, carry] = [0, 32].map(|by| {
                    let part = self.e.b.ins().ushr_imm_u(delta, by);
                    let part = self.e.b.ins().ireduce(types::I32, part);
                    self.e.b.ins().splat(WORDS, part)
                });
                return Reach { high, delta: low, carry: Some(carry), last, host };
            }
        };
        let mut size = self.e.load(types::I64, self.state.frame, size);
        if request.space == Space::Local {
            size = self.e.b.ins().ishl_imm_u(size, 2);
        }
        let last = self.last(size, bytes, otherwise);
        let host = self.e.load(types::I64, self.state.frame, host);
        Reach { high: None, delta: self.e.all(offset), carry: None, last, host }
    }

    /// The last place of so many bytes at which an access may begin, if there is one.
    fn last(&mut self, size: Value, bytes: i64, otherwise: Block) -> Value {
        let short = self.e.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, size, bytes);
        self.e.go_on_if_not(short, otherwise);
        let last = self.e.b.ins().iadd_imm_s(size, -bytes);
        let most = self.e.long(u32::MAX.into());
        let last = self.e.b.ins().umin(last, most);
        let last = self.e.b.ins().ireduce(types::I32, last);
        self.e.b.ins().splat(WORDS, last)
    }

    /// An operand of the first lane of a mask, or of all.
    fn first_of(&mut self, src: Src, mask: Option<Value>) -> Value {
        if let Some(row) = src.row.checked_sub(POOL) {
            return self.e.load(types::I32, self.state.pool, usize::from(row) * ROW);
        }
        let row = self.e.row(src.row as u8);
        let Some(mask) = mask else { return self.e.load(types::I32, self.state.regs, row) };
        let lane = self.e.b.ins().ctz(mask);
        let lane = self.e.b.ins().uextend(types::I64, lane);
        let offset = self.e.b.ins().ishl_imm_u(lane, 2);
        let at = self.e.add(self.state.regs, offset);
        self.e.load(types::I32, at, row)
    }

    /// Where the lanes of a group go, and which of them certainly do not go into the buffer.
    fn places(&mut self, request: &Request<'_>, reach: &Reach, offset: Value) -> (At, Option<Value>) {
        let addr = request.addr;
        let low = self.operand(addr.base, offset);
        let add = self.e.all(addr.offset as u32);
        let Some(carry) = reach.carry else {
            let address = self.e.add(low, add);
            let window = self.e.all(WINDOW);
            let address = self.e.and(address, window);
            return (At { address, place: address }, None);
        };
        // Without high words the offset is added to 32 bits.
        let (address, from) = match reach.high {
            Some(_) => (self.e.add(low, add), low),
            None => {
                let address = self.e.add(low, add);
                (address, address)
            }
        };
        let place = self.e.add(from, reach.delta);
        let carries = self.e.icmp(IntCC::UnsignedLessThan, place, reach.delta);
        let mut wrong = self.e.xor(carries, carry);
        if let (Some(first), Some(hi)) = (reach.high, addr.base_hi) {
            let high = self.operand(hi, offset);
            let differs = self.e.xor(high, first);
            wrong = self.e.or(wrong, differs);
        }
        (At { address, place }, Some(wrong))
    }

    /// The accesses of a group, which are all inside.
    fn access_group(&mut self, request: &Request<'_>, reach: &Reach, mask: Option<Value>, offset: Value) {
        let mut place = self.places(request, reach, offset).0.place;
        let lanes = mask.map(|mask| self.lanes_of(mask, offset));
        if let Some(lanes) = lanes {
            // What is off may look at the first word.
            place = self.e.and(place, lanes);
        }
        let mut stride = 4;
        if request.space == Space::Local {
            // A row for each word.
            stride = ROW as i32;
            place = self.local_places(request.width, place, offset);
        }
        let hosts: [Value; GROUP] = std::array::from_fn(|l| {
            let place = self.e.b.ins().extractlane(place, l as u8);
            let place = self.e.b.ins().uextend(types::I64, place);
            self.e.add(reach.host, place)
        });
        self.at_hosts(request, &hosts, stride, lanes, offset);
    }

    /// What a request does for the lanes of a group, at their places in the host's memory; the words of one are `stride` apart.
    pub(super) fn at_hosts(
        &mut self,
        request: &Request<'_>,
        hosts: &[Value; GROUP],
        stride: i32,
        lanes: Option<Value>,
        offset: Value,
    ) {
        match request.does {
            Does::Load(reg) => self.load_group(request.width, reg, hosts, stride, lanes, offset),
            Does::Store(reg) => {
                let count = request.width.regs() as u8;
                let values: Vec<Value> = (0..count).map(|k| self.stored(reg, k, offset)).collect();
                for (l, &host) in hosts.iter().enumerate() {
                    let next = self.if_lane(lanes, l);
                    for (k, &v) in values.iter().enumerate() {
                        let v = self.e.b.ins().extractlane(v, l as u8);
                        let at = k as i32 * stride;
                        match request.width.bytes() {
                            1 => self.e.b.ins().istore8(UNALIGNED, v, host, at),
                            2 => self.e.b.ins().istore16(UNALIGNED, v, host, at),
                            _ => self.e.b.ins().store(UNALIGNED, v, host, at),
                        };
                    }
                    self.behind_lane(next);
                }
            }
            Does::Atom(op, ty, dst, [x, y]) => {
                let (x, y) = (self.stored(x, 0, offset), self.stored(y, 0, offset));
                let row = (dst != NULL).then(|| (self.e.row(dst), self.e.add(self.state.regs, offset)));
                for (l, &host) in hosts.iter().enumerate() {
                    let next = self.if_lane(lanes, l);
                    let [x, y] = [x, y].map(|v| self.e.b.ins().extractlane(v, l as u8));
                    let old = self.e.b.ins().load(types::I32, UNALIGNED, host, 0);
                    let new = self.combined(op, ty == AtomTy::S32, [old, x, y]);
                    self.e.b.ins().store(UNALIGNED, new, host, 0);
                    if let Some((row, rows)) = row {
                        self.e.store(old, rows, row + 4 * l);
                    }
                    self.behind_lane(next);
                }
            }
        }
    }

    /// What a register stores, `k` behind the first.
    fn stored(&mut self, reg: u8, k: u8, offset: Value) -> Value {
        if reg == NULL { self.e.all(0) } else { self.register(reg + k, offset) }
    }

    /// Goes on for a lane if it is on; the block behind it.
    fn if_lane(&mut self, lanes: Option<Value>, l: usize) -> Option<Block> {
        let lanes = lanes?;
        let [on, next] = [(); 2].map(|()| self.e.b.create_block());
        let is_on = self.e.b.ins().extractlane(lanes, l as u8);
        self.e.branch(is_on, on, next);
        self.e.b.switch_to_block(on);
        Some(next)
    }

    fn behind_lane(&mut self, next: Option<Block>) {
        if let Some(next) = next {
            self.e.jump(next, &[]);
            self.e.b.switch_to_block(next);
        }
    }

    /// From places in a thread's memory to those in rows.
    fn local_places(&mut self, width: Width, place: Value, offset: Value) -> Value {
        let within = (width.bytes() < 4).then(|| {
            let low = self.e.all(3);
            self.e.and(place, low)
        });
        let word = self.e.shr(place, 2);
        let row = self.e.shl(word, ROW.ilog2());
        let first = self.e.b.ins().ireduce(types::I32, offset);
        let first = self.e.b.ins().splat(WORDS, first);
        let lanes = self.e.lanes(std::array::from_fn(|l| 4 * l as u32));
        let lane = self.e.add(first, lanes);
        let place = self.e.add(row, lane);
        within.map_or(place, |within| self.e.add(place, within))
    }

    fn load_group(
        &mut self,
        width: Width,
        reg: u8,
        hosts: &[Value; GROUP],
        stride: i32,
        lanes: Option<Value>,
        offset: Value,
    ) {
        let rows = self.e.add(self.state.regs, offset);
        let words: Vec<Value> = (0..width.regs() as i32)
            .map(|k| {
                let mut all = None;
                for (l, &host) in hosts.iter().enumerate() {
                    let at = k * stride;
                    let ins = self.e.b.ins();
                    let v = match width {
                        Width::U8 => ins.uload8(types::I32, UNALIGNED, host, at),
                        Width::S8 => ins.sload8(types::I32, UNALIGNED, host, at),
                        Width::U16 => ins.uload16(types::I32, UNALIGNED, host, at),
                        Width::S16 => ins.sload16(types::I32, UNALIGNED, host, at),
                        _ => ins.load(types::I32, UNALIGNED, host, at),
                    };
                    all = Some(match all {
                        None => self.e.b.ins().scalar_to_vector(WORDS, v),
                        Some(all) => self.e.b.ins().insertlane(all, v, l as u8),
                    });
                }
                all.expect("a group has lanes")
            })
            .collect();
        for (k, mut v) in words.into_iter().enumerate() {
            let row = self.e.row(reg + k as u8);
            if let Some(lanes) = lanes {
                let old = self.e.load(WORDS, rows, row);
                v = self.e.pick(lanes, v, old);
            }
            self.e.store(v, rows, row);
        }
    }

    /// The new value of an atomic's word: of the old one and the operands.
    fn combined(&mut self, op: AtomOp, signed: bool, [old, x, y]: [Value; 3]) -> Value {
        let (e, compare) = (&mut self.e, IntCC::UnsignedGreaterThan);
        match (op, signed) {
            (AtomOp::Add | AtomOp::Safeadd, _) => e.add(old, x),
            (AtomOp::And, _) => e.and(old, x),
            (AtomOp::Or, _) => e.or(old, x),
            (AtomOp::Xor, _) => e.xor(old, x),
            (AtomOp::Exch, _) => x,
            (AtomOp::Min, true) => e.b.ins().smin(old, x),
            (AtomOp::Min, false) => e.b.ins().umin(old, x),
            (AtomOp::Max, true) => e.b.ins().smax(old, x),
            (AtomOp::Max, false) => e.b.ins().umax(old, x),
            (AtomOp::Cas, _) => {
                let same = e.icmp(IntCC::Equal, old, x);
                e.b.ins().select(same, y, old)
            }
            (AtomOp::Inc, _) => {
                let less = e.icmp(compare, x, old);
                let (next, zero) = (e.b.ins().iadd_imm_s(old, 1), e.int(0));
                e.b.ins().select(less, next, zero)
            }
            (AtomOp::Dec, _) => {
                let (less, above) = (e.b.ins().iadd_imm_s(old, -1), e.icmp(compare, old, x));
                let none = e.b.ins().icmp_imm_s(IntCC::Equal, old, 0);
                let wraps = e.or(above, none);
                e.b.ins().select(wraps, x, less)
            }
        }
    }
}

/// Where the lanes of a group go.
struct At {
    /// The low bits of addresses.
    address: Value,
    /// From the buffer's begin.
    place: Value,
}

const _: () = assert!(LANES.is_multiple_of(GROUP), "rows consist of groups");
