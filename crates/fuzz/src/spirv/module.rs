//! A program as a SPIR-V module.

use super::program::*;
use spirv::{GlslStd450Op as GLOp, Op};
use std::collections::HashMap;

const SUBGROUP: u32 = 3;
const WORKGROUP: u32 = 2;
/// AcquireRelease, of memory of the workgroup and of buffers.
const SEMANTICS: u32 = 8 | 256 | 64;

/// A variable: a pointer to what it holds.
#[derive(Clone)]
struct Variable {
    id: u32,
    holds: Holds,
    class: spirv::StorageClass,
}

/// Where control goes from inside a loop.
#[derive(Clone, Copy)]
struct Exits {
    leave: u32,
    again: u32,
}

#[derive(Default)]
struct Module {
    setting: Setting,
    next: u32,
    declared: Vec<u32>,
    /// Types and constants, by their words without the result.
    known: HashMap<Vec<u32>, u32>,
    code: Vec<u32>,
    glsl: u32,
    thread: u32,
    totals: u32,
    exchange: u32,
    functions: Vec<u32>,
    variables: Vec<Variable>,
    parameters: Vec<u32>,
    loops: Vec<Exits>,
}

fn put(to: &mut Vec<u32>, op: Op, operands: &[u32]) {
    to.push((operands.len() as u32 + 1) << 16 | op as u32);
    to.extend(operands);
}

fn text(s: &str) -> Vec<u32> {
    let mut bytes = s.as_bytes().to_vec();
    bytes.resize(s.len() / 4 * 4 + 4, 0);
    bytes.as_chunks().0.iter().map(|&b| u32::from_le_bytes(b)).collect()
}

impl Module {
    fn id(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    // ---- types and constants

    fn declare_type(&mut self, op: Op, operands: &[u32]) -> u32 {
        let mut key = vec![op as u32];
        key.extend(operands);
        if let Some(&id) = self.known.get(&key) {
            return id;
        }
        let id = self.id();
        let mut words = vec![id];
        words.extend(operands);
        put(&mut self.declared, op, &words);
        self.known.insert(key, id);
        id
    }

    fn declare_value(&mut self, op: Op, ty: u32, operands: &[u32]) -> u32 {
        let mut key = vec![op as u32, ty];
        key.extend(operands);
        if let Some(&id) = self.known.get(&key) {
            return id;
        }
        let id = self.id();
        let mut words = vec![ty, id];
        words.extend(operands);
        put(&mut self.declared, op, &words);
        self.known.insert(key, id);
        id
    }

    fn ty(&mut self, ty: Ty) -> u32 {
        match ty {
            Ty::Bool => self.declare_type(Op::TypeBool, &[]),
            Ty::Int(bits) => self.declare_type(Op::TypeInt, &[bits, 0]),
            Ty::Vec(n) => {
                let part = self.ty(Ty::Int(32));
                self.declare_type(Op::TypeVector, &[part, n])
            }
        }
    }

    fn holds(&mut self, h: &Holds) -> u32 {
        match h {
            // A counter.
            Holds::Value(Ty::Bool) => self.ty(Ty::Int(32)),
            Holds::Value(ty) => self.ty(*ty),
            Holds::Array(bits) => {
                let part = self.ty(Ty::Int(*bits));
                let len = self.word(ELEMENTS as u32);
                self.declare_type(Op::TypeArray, &[part, len])
            }
            Holds::Struct(members) => {
                let members: Vec<u32> = members.iter().map(|m| self.holds(m)).collect();
                self.declare_type(Op::TypeStruct, &members)
            }
        }
    }

    fn pointer(&mut self, class: spirv::StorageClass, to: u32) -> u32 {
        self.declare_type(Op::TypePointer, &[class as u32, to])
    }

    fn constant(&mut self, ty: Ty, x: u64) -> u32 {
        let t = self.ty(ty);
        match ty {
            Ty::Bool => self.declare_value(if x != 0 { Op::ConstantTrue } else { Op::ConstantFalse }, t, &[]),
            Ty::Int(64) => self.declare_value(Op::Constant, t, &[x as u32, (x >> 32) as u32]),
            Ty::Int(bits) => self.declare_value(Op::Constant, t, &[x as u32 & (u32::MAX >> (32 - bits))]),
            Ty::Vec(n) => {
                let part = self.constant(Ty::Int(32), x);
                self.declare_value(Op::ConstantComposite, t, &vec![part; n as usize])
            }
        }
    }

    fn word(&mut self, x: u32) -> u32 {
        self.constant(Ty::Int(32), x.into())
    }

    // ---- code

    fn emit(&mut self, op: Op, ty: u32, operands: &[u32]) -> u32 {
        let id = self.id();
        let mut words = vec![ty, id];
        words.extend(operands);
        put(&mut self.code, op, &words);
        id
    }

    fn act(&mut self, op: Op, operands: &[u32]) {
        put(&mut self.code, op, operands);
    }

    fn label(&mut self, id: u32) {
        self.act(Op::Label, &[id]);
    }

    fn barrier(&mut self) {
        let (scope, semantics) = (self.word(WORKGROUP), self.word(SEMANTICS));
        self.act(Op::ControlBarrier, &[scope, scope, semantics]);
    }

    fn glsl(&mut self, op: GLOp, ty: u32, operands: &[u32]) -> u32 {
        let mut words = vec![self.glsl, op as u32];
        words.extend(operands);
        self.emit(Op::ExtInst, ty, &words)
    }

    /// A pointer to a part of a variable.
    fn place(&mut self, p: &Place) -> u32 {
        let Variable { id, holds, class } = self.variables[p.variable].clone();
        let mut indices = Vec::new();
        if let (Some(cell), Holds::Struct(members)) = (p.member, &holds) {
            let mut at = 0;
            let n = members.iter().position(|m| {
                let here = at == cell;
                at += m.cells();
                here
            });
            indices.push(self.word(n.unwrap_or(0) as u32));
        }
        if let Some(index) = &p.index {
            let index = self.expr(index);
            let most = self.word(ELEMENTS as u32 - 1);
            let word = self.ty(Ty::Int(32));
            indices.push(self.emit(Op::BitwiseAnd, word, &[index, most]));
        }
        if indices.is_empty() {
            return id;
        }
        let to = self.ty(p.ty);
        let pointer = self.pointer(class, to);
        let mut operands = vec![id];
        operands.extend(indices);
        self.emit(Op::AccessChain, pointer, &operands)
    }

    fn expr(&mut self, e: &Expr) -> u32 {
        let ty = e.ty();
        let t = self.ty(ty);
        match e {
            Expr::Constant(ty, x) => self.constant(*ty, *x),
            Expr::Thread => self.emit(Op::Load, t, &[self.thread]),
            Expr::Parameter(n, _) => self.parameters[*n],
            Expr::Load(place) => {
                let p = self.place(place);
                self.emit(Op::Load, t, &[p])
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.expr(a), self.expr(b));
                self.binary(*op, ty, a, b)
            }
            Expr::Unary(op, a) => {
                let a = self.expr(a);
                match op {
                    Unary::Not => self.emit(Op::Not, t, &[a]),
                    Unary::Negate => self.emit(Op::SNegate, t, &[a]),
                    Unary::Reverse => self.emit(Op::BitReverse, t, &[a]),
                    Unary::Count => self.emit(Op::BitCount, t, &[a]),
                    Unary::Abs => self.glsl(GLOp::SAbs, t, &[a]),
                    Unary::FindLsb => self.glsl(GLOp::FindILsb, t, &[a]),
                    Unary::FindUMsb => self.glsl(GLOp::FindUMsb, t, &[a]),
                }
            }
            Expr::Compare(op, a, b) => {
                let (a, b) = (self.expr(a), self.expr(b));
                let op = match op {
                    Compare::Eq => Op::IEqual,
                    Compare::Ne => Op::INotEqual,
                    Compare::Ult => Op::ULessThan,
                    Compare::Ule => Op::ULessThanEqual,
                    Compare::Slt => Op::SLessThan,
                    Compare::Sge => Op::SGreaterThanEqual,
                };
                self.emit(op, t, &[a, b])
            }
            Expr::And(a, b) => self.pair(Op::LogicalAnd, t, a, b),
            Expr::Or(a, b) => self.pair(Op::LogicalOr, t, a, b),
            Expr::Differ(a, b) => self.pair(Op::LogicalNotEqual, t, a, b),
            Expr::Inverse(a) => {
                let a = self.expr(a);
                self.emit(Op::LogicalNot, t, &[a])
            }
            Expr::Select(c, a, b) => {
                let (mut c, a, b) = (self.expr(c), self.expr(a), self.expr(b));
                if let Ty::Vec(n) = ty {
                    let part = self.ty(Ty::Bool);
                    let all = self.declare_type(Op::TypeVector, &[part, n]);
                    c = self.emit(Op::CompositeConstruct, all, &vec![c; n as usize]);
                }
                self.emit(Op::Select, t, &[c, a, b])
            }
            Expr::Convert(a, _, sign) => {
                let a = self.expr(a);
                self.emit(if *sign { Op::SConvert } else { Op::UConvert }, t, &[a])
            }
            Expr::Extract(a, n) => {
                let a = self.expr(a);
                self.emit(Op::CompositeExtract, t, &[a, *n as u32])
            }
            Expr::ExtractAt(a, n) => {
                let (a, n) = (self.expr(a), self.expr(n));
                let one = self.word(1);
                let n = self.emit(Op::BitwiseAnd, t, &[n, one]);
                self.emit(Op::VectorExtractDynamic, t, &[a, n])
            }
            Expr::Construct(parts) => {
                let parts: Vec<u32> = parts.iter().map(|p| self.expr(p)).collect();
                self.emit(Op::CompositeConstruct, t, &parts)
            }
            Expr::Insert(a, n, x) => {
                let (a, x) = (self.expr(a), self.expr(x));
                self.emit(Op::CompositeInsert, t, &[x, a, *n as u32])
            }
            Expr::Shuffle(a, b, which) => {
                let mut operands = vec![self.expr(a), self.expr(b)];
                operands.extend(which.iter().map(|&n| n as u32));
                self.emit(Op::VectorShuffle, t, &operands)
            }
            Expr::Field(a, from, count, sign) => {
                let a = self.expr(a);
                let (from, count) = (self.word(*from), self.word(*count));
                let op = if *sign { Op::BitFieldSExtract } else { Op::BitFieldUExtract };
                self.emit(op, t, &[a, from, count])
            }
            Expr::High(a, b, sign) => {
                let op = if *sign { Op::SMulExtended } else { Op::UMulExtended };
                self.second(op, t, a, b)
            }
            Expr::Carry(a, b) => self.second(Op::IAddCarry, t, a, b),
            Expr::Float(op, a, b, bits) => {
                let float = self.declare_type(Op::TypeFloat, &[*bits]);
                let (a, b) = (self.expr(a), self.expr(b));
                let (a, b) =
                    (self.emit(Op::ConvertUToF, float, &[a]), self.emit(Op::ConvertUToF, float, &[b]));
                let op = match op {
                    Float::Add => Op::FAdd,
                    Float::Sub => Op::FSub,
                    Float::Mul => Op::FMul,
                };
                let r = self.emit(op, float, &[a, b]);
                self.emit(Op::Bitcast, t, &[r])
            }
        }
    }

    fn pair(&mut self, op: Op, t: u32, a: &Expr, b: &Expr) -> u32 {
        let (a, b) = (self.expr(a), self.expr(b));
        self.emit(op, t, &[a, b])
    }

    /// The second of two results.
    fn second(&mut self, op: Op, t: u32, a: &Expr, b: &Expr) -> u32 {
        let both = self.declare_type(Op::TypeStruct, &[t, t]);
        let r = self.pair(op, both, a, b);
        self.emit(Op::CompositeExtract, t, &[r, 1])
    }

    fn binary(&mut self, op: Binary, ty: Ty, a: u32, mut b: u32) -> u32 {
        use Binary as B;
        let t = self.ty(ty);
        match op {
            B::Shl | B::Shr | B::Sar => {
                let most = self.constant(ty, u64::from(ty.bits()) - 1);
                b = self.emit(Op::BitwiseAnd, t, &[b, most]);
            }
            B::UDiv | B::UMod | B::SDiv | B::SRem | B::SMod => {
                if matches!(op, B::SDiv | B::SRem | B::SMod) {
                    let most = self.constant(ty, u64::MAX >> (65 - ty.bits()));
                    b = self.emit(Op::BitwiseAnd, t, &[b, most]);
                }
                let one = self.constant(ty, 1);
                b = self.emit(Op::BitwiseOr, t, &[b, one]);
            }
            _ => {}
        }
        let op = match op {
            B::Add => Op::IAdd,
            B::Sub => Op::ISub,
            B::Mul => Op::IMul,
            B::And => Op::BitwiseAnd,
            B::Or => Op::BitwiseOr,
            B::Xor => Op::BitwiseXor,
            B::Shl => Op::ShiftLeftLogical,
            B::Shr => Op::ShiftRightLogical,
            B::Sar => Op::ShiftRightArithmetic,
            B::UDiv => Op::UDiv,
            B::UMod => Op::UMod,
            B::SDiv => Op::SDiv,
            B::SRem => Op::SRem,
            B::SMod => Op::SMod,
            B::UMin => return self.glsl(GLOp::UMin, t, &[a, b]),
            B::UMax => return self.glsl(GLOp::UMax, t, &[a, b]),
            B::SMin => return self.glsl(GLOp::SMin, t, &[a, b]),
            B::SMax => return self.glsl(GLOp::SMax, t, &[a, b]),
        };
        self.emit(op, t, &[a, b])
    }

    // ---- statements

    fn run(&mut self, code: &[Stmt]) {
        code.iter().for_each(|s| self.step(s));
    }

    /// A block that ends where control goes on.
    fn arm(&mut self, label: u32, code: &[Stmt], to: u32) {
        self.label(label);
        self.run(code);
        self.act(Op::Branch, &[to]);
    }

    fn step(&mut self, s: &Stmt) {
        match s {
            Stmt::Store(place, e) => {
                let x = self.expr(e);
                self.store(place, x);
            }
            Stmt::If(c, then, els) => {
                let c = self.expr(c);
                let [yes, no, merge] = [(); 3].map(|()| self.id());
                self.act(Op::SelectionMerge, &[merge, 0]);
                self.act(Op::BranchConditional, &[c, yes, if els.is_empty() { merge } else { no }]);
                self.arm(yes, then, merge);
                if !els.is_empty() {
                    self.arm(no, els, merge);
                }
                self.label(merge);
            }
            Stmt::Switch(e, cases, default) => {
                let x = self.expr(e);
                let labels: Vec<u32> = cases.iter().map(|_| self.id()).collect();
                let [other, merge] = [(); 2].map(|()| self.id());
                self.act(Op::SelectionMerge, &[merge, 0]);
                let mut operands = vec![x, other];
                operands.extend(cases.iter().zip(&labels).flat_map(|(c, &l)| [c.0, l]));
                self.act(Op::Switch, &operands);
                for (n, (_, body, falls)) in cases.iter().enumerate() {
                    let next = labels.get(n + 1).copied().unwrap_or(other);
                    self.arm(labels[n], body, if *falls { next } else { merge });
                }
                self.arm(other, default, merge);
                self.label(merge);
            }
            Stmt::Loop { rounds, counter, body } => {
                let word = self.ty(Ty::Int(32));
                let bool_type = self.ty(Ty::Bool);
                let (zero, one, most) = (self.word(0), self.word(1), self.word(7));
                let rounds = self.expr(rounds);
                let rounds = self.emit(Op::BitwiseAnd, word, &[rounds, most]);
                let counter = self.variables[*counter].id;
                self.act(Op::Store, &[counter, zero]);
                let [header, test, inside, again, leave] = [(); 5].map(|()| self.id());
                self.act(Op::Branch, &[header]);
                self.label(header);
                self.act(Op::LoopMerge, &[leave, again, 0]);
                self.act(Op::Branch, &[test]);
                self.label(test);
                let n = self.emit(Op::Load, word, &[counter]);
                let more = self.emit(Op::ULessThan, bool_type, &[n, rounds]);
                self.act(Op::BranchConditional, &[more, inside, leave]);
                self.loops.push(Exits { leave, again });
                self.arm(inside, body, again);
                self.loops.pop();
                self.label(again);
                let n = self.emit(Op::Load, word, &[counter]);
                let n = self.emit(Op::IAdd, word, &[n, one]);
                self.act(Op::Store, &[counter, n]);
                self.act(Op::Branch, &[header]);
                self.label(leave);
            }
            Stmt::Break(c) | Stmt::Continue(c) => {
                let c = self.expr(c);
                let next = self.id();
                let Some(&Exits { leave, again }) = self.loops.last() else { return };
                let to = if matches!(s, Stmt::Break(_)) { leave } else { again };
                self.act(Op::BranchConditional, &[c, to, next]);
                self.label(next);
            }
            Stmt::Return(c, value) => {
                let c = self.expr(c);
                let [early, next] = [(); 2].map(|()| self.id());
                self.act(Op::SelectionMerge, &[next, 0]);
                self.act(Op::BranchConditional, &[c, early, next]);
                self.label(early);
                let x = self.expr(value);
                self.act(Op::ReturnValue, &[x]);
                self.label(next);
            }
            Stmt::Call { function, args, array, to } => {
                let mut own = self.variables[*array].clone();
                if own.class != self.passed_class() {
                    let held = self.holds(&own.holds);
                    let pointer = self.pointer(self.passed_class(), held);
                    own.id = self.emit(Op::PtrCastToGeneric, pointer, &[own.id]);
                }
                let mut operands = vec![self.functions[*function], own.id];
                for a in args {
                    let a = self.expr(a);
                    operands.push(a);
                }
                let word = self.ty(Ty::Int(32));
                let x = self.emit(Op::FunctionCall, word, &operands);
                self.store(to, x);
            }
            Stmt::Atomic(n, e) => {
                let x = self.expr(e);
                let n32 = self.word(*n as u32);
                let word = self.ty(Ty::Int(32));
                let p = self.total(n32);
                let (scope, relaxed) = (self.word(WORKGROUP), self.word(0));
                let op = match TOTAL[*n] {
                    Total::Add => Op::AtomicIAdd,
                    Total::And => Op::AtomicAnd,
                    Total::Or => Op::AtomicOr,
                    Total::Xor => Op::AtomicXor,
                    Total::UMax => Op::AtomicUMax,
                    Total::SMin => Op::AtomicSMin,
                };
                self.emit(op, word, &[p, scope, relaxed, x]);
            }
            Stmt::Group { what, value, other, to } => {
                let x = self.expr(value);
                let scope = self.word(SUBGROUP);
                let word = self.ty(Ty::Int(32));
                let reduce = |m: &mut Module, op, how: u32| m.emit(op, word, &[scope, how, x]);
                let r = match what {
                    Group::Add => reduce(self, Op::GroupNonUniformIAdd, 0),
                    Group::InclusiveAdd => reduce(self, Op::GroupNonUniformIAdd, 1),
                    Group::ExclusiveAdd => reduce(self, Op::GroupNonUniformIAdd, 2),
                    Group::UMax => reduce(self, Op::GroupNonUniformUMax, 0),
                    Group::SMin => reduce(self, Op::GroupNonUniformSMin, 0),
                    Group::Xor => reduce(self, Op::GroupNonUniformBitwiseXor, 0),
                    Group::Shuffle | Group::ShuffleXor => {
                        let n = self.expr(other);
                        let most = self.word(LANES as u32 - 1);
                        let n = self.emit(Op::BitwiseAnd, word, &[n, most]);
                        let op = match what {
                            Group::Shuffle => Op::GroupNonUniformShuffle,
                            _ => Op::GroupNonUniformShuffleXor,
                        };
                        self.emit(op, word, &[scope, x, n])
                    }
                    Group::Ballot => {
                        let four = self.ty(Ty::Vec(4));
                        let all = self.emit(Op::GroupNonUniformBallot, four, &[scope, x]);
                        self.emit(Op::CompositeExtract, word, &[all, 0])
                    }
                };
                self.store(to, r);
            }
            Stmt::Exchange { value, other, to } => {
                let (x, n) = (self.expr(value), self.expr(other));
                let word = self.ty(Ty::Int(32));
                let own = self.emit(Op::Load, word, &[self.thread]);
                let most = self.word(THREADS as u32 - 1);
                let n = self.emit(Op::BitwiseAnd, word, &[n, most]);
                let pointer = self.pointer(spirv::StorageClass::Workgroup, word);
                let chain = match self.setting {
                    Setting::Kernel => Op::InBoundsPtrAccessChain,
                    _ => Op::AccessChain,
                };
                let p = self.emit(chain, pointer, &[self.exchange, own]);
                self.act(Op::Store, &[p, x]);
                self.barrier();
                let p = self.emit(chain, pointer, &[self.exchange, n]);
                let r = self.emit(Op::Load, word, &[p]);
                self.barrier();
                self.store(to, r);
            }
        }
    }

    fn store(&mut self, to: &Place, x: u32) {
        let p = self.place(to);
        self.act(Op::Store, &[p, x]);
    }

    /// The variables of a function, all zeros, but for the first ones that are there already.
    fn variables(&mut self, f: &Function, given: Vec<Variable>) {
        self.variables = given;
        for holds in &f.variables[self.variables.len()..] {
            let ty = self.holds(holds);
            let pointer = self.pointer(spirv::StorageClass::Function, ty);
            let null = self.declare_value(Op::ConstantNull, ty, &[]);
            let id = self.emit(Op::Variable, pointer, &[spirv::StorageClass::Function as u32, null]);
            let class = spirv::StorageClass::Function;
            self.variables.push(Variable { id, holds: holds.clone(), class });
        }
    }

    /// The class of pointers that functions are given.
    fn passed_class(&self) -> spirv::StorageClass {
        match self.setting {
            Setting::Kernel => spirv::StorageClass::Generic,
            _ => spirv::StorageClass::Function,
        }
    }

    /// A pointer to one of the totals: in shared memory, or to the lower half of a result of the block.
    fn total(&mut self, n: u32) -> u32 {
        let word = self.ty(Ty::Int(32));
        if self.setting != Setting::Buffer {
            let pointer = self.pointer(spirv::StorageClass::Workgroup, word);
            return self.emit(Op::AccessChain, pointer, &[self.totals, n]);
        }
        let (one, zero, first) = (self.word(1), self.word(0), self.word(2 * (THREADS * OUTPUTS) as u32));
        let twice = self.emit(Op::ShiftLeftLogical, word, &[n, one]);
        let at = self.emit(Op::IAdd, word, &[first, twice]);
        let pointer = self.pointer(spirv::StorageClass::StorageBuffer, word);
        self.emit(Op::AccessChain, pointer, &[self.totals, zero, at])
    }

    /// What only some threads do: those whose number is below a limit, with an element of the totals.
    fn for_totals(&mut self, act: impl FnOnce(&mut Module, u32, u32)) {
        let word = self.ty(Ty::Int(32));
        let bool_type = self.ty(Ty::Bool);
        let own = self.emit(Op::Load, word, &[self.thread]);
        let count = self.word(TOTALS as u32);
        let few = self.emit(Op::ULessThan, bool_type, &[own, count]);
        let [yes, merge] = [(); 2].map(|()| self.id());
        self.act(Op::SelectionMerge, &[merge, 0]);
        self.act(Op::BranchConditional, &[few, yes, merge]);
        self.label(yes);
        let p = self.total(own);
        act(self, own, p);
        self.act(Op::Branch, &[merge]);
        self.label(merge);
    }
}

/// The words of a program's module.
pub(super) fn words(program: &Program) -> Vec<u32> {
    let kernel = program.setting == Setting::Kernel;
    let mut m = Module { setting: program.setting, ..Module::default() };
    let main = m.id();
    m.glsl = m.id();
    m.functions = vec![main];
    for _ in 1..program.functions.len() {
        let id = m.id();
        m.functions.push(id);
    }
    let mut decorations = Vec::new();
    let void = m.declare_type(Op::TypeVoid, &[]);
    let word = m.ty(Ty::Int(32));
    let long = m.ty(Ty::Int(64));
    let storage =
        if kernel { spirv::StorageClass::CrossWorkgroup } else { spirv::StorageClass::StorageBuffer };
    let long_pointer = m.pointer(storage, long);
    let global = |m: &mut Module, ty: u32, class: spirv::StorageClass| {
        let id = m.id();
        put(&mut m.declared, Op::Variable, &[ty, id, class as u32]);
        id
    };
    // A buffer of numbers, and the decorations of it.
    let buffer = |m: &mut Module, decorations: &mut Vec<u32>, part: u32, bytes: u32, number: u32| {
        let runtime = m.declare_type(Op::TypeRuntimeArray, &[part]);
        let key = vec![Op::TypeStruct as u32, runtime];
        let known = m.known.contains_key(&key);
        let block = m.declare_type(Op::TypeStruct, &[runtime]);
        if !known {
            put(decorations, Op::Decorate, &[runtime, spirv::Decoration::ArrayStride as u32, bytes]);
            put(decorations, Op::Decorate, &[block, spirv::Decoration::Block as u32]);
            put(decorations, Op::MemberDecorate, &[block, 0, spirv::Decoration::Offset as u32, 0]);
        }
        let pointer = m.pointer(storage, block);
        let id = global(m, pointer, storage);
        put(decorations, Op::Decorate, &[id, spirv::Decoration::DescriptorSet as u32, 0]);
        put(decorations, Op::Decorate, &[id, spirv::Decoration::Binding as u32, number]);
        put(decorations, Op::Decorate, &[id, spirv::Decoration::Aliased as u32]);
        id
    };
    let mut buffers = [0; 2];
    if !kernel {
        buffers = [0, 1].map(|n| buffer(&mut m, &mut decorations, long, 8, n));
    }
    let input_pointer = m.pointer(spirv::StorageClass::Input, word);
    m.thread = global(&mut m, input_pointer, spirv::StorageClass::Input);
    let built_in = spirv::BuiltIn::LocalInvocationIndex as u32;
    put(&mut decorations, Op::Decorate, &[m.thread, spirv::Decoration::BuiltIn as u32, built_in]);
    let shared = |m: &mut Module, len: usize| {
        let len = m.word(len as u32);
        let array = m.declare_type(Op::TypeArray, &[word, len]);
        let pointer = m.pointer(spirv::StorageClass::Workgroup, array);
        global(m, pointer, spirv::StorageClass::Workgroup)
    };
    m.totals = match m.setting {
        Setting::Buffer => buffer(&mut m, &mut decorations, word, 4, 1),
        _ => shared(&mut m, TOTALS),
    };
    // The entry point.
    let shared_pointer = m.pointer(spirv::StorageClass::Workgroup, word);
    let mut signature = vec![void];
    if kernel {
        signature.extend([long_pointer, long_pointer, shared_pointer]);
    } else {
        m.exchange = shared(&mut m, THREADS);
    }
    let main_function = m.declare_type(Op::TypeFunction, &signature);
    put(&mut m.code, Op::Function, &[void, main, 0, main_function]);
    if kernel {
        buffers = [(); 2].map(|()| m.emit(Op::FunctionParameter, long_pointer, &[]));
        m.exchange = m.emit(Op::FunctionParameter, shared_pointer, &[]);
    }
    let entry = m.id();
    m.label(entry);
    m.variables(&program.functions[0], Vec::new());
    m.for_totals(|m, _, p| {
        let zero = m.word(0);
        m.act(Op::Store, &[p, zero]);
    });
    m.barrier();
    let own = m.emit(Op::Load, word, &[m.thread]);
    let element = |m: &mut Module, buffer: u32, n: u32| {
        if kernel {
            return m.emit(Op::InBoundsPtrAccessChain, long_pointer, &[buffer, n]);
        }
        let zero = m.word(0);
        m.emit(Op::AccessChain, long_pointer, &[buffer, zero, n])
    };
    let count = m.word(INPUTS as u32);
    let first = m.emit(Op::IMul, word, &[own, count]);
    for n in 0..INPUTS {
        let at = m.word(n as u32);
        let at = m.emit(Op::IAdd, word, &[first, at]);
        let p = element(&mut m, buffers[0], at);
        let x = m.emit(Op::Load, long, &[p]);
        let index = Some(Box::new(Expr::Constant(Ty::Int(32), n as u64)));
        m.store(&Place { variable: 0, member: None, index, ty: Ty::Int(64) }, x);
    }
    m.run(&program.functions[0].body);
    let count = m.word(OUTPUTS as u32);
    let first = m.emit(Op::IMul, word, &[own, count]);
    for (n, e) in program.outputs.iter().enumerate() {
        let x = m.expr(e);
        let at = m.word(n as u32);
        let at = m.emit(Op::IAdd, word, &[first, at]);
        let p = element(&mut m, buffers[1], at);
        m.act(Op::Store, &[p, x]);
    }
    m.barrier();
    if m.setting != Setting::Buffer {
        m.for_totals(|m, own, p| {
            let x = m.emit(Op::Load, word, &[p]);
            let x = m.emit(Op::UConvert, long, &[x]);
            let behind = m.word((THREADS * OUTPUTS) as u32);
            let at = m.emit(Op::IAdd, word, &[own, behind]);
            let p = element(m, buffers[1], at);
            m.act(Op::Store, &[p, x]);
        });
    }
    m.act(Op::Return, &[]);
    m.act(Op::FunctionEnd, &[]);
    for (n, f) in program.functions.iter().enumerate().skip(1) {
        let array = Holds::Array(64);
        let held = m.holds(&array);
        let class = m.passed_class();
        let pointer = m.pointer(class, held);
        let mut signature = vec![word, pointer];
        for &p in &f.parameters {
            let p = m.ty(p);
            signature.push(p);
        }
        let ty = m.declare_type(Op::TypeFunction, &signature);
        let id = m.functions[n];
        put(&mut m.code, Op::Function, &[word, id, 0, ty]);
        let given = m.emit(Op::FunctionParameter, pointer, &[]);
        m.parameters = signature[2..].iter().map(|&p| m.emit(Op::FunctionParameter, p, &[])).collect();
        let entry = m.id();
        m.label(entry);
        m.variables(f, vec![Variable { id: given, holds: array, class }]);
        m.run(&f.body);
        if let Some(e) = &f.result {
            let x = m.expr(e);
            m.act(Op::ReturnValue, &[x]);
        }
        m.act(Op::FunctionEnd, &[]);
    }
    // All in its order.
    let mut all = vec![spirv::MAGIC_NUMBER, 0x0001_0300, 0, m.next + 1, 0];
    use spirv::Capability as C;
    for c in [
        C::Shader,
        C::Int8,
        C::Int16,
        C::Int64,
        C::Float64,
        C::GroupNonUniform,
        C::GroupNonUniformArithmetic,
        C::GroupNonUniformBallot,
        C::GroupNonUniformShuffle,
    ] {
        put(&mut all, Op::Capability, &[c as u32]);
    }
    if kernel {
        for c in [C::Kernel, C::Addresses, C::GenericPointer] {
            put(&mut all, Op::Capability, &[c as u32]);
        }
    }
    let mut import = vec![m.glsl];
    import.extend(text("GLSL.std.450"));
    put(&mut all, Op::ExtInstImport, &import);
    use spirv::{AddressingModel, ExecutionModel, MemoryModel};
    let (addressing, memory, model) = if kernel {
        (AddressingModel::Physical64, MemoryModel::OpenCL, ExecutionModel::Kernel)
    } else {
        (AddressingModel::Logical, MemoryModel::GLSL450, ExecutionModel::GLCompute)
    };
    put(&mut all, Op::MemoryModel, &[addressing as u32, memory as u32]);
    let mut point = vec![model as u32, main];
    point.extend(text("main"));
    point.push(m.thread);
    put(&mut all, Op::EntryPoint, &point);
    put(&mut all, Op::ExecutionMode, &[main, spirv::ExecutionMode::LocalSize as u32, THREADS as u32, 1, 1]);
    all.extend(decorations);
    all.extend(m.declared);
    all.extend(m.code);
    all
}
