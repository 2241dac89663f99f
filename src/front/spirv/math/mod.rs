//! Functions of OpenCL.std as exact as the full profile of OpenCL asks: routines, built when one is called.
//!
//! A routine is a function of the program, called for each component; what is called once, or is short, is inlined like any other.
//! What is cheap is computed in the width of the argument; what asks for more bits on the way, of 32 bits in doubles.
//!
//! - `real`: formulas as instructions
//! - `exp`: exponential and hyperbolic functions, powers; `log`: logarithms, roots
//! - `circle`: of the circle; `gamma`: the gamma and error functions

mod circle;
mod exp;
mod gamma;
mod log;
mod real;

use crate::front::common::emit::value::{Comp, Word};
use crate::front::common::emit::{Division, Emit};
use crate::ir::build::Builder;
use crate::ir::{Call, Class, Ext, FuncId, Function, Inst, Op, Term, Type};
use real::{Int, Real};
use rustc_hash::FxHashMap;
use spirv::OpenclStd100Op as Cl;
use std::cell::RefCell;

/// What a routine takes and gives.
enum Formula {
    One(fn(Real<'_>) -> Real<'_>),
    Two(for<'m> fn(Real<'m>, Real<'m>) -> Real<'m>),
    WithInt(for<'m> fn(Real<'m>, Int<'m>) -> Real<'m>),
    GivesTwo(fn(Real<'_>) -> (Real<'_>, Real<'_>)),
    GivesInt(fn(Real<'_>) -> (Real<'_>, Int<'_>)),
}

fn formula(op: Cl) -> Option<Formula> {
    use Formula::{GivesInt, GivesTwo, One, Two, WithInt};
    Some(match op {
        Cl::exp => One(exp::exp),
        Cl::exp2 => One(exp::exp2),
        Cl::exp10 => One(exp::exp10),
        Cl::expm1 => One(exp::expm1),
        Cl::sinh => One(exp::sinh),
        Cl::cosh => One(exp::cosh),
        Cl::tanh => One(exp::tanh),
        Cl::pow => Two(exp::pow),
        Cl::powr => Two(exp::powr),
        Cl::pown => WithInt(exp::pown),
        Cl::rootn => WithInt(exp::rootn),
        Cl::log => One(log::log),
        Cl::log2 => One(log::log2),
        Cl::log10 => One(log::log10),
        Cl::log1p => One(log::log1p),
        Cl::asinh => One(log::asinh),
        Cl::acosh => One(log::acosh),
        Cl::atanh => One(log::atanh),
        Cl::cbrt => One(log::cbrt),
        Cl::hypot => Two(log::hypot),
        Cl::sin => One(circle::sin),
        Cl::cos => One(circle::cos),
        Cl::tan => One(circle::tan),
        Cl::sincos => GivesTwo(circle::sincos),
        Cl::sinpi => One(circle::sinpi),
        Cl::cospi => One(circle::cospi),
        Cl::tanpi => One(circle::tanpi),
        Cl::asin => One(circle::asin),
        Cl::acos => One(circle::acos),
        Cl::atan => One(circle::atan),
        Cl::atan2 => Two(circle::atan2),
        Cl::asinpi => One(|x| circle::in_half_turns(circle::asin(x))),
        Cl::acospi => One(|x| circle::in_half_turns(circle::acos(x))),
        Cl::atanpi => One(|x| circle::in_half_turns(circle::atan(x))),
        Cl::atan2pi => Two(|y, x| circle::in_half_turns(circle::atan2(y, x))),
        Cl::erf => One(gamma::erf),
        Cl::erfc => One(gamma::erfc),
        Cl::tgamma => One(gamma::tgamma),
        Cl::lgamma => One(|x| gamma::lgamma(x).0),
        Cl::lgamma_r => GivesInt(gamma::lgamma),
        _ => return None,
    })
}

/// What goes into a routine besides its first argument, and what comes out besides its first result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Other {
    None,
    /// Another float of the same width.
    Real,
    /// An integer of 32 bits.
    Int,
}

/// The other argument and the other result of a function that is a routine.
pub(super) fn shape(op: Cl) -> Option<(Other, Other)> {
    Some(match formula(op)? {
        Formula::One(_) => (Other::None, Other::None),
        Formula::Two(_) => (Other::Real, Other::None),
        Formula::WithInt(_) => (Other::Int, Other::None),
        Formula::GivesTwo(_) => (Other::None, Other::Real),
        Formula::GivesInt(_) => (Other::None, Other::Int),
    })
}

/// Parameters of a function for a float of so many bits.
fn real_params(f: &mut Function, double: bool) -> Comp {
    let low = Word::Val(f.add_param(Class::Gpr));
    if double { Comp::Wide(low, Word::Val(f.add_param(Class::Gpr))) } else { Comp::Word(low) }
}

/// Builds the routine of a function for 32 or 64 bits.
fn build(op: Cl, formula: &Formula, double: bool) -> Function {
    let mut f = Function::new(format!("{op:?}_{}", if double { 64 } else { 32 }));
    let first = real_params(&mut f, double);
    let second = match formula {
        Formula::Two(_) => Some(real_params(&mut f, double)),
        Formula::WithInt(_) => Some(Comp::Word(Word::Val(f.add_param(Class::Gpr)))),
        _ => None,
    };
    let entry = f.new_block();
    let code = RefCell::new(Emit::new(Builder::new(&mut f, entry), Division::Exact, None));
    let comps = {
        let x = Real::new(&code, first);
        match (formula, second) {
            (Formula::Two(of), Some(y)) => vec![of(x, Real::new(&code, y)).comp()],
            (Formula::WithInt(of), Some(n)) => vec![of(x, Int::new(&code, n.word())).comp()],
            (Formula::One(of), _) => vec![of(x).comp()],
            (Formula::GivesTwo(of), _) => {
                let (a, b) = of(x);
                vec![a.comp(), b.comp()]
            }
            (Formula::GivesInt(of), _) => {
                let (a, n) = of(x);
                vec![a.comp(), n.comp()]
            }
            (Formula::Two(_) | Formula::WithInt(_), None) => Vec::new(),
        }
    };
    let mut e = code.into_inner();
    let results: Vec<_> = comps.iter().flat_map(|&c| e.values(c)).collect();
    let count = results.len();
    e.b.terminate(Term::Ret(results));
    e.ssa.finish(&mut f);
    f.results = vec![Class::Gpr; count];
    f
}

/// The routines that a program calls.
#[derive(Default)]
pub(super) struct Routines {
    numbers: FxHashMap<(Cl, bool), u32>,
    made: Vec<Function>,
}

impl Routines {
    /// The functions, which follow the program's first.
    pub(super) fn into_functions(self) -> Vec<Function> {
        self.made
    }

    /// Calls the routine of a function with what it takes, of which the first is a float of 32 or 64 bits; its one or two results.
    pub(super) fn call(&mut self, e: &mut Emit<'_>, op: Cl, args: &[Comp]) -> Option<Vec<Comp>> {
        let formula = formula(op)?;
        let double = matches!(args.first()?, Comp::Wide(..));
        let number = *self.numbers.entry((op, double)).or_insert_with(|| {
            self.made.push(build(op, &formula, double));
            self.made.len() as u32
        });
        let mut comps = vec![Comp::constant(if double { 64 } else { 32 }, 0)];
        comps.extend(match formula {
            Formula::GivesTwo(_) => Some(comps[0]),
            Formula::GivesInt(_) => Some(Comp::constant(32, 0)),
            _ => None,
        });
        let args = args.iter().flat_map(|&c| e.values(c)).collect();
        let mut results = Vec::new();
        for c in &mut comps {
            let mut word = || {
                results.push(e.b.gpr());
                Word::Val(results[results.len() - 1])
            };
            *c = match c {
                Comp::Wide(..) => Comp::Wide(word(), word()),
                _ => Comp::Word(word()),
            };
        }
        let mut call = Inst::new(Op::Call, Type::U32);
        call.ext = Some(Box::new(Ext::Call(Call::new(FuncId::from_u32(number), args, results))));
        e.b.push(call);
        Some(comps)
    }
}
