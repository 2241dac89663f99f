//! Interpolation: perspective inputs are multiplied by w, which is the inverse of what the hardware
//! interpolates.
//!
//! ```text
//! interp.persp.center f32 %r1 a[0x80]  ->  interp.linear.center f32 %r2 a[0x7c]     at the function's entry
//!                                          rcp f32 %r3 %r2
//!                                          interp.persp.center f32 %r1 a[0x80] %r3
//! ```
//!
//! The w of the pixel's middle and of its covered part are computed once, at the entry; an offset
//! has its own.

use crate::ir::build::Builder;
use crate::ir::expand::expand;
use crate::ir::*;
use crate::stage::Semantic;

/// Where 1/w lies.
fn inverse_w() -> MemRef {
    let position = Semantic::Position.address().unwrap_or_default();
    MemRef::new(Space::Input).with_offset(position as i32 + 12)
}

fn wants_w(i: &Inst) -> Option<InterpAt> {
    let Aux::Interp(how) = i.aux else { return None };
    let missing = i.srcs.first().is_none_or(|s| s.as_imm() == Some(0));
    let wanted = matches!(how.mode, InterpMode::Perspective | InterpMode::Color);
    (missing && wanted).then_some(how.at)
}

fn w(b: &mut Builder<'_>, at: InterpAt, offset: Option<Src>) -> ValueId {
    let how = Interp { mode: InterpMode::Linear, at };
    let mut inst = Inst::new(Op::Interp, Type::F32).with_mem(inverse_w()).with_aux(Aux::Interp(how));
    inst.srcs.extend(offset.into_iter().flat_map(|o| [Src::imm(0), o]));
    let inverse = b.value(inst);
    b.op1(Op::Rcp, Type::F32, inverse)
}

/// Gives perspective inputs the w that they lack.
pub(crate) fn inverse_of_w(f: &mut Function) {
    let mut wanted = [false; 2];
    for (_, i) in f.insts_in_order() {
        match wants_w(&f.insts[i]) {
            Some(InterpAt::Center) => wanted[0] = true,
            Some(InterpAt::Centroid) => wanted[1] = true,
            _ => {}
        }
    }
    let entry = f.entry();
    let body = std::mem::take(&mut f.blocks[entry].body);
    let mut b = Builder::new(f, entry);
    let [center, centroid] = [(wanted[0], InterpAt::Center), (wanted[1], InterpAt::Centroid)]
        .map(|(wanted, at)| wanted.then(|| w(&mut b, at, None)));
    f.blocks[entry].body.extend(body);
    expand(
        f,
        |i| wants_w(i).is_some(),
        |b, i| {
            let with = match wants_w(i) {
                Some(InterpAt::Center) => center,
                Some(InterpAt::Centroid) => centroid,
                Some(InterpAt::Offset) => Some(w(b, InterpAt::Offset, i.srcs.get(1).copied())),
                None => None,
            };
            let Some(with) = with else { return false };
            let mut interp = i.clone();
            match interp.srcs.first_mut() {
                Some(first) => *first = Src::val(with),
                None => interp.srcs.push(Src::val(with)),
            }
            b.push(interp);
            true
        },
    );
}
