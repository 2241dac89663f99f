//! Programs as trees, and what the lanes of a warp do that execute them together.

use arbitrary::Unstructured;

/// What a branch asks. Lanes see it differently, or not; the last three nobody knows before it runs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cond {
    /// A bit of the lane's result so far.
    Result(u32),
    /// A bit of the thread's number.
    Thread(u32),
    /// The thread's number is below.
    Below(u32),
    /// A bit of a loop's counter.
    Counter(usize, u32),
    /// What the thread has loaded is not zero: it is one.
    Always,
    /// What the thread has loaded is zero.
    Never,
    /// What all threads have loaded from one place is not zero: it is.
    NeverAll,
}

#[derive(Clone, Debug)]
pub(super) struct Case {
    /// None: the default.
    pub value: Option<u32>,
    pub body: Vec<Stmt>,
}

#[derive(Clone, Debug)]
pub(super) enum Stmt {
    Add(u32),
    Mix,
    /// Adds which lanes are here.
    Ballot,
    If(Cond, Vec<Stmt>, Vec<Stmt>),
    /// So many rounds at most, counted in a counter.
    Counted(usize, u32, Vec<Stmt>),
    /// Left by what is in it, or never.
    Loop(Vec<Stmt>),
    /// On two bits of the result.
    Switch(Vec<Case>),
    Break,
    Continue,
    /// The thread ends, wherever it is.
    End,
    /// The subroutine returns; in the main code the thread ends.
    Return,
    Call(usize),
    /// Only where no construct is open.
    Barrier,
}

pub(super) const COUNTERS: usize = 3;

#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    pub main: Vec<Stmt>,
    pub subs: Vec<Vec<Stmt>>,
}

/// What may be in a tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowed {
    pub switch: bool,
    pub subs: bool,
    /// Ballots; within loops and subroutines, too.
    pub ballots: bool,
    pub nested_ballots: bool,
    /// Code behind a jump, which is never reached.
    pub dead: bool,
}

struct Gen<'a, 'b> {
    u: &'a mut Unstructured<'b>,
    allowed: Allowed,
    left: u32,
    depth: u32,
    counters: usize,
    loops: u32,
    switches: u32,
    /// Subroutines that may be called from here.
    subs: usize,
    in_sub: bool,
}

type Made<T> = arbitrary::Result<T>;

/// A random tree.
pub(super) fn tree(u: &mut Unstructured<'_>, allowed: Allowed) -> Made<Tree> {
    let mut subs = Vec::new();
    let count = if allowed.subs { u.int_in_range(0..=2)? } else { 0 };
    for n in 0..=count {
        let main = n == count;
        let mut g = Gen {
            u,
            allowed,
            left: if main { 22 } else { 7 },
            depth: 0,
            // Counters are everybody's: a subroutine keeps off those of its callers.
            counters: if main { 0 } else { COUNTERS - 1 },
            loops: 0,
            switches: 0,
            subs: subs.len(),
            in_sub: !main,
        };
        let mut body = g.body(5)?;
        if main {
            body.push(Stmt::Barrier);
            body.extend(g.body(4)?);
            body.push(Stmt::Barrier);
            if allowed.ballots {
                body.push(Stmt::Ballot);
            }
            return Ok(Tree { main: body, subs });
        }
        subs.push(body);
    }
    Ok(Tree::default())
}

impl Gen<'_, '_> {
    fn cond(&mut self) -> Made<Cond> {
        Ok(match self.u.int_in_range(0..=9)? {
            0 | 1 => Cond::Result(1 << self.u.int_in_range(0..=2)?),
            2 | 3 => Cond::Thread(1 << self.u.int_in_range(0..=5)?),
            4 => Cond::Below(self.u.int_in_range(1..=63)?),
            5 if self.counters > 0 && !self.in_sub => {
                Cond::Counter(self.u.int_in_range(0..=self.counters - 1)?, 1)
            }
            5 | 6 => Cond::Always,
            7 | 8 => Cond::Never,
            _ => Cond::NeverAll,
        })
    }

    fn body(&mut self, most: u32) -> Made<Vec<Stmt>> {
        let mut all = Vec::new();
        for _ in 0..self.u.int_in_range(0..=most)? {
            let s = self.stmt()?;
            let leaves = matches!(s, Stmt::Break | Stmt::Continue | Stmt::End | Stmt::Return);
            all.push(s);
            if leaves && !(self.allowed.dead && self.u.arbitrary()?) {
                break;
            }
        }
        Ok(all)
    }

    fn inner(&mut self, most: u32) -> Made<Vec<Stmt>> {
        self.depth += 1;
        let body = self.body(most);
        self.depth -= 1;
        body
    }

    fn plain(&mut self) -> Made<Stmt> {
        let nested = self.loops > 0 || self.in_sub;
        let ballot = self.allowed.ballots && (self.allowed.nested_ballots || !nested);
        Ok(match self.u.int_in_range(0..=3)? {
            0 => Stmt::Mix,
            1 if ballot => Stmt::Ballot,
            _ => Stmt::Add(self.u.int_in_range(1..=99)?),
        })
    }

    fn stmt(&mut self) -> Made<Stmt> {
        if self.left == 0 || self.depth > 7 {
            return self.plain();
        }
        self.left -= 1;
        Ok(match self.u.int_in_range(0..=15)? {
            0..=2 => self.plain()?,
            3..=5 => Stmt::If(self.cond()?, self.inner(3)?, self.inner(2)?),
            // What hardly anybody does: any way of not coming back.
            6 => {
                let cond = *self.u.choose(&[Cond::Never, Cond::NeverAll, Cond::Never])?;
                let body = self.lost()?;
                if self.u.arbitrary()? {
                    Stmt::If(cond, body, self.inner(2)?)
                } else {
                    Stmt::If(Cond::Always, self.inner(2)?, body)
                }
            }
            7 | 8 if self.counters < COUNTERS => {
                let counter = self.counters;
                let rounds = self.u.int_in_range(1..=3)?;
                self.counters += 1;
                let body = self.looped(4)?;
                self.counters -= 1;
                Stmt::Counted(counter, rounds, body)
            }
            // Left at the first round by most, and perhaps endless for nobody.
            9 | 10 => {
                let mut body = self.looped(2)?;
                let cond = *self.u.choose(&[Cond::Always, Cond::Always, Cond::Always, Cond::Below(40)])?;
                let way = if self.u.ratio(1, 6)? { Stmt::End } else { Stmt::Break };
                body.push(Stmt::If(cond, vec![way], vec![]));
                if self.u.arbitrary()? {
                    body.extend(self.lost()?);
                }
                Stmt::Loop(body)
            }
            11 if self.allowed.switch => {
                let count = self.u.int_in_range(1..=4)?;
                let mut default = self.u.int_in_range(0..=5)?;
                let mut cases = Vec::new();
                self.switches += 1;
                for n in 0..count {
                    let value = (n != default).then_some(n);
                    default = if value.is_none() { u32::MAX } else { default };
                    let mut body = self.inner(2)?;
                    if self.u.arbitrary()? {
                        body.push(Stmt::Break);
                    }
                    cases.push(Case { value, body });
                }
                self.switches -= 1;
                Stmt::Switch(cases)
            }
            12 if self.subs > 0 => Stmt::Call(self.u.int_in_range(0..=self.subs - 1)?),
            13 if self.loops > 0 || self.switches > 0 => self.leave()?,
            14 if self.depth > 0 && self.u.ratio(1, 4)? => {
                if self.u.arbitrary()? {
                    Stmt::End
                } else {
                    Stmt::Return
                }
            }
            _ => {
                let cond = self.cond()?;
                let leave = self.leave()?;
                Stmt::If(cond, vec![self.plain()?, leave], vec![])
            }
        })
    }

    fn looped(&mut self, most: u32) -> Made<Vec<Stmt>> {
        self.loops += 1;
        let switches = std::mem::take(&mut self.switches);
        let body = self.inner(most);
        self.switches = switches;
        self.loops -= 1;
        body
    }

    fn leave(&mut self) -> Made<Stmt> {
        Ok(match self.u.int_in_range(0..=3)? {
            0 if self.loops > 0 => Stmt::Continue,
            _ if self.loops > 0 || self.switches > 0 => Stmt::Break,
            _ if self.in_sub => Stmt::Return,
            _ => self.plain()?,
        })
    }

    /// Code from which nobody comes back.
    fn lost(&mut self) -> Made<Vec<Stmt>> {
        if self.left == 0 {
            return Ok(vec![Stmt::Loop(vec![])]);
        }
        self.left -= 1;
        Ok(match self.u.int_in_range(0..=7)? {
            0 => vec![Stmt::End],
            1 => vec![Stmt::Return],
            2 => vec![Stmt::Loop(vec![])],
            3 => vec![Stmt::If(self.cond()?, self.lost()?, self.lost()?)],
            4 => {
                let cond = self.cond()?;
                vec![Stmt::Loop(vec![Stmt::If(cond, vec![Stmt::Continue], vec![]), self.plain()?])]
            }
            5 => {
                let cond = self.cond()?;
                vec![Stmt::Loop(vec![self.plain()?, Stmt::If(cond, vec![Stmt::End], vec![])])]
            }
            6 if self.allowed.switch => {
                let (a, b) = (self.lost()?, self.lost()?);
                vec![Stmt::Switch(vec![Case { value: Some(1), body: a }, Case { value: None, body: b }])]
            }
            _ => {
                let mut body = vec![self.plain()?];
                body.extend(self.lost()?);
                vec![Stmt::Loop(body)]
            }
        })
    }
}

// What the lanes do.

/// The program does not end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Hangs;

struct Warp<'a> {
    tree: &'a Tree,
    /// The number of the first thread.
    first: u32,
    result: [u32; 32],
    counters: [[u32; COUNTERS]; 32],
    budget: u32,
}

/// Where lanes go that leave.
#[derive(Default)]
struct Around {
    breaks: u32,
    continues: u32,
    returns: u32,
}

/// What two warps have in the end: the result of each thread; `None` of one that has ended before.
pub(super) fn evaluate(tree: &Tree) -> Result<Vec<Option<u32>>, Hangs> {
    let mut all = Vec::new();
    for first in [0, 32] {
        let mut w = Warp { tree, first, result: [0; 32], counters: [[0; COUNTERS]; 32], budget: 1 << 15 };
        (0..32).for_each(|l| w.result[l] = first + l as u32);
        let mut around = Around::default();
        let last = w.run(&tree.main, u32::MAX, &mut around)?;
        all.extend((0..32).map(|l| (last >> l & 1 != 0).then_some(w.result[l])));
    }
    Ok(all)
}

impl Warp<'_> {
    fn holds(&self, cond: Cond, lane: usize) -> bool {
        let thread = self.first + lane as u32;
        match cond {
            Cond::Result(bit) => self.result[lane] & bit != 0,
            Cond::Thread(bit) => thread & bit != 0,
            Cond::Below(n) => thread < n,
            Cond::Counter(n, bit) => self.counters[lane][n] & bit != 0,
            Cond::Always => true,
            Cond::Never | Cond::NeverAll => false,
        }
    }

    fn lanes(mask: u32, f: impl Fn(usize) -> bool) -> u32 {
        (0..32).filter(|&l| mask >> l & 1 != 0 && f(l)).fold(0, |m, l| m | 1 << l)
    }

    fn each(&mut self, mask: u32, f: impl Fn(u32, u32) -> u32) {
        for l in (0..32).filter(|l| mask >> l & 1 != 0) {
            self.result[l] = f(self.result[l], self.first + l as u32);
        }
    }

    /// Runs statements with some lanes; those that come to their end.
    fn run(&mut self, body: &[Stmt], mask: u32, around: &mut Around) -> Result<u32, Hangs> {
        let mut mask = mask;
        for s in body {
            if mask == 0 {
                break;
            }
            self.budget = self.budget.checked_sub(1).ok_or(Hangs)?;
            mask = self.stmt(s, mask, around)?;
        }
        Ok(mask)
    }

    fn stmt(&mut self, s: &Stmt, mask: u32, around: &mut Around) -> Result<u32, Hangs> {
        match s {
            Stmt::Add(k) => self.each(mask, |r, _| r.wrapping_mul(5).wrapping_add(*k)),
            Stmt::Mix => self.each(mask, |r, t| r ^ t.wrapping_mul(77)),
            Stmt::Ballot => self.each(mask, |r, _| r.wrapping_add(mask.wrapping_mul(3))),
            Stmt::Barrier => {}
            Stmt::If(cond, then, els) => {
                let yes = Self::lanes(mask, |l| self.holds(*cond, l));
                let then = self.run(then, yes, around)?;
                return Ok(then | self.run(els, mask & !yes, around)?);
            }
            Stmt::Counted(n, rounds, body) => {
                (0..32).filter(|l| mask >> l & 1 != 0).for_each(|l| self.counters[l][*n] = 0);
                return self.looped(Some((*n, *rounds)), body, mask, around);
            }
            Stmt::Loop(body) => return self.looped(None, body, mask, around),
            Stmt::Switch(cases) => return self.switch(cases, mask, around),
            Stmt::Break => {
                around.breaks |= mask;
                return Ok(0);
            }
            Stmt::Continue => {
                around.continues |= mask;
                return Ok(0);
            }
            Stmt::End => return Ok(0),
            Stmt::Return => {
                around.returns |= mask;
                return Ok(0);
            }
            Stmt::Call(n) => {
                let mut inside = Around::default();
                let tree = self.tree;
                let last = self.run(&tree.subs[*n], mask, &mut inside)?;
                return Ok(last | inside.returns);
            }
        }
        Ok(mask)
    }

    fn looped(
        &mut self,
        counted: Option<(usize, u32)>,
        body: &[Stmt],
        mask: u32,
        around: &mut Around,
    ) -> Result<u32, Hangs> {
        let (mut active, mut out) = (mask, 0);
        while active != 0 {
            self.budget = self.budget.checked_sub(1).ok_or(Hangs)?;
            if let Some((n, rounds)) = counted {
                (0..32).filter(|l| active >> l & 1 != 0).for_each(|l| self.counters[l][n] += 1);
                let done = Self::lanes(active, |l| self.counters[l][n] > rounds);
                out |= done;
                active &= !done;
            }
            let mut inside = Around::default();
            let last = self.run(body, active, &mut inside)?;
            around.returns |= inside.returns;
            out |= inside.breaks;
            active = last | inside.continues;
        }
        Ok(out)
    }

    fn switch(&mut self, cases: &[Case], mask: u32, around: &mut Around) -> Result<u32, Hangs> {
        let selected: Vec<u32> = self.result.iter().map(|r| r >> 1 & 3).collect();
        let named = |l: usize| cases.iter().any(|c| c.value == Some(selected[l]));
        let (mut fell, mut inside) = (0, Around::default());
        let mut waiting = mask;
        for case in cases {
            let enter = Self::lanes(mask, |l| match case.value {
                Some(v) => selected[l] == v,
                None => !named(l),
            });
            waiting &= !enter;
            fell = self.run(&case.body, enter | fell, &mut inside)?;
        }
        around.continues |= inside.continues;
        around.returns |= inside.returns;
        // A break leaves the switch alone.
        Ok(fell | waiting | inside.breaks)
    }
}

/// How deep constructs nest, in entries that they may have on the stack.
pub(super) fn nesting(tree: &Tree) -> usize {
    fn of(tree: &Tree, body: &[Stmt]) -> usize {
        let deep = |s: &Stmt| match s {
            Stmt::If(_, a, b) => 2 + of(tree, a).max(of(tree, b)),
            Stmt::Counted(_, _, b) => 4 + of(tree, b),
            Stmt::Loop(b) => 3 + of(tree, b),
            Stmt::Switch(cases) => 5 + cases.iter().map(|c| of(tree, &c.body)).max().unwrap_or(0),
            Stmt::Call(n) => 1 + of(tree, &tree.subs[*n]),
            _ => 0,
        };
        body.iter().map(deep).max().unwrap_or(0)
    }
    1 + of(tree, &tree.main)
}
