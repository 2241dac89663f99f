//! Statements on memory: arrays of every register file, shared and private memory, constants, buffers, and what all
//! threads add up or give each other.

use super::generate::*;
use super::tables::{ATOMIC, COMMUTATIVE};
use arbitrary::Result;

impl Generator<'_, '_> {
    /// `ADDR[n].comp` gets a number below `limit`, a power of two, that differs from thread to thread.
    pub(super) fn address(&mut self, n: u32, comp: &str, limit: u32) -> Result<()> {
        let s = self.source(0)?;
        let mask = self.all(limit - 1);
        self.line(format!("AND TEMP[{INDEX}].y, {s}, {mask}"));
        self.line(format!("UARL ADDR[{n}].{comp}, TEMP[{INDEX}].yyyy"));
        Ok(())
    }

    pub(super) fn indexed(&mut self) -> Result<()> {
        let (d, m) = (self.below(PLAIN)?, self.mask()?);
        let element = match self.below(4)? {
            // The second array has three elements: the index stays below two.
            0 => {
                self.address(1, "z", 2)?;
                format!("TEMP[ADDR[1].z+{SECOND}](2)")
            }
            1 => {
                self.address(0, "y", 2)?;
                "ADDR[ADDR[0].y+2]".to_owned()
            }
            _ => {
                self.address(0, "x", ARRAY)?;
                format!("TEMP[ADDR[0].x+{PLAIN}](1)")
            }
        };
        if self.u.ratio(1, 2)? {
            self.line(format!("MOV {element}{m}, TEMP[{d}]"));
        } else {
            self.line(format!("MOV TEMP[{d}]{m}, {element}"));
        }
        Ok(())
    }

    /// `INDEX.x` becomes the address of a word of four at `base`.
    pub(super) fn own(&mut self, base: &str) -> Result<()> {
        let s = self.source(0)?;
        let mask = self.all(12);
        self.line(format!("AND TEMP[{INDEX}].x, {s}, {mask}"));
        self.line(format!("UADD TEMP[{INDEX}].x, TEMP[{INDEX}].xxxx, {base}"));
        Ok(())
    }

    pub(super) fn shared(&mut self) -> Result<()> {
        self.own(&format!("TEMP[{SELF}].yyyy"))?;
        self.access("MEMORY[0]", "")
    }

    pub(super) fn private(&mut self) -> Result<()> {
        let n = self.below(PRIVATE / 16)?;
        let base = self.all(16 * n);
        self.own(&base)?;
        self.access("MEMORY[1]", "")
    }

    /// Global memory of the thread, and words of the kernel input.
    pub(super) fn global(&mut self) -> Result<()> {
        let (d, m, s) = (self.below(PLAIN)?, self.mask()?, self.source(0)?);
        match self.below(4)? {
            0 => {
                let mask = self.all(0x6c);
                self.line(format!("AND TEMP[{INDEX}].x, {s}, {mask}"));
                self.line(format!("LOAD TEMP[{d}]{m}, MEMORY[3], TEMP[{INDEX}].xxxx"));
            }
            1 => {
                let vector = self.below(WORDS / 4)?;
                let at = self.all(16 * vector);
                self.line(format!("UADD TEMP[{INDEX}].x, TEMP[{SELF}].wwww, {at}"));
                if self.u.ratio(1, 2)? {
                    self.line(format!("STORE MEMORY[2]{m}, TEMP[{INDEX}].xxxx, {s}"));
                } else {
                    self.line(format!("LOAD TEMP[{d}]{m}, MEMORY[2], TEMP[{INDEX}].xxxx"));
                }
            }
            _ => {
                self.own(&format!("TEMP[{SELF}].wwww"))?;
                return self.access("MEMORY[2]", "");
            }
        }
        Ok(())
    }

    /// A load, store or atomic operation at `INDEX.x`.
    pub(super) fn access(&mut self, place: &str, suffix: &str) -> Result<()> {
        let (d, v) = (self.below(PLAIN)?, self.source(0)?);
        match self.below(3)? {
            0 => self.line(format!("STORE {place}.x, TEMP[{INDEX}].xxxx, {v}{suffix}")),
            1 => self.line(format!("LOAD TEMP[{d}].x, {place}, TEMP[{INDEX}].xxxx{suffix}")),
            _ => {
                let line = self.atomic(place, &format!("TEMP[{INDEX}].xxxx"), suffix)?;
                self.line(line);
            }
        }
        Ok(())
    }

    /// An atomic operation whose result is seen.
    pub(super) fn atomic(&mut self, place: &str, at: &str, suffix: &str) -> Result<String> {
        let op = self.pick(ATOMIC)?;
        let (d, m, v) = (self.below(PLAIN)?, self.mask()?, self.source(0)?);
        let second = if op == "ATOMCAS" { format!(", {}", self.source(0)?) } else { String::new() };
        Ok(format!("{op} TEMP[{d}]{m}, {place}, {at}, {v}{second}{suffix}"))
    }

    /// Constants and immediates by number, fixed and not.
    pub(super) fn constant(&mut self) -> Result<()> {
        let (d, m) = (self.below(PLAIN)?, self.mask()?);
        let n = self.below(3)?;
        let line = match self.below(5)? {
            0 => {
                self.address(2, "x", 8)?;
                format!("MOV TEMP[{d}]{m}, CONST[{n}][ADDR[2].x]")
            }
            1 => {
                self.address(2, "y", 2)?;
                format!("MOV TEMP[{d}]{m}, CONST[ADDR[2].y+1][{n}]")
            }
            2 => {
                self.address(2, "x", 4)?;
                self.address(2, "y", 2)?;
                format!("MOV TEMP[{d}]{m}, CONST[ADDR[2].y+1][ADDR[2].x+2]")
            }
            3 => {
                self.address(3, "w", 2)?;
                format!("MOV TEMP[{d}]{m}, IMM[ADDR[3].w]")
            }
            _ => {
                let s = self.source(3)?;
                format!("UADD TEMP[{d}]{m}, CONST[{n}][3].wxyz, {s}")
            }
        };
        self.line(line);
        Ok(())
    }

    /// A buffer by a dynamic number; some addresses are outside.
    pub(super) fn table(&mut self) -> Result<()> {
        let (d, m) = (self.below(PLAIN)?, self.mask()?);
        self.address(1, "x", 2)?;
        let s = self.source(0)?;
        let mask = self.all(0x1fc);
        self.line(format!("AND TEMP[{INDEX}].x, {s}, {mask}"));
        let place = format!("BUFFER[ADDR[1].x+{}]", TABLES[0]);
        let line = match self.below(4)? {
            0 => format!("RESQ TEMP[{d}]{m}, {place}"),
            1 => format!("LOAD TEMP[{d}]{m}, {place}.wzyx, TEMP[{INDEX}].xxxx"),
            _ => format!("LOAD TEMP[{d}]{m}, {place}, TEMP[{INDEX}].xxxx"),
        };
        self.line(line);
        Ok(())
    }

    /// What all threads add up: in a buffer, in shared memory, in counters.
    pub(super) fn sum(&mut self) -> Result<()> {
        let op = self.pick(COMMUTATIVE)?;
        let word = COMMUTATIVE.iter().position(|o| *o == op).unwrap_or(0) as u32;
        let mut v = self.source(0)?;
        match op {
            "ATOMFADD" => {
                let mask = self.all(15);
                self.line(format!("AND TEMP[{SCRATCH}].x, {v}, {mask}"));
                self.line(format!("U2F TEMP[{SCRATCH}].x, TEMP[{SCRATCH}].xxxx"));
                v = format!("TEMP[{SCRATCH}].xxxx");
            }
            // The limit is the same for all.
            "ATOMINC_WRAP" | "ATOMDEC_WRAP" => v = self.all(0x50),
            _ => {}
        }
        match self.below(3)? {
            0 => {
                let at = self.all(SUMS + 4 * word);
                self.line(format!("{op} TEMP[{NOWHERE}].x, MEMORY[0], {at}, {v}"));
            }
            1 => {
                let n = self.below(4)?;
                let (at, v) = (self.all(0), self.source(0)?);
                self.line(format!("ATOMUADD TEMP[{NOWHERE}].x, HWATOMIC[0][{n}], {at}, {v}"));
            }
            _ => {
                let at = self.all(4 * word);
                self.line(format!("{op} TEMP[{NOWHERE}].x, BUFFER[{SUM_BUFFER}], {at}, {v}"));
            }
        }
        Ok(())
    }

    /// Threads give each other a vector through shared memory.
    pub(super) fn exchange(&mut self) -> Result<()> {
        let (d, s, with) = (self.below(PLAIN)?, self.source(0)?, self.below(THREADS)?);
        let (base, with, vector) = (self.all(EXCHANGE), self.all(with), self.all(16));
        self.line(format!("UADD TEMP[{INDEX}].x, TEMP[{SELF}].yyyy, {base}"));
        self.line(format!("STORE MEMORY[0], TEMP[{INDEX}].xxxx, {s}"));
        self.line("BARRIER");
        self.line(format!("XOR TEMP[{INDEX}].x, TEMP[{SELF}].xxxx, {with}"));
        self.line(format!("UMAD TEMP[{INDEX}].x, TEMP[{INDEX}].xxxx, {vector}, {base}"));
        self.line(format!("LOAD TEMP[{d}], MEMORY[0], TEMP[{INDEX}].xxxx"));
        self.line("BARRIER");
        Ok(())
    }
}
