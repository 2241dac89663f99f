//! Issue control for Kepler: after how many cycles the next instruction issues, and which two issue
//! together.
//!
//! Operations of fixed latency are waited for by these counts alone; loads and other long ones have
//! the hardware's scoreboard, and the count before their first reader is the longest that there is,
//! as ptxas has it. The last instruction of a block waits until every fixed latency is over, hence
//! nothing is pending at labels and behind jumps. Who goes on behind a guarded branch waits no
//! longer than for that: as a rule all is over then, as the guard has been waited for.

use super::issue_class::Kind;
use super::model::{Cycle, Model};
use nvir_isa::effects::{Resource, Touched, Touches};
use nvir_isa::latency::{self, Direction, bank};
use nvir_isa::sched_word::{GROUP_BYTES, Issue, SLOTS};
use nvir_isa::{MInst, Op, Operand};

/// An instruction in the order of the code.
#[derive(Clone, Copy)]
pub struct Issued<'m> {
    /// The instruction.
    pub inst: &'m MInst,
    /// What it reads and writes.
    pub touches: Touches,
    /// Control may come here from elsewhere.
    pub label: bool,
    /// Where it leads, if it is a branch.
    pub to: Direction,
}

/// Machine code by address, as [`control`] takes it. A branch to a scheduling word goes to the
/// instruction behind it.
pub fn in_code_order<'m>(code: &[(u32, &'m MInst)], touched: &mut Touched) -> Vec<Issued<'m>> {
    let target = |m: &MInst| match m.operands.first() {
        Some(&Operand::Target(at)) => Some(at),
        _ => None,
    };
    let mut targets: Vec<u32> = code.iter().filter_map(|(_, m)| target(m)).collect();
    targets.sort_unstable();
    let is_target = |pc: u32| targets.binary_search(&pc).is_ok();
    let starts_group = |pc: u32| pc % GROUP_BYTES == 8 && is_target(pc - 8);
    let place = |&(pc, inst): &(u32, &'m MInst)| Issued {
        inst,
        touches: touched.add(inst),
        label: is_target(pc) || starts_group(pc),
        to: if target(inst).is_some_and(|t| t <= pc) { Direction::Back } else { Direction::On },
    };
    code.iter().map(place).collect()
}

/// The issue control of `count` instructions, the first of which lies in the first slot of a group;
/// two of them issue together only if `dual` is set.
pub fn control<'m>(
    code: impl Iterator<Item = Issued<'m>> + Clone,
    touched: &Touched,
    count: usize,
    dual: bool,
) -> Vec<Issue> {
    let double = code.clone().any(|p| latency::is_double(p.inst));
    let mut code = code.map(|p| (p, Kind::new(p.inst))).peekable();
    let mut out: Vec<Issue> = Vec::with_capacity(count);
    let mut model = Model::default();
    let mut open: Option<Open<'_>> = None;
    let mut place = 0;
    while let Some((first, kind)) = code.next() {
        model.advance_to(earliest(&model, touched, &first, &kind));
        // The count on a texture barrier is short: what the next one waits for longer, the barrier
        // waits for before.
        if first.inst.op == Op::Texdepbar
            && let Some((next, of_next)) = code.peek().filter(|(next, _)| !next.label)
        {
            let until = earliest(&model, touched, next, of_next);
            let longest = latency::TEXTURE_BARRIER[latency::TEXTURE_BARRIER.len() - 1];
            model.advance_to(until.saturating_sub(longest.into()));
        }
        let may_pair = dual && may_begin_pair(place);
        let together = code
            .peek()
            .filter(|(next, of_next)| may_pair && kind.leads(of_next) && !next.label)
            .and_then(|(next, of_next)| pairs(&model, touched, &first, next, of_next));
        model.advance_to(together.unwrap_or(0));
        let behind = open.as_ref().map(|o| o.inst.op);
        out.extend(open.map(|o| o.close(&mut model)));
        issue(&mut model, touched, &first, &kind);
        place += 1;
        let mut last = first;
        let mut before_last = behind;
        let mut gap = None;
        if together.is_some()
            && let Some((second, of_second)) = code.next()
        {
            issue(&mut model, touched, &second, &of_second);
            out.push(Issue::DUAL);
            before_last = Some(first.inst.op);
            last = second;
            place += 1;
            gap = code.peek().map(|(next, _)| latency::neighbours(first.inst, next.inst));
        }
        let mut cycles = gap.unwrap_or(1);
        let next = code.peek();
        if let Some((next, _)) = next {
            cycles = cycles.max(latency::neighbours(last.inst, next.inst));
        }
        let ends = next.is_none_or(|(next, _)| next.label);
        if latency::transfers(last.inst) || ends {
            // What leads on is in one piece of straight code with what is behind it.
            let pending = if ends { Cycle::MAX } else { model.pending() };
            cycles = cycles.max(latency::drain(last.inst, last.to, double, pending));
            model.forget();
        } else if last.inst.op == Op::Membar {
            model.forget();
        }
        open = Some(Open { inst: last.inst, behind: before_last, since: model.now() });
        model.advance(cycles);
    }
    out.extend(open.map(|o| o.close(&mut model)));
    out
}

/// An instruction whose count depends on what comes next.
struct Open<'m> {
    inst: &'m MInst,
    /// The operation before it.
    behind: Option<Op>,
    /// When it issued.
    since: Cycle,
}

impl Open<'_> {
    /// Its issue control, now that the next one issues.
    fn close(self, model: &mut Model) -> Issue {
        let cycles = (model.now() - self.since).min(32) as u32;
        let issue = match self.inst.op {
            Op::Texdepbar => Issue::texture_barrier(cycles),
            _ if self.behind == Some(Op::Ast) => Issue::after_output(cycles),
            _ => Issue::after(cycles),
        };
        model.advance_to(self.since + Cycle::from(issue.cycles()));
        issue
    }
}

/// Whether the instruction at this place of the code may be the first of a pair: not the last one
/// of a group.
pub fn may_begin_pair(place: usize) -> bool {
    place % SLOTS < SLOTS - 1
}

/// Cycles that the first of a pair waits for the second at most. An issue slot is worth more than a
/// cycle: ptxas waits longer still. Against no waiting, 9 bring 14 % more of all instructions into
/// pairs for 1 % more cycles.
const PATIENCE: u64 = 9;

/// The first cycle at which an instruction may issue.
fn earliest(model: &Model, touched: &Touched, p: &Issued<'_>, kind: &Kind) -> Cycle {
    model.earliest(p.inst.op, &kind.class().port, touched.reads(p.touches), touched.writes(p.touches))
}

/// Issues an instruction now.
fn issue(model: &mut Model, touched: &Touched, p: &Issued<'_>, kind: &Kind) {
    model.issue(p.inst.op, &kind.class().port, touched.reads(p.touches), touched.writes(p.touches));
}

/// The cycle at which two neighbours issue together, if what they touch allows it; the first of
/// them could issue now.
fn pairs(model: &Model, touched: &Touched, a: &Issued<'_>, b: &Issued<'_>, of_b: &Kind) -> Option<Cycle> {
    let sources = |p: &Issued<'_>| touched.reads(p.touches).iter().filter_map(|&r| Resource::register(r));
    if !independent(touched, a, b) || banks_conflict(a.inst.op, b.inst.op, sources(a), sources(b)) {
        return None;
    }
    let at = earliest(model, touched, b, of_b);
    (at <= model.now() + PATIENCE).then_some(at)
}

/// Whether the second of two neighbours neither reads nor overwrites what the first writes, nor
/// overwrites what it holds.
fn independent(touched: &Touched, a: &Issued<'_>, b: &Issued<'_>) -> bool {
    let (reads, writes) = (touched.reads(b.touches), touched.writes(b.touches));
    let held = latency::holds_sources(a.inst.op) && !latency::writes_late(b.inst.op);
    let touches = touched.writes(a.touches).iter().any(|r| reads.contains(r) || writes.contains(r));
    let overwrites = held && touched.reads(a.touches).iter().any(|r| writes.contains(r));
    !touches && !overwrites
}

/// Whether registers that only one of two arithmetic instructions reads lie in one register bank.
pub fn banks_conflict(
    a: Op,
    b: Op,
    of_a: impl Iterator<Item = u8> + Clone,
    of_b: impl Iterator<Item = u8> + Clone,
) -> bool {
    if !latency::reads_banks(a) || !latency::reads_banks(b) {
        return false;
    }
    let only_a = of_a.clone().filter(|r| of_b.clone().all(|x| x != *r));
    let only_b = of_b.clone().filter(|r| of_a.clone().all(|x| x != *r));
    let mask = |mask: u8, r| mask | 1 << bank(r);
    only_a.fold(0, mask) & only_b.fold(0, mask) != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use nvir_isa::{Mod, Operand, Pred, Reg};

    fn add(d: u8, a: u8) -> MInst {
        MInst::new(Op::Iadd).r(Reg(d)).r(Reg(a)).r(Reg::Z)
    }

    fn cycles(code: &[MInst]) -> Vec<u32> {
        let mut touched = Touched::default();
        let code: Vec<(u32, &MInst)> = (0..).zip(code).map(|(n, m)| (8 * n, m)).collect();
        let code = in_code_order(&code, &mut touched);
        control(code.iter().copied(), &touched, code.len(), true).iter().map(|i| i.cycles()).collect()
    }

    #[test]
    fn an_independent_instruction_issues_with_the_one_before_and_a_reader_after_the_latency() {
        assert_eq!(cycles(&[add(0, 10), add(1, 11), add(2, 0)])[..2], [0, 9]);
        // R10 and R18 lie in one bank.
        assert_eq!(cycles(&[add(0, 10), add(1, 18), add(2, 0)])[..2], [1, 8]);
    }

    #[test]
    fn a_guard_waits_for_its_predicate() {
        let set = MInst::new(Op::Isetp).with(Mod::Lt).with(Mod::And);
        let set = set.arg(Operand::pred(0)).arg(Operand::pred(7)).r(Reg(0)).r(Reg(1)).arg(Operand::pred(7));
        let guarded = add(2, 3).guarded(Pred::new(0));
        assert_eq!(cycles(&[set, guarded])[0], latency::predicate(Op::Isetp));
    }

    #[test]
    fn what_a_texture_barrier_cannot_wait_for_is_waited_for_before_it() {
        let lock = MInst::new(Op::Ldslk).arg(Operand::pred(1)).r(Reg(0));
        let lock = lock.arg(Operand::Mem { base: Reg(4), offset: 0 });
        let barrier = MInst::new(Op::Texdepbar).arg(Operand::imm(0));
        let c = cycles(&[lock.clone(), barrier, add(2, 3).guarded(Pred::new(1))]);
        assert_eq!(c[0] + c[1], latency::predicate(Op::Ldslk), "{c:?}");
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
        assert_eq!(c[1], latency::DRAIN_BRANCH, "{c:?}");
    }

    #[test]
    fn who_stays_behind_a_guarded_branch_waits_for_what_is_pending() {
        let branch = |to| MInst::new(Op::Bra).arg(Operand::Target(to)).guarded(Pred::new(0));
        for (to, count) in [(40, 9), (8, latency::DRAIN_BRANCH)] {
            let code = [add(9, 10), add(0, 10), add(1, 9), branch(to), add(2, 0), add(3, 0)];
            assert_eq!(cycles(&code)[3], count);
        }
        let waits = [add(0, 10), add(1, 0), add(2, 1), branch(40), add(3, 2), add(4, 3)];
        assert_eq!(cycles(&waits)[3], 9);
        assert_eq!(cycles(&[branch(16), add(3, 2), add(4, 3)])[0], latency::BEHIND_GUARDED);
        // So does who does not break out; nobody stays behind a branch without a guard.
        let leave = MInst::new(Op::Brk).guarded(Pred::new(0));
        assert_eq!(cycles(&[leave.clone(), add(3, 2)])[0], latency::BEHIND_GUARDED);
        assert_eq!(cycles(&[leave, add(3, 2), branch(8)])[0], latency::DRAIN);
        assert_eq!(cycles(&[MInst::new(Op::Brk), add(3, 2)])[0], latency::DRAIN);
    }

    #[test]
    fn of_two_writes_the_later_one_lasts() {
        let load = MInst::new(Op::Lds).r(Reg(0)).arg(Operand::Mem { base: Reg(4), offset: 0 });
        let c = cycles(&[load, add(0, 10)]);
        assert!(c[0] + latency::result(Op::Iadd) > latency::result(Op::Lds), "{c:?}");
    }
}
