//! What a text promises beyond its grammar: the rules of Mesa's `nir_validate_shader` (`nir_validate.c`, 22.3), as far as
//! text can break them, one message a rule.
//!
//! - `declarations`: each name once
//! - `flow`: blocks, their predecessors and dominators, jumps; `phi`
//! - `value`: values and registers are defined where they are used
//! - `alu`, `intrinsic`, `texture`, `deref`: shapes of operands by the tables of opcodes and intrinsics, and the facts
//!   beside them
//!
//! Two rules are stricter than Mesa's default: definitions dominate their uses (there a debug option), and buffers'
//! numbers, offsets and addresses have the sizes that nouveau gives them ([`operands`](super::operands)). Comments are not
//! read: predecessors follow from the structure. Everything here is one walk over a function to find definitions
//! and blocks, and one over its instructions; errors beyond the limit of [`Diagnostics`] are counted without being written.

mod alu;
mod declarations;
mod deref;
mod flow;
mod intrinsic;
mod phi;
mod texture;
mod value;

use super::ast::{Def, Dest, Function, Jump, Node, RegDecl, Shader, Shape};
use crate::diag::{Diagnostic, Diagnostics, Span};
use crate::ir::Dim;
use flow::{BlockNumber, Builder, Flow};
use rustc_hash::{FxHashMap, FxHashSet};
use value::{Value, Values};

/// Whether a parsed text is valid; if not, what is wrong with it.
pub(super) fn shader(text: &str, shader: &Shader<'_>) -> Result<(), Diagnostics> {
    let mut findings = Findings(Diagnostics::default());
    declarations::shader(shader, &mut findings);
    let functions = declarations::functions(shader);
    let variables = shader.vars.iter().map(|v| (v.name, v)).collect();
    let mut samplers = FxHashMap::default();
    for fun in shader.functions.iter().filter(|f| f.defined) {
        let mut values = Values::with_capacity(fun.body.len());
        let flow = scan(text, fun, &mut values, &mut findings);
        let mut checker = Checker {
            text,
            shader,
            fun,
            functions: &functions,
            variables: &variables,
            locals: fun.vars.iter().map(|v| (v.name, v)).collect(),
            registers: fun.regs.iter().map(|r| (r.index, r)).collect(),
            samplers: &mut samplers,
            findings: &mut findings,
            values,
            flow,
            reported: FxHashSet::default(),
            phis: phi::Predecessors::default(),
            at: 0,
            block: BlockNumber::default(),
            span: fun.span,
        };
        checker.body();
    }
    if findings.0.has_errors() { Err(findings.0) } else { Ok(()) }
}

/// Blocks and definitions of a function.
fn scan(text: &str, fun: &Function<'_>, values: &mut Values, findings: &mut Findings) -> Flow {
    let mut builder = Builder::new(text, findings);
    for (at, (node, span)) in fun.body.iter().enumerate() {
        let at = at as u32;
        builder.node(at, node, *span);
        let mut define = |def: Def, builder: &mut Builder<'_>| {
            let value = Value { shape: def.shape, node: at, block: builder.here(at) };
            if let Err(problem) = values.define(def.index, value) {
                builder.findings.push(|| {
                    let name = value::name(text, def.index, *span);
                    let d = Diagnostic::error(problem.message(&name)).at(*span, "");
                    match problem {
                        value::Problem::Twice(first) => {
                            d.label(fun.body[first as usize].1, "first defined here")
                        }
                        value::Problem::TooLarge => d,
                    }
                });
            }
        };
        match node {
            Node::Const { def, .. } | Node::Undef(def) => define(*def, &mut builder),
            Node::ParallelCopy(range) => {
                for (dest, _) in fun.copies(*range) {
                    if let Dest::Ssa(def) = dest {
                        define(*def, &mut builder);
                    }
                }
            }
            node => {
                if let Some(Dest::Ssa(def)) = fun.dest(node) {
                    define(def, &mut builder);
                }
            }
        }
    }
    builder.finish()
}

/// What has been found; beyond the limit, how much.
pub(super) struct Findings(Diagnostics);

impl Findings {
    fn push(&mut self, finding: impl FnOnce() -> Diagnostic) {
        if self.0.is_full() {
            self.0.dropped += 1;
        } else {
            self.0.push(finding());
        }
    }
}

/// The sampler variable that covers a texture's number: dimension, and whether there are layers.
type Samplers = FxHashMap<u16, Option<(Dim, bool)>>;

/// One function while its instructions are checked.
struct Checker<'a, 'f> {
    text: &'a str,
    shader: &'a Shader<'a>,
    fun: &'a Function<'a>,
    functions: &'f declarations::Functions<'a>,
    variables: &'f declarations::Variables<'a>,
    locals: declarations::Variables<'a>,
    registers: FxHashMap<u32, &'a RegDecl>,
    samplers: &'f mut Samplers,
    findings: &'f mut Findings,
    values: Values,
    flow: Flow,
    /// Values and registers that something has been said of.
    reported: FxHashSet<value::Reported>,
    phis: phi::Predecessors,
    /// The node that is checked, and the block that it is in.
    at: u32,
    block: BlockNumber,
    span: Span,
}

impl<'a> Checker<'a, '_> {
    fn body(&mut self) {
        let fun = self.fun;
        for (at, (node, span)) in fun.body.iter().enumerate() {
            self.at = at as u32;
            self.span = *span;
            self.block = self.flow.block_of(self.block, self.at);
            match node {
                Node::If(cond) => self.condition(cond),
                Node::Const { def, values } => self.constant(*def, fun.consts(*values)),
                Node::Alu(alu) => self.alu(alu),
                Node::Intrinsic(intrinsic) => self.intrinsic(intrinsic),
                Node::Tex(id) => self.texture(fun.tex(*id)),
                Node::Deref(id) => self.deref(fun.deref(*id)),
                Node::Phi { dest, srcs } => self.phi(dest, fun.phi_srcs(*srcs)),
                Node::ParallelCopy(range) => {
                    for (dest, src) in fun.copies(*range) {
                        let (dest, shape) = (self.dest(dest), self.source(src));
                        self.same(src.span, "copy", dest, shape);
                    }
                }
                Node::Call { callee, args } => self.call(callee, fun.srcs(*args)),
                Node::Block(_)
                | Node::Else
                | Node::Loop
                | Node::Continue
                | Node::End
                | Node::Undef(_)
                | Node::Unknown(_)
                | Node::Jump(Jump::Break | Jump::Continue | Jump::Return | Jump::Halt | Jump::Goto) => {}
            }
        }
    }

    #[cold]
    fn error(&mut self, span: Span, message: impl FnOnce() -> String) {
        self.findings.push(|| Diagnostic::error(message()).at(span, ""));
    }

    /// The unused bits of a constant are zero.
    fn constant(&mut self, def: Def, values: &[u64]) {
        let bits = def.shape.bits;
        if bits < 64
            && let Some(value) = values.iter().find(|&&v| v >> bits != 0)
        {
            self.error(self.span, || {
                format!("the constant {value:#x} does not fit {}", number(bits.into(), "bit"))
            });
        }
    }

    /// What is moved to a place has its shape.
    fn same(&mut self, span: Span, what: &str, dest: Option<Shape>, src: Option<Shape>) {
        if let (Some(dest), Some(src)) = (dest, src)
            && dest != src
        {
            self.error(span, || format!("the {what} is {}, its source {}", shape(dest), shape(src)));
        }
    }

    fn call(&mut self, callee: &str, args: &'a [super::ast::Src]) {
        let Some(&function) = self.functions.get(callee) else {
            let all: Vec<&str> = self.shader.functions.iter().map(|f| f.name).collect();
            let span = self.span;
            return self.findings.push(|| {
                let d = Diagnostic::error(format!("function `{callee}` is not declared")).at(span, "");
                d.did_you_mean(crate::diag::closest(callee, &all))
            });
        };
        if args.len() != function.params as usize {
            let (wanted, span) = (function.params, self.span);
            self.error(span, || {
                format!("`{callee}` takes {}, not {}", number(wanted as usize, "argument"), args.len())
            });
        }
        for (i, src) in args.iter().enumerate() {
            let found = self.source(src);
            if let (Some(&wanted), Some(found)) = (function.param_shapes.get(i), found)
                && wanted != found
            {
                self.error(src.span, || {
                    format!("parameter {i} of `{callee}` is {}, the argument {}", shape(wanted), shape(found))
                });
            }
        }
    }
}

/// `a vec4 of 32 bits`, `a scalar of 1 bit`
fn shape(shape: Shape) -> String {
    match shape.comps {
        1 => format!("a scalar of {}", bits(shape.bits)),
        n => format!("a vec{n} of {}", bits(shape.bits)),
    }
}

fn bits(bits: u8) -> String {
    number(bits.into(), "bit")
}

fn number(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
