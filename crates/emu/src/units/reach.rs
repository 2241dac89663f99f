//! Where all lanes of a request go, if that is one buffer, shared memory or local memory: then no lane needs a look of its own.
//!
//! Nothing is done here that could be at fault: requests that are not plainly inside are left to who looks at each lane.

use crate::code::micro::{Addr, Space, Width};
use crate::cx::Cx;
use crate::state::lanes::{LANES, LaneVec, Mask};
use crate::state::warp::Warp;
use nvir_simd::{Compiled, Features, Kernel, Processor};

/// What a request reaches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Target {
    /// The buffer with this index.
    Global(usize),
    Shared,
    Local,
}

/// Where the lanes of a request go.
pub(super) struct Reach {
    pub target: Target,
    /// The lowest word, and how many there are up to the end of the highest access.
    pub first: usize,
    pub count: usize,
    /// Each lane's word, from the first one on; lanes that are off have that of one that is not.
    pub word: LaneVec,
    /// The low two bits of each lane's address.
    pub byte: LaneVec,
    pub pattern: Pattern,
}

/// How the words of the lanes lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pattern {
    /// All lanes are on, and each accesses what follows the access of the lane before it.
    Contiguous,
    /// All lanes access the same.
    Same,
    Scattered,
}

/// The low 32 bits of addresses: base plus `add`, of which the bits of `keep` count.
struct Query {
    mask: Mask,
    add: u32,
    keep: u32,
    bytes: u32,
}

/// What is known of addresses whose high bits are the same.
struct Span {
    /// Of each lane; those that are off have the address of the first that is not.
    low: LaneVec,
    min: u32,
    max: u32,
    /// The bits that any of them has.
    bits: u32,
    contiguous: bool,
    /// All lanes have the same high word.
    one_high_word: bool,
}

struct Look;

impl Kernel<Span, LaneVec, LaneVec, Query, ()> for Look {
    #[inline(always)]
    fn run<F: Features>(span: &mut Span, low: &LaneVec, high: &LaneVec, q: &Query, _: u32) {
        let first = q.mask.trailing_zeros() as usize % LANES;
        let start = low.0[first].wrapping_add(q.add) & q.keep;
        let (mut min, mut max, mut bits, mut differs, mut high_differs) = (start, start, start, 0, 0);
        for i in 0..LANES {
            let on = q.mask & 1 << i != 0;
            let v = if on { low.0[i].wrapping_add(q.add) & q.keep } else { start };
            span.low.0[i] = v;
            min = min.min(v);
            max = max.max(v);
            bits |= v;
            differs |= v ^ start.wrapping_add(q.bytes * i as u32);
            high_differs |= if on { high.0[i] ^ high.0[first] } else { 0 };
        }
        (span.min, span.max, span.bits) = (min, max, bits);
        // Addresses that wrap around do not follow each other.
        span.contiguous = differs == 0 && q.mask == Mask::MAX && min == start;
        span.one_high_word = high_differs == 0;
    }
}

/// The kernel, as compiled for this processor.
pub(crate) struct Looks(Compiled<Span, LaneVec, LaneVec, Query, ()>);

impl Looks {
    pub(crate) fn new() -> Looks {
        Looks(Processor::detect().compiled::<Look, _, _, _, _, _>())
    }
}

/// Where a request goes, if it needs no checks of single lanes.
pub(super) fn reach(
    cx: &mut Cx<'_>,
    w: &Warp,
    mask: Mask,
    (space, width): (Space, Width),
    addr: &Addr,
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
    let scratch = &mut cx.block.scratch;
    let low = addr.base.get(&w.regs, pool, &mut scratch.a);
    let mut span =
        Span { low: LaneVec::ZERO, min: 0, max: 0, bits: 0, contiguous: false, one_high_word: false };
    let (bytes, align) = (width.bytes(), width.align());
    let mut query = Query { mask, add: addr.offset as u32, keep: u32::MAX, bytes };
    // What is added to the low words as 64 bits.
    let mut start = 0;
    match addr.base_hi {
        Some(high) => {
            let high = high.get(&w.regs, pool, &mut scratch.b);
            query.add = 0;
            (env.looks.0)(&mut span, low, high, &query, 0);
            let high = high.0[mask.trailing_zeros() as usize % LANES];
            start = (u64::from(high) << 32).wrapping_add(addr.offset as u64);
        }
        None => {
            if space != Space::Generic {
                query.keep = 0x00ff_ffff;
            }
            (env.looks.0)(&mut span, low, &pool[0], &query, 0);
        }
    }
    if !span.one_high_word && addr.base_hi.is_some() || (start as u32 | span.bits) & (align - 1) != 0 {
        return None;
    }
    let (lowest, size) = (start.wrapping_add(span.min.into()), u64::from(bytes));
    let highest = lowest.wrapping_add((span.max - span.min).into());
    let inside = |limit: u32| highest + size <= limit.into();
    let (target, from_origin) = match space {
        Space::Generic => {
            let buffers = &env.bound.memory.buffers[..];
            let hint = cx.block.buffer_hints.at(w.at);
            let holds =
                |b: usize| buffers.get(b).is_some_and(|b| b.contains(lowest, size) && b.contains(highest, size));
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
    let pattern = match span.max - span.min {
        0 => Pattern::Same,
        _ if span.contiguous => Pattern::Contiguous,
        _ => Pattern::Scattered,
    };
    let (mut word, mut byte) = (LaneVec::ZERO, LaneVec::ZERO);
    let within = from_origin as u32 & 3;
    for i in 0..LANES {
        let at = span.low.0[i] - span.min + within;
        (word.0[i], byte.0[i]) = (at >> 2, at & 3);
    }
    let last = ((span.max - span.min + within) >> 2) as usize;
    Some(Reach {
        target,
        first: (from_origin >> 2) as usize,
        count: last + width.regs() as usize,
        word,
        byte,
        pattern,
    })
}
