//! Issue control for Kepler: after how many cycles the next instruction may issue.
//!
//! Operations of fixed latency are waited for by these counts alone; loads and other long ones also have the
//! hardware's scoreboard, so the counts only keep up with it as far as the table of latencies goes. A control transfer waits long
//! enough for every fixed latency, hence what is pending is known along straight code and nothing is at labels that
//! are branched to.

use crate::isa::effects::{Resource, Touched, Touches};
use crate::isa::row::Unit;
use crate::isa::sched_word::Issue;
use crate::isa::{MInst, Op, latency};

/// Cycles after which every result of fixed latency is there.
const DRAIN: u32 = 16;

/// Cycles until what an operation writes, as [`Resource::index`], may be read.
pub fn latency_of(op: Op, r: u16) -> u32 {
    // By a look-up: which of them it is, is hard to foresee.
    const CARRY: u16 = Resource::Carry.index() as u16;
    let result = if latency::unit(op) == Unit::Texture { 18 } else { latency::result(op).min(32) };
    let by_class = [latency::predicate(op), latency::CARRY, result];
    by_class[usize::from(r >= CARRY) + usize::from(r > CARRY)]
}

/// Cycles before the next instruction may issue, whatever it is.
pub fn gap(op: Op) -> u32 {
    match op {
        Op::Bar | Op::Exit | Op::Bra | Op::Ret => 16,
        _ if latency::unit(op) == Unit::Texture => 18,
        _ => 1,
    }
}

/// Cycles from the issue of one write to that of another, of the latencies `first` and `second`, so that the second
/// comes last.
pub fn overtaking(first: u32, second: u32) -> u32 {
    (first + 1).saturating_sub(second)
}

/// Whether control may go elsewhere after the instruction.
pub fn transfers(m: &MInst) -> bool {
    use Op::*;
    m.sync
        || matches!(m.op, Bra | Brx | Jmp | Jmx | Cal | Jcal | Ret | Brk | Cont | Longjmp | Exit | Kil | Bpt)
}

/// The issue control of so many instructions in the order of the code, each with what it touches.
pub fn control<'m>(
    code: impl Iterator<Item = (&'m MInst, Touches)>,
    touched: &Touched,
    count: usize,
) -> Vec<Issue> {
    let mut out: Vec<Issue> = Vec::with_capacity(count);
    // The cycle from which each resource may be read.
    let mut ready = [0u32; Resource::COUNT];
    // The cycle of the previous instruction, and the fewest cycles after it.
    let mut previous: Option<(u32, u32)> = None;
    let mut last = Op::Nop;
    for (m, touches) in code {
        let (reads, writes) = (touched.reads(touches), touched.writes(touches));
        let mut at = reads.iter().fold(0, |at, &r| at.max(ready[usize::from(r)]));
        for &r in writes {
            at = at.max(overtaking(ready[usize::from(r)], latency_of(m.op, r)));
        }
        if let Some((issued, gap)) = previous {
            at = at.max(issued + gap).min(issued + 32);
            out.push(issue_of(last, at - issued));
        }
        for &r in writes {
            ready[usize::from(r)] = at + latency_of(m.op, r);
        }
        let mut gap = gap(m.op);
        if transfers(m) {
            gap = gap.max(DRAIN);
        }
        previous = Some((at, gap));
        last = m.op;
    }
    if let Some((_, gap)) = previous {
        out.push(issue_of(last, gap));
    }
    out
}

fn issue_of(op: Op, cycles: u32) -> Issue {
    if op == Op::Texdepbar { Issue::TEXTURE_BARRIER } else { Issue::after(cycles) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::{Mod, Operand, Pred, Reg};

    fn add(d: u8, a: u8) -> MInst {
        MInst::new(Op::Iadd).r(Reg(d)).r(Reg(a)).r(Reg::Z)
    }

    fn cycles(code: &[MInst]) -> Vec<u32> {
        let mut touched = Touched::default();
        let code: Vec<(&MInst, Touches)> = code.iter().map(|m| (m, touched.add(m))).collect();
        control(code.iter().copied(), &touched, code.len()).iter().map(|i| i.cycles()).collect()
    }

    #[test]
    fn an_independent_instruction_issues_in_the_next_cycle_and_a_reader_after_the_latency() {
        assert_eq!(cycles(&[add(0, 10), add(1, 11), add(2, 0)])[..2], [1, 8]);
    }

    #[test]
    fn a_guard_waits_for_its_predicate() {
        let set = MInst::new(Op::Isetp).with(Mod::Lt).with(Mod::And);
        let set = set.arg(Operand::pred(0)).arg(Operand::pred(7)).r(Reg(0)).r(Reg(1)).arg(Operand::pred(7));
        let guarded = add(2, 3).guarded(Pred::new(0));
        assert_eq!(cycles(&[set, guarded])[0], latency::predicate(Op::Isetp));
    }

    #[test]
    fn a_carry_is_waited_for() {
        let low = MInst::new(Op::Iadd).arg(Operand::Reg {
            reg: Reg(0),
            mods: Default::default(),
            sel: Default::default(),
            cc: true,
        });
        let low = low.r(Reg(2)).r(Reg(4));
        let high = add(1, 3).with(Mod::X);
        assert_eq!(cycles(&[low, high])[0], latency::CARRY);
    }

    #[test]
    fn nothing_of_fixed_latency_is_pending_where_a_branch_leads() {
        let bra = MInst::new(Op::Bra).arg(Operand::Target(0));
        let c = cycles(&[add(0, 10), bra, add(1, 0)]);
        assert!(c[1] >= 16, "{c:?}");
    }

    #[test]
    fn of_two_writes_the_later_one_lasts() {
        let load = MInst::new(Op::Lds).r(Reg(0)).arg(Operand::Mem { base: Reg(4), offset: 0 });
        let c = cycles(&[load, add(0, 10)]);
        assert!(c[0] + latency::result(Op::Iadd) > latency::result(Op::Lds), "{c:?}");
    }
}
