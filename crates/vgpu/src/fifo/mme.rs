//! The macro engine: small programs that a driver uploads, which turn one method with parameters into many.
//!
//! An instruction: operation 2:0, where results go 6:4, exit 7, destination 10:8, a 13:11, b 16:14, immediate 31:14; ALU
//! operation 21:17; bit fields: source bit 21:17, size 26:22, destination bit 31:27. Sources: envytools
//! `envydis/macro.c`, Mesa `nvc0/mme/*.mme`.

use nvir_hw::method::macros;

/// Words of macro code.
const CODE_WORDS: usize = 0x2000;
/// Macros that can be named.
const MACROS: usize = macros::MACRO.count as usize;

/// The code of a channel's macros.
#[derive(Clone, Debug)]
pub(crate) struct Mme {
    code: Vec<u32>,
    /// Where the next code word goes.
    upload: usize,
    /// The macro whose start is being set.
    id: usize,
    start: [u32; MACROS],
}

impl Default for Mme {
    fn default() -> Self {
        Mme { code: Vec::new(), upload: 0, id: 0, start: [0; MACROS] }
    }
}

/// What a macro reads and writes.
pub(crate) trait Target {
    fn read(&mut self, method: u32) -> u32;
    fn write(&mut self, method: u32, value: u32) -> Result<(), String>;
    /// Counts an instruction; an error ends the macro.
    fn step(&mut self) -> Result<(), String>;
}

impl Mme {
    /// A method that uploads macros.
    pub(super) fn method(&mut self, method: u32, value: u32) -> Result<(), String> {
        match method {
            macros::MACRO_UPLOAD_POS => self.set_upload_position(value),
            macros::MACRO_UPLOAD_DATA => self.upload(value)?,
            macros::MACRO_ID => self.set_id(value),
            macros::MACRO_POS => self.set_start(value)?,
            _ => {}
        }
        Ok(())
    }

    /// MACRO_UPLOAD_POS: a word index.
    fn set_upload_position(&mut self, position: u32) {
        self.upload = position as usize;
    }

    /// MACRO_UPLOAD_DATA.
    fn upload(&mut self, word: u32) -> Result<(), String> {
        if self.upload >= CODE_WORDS {
            return Err(format!("macro code ends at word {CODE_WORDS:#x}, not at {:#x}", self.upload));
        }
        if self.upload >= self.code.len() {
            self.code.resize(self.upload + 1, 0);
        }
        self.code[self.upload] = word;
        self.upload += 1;
        Ok(())
    }

    /// MACRO_ID: which macro's start MACRO_POS will say.
    fn set_id(&mut self, id: u32) {
        self.id = id as usize;
    }

    /// MACRO_POS.
    fn set_start(&mut self, position: u32) -> Result<(), String> {
        let id = self.id;
        *self.start.get_mut(id).ok_or_else(|| format!("there is no macro {id}"))? = position;
        self.id += 1;
        Ok(())
    }

    /// Runs macro `id`, below [`MACROS`].
    pub(super) fn run(&self, id: usize, parameters: &[u32], target: &mut dyn Target) -> Result<(), String> {
        let mut parameters = parameters.iter().copied();
        let mut registers = [0u32; 8];
        registers[1] = parameters.next().unwrap_or(0);
        let mut state = Run { registers, carry: 0, method: 0, increment: 0 };
        let mut at = self.start[id];
        // An instruction after a branch or exit still executes, before the way goes on: there, or nowhere.
        let mut after: Option<Option<u32>> = None;
        loop {
            target.step()?;
            let code = *self
                .code
                .get(at as usize)
                .ok_or_else(|| format!("macro {id} leaves its code: word {at:#x}"))?;
            let next = after.take();
            let branch = state
                .instruction(code, at, &mut parameters, target)
                .map_err(|e| format!("macro {id}: {e}"))?;
            if next == Some(None) {
                return Ok(());
            }
            match branch {
                Branch::To { at: to, slot: false } => {
                    at = to;
                    continue;
                }
                Branch::To { at: to, slot: true } if next.is_none() => {
                    // An exit bit counts only where the branch is not taken.
                    after = Some(Some(to));
                    at = at.wrapping_add(1);
                    continue;
                }
                Branch::To { slot: true, .. } => {}
                Branch::None => {}
            }
            // Neither a branch nor an exit in a delay slot counts.
            match next {
                Some(Some(to)) => {
                    after = None;
                    at = to;
                }
                _ => {
                    if code >> 7 & 1 != 0 {
                        after = Some(None);
                    }
                    at = at.wrapping_add(1);
                }
            }
        }
    }
}

enum Branch {
    None,
    To { at: u32, slot: bool },
}

struct Run {
    registers: [u32; 8],
    carry: u32,
    method: u32,
    increment: u32,
}

impl Run {
    fn instruction(
        &mut self,
        code: u32,
        at: u32,
        parameters: &mut dyn Iterator<Item = u32>,
        target: &mut dyn Target,
    ) -> Result<Branch, String> {
        let register = |shift: u32| self.registers[(code >> shift & 7) as usize];
        let (a, b) = (register(11), register(14));
        let immediate = (code as i32 >> 14) as u32;
        let (source, size, to) = (code >> 17 & 31, code >> 22 & 31, code >> 27 & 31);
        let mask = (1u32 << size) - 1;
        let result = match code & 7 {
            0 => self.alu(code >> 17 & 31, a, b)?,
            1 => a.wrapping_add(immediate),
            2 => a & !(mask << to) | (b >> source & mask) << to,
            3 => (b.checked_shr(a).unwrap_or(0) & mask) << to,
            4 => (b >> source & mask).checked_shl(a).unwrap_or(0),
            5 => target.read(a.wrapping_add(immediate).wrapping_mul(4) & 0x7ffc),
            7 => {
                let taken = (a == 0) != (code >> 4 & 1 != 0);
                let to = at.wrapping_add(immediate);
                return Ok(if taken {
                    Branch::To { at: to, slot: code >> 5 & 1 == 0 }
                } else {
                    Branch::None
                });
            }
            op => return Err(format!("instruction {code:#010x} has the unknown operation {op}")),
        };
        let mut parameter =
            || parameters.next().ok_or_else(|| format!("word {at:#x} reads a parameter that was not given"));
        let how = code >> 4 & 7;
        let kept = match how {
            0 | 3 | 5 => parameter()?,
            _ => result,
        };
        let destination = (code >> 8 & 7) as usize;
        if destination != 0 {
            self.registers[destination] = kept;
        }
        if matches!(how, 2 | 5 | 6 | 7) {
            self.method = (result & 0xfff) * 4;
            self.increment = (result >> 12 & 0x3f) * 4;
        }
        match how {
            3 | 4 => self.send(result, target),
            6 => {
                let value = parameter()?;
                self.send(value, target)
            }
            7 => self.send(result >> 12 & 0x3f, target),
            _ => Ok(()),
        }
        .map(|()| Branch::None)
    }

    fn alu(&mut self, op: u32, a: u32, b: u32) -> Result<u32, String> {
        let wide = |v: u64, carry: &mut u32| {
            *carry = (v >> 32) as u32 & 1;
            v as u32
        };
        let (x, y, carry) = (u64::from(a), u64::from(b), u64::from(self.carry));
        Ok(match op {
            0 => wide(x + y, &mut self.carry),
            1 => wide(x + y + carry, &mut self.carry),
            // The carry of a subtraction: nothing was borrowed.
            2 => wide(x + u64::from(!b) + 1, &mut self.carry),
            3 => wide(x + u64::from(!b) + carry, &mut self.carry),
            8 => a ^ b,
            9 => a | b,
            10 => a & b,
            11 => a & !b,
            12 => !(a & b),
            _ => return Err(format!("unknown ALU operation {op}")),
        })
    }

    fn send(&mut self, value: u32, target: &mut dyn Target) -> Result<(), String> {
        let method = self.method;
        self.method = self.method.wrapping_add(self.increment) & 0x7ffc;
        target.write(method, value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Log {
        writes: Vec<(u32, u32)>,
        steps: u32,
    }

    impl Target for Log {
        fn read(&mut self, method: u32) -> u32 {
            method + 1
        }

        fn write(&mut self, method: u32, value: u32) -> Result<(), String> {
            self.writes.push((method, value));
            Ok(())
        }

        fn step(&mut self) -> Result<(), String> {
            self.steps += 1;
            if self.steps > 1000 { Err("too long".into()) } else { Ok(()) }
        }
    }

    fn run(code: &[u32], parameters: &[u32]) -> Result<Vec<(u32, u32)>, String> {
        let mut mme = Mme::default();
        mme.set_upload_position(4);
        code.iter().for_each(|&w| mme.upload(w).unwrap());
        mme.set_id(3);
        mme.set_start(4).unwrap();
        let mut log = Log::default();
        mme.run(3, parameters, &mut log)?;
        Ok(log.writes)
    }

    /// An instruction with an immediate.
    fn imm(op: u32, how: u32, dst: u32, a: u32, value: i32) -> u32 {
        op | how << 4 | dst << 8 | a << 11 | (value as u32) << 14
    }

    const EXIT: u32 = 1 << 7;
    const NOP: u32 = 0x11;

    #[test]
    fn parameters_methods_and_the_delay_slot() {
        // Method 0x40 (in words) with increment 1, then the first parameter, the second, and one that is read.
        let code = [
            imm(1, 2, 0, 0, 0x1040),
            imm(1, 4, 0, 1, 2),
            imm(1, 0, 2, 0, 0),
            EXIT | imm(5, 4, 0, 0, 9),
            imm(1, 4, 0, 2, 0),
            imm(1, 4, 0, 2, 0),
        ];
        assert_eq!(run(&code, &[5, 7]).unwrap(), [(0x100, 7), (0x104, 0x25), (0x108, 7)]);
        assert!(run(&code, &[5]).unwrap_err().contains("reads a parameter that was not given"));
    }

    #[test]
    fn bit_fields_and_arithmetic() {
        let field = |op: u32, how: u32, dst: u32, a: u32, b: u32, source: u32, size: u32, to: u32| {
            op | how << 4 | dst << 8 | a << 11 | b << 14 | source << 17 | size << 22 | to << 27
        };
        let alu =
            |op: u32, how: u32, dst: u32, a: u32, b: u32| how << 4 | dst << 8 | a << 11 | b << 14 | op << 17;
        let code = [
            imm(1, 0, 2, 0, 0x40), // r2 = parameter 1
            imm(1, 2, 0, 0, 0x1040),
            field(2, 4, 0, 1, 2, 4, 8, 16),
            field(3, 4, 0, 0, 2, 0, 8, 8),
            field(4, 4, 0, 0, 2, 8, 8, 0),
            alu(0, 4, 3, 1, 2), // carry
            alu(1, 4, 0, 0, 0),
            alu(2, 4, 0, 0, 2), // borrow
            alu(3, 4, 0, 0, 0),
            EXIT | alu(11, 4, 0, 1, 2),
            NOP,
        ];
        let (a, b) = (0xffff_ffffu32, 0x1234_5678u32);
        let values: Vec<u32> = run(&code, &[a, b]).unwrap().into_iter().map(|(_, v)| v).collect();
        assert_eq!(
            values,
            [0xff67_ffff, 0x7800, 0x56, 0x1234_5677, 1, b.wrapping_neg(), 0xffff_ffff, 0xedcb_a987]
        );
    }

    #[test]
    fn a_loop_ends_where_its_counter_does() {
        let code = [
            imm(1, 2, 0, 0, 0x40),
            imm(1, 4, 1, 1, -1),
            imm(7, 1, 0, 1, -1), // while r1 is not 0
            NOP,
            EXIT | NOP,
            NOP,
        ];
        assert_eq!(run(&code, &[3]).unwrap(), [(0x100, 2), (0x100, 1), (0x100, 0)]);
        assert_eq!(run(&code, &[0]).unwrap_err(), "too long");
    }

    /// Macro 0 of Mesa's driver ends in a loop whose branch has the exit bit.
    #[test]
    fn an_exit_with_a_branch_counts_where_it_is_not_taken() {
        let code = [
            imm(1, 2, 0, 0, 0x40),
            imm(1, 4, 1, 1, -1),
            EXIT | imm(7, 1, 0, 1, -1), // while r1 is not 0
            imm(1, 4, 0, 1, 0x10),
        ];
        let count = [(0x100, 1), (0x100, 0x11), (0x100, 0), (0x100, 0x10)];
        assert_eq!(run(&code, &[2]).unwrap(), count);
    }

    #[test]
    fn what_ends_in_an_error() {
        assert!(run(&[NOP], &[]).unwrap_err().contains("leaves its code"));
        assert!(run(&[6], &[]).unwrap_err().contains("unknown operation 6"));
        assert!(run(&[31 << 17 | 0x10], &[]).unwrap_err().contains("unknown ALU operation 31"));
        let mut mme = Mme::default();
        mme.set_upload_position(u32::MAX);
        assert!(mme.upload(1).is_err());
        mme.set_id(128);
        assert!(mme.set_start(0).is_err());
    }
}
