//! The order of instructions in straight code: a list scheduler.
//!
//! ```text
//! S2R R0, SR_TID.X           S2R R0, SR_TID.X
//! SHL R1, R0, 0x2            MOV R2, c[0x0][0x8]
//! MOV R2, c[0x0][0x8]   ->   MOV R3, c[0x0][0xc]
//! MOV R3, c[0x0][0xc]        SHL R1, R0, 0x2
//! ```
//!
//! Both generations issue in order, so an instruction whose operands are not there yet holds up all behind it. Cycle by
//! cycle, of those whose predecessors have issued, the one that can issue first is taken; among several the one with
//! the longest way of latencies to the end of the code, then the first. It works on registers as assigned: pressure and
//! the number of instructions stay what they are. The new order is kept if it takes fewer cycles by the model of
//! [`super::issue`].
//!
//! Safe because what touches the same register, predicate or condition code keeps its order (two readers excepted),
//! and so do memory accesses of which one writes; what orders memory, talks to other warps, or reads the clock stays
//! where it is. Control flow is not in the code that is looked at.

use super::effects::{MemoryEffect, Resource, memory, reads, writes};
use super::issue::latency_of;
use crate::isa::row::Unit;
use crate::isa::{MInst, Op, Operand, latency};
use crate::isel::code::{Code, Line};
use arrayvec::ArrayVec;

/// Instructions that are looked at together: as many as a mask has bits.
const WINDOW: usize = 64;

/// Cycles that are hoped to lie between a load and its first reader, beyond what the scoreboard makes sure of.
const MEMORY_LATENCY: u32 = 100;

/// Reorders the instructions of every block.
pub fn run(code: &mut Code) {
    let mut s = Scheduler::default();
    for block in &mut code.blocks {
        let mut start = 0;
        while start < block.body.len() {
            let end = block.body.len().min(start + WINDOW);
            s.region(&mut block.body[start..end]);
            start = end;
        }
    }
}

/// What one instruction touches.
#[derive(Default)]
struct Touched {
    reads: ArrayVec<u16, 24>,
    writes: ArrayVec<u16, 24>,
    /// There is more.
    over: bool,
}

/// Tables that are made once.
struct Scheduler {
    /// The last instruction of the region that writes a resource (its number + 1), and a mask of those that read it since.
    writer: [u8; Resource::COUNT],
    readers: [u64; Resource::COUNT],
    /// The cycle at which a resource may be read.
    ready: [u32; Resource::COUNT],
}

impl Default for Scheduler {
    fn default() -> Scheduler {
        Scheduler { writer: [0; Resource::COUNT], readers: [0; Resource::COUNT], ready: [0; Resource::COUNT] }
    }
}

impl Scheduler {
    fn region(&mut self, lines: &mut [Line]) {
        let n = lines.len();
        if n < 3 {
            return;
        }
        let touched: ArrayVec<Touched, WINDOW> = lines.iter().map(|l| touches(&l.inst)).collect();
        let old = self.cycles(lines, &touched);
        // Nothing waits for anything.
        if old <= lines.iter().map(|l| gap(&l.inst)).sum() {
            return;
        }
        let Some(graph) = self.graph(lines, &touched) else { return };
        let (order, cycles) = self.list(lines, &touched, &graph);
        if cycles < old {
            let mut at = [0u8; WINDOW];
            order.iter().enumerate().for_each(|(place, &k)| at[usize::from(k)] = place as u8);
            permute(lines, &mut at);
        }
    }

    /// What must come before what. Nothing where every instruction has to stay.
    fn graph(&mut self, lines: &[Line], touched: &[Touched]) -> Option<Graph> {
        let n = lines.len();
        let mut before: ArrayVec<u64, WINDOW> = ArrayVec::new();
        // Those among them whose result it reads.
        let mut needs: ArrayVec<u64, WINDOW> = ArrayVec::new();
        let (mut loads, mut stores, mut fence) = (0u64, 0u64, 0u64);
        let mut free = false;
        for (k, (l, t)) in lines.iter().zip(touched).enumerate() {
            let bit = 1u64 << k;
            let (mut all, mut results) = (fence, 0);
            for &r in &t.reads {
                let w = self.writer[usize::from(r)];
                if w != 0 {
                    results |= 1 << (w - 1);
                }
                self.readers[usize::from(r)] |= bit;
            }
            for &r in &t.writes {
                let r = usize::from(r);
                if self.writer[r] != 0 {
                    all |= 1 << (self.writer[r] - 1);
                }
                all |= self.readers[r] & !bit;
                self.writer[r] = k as u8 + 1;
                self.readers[r] = 0;
            }
            match memory(&l.inst) {
                _ if t.over || is_fixed(&l.inst) => {
                    all |= bit - 1;
                    fence = bit;
                }
                MemoryEffect::None => {}
                MemoryEffect::Read => {
                    all |= stores;
                    loads |= bit;
                }
                MemoryEffect::Write => {
                    all |= loads | stores;
                    (loads, stores) = (0, bit);
                }
                MemoryEffect::Barrier => {
                    all |= loads | stores;
                    (loads, stores) = (bit, bit);
                }
            }
            all |= results;
            free |= k > 0 && all & 1 << (k - 1) == 0;
            before.push(all);
            needs.push(results);
        }
        for t in touched {
            for &r in t.reads.iter().chain(&t.writes) {
                self.writer[usize::from(r)] = 0;
                self.readers[usize::from(r)] = 0;
            }
        }
        if !free {
            return None;
        }
        let mut g = Graph { after: [0; WINDOW], open: [0; WINDOW], height: [0; WINDOW] };
        for k in (0..n).rev() {
            let own = g.height[k];
            g.open[k] = before[k].count_ones() as u8;
            for p in bits(before[k]) {
                g.after[p] |= 1 << k;
                let wait = if needs[k] >> p & 1 != 0 { distance(&lines[p].inst) } else { 1 };
                g.height[p] = g.height[p].max(own + wait);
            }
        }
        Some(g)
    }

    /// The order, and the cycle after the last.
    fn list(&mut self, lines: &[Line], touched: &[Touched], g: &Graph) -> (ArrayVec<u8, WINDOW>, u32) {
        let n = lines.len();
        // Instructions by their importance: candidates are a mask over places in this list.
        let mut ranked = [0u8; WINDOW];
        (0..n).for_each(|k| ranked[k] = k as u8);
        ranked[..n].sort_unstable_by_key(|&k| (std::cmp::Reverse(g.height[usize::from(k)]), k));
        let mut rank = [0u8; WINDOW];
        (0..n).for_each(|place| rank[usize::from(ranked[place])] = place as u8);
        let mut left = g.open;
        let mut candidates = (0..n).filter(|&k| left[k] == 0).fold(0u64, |m, k| m | 1 << rank[k]);
        let mut order = ArrayVec::new();
        let mut now = 0;
        while candidates != 0 {
            let mut best = (u32::MAX, 0);
            for place in bits(candidates) {
                let k = usize::from(ranked[place]);
                let at = self.earliest(&lines[k].inst, &touched[k], now);
                if at < best.0 {
                    best = (at, place);
                }
                if at == now {
                    break;
                }
            }
            let (at, place) = best;
            candidates &= !(1 << place);
            let k = usize::from(ranked[place]);
            now = self.issue(&lines[k].inst, &touched[k], at);
            order.push(k as u8);
            for s in bits(g.after[k]) {
                left[s] -= 1;
                candidates |= u64::from(left[s] == 0) << rank[s];
            }
        }
        self.forget(touched);
        (order, now)
    }

    /// The cycle after the last, in the order as it is.
    fn cycles(&mut self, lines: &[Line], touched: &[Touched]) -> u32 {
        let mut now = 0;
        for (l, t) in lines.iter().zip(touched) {
            let at = self.earliest(&l.inst, t, now);
            now = self.issue(&l.inst, t, at);
        }
        self.forget(touched);
        now
    }

    /// Issues an instruction at cycle `at`, and returns when the next one may.
    fn issue(&mut self, m: &MInst, t: &Touched, at: u32) -> u32 {
        for &r in &t.writes {
            self.ready[usize::from(r)] = at + wait(m, r);
        }
        at + gap(m)
    }

    fn forget(&mut self, touched: &[Touched]) {
        for t in touched {
            t.writes.iter().for_each(|&r| self.ready[usize::from(r)] = 0);
        }
    }

    fn earliest(&self, m: &MInst, t: &Touched, now: u32) -> u32 {
        let read = t.reads.iter().map(|&r| self.ready[usize::from(r)]).max().unwrap_or(0);
        let write = t
            .writes
            .iter()
            .map(|&r| self.ready[usize::from(r)].saturating_sub(wait(m, r) - 1))
            .max()
            .unwrap_or(0);
        now.max(read).max(write)
    }
}

/// What must come before what in a region of at most 64 instructions.
struct Graph {
    /// Masks of the instructions that an instruction must come before.
    after: [u64; WINDOW],
    /// How many must come before it.
    open: [u8; WINDOW],
    /// Latencies from it to the end of the region.
    height: [u32; WINDOW],
}

/// Cycles from an instruction to the next, whatever that is.
fn gap(m: &MInst) -> u32 {
    latency::issue(m.op).max(1)
}

fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let k = (mask != 0).then(|| mask.trailing_zeros() as usize)?;
        mask &= mask - 1;
        Some(k)
    })
}

fn touches(m: &MInst) -> Touched {
    let mut t = Touched::default();
    let mut over = false;
    reads(m, |r| over |= t.reads.try_push(r.index() as u16).is_err());
    writes(m, |r| over |= t.writes.try_push(r.index() as u16).is_err());
    t.over = over;
    t
}

/// Cycles until resource number `r`, which the instruction writes, may be read.
fn wait(m: &MInst, r: u16) -> u32 {
    match usize::from(r) {
        r if r < Resource::Pred(0).index() => latency::result(m.op),
        r if r < Resource::Carry.index() => latency::predicate(m.op),
        _ => latency_of(m, Resource::Carry),
    }
}

/// Cycles that should lie between an instruction and a reader of its result.
fn distance(m: &MInst) -> u32 {
    match latency::unit(m.op) {
        Unit::Memory | Unit::Texture => MEMORY_LATENCY,
        _ => latency::result(m.op),
    }
}

/// Whether everything before it stays before it, and everything behind it behind.
fn is_fixed(m: &MInst) -> bool {
    let clock = |o: &Operand| matches!(o, Operand::Sreg(n) if (80..=81).contains(n) || *n == 1);
    m.sync
        || latency::unit(m.op) == Unit::Flow
        || m.op == Op::Texdepbar
        || m.op == Op::S2r && m.operands.iter().any(clock)
}

/// Puts each line at its place, by exchanges.
fn permute(lines: &mut [Line], at: &mut [u8]) {
    for k in 0..lines.len() {
        while usize::from(at[k]) != k {
            let to = usize::from(at[k]);
            lines.swap(k, to);
            at.swap(k, to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chip::Chip;
    use crate::ir::Loc;
    use crate::isa::text;
    use crate::isel::code::MBlock;

    fn reordered(lines: &[&str]) -> Vec<String> {
        let line =
            |s: &&str| Line { inst: text::parse(Chip::Gk110, s, 8, &|_| None).unwrap(), loc: Loc::default() };
        let block = MBlock { body: lines.iter().map(line).collect(), ..MBlock::default() };
        let mut code = Code { blocks: vec![block], labels: Vec::new() };
        run(&mut code);
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
    fn what_is_read_is_not_overwritten_before_and_the_last_write_stays_the_last() {
        stays(&["IADD R1, R0, R0", "ISETP.LT.AND P0, PT, R1, R2, PT", "@P0 MOV R3, R4", "MOV R3, R5"]);
        stays(&["IADD R1, R0, R0", "IADD R2, R1, R1", "MOV R1, R5"]);
    }

    #[test]
    fn a_carry_is_not_replaced_between_its_definition_and_its_reader() {
        let code = [
            "IADD R1.CC, R0, R0",
            "IADD.X R2, R0, R0",
            "IADD R3.CC, R4, R4",
            "IADD.X R5, R4, R4",
            "MOV R9, R8",
        ];
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
        assert_eq!(
            reordered(&["S2R R0, SR_TID.X", "SHL R1, R0, 0x2", "MOV R2, R10", "MOV R3, R11"]),
            ["S2R R0, SR_TID.X", "MOV R2, R10", "MOV R3, R11", "SHL R1, R0, 0x2"]
        );
        assert_eq!(
            reordered(&["FADD R4, R5, R6", "FADD R4, R4, R6", "LD.E R0, [R2]", "FADD R1, R0, R4"])[0],
            "LD.E R0, [R2]"
        );
    }

    #[test]
    fn regions_of_any_length_keep_all_their_instructions() {
        let text: Vec<String> =
            (0..200).map(|k| format!("IADD R{}, R{}, R{}", k % 40, k % 7, (k * 5) % 40)).collect();
        let lines: Vec<&str> = text.iter().map(String::as_str).collect();
        let mut new = reordered(&lines);
        assert_ne!(new, lines);
        new.sort();
        let mut all = text.clone();
        all.sort();
        assert_eq!(new, all);
    }
}
