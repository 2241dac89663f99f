//! Coordinates of one dimension in texels: which texels they are between, and where those wrap to.

use crate::image::Wrap;

/// The integer at or below a coordinate.
#[inline]
pub(super) fn floor(v: f32) -> i64 {
    let whole = v as i64;
    whole.saturating_sub((whole as f32 > v).into())
}

/// How much the next texel counts: eight bits of fraction, as hardware has them.
#[inline]
pub(super) fn weight(base: f32) -> f32 {
    let fraction = if base.abs() < 1e9 { base - floor(base) as f32 } else { base - base.floor() };
    // Rounded half up, without a call of the host's library.
    let units = fraction * 256.0;
    let whole = units as i32 as f32;
    (if units - whole >= 0.5 { whole + 1.0 } else { whole }) / 256.0
}

/// The texel that a coordinate wraps to; `None`: the border. Where a coordinate is clamped to the image's edge and not to a
/// texel, that lies between the last texel and the border, so that a filter mixes both and the nearest texel is the last.
#[inline]
pub(super) fn wrapped(at: i64, size: i64, wrap: Wrap, nearest: bool) -> Option<i64> {
    if (0..size).contains(&at) {
        return Some(at);
    }
    let mirrored = |v: i64| v.max(-1 - v);
    let inside = |v: i64| (0..size).contains(&v).then_some(v);
    match wrap {
        Wrap::Repeat => Some(at.rem_euclid(size)),
        Wrap::ClampToEdge => Some(at.clamp(0, size - 1)),
        Wrap::ClampToBorder => inside(at),
        Wrap::Clamp if nearest => Some(at.clamp(0, size - 1)),
        Wrap::Clamp => inside(at),
        Wrap::MirroredRepeat => {
            let m = at.rem_euclid(2 * size);
            Some(m.min(2 * size - 1 - m))
        }
        Wrap::MirrorClampToEdge => Some(mirrored(at).clamp(0, size - 1)),
        Wrap::MirrorClampToBorder => inside(mirrored(at)),
        Wrap::MirrorClamp if nearest => Some(mirrored(at).clamp(0, size - 1)),
        Wrap::MirrorClamp => inside(mirrored(at)),
    }
}

/// A coordinate in texels, where the mode clamps it before texels are looked for.
#[inline]
pub(super) fn clamped(wrap: Wrap, at: f32, size: u32) -> f32 {
    match wrap {
        Wrap::Clamp => at.clamp(0.0, size as f32),
        Wrap::MirrorClamp => at.abs().min(size as f32),
        _ => at,
    }
}
