//! Video instructions, from the pseudo-code of the PTX ISA: scalar ones with selectors, a second operation or a merge,
//! and those on two halves or four bytes.

use super::generate::{Generator, show};
use super::int::compare;
use super::program::*;
use nvir_reference::softmath::{clamp, low, number};
use std::rc::Rc;

const SELECTORS: [(&str, u32, u32); 7] = [
    ("", 0, 32),
    (".b0", 0, 8),
    (".b1", 8, 8),
    (".b2", 16, 8),
    (".b3", 24, 8),
    (".h0", 0, 16),
    (".h1", 16, 16),
];

fn part(v: u64, selector: (&str, u32, u32), sign: bool) -> i128 {
    number(low(v, 32) >> selector.1, selector.2, sign)
}

fn name_of(sign: bool) -> &'static str {
    if sign { "s32" } else { "u32" }
}

impl Generator {
    pub(super) fn video(&mut self) {
        match self.rng.below(4) {
            0 => self.simd(),
            1 => self.video_mad(),
            _ => self.scalar(),
        }
    }

    fn selector(&mut self) -> (&'static str, u32, u32) {
        if self.rng.one_in(3) { SELECTORS[0] } else { self.rng.pick(&SELECTORS) }
    }

    fn scalar(&mut self) {
        let op = self.rng.pick(&["vadd", "vsub", "vabsdiff", "vmin", "vmax", "vset", "vshl", "vshr"]);
        let shift = matches!(op, "vshl" | "vshr");
        let (ds, sa, sb) = (self.rng.one_in(2), self.rng.one_in(2), !shift && self.rng.one_in(2));
        let (pa, pb) = (self.selector(), self.selector());
        let (d, a, b, c) = (self.dst(32), self.opaque(), self.opaque(), self.int(32));
        // How many bits a left shift keeps before it saturates is not said.
        let sat = !matches!(op, "vset" | "vshl") && self.rng.one_in(3);
        let wrap = self.rng.one_in(2);
        let cmp = self.rng.pick(&["eq", "ne", "lt", "le", "gt", "ge"]);
        // Plain, with a second operation, or merged into a part of c.
        let second = self.rng.pick(&["", "", "add", "min", "max", "merge"]);
        let merge = if second == "merge" { SELECTORS[1 + self.rng.below(6) as usize] } else { SELECTORS[0] };
        let mut name = op.to_owned();
        if op != "vset" {
            name += &format!(".{}", name_of(ds));
        }
        name += &format!(".{}.{}", name_of(sa), name_of(sb));
        if sat {
            name += ".sat";
        }
        match op {
            "vset" => name += &format!(".{cmp}"),
            _ if shift => name += if wrap { ".wrap" } else { ".clamp" },
            _ => {}
        }
        let ds = ds && op != "vset";
        let mut src = vec![a, b];
        let mut text = format!("{d}{}, {}{}, {}{}", merge.0, show(a), pa.0, show(b), pb.0);
        if !second.is_empty() {
            src.push(c);
            text += &format!(", {}", show(c));
        }
        if !matches!(second, "" | "merge") {
            name += &format!(".{second}");
        }
        let f = move |v: &[u64]| {
            let (x, y) = (part(v[0], pa, sa), part(v[1], pb, sb));
            let n = if wrap { y & 31 } else { y.min(32) };
            let r = match op {
                "vadd" => x + y,
                "vsub" => x - y,
                "vabsdiff" => (x - y).abs(),
                "vmin" => x.min(y),
                "vmax" => x.max(y),
                "vset" => compare(cmp, x, y).into(),
                "vshl" => x << n,
                _ => x >> n,
            };
            let r = if sat { clamp(r, merge.2, ds) } else { r as u64 };
            vec![match second {
                "" => r,
                "add" => r.wrapping_add(v[2]),
                "min" => number(r, 32, ds).min(number(v[2], 32, ds)) as u64,
                "max" => number(r, 32, ds).max(number(v[2], 32, ds)) as u64,
                _ => {
                    let mask = low(!0, merge.2) << merge.1;
                    v[2] & !mask | r << merge.1 & mask
                }
            }]
        };
        self.emit(vec![format!("{name} {text}")], vec![d], src, What::Pure(Rc::new(f)));
    }

    /// Types of the product and of the sum are the same: signed if a factor is.
    fn video_mad(&mut self) {
        let (sa, sb) = (self.rng.one_in(2), self.rng.one_in(2));
        let ds = sa || sb;
        let parts = [SELECTORS[1], SELECTORS[3], SELECTORS[5], SELECTORS[6]];
        let (pa, pb) = (self.rng.pick(&parts), self.rng.pick(&parts));
        let (d, a, b, c) = (self.dst(32), self.opaque(), self.opaque(), self.int(32));
        let sat = self.rng.one_in(3);
        let (scale, shift) = self.rng.pick(&[("", 0), (".shr7", 7), (".shr15", 15)]);
        let text = format!(
            "vmad.{}.{}.{}{}{scale} {d}, {}{}, {}{}, {}",
            name_of(ds),
            name_of(sa),
            name_of(sb),
            if sat { ".sat" } else { "" },
            show(a),
            pa.0,
            show(b),
            pb.0,
            show(c),
        );
        let f = move |v: &[u64]| {
            let sum = part(v[0], pa, sa) * part(v[1], pb, sb) + number(v[2], 32, ds);
            let r = sum >> shift;
            vec![if sat { clamp(r, 32, ds) } else { r as u64 }]
        };
        self.emit(vec![text], vec![d], vec![a, b, c], What::Pure(Rc::new(f)));
    }

    fn simd(&mut self) {
        let lanes = self.rng.pick(&[2u32, 4]);
        let bits = 32 / lanes;
        let op = self.rng.pick(&["vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax", "vset"]);
        let (ds, sa, sb) = (self.rng.one_in(2), self.rng.one_in(2), self.rng.one_in(2));
        let (d, a, b, c) = (self.dst(32), self.opaque(), self.opaque(), self.int(32));
        let cmp = self.rng.pick(&["eq", "ne", "lt", "le", "gt", "ge"]);
        let mut name = format!("{op}{lanes}");
        if op != "vset" {
            name += &format!(".{}", name_of(ds));
        }
        name += &format!(".{}.{}", name_of(sa), name_of(sb));
        let (add, sat) = (self.rng.one_in(3), op != "vset" && self.rng.one_in(3));
        if op == "vset" {
            name += &format!(".{cmp}");
        }
        // A second addition and saturation exclude each other.
        let sat = sat && !add;
        name += if add {
            ".add"
        } else if sat {
            ".sat"
        } else {
            ""
        };
        let mask = 1 + self.rng.below((1 << lanes) - 1);
        let (letter, letters) = if lanes == 2 { ("h", "h10") } else { ("b", "b3210") };
        let mut shown = format!(".{letter}");
        for i in (0..lanes).rev().filter(|i| mask >> i & 1 != 0) {
            shown += &i.to_string();
        }
        let choose = |g: &mut Generator| -> (String, Vec<u32>) {
            if g.rng.one_in(2) {
                return (format!(".{letters}"), (0..lanes).collect());
            }
            let picks: Vec<u32> = (0..lanes).map(|_| g.rng.below(2 * u64::from(lanes)) as u32).collect();
            let digits: String = picks.iter().rev().map(u32::to_string).collect();
            (format!(".{letter}{digits}"), picks)
        };
        let ((ta, la), (tb, lb)) = (choose(self), choose(self));
        let text = format!("{name} {d}{shown}, {}{ta}, {}{tb}, {}", show(a), show(b), show(c));
        let f = move |v: &[u64]| {
            let both = low(v[1], 32) << 32 | low(v[0], 32);
            let ds = ds && op != "vset";
            let mut r = v[2];
            for i in (0..lanes).filter(|i| mask >> i & 1 != 0) {
                let x = number(both >> (la[i as usize] * bits), bits, sa);
                let y = number(both >> (lb[i as usize] * bits), bits, sb);
                let t = match op {
                    "vadd" => x + y,
                    "vsub" => x - y,
                    "vavrg" if x + y >= 0 => (x + y + 1) >> 1,
                    "vavrg" => (x + y) >> 1,
                    "vabsdiff" => (x - y).abs(),
                    "vmin" => x.min(y),
                    "vmax" => x.max(y),
                    _ => compare(cmp, x, y).into(),
                };
                let t = if sat { clamp(t, bits, ds) } else { t as u64 };
                if add {
                    r = r.wrapping_add(t);
                } else {
                    let field = low(!0, bits) << (i * bits);
                    r = r & !field | t << (i * bits) & field;
                }
            }
            vec![r]
        };
        self.emit(vec![text], vec![d], vec![a, b, c], What::Pure(Rc::new(f)));
    }
}
