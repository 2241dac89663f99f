//! Requests whose lanes need no checks ([`super::reach`]): their words are moved as rows where they lie so. All of it is compiled for
//! what the processor has.

use crate::code::micro::{Addr, AtomOp, AtomTy, NULL, Space, Width};
use crate::cx::Cx;
use crate::state::lanes::{LANES, LaneVec, Mask, lanes};
use crate::state::warp::Warp;
use crate::units::memory::{combine, narrow, narrow_mask};
use crate::units::reach::{Pattern, Reach, Target, reach};
use nvir_simd::{Features, Kernel, Processor, Word};
use std::marker::PhantomData;
use std::sync::atomic::Ordering::Relaxed;

/// A warp that accesses memory.
struct Access<'r, 'a> {
    cx: &'r mut Cx<'a>,
    w: &'r mut Warp,
}

/// What a kernel is compiled for: accesses of one kind, or all.
trait Kind {
    /// The kind of an access, which the compiler may know.
    fn of(access: (Space, Width)) -> (Space, Width);
}

/// Words of global memory.
struct GlobalWords;

/// Words of shared memory.
struct SharedWords;

struct All;

impl Kind for GlobalWords {
    #[inline(always)]
    fn of(_: (Space, Width)) -> (Space, Width) {
        (Space::Generic, Width::B32)
    }
}

impl Kind for SharedWords {
    #[inline(always)]
    fn of(_: (Space, Width)) -> (Space, Width) {
        (Space::Shared, Width::B32)
    }
}

impl Kind for All {
    #[inline(always)]
    fn of(access: (Space, Width)) -> (Space, Width) {
        access
    }
}

/// Loads, if no lane needs a look of its own: whether it did.
pub(super) fn load(
    cx: &mut Cx<'_>,
    w: &mut Warp,
    mask: Mask,
    access: (Space, Width),
    dst: u8,
    addr: &Addr,
) -> bool {
    let processor = cx.env.processor;
    let compiled = match access {
        (Space::Generic, Width::B32) => processor.compiled::<Load<GlobalWords>, _, _, _, _, _>(),
        (Space::Shared, Width::B32) => processor.compiled::<Load<SharedWords>, _, _, _, _, _>(),
        _ => processor.compiled::<Load<All>, _, _, _, _, _>(),
    };
    compiled(&mut Access { cx, w }, addr, &access, &dst, mask)
}

struct Load<K>(PhantomData<K>);

impl<'r, 'a, K: Kind> Kernel<Access<'r, 'a>, Addr, (Space, Width), u8, bool> for Load<K> {
    #[inline(always)]
    fn run<F: Features>(
        Access { cx, w }: &mut Access<'r, 'a>,
        addr: &Addr,
        access: &(Space, Width),
        &dst: &u8,
        mask: Mask,
    ) -> bool {
        let (space, width) = K::of(*access);
        let mut bytes = LaneVec::ZERO;
        let Some(reach) = reach(cx, w, mask, (space, width), addr, &mut bytes) else { return false };
        if dst == NULL {
            return true;
        }
        let all = reach.first..reach.first + reach.count;
        let fetch = Fetch { processor: cx.env.processor, mask, width, reach: &reach, bytes: &bytes };
        let block = &mut *cx.block;
        for k in 0..width.regs() as usize {
            let row = &mut w.regs[dst as usize + k];
            let take = if mask == Mask::MAX { &LaneVec::ALL } else { block.scratch.take(mask) };
            match reach.target {
                Target::Global(b) => {
                    fetch.row(k, &cx.env.bound.memory.buffers[b].words[all.clone()], take, row)
                }
                Target::Shared => fetch.row(k, &block.shared[all.clone()], take, row),
                Target::Local if matches!(reach.pattern, Pattern::Same(_)) => {
                    row.merge(take, w.local.get(reach.first + k).unwrap_or(&LaneVec::ZERO));
                }
                Target::Local => {
                    for l in lanes(mask) {
                        let word = w.local.get(reach.first + reach.word(l, width, &bytes) + k);
                        row.0[l] = word.map_or(0, |word| word.0[l]);
                    }
                }
            }
            if width.bytes() < 4 {
                lanes(mask).for_each(|l| row.0[l] = narrow(width, row.0[l], reach.byte(l, &bytes)));
            }
        }
        true
    }
}

/// A load of words that lanes share.
struct Fetch<'a> {
    processor: Processor,
    mask: Mask,
    width: Width,
    reach: &'a Reach,
    bytes: &'a LaneVec,
}

impl Fetch<'_> {
    /// The word of each lane's access that is `k` behind its first.
    #[inline(always)]
    fn row<T: Word>(&self, k: usize, words: &[T], take: &LaneVec, row: &mut LaneVec) {
        let &Fetch { processor, mask, width, reach, bytes } = self;
        let full = mask == Mask::MAX;
        match (reach.pattern, words.first_chunk()) {
            (Pattern::Same(_), _) if full => *row = LaneVec::splat(words[k].word()),
            (Pattern::Same(_), _) => row.merge(take, &LaneVec::splat(words[k].word())),
            (Pattern::Contiguous(_), Some(words)) if full && width == Width::B32 => {
                processor.load(words, &mut row.0)
            }
            (Pattern::Scattered, _) if full => processor.gather(&words[k..], &bytes.0, &mut row.0),
            (Pattern::Scattered, _) => {
                let mut all = LaneVec::ZERO;
                processor.gather(&words[k..], &bytes.0, &mut all.0);
                row.merge(take, &all);
            }
            (Pattern::Contiguous(_), _) => {
                for l in lanes(mask) {
                    row.0[l] = words[reach.word(l, width, bytes) + k].word();
                }
            }
        }
    }
}

/// Stores, if no lane needs a look of its own: whether it did. Lanes store in ascending order: of several to one word the last wins.
pub(super) fn store(
    cx: &mut Cx<'_>,
    w: &mut Warp,
    mask: Mask,
    access: (Space, Width),
    src: u8,
    addr: &Addr,
) -> bool {
    let processor = cx.env.processor;
    let compiled = match access {
        (Space::Generic, Width::B32) => processor.compiled::<Store<GlobalWords>, _, _, _, _, _>(),
        (Space::Shared, Width::B32) => processor.compiled::<Store<SharedWords>, _, _, _, _, _>(),
        _ => processor.compiled::<Store<All>, _, _, _, _, _>(),
    };
    compiled(&mut Access { cx, w }, addr, &access, &src, mask)
}

struct Store<K>(PhantomData<K>);

impl<'r, 'a, K: Kind> Kernel<Access<'r, 'a>, Addr, (Space, Width), u8, bool> for Store<K> {
    #[inline(always)]
    fn run<F: Features>(
        Access { cx, w }: &mut Access<'r, 'a>,
        addr: &Addr,
        access: &(Space, Width),
        &src: &u8,
        mask: Mask,
    ) -> bool {
        let (space, width) = K::of(*access);
        let mut bytes = LaneVec::ZERO;
        let Some(reach) = reach(cx, w, mask, (space, width), addr, &mut bytes) else { return false };
        let all = reach.first..reach.first + reach.count;
        if reach.target == Target::Local && w.local.len() < all.end {
            w.local.resize(all.end, LaneVec::ZERO);
        }
        let copied =
            matches!(reach.pattern, Pattern::Contiguous(_)) && mask == Mask::MAX && width == Width::B32;
        // Whole words, each somewhere else.
        let scattered = reach.pattern == Pattern::Scattered && width.bytes() >= 4;
        let word_of = |bytes: &LaneVec, l: usize| bytes.0[l] as usize >> 2;
        for k in 0..width.regs() as usize {
            let row = if src == NULL { &LaneVec::ZERO } else { &w.regs[src as usize + k] };
            let word = |l: usize| reach.word(l, width, &bytes) + k;
            let left = |l: usize, old: u32| merged(width, reach.byte(l, &bytes), row.0[l], old);
            match reach.target {
                Target::Global(b) => {
                    let words = &cx.env.bound.memory.buffers[b].words[all.clone()];
                    if copied && let Some(words) = words.first_chunk() {
                        cx.env.processor.store(&row.0, words);
                        continue;
                    }
                    if scattered {
                        each(mask, |l| words[word_of(&bytes, l) + k].store(row.0[l], Relaxed));
                        continue;
                    }
                    for l in lanes(mask) {
                        let word = &words[word(l)];
                        word.store(left(l, word.load(Relaxed)), Relaxed);
                    }
                }
                Target::Shared => {
                    let words = &mut cx.block.shared[all.clone()];
                    if copied && let Some(words) = words.first_chunk_mut() {
                        *words = row.0;
                        continue;
                    }
                    if scattered {
                        each(mask, |l| words[word_of(&bytes, l) + k] = row.0[l]);
                        continue;
                    }
                    for l in lanes(mask) {
                        let word = &mut words[word(l)];
                        *word = left(l, *word);
                    }
                }
                Target::Local if matches!(reach.pattern, Pattern::Same(_)) && width.bytes() >= 4 => {
                    w.local[reach.first + k].merge(cx.block.scratch.take(mask), row);
                }
                Target::Local => {
                    for l in lanes(mask) {
                        let word = &mut w.local[reach.first + word(l)].0[l];
                        *word = left(l, *word);
                    }
                }
            }
        }
        true
    }
}

/// Does something for each lane of a mask, in ascending order.
#[inline(always)]
fn each(mask: Mask, act: impl FnMut(usize)) {
    match mask {
        Mask::MAX => (0..LANES).for_each(act),
        _ => lanes(mask).for_each(act),
    }
}

/// What a store at an address leaves in a word.
#[inline(always)]
fn merged(width: Width, address: u64, v: u32, old: u32) -> u32 {
    if width.bytes() >= 4 {
        return v;
    }
    let (bits, shift) = narrow_mask(width, address);
    (old & !bits) | (v << shift & bits)
}

/// Does an atomic to words of global memory, if no lane needs a look of its own: whether it did.
pub(super) fn atomic(
    cx: &mut Cx<'_>,
    w: &mut Warp,
    mask: Mask,
    (op, ty): (AtomOp, AtomTy),
    (dst, src): (u8, [u8; 2]),
    addr: &Addr,
) -> bool {
    let compiled = cx.env.processor.compiled::<Atomic, _, _, _, _, _>();
    compiled(&mut Access { cx, w }, addr, &(op, ty), &(dst, src), mask)
}

struct Atomic;

impl<'r, 'a> Kernel<Access<'r, 'a>, Addr, (AtomOp, AtomTy), (u8, [u8; 2]), bool> for Atomic {
    #[inline(always)]
    fn run<F: Features>(
        Access { cx, w }: &mut Access<'r, 'a>,
        addr: &Addr,
        &(op, ty): &(AtomOp, AtomTy),
        &(dst, src): &(u8, [u8; 2]),
        mask: Mask,
    ) -> bool {
        let width = Width::B32;
        let mut bytes = LaneVec::ZERO;
        let Some(reach) = reach(cx, w, mask, (Space::Generic, width), addr, &mut bytes) else { return false };
        let Target::Global(b) = reach.target else { return false };
        let words = &cx.env.bound.memory.buffers[b].words[reach.first..reach.first + reach.count];
        let mut row = LaneVec::ZERO;
        let [x, y] = src.map(|s| if s == NULL { &LaneVec::ZERO } else { &w.regs[s as usize] });
        for l in lanes(mask) {
            let word = &words[reach.word(l, width, &bytes)];
            let (v, new) =
                (x.0[l], |old: u32| combine(op, ty, old.into(), x.0[l].into(), y.0[l].into()) as u32);
            row.0[l] = match (op, ty) {
                (AtomOp::Add, AtomTy::U32 | AtomTy::S32) => word.fetch_add(v, Relaxed),
                _ => word.fetch_update(Relaxed, Relaxed, |old| Some(new(old))).unwrap_or_else(|old| old),
            };
        }
        if dst != NULL {
            w.regs[dst as usize].blend(mask, &row);
        }
        true
    }
}
