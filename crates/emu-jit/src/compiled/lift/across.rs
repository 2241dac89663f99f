//! What lanes get of other lanes, in line: votes, and shuffles whose sources are known when code is compiled.

use super::group::{Group, mask_offset, spread};
use super::vector::{GROUP, GROUP_BYTES, GROUPS, WORDS};
use super::{Active, Lift};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use nvir_emu::engine::Code;
use nvir_emu::engine::open::{self, Inst, LANES, LaneVec, Mask, Micro, Modifier, NULL, POOL, PSrc, VoteMode};

/// Whether [`Lift::across`] executes an instruction.
pub(super) fn is_known(code: &Code, inst: &Inst) -> bool {
    let known = |src| Group::known(code, src).is_some();
    match inst.micro {
        _ if inst.cc => false,
        Micro::Vote { .. } => true,
        Micro::Shfl { src: [from, by, c], .. } => {
            from.row < POOL && from.modifier == Modifier::None && known(by) && known(c)
        }
        _ => false,
    }
}

impl Lift<'_, '_> {
    /// Executes an instruction that some lanes execute, or does nothing, as it is none of these.
    pub(super) fn across(&mut self, inst: &Inst) -> bool {
        if !is_known(self.code, inst) {
            return false;
        }
        match inst.micro {
            Micro::Vote { mode, dst, pdst, src } => {
                let mask = self.executing(inst);
                let ballot = self.predicate(src);
                let ballot = self.e.and(ballot, mask);
                let is = |this: &mut Self, word| this.e.icmp(IntCC::Equal, ballot, word);
                let none = self.e.int(0);
                let (all, nobody) = (is(self, mask), is(self, none));
                let hit = match mode {
                    VoteMode::All => all,
                    VoteMode::Any => self.e.b.ins().bxor_imm_u(nobody, 1),
                    VoteMode::Eq => self.e.or(all, nobody),
                };
                let rows = self.e.b.ins().splat(WORDS, ballot);
                self.put_rows(inst, dst, [rows; GROUPS], mask);
                let yes = self.e.int(u32::MAX);
                let hit = self.e.b.ins().select(hit, yes, none);
                self.put_predicate(pdst, hit, mask);
            }
            Micro::Shfl { mode, dst, pdst, src: [from, by, c] } => {
                let known = [by, c].map(|operand| Group::known(self.code, operand).map(LaneVec::splat));
                let [Some(by), Some(c)] = known else { return false };
                let (sources, inside) = open::shuffle(mode, [&by, &c]);
                let mask = self.executing(inst);
                let rows = self.rows_of(from.row as u8, &sources);
                self.put_rows(inst, dst, rows, mask);
                let inside = self.e.int(inside);
                self.put_predicate(pdst, inside, mask);
            }
            _ => return false,
        }
        true
    }

    /// The word of a predicate.
    fn predicate(&mut self, p: PSrc) -> Value {
        if p.num & 7 == PSrc::TRUE.num {
            return self.e.int(if p.not { 0 } else { Mask::MAX });
        }
        let v = self.e.load(types::I32, self.state.warp, mask_offset(usize::from(p.num & 7)));
        if p.not { self.e.not(v) } else { v }
    }

    /// Writes a predicate in the lanes of a mask.
    fn put_predicate(&mut self, p: u8, value: Value, mask: Value) {
        if p >= PSrc::TRUE.num {
            return;
        }
        let at = mask_offset(usize::from(p));
        let old = self.e.load(types::I32, self.state.warp, at);
        let old = self.e.b.ins().band_not(old, mask);
        let new = self.e.and(value, mask);
        let new = self.e.or(old, new);
        self.e.store(new, self.state.warp, at);
    }

    /// Writes a register in the lanes of a mask, which are those that execute an instruction.
    fn put_rows(&mut self, inst: &Inst, dst: u8, rows: [Value; GROUPS], mask: Value) {
        if dst == NULL {
            return;
        }
        let row = self.e.row(dst);
        let whole = matches!(self.now.active, Active::All) && inst.is_for_all();
        for (group, value) in rows.into_iter().enumerate() {
            let at = row + group * GROUP_BYTES as usize;
            let mut value = value;
            if !whole {
                let lane = self.e.int((group * GROUP) as u32);
                let take = spread(&mut self.e, mask, lane, self.state.tables);
                let old = self.e.load(WORDS, self.state.regs, at);
                value = self.e.pick(take, value, old);
            }
            self.e.store(value, self.state.regs, at);
        }
    }

    /// The words of a register that lanes find at these lanes.
    fn rows_of(&mut self, reg: u8, sources: &[u32; LANES]) -> [Value; GROUPS] {
        let row = self.e.row(reg);
        let mut loaded = [None; GROUPS];
        std::array::from_fn(|group| {
            let lanes: [usize; GROUP] = std::array::from_fn(|l| sources[group * GROUP + l] as usize);
            let first = lanes[0] / GROUP;
            let second = lanes.iter().map(|l| l / GROUP).find(|&g| g != first).unwrap_or(first);
            if lanes.iter().any(|l| ![first, second].contains(&(l / GROUP))) {
                // Of three groups or more.
                let mut words =
                    lanes.map(|l| self.e.load(types::I32, self.state.regs, row + 4 * l)).into_iter();
                let one = words.next().expect("a group has lanes");
                let all = self.e.b.ins().splat(WORDS, one);
                return words
                    .zip(1..)
                    .fold(all, |all, (word, l)| self.e.b.ins().insertlane(all, word, l as u8));
            }
            let [a, b] = [first, second].map(|g| {
                *loaded[g].get_or_insert_with(|| {
                    self.e.load(WORDS, self.state.regs, row + g * GROUP_BYTES as usize)
                })
            });
            if lanes.iter().enumerate().all(|(l, &from)| from == first * GROUP + l) {
                return a;
            }
            let place = |&l: &usize| (l % GROUP + if l / GROUP == first { 0 } else { GROUP }) as u8;
            let (a, b) = (self.e.bytes(a), self.e.bytes(b));
            let all = self.e.shuffle_words(a, b, std::array::from_fn(|l| place(&lanes[l])));
            self.e.words(all)
        })
    }
}
