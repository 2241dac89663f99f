//! Integer instructions, from the PTX ISA.

use super::generate::{Generator, show};
use super::program::*;
use nvir_reference::softmath::{clamp, low, number, permuted, signed};
use std::rc::Rc;

/// The comparison that a name means.
pub(super) fn compare(name: &str, a: i128, b: i128) -> bool {
    match name {
        "eq" => a == b,
        "ne" => a != b,
        "lt" | "lo" => a < b,
        "le" | "ls" => a <= b,
        "gt" | "hi" => a > b,
        _ => a >= b,
    }
}

fn join(name: &str, a: bool, b: bool) -> bool {
    match name {
        "and" => a & b,
        "or" => a | b,
        _ => a ^ b,
    }
}

impl Generator {
    fn width(&mut self) -> u32 {
        self.rng.pick(&[16, 32, 32, 32, 64])
    }

    fn type_of(&mut self, bits: u32) -> (String, bool) {
        let sign = self.rng.one_in(2);
        (format!("{}{bits}", if sign { "s" } else { "u" }), sign)
    }

    pub(super) fn integer(&mut self) {
        match self.rng.below(32) {
            0..=3 => self.two(),
            4..=6 => self.logic(),
            7..=9 => self.multiply(),
            10..=12 if self.loops == 0 => self.carries(),
            13..=15 => self.shift(),
            16..=18 => self.fields(),
            19 | 20 => self.count_bits(),
            21..=24 => self.set_predicate(),
            25 => self.predicates(),
            26 | 27 => self.select(),
            28 => self.set_word(),
            29 => self.pack(),
            30 => self.saturating(),
            _ => self.one(),
        }
    }

    fn two(&mut self) {
        let bits = self.width();
        let (ty, sign) = self.type_of(bits);
        let op = self.rng.pick(&["add", "sub", "min", "max", "sad"]);
        let (d, a, b) = (self.dst(bits), self.int(bits), self.int_or_imm(bits));
        let k = move |v: u64| number(v, bits, sign);
        if op == "sad" {
            let c = self.int(bits);
            let f = move |v: &[u64]| vec![(k(v[0]) - k(v[1])).unsigned_abs() as u64 + v[2]];
            // Sums wrap.
            let f = move |v: &[u64]| {
                if v[2] == 0 { f(v) } else { vec![f(&[v[0], v[1], 0])[0].wrapping_add(v[2])] }
            };
            return self.pure(&format!("sad.{ty}"), &[d], &[a, b, c], f);
        }
        self.pure(&format!("{op}.{ty}"), &[d], &[a, b], move |v| {
            vec![match op {
                "add" => v[0].wrapping_add(v[1]),
                "sub" => v[0].wrapping_sub(v[1]),
                "min" => {
                    if k(v[0]) < k(v[1]) {
                        v[0]
                    } else {
                        v[1]
                    }
                }
                _ => {
                    if k(v[0]) > k(v[1]) {
                        v[0]
                    } else {
                        v[1]
                    }
                }
            }]
        });
    }

    fn one(&mut self) {
        let bits = self.rng.pick(&[32, 64]);
        let (d, a) = (self.dst(bits), self.int(bits));
        let op = self.rng.pick(&["abs", "neg"]);
        self.pure(&format!("{op}.s{bits}"), &[d], &[a], move |v| {
            let a = signed(v[0], bits);
            vec![if op == "neg" || a < 0 { -i128::from(a) } else { a.into() } as u64]
        });
    }

    fn saturating(&mut self) {
        let op = self.rng.pick(&["add", "sub", "mad.hi"]);
        let (d, a, b) = (self.dst(32), self.opaque(), self.opaque());
        if op == "mad.hi" {
            let c = self.int(32);
            return self.pure("mad.hi.sat.s32", &[d], &[a, b, c], |v| {
                let high = (i128::from(signed(v[0], 32)) * i128::from(signed(v[1], 32))) >> 32;
                vec![clamp(high + i128::from(signed(v[2], 32)), 32, true)]
            });
        }
        self.pure(&format!("{op}.sat.s32"), &[d], &[a, b], move |v| {
            let (a, b) = (i128::from(signed(v[0], 32)), i128::from(signed(v[1], 32)));
            vec![clamp(if op == "add" { a + b } else { a - b }, 32, true)]
        });
    }

    fn logic(&mut self) {
        let bits = self.width();
        let op = self.rng.pick(&["and", "or", "xor", "and", "or", "xor", "not", "cnot"]);
        let (d, a) = (self.dst(bits), self.int(bits));
        let name = format!("{op}.b{bits}");
        match op {
            "not" => self.pure(&name, &[d], &[a], |v| vec![!v[0]]),
            "cnot" => self.pure(&name, &[d], &[a], |v| vec![u64::from(v[0] == 0)]),
            _ => {
                let b = self.int_or_imm(bits);
                self.pure(&name, &[d], &[a, b], move |v| {
                    vec![match op {
                        "and" => v[0] & v[1],
                        "or" => v[0] | v[1],
                        _ => v[0] ^ v[1],
                    }]
                });
            }
        }
    }

    fn multiply(&mut self) {
        let bits = self.width();
        let (ty, sign) = self.type_of(bits);
        let mad = self.rng.one_in(2);
        let part = self.rng.pick(&["lo", "lo", "hi", "wide"]);
        let part = if bits == 64 && part == "wide" { "hi" } else { part };
        let (wide, name) = (part == "wide", if mad { "mad" } else { "mul" });
        let (a, b) = (self.int(bits), self.int_or_imm(bits));
        let d = self.dst(if wide { 2 * bits } else { bits });
        let mut src = vec![a, b];
        if mad {
            src.push(self.int(if wide { 2 * bits } else { bits }));
        }
        // 24-bit multiplication has only words.
        if bits == 32 && !wide && self.rng.one_in(6) {
            let f = move |v: &[u64]| {
                let (a, b) = (number(v[0] & 0xff_ffff, 24, sign), number(v[1] & 0xff_ffff, 24, sign));
                let product = if part == "lo" { a * b } else { (a * b) >> 16 };
                vec![(product as u64).wrapping_add(v.get(2).copied().unwrap_or(0))]
            };
            return self.pure(&format!("{name}24.{part}.{ty}"), &[d], &src, f);
        }
        self.pure(&format!("{name}.{part}.{ty}"), &[d], &src, move |v| {
            let product = match sign {
                true => (i128::from(signed(v[0], bits)) * i128::from(signed(v[1], bits))) as u128,
                false => u128::from(low(v[0], bits)) * u128::from(low(v[1], bits)),
            };
            let product = if part == "hi" { product >> bits } else { product } as u64;
            vec![product.wrapping_add(v.get(2).copied().unwrap_or(0))]
        });
    }

    /// Additions and subtractions whose carries go from one to the next, with nothing between.
    fn carries(&mut self) {
        let bits = self.rng.pick(&[32, 32, 32, 64]);
        let subtract = self.rng.one_in(3);
        let n = 2 + self.rng.below(3);
        for i in 0..n {
            let (first, last) = (i == 0, i + 1 == n);
            let multiply = !subtract && bits == 32 && self.rng.one_in(3);
            let (ty, sign) = self.type_of(bits);
            let cc = if last { "" } else { ".cc" };
            let carry = Reg(File::Carry, 0);
            let d = self.dst(bits);
            let (a, b) = (self.int(bits), self.int_or_imm(bits));
            let part = self.rng.pick(&["lo", "hi"]);
            let mut src = vec![a, b];
            let name = match (subtract, multiply, first) {
                (true, _, first) => format!("sub{}{cc}.{ty}", if first { "" } else { "c" }),
                (_, true, first) => {
                    src.push(self.int(bits));
                    format!("mad{}.{part}{cc}.{ty}", if first { "" } else { "c" })
                }
                (_, _, first) => format!("add{}{cc}.{ty}", if first { "" } else { "c" }),
            };
            let operands: Vec<String> = src.iter().map(|&s| show(s)).collect();
            let text = vec![format!("{name} {d}, {}", operands.join(", "))];
            if !first {
                src.push(Src::Reg(carry));
            }
            let mut dst = vec![d];
            if !last {
                dst.push(carry);
            }
            let f = move |v: &[u64]| {
                let c = if first { 0 } else { u128::from(v[v.len() - 1]) };
                let (a, b) = (u128::from(low(v[0], bits)), u128::from(low(v[1], bits)));
                let (value, out) = if subtract {
                    // The carry is a borrow here.
                    (a.wrapping_sub(b).wrapping_sub(c) as u64, a < b + c)
                } else {
                    let (x, y) = if multiply {
                        let product = number(v[0], bits, sign) * number(v[1], bits, sign);
                        let product = if part == "hi" { product >> bits } else { product };
                        (u128::from(low(product as u64, bits)), u128::from(low(v[2], bits)))
                    } else {
                        (a, b)
                    };
                    let sum = x + y + c;
                    (sum as u64, sum >> bits != 0)
                };
                if last { vec![value] } else { vec![value, out.into()] }
            };
            self.out.push(Stmt::Inst(Inst { text, guard: None, dst, src, what: What::Pure(Rc::new(f)) }));
        }
    }

    fn shift(&mut self) {
        if self.rng.one_in(4) {
            let (d, a, b, n) = (self.dst(32), self.int(32), self.int(32), self.int_or_imm(32));
            let (right, wrap) = (self.rng.one_in(2), self.rng.one_in(2));
            let name =
                format!("shf.{}.{}.b32", if right { "r" } else { "l" }, if wrap { "wrap" } else { "clamp" });
            return self.pure(&name, &[d], &[a, b, n], move |v| {
                let n = if wrap { v[2] & 31 } else { v[2].min(32) };
                let both = low(v[1], 32) << 32 | low(v[0], 32);
                vec![if right { both >> n } else { both.checked_shl(n as u32).unwrap_or(0) >> 32 }]
            });
        }
        let bits = self.width();
        let (d, a) = (self.dst(bits), self.int(bits));
        let n = if self.rng.one_in(2) { Src::Imm(self.rng.below(70)) } else { self.opaque() };
        let op = self.rng.pick(&["shl.b", "shr.u", "shr.s"]);
        self.pure(&format!("{op}{bits}"), &[d], &[a, n], move |v| {
            let n = low(v[1], 32).min(bits.into()) as u32;
            vec![match op {
                "shl.b" => v[0].checked_shl(n).unwrap_or(0),
                "shr.u" => low(v[0], bits).checked_shr(n).unwrap_or(0),
                _ => (signed(v[0], bits) >> n.min(63)) as u64,
            }]
        });
    }

    /// Bit fields and permutations of bytes.
    fn fields(&mut self) {
        let bits = self.rng.pick(&[32, 32, 64]);
        let (d, a, b) = (self.dst(bits), self.int(bits), self.int(bits));
        match self.rng.below(4) {
            0 | 1 => {
                let (ty, sign) = self.type_of(bits);
                let pos = self.position();
                let len = self.position();
                self.field(&format!("bfe.{ty}"), d, &[a], pos, len, move |v| {
                    let (pos, len) = ((v[1] & 255) as u32, (v[2] & 255) as u32);
                    let msb = bits - 1;
                    let top = if !sign || len == 0 { 0 } else { v[0] >> (pos + len - 1).min(msb) & 1 };
                    let bit = |i: u32| if i < len && pos + i <= msb { v[0] >> (pos + i) & 1 } else { top };
                    vec![(0..bits).fold(0, |d, i| d | bit(i) << i)]
                });
            }
            2 => {
                let (pos, len) = (self.position(), self.position());
                self.field(&format!("bfi.b{bits}"), d, &[a, b], pos, len, move |v| {
                    let (pos, len) = ((v[2] & 255) as u32, (v[3] & 255) as u32);
                    let inside = |i: u32| i >= pos && i < pos + len;
                    vec![(0..bits).fold(0, |d, i| {
                        d | if inside(i) { v[0] >> (i - pos) & 1 } else { v[1] >> i & 1 } << i
                    })]
                });
            }
            _ => {
                let (d, a, b, c) = (self.dst(32), self.int(32), self.int(32), self.int_or_imm(32));
                let mode = self.rng.pick(&["", "", "", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"]);
                self.pure(&format!("prmt.b32{mode}"), &[d], &[a, b, c], move |v| {
                    let bytes = low(v[1], 32) << 32 | low(v[0], 32);
                    let n = v[2] & 3;
                    let pick = |i: u64| match mode {
                        "" => v[2] >> (4 * i) & 15,
                        ".f4e" => n + i,
                        ".b4e" => n.wrapping_sub(i) & 7,
                        ".rc8" => n,
                        ".ecl" => i.max(n),
                        ".ecr" => i.min(n),
                        _ => (n & 1) * 2 + (i & 1),
                    };
                    vec![(0..4).fold(0, |d, i| d | permuted(bytes, pick(i)) << (8 * i))]
                });
            }
        }
    }

    /// The code that ptxas makes for fields of 64 bits looks at more than the low bytes of position and length.
    fn field(
        &mut self,
        name: &str,
        d: Reg,
        values: &[Src],
        pos: Src,
        len: Src,
        f: impl Fn(&[u64]) -> Vec<u64> + 'static,
    ) {
        let mut src = values.to_vec();
        src.extend([pos, len]);
        if d.0 == File::Word {
            return self.pure(name, &[d], &src, f);
        }
        let mut operands: Vec<String> = values.iter().map(|&s| show(s)).collect();
        operands.extend(["%t0".to_owned(), "%t1".to_owned()]);
        let text = vec![
            format!("and.b32 %t0, {}, 255", show(pos)),
            format!("and.b32 %t1, {}, 255", show(len)),
            format!("{name} {d}, {}", operands.join(", ")),
        ];
        self.emit(text, vec![d], src, What::Pure(Rc::new(f)));
    }

    /// A position or length of a field: from 32 on only where ptxas does not know it.
    fn position(&mut self) -> Src {
        if self.rng.one_in(2) { Src::Imm(self.rng.below(32)) } else { self.opaque() }
    }

    fn count_bits(&mut self) {
        let bits = self.rng.pick(&[32, 32, 64]);
        let a = self.int(bits);
        let d = self.dst(32);
        let places = bits - 1;
        match self.rng.below(5) {
            0 => self.pure(&format!("popc.b{bits}"), &[d], &[a], |v| vec![v[0].count_ones().into()]),
            1 => self.pure(&format!("clz.b{bits}"), &[d], &[a], move |v| {
                vec![(0..bits).find(|i| v[0] >> (places - i) & 1 != 0).unwrap_or(bits).into()]
            }),
            2 => {
                let d = self.dst(bits);
                self.pure(&format!("brev.b{bits}"), &[d], &[a], move |v| {
                    vec![(0..bits).fold(0, |d, i| d | (v[0] >> i & 1) << (places - i))]
                });
            }
            _ => {
                let (ty, sign) = self.type_of(bits);
                let amount = self.rng.one_in(2);
                let name = format!("bfind{}.{ty}", if amount { ".shiftamt" } else { "" });
                self.pure(&name, &[d], &[a], move |v| {
                    let v = if sign && signed(v[0], bits) < 0 { !v[0] } else { v[0] };
                    let found = (0..bits).rev().find(|i| v >> i & 1 != 0);
                    vec![found.map_or(0xffff_ffff, |i| if amount { places - i } else { i }.into())]
                });
            }
        }
    }

    fn comparison(&mut self, sign: Option<bool>) -> &'static str {
        let mut all = vec!["eq", "ne"];
        if sign.is_some() {
            all.extend(["lt", "le", "gt", "ge"]);
        }
        if sign == Some(false) {
            all.extend(["lo", "ls", "hi", "hs"]);
        }
        self.rng.pick(&all)
    }

    /// A comparison into one predicate or two, joined with a third.
    fn set_predicate(&mut self) {
        let bits = self.width();
        let (mut ty, sign) = self.type_of(bits);
        let bitwise = self.rng.one_in(6);
        if bitwise {
            ty = format!("b{bits}");
        }
        let cmp = self.comparison((!bitwise).then_some(sign));
        let (a, b) = (self.int(bits), self.int_or_imm(bits));
        let holds = move |v: &[u64]| compare(cmp, number(v[0], bits, sign), number(v[1], bits, sign));
        self.predicate(cmp, &ty, a, b, holds);
    }

    /// `setp` with everything that may stand around a comparison.
    pub(super) fn predicate(
        &mut self,
        cmp: &str,
        ty: &str,
        a: Src,
        b: Src,
        holds: impl Fn(&[u64]) -> bool + 'static,
    ) {
        let p = self.pred_dst();
        let q = self.pred_dst();
        let two = p != q && self.rng.one_in(3);
        let dst = if two { vec![p, q] } else { vec![p] };
        let names = if two { format!("{p}|{q}") } else { p.to_string() };
        let with = self.rng.pick(&["", "", "and", "or", "xor"]);
        if with.is_empty() {
            let text = vec![format!("setp.{cmp}.{ty} {names}, {}, {}", show(a), show(b))];
            let f = move |v: &[u64]| {
                let c = holds(v);
                [c, !c][..1 + usize::from(two)].iter().map(|&b| b.into()).collect()
            };
            return self.emit(text, dst, vec![a, b], What::Pure(Rc::new(f)));
        }
        let (c, neg) = (self.reg(File::Pred), self.rng.one_in(2));
        let not = if neg { "!" } else { "" };
        let text = vec![format!("setp.{cmp}.{with}.{ty} {names}, {}, {}, {not}{c}", show(a), show(b))];
        let f = move |v: &[u64]| {
            let (t, c) = (holds(v), (v[2] != 0) != neg);
            let all = [join(with, t, c), join(with, !t, c)];
            all[..1 + usize::from(two)].iter().map(|&b| b.into()).collect()
        };
        self.emit(text, dst, vec![a, b, Src::Reg(c)], What::Pure(Rc::new(f)));
    }

    fn predicates(&mut self) {
        let (d, a, b) = (self.pred_dst(), self.reg(File::Pred), self.reg(File::Pred));
        let op = self.rng.pick(&["and", "or", "xor", "not"]);
        let op = if a == b { "not" } else { op };
        let src = [Src::Reg(a), Src::Reg(b)];
        if op == "not" {
            return self.pure("not.pred", &[d], &src[..1], |v| vec![v[0] ^ 1]);
        }
        self.pure(&format!("{op}.pred"), &[d], &src, move |v| vec![join(op, v[0] != 0, v[1] != 0).into()]);
    }

    fn select(&mut self) {
        let bits = self.width();
        let (d, a, b) = (self.dst(bits), self.int(bits), self.int_or_imm(bits));
        if self.rng.one_in(2) {
            let p = Src::Reg(self.reg(File::Pred));
            let ty = self.rng.pick(&["b", "u", "s"]);
            return self.pure(&format!("selp.{ty}{bits}"), &[d], &[a, b, p], |v| {
                vec![if v[2] != 0 { v[0] } else { v[1] }]
            });
        }
        if self.rng.one_in(2) {
            let c = self.int(32);
            self.pure(&format!("slct.u{bits}.s32"), &[d], &[a, b, c], |v| {
                vec![if signed(v[2], 32) >= 0 { v[0] } else { v[1] }]
            });
        } else {
            let c = Src::Reg(self.reg(File::Float));
            let ftz = self.rng.one_in(2);
            let name = format!("slct{}.b{bits}.f32", if ftz { ".ftz" } else { "" });
            self.pure(&name, &[d], &[a, b, c], move |v| {
                let mut c = f32::from_bits(v[2] as u32);
                if ftz && c.is_subnormal() {
                    c = -0.0;
                }
                vec![if c >= 0.0 { v[0] } else { v[1] }]
            });
        }
    }

    /// A comparison into a register.
    fn set_word(&mut self) {
        let bits = self.width();
        let (ty, sign) = self.type_of(bits);
        let cmp = self.comparison(Some(sign));
        let (a, b) = (self.int(bits), self.int_or_imm(bits));
        let float = self.rng.one_in(3);
        let d = if float { self.reg(File::Float) } else { self.dst(32) };
        let to = if float { "f32" } else { self.rng.pick(&["u32", "s32"]) };
        let one: u64 = if float { 0x3f80_0000 } else { 0xffff_ffff };
        self.pure(&format!("set.{cmp}.{to}.{ty}"), &[d], &[a, b], move |v| {
            vec![if compare(cmp, number(v[0], bits, sign), number(v[1], bits, sign)) { one } else { 0 }]
        });
        self.always();
    }

    /// Halves to wholes and back.
    fn pack(&mut self) {
        let (half, whole) = self.rng.pick(&[(16, 32), (32, 64)]);
        if self.rng.one_in(2) {
            let (d, a, b) = (self.dst(whole), self.int(half), self.int(half));
            let text = vec![format!("mov.b{whole} {d}, {{{}, {}}}", show(a), show(b))];
            let f = move |v: &[u64]| vec![low(v[0], half) | v[1] << half];
            return self.emit(text, vec![d], vec![a, b], What::Pure(Rc::new(f)));
        }
        let (x, y, a) = (self.dst(half), self.dst(half), self.int(whole));
        if x == y {
            return;
        }
        let text = vec![format!("mov.b{whole} {{{x}, {y}}}, {}", show(a))];
        self.emit(
            text,
            vec![x, y],
            vec![a],
            What::Pure(Rc::new(move |v| vec![low(v[0], half), v[0] >> half])),
        );
    }
}
