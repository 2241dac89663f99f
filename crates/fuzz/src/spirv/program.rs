//! A program as a tree, and what it computes: the block's threads go through the body of the entry point together, so that it may
//! hold what they do with each other.

/// Threads of the one block: two subgroups.
pub(super) const THREADS: usize = 64;
/// Threads of a subgroup.
pub(super) const LANES: usize = 32;
/// Words of 64 bits that each thread reads, and those that it leaves.
pub(super) const INPUTS: usize = 6;
pub(super) const OUTPUTS: usize = 6;
/// Sums, minima and the like that all threads add to; words of 32 bits in shared memory.
pub(super) const TOTALS: usize = 6;
/// Elements of each array: a power of two.
pub(super) const ELEMENTS: usize = 8;
/// Expressions that a thread may compute.
const STEPS: u32 = 100_000;

/// The type of a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Ty {
    Bool,
    /// Bits.
    Int(u32),
    /// Components of 32 bits.
    Vec(u32),
}

impl Ty {
    fn cells(self) -> usize {
        match self {
            Ty::Vec(n) => n as usize,
            _ => 1,
        }
    }

    /// Bits of a component.
    pub(super) fn bits(self) -> u32 {
        match self {
            Ty::Bool => 1,
            Ty::Int(bits) => bits,
            Ty::Vec(_) => 32,
        }
    }
}

/// The type of a variable, or of a member of its structure.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Holds {
    Value(Ty),
    /// So many bits each.
    Array(u32),
    Struct(Vec<Holds>),
}

impl Holds {
    pub(super) fn cells(&self) -> usize {
        match self {
            Holds::Value(ty) => ty.cells(),
            Holds::Array(_) => ELEMENTS,
            Holds::Struct(members) => members.iter().map(Holds::cells).sum(),
        }
    }
}

/// A part of a variable.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) variable: usize,
    pub(super) member: Option<usize>,
    /// Of an array, modulo its size; of a vector, a constant.
    pub(super) index: Option<Box<Expr>>,
    pub(super) ty: Ty,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Binary {
    Add,
    Sub,
    Mul,
    And,
    Or,
    Xor,
    /// By amounts modulo the width.
    Shl,
    Shr,
    Sar,
    /// By divisors that are made odd, and positive where there is a sign.
    UDiv,
    UMod,
    SDiv,
    SRem,
    SMod,
    UMin,
    UMax,
    SMin,
    SMax,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unary {
    Not,
    Negate,
    Abs,
    Reverse,
    Count,
    FindLsb,
    FindUMsb,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Compare {
    Eq,
    Ne,
    Ult,
    Ule,
    Slt,
    Sge,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Float {
    Add,
    Sub,
    Mul,
}

#[derive(Clone)]
pub(super) enum Expr {
    Constant(Ty, u64),
    Thread,
    /// A parameter of the function.
    Parameter(usize, Ty),
    Load(Place),
    Binary(Binary, Box<Expr>, Box<Expr>),
    Unary(Unary, Box<Expr>),
    Compare(Compare, Box<Expr>, Box<Expr>),
    /// Of booleans.
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Differ(Box<Expr>, Box<Expr>),
    Inverse(Box<Expr>),
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
    /// To so many bits; with the sign.
    Convert(Box<Expr>, u32, bool),
    /// A component; of a number that is computed, modulo the size.
    Extract(Box<Expr>, usize),
    ExtractAt(Box<Expr>, Box<Expr>),
    Construct(Vec<Expr>),
    Insert(Box<Expr>, usize, Box<Expr>),
    Shuffle(Box<Expr>, Box<Expr>, Vec<usize>),
    /// Bits of a field, from a bit on, so many; with the sign.
    Field(Box<Expr>, u32, u32, bool),
    /// The upper half of a product.
    High(Box<Expr>, Box<Expr>, bool),
    /// The carry of a sum.
    Carry(Box<Expr>, Box<Expr>),
    /// The bits of a float of 32 or 64 bits, computed of integers of 32.
    Float(Float, Box<Expr>, Box<Expr>, u32),
}

impl Expr {
    pub(super) fn ty(&self) -> Ty {
        match self {
            Expr::Constant(ty, _) | Expr::Parameter(_, ty) => *ty,
            Expr::Thread | Expr::Field(..) | Expr::High(..) | Expr::Carry(..) => Ty::Int(32),
            Expr::Load(place) => place.ty,
            Expr::Binary(_, a, _) | Expr::Unary(_, a) | Expr::Insert(a, ..) => a.ty(),
            Expr::Compare(..) | Expr::And(..) | Expr::Or(..) | Expr::Differ(..) | Expr::Inverse(_) => {
                Ty::Bool
            }
            Expr::Select(_, a, _) => a.ty(),
            Expr::Convert(_, bits, _) | Expr::Float(_, _, _, bits) => Ty::Int(*bits),
            Expr::Extract(..) | Expr::ExtractAt(..) => Ty::Int(32),
            Expr::Construct(parts) => Ty::Vec(parts.len() as u32),
            Expr::Shuffle(_, _, which) => Ty::Vec(which.len() as u32),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Group {
    Add,
    InclusiveAdd,
    ExclusiveAdd,
    UMax,
    SMin,
    Xor,
    /// The value of the lane whose number is the second operand, modulo the size.
    Shuffle,
    /// Of the lane whose number differs in the bits of a constant.
    ShuffleXor,
    /// The ballot's first word.
    Ballot,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Total {
    Add,
    And,
    Or,
    Xor,
    UMax,
    SMin,
}

pub(super) const TOTAL: [Total; TOTALS] =
    [Total::Add, Total::And, Total::Or, Total::Xor, Total::UMax, Total::SMin];

#[derive(Clone)]
pub(super) enum Stmt {
    Store(Place, Expr),
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// A number, the cases with whether they fall into the next, and the default, which is the last.
    Switch(Expr, Vec<(u32, Vec<Stmt>, bool)>, Vec<Stmt>),
    /// So many rounds, which a variable counts.
    Loop {
        rounds: Expr,
        counter: usize,
        body: Vec<Stmt>,
    },
    /// Of the innermost loop, where a condition holds.
    Break(Expr),
    Continue(Expr),
    /// Of a function that is not the entry point, where a condition holds.
    Return(Expr, Expr),
    Call {
        function: usize,
        args: Vec<Expr>,
        array: usize,
        to: Place,
    },
    /// Adds to one of the totals.
    Atomic(usize, Expr),
    // ---- what only the body of the entry point has
    Group {
        what: Group,
        value: Expr,
        other: Expr,
        to: Place,
    },
    /// Each thread stores a value to shared memory, and reads that of another.
    Exchange {
        value: Expr,
        other: Expr,
        to: Place,
    },
}

/// A function: what it is given by value, an array that it is given by pointer (its first variable), its variables, and what it gives.
#[derive(Clone, Default)]
pub(super) struct Function {
    pub(super) parameters: Vec<Ty>,
    pub(super) variables: Vec<Holds>,
    pub(super) body: Vec<Stmt>,
    pub(super) result: Option<Expr>,
}

/// What the totals lie in, and how a program reaches its memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Setting {
    /// A shader with totals in shared memory.
    #[default]
    Shared,
    /// A shader with totals in its storage buffer.
    Buffer,
    /// A kernel: addresses, generic pointers, a pointer to local memory as argument; totals in shared memory.
    Kernel,
}

/// The first function is the entry point; each calls only those behind it.
#[derive(Clone, Default)]
pub(super) struct Program {
    pub(super) setting: Setting,
    pub(super) functions: Vec<Function>,
    pub(super) outputs: Vec<Expr>,
}

/// How a statement ends.
#[derive(Clone, PartialEq)]
enum End {
    Next,
    Break,
    Continue,
    Return(u64),
}

/// The variables of a call, and its parameters.
#[derive(Clone, Default)]
struct Frame {
    cells: Vec<Vec<u64>>,
    parameters: Vec<Vec<u64>>,
}

struct Thread<'a> {
    program: &'a Program,
    number: u64,
    totals: &'a mut [u32; TOTALS],
    steps: u32,
}

fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

fn signed(x: u64, bits: u32) -> i64 {
    let by = 64 - bits;
    ((x << by) as i64) >> by
}

/// The bits of a product or sum of two integers as floats.
fn float(op: Float, a: u64, b: u64, bits: u32) -> u64 {
    if bits == 64 {
        let (a, b) = (a as f64, b as f64);
        let r = match op {
            Float::Add => a + b,
            Float::Sub => a - b,
            Float::Mul => a * b,
        };
        return r.to_bits();
    }
    let (a, b) = (a as f32, b as f32);
    let r = match op {
        Float::Add => a + b,
        Float::Sub => a - b,
        Float::Mul => a * b,
    };
    r.to_bits().into()
}

fn binary(op: Binary, a: u64, b: u64, bits: u32) -> u64 {
    let (sa, sb) = (signed(a, bits), signed(b, bits));
    let amount = (b & u64::from(bits - 1)) as u32;
    let divisor = b | 1;
    // Odd, without its sign.
    let positive = signed((b & (mask(bits) >> 1)) | 1, bits);
    let r = match op {
        Binary::Add => a.wrapping_add(b),
        Binary::Sub => a.wrapping_sub(b),
        Binary::Mul => a.wrapping_mul(b),
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        Binary::Shl => a << amount,
        Binary::Shr => a >> amount,
        Binary::Sar => (sa >> amount) as u64,
        Binary::UDiv => a / divisor,
        Binary::UMod => a % divisor,
        Binary::SDiv => (sa / positive) as u64,
        Binary::SRem => (sa % positive) as u64,
        Binary::SMod => sa.rem_euclid(positive) as u64,
        Binary::UMin => a.min(b),
        Binary::UMax => a.max(b),
        Binary::SMin => sa.min(sb) as u64,
        Binary::SMax => sa.max(sb) as u64,
    };
    r & mask(bits)
}

fn unary(op: Unary, a: u64, bits: u32) -> u64 {
    let r = match op {
        Unary::Not => !a,
        Unary::Negate => a.wrapping_neg(),
        Unary::Abs => signed(a, bits).unsigned_abs(),
        Unary::Reverse => (a as u32).reverse_bits().into(),
        Unary::Count => a.count_ones().into(),
        Unary::FindLsb => {
            if a == 0 {
                u64::MAX
            } else {
                a.trailing_zeros().into()
            }
        }
        Unary::FindUMsb => {
            if a == 0 {
                u64::MAX
            } else {
                (63 - a.leading_zeros()).into()
            }
        }
    };
    r & mask(bits)
}

impl Thread<'_> {
    fn one(&mut self, e: &Expr, f: &mut Frame) -> Option<u64> {
        self.expr(e, f)?.first().copied()
    }

    /// The value's components; none if it takes too long.
    fn expr(&mut self, e: &Expr, f: &mut Frame) -> Option<Vec<u64>> {
        self.steps += 1;
        if self.steps > STEPS {
            return None;
        }
        let bits = e.ty().bits();
        Some(match e {
            Expr::Constant(ty, x) => vec![*x & mask(ty.bits()); ty.cells()],
            Expr::Thread => vec![self.number],
            Expr::Parameter(n, _) => f.parameters[*n].clone(),
            Expr::Load(place) => {
                let (variable, at) = self.place(place, f)?;
                f.cells[variable][at..at + place.ty.cells()].to_vec()
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.expr(a, f)?, self.expr(b, f)?);
                a.iter().zip(&b).map(|(&a, &b)| binary(*op, a, b, bits)).collect()
            }
            Expr::Unary(op, a) => self.expr(a, f)?.iter().map(|&a| unary(*op, a, bits)).collect(),
            Expr::Compare(op, a, b) => {
                let width = a.ty().bits();
                let (a, b) = (self.one(a, f)?, self.one(b, f)?);
                let (sa, sb) = (signed(a, width), signed(b, width));
                vec![u64::from(match op {
                    Compare::Eq => a == b,
                    Compare::Ne => a != b,
                    Compare::Ult => a < b,
                    Compare::Ule => a <= b,
                    Compare::Slt => sa < sb,
                    Compare::Sge => sa >= sb,
                })]
            }
            Expr::And(a, b) => vec![self.one(a, f)? & self.one(b, f)?],
            Expr::Or(a, b) => vec![self.one(a, f)? | self.one(b, f)?],
            Expr::Differ(a, b) => vec![self.one(a, f)? ^ self.one(b, f)?],
            Expr::Inverse(a) => vec![self.one(a, f)? ^ 1],
            Expr::Select(c, a, b) => {
                let c = self.one(c, f)?;
                let (a, b) = (self.expr(a, f)?, self.expr(b, f)?);
                if c != 0 { a } else { b }
            }
            Expr::Convert(a, to, sign) => {
                let from = a.ty().bits();
                let a = self.one(a, f)?;
                vec![if *sign { signed(a, from) as u64 } else { a } & mask(*to)]
            }
            Expr::Extract(a, n) => vec![self.expr(a, f)?[*n]],
            Expr::ExtractAt(a, n) => {
                let a = self.expr(a, f)?;
                let n = self.one(n, f)? as usize;
                // The module takes it modulo 2, which each vector has.
                vec![a[n & 1]]
            }
            Expr::Construct(parts) => parts.iter().map(|p| self.one(p, f)).collect::<Option<_>>()?,
            Expr::Insert(a, n, x) => {
                let mut a = self.expr(a, f)?;
                a[*n] = self.one(x, f)?;
                a
            }
            Expr::Shuffle(a, b, which) => {
                let mut all = self.expr(a, f)?;
                all.extend(self.expr(b, f)?);
                which.iter().map(|&n| all[n]).collect()
            }
            Expr::Field(a, from, count, sign) => {
                let a = self.one(a, f)? >> from & mask(*count);
                vec![if *sign { signed(a, *count) as u64 & mask(32) } else { a }]
            }
            Expr::High(a, b, sign) => {
                let (a, b) = (self.one(a, f)?, self.one(b, f)?);
                let p = if *sign { (signed(a, 32) * signed(b, 32)) as u64 } else { a * b };
                vec![p >> 32]
            }
            Expr::Carry(a, b) => vec![(self.one(a, f)? + self.one(b, f)?) >> 32],
            Expr::Float(op, a, b, width) => {
                let (a, b) = (self.one(a, f)?, self.one(b, f)?);
                vec![float(*op, a, b, *width)]
            }
        })
    }

    /// A variable, and the first of its cells.
    fn place(&mut self, p: &Place, f: &mut Frame) -> Option<(usize, usize)> {
        let index = match &p.index {
            Some(index) => self.one(index, f)? as usize & (ELEMENTS - 1),
            None => 0,
        };
        Some((p.variable, index + p.member.unwrap_or(0)))
    }

    fn store(&mut self, p: &Place, value: &[u64], f: &mut Frame) -> Option<()> {
        let (variable, at) = self.place(p, f)?;
        f.cells[variable][at..at + value.len()].copy_from_slice(value);
        Some(())
    }

    fn run(&mut self, code: &[Stmt], f: &mut Frame) -> Option<End> {
        for s in code {
            match self.step(s, f)? {
                End::Next => {}
                end => return Some(end),
            }
        }
        Some(End::Next)
    }

    fn step(&mut self, s: &Stmt, f: &mut Frame) -> Option<End> {
        match s {
            Stmt::Store(place, e) => {
                let value = self.expr(e, f)?;
                self.store(place, &value, f)?;
            }
            Stmt::If(c, then, els) => {
                let taken = self.one(c, f)? != 0;
                return self.run(if taken { then } else { els }, f);
            }
            Stmt::Switch(e, cases, default) => {
                let x = self.one(e, f)?;
                let mut at = cases.iter().position(|c| u64::from(c.0) == x).unwrap_or(cases.len());
                loop {
                    let Some((_, body, falls)) = cases.get(at) else { return self.run(default, f) };
                    match self.run(body, f)? {
                        End::Next if *falls => at += 1,
                        end => return Some(end),
                    }
                }
            }
            Stmt::Loop { rounds, counter, body } => {
                let rounds = self.one(rounds, f)? & 7;
                f.cells[*counter][0] = 0;
                while f.cells[*counter][0] < rounds {
                    match self.run(body, f)? {
                        End::Break => break,
                        End::Return(x) => return Some(End::Return(x)),
                        End::Next | End::Continue => {}
                    }
                    f.cells[*counter][0] += 1;
                }
            }
            Stmt::Break(c) => {
                if self.one(c, f)? != 0 {
                    return Some(End::Break);
                }
            }
            Stmt::Continue(c) => {
                if self.one(c, f)? != 0 {
                    return Some(End::Continue);
                }
            }
            Stmt::Return(c, value) => {
                if self.one(c, f)? != 0 {
                    return Some(End::Return(self.one(value, f)?));
                }
            }
            Stmt::Call { function, args, array, to } => {
                let callee = &self.program.functions[*function];
                let mut own = callee.frame();
                own.parameters = args.iter().map(|a| self.expr(a, f)).collect::<Option<_>>()?;
                own.cells[0].clone_from(&f.cells[*array]);
                let end = self.run(&callee.body, &mut own)?;
                let result = match (end, &callee.result) {
                    (End::Return(x), _) => x,
                    (_, Some(e)) => self.one(e, &mut own)?,
                    (_, None) => 0,
                };
                f.cells[*array].clone_from(&own.cells[0]);
                self.store(to, &[result], f)?;
            }
            Stmt::Atomic(n, e) => {
                let x = self.one(e, f)? as u32;
                let t = &mut self.totals[*n];
                *t = match TOTAL[*n] {
                    Total::Add => t.wrapping_add(x),
                    Total::And => *t & x,
                    Total::Or => *t | x,
                    Total::Xor => *t ^ x,
                    Total::UMax => (*t).max(x),
                    Total::SMin => (*t as i32).min(x as i32) as u32,
                };
            }
            Stmt::Group { .. } | Stmt::Exchange { .. } => {}
        }
        Some(End::Next)
    }
}

/// What a group operation gives each lane of a subgroup.
fn group(what: Group, values: &[u64], others: &[u64]) -> Vec<u64> {
    let fold = |of: fn(u64, u64) -> u64| {
        let all = values.iter().copied().reduce(of).unwrap_or(0);
        vec![all; values.len()]
    };
    let add = |a: u64, b: u64| (a + b) & mask(32);
    match what {
        Group::Add => fold(add),
        Group::UMax => fold(u64::max),
        Group::SMin => fold(|a, b| if signed(a, 32) < signed(b, 32) { a } else { b }),
        Group::Xor => fold(|a, b| a ^ b),
        Group::InclusiveAdd | Group::ExclusiveAdd => {
            let mut sum = 0;
            let scan = values.iter().map(|&x| {
                let before = sum;
                sum = add(sum, x);
                if what == Group::InclusiveAdd { sum } else { before }
            });
            scan.collect()
        }
        Group::Shuffle => others.iter().map(|&n| values[n as usize % LANES]).collect(),
        Group::ShuffleXor => {
            // A constant: the same in all lanes.
            (0..values.len()).map(|n| values[n ^ (others[n] as usize % LANES)]).collect()
        }
        Group::Ballot => {
            let bits = values.iter().enumerate().map(|(n, &x)| (x & 1) << n);
            vec![bits.sum(); values.len()]
        }
    }
}

impl Function {
    fn frame(&self) -> Frame {
        Frame { cells: self.variables.iter().map(|v| vec![0; v.cells()]).collect(), parameters: Vec::new() }
    }
}

impl Program {
    /// What all threads leave, and the totals behind; none if it takes too long. The first variable of the entry point is an array
    /// of 64 bits, which begins with the inputs.
    pub(super) fn evaluate(&self, inputs: &[u64]) -> Option<Vec<u64>> {
        let main = &self.functions[0];
        let mut totals = [0; TOTALS];
        let mut steps = 0;
        let mut frames: Vec<Frame> = (0..THREADS).map(|_| main.frame()).collect();
        for (frame, own) in frames.iter_mut().zip(inputs.chunks_exact(INPUTS)) {
            frame.cells[0][..INPUTS].copy_from_slice(own);
        }
        for s in &main.body {
            let mut each =
                |frames: &mut Vec<Frame>, act: &mut dyn FnMut(&mut Thread<'_>, &mut Frame) -> Option<u64>| {
                    let mut results = Vec::new();
                    for (n, frame) in frames.iter_mut().enumerate() {
                        let number = n as u64;
                        let mut t = Thread { program: self, number, totals: &mut totals, steps };
                        results.push(act(&mut t, frame)?);
                        steps = t.steps;
                    }
                    steps = 0;
                    Some(results)
                };
            let (results, to) = match s {
                Stmt::Group { what, value, other, to } => {
                    let values = each(&mut frames, &mut |t, f| t.one(value, f))?;
                    let others = each(&mut frames, &mut |t, f| t.one(other, f))?;
                    let groups = values.chunks_exact(LANES).zip(others.chunks_exact(LANES));
                    (groups.flat_map(|(v, o)| group(*what, v, o)).collect::<Vec<_>>(), to)
                }
                Stmt::Exchange { value, other, to } => {
                    let values = each(&mut frames, &mut |t, f| t.one(value, f))?;
                    let others = each(&mut frames, &mut |t, f| t.one(other, f))?;
                    (others.iter().map(|&n| values[n as usize % THREADS]).collect(), to)
                }
                s => {
                    each(&mut frames, &mut |t, f| t.step(s, f).map(|_| 0))?;
                    continue;
                }
            };
            each(&mut frames, &mut |t, f| {
                let value = results[t.number as usize];
                t.store(to, &[value], f)?;
                Some(0)
            })?;
        }
        let mut left = Vec::new();
        for (n, frame) in frames.iter_mut().enumerate() {
            let mut t = Thread { program: self, number: n as u64, totals: &mut totals, steps: 0 };
            for e in &self.outputs {
                left.push(t.one(e, frame)?);
            }
        }
        left.extend(totals.iter().map(|&t| u64::from(t)));
        Some(left)
    }
}
