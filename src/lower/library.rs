//! Routines too long to repeat at each use: built once, linked into the programs that need them,
//! and called.

use super::{f64, int_div, texels};
use crate::ir::build::Builder;
use crate::ir::expand::word;
use crate::ir::*;

/// What the library has. Operands and results are 32-bit words, low word first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Routine {
    /// (a, b) to (a / b, a % b), unsigned.
    U32Div,
    /// The same, signed.
    S32Div,
    U64Div,
    S64Div,
    /// (a, b) to a / b, correctly rounded.
    F64Div,
    /// a to its square root, correctly rounded.
    F64Sqrt,
    /// a to 1 / sqrt(a), within one unit in the last place.
    F64Rsq,
    /// Four words, a Kepler format word and the texel's address to four channels.
    Texel,
}

impl Routine {
    const COUNT: usize = 8;

    /// Words of arguments and of results.
    fn shape(self) -> (usize, usize) {
        match self {
            Routine::U32Div | Routine::S32Div => (2, 2),
            Routine::U64Div | Routine::S64Div => (4, 4),
            Routine::F64Div => (4, 2),
            Routine::F64Sqrt | Routine::F64Rsq => (2, 2),
            Routine::Texel => (6, 4),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Routine::U32Div => "u32_div",
            Routine::S32Div => "s32_div",
            Routine::U64Div => "u64_div",
            Routine::S64Div => "s64_div",
            Routine::F64Div => "f64_div",
            Routine::F64Sqrt => "f64_sqrt",
            Routine::F64Rsq => "f64_rsq",
            Routine::Texel => "texel",
        }
    }

    fn build(self) -> Function {
        let (args, results) = self.shape();
        let mut f = Function::new(self.name());
        f.library = true;
        let a: Vec<ValueId> = (0..args).map(|_| f.add_param(Class::Gpr)).collect();
        f.results = vec![Class::Gpr; results];
        let entry = f.new_block();
        let mut b = Builder::new(&mut f, entry);
        let values = match self {
            Routine::U32Div => int_div::u32_div(&mut b, a[0], a[1]).to_vec(),
            Routine::S32Div => int_div::s32_div(&mut b, a[0], a[1]).to_vec(),
            Routine::U64Div => int_div::u64_div(&mut b, [a[0], a[1]], [a[2], a[3]]).concat(),
            Routine::S64Div => int_div::s64_div(&mut b, [a[0], a[1]], [a[2], a[3]]).concat(),
            Routine::F64Div => f64::div(&mut b, [a[0], a[1]], [a[2], a[3]]).to_vec(),
            Routine::F64Sqrt => f64::sqrt(&mut b, [a[0], a[1]]).to_vec(),
            Routine::F64Rsq => f64::rsq(&mut b, [a[0], a[1]]).to_vec(),
            Routine::Texel => texels::unpack(&mut b, [a[0], a[1], a[2], a[3]], a[4], a[5]).to_vec(),
        };
        b.terminate(Term::Ret(values));
        f
    }
}

/// The routines that a program has so far.
#[derive(Default)]
pub struct Library {
    linked: [Option<FuncId>; Routine::COUNT],
    /// Built, but not part of the program yet.
    new: Vec<Function>,
    first_new: u32,
}

impl Library {
    /// The library for a program; [`Library::routines`] gives what was asked for.
    pub(crate) fn new(p: &Program) -> Library {
        Library { first_new: p.funcs.len() as u32, ..Library::default() }
    }

    /// The function of a routine.
    fn get(&mut self, r: Routine) -> FuncId {
        *self.linked[r as usize].get_or_insert_with(|| {
            self.new.push(r.build());
            FuncId::from_u32(self.first_new + self.new.len() as u32 - 1)
        })
    }

    /// Adds a function that is no [`Routine`]: the program's own.
    pub(crate) fn add(&mut self, mut f: Function) -> FuncId {
        f.library = true;
        self.new.push(f);
        FuncId::from_u32(self.first_new + self.new.len() as u32 - 1)
    }

    /// Appends a call of a routine and gives its results.
    pub(crate) fn call(&mut self, b: &mut Builder<'_>, r: Routine, args: Vec<ValueId>) -> Vec<ValueId> {
        let func = self.get(r);
        let results: Vec<ValueId> = (0..r.shape().1).map(|_| b.gpr()).collect();
        let mut call = Inst::new(Op::Call, Type::U32);
        call.ext = Some(Box::new(Ext::Call(Call::new(func, args, results.clone()))));
        b.push(call);
        results
    }

    /// The routines that are new, in the order in which they are to be added to the program.
    pub(crate) fn routines(self) -> Vec<Function> {
        self.new
    }
}

/// The words of an operand in registers.
pub fn words(b: &mut Builder<'_>, s: &Src, n: usize) -> Vec<ValueId> {
    (0..n)
        .map(|i| {
            let w = word(s, i);
            match w.as_val() {
                Some(v) if w.is_plain_val() => v,
                _ => b.mov(w),
            }
        })
        .collect()
}
