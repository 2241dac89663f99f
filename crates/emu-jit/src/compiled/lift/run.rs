//! Runs: instructions that are executed for one group of lanes after the other.

use super::super::liveness::{MASKS, Set, masks_written};
use super::group::{Group, Places, mask_offset, spread};
use super::vector::{GROUP, GROUP_BYTES, ROW, WORDS};
use super::{Active, Lift, State};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use nvir_emu::engine::open::{Inst, PSrc};

/// Which of the lanes that run come to an instruction of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    Both,
    /// Those for which the run's condition holds, and the others.
    Taken,
    Other,
}

/// Instructions of a run.
pub(super) struct Run {
    pub(super) insts: Vec<(usize, Side)>,
    /// What parts lanes, and before which instruction it is looked at.
    pub(super) condition: Option<(PSrc, usize)>,
}

/// In runs at least so long, groups without lanes that run are passed over: else a jump that the host cannot foretell takes longer.
const LONG: usize = 6;

impl Lift<'_, '_> {
    /// Instructions that are executed for one group of lanes after the other.
    pub(super) fn run(&mut self, indices: &[usize], live: &Set) {
        let insts = indices.iter().map(|&i| (i, Side::Both)).collect();
        let (counted, _) = self.groups_of(&Run { insts, condition: None }, live);
        let guarded = indices.iter().filter(|&&i| is_guarded(self.inst(i))).count();
        self.count(indices.len(), indices.len() - guarded, counted);
    }

    /// The same for a run, which is not counted: how many lanes executed instructions with guards, and for which the condition holds.
    pub(super) fn groups_of(&mut self, run: &Run, live: &Set) -> (Option<Value>, Option<Value>) {
        let active = self.now.active;
        let insts: Vec<(&Inst, Side)> = run.insts.iter().map(|&(i, side)| (self.inst(i), side)).collect();
        let guarded = insts.iter().filter(|(i, _)| is_guarded(i)).count();
        let written = insts.iter().fold(0, |m, (i, _)| m | masks_written(i)) & live.masks;
        let masks: Vec<usize> = (0..MASKS).filter(|n| written >> n & 1 != 0).collect();
        let words = masks.len() + usize::from(run.condition.is_some());

        // Of the loop: the group's offset, counts of guarded instructions, masks that are written, and that of the condition.
        let [head, latch, done] = [(); 3].map(|()| self.e.b.create_block());
        self.e.params(head, &[types::I64]);
        for block in [head, latch, done] {
            self.e.params(block, &[WORDS]);
            self.e.params(block, &vec![types::I32; words]);
        }
        let (offset, counts, none) = (self.e.long(0), self.e.all(0), self.e.int(0));
        let mut args = vec![offset, counts];
        args.resize(args.len() + words, none);
        self.e.jump(head, &args);

        self.e.b.switch_to_block(head);
        let params = self.e.b.block_params(head).to_vec();
        let offset = params[0];
        let carried = &params[1..];
        let lane = self.e.b.ins().ushr_imm_u(offset, (GROUP_BYTES / GROUP as i64).ilog2() as i64);
        let lane = self.e.b.ins().ireduce(types::I32, lane);
        let active_lanes = match active {
            Active::All => None,
            Active::Mask(active, _) => {
                if insts.len() >= LONG {
                    let body = self.e.b.create_block();
                    let set = self.e.b.ins().ushr(active, lane);
                    let set = self.e.b.ins().band_imm_u(set, (1 << GROUP) - 1);
                    self.e.branch_with(set, (body, &[]), (latch, carried));
                    self.e.b.switch_to_block(body);
                }
                Some(spread(&mut self.e, active, lane, self.state.tables))
            }
        };
        let State { frame, warp, block, pool, tables, regs, .. } = self.state;
        let rows = self.e.add(regs, offset);
        let places = Places { warp, pool, frame, block, tables, offset, rows, lane };
        let mut counts = carried[0];
        let mut group = Group::new(&mut self.e, self.code, places);
        let mut sides = None;
        for n in 0..=insts.len() {
            if let Some((condition, _)) = run.condition.filter(|(_, at)| *at == n) {
                let taken = group.pred(condition);
                sides = Some([taken, group.e.not(taken)]);
            }
            let Some((inst, side)) = insts.get(n) else { continue };
            group.within = match side {
                Side::Both => None,
                Side::Taken => sides.map(|s| s[0]),
                Side::Other => sides.map(|s| s[1]),
            };
            if let Some(mut guard) = group.enter(inst).filter(|_| is_guarded(inst)) {
                if let Some(active) = active_lanes {
                    guard = group.e.and(guard, active);
                }
                counts = group.e.sub(counts, guard);
            }
            group.execute(inst);
        }
        group.write_back(|r| live.has(r), active_lanes);
        let mut args = vec![counts];
        let changed: Vec<Value> = masks.iter().map(|&n| group.mask(n)).collect();
        for (mask, &old) in changed.into_iter().chain(sides.map(|s| s[0])).zip(&carried[1..]) {
            let set = group.e.b.ins().vhigh_bits(types::I32, mask);
            let set = group.e.b.ins().ishl(set, lane);
            args.push(group.e.or(old, set));
        }
        self.e.jump(latch, &args);

        self.e.b.switch_to_block(latch);
        let carried: Vec<_> = self.e.b.block_params(latch).iter().map(|&v| v.into()).collect();
        let next = self.e.b.ins().iadd_imm_s(offset, GROUP_BYTES);
        let more = self.e.b.ins().icmp_imm_s(IntCC::UnsignedLessThan, next, ROW as i64);
        let again: Vec<_> = [next.into()].into_iter().chain(carried.iter().copied()).collect();
        self.e.b.ins().brif(more, head, &again, done, &carried);

        self.e.b.switch_to_block(done);
        let results = self.e.b.block_params(done).to_vec();
        for (&n, &new) in masks.iter().zip(&results[1..]) {
            let mut value = new;
            if let Active::Mask(active, _) = active {
                let old = self.e.load(types::I32, warp, mask_offset(n));
                let kept = self.e.b.ins().band_not(old, active);
                let new = self.e.and(new, active);
                value = self.e.or(kept, new);
            }
            self.e.store(value, warp, mask_offset(n));
        }
        let counted = (guarded > 0).then(|| {
            let counted = self.e.sum_of_lanes(results[0]);
            self.e.b.ins().uextend(types::I64, counted)
        });
        let taken = run.condition.map(|_| match active {
            Active::All => results[words],
            Active::Mask(active, _) => self.e.and(results[words], active),
        });
        (counted, taken)
    }
}

/// Whether lanes that come to an instruction may not execute it.
pub(super) fn is_guarded(inst: &Inst) -> bool {
    inst.guard != PSrc::TRUE || inst.quad != 15
}
