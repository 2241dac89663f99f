//! A choice between a value and a new one that is written over it: the new one computed under the
//! condition.
//!
//! ```text
//! IADD R7, R5, 0x1;               ISETP.GE.U32.AND P2, PT, R6, R2, PT;
//! ISETP.GE.U32.AND P2, ...;   ->  @P2 IADD R5, R5, 0x1;
//! SEL R5, R7, R5, P2;
//! ```
//!
//! The instruction moves to the place of the choice. That is right where nobody else reads what it
//! computes ([`Line::once`]), nothing between the two writes what it reads, and it does nothing but
//! write that one register.

use crate::emit::code::{Code, Line};
use crate::isa::effects::{MemoryEffect, Resource, memory, reads, writes};
use crate::isa::{MInst, Op, Operand, Reg};

/// How far back the instruction may stand.
const WINDOW: usize = 24;

/// Does so in all blocks.
pub(super) fn run(code: &mut Code) {
    for block in &mut code.blocks {
        let mut gone = false;
        for at in 1..block.body.len() {
            if block.body[at].once != 0
                && let Some((from, new)) = update(&block.body, at)
            {
                block.body[at] = Line::made(block.body[from].made, new, block.body[from].loc);
                block.body[from].inst = MInst::new(Op::Nop);
                gone = true;
            }
        }
        if gone {
            block.body.retain(|l| l.inst.op != Op::Nop || l.inst.sync);
        }
    }
}

/// The instruction that takes the place of a choice, and where it stands now.
fn update(body: &[Line], at: usize) -> Option<(usize, MInst)> {
    let choice = &body[at].inst;
    if choice.op != Op::Sel || !choice.guard.is_true() || choice.sync {
        return None;
    }
    let [ref d, ref a, ref b, Operand::Pred(p)] = choice.operands[..] else { return None };
    let d = plain(d)?;
    (0..2usize).find_map(|k| {
        let (new, kept) = if k == 0 { (a, b) } else { (b, a) };
        let (new, kept) = (plain(new)?, plain(kept)?);
        if body[at].once >> k & 1 == 0 || kept != d || new == d || new == Reg::Z || d == Reg::Z {
            return None;
        }
        let from = definition(body, at, new)?;
        let mut inst = body[from].inst.clone();
        inst.operands[0] = choice.operands[0];
        inst.guard = if k == 0 { p } else { !p };
        Some((from, inst))
    })
}

/// Where the register was computed, if that may as well happen here.
fn definition(body: &[Line], at: usize, register: Reg) -> Option<usize> {
    let mut written = [0u64; Resource::COUNT.div_ceil(64)];
    for from in (at.saturating_sub(WINDOW)..at).rev() {
        let m = &body[from].inst;
        // A function's results are in registers that its call does not name.
        if m.op == Op::Cal {
            return None;
        }
        let (mut mine, mut others) = (false, false);
        let mut all = written;
        writes(m, |r| {
            mine |= r == Resource::Gpr(register.0);
            others |= r != Resource::Gpr(register.0);
            all[r.index() / 64] |= 1 << (r.index() % 64);
        });
        if !mine {
            // A move of register allocation: to memory, or to where somebody wants the value beside
            // others.
            let mut moved = false;
            reads(m, |r| moved |= r == Resource::Gpr(register.0));
            if moved {
                return None;
            }
            written = all;
            continue;
        }
        let mut free = !others && movable(m) && m.operands.first().and_then(plain) == Some(register);
        reads(m, |r| free &= r != Resource::Carry && written[r.index() / 64] >> (r.index() % 64) & 1 == 0);
        return free.then_some(from);
    }
    None
}

/// The register that an operand is, if it is that as it stands.
fn plain(o: &Operand) -> Option<Reg> {
    match *o {
        Operand::Reg { reg, .. } if *o == Operand::reg(reg) => Some(reg),
        _ => None,
    }
}

/// Whether an instruction may be executed later, by fewer lanes.
fn movable(m: &MInst) -> bool {
    use crate::isa::latency::unit;
    use crate::isa::row::Unit;
    let plain = matches!(unit(m.op), Unit::Alu | Unit::Compare);
    plain
        && m.guard.is_true()
        && !m.sync
        && memory(m) == MemoryEffect::None
        && !matches!(m.op, Op::Vote | Op::Shfl | Op::Fswz | Op::S2r | Op::Nop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chip;
    use crate::diag::Loc;
    use crate::emit::code::MBlock;
    use crate::isa::text;

    /// The block after the pass; `once`: which sources of the choice nobody else reads.
    fn after(lines: &[&str], once: u8) -> Vec<String> {
        let chip = Chip::Gk110;
        let line = |l: &&str| {
            let inst = text::parse(chip, l, 0, &|_| None).expect("an instruction");
            let once = if inst.op == Op::Sel { once } else { 0 };
            Line { once, ..Line::new(inst, Loc::default()) }
        };
        let body = lines.iter().map(line).collect();
        let mut code = Code { blocks: vec![MBlock { body, ..MBlock::default() }], ..Code::default() };
        run(&mut code);
        code.blocks[0].body.iter().map(|l| text::print(chip, &l.inst)).collect()
    }

    #[test]
    fn a_new_value_written_over_the_old_is_computed_under_the_condition() {
        let lines = ["IADD R7, R5, 0x1", "ISETP.GE.U32.AND P2, PT, R6, R2, PT", "SEL R5, R7, R5, P2"];
        assert_eq!(after(&lines, 1), [lines[1], "@P2 IADD R5, R5, 0x1"]);
        let lines = ["IADD R7, R5, 0x1", "ISETP.GE.U32.AND P2, PT, R6, R2, PT", "SEL R5, R5, R7, P2"];
        assert_eq!(after(&lines, 2), [lines[1], "@!P2 IADD R5, R5, 0x1"]);
        let lines = ["IADD R7, R1, R2", "SEL R5, R7, R5, !P2"];
        assert_eq!(after(&lines, 1), ["@!P2 IADD R5, R1, R2"]);
    }

    #[test]
    fn a_choice_stays_where_that_would_be_another_value() {
        for (lines, once) in [
            // Somebody else reads it, or it is the other source that nobody else reads.
            (vec!["IADD R7, R5, 0x1", "SEL R5, R7, R5, P2"], 0),
            (vec!["IADD R7, R5, 0x1", "SEL R5, R7, R5, P2"], 2),
            // What it reads is gone by then.
            (vec!["IADD R7, R1, 0x1", "MOV R1, R2", "SEL R5, R7, R5, P2"], 1),
            (vec!["SEL R7, R1, R2, P0", "ISETP.EQ.AND P0, PT, R3, R4, PT", "SEL R5, R7, R5, P2"], 0),
            // It writes over neither source.
            (vec!["IADD R7, R5, 0x1", "SEL R6, R7, R5, P2"], 1),
            // It gives a carry, takes one, is a load, or comes from elsewhere.
            (vec!["IADD R7.CC, R5, 0x1", "SEL R5, R7, R5, P2"], 1),
            (vec!["IADD.X R7, R5, R1", "SEL R5, R7, R5, P2"], 1),
            (vec!["LD.E R7, [R2]", "SEL R5, R7, R5, P2"], 1),
            (vec!["@P0 IADD R7, R5, 0x1", "SEL R5, R7, R5, P2"], 1),
            (vec!["IADD R8, R5, 0x1", "SEL R5, R7, R5, P2"], 1),
            // It is stored on the exit, as what is spilled.
            (vec!["IADD R7, R1, 0x1", "STL [0x10], R7", "SEL R5, R7, R5, P2"], 1),
            // The register has a function's argument before the call, and its result behind it.
            (vec!["IADD R7, R1, 0x1", "CAL 0x100", "SEL R5, R7, R5, P2"], 1),
        ] {
            assert_eq!(after(&lines, once), lines);
        }
    }
}
