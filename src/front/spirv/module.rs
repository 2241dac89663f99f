//! A module: its functions and blocks, names, decorations, entry points. Types and constants: [`super::declare`].

use super::by_id::ById;
use super::capability;
use super::constants::Constant;
use super::listing::string;
use super::read::Words;
use super::types::Info;
use crate::diag::{Diagnostic, Diagnostics};
use rustc_hash::FxHashMap;
use spirv::{Decoration, ExecutionMode, ExecutionModel, Op};
use std::cell::OnceCell;
use std::ops::Range;
use std::rc::Rc;

/// Instructions of other sets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Set {
    Glsl,
    /// `SPV_AMD_shader_trinary_minmax`.
    Trinary,
    OpenCl,
    /// What can be left out.
    NonSemantic,
}

/// `OpEntryPoint`.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) model: ExecutionModel,
    pub(super) function: u32,
    pub(super) name: String,
    /// The variables that it lists.
    pub(super) interface: Vec<u32>,
    /// The instruction's number.
    pub(super) at: usize,
}

/// A basic block: its label, and its instructions behind that.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) label: u32,
    pub(super) insts: Range<usize>,
}

#[derive(Clone, Debug)]
pub(super) struct Function {
    /// The number of `OpFunction`.
    pub(super) at: usize,
    pub(super) id: u32,
    pub(super) params: Vec<u32>,
    /// Empty: it is elsewhere.
    pub(super) blocks: Vec<Block>,
}

/// Decorations, and where among the module's words their literals are.
type Decorations = Vec<(Decoration, Range<usize>)>;

#[derive(Debug)]
pub(super) struct Module {
    pub(super) code: Words,
    pub(super) types: ById<Info>,
    pub(super) constants: ById<Rc<Constant>>,
    /// Numbers of `OpName`: asked for where something is wrong.
    names: OnceCell<FxHashMap<u32, usize>>,
    decorations: ById<Decorations>,
    member_decorations: FxHashMap<(u32, u32), Decorations>,
    pub(super) sets: FxHashMap<u32, Set>,
    pub(super) entries: Vec<Entry>,
    /// Execution modes by the function's id; operands are literals, or of `LocalSizeId` ids.
    pub(super) modes: FxHashMap<u32, Vec<(ExecutionMode, Vec<u32>)>>,
    /// Instructions before the first function.
    pub(super) declared: usize,
    pub(super) functions: Vec<Function>,
    pub(super) function_of: FxHashMap<u32, usize>,
    /// Numbers of the variables outside functions.
    pub(super) globals: Vec<usize>,
    /// Bytes of a pointer of kernels; 0: pointers are logical.
    pub(super) pointer_bytes: u32,
    pub(super) kernel: bool,
    /// How often instructions of functions name a function's parameter.
    uses: FxHashMap<u32, u32>,
}

/// Values that specialisation constants are given, by `SpecId`.
pub(super) type Given = std::collections::BTreeMap<u32, u64>;

pub(super) fn module(code: Words, given: &Given) -> Result<Module, Diagnostics> {
    let mut m = Module {
        code,
        types: ById::default(),
        constants: ById::default(),
        names: OnceCell::new(),
        decorations: ById::default(),
        member_decorations: FxHashMap::default(),
        sets: FxHashMap::default(),
        entries: Vec::new(),
        modes: FxHashMap::default(),
        declared: 0,
        functions: Vec::new(),
        function_of: FxHashMap::default(),
        globals: Vec::new(),
        pointer_bytes: 0,
        kernel: false,
        uses: FxHashMap::default(),
    };
    let mut diags = Diagnostics::default();
    capability::check(&m.code, &mut diags);
    if diags.has_errors() {
        return Err(diags);
    }
    m.functions(&mut diags);
    m.declared = m.functions.first().map_or(m.code.insts.len(), |f| f.at);
    let declared = m.declared;
    for n in 0..declared {
        if let Err(d) = m.annotation(n) {
            diags.push(d);
        }
    }
    m.groups(declared);
    m.ids(&mut diags);
    if diags.has_errors() {
        return Err(diags);
    }
    for n in 0..declared {
        if let Err(d) = m.declaration(n, given) {
            diags.push(d);
            break;
        }
    }
    if !diags.has_errors() {
        m.pointees(&mut diags);
        m.uses = m.parameter_uses();
    }
    if diags.has_errors() { Err(diags) } else { Ok(m) }
}

impl Module {
    pub(super) fn error(&self, n: usize, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(message).at(self.code.insts[n].span, "")
    }

    pub(super) fn unsupported(&self, n: usize, message: impl Into<String>) -> Diagnostic {
        Diagnostic::unsupported(message).at(self.code.insts[n].span, "")
    }

    /// The literals of a decoration of an id, if it has that.
    pub(super) fn decoration(&self, id: u32, decoration: Decoration) -> Option<&[u32]> {
        let list = self.decorations.get(id)?;
        list.iter().find(|(d, _)| *d == decoration).map(|(_, literals)| &self.code.words[literals.clone()])
    }

    pub(super) fn has(&self, id: u32, decoration: Decoration) -> bool {
        self.decoration(id, decoration).is_some()
    }

    pub(super) fn member_decoration(&self, id: u32, member: u32, decoration: Decoration) -> Option<&[u32]> {
        let list = self.member_decorations.get(&(id, member))?;
        list.iter().find(|(d, _)| *d == decoration).map(|(_, literals)| &self.code.words[literals.clone()])
    }

    /// What an id is called: its name and number.
    pub(super) fn name(&self, id: u32) -> String {
        match self.given_name(id) {
            Some(name) => format!("%{name}.{id}"),
            None => format!("%{id}"),
        }
    }

    /// What `OpName` calls it, as far as one wants to read it.
    pub(super) fn given_name(&self, id: u32) -> Option<String> {
        let insts = &self.code.insts;
        let named = |n: &usize| insts[*n].op == Op::Name;
        let all = || (0..insts.len()).filter(named).map(|n| (self.code.operands(n)[0], n)).collect();
        let n = *self.names.get_or_init(all).get(&id)?;
        let name = string(&self.code.operands(n)[1..]).0;
        (!name.is_empty()).then(|| name.chars().take(64).collect())
    }

    /// Divides the code into functions and blocks.
    fn functions(&mut self, diags: &mut Diagnostics) {
        let insts = &self.code.insts;
        let mut open: Option<Function> = None;
        let mut block: Option<Block> = None;
        let mut found = Vec::new();
        let mut wrong = |n: usize, what: String| diags.push(Diagnostic::error(what).at(insts[n].span, ""));
        for (n, inst) in insts.iter().enumerate() {
            let op = inst.op;
            match op {
                Op::Function => {
                    if open.is_some() {
                        wrong(n, "a function begins inside another".into());
                        break;
                    }
                    open = Some(Function { at: n, id: inst.result, params: Vec::new(), blocks: Vec::new() });
                }
                Op::FunctionParameter => match &mut open {
                    Some(f) if f.blocks.is_empty() && block.is_none() => f.params.push(inst.result),
                    _ => wrong(n, "OpFunctionParameter stands behind OpFunction only".into()),
                },
                Op::FunctionEnd => {
                    if block.is_some() {
                        wrong(n, "the last block of the function has no end".into());
                    }
                    block = None;
                    match open.take() {
                        Some(f) => found.push(f),
                        None => wrong(n, "OpFunctionEnd ends no function".into()),
                    }
                }
                Op::Label => {
                    if block.is_some() {
                        wrong(n, "a block begins inside another".into());
                    }
                    if open.is_none() {
                        wrong(n, "OpLabel stands outside functions".into());
                    }
                    block = Some(Block { label: inst.result, insts: n + 1..n + 1 });
                }
                Op::Line | Op::NoLine | Op::Nop => {}
                _ if ends(op) => match (block.take(), &mut open) {
                    (Some(mut b), Some(f)) => {
                        b.insts.end = n + 1;
                        f.blocks.push(b);
                    }
                    _ => wrong(n, format!("Op{op:?} stands outside blocks")),
                },
                // Debug information may stand before functions and between them.
                Op::ExtInst | Op::ExtInstWithForwardRefsKHR if block.is_none() => {}
                Op::Undef | Op::Variable if open.is_none() && found.is_empty() => {}
                _ if in_blocks(op) => {
                    if block.is_none() {
                        wrong(n, format!("Op{op:?} stands outside blocks"));
                    }
                }
                _ => {
                    if open.is_some() || !found.is_empty() {
                        wrong(n, format!("Op{op:?} stands behind the first OpFunction"));
                    }
                }
            }
        }
        if open.is_some() {
            wrong(insts.len() - 1, "the last function has no end".into());
        }
        for (index, f) in found.iter().enumerate() {
            self.function_of.insert(f.id, index);
        }
        self.functions = found;
    }

    /// Names, decorations, entry points, modes.
    fn annotation(&mut self, n: usize) -> Result<(), Diagnostic> {
        let inst = self.code.insts[n];
        if matches!(inst.op, Op::Name | Op::MemberName) {
            return Ok(());
        }
        let operands = self.code.operands(n);
        match inst.op {
            Op::Decorate | Op::DecorateId | Op::DecorateString => {
                // What is not known has no meaning here: of vendors, or for optimisation.
                if let Some(d) = Decoration::from_u32(operands[1]) {
                    let (id, literals) = (operands[0], self.code.operand_range(n, 2));
                    self.decorate(id, [(d, literals)]);
                }
            }
            Op::MemberDecorate | Op::MemberDecorateString => {
                if let Some(d) = Decoration::from_u32(operands[2]) {
                    let key = (operands[0], operands[1]);
                    self.member_decorations.entry(key).or_default().push((d, self.code.operand_range(n, 3)));
                }
            }
            Op::ExtInstImport => {
                let set = match string(operands).0.as_str() {
                    "GLSL.std.450" => Set::Glsl,
                    "SPV_AMD_shader_trinary_minmax" => Set::Trinary,
                    "OpenCL.std" => Set::OpenCl,
                    "OpenCL.DebugInfo.100" | "DebugInfo" => Set::NonSemantic,
                    name if name.starts_with("NonSemantic.") => Set::NonSemantic,
                    name => {
                        let what = format!("the instruction set \"{name}\" is not supported");
                        return Err(self.unsupported(n, what));
                    }
                };
                self.sets.insert(inst.result, set);
            }
            Op::MemoryModel => {
                self.pointer_bytes = match operands[0] {
                    0 => 0,
                    1 => 4,
                    2 | 5348 => 8,
                    _ => return Err(self.error(n, "the addressing model is not known")),
                };
                match operands[1] {
                    0 | 1 | 3 => {}
                    2 => self.kernel = true,
                    _ => return Err(self.error(n, "the memory model is not known")),
                }
                if operands[0] == 5348 {
                    self.pointer_bytes = 0;
                }
            }
            Op::EntryPoint => {
                let Some(model) = ExecutionModel::from_u32(operands[0]) else {
                    return Err(self.error(n, "the execution model is not known"));
                };
                let (name, words) = string(&operands[2..]);
                let interface = operands[2 + words..].to_vec();
                self.entries.push(Entry { model, function: operands[1], name, interface, at: n });
            }
            Op::ExecutionMode | Op::ExecutionModeId => {
                if let Some(mode) = ExecutionMode::from_u32(operands[1]) {
                    self.modes.entry(operands[0]).or_default().push((mode, operands[2..].to_vec()));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Decorates an id. One that is not defined has no place in the table, which is as long as its largest id; that it is
    /// not defined is said later.
    fn decorate(&mut self, id: u32, list: impl IntoIterator<Item = (Decoration, Range<usize>)>) {
        if self.code.def(id).is_some() {
            self.decorations.get_or_default(id).extend(list);
        }
    }

    /// Applies groups of decorations.
    fn groups(&mut self, declared: usize) {
        for n in 0..declared {
            let op = self.code.insts[n].op;
            if !matches!(op, Op::GroupDecorate | Op::GroupMemberDecorate) {
                continue;
            }
            let operands = self.code.operands(n).to_vec();
            match op {
                Op::GroupDecorate => {
                    let group = self.decorations.get(operands[0]).cloned().unwrap_or_default();
                    for &id in &operands[1..] {
                        self.decorate(id, group.iter().cloned());
                    }
                }
                _ => {
                    let group = self.decorations.get(operands[0]).cloned().unwrap_or_default();
                    for pair in operands[1..].chunks(2) {
                        let key = (pair[0], pair.get(1).copied().unwrap_or(0));
                        self.member_decorations.entry(key).or_default().extend(group.iter().cloned());
                    }
                }
            }
        }
    }

    /// Calls `f` with each id that an instruction names; literals of other sets' instructions are none.
    pub(super) fn for_ids(&self, n: usize, mut f: impl FnMut(u32)) {
        use spirv::OpenclStd100Op as Cl;
        if let Some(ids) = self.code.leading_ids(n) {
            return ids.iter().for_each(|&id| f(id));
        }
        let inst = self.code.insts[n];
        let mut last_is_literal = false;
        if inst.op == Op::ExtInst {
            let x = self.code.operands(n);
            match self.sets.get(&x[0]) {
                Some(Set::NonSemantic) => return,
                Some(Set::OpenCl) => {
                    let op = Cl::from_u32(x[1]);
                    last_is_literal = matches!(
                        op,
                        Some(
                            Cl::vloadn
                                | Cl::vload_halfn
                                | Cl::vloada_halfn
                                | Cl::vstore_half_r
                                | Cl::vstore_halfn_r
                                | Cl::vstorea_halfn_r
                        )
                    );
                }
                _ => {}
            }
        }
        // One behind, so that the last is known.
        let mut held = None;
        let _ = self.code.walk(n, |operand| {
            if let super::grammar::Operand::Id(id) = operand
                && let Some(id) = held.replace(id)
            {
                f(id);
            }
        });
        if let Some(id) = held.filter(|_| !last_is_literal) {
            f(id);
        }
    }

    fn parameter_uses(&self) -> FxHashMap<u32, u32> {
        let mut uses: FxHashMap<u32, u32> =
            self.functions.iter().flat_map(|f| &f.params).map(|&id| (id, 0)).collect();
        if uses.is_empty() {
            return uses;
        }
        for n in self.declared..self.code.insts.len() {
            if !self.is_debug(n) && self.code.insts[n].op != Op::FunctionParameter {
                self.for_ids(n, |id| {
                    if let Some(count) = uses.get_mut(&id) {
                        *count += 1;
                    }
                });
            }
        }
        uses
    }

    /// How often a function's parameter is named in its function.
    pub(super) fn uses(&self, param: u32) -> u32 {
        self.uses.get(&param).copied().unwrap_or(0)
    }

    /// Whether an instruction only says where others come from.
    pub(super) fn is_debug(&self, n: usize) -> bool {
        match self.code.insts[n].op {
            Op::Line | Op::NoLine | Op::Nop => true,
            Op::ExtInst => self.sets.get(&self.code.operands(n)[0]) == Some(&Set::NonSemantic),
            _ => false,
        }
    }

    /// Every id that is named is defined.
    fn ids(&self, diags: &mut Diagnostics) {
        for n in 0..self.code.insts.len() {
            if matches!(self.code.insts[n].op, Op::Name | Op::MemberName) {
                continue;
            }
            let mut missing = None;
            self.for_ids(n, |id| {
                if self.code.def(id).is_none() {
                    missing = Some(id);
                }
            });
            if let Some(id) = missing {
                // A result of an instruction that is not known has been told already.
                diags.push(self.error(n, format!("{} is not defined", self.name(id))));
            }
        }
    }
}

/// Whether an instruction ends a block.
pub(super) fn ends(op: Op) -> bool {
    matches!(
        op,
        Op::Branch
            | Op::BranchConditional
            | Op::Switch
            | Op::Return
            | Op::ReturnValue
            | Op::Kill
            | Op::TerminateInvocation
            | Op::Unreachable
    )
}

/// Whether an instruction computes with numbers alone, and no pointer is among its operands.
pub(super) fn is_of_numbers(op: Op) -> bool {
    matches!(
        op,
        Op::SNegate
            | Op::FNegate
            | Op::Not
            | Op::IAdd
            | Op::ISub
            | Op::IMul
            | Op::UDiv
            | Op::SDiv
            | Op::UMod
            | Op::SRem
            | Op::SMod
            | Op::FAdd
            | Op::FSub
            | Op::FMul
            | Op::FDiv
            | Op::VectorTimesScalar
            | Op::VectorTimesMatrix
            | Op::MatrixTimesVector
            | Op::Dot
            | Op::ShiftRightLogical
            | Op::ShiftRightArithmetic
            | Op::ShiftLeftLogical
            | Op::BitwiseAnd
            | Op::BitwiseOr
            | Op::BitwiseXor
            | Op::LogicalAnd
            | Op::LogicalOr
            | Op::LogicalNot
            | Op::IEqual
            | Op::INotEqual
            | Op::ULessThan
            | Op::SLessThan
            | Op::UGreaterThan
            | Op::SGreaterThan
            | Op::UGreaterThanEqual
            | Op::SGreaterThanEqual
            | Op::ULessThanEqual
            | Op::SLessThanEqual
            | Op::ConvertFToU
            | Op::ConvertFToS
            | Op::ConvertSToF
            | Op::ConvertUToF
            | Op::CompositeExtract
            | Op::VectorShuffle
    )
}

/// Whether an instruction stands in blocks only.
fn in_blocks(op: Op) -> bool {
    let declares = matches!(
        op,
        Op::Capability
            | Op::Extension
            | Op::ExtInstImport
            | Op::MemoryModel
            | Op::EntryPoint
            | Op::ExecutionMode
            | Op::ExecutionModeId
            | Op::String
            | Op::Source
            | Op::SourceExtension
            | Op::SourceContinued
            | Op::Name
            | Op::MemberName
            | Op::ModuleProcessed
            | Op::Decorate
            | Op::MemberDecorate
            | Op::DecorationGroup
            | Op::GroupDecorate
            | Op::GroupMemberDecorate
            | Op::DecorateId
            | Op::DecorateString
            | Op::MemberDecorateString
            | Op::ConstantTrue
            | Op::ConstantFalse
            | Op::Constant
            | Op::ConstantComposite
            | Op::ConstantSampler
            | Op::ConstantNull
            | Op::SpecConstantTrue
            | Op::SpecConstantFalse
            | Op::SpecConstant
            | Op::SpecConstantComposite
            | Op::SpecConstantOp
    );
    !declares && !(Op::TypeVoid as u32..=Op::TypeForwardPointer as u32).contains(&(op as u32))
}
