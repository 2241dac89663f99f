//! SASS text to instructions.
//!
//! Operands are read first as what they look like; the row that takes them then says what a bare
//! number is (an integer, a float, a branch target).

use super::error::*;
use super::number::{decimal_len, int, number_as, range, word};
use super::print::SWIZZLE;
use super::{FORM, SHORT};
use crate::codec::{Misfit, encode_as};
use crate::row::{Kind, Row, Style};
use crate::table::Table;
use crate::{Kw, MInst, Mod, Op, Operand, Pred, Reg, Sel, SrcMods, executable, names};
use arrayvec::ArrayVec;
use nvir_base::Chip;
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// Reads one instruction that stands at byte address `pc`. A closing semicolon is allowed; `label`
/// gives the address of a name that stands where a branch target may.
pub fn parse(
    chip: Chip,
    text: &str,
    pc: u32,
    label: &dyn Fn(&str) -> Option<u32>,
) -> Result<MInst, ParseError> {
    Parser { chip, text, at: 0, label }.instruction(pc, Accept::Encodable)
}

/// The same for an instruction that somebody wrote: one with operands that no card executes is
/// refused.
pub fn parse_executable(
    chip: Chip,
    text: &str,
    pc: u32,
    label: &dyn Fn(&str) -> Option<u32>,
) -> Result<MInst, ParseError> {
    Parser { chip, text, at: 0, label }.instruction(pc, Accept::Executable)
}

/// Which instructions are taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Accept {
    /// All that have a word.
    Encodable,
    /// Those that can be executed without a fault: see [`executable`].
    Executable,
}

/// An operand as it is written.
enum Raw<'t> {
    /// Nothing but this operand can be meant.
    Known(Operand),
    /// A number, with the suffixes `.NEG`, `.ABS`, `.INV`, and the part that is meant.
    Number(&'t str, SrcMods, Sel),
    Label(&'t str),
}

struct Parser<'t> {
    chip: Chip,
    text: &'t str,
    at: usize,
    label: &'t dyn Fn(&str) -> Option<u32>,
}

type Operands<'t> = ArrayVec<(Raw<'t>, usize, usize), 8>;

static OPS: LazyLock<FxHashMap<&'static str, Op>> =
    LazyLock::new(|| Op::ALL.iter().map(|&o| (o.name(), o)).collect());
static MODS: LazyLock<FxHashMap<&'static str, Mod>> =
    LazyLock::new(|| Mod::ALL.iter().map(|&m| (m.name(), m)).collect());
static WORDS: LazyLock<FxHashMap<&'static str, Kw>> =
    LazyLock::new(|| Kw::ALL.iter().map(|&k| (k.name(), k)).collect());

impl<'t> Parser<'t> {
    fn instruction(mut self, pc: u32, accept: Accept) -> Result<MInst, ParseError> {
        self.space();
        let guard = self.guard()?;
        let start = self.at;
        let mnemonic = self.take(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
        let mut m = self.mnemonic(mnemonic, start)?;
        let mnemonic_len = self.at - start;
        m.guard = guard;
        let operands = self.operands()?;
        for (raw, at, len) in &operands {
            if let Raw::Label(name) = raw
                && (self.label)(name).is_none()
            {
                return Err(self.undefined(name, *at, *len));
            }
        }
        m.form = if self.eat(SHORT) { MInst::SHORT } else { 0 };
        m.form |= self.form()?;
        self.space();
        if self.rest() == ";" {
            self.at += 1;
        }
        if !self.rest().is_empty() {
            let (at, len) = (self.at, self.rest().len());
            return Err(self.error(SYNTAX, at, len, "expected `,` or the end of the instruction"));
        }
        let (m, row) = self.resolve(m, &operands, pc).map_err(|(misfit, row)| {
            let operand = misfit.operand().map(usize::from);
            let (at, len) = match operand.and_then(|i| operands.get(i)) {
                Some(&(_, at, len)) => (at, len),
                None => (start, mnemonic_len),
            };
            let slot = operand.zip(row).and_then(|(i, row)| row.slots.get(i));
            match (misfit, slot.and_then(range)) {
                (Misfit::Range(_), Some(range)) => {
                    self.error(OUT_OF_RANGE, at, len, &format!("expected {range}"))
                }
                _ => ParseError { len: len.max(1), ..ParseError::misfit(misfit, at, len) },
            }
        })?;
        if accept == Accept::Executable
            && let Err(executable::Fault { operand, why }) = executable::check(self.chip, &m, row)
        {
            let (_, at, len) = operands[operand];
            return Err(self.error(why.title(), at, len, &why.to_string()));
        }
        Ok(m)
    }

    /// A name that stands for nothing.
    fn undefined(&self, name: &str, at: usize, len: usize) -> ParseError {
        let numbered = |letter: char| name.strip_prefix(letter).is_some_and(|n: &str| int(n).is_some());
        if numbered('R') {
            let last = self.chip.gprs() - 1;
            return self.error("register out of range", at, len, &format!("expected R0 to R{last}, or RZ"));
        }
        if numbered('P') {
            return self.error("predicate out of range", at, len, "expected P0 to P6, or PT");
        }
        self.error("undefined name", at, len, "no label, register or keyword has this name")
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn error(&self, what: &'static str, at: usize, len: usize, message: &str) -> ParseError {
        ParseError { what, at, len: len.max(1), message: message.to_string() }
    }

    fn expected(&self, what: &str) -> ParseError {
        let rest = self.rest();
        let len = rest.find([',', ' ', ';', '\t']).unwrap_or(rest.len());
        self.error(if len == 0 { SYNTAX } else { INVALID_OPERAND }, self.at, len, &format!("expected {what}"))
    }

    fn space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn take(&mut self, accept: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let len = rest.find(|c| !accept(c)).unwrap_or(rest.len());
        self.at += len;
        &rest[..len]
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn guard(&mut self) -> Result<Pred, ParseError> {
        if !self.eat("@") {
            return Ok(Pred::T);
        }
        let p = self.pred().ok_or_else(|| self.expected("a predicate, P0 to P6 or PT"))?;
        self.space();
        Ok(p)
    }

    fn pred(&mut self) -> Option<Pred> {
        let start = self.at;
        let not = self.eat("!");
        let num = match self.take(|c| c.is_ascii_alphanumeric() || c == '_').strip_prefix('P') {
            Some("T") => Some(7),
            Some(n) if n.len() == 1 => n.parse().ok().filter(|&n: &u8| n < 7),
            _ => None,
        };
        if num.is_none() {
            self.at = start;
        }
        num.map(|num| Pred { num, not })
    }

    /// The operation is the longest name that the text begins with; the rest are its suffixes.
    fn mnemonic(&self, text: &str, start: usize) -> Result<MInst, ParseError> {
        let mut end = text.len();
        let op = loop {
            if let Some(&op) = OPS.get(&text[..end]) {
                break op;
            }
            match text[..end].rfind('.') {
                Some(dot) => end = dot,
                None => {
                    let len = text.find('.').unwrap_or(text.len());
                    return Err(self.error(
                        UNKNOWN_MNEMONIC,
                        start,
                        len,
                        "expected the name of an operation",
                    ));
                }
            }
        };
        let mut m = MInst::new(op);
        let mut at = start + end;
        let mut rest = &text[end..];
        while let Some(suffixes) = rest.strip_prefix('.') {
            at += 1;
            // A name may have a point in it, so two pieces are tried before one.
            let mut ends = suffixes.match_indices('.').map(|(i, _)| i).chain([suffixes.len()]);
            let one = ends.next().unwrap_or(0);
            let len = ends.next().filter(|&two| MODS.contains_key(&suffixes[..two])).unwrap_or(one);
            let suffix = &suffixes[..len];
            rest = &suffixes[len..];
            if m.sync {
                return Err(self.error(INVALID_SUFFIX, at, suffix.len(), "no suffix can follow .S"));
            }
            match MODS.get(suffix) {
                _ if suffix == "S" => m.sync = true,
                Some(&md) => m.mods.try_push(md).map_err(|_| {
                    self.error(INVALID_SUFFIX, at, suffix.len(), "no operation has so many suffixes")
                })?,
                None => {
                    return Err(self.error(UNKNOWN_SUFFIX, at, suffix.len(), "no operation has this suffix"));
                }
            }
            at += suffix.len();
        }
        Ok(m)
    }

    fn operands(&mut self) -> Result<Operands<'t>, ParseError> {
        let mut out = Operands::new();
        self.space();
        while !self.rest().is_empty() && self.rest() != ";" && !self.rest().starts_with('{') {
            let start = self.at;
            let raw = self.operand()?;
            let len = self.at - start;
            out.try_push((raw, start, len))
                .map_err(|_| self.error("too many operands", start, len, "no operation has so many"))?;
            self.space();
            if self.eat(",") {
                self.space();
                if self.rest().is_empty() || self.rest() == ";" {
                    return Err(self.expected("an operand"));
                }
            } else if !self.rest().starts_with(|c: char| c.is_ascii_digit() || c == '-') {
                // Some operations have a number without a comma before it.
                break;
            }
        }
        Ok(out)
    }

    fn form(&mut self) -> Result<u64, ParseError> {
        self.space();
        if !self.eat(FORM) {
            return Ok(0);
        }
        let digits = self.take(|c| c.is_ascii_alphanumeric());
        let form = digits
            .strip_prefix("0x")
            .and_then(|hex| u64::from_str_radix(hex, 16).ok())
            .filter(|form| form & MInst::SHORT == 0)
            .ok_or_else(|| self.expected("a hexadecimal number without the bit of {short}"))?;
        if self.eat("}") { Ok(form) } else { Err(self.expected("`}`")) }
    }

    fn operand(&mut self) -> Result<Raw<'t>, ParseError> {
        const WHAT: &str = "an operand: a register, predicate, number, c[bank][offset] or [address]";
        let rest = self.rest();
        let word_len = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let word = &rest[..word_len];
        if let Some(&kw) = WORDS.get(word).filter(|_| !rest[word_len..].starts_with('.')) {
            self.at += word_len;
            return Ok(Raw::Known(Operand::Word(kw)));
        }
        if let Some(p) = self.pred() {
            return Ok(Raw::Known(Operand::Pred(p)));
        }
        if self.eat("CC.") {
            let name = self.take(|c| c.is_ascii_alphanumeric() || c == '_');
            let n = names::cc_test(name).ok_or_else(|| self.expected("a condition-code test"))?;
            return Ok(Raw::Known(Operand::CcTest(n)));
        }
        if rest.starts_with("SR") || rest.starts_with("SM_") {
            let name = self.take(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
            let n = names::special_number(self.chip, name).ok_or_else(|| {
                self.error(
                    "unknown special register",
                    self.at - name.len(),
                    name.len(),
                    "expected SR_TID.X or the like",
                )
            })?;
            return Ok(Raw::Known(Operand::Sreg(n)));
        }
        if rest.starts_with("a[") {
            self.at += 1;
            let (base, offset) = self.address()?;
            return Ok(Raw::Known(Operand::Attr { base, offset }));
        }
        if let Some(bits) = swizzle(word) {
            self.at += word_len;
            return Ok(Raw::Known(Operand::imm(bits)));
        }
        if rest.starts_with('[') || rest.starts_with("v[") {
            self.eat("v");
            let (base, offset) = self.address()?;
            return Ok(Raw::Known(Operand::Mem { base, offset }));
        }
        if let Some(number) = self.number() {
            let mods = SrcMods { neg: self.eat(".NEG"), abs: self.eat(".ABS"), inv: self.eat(".INV") };
            return Ok(Raw::Number(number, mods, self.part()?));
        }
        if let Some(source) = self.source()? {
            return Ok(Raw::Known(source));
        }
        let quoted = self.eat("`(");
        let name = self.take(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$'));
        if name.is_empty() || (quoted && !self.eat(")")) {
            Err(self.expected(WHAT))
        } else {
            Ok(Raw::Label(name))
        }
    }

    /// A number at this place: `-0x10`, `0.5`, `1e-5`, `+INF`.
    fn number(&mut self) -> Option<&'t str> {
        let rest = self.rest();
        let unsigned = rest.trim_start_matches(['-', '+']);
        let sign = rest.len() - unsigned.len();
        if sign > 1 {
            return None;
        }
        let len = if unsigned.starts_with("INF") {
            3
        } else if unsigned.starts_with("QNAN") || unsigned.starts_with("SNAN") {
            let bits = unsigned[4..].starts_with('(').then(|| unsigned.find(')')).flatten();
            bits.map_or(4, |close| close + 1)
        } else if let Some(hex) = unsigned.strip_prefix("0x") {
            2 + hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len())
        } else {
            decimal_len(unsigned)
        };
        if len == 0 {
            return None;
        }
        self.at += sign + len;
        let number = &rest[..sign + len];
        // nvdisasm puts a space after INF, QNAN and -0.0.
        if self.rest().starts_with(" .") {
            self.at += 1;
        }
        Some(number)
    }

    /// A register or constant with its modifiers; none if this is something else.
    fn source(&mut self) -> Result<Option<Operand>, ParseError> {
        let start = self.at;
        let mods = SrcMods { neg: self.eat("-"), inv: self.eat("~"), abs: self.eat("|") };
        if self.eat("c[") {
            let bank = self.take(|c| c.is_ascii_alphanumeric());
            let number = int(bank).ok_or_else(|| self.expected("a constant bank"))?;
            let bank = u8::try_from(number).map_err(|_| {
                let at = self.at - bank.len();
                self.error(OUT_OF_RANGE, at, bank.len(), "expected a constant bank: 0 to 0x1f")
            })?;
            if !self.eat("]") {
                return Err(self.expected("`]`"));
            }
            self.space();
            let (base, offset) = self.address()?;
            let sel = self.part()?;
            self.close_abs(mods)?;
            return Ok(Some(Operand::Const { bank, base, offset, mods, sel }));
        }
        let Some(reg) = self.reg() else {
            self.at = start;
            return Ok(None);
        };
        let sel = self.part()?;
        self.close_abs(mods)?;
        let cc = self.eat(".CC");
        Ok(Some(Operand::Reg { reg, mods, sel, cc }))
    }

    fn close_abs(&mut self, mods: SrcMods) -> Result<(), ParseError> {
        if mods.abs && !self.eat("|") { Err(self.expected("`|`")) } else { Ok(()) }
    }

    fn reg(&mut self) -> Option<Reg> {
        let start = self.at;
        let reg = match self.take(|c| c.is_ascii_alphanumeric() || c == '_').strip_prefix('R') {
            Some("Z") => Some(Reg::Z),
            Some(n) if n.bytes().all(|c| c.is_ascii_digit()) => n.parse().ok().filter(|&n| n < 255).map(Reg),
            _ => None,
        };
        if reg.is_none() {
            self.at = start;
        }
        reg
    }

    fn part(&mut self) -> Result<Sel, ParseError> {
        if !self.rest().starts_with('.') || self.rest().starts_with(".CC") {
            return Ok(Sel::Whole);
        }
        let start = self.at;
        self.at += 1;
        let name = self.take(|c| c.is_ascii_alphanumeric());
        Sel::from_name(name).ok_or_else(|| {
            self.error(
                INVALID_OPERAND,
                start,
                name.len() + 1,
                "expected a part of a register: H0, H1, B0 to B3",
            )
        })
    }

    fn address(&mut self) -> Result<(Reg, i32), ParseError> {
        if !self.eat("[") {
            return Err(self.expected("`[`"));
        }
        let base = self.reg();
        let mut offset = 0;
        if base.is_none() || self.eat("+") || self.rest().starts_with('-') {
            let negative = self.eat("-");
            let digits = self.take(|c| c.is_ascii_alphanumeric());
            let value = int(digits)
                .map(|n| if negative { -n } else { n })
                .ok_or_else(|| self.expected("an offset"))?;
            offset = word(value).ok_or_else(|| {
                let at = self.at - digits.len();
                self.error(OUT_OF_RANGE, at, digits.len(), "expected an offset of 32 bits")
            })? as i32;
        }
        if !self.eat("]") {
            return Err(self.expected("`]`"));
        }
        Ok((base.unwrap_or(Reg::Z), offset))
    }

    /// Finds the first row that the operands fit, and gives the numbers the meaning that it has for
    /// them.
    fn resolve(
        &self,
        m: MInst,
        operands: &Operands<'_>,
        pc: u32,
    ) -> Result<(MInst, &'static Row), (Misfit, Option<&'static Row>)> {
        let rows = Table::for_chip(self.chip).of_op(m.op);
        if rows.is_empty() {
            return Err((Misfit::Op, None));
        }
        // The misfit of the row that came closest says most.
        let mut worst = (Misfit::Operands, None);
        for row in rows.iter().filter(|r| r.slots.len() == operands.len()) {
            let candidate = self.as_row(&m, operands, row);
            match candidate.and_then(|c| encode_as(row, &c, pc).map(|_| c)) {
                Ok(found) => return Ok((found, row)),
                Err(e) if worst.0.worse(e) != worst.0 => worst = (e, Some(row)),
                Err(_) => {}
            }
        }
        Err(worst)
    }

    fn as_row(&self, m: &MInst, operands: &Operands<'_>, row: &Row) -> Result<MInst, Misfit> {
        let mut m = m.clone();
        for (i, ((raw, _, _), slot)) in (0..).zip(operands.iter().zip(&row.slots)) {
            let o = match *raw {
                Raw::Known(Operand::Const { bank, base, offset, mods, sel }) if offset < 0 => {
                    // A negative text of a 16-bit offset.
                    let wraps = matches!(slot.kind, Kind::Const { signed_text: true, .. });
                    Operand::Const {
                        bank,
                        base,
                        offset: if wraps { offset & 0xffff } else { offset },
                        mods,
                        sel,
                    }
                }
                Raw::Known(o) => o,
                Raw::Number(text, mods, part) => {
                    let shown = if let Style::Part(sel) = slot.style { sel } else { Sel::Whole };
                    if part != shown {
                        return Err(Misfit::Operands);
                    }
                    if shown != Sel::Whole {
                        m.form |= row.variant_form();
                    }
                    number_as(text, mods, slot.kind, i)?
                }
                Raw::Label(name) => match slot.kind {
                    Kind::TargetRel(_) | Kind::TargetNear(_) | Kind::TargetAbs(_) => {
                        Operand::Target((self.label)(name).ok_or(Misfit::Operands)?)
                    }
                    _ => return Err(Misfit::Operands),
                },
            };
            m.operands.try_push(o).map_err(|_| Misfit::Operands)?;
        }
        Ok(m)
    }
}

/// The eight letters of FSWZ.
fn swizzle(word: &str) -> Option<u32> {
    if word.len() != 8 || !word.is_ascii() {
        return None;
    }
    (0..4).try_fold(0, |bits, i| {
        let pair = SWIZZLE.iter().position(|&s| s == &word[2 * i..2 * i + 2])?;
        Some(bits << 2 | pair as u32)
    })
}
