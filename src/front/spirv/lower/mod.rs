//! Instructions to IR.
//!
//! A value is a list of scalars ([`Comp`]), whatever its type, or a pointer of which is known where it leads. Values are named
//! by id and instance of their function. A value that does not dominate where it is read, since constructs were nested
//! otherwise than the blocks were, goes there through a variable of [`Ssa`](crate::front::common::ssa::Ssa).
//!
//! - `flow`: constructs, phis, calls; `value`: values by id
//! - `variable`, `simple`, `table`: where variables lie; `pointer`: chains of accesses; `memory`: loads, stores, copies, atomics
//! - `interface`, `attribute`, `stage`: graphics stages; `texture`, `image`
//! - `copy`: copies of a block; `builtin`: what the launch gives; `arithmetic`, `composite`, `glsl`, `opencl`, `remainder`,
//!   `group`: instructions

mod arithmetic;
mod attribute;
mod builtin;
mod composite;
mod copy;
mod flow;
mod glsl;
mod group;
mod image;
pub(super) mod interface;
mod layout;
mod memory;
mod opencl;
mod pointer;
mod remainder;
mod simple;
mod stage;
mod table;
mod texture;
mod value;
mod variable;

use super::calls;
use super::constants::Constant;
use super::graph::{self, Graph};
use super::loops;
use super::math::Routines;
use super::module::{Entry, Module};
use super::structure;
use super::used;
use crate::diag::{Diagnostic, Diagnostics};
use crate::driver::constants::MAX_TEXTURES;
use crate::driver::sanitizer::RED_ZONE;
use crate::front::Request;
use crate::front::common::emit::value::{Comp, Shape};
use crate::front::common::emit::{Division, Emit};
use crate::front::common::kept::Kept;
use crate::front::common::ssa::Var;
use crate::ir::build::Builder;
use crate::ir::{self, Loc, Program, ValueId};
use crate::stage::Stage;
use arrayvec::ArrayVec;
use interface::Stages;
use pointer::Pointer;
use rustc_hash::FxHashMap;
use spirv::{ExecutionMode, ExecutionModel, Op};
use std::rc::Rc;
use value::{Value, Values};

type R<T> = Result<T, Box<Diagnostic>>;

/// Instructions that room is made for beforehand, at most.
const MOST_RESERVED: usize = 1 << 16;

/// The variables of a scalar's words.
type Words = ArrayVec<Var, 2>;

pub(super) fn program(m: &Module, entry: &Entry, request: &Request<'_>) -> Result<Program, Diagnostics> {
    one(m, entry, request).map_err(|d| Diagnostics::from(*d))
}

fn one(m: &Module, entry: &Entry, request: &Request<'_>) -> R<Program> {
    let Some(&function) = m.function_of.get(&entry.function) else {
        return Err(Box::new(m.error(entry.at, format!("{} is not a function", m.name(entry.function)))));
    };
    if m.functions[function].blocks.is_empty() {
        return Err(Box::new(m.error(entry.at, "the function of the entry point has no body")));
    }
    let compute = interface::stage(entry.model) == Some(Stage::Compute);
    let block_size = if compute { block_size(m, entry)? } else { None };
    if let Some(size) = block_size {
        request.chip.check_block(size).map_err(|e| Box::new(m.error(entry.at, e.to_string())))?;
    }
    let used = used::find(m, calls::reached(m, function).into_iter());
    let fragment = entry.model == ExecutionModel::Fragment;
    let mut graph = graph::graph(m, function, fragment && used.neighbours)?;
    let stages = interface::stages(m, entry, used, request)?;
    let loops = loops::find(&mut graph).map_err(|_| {
        let what = format!("loops nest more than {} deep", loops::DEEPEST);
        Box::new(m.unsupported(entry.at, what))
    })?;
    let items = structure::build(&graph, &loops);
    let name = if entry.name.is_empty() { "main" } else { &entry.name };
    let mut func = ir::Function::new(name);
    // Vectors become their components, and accesses what reaches them; the passes put what they make behind it.
    let pieces = graph.nodes.iter().filter_map(|node| node.piece.as_ref());
    func.reserve((8 * pieces.map(|piece| piece.insts.len()).sum::<usize>()).min(MOST_RESERVED));
    let block = func.new_block();
    let kernel = entry.model == ExecutionModel::Kernel;
    let division = if kernel { Division::Exact } else { Division::Reciprocal };
    let modes = m.modes.get(&entry.function).map_or(&[][..], Vec::as_slice);
    let fixed = block_size.filter(|size| !size.contains(&0));
    let mut lower = Lower {
        m,
        request,
        graph: &graph,
        e: Emit::new(Builder::new(&mut func, block), division, fixed),
        simple: simple::find(m),
        tables: FxHashMap::default(),
        bindings: layout::bindings(m)?,
        uniforms: layout::uniforms(m),
        values: Values::new(m, &graph.instances),
        moved: FxHashMap::default(),
        phis: FxHashMap::default(),
        slots: Vec::new(),
        variables: FxHashMap::default(),
        routes: Vec::new(),
        incoming: incoming(m),
        tops: FxHashMap::default(),
        instance: 0,
        n: entry.at,
        private: 0,
        shared: 0,
        extents: Vec::new(),
        exact: modes.iter().any(|(mode, _)| *mode == ExecutionMode::ContractionOff),
        input_bytes: 0,
        stages,
        kept: Kept::default(),
        loops: 0,
        routines: Routines::default(),
        arguments: Arguments { constant_samplers: constant_samplers(m), ..Arguments::default() },
    };
    lower.run(function, kernel, &items, &loops)?;
    let (private_bytes, shared_bytes, input_bytes) = (lower.private, lower.shared, lower.input_bytes);
    let extents = std::mem::take(&mut lower.extents);
    let interface = lower.stages.interface;
    let routines = lower.routines.into_functions();
    let ssa = lower.e.ssa;
    ssa.finish(&mut func);
    let mut program = Program::new(func);
    routines.into_iter().for_each(|routine| {
        program.funcs.push(routine);
    });
    program.block_size = block_size;
    request.chip.check_shared(shared_bytes.into()).map_err(|e| Box::new(m.error(entry.at, e.to_string())))?;
    program.shared_bytes = shared_bytes;
    program.private_bytes = private_bytes;
    program.input_bytes = input_bytes;
    program.shared_pointers = kernel || extents.len() > 1;
    program.red_zone_bytes = RED_ZONE * extents.len() as u32;
    program.extents = extents;
    if interface.stage.is_graphics() {
        program.interface = Some(Box::new(interface));
    }
    Ok(program)
}

/// The different samplers of `OpConstantSampler`; no more than can be numbered.
fn constant_samplers(m: &Module) -> Vec<[u32; 3]> {
    let mut found = Vec::new();
    for inst in m.code.insts[..m.declared].iter().filter(|inst| inst.op == Op::ConstantSampler) {
        match m.constants.get(inst.result).map(|c| &**c) {
            Some(Constant::Sampler(s)) if found.len() < MAX_TEXTURES as usize && !found.contains(s) => {
                found.push(*s);
            }
            _ => {}
        }
    }
    found
}

fn incoming(m: &Module) -> FxHashMap<(u32, u32), u32> {
    let phis = (m.declared..m.code.insts.len()).filter(|&n| m.code.insts[n].op == Op::Phi);
    let result = |n: usize| m.code.insts[n].result;
    phis.flat_map(|n| m.code.operands(n).chunks_exact(2).map(move |x| ((result(n), x[1]), x[0]))).collect()
}

/// Threads of a block: by a constant `WorkgroupSize`, or by the modes.
fn block_size(m: &Module, entry: &Entry) -> R<Option<[u32; 3]>> {
    let wrong = |what: &str| Err(Box::new(m.error(entry.at, what)));
    for id in m.constants.ids() {
        let built_in = m.decoration(id, spirv::Decoration::BuiltIn);
        if built_in == Some(&[spirv::BuiltIn::WorkgroupSize as u32]) {
            let c = &m.constants[id];
            let mut size = [0; 3];
            for (i, s) in size.iter_mut().enumerate() {
                let part = c.part(i as u32).and_then(|c| c.bits());
                match part.and_then(|bits| u32::try_from(bits).ok()).filter(|&n| n > 0) {
                    Some(n) => *s = n,
                    None => return wrong("WorkgroupSize is not three numbers of at least 1"),
                }
            }
            return Ok(Some(size));
        }
    }
    for (mode, operands) in m.modes.get(&entry.function).into_iter().flatten() {
        let size: Option<Vec<u32>> = match mode {
            ExecutionMode::LocalSize => Some(operands.clone()),
            ExecutionMode::LocalSizeId => operands.iter().map(|&id| m.constant_u32(id)).collect(),
            _ => continue,
        };
        let Some(&[x, y, z]) = size.as_deref() else {
            return wrong("the size of a block is not three numbers");
        };
        if [x, y, z].contains(&0) {
            return wrong("the size of a block is 0 in a dimension");
        }
        return Ok(Some([x, y, z]));
    }
    Ok(None)
}

/// A program while it is made.
struct Lower<'a, 'f> {
    m: &'a Module,
    request: &'a Request<'a>,
    graph: &'a Graph,
    e: Emit<'f>,
    /// Variables that need no memory, by id.
    simple: simple::Simple,
    /// Where constants lie that variables are made of.
    tables: FxHashMap<u32, Pointer>,
    bindings: layout::Bindings,
    /// Where uniforms outside blocks lie.
    uniforms: FxHashMap<u32, u32>,
    /// By instance and id: the value, and the block at whose end it is there.
    values: Values,
    /// Variables for values that are read where they do not dominate.
    moved: FxHashMap<ValueId, Var>,
    /// By instance and id: variables of phis and of results of calls.
    phis: FxHashMap<(u32, u32), Rc<[Words]>>,
    /// Scalars of variables that need no memory.
    slots: Vec<Rc<[Words]>>,
    /// By instance and id (0 outside functions): where a variable lies.
    variables: FxHashMap<(u32, u32), Pointer>,
    routes: Vec<Var>,
    /// The values of phis, by phi and label of the block that control comes from.
    incoming: FxHashMap<(u32, u32), u32>,
    /// Private memory that an instance and its callers use.
    tops: FxHashMap<u32, u32>,
    /// The function at hand, and the number of the instruction.
    instance: u32,
    n: usize,
    private: u32,
    shared: u32,
    /// Variables in shared memory, where that is sanitized.
    extents: Vec<ir::Extent>,
    /// Products and sums are not to be fused.
    exact: bool,
    input_bytes: u32,
    /// What a graphics stage takes and gives.
    stages: Stages,
    kept: Kept,
    /// Loops around what is being lowered.
    loops: u32,
    routines: Routines,
    arguments: Arguments,
}

/// What a kernel's arguments take besides bytes.
#[derive(Default)]
struct Arguments {
    textures: u32,
    images: u32,
    samplers: u32,
    /// Samplers that the module has itself, in their order.
    constant_samplers: Vec<[u32; 3]>,
    /// Where in the input the driver says what the formats of images are.
    facts: u32,
    /// Where in the input the driver says at what the work items begin to count; none: at 0.
    global_offset: Option<u32>,
}

impl<'a> Lower<'a, '_> {
    fn fail<T>(&self, what: impl Into<String>) -> R<T> {
        Err(Box::new(self.m.error(self.n, what)))
    }

    /// What is right, but not there.
    fn missing<T>(&self, what: impl Into<String>) -> R<T> {
        Err(Box::new(self.m.unsupported(self.n, format!("{} not supported", what.into()))))
    }

    fn op(&self) -> Op {
        self.m.code.insts[self.n].op
    }

    /// The type of the result.
    fn ty(&self) -> u32 {
        self.m.code.insts[self.n].ty
    }

    fn operands(&self) -> &'a [u32] {
        self.m.code.operands(self.n)
    }

    fn locate(&mut self, n: usize) {
        self.n = n;
        self.e.b.loc = Loc(Some(self.m.code.insts[n].span));
    }

    /// The shape of a scalar or vector.
    fn shape_of(&self, ty: u32) -> R<Shape> {
        match self.m.shape(ty) {
            Some(shape) => Ok(shape),
            None => self.fail(format!("{} is not a type of scalars or vectors", self.m.type_name(ty))),
        }
    }

    /// The type of an operand.
    fn type_of(&self, id: u32) -> R<u32> {
        match self.m.code.type_of(id) {
            Some(ty) => Ok(ty),
            None => self.fail(format!("{} is not a value", self.m.name(id))),
        }
    }

    /// Makes the result of the instruction known.
    fn define(&mut self, comps: impl AsRef<[Comp]>) -> R<()> {
        self.define_comps(comps.as_ref())
    }

    fn define_comps(&mut self, comps: &[Comp]) -> R<()> {
        let fits = match self.m.shape(self.ty()) {
            Some(shape) => {
                usize::from(shape.comps) == comps.len() && comps.iter().all(|c| c.fits(shape.bits))
            }
            None => {
                let widths = self.widths(self.ty())?;
                widths.len() == comps.len() && widths.iter().zip(comps).all(|(&bits, c)| c.fits(bits))
            }
        };
        if !fits {
            return self.fail(format!("the operands do not make a {}", self.m.type_name(self.ty())));
        }
        self.define_value(Value::Comps(comps.into()));
        Ok(())
    }

    /// The same of a scalar or vector whose components have so many bits.
    fn define_numbers(&mut self, bits: u8, comps: impl AsRef<[Comp]>) -> R<()> {
        if self.m.shape(self.ty()).is_none_or(|shape| shape.bits != bits) {
            return self.fail(format!("the operands do not make a {}", self.m.type_name(self.ty())));
        }
        self.define(comps)
    }

    fn define_value(&mut self, value: Value) {
        let id = self.m.code.insts[self.n].result;
        self.values.insert(self.m, (self.instance, id), (value, self.e.b.block));
    }

    /// One instruction that is not of control flow.
    fn instruction(&mut self) -> R<()> {
        let op = self.op();
        match op {
            Op::Nop
            | Op::Line
            | Op::NoLine
            | Op::SelectionMerge
            | Op::LoopMerge
            | Op::LifetimeStart
            | Op::LifetimeStop
            | Op::AssumeTrueKHR
            | Op::Phi
            | Op::Unreachable
            | Op::Branch
            | Op::BranchConditional
            | Op::Switch
            | Op::Return
            | Op::ReturnValue => Ok(()),
            Op::Undef => {
                let comps = self.undefined(self.ty())?;
                self.define(comps)
            }
            Op::ExtInst | Op::ExtInstWithForwardRefsKHR => self.extended(),
            Op::Variable => self.local_variable(),
            Op::GroupAsyncCopy => self.block_copy(),
            Op::GroupWaitEvents => {
                self.wait_for_copies();
                Ok(())
            }
            Op::Load | Op::Store => self.accesses(op).map(|_| ()),
            Op::AccessChain | Op::InBoundsAccessChain => self.pointers(op).map(|_| ()),
            Op::CompositeConstruct | Op::CompositeExtract | Op::VectorShuffle => {
                self.composites(op).map(|_| ())
            }
            _ => {
                if let Some(simple) = arithmetic::simple(op) {
                    return self.simple_op(op, simple);
                }
                if self.graphics(op)? || self.textures(op)? || self.images(op)? {
                    return Ok(());
                }
                if self.pointers(op)? || self.accesses(op)? || self.composites(op)? || self.groups(op)? {
                    return Ok(());
                }
                if self.arithmetic(op)? { Ok(()) } else { self.missing(format!("Op{op:?} is")) }
            }
        }
    }

    fn extended(&mut self) -> R<()> {
        use super::module::Set;
        let x = self.operands();
        match self.m.sets.get(&x[0]) {
            Some(Set::Glsl) => self.glsl(x[1], &x[2..]),
            Some(Set::Trinary) => self.trinary(x[1], &x[2..]),
            Some(Set::OpenCl) => self.opencl(x[1], &x[2..]),
            Some(Set::NonSemantic) => Ok(()),
            None => self.fail("the set of the instruction is not imported"),
        }
    }
}
