//! NIR to IR.
//!
//! A NIR block is one IR block or a piece of one; `if` and `loop` become blocks with their [`Merge`]. Since NIR is
//! SSA already, a definition is a list of components; variables of [`Ssa`] exist for what is not:
//! registers, and phis, whose sources are written at the ends of the predecessors that they name. So no phi needs
//! to know how the blocks between were made.
//!
//! - `flow`: control flow and calls; `regs`: registers and phis
//! - `alu`: opcodes, whose meaning all front-ends share ([`emit`](crate::front::common::emit))
//! - `memory`: loads, stores, atomics; `copy`: copies; `deref`: pointers; `types`: what they point to
//! - `variable`: where variables lie, and their initial values (`init`)
//! - `graphics`: inputs, outputs and operations of graphics stages
//! - `intrinsic`: the dispatch by the table of intrinsics; `sysval`, `subgroup`, `texture`, `image`
//!
//! What is lowered is valid ([`validate`](super::validate)): values are defined where they are read, and operands have
//! the shapes that the tables of opcodes and intrinsics say. What is wrong all the same is wrong for these chips.
//! Such errors are collected, and what is at fault gives undefined values, so that several are found at once. Code
//! that nothing reaches is not lowered.

mod alu;
mod copy;
mod deref;
mod flow;
mod graphics;
mod image;
mod init;
mod intrinsic;
mod memory;
mod regs;
mod subgroup;
mod sysval;
mod texture;
pub(super) mod types;
mod variable;

use super::ast::{self, Dest, Function, Node, Place, Shader, Src};
use super::interface::{self, Stages};
use super::parse;
use crate::chip::{Chip, LimitError};
use crate::diag::{Diagnostic, Diagnostics, Span};
use crate::front::Request;
use crate::front::common::emit::value::{Comp, Shape};
use crate::front::common::emit::{Division, Emit};
use crate::front::common::ssa::Var;
use crate::ir::build::Builder;
use crate::ir::{self, BlockId, Class, FuncId, Loc, Program};
use arrayvec::ArrayVec;
use rustc_hash::{FxHashMap, FxHashSet};

/// What a function is called with: the shape of each of its parameters.
#[derive(Clone, Debug, Default)]
struct Signature {
    shapes: Vec<Shape>,
}

impl Signature {
    /// Classes of the IR function's parameters, in order.
    fn classes(&self) -> impl Iterator<Item = Class> + '_ {
        self.shapes.iter().flat_map(|&s| std::iter::repeat_n(s.class(), s.words()))
    }
}

/// The program of a parsed shader's kernel.
pub(super) fn program(shader: &Shader<'_>, request: &Request<'_>) -> Result<Program, Diagnostics> {
    let declared = |span| {
        move |e: LimitError| Diagnostics::from(Diagnostic::error(e.to_string()).at(span, "declared here"))
    };
    if let Some(size) = shader.workgroup_size {
        request.chip.check_block(size).map_err(declared(shader.workgroup_size_span))?;
    }
    let shared = shader.shared_size.into();
    request.chip.check_shared(shared).map_err(declared(shader.shared_size_span))?;
    let stages = stages(shader, request)?;
    let entry = entry(shader, request)?;
    let mut module = Module::new(shader, request, stages);
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
    if module.constants_written {
        // Somebody takes the address for one of memory that may be written.
        let accesses =
            funcs.iter_mut().flat_map(|(_, f)| f.insts.values_mut()).filter_map(|i| i.mem.as_mut());
        accesses.filter(|m| m.space == ir::Space::Global).for_each(|m| m.readonly = false);
    }
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
    let shared = module.extents.iter().filter(|e| e.space == ir::Space::Shared).count();
    program.shared_pointers = shader.stage == super::names::Stage::Kernel || shared > 1;
    program.extents = module.extents;
    program.red_zone_bytes = module.zones;
    let interface = module.stages.interface;
    if interface.stage.is_graphics() {
        program.interface = Some(Box::new(interface));
    }
    Ok(program)
}

/// What the program's stage takes and gives.
fn stages(shader: &Shader<'_>, request: &Request<'_>) -> Result<Stages, Diagnostics> {
    match interface::stage(shader.stage) {
        Some(stage) => interface::stages(shader, stage, &request.stage),
        None => {
            let message = format!("programs of `{}` are not supported", shader.stage);
            Err(Diagnostic::unsupported(message).at(shader.stage_span, "").into())
        }
    }
}

/// The kernel asked for, by its own name or by the one that it had before it was wrapped.
fn entry(shader: &Shader<'_>, request: &Request<'_>) -> Result<usize, Diagnostics> {
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

use crate::driver::sanitizer::RED_ZONE;

/// Lines from which on a body gets its memory as it grows.
const LONG: usize = 1 << 16;

/// Bytes before and after scratch memory that is indexed. Mesa's passes move loads out of the conditions that
/// guard them, so an index may be just outside (-1, or the length) where nobody reads the value.
const SCRATCH_MARGIN: u32 = 16;

fn by_variable_name<'a>(vars: &'a [ast::Variable<'a>]) -> FxHashMap<&'a str, &'a ast::Variable<'a>> {
    vars.iter().map(|v| (v.name, v)).collect()
}

/// What the functions of a program share.
struct Module<'a> {
    shader: &'a Shader<'a>,
    request: &'a Request<'a>,
    stages: Stages,
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
    /// The shader's variables by name.
    vars: FxHashMap<&'a str, &'a ast::Variable<'a>>,
    uniforms_placed: bool,
    layouts: types::Layouts,
    /// Where shared variables lie.
    shared_vars: FxHashMap<&'a str, u32>,
    /// Where the shader's temporaries lie in private memory.
    shader_temps: FxHashMap<&'a str, u32>,
    constants: variable::Constants<'a>,
    /// Where among a kernel's inputs the address of its constants is, and whether something is written through it.
    constants_at: Option<u32>,
    constants_written: bool,
    /// Variables of sanitized memory, and their numbers ([`ir::MemRef::var`]) by space and first byte.
    extents: Vec<ir::Extent>,
    extents_at: FxHashMap<(ir::Space, u32), u16>,
    /// Bytes of shared memory that no variable has.
    zones: u32,
}

impl<'a> Module<'a> {
    fn new(shader: &'a Shader<'a>, request: &'a Request<'a>, stages: Stages) -> Module<'a> {
        let by_name = shader.functions.iter().enumerate().filter(|(_, f)| f.defined);
        // Start of the scratch memory, and what is left free on both sides of it.
        let scratch = (shader.scratch_size > 0).then(|| {
            let indexed = shader.functions.iter().any(Function::indexes_scratch);
            if indexed { (SCRATCH_MARGIN, SCRATCH_MARGIN) } else { (0, 0) }
        });
        let mut module = Module {
            shader,
            request,
            stages,
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
            vars: by_variable_name(&shader.vars),
            uniforms_placed: variable::uniforms_placed(shader),
            layouts: types::Layouts::default(),
            shared_vars: FxHashMap::default(),
            shader_temps: FxHashMap::default(),
            constants: variable::Constants::default(),
            constants_at: variable::constants_at(shader),
            constants_written: false,
            extents: Vec::new(),
            extents_at: FxHashMap::default(),
            zones: 0,
        };
        if let Some((start, _)) = scratch {
            module.extent(ir::Space::Local, start, shader.scratch_size);
        }
        if shader.shared_size > 0 {
            module.extent(ir::Space::Shared, 0, shader.shared_size);
            module.red_zone();
        }
        module
    }

    /// Notes where a variable lies, if its memory is sanitized.
    fn extent(&mut self, space: ir::Space, start: u32, bytes: u32) {
        let sanitize = self.request.sanitize;
        let wanted = if space == ir::Space::Shared { sanitize.has_zones() } else { sanitize.private };
        if !wanted || self.extents.len() >= usize::from(u16::MAX) {
            return;
        }
        self.extents.push(ir::Extent { space, start, bytes });
        self.extents_at.insert((space, start), self.extents.len() as u16);
    }

    /// The number of the variable that begins there, for [`ir::MemRef::var`].
    fn extent_at(&self, space: ir::Space, start: u32) -> u16 {
        self.extents_at.get(&(space, start)).copied().unwrap_or(0)
    }

    /// Room behind what has been placed in shared memory, where that is sanitized.
    fn red_zone(&mut self) {
        if self.request.sanitize.has_zones() {
            self.shared_bytes = self.shared_bytes.saturating_add(RED_ZONE);
            self.zones += RED_ZONE;
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
        // Vectors become their components, and passes add as much: moving all of it costs more than room that stays empty.
        func.reserve(4 * source.body.len().min(LONG));
        let signature = if is_entry { Signature::default() } else { self.signature(index) };
        for class in signature.classes() {
            func.add_param(class);
        }
        let block = func.new_block();
        let division = match self.shader.stage {
            super::names::Stage::Kernel => Division::Exact,
            _ => Division::Reciprocal,
        };
        let e = Emit::new(Builder::new(&mut func, block), division, self.shader.workgroup_size);
        let mut lower = Lower {
            module: self,
            index,
            fun: source,
            e,
            defs: Vec::with_capacity(source.body.len()),
            comps: Vec::with_capacity(2 * source.body.len()),
            places: FxHashMap::default(),
            regs: FxHashMap::default(),
            vars: by_variable_name(&source.vars),
            local_vars: FxHashMap::default(),
            moves: FxHashMap::default(),
            phis: Vec::new(),
            signed_loads: source.signed_loads(),
            constant_pointers: FxHashSet::default(),
            label: u32::MAX,
            kept: graphics::Kept::default(),
            is_entry,
            signature,
            span: source.span,
        };
        lower.run();
        let ssa = lower.e.ssa;
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
                        Diagnostic::unsupported(format!("`{name}` calls itself"))
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

/// Components of a definition: a run of [`Lower::comps`].
#[derive(Clone, Copy, Default)]
struct DefRun {
    start: u32,
    shape: Shape,
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
    /// By SSA index; an empty shape: not defined.
    defs: Vec<DefRun>,
    comps: Vec<Comp>,
    /// What values that came from derefs point to.
    places: FxHashMap<u32, deref::Pointer>,
    regs: FxHashMap<u32, (ast::RegDecl, Reg)>,
    /// This function's variables by name.
    vars: FxHashMap<&'a str, &'a ast::Variable<'a>>,
    /// Where variables of this function lie in private memory.
    local_vars: FxHashMap<&'a str, u32>,
    /// By label of a predecessor: phis of its successors, by number, with what to write to them.
    moves: FxHashMap<u32, Vec<(usize, Src)>>,
    /// Shape and variables of each phi, in the order of the text.
    phis: Vec<(Shape, Vec<Var>)>,
    /// Values of less than 32 bits that are loaded, and read with their sign more often than without.
    signed_loads: FxHashSet<u32>,
    /// Low words of addresses among the kernel's constants.
    constant_pointers: FxHashSet<ir::ValueId>,
    /// The NIR block that is being lowered.
    label: u32,
    kept: graphics::Kept,
    is_entry: bool,
    signature: Signature,
    span: Span,
}

impl<'a> Lower<'a, '_> {
    #[cold]
    fn error(&mut self, span: Span, message: impl Into<String>) {
        self.module.diags.push(Diagnostic::error(message).at(span, ""));
    }

    /// Notes that what the text rightly asks for is not there.
    #[cold]
    fn unsupported(&mut self, span: Span, message: impl Into<String>) {
        self.module.diags.push(Diagnostic::unsupported(message).at(span, ""));
    }

    /// Notes that GF100 lacks something, if that is the chip.
    fn needs_kepler(&mut self, what: &str) -> Option<()> {
        if self.module.request.chip == Chip::Gf100 {
            self.unsupported(self.span, format!("gf100 has no {what}"));
            return None;
        }
        Some(())
    }

    fn run(&mut self) {
        self.registers();
        self.find_phis();
        self.initial_values();
        self.begin_stage();
        let mut frames: Vec<Frame> = Vec::new();
        let mut phi = 0;
        let ends = self.loop_ends();
        for (at, (node, span)) in self.fun.body.iter().enumerate() {
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
                Node::Loop => self.begin_loop(&mut frames, at as u32, ends[&(at as u32)]),
                Node::Continue => self.begin_continue(&mut frames),
                Node::End => self.end(&mut frames),
                _ if !self.e.reachable => {}
                Node::Jump(jump) => self.jump(&mut frames, *jump),
                Node::Phi { dest, .. } => self.phi(dest, number),
                node => self.instruction(node),
            }
        }
        if self.e.reachable {
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
            Node::Intrinsic(intrinsic) => {
                self.whole(self.fun.srcs(intrinsic.srcs));
                self.intrinsic(intrinsic);
            }
            Node::Tex(id) => {
                let tex = self.fun.tex(*id);
                self.whole(self.fun.tex_srcs(tex.srcs).iter().map(|(_, s)| s));
                self.texture(tex);
            }
            Node::Deref(id) => self.deref(self.fun.deref(*id)),
            Node::Unknown(id) => self.unknown(self.fun.unknown(*id)),
            Node::ParallelCopy(range) => {
                let copies = self.fun.copies(*range);
                let values: Vec<_> = copies.iter().map(|(_, src)| self.src_comps(src)).collect();
                for ((dest, _), value) in copies.iter().zip(values) {
                    self.define(dest, &value);
                }
            }
            Node::Call { callee, args } => {
                self.whole(self.fun.srcs(*args));
                self.call(callee, *args);
            }
            // Structure and phis are dealt with where the body is walked.
            _ => {}
        }
    }

    /// Sources whose values are read as they are: components in another order would be ignored. The same letters may be a
    /// variable's name, which is no error where the value has no such components.
    fn whole<'s>(&mut self, srcs: impl IntoIterator<Item = &'s Src>) {
        for src in srcs {
            let Some(letters) = src.swizzle else { continue };
            let comps = usize::from(self.src_shape(src).comps);
            let chosen = (0..letters.len()).filter_map(|i| Some((i, letters.get(i)?)));
            let mut meant = chosen.clone().all(|(_, c)| c < comps);
            meant &= chosen.clone().any(|(i, c)| i != c);
            if meant {
                self.error(src.span, parse::WHOLE);
            }
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
                let at = def.index as usize;
                if self.defs.len() <= at {
                    self.defs.resize(at + 1, DefRun::default());
                }
                let start = self.comps.len() as u32;
                let missing = usize::from(def.shape.comps).saturating_sub(comps.len());
                self.comps.extend(comps.iter().take(def.shape.comps.into()));
                if missing > 0 {
                    let undef = self.e.undef(def.shape.bits);
                    self.comps.extend(std::iter::repeat_n(undef, missing));
                }
                self.defs[at] = DefRun { start, shape: def.shape };
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
        match self.defs.get(index as usize) {
            Some(known) if known.shape.comps != 0 => *known,
            _ => self.undefined(index, span),
        }
    }

    /// Something to go on with where the validator has let through a value that nothing on the way here defines.
    #[cold]
    fn undefined(&mut self, index: u32, span: Span) -> DefRun {
        let what = format!("value {index} is lowered after its use");
        self.module.diags.push(Diagnostic::defect(what).at(span, ""));
        let shape = Shape { bits: 32, comps: 16 };
        let undef = self.e.undef(shape.bits);
        let start = self.comps.len() as u32;
        self.comps.extend(std::iter::repeat_n(undef, shape.comps.into()));
        DefRun { start, shape }
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
            Place::Reg(reg) => self.read_reg(&reg, i),
        }
    }

    fn src_comps(&mut self, src: &Src) -> ArrayVec<Comp, 16> {
        let n = usize::from(self.src_shape(src).comps);
        (0..n.min(16)).map(|i| self.src_comp(src, i)).collect()
    }
}
