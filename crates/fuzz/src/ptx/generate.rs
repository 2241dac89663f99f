//! Random kernels: control flow, memory, and what threads give each other. What instructions compute is in `int`,
//! `float` and `video`.
//!
//! ptxas 11.8 itself deviates from the PTX ISA here and there, so the generator keeps off these places. Some operands are
//! registers that ptxas can know nothing of (`Generator::opaque`).
//!
//! - Constant operands: positions of `bfe` from 32 on, the subtrahend of `sub.sat`, operands of video instructions.
//! - `cvt.u16.s8` leaves sign bits in the upper half of a 32-bit register; `cvt.sat` of a value that was converted before
//!   looks at the first type (`cvt.sat.s16.u32` of an `s8` is `I2I.S16.S8.SAT`); `cvt.ftz.f16.f32` flushes nothing; a
//!   conversion to float from 64 bits that hold a value of 32 loses its rounding mode.
//! - `abs` and `neg` of 16 bits become modifiers of what follows, which says another thing of the smallest number. `add.sat`
//!   of a sum is reassociated.
//! - Guards: `set` converts what the guard keeps, too; `testp` loses the guard; `cvt` to `f16` takes what the guard keeps
//!   through `f32` and back (`F2F.F32.F16`, `F2F.F16.F32`), and its NaNs come out as another. These are never guarded.
//! - `shl.b16` by an amount that was loaded as `s16` takes a negative one for 0.
//! - Chains of carries in loops are made into products, whose carry is another one.
//! - A loop that is entered under a condition takes that for true in all rounds, even where the predicate changes: in
//!   loops it does not.
//! - `cvt.s64.u32` before a left shift extends the sign; `.ftz` of `setp` is lost where the result is negated.
//! - A copy of a predicate (`and.pred` with itself) is replaced by the original, which may have changed.
//! - A byte of an `f16` is its value, clamped (`F2I.U32.F16.TRUNC`, `I2I.U8.U32.SAT`), not a byte of its bits.
//! - Fields of 64 bits look at all of position and length, of which the ISA defines the low eight bits.
//! - `vote` and `shfl` sink into branches that use the result, where fewer threads are: a volatile store holds them.

use super::program::*;
use nvir::random::Random;
use nvir_reference::softmath::number;
use std::rc::Rc;

pub(super) struct Generator {
    pub rng: Random,
    pub out: Vec<Stmt>,
    depth: usize,
    pub loops: usize,
    /// All threads of the block are here together.
    uniform: bool,
    /// Whether a loop is around that may be left early.
    may_leave: bool,
    threads: u32,
    left: usize,
    /// Predicates of the branches around.
    conditions: Vec<Reg>,
}

/// Predicates that conditions around may test: one is left to be written.
const TESTED: usize = 3;

/// The kernel of a seed.
pub(super) fn kernel(name: &str, seed: u64, threads: u32, size: usize) -> Kernel {
    let mut g = Generator {
        rng: Random::new(seed),
        out: Vec::new(),
        depth: 0,
        loops: 0,
        uniform: true,
        may_leave: false,
        threads,
        left: size,
        conditions: Vec::new(),
    };
    while g.left > 0 {
        g.statement();
    }
    Kernel { name: name.to_owned(), threads, body: g.out, seed }
}

/// What the kernel reads: words of all kinds.
pub(super) fn inputs(k: &Kernel) -> Vec<u32> {
    let mut rng = Random::new(k.seed ^ 0x5eed);
    let mut words = Vec::new();
    for _ in 0..k.threads * INPUTS / 2 {
        if rng.one_in(2) {
            let pair = rng.special(64);
            words.extend([pair as u32, (pair >> 32) as u32]);
        } else {
            words.extend([rng.special(32) as u32, rng.special(32) as u32]);
        }
    }
    words
}

impl Generator {
    pub(super) fn reg(&mut self, file: File) -> Reg {
        Reg(file, self.rng.below(count(file)))
    }

    /// A register whose value ptxas cannot know.
    pub(super) fn opaque(&mut self) -> Src {
        Src::Reg(self.reg(File::Opaque))
    }

    /// The file of integers of a size.
    pub(super) fn int_file(bits: u32) -> File {
        match bits {
            16 => File::Half,
            32 => File::Word,
            _ => File::Pair,
        }
    }

    pub(super) fn int(&mut self, bits: u32) -> Src {
        let file = match (bits, self.rng.below(6)) {
            (32, 0) => File::Opaque,
            (64, 0) => File::OpaquePair,
            _ => Self::int_file(bits),
        };
        Src::Reg(self.reg(file))
    }

    /// A register or an immediate.
    pub(super) fn int_or_imm(&mut self, bits: u32) -> Src {
        if self.rng.one_in(4) { Src::Imm(self.rng.special(bits)) } else { self.int(bits) }
    }

    pub(super) fn dst(&mut self, bits: u32) -> Reg {
        self.reg(Self::int_file(bits))
    }

    /// A predicate that decides the way of what follows.
    fn condition(&mut self) -> Reg {
        let known: Vec<Reg> = self.conditions.clone();
        let others = (0..count(File::Pred)).filter(|&n| known.contains(&Reg(File::Pred, n))).count();
        let p = if others < TESTED { self.reg(File::Pred) } else { self.rng.pick(&known) };
        self.conditions.push(p);
        p
    }

    /// A predicate to be written: in a loop none of those that a condition around tests.
    pub(super) fn pred_dst(&mut self) -> Reg {
        loop {
            let p = self.reg(File::Pred);
            if self.loops == 0 || !self.conditions.contains(&p) {
                return p;
            }
        }
    }

    pub(super) fn guard(&mut self) -> Option<(Reg, bool)> {
        let (p, neg) = (self.reg(File::Pred), self.rng.one_in(2));
        self.rng.one_in(10).then_some((p, neg))
    }

    pub(super) fn emit(&mut self, text: Vec<String>, dst: Vec<Reg>, src: Vec<Src>, what: What) {
        let guard = if matches!(what, What::Warp(_) | What::Exchange(_)) { None } else { self.guard() };
        self.out.push(Stmt::Inst(Inst { text, guard, dst, src, what }));
        self.left = self.left.saturating_sub(1);
    }

    /// The last instruction loses its guard.
    pub(super) fn always(&mut self) {
        if let Some(Stmt::Inst(i)) = self.out.last_mut() {
            i.guard = None;
        }
    }

    /// An instruction with its operands in order: `name d, a, b ...`.
    pub(super) fn pure(
        &mut self,
        name: &str,
        dst: &[Reg],
        src: &[Src],
        f: impl Fn(&[u64]) -> Vec<u64> + 'static,
    ) {
        let mut operands: Vec<String> = dst.iter().map(Reg::to_string).collect();
        operands.extend(src.iter().map(|s| show(*s)));
        let text = format!("{name} {}", operands.join(", "));
        self.emit(vec![text], dst.to_vec(), src.to_vec(), What::Pure(Rc::new(f)));
    }

    fn block(&mut self, most: u64) -> Vec<Stmt> {
        let outer = std::mem::take(&mut self.out);
        for _ in 0..=self.rng.below(most) {
            self.statement();
        }
        std::mem::replace(&mut self.out, outer)
    }

    pub(super) fn statement(&mut self) {
        let nest = self.depth < 4 && self.left > 0;
        match self.rng.below(64) {
            0..=2 if nest => self.branch(),
            3..=4 if nest && self.loops < 2 => self.repeat(),
            5 | 6 if self.may_leave => self.leave(),
            7..=13 => self.memory(),
            14 | 15 if self.uniform => self.lanes(),
            16 if self.uniform => self.exchange(),
            17..=18 => self.sum(),
            19..=20 => self.atomic(),
            21..=26 => self.video(),
            27..=38 => self.float(),
            39..=44 => self.convert(),
            _ => self.integer(),
        }
    }

    fn branch(&mut self) {
        let around = self.conditions.len();
        let (p, neg) = (self.condition(), self.rng.one_in(2));
        let uniform = std::mem::take(&mut self.uniform);
        self.depth += 1;
        let yes = self.block(4);
        let no = if self.rng.one_in(2) { self.block(4) } else { Vec::new() };
        self.depth -= 1;
        self.conditions.truncate(around);
        self.uniform = uniform;
        // At -O0 a branch to the next instruction parts threads, and nothing joins them before a barrier.
        if !yes.is_empty() || !no.is_empty() {
            self.out.push(Stmt::If(p, neg, yes, no));
        }
    }

    fn repeat(&mut self) {
        let counter = Reg(File::Counter, self.loops as u8);
        // Threads that leave an inner loop at different times need not meet again before the next round of the outer one.
        let inside = self.uniform && self.loops > 0;
        let even = inside || self.rng.one_in(2);
        let rounds = if even { Src::Imm(1 + self.rng.below(4)) } else { self.opaque() };
        let before = (self.uniform, self.may_leave);
        let early = !inside && (!even || !self.uniform || self.rng.one_in(2));
        self.uniform &= !early;
        self.may_leave = early;
        self.depth += 1;
        self.loops += 1;
        let around = self.conditions.len();
        let body = self.block(6);
        self.conditions.truncate(around);
        self.loops -= 1;
        self.depth -= 1;
        (self.uniform, self.may_leave) = before;
        self.out.push(Stmt::Loop { counter, rounds, body });
    }

    fn leave(&mut self) {
        let (p, neg) = (self.condition(), self.rng.one_in(2));
        let s = if self.rng.one_in(2) { Stmt::Break(p, neg) } else { Stmt::Continue(p, neg) };
        self.out.push(s);
    }

    /// A place for an access of so many bytes, the lines that find it, and how the text names it.
    fn place(&mut self, bytes: u32, local: bool) -> (Place, Vec<String>, String) {
        let spaces: &[Space] = if local {
            &[Space::Global, Space::Shared, Space::Local]
        } else {
            &[Space::Global, Space::Shared]
        };
        let space = self.rng.pick(spaces);
        let base = ["%gb", "%sb", "%lb"][space as usize];
        if self.rng.one_in(2) {
            let offset = self.rng.below(u64::from(OWN / bytes)) as u32 * bytes;
            return (Place { space, offset, index: None }, Vec::new(), format!("[{base}+{offset}]"));
        }
        // Half of the memory by the register, the other half by the offset.
        let half = OWN / 2;
        let mask = (half - 1) & !(bytes - 1);
        let offset = self.rng.below(u64::from(half / bytes) + 1) as u32 * bytes;
        let r = self.reg(File::Word);
        let mut text = vec![format!("and.b32 %t0, {r}, {mask}")];
        if space == Space::Global {
            text.push("cvt.u64.u32 %a0, %t0".to_owned());
            text.push("add.u64 %a0, %a0, %gb".to_owned());
            (Place { space, offset, index: Some((r, mask)) }, text, format!("[%a0+{offset}]"))
        } else {
            text.push(format!("add.u32 %t1, %t0, {base}"));
            (Place { space, offset, index: Some((r, mask)) }, text, format!("[%t1+{offset}]"))
        }
    }

    /// A load or store, perhaps of a vector.
    fn memory(&mut self) {
        let (ty, bits, file) = self.rng.pick(&[
            ("u8", 8, File::Word),
            ("s8", 8, File::Word),
            ("u16", 16, File::Word),
            ("s16", 16, File::Word),
            ("b16", 16, File::Half),
            ("s8", 8, File::Half),
            ("u32", 32, File::Word),
            ("b32", 32, File::Word),
            ("f32", 32, File::Float),
            ("b64", 64, File::Pair),
            ("u32", 32, File::Pair),
            ("s32", 32, File::Pair),
            ("f64", 64, File::Double),
        ]);
        let n = self.rng.pick(&[1, 1, 2, if bits == 64 { 2 } else { 4 }]);
        let access = Access { bytes: bits / 8, signed: ty.starts_with('s') };
        let (place, mut text, at) = self.place(access.bytes * n, true);
        let store = self.rng.one_in(2)
            && !(matches!(file, File::Float | File::Double))
            && (file, bits) != (File::Half, 8);
        // The registers of a vector are different ones.
        let first = self.rng.below(u64::from(count(file)) + 1 - u64::from(n)) as u8;
        let regs: Vec<Reg> = (0..n as u8).map(|i| Reg(file, first + i)).collect();
        let list = regs.iter().map(Reg::to_string).collect::<Vec<_>>().join(", ");
        let list = if n == 1 { list } else { format!("{{{list}}}") };
        let vector = if n == 1 { String::new() } else { format!(".v{n}") };
        let space = place.space.name();
        if store {
            text.push(format!("st.{space}{vector}.{ty} {at}, {list}"));
            let src = regs.into_iter().map(Src::Reg).collect();
            self.emit(text, Vec::new(), src, What::Store(place, access));
        } else {
            text.push(format!("ld.{space}{vector}.{ty} {list}, {at}"));
            self.emit(text, regs, Vec::new(), What::Load(place, access));
        }
    }

    /// An atomic operation on memory of the thread's own.
    fn atomic(&mut self) {
        let bits = self.rng.pick(&[32, 32, 64]);
        let (op, f) = self.rng.pick(ATOMICS);
        let signed = matches!(op, "min" | "max") && self.rng.one_in(2);
        let ty = match op {
            "and" | "or" | "xor" | "exch" | "cas" => "b",
            _ if signed => "s",
            _ => "u",
        };
        let bits = if matches!(op, "inc" | "dec") { 32 } else { bits };
        let (place, mut text, at) = self.place(bits / 8, false);
        let a = self.int(bits);
        let mut src = vec![a];
        if op == "cas" {
            src.push(self.int(bits));
        }
        let operands = src.iter().map(|&s| show(s)).collect::<Vec<_>>().join(", ");
        let meaning: Meaning = Rc::new(move |v| vec![f(v, bits, signed)]);
        let access = Access { bytes: bits / 8, signed: false };
        let space = place.space.name();
        if op != "cas" && op != "exch" && self.rng.one_in(3) {
            text.push(format!("red.{space}.{op}.{ty}{bits} {at}, {operands}"));
            self.emit(text, Vec::new(), src, What::Atomic(place, access, meaning));
        } else {
            let d = self.dst(bits);
            text.push(format!("atom.{space}.{op}.{ty}{bits} {d}, {at}, {operands}"));
            self.emit(text, vec![d], src, What::Atomic(place, access, meaning));
        }
    }

    /// What all threads add up: each word has one operation.
    fn sum(&mut self) {
        const OPS: [&str; 7] = ["add", "and", "or", "xor", "min", "max", "inc"];
        let n = self.rng.below(OPS.len() as u64) as usize;
        let space = self.rng.pick(&[Space::Global, Space::Shared]);
        let f = ATOMICS.iter().find(|a| a.0 == OPS[n]).expect("it is there").1;
        let src = if OPS[n] == "inc" { Src::Imm(100) } else { self.int(32) };
        let at = match space {
            Space::Global => format!("[%sum+{}]", 4 * n),
            _ => format!("[SUMS+{}]", 4 * n),
        };
        let ty = if matches!(OPS[n], "and" | "or" | "xor") { "b32" } else { "u32" };
        let text = vec![format!("red.{}.{}.{ty} {at}, {}", space.name(), OPS[n], show(src))];
        let access = Access { bytes: 4, signed: false };
        self.emit(
            text,
            Vec::new(),
            vec![src],
            What::Sum(space, n as u32, access, Rc::new(move |v| vec![f(v, 32, false)])),
        );
    }

    /// Votes and shuffles of whole warps.
    fn lanes(&mut self) {
        if self.rng.one_in(2) {
            let (p, neg) = (self.reg(File::Pred), self.rng.one_in(3));
            let kind = self.rng.pick(&["all", "any", "uni", "ballot"]);
            let ballot = kind == "ballot";
            let d = if ballot { self.dst(32) } else { self.reg(File::Pred) };
            let ty = if ballot { "b32" } else { "pred" };
            let not = if neg { "!" } else { "" };
            let mut text = vec![format!("vote.{kind}.{ty} {d}, {not}{p}")];
            let shown = if ballot { format!("mov.u32 %x, {d}") } else { format!("selp.u32 %x, 1, 0, {d}") };
            text.extend(held(shown));
            let f = move |lanes: &[Vec<u64>]| {
                let set = lanes.iter().enumerate().fold(0, |m, (i, v)| m | (v[0] ^ u64::from(neg)) << i);
                let n = set.count_ones() as usize;
                let v = match kind {
                    "all" => u64::from(n == lanes.len()),
                    "any" => u64::from(n != 0),
                    "uni" => u64::from(n == 0 || n == lanes.len()),
                    _ => set,
                };
                vec![vec![v]; lanes.len()]
            };
            return self.emit(text, vec![d], vec![Src::Reg(p)], What::Warp(Rc::new(f)));
        }
        let (d, p, a) = (self.dst(32), self.reg(File::Pred), self.int(32));
        let kind = self.rng.pick(&["up", "down", "bfly", "idx"]);
        let b = if self.rng.one_in(2) { Src::Imm(self.rng.below(32)) } else { self.int(32) };
        // A width of a power of two, as the manual makes the last operand from it.
        let width = 1u64 << self.rng.below(6);
        let limit = if kind == "up" { 0 } else { 31 };
        let c = (32 - width) << 8 | limit;
        let mut text = vec![format!("shfl.{kind}.b32 {d}|{p}, {}, {}, {c}", show(a), show(b))];
        text.extend(held(format!("selp.u32 %x, {d}, 0, {p}")));
        let f = move |lanes: &[Vec<u64>]| {
            (0..lanes.len() as i64)
                .map(|lane| {
                    let b = (lanes[lane as usize][1] & 31) as i64;
                    let segment = (c >> 8 & 31) as i64;
                    let clamp = (c & 31) as i64;
                    let most = lane & segment | clamp & !segment;
                    let least = lane & segment;
                    let (j, good) = match kind {
                        "up" => (lane - b, lane - b >= most),
                        "down" => (lane + b, lane + b <= most),
                        "bfly" => (lane ^ b, lane ^ b <= most),
                        _ => (least | b & !segment, least | b & !segment <= most),
                    };
                    let from = if good { j } else { lane };
                    vec![lanes[from as usize][0], u64::from(good)]
                })
                .collect()
        };
        self.emit(text, vec![d, p], vec![a, b], What::Warp(Rc::new(f)));
    }

    fn exchange(&mut self) {
        let (d, a) = (self.dst(32), self.int(32));
        let with = self.rng.below(self.threads);
        let text = vec![
            "mad.lo.u32 %t2, %me, 4, EXCHANGE".to_owned(),
            format!("st.shared.u32 [%t2], {}", show(a)),
            "bar.sync 0".to_owned(),
            format!("xor.b32 %t2, %me, {with}"),
            "mad.lo.u32 %t2, %t2, 4, EXCHANGE".to_owned(),
            format!("ld.shared.u32 {d}, [%t2]"),
            "bar.sync 0".to_owned(),
        ];
        self.emit(text, vec![d], vec![a], What::Exchange(with));
    }
}

/// Lines that store what a line puts into `%x`, so that what it comes from stays where it is.
fn held(line: String) -> [String; 3] {
    [line, "mad.lo.u32 %t2, %me, 4, EXCHANGE".to_owned(), "st.volatile.shared.u32 [%t2], %x".to_owned()]
}

/// An operand as text.
pub(super) fn show(s: Src) -> String {
    match s {
        Src::Reg(r) => r.to_string(),
        Src::Imm(v) => format!("{v:#x}"),
    }
}

/// From the old value and the operands to the new value.
type Update = fn(&[u64], u32, bool) -> u64;

const ATOMICS: &[(&str, Update)] = &[
    ("add", |v, _, _| v[0].wrapping_add(v[1])),
    ("and", |v, _, _| v[0] & v[1]),
    ("or", |v, _, _| v[0] | v[1]),
    ("xor", |v, _, _| v[0] ^ v[1]),
    ("exch", |v, _, _| v[1]),
    ("cas", |v, _, _| if v[0] == v[1] { v[2] } else { v[0] }),
    ("min", |v, bits, s| if (number(v[0], bits, s)) < number(v[1], bits, s) { v[0] } else { v[1] }),
    ("max", |v, bits, s| if (number(v[0], bits, s)) < number(v[1], bits, s) { v[1] } else { v[0] }),
    ("inc", |v, _, _| if v[0] >= v[1] { 0 } else { v[0] + 1 }),
    ("dec", |v, _, _| if v[0] == 0 || v[0] > v[1] { v[1] } else { v[0] - 1 }),
];
