//! TGSI to IR: one function for the kernel and one for each subroutine it calls.
//!
//! Vectors become scalars: each component of a register is a variable of [`ssa`](crate::front::common::ssa), 64-bit values are
//! tuples of two. What the machine lacks is left to the lowering passes: division is one `div`, a texture operation
//! one `tex`, a buffer access one `ld` of space `b`. What a subroutine takes and gives is found out by [`calls`].
//!
//! Code that cannot be reached makes no instructions.

mod alu;
mod bits;
mod calls;
mod flow;
mod graphics;
mod image;
mod memory;
mod operands;
mod pointers;
mod storage;
mod texture;
mod wide;

use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::ops::Range;

use super::ast::*;
use super::interface::Registers;
use crate::chip::{Chip, LimitError};
use crate::diag::{Diagnostic, Diagnostics, Span};
use crate::front::Request;
use crate::front::common::graphics as graphics_front;
use crate::front::common::ssa::{self, Ssa, Var};
use crate::ir::build::Builder;
use crate::ir::{self, BlockId, FuncId, Function, Loc, Term};
pub(super) use calls::read_components;
use calls::{Binding, Calls};
use storage::Storage;

type Failed = Box<Diagnostic>;
type Parsed<T> = Result<T, Failed>;

/// What all functions of a program share.
struct Context<'a> {
    ast: &'a Program,
    req: &'a Request<'a>,
    storage: Storage,
    /// Threads of a block by the program's properties; 0 where they are not declared.
    block_size: [u32; 3],
    /// Lanes run that nobody asked for.
    whole_warps: bool,
    /// The functions of subroutines, by the number of their BGNSUB.
    funcs: FxHashMap<u32, FuncId>,
    calls: Calls,
    /// What system values mean, by number.
    svs: Vec<Option<Semantic>>,
    /// What a graphics stage takes and gives.
    registers: Registers,
    /// The output that user clip planes are held against, if there are any.
    clip_source: Option<crate::stage::Semantic>,
    clip_planes: (u8, u16),
}

/// A function while it is made.
struct Body<'a> {
    cx: &'a Context<'a>,
    f: Function,
    ssa: Ssa,
    /// The variables of registers of low numbers, four a register, as far as they have been met.
    temps: Vec<Var>,
    addrs: Vec<Var>,
    /// Those of components of registers of high numbers.
    far: FxHashMap<(File, u32, u8), Var>,
    /// Where instructions go; meaningless while not `live`.
    block: BlockId,
    /// Control can get here.
    live: bool,
    open: Vec<flow::Open>,
    /// Loops around.
    loops: u32,
    /// What the function gives its callers; the kernel nothing.
    binding: Option<&'a Binding>,
    /// The instruction at hand.
    span: Span,
}

/// Makes the program of the kernel that is asked for.
pub(super) fn lower(ast: &Program, req: &Request<'_>) -> Result<ir::Program, Diagnostics> {
    let mut registers = Registers::new(ast)?;
    let interface = &mut registers.interface;
    let mut clip_source = None;
    interface.properties.clip_vertex_read |= u8::from(req.stage.clip_vertex_read);
    if req.stage.clip_planes > 0 && graphics_front::takes_clip_planes(interface) {
        clip_source = graphics_front::clip_source(interface);
        graphics_front::declare_clip_distances(interface, req.stage.clip_planes);
    }
    let entry = ast.entry(req.entry)?;
    let calls = Calls::new(ast, entry, calls::Variables::of(&registers, clip_source))?;
    let block_size = ast.block_size();
    check_block_size(ast, req.chip)?;
    let funcs =
        calls.order().iter().enumerate().map(|(n, &sub)| (sub, FuncId::from_u32(n as u32 + 1))).collect();
    let storage = Storage::new(ast, req.private_bytes);
    let mut svs = Vec::new();
    for d in ast.decls.iter().filter(|d| d.file == File::Sv && d.semantic.is_some()) {
        svs.resize(svs.len().max(d.last as usize + 1), None);
        svs[d.first as usize..=d.last as usize].fill(d.semantic.map(|s| s.0));
    }
    let clip_planes = req.clip_plane_place;
    let cx = Context {
        ast,
        req,
        storage,
        block_size,
        whole_warps: ast.runs_whole_warps(entry),
        funcs,
        calls,
        svs,
        registers,
        clip_source,
        clip_planes,
    };
    let mut diags = Diagnostics::default();
    let kernel = Body::new(&cx, kernel_name(ast, entry), None).make(entry, &mut diags);
    let mut program = ir::Program::new(kernel);
    for &sub in cx.calls.order() {
        let binding = cx.calls.binding(sub);
        let f = Body::new(&cx, format!("sub{sub}"), binding).make(sub, &mut diags);
        program.funcs.push(f);
    }
    if diags.has_errors() {
        return Err(diags);
    }
    if block_size != [0; 3] {
        program.block_size = Some(block_size);
    }
    program.private_bytes = req.private_bytes;
    if req.sanitize.private {
        program.extents = cx.storage.extents(req.private_bytes);
    }
    if cx.registers.interface.stage.is_graphics() {
        program.interface = Some(Box::new(cx.registers.interface.clone()));
    }
    for f in program.funcs.values_mut() {
        f.local_bytes = cx.storage.end;
        pointers::mark(f, req);
    }
    Ok(program)
}

/// What is not declared, or declared as 0, the launch says: it is 1 at least.
fn check_block_size(ast: &Program, chip: Chip) -> Result<(), Diagnostics> {
    use Property::*;
    chip.check_block(ast.block_size().map(|n| n.max(1))).map_err(|e| {
        let property = match e {
            LimitError::Size { axis: 'x', .. } => Some(CsFixedBlockWidth),
            LimitError::Size { axis: 'y', .. } => Some(CsFixedBlockHeight),
            LimitError::Size { .. } => Some(CsFixedBlockDepth),
            _ => None,
        };
        let span = property.and_then(|p| ast.property_span(p)).unwrap_or_else(|| ast.block_size_span());
        Diagnostic::error(e.to_string()).at(span, "declared here").into()
    })
}

fn kernel_name(ast: &Program, entry: u32) -> String {
    if ast.code[entry as usize].op == Opcode::BGNSUB { format!("kernel{entry}") } else { "main".to_owned() }
}

impl<'a> Body<'a> {
    fn new(cx: &'a Context<'a>, name: String, binding: Option<&'a Binding>) -> Body<'a> {
        let mut f = Function::new(name);
        let mut ssa = Ssa::new();
        let block = f.new_block();
        ssa.seal(&mut f, block);
        Body {
            cx,
            f,
            ssa,
            temps: Vec::new(),
            addrs: Vec::new(),
            far: FxHashMap::default(),
            block,
            live: true,
            open: Vec::new(),
            loops: 0,
            binding,
            span: Span::default(),
        }
    }

    /// Lowers the code from `start` to the end of the main code or the subroutine.
    fn make(mut self, start: u32, diags: &mut Diagnostics) -> Function {
        let ast = self.cx.ast;
        if let Some(b) = self.binding {
            for &(file, index, comp) in &b.params {
                let v = self.f.add_param(ir::Class::Gpr);
                self.write_var(file, index, comp.into(), v);
            }
            self.f.results = vec![ir::Class::Gpr; b.results.len()];
        }
        self.begin_stage();
        let is_sub = ast.code[start as usize].op == Opcode::BGNSUB;
        let at = start as usize + usize::from(is_sub);
        let rest =
            ast.code[at..].iter().take_while(|i| !matches!(i.op, Opcode::BGNSUB | Opcode::ENDSUB)).count();
        // Room for what lowering and legalisation will make of it, too.
        self.f.reserve(8 * rest + 32);
        self.find_writers(at as u32..(at + rest) as u32);
        self.f.blocks[self.block].body.reserve(64.min(4 * rest));
        for at in at..at + rest {
            let inst = ast.inst(at as u32);
            self.span = inst.span;
            if let Err(d) = self.instruction(at as u32, &inst) {
                diags.push(*d);
                if diags.list.len() >= Diagnostics::LIMIT {
                    break;
                }
            }
        }
        // After an error constructs may be open; the function is not used then.
        if !diags.has_errors() {
            if self.live {
                self.leave();
            }
            self.ssa.finish(&mut self.f);
        }
        self.f
    }

    /// Where each variable is written, so that loops are told which they leave alone, where there are many.
    fn find_writers(&mut self, code: Range<u32>) {
        let ops = self.cx.ast.code[code.start as usize..code.end as usize].iter();
        if ops.filter(|i| i.op == Opcode::BGNLOOP).count() < ssa::MANY_LOOPS {
            return;
        }
        let mut all: BTreeMap<Var, Vec<u32>> = BTreeMap::new();
        calls::for_accesses(self.cx.ast, &self.cx.calls, code, |(file, index, comp), write| {
            let places = all.entry(self.var(file, index, comp.into())).or_default();
            places.extend(write);
        });
        for (var, places) in all {
            self.ssa.written_at(var, places);
        }
    }

    /// A builder at the current place.
    fn b(&mut self) -> Builder<'_> {
        let mut b = Builder::new(&mut self.f, self.block);
        b.loc = Loc(Some(self.span));
        b
    }

    /// An error about the instruction at hand.
    #[cold]
    fn error(&self, message: impl Into<String>, label: &str) -> Failed {
        Box::new(Diagnostic::error(message).at(self.span, label))
    }

    /// The same about another place.
    fn error_at(&self, span: Span, message: impl Into<String>, label: impl Into<String>) -> Failed {
        Box::new(Diagnostic::error(message).at(span, label))
    }

    /// An opcode that has no lowering.
    fn no_lowering(&self, inst: &Inst<'_>, here: &str) -> Failed {
        self.unsupported(format!("{} is not supported{here}", inst.op.name()), "")
    }

    /// The same about what the text rightly asks for and is not there.
    #[cold]
    fn unsupported(&self, message: impl Into<String>, label: &str) -> Failed {
        Box::new(Diagnostic::unsupported(message).at(self.span, label))
    }

    /// Returns from the function.
    fn leave(&mut self) {
        let term = match self.binding {
            Some(b) => {
                Term::Ret(b.results.iter().map(|&(file, i, c)| self.read_var(file, i, c.into())).collect())
            }
            None => self.leave_stage(),
        };
        self.end(term);
    }

    /// Ends the block; nothing after it is reached.
    fn end(&mut self, term: Term) {
        self.b().terminate(term);
        self.live = false;
    }

    fn instruction(&mut self, at: u32, inst: &Inst<'_>) -> Parsed<()> {
        if inst.op.info().shape == Shape::Flow {
            return self.flow(at, inst);
        }
        if !self.live {
            return Ok(());
        }
        match inst.op.info().shape {
            Shape::Comp | Shape::Scalar | Shape::Dot(_) | Shape::Vec => self.alu(inst),
            Shape::Tex | Shape::Sample => self.texture(inst),
            Shape::Mem => self.memory(inst),
            Shape::Sync => self.sync(inst),
            Shape::Lane => self.lane(inst),
            Shape::Flow => Ok(()),
            Shape::Graphics => self.graphics(inst),
        }
    }

    /// An error where the chip cannot do something.
    fn needs_kepler(&self, what: &str) -> Parsed<()> {
        if self.cx.req.chip == Chip::Gf100 {
            let d = Diagnostic::unsupported(format!("{} has no {what}", self.cx.req.chip));
            return Err(Box::new(d.at(self.span, "needs gk104 or gk110")));
        }
        Ok(())
    }
}
