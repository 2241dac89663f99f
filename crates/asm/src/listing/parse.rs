//! Listings to machine code, in two passes: the first gives every line its address, the second
//! encodes.

use crate::cubin::{Kernel, Param};
use crate::issue;
use nvir_base::Chip;
use nvir_base::chip::{CONST_BANK_BYTES, MAX_CALL_STACK_BYTES};
use nvir_base::diag::{Diagnostic, Diagnostics, Span};
use nvir_isa::effects;
use nvir_isa::fetch::{self, Fetched};
use nvir_isa::sched_word::{self, Issue, SLOTS};
use nvir_isa::{self as isa, MInst, Op, Operand};

use nvir_isa::text::ParseError;
use rustc_hash::FxHashMap;

/// What a listing says.
#[derive(Clone, Debug)]
pub struct Assembly {
    /// What it is for.
    pub chip: Chip,
    /// Its kernels, in order.
    pub kernels: Vec<Kernel>,
}

/// Assembles a listing. `chip` and `name` hold where the text does not say them.
pub fn assemble(text: &str, chip: Chip, name: &str) -> Result<Assembly, Diagnostics> {
    let mut reader = Reader { text, chip, drafts: Vec::new(), found: Diagnostics::default() };
    reader.lines(name);
    let chip = reader.chip;
    let mut kernels = Vec::new();
    for draft in std::mem::take(&mut reader.drafts) {
        kernels.push(reader.finish(draft));
    }
    if kernels.is_empty() {
        reader.found.push(Diagnostic::error("the listing has no instruction"));
    }
    if reader.found.has_errors() { Err(reader.found) } else { Ok(Assembly { chip, kernels }) }
}

/// An instruction of the code before it has its bits.
enum Item<'t> {
    Inst(&'t str),
    Sched([Issue; SLOTS]),
    Word(Fetched),
}

impl Item<'_> {
    /// Bytes of code: the text of a short form says that it is one.
    fn bytes(&self) -> u32 {
        match self {
            Item::Inst(text) if text.contains(isa::text::SHORT) => 4,
            Item::Inst(_) | Item::Sched(_) => 8,
            Item::Word(w) => w.bytes,
        }
    }
}

/// A kernel as far as the first pass knows it.
struct Draft<'t> {
    kernel: Kernel,
    registers: Option<u32>,
    barriers: Option<u32>,
    raw: bool,
    unchecked: bool,
    items: Vec<(Item<'t>, Span)>,
    labels: FxHashMap<&'t str, usize>,
}

struct Reader<'t> {
    text: &'t str,
    chip: Chip,
    drafts: Vec<Draft<'t>>,
    found: Diagnostics,
}

impl<'t> Reader<'t> {
    fn lines(&mut self, name: &str) {
        let mut start = 0;
        let text = self.text;
        for line in text.split_inclusive('\n') {
            self.line(without_comment(line), start, name);
            start += line.len();
        }
    }

    fn line(&mut self, line: &'t str, start: usize, name: &str) {
        // A comment may stand before the text: the address in a listing with words.
        let mut rest = line;
        loop {
            rest = rest.trim_start();
            match rest.strip_prefix("/*").and_then(|r| r.split_once("*/")) {
                Some((_, after)) => rest = after,
                None => break,
            }
        }
        let rest = rest.trim_end();
        let at = start + (rest.as_ptr() as usize - line.as_ptr() as usize);
        if rest.is_empty() {
            return;
        }
        let span = Span::new(at, at + rest.len());
        if let Some((label, after)) = label(rest) {
            let draft = self.draft(name);
            let here = draft.items.len();
            if draft.labels.insert(label, here).is_some() {
                let twice = Span::new(at, at + label.len());
                self.found
                    .push(Diagnostic::error("duplicate label").at(twice, "already defined in this kernel"));
            }
            return self.line(after, at + rest.len() - after.len(), name);
        }
        if let Some(directive) = rest.strip_prefix('.') {
            if let Err(why) = self.directive(directive, span, name) {
                self.found.push(Diagnostic::error("invalid directive").at(span, why));
            }
            return;
        }
        self.draft(name).items.push((Item::Inst(rest), span));
    }

    /// The kernel that lines belong to now.
    fn draft(&mut self, name: &str) -> &mut Draft<'t> {
        if self.drafts.is_empty() {
            self.begin(name);
        }
        let last = self.drafts.len() - 1;
        &mut self.drafts[last]
    }

    fn begin(&mut self, name: &str) {
        self.drafts.push(Draft {
            kernel: Kernel { name: name.to_string(), ..Kernel::default() },
            registers: None,
            barriers: None,
            raw: false,
            unchecked: false,
            items: Vec::new(),
            labels: FxHashMap::default(),
        });
    }

    fn directive(&mut self, text: &'t str, span: Span, name: &str) -> Result<(), String> {
        let mut words = text.split_ascii_whitespace();
        let what = words.next().unwrap_or_default();
        let args: Vec<&str> = words.collect();
        let exactly = |n: usize| -> Result<(), String> {
            if args.len() == n {
                Ok(())
            } else {
                Err(format!("`.{what}` takes {n} values, found {}", args.len()))
            }
        };
        match what {
            "chip" => {
                exactly(1)?;
                let chip = args[0].parse().map_err(|e: nvir_base::chip::UnknownChip| e.to_string())?;
                if chip != self.chip && !self.drafts.is_empty() {
                    return Err("of the first kernel's code: all of a listing is for one chip".into());
                }
                self.chip = chip;
            }
            "kernel" => {
                exactly(1)?;
                self.begin(args[0]);
            }
            "registers" | "barriers" | "shared" | "stack" | "call_stack" | "param_bytes" => {
                exactly(1)?;
                self.size(name, what, args[0])?;
            }
            "param" => {
                exactly(3)?;
                let param = Param {
                    ordinal: number(args[0], 0xffff)? as u16,
                    offset: number(args[1], 0xffff)? as u16,
                    size: number(args[2], 0x3fff)? as u32,
                };
                self.draft(name).kernel.params.push(param);
            }
            "constant" => {
                exactly(2)?;
                let (bank, size) = (number(args[0], 31)? as u8, number(args[1], 0x1_0000)? as usize);
                let banks = &mut self.draft(name).kernel.banks;
                if banks.iter().any(|b| b.0 == bank) {
                    return Err(format!("bank {bank} has contents already"));
                }
                banks.push((bank, vec![0; size]));
            }
            "data" => {
                exactly(3)?;
                self.data(name, [args[0], args[1], args[2]])?;
            }
            "sched" => {
                exactly(SLOTS)?;
                let mut slots = [Issue::UNKNOWN; SLOTS];
                for (slot, byte) in slots.iter_mut().zip(&args) {
                    *slot = Issue::from_bits(number(byte, 0xff)? as u8);
                }
                self.draft(name).items.push((Item::Sched(slots), span));
            }
            "raw" => {
                exactly(0)?;
                self.draft(name).raw = true;
            }
            "unchecked" => {
                exactly(0)?;
                self.draft(name).unchecked = true;
            }
            "word" | "half" => {
                exactly(1)?;
                let word = word(what, args[0].trim_end_matches(';'))?;
                self.draft(name).items.push((Item::Word(word), span));
            }
            _ => {
                return Err("unknown; available: .chip .kernel .registers .barriers .shared .stack .call_stack .param_bytes .param \
                            .constant .data .sched .raw .unchecked .word .half, and labels end with a colon"
                    .to_string());
            }
        }
        Ok(())
    }

    /// A directive with one number of a kernel's.
    fn size(&mut self, name: &str, what: &str, value: &str) -> Result<(), String> {
        let chip = self.chip;
        let most = match what {
            "registers" => chip.gprs(),
            "barriers" => chip.max_barriers(),
            "shared" => chip.max_shared(),
            "stack" => chip.max_local(),
            "call_stack" => MAX_CALL_STACK_BYTES,
            _ => CONST_BANK_BYTES - chip.cuda_params(),
        };
        let value = number(value, most.into())? as u32;
        let draft = self.draft(name);
        match what {
            "registers" => draft.registers = Some(value),
            "barriers" => draft.barriers = Some(value),
            "shared" => draft.kernel.shared = value,
            "stack" => draft.kernel.stack = value,
            "call_stack" => draft.kernel.call_stack = value,
            _ => draft.kernel.param_bytes = value,
        }
        Ok(())
    }

    /// `.data BANK OFFSET BYTES`.
    fn data(&mut self, name: &str, [bank, offset, bytes]: [&str; 3]) -> Result<(), String> {
        let (bank, offset) = (number(bank, 31)? as u8, number(offset, 0x1_0000)? as usize);
        let bytes = hex(bytes)?;
        let banks = &mut self.draft(name).kernel.banks;
        let Some((_, data)) = banks.iter_mut().find(|b| b.0 == bank) else {
            return Err(format!("`.constant {bank} BYTES` must stand before it"));
        };
        match data.get_mut(offset..offset + bytes.len()) {
            Some(place) => place.copy_from_slice(&bytes),
            None => return Err(format!("bank {bank} has only {} bytes", data.len())),
        }
        Ok(())
    }

    /// The second pass over a kernel.
    fn finish(&mut self, draft: Draft<'t>) -> Kernel {
        let chip = self.chip;
        let explicit = draft.raw
            || !chip.has_sched_words()
            || draft.items.iter().any(|(i, _)| matches!(i, Item::Sched(_)));
        // Where the items begin, and where the last one ends.
        let mut addresses = vec![0];
        for (item, span) in &draft.items {
            let (n, last) = (addresses.len() as u32, addresses[addresses.len() - 1]);
            addresses.push(if explicit { last + item.bytes() } else { sched_word::address(chip, n) });
            if item.bytes() == 4 && chip != nvir_base::Chip::Gf100 {
                let why = format!("{chip} has instructions of 8 bytes only");
                self.found.push(Diagnostic::error("invalid instruction").at(*span, why));
            }
        }
        if !explicit {
            addresses[0] = sched_word::address(chip, 0);
        }
        let label = |name: &str| draft.labels.get(name).map(|&n| addresses[n]);
        let read: Read = if draft.unchecked { isa::text::parse } else { isa::text::parse_executable };
        let mut usage = Usage::default();
        let mut words = Vec::with_capacity(draft.items.len());
        let mut insts: Vec<MInst> = Vec::new();
        for (n, (item, span)) in draft.items.iter().enumerate() {
            let pc = addresses[n];
            let word = match item {
                Item::Inst(text) => match self.instruction(text, *span, pc, &label, read) {
                    Some((m, word)) => {
                        usage.add(&m);
                        insts.push(m);
                        Fetched { word, bytes: item.bytes() }
                    }
                    None => Fetched::long(0),
                },
                Item::Word(w) => {
                    insts.push(fetch::decode(chip, *w, pc).unwrap_or(MInst::new(Op::Nop)));
                    *w
                }
                Item::Sched(slots) => {
                    if pc % sched_word::GROUP_BYTES != 0 {
                        let why = format!("it would be at {pc:#x}; put it before every seven instructions");
                        self.found.push(
                            Diagnostic::error("a scheduling word must be at a multiple of 64").at(*span, why),
                        );
                    }
                    match sched_word::encode(chip, *slots) {
                        Some(word) => Fetched::long(word),
                        None => {
                            let why = format!("{chip} has no scheduling words");
                            self.found.push(Diagnostic::error("invalid directive").at(*span, why));
                            Fetched::long(0)
                        }
                    }
                }
            };
            words.push(word);
        }
        let mut kernel = draft.kernel;
        let words = fetch::pack(&words);
        kernel.code = if explicit { words } else { scheduled(chip, &words, &insts) };
        // A vector may begin at the last register: its instruction is illegal, and nothing more is
        // needed for it.
        kernel.gprs = draft.registers.unwrap_or(usage.registers.min(chip.gprs()));
        kernel.barriers = draft.barriers.unwrap_or(usage.barriers);
        let end = kernel.params.iter().map(|p| u32::from(p.offset) + p.size).max().unwrap_or(0);
        kernel.param_bytes = kernel.param_bytes.max(end);
        kernel
    }

    fn instruction(
        &mut self,
        text: &str,
        span: Span,
        pc: u32,
        label: &dyn Fn(&str) -> Option<u32>,
        read: Read,
    ) -> Option<(MInst, u64)> {
        let m = read(self.chip, text, pc, label);
        let encoded = m.and_then(|m| match isa::encode(self.chip, &m, pc) {
            Ok(word) => Ok((m, word)),
            Err(e) => Err(ParseError::misfit(e, 0, text.len())),
        });
        // Nobody reads the suggestions of a thousand errors.
        encoded
            .map_err(|e| match self.found.is_full() {
                true => self.found.push(Diagnostic::error(e.what)),
                false => self.found.push(e.diagnostic(text, span.start as usize)),
            })
            .ok()
    }
}

/// How an instruction is read: [`isa::text::parse`], or the stricter one.
type Read = fn(Chip, &str, u32, &dyn Fn(&str) -> Option<u32>) -> Result<MInst, ParseError>;

/// Puts scheduling words with safe distances before every seven instructions.
fn scheduled(chip: Chip, words: &[u64], insts: &[MInst]) -> Vec<u64> {
    let mut touched = effects::Touched::default();
    let code: Vec<(u32, &MInst)> = (0..).map(|n| sched_word::address(chip, n)).zip(insts).collect();
    let places = issue::in_code_order(&code, &mut touched);
    let issues = issue::control(places.iter().copied(), &touched, insts.len(), chip.has_sched_words());
    let mut out = Vec::with_capacity(words.len() + words.len() / SLOTS + 1);
    for (words, issues) in words.chunks(SLOTS).zip(issues.chunks(SLOTS)) {
        let slots = std::array::from_fn(|k| issues.get(k).copied().unwrap_or(Issue::UNKNOWN));
        out.extend(sched_word::encode(chip, slots));
        out.extend_from_slice(words);
    }
    out
}

/// What the instructions of a kernel show about its needs.
#[derive(Default)]
struct Usage {
    registers: u32,
    barriers: u32,
}

impl Usage {
    fn add(&mut self, m: &MInst) {
        let mut register = |r| {
            if let effects::Resource::Gpr(n) = r {
                self.registers = self.registers.max(u32::from(n) + 1);
            }
        };
        effects::reads(m, &mut register);
        effects::writes(m, &mut register);
        if m.op == Op::Bar {
            // A barrier whose number is in a register can be any of the sixteen.
            let highest = match m.operands.first() {
                Some(&Operand::Imm { bits, .. }) => bits.min(15),
                Some(Operand::Reg { .. }) => 15,
                _ => 0,
            };
            self.barriers = self.barriers.max(highest + 1);
        }
    }
}

/// The text before `//`, and before a `/*` that only a comment follows.
fn without_comment(line: &str) -> &str {
    let line = line.split_once("//").map_or(line, |(before, _)| before);
    match line.rfind("/*") {
        Some(at) if line[at..].trim_end().ends_with("*/") && !line[..at].trim().is_empty() => &line[..at],
        _ => line,
    }
}

/// A label at the start of a line, and what follows its colon.
fn label(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.split_once(':')?;
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$'));
    (plain && !name.is_empty()).then_some((name, rest))
}

/// What `.word` and `.half` have.
fn word(what: &str, digits: &str) -> Result<Fetched, String> {
    let value = digits.strip_prefix("0x").and_then(|h| u64::from_str_radix(h, 16).ok());
    if what == "word" {
        return Ok(value.map(Fetched::long).ok_or("expected 0x and up to 16 hexadecimal digits")?);
    }
    let half = value.and_then(|v| u32::try_from(v).ok()).map(Fetched::half);
    Ok(half.ok_or("expected 0x and up to 8 hexadecimal digits")?)
}

fn number(text: &str, max: u64) -> Result<u64, String> {
    let value = match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    };
    value.filter(|&v| v <= max).ok_or_else(|| format!("expected a number up to {max}, found `{text}`"))
}

fn hex(text: &str) -> Result<Vec<u8>, String> {
    let digits: Option<Vec<u8>> = text.chars().map(|c| c.to_digit(16).map(|d| d as u8)).collect();
    match digits {
        Some(d) if d.len() % 2 == 0 => Ok(d.chunks(2).map(|p| p[0] << 4 | p[1]).collect()),
        _ => Err("expected two hexadecimal digits a byte".to_string()),
    }
}
