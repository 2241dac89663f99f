//! Formats of texels, as entries of the TIC table name them: component sizes, and a type for each component.
//! The first component is in the lowest bits.

use crate::image::compressed::Compressed;
use nvir_base::format::Kind;
use nvir_emu::{Channel, Channels, Field, Source, Texels};
use nvir_hw::format::texture::{Sizes, Type};
use nvir_hw::tic::Tic;
use std::sync::Arc;

const ONE: u32 = 0x3f80_0000;

/// Texels whose components are fields of some bits.
#[derive(Clone, Debug)]
struct Fields {
    bytes: u32,
    fields: [Option<Field>; 4],
    integer: bool,
    depth: usize,
}

impl Texels for Fields {
    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn integer(&self) -> bool {
        self.integer
    }

    fn depth(&self) -> usize {
        self.depth
    }

    /// Fractions are compared as they are stored, as a depth buffer does.
    fn reference(&self, reference: f32) -> f32 {
        match self.fields[self.depth] {
            Some(Field { bits, kind: Kind::Unorm, .. }) if bits < 32 => {
                let max = ((1u64 << bits) - 1) as f32;
                let stored = (f64::from(reference.clamp(0.0, 1.0)) * f64::from(max)).round_ties_even();
                stored as f32 / max
            }
            _ => reference,
        }
    }

    fn decode(&self, block: [u32; 4], _: [u32; 2]) -> Channels {
        self.fields.map(|field| field.map_or(0, |f| f.of(block)))
    }

    fn channels(&self) -> Option<[Channel; 4]> {
        Some(self.fields.map(|field| field.map_or(Channel::Same(0), Channel::Field)))
    }
}

/// Three mantissas of nine bits with one exponent.
#[derive(Debug)]
struct SharedExponent;

impl Texels for SharedExponent {
    fn bytes(&self) -> u32 {
        4
    }

    fn integer(&self) -> bool {
        false
    }

    fn decode(&self, block: [u32; 4], _: [u32; 2]) -> Channels {
        // The mantissas have no leading one; the bias is 15.
        let scale = 2f32.powi((block[0] >> 27) as i32 - 15 - 9);
        let part = |low: u32| ((block[0] >> low & 0x1ff) as f32 * scale).to_bits();
        [part(0), part(9), part(18), ONE]
    }
}

/// Two texels that share two of three components.
#[derive(Debug)]
struct Shared {
    /// The byte of the components of the first texel, and of the second one.
    bytes: [[u32; 3]; 2],
}

impl Texels for Shared {
    fn block(&self) -> [u32; 2] {
        [2, 1]
    }

    fn bytes(&self) -> u32 {
        4
    }

    fn integer(&self) -> bool {
        false
    }

    fn decode(&self, block: [u32; 4], at: [u32; 2]) -> Channels {
        let [r, g, b] = self.bytes[at[0] as usize & 1].map(|n| (block[0] >> (8 * n) & 0xff) as f32 / 255.0);
        [r.to_bits(), g.to_bits(), b.to_bits(), ONE]
    }
}

/// How the first component of an entry that has a type is read.
pub(crate) fn kind(entry: &Tic) -> Option<Kind> {
    let types = (0..4).filter_map(|n| Type::from_code(entry.get(Tic::DATA_TYPE.at(n))));
    types.map(|Type(kind)| kind).next()
}

/// A name as targets have them, `rgba8_unorm`: components from the lowest bit on.
pub(crate) fn name(entry: &Tic) -> String {
    let channels = match Sizes::from_code(entry.get(Tic::COMPONENT_SIZES)) {
        Some(Sizes::Fields(bits, _)) if bits.iter().all(|b| *b == bits[0]) => {
            format!("{}{}", &"rgba"[..bits.len()], bits[0])
        }
        Some(Sizes::Fields(bits, _)) => {
            "rgba".chars().zip(bits).map(|(name, bits)| format!("{name}{bits}")).collect()
        }
        Some(Sizes::Compressed(scheme)) => format!("{scheme:?}").to_lowercase(),
        Some(Sizes::SharedExponent) => return "rgb9e5_float".into(),
        Some(Sizes::Shared(_)) => "rgbg8".into(),
        None => return "?".into(),
    };
    let kind = match kind(entry) {
        Some(Kind::Unorm) if entry.get(Tic::SRGB_CONVERSION) != 0 => "srgb".into(),
        Some(kind) => format!("{kind:?}").to_lowercase(),
        None => return channels,
    };
    format!("{channels}_{kind}")
}

/// The texels of an entry: component sizes, types of the components, where results come from, and whether colours are sRGB.
pub(super) fn texels(
    sizes: u32,
    types: [u32; 4],
    sources: &[Source; 4],
    srgb: bool,
) -> Result<Arc<dyn Texels>, String> {
    let (bits, depth) = match Sizes::from_code(sizes) {
        Some(Sizes::Fields(bits, depth)) => (bits, depth),
        Some(Sizes::Compressed(scheme)) => {
            let signed = Type::from_code(types[0]) == Some(Type(Kind::Snorm));
            return Ok(Arc::new(Compressed { scheme, signed, srgb }));
        }
        Some(Sizes::SharedExponent) => return Ok(Arc::new(SharedExponent)),
        Some(Sizes::Shared(bytes)) => return Ok(Arc::new(Shared { bytes })),
        None => return Err(format!("component sizes {sizes:#x} do not exist")),
    };
    let used = |n: usize, among: &[Source]| among.contains(&Source::Channel(n as u8));
    let mut fields = [None; 4];
    let mut low = 0;
    for (i, &bits) in bits.iter().enumerate() {
        fields[i] = match Type::from_code(types[i]) {
            Some(Type(kind)) => Some(Field { low, bits: bits.into(), kind, srgb: false }),
            None if used(i, sources) => return Err(format!("component {i} has type {}", types[i])),
            None => None,
        };
        low += u32::from(bits);
    }
    for (i, field) in fields.iter_mut().enumerate().filter(|(i, _)| used(*i, sources)) {
        if let Some(f) = field.filter(|f| f.kind == Kind::Float && !matches!(f.bits, 10 | 11 | 16 | 32)) {
            return Err(format!("component {i} is a float of {} bits", f.bits));
        }
    }
    // What nobody looks at may be anything.
    for (i, field) in fields.iter_mut().enumerate() {
        *field = field.filter(|_| used(i, sources) || i == depth);
        *field = field.filter(|f| f.kind != Kind::Float || matches!(f.bits, 10 | 11 | 16 | 32));
        *field = field.filter(|f| f.kind != Kind::Snorm || f.bits > 1);
    }
    let integer = |n: usize| matches!(fields[n], Some(Field { kind: Kind::Uint | Kind::Sint, .. }));
    let integer = (0..4).any(|n| used(n, sources) && integer(n));
    // Alpha is never sRGB, and with two components the second is alpha unless a colour comes from it.
    let colour = |n: usize| srgb && n < 3 && (n != 1 || bits.len() != 2 || used(1, &sources[..3]));
    for (n, field) in fields.iter_mut().enumerate() {
        if let Some(f) = field {
            f.srgb = colour(n) && f.kind == Kind::Unorm;
        }
    }
    let bytes = low.div_ceil(8);
    Ok(Arc::new(Fields { bytes, fields, integer, depth }))
}
