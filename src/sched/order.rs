//! The order of instructions in straight code, and the registers that they use meanwhile: a list
//! scheduler.
//!
//! ```text
//! SHL R3, R0, 0x8                SHL R3, R0, 0x8     SHL R4, R1, 0x8
//! LOP.OR R0, R0, R3              (the second of each line issues with the first)
//! SHL R3, R1, 0x8          ->    ..
//! LOP.OR R1, R1, R3              LOP.OR R0, R0, R3   LOP.OR R1, R1, R4
//! ```
//!
//! Warps issue in order, so an instruction whose operands are not there yet holds up all behind it.
//! Cycle by cycle, of those whose predecessors have issued and whose port is free, the one with the
//! longest way of latencies to the end of the block is taken, and on Kepler another one that may
//! issue with it. Registers have been assigned before, with as few of them as possible, so what is
//! independent often shares one; what begins and ends in a block (`live_ranges`) gets another
//! register where there is one. If registers do not suffice for an order, instructions that are far
//! behind in the old one wait; if that does not help, the block keeps its registers. A new order is
//! taken if it takes fewer cycles than the old one.
//!
//! Safe because what `graph` orders keeps its order. Control flow stays behind everything else of
//! its block.

use super::free_list::FreeList;
use super::list::{List, Scratch};
use super::live_ranges::{Moves, NONE};
use super::liveness::{self, Set};
use super::tables::{Clock, Tables};
use crate::chip::Chip;
use crate::emit::code::{Code, Line, MBlock};
use crate::isa::Op;
use crate::isa::effects::{Resource, Touched};
use nvir_asm::issue;
use nvir_asm::model::Cycle;

/// The registers of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registers {
    /// How many the code uses.
    pub used: u32,
    /// How many it may use.
    pub limit: u32,
    /// How many are read where a thread ends.
    pub results: u32,
}

/// Reorders the instructions of every block. Gives the registers that the code uses now.
pub(crate) fn run(chip: Chip, code: &mut Code, registers: Registers) -> u32 {
    let after = liveness::after(code, registers.results);
    // A lane may read what another one has in a register while that one is elsewhere, and functions
    // use no register that their callers want kept: then only registers that the block has written,
    // or nobody uses, will do.
    let lanes = |l: &Line| matches!(l.inst.op, Op::Shfl | Op::Fswz | Op::Cal);
    let strict = code.calls || code.blocks.iter().flat_map(MBlock::lines).any(lanes);
    let mut s = Scheduler {
        pairs: chip.has_sched_words(),
        strict,
        placed: 0,
        fresh: registers.used,
        used: registers.used,
        limit: registers.limit,
        tables: Tables::new(code.blocks.iter().map(|b| b.body.len() + b.tail.len()).max().unwrap_or(0)),
        free_list: FreeList::default(),
        scratch: Scratch::default(),
    };
    for (block, after) in code.blocks.iter_mut().zip(&after) {
        s.block(block, &mut code.touched, after);
        s.placed += block.body.len() + block.tail.len();
    }
    s.used
}

struct Scheduler {
    /// Whether two may issue together.
    pairs: bool,
    /// Registers are shared with those who are not in the block.
    strict: bool,
    /// Instructions before the block.
    placed: usize,
    /// The first register that the code did not use.
    fresh: u32,
    /// How many are in use, and how many may be.
    used: u32,
    limit: u32,
    tables: Tables,
    free_list: FreeList,
    scratch: Scratch,
}

/// So many instructions of the old order are looked at together, one try after the other: long blocks that find no registers with
/// all have loads to hide.
const WINDOWS: [usize; 4] = [usize::MAX, 64, 32, 16];

/// The old order stays if it takes longer than the least that is possible by no more than this part
/// of it: if registers may move, and if not. Twice as much costs 0.6 % of the cycles, four times as much 1 %, and they save 1 %
/// of the compile time each.
const NEAR: Cycle = 16;
const NEAR_IN_PLACE: Cycle = 4;

/// Registers that the code did not have, and that cost no resident warp, are taken for an order that
/// takes fewer cycles by this share, in percent: a store holds its sources for 15 cycles, and what
/// is made in the same registers for the next one waits. Executed over 73 kernels that ptxas compiles
/// too, cycles are 1.071 of its with 35 here, 1.047 with 20, 1.030 with 12 and 1.018 with 6;
/// registers are 1.056, 1.104 and 1.161 of those with 35.
const WORTH: Cycle = 6;

/// An order of a block, and the registers that its live ranges have in it.
struct Plan {
    cycles: Cycle,
    order: Vec<u32>,
    registers: Vec<u16>,
    used: u32,
}

impl Scheduler {
    fn block(&mut self, block: &mut MBlock, touched: &mut Touched, after: &Set) {
        if block.body.len() < 2 {
            return;
        }
        let lines: Vec<&Line> = block.lines().collect();
        let plan = self.plan(&lines, touched, after);
        if let Some(plan) = plan {
            self.used = self.used.max(plan.used);
            self.apply(block, touched, plan);
        }
    }

    /// The best order that is found, if it is better than the old one.
    fn plan(&mut self, lines: &[&Line], touched: &Touched, after: &Set) -> Option<Plan> {
        let calls = lines.iter().any(|l| l.inst.op == Op::Cal);
        if !calls {
            self.tables.read(lines, touched, after, Moves::Allowed);
            let old = self.in_order();
            let least = self.tables.longest().max(lines.len() as Cycle / 2);
            if old <= least + least / NEAR {
                return None;
            }
            let allowed = self.allowed(lines, touched);
            let mut best = self.windows(lines, after, &allowed, self.used);
            let cycles = best.as_ref().map_or(old, |p| p.cycles.min(old));
            let enough = cycles * (100 - WORTH) / 100;
            if self.limit > self.used && least <= enough && self.scratch.short {
                let more = self.windows(lines, after, &allowed, self.limit);
                best = more.filter(|m| m.cycles <= enough).or(best);
            }
            if best.is_some() || old <= least + least / NEAR_IN_PLACE {
                return best.filter(|p| p.cycles < old);
            }
        }
        if calls {
            self.tables.read(lines, touched, after, Moves::Forbidden);
        } else {
            self.tables.read_in_place(lines, touched, after);
        }
        let old = self.in_order();
        let best = self.list(lines, after, &Set::default(), 0, usize::MAX);
        best.filter(|p| p.cycles < old)
    }

    /// The order that is found with so many registers, the more of the block being looked at the
    /// better.
    fn windows(&mut self, lines: &[&Line], after: &Set, allowed: &Set, limit: u32) -> Option<Plan> {
        self.scratch.short = false;
        let smaller = WINDOWS.into_iter().skip(1).filter(|&w| w < lines.len());
        WINDOWS.into_iter().take(1).chain(smaller).find_map(|w| self.list(lines, after, allowed, limit, w))
    }

    /// The registers that live ranges of a block may move to.
    fn allowed(&self, lines: &[&Line], touched: &Touched) -> Set {
        if !self.strict {
            return Set::ALL;
        }
        let mut allowed = Set::default();
        lines.iter().flat_map(|l| touched.writes(l.touches)).for_each(|&r| allowed.insert(r));
        (self.fresh..255).for_each(|r| allowed.insert(Resource::Gpr(r as u8).index() as u16));
        allowed
    }

    /// What an instruction would find in a register instead of what it reads, if there is such an
    /// instruction: its place in the old order, and the register.
    fn mistake(&self, plan: &Plan) -> Option<(u32, u16)> {
        let ranges = &self.tables.ranges;
        let mut there = [NONE; Resource::COUNT];
        for (range, w) in (0..).zip(&ranges.list).filter(|(_, w)| w.enters) {
            there[usize::from(w.register)] = range;
        }
        for &k in &plan.order {
            for &range in ranges.reads(k as usize) {
                let r = plan.registers[range as usize];
                if there[usize::from(r)] != range {
                    return Some((k, r));
                }
            }
            ranges
                .writes(k as usize)
                .iter()
                .for_each(|&range| there[usize::from(plan.registers[range as usize])] = range);
        }
        None
    }

    /// Puts the instructions into an order, with the registers that were found on the way.
    fn apply(&self, block: &mut MBlock, touched: &mut Touched, plan: Plan) {
        debug_assert_eq!(self.mistake(&plan), None, "an instruction finds another value in a register");
        let Plan { mut order, registers, .. } = plan;
        let body = block.body.len();
        for (k, line) in block.body.iter_mut().chain(&mut block.tail).enumerate() {
            if self.tables.ranges.rewrite(k, &mut line.inst, |range| registers[range as usize]) {
                line.touches = touched.add(&line.inst);
            }
        }
        order.truncate(body);
        permute(&mut block.body, &order);
    }

    /// Cycles that the old order takes, with registers enough.
    fn in_order(&self) -> Cycle {
        let t = &self.tables;
        let class = |k: usize| t.kinds[k].class();
        let mut clock = Clock::default();
        let mut issued: Vec<Cycle> = Vec::with_capacity(t.kinds.len());
        let ready = |issued: &[Cycle], k: usize| {
            t.graph.edges(k).iter().fold(0, |at, e| match issued.get(e.earlier as usize) {
                Some(i) => at.max(i + Cycle::from(e.cycles)),
                // The first of a pair, which issues now.
                None => at.max(if e.cycles == 0 { 0 } else { Cycle::MAX }),
            })
        };
        let mut k = 0;
        while k < t.kinds.len() {
            clock.now = clock.free_at(class(k)).max(ready(&issued, k));
            clock.issue(class(k));
            let mut gap = t.kinds[k].gap;
            let may_pair = self.pairs && issue::may_begin_pair(self.placed + k);
            k += 1;
            if may_pair
                && let Some(next) = t.kinds.get(k)
                && t.kinds[k - 1].leads(next)
                && ready(&issued, k) <= clock.now
                && clock.free_at(class(k)) <= clock.now
            {
                clock.issue(class(k));
                gap = gap.max(next.gap);
                k += 1;
            }
            issued.resize(k, clock.now);
            clock.now += Cycle::from(gap);
        }
        clock.now
    }

    /// Finds an order; none if so many registers do not suffice for it.
    fn list(
        &mut self,
        lines: &[&Line],
        after: &Set,
        allowed: &Set,
        limit: u32,
        window: usize,
    ) -> Option<Plan> {
        let (placed, pairs) = (self.placed, self.pairs);
        self.free_list.start(&self.tables.ranges, after, allowed, self.used, limit);
        let mut list = List::new(&self.tables, &mut self.free_list, &mut self.scratch, lines, window);
        while list.order.len() < lines.len() {
            let now = list.clock.now;
            list.wake(now);
            let Some(first) = list.first()? else { continue };
            let place = list.order.len();
            let mut gap = self.tables.kinds[first].gap;
            list.issue(first);
            if pairs && issue::may_begin_pair(placed + place) && gap == 1 {
                list.wake(now);
                if let Some(second) = list.second(first) {
                    gap = self.tables.kinds[second].gap;
                }
            }
            list.clock.now += Cycle::from(gap);
        }
        let (cycles, order) = (list.clock.now, list.order);
        Some(Plan { cycles, order, registers: self.free_list.registers(), used: self.free_list.used() })
    }
}

/// Puts the lines into an order: the places from which they come.
fn permute(lines: &mut [Line], order: &[u32]) {
    let mut to = vec![0; order.len()];
    for (place, &from) in order.iter().enumerate() {
        to[from as usize] = place;
    }
    for k in 0..lines.len() {
        while to[k] != k {
            let place = to[k];
            lines.swap(k, place);
            to.swap(k, place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chip::Chip;
    use crate::diag::Loc;
    use crate::emit::code::MBlock;
    use crate::isa::effects::{MemoryEffect, memory as memory_effect};
    use crate::isa::text;
    use crate::isa::{MInst, Operand, Reg};

    fn reordered(lines: &[&str]) -> Vec<String> {
        let line = |s: &&str| Line::new(text::parse(Chip::Gk110, s, 8, &|_| None).unwrap(), Loc::default());
        let block = MBlock { body: lines.iter().map(line).collect(), falls: true, ..MBlock::default() };
        let mut code = Code { blocks: vec![block], ..Code::default() };
        code.note_touches();
        run(Chip::Gk110, &mut code, Registers { used: 41, limit: 41, results: 41 });
        code.blocks[0].body.iter().map(|l| text::print(Chip::Gk110, &l.inst)).collect()
    }

    #[track_caller]
    fn stays(lines: &[&str]) {
        assert_eq!(reordered(lines), lines);
    }

    #[test]
    fn stores_and_loads_keep_their_order() {
        stays(&["ST.E [R2], R0", "LD.E R6, [R4]", "MOV R0, R9", "ST.E [R8], R6"]);
        stays(&["IADD R0, R0, R5", "ATOM.ADD R1, [R0], R0", "LDS R6, [R7]"]);
    }

    #[test]
    fn which_lanes_are_killed_is_asked_when_they_are() {
        stays(&["IADD R2, R2, R3", "@P0 KIL", "S2R R0, SR_THREAD_KILL", "ISETP.NE.AND P1, PT, R0, RZ, PT"]);
    }

    #[test]
    fn what_is_read_is_not_overwritten_before_and_the_last_write_stays_the_last() {
        stays(&["IADD R1, R0, R0", "ISETP.LT.AND P0, PT, R1, R2, PT", "@P0 MOV R3, R4", "MOV R3, R5"]);
        stays(&["IADD R1, R0, R0", "IADD R2, R1, R1", "MOV R1, R5"]);
    }

    #[test]
    fn a_carry_is_not_replaced_between_its_definition_and_its_reader() {
        let chain = ["IADD R1.CC, R0, R0", "IADD.X R2, R0, R0", "IADD R3.CC, R4, R4", "IADD.X R5, R4, R4"];
        let moves: Vec<String> = (0..12).map(|k| format!("MOV R{}, R{}", 9 + k, 21 + k)).collect();
        let code: Vec<&str> = chain.into_iter().chain(moves.iter().map(String::as_str)).collect();
        let new = reordered(&code);
        let at = |s: &str| new.iter().position(|l| l == s).unwrap();
        assert!(
            at(code[0]) < at(code[1]) && at(code[1]) < at(code[2]) && at(code[2]) < at(code[3]),
            "{new:?}"
        );
        assert_ne!(new, code);
    }

    #[test]
    fn nothing_moves_past_a_reading_of_the_clock() {
        stays(&["IADD R0, R0, R5", "IADD R1, R0, R5", "S2R R2, SR_CLOCKLO", "MOV R3, R4"]);
    }

    #[test]
    fn what_does_not_wait_goes_first_and_loads_early() {
        let moves: Vec<String> = (0..10).map(|k| format!("MOV R{}, R{}", 2 + k, 20 + k)).collect();
        let lines = ["S2R R0, SR_TID.X", "SHL R1, R0, 0x2"].into_iter();
        let new = reordered(&lines.chain(moves.iter().map(String::as_str)).collect::<Vec<_>>());
        assert_eq!((new[0].as_str(), new[11].as_str()), ("S2R R0, SR_TID.X", "SHL R1, R0, 0x2"));
        // Too little to be won.
        stays(&["FADD R0, R0, R6", "FADD R0, R0, R7", "FADD R0, R0, R8", "FADD R0, R0, R9", "MOV R2, R10"]);
        let sum = "FADD R4, R4, R6";
        let late = ["FADD R4, R5, R6", sum, sum, sum, sum, "LD.E R0, [R2]", "FADD R1, R0, R4"];
        assert_eq!(reordered(&late)[0], "LD.E R0, [R2]");
    }

    #[test]
    fn long_blocks_keep_all_their_instructions() {
        let text: Vec<String> =
            (0..2000).map(|k| format!("IADD R{}, R{}, R{}", k % 40, k % 7, (k * 5) % 40)).collect();
        let old: Vec<MInst> =
            text.iter().map(|s| text::parse(Chip::Gk110, s, 8, &|_| None).unwrap()).collect();
        let new = scheduled(&text, 60, 40);
        assert_eq!(new.len(), old.len());
        assert_ne!(new, old);
        assert_eq!(meaning(&new, 0).0[8..48], meaning(&old, 0).0[8..48]);
    }

    /// With registers up to `limit`, of which the first `results` are read at the end.
    fn scheduled(lines: &[String], limit: u32, results: u32) -> Vec<MInst> {
        let line = |s: &String| Line::new(parsed(s), Loc::default());
        let exit = || Line::new(MInst::new(Op::Exit), Loc::default());
        let block =
            MBlock { body: lines.iter().map(line).collect(), tail: vec![exit()], ..MBlock::default() };
        let mut code = Code { blocks: vec![block], ..Code::default() };
        code.note_touches();
        run(Chip::Gk110, &mut code, Registers { used: 16, limit, results });
        code.blocks[0].body.iter().map(|l| l.inst.clone()).collect()
    }

    #[test]
    fn what_only_shares_a_register_gets_another_one_and_goes_side_by_side() {
        let chains = ["SHL R3, R0, 0x8", "LOP.OR R0, R0, R3", "SHL R3, R1, 0x8", "LOP.OR R1, R1, R3"];
        let new = scheduled(&chains.map(String::from), 16, 2);
        let ops: Vec<Op> = new.iter().map(|m| m.op).collect();
        assert_eq!(ops, [Op::Shl, Op::Shl, Op::Lop, Op::Lop]);
        assert_ne!(new[0].operands[0], new[1].operands[0]);
    }

    #[test]
    fn loads_by_64_bit_addresses_go_side_by_side_though_there_is_one_condition_code() {
        let round = |a: u8| {
            [
                format!("IADD R8.CC, R{a}, R6"),
                format!("IADD.X R9, R{}, R7", a + 1),
                "LD.E R10, [R8]".to_string(),
                "IADD R8.CC, R10, R6".to_string(),
                "IADD.X R9, RZ, R7".to_string(),
                "LD.E R11, [R8]".to_string(),
                "IADD R0, R0, R11".to_string(),
            ]
        };
        let lines = [round(2), round(4)].concat();
        let new = scheduled(&lines, 24, 1);
        let loads: Vec<usize> = (0..new.len()).filter(|&k| new[k].op == Op::Ld).collect();
        let reads = |k: usize, r: &Operand| new[k].operands[1..].contains(r);
        let first_use = (0..new.len()).find(|&k| reads(k, &new[loads[0]].operands[0])).unwrap();
        assert!(loads[1] < first_use, "{new:#?}");
        assert_eq!(
            meaning(&new, 1).0[8],
            meaning(&lines.iter().map(|s| parsed(s)).collect::<Vec<_>>(), 1).0[8]
        );
    }

    #[test]
    fn what_is_predicated_alike_gets_other_registers_and_goes_side_by_side() {
        let load = |p: u8| [format!("@P{p} LD.E R8, [R{}]", 2 + 2 * p), format!("@P{p} FADD R{p}, R{p}, R8")];
        let new = scheduled(&[load(0), load(1)].concat(), 24, 2);
        let ops: Vec<Op> = new.iter().map(|m| m.op).collect();
        assert_eq!(ops, [Op::Ld, Op::Ld, Op::Fadd, Op::Fadd]);
        // Who reads it whatever the predicate says needs what was there.
        let read = [
            "MOV R8, R9",
            "@P0 LD.E R8, [R2]",
            "FADD R0, R0, R8",
            "@P0 LD.E R8, [R4]",
            "@!P0 FADD R1, R1, R8",
        ];
        let lines = read.map(String::from);
        let (old, new): (Vec<MInst>, _) =
            (lines.iter().map(|s| parsed(s)).collect(), scheduled(&lines, 24, 2));
        for seed in 0..8 {
            assert_eq!(meaning(&new, seed).0[8..10], meaning(&old, seed).0[8..10], "{new:#?}");
        }
    }

    fn parsed(s: &str) -> MInst {
        text::parse(Chip::Gk110, s, 8, &|_| None).unwrap()
    }

    #[test]
    fn what_is_read_at_the_end_keeps_its_register() {
        let code = ["MOV R2, R9", "MOV R5, R2", "MOV R2, R8", "MOV R0, R5"].map(String::from);
        let new = scheduled(&code, 16, 3);
        let last = |r| new.iter().rfind(|m| m.operands[0] == Operand::reg(Reg(r))).unwrap().operands[1];
        assert_eq!(last(2), Operand::reg(Reg(8)));
    }

    /// What the resources of a thread hold at the end, and the memory, as hashes of how they were computed; `seed` decides what they
    /// held before. Predicates are the lowest bit of what they hold.
    fn meaning(code: &[MInst], seed: u64) -> (Vec<u64>, u64) {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut held: Vec<u64> = (0..Resource::COUNT as u64).map(|r| (r, seed).hash_one()).collect();
        let mut memory = 0u64;
        for m in code {
            if !m.guard.is_true() && (held[usize::from(m.guard.num)] & 1 == 1) == m.guard.not {
                continue;
            }
            let mut touched = Touched::default();
            let t = touched.add(m);
            let mut h = DefaultHasher::new();
            (m.op, &m.mods).hash(&mut h);
            for o in &m.operands {
                match o {
                    Operand::Imm { bits, .. } => bits.hash(&mut h),
                    Operand::Mem { offset, .. } => offset.hash(&mut h),
                    Operand::Pred(p) => (p.not, p.num == 7).hash(&mut h),
                    Operand::Reg { reg, .. } => (*reg == Reg::Z).hash(&mut h),
                    _ => {}
                }
            }
            // The guard is read, too, and true.
            let reads = touched.reads(t).iter().skip(usize::from(!m.guard.is_true()));
            reads.for_each(|&r| held[usize::from(r)].hash(&mut h));
            if memory_effect(m) != MemoryEffect::None {
                memory.hash(&mut h);
            }
            let value = h.finish();
            if memory_effect(m) == MemoryEffect::Write {
                memory = value;
            }
            for (k, &r) in touched.writes(t).iter().enumerate() {
                held[usize::from(r)] = (value, k).hash_one();
            }
        }
        (held, memory)
    }

    trait HashOne {
        fn hash_one(&self) -> u64;
    }

    impl<T: std::hash::Hash> HashOne for T {
        fn hash_one(&self) -> u64 {
            use std::hash::{DefaultHasher, Hasher};
            let mut h = DefaultHasher::new();
            self.hash(&mut h);
            h.finish()
        }
    }

    #[test]
    fn random_blocks_compute_what_they_did() {
        let mut seed = 1u64;
        let mut random = |n: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        let mut moved = 0;
        for round in 0..600 {
            let count = 3 + random(60);
            let lines: Vec<String> = (0..count)
                .map(|_| {
                    let mut r = || random(14);
                    let (a, b, c) = (r(), r(), r());
                    let (pair, quad) = (2 * (a / 2), 4 * (b / 4));
                    let p = c % 3;
                    match random(16) {
                        0 => format!("IADD R{a}, R{b}, R{c}"),
                        1 => format!("SHL R{a}, R{b}, 0x{c}"),
                        2 => format!("@P{p} MOV R{a}, R{b}"),
                        3 => format!("ISETP.LT.AND P{p}, PT, R{a}, R{b}, PT"),
                        4 => format!("LDS.64 R{pair}, [R{b}]"),
                        5 => format!("STS.64 [R{b}+0x4], R{pair}"),
                        6 => format!("LDS.128 R{quad}, [R{a}]"),
                        7 => format!("STS.128 [R{a}], R{quad}"),
                        8 => format!("IADD R{a}.CC, R{b}, R{c}"),
                        9 => format!("IADD.X R{a}, R{b}, R{c}"),
                        10 => format!("@!P{p} LDS R{a}, [R{b}+0x4]"),
                        11 => format!("FFMA R{a}, R{b}, R{c}, R{a}"),
                        12 => format!("@P{p} IADD R{a}.CC, R{b}, R{c}"),
                        13 => format!("@!P{p} IADD.X R{a}, R{b}, R{c}"),
                        14 => format!("@P{p} LDS.64 R{pair}, [R{a}]"),
                        _ => format!("SEL R{a}, R{b}, R{c}, P{p}"),
                    }
                })
                .collect();
            let old: Vec<MInst> = lines.iter().map(|s| parsed(s)).collect();
            let results = [0, 4, 16][round % 3];
            let new = scheduled(&lines, [16, 24, 40][round / 3 % 3], results as u32);
            moved += usize::from(new != old);
            for seed in 0..8 {
                let ((held, memory), (now, memory_now)) = (meaning(&old, seed), meaning(&new, seed));
                assert_eq!(held[8..8 + results], now[8..8 + results], "{lines:#?}");
                assert_eq!(memory, memory_now, "{lines:#?}");
            }
        }
        assert!(moved > 200, "{moved}");
    }
}
