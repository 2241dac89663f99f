//! A thread: its registers, where it is, and how operands are read and results written.

use super::pixel::is_of_quad;
use super::{Block, Launch, Trap};
use nvir::diag::Span;
use nvir::emu::FaultKind;
use nvir::front::tgsi::ast::*;

/// What a thread does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Ready,
    /// Waits for the block.
    Barrier,
    /// Waits for the lanes of its warp.
    Lane,
    Ended,
}

pub(super) struct Thread<'a> {
    pub program: &'a Program,
    /// Its number in the block.
    pub id: [u32; 3],
    /// Whether it is one of those that the launch asked for, rather than one that fills the last warp.
    pub asked: bool,
    pub pc: u32,
    pub state: State,
    /// Where calls return to.
    calls: Vec<u32>,
    temps: Vec<[u32; 4]>,
    addrs: Vec<[u32; 4]>,
    pub private: Vec<u8>,
    clock: u64,
    /// A pixel's thread that runs for its neighbours only: from the start, or since it was discarded.
    pub helper: bool,
    pub killed: bool,
    /// Outputs that the last instruction has written: register, component, value.
    pub written: Vec<(usize, usize, u32)>,
}

/// Registers that a thread has, whatever the program declares.
const REGISTERS: usize = 32768;

/// Calls that are not recursive nest less deeply than there are subroutines.
const DEPTH: usize = 4096;

pub(super) fn illegal(message: impl Into<String>) -> Trap {
    Trap(FaultKind::IllegalInstruction, message.into())
}

impl<'a> Thread<'a> {
    pub(super) fn new(launch: &Launch<'a>, entry: u32, id: [u32; 3]) -> Thread<'a> {
        let program = launch.program;
        let pc = entry + u32::from(program.code[entry as usize].op == Opcode::BGNSUB);
        Thread {
            program,
            id,
            asked: true,
            pc,
            state: State::Ready,
            calls: Vec::new(),
            temps: Vec::new(),
            addrs: Vec::new(),
            private: vec![0; launch.private_bytes as usize],
            clock: 0,
            helper: false,
            killed: false,
            written: Vec::new(),
        }
    }

    pub(super) fn span(&self) -> Span {
        self.program.code.get(self.pc as usize).map_or(Span::default(), |i| i.span)
    }

    /// Executes one instruction.
    pub(super) fn step(&mut self, block: &mut Block<'_>) -> Result<(), Trap> {
        let program = self.program;
        if self.pc as usize >= program.code.len() {
            self.state = State::Ended;
            return Ok(());
        }
        let inst = &program.inst(self.pc);
        self.clock += 1;
        let mut next = self.pc + 1;
        match inst.op.info().shape {
            _ if is_of_quad(block, inst) => {
                self.state = State::Lane;
                next = self.pc;
            }
            Shape::Flow => next = self.flow(block, inst)?,
            Shape::Mem if self.is_helper() && (inst.op == Opcode::STORE || inst.op.is_atomic()) => {
                // What helpers write is lost.
                if inst.op.is_atomic() {
                    self.write_result(&inst.dsts[0], [0; 4])?;
                }
            }
            Shape::Mem => self.memory(block, inst)?,
            Shape::Sync => {
                if inst.op == Opcode::BARRIER {
                    self.state = State::Barrier;
                }
            }
            Shape::Lane if inst.op == Opcode::CLOCK => {
                let words = [self.clock as u32, (self.clock >> 32) as u32];
                self.write_result(&inst.dsts[0], [words[0], words[1], words[0], words[1]])?;
            }
            Shape::Lane => {
                self.state = State::Lane;
                next = self.pc;
            }
            Shape::Comp | Shape::Scalar | Shape::Dot(_) | Shape::Vec => self.arithmetic(block, inst)?,
            Shape::Tex | Shape::Sample => self.texture(block, inst, None)?,
            Shape::Graphics => self.graphics(block, inst)?,
        }
        self.pc = next;
        Ok(())
    }

    /// Where control goes after a flow instruction.
    fn flow(&mut self, block: &Block<'_>, inst: &Inst<'_>) -> Result<u32, Trap> {
        let program = self.program;
        let at = self.pc;
        let partner = program.partner[at as usize];
        let holds = |me: &Self| me.operand32(block, inst, 0, 0).map(|v| v != 0);
        Ok(match inst.op {
            Opcode::IF | Opcode::UIF => {
                let v = self.operand32(block, inst, 0, 0)?;
                let yes = if inst.op == Opcode::IF { f32::from_bits(v) != 0.0 } else { v != 0 };
                let els = program.code[partner as usize].op == Opcode::ELSE;
                if yes { at + 1 } else { partner + u32::from(els) }
            }
            Opcode::IF_ASKED if self.asked => at + 1,
            Opcode::IF_ASKED => partner + u32::from(program.code[partner as usize].op == Opcode::ELSE),
            Opcode::ELSE => partner,
            Opcode::ENDLOOP => partner + 1,
            Opcode::BRK => partner + 1,
            Opcode::BREAKC => {
                if holds(self)? {
                    partner + 1
                } else {
                    at + 1
                }
            }
            Opcode::CONT => partner,
            Opcode::SWITCH => {
                let v = self.operand32(block, inst, 0, 0)?;
                let mut default = None;
                let mut case = partner;
                loop {
                    let i = &program.inst(case);
                    match i.op {
                        Opcode::ENDSWITCH => break default.unwrap_or(case) + 1,
                        Opcode::DEFAULT => default = Some(case),
                        _ if self.operand32(block, i, 0, 0)? == v => break case + 1,
                        _ => {}
                    }
                    case = program.partner[case as usize];
                }
            }
            Opcode::CAL => self.call(partner)?,
            Opcode::CALLNZ if holds(self)? => self.call(partner)?,
            Opcode::RET | Opcode::ENDSUB | Opcode::BGNSUB => match self.calls.pop() {
                Some(to) => to,
                None => {
                    self.state = State::Ended;
                    at
                }
            },
            Opcode::END => {
                self.state = State::Ended;
                at
            }
            _ => at + 1,
        })
    }

    fn call(&mut self, sub: u32) -> Result<u32, Trap> {
        if self.calls.len() >= DEPTH {
            return Err(Trap(FaultKind::Stack, "calls nest too deeply".into()));
        }
        self.calls.push(self.pc + 1);
        Ok(sub + 1)
    }

    // Operands.

    fn registers(&self, file: File) -> &Vec<[u32; 4]> {
        if file == File::Addr { &self.addrs } else { &self.temps }
    }

    /// An index with its dynamic part.
    pub(super) fn index(&self, index: &Index) -> i64 {
        let dynamic = index.indirect.map_or(0, |i| {
            let r = self.registers(i.file).get(i.index as usize);
            r.map_or(0, |r| r[i.comp as usize] as i32)
        });
        i64::from(i32::from(index.offset).wrapping_add(dynamic))
    }

    /// The bits of a register's component.
    pub(super) fn bits(&self, block: &Block<'_>, reg: &Reg, comp: usize) -> Result<u32, Trap> {
        let index = self.index(&reg.index);
        let at = usize::try_from(index).unwrap_or(usize::MAX);
        Ok(match reg.file {
            File::Temp | File::Addr => self.registers(reg.file).get(at).map_or(0, |r| r[comp]),
            File::Imm => self.program.imms.get(at).map_or(0, |i| i.words[comp]),
            File::Const | File::ConstBuf => {
                let buffer = reg.dim.map_or(0, |d| self.index(&d));
                let data = usize::try_from(buffer).ok().and_then(|b| block.launch.constants.get(b));
                let from = at.saturating_mul(16).saturating_add(4 * comp);
                let word = data.and_then(|d| d.get(from..from.saturating_add(4)));
                word.map_or(0, |w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]))
            }
            File::Sv => self.system_value(block, index, comp)?,
            File::In => self.input(block, reg, comp)?,
            File::Out => self.output(block, reg, comp)?,
            File::Null => 0,
            f => return Err(illegal(format!("{} cannot be read", f.name()))),
        })
    }

    fn system_value(&self, block: &Block<'_>, index: i64, comp: usize) -> Result<u32, Trap> {
        use Semantic::*;
        let decl = u32::try_from(index).ok().and_then(|i| self.program.decl(File::Sv, i));
        let Some((semantic, _)) = decl.and_then(|d| d.semantic) else {
            return Err(illegal(format!("SV[{index}] is not declared")));
        };
        if block.group.is_some() {
            return self.stage_value(block, semantic, comp);
        }
        let [bx, by, _] = block.launch.block;
        let linear = self.id[0] + bx * (self.id[1] + by * self.id[2]);
        let lane = linear % super::WARP as u32;
        let vector = |v: [u32; 3], w: u32| v.get(comp).copied().unwrap_or(w);
        let mask = |m: u32| if comp & 1 == 0 { m } else { 0 };
        Ok(match semantic {
            BlockId => vector(block.id, 0),
            ThreadId => vector(self.id, 0),
            BlockSize => vector(block.launch.block, 1),
            GridSize => vector(block.launch.grid, 1),
            WorkDim => {
                let threads = |d: usize| block.launch.grid[d] * block.launch.block[d];
                (1..3).rev().find(|&d| threads(d) > 1).unwrap_or(0) as u32 + 1
            }
            SubgroupSize => super::WARP as u32,
            SubgroupInvocation => lane,
            SubgroupEqMask => mask(1 << lane),
            SubgroupGeMask => mask(u32::MAX << lane),
            SubgroupGtMask => mask((u32::MAX << lane) << 1),
            SubgroupLeMask => mask(!((u32::MAX << lane) << 1)),
            SubgroupLtMask => mask(!(u32::MAX << lane)),
            HelperInvocation => 0,
            s => return Err(illegal(format!("{} in a compute program", s.name()))),
        })
    }

    /// Component `c` of operand `n` with its modifiers; for 64-bit operands see [`Thread::operand64`].
    pub(super) fn operand32(
        &self,
        block: &Block<'_>,
        inst: &Inst<'_>,
        n: usize,
        c: usize,
    ) -> Result<u32, Trap> {
        let s = &inst.srcs[n];
        let v = self.bits(block, &s.reg, s.swizzle[c] as usize)?;
        Ok(match inst.op.info().srcs[n] {
            Ty::F32 | Ty::Any => {
                let v = if s.abs { v & 0x7fff_ffff } else { v };
                if s.neg { v ^ 0x8000_0000 } else { v }
            }
            _ => {
                let v = if s.abs { (v as i32).unsigned_abs() } else { v };
                if s.neg { v.wrapping_neg() } else { v }
            }
        })
    }

    /// Pair `pair` of operand `n` with its modifiers.
    pub(super) fn operand64(
        &self,
        block: &Block<'_>,
        inst: &Inst<'_>,
        n: usize,
        pair: usize,
    ) -> Result<u64, Trap> {
        let s = &inst.srcs[n];
        let lo = self.bits(block, &s.reg, s.swizzle[2 * pair] as usize)?;
        let hi = self.bits(block, &s.reg, s.swizzle[2 * pair + 1] as usize)?;
        let v = u64::from(lo) | u64::from(hi) << 32;
        Ok(if inst.op.info().srcs[n] == Ty::F64 {
            let v = if s.abs { v & !(1 << 63) } else { v };
            if s.neg { v ^ 1 << 63 } else { v }
        } else {
            let v = if s.abs { (v as i64).unsigned_abs() } else { v };
            if s.neg { v.wrapping_neg() } else { v }
        })
    }

    /// Writes the components that the mask names.
    pub(super) fn write_result(&mut self, dst: &Dst, r: [u32; 4]) -> Result<(), Trap> {
        let index = self.index(&dst.reg.index);
        let file = match dst.reg.file {
            File::Temp => &mut self.temps,
            File::Addr => &mut self.addrs,
            File::Null => return Ok(()),
            File::Out if self.program.stage != Stage::Compute => {
                let Ok(register) = usize::try_from(index) else { return Ok(()) };
                self.written.extend(dst.comps().map(|c| (register, c, r[c])));
                return Ok(());
            }
            f => return Err(illegal(format!("{} cannot be written", f.name()))),
        };
        // A write outside the file is dropped.
        let Some(at) = usize::try_from(index).ok().filter(|&i| i < REGISTERS) else { return Ok(()) };
        if file.len() <= at {
            file.resize(at + 1, [0; 4]);
        }
        for c in dst.comps() {
            file[at][c] = r[c];
        }
        Ok(())
    }
}
