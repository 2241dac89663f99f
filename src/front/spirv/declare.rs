//! Types, constants and variables as they are declared.

use super::constants::Constant;
use super::module::{Given, Module};
use super::types::{DEPTH, Image, Info, LARGEST, Majority, Type};
use crate::diag::{Diagnostic, Diagnostics};
use crate::front::common::emit::value::Shape;
use spirv::{Decoration, Op, StorageClass};
use std::rc::Rc;

impl Module {
    /// Types, constants, variables.
    pub(super) fn declaration(&mut self, n: usize, given: &Given) -> Result<(), Diagnostic> {
        let inst = self.code.insts[n];
        let operands = self.code.operands(n);
        if let Some(mut info) = self.type_info(n, inst.op, inst.result, operands)? {
            (info.vectors, info.std140) = self.derived(&info);
            self.types.insert(inst.result, info);
            return Ok(());
        }
        if inst.op == Op::Variable {
            self.globals.push(n);
            return self.variable(n);
        }
        if let Some(constant) = self.constant(n, operands, given)? {
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
            && self.code.type_of(id) != self.leads_to(inst.result)
        {
            return Err(self.error(n, "a variable begins with a value of another type"));
        }
        if let Some(&id) = operands.get(1)
            && !self.constants.contains(id)
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
                    shape: part.shape.map(|shape| Shape { comps: len as u8, ..shape }),
                    depth: 1,
                    comps: len,
                    weight: len,
                    size: align.into(),
                    extent: u64::from(part.scalar * len),
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
                    weight: column.comps * x[1],
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
                    weight: part.weight.saturating_mul(len),
                    size,
                    extent: u64::from(stride) * u64::from(len - 1) + part.extent,
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
                    weight: u32::MAX,
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
                if x[5] > 2 {
                    return error("an image is sampled (1), or not (2), or it is not known (0)");
                }
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
                return Err(self.error(n, "the stride of the array is not a multiple of its scalars' size"));
            }
            Some(&stride) if u64::from(stride) < part.extent => {
                return Err(self.error(n, "the stride of the array is less than its elements' size"));
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
        let mut taken = Vec::with_capacity(members.len());
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
                    return Err(self.error(
                        n,
                        format!("the offset of member {i} is not a multiple of its scalars' size"),
                    ));
                }
                Some(&offset) => u64::from(offset),
                None => end.next_multiple_of(align.into()),
            };
            let extent = m.extent + self.matrix_extent(n, member, self.majority(id, i))?;
            taken.push((at, at + extent));
            end = end.max(at + m.size.max(extent));
            if end > LARGEST {
                return Err(self.error(n, "the structure is larger than 4 GiB"));
            }
            info.offsets.push(at as u32);
            info.comps = info.comps.saturating_add(m.comps);
            info.weight = info.weight.saturating_add(m.weight);
            info.depth = info.depth.max(m.depth + 1);
            info.align = info.align.max(align);
            info.scalar = if packed { 1 } else { info.scalar.max(m.scalar) };
            info.opaque |= m.opaque;
        }
        info.size = end.next_multiple_of(info.align.into());
        info.extent = taken.iter().map(|t| t.1).max().unwrap_or(0);
        taken.sort_unstable();
        if taken.is_sorted_by(|a, b| a.1 <= b.0) {
            Ok(info)
        } else {
            Err(self.error(n, "members of the structure overlap"))
        }
    }

    /// Bytes that a matrix takes that a member is, or that is below the member's arrays; 0: there is none.
    fn matrix_extent(&self, n: usize, mut ty: u32, majority: Option<Majority>) -> Result<u64, Diagnostic> {
        let mut arrays = Vec::new();
        while let Some(Type::Array { part, .. } | Type::RuntimeArray { part }) = self.ty(ty) {
            arrays.push(ty);
            ty = *part;
        }
        let Some(&Type::Matrix { column, columns }) = self.ty(ty) else { return Ok(0) };
        let (column, columns) = (self.known(n, column)?, u64::from(columns));
        let rows = u64::from(column.comps);
        let (lines, line, stride) = match majority {
            None => (columns, column.size, column.size),
            Some(Majority { stride, row_major }) => {
                if stride % column.scalar != 0 {
                    return Err(self.error(n, "MatrixStride is not a multiple of the matrix's scalars"));
                }
                let (lines, length) = if row_major { (rows, columns) } else { (columns, rows) };
                (lines, length * u64::from(column.scalar), u64::from(stride))
            }
        };
        if stride < line {
            return Err(self.error(n, "MatrixStride is less than a column or row of the matrix"));
        }
        let extent = stride * (lines - 1) + line;
        // The innermost array's elements are matrices, and those of the others are arrays of such.
        let explicit = |id: &u32| self.has(*id, Decoration::ArrayStride);
        for &array in arrays.iter().filter(|id| explicit(id)) {
            let part = self.part(array, 0).and_then(|part| self.info(part)).map_or(0, |info| info.extent);
            if self.info(array).is_some_and(|info| u64::from(info.stride) < part + extent) {
                return Err(self.error(n, "the stride of an array is less than its matrices"));
            }
        }
        Ok(extent)
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
                    match self.constants.get(id) {
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
    pub(super) fn pointees(&self, diags: &mut Diagnostics) {
        for (n, inst) in self.code.insts[..self.declared].iter().enumerate() {
            if inst.op == Op::TypePointer
                && let Some(Type::Pointer { to, .. }) = self.ty(inst.result)
                && self.info(*to).is_none()
            {
                diags.push(self.error(n, format!("{} is not a type", self.name(*to))));
            }
        }
    }
}
