//! Texels: from the bits of memory to channels and back.

use super::block::{Env, State};
use super::check::{self, Request, Where};
use super::trap::Trap;
use super::warp::Warp;
use nvir_base::format::{Kind, Layout};
use nvir_base::num::Round;
use nvir_base::num::conv::{Float, Int, f2f, f2i};
use nvir_base::num::int::sext;
use std::sync::atomic::Ordering::Relaxed;

/// Four channels: bits of f32, or integers.
pub type Channels = [u32; 4];

const ONE: u32 = 0x3f80_0000;

pub fn is_integer(f: Layout) -> bool {
    matches!(f.kind, Kind::Uint | Kind::Sint)
}

/// The channels of a texel; absent ones are 0, 0, 0, 1.
pub fn decode(f: Layout, words: [u32; 4]) -> Channels {
    let all = words.iter().rev().fold(0u128, |v, &w| v << 32 | u128::from(w));
    let mut out = [0, 0, 0, if is_integer(f) { 1 } else { ONE }];
    let mut at = 0;
    for (c, &bits) in f.bits.iter().enumerate() {
        let bits = u32::from(bits);
        if bits == 0 {
            continue;
        }
        let v = ((all >> at) & ((1 << bits) - 1)) as u32;
        at += bits;
        let max = |n: u32| ((1u64 << n) - 1) as f32;
        out[c] = match f.kind {
            Kind::Uint => v,
            Kind::Sint => sext(v, bits),
            Kind::Unorm => (v as f32 / max(bits)).to_bits(),
            Kind::Snorm => (sext(v, bits) as i32 as f32 / max(bits - 1)).max(-1.0).to_bits(),
            Kind::Float if bits == 32 => v,
            // The small floats are halves without sign and low mantissa bits.
            Kind::Float => {
                f2f(Float::F16, u64::from(v) << (15 - bits.min(15)), Float::F32, Round::Rn, false) as u32
            }
        };
        if f.kind == Kind::Float && bits == 16 {
            out[c] = f2f(Float::F16, v.into(), Float::F32, Round::Rn, false) as u32;
        }
    }
    if f.bgra {
        out.swap(0, 2);
    }
    out
}

/// The bits of a texel.
pub fn encode(f: Layout, mut c: Channels) -> [u32; 4] {
    if f.bgra {
        c.swap(0, 2);
    }
    let mut all = 0u128;
    let mut at = 0;
    for (v, &bits) in c.into_iter().zip(&f.bits) {
        let bits = u32::from(bits);
        if bits == 0 {
            continue;
        }
        let x = f32::from_bits(v);
        let scaled = |lo: f32, scale: f32, to: Int| {
            let x = if x.is_nan() { 0.0 } else { x.clamp(lo, 1.0) };
            f2i(Float::F64, (f64::from(x) * f64::from(scale)).to_bits(), to, Round::Rn, false) as u32
        };
        let field = match f.kind {
            Kind::Uint => v.min(((1u64 << bits) - 1) as u32),
            Kind::Sint if bits < 32 => (v as i32).clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1) as u32,
            Kind::Sint => v,
            Kind::Unorm => scaled(0.0, ((1u64 << bits) - 1) as f32, Int::new(32, false)),
            Kind::Snorm => scaled(-1.0, ((1u64 << (bits - 1)) - 1) as f32, Int::new(32, true)),
            Kind::Float if bits == 32 => v,
            Kind::Float if bits == 16 => f2f(Float::F32, v.into(), Float::F16, Round::Rn, false) as u32,
            Kind::Float => {
                let half = f2f(Float::F32, v.into(), Float::F16, Round::Rz, false) as u32;
                match half {
                    h if h & 0x7fff > 0x7c00 => (0x7fff >> (15 - bits)) & ((1 << bits) - 1),
                    h if h & 0x8000 != 0 => 0,
                    h => h >> (15 - bits),
                }
            }
        };
        all |= (u128::from(field) & ((1 << bits) - 1)) << at;
        at += bits;
    }
    std::array::from_fn(|i| (all >> (32 * i)) as u32)
}

/// `size` bytes (up to 16) at an address inside one buffer, as words; `None` outside.
pub(super) fn load(
    env: &Env<'_>,
    st: &mut State,
    (w, lane): (&Warp, usize),
    kind: check::Kind,
    (address, size): (u64, u32),
) -> Result<Option<[u32; 4]>, Trap> {
    let Some(b) = buffer(env, st, address, size) else { return Ok(None) };
    st.check_race(env, w, Request { lane, at: Where::Global(b), addr: address, size, kind })?;
    let buffer = &env.bound.memory.buffers[b];
    let mut out = [0; 4];
    for (k, word) in out.iter_mut().enumerate().take(size.div_ceil(4) as usize) {
        let at = buffer.word(address) + k;
        env.track_read(b, at, st)?;
        *word = buffer.words[at].load(Relaxed);
    }
    if size < 4 {
        out[0] = (out[0] >> ((address & 3) * 8)) & ((1 << (8 * size)) - 1);
    }
    Ok(Some(out))
}

/// Stores `size` bytes; whether the address is inside a buffer.
pub(super) fn store(
    env: &Env<'_>,
    st: &mut State,
    (w, lane): (&Warp, usize),
    (address, size): (u64, u32),
    words: [u32; 4],
) -> Result<bool, Trap> {
    let Some(b) = buffer(env, st, address, size) else { return Ok(false) };
    let kind = check::Kind::Write(words);
    st.check_race(env, w, Request { lane, at: Where::Global(b), addr: address, size, kind })?;
    let buffer = &env.bound.memory.buffers[b];
    for (k, &word) in words.iter().enumerate().take(size.div_ceil(4) as usize) {
        let at = buffer.word(address) + k;
        env.track_write(b, at, st)?;
        let cell = &buffer.words[at];
        if size < 4 {
            let shift = (address & 3) * 8;
            let mask = ((1u32 << (8 * size)) - 1) << shift;
            cell.store(cell.load(Relaxed) & !mask | word << shift & mask, Relaxed);
        } else {
            cell.store(word, Relaxed);
        }
    }
    Ok(true)
}

fn buffer(env: &Env<'_>, st: &mut State, address: u64, size: u32) -> Option<usize> {
    let size = size.into();
    if !env.bound.memory.buffers.get(st.last_buffer).is_some_and(|b| b.contains(address, size)) {
        st.last_buffer = env.bound.memory.find(address, size)?;
    }
    Some(st.last_buffer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nvir_base::format::Format;

    fn layout(name: &str) -> Layout {
        name.parse::<Format>().unwrap().layout()
    }

    #[test]
    fn representable_values_survive_every_format() {
        for (name, values) in [
            ("rgba8", [0.0f32, 1.0, 0.2, 0.6]),
            ("rgba8_snorm", [-1.0, 1.0, 0.0, 1.0]),
            ("r11f_g11f_b10f", [1.5, 0.25, 3.0, 1.0]),
            ("rgba16f", [1.5, -2.0, 0.0, 65504.0]),
            ("bgra8", [0.2, 0.4, 1.0, 0.0]),
            ("rgb10_a2", [1.0, 0.0, 1.0, 1.0]),
            ("r32f", [1.1, 0.0, 0.0, 1.0]),
        ] {
            let f = layout(name);
            let got = decode(f, encode(f, values.map(f32::to_bits))).map(f32::from_bits);
            for (g, v) in got.iter().zip(values) {
                assert!((g - v).abs() < 1e-6, "{name}: {got:?}");
            }
        }
        let f = layout("rg16i");
        assert_eq!(decode(f, encode(f, [-5i32 as u32, 70000, 9, 9])), [-5i32 as u32, 32767, 0, 1]);
        let f = layout("rgb10_a2ui");
        assert_eq!(decode(f, encode(f, [1023, 2000, 5, 3])), [1023, 1023, 5, 3]);
    }
}
