//! Random programs: every ALU opcode at every size, `if` and loops with phis, values that are read far from where they are made.

use super::opcodes::{Opcode, Ty, foreign, is_horizontal, opcodes, sizes};
use super::program::{INPUTS, Program, Stmt, Value};
use nvir::random::Random;
use nvir_reference::softmath::operands::operand;
use std::collections::HashSet;
use std::sync::LazyLock;

/// Opcodes that work component by component, and the sizes of each.
static OPCODES: LazyLock<Vec<(Opcode, Vec<u32>)>> = LazyLock::new(|| {
    let wanted = opcodes().into_iter().filter(|op| !foreign(&op.name) && !is_horizontal(op));
    wanted.map(|op| (sizes(&op), op)).map(|(sizes, op)| (op, sizes)).collect()
});

/// What programs are mostly made of.
const COMMON: &[&str] = &[
    "iadd",
    "isub",
    "imul",
    "iand",
    "ior",
    "ixor",
    "ishl",
    "ishr",
    "ushr",
    "ineg",
    "inot",
    "imin",
    "umax",
    "bcsel",
    "ieq",
    "ilt",
    "ult",
    "uge",
    "fadd",
    "fmul",
    "ffma",
    "fmin",
    "fmax",
    "fneg",
    "fabs",
    "flt",
    "fge",
    "i2f32",
    "f2i32",
    "u2u64",
    "u2u32",
    "i2i16",
    "u2u8",
    "b2i32",
    "udiv",
    "idiv",
    "umod",
    "irem",
    "ubfe",
    "ibfe",
    "extract_u8",
    "extract_i16",
    "umul_high",
];

/// Opcodes whose results are never open.
const SAFE: &[&str] = &[
    "mov",
    "iadd",
    "isub",
    "imul",
    "iand",
    "ior",
    "ixor",
    "inot",
    "ineg",
    "imin",
    "imax",
    "umin",
    "umax",
    "ieq",
    "ine",
    "ilt",
    "ige",
    "ult",
    "uge",
    "bcsel",
    "u2u8",
    "u2u16",
    "u2u32",
    "u2u64",
    "i2i8",
    "i2i16",
    "i2i32",
    "i2i64",
    "b2i32",
    "b2i8",
    "b2i16",
    "b2i64",
    "ishl",
    "ishr",
    "ushr",
    "iabs",
    "umul_high",
    "imul_high",
];

fn named(name: &str) -> Option<&'static (Opcode, Vec<u32>)> {
    OPCODES.iter().find(|o| o.0.name == name)
}

struct Generator<'r> {
    r: &'r mut Random,
    p: Program,
    /// Values that may be read here, and whether they are never open.
    visible: Vec<Value>,
    safe: Vec<bool>,
    /// Components of vectors: operands may be such, but not what a phi takes.
    parts: HashSet<Value>,
    left: usize,
    depth: usize,
}

/// A program of random size.
pub(super) fn program(r: &mut Random) -> Program {
    let left = 8 + r.below(90);
    let mut g = Generator {
        r,
        p: Program::default(),
        visible: Vec::new(),
        safe: Vec::new(),
        parts: HashSet::new(),
        left,
        depth: 0,
    };
    let mut code = Vec::new();
    let d = g.value(32, true);
    code.push(Stmt::Thread { d });
    for _ in 0..2 {
        g.input(&mut code);
    }
    while g.left > 0 {
        g.statement(&mut code);
    }
    // Late values, and some of all.
    let count = 1 + g.r.below(10);
    for _ in 0..count {
        let v = g.any();
        g.p.outputs.push(v);
    }
    g.p.code = code;
    g.p
}

impl Generator<'_> {
    fn value(&mut self, bits: u32, safe: bool) -> Value {
        self.p.bits.push(bits);
        self.safe.push(safe);
        self.visible.push(self.p.bits.len() - 1);
        self.p.bits.len() - 1
    }

    fn input(&mut self, code: &mut Vec<Stmt>) {
        let comps = 1 + self.r.below(4);
        let word = self.r.below(2 * INPUTS - comps + 1);
        let d: Vec<Value> = (0..comps).map(|_| self.value(32, true)).collect();
        if comps > 1 {
            self.parts.extend(&d);
        }
        code.push(Stmt::Input { d, word });
    }

    /// A visible value, rather one of the last.
    fn any(&mut self) -> Value {
        let n = self.visible.len();
        let back = if self.r.one_in(3) { self.r.below(n) } else { self.r.below(n.min(8)) };
        self.visible[n - 1 - back]
    }

    /// A value of that size that may be read here: there, or made now.
    fn of_size(&mut self, bits: u32, safe: bool, code: &mut Vec<Stmt>) -> Value {
        for _ in 0..6 {
            let v = self.any();
            if self.p.bits[v] == bits && (self.safe[v] || !safe) {
                return v;
            }
        }
        if self.r.one_in(3) || bits == 1 && !self.r.one_in(4) {
            // From a number of another size, or by a comparison.
            let v = loop {
                let v = self.any();
                if self.p.bits[v] != 1 && (self.safe[v] || !safe) {
                    break v;
                }
            };
            if self.p.bits[v] == bits {
                return v;
            }
            if bits == 1 {
                let other = self.constant(self.p.bits[v], code);
                let name = *self.r.of_list(&["ieq", "ult", "ilt", "uge", "ine"]);
                return self.op(name, 1, vec![v, other], code);
            }
            let kind = *self.r.of_list(&["u2u", "i2i"]);
            return self.op(&format!("{kind}{bits}"), bits, vec![v], code);
        }
        self.constant(bits, code)
    }

    /// The same for a phi.
    fn for_phi(&mut self, bits: u32, safe: bool, code: &mut Vec<Stmt>) -> Value {
        let v = self.of_size(bits, safe, code);
        if self.parts.contains(&v) { self.op("mov", bits, vec![v], code) } else { v }
    }

    fn constant(&mut self, bits: u32, code: &mut Vec<Stmt>) -> Value {
        let base = if bits >= 16 && self.r.one_in(4) { 'f' } else { 'i' };
        let value = if bits == 1 { self.r.below(2) as u64 } else { operand(self.r, base, bits) };
        let d = self.value(bits, true);
        code.push(Stmt::Constant { d, value });
        d
    }

    /// Applies an opcode that there is.
    fn op(&mut self, name: &str, bits: u32, srcs: Vec<Value>, code: &mut Vec<Stmt>) -> Value {
        let (op, _) = named(name).expect("in the table");
        let safe = SAFE.contains(&name) && srcs.iter().all(|&s| self.safe[s]);
        let d = self.value(bits, safe);
        code.push(Stmt::Op { d, op, srcs });
        d
    }

    fn alu(&mut self, code: &mut Vec<Stmt>) {
        let common = if self.r.one_in(3) { None } else { named(self.r.of_list::<&str>(COMMON)) };
        let (op, sizes) = match common {
            Some(op) => op,
            None => self.r.of_list(OPCODES.as_slice()),
        };
        let open = if common.is_some() && sizes.contains(&32) && !self.r.one_in(3) {
            32
        } else {
            *self.r.of_list(sizes)
        };
        let bits = |t: &Ty| if t.bits == 0 { open } else { t.bits };
        let srcs: Vec<Value> = op.srcs.iter().map(|t| self.of_size(bits(t), false, code)).collect();
        self.op(&op.name, bits(&op.dest), srcs, code);
    }

    fn statement(&mut self, code: &mut Vec<Stmt>) {
        self.left = self.left.saturating_sub(1);
        match self.r.below(24) {
            0 => self.input(code),
            1 | 2 if self.depth < 4 => self.branch(code),
            3 if self.depth < 3 => self.repeat(code),
            _ => self.alu(code),
        }
    }

    /// Some statements whose values are seen by what `then` makes of them, and by nobody after that.
    fn nested<T>(
        &mut self,
        most: usize,
        then: impl FnOnce(&mut Self, &mut Vec<Stmt>) -> T,
    ) -> (Vec<Stmt>, T) {
        let seen = self.visible.len();
        self.depth += 1;
        let mut code = Vec::new();
        for _ in 0..self.r.below(most) {
            self.statement(&mut code);
        }
        let result = then(self, &mut code);
        self.depth -= 1;
        self.visible.truncate(seen);
        (code, result)
    }

    fn branch(&mut self, code: &mut Vec<Stmt>) {
        let condition = self.of_size(1, true, code);
        let sizes: Vec<u32> =
            (0..self.r.below(4)).map(|_| *self.r.of_list(&[32, 32, 32, 64, 16, 8, 1])).collect();
        let pick = |g: &mut Self, code: &mut Vec<Stmt>| -> Vec<Value> {
            sizes.iter().map(|&bits| g.for_phi(bits, false, code)).collect()
        };
        let (then, a) = self.nested(6, pick);
        let (els, b) = self.nested(if self.depth.is_multiple_of(2) { 6 } else { 1 }, pick);
        let phis = a
            .into_iter()
            .zip(b)
            .map(|(a, b)| {
                let safe = self.safe[a] && self.safe[b];
                (self.value(self.p.bits[a], safe), a, b)
            })
            .collect();
        code.push(Stmt::If { condition, then, els, phis });
    }

    fn repeat(&mut self, code: &mut Vec<Stmt>) {
        let zero = self.value(32, true);
        code.push(Stmt::Constant { d: zero, value: 0 });
        let mut first = vec![zero];
        for _ in 0..self.r.below(4) {
            let bits = *self.r.of_list(&[32, 32, 64, 16, 1]);
            first.push(self.for_phi(bits, false, code));
        }
        let own: Vec<Value> = first
            .iter()
            .map(|&f| {
                let safe = self.safe[f];
                self.value(self.p.bits[f], safe)
            })
            .collect();
        self.depth += 1;
        let mut body = Vec::new();
        for _ in 0..self.r.below(5) {
            self.statement(&mut body);
        }
        // It is left after some rounds at the latest: as many in all lanes, or not.
        let limit = if self.r.one_in(2) {
            let value = self.r.below(6) as u64;
            let d = self.value(32, true);
            body.push(Stmt::Constant { d, value });
            d
        } else {
            let v = self.of_size(32, true, &mut body);
            let d = self.value(32, true);
            body.push(Stmt::Constant { d, value: 7 });
            self.op("iand", 32, vec![v, d], &mut body)
        };
        let mut leave = self.op("uge", 1, vec![own[0], limit], &mut body);
        if self.r.one_in(3) {
            let early = self.of_size(1, true, &mut body);
            leave = self.op("ior", 1, vec![leave, early], &mut body);
        }
        let seen = self.visible.len();
        let mut rest = Vec::new();
        for _ in 0..self.r.below(5) {
            self.statement(&mut rest);
        }
        let one = self.value(32, true);
        rest.push(Stmt::Constant { d: one, value: 1 });
        let mut next = vec![self.op("iadd", 32, vec![own[0], one], &mut rest)];
        for &v in &own[1..] {
            next.push(self.for_phi(self.p.bits[v], self.safe[v], &mut rest));
        }
        self.depth -= 1;
        // What was made before the way out may be read behind the loop.
        self.visible.truncate(seen);
        let phis = own.into_iter().zip(first.into_iter().zip(next)).map(|(d, (a, b))| (d, a, b)).collect();
        code.push(Stmt::Loop { phis, body, leave, rest });
    }
}
