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

use super::issue::{gap, latency_of, overtaking};
use crate::isa::code::{Code, Line};
use crate::isa::effects::{MemoryEffect, Touched, memory};
use crate::isa::row::Unit;
use crate::isa::{MInst, Op, Operand, latency};

/// Instructions that are looked at together: as many as a mask has bits.
const WINDOW: usize = 64;

/// Cycles that are hoped to lie between a load and its first reader, beyond what the scoreboard makes sure of.
const MEMORY_LATENCY: u32 = 100;

/// Reorders the instructions of every block.
pub fn run(code: &mut Code) {
    let mut s = Scheduler::default();
    for block in &mut code.blocks {
        block.body.chunks_mut(WINDOW).for_each(|region| s.region(region, &code.touched));
    }
}

/// The instructions of a region, before the present one, that touch a resource.
#[derive(Clone, Copy, Default)]
struct Users {
    /// The region that this is about.
    region: u32,
    /// The last that writes it and its latency; its number is of no meaning where the latency is 0: nobody does.
    writer: u8,
    latency: u8,
    /// A mask of those that read it since.
    readers: u64,
}

/// An instruction of a region. Masks are over the instructions in their old order.
#[derive(Default)]
struct Node {
    /// What must come before it.
    before: u64,
    /// Those among them whose result it reads.
    needs: u64,
    /// What it must come before.
    after: u64,
    /// How many must come before it and have not issued.
    open: u32,
    /// A range of [`Scheduler::waits`].
    waits: [u32; 2],
    /// Cycles to the next instruction, whatever that is.
    gap: u32,
    /// Cycles that should lie between it and a reader of its result.
    distance: u32,
    /// Such cycles from it to the end of the region.
    height: u32,
    /// The cycle at which it issued, in the order that is tried.
    issued: u32,
}

/// So many cycles must lie between an earlier instruction and this one.
struct Wait {
    earlier: u8,
    cycles: u8,
}

/// Tables that are made once.
#[derive(Default)]
struct Scheduler {
    region: u32,
    /// By [`super::effects::Resource::index`], as far as resources occur.
    users: Vec<Users>,
    nodes: Vec<Node>,
    waits: Vec<Wait>,
}

impl Scheduler {
    fn region(&mut self, lines: &mut [Line], touched: &Touched) {
        if lines.len() < 3 {
            return;
        }
        let (free, old) = self.read(lines, touched);
        // All have to stay, or nothing waits for anything.
        if !free || old <= self.nodes.iter().map(|n| n.gap).sum() {
            return;
        }
        self.measure();
        if let Some(mut at) = self.list(old) {
            permute(lines, &mut at);
        }
    }

    /// Makes the nodes, as far as the instructions before each matter. Whether any may move, and the cycle after the last in
    /// the order as it is.
    fn read(&mut self, lines: &[Line], touched: &Touched) -> (bool, u32) {
        self.region += 1;
        self.nodes.clear();
        self.nodes.reserve(lines.len());
        self.waits.clear();
        self.waits.reserve(4 * lines.len());
        let (mut loads, mut stores, mut fence) = (0u64, 0u64, 0u64);
        let mut free = false;
        let mut now = 0;
        for (k, l) in lines.iter().enumerate() {
            let m = &l.inst;
            let bit = 1u64 << k;
            let (mut all, mut needs) = (fence, 0);
            let start = self.waits.len();
            for &r in touched.reads(l.touches) {
                let u = users(&mut self.users, r, self.region);
                u.readers |= bit;
                if u.latency > 0 {
                    needs |= 1 << u.writer;
                    self.waits.push(Wait { earlier: u.writer, cycles: u.latency });
                }
            }
            for &r in touched.writes(l.touches) {
                let u = users(&mut self.users, r, self.region);
                let latency = latency_of(m.op, r);
                all |= u.readers;
                if u.latency > 0 {
                    all |= 1 << u.writer;
                    let cycles = overtaking(u.latency.into(), latency) as u8;
                    self.waits.push(Wait { earlier: u.writer, cycles });
                }
                *u = Users { writer: k as u8, latency: latency as u8, readers: 0, ..*u };
            }
            match memory(m) {
                _ if is_fixed(m) => {
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
            let before = (all | needs) & (bit - 1);
            free |= (k > 0) & (before & bit >> 1 == 0);
            let issued = earliest(&self.nodes, &self.waits[start..]).max(now);
            let gap = gap(m.op);
            now = issued + gap;
            self.nodes.push(Node {
                before,
                needs,
                open: before.count_ones(),
                waits: [start as u32, self.waits.len() as u32],
                gap,
                distance: distance(m.op),
                issued,
                ..Node::default()
            });
        }
        (free, now)
    }

    /// Completes the nodes by what comes after each.
    fn measure(&mut self) {
        for k in (0..self.nodes.len()).rev() {
            let Node { before, needs, height, .. } = self.nodes[k];
            for p in bits(before) {
                let n = &mut self.nodes[p];
                n.after |= 1 << k;
                let wait = [1, n.distance][(needs >> p & 1) as usize];
                n.height = n.height.max(height + wait);
            }
        }
    }

    /// The place of each instruction in an order that takes fewer than `old` cycles, if one is found.
    fn list(&mut self, old: u32) -> Option<[u8; WINDOW]> {
        let n = self.nodes.len();
        // Instructions by their importance: masks of candidates are over ranks.
        let mut keys = [0u32; WINDOW];
        for (k, node) in self.nodes.iter().enumerate() {
            keys[k] = !node.height << 6 | k as u32;
        }
        let ranked = &mut keys[..n];
        ranked.sort_unstable();
        let mut rank = [0u8; WINDOW];
        // Candidates that can issue now, and those that must wait: until when, and the first such time.
        let mut ready = 0u64;
        let mut waiting = 0u64;
        let mut until = [0u32; WINDOW];
        let mut wake = u32::MAX;
        for (place, key) in ranked.iter_mut().enumerate() {
            *key &= WINDOW as u32 - 1;
            rank[*key as usize] = place as u8;
            ready |= u64::from(self.nodes[*key as usize].open == 0) << place;
        }
        let mut at = [0u8; WINDOW];
        let mut now = 0;
        for place in 0..n {
            // What is left takes a cycle each.
            if now + (n - place) as u32 >= old {
                return None;
            }
            if ready == 0 {
                now = now.max(wake);
            }
            if wake <= now {
                wake = u32::MAX;
                for c in bits(waiting) {
                    if until[c] <= now {
                        ready |= 1 << c;
                    } else {
                        wake = wake.min(until[c]);
                    }
                }
                waiting &= !ready;
            }
            let k = ranked[ready.trailing_zeros() as usize] as usize;
            ready &= ready - 1;
            at[k] = place as u8;
            let node = &mut self.nodes[k];
            node.issued = now;
            now += node.gap;
            for s in bits(node.after) {
                self.nodes[s].open -= 1;
                if self.nodes[s].open == 0 {
                    let c = usize::from(rank[s]);
                    let [start, end] = self.nodes[s].waits.map(|n| n as usize);
                    until[c] = earliest(&self.nodes, &self.waits[start..end]);
                    wake = wake.min(until[c]);
                    waiting |= 1 << c;
                }
            }
        }
        (now < old).then_some(at)
    }
}

/// The first cycle at which an instruction may issue, if all that it waits for have.
fn earliest(nodes: &[Node], waits: &[Wait]) -> u32 {
    waits.iter().fold(0, |at, w| at.max(nodes[usize::from(w.earlier)].issued + u32::from(w.cycles)))
}

/// Registers are used from the first on: a table that is too short is made longer by so many.
const SPARE: usize = 32;

/// The users of a resource in this region so far.
fn users(all: &mut Vec<Users>, r: u16, region: u32) -> &mut Users {
    let r = usize::from(r);
    if all.len() <= r {
        all.resize(r + SPARE, Users::default());
    }
    let u = &mut all[r];
    if u.region != region {
        *u = Users { region, ..Users::default() };
    }
    u
}

fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let k = (mask != 0).then(|| mask.trailing_zeros() as usize)?;
        mask &= mask - 1;
        Some(k)
    })
}

/// Cycles that should lie between an instruction and a reader of its result.
fn distance(op: Op) -> u32 {
    match latency::unit(op) {
        Unit::Memory | Unit::Texture => MEMORY_LATENCY,
        _ => latency::result(op).min(32),
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
    use crate::diag::Loc;
    use crate::isa::code::MBlock;
    use crate::isa::text;

    fn reordered(lines: &[&str]) -> Vec<String> {
        let line = |s: &&str| Line::new(text::parse(Chip::Gk110, s, 8, &|_| None).unwrap(), Loc::default());
        let block = MBlock { body: lines.iter().map(line).collect(), ..MBlock::default() };
        let mut code = Code { blocks: vec![block], ..Code::default() };
        code.note_touches();
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
