//! NIR to IR.
//!
//! A NIR block is one IR block or a piece of one; `if` and `loop` become blocks with their [`Merge`]. Since NIR is
//! SSA already, a definition is a list of components ([`value`]); variables of [`Ssa`] exist for what is not:
//! registers, and phis, whose sources are written at the ends of the predecessors that they name. So no phi needs
//! to know how the blocks between were made.
//!
//! - `value`: components and operands; `alu`, `float`, `bits`: opcodes; `wide`: sums of 64 bits
//! - `memory`: loads, stores, atomics; `deref`: variables and pointers; `types`: their layout
//! - `intrinsic`: the dispatch by the table of intrinsics; `sysval`, `subgroup`, `texture`, `image`
//!
//! Errors are collected, and what is at fault gives undefined values, so that several are found at once. Code that
//! nothing reaches is not lowered.

mod alu;
mod bits;
mod deref;
mod dominance;
mod float;
mod image;
mod intrinsic;
mod memory;
mod subgroup;
mod sysval;
mod texture;
mod types;
mod value;
mod wide;

use super::ast::{self, Dest, Function, Jump, Node, Place, Shader, Shape, Src};
use crate::chip::Chip;
use crate::diag::{Diagnostic, Diagnostics, Span};
use crate::front::Request;
use crate::front::ssa::{Ssa, Var};
use crate::ir::build::Builder;
use crate::ir::{self, BlockId, Class, FuncId, Loc, Merge, Program, Term};
use arrayvec::ArrayVec;
use rustc_hash::{FxHashMap, FxHashSet};
use value::{Comp, Emit, Pred};

/// What a function is called with: the shape of each of its parameters.
#[derive(Clone, Debug, Default)]
struct Signature {
    shapes: Vec<Shape>,
}

impl Signature {
    /// Classes of the IR function's parameters, in order.
    fn classes(&self) -> impl Iterator<Item = Class> + '_ {
        self.shapes.iter().flat_map(|&s| std::iter::repeat_n(class(s), words(s)))
    }
}

fn class(shape: Shape) -> Class {
    if shape.bits == 1 { Class::Pred } else { Class::Gpr }
}

/// Values that a shape takes.
fn words(shape: Shape) -> usize {
    usize::from(shape.comps) * if shape.bits == 64 { 2 } else { 1 }
}

/// The program of a parsed shader's kernel.
pub fn program(shader: &Shader<'_>, request: &Request<'_>) -> Result<Program, Diagnostics> {
    let entry = entry(shader, request)?;
    let mut module = Module::new(shader, request);
    module.function(entry);
    // Functions are lowered as calls of them are met; a caller's signature for them is known by then.
    while let Some(next) = module.pending.pop() {
        module.function(next);
    }
    module.recursion();
    if module.diags.has_errors() {
        return Err(module.diags);
    }
    let mut funcs: Vec<(FuncId, ir::Function)> = module.done;
    funcs.sort_by_key(|(id, _)| *id);
    let mut program = Program::new(ir::Function::new(""));
    program.funcs.clear();
    for (_, f) in funcs {
        program.funcs.push(f);
    }
    program.entry = module.ids[&entry];
    program.block_size = shader.workgroup_size;
    program.shared_bytes = module.shared_bytes;
    program.private_bytes = module.private_bytes;
    Ok(program)
}

/// The kernel asked for, by its own name or by the one that it had before it was wrapped.
fn entry(shader: &Shader<'_>, request: &Request<'_>) -> Result<usize, Diagnostics> {
    if !matches!(shader.stage, "MESA_SHADER_COMPUTE" | "MESA_SHADER_KERNEL" | "") {
        let message = format!("{} is no compute stage", shader.stage);
        return Err(Diagnostic::error(message).help("only compute shaders and kernels are compiled").into());
    }
    let defined = || shader.functions.iter().enumerate().filter(|(_, f)| f.defined);
    let found = match request.entry {
        Some(name) => {
            defined().find(|(_, f)| f.name == name || f.name.strip_prefix("__wrapped_") == Some(name))
        }
        None => defined()
            .find(|(_, f)| f.entrypoint)
            .or_else(|| defined().find(|(_, f)| f.name == "main"))
            .or_else(|| defined().rfind(|(_, f)| f.name.starts_with("__wrapped_")))
            .or_else(|| defined().rfind(|(_, f)| f.params == 0)),
    };
    match found {
        Some((index, _)) => Ok(index),
        None => {
            let names: Vec<&str> = defined().map(|(_, f)| f.name).take(8).collect();
            let message = match request.entry {
                Some(name) => format!("there is no kernel `{name}`"),
                None => "there is no entry point".to_string(),
            };
            Err(Diagnostic::error(message).help(format!("functions here: {}", names.join(", "))).into())
        }
    }
}

/// Bytes before and after scratch memory that is indexed. Mesa's passes move loads out of the conditions that
/// guard them, so an index may be just outside (-1, or the length) where nobody reads the value.
const SCRATCH_MARGIN: u32 = 16;

/// What the functions of a program share.
struct Module<'a> {
    shader: &'a Shader<'a>,
    request: &'a Request<'a>,
    diags: Diagnostics,
    /// Functions met so far, by index into the shader's.
    ids: FxHashMap<usize, FuncId>,
    by_name: FxHashMap<&'a str, usize>,
    signatures: FxHashMap<usize, Signature>,
    pending: Vec<usize>,
    done: Vec<(FuncId, ir::Function)>,
    /// Who calls whom, and where.
    calls: Vec<(usize, usize, Span)>,
    shared_bytes: u32,
    private_bytes: u32,
    /// Where the shader's scratch memory begins in the private memory.
    scratch: u32,
    /// Where shared variables lie.
    shared_vars: FxHashMap<&'a str, u32>,
}

impl<'a> Module<'a> {
    fn new(shader: &'a Shader<'a>, request: &'a Request<'a>) -> Module<'a> {
        let by_name = shader.functions.iter().enumerate().filter(|(_, f)| f.defined);
        // Start of the scratch memory, and what is left free on both sides of it.
        let scratch = (shader.scratch_size > 0).then(|| {
            let indexed = shader.functions.iter().any(Function::indexes_scratch);
            if indexed { (SCRATCH_MARGIN, SCRATCH_MARGIN) } else { (0, 0) }
        });
        Module {
            shader,
            request,
            diags: Diagnostics::default(),
            ids: FxHashMap::default(),
            by_name: by_name.map(|(i, f)| (f.name, i)).collect(),
            signatures: FxHashMap::default(),
            pending: Vec::new(),
            done: Vec::new(),
            calls: Vec::new(),
            shared_bytes: shader.shared_size,
            private_bytes: scratch.map_or(0, |(start, pad)| start + shader.scratch_size + pad),
            scratch: scratch.map_or(0, |(start, _)| start),
            shared_vars: FxHashMap::default(),
        }
    }

    fn id(&mut self, index: usize) -> FuncId {
        let next = FuncId::from_u32(self.ids.len() as u32);
        *self.ids.entry(index).or_insert(next)
    }

    fn function(&mut self, index: usize) {
        let source = &self.shader.functions[index];
        let is_entry = self.ids.is_empty();
        let id = self.id(index);
        let mut func = ir::Function::new(source.name);
        let signature = if is_entry { Signature::default() } else { self.signature(index) };
        for class in signature.classes() {
            func.add_param(class);
        }
        let block = func.new_block();
        let e = Emit::new(Builder::new(&mut func, block));
        let mut lower = Lower {
            module: self,
            index,
            fun: source,
            e,
            ssa: Ssa::new(),
            defs: Vec::new(),
            comps: Vec::new(),
            places: FxHashMap::default(),
            regs: FxHashMap::default(),
            local_vars: FxHashMap::default(),
            moves: FxHashMap::default(),
            phis: Vec::new(),
            signed_loads: source.signed_loads(),
            label: u32::MAX,
            reachable: true,
            scope: dominance::Scope::new(block),
            wide: wide::Wide::default(),
            is_entry,
            signature,
            span: source.span,
        };
        lower.ssa.seal(lower.e.b.func, block);
        lower.run();
        let ssa = lower.ssa;
        ssa.finish(&mut func);
        self.done.push((id, func));
    }

    /// The parameters of a function that is called: as declared, or as the first call passes them.
    fn signature(&self, index: usize) -> Signature {
        let declared = &self.shader.functions[index].param_shapes;
        if !declared.is_empty() {
            return Signature { shapes: declared.clone() };
        }
        self.signatures.get(&index).cloned().unwrap_or_default()
    }

    /// Calls must not lead back to where they come from.
    fn recursion(&mut self) {
        let mut callees: FxHashMap<usize, Vec<(usize, Span)>> = FxHashMap::default();
        for &(from, to, span) in &self.calls {
            callees.entry(from).or_default().push((to, span));
        }
        // Depth first with a stack of its own: functions in progress, and the next call of each to look at.
        let mut finished: FxHashSet<usize> = FxHashSet::default();
        for &start in self.ids.keys() {
            let mut stack = vec![(start, 0)];
            let mut active: FxHashSet<usize> = [start].into_iter().collect();
            while let Some((f, next)) = stack.pop() {
                let Some(&(to, span)) = callees.get(&f).and_then(|list| list.get(next)) else {
                    active.remove(&f);
                    finished.insert(f);
                    continue;
                };
                stack.push((f, next + 1));
                if active.contains(&to) {
                    let name = self.shader.functions[to].name;
                    self.diags.push(
                        Diagnostic::error(format!("`{name}` calls itself"))
                            .at(span, "recursion is not supported"),
                    );
                    return;
                }
                if !finished.contains(&to) {
                    active.insert(to);
                    stack.push((to, 0));
                }
            }
        }
    }
}

/// Components of a definition: a run of [`Lower::comps`], and the block that they are made in.
#[derive(Clone, Copy, Default)]
struct DefRun {
    start: u32,
    shape: Shape,
    block: Option<BlockId>,
}

/// Where a NIR register lives.
enum Reg {
    /// One variable a word: element by element, component by component.
    Vars(Vec<Var>),
    /// An array that is indexed dynamically: private memory from this offset.
    Memory(u32),
}

/// A construct that is open.
enum Frame {
    If {
        header: BlockId,
        els: BlockId,
        join: BlockId,
    },
    Loop {
        header: BlockId,
        exit: BlockId,
        cont: Option<BlockId>,
        /// The continue construct's own code has begun.
        continuing: bool,
    },
    /// In code that nothing reaches.
    Dead,
}

/// One function while it is lowered.
struct Lower<'a, 'f> {
    module: &'f mut Module<'a>,
    index: usize,
    fun: &'a Function<'a>,
    e: Emit<'f>,
    ssa: Ssa,
    /// By SSA index; an empty shape: not defined.
    defs: Vec<DefRun>,
    comps: Vec<Comp>,
    /// What values that came from derefs point to.
    places: FxHashMap<u32, deref::Pointer<'a>>,
    regs: FxHashMap<u32, (ast::RegDecl, Reg)>,
    /// Where variables of this function lie in private memory.
    local_vars: FxHashMap<&'a str, u32>,
    /// By label of a predecessor: phis of its successors, by number, with what to write to them.
    moves: FxHashMap<u32, Vec<(usize, Src)>>,
    /// Shape and variables of each phi, in the order of the text.
    phis: Vec<(Shape, Vec<Var>)>,
    /// Values of less than 32 bits that are loaded, and read with their sign more often than without.
    signed_loads: FxHashSet<u32>,
    /// The NIR block that is being lowered.
    label: u32,
    reachable: bool,
    /// Which blocks dominate the one that is being filled.
    scope: dominance::Scope,
    wide: wide::Wide,
    is_entry: bool,
    signature: Signature,
    span: Span,
}

/// SSA indices beyond this are no program's.
const MAX_SSA: u32 = 1 << 22;

impl<'a> Lower<'a, '_> {
    fn error(&mut self, span: Span, message: impl Into<String>) {
        self.module.diags.push(Diagnostic::error(message).at(span, ""));
    }

    /// Notes that GF100 lacks something, if that is the chip.
    fn needs_kepler(&mut self, what: &str) -> Option<()> {
        if self.module.request.chip == Chip::Gf100 {
            self.error(self.span, format!("gf100 has no {what}"));
            return None;
        }
        Some(())
    }

    fn run(&mut self) {
        self.registers();
        self.find_phis();
        let mut frames: Vec<Frame> = Vec::new();
        let mut phi = 0;
        for (node, span) in &self.fun.body {
            self.span = *span;
            self.e.b.loc = Loc(Some(*span));
            let number = phi;
            if matches!(node, Node::Phi { .. }) {
                phi += 1;
            }
            match node {
                Node::Block(label) => self.label = *label,
                Node::If(cond) => self.begin_if(&mut frames, cond),
                Node::Else => self.begin_else(&frames),
                Node::Loop => self.begin_loop(&mut frames),
                Node::Continue => self.begin_continue(&mut frames),
                Node::End => self.end(&mut frames),
                _ if !self.reachable => {}
                Node::Jump(jump) => self.jump(&mut frames, *jump),
                Node::Phi { dest, .. } => self.phi(dest, number),
                node => self.instruction(node),
            }
        }
        if self.reachable {
            self.leave();
        }
    }

    fn instruction(&mut self, node: &'a Node<'a>) {
        match node {
            Node::Const { def, values } => {
                let comps: ArrayVec<Comp, 16> =
                    self.fun.consts(*values).iter().map(|&v| Comp::constant(def.shape.bits, v)).collect();
                self.define(&Dest::Ssa(*def), &comps);
            }
            Node::Undef(def) => self.define_undef(&Dest::Ssa(*def)),
            Node::Alu(alu) => self.alu(alu),
            Node::Intrinsic(intrinsic) => self.intrinsic(intrinsic),
            Node::Tex(tex) => self.texture(tex),
            Node::Deref(deref) => self.deref(deref),
            Node::ParallelCopy(range) => {
                let copies = self.fun.copies(*range);
                let values: Vec<_> = copies.iter().map(|(_, src)| self.src_comps(src)).collect();
                for ((dest, _), value) in copies.iter().zip(values) {
                    self.define(dest, &value);
                }
            }
            Node::Call { callee, args } => self.call(callee, *args),
            // Structure and phis are dealt with where the body is walked.
            _ => {}
        }
    }

    // ---- definitions and sources

    fn dest_shape(&mut self, dest: &Dest) -> Shape {
        match dest {
            Dest::Ssa(def) => def.shape,
            Dest::Reg(reg, mask) => {
                let shape = self.reg_shape(reg.index);
                let all = (1u32 << shape.comps) - 1;
                Shape { comps: (u32::from(*mask) & all).count_ones() as u8, ..shape }
            }
        }
    }

    fn define(&mut self, dest: &Dest, comps: &[Comp]) {
        let bits = self.dest_shape(dest).bits;
        if !comps.iter().all(|c| c.fits(bits)) {
            self.error(self.span, format!("the result does not have {bits} bits"));
            return self.define_undef(dest);
        }
        match dest {
            Dest::Ssa(def) => {
                if def.index >= MAX_SSA {
                    return self.error(self.span, "a value's number is too large");
                }
                let at = def.index as usize;
                if self.defs.len() <= at {
                    self.defs.resize(at + 1, DefRun::default());
                }
                if self.defs[at].shape.comps != 0 {
                    return self.error(self.span, format!("value {at} is defined twice"));
                }
                let start = self.comps.len() as u32;
                let missing = usize::from(def.shape.comps).saturating_sub(comps.len());
                self.comps.extend(comps.iter().take(def.shape.comps.into()));
                if missing > 0 {
                    let undef = self.e.undef(def.shape.bits);
                    self.comps.extend(std::iter::repeat_n(undef, missing));
                }
                self.defs[at] = DefRun { start, shape: def.shape, block: Some(self.e.b.block) };
            }
            Dest::Reg(reg, mask) => self.write_reg(reg, *mask, comps),
        }
    }

    fn define_undef(&mut self, dest: &Dest) {
        let shape = self.dest_shape(dest);
        let undef = self.e.undef(shape.bits);
        let comps: ArrayVec<Comp, 16> = std::iter::repeat_n(undef, shape.comps.min(16).into()).collect();
        self.define(dest, &comps);
    }

    fn src_shape(&mut self, src: &Src) -> Shape {
        match src.place {
            Place::Ssa(index) => self.def_run(index, src.span).shape,
            Place::Reg(reg) => self.reg_shape(reg.index),
        }
    }

    fn def_run(&mut self, index: u32, span: Span) -> DefRun {
        let known = self.defs.get(index as usize).copied().unwrap_or_default();
        match known.block {
            Some(block) if self.scope.holds(block) => known,
            _ => self.undefined(index, span, known),
        }
    }

    /// Something to go on with where a value is not defined, or not on every way to here.
    #[cold]
    fn undefined(&mut self, index: u32, span: Span, known: DefRun) -> DefRun {
        self.error(span, format!("value {index} is not defined on every way to here"));
        let shape = if known.block.is_some() { known.shape } else { Shape { bits: 32, comps: 16 } };
        let undef = self.e.undef(shape.bits);
        let start = self.comps.len() as u32;
        self.comps.extend(std::iter::repeat_n(undef, shape.comps.into()));
        DefRun { start, shape, block: Some(self.e.b.block) }
    }

    /// Component `i` of a source, without its modifiers.
    fn src_comp(&mut self, src: &Src, i: usize) -> Comp {
        match src.place {
            Place::Ssa(index) => {
                let run = self.def_run(index, src.span);
                if i >= usize::from(run.shape.comps) {
                    self.error(src.span, "there is no such component");
                    return self.e.undef(run.shape.bits);
                }
                self.comps[run.start as usize + i]
            }
            Place::Reg(reg) => self.read_reg(&reg, i, src.span),
        }
    }

    fn src_comps(&mut self, src: &Src) -> ArrayVec<Comp, 16> {
        let n = usize::from(self.src_shape(src).comps);
        (0..n.min(16)).map(|i| self.src_comp(src, i)).collect()
    }

    // ---- registers

    fn reg_shape(&mut self, index: u32) -> Shape {
        match self.regs.get(&index) {
            Some((decl, _)) => decl.shape,
            None => {
                self.error(self.span, format!("register r{index} is not declared"));
                Shape { bits: 32, comps: 1 }
            }
        }
    }

    /// Makes variables for registers; arrays with a dynamic index go to private memory.
    fn registers(&mut self) {
        if self.fun.regs.is_empty() {
            return;
        }
        let indexed = self.fun.indexed_registers();
        for decl in &self.fun.regs {
            let elems = decl.elems.max(1) as usize;
            let bytes = elems * usize::from(decl.shape.comps) * usize::from(decl.shape.bits.max(8)) / 8;
            let reg = if indexed.contains(&decl.index) || elems > 64 {
                let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
                Reg::Memory(self.private(bytes, 16))
            } else {
                let n = elems * words(decl.shape);
                Reg::Vars((0..n).map(|_| self.ssa.var(class(decl.shape))).collect())
            };
            self.regs.insert(decl.index, (*decl, reg));
        }
    }

    /// Private memory that the front-end itself puts something in.
    fn private(&mut self, bytes: u32, align: u32) -> u32 {
        let at = self.module.private_bytes.next_multiple_of(align);
        match at.checked_add(bytes).filter(|&end| end <= 1 << 19) {
            Some(end) => self.module.private_bytes = end,
            None => self.error(self.span, "more private memory is used than a thread can have (512 KiB)"),
        }
        at
    }

    fn read_reg(&mut self, reg: &ast::RegRef, i: usize, span: Span) -> Comp {
        let shape = self.reg_shape(reg.index);
        match self.regs.get(&reg.index) {
            Some((decl, Reg::Vars(vars))) => {
                let per = words(shape) / usize::from(shape.comps);
                let first = (reg.base as usize * usize::from(shape.comps) + i) * per;
                if reg.base >= decl.elems.max(1) || i >= usize::from(shape.comps) {
                    self.error(span, "this is outside the register");
                    return self.e.undef(shape.bits);
                }
                let list: ArrayVec<Var, 2> = vars[first..first + per].iter().copied().collect();
                self.read_vars(&list, shape.bits)
            }
            Some((_, Reg::Memory(at))) => {
                let at = *at;
                let mem = self.reg_memory(reg, at, shape, i);
                self.load(mem, Shape { comps: 1, ..shape }).first().copied().unwrap_or(Comp::constant(32, 0))
            }
            None => self.e.undef(shape.bits),
        }
    }

    fn write_reg(&mut self, reg: &ast::RegRef, mask: u16, comps: &[Comp]) {
        let shape = self.reg_shape(reg.index);
        let mut next = comps.iter();
        for i in (0..usize::from(shape.comps)).filter(|i| mask >> i & 1 != 0) {
            let Some(&c) = next.next() else { return };
            if !c.fits(shape.bits) {
                return self.error(self.span, "the register is of another size");
            }
            match self.regs.get(&reg.index) {
                Some((decl, Reg::Vars(vars))) => {
                    let per = words(shape) / usize::from(shape.comps);
                    let first = (reg.base as usize * usize::from(shape.comps) + i) * per;
                    if reg.base >= decl.elems.max(1) {
                        return self.error(self.span, "this is outside the register");
                    }
                    let list: ArrayVec<Var, 2> = vars[first..first + per].iter().copied().collect();
                    self.write_vars(&list, c);
                }
                Some((_, Reg::Memory(at))) => {
                    let at = *at;
                    let mem = self.reg_memory(reg, at, shape, i);
                    self.store(mem, Shape { comps: 1, ..shape }, &[c], 1);
                }
                None => {}
            }
        }
    }

    /// Component `i` of an element of an array in private memory.
    fn reg_memory(&mut self, reg: &ast::RegRef, at: u32, shape: Shape, i: usize) -> ir::MemRef {
        let size = u32::from(shape.bits.max(8)) / 8;
        let stride = size * u32::from(shape.comps);
        let offset = at.wrapping_add(reg.base.wrapping_mul(stride)).wrapping_add(i as u32 * size);
        let mem = ir::MemRef::new(ir::Space::Local)
            .with_offset(offset as i32)
            .with_align(ir::Align::multiple_of(size));
        match reg.indirect {
            None => mem,
            Some(id) => {
                let index = self.src_comp(self.fun.src(id), 0).word();
                let bytes = self.e.op2(ir::Op::Mul, ir::Type::U32, index, stride);
                let base = self.e.val(bytes);
                mem.with_base(&[base])
            }
        }
    }

    fn read_vars(&mut self, vars: &[Var], bits: u8) -> Comp {
        let block = self.e.b.block;
        let mut read = |i: usize| self.ssa.read(self.e.b.func, block, vars[i]);
        match bits {
            1 => Comp::Bool(Pred::Val(read(0), false)),
            64 => Comp::Wide(read(0).into(), read(1).into()),
            _ => Comp::Word(read(0).into()),
        }
    }

    fn write_vars(&mut self, vars: &[Var], c: Comp) {
        let values = self.e.values(c);
        let block = self.e.b.block;
        for (&var, &value) in vars.iter().zip(&values) {
            self.ssa.write(block, var, value);
        }
    }

    // ---- phis

    /// Makes variables for phis, and notes for every predecessor what they get from it.
    fn find_phis(&mut self) {
        for (node, _) in &self.fun.body {
            if let Node::Phi { dest, srcs } = node {
                for (label, src) in self.fun.phi_srcs(*srcs) {
                    self.moves.entry(*label).or_default().push((self.phis.len(), *src));
                }
                let shape = self.dest_shape(dest);
                let vars = (0..words(shape)).map(|_| self.ssa.var(class(shape))).collect();
                self.phis.push((shape, vars));
            }
        }
    }

    fn phi(&mut self, dest: &Dest, number: usize) {
        let (shape, vars) = self.phis[number].clone();
        let per = words(shape) / usize::from(shape.comps);
        let comps: ArrayVec<Comp, 16> =
            vars.chunks(per).take(16).map(|list| self.read_vars(list, shape.bits)).collect();
        self.define(dest, &comps);
    }

    /// At the end of a NIR block, before control leaves it.
    fn end_of_block(&mut self) {
        let Some(moves) = self.moves.remove(&self.label) else { return };
        for (number, src) in moves {
            let (shape, vars) = self.phis[number].clone();
            if self.src_shape(&src) != shape {
                self.error(src.span, "the phi is of another size");
                continue;
            }
            let per = words(shape) / usize::from(shape.comps);
            for (i, list) in vars.chunks(per).enumerate() {
                let c = self.src_comp(&src, i);
                self.write_vars(list, c);
            }
        }
    }

    // ---- control flow

    fn begin(&mut self, block: BlockId) {
        self.scope.enter(block);
        self.e.b.func.layout.push(block);
        self.e.b.block = block;
        self.reachable = true;
    }

    fn go(&mut self, to: BlockId) {
        let from = self.e.b.block;
        self.scope.edge(from, to);
        self.ssa.jump(self.e.b.func, from, to);
        self.e.b.func.blocks[from].term_loc = self.e.b.loc;
        self.reachable = false;
    }

    /// Ends the block with a branch.
    fn fork(&mut self, p: Pred, then: BlockId, els: BlockId) {
        let from = self.e.b.block;
        let (v, then, els) = match p {
            Pred::Val(v, true) => (v, els, then),
            p => (self.e.pred_val(p), then, els),
        };
        self.scope.edge(from, then);
        self.scope.edge(from, els);
        self.ssa.branch(self.e.b.func, from, v, then, els);
        self.e.b.func.blocks[from].term_loc = self.e.b.loc;
    }

    fn begin_if(&mut self, frames: &mut Vec<Frame>, cond: &Src) {
        if !self.reachable {
            return frames.push(Frame::Dead);
        }
        let bits = self.src_shape(cond).bits;
        let c = self.src_comp(cond, 0);
        let p = self.e.truth(c, bits);
        self.end_of_block();
        let header = self.e.b.block;
        let func = &mut *self.e.b.func;
        let [then, els, join] = [(); 3].map(|()| func.detached_block());
        self.fork(p, then, els);
        let func = &mut *self.e.b.func;
        self.ssa.seal(func, then);
        self.ssa.seal(func, els);
        frames.push(Frame::If { header, els, join });
        self.begin(then);
    }

    fn begin_else(&mut self, frames: &[Frame]) {
        let Some(&Frame::If { els, join, .. }) = frames.last() else { return };
        if self.reachable {
            self.end_of_block();
            self.go(join);
        }
        self.begin(els);
    }

    fn begin_loop(&mut self, frames: &mut Vec<Frame>) {
        if !self.reachable {
            return frames.push(Frame::Dead);
        }
        self.end_of_block();
        let func = &mut *self.e.b.func;
        let [header, body, exit] = [(); 3].map(|()| func.detached_block());
        self.go(header);
        self.begin(header);
        self.go(body);
        self.ssa.seal(self.e.b.func, body);
        self.begin(body);
        frames.push(Frame::Loop { header, exit, cont: None, continuing: false });
    }

    /// What a loop's `continue`s go to.
    fn continue_block(&mut self, frames: &mut [Frame]) -> Option<BlockId> {
        let func = &mut *self.e.b.func;
        frames.iter_mut().rev().find_map(|f| match f {
            Frame::Loop { cont, .. } => Some(*cont.get_or_insert_with(|| func.detached_block())),
            _ => None,
        })
    }

    /// The code between a loop's body and its next turn, which `continue` goes to as well.
    fn begin_continue(&mut self, frames: &mut [Frame]) {
        let Some(Frame::Loop { .. }) = frames.last() else { return };
        let Some(cont) = self.continue_block(frames) else { return };
        if self.reachable {
            self.end_of_block();
            self.go(cont);
        }
        self.ssa.seal(self.e.b.func, cont);
        self.begin(cont);
        self.reachable = self.ssa.is_reached(cont);
        if let Some(Frame::Loop { continuing, .. }) = frames.last_mut() {
            *continuing = true;
        }
    }

    fn end(&mut self, frames: &mut Vec<Frame>) {
        match frames.pop() {
            Some(Frame::If { header, join, .. }) => {
                if self.reachable {
                    self.end_of_block();
                    self.go(join);
                }
                self.ssa.seal(self.e.b.func, join);
                if self.ssa.is_reached(join) {
                    self.e.b.func.blocks[header].merge = Merge::If { join };
                    self.begin(join);
                }
            }
            Some(Frame::Loop { header, exit, cont, continuing }) => {
                self.end_loop(header, exit, cont, continuing);
            }
            Some(Frame::Dead) | None => {}
        }
    }

    fn end_loop(&mut self, header: BlockId, exit: BlockId, cont: Option<BlockId>, continuing: bool) {
        let back = match cont {
            // The continue construct's own code ends here.
            Some(cont) if continuing => {
                if self.reachable {
                    if self.e.b.block != cont {
                        self.error(self.span, "a loop's continue construct has control flow of its own");
                    }
                    self.end_of_block();
                    self.go(header);
                }
                cont
            }
            Some(cont) => {
                if self.reachable {
                    self.end_of_block();
                    self.go(cont);
                }
                self.ssa.seal(self.e.b.func, cont);
                self.begin(cont);
                self.go(header);
                cont
            }
            None => {
                if self.reachable {
                    self.end_of_block();
                    self.go(header);
                }
                header
            }
        };
        self.ssa.seal(self.e.b.func, header);
        self.ssa.seal(self.e.b.func, exit);
        self.e.b.func.blocks[header].merge = Merge::Loop { exit, cont: back };
        let reached = self.ssa.is_reached(exit);
        self.begin(exit);
        self.reachable = reached;
    }

    fn jump(&mut self, frames: &mut [Frame], jump: Jump) {
        self.end_of_block();
        match jump {
            Jump::Break => {
                let exit = frames.iter().rev().find_map(|f| match f {
                    Frame::Loop { exit, .. } => Some(*exit),
                    _ => None,
                });
                match exit {
                    Some(exit) => self.go(exit),
                    None => self.error(self.span, "`break` outside a loop"),
                }
            }
            Jump::Continue => match self.continue_block(frames) {
                Some(cont) => self.go(cont),
                None => self.error(self.span, "`continue` outside a loop"),
            },
            Jump::Return => self.leave(),
            Jump::Halt => {
                self.e.b.terminate(Term::Exit);
                self.reachable = false;
            }
            Jump::Goto => self.error(self.span, "unstructured control flow"),
        }
    }

    fn leave(&mut self) {
        self.e.b.terminate(if self.is_entry { Term::Exit } else { Term::Ret(Vec::new()) });
        self.reachable = false;
    }

    // ---- calls

    fn call(&mut self, callee: &'a str, args: ast::Range) {
        let Some(&index) = self.module.by_name.get(callee) else {
            return self.error(self.span, format!("there is no function `{callee}` with a body"));
        };
        let srcs = self.fun.srcs(args);
        let mut shapes = Vec::new();
        let mut values = Vec::new();
        for src in srcs {
            shapes.push(self.src_shape(src));
            for c in self.src_comps(src) {
                values.extend(self.e.values(c));
            }
        }
        let known = self.module.ids.contains_key(&index);
        if !known {
            self.module.signatures.insert(index, Signature { shapes: shapes.clone() });
            self.module.pending.push(index);
        }
        if self.module.signature(index).shapes != shapes {
            return self.error(self.span, format!("the arguments do not fit `{callee}`"));
        }
        let func = self.module.id(index);
        self.module.calls.push((self.index, index, self.span));
        let mut inst = ir::Inst::new(ir::Op::Call, ir::Type::U32);
        inst.ext = Some(Box::new(ir::Ext::Call(ir::Call { func, args: values, results: Vec::new() })));
        self.e.b.push(inst);
    }

    /// Parameter `i` of this function.
    fn param(&mut self, i: usize) -> Option<(Shape, ArrayVec<Comp, 16>)> {
        let shape = *self.signature.shapes.get(i)?;
        let first: usize = self.signature.shapes[..i].iter().map(|&s| words(s)).sum();
        let values = &self.e.b.func.params[first..first + words(shape)];
        let comps = match shape.bits {
            1 => values.iter().map(|&v| Comp::Bool(Pred::Val(v, false))).collect(),
            64 => values.chunks(2).map(|v| Comp::Wide(v[0].into(), v[1].into())).collect(),
            _ => values.iter().map(|&v| Comp::Word(v.into())).collect(),
        };
        Some((shape, comps))
    }
}
