//! Runs a kernel's meaning on the host: a block in lock step, structured control flow by masks.

use super::program::*;

/// What threads a statement is executed by.
type Mask = u64;

struct State {
    threads: usize,
    regs: Vec<Vec<Vec<u64>>>,
    memory: [Vec<Vec<u8>>; 3],
    sums: [Vec<u32>; 2],
}

/// Threads that have left the round or the loop.
#[derive(Default)]
struct Left {
    round: Mask,
    ended: Mask,
}

/// The words of the output buffer that the kernel leaves.
pub(super) fn run(k: &Kernel, input: &[u32]) -> Vec<u32> {
    let threads = k.threads as usize;
    let mut s = State {
        threads,
        regs: vec![vec![vec![0; threads]; 8]; FILES],
        memory: [0; 3].map(|_| vec![vec![0; OWN as usize]; threads]),
        sums: [vec![64; SUMS as usize], vec![0; SUMS as usize]],
    };
    for t in 0..threads {
        let mut words = input[t * INPUTS as usize..][..INPUTS as usize].iter().map(|&w| u64::from(w));
        let mut next = || words.next().expect("inputs suffice");
        for (file, n) in COUNTS.iter().filter(|c| c.0 != File::Counter) {
            for i in 0..*n {
                s.regs[*file as usize][usize::from(i)][t] = match Reg(*file, i).bits() {
                    64 => next() | next() << 32,
                    16 => next() & 0xffff,
                    1 => next() & 1,
                    _ => next(),
                };
            }
        }
        for n in 0..OWN as usize {
            let byte = (s.regs[File::Opaque as usize][n / 4 % 4][t] >> (n % 4 * 8)) as u8;
            s.memory.iter_mut().for_each(|m| m[t][n] = byte);
        }
    }
    let all = if threads == 64 { !0 } else { (1 << threads) - 1 };
    s.stmts(&k.body, all, &mut Left::default());
    s.output()
}

impl State {
    fn get(&self, r: Reg, t: usize) -> u64 {
        self.regs[r.0 as usize][usize::from(r.1)][t]
    }

    fn set(&mut self, r: Reg, t: usize, v: u64) {
        let mask = u64::MAX >> (64 - r.bits());
        self.regs[r.0 as usize][usize::from(r.1)][t] = v & mask;
    }

    fn value(&self, s: Src, t: usize) -> u64 {
        match s {
            Src::Reg(r) => self.get(r, t),
            Src::Imm(v) => v,
        }
    }

    fn truth(&self, p: Reg, neg: bool, mask: Mask) -> Mask {
        (0..self.threads).filter(|&t| (self.get(p, t) != 0) != neg).fold(0, |m, t| m | 1 << t) & mask
    }

    fn stmts(&mut self, all: &[Stmt], mut mask: Mask, left: &mut Left) {
        for s in all {
            mask &= !(left.round | left.ended);
            if mask == 0 {
                return;
            }
            match s {
                Stmt::Inst(i) => self.inst(i, mask),
                Stmt::If(p, neg, yes, no) => {
                    let taken = self.truth(*p, *neg, mask);
                    self.stmts(yes, taken, left);
                    self.stmts(no, mask & !taken, left);
                }
                Stmt::Loop { counter, rounds, body } => {
                    for t in (0..self.threads).filter(|&t| mask >> t & 1 != 0) {
                        let n = match rounds {
                            Src::Imm(n) => *n,
                            Src::Reg(r) => self.get(*r, t) & 3,
                        };
                        self.set(*counter, t, n);
                    }
                    let mut inner = Left::default();
                    loop {
                        let more = self.truth(*counter, false, mask & !inner.ended);
                        if more == 0 {
                            break;
                        }
                        inner.ended |= mask & !more;
                        inner.round = 0;
                        for t in (0..self.threads).filter(|&t| more >> t & 1 != 0) {
                            self.set(*counter, t, self.get(*counter, t) - 1);
                        }
                        self.stmts(body, more, &mut inner);
                    }
                }
                Stmt::Break(p, neg) => left.ended |= self.truth(*p, *neg, mask),
                Stmt::Continue(p, neg) => left.round |= self.truth(*p, *neg, mask),
            }
        }
    }

    fn at(&self, p: &Place, t: usize) -> usize {
        p.offset as usize + p.index.map_or(0, |(r, mask)| (self.get(r, t) & u64::from(mask)) as usize)
    }

    fn load(&self, space: Space, t: usize, at: usize, a: Access) -> u64 {
        let bytes = &self.memory[space as usize][t][at..at + a.bytes as usize];
        let v = bytes.iter().rev().fold(0, |v, &b| v << 8 | u64::from(b));
        let free = 64 - 8 * a.bytes;
        if a.signed { ((v << free) as i64 >> free) as u64 } else { v }
    }

    fn store(&mut self, space: Space, t: usize, at: usize, a: Access, v: u64) {
        self.memory[space as usize][t][at..at + a.bytes as usize]
            .copy_from_slice(&v.to_le_bytes()[..a.bytes as usize]);
    }

    fn inst(&mut self, i: &Inst, mask: Mask) {
        let mask = i.guard.map_or(mask, |(p, neg)| self.truth(p, neg, mask));
        let threads: Vec<usize> = (0..self.threads).filter(|&t| mask >> t & 1 != 0).collect();
        let sources = |s: &State, t: usize| i.src.iter().map(|&x| s.value(x, t)).collect::<Vec<_>>();
        match &i.what {
            What::Pure(f) => {
                for t in threads {
                    let v = f(&sources(self, t));
                    assert_eq!(v.len(), i.dst.len(), "{:?}", i.text);
                    i.dst.iter().zip(v).for_each(|(&d, v)| self.set(d, t, v));
                }
            }
            What::Load(p, a) => {
                for t in threads {
                    let at = self.at(p, t);
                    for (n, &d) in i.dst.iter().enumerate() {
                        let v = self.load(p.space, t, at + n * a.bytes as usize, *a);
                        self.set(d, t, v);
                    }
                }
            }
            What::Store(p, a) => {
                for t in threads {
                    let at = self.at(p, t);
                    for (n, v) in sources(self, t).into_iter().enumerate() {
                        self.store(p.space, t, at + n * a.bytes as usize, *a, v);
                    }
                }
            }
            What::Atomic(p, a, f) => {
                for t in threads {
                    let at = self.at(p, t);
                    let old = self.load(p.space, t, at, *a);
                    let mut operands = vec![old];
                    operands.extend(sources(self, t));
                    self.store(p.space, t, at, *a, f(&operands)[0]);
                    i.dst.iter().for_each(|&d| self.set(d, t, old));
                }
            }
            What::Sum(space, n, _, f) => {
                let file = usize::from(*space == Space::Global);
                for t in threads {
                    let mut operands = vec![u64::from(self.sums[file][*n as usize])];
                    operands.extend(sources(self, t));
                    self.sums[file][*n as usize] = f(&operands)[0] as u32;
                }
            }
            What::Warp(f) => {
                for warp in threads.chunks(32) {
                    let values: Vec<_> = warp.iter().map(|&t| sources(self, t)).collect();
                    for (&t, v) in warp.iter().zip(f(&values)) {
                        i.dst.iter().zip(v).for_each(|(&d, v)| self.set(d, t, v));
                    }
                }
            }
            What::Exchange(with) => {
                let values: Vec<u64> = threads.iter().map(|&t| sources(self, t)[0]).collect();
                for &t in &threads {
                    self.set(i.dst[0], t, values[t ^ *with as usize]);
                }
            }
        }
    }

    fn output(&self) -> Vec<u32> {
        let mut words = Vec::new();
        for t in 0..self.threads {
            let start = words.len();
            for (file, n) in &COUNTS[..5] {
                for i in 0..*n {
                    let v = self.get(Reg(*file, i), t);
                    let v = match file {
                        File::Float if f32::from_bits(v as u32).is_nan() => 0x7fff_ffff,
                        File::Double if f64::from_bits(v).is_nan() => !0 >> 1,
                        _ => v,
                    };
                    words.push(v as u32);
                    if Reg(*file, i).bits() == 64 {
                        words.push((v >> 32) as u32);
                    }
                }
                if (words.len() - start) % 2 != 0 {
                    words.push(0);
                }
            }
            let preds = (0..count(File::Pred)).map(|i| (self.get(Reg(File::Pred, i), t) as u32) << i);
            words.push(preds.sum());
            words.resize((words.len() - start).next_multiple_of(4) + start, 0);
            for space in [Space::Shared, Space::Local] {
                words.extend(self.memory[space as usize][t].chunks(4).map(word));
            }
            words.resize(start + outputs() as usize, 0);
        }
        for t in 0..self.threads {
            words.extend(self.memory[Space::Global as usize][t].chunks(4).map(word));
        }
        words.extend((0..SUMS as usize).map(|n| self.sums[0][n].wrapping_add(self.sums[1][n])));
        words
    }
}

fn word(b: &[u8]) -> u32 {
    u32::from_le_bytes([b[0], b[1], b[2], b[3]])
}
