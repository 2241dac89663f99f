//! Compressed texels: blocks of 4 by 4.

use nvir_base::srgb;
use nvir_emu::{Channels, Texels};
use nvir_hw::format::texture::Scheme;

const ONE: u32 = 0x3f80_0000;

/// Texels of a scheme.
#[derive(Debug)]
pub(crate) struct Compressed {
    pub scheme: Scheme,
    /// Of RGTC: components are signed.
    pub signed: bool,
    /// Colours are sRGB, alpha is not.
    pub srgb: bool,
}

/// Texels of a block's side.
const SIDE: usize = 4;

impl Texels for Compressed {
    fn block(&self) -> [u32; 2] {
        [SIDE as u32; 2]
    }

    fn bytes(&self) -> u32 {
        match self.scheme {
            Scheme::Dxt1 | Scheme::Rgtc1 => 8,
            _ => 16,
        }
    }

    fn integer(&self) -> bool {
        false
    }

    fn decode(&self, block: [u32; 4], [x, y]: [u32; 2]) -> Channels {
        let mut bytes = [0; 16];
        bytes.chunks_exact_mut(4).zip(block).for_each(|(b, w)| b.copy_from_slice(&w.to_le_bytes()));
        let bytes = &bytes[..self.bytes() as usize];
        let at = (y as usize % SIDE) * SIDE + x as usize % SIDE;
        let mut colours = [0u8; SIDE * SIDE * 4];
        let mut floats = [0f32; SIDE * SIDE * 3];
        match self.scheme {
            Scheme::Dxt1 => bcdec_rs::bc1(bytes, &mut colours, SIDE * 4),
            Scheme::Dxt23 => bcdec_rs::bc2(bytes, &mut colours, SIDE * 4),
            Scheme::Dxt45 => bcdec_rs::bc3(bytes, &mut colours, SIDE * 4),
            Scheme::Bc7 => bcdec_rs::bc7(bytes, &mut colours, SIDE * 4),
            Scheme::Rgtc1 => {
                bcdec_rs::bc4_float(bytes, &mut floats[..16], SIDE, self.signed);
                return [floats[at].to_bits(), 0, 0, ONE];
            }
            Scheme::Rgtc2 => {
                bcdec_rs::bc5_float(bytes, &mut floats[..32], SIDE * 2, self.signed);
                return [floats[2 * at].to_bits(), floats[2 * at + 1].to_bits(), 0, ONE];
            }
            Scheme::Bc6hSigned | Scheme::Bc6hUnsigned => {
                let signed = self.scheme == Scheme::Bc6hSigned;
                bcdec_rs::bc6h_float(bytes, &mut floats, SIDE * 3, signed);
                let part = |n: usize| floats[3 * at + n].to_bits();
                return [part(0), part(1), part(2), ONE];
            }
        }
        std::array::from_fn(|n| {
            let v = colours[4 * at + n];
            if self.srgb && n < 3 { srgb::to_linear(v) } else { f32::from(v) / 255.0 }.to_bits()
        })
    }
}
