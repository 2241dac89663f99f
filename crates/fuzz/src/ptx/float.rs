//! Floating point and conversions, from the PTX ISA. The bits of NaNs are nobody's business: what becomes an integer
//! is made canonical before.

use super::generate::{Generator, show};
use super::program::*;
use nvir_reference::softmath::float::{F16, F32, F64, Fmt, Mode};
use nvir_reference::softmath::{clamp, low, number};
use std::cmp::Ordering;
use std::rc::Rc;

const MODES: [(&str, Mode); 4] = [("n", Mode::Near), ("z", Mode::Zero), ("m", Mode::Down), ("p", Mode::Up)];

fn flushed(fmt: Fmt, ftz: bool, v: u64) -> u64 {
    let v = low(v, fmt.bits());
    if ftz { fmt.flush(v) } else { v }
}

impl Generator {
    fn float_type(&mut self) -> (Fmt, File, &'static str) {
        self.rng.pick(&[(F32, File::Float, "f32"), (F32, File::Float, "f32"), (F64, File::Double, "f64")])
    }

    fn float_src(&mut self, file: File) -> Src {
        Src::Reg(self.reg(file))
    }

    /// A constant as a float's text has it.
    fn float_imm(&mut self, fmt: Fmt) -> (u64, String) {
        let v = self.rng.special(fmt.bits());
        let v = if fmt.is_nan(v) { 0 } else { v };
        (v, if fmt == F32 { format!("0f{v:08x}") } else { format!("0d{v:016x}") })
    }

    fn suffix(&mut self, fmt: Fmt, saturates: bool) -> (bool, bool, String) {
        let ftz = fmt == F32 && self.rng.one_in(3);
        let sat = saturates && fmt == F32 && self.rng.one_in(5);
        (ftz, sat, format!("{}{}", if ftz { ".ftz" } else { "" }, if sat { ".sat" } else { "" }))
    }

    pub(super) fn float(&mut self) {
        match self.rng.below(12) {
            0..=5 => self.arithmetic(),
            6 | 7 => self.extreme(),
            8 => self.sign(),
            9 => self.compare_floats(),
            10 => self.test(),
            _ => self.bits(),
        }
    }

    fn arithmetic(&mut self) {
        let (fmt, file, ty) = self.float_type();
        let (ftz, sat, suffix) = self.suffix(fmt, true);
        let (letter, mode) = self.rng.pick(&MODES);
        let op = self.rng.pick(&["add", "sub", "mul", "fma"]);
        let d = self.reg(file);
        let a = self.float_src(file);
        let mut src = vec![a];
        let mut text = vec![show(a)];
        for _ in 0..if op == "fma" { 2 } else { 1 } {
            let s = self.float_src(file);
            let (v, imm) = self.float_imm(fmt);
            if self.rng.one_in(5) {
                src.push(Src::Imm(v));
                text.push(imm);
            } else {
                src.push(s);
                text.push(show(s));
            }
        }
        let text = vec![format!("{op}.r{letter}{suffix}.{ty} {d}, {}", text.join(", "))];
        let f = move |v: &[u64]| {
            let v: Vec<u64> = v.iter().map(|&x| flushed(fmt, ftz, x)).collect();
            let r = match op {
                "add" => fmt.add(v[0], v[1], mode),
                "sub" => fmt.add(v[0], v[1] ^ fmt.sign(true), mode),
                "mul" => fmt.mul(v[0], v[1], mode),
                _ => fmt.fma(v[0], v[1], v[2], mode),
            };
            let r = flushed(fmt, ftz, r);
            vec![if sat { fmt.saturate(r) } else { r }]
        };
        self.emit(text, vec![d], src, What::Pure(Rc::new(f)));
    }

    fn extreme(&mut self) {
        let (fmt, file, ty) = self.float_type();
        let (ftz, _, suffix) = self.suffix(fmt, false);
        let op = self.rng.pick(&["min", "max"]);
        let (d, a, b) = (self.reg(file), self.float_src(file), self.float_src(file));
        self.pure(&format!("{op}{suffix}.{ty}"), &[d], &[a, b], move |v| {
            vec![fmt.pick(flushed(fmt, ftz, v[0]), flushed(fmt, ftz, v[1]), op == "max")]
        });
    }

    fn sign(&mut self) {
        let (fmt, file, ty) = self.float_type();
        let (d, a, b) = (self.reg(file), self.float_src(file), self.float_src(file));
        let top = fmt.sign(true);
        match self.rng.below(3) {
            0 => self.pure(&format!("neg.{ty}"), &[d], &[a], move |v| vec![v[0] ^ top]),
            1 => self.pure(&format!("abs.{ty}"), &[d], &[a], move |v| vec![v[0] & !top]),
            _ => {
                // The sign of NaN is as unknown as its bits.
                let text = vec![
                    format!("setp.nan.{ty} %z, {0}, {0}", show(a)),
                    format!(
                        "selp.{ty} %{0}x, 0{1}, {2}, %z",
                        if fmt == F32 { "f" } else { "g" },
                        if fmt == F32 { "f00000000" } else { "d0000000000000000" },
                        show(a)
                    ),
                    format!("copysign.{ty} {d}, %{}x, {}", if fmt == F32 { "f" } else { "g" }, show(b)),
                ];
                self.emit(
                    text,
                    vec![d],
                    vec![a, b],
                    What::Pure(Rc::new(move |v| {
                        let sign = if fmt.is_nan(v[0]) { 0 } else { v[0] & top };
                        vec![v[1] & !top | sign]
                    })),
                );
            }
        }
    }

    fn compare_floats(&mut self) {
        let (fmt, file, ty) = self.float_type();
        let cmp = self.rng.pick(&[
            "eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan",
        ]);
        let holds = move |v: &[u64]| {
            let order = fmt.order(low(v[0], fmt.bits()), low(v[1], fmt.bits()));
            let Some(o) = order else { return cmp.len() == 3 && cmp != "num" };
            match &cmp[..2] {
                "eq" => o == Ordering::Equal,
                "ne" => o != Ordering::Equal,
                "lt" => o == Ordering::Less,
                "le" => o != Ordering::Greater,
                "gt" => o == Ordering::Greater,
                "ge" => o != Ordering::Less,
                "nu" => true,
                _ => false,
            }
        };
        let (a, b) = (self.float_src(file), self.float_src(file));
        self.predicate(cmp, ty, a, b, holds);
    }

    fn test(&mut self) {
        let (fmt, file, ty) = self.float_type();
        let (p, a) = (self.pred_dst(), self.float_src(file));
        let what = self.rng.pick(&["finite", "infinite", "number", "notanumber", "normal", "subnormal"]);
        self.pure(&format!("testp.{what}.{ty}"), &[p], &[a], move |v| {
            let magnitude = v[0] & fmt.nan();
            let (inf, nan) = (magnitude == fmt.inf(false), fmt.is_nan(v[0]));
            let subnormal = fmt.is_subnormal(v[0]);
            vec![u64::from(match what {
                "finite" => !inf && !nan,
                "infinite" => inf,
                "number" => !nan,
                "notanumber" => nan,
                // Zero is normal here.
                "normal" => !inf && !nan && !subnormal,
                _ => subnormal,
            })]
        });
        self.always();
    }

    /// Bits of floats to integers and back.
    fn bits(&mut self) {
        let (fmt, file, ty) = self.float_type();
        let bits = fmt.bits();
        if self.rng.one_in(2) {
            let (d, a) = (self.reg(file), self.int(bits));
            return self.pure(&format!("mov.b{bits}"), &[d], &[a], |v| vec![v[0]]);
        }
        let (d, a) = (self.dst(bits), self.float_src(file));
        let (temp, nan) = if fmt == F32 { ("%fx", "0f7fffffff") } else { ("%gx", "0d7fffffffffffffff") };
        let text = vec![
            format!("setp.nan.{ty} %z, {0}, {0}", show(a)),
            format!("selp.{ty} {temp}, {nan}, {}, %z", show(a)),
            format!("mov.b{bits} {d}, {temp}"),
        ];
        let f = move |v: &[u64]| vec![if fmt.is_nan(v[0]) { fmt.nan() } else { v[0] }];
        self.emit(text, vec![d], vec![a], What::Pure(Rc::new(f)));
    }

    pub(super) fn convert(&mut self) {
        match self.rng.below(8) {
            0..=2 => self.int_to_int(),
            3 | 4 => self.int_to_float(),
            5 | 6 => self.float_to_int(),
            _ => self.float_to_float(),
        }
    }

    /// An integer type of a conversion: bits, sign, name. Bytes live in words.
    fn any_int(&mut self) -> (u32, bool, String) {
        let (bits, sign) = (self.rng.pick(&[8, 16, 32, 64]), self.rng.one_in(2));
        (bits, sign, format!("{}{bits}", if sign { "s" } else { "u" }))
    }

    fn int_to_int(&mut self) {
        let (from, from_sign, a_ty) = self.any_int();
        let (to, to_sign, d_ty) = self.any_int();
        if from == 8 && from_sign && to == 16 {
            return; // a quirk of ptxas, see `generate`
        }
        let (to_sign, d_ty) = if (from, from_sign, to) == (32, false, 64) {
            (false, "u64".to_owned())
        } else {
            (to_sign, d_ty)
        };
        let d = self.dst(if to == 8 { 32 } else { to });
        // Where the value always fits, ptxas refuses it.
        let fits = if from_sign == to_sign { from <= to } else { to_sign && from < to };
        let sat = !fits && self.rng.one_in(2);
        let a = match from {
            64 if sat => Src::Reg(self.reg(File::OpaquePair)),
            8 | 32 if sat => self.opaque(),
            8 => self.int(32),
            _ => self.int(from),
        };
        let name = format!("cvt{}.{d_ty}.{a_ty}", if sat { ".sat" } else { "" });
        self.pure(&name, &[d], &[a], move |v| {
            let a = number(v[0], from, from_sign);
            let r = if sat { clamp(a, to, to_sign) } else { a as u64 };
            // A wider register gets the value, extended by its sign.
            vec![number(r, to, to_sign) as u64]
        });
    }

    fn int_to_float(&mut self) {
        let (from, sign, a_ty) = self.any_int();
        let (fmt, file, ty) = self.float_type();
        let a = match from {
            64 => Src::Reg(self.reg(File::OpaquePair)),
            16 => self.int(16),
            _ => self.opaque(),
        };
        let d = self.reg(file);
        let (letter, mode) = self.rng.pick(&MODES);
        self.pure(&format!("cvt.r{letter}.{ty}.{a_ty}"), &[d], &[a], move |v| {
            let a = number(v[0], from, sign);
            vec![fmt.of_int(a < 0, a.unsigned_abs() as u64, mode)]
        });
    }

    fn float_to_int(&mut self) {
        let (to, sign, d_ty) = self.any_int();
        let (fmt, file, ty) = self.float_type();
        let ftz = fmt == F32 && self.rng.one_in(3);
        let (letter, mode) = self.rng.pick(&MODES);
        let d = self.dst(if to == 8 { 32 } else { to });
        let a = self.float_src(file);
        let name = format!("cvt.r{letter}i{}.{d_ty}.{ty}", if ftz { ".ftz" } else { "" });
        // What NaN becomes depends on widths: 0, but the highest bit where 64 bits are on either side (PTX ISA, cvt). To
        // fewer than 32 bits ptxas clamps the 32 that have the highest bit.
        let wide = to == 64 || fmt == F64;
        self.pure(&name, &[d], &[a], move |v| {
            let Some((neg, n)) = fmt.to_int(flushed(fmt, ftz, v[0]), mode) else {
                let high = 1 << (to.max(32) - 1);
                let v = match (wide, to < 32) {
                    (false, _) => 0,
                    (true, true) => number(clamp(number(high, 32, sign), to, sign), to, sign) as u64,
                    (true, false) => high,
                };
                return vec![v];
            };
            let n = if neg { -(n as i128) } else { n as i128 };
            vec![number(clamp(n, to, sign), to, sign) as u64]
        });
    }

    fn float_to_float(&mut self) {
        let (letter, mode) = self.rng.pick(&MODES);
        let kind = self.rng.below(6);
        let (f, e) = (self.float_src(File::Float), self.float_src(File::Double));
        let (df, dg, dh) = (self.reg(File::Float), self.reg(File::Double), self.reg(File::Half));
        match kind {
            0 | 1 => {
                // To an integer of the same format.
                let (fmt, file, ty) = self.float_type();
                let (ftz, sat, suffix) = self.suffix(fmt, true);
                let (d, a) = (self.reg(file), self.float_src(file));
                self.pure(&format!("cvt.r{letter}i{suffix}.{ty}.{ty}"), &[d], &[a], move |v| {
                    let r = fmt.integral(flushed(fmt, ftz, v[0]), mode);
                    vec![if sat { fmt.saturate(r) } else { r }]
                });
            }
            2 => {
                let (ftz, sat, suffix) = self.suffix(F32, true);
                self.pure(&format!("cvt.r{letter}{suffix}.f32.f64"), &[df], &[e], move |v| {
                    let r = flushed(F32, ftz, F32.from(F64.num(v[0]), mode));
                    vec![if sat { F32.saturate(r) } else { r }]
                });
            }
            3 => {
                let (ftz, _, suffix) = self.suffix(F32, false);
                self.pure(&format!("cvt{suffix}.f64.f32"), &[dg], &[f], move |v| {
                    vec![F64.from(F32.num(flushed(F32, ftz, v[0])), Mode::Near)]
                });
            }
            4 => {
                let a = Src::Reg(self.reg(File::Half));
                self.pure("cvt.f32.f16", &[df], &[a], |v| vec![F32.from(F16.num(v[0]), Mode::Near)]);
            }
            _ => {
                // Half of a NaN: some NaN, which is looked at as an integer.
                let text = vec![
                    format!("setp.nan.f32 %z, {0}, {0}", show(f)),
                    format!("selp.f32 %fx, 0f00000000, {}, %z", show(f)),
                    format!("cvt.r{letter}.f16.f32 {dh}, %fx"),
                ];
                self.emit(
                    text,
                    vec![dh],
                    vec![f],
                    What::Pure(Rc::new(move |v| {
                        let v = if F32.is_nan(v[0]) { 0 } else { v[0] };
                        vec![F16.from(F32.num(v), mode)]
                    })),
                );
                self.always();
            }
        }
    }
}
