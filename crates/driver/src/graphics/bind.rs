//! What the programs of a draw read and write: constants, buffers, images, textures.

use super::binding;
use super::pipeline::Pipeline;
use crate::commands::{Subchannel::ThreeD, halves, words};
use crate::context::{BANK_BYTES, Context};
use crate::error::{Error, Result, invalid};
use crate::image::Image;
use crate::launch::{BANK_ALIGN, image_slot};
use crate::memory::Slice;
use crate::sampler;
use nvir::Chip;
use nvir::driver::Abi;
use nvir::driver::constants::{self, Constants, Range};
use nvir::emu::Sampler;
use nvir::emu::image::texture_handle;
use nvir::hw::samples::sample_position;
use nvir::stage::Stage;
use nvir_hw::method::bindings::*;
use nvir_hw::method::three_d::*;
use nvir_hw::word::{BindTic, BindTsc, StageCbBind};

/// What is bound to a stage, by the numbers that its program has for it.
#[derive(Clone, Debug, Default)]
pub struct Bindings {
    /// The default uniform block: at most 64 KiB.
    pub uniforms: Vec<u8>,
    /// Uniform blocks, at most 64 KiB each, at multiples of 256 bytes.
    pub uniform_blocks: Vec<(u32, Slice)>,
    /// Storage buffers.
    pub buffers: Vec<(u32, Slice)>,
    /// Images: their first level. On GF100 the fragment stage alone has them.
    pub images: Vec<(u32, Image)>,
    /// Textures with their samplers.
    pub textures: Vec<(u32, Image, Sampler)>,
    /// What a fragment program reads as its framebuffer, which usually is the first colour target: what draws before left
    /// there. Kepler only.
    pub framebuffer: Option<Image>,
}

/// What the driver's bank of a stage says of a draw.
pub(super) struct DrawConstants<'a> {
    /// Base vertex, base instance, number.
    pub vertex: [u32; 3],
    /// Samples of the targets.
    pub samples: u32,
    pub clip_planes: &'a [[f32; 4]],
}

/// Bytes of the driver's bank, as it is bound.
const AUX_BYTES: u32 = 0x1000;
/// Banks that a stage has.
const BANKS: u32 = 16;
/// Words that one packet takes behind the offset.
const CHUNK: usize = 1024;

impl Context {
    /// Binds what a draw has for the programs of a pipeline.
    pub(super) fn bind_stages(
        &mut self,
        pipeline: &Pipeline,
        bindings: &[(Stage, Bindings)],
        draw: &DrawConstants<'_>,
    ) -> Result<()> {
        let none = Bindings::default();
        for program in &pipeline.desc.programs {
            let stage = program.stage();
            let Some(n) = binding(stage) else { continue };
            let mine = bindings.iter().find(|(s, _)| *s == stage).map_or(&none, |(_, b)| b);
            sampler::check_pairs(self.chip, program.shader(), &mine.textures)?;
            self.bind_stage(stage, n, mine, draw)?;
        }
        Ok(())
    }

    fn bind_stage(&mut self, stage: Stage, n: u32, b: &Bindings, draw: &DrawConstants<'_>) -> Result<()> {
        let range = |s: &Slice| Range { address: s.address(), size: s.bytes };
        for (_, slice) in b.buffers.iter().chain(&b.uniform_blocks) {
            self.check(slice)?;
            self.using(&slice.buffer.shared);
        }
        for image in b.images.iter().map(|i| &i.1).chain(b.textures.iter().map(|t| &t.1)) {
            self.using(&image.shared);
        }
        let mut wanted = Vec::new();
        for (_, image, how) in &b.textures {
            wanted.push((
                sampler::texture(image.layout(), how.unnormalized)?,
                sampler::sampler(self.chip, how),
            ));
        }
        if let Some(image) = &b.framebuffer {
            self.using(&image.shared);
            let how = Sampler::default();
            wanted.push((sampler::texture(image.layout(), false)?, sampler::sampler(self.chip, &how)));
        }
        let mut numbers = self.entries(&wanted)?;
        let framebuffer = b.framebuffer.as_ref().and_then(|_| numbers.pop());
        let textures: Vec<(u32, [u32; 2])> = b.textures.iter().map(|t| t.0).zip(numbers).collect();
        let words = match stage {
            Stage::Fragment => {
                let positions = (0..8).flat_map(|s| sample_position(draw.samples, s));
                positions.map(f32::to_bits).collect()
            }
            _ => draw.vertex.to_vec(),
        };
        let constants = Constants {
            buffers: b.buffers.iter().map(|(n, s)| (*n, range(s))).collect(),
            uniform_blocks: b.uniform_blocks.iter().map(|(n, s)| (*n, range(s))).collect(),
            images: b.images.iter().map(|(n, i)| (*n, i.layout().view())).collect(),
            textures: textures.iter().map(|(slot, [t, s])| (*slot, texture_handle(*t, *s))).collect(),
            graphics: Some(constants::Graphics {
                clip_planes: draw.clip_planes.to_vec(),
                draw: words,
                framebuffer: framebuffer.map(|[t, s]| texture_handle(t, s)),
            }),
            ..Constants::default()
        };
        let (chip, graphics) = (self.chip, self.graphics()?);
        let abi = graphics.abi.clone();
        let aux = constants.bytes(&abi, chip, false).map_err(Error::Invalid)?;
        let (uniforms, own) = (graphics.uniforms(n), graphics.driver_bank(n));
        let known = std::mem::replace(&mut graphics.aux[n as usize], aux.clone()) == aux;
        // The draws before see what there was: data in the stream are in order with them.
        if !known {
            self.constant_data(own, AUX_BYTES, &aux);
        }
        if b.uniforms.len() as u64 > BANK_BYTES {
            return invalid(format!("{} bytes of uniforms: a bank has {BANK_BYTES}", b.uniforms.len()));
        }
        let size = b.uniforms.len().next_multiple_of(BANK_ALIGN as usize) as u32;
        if size != 0 {
            self.constant_data(uniforms, size, &b.uniforms);
        }
        let mut banks = [None; BANKS as usize];
        banks[usize::from(abi.aux_bank)] = Some((own, AUX_BYTES));
        banks[usize::from(abi.input_bank)] = Some((uniforms, size)).filter(|_| size != 0);
        for (n, slice) in &b.uniform_blocks {
            if !slice.address().is_multiple_of(BANK_ALIGN) || slice.bytes > BANK_BYTES {
                return invalid(format!(
                    "uniform block {n}: {} bytes at {}: at most {BANK_BYTES}, at a multiple of {BANK_ALIGN}",
                    slice.bytes, slice.offset
                ));
            }
            let bank = usize::from(abi.first_ubo_bank) + *n as usize;
            let size = slice.bytes.next_multiple_of(BANK_ALIGN) as u32;
            banks[bank] = Some((slice.address(), size)).filter(|_| size != 0);
        }
        for (index, bank) in (0..).zip(banks) {
            let bind = StageCbBind::new().with_index(index).with_valid(bank.is_some());
            if let Some((address, size)) = bank {
                let [high, low] = halves(address);
                self.commands.methods(ThreeD, CB_SIZE, &[size, high, low]);
            }
            self.commands.methods(ThreeD, CB_BIND.at(n), &[bind.into()]);
        }
        if chip == Chip::Gf100 {
            self.bind_slots(stage, n, b, &textures)?;
        }
        Ok(())
    }

    /// GF100's textures and images are bound to slots.
    fn bind_slots(&mut self, stage: Stage, n: u32, b: &Bindings, textures: &[(u32, [u32; 2])]) -> Result<()> {
        for &(slot, [texture, sampler]) in textures {
            let texture = BindTic::new().with_valid(true).with_slot(slot).with_entry(texture);
            let sampler = BindTsc::new().with_valid(true).with_slot(slot).with_entry(sampler);
            self.commands.methods(ThreeD, BIND_TIC.at(n), &[texture.into()]);
            self.commands.methods(ThreeD, BIND_TSC.at(n), &[sampler.into()]);
        }
        if stage == Stage::Fragment {
            for slot in 0..Abi::MAX_IMAGES {
                let view = b.images.iter().find(|i| i.0 == slot).map(|i| i.1.layout().view());
                self.commands.methods(ThreeD, IMAGE_ADDRESS_HIGH.at(slot), &image_slot(view.as_ref()));
            }
        } else if !b.images.is_empty() {
            return Err(Error::Unsupported(format!("images in the {} stage of gf100", stage.name())));
        }
        Ok(())
    }

    /// Writes constants in order with the draws around.
    fn constant_data(&mut self, address: u64, size: u32, bytes: &[u8]) {
        let [high, low] = halves(address);
        self.commands.methods(ThreeD, CB_SIZE, &[size, high, low]);
        for (n, chunk) in words(bytes).chunks(CHUNK).enumerate() {
            self.commands.start_with_data(ThreeD, CB_POS, (n * CHUNK * 4) as u32, chunk);
        }
    }
}
