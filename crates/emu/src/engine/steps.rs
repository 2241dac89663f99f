//! What a warp does, instruction by instruction, for who looks at it afterwards.

use super::{Cx, Warp};
use crate::code::micro::{Inst, Micro};
use crate::code::operand::{Addr, AtomTy, PSrc, Space, Width};
use crate::state::lanes::{Mask, Src, lanes};

/// A register of all lanes.
pub type Row = [u32; 32];

/// What a warp had when it was first looked at, and what it did since.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    /// Registers, when it was first looked at.
    pub registers: Vec<Row>,
    /// Predicates P0 to P6, a bit for each lane.
    pub predicates: [u32; 7],
    /// In order.
    pub steps: Vec<Step>,
}

/// An instruction that a warp executed.
#[derive(Clone, Debug)]
pub struct Step {
    /// Where it lies.
    pub pc: u32,
    /// Lanes that executed it.
    pub mask: u32,
    /// Registers that it writes, with what they have behind it.
    pub registers: Vec<(u32, Row)>,
    /// Predicates that it writes, with what they have behind it.
    pub predicates: Vec<(u32, u32)>,
    /// How deep the divergence stack was.
    pub depth: u32,
    /// Memory that it reads or writes.
    pub access: Option<Access>,
}

/// Memory that an instruction reads or writes.
#[derive(Clone, Debug)]
pub struct Access {
    /// `global`, `shared`, `local` or `constant`. Global addresses may be those of the windows of shared and local memory.
    pub space: &'static str,
    /// Whether it writes.
    pub writes: bool,
    /// Of each lane.
    pub bytes: u32,
    /// Of each lane; of those that do not execute it, nothing.
    pub addresses: [u64; 32],
}

/// Collects the steps of one warp: is told of it before each of its instructions.
#[derive(Debug, Default)]
pub struct Recorder {
    all: Steps,
    /// The instruction that is about to be executed, without what it writes.
    next: Option<Step>,
}

impl Recorder {
    /// The warp is about to execute an instruction.
    pub fn look(&mut self, cx: &Cx<'_>, warp: &Warp) {
        if cx.program().is_scheduling_word(warp.pc) {
            return;
        }
        let code = cx.code();
        if self.next.is_none() && self.all.steps.is_empty() {
            self.all.registers = warp.regs.iter().map(|row| row.0).collect();
            self.all.predicates.copy_from_slice(&warp.preds[..7]);
        }
        self.wrote(cx, warp);
        let inst = code.index(warp.pc).and_then(|at| code.instructions().get(at));
        let guard = inst.map_or(0, |i| predicate(i.guard, warp));
        let mask = warp.active & guard;
        self.next = Some(Step {
            pc: warp.pc,
            mask,
            registers: Vec::new(),
            predicates: Vec::new(),
            depth: warp.stack.len() as u32,
            access: inst.and_then(|i| access(cx, warp, i, mask)),
        });
    }

    /// Completes the last instruction with what it has written.
    fn wrote(&mut self, cx: &Cx<'_>, warp: &Warp) {
        let Some(mut step) = self.next.take() else { return };
        let code = cx.code();
        let inst = code.index(step.pc).and_then(|at| code.instructions().get(at)).filter(|_| step.mask != 0);
        if let Some(inst) = inst {
            let written = inst.writes.iter().flat_map(|&(first, n)| (u32::from(first)..).take(n.into()));
            let row = |r: u32| Some((r, warp.regs.get(r as usize)?.0));
            step.registers = written.filter_map(row).collect();
            let predicates = (0..7).filter(|p| inst.pred_writes >> p & 1 != 0);
            step.predicates = predicates.map(|p| (p, warp.preds[p as usize])).collect();
        }
        self.all.steps.push(step);
    }

    /// Instructions so far.
    pub fn len(&self) -> usize {
        self.all.steps.len()
    }

    /// Whether nothing was seen of the warp.
    pub fn is_empty(&self) -> bool {
        self.next.is_none() && self.all.steps.is_empty()
    }

    /// All steps. Behind the last, which ends the warp, there is nothing to see.
    pub fn finish(&mut self) -> Steps {
        self.all.steps.extend(self.next.take());
        std::mem::take(&mut self.all)
    }
}

fn predicate(p: PSrc, warp: &Warp) -> Mask {
    let value = if p.num == 7 { Mask::MAX } else { warp.preds[usize::from(p.num)] };
    if p.not { !value } else { value }
}

fn access(cx: &Cx<'_>, warp: &Warp, inst: &Inst, mask: Mask) -> Option<Access> {
    let space_name = |space: Space| match space {
        Space::Generic => "global",
        Space::Shared => "shared",
        Space::Local => "local",
    };
    let (space, writes, width, addr) = match &inst.micro {
        Micro::Load { space, width, addr, .. } => (space_name(*space), false, width.bytes(), *addr),
        Micro::Store { space, width, addr, .. } => (space_name(*space), true, width.bytes(), *addr),
        Micro::LoadLock { width, addr, .. } => ("shared", false, width.bytes(), *addr),
        Micro::StoreUnlock { width, addr, .. } => ("shared", true, width.bytes(), *addr),
        Micro::Atom { ty: AtomTy::U64 | AtomTy::S64, addr, .. } => ("global", true, 8, *addr),
        Micro::Atom { addr, .. } => ("global", true, 4, *addr),
        Micro::LoadConst { width, base, offset, .. } => {
            let addr = Addr { base: *base, base_hi: None, offset: i64::from(*offset), coherent: false };
            ("constant", false, Width::bytes(*width), addr)
        }
        _ => return None,
    };
    let word = |s: Src, lane: usize| u64::from(s.lane(&warp.regs, &cx.env.bound.pool, lane));
    let mut addresses = [0; 32];
    for lane in lanes(mask) {
        addresses[lane] = match addr.base_hi {
            Some(hi) => (word(addr.base, lane) | word(hi, lane) << 32).wrapping_add(addr.offset as u64),
            None => u64::from((word(addr.base, lane) as u32).wrapping_add(addr.offset as u32)),
        };
    }
    Some(Access { space, writes, bytes: width, addresses })
}
