//! Modules as text: a line an instruction, in assembly, with its words behind a semicolon.
//!
//! ```text
//! ; SPIR-V 1.0 ; 07230203 00010000 00080001 0000001c 00000000
//! OpCapability Shader ; 00020011 00000001
//! %gid = OpVariable %6 Input ; 0004003b 00000006 00000007 00000001
//! ```
//!
//! This is what the compiler reads, since it has all that the module has, in an order of bytes of its own; errors, remarks,
//! faults and profiles show its lines, which name things as `OpName` does and say the source's file and line where `OpLine`
//! or `NonSemantic.Shader.DebugInfo` does. What is not a known instruction is a line of words alone.

use super::grammar::{self, Operand, Row};
use super::read::{HEADER, MAGIC, to_digits};
use crate::diag::Span;
use rustc_hash::FxHashMap;
use spirv::Op;
use std::fmt::Write;
use std::ops::Range;

/// Why bytes have no listing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoModule {
    /// It begins in neither order of bytes with the magic number.
    #[error("this is not a SPIR-V module: it does not begin with 0x07230203")]
    Magic,
    /// Bytes are left over.
    #[error("a SPIR-V module consists of words of four bytes; this one ends within one")]
    Bytes,
    /// Spans of the listing have 32 bits.
    #[error("the module is longer than 64 MiB")]
    Long,
}

/// Whether bytes begin as a module does, in either order of bytes.
pub fn is_module(data: &[u8]) -> bool {
    data.first_chunk().is_some_and(|&b| u32::from_le_bytes(b) == MAGIC || u32::from_be_bytes(b) == MAGIC)
}

/// A string, and how many words it takes.
pub(super) fn string(words: &[u32]) -> (String, usize) {
    let len = grammar::string_words(words).unwrap_or(words.len());
    let mut bytes = Vec::with_capacity(4 * len);
    words[..len].iter().for_each(|w| bytes.extend_from_slice(&w.to_le_bytes()));
    bytes.truncate(bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len()));
    let text =
        String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned());
    (text, len)
}

/// Instructions of `NonSemantic.Shader.DebugInfo`.
mod debug {
    pub(super) const SOURCE: u32 = 35;
    pub(super) const LINE: u32 = 103;
    pub(super) const NO_LINE: u32 = 104;
}

/// What the lines of a listing know of those before them.
#[derive(Default)]
struct Names {
    /// The set of `NonSemantic.Shader.DebugInfo`, its sources with their files' strings, and the constants that it names.
    debug: Option<u32>,
    sources: FxHashMap<u32, u32>,
    constants: FxHashMap<u32, u32>,
    names: FxHashMap<u32, String>,
    strings: FxHashMap<u32, String>,
    /// Integer types of 64 bits, and values of these.
    wide: rustc_hash::FxHashSet<u32>,
    /// Where in the listing an opcode stands.
    opcodes: FxHashMap<u32, Range<usize>>,
}

/// The words of a module, in either order of bytes.
pub(crate) fn words(data: &[u8]) -> Result<Vec<u32>, NoModule> {
    /// A line is up to eight times as long as its words.
    const LONGEST: usize = 64 << 20;
    if !is_module(data) {
        return Err(NoModule::Magic);
    }
    if data.len() > LONGEST {
        return Err(NoModule::Long);
    }
    let (chunks, []) = data.as_chunks::<4>() else { return Err(NoModule::Bytes) };
    let order = if data.starts_with(&MAGIC.to_le_bytes()) { u32::from_le_bytes } else { u32::from_be_bytes };
    Ok(chunks.iter().map(|&b| order(b)).collect())
}

/// The listing of a module.
pub fn listing(data: &[u8]) -> Result<String, NoModule> {
    words(data).map(|words| listing_of(&words, |_, _| {}))
}

/// The listing of a module's words. `place_of` gets each line: where among the words it begins, and where it is.
pub(crate) fn listing_of(words: &[u32], mut place_of: impl FnMut(usize, Span)) -> String {
    let mut names = Names::default();
    instructions(words, |_, op, inst| names.note(op, inst));
    let mut out = String::with_capacity(words.len() * 24);
    let header = &words[..HEADER.min(words.len())];
    let version = header.get(1).map_or([0; 4], |w| w.to_le_bytes());
    let _ = write!(out, "; SPIR-V {}.{} ", version[2], version[1]);
    let mut line = Vec::new();
    hex(&mut out, header, &mut line);
    place_of(0, Span::new(0, out.len() - 1));
    let mut place = String::new();
    instructions(words, |at, op, inst| {
        let start = out.len();
        names.line(op, inst, &mut out);
        match op {
            Some(Op::Line) if inst.len() > 3 => {
                let file = names.strings.get(&inst[1]).cloned().unwrap_or_default();
                place = format!("; {}:{} ", visible(file), inst[2]);
            }
            Some(Op::ExtInst) if names.debug.is_some() && inst.get(3).copied() == names.debug => {
                match (inst.get(4), names.debug_line(inst)) {
                    (_, Some(line)) => place = line,
                    (Some(&debug::NO_LINE), _) => place.clear(),
                    _ => {}
                }
            }
            Some(Op::NoLine | Op::Function | Op::FunctionEnd) => place.clear(),
            Some(Op::Branch | Op::BranchConditional | Op::Switch | Op::Return | Op::ReturnValue) => {
                out.push_str(&place);
                place.clear();
            }
            _ => out.push_str(&place),
        }
        hex(&mut out, inst, &mut line);
        place_of(at, Span::new(start, out.len() - 1));
    });
    out
}

fn visible(text: String) -> String {
    if text.len() <= 200 && text.bytes().all(|b| matches!(b, b' '..=b'~') && b != b';') {
        return text;
    }
    text.chars().map(|c| if c.is_control() || c == ';' { '.' } else { c }).take(200).collect()
}

/// Every word of a module is written and read again, so neither goes through the machinery of formats.
fn hex(out: &mut String, words: &[u32], line: &mut Vec<u8>) {
    line.clear();
    line.push(b';');
    for &w in words {
        let mut word = [b' '; 9];
        word[1..].copy_from_slice(&to_digits(w).to_le_bytes());
        line.extend_from_slice(&word);
    }
    line.push(b'\n');
    out.push_str(std::str::from_utf8(line).unwrap_or_default());
}

fn decimal(out: &mut String, mut x: u32) {
    let mut digits = [0; 10];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (x % 10) as u8;
        x /= 10;
        if x == 0 {
            break;
        }
    }
    out.push_str(std::str::from_utf8(&digits[at..]).unwrap_or_default());
}

/// Calls `f` with each instruction: where it is, its opcode, if it is known, and its words, as many as there are.
fn instructions(words: &[u32], mut f: impl FnMut(usize, Option<Op>, &[u32])) {
    let mut at = HEADER;
    while at < words.len() {
        let count = ((words[at] >> 16) as usize).clamp(1, words.len() - at);
        f(at, Op::from_u32(words[at] & 0xffff), &words[at..at + count]);
        at += count;
    }
}

impl Names {
    /// What is said of lines in constants and sources.
    fn note_debug(&mut self, op: Option<Op>, inst: &[u32]) {
        match (op, inst) {
            (Some(Op::ExtInstImport), [_, id, name @ ..])
                if string(name).0.starts_with("NonSemantic.Shader.DebugInfo") =>
            {
                self.debug = Some(*id);
            }
            (Some(Op::Constant), &[_, _, id, x]) if self.debug.is_some() => {
                self.constants.insert(id, x);
            }
            (Some(Op::ExtInst), &[_, _, id, set, debug::SOURCE, file, ..]) if self.debug == Some(set) => {
                self.sources.insert(id, file);
            }
            _ => {}
        }
    }

    /// The file and the line that an instruction says, if it is one that does.
    fn debug_line(&self, inst: &[u32]) -> Option<String> {
        let &[_, _, _, _, debug::LINE, source, line, ..] = inst else { return None };
        let file = self.sources.get(&source).and_then(|file| self.strings.get(file));
        let line = self.constants.get(&line)?;
        Some(format!("; {}:{line} ", visible(file.cloned().unwrap_or_default())))
    }

    fn note(&mut self, op: Option<Op>, inst: &[u32]) {
        self.note_debug(op, inst);
        match op {
            Some(Op::Name) if inst.len() > 2 => {
                let (name, _) = string(&inst[2..]);
                let plain =
                    |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'.' | b'(' | b')' | b'$');
                if !name.is_empty() && name.len() <= 64 && name.bytes().all(plain) {
                    self.names.insert(inst[1], name);
                }
            }
            Some(Op::String) if inst.len() > 2 => {
                self.strings.insert(inst[1], string(&inst[2..]).0);
            }
            Some(Op::TypeInt) if inst.get(2) == Some(&64) => {
                self.wide.insert(inst[1]);
            }
            Some(op) if !self.wide.is_empty() => {
                let pattern = Row::of(op).map_or("", Row::pattern);
                if pattern.starts_with('t') && inst.len() > 2 && self.wide.contains(&inst[1]) {
                    self.wide.insert(inst[2]);
                }
            }
            _ => {}
        }
    }

    fn opcode(&mut self, op: Op, out: &mut String) {
        if let Some(before) = self.opcodes.get(&(op as u32)) {
            out.extend_from_within(before.clone());
            return;
        }
        let start = out.len();
        let _ = write!(out, "Op{op:?} ");
        self.opcodes.insert(op as u32, start..out.len());
    }

    fn id(&self, id: u32, out: &mut String) {
        // A name may be another id's number or name, so both are said.
        out.push('%');
        if let Some(name) = self.names.get(&id) {
            out.push_str(name);
            out.push('.');
        }
        decimal(out, id);
        out.push(' ');
    }

    /// An instruction without its words.
    fn line(&mut self, op: Option<Op>, inst: &[u32], out: &mut String) {
        let known = op.and_then(|op| Row::of(op).map(|row| (op, row)));
        let Some((op, row)) = known else {
            match op {
                Some(op) => self.opcode(op, out),
                None => _ = write!(out, "opcode {} ", inst[0] & 0xffff),
            }
            return;
        };
        let (typed, named) = row.results();
        let operands = &inst[1..];
        let mut skip = 0;
        if named {
            skip = usize::from(typed) + 1;
            if let Some(&id) = operands.get(skip - 1) {
                self.id(id, out);
                out.push_str("= ");
            }
        }
        self.opcode(op, out);
        if typed && let Some(&ty) = operands.first() {
            self.id(ty, out);
        }
        let wide = op == Op::Switch && operands.first().is_some_and(|id| self.wide.contains(id));
        let mut index = 0;
        // Of what does not fit the grammar, what fits is shown.
        let _ = row.walk(operands, if wide { 2 } else { 1 }, |operand| {
            index += 1;
            if index <= skip {
                return;
            }
            match operand {
                Operand::Id(id) => self.id(id, out),
                Operand::Literal(x) => literal(op, index - skip - 1, x, out),
                Operand::Text { at, len } => {
                    out.push('"');
                    out.push_str(&visible(string(&operands[at..at + len]).0));
                    out.push_str("\" ");
                }
            }
        });
    }
}

/// The file and line of the source language that a line of a listing is from, as in `k.comp:11`.
pub fn source_line(line: &str) -> Option<&str> {
    let mut parts = line.rsplitn(3, " ; ");
    let (_words, source, assembly) = (parts.next()?, parts.next()?, parts.next()?);
    (!assembly.is_empty()).then_some(source)
}

/// A literal; some by their names, by which operand it is.
fn literal(op: Op, index: usize, x: u32, out: &mut String) {
    let name = match (op, index) {
        (Op::Capability, _) => spirv::Capability::from_u32(x).map(|e| format!("{e:?}")),
        (Op::Variable | Op::TypePointer, 0) => spirv::StorageClass::from_u32(x).map(|e| format!("{e:?}")),
        (Op::EntryPoint, 0) => spirv::ExecutionModel::from_u32(x).map(|e| format!("{e:?}")),
        (Op::Decorate, 1) | (Op::MemberDecorate, 2) => {
            spirv::Decoration::from_u32(x).map(|e| format!("{e:?}"))
        }
        (Op::SpecConstantOp, 0) => Op::from_u32(x).map(|e| format!("{e:?}")),
        _ => None,
    };
    match name {
        Some(name) => out.push_str(&name),
        None => decimal(out, x),
    }
    out.push(' ');
}
