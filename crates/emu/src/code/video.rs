//! What video instructions compute.

use super::operand::{VideoOp, VideoSrc};
use nvir_base::num::int;
use nvir_base::num::video::{self, Finish, Secondary};

/// The result in one lane.
pub(super) fn eval(op: &VideoOp, a: u32, b: u32, c: u32) -> u32 {
    let read = |src: &VideoSrc, bits: u32, at: u32, word: u64| {
        let v = (word >> at) as u32;
        let v = if bits == 32 { v } else { v & ((1 << bits) - 1) };
        if src.signed { i64::from(int::sext(v, bits) as i32) } else { i64::from(v) }
    };
    let sign = |v: i64, neg: bool| if neg { -v } else { v };
    if op.lanes == 1 {
        let finish = |v, c, second| video::finish(v, c, Finish { signed: op.signed, sat: op.sat, second });
        let x = read(&op.a, op.a.bits.into(), op.a.pick[0].into(), a.into());
        let y = read(&op.b, op.b.bits.into(), op.b.pick[0].into(), b.into());
        if let Some(m) = op.mad {
            let p = sign(x * y, m.neg_product);
            let c = sign(if op.signed { i64::from(c as i32) } else { i64::from(c) }, m.neg_c);
            let v = (p + c + i64::from(m.plus_one)) >> m.shift;
            return finish(v, 0, Secondary::None);
        }
        let v = video::primary(op.op, sign(x, op.a.neg), sign(y, op.b.neg), op.wrap);
        return finish(v, c, op.second);
    }
    let bits = 32 / u32::from(op.lanes);
    let both = u64::from(b) << 32 | u64::from(a);
    let mut out = if op.second == Secondary::Acc { 0 } else { c };
    let mut sum = c;
    for i in 0..u32::from(op.lanes) {
        if op.write >> i & 1 == 0 {
            continue;
        }
        let at = |p: u8| u32::from(p) * bits;
        let x = read(&op.a, bits, at(op.a.pick[i as usize]), both);
        let y = read(&op.b, bits, at(op.b.pick[i as usize]), both);
        let v = video::primary(op.op, sign(x, op.a.neg), sign(y, op.b.neg), op.wrap);
        let v = if op.sat { video::Lane { bits, signed: op.signed }.clamp(v) } else { v };
        if op.second == Secondary::Acc {
            sum = sum.wrapping_add(v as u32);
        } else {
            let mask = ((1u64 << bits) - 1) as u32;
            let at = i * bits;
            out = out & !(mask << at) | (v as u32 & mask) << at;
        }
    }
    if op.second == Secondary::Acc { sum } else { out }
}
