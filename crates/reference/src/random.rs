//! Random programs for tests and fuzzing: many values alive at once, tuples, predicates, carry chains, branches,
//! nested loops, calls.
//!
//! Programs are in phase Legal, or by [`front_program`] in the first one with every pure operation of the table that the
//! evaluator knows, in every form that its row allows. They end after few steps, and store everything they compute, so that
//! [`super::eval::run`] shows any difference. [`Choose`] is where decisions come from: a seeded generator
//! ([`Random`]) for many programs, or the bytes of a fuzzer.

use nvir::ir::build::Builder;
use nvir::ir::op::{Detail, Reads, Results, Types};
use nvir::ir::*;
use nvir::opt::fold;
use nvir::random::Random;

/// A source of decisions.
pub trait Choose {
    /// A number below `n`, which is not 0.
    fn below(&mut self, n: u32) -> u32;

    /// Whether something with the odds 1 in `n` happens.
    fn one_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }
}

impl Choose for Random {
    fn below(&mut self, n: u32) -> u32 {
        Random::below(self, n)
    }
}

/// How large programs get.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Statements of the kernel, about.
    pub statements: u32,
    /// Values that live from the beginning of a function to its end, at most.
    pub long_lived: u32,
    /// Functions besides the kernel, at most.
    pub functions: u32,
}

impl Size {
    /// What a hundred instructions hold.
    pub const SMALL: Size = Size { statements: 30, long_lived: 12, functions: 1 };
    /// What needs more registers than there are.
    pub const LARGE: Size = Size { statements: 120, long_lived: 300, functions: 3 };
}

/// A random program in phase Legal.
pub fn program(choose: &mut dyn Choose, size: Size) -> Program {
    make(choose, size, false)
}

/// A random program in the first phase.
pub fn front_program(choose: &mut dyn Choose, size: Size) -> Program {
    make(choose, size, true)
}

fn make(choose: &mut dyn Choose, size: Size, front: bool) -> Program {
    let mut p = Program::new(Function::new("none"));
    p.funcs.clear();
    let callees = choose.below(size.functions + 1);
    for n in 0..callees {
        let statements = 1 + choose.below(size.statements / 2 + 1);
        let long = choose.below(size.long_lived / 4 + 1);
        let f = function(choose, &p, format!("f{n}"), Kind { called: true, front }, statements, long);
        p.funcs.push(f);
    }
    let statements = 1 + choose.below(size.statements);
    let long = choose.below(size.long_lived + 1);
    let kernel = function(choose, &p, "main".into(), Kind { called: false, front }, statements, long);
    p.entry = p.funcs.push(kernel);
    p
}

/// What a function is made for.
#[derive(Clone, Copy)]
struct Kind {
    called: bool,
    front: bool,
}

struct Maker<'a> {
    choose: &'a mut dyn Choose,
    program: &'a Program,
    f: Function,
    at: BlockId,
    front: bool,
    gprs: Vec<ValueId>,
    preds: Vec<ValueId>,
    /// Values that are read as floats: no arbitrary bits, so that few are NaN.
    floats: Vec<ValueId>,
    /// The address of the output, as a pair.
    out: [ValueId; 2],
    /// Bytes of output written so far.
    stored: i32,
    depth: u32,
    budget: u32,
}

fn function(
    choose: &mut dyn Choose,
    program: &Program,
    name: String,
    Kind { called, front }: Kind,
    statements: u32,
    long: u32,
) -> Function {
    let mut f = Function::new(name);
    f.local_bytes = 64;
    let mut gprs = Vec::new();
    let mut preds = Vec::new();
    if called {
        for _ in 0..1 + choose.below(6) {
            gprs.push(f.add_param(Class::Gpr));
        }
        if choose.one_in(3) {
            preds.push(f.add_param(Class::Pred));
        }
    }
    let at = f.new_block();
    let mut b = Builder::new(&mut f, at);
    let word = |b: &mut Builder<'_>, offset| b.mov(Src::cbuf(0, offset));
    let out = [word(&mut b, 0), word(&mut b, 4)];
    let mut m = Maker {
        choose,
        program,
        f,
        at,
        front,
        gprs,
        preds,
        floats: Vec::new(),
        out,
        stored: 0,
        depth: 0,
        budget: statements,
    };
    m.long_lived(long.max(2));
    let (g, p) = (m.gprs.len(), m.preds.len());
    m.statements();
    let floats = std::mem::take(&mut m.floats);
    m.gprs.extend(floats);
    let (g, p) = if front { (m.gprs.len(), m.preds.len()) } else { (g, p) };
    m.store_all(g, p);
    let term = if called {
        m.f.results = Vec::new();
        let mut results = Vec::new();
        for _ in 0..m.choose.below(5) {
            results.push(m.gpr());
            m.f.results.push(Class::Gpr);
        }
        if m.choose.one_in(3) {
            results.push(m.pred());
            m.f.results.push(Class::Pred);
        }
        Term::Ret(results)
    } else {
        Term::Exit
    };
    m.f.blocks[m.at].term = term;
    m.f
}

impl Maker<'_> {
    fn b(&mut self) -> Builder<'_> {
        Builder::new(&mut self.f, self.at)
    }

    /// A value in scope: mostly a late one.
    fn gpr(&mut self) -> ValueId {
        let n = self.gprs.len() as u32;
        let k =
            if self.choose.one_in(2) { n - 1 - self.choose.below(n.min(6)) } else { self.choose.below(n) };
        self.gprs[k as usize]
    }

    fn pred(&mut self) -> ValueId {
        if self.preds.is_empty() {
            let (a, c) = (self.gpr(), self.condition());
            let v = self.b().setp(c, Type::U32, a, 77);
            self.preds.push(v);
        }
        let n = self.preds.len() as u32;
        self.preds[self.choose.below(n) as usize]
    }

    fn condition(&mut self) -> Cond {
        [Cond::Lt, Cond::Eq, Cond::Ne, Cond::Ge][self.choose.below(4) as usize]
    }

    fn long_lived(&mut self, n: u32) {
        for k in 0..n {
            let v = match self.choose.below(6) {
                0 => self.b().mov(k.wrapping_mul(0x01f3_5771)),
                1 => self.b().mov(Src::cbuf(0, 16 + 4 * (k as u16 % 64))),
                2 => self.b().sv([Sv::TidX, Sv::CtaidX, Sv::Laneid][k as usize % 3]),
                3 if self.gprs.len() > 1 => {
                    let mem = self.output(4096);
                    let quad = self.b().ld(Type::B128, mem);
                    self.gprs.extend(quad);
                    continue;
                }
                _ if !self.gprs.is_empty() => {
                    let (a, c) = (self.gpr(), self.gpr());
                    self.b().op3(Op::Mad, Type::U32, a, c, a)
                }
                _ => self.b().sv(Sv::TidY),
            };
            self.gprs.push(v);
        }
    }

    /// A place in the output at a fixed offset, by a 32-bit or a 64-bit base, for up to 16 bytes.
    fn output(&mut self, offset: i32) -> MemRef {
        let base = self.out;
        let base = if self.choose.one_in(2) { &base[..] } else { &base[..1] };
        MemRef::new(Space::Global).with_base(base).with_offset(offset).with_align(Align::multiple_of(16))
    }

    fn place(&mut self) -> MemRef {
        let slot = self.choose.below(16) as i32;
        if self.choose.one_in(4) {
            let offset = 16 * (slot % 4);
            return MemRef::new(Space::Local).with_offset(offset).with_align(Align::multiple_of(16));
        }
        self.output(4096 + 16 * slot)
    }

    /// Stores what was in scope at the beginning, and some of the rest.
    fn store_all(&mut self, gprs: usize, preds: usize) {
        let mut values: Vec<ValueId> = self.gprs[..gprs].to_vec();
        for k in 0..preds {
            let (p, a, b) = (self.preds[k], self.gpr(), self.gpr());
            values.push(self.b().sel(p, a, b));
        }
        while values.len() > 1 {
            let n = [1, 2, 4][self.choose.below(3) as usize].min(values.len());
            let n = if n == 3 { 2 } else { n };
            let data: Vec<ValueId> = values.drain(..n).collect();
            self.stored += 16;
            let mem = self.output(8192 + self.stored);
            self.b().st(Type::of_words(n).unwrap_or(Type::U32), mem, Src::tuple(&data));
        }
    }

    fn statements(&mut self) {
        while self.budget > 0 {
            self.budget -= 1;
            self.statement();
            if self.depth > 0 && self.choose.one_in(8) {
                return;
            }
        }
    }

    fn statement(&mut self) {
        match self.choose.below(26) {
            0..=5 => self.arithmetic(),
            6 | 7 => self.wide_load(),
            8 | 9 => self.wide_store(),
            10 => self.doubles(),
            11 => self.carry_chain(),
            12 | 13 => self.predicates(),
            14 => self.many_predicates(),
            15 => self.compare_and_swap(),
            16 | 17 if self.depth < 4 => self.branch(),
            18 | 19 if self.depth < 3 => self.repeat(),
            20 | 21 => self.call(),
            24 | 25 => self.parts(),
            _ => self.select(),
        }
    }

    /// An operation of the table, its operands and suffixes as its row allows.
    fn operation(&mut self) {
        for _ in 0..8 {
            let op = Op::ALL[self.choose.below(Op::ALL.len() as u32) as usize];
            if let Some(inst) = self.instance(op) {
                let ty = inst.ty;
                if ty == Type::Pred {
                    let d = self.b().value(inst);
                    self.preds.push(d);
                    return;
                }
                let d = self.b().values(inst);
                if ty == Type::F32 {
                    self.floats.extend(d)
                } else {
                    self.gprs.extend(d)
                }
                return;
            }
        }
    }

    fn one_of(&mut self, types: Types) -> Option<Type> {
        let known = Types::INT.union(Types::F32).union(Types::PRED);
        let types: Vec<Type> = types.iter().filter(|&t| known.has(t)).collect();
        let n = self.choose.below(types.len().max(1) as u32);
        types.get(n as usize).copied()
    }

    fn instance(&mut self, op: Op) -> Option<Inst> {
        let row = op.row();
        let plain = matches!(row.detail, Detail::None | Detail::Part | Detail::Wrap | Detail::Shift);
        // Funnel shifts are for GK110 alone.
        if !plain || row.results != Results::Value || !op.is_pure() || matches!(op, Op::ShfL | Op::ShfR) {
            return None;
        }
        let ty = self.one_of(row.types)?;
        let mut inst = Inst::new(op, ty);
        let from: Vec<Type> = row.source_types(ty).collect();
        inst.sty = from[self.choose.below(from.len() as u32) as usize];
        if !Types::INT.union(Types::F32).union(Types::PRED).has(inst.sty) {
            return None;
        }
        if row.is(op::row::COND) {
            let ordered = Cond::ALL.into_iter().filter(|c| inst.sty.is_float() || c.ordered() == *c);
            let conds: Vec<Cond> = match inst.sty {
                Type::Pred => vec![Cond::Eq, Cond::Ne],
                _ => ordered.collect(),
            };
            inst.cond = conds[self.choose.below(conds.len() as u32) as usize];
        }
        if row.is(op::row::FTZ) && [inst.ty, inst.sty].contains(&Type::F32) {
            inst.ftz = self.choose.one_in(3);
        }
        if row.is(op::row::RND) && (inst.ty.is_float() || inst.sty.is_float()) && self.choose.one_in(4) {
            inst.rnd = Rnd::ALL[self.choose.below(4) as usize];
        }
        inst.sat = row.sat.has(ty) && ty == Type::F32 && self.choose.one_in(6);
        inst.aux = match row.detail {
            Detail::Wrap if self.choose.one_in(3) => Aux::Wrap,
            Detail::Shift if self.choose.one_in(3) => Aux::Shift,
            Detail::Part if ty == Type::F32 && inst.sty == ty && self.choose.one_in(2) => Aux::Integral,
            _ => Aux::None,
        };
        for (n, what) in row.srcs.iter().enumerate() {
            if what.optional && (inst.sty == Type::Pred || self.choose.one_in(2)) {
                break;
            }
            let ty = inst.src_type(n);
            let mut s = self.any_source(ty);
            if what.reads == Reads::Word && self.choose.one_in(2) {
                // Shift amounts and fields within a word.
                s = Src::imm(self.choose.below(33) | self.choose.below(2) << 8 << self.choose.below(5));
            }
            if what.below > 0 {
                s = Src::imm(self.choose.below(what.below));
            }
            if matches!(op, Op::Div | Op::Mod) && n == 1 {
                let divisor = 1 + self.choose.below(1000);
                s = if ty.words() == 2 { Src::imm64(divisor.into()) } else { Src::imm(divisor) };
            }
            for set in [
                SrcMods { neg: true, abs: false, inv: false },
                SrcMods { neg: false, abs: true, inv: false },
                SrcMods { neg: false, abs: false, inv: true },
            ] {
                if what.below == 0 && what.takes(set, ty) && self.choose.one_in(6) {
                    s.mods = set;
                }
            }
            inst.srcs.push(s);
        }
        if row.is(op::row::LOGIC) && inst.srcs.len() > 2 {
            inst.logic = Logic::ALL[self.choose.below(3) as usize];
        }
        // Whether the evaluator knows it does not depend on the numbers.
        if [inst.ty, inst.sty].iter().any(|t| t.words() == 2) {
            let cvt = op == Op::Cvt && (inst.ty.is_float() || inst.sty.is_float());
            let known =
                !matches!(op, Op::Div | Op::Mod | Op::MulHi | Op::MadHi | Op::Popc | Op::Flo | Op::Brev);
            return (known && !cvt && op != Op::Slct && !(op == Op::Set && inst.srcs.len() > 2))
                .then_some(inst);
        }
        let mut numbers = inst.clone();
        numbers.srcs.iter_mut().for_each(|s| s.kind = SrcKind::Imm(1));
        fold::eval(&numbers).is_some().then_some(inst)
    }

    /// An operand that is read as some type.
    fn any_source(&mut self, ty: Type) -> Src {
        let constant = self.choose.one_in(4);
        match ty {
            Type::Pred if constant => Src::imm(self.choose.below(2)),
            Type::Pred => self.pred().into(),
            Type::F32 if constant || self.floats.is_empty() => {
                Src::f32([0.0, -0.0, 1.0, 2.0, 0.5, -1.0, 3.25, 1e-40][self.choose.below(8) as usize])
            }
            Type::F32 => self.floats[self.choose.below(self.floats.len() as u32) as usize].into(),
            _ if ty.words() == 2 && constant => Src::imm64(self.number() << self.choose.below(33)),
            _ if ty.words() == 2 => Src::tuple(&[self.gpr(), self.gpr()]),
            _ if constant && self.choose.one_in(3) => Src::cbuf(0, 16 + 4 * self.choose.below(64) as u16),
            _ if constant => Src::imm(self.number() as u32),
            _ => self.gpr().into(),
        }
    }

    /// A number that rules look for, or some other.
    fn number(&mut self) -> u64 {
        match self.choose.below(4) {
            0 => u64::from(self.choose.below(4)).wrapping_sub(1),
            1 => 1 << self.choose.below(32),
            2 => (1 << self.choose.below(33)) - 1,
            _ => self.choose.below(u32::MAX).into(),
        }
    }

    fn arithmetic(&mut self) {
        if self.front && !self.choose.one_in(4) {
            return self.operation();
        }
        let (a, b, c) = (self.gpr(), self.gpr(), self.gpr());
        let imm = self.choose.below(1000);
        let v = match self.choose.below(8) {
            0 => self.b().add(Type::U32, a, b),
            1 => self.b().op2(Op::Sub, Type::U32, a, b),
            2 => self.b().op2(Op::Xor, Type::U32, a, b),
            3 => self.b().op3(Op::Mad, Type::U32, a, b, c),
            4 => self.b().op3(Op::ShlAdd, Type::U32, a, imm % 32, c),
            5 => self.b().op2(Op::Shr, Type::U32, a, imm % 32),
            6 => self.b().add(Type::U32, a, imm),
            _ => self.b().mov(a),
        };
        self.gprs.push(v);
    }

    fn wide_load(&mut self) {
        let mem = self.place();
        let ty = [Type::U32, Type::U64, Type::B128][self.choose.below(3) as usize];
        let v = self.b().ld(ty, mem);
        self.gprs.extend(v);
    }

    fn wide_store(&mut self) {
        let mem = self.place();
        let n = [1, 2, 4, 4][self.choose.below(4) as usize];
        let data: Vec<ValueId> = (0..n).map(|_| self.gpr()).collect();
        let ty = Type::of_words(n).unwrap_or(Type::U32);
        self.b().st(ty, mem, Src::tuple(&data));
    }

    /// Loads and stores of one to sixteen bytes close to each other, mostly in private memory, at fixed places or not; what is loaded
    /// is stored to the output.
    fn parts(&mut self) {
        const TYPES: [Type; 7] = [Type::U8, Type::S8, Type::U16, Type::S16, Type::U32, Type::U64, Type::B128];
        let room = if self.choose.one_in(2) { 16 } else { 64 };
        for _ in 0..2 + self.choose.below(6) {
            let ty = TYPES[self.choose.below(7) as usize];
            let bytes = ty.bytes();
            let offset = (bytes * self.choose.below(room / bytes)) as i32;
            let mut mem = match self.choose.below(8) {
                0 => self.output(4096 + offset),
                1 => {
                    let v = self.gpr();
                    let base = self.b().op2(Op::And, Type::U32, v, (room - 1) & !(bytes - 1));
                    MemRef::new(Space::Local).with_base(&[base])
                }
                _ => MemRef::new(Space::Local).with_offset(offset),
            };
            mem = mem.with_align(Align::multiple_of(bytes));
            if self.choose.one_in(3) {
                mem.order = Order::Volatile;
            }
            if self.choose.one_in(2) {
                let v = self.b().ld(ty, mem);
                self.stored += 16;
                let to = self.output(8192 + self.stored);
                self.b().st(Type::of_words(v.len()).unwrap_or(Type::U32), to, Src::tuple(&v));
                self.gprs.extend(v);
            } else {
                let data: Vec<ValueId> = (0..ty.words()).map(|_| self.gpr()).collect();
                self.b().st(ty, mem, Src::tuple(&data));
            }
        }
    }

    fn doubles(&mut self) {
        let pair = |m: &mut Self| [m.gpr(), m.gpr()];
        let (a, b, c) = (pair(self), pair(self), pair(self));
        let inst = match self.choose.below(3) {
            0 => Inst::new(Op::Add, Type::F64).src(a).src(b),
            1 => Inst::new(Op::Mul, Type::F64).src(a).src(a),
            _ => Inst::new(Op::Mad, Type::F64).src(a).src(b).src(c),
        };
        let d = self.b().values(inst);
        self.gprs.extend(d);
    }

    /// A comparison of two words each.
    fn wide_comparison(&mut self) {
        let (x, y, z, w, p) = (self.gpr(), self.gpr(), self.gpr(), self.gpr(), self.pred());
        let (low, carry) = (self.f.new_value(Class::Gpr), self.f.new_value(Class::Carry));
        self.b().push(Inst::new(Op::Sub, Type::U32).src(x).src(y).dst(low).dst(carry));
        if !self.front && self.choose.one_in(2) {
            self.arithmetic();
        }
        let d = self.f.new_value(Class::Pred);
        let mut set = Inst::new(Op::Set, Type::Pred).src(z).src(w).src(p).src(carry).dst(d);
        set.cond = [Cond::Lt, Cond::Le, Cond::Gt, Cond::Ge][self.choose.below(4) as usize];
        set.sty = if self.choose.one_in(2) { Type::S32 } else { Type::U32 };
        set.logic = Logic::ALL[self.choose.below(3) as usize];
        self.b().push(set);
        self.preds.push(d);
    }

    /// A sum of several words; other instructions stand between the links.
    fn carry_chain(&mut self) {
        if self.choose.one_in(3) {
            return self.wide_comparison();
        }
        let words = 2 + self.choose.below(3);
        let mut carry = None;
        for k in 0..words {
            let (x, y) = (self.gpr(), self.gpr());
            let op = if k == 0 && self.choose.one_in(3) { Op::Sub } else { Op::Add };
            let mut inst = Inst::new(op, Type::U32).src(x).src(y);
            inst.srcs.extend(carry.map(Src::val));
            let d = self.f.new_value(Class::Gpr);
            inst.dsts.push(d);
            if k + 1 < words {
                let c = self.f.new_value(Class::Carry);
                inst.dsts.push(c);
                carry = Some(c);
            }
            self.b().push(inst);
            self.gprs.push(d);
            // In the first phase nothing may stand there that lowering expands.
            match self.choose.below(3) {
                0 if !self.front => self.arithmetic(),
                1 if !self.front => self.wide_store(),
                _ => self.predicates(),
            }
        }
    }

    fn predicates(&mut self) {
        let (a, b, cond) = (self.gpr(), self.gpr(), self.condition());
        let v = self.b().setp(cond, Type::U32, a, b);
        self.preds.push(v);
        if self.choose.one_in(2) {
            let p = self.pred();
            let op = [Op::And, Op::Or, Op::Xor][self.choose.below(3) as usize];
            let d = self.b().op2(op, Type::Pred, v, p);
            self.preds.push(d);
        }
    }

    fn many_predicates(&mut self) {
        let n = 4 + self.choose.below(12);
        let first = self.preds.len();
        (0..n).for_each(|_| self.predicates());
        let mut sum = self.gpr();
        for k in first..self.preds.len() {
            let (p, a) = (self.preds[k], self.gpr());
            sum = self.b().sel(p, sum, a);
        }
        self.gprs.push(sum);
        self.preds.truncate(first + 2);
    }

    fn select(&mut self) {
        let (p, a, b) = (self.pred(), self.gpr(), self.gpr());
        let v = self.b().sel(p, a, b);
        self.gprs.push(v);
    }

    fn compare_and_swap(&mut self) {
        let wide = self.choose.one_in(2);
        let slot = 16 * self.choose.below(16) as i32;
        let mem = self.output(4096 + slot);
        let data: Vec<ValueId> = (0..if wide { 4 } else { 2 }).map(|_| self.gpr()).collect();
        let (ty, n) = if wide { (Type::U64, 2) } else { (Type::U32, 1) };
        let v = self.b().atom(AtomOp::Cas, ty, mem, &[Src::tuple(&data[..n]), Src::tuple(&data[n..])]);
        self.gprs.extend(v);
    }

    fn end_with(&mut self, term: Term) {
        self.f.blocks[self.at].term = term;
    }

    /// Statements in a scope of their own, then `n` values of it.
    fn scope(&mut self, n: usize, pred: bool) -> Vec<ValueId> {
        let (g, p, floats) = (self.gprs.len(), self.preds.len(), self.floats.len());
        self.depth += 1;
        self.statements();
        self.depth -= 1;
        let mut values: Vec<ValueId> = (0..n).map(|_| self.gpr()).collect();
        if pred {
            values.push(self.pred());
        }
        // What is computed with floats is stored, and read as nothing else.
        for v in self.floats.split_off(floats) {
            self.stored += 16;
            let mem = self.output(8192 + self.stored);
            self.b().st(Type::U32, mem, Src::val(v));
        }
        self.gprs.truncate(g);
        self.preds.truncate(p);
        values
    }

    fn add_params(&mut self, b: BlockId, n: usize, pred: bool) {
        for _ in 0..n {
            let v = self.f.add_block_param(b, Class::Gpr);
            self.gprs.push(v);
        }
        if pred {
            let v = self.f.add_block_param(b, Class::Pred);
            self.preds.push(v);
        }
    }

    fn branch(&mut self) {
        let cond = self.pred();
        let not = self.choose.one_in(2);
        let n = self.choose.below(7) as usize;
        let pred = self.choose.one_in(3);
        let head = self.at;
        let then = self.f.new_block();
        self.at = then;
        let args = self.scope(n, pred);
        let then_end = self.at;
        let els = self.f.new_block();
        self.at = els;
        let other = self.scope(n, pred);
        let els_end = self.at;
        let join = self.f.new_block();
        self.f.blocks[head].term = Term::Branch { cond, not, then: Edge::to(then), els: Edge::to(els) };
        self.f.blocks[head].merge = Merge::If { join };
        self.f.blocks[then_end].term = Term::Jump(Edge { to: join, args });
        self.f.blocks[els_end].term = Term::Jump(Edge { to: join, args: other });
        self.at = join;
        self.add_params(join, n, pred);
    }

    /// A loop of few rounds that may be left early.
    fn repeat(&mut self) {
        let rounds = 1 + self.choose.below(3);
        let n = 1 + self.choose.below(5) as usize;
        let pred = self.choose.one_in(4);
        let zero = self.b().mov(0);
        let mut first: Vec<ValueId> = (0..n).map(|_| self.gpr()).collect();
        let first_pred = pred.then(|| self.pred());
        first.insert(0, zero);
        first.extend(first_pred);
        let pre = self.at;
        let head = self.f.new_block();
        self.f.blocks[pre].term = Term::Jump(Edge { to: head, args: first });
        let (g, p) = (self.gprs.len(), self.preds.len());
        let counter = self.f.add_block_param(head, Class::Gpr);
        self.add_params(head, n, pred);
        let test = self.f.new_block();
        let leave = self.f.new_block();
        let body = self.f.new_block();
        self.at = head;
        self.end_with(Term::Jump(Edge::to(test)));
        self.at = test;
        let more = self.b().setp(Cond::Lt, Type::U32, counter, rounds);
        self.f.blocks[self.at].merge = Merge::If { join: body };
        self.end_with(Term::Branch { cond: more, not: false, then: Edge::to(body), els: Edge::to(leave) });
        let results = self.gprs[g..g + n].to_vec();
        self.at = body;
        let mut breaks = None;
        if self.choose.one_in(2) {
            let stop = self.pred();
            let values: Vec<ValueId> = (0..n).map(|_| self.gpr()).collect();
            let (out, on) = (self.f.new_block(), self.f.new_block());
            let not = self.choose.one_in(2);
            self.f.blocks[self.at].merge = Merge::If { join: on };
            self.end_with(Term::Branch { cond: stop, not, then: Edge::to(out), els: Edge::to(on) });
            breaks = Some((out, values));
            self.at = on;
        }
        let mut next = self.scope(n, pred);
        let next_counter = self.b().add(Type::U32, counter, 1);
        next.insert(0, next_counter);
        let cont = self.f.new_block();
        self.end_with(Term::Jump(Edge::to(cont)));
        self.f.blocks[cont].term = Term::Jump(Edge { to: head, args: next });
        let exit = self.f.new_block();
        self.f.blocks[head].merge = Merge::Loop { exit, cont };
        self.f.blocks[leave].term = Term::Jump(Edge { to: exit, args: results });
        if let Some((out, values)) = breaks {
            self.f.blocks[out].term = Term::Jump(Edge { to: exit, args: values });
        }
        self.at = exit;
        self.gprs.truncate(g);
        self.preds.truncate(p);
        self.add_params(exit, n, false);
    }

    fn call(&mut self) {
        let n = self.program.funcs.len() as u32;
        if n == 0 || self.depth > 2 {
            return self.arithmetic();
        }
        let func = FuncId::from_u32(self.choose.below(n));
        let callee = &self.program.funcs[func];
        let classes: Vec<Class> = callee.params.iter().map(|&p| callee.class(p)).collect();
        let args = classes.iter().map(|&c| if c == Class::Pred { self.pred() } else { self.gpr() }).collect();
        let mut results = Vec::new();
        for &c in &callee.results {
            let v = self.f.new_value(c);
            if c == Class::Pred {
                self.preds.push(v)
            } else {
                self.gprs.push(v)
            }
            results.push(v);
        }
        let mut inst = Inst::new(Op::Call, Type::U32);
        inst.ext = Some(Box::new(Ext::Call(Call::new(func, args, results))));
        self.b().push(inst);
    }
}
