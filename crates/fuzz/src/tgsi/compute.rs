//! Statements that compute: words, fields, pairs, and functions that the machine approximates.

use super::generate::*;
use super::tables::{APPROXIMATE, FROM_PAIR, PAIR, WORD};
use arbitrary::Result;
use std::fmt::Write;

impl Generator<'_, '_> {
    /// A function of the machine, near what it should be: to the buffer with tolerance.
    pub(super) fn approximate(&mut self) -> Result<()> {
        let &(op, n, low, high) = self.u.choose(APPROXIMATE)?;
        let mut line = format!("{op} TEMP[{SCRATCH}]");
        let (low, high) = (self.all_float(low), self.all_float(high));
        for i in 0..n as u32 {
            let s = self.source(0)?;
            let r = OPERANDS + i;
            self.line(format!("MAX TEMP[{r}], {s}, {low}"));
            self.line(format!("MIN TEMP[{r}], TEMP[{r}], {high}"));
            let _ = write!(line, ", TEMP[{r}]");
        }
        self.line(line);
        self.near()
    }

    /// Stores the scratch register where it is compared with tolerance.
    pub(super) fn near(&mut self) -> Result<()> {
        let slot = self.slots % (WORDS / 4);
        self.slots += 1;
        let at = self.all(16 * slot);
        self.line(format!("UADD TEMP[{INDEX}].x, TEMP[{SELF}].zzzz, {at}"));
        self.line(format!("STORE BUFFER[2], TEMP[{INDEX}].xxxx, TEMP[{SCRATCH}]"));
        Ok(())
    }

    pub(super) fn emit(&mut self, op: &str, dst: String, n: usize) -> Result<()> {
        let mut line = format!("{op} {dst}");
        for _ in 0..n {
            let s = self.source(3)?;
            let _ = write!(line, ", {s}");
        }
        self.line(line);
        Ok(())
    }

    pub(super) fn word(&mut self) -> Result<()> {
        if self.u.ratio(1, 12)? {
            return self.field();
        }
        let &(op, n) = self.u.choose(WORD)?;
        let (d, m) = (self.below(PLAIN)?, self.mask()?);
        self.emit(op, format!("TEMP[{d}]{m}"), n)
    }

    /// Fields that lie inside the word, at fixed and at dynamic places.
    pub(super) fn field(&mut self) -> Result<()> {
        let (d, m) = (self.below(PLAIN)?, self.mask()?);
        let (a, b) = (self.source(1)?, self.source(1)?);
        let op = self.pick(&["UBFE", "IBFE", "BFI"])?;
        let insert = if op == "BFI" { format!(", {b}") } else { String::new() };
        let (mut position, mut length) = (self.below(33)?, self.below(33)?);
        if position + length > 32 {
            (position, length) = (32 - length.min(32), length.min(32));
        }
        let (mut at, width) = (self.all(position), self.all(length.min(32 - position)));
        if self.u.ratio(1, 3)? && length <= 17 {
            let (s, mask) = (self.source(0)?, self.all(15));
            self.line(format!("AND TEMP[{INDEX}].y, {s}, {mask}"));
            at = format!("TEMP[{INDEX}].yyyy");
        }
        let width = if at.starts_with("TEMP") { self.all(length.min(17)) } else { width };
        self.line(format!("{op} TEMP[{d}]{m}, {a}{insert}, {at}, {width}"));
        Ok(())
    }

    pub(super) fn wide(&mut self) -> Result<()> {
        let d = self.below(PLAIN)?;
        match self.below(9)? {
            1 | 2 => {
                let &(op, n) = self.u.choose(FROM_PAIR)?;
                let m = self.pick(&[".x", ".xz", ".xy", ".y"])?;
                return self.emit(op, format!("TEMP[{d}]{m}"), n);
            }
            3 => {
                let s = self.source(3)?;
                let e = (d + 1 + self.below(PLAIN - 1)?) % PLAIN;
                self.line(format!("DFRACEXP TEMP[{d}], TEMP[{e}].x, {s}"));
                self.no_nan(d);
                return Ok(());
            }
            4 => return self.root(),
            _ => {}
        }
        let &(op, n) = self.u.choose(PAIR)?;
        let m = self.pick(&[".xy", ".zw", ""])?;
        self.emit(op, format!("TEMP[{d}]{m}"), n)?;
        if op.starts_with('D') || op.ends_with("2D") {
            self.no_nan(d);
        }
        Ok(())
    }

    /// The reciprocal of a double's root: near what it should be.
    fn root(&mut self) -> Result<()> {
        let s = self.source(3)?;
        self.line(format!("DABS TEMP[{SCRATCH}], {s}"));
        self.line(format!("DRSQ TEMP[{SCRATCH}], TEMP[{SCRATCH}]"));
        self.line(format!("D2F TEMP[{SCRATCH}].xy, TEMP[{SCRATCH}]"));
        self.line(format!("MOV TEMP[{SCRATCH}].zw, TEMP[{SCRATCH}].xxyy"));
        self.near()
    }

    /// Which pattern a double that is no number has is open: makes it zero.
    pub(super) fn no_nan(&mut self, d: u32) {
        let none = self.all(0);
        self.line(format!("DSEQ TEMP[{SCRATCH}].xz, TEMP[{d}], TEMP[{d}]"));
        self.line(format!("UCMP TEMP[{d}], TEMP[{SCRATCH}].xxzz, TEMP[{d}], {none}"));
    }
}
