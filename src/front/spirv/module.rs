//! A module's declarations: what is asked for, entry points, decorations, types, constants, variables, functions.

use super::constants::Constant;
use super::listing::string;
use super::read::Words;
use super::types::{DEPTH, Image, Info, LARGEST, Type};
use super::{capability, read};
use crate::diag::{Diagnostic, Diagnostics};
use rustc_hash::FxHashMap;
use spirv::{Decoration, ExecutionMode, ExecutionModel, Op, StorageClass};
use std::ops::Range;
use std::rc::Rc;

/// Instructions of other sets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Set {
    Glsl,
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

/// A decoration and its literals.
type Decorations = Vec<(Decoration, Vec<u32>)>;

#[derive(Debug)]
pub(super) struct Module {
    pub(super) code: Words,
    pub(super) types: FxHashMap<u32, Info>,
    pub(super) constants: FxHashMap<u32, Rc<Constant>>,
    pub(super) names: FxHashMap<u32, String>,
    decorations: FxHashMap<u32, Decorations>,
    member_decorations: FxHashMap<(u32, u32), Decorations>,
    pub(super) sets: FxHashMap<u32, Set>,
    pub(super) entries: Vec<Entry>,
    /// Execution modes by the function's id; operands are literals, or of `LocalSizeId` ids.
    pub(super) modes: FxHashMap<u32, Vec<(ExecutionMode, Vec<u32>)>>,
    pub(super) functions: Vec<Function>,
    pub(super) function_of: FxHashMap<u32, usize>,
    /// Numbers of the variables outside functions.
    pub(super) globals: Vec<usize>,
    /// Bytes of a pointer of kernels; 0: pointers are logical.
    pub(super) pointer_bytes: u32,
    pub(super) kernel: bool,
}

/// Values that specialisation constants are given, by `SpecId`.
pub(super) type Given = std::collections::BTreeMap<u32, u64>;

pub(super) fn module(text: &str, given: &Given) -> Result<Module, Diagnostics> {
    let code = read::words(text)?;
    let mut m = Module {
        code,
        types: FxHashMap::default(),
        constants: FxHashMap::default(),
        names: FxHashMap::default(),
        decorations: FxHashMap::default(),
        member_decorations: FxHashMap::default(),
        sets: FxHashMap::default(),
        entries: Vec::new(),
        modes: FxHashMap::default(),
        functions: Vec::new(),
        function_of: FxHashMap::default(),
        globals: Vec::new(),
        pointer_bytes: 0,
        kernel: false,
    };
    let mut diags = Diagnostics::default();
    capability::check(&m.code, &mut diags);
    if diags.has_errors() {
        return Err(diags);
    }
    m.functions(&mut diags);
    let declared = m.functions.first().map_or(m.code.insts.len(), |f| f.at);
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
        let list = self.decorations.get(&id)?;
        list.iter().find(|(d, _)| *d == decoration).map(|(_, literals)| literals.as_slice())
    }

    pub(super) fn member_decoration(&self, id: u32, member: u32, decoration: Decoration) -> Option<&[u32]> {
        let list = self.member_decorations.get(&(id, member))?;
        list.iter().find(|(d, _)| *d == decoration).map(|(_, literals)| literals.as_slice())
    }

    /// What an id is called: its name and number.
    pub(super) fn name(&self, id: u32) -> String {
        match self.names.get(&id) {
            Some(name) => format!("%{name}.{id}"),
            None => format!("%{id}"),
        }
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
        let operands = self.code.operands(n).to_vec();
        match inst.op {
            Op::Name => {
                let name = string(&operands[1..]).0;
                if !name.is_empty() {
                    self.names.insert(operands[0], name.chars().take(64).collect());
                }
            }
            Op::Decorate | Op::DecorateId | Op::DecorateString => {
                // What is not known has no meaning here: of vendors, or for optimisation.
                if let Some(d) = Decoration::from_u32(operands[1]) {
                    self.decorations.entry(operands[0]).or_default().push((d, operands[2..].to_vec()));
                }
            }
            Op::MemberDecorate | Op::MemberDecorateString => {
                if let Some(d) = Decoration::from_u32(operands[2]) {
                    let key = (operands[0], operands[1]);
                    self.member_decorations.entry(key).or_default().push((d, operands[3..].to_vec()));
                }
            }
            Op::ExtInstImport => {
                let set = match string(&operands).0.as_str() {
                    "GLSL.std.450" => Set::Glsl,
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
                let name = string(&operands[2..]).0;
                self.entries.push(Entry { model, function: operands[1], name, at: n });
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

    /// Applies groups of decorations.
    fn groups(&mut self, declared: usize) {
        for n in 0..declared {
            let operands = self.code.operands(n).to_vec();
            match self.code.insts[n].op {
                Op::GroupDecorate => {
                    let group = self.decorations.get(&operands[0]).cloned().unwrap_or_default();
                    for &id in &operands[1..] {
                        self.decorations.entry(id).or_default().extend(group.iter().cloned());
                    }
                }
                Op::GroupMemberDecorate => {
                    let group = self.decorations.get(&operands[0]).cloned().unwrap_or_default();
                    for pair in operands[1..].chunks(2) {
                        let key = (pair[0], pair.get(1).copied().unwrap_or(0));
                        self.member_decorations.entry(key).or_default().extend(group.iter().cloned());
                    }
                }
                _ => {}
            }
        }
    }

    /// Calls `f` with each id that an instruction names; literals of other sets' instructions are none.
    pub(super) fn for_ids(&self, n: usize, mut f: impl FnMut(u32)) {
        use spirv::OpenclStd100Op as Cl;
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

    /// Types, constants, variables.
    fn declaration(&mut self, n: usize, given: &Given) -> Result<(), Diagnostic> {
        let inst = self.code.insts[n];
        let operands = self.code.operands(n).to_vec();
        if let Some(info) = self.type_info(n, inst.op, inst.result, &operands)? {
            self.types.insert(inst.result, info);
            return Ok(());
        }
        if inst.op == Op::Variable {
            self.globals.push(n);
            return self.variable(n);
        }
        if let Some(constant) = self.constant(n, &operands, given)? {
            self.constants.insert(inst.result, Rc::new(constant));
        }
        Ok(())
    }

    /// What holds of variables in functions and outside.
    pub(super) fn variable(&self, n: usize) -> Result<(), Diagnostic> {
        let inst = self.code.insts[n];
        let operands = self.code.operands(n);
        let class = StorageClass::from_u32(operands[0]);
        match self.ty(inst.ty) {
            Some(Type::Pointer { class: c, .. }) if Some(*c) == class => {}
            Some(Type::Pointer { .. }) => {
                return Err(self.error(n, "the storage class is not that of the pointer's type"));
            }
            _ => return Err(self.error(n, "the type of a variable is a pointer")),
        }
        if class == Some(StorageClass::Generic) {
            return Err(self.error(n, "there are no variables of the storage class Generic"));
        }
        if let Some(&id) = operands.get(1)
            && !self.constants.contains_key(&id)
            && self.code.def(id).is_none_or(|d| self.code.insts[d].op != Op::Variable)
        {
            return Err(
                self.error(n, "a variable begins with a constant or the address of a global variable")
            );
        }
        Ok(())
    }

    fn known(&self, n: usize, id: u32) -> Result<&Info, Diagnostic> {
        self.info(id)
            .ok_or_else(|| self.error(n, format!("{} is not the id of a type before", self.name(id))))
    }

    fn type_info(&self, n: usize, op: Op, id: u32, x: &[u32]) -> Result<Option<Info>, Diagnostic> {
        let error = |message: &str| Err(self.error(n, message));
        Ok(Some(match op {
            Op::TypeVoid => Info::plain(Type::Void),
            // As a word, where it lies in memory of our own layout.
            Op::TypeBool => Info::scalar(Type::Bool, 4),
            Op::TypeInt => match (x[0], x[1]) {
                (bits @ (8 | 16 | 32 | 64), sign @ (0 | 1)) => {
                    Info::scalar(Type::Int { bits: bits as u8, signed: sign == 1 }, bits / 8)
                }
                (_, 0 | 1) => return error("integers have 8, 16, 32 or 64 bits"),
                _ => return error("the signedness of an integer is 0 or 1"),
            },
            Op::TypeFloat => match (x[0], x.get(1)) {
                (bits @ (16 | 32 | 64), None) => Info::scalar(Type::Float { bits: bits as u8 }, bits / 8),
                (_, None) => return error("floats have 16, 32 or 64 bits"),
                _ => return Err(self.unsupported(n, "other encodings of floats are not supported")),
            },
            Op::TypeVector => {
                let part = self.known(n, x[0])?;
                if !matches!(part.ty, Type::Bool | Type::Int { .. } | Type::Float { .. }) {
                    return error("a vector consists of scalars");
                }
                let len = match x[1] {
                    len @ 2..=4 => len,
                    len @ (8 | 16) if self.kernel => len,
                    _ => return error("a vector has 2, 3 or 4 components, in kernels also 8 or 16"),
                };
                let align = part.align * len.next_power_of_two();
                Info {
                    depth: 1,
                    comps: len,
                    size: align.into(),
                    align,
                    scalar: part.scalar,
                    ..Info::plain(Type::Vector { part: x[0], len: len as u8 })
                }
            }
            Op::TypeMatrix => {
                let column = self.known(n, x[0])?;
                if !matches!(column.ty, Type::Vector { len: ..=4, .. }) || !self.is_float(x[0]) {
                    return error("the columns of a matrix are vectors of floats");
                }
                if !(2..=4).contains(&x[1]) {
                    return error("a matrix has 2, 3 or 4 columns");
                }
                Info {
                    depth: 2,
                    comps: column.comps * x[1],
                    size: column.size * u64::from(x[1]),
                    align: column.align,
                    scalar: column.scalar,
                    stride: column.size as u32,
                    ..Info::plain(Type::Matrix { column: x[0], columns: x[1] as u8 })
                }
            }
            Op::TypeArray => {
                let part = self.element(n, x[0])?;
                let Some(len) = self.constant_u32(x[1]).filter(|&len| len > 0) else {
                    return error("the length of an array is a constant integer of at least 1");
                };
                let stride = self.stride(n, id, part)?;
                let size = u64::from(stride) * u64::from(len);
                if size > LARGEST {
                    return error("the array is larger than 4 GiB");
                }
                Info {
                    depth: part.depth + 1,
                    comps: part.comps.saturating_mul(len),
                    size,
                    align: part.align,
                    scalar: part.scalar,
                    stride,
                    opaque: part.opaque,
                    ..Info::plain(Type::Array { part: x[0], len })
                }
            }
            Op::TypeRuntimeArray => {
                let part = self.element(n, x[0])?;
                Info {
                    depth: part.depth + 1,
                    comps: u32::MAX,
                    align: part.align,
                    scalar: part.scalar,
                    stride: self.stride(n, id, part)?,
                    opaque: part.opaque,
                    ..Info::plain(Type::RuntimeArray { part: x[0] })
                }
            }
            Op::TypeStruct => self.structure(n, id, x)?,
            Op::TypePointer => {
                let Some(class) = StorageClass::from_u32(x[0]) else {
                    return error("the storage class is not known");
                };
                let bytes = match (class, self.pointer_bytes) {
                    (StorageClass::PhysicalStorageBuffer, _) | (_, 0) => 8,
                    (_, bytes) => bytes,
                };
                Info::scalar(Type::Pointer { class, to: x[1] }, bytes)
            }
            Op::TypeImage => {
                let (Some(dim), Some(format)) =
                    (spirv::Dim::from_u32(x[1]), spirv::ImageFormat::from_u32(x[6]))
                else {
                    return error("the image's dimension or format is not known");
                };
                let image = Image {
                    sampled_type: x[0],
                    dim,
                    depth: x[2] == 1,
                    arrayed: x[3] != 0,
                    multisampled: x[4] != 0,
                    sampled: x[5],
                    format,
                    access: x.get(7).copied(),
                };
                Info { opaque: true, ..Info::plain(Type::Image(image)) }
            }
            Op::TypeSampler => Info { opaque: true, ..Info::plain(Type::Sampler) },
            Op::TypeSampledImage => Info { opaque: true, ..Info::plain(Type::SampledImage { image: x[0] }) },
            Op::TypeFunction => {
                self.known(n, x[0])?;
                for &param in &x[1..] {
                    if self.known(n, param)?.ty == Type::Void {
                        return error("no parameter of a function is void");
                    }
                }
                Info::plain(Type::Function { result: x[0], params: x[1..].to_vec() })
            }
            Op::TypeEvent => Info::scalar(Type::Event, 4),
            Op::TypeOpaque | Op::TypePipe | Op::TypeDeviceEvent | Op::TypeReserveId | Op::TypeQueue => {
                Info { opaque: true, ..Info::plain(Type::Opaque) }
            }
            _ => return Ok(None),
        }))
    }

    /// The type of an array's elements.
    fn element(&self, n: usize, id: u32) -> Result<&Info, Diagnostic> {
        let part = self.known(n, id)?;
        match part.ty {
            Type::Void | Type::Function { .. } => Err(self.error(n, "there are no values of that type")),
            Type::RuntimeArray { .. } => {
                Err(self.error(n, "an array of unknown length is the last member of a structure"))
            }
            _ if part.depth >= DEPTH => Err(self.error(n, "types nest more than 255 deep")),
            _ => Ok(part),
        }
    }

    fn stride(&self, n: usize, id: u32, part: &Info) -> Result<u32, Diagnostic> {
        let natural = part.size.next_multiple_of(part.align.into());
        let stride = match self.decoration(id, Decoration::ArrayStride).and_then(|x| x.first()) {
            Some(0) => return Err(self.error(n, "the stride of an array is not 0")),
            Some(&stride) if stride % part.scalar != 0 => {
                return Err(self.error(n, "the stride of the array is no multiple of its scalars' size"));
            }
            Some(&stride) => u64::from(stride),
            None => natural,
        };
        u32::try_from(stride).map_err(|_| self.error(n, "the elements of the array are larger than 4 GiB"))
    }

    fn structure(&self, n: usize, id: u32, members: &[u32]) -> Result<Info, Diagnostic> {
        let mut info = Info { comps: 0, ..Info::plain(Type::Struct { members: members.to_vec() }) };
        let packed = self.decoration(id, Decoration::CPacked).is_some();
        let mut end = 0u64;
        for (i, &member) in members.iter().enumerate() {
            let i = i as u32;
            let m = self.known(n, member)?;
            match m.ty {
                Type::Void | Type::Function { .. } => {
                    return Err(self.error(n, "there are no values of a member's type"));
                }
                Type::RuntimeArray { .. } if i as usize + 1 < members.len() => {
                    return Err(self.error(n, "an array of unknown length is the last member"));
                }
                _ if m.depth >= DEPTH => return Err(self.error(n, "types nest more than 255 deep")),
                _ => {}
            }
            let align = if packed { 1 } else { m.align };
            let at = match self.member_decoration(id, i, Decoration::Offset).and_then(|x| x.first()) {
                Some(&offset) if offset % m.scalar != 0 => {
                    return Err(self
                        .error(n, format!("the offset of member {i} is no multiple of its scalars' size")));
                }
                Some(&offset) => u64::from(offset),
                None => end.next_multiple_of(align.into()),
            };
            end = end.max(at + m.size);
            if end > LARGEST {
                return Err(self.error(n, "the structure is larger than 4 GiB"));
            }
            info.offsets.push(at as u32);
            info.comps = info.comps.saturating_add(m.comps);
            info.depth = info.depth.max(m.depth + 1);
            info.align = info.align.max(align);
            info.scalar = if packed { 1 } else { info.scalar.max(m.scalar) };
            info.opaque |= m.opaque;
        }
        info.size = end.next_multiple_of(info.align.into());
        Ok(info)
    }

    fn constant(&self, n: usize, x: &[u32], given: &Given) -> Result<Option<Constant>, Diagnostic> {
        let inst = self.code.insts[n];
        let error = |message: &str| Err(self.error(n, message));
        let given = || {
            let id = self.decoration(inst.result, Decoration::SpecId)?.first()?;
            given.get(id).copied()
        };
        let spec = matches!(inst.op, Op::SpecConstant | Op::SpecConstantTrue | Op::SpecConstantFalse);
        let given = if spec { given() } else { None };
        let ty = match inst.op {
            Op::ConstantTrue
            | Op::ConstantFalse
            | Op::SpecConstantTrue
            | Op::SpecConstantFalse
            | Op::Constant
            | Op::SpecConstant
            | Op::ConstantComposite
            | Op::SpecConstantComposite
            | Op::ConstantNull
            | Op::Undef
            | Op::ConstantSampler
            | Op::SpecConstantOp => self.known(n, inst.ty)?,
            _ => return Ok(None),
        };
        Ok(Some(match inst.op {
            Op::ConstantTrue | Op::SpecConstantTrue | Op::ConstantFalse | Op::SpecConstantFalse => {
                if ty.ty != Type::Bool {
                    return error("a boolean constant has the type bool");
                }
                let said = matches!(inst.op, Op::ConstantTrue | Op::SpecConstantTrue);
                Constant::Bits(given.map_or(said, |x| x != 0).into())
            }
            Op::Constant | Op::SpecConstant => {
                let bits = match ty.ty {
                    Type::Int { bits, .. } | Type::Float { bits } => bits,
                    _ => return error("a constant number has a type of numbers"),
                };
                let words = if bits == 64 { 2 } else { 1 };
                if x.len() != words {
                    return error("the constant has not as many words as its type");
                }
                let said = u64::from(x[0]) | x.get(1).map_or(0, |&w| u64::from(w) << 32);
                Constant::Bits(super::constants::low(given.unwrap_or(said), bits))
            }
            Op::ConstantComposite | Op::SpecConstantComposite => {
                if self.parts(inst.ty).is_none_or(|parts| parts as usize != x.len()) {
                    return error("the constant has not as many parts as its type");
                }
                let mut parts = Vec::with_capacity(x.len());
                for (i, &id) in x.iter().enumerate() {
                    if self.code.type_of(id) != self.part(inst.ty, i as u32) {
                        return error("a part of the constant has another type than the composite's");
                    }
                    match self.constants.get(&id) {
                        Some(c) => parts.push(c.clone()),
                        None if self.code.def(id).is_some_and(|d| self.code.insts[d].op == Op::Variable) => {
                            return Err(
                                self.unsupported(n, "constants that hold addresses are not supported")
                            );
                        }
                        None => return error("the parts of a constant are constants before it"),
                    }
                }
                Constant::Composite(parts)
            }
            Op::ConstantNull => match ty.ty {
                Type::Void | Type::Function { .. } | Type::RuntimeArray { .. } => {
                    return error("there is no null of that type");
                }
                _ => Constant::Null,
            },
            Op::Undef => match ty.ty {
                Type::Void => return error("there are no values of that type"),
                _ => Constant::Undef,
            },
            Op::ConstantSampler => Constant::Sampler([x[0], x[1], x[2]]),
            _ => {
                let op = Op::from_u32(x[0]).unwrap_or(Op::Nop);
                match self.evaluate(inst.ty, op, &x[1..]) {
                    Some(c) => c,
                    None => {
                        let what = format!("Op{op:?} of these operands is not supported as a constant");
                        return Err(self.unsupported(n, what));
                    }
                }
            }
        }))
    }

    /// What pointers lead to are types, which may stand behind the pointers' own.
    fn pointees(&self, diags: &mut Diagnostics) {
        for (n, inst) in self.code.insts.iter().enumerate() {
            if inst.op == Op::TypePointer
                && let Some(Type::Pointer { to, .. }) = self.ty(inst.result)
                && self.info(*to).is_none()
            {
                diags.push(self.error(n, format!("{} is no type", self.name(*to))));
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
