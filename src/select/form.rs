//! Legality by form: what [`super::legal`] has found out about an instruction holds for all that
//! differ from it only in which values they name, and for all direct words of constant memory that
//! an instruction can name at all.
//!
//! Programs repeat the same few hundred forms, so an answer is kept for the next one who asks,
//! whatever program that is in. What has rare details has no form and is looked at each time.

use crate::chip::Chip;
use crate::ir::{Aux, Class, Function, Inst, MemRef, Src, SrcKind};
use rustc_hash::FxHasher;
use std::cell::Cell;
use std::hash::{Hash, Hasher};

/// Everything that the legality of an instruction may depend on.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Form {
    /// Chip, operation, types, suffixes.
    operation: u64,
    /// Classes of the destinations, kinds and modifiers of the sources, shape of the address.
    operands: u64,
    /// The one number in it: an immediate, or the offset of the address.
    number: u32,
}

/// A form is put together from fields, each as wide as its values need.
struct Fields(u64);

impl Fields {
    fn put(&mut self, width: u32, value: u64) {
        debug_assert!(value >> width == 0, "{value} in a field of {width} bits");
        self.0 = self.0 << width | value;
    }
}

impl Form {
    fn of(chip: Chip, func: &Function, i: &Inst) -> Option<Form> {
        // Every field is named, so that a new one has to be considered. What is exact or known, and
        // where it comes from, is nothing to the machine.
        let Inst {
            op,
            ty,
            sty,
            cond,
            logic,
            rnd,
            sat,
            ftz,
            exact: _,
            aux,
            known: _,
            guard,
            dsts,
            srcs,
            mem,
            ext,
            loc: _,
        } = i;
        if ext.is_some() || dsts.len() > 2 {
            return None;
        }
        let aux = match *aux {
            Aux::None => 0,
            Aux::Wrap => 1,
            Aux::Integral => 2,
            Aux::Shift => 3,
            Aux::Byte(n) => 0x100 | u64::from(n),
            Aux::Sv(sv) => 0x200 | sv as u64,
            Aux::Atom(op) => 0x300 | op as u64,
            Aux::Interp(how) => 0x200 | 0x80 | (how.mode as u64) << 2 | how.at as u64,
            _ => return None,
        };
        let flags = [*sat, *ftz, guard.is_some()];
        let mut operation = Fields(chip as u64);
        for detail in [*op as u64, *ty as u64, *sty as u64, *cond as u64] {
            operation.put(8, detail);
        }
        operation.put(2, *logic as u64);
        operation.put(2, *rnd as u64);
        flags.iter().for_each(|&f| operation.put(1, f.into()));
        operation.put(10, aux);

        // Numbers that are not zero: a form has room for one.
        let (mut number, mut numbers) = (0, 0);
        let mut note = |n: u32| {
            number |= n;
            numbers += u32::from(n != 0);
        };
        let mut operands = Fields(1);
        for &d in dsts {
            operands.put(2, 1 + func.class(d) as u64);
        }
        for s in srcs {
            operands.put(7, source(func, s, &mut note)?);
        }
        if let Some(m) = mem {
            operands.put(17, address(m)?);
            note(match m.offset {
                // Every form with an offset has the field for these.
                4..0x400 if m.offset % 4 == 0 => 4,
                0x400..0x8000 if m.offset % 4 == 0 && !m.space.is_attribute() => 4,
                other => other as u32,
            });
        }
        operands.put(4, srcs.len() as u64);
        (numbers < 2).then_some(Form { operation: operation.0, operands: operands.0, number })
    }
}

/// Kind and modifiers of a source, in seven bits; the number in it goes to `note`.
fn source(func: &Function, s: &Src, note: &mut impl FnMut(u32)) -> Option<u64> {
    let kind = match s.kind {
        SrcKind::Val(v) => match func.class(v) {
            Class::Gpr => 0,
            Class::Pred => 1,
            Class::Carry => 2,
        },
        SrcKind::Pair(_) => 3,
        SrcKind::Triple(_) => 4,
        SrcKind::Quad(_) => 5,
        // Every form with a constant operand has the field for these banks and offsets.
        SrcKind::Const { bank: 0..16, offset } if offset % 4 == 0 => 6,
        SrcKind::Imm(0) => 7,
        SrcKind::Imm(bits) => {
            note(bits);
            8
        }
        SrcKind::Imm64([0, high]) => {
            note(high);
            9
        }
        _ => return None,
    };
    Some(kind << 3 | u64::from(s.mods.bits()))
}

/// Shape of an address but for its offset, in seventeen bits.
fn address(m: &MemRef) -> Option<u64> {
    // What is proven of an address is nothing to the machine; the offset is noted by itself.
    let MemRef { space: _, order: _, buffer: _, index: _, offset: _, align: _, readonly: _, .. } = m;
    let buffer = u8::try_from(m.buffer).ok()?;
    let index = u64::from(m.index.is_some());
    Some(
        (m.space as u64) << 13
            | (m.order as u64) << 11
            | (m.base().len() as u64) << 9
            | index << 8
            | u64::from(buffer),
    )
}

/// How many answers are kept, each at the place that its form's hash says. A thread's first compile clears them.
const KEPT: usize = 1024;

/// No form is this one: `operands` begins with a one.
const NO_FORM: Form = Form { operation: 0, operands: 0, number: 0 };

thread_local! {
    static ANSWERS: [Cell<(Form, bool)>; KEPT] = const { [const { Cell::new((NO_FORM, false)) }; KEPT] };
}

/// What `find_out` says about the instruction, or said about one of the same form.
pub(super) fn legal(chip: Chip, func: &Function, i: &Inst, find_out: impl Fn() -> bool) -> bool {
    let Some(form) = Form::of(chip, func, i) else { return find_out() };
    let mut hasher = FxHasher::default();
    form.hash(&mut hasher);
    let place = hasher.finish() as usize % KEPT;
    ANSWERS.with(|answers| {
        let (known, legal) = answers[place].get();
        if known == form {
            debug_assert_eq!(legal, find_out(), "the form of {i:?}");
            return legal;
        }
        let legal = find_out();
        answers[place].set((form, legal));
        legal
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::row::Kind;
    use crate::isa::{self, Op, Table};
    use crate::select::select;

    /// Every form that a program of the tests' generator has, asked about in a program and in
    /// another.
    #[test]
    fn what_is_remembered_is_what_the_selector_says() {
        let (mut asked, mut legal_ones) = (0, 0);
        for n in 0..30u32 {
            let text = format!(
                "program\nkernel k() {{\nb0:\n    rdsv u32 %r0 sv[tid.x]\n    add u32 %r1 %r0 {:#x}\n    \
                 mad f32 %r2 %r0 c0[{:#x}] %r1\n    shl u32 %r3 %r2 {n}\n    ld u32 %r4 g[%r3+{:#x} align 4]\n    add u32 %r5 c0[0x0] c0[0x8]\n    \
                 st u32 # g[%r4+0x0 align 4] %r2\n    exit\n}}\n",
                n.wrapping_mul(0x0123_4567),
                4 * n,
                4 * n
            );
            let p = crate::ir::parse::program(&text).expect("valid text");
            let f = &p.funcs[p.entry];
            for (_, i) in f.insts_in_order() {
                let inst = &f.insts[i];
                for chip in Chip::ALL {
                    let slow = matches!(&select(chip, f, inst, &|_| 0), Ok(m) if isa::fits(chip, m).is_ok());
                    // Twice: found out, and remembered.
                    assert_eq!([crate::select::legal(chip, f, inst); 2], [slow; 2], "{chip} {inst:?}");
                    assert_eq!(crate::select::legal(chip, f, inst), slow, "{chip} {inst:?}");
                    (asked, legal_ones) = (asked + 1, legal_ones + u32::from(slow));
                }
            }
        }
        assert!(legal_ones > 100 && legal_ones < asked, "{legal_ones} of {asked}");
    }

    #[test]
    fn addresses_and_constants_that_have_one_form_fit_all_fields_alike() {
        // Instructions of graphics and short forms, which nothing is selected for, have shorter
        // fields.
        let rows = Chip::ALL.iter().flat_map(|&chip| Table::for_chip(chip).rows());
        for row in rows.filter(|row| !row.short && !matches!(row.op, Op::Pixld | Op::Vild)) {
            for slot in &row.slots {
                let alike = match slot.kind {
                    Kind::Const { bank, offset, shift, .. } => {
                        bank.max() >= 15 && shift <= 2 && offset.max() << shift >= 0xfffc
                    }
                    Kind::ConstInd { bank, offset, .. } => bank.max() >= 15 && offset.max() >= 0xffff,
                    Kind::Mem { offset, shift, .. } => {
                        offset.width() == 0 || shift <= 2 && offset.max() << shift >= 0xfffc
                    }
                    _ => true,
                };
                assert!(alike, "{row:?}");
            }
        }
    }
}
