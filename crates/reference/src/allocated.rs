//! Evaluation of an allocated program on registers and slots: what the code means after allocation, to compare
//! with what it meant before ([`crate::eval::run`]).

use crate::eval::{EvalError, Machine, constant, special};
use nvir::ir::{BlockId, FuncId, Inst, InstId, Program, Space, Term, ValueId};
use nvir::ra::{Allocation, Move, Phys, ProgramAllocation};

/// The registers of a thread. They begin with rubbish.
struct Registers([u32; Phys::COUNT]);

/// Runs an allocated program from its entry; memory is in `machine` afterwards, spill slots included.
pub fn run(p: &Program, a: &ProgramAllocation, machine: &mut Machine) -> Result<(), EvalError> {
    let mut regs =
        Registers(std::array::from_fn(|k| if k < 256 { 0xdead_0000 | k as u32 } else { k as u32 & 1 }));
    function(p, a, p.entry, &mut regs, machine).map(|_| ())
}

fn moves(list: &[Move], regs: &mut Registers, machine: &mut Machine) {
    for m in list {
        match *m {
            Move::Copy { dst, src } => regs.0[dst.index()] = regs.0[src.index()],
            Move::Swap(a, b) => regs.0.swap(a.index(), b.index()),
            Move::Load { dst, words, offset } => {
                for k in 0..words as u64 {
                    let word = machine.words.get(&(Space::Local, offset as u64 + 4 * k));
                    regs.0[dst as usize + k as usize] = word.copied().unwrap_or(0xbad0_0000);
                }
            }
            Move::Store { src, words, offset } => {
                for k in 0..words as u64 {
                    let x = regs.0[src as usize + k as usize];
                    machine.words.insert((Space::Local, offset as u64 + 4 * k), x);
                }
            }
            Move::Imm { dst, bits } => regs.0[dst as usize] = bits,
            Move::Cbuf { dst, bank, offset } => regs.0[dst as usize] = constant(bank, offset as u32),
            Move::Sreg { dst, sv } => regs.0[dst as usize] = special(sv),
        }
    }
}

/// Whether the thread goes on after the function.
fn function(
    p: &Program,
    all: &ProgramAllocation,
    id: FuncId,
    regs: &mut Registers,
    machine: &mut Machine,
) -> Result<bool, EvalError> {
    let (f, a) = (&p.funcs[id], &all.funcs[id]);
    let mut b = f.entry();
    loop {
        moves(a.block_start(b), regs, machine);
        for &i in &f.blocks[b].body {
            moves(a.before(i), regs, machine);
            let inst = &f.insts[i];
            if let Some(call) = inst.call() {
                machine.tick()?;
                if !function(p, all, call.func, regs, machine)? {
                    return Ok(false);
                }
            } else {
                step(a, i, inst, regs, machine)?;
            }
            moves(a.after(i), regs, machine);
        }
        machine.tick()?;
        moves(a.block_end(b), regs, machine);
        b = match &f.blocks[b].term {
            Term::Jump(e) => e.to,
            Term::Branch { cond, not, then, els } => {
                let holds = condition(a, b, *cond, regs) != 0;
                if holds != *not { then.to } else { els.to }
            }
            Term::Ret(_) => return Ok(true),
            Term::Exit => return Ok(false),
            Term::Unreachable => return Err(EvalError::Unreachable),
        };
    }
}

fn condition(a: &Allocation, b: BlockId, v: ValueId, regs: &Registers) -> u32 {
    a.term_reg(b, v).map_or(0, |r| regs.0[r.index()])
}

fn step(
    a: &Allocation,
    i: InstId,
    inst: &Inst,
    regs: &mut Registers,
    machine: &mut Machine,
) -> Result<(), EvalError> {
    let read = |v: ValueId| a.reg(i, v).map_or(0, |r| regs.0[r.index()]);
    if let Some(results) = machine.step(inst, &read)? {
        for (&d, x) in inst.dsts.iter().zip(results) {
            if let Some(r) = a.reg(i, d) {
                regs.0[r.index()] = x;
            }
        }
    }
    Ok(())
}
