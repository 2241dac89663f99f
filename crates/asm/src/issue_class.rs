//! Issue classes: what decides about issue apart from what instructions touch. The ports that they
//! need, and the operations that they dual-issue with. The tables by operation are made when nvir
//! is compiled.

use super::model::Port;
use nvir_isa::effects::is_texture;
use nvir_isa::latency::{self, PairSet};
use nvir_isa::{MInst, Op};

/// Instructions that need the same ports and pair with the same others.
#[derive(Clone, Copy)]
pub struct Class {
    /// The ports that it needs.
    pub port: Port,
    /// Whether it is a texture instruction.
    pub texture: bool,
    pair: PairSet,
}

impl Class {
    const fn new(op: Op, indexed: bool) -> Class {
        Class { port: Port::new(op, indexed), texture: is_texture(op), pair: latency::pair_set(op) }
    }

    const fn same(&self, other: &Class) -> bool {
        self.port.same(&other.port) && self.texture == other.texture && self.pair.same(other.pair)
    }

    /// Whether units and ports allow this class to issue together with another one behind it.
    const fn leads(&self, second: &Class) -> bool {
        latency::units_pair(self.pair, second.pair) && !self.port.collides(&second.port)
    }
}

/// How many classes fit into a mask.
const MOST: usize = 64;

struct Table {
    classes: [Class; MOST],
    count: usize,
    /// By operation.
    of: [u8; Op::ALL.len()],
    /// That of an LDC with a register in its address.
    indexed: u8,
    /// By class: masks of those that may be the second of a pair behind it, and of those that may
    /// only be the first.
    behind: [u64; MOST],
    before: [u64; MOST],
}

static TABLE: Table = Table::new();

impl Table {
    const fn new() -> Table {
        let mut t = Table {
            classes: [Class::new(Op::Nop, false); MOST],
            count: 0,
            of: [0; Op::ALL.len()],
            indexed: 0,
            behind: [0; MOST],
            before: [0; MOST],
        };
        let mut n = 0;
        while n < Op::ALL.len() {
            t.of[n] = t.add(Class::new(Op::ALL[n], false));
            n += 1;
        }
        t.indexed = t.add(Class::new(Op::Ldc, true));
        let mut a = 0;
        while a < t.count {
            let mut b = 0;
            while b < t.count {
                let (forth, back) = (t.classes[a].leads(&t.classes[b]), t.classes[b].leads(&t.classes[a]));
                t.behind[a] |= (forth as u64) << b;
                t.before[a] |= ((back && !forth) as u64) << b;
                b += 1;
            }
            a += 1;
        }
        t
    }

    /// The number of a class, a new one if there is none like it.
    const fn add(&mut self, class: Class) -> u8 {
        let mut n = 0;
        while n < self.count {
            if self.classes[n].same(&class) {
                return n as u8;
            }
            n += 1;
        }
        self.classes[n] = class;
        self.count += 1;
        n as u8
    }
}

/// How many classes there are.
pub const COUNT: usize = Table::new().count;

/// A class by its number.
pub fn get(n: u8) -> &'static Class {
    &TABLE.classes[usize::from(n) % MOST]
}

/// A mask of the classes that may be the second of a pair behind this one.
pub fn behind(n: u8) -> u64 {
    TABLE.behind[usize::from(n) % MOST]
}

/// A mask of the classes that may be the first of a pair with this one, and not the second.
pub fn before(n: u8) -> u64 {
    TABLE.before[usize::from(n) % MOST]
}

/// What decides how an instruction issues among others, whatever it touches.
#[derive(Clone, Copy)]
pub struct Kind {
    /// Its issue class.
    pub class: u8,
    /// The fewest cycles from it to anything.
    pub gap: u8,
    /// Whether it may be the first of a pair, and the second, if its class may.
    first: bool,
    second: bool,
    /// The constants that it reads; see [`latency::constant_line`].
    constant: Option<(u8, i32)>,
}

impl Kind {
    /// That of an instruction.
    pub fn new(m: &MInst) -> Kind {
        let gap = latency::behind(m);
        Kind {
            class: if latency::is_indexed_constant(m) { TABLE.indexed } else { TABLE.of[m.op as usize] },
            gap: gap as u8,
            first: gap == 1 && !latency::transfers(m),
            second: !latency::keeps_away(m),
            constant: latency::constant_line(m),
        }
    }

    /// Its class.
    pub fn class(&self) -> &'static Class {
        get(self.class)
    }

    /// Whether units, ports and constants allow the two to issue together, in this order.
    pub fn leads(&self, second: &Kind) -> bool {
        behind(self.class) >> second.class & 1 != 0
            && self.first
            && second.second
            && match (self.constant, second.constant) {
                (Some(x), Some(y)) => x == y,
                _ => true,
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nvir_isa::latency::{neighbours, pair_set, transfers, units_pair};

    #[test]
    fn masks_say_what_the_rules_of_units_ports_and_neighbours_say() {
        for &a in Op::ALL {
            for &b in Op::ALL {
                let (x, y) = (MInst::new(a), MInst::new(b));
                let (p, q) = (Port::new(a, false), Port::new(b, false));
                let rules = units_pair(pair_set(a), pair_set(b))
                    && !p.collides(&q)
                    && !transfers(&x)
                    && neighbours(&x, &y) == 1;
                assert_eq!(Kind::new(&x).leads(&Kind::new(&y)), rules, "{a:?} {b:?}");
            }
        }
        assert!((2..MOST).contains(&COUNT));
    }
}
