//! Where all lanes of a request go, if that is one buffer, shared memory or local memory: then no lane needs a look of its own.
//!
//! Nothing is done here that could be at fault: requests that are not plainly inside are left to who looks at each lane.

use crate::code::micro::{Addr, Space, Width};
use crate::cx::Cx;
use crate::state::lanes::{LANES, LaneVec, Mask};
use crate::state::warp::Warp;
use nvir_simd::{Features, Kernel};

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

/// How the low 32 bits of addresses come about: base plus `add`, of which the bits of `keep` count. A single number, since what has
/// just been stored in pieces takes long to be loaded as a whole.
#[derive(Clone, Copy)]
struct How(u64);

/// Addresses in the windowed spaces wrap at 24 bits, others at 32.
const WINDOWED: u64 = 1 << 40;

impl How {
    /// `log_bytes`: the bytes of an access, as a power of two.
    fn new(add: u32, log_bytes: u32, space: Space) -> How {
        let windowed = if space == Space::Generic { 0 } else { WINDOWED };
        How(u64::from(add) | u64::from(log_bytes) << 32 | windowed)
    }

    #[inline(always)]
    fn log_bytes(self) -> u32 {
        (self.0 >> 32) as u32 & 7
    }

    #[inline(always)]
    fn address(self, base: u32) -> u32 {
        let keep = if self.0 & WINDOWED != 0 { 0x00ff_ffff } else { u32::MAX };
        base.wrapping_add(self.0 as u32) & keep
    }
}

/// What is known of the addresses of all lanes that are on: each access follows that of the lane before; all are at one place; all high
/// words are the same.
const FOLLOW: u32 = 1;
const SAME: u32 = 2;
const NEAR: u32 = 4;

struct LookAt<const PARTIAL: bool>;

/// Low and high words of bases, and the lanes that are on.
impl<const PARTIAL: bool> Kernel<(), LaneVec, LaneVec, How, u32> for LookAt<PARTIAL> {
    #[inline(always)]
    fn run<F: Features>(_: &mut (), low: &LaneVec, high: &LaneVec, how: &How, mask: u32) -> u32 {
        let how = *how;
        let first = mask.trailing_zeros() as usize % LANES;
        let (start, start_high) = (how.address(low.0[first]), high.0[first]);
        // Where lane 0 would be.
        let origin = start.wrapping_sub((first as u32) << how.log_bytes());
        let (mut parts, mut differs, mut far) = (0, 0, 0);
        for i in 0..LANES {
            let on = if PARTIAL { 0u32.wrapping_sub(mask >> i & 1) } else { u32::MAX };
            let v = how.address(low.0[i]);
            parts |= (v ^ origin.wrapping_add((i as u32) << how.log_bytes())) & on;
            differs |= (v ^ start) & on;
            far |= (high.0[i] ^ start_high) & on;
        }
        let known = |broken: u32, what: u32| if broken == 0 { what } else { 0 };
        known(parts, FOLLOW) | known(differs, SAME) | known(far, NEAR)
    }
}

/// The range of addresses that do not follow each other.
struct Spread<'a> {
    /// Of each lane, from the lowest on; those that are off have that of the first that is on.
    from_lowest: &'a mut LaneVec,
    lowest: u32,
    highest: u32,
    /// The bits that any of them has.
    bits: u32,
}

struct SpreadOut<const PARTIAL: bool>;

impl<const PARTIAL: bool> Kernel<Spread<'_>, LaneVec, (), How, ()> for SpreadOut<PARTIAL> {
    #[inline(always)]
    fn run<F: Features>(spread: &mut Spread<'_>, low: &LaneVec, _: &(), how: &How, mask: u32) {
        let how = *how;
        let start = how.address(low.0[mask.trailing_zeros() as usize % LANES]);
        let mut all = LaneVec::ZERO;
        let (mut lowest, mut highest, mut bits) = (u32::MAX, 0, 0);
        for i in 0..LANES {
            let on = if PARTIAL { 0u32.wrapping_sub(mask >> i & 1) } else { u32::MAX };
            let v = how.address(low.0[i]) & on | start & !on;
            all.0[i] = v;
            lowest = lowest.min(v);
            highest = highest.max(v);
            bits |= v;
        }
        for i in 0..LANES {
            spread.from_lowest.0[i] = all.0[i] - lowest;
        }
        (spread.lowest, spread.highest, spread.bits) = (lowest, highest, bits);
    }
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
    let (size, full) = (width.bytes(), mask == Mask::MAX);
    let how = How::new(add, size.trailing_zeros(), space);
    let start = how.address(low.0[first]);
    let start_high = high.map_or(0, |high| high.0[first]);
    let looks = if full {
        env.processor.compiled::<LookAt<false>, _, _, _, _, _>()
    } else {
        env.processor.compiled::<LookAt<true>, _, _, _, _, _>()
    };
    // Entry 0 of the pool is zero.
    let known = looks(&mut (), low, high.unwrap_or(&pool[0]), &how, mask);
    if known & NEAR == 0 {
        return None;
    }
    let last = LANES - 1 - mask.leading_zeros() as usize;
    let following = ((last - first) as u32) << how.log_bytes();
    let (lowest, highest, bits, pattern) = if known & SAME != 0 {
        (start, start, start, Pattern::Same(0))
    } else if known & FOLLOW != 0 && size >= 4 && start.checked_add(following).is_some() {
        (start, start + following, start, Pattern::Contiguous(first))
    } else {
        let mut spread = Spread { from_lowest: bytes, lowest: 0, highest: 0, bits: 0 };
        let spreads = if full {
            env.processor.compiled::<SpreadOut<false>, _, _, _, _, _>()
        } else {
            env.processor.compiled::<SpreadOut<true>, _, _, _, _, _>()
        };
        spreads(&mut spread, low, &(), &how, mask);
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
