//! Texels in memory.

use crate::check::shadow::{Kind, Request, Where};
use crate::cx::Cx;
use crate::state::warp::Warp;
use crate::trap::Trap;
use std::sync::atomic::Ordering::Relaxed;

/// `size` bytes (up to 16) at an address inside one buffer, as words; `None` outside.
pub(crate) fn load(
    cx: &mut Cx<'_>,
    (w, lane): (&Warp, usize),
    kind: Kind,
    (address, size): (u64, u32),
) -> Result<Option<[u32; 4]>, Trap> {
    let Some(b) = buffer(cx, address, size) else { return Ok(None) };
    let buffer = &cx.env.bound.memory.buffers[b];
    let first = buffer.word(address);
    let count = size.div_ceil(4) as usize;
    if cx.env.observed {
        cx.check_race(w, Request { lane, at: Where::Global(b), addr: address, size, kind })?;
        (first..first + count).try_for_each(|at| cx.track_read(b, at))?;
    }
    let mut out = [0; 4];
    for (out, word) in out.iter_mut().zip(&buffer.words[first..first + count]) {
        *out = word.load(Relaxed);
    }
    if size < 4 {
        out[0] = (out[0] >> ((address & 3) * 8)) & ((1 << (8 * size)) - 1);
    }
    Ok(Some(out))
}

/// Whether `size` bytes at an address are inside one buffer.
pub(crate) fn is_mapped(cx: &mut Cx<'_>, address: u64, size: u32) -> bool {
    buffer(cx, address, size).is_some()
}

/// Stores `size` bytes, if they are inside a buffer.
pub(crate) fn store(
    cx: &mut Cx<'_>,
    (w, lane): (&Warp, usize),
    (address, size): (u64, u32),
    words: [u32; 4],
) -> Result<(), Trap> {
    let Some(b) = buffer(cx, address, size) else { return Ok(()) };
    let kind = Kind::Write(words);
    cx.check_race(w, Request { lane, at: Where::Global(b), addr: address, size, kind })?;
    let buffer = &cx.env.bound.memory.buffers[b];
    for (k, &word) in words.iter().enumerate().take(size.div_ceil(4) as usize) {
        let at = buffer.word(address) + k;
        cx.track_write(b, at)?;
        let cell = &buffer.words[at];
        if size < 4 {
            let shift = (address & 3) * 8;
            let mask = ((1u32 << (8 * size)) - 1) << shift;
            cell.store(cell.load(Relaxed) & !mask | word << shift & mask, Relaxed);
        } else {
            cell.store(word, Relaxed);
        }
    }
    Ok(())
}

fn buffer(cx: &mut Cx<'_>, address: u64, size: u32) -> Option<usize> {
    let size = size.into();
    if !cx.env.bound.memory.buffers.get(cx.block.last_buffer).is_some_and(|b| b.contains(address, size)) {
        cx.block.last_buffer = cx.env.bound.memory.find(address, size)?;
    }
    Some(cx.block.last_buffer)
}
