//! Random programs.

use super::program::*;
use nvir::random::Random;
use nvir_reference::softmath::operands::operand;

/// What is being made of a function.
struct Maker<'a> {
    r: &'a mut Random,
    function: Function,
    /// Which function it is, and how many there are.
    number: usize,
    signatures: &'a [Vec<Ty>],
    loops: u32,
    /// Statements that may still be made.
    left: u32,
}

const WIDTHS: [u32; 4] = [32, 64, 16, 8];

fn scalar(r: &mut Random) -> Ty {
    Ty::Int(if r.one_in(2) { 32 } else { r.pick(&WIDTHS) })
}

fn value_type(r: &mut Random) -> Ty {
    if r.one_in(4) { Ty::Vec(2 + r.below(3u32)) } else { scalar(r) }
}

pub(super) fn program(r: &mut Random) -> Program {
    let count = 1 + r.below(3usize);
    let signatures: Vec<Vec<Ty>> = (0..count)
        .map(|n| if n == 0 { Vec::new() } else { (0..r.below(3)).map(|_| value_type(r)).collect() })
        .collect();
    let setting = r.pick(&[Setting::Shared, Setting::Buffer, Setting::Kernel]);
    let mut program = Program { setting, ..Program::default() };
    for number in 0..count {
        let mut variables = vec![Holds::Array(64)];
        for _ in 0..3 + r.below(4) {
            variables.push(match r.below(6) {
                0 => Holds::Array(if r.one_in(2) { 32 } else { r.pick(&WIDTHS) }),
                1 => Holds::Struct(
                    (0..2 + r.below(3))
                        .map(|_| {
                            if r.one_in(4) {
                                Holds::Array(r.pick(&WIDTHS))
                            } else {
                                Holds::Value(value_type(r))
                            }
                        })
                        .collect(),
                ),
                _ => Holds::Value(value_type(r)),
            });
        }
        // One of each kind that a statement needs.
        variables.push(Holds::Value(Ty::Int(32)));
        let function = Function { parameters: signatures[number].clone(), variables, ..Function::default() };
        let left = if number == 0 { 14 } else { 8 };
        let mut m = Maker { r, function, number, signatures: &signatures, loops: 0, left };
        let body = m.block(0);
        let ends: Vec<Expr> = if number == 0 {
            (0..OUTPUTS)
                .map(|_| {
                    let ty = scalar(m.r);
                    let e = m.expr(ty, 2);
                    Expr::Convert(Box::new(e), 64, false)
                })
                .collect()
        } else {
            vec![m.expr(Ty::Int(32), 2)]
        };
        m.function.body = body;
        let mut function = m.function;
        if number == 0 {
            program.outputs = ends
                .into_iter()
                .map(|e| match e {
                    // A conversion to the same width is none.
                    Expr::Convert(e, 64, _) if e.ty() == Ty::Int(64) => *e,
                    e => e,
                })
                .collect();
        } else {
            function.result = ends.into_iter().next();
        }
        program.functions.push(function);
    }
    program
}

impl Maker<'_> {
    fn constant(&mut self, ty: Ty) -> Expr {
        Expr::Constant(ty, operand(self.r, 'i', ty.bits()))
    }

    /// A part of a variable that has a type.
    fn place(&mut self, ty: Ty, deep: u32) -> Option<Place> {
        let mut found = Vec::new();
        let fits = |h: &Holds| match h {
            Holds::Value(t) => *t == ty,
            Holds::Array(bits) => Ty::Int(*bits) == ty,
            Holds::Struct(_) => false,
        };
        for (n, h) in self.function.variables.iter().enumerate() {
            match h {
                Holds::Struct(members) => {
                    let mut at = 0;
                    for m in members {
                        if fits(m) {
                            found.push((n, Some(at), matches!(m, Holds::Array(_))));
                        }
                        at += m.cells();
                    }
                }
                h if fits(h) => found.push((n, None, matches!(h, Holds::Array(_)))),
                _ => {}
            }
        }
        if found.is_empty() {
            return None;
        }
        let (variable, member, array) = self.r.pick(&found);
        let index = array.then(|| {
            let n = if deep == 0 || self.r.one_in(2) {
                Expr::Constant(Ty::Int(32), self.r.below(ELEMENTS as u64))
            } else {
                self.expr(Ty::Int(32), deep - 1)
            };
            Box::new(n)
        });
        Some(Place { variable, member, index, ty })
    }

    fn boxed(&mut self, ty: Ty, deep: u32) -> Box<Expr> {
        Box::new(self.expr(ty, deep))
    }

    fn condition(&mut self, deep: u32) -> Expr {
        match self.r.below(if deep == 0 { 2 } else { 6 }) {
            2 => Expr::And(Box::new(self.condition(deep - 1)), Box::new(self.condition(deep - 1))),
            3 => Expr::Or(Box::new(self.condition(deep - 1)), Box::new(self.condition(deep - 1))),
            4 => Expr::Differ(Box::new(self.condition(deep - 1)), Box::new(self.condition(deep - 1))),
            5 => Expr::Inverse(Box::new(self.condition(deep - 1))),
            _ => {
                let ty = scalar(self.r);
                let op = self.r.pick(&[
                    Compare::Eq,
                    Compare::Ne,
                    Compare::Ult,
                    Compare::Ule,
                    Compare::Slt,
                    Compare::Sge,
                ]);
                let deep = deep.saturating_sub(1);
                Expr::Compare(op, self.boxed(ty, deep), self.boxed(ty, deep))
            }
        }
    }

    fn leaf(&mut self, ty: Ty) -> Expr {
        let own: Vec<usize> =
            (0..self.function.parameters.len()).filter(|&n| self.function.parameters[n] == ty).collect();
        if !own.is_empty() && self.r.one_in(2) {
            return Expr::Parameter(self.r.pick(&own), ty);
        }
        if ty == Ty::Int(32) && self.r.one_in(6) {
            return Expr::Thread;
        }
        if !self.r.one_in(5)
            && let Some(place) = self.place(ty, 1)
        {
            return Expr::Load(place);
        }
        self.constant(ty)
    }

    fn expr(&mut self, ty: Ty, deep: u32) -> Expr {
        if ty == Ty::Bool {
            return self.condition(deep);
        }
        if deep == 0 || self.r.one_in(6) {
            return self.leaf(ty);
        }
        let d = deep - 1;
        use Binary as B;
        match (self.r.below(12), ty) {
            (0, ty) => Expr::Select(Box::new(self.condition(d)), self.boxed(ty, d), self.boxed(ty, d)),
            (1, ty) => {
                let some = [
                    Unary::Not,
                    Unary::Negate,
                    Unary::Abs,
                    Unary::Reverse,
                    Unary::Count,
                    Unary::FindLsb,
                    Unary::FindUMsb,
                ];
                let count = if ty.bits() == 32 { some.len() } else { 2 };
                Expr::Unary(some[self.r.below(count)], self.boxed(ty, d))
            }
            (2 | 3, Ty::Int(bits)) => {
                let others: Vec<u32> = WIDTHS.into_iter().filter(|&w| w != bits).collect();
                let from = self.r.pick(&others);
                let sign = self.r.one_in(2);
                Expr::Convert(self.boxed(Ty::Int(from), d), bits, sign)
            }
            (2, Ty::Vec(n)) => Expr::Construct((0..n).map(|_| self.expr(Ty::Int(32), d)).collect()),
            (3, Ty::Vec(n)) => {
                let (a, b) = (2 + self.r.below(3u32), 2 + self.r.below(3u32));
                let which = (0..n).map(|_| self.r.below((a + b) as usize)).collect();
                Expr::Shuffle(self.boxed(Ty::Vec(a), d), self.boxed(Ty::Vec(b), d), which)
            }
            (4, Ty::Vec(n)) => {
                let at = self.r.below(n as usize);
                Expr::Insert(self.boxed(ty, d), at, self.boxed(Ty::Int(32), d))
            }
            (4, Ty::Int(32)) => {
                let n = 2 + self.r.below(3u32);
                if self.r.one_in(2) {
                    let at = self.r.below(n as usize);
                    Expr::Extract(self.boxed(Ty::Vec(n), d), at)
                } else {
                    Expr::ExtractAt(self.boxed(Ty::Vec(n), d), self.boxed(Ty::Int(32), d))
                }
            }
            (5, Ty::Int(32)) => {
                let from = self.r.below(31u32);
                let count = 1 + self.r.below(32 - from);
                let sign = self.r.one_in(2);
                Expr::Field(self.boxed(ty, d), from, count, sign)
            }
            (6, Ty::Int(32)) => {
                let (a, b) = (self.boxed(ty, d), self.boxed(ty, d));
                if self.r.one_in(3) { Expr::Carry(a, b) } else { Expr::High(a, b, self.r.one_in(2)) }
            }
            (7, Ty::Int(bits @ (32 | 64))) => {
                let op = self.r.pick(&[Float::Add, Float::Sub, Float::Mul]);
                Expr::Float(op, self.boxed(Ty::Int(32), d), self.boxed(Ty::Int(32), d), bits)
            }
            (_, ty) => {
                let all = [
                    B::Add,
                    B::Sub,
                    B::Mul,
                    B::And,
                    B::Or,
                    B::Xor,
                    B::Shl,
                    B::Shr,
                    B::Sar,
                    B::UDiv,
                    B::UMod,
                    B::SDiv,
                    B::SRem,
                    B::SMod,
                    B::UMin,
                    B::UMax,
                    B::SMin,
                    B::SMax,
                ];
                // The functions of GLSL.std.450 are of 32 bits.
                let count = if ty.bits() == 32 { all.len() } else { all.len() - 4 };
                Expr::Binary(all[self.r.below(count)], self.boxed(ty, d), self.boxed(ty, d))
            }
        }
    }

    /// Where a result of 32 bits goes.
    fn word(&mut self) -> Place {
        self.place(Ty::Int(32), 1).expect("each function has a variable of 32 bits")
    }

    fn block(&mut self, depth: u32) -> Vec<Stmt> {
        let count = if depth == 0 { 4 + self.r.below(8) } else { 1 + self.r.below(3) };
        (0..count).map(|_| self.stmt(depth)).collect()
    }

    fn store(&mut self) -> Stmt {
        let ty = value_type(self.r);
        match self.place(ty, 1) {
            Some(place) => Stmt::Store(place, self.expr(ty, 3)),
            None => {
                let to = self.word();
                Stmt::Store(to, self.expr(Ty::Int(32), 3))
            }
        }
    }

    fn stmt(&mut self, depth: u32) -> Stmt {
        if self.left == 0 || depth > 3 {
            return self.store();
        }
        self.left -= 1;
        let main = self.number == 0;
        match self.r.below(16) {
            0 | 1 => {
                let c = self.condition(2);
                let then = self.block(depth + 1);
                let els = if self.r.one_in(2) { self.block(depth + 1) } else { Vec::new() };
                Stmt::If(c, then, els)
            }
            2 => {
                let mut labels: Vec<u32> = Vec::new();
                for _ in 0..1 + self.r.below(4) {
                    let label = self.r.below(6u32);
                    if !labels.contains(&label) {
                        labels.push(label);
                    }
                }
                let cases =
                    labels.into_iter().map(|l| (l, self.block(depth + 1), self.r.one_in(3))).collect();
                let default = if self.r.one_in(3) { Vec::new() } else { self.block(depth + 1) };
                let x = self.boxed(Ty::Int(32), 2);
                let seven = Box::new(Expr::Constant(Ty::Int(32), 7));
                Stmt::Switch(Expr::Binary(Binary::And, x, seven), cases, default)
            }
            3 | 4 if self.loops < 2 => {
                let rounds = self.expr(Ty::Int(32), 1);
                // The counter is a variable of its own: nothing else stores to it.
                self.loops += 1;
                let body = self.block(depth + 1);
                self.loops -= 1;
                let counter = self.function.variables.len();
                self.function.variables.push(Holds::Value(Ty::Bool));
                Stmt::Loop { rounds, counter, body }
            }
            5 if self.loops > 0 => Stmt::Break(self.condition(1)),
            6 if self.loops > 0 => Stmt::Continue(self.condition(1)),
            7 | 8 if !main => {
                let c = self.condition(1);
                Stmt::Return(c, self.expr(Ty::Int(32), 2))
            }
            9 | 10 if self.number + 1 < self.signatures.len() => {
                let rest = self.signatures.len() - self.number - 1;
                let function = self.number + 1 + self.r.below(rest);
                let args = self.signatures[function].clone().into_iter().map(|ty| self.expr(ty, 2)).collect();
                let to = self.word();
                Stmt::Call { function, args, array: 0, to }
            }
            11 => {
                let n = self.r.below(TOTALS);
                Stmt::Atomic(n, self.expr(Ty::Int(32), 2))
            }
            12 | 13 if main && depth == 0 => {
                use Group as G;
                let what = self.r.pick(&[
                    G::Add,
                    G::InclusiveAdd,
                    G::ExclusiveAdd,
                    G::UMax,
                    G::SMin,
                    G::Xor,
                    G::Shuffle,
                    G::ShuffleXor,
                    G::Ballot,
                ]);
                let value = if what == G::Ballot { self.condition(2) } else { self.expr(Ty::Int(32), 2) };
                let other = match what {
                    G::Shuffle => self.expr(Ty::Int(32), 2),
                    _ => Expr::Constant(Ty::Int(32), self.r.below(LANES as u64)),
                };
                Stmt::Group { what, value, other, to: self.word() }
            }
            14 if main && depth == 0 => {
                let (value, other) = (self.expr(Ty::Int(32), 2), self.expr(Ty::Int(32), 2));
                Stmt::Exchange { value, other, to: self.word() }
            }
            _ => self.store(),
        }
    }
}
