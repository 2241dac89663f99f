//! Where all lanes of a request go, if that is one buffer, shared memory or local memory: then no lane needs a look of its own.
//!
//! Nothing is done here that could be at fault: requests that are not plainly inside are left to who looks at each lane.

use crate::code::micro::{Addr, Space, Width};
use crate::cx::Cx;
use crate::state::lanes::{LANES, LaneVec, Mask};
use crate::state::warp::Warp;

/// What a request reaches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Target {
    /// The buffer with this index.
    Global(usize),
    Shared,
    Local,
}

/// Where the lanes of a request go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    pub target: Target,
    /// The lowest word, and how many there are up to the end of the highest access.
    pub first: usize,
    pub count: usize,
    pub pattern: Pattern,
}

impl Reach {
    /// The first word of a lane's access, from the lowest one on.
    #[inline]
    pub(super) fn word(&self, lane: usize, width: Width, bytes: &LaneVec) -> usize {
        match self.pattern {
            Pattern::Contiguous(first) => (lane - first) * width.regs() as usize,
            Pattern::Same(_) => 0,
            Pattern::Scattered => bytes.0[lane] as usize >> 2,
        }
    }

    /// Which byte of that it begins with.
    #[inline]
    pub(super) fn byte(&self, lane: usize, bytes: &LaneVec) -> u64 {
        match self.pattern {
            Pattern::Contiguous(_) => 0,
            Pattern::Same(byte) => byte.into(),
            Pattern::Scattered => u64::from(bytes.0[lane] & 3),
        }
    }
}

/// How the words of the lanes lie, from the first one on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pattern {
    /// Each lane accesses what follows the access of the lane before it, whole words; this lane is the first.
    Contiguous(usize),
    /// All lanes access the same, which begins with this byte of the word.
    Same(u32),
    /// The bytes from the first word on are in the row that the request was asked with.
    Scattered,
}

/// The addresses of all lanes.
struct Addresses<'a> {
    /// The lanes that are on ([`LaneVec::expand`]), and the first of them.
    on: &'a LaneVec,
    first: usize,
    /// Bases, and their high words.
    low: &'a LaneVec,
    high: &'a LaneVec,
    /// What is added to the low word, and the bits of it that count.
    add: u32,
    keep: u32,
}

impl Addresses<'_> {
    /// The low word of a lane's.
    #[inline(always)]
    fn of(&self, lane: usize) -> u32 {
        self.low.0[lane].wrapping_add(self.add) & self.keep
    }

    /// Whether all lanes have the same high word, and low words as `expected` says of each.
    #[inline(always)]
    fn are(&self, expected: impl Fn(usize) -> u32) -> bool {
        let high = self.high.0[self.first];
        let differs = |i: usize| (self.of(i) ^ expected(i) | self.high.0[i] ^ high) & self.on.0[i];
        (0..LANES).fold(0, |all, i| all | differs(i)) == 0
    }

    /// Where they lie, if all have the same high word. `from_lowest` gets each lane's, from the lowest on; those that are off have that of
    /// the first that is on.
    #[inline(always)]
    fn spread(&self, from_lowest: &mut LaneVec) -> Option<Spread> {
        let (start, high) = (self.of(self.first), self.high.0[self.first]);
        let mut all = LaneVec::ZERO;
        let (mut lowest, mut highest, mut bits, mut far) = (u32::MAX, 0, 0, 0);
        for i in 0..LANES {
            let on = self.on.0[i];
            let v = self.of(i) & on | start & !on;
            all.0[i] = v;
            lowest = lowest.min(v);
            highest = highest.max(v);
            bits |= v;
            far |= (self.high.0[i] ^ high) & on;
        }
        for i in 0..LANES {
            from_lowest.0[i] = all.0[i] - lowest;
        }
        (far == 0).then_some(Spread { lowest, highest, bits })
    }
}

/// The range of addresses that do not follow each other.
struct Spread {
    lowest: u32,
    highest: u32,
    /// The bits that any of them has.
    bits: u32,
}

/// Where a request goes, if it needs no checks of single lanes. What [`Pattern::Scattered`] says of single lanes is left in `bytes`.
#[inline(always)]
pub(super) fn reach(
    cx: &mut Cx<'_>,
    w: &Warp,
    mask: Mask,
    (space, width): (Space, Width),
    addr: &Addr,
    bytes: &mut LaneVec,
) -> Option<Reach> {
    let env = cx.env;
    let launch = env.bound.launch;
    let watched = match space {
        Space::Generic => env.observed,
        Space::Shared => cx.block.shadow.is_some() || !launch.shared_variables.is_empty(),
        Space::Local => w.undef.is_some(),
    };
    if watched || mask == 0 {
        return None;
    }
    let pool = &env.bound.pool[..];
    let low = addr.base.unmodified(&w.regs, pool)?;
    let high = match addr.base_hi {
        Some(high) => Some(high.unmodified(&w.regs, pool)?),
        None => None,
    };
    let first = mask.trailing_zeros() as usize % LANES;
    // With a high word, the offset is added to all 64 bits.
    let (add, offset) = match high {
        Some(_) => (0, addr.offset as u64),
        None => (addr.offset as u32, 0),
    };
    // Addresses in the windowed spaces wrap at 24 bits, others at 32.
    let keep = if space == Space::Generic { u32::MAX } else { 0x00ff_ffff };
    let on = if mask == Mask::MAX { &LaneVec::ALL } else { cx.block.scratch.take(mask) };
    // Entry 0 of the pool is zero.
    let addresses = Addresses { on, first, low, high: high.unwrap_or(&pool[0]), add, keep };
    let (start, start_high) = (addresses.of(first), addresses.high.0[first]);
    let (size, log_bytes) = (width.bytes(), width.bytes().trailing_zeros());
    let last = LANES - 1 - mask.leading_zeros() as usize;
    // Where lane 0 would be if accesses followed each other.
    let origin = start.wrapping_sub((first as u32) << log_bytes);
    let follows = |lane: usize| origin.wrapping_add((lane as u32) << log_bytes);
    // Two lanes say what to look for.
    let another = (mask & mask.wrapping_sub(1)).trailing_zeros() as usize;
    let next = addresses.of(if another < LANES { another } else { first });
    let (lowest, highest, bits, pattern) = if next == start && addresses.are(|_| start) {
        (start, start, start, Pattern::Same(0))
    } else if size >= 4
        && next == follows(another)
        && addresses.are(follows)
        && let Some(highest) = start.checked_add(((last - first) as u32) << log_bytes)
    {
        (start, highest, start, Pattern::Contiguous(first))
    } else {
        let spread = addresses.spread(bytes)?;
        (spread.lowest, spread.highest, spread.bits, Pattern::Scattered)
    };
    // What is aligned stays so if the offset is, and only then.
    if (bits | offset as u32) & (width.align() - 1) != 0 {
        return None;
    }
    let whole = |low: u32| (u64::from(start_high) << 32 | u64::from(low)).wrapping_add(offset);
    let (lowest, highest, size) = (whole(lowest), whole(highest), u64::from(size));
    let inside = |limit: u32| highest + size <= limit.into();
    let (target, from_origin) = match space {
        Space::Generic => {
            let buffers = &env.bound.memory.buffers[..];
            let hint = cx.block.buffer_hints.at(w.at);
            let holds = |b: usize| {
                buffers.get(b).is_some_and(|b| b.contains(lowest, size) && b.contains(highest, size))
            };
            if !holds(*hint) {
                let found = env.bound.memory.find(lowest, size)?;
                if !holds(found) {
                    return None;
                }
                *hint = found;
            }
            (Target::Global(*hint), lowest - buffers[*hint].origin)
        }
        Space::Shared if inside(env.shape.shared_bytes) => (Target::Shared, lowest),
        Space::Local if inside(launch.local_bytes) => (Target::Local, lowest),
        _ => return None,
    };
    let within = from_origin as u32 & 3;
    let pattern = match pattern {
        Pattern::Same(_) => Pattern::Same(within),
        Pattern::Scattered => {
            bytes.0.iter_mut().for_each(|at| *at += within);
            pattern
        }
        Pattern::Contiguous(_) => pattern,
    };
    let last = ((highest - lowest) as usize + within as usize) >> 2;
    Some(Reach { target, first: (from_origin >> 2) as usize, count: last + width.regs() as usize, pattern })
}
