//! NIR as a tree: printed, and evaluated for one thread.

use super::host;
use super::opcodes::Opcode;
use nvir_reference::softmath::{Want, mask, round};

/// Threads of the one block.
pub(super) const THREADS: usize = 64;
/// Words of 64 bits that each thread has as input.
pub(super) const INPUTS: usize = 6;
/// Steps that a thread may take.
const STEPS: u32 = 20_000;

/// A value, by its number in [`Program::bits`].
pub(super) type Value = usize;

/// The result of a phi, and what it is from its two predecessors.
pub(super) type Phi = (Value, Value, Value);

/// The form of Mesa 22.3, and that of later versions.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Form {
    Old,
    New,
}

pub(super) enum Stmt {
    Constant {
        d: Value,
        value: u64,
    },
    /// Input words of 32 bits: as many as there are destinations, one to four, from a word on.
    Input {
        d: Vec<Value>,
        word: usize,
    },
    /// The thread's number.
    Thread {
        d: Value,
    },
    Op {
        d: Value,
        op: &'static Opcode,
        srcs: Vec<Value>,
    },
    If {
        condition: Value,
        then: Vec<Stmt>,
        els: Vec<Stmt>,
        /// Result, and what it is from either side.
        phis: Vec<Phi>,
    },
    /// Left between `body` and `rest` when the condition holds.
    Loop {
        /// Result, what it is at first, and in later rounds.
        phis: Vec<Phi>,
        body: Vec<Stmt>,
        leave: Value,
        rest: Vec<Stmt>,
    },
}

#[derive(Default)]
pub(super) struct Program {
    /// Of each value.
    pub bits: Vec<u32>,
    pub code: Vec<Stmt>,
    /// What each thread stores, in words of 64 bits.
    pub outputs: Vec<Value>,
}

/// Values of a thread; none where it is open.
struct Thread<'a> {
    program: &'a Program,
    number: u64,
    inputs: &'a [u64],
    values: Vec<Option<u64>>,
    steps: u32,
}

impl Thread<'_> {
    /// None: a branch is open, or it takes too long.
    fn run(&mut self, code: &[Stmt]) -> Option<()> {
        for s in code {
            self.steps += 1;
            if self.steps > STEPS {
                return None;
            }
            match s {
                Stmt::Constant { d, value } => self.values[*d] = Some(*value),
                Stmt::Thread { d } => self.values[*d] = Some(self.number),
                Stmt::Input { d, word } => {
                    for (k, &d) in d.iter().enumerate() {
                        let at = word + k;
                        self.values[d] = Some(self.inputs[at / 2] >> (32 * (at % 2)) & 0xffff_ffff);
                    }
                }
                Stmt::Op { d, op, srcs } => self.values[*d] = self.apply(op, *d, srcs),
                Stmt::If { condition, then, els, phis } => {
                    let taken = self.values[*condition]? != 0;
                    self.run(if taken { then } else { els })?;
                    self.set(phis, |&(_, a, b)| if taken { a } else { b });
                }
                Stmt::Loop { phis, body, leave, rest } => {
                    self.set(phis, |p| p.1);
                    loop {
                        self.run(body)?;
                        if self.values[*leave]? != 0 {
                            break;
                        }
                        self.run(rest)?;
                        self.set(phis, |p| p.2);
                    }
                }
            }
        }
        Some(())
    }

    /// All at once.
    fn set(&mut self, phis: &[Phi], from: impl Fn(&Phi) -> Value) {
        let new: Vec<_> = phis.iter().map(|p| self.values[from(p)]).collect();
        phis.iter().zip(new).for_each(|(p, v)| self.values[p.0] = v);
    }

    fn apply(&self, op: &Opcode, d: Value, srcs: &[Value]) -> Option<u64> {
        let operands: Vec<u64> = srcs.iter().map(|&s| self.values[s]).collect::<Option<_>>()?;
        let sizes: Vec<u32> = srcs.iter().map(|&s| self.program.bits[s]).collect();
        let bits = self.program.bits[d];
        match host::component(&op.name, bits, &sizes, &operands)? {
            Want::Bits(x) => Some(x & mask(bits)),
            Want::Float(x, 0.0, 0.0) if !x.is_nan() => Some(round(x, bits)),
            Want::Float(..) | Want::Any(_) => None,
        }
    }
}

impl Program {
    /// What a thread stores; none where an opcode leaves it open. None at all if a branch depends on such.
    pub(super) fn evaluate(&self, thread: u64, inputs: &[u64]) -> Option<Vec<Option<u64>>> {
        let values = vec![None; self.bits.len()];
        let mut t = Thread { program: self, number: thread, inputs, values, steps: 0 };
        t.run(&self.code)?;
        Some(self.outputs.iter().map(|&v| t.values[v]).collect())
    }

    pub(super) fn text(&self, form: Form) -> String {
        let mut p = Printer {
            program: self,
            form,
            text: String::new(),
            next: 0,
            names: Vec::new(),
            block: 0,
            depth: 1,
        };
        p.names.resize(self.bits.len(), String::new());
        p.whole()
    }
}

struct Printer<'a> {
    program: &'a Program,
    form: Form,
    text: String,
    /// Number of the next name.
    next: usize,
    names: Vec<String>,
    /// The block that is being printed.
    block: usize,
    depth: usize,
}

impl Printer<'_> {
    fn line(&mut self, s: &str) {
        let indent = if self.form == Form::Old { "\t" } else { "    " };
        self.text += &indent.repeat(self.depth);
        self.text += s;
        self.text.push('\n');
    }

    /// Begins a block of that number.
    fn open(&mut self, block: usize) {
        self.block = block;
        match self.form {
            Form::Old => self.line(&format!("block block_{block}:")),
            Form::New => self.line(&format!("block b{block}:  // preds:")),
        }
    }

    fn label(&self, block: usize) -> String {
        if self.form == Form::Old { format!("block_{block}") } else { format!("b{block}") }
    }

    fn name(&mut self) -> String {
        self.next += 1;
        if self.form == Form::Old { format!("ssa_{}", self.next) } else { format!("%{}", self.next) }
    }

    fn definition(&self, name: &str, bits: u32, comps: usize, what: &str) -> String {
        match self.form {
            Form::Old => format!("vec{comps} {bits} {name} = {what}"),
            Form::New if comps == 1 => format!("{bits} {name} = {what}"),
            Form::New => format!("{bits}x{comps} {name} = {what}"),
        }
    }

    fn define(&mut self, bits: u32, comps: usize, what: &str) -> String {
        let name = self.name();
        let line = self.definition(&name, bits, comps, what);
        self.line(&line);
        name
    }

    fn intrinsic(&self, what: &str) -> String {
        if self.form == Form::Old { format!("intrinsic {what}") } else { format!("@{what}") }
    }

    fn constant(&mut self, bits: u32, value: u64) -> String {
        self.define(bits, 1, &format!("load_const (0x{value:x})"))
    }

    fn whole(mut self) -> String {
        let old = self.form == Form::Old;
        self.text = if old {
            format!(
                "shader: MESA_SHADER_COMPUTE\nworkgroup-size: {THREADS}, 1, 1\nshared-size: 0\ninputs: 0\noutputs: 0\nuniforms: 0\n\
                 decl_function main (0 params)\n\nimpl main {{\n"
            )
        } else {
            format!(
                "shader: MESA_SHADER_COMPUTE\nworkgroup_size: {THREADS}, 1, 1\ndecl_function main () (entrypoint)\n\nimpl main {{\n"
            )
        };
        self.open(0);
        let thread =
            if old { "intrinsic load_local_invocation_index () ()" } else { "@load_local_invocation_index" };
        let thread = self.define(32, 1, thread);
        let from = self.offset(&thread, 8 * INPUTS as u64);
        self.code(&self.program.code, &thread, &from);
        let outputs = &self.program.outputs;
        let to = self.offset(&thread, 8 * outputs.len() as u64);
        let buffer = self.constant(32, 1);
        for (k, &v) in outputs.iter().enumerate() {
            let (bits, name) = (self.program.bits[v], self.names[v].clone());
            let value = match bits {
                64 => name,
                1 => self.define(64, 1, &format!("b2i64 {name}")),
                _ => self.define(64, 1, &format!("u2u64 {name}")),
            };
            let plus = self.constant(32, 8 * k as u64);
            let at = self.define(32, 1, &format!("iadd {to}, {plus}"));
            let access = if old { "0" } else { "none" };
            let store = self.intrinsic(&format!(
                "store_ssbo ({value}, {buffer}, {at}) (wrmask=x, access={access}, align_mul=8, align_offset=0)"
            ));
            self.line(&store);
        }
        let last = self.block + 1;
        if old {
            self.line(&format!("/* succs: block_{last} */"));
        }
        self.open(last);
        self.text + "}\n"
    }

    fn offset(&mut self, thread: &str, stride: u64) -> String {
        let stride = self.constant(32, stride);
        self.define(32, 1, &format!("imul {thread}, {stride}"))
    }

    fn code(&mut self, code: &[Stmt], thread: &str, from: &str) {
        for s in code {
            match s {
                Stmt::Constant { d, value } => self.names[*d] = self.constant(self.program.bits[*d], *value),
                Stmt::Thread { d } => self.names[*d] = thread.to_string(),
                Stmt::Input { d, word } => {
                    let plus = self.constant(32, 4 * *word as u64);
                    let at = self.define(32, 1, &format!("iadd {from}, {plus}"));
                    let buffer = self.constant(32, 0);
                    let access = if self.form == Form::Old { "0" } else { "none" };
                    let load = self.intrinsic(&format!(
                        "load_ssbo ({buffer}, {at}) (access={access}, align_mul=4, align_offset=0)"
                    ));
                    let name = self.define(32, d.len(), &load);
                    for (&d, c) in d.iter().zip("xyzw".chars()) {
                        self.names[d] = format!("{name}.{c}");
                    }
                    if let [d] = d[..] {
                        self.names[d] = name;
                    }
                }
                Stmt::Op { d, op, srcs } => {
                    let list = srcs.iter().map(|&s| self.names[s].clone()).collect::<Vec<_>>().join(", ");
                    // What is not exact may be contracted.
                    let exact = if op.name.starts_with('f') { "!" } else { "" };
                    let what = format!("{}{exact} {list}", op.name);
                    self.names[*d] = self.define(self.program.bits[*d], 1, &what);
                }
                Stmt::If { condition, then, els, phis } => {
                    let condition = self.names[*condition].clone();
                    self.line(&format!("if {condition} {{"));
                    let first = self.arm(self.block + 1, then, thread, from);
                    self.line("} else {");
                    let second = self.arm(self.block + 1, els, thread, from);
                    self.line("}");
                    self.open(self.block + 1);
                    for &(d, a, b) in phis {
                        let (a, b) = (self.names[a].clone(), self.names[b].clone());
                        let what = format!("phi {}: {a}, {}: {b}", self.label(first), self.label(second));
                        self.names[d] = self.define(self.program.bits[d], 1, &what);
                    }
                }
                Stmt::Loop { phis, body, leave, rest } => {
                    self.repeat((phis, body, *leave, rest), thread, from)
                }
            }
        }
    }

    /// The blocks of an arm; gives the last.
    fn arm(&mut self, block: usize, code: &[Stmt], thread: &str, from: &str) -> usize {
        self.depth += 1;
        self.open(block);
        self.code(code, thread, from);
        self.depth -= 1;
        self.block
    }

    fn repeat(
        &mut self,
        (phis, body, leave, rest): (&[Phi], &[Stmt], Value, &[Stmt]),
        thread: &str,
        from: &str,
    ) {
        let before = self.block;
        self.line("loop {");
        self.depth += 1;
        self.open(before + 1);
        let place = self.text.len();
        for p in phis {
            self.names[p.0] = self.name();
        }
        self.code(body, thread, from);
        let leave = self.names[leave].clone();
        self.line(&format!("if {leave} {{"));
        self.depth += 1;
        self.open(self.block + 1);
        self.line("break");
        self.depth -= 1;
        self.line("} else {");
        self.depth += 1;
        self.open(self.block + 1);
        self.depth -= 1;
        self.line("}");
        self.open(self.block + 1);
        self.code(rest, thread, from);
        let latch = self.block;
        // What the phis take is known only now.
        let after = self.text.split_off(place);
        for &(d, first, next) in phis {
            let (first, next) = (self.names[first].clone(), self.names[next].clone());
            let what = format!("phi {}: {first}, {}: {next}", self.label(before), self.label(latch));
            let line = self.definition(&self.names[d], self.program.bits[d], 1, &what);
            self.line(&line);
        }
        self.text += &after;
        self.depth -= 1;
        self.line("}");
        self.open(latch + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    #[test]
    fn programs_print_in_both_forms_and_end() {
        let mut ended = String::new();
        for case in 0..40 {
            let p = super::super::generate::program(&mut nvir::random::Random::of(1, case));
            for form in [Form::Old, Form::New] {
                let text = p.text(form);
                let compiler = nvir::Compiler::new(nvir::Chip::Gk110);
                if let Err(e) = compiler.front(&nvir::Source::nir(&text)) {
                    panic!("{e}\n{text}");
                }
            }
            let _ = write!(ended, "{}", u8::from(p.evaluate(3, &[5; INPUTS]).is_some()));
        }
        assert!(ended.matches('1').count() > 30, "{ended}");
    }
}
