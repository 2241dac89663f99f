//! What NIR's opcodes mean, by the operations of `softmath`; those over whole vectors are here.

use Want::{Any, Bits};
use nvir_reference::softmath::float::Mode;
use nvir_reference::softmath::{
    self, Op, Want, clamp, half_flushed, half_pair, mask, number, packed, signed, value,
};

/// An opcode that works component by component; `None`: not one of these.
pub fn component(name: &str, dbits: u32, sbits: &[u32], s: &[u64]) -> Option<Want> {
    Op::named(name).map(|op| op.eval(dbits, sbits, s))
}

/// An opcode over whole vectors; `None`: not one of these.
pub fn horizontal(name: &str, dbits: u32, dcomps: usize, sbits: &[u32], s: &[Vec<u64>]) -> Option<Vec<Want>> {
    let b = *sbits.first()?;
    if let Some(n) = name.strip_prefix("vec") {
        n.parse::<u32>().ok()?;
        return Some(s.iter().map(|v| Bits(v[0])).collect());
    }
    let floats = |n: usize| -> Vec<f64> { s[n].iter().map(|&x| value(x, b.max(16))).collect() };
    let sum = |terms: Vec<f64>| softmath::sum(&terms, b);
    if let Some(rest) = name.strip_prefix("fdot") {
        let products = floats(0).iter().zip(floats(1)).map(|(x, y)| x * y).collect();
        let copies = if rest.ends_with("_replicated") { dcomps } else { 1 };
        return Some(vec![sum(products); copies]);
    }
    if name.starts_with("fdph") {
        let (x, y) = (floats(0), floats(1));
        let terms = vec![x[0] * y[0], x[1] * y[1], x[2] * y[2], y[3]];
        return Some(vec![sum(terms); if name == "fdph" { 1 } else { dcomps }]);
    }
    if name.starts_with("fsum") {
        return Some(vec![sum(floats(0))]);
    }
    let float_equal = || floats(0).iter().zip(floats(1)).all(|(x, y)| *x == y);
    if name.starts_with("fall_equal") {
        return Some(vec![Want::exact(f64::from(float_equal()))]);
    }
    if name.starts_with("fany_nequal") {
        return Some(vec![Want::exact(f64::from(!float_equal()))]);
    }
    for (part, float, all) in [
        ("all_fequal", true, true),
        ("any_fnequal", true, false),
        ("all_iequal", false, true),
        ("any_inequal", false, false),
    ] {
        if name.starts_with('b') && name.contains(part) {
            let equal = if float { float_equal() } else { s[0] == s[1] };
            return Some(vec![Want::boolean(equal == all, dbits)]);
        }
    }
    let v = &s[0];
    let joined =
        |v: &[u64], bits: u32| v.iter().rev().fold(0u64, |r, x| r.checked_shl(bits).unwrap_or(0) | x);
    let split = |x: u64, bits: u32| {
        (0..dcomps as u32).map(|i| Bits(x >> (i * bits) & mask(bits))).collect::<Vec<_>>()
    };
    let unnormalised = |size: u32, sign: bool| -> Vec<Want> {
        let most = (mask(size) >> u32::from(sign)) as f64;
        let parts = (0..32 / size).map(|i| number(v[0] >> (i * size), size, sign) as f64);
        parts.map(|x| Want::Float((x / most).max(-1.0), 1.0, 0.0)).collect()
    };
    Some(match name {
        "pack_64_2x32" | "pack_double_2x32_dxil" => vec![Bits(joined(v, 32))],
        "pack_64_4x16" | "pack_32_2x16" => vec![Bits(joined(v, 16))],
        "pack_32_4x8" => vec![Bits(joined(v, 8))],
        "unpack_64_2x32" | "unpack_double_2x32_dxil" => split(v[0], 32),
        "unpack_64_4x16" | "unpack_32_2x16" => split(v[0], 16),
        "unpack_32_4x8" => split(v[0], 8),
        "pack_uvec2_to_uint" => vec![Bits(v[0] & 0xffff | v[1] << 16 & 0xffff_0000)],
        // The components are not masked; what they have beyond their byte is not defined.
        "pack_uvec4_to_uint" => vec![if v.iter().all(|x| *x < 256) { Bits(joined(v, 8)) } else { Any(0) }],
        "pack_uint_2x16" => vec![Bits(v[0].min(0xffff) | v[1].min(0xffff) << 16)],
        "pack_sint_2x16" => {
            let part = |x: u64| clamp(signed(x, 32).into(), 16, true);
            vec![Bits(part(v[0]) | part(v[1]) << 16)]
        }
        "pack_snorm_2x16" => vec![packed(&floats(0), true)],
        "pack_snorm_4x8" => vec![packed(&floats(0), true)],
        "pack_unorm_2x16" => vec![packed(&floats(0), false)],
        "pack_unorm_4x8" => vec![packed(&floats(0), false)],
        "unpack_snorm_2x16" => unnormalised(16, true),
        "unpack_snorm_4x8" => unnormalised(8, true),
        "unpack_unorm_2x16" => unnormalised(16, false),
        "unpack_unorm_4x8" => unnormalised(8, false),
        "pack_half_2x16" => vec![half_pair(floats(0)[0], floats(0)[1], Mode::Near)],
        "unpack_half_2x16" => vec![Want::exact(value(v[0] & 0xffff, 16)), Want::exact(value(v[0] >> 16, 16))],
        "unpack_half_2x16_flush_to_zero" => vec![half_flushed(v[0]), half_flushed(v[0] >> 16)],
        "mqsad_4x8" => {
            let window = s[1][0] | s[1][1] << 32;
            let one = |i: usize| {
                component("msad_4x8", 32, &[32; 3], &[v[0], window >> (8 * i) & 0xffff_ffff, s[2][i]])
            };
            return (0..4).map(one).collect();
        }
        _ => {
            // Opcodes of one component in the notation of vectors.
            let first: Vec<u64> = s.iter().map(|v| v[0]).collect();
            return component(name, dbits, sbits, &first).map(|w| vec![w]);
        }
    })
}
