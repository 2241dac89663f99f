//! Launches: what a grid gets, and how the hardware is told.

mod fermi;
mod kepler;
mod sanitize;

pub(crate) use fermi::image_slot;
pub(crate) use sanitize::Report;

use crate::Kernel;
use crate::commands::Subchannel;
use crate::context::{BANK_BYTES, BANKS, Context};
use crate::error::{Error, Result, invalid};
use crate::image::Image;
use crate::memory::{Buffer, Slice};
use crate::sampler;
use nvir::Chip;
use nvir::driver::constants::{Constants, Range};
use nvir::emu::Sampler;
use nvir::emu::image::texture_handle;
use nvir::hw::surface::View;
use nvir_hw::method::compute::FLUSH;
use nvir_hw::method::shader::MEM_BARRIER;
use nvir_hw::word::{flush, memory_barrier};

/// How many blocks a launch has.
#[derive(Clone, Debug)]
pub enum Grid {
    /// In x, y and z.
    Blocks([u32; 3]),
    /// As three words in memory say when the launch begins. The slice has 12 bytes, at a multiple of 4.
    Indirect(Slice),
}

/// A launch: a kernel, its grid, and what is bound by the numbers that the program has for it.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    /// What runs.
    pub kernel: &'a Kernel,
    /// Blocks.
    pub grid: Grid,
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Bytes of shared memory beyond those that the kernel declares.
    pub shared_bytes: u32,
    /// The kernel input (arguments), from the beginning of the bank on.
    pub input: &'a [u8],
    /// The default uniform block, under the kernel input.
    pub uniforms: Option<Slice>,
    /// Storage buffers.
    pub buffers: Vec<(u32, Slice)>,
    /// Uniform blocks, at most 64 KiB each.
    pub uniform_blocks: Vec<(u32, Slice)>,
    /// Images: their first level.
    pub images: Vec<(u32, Image)>,
    /// Images by handle (Kepler).
    pub bindless_images: Vec<(u32, Image)>,
    /// Textures with their samplers.
    pub textures: Vec<(u32, Image, Sampler)>,
    /// Constant banks with these bytes, all that there are, in place of what the driver's ABI has in them: for code of
    /// another one. Then nothing else of constants, buffers and textures is bound.
    pub banks: Vec<(u8, Vec<u8>)>,
    /// Buffers that the kernel reaches by addresses in its input or in memory.
    pub reached: Vec<Buffer>,
    /// What a kernel that checks itself may reach of them, if not all.
    pub reached_parts: Option<Vec<Slice>>,
    /// Variables in the shared memory that the launch adds, first byte and bytes: for a kernel that checks itself.
    pub shared_variables: Vec<(u32, u32)>,
}

impl<'a> Launch<'a> {
    /// One that binds nothing.
    pub fn new(kernel: &'a Kernel, grid: [u32; 3], block: [u32; 3]) -> Launch<'a> {
        Launch {
            kernel,
            grid: Grid::Blocks(grid),
            block,
            shared_bytes: 0,
            input: &[],
            uniforms: None,
            buffers: Vec::new(),
            uniform_blocks: Vec::new(),
            images: Vec::new(),
            bindless_images: Vec::new(),
            textures: Vec::new(),
            banks: Vec::new(),
            reached: Vec::new(),
            reached_parts: None,
            shared_variables: Vec::new(),
        }
    }
}

/// A constant bank as the hardware gets it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Bank {
    index: u8,
    address: u64,
    bytes: u32,
}

/// What the hardware is told of a launch, the same for all chips.
#[derive(Clone, PartialEq, Debug)]
struct Request {
    entry: u32,
    grid: [u32; 3],
    block: [u32; 3],
    gprs: u32,
    shared: u32,
    local: u32,
    stack: u32,
    barriers: u32,
    banks: Vec<Bank>,
    /// Numbers of textures and samplers in the tables, by slot.
    textures: Vec<(u32, [u32; 2])>,
    /// By slot.
    images: Vec<(u32, View)>,
}

/// Banks begin at multiples of this, and have as many bytes (Mesa `nvc0_set_constant_buffer`).
pub(crate) const BANK_ALIGN: u64 = 256;

impl Bank {
    /// The size as the hardware is told. What lies behind the end is memory of the same buffer, which ends with a page.
    fn size(&self) -> u32 {
        self.bytes.next_multiple_of(BANK_ALIGN as u32)
    }
}

impl Context {
    /// Queues a launch.
    ///
    /// # Errors
    /// Sizes that the chip does not have, a block of another size than the kernel declares, a binding that does not exist or does not fit, no memory, or the context is lost.
    pub fn launch(&mut self, launch: &Launch<'_>) -> Result<()> {
        self.alive()?;
        let grid = match &launch.grid {
            Grid::Blocks(grid) => *grid,
            Grid::Indirect(at) => {
                self.check(at)?;
                if at.bytes != 12 || !at.offset.is_multiple_of(4) {
                    return invalid(format!(
                        "a grid of {} bytes at {}: it has 12, at a multiple of 4",
                        at.bytes, at.offset
                    ));
                }
                if self.chip == Chip::Gf100 {
                    // Its registers pack two extents into a word, which data in the stream cannot do.
                    let words = self.read(at)?;
                    let word =
                        |i: usize| u32::from_le_bytes([words[i], words[i + 1], words[i + 2], words[i + 3]]);
                    [word(0), word(4), word(8)]
                } else {
                    [1; 3]
                }
            }
        };
        if grid.contains(&0) {
            // No block runs.
            return Ok(());
        }
        self.check_limits(launch, grid)?;
        let shader = &launch.kernel.shader;
        let entry = self.place(launch.kernel)?;
        self.reserve_local(shader.local_bytes, shader.stack_bytes)?;
        let textures = self.bind_textures(launch)?;
        let banks = match launch.banks.is_empty() {
            true => self.bind_constants(launch, grid, &textures)?,
            false => {
                launch.banks.iter().map(|(n, bytes)| self.fill_bank(*n, bytes)).collect::<Result<_>>()?
            }
        };
        let request = Request {
            entry,
            grid,
            block: shader.launch_block(launch.block).map_err(Error::Invalid)?,
            gprs: shader.launch_gprs(),
            shared: shader.launch_shared(launch.shared_bytes),
            local: shader.local_bytes,
            stack: shader.stack_bytes,
            barriers: shader.barriers,
            banks,
            textures,
            images: launch.images.iter().map(|(n, i)| (*n, i.layout().view())).collect(),
        };
        if let Some(shader) = launch.kernel.shader.sanitizer.as_ref().filter(|_| !launch.banks.is_empty()) {
            let kernel = &shader.kernel;
            return invalid(format!("{kernel} checks itself, so its launch cannot give constant banks"));
        }
        for buffer in &launch.reached {
            self.using(&buffer.shared);
        }
        let images = launch.images.iter().chain(&launch.bindless_images).map(|(_, i)| i);
        for image in images.chain(launch.textures.iter().map(|(_, i, _)| i)) {
            self.using(&image.shared);
        }
        match self.chip {
            Chip::Gf100 => self.launch_fermi(&request),
            Chip::Gk104 | Chip::Gk110 => {
                let indirect = match &launch.grid {
                    Grid::Indirect(at) => Some(at),
                    Grid::Blocks(_) => None,
                };
                self.launch_kepler(&request, indirect)?;
            }
        }
        self.queued()
    }

    fn check_limits(&self, launch: &Launch<'_>, grid: [u32; 3]) -> Result<()> {
        let shader = &launch.kernel.shader;
        let refused = |e: nvir::chip::LimitError| Error::Invalid(e.to_string());
        self.chip.check_launch(grid, launch.block, shader.launch_gprs()).map_err(refused)?;
        shader.check_shared(launch.shared_bytes.into()).map_err(refused)?;
        // Before anything of the launch is queued.
        shader.launch_block(launch.block).map_err(Error::Invalid)?;
        Ok(())
    }

    fn bind_textures(&mut self, launch: &Launch<'_>) -> Result<Vec<(u32, [u32; 2])>> {
        sampler::check_pairs(self.chip, &launch.kernel.shader, &launch.textures)?;
        let mut wanted = Vec::new();
        for (_, image, how) in &launch.textures {
            wanted.push((
                sampler::texture(image.layout(), how.unnormalized)?,
                sampler::sampler(self.chip, how),
            ));
        }
        let numbers = self.entries(&wanted)?;
        Ok(launch.textures.iter().map(|t| t.0).zip(numbers).collect())
    }

    /// Fills the driver's own bank and the kernel input, and says where all banks lie.
    fn bind_constants(
        &mut self,
        launch: &Launch<'_>,
        grid: [u32; 3],
        textures: &[(u32, [u32; 2])],
    ) -> Result<Vec<Bank>> {
        let abi = self.abi.clone();
        let range = |s: &Slice| Range { address: s.address(), size: s.bytes };
        for (_, slice) in launch.buffers.iter().chain(&launch.uniform_blocks) {
            self.check(slice)?;
            self.using(&slice.buffer.shared);
        }
        let constants = Constants {
            grid,
            block: launch.block,
            grid_id: 0,
            buffers: launch.buffers.iter().map(|(n, s)| (*n, range(s))).collect(),
            uniform_blocks: launch.uniform_blocks.iter().map(|(n, s)| (*n, range(s))).collect(),
            images: launch.images.iter().map(|(n, i)| (*n, i.layout().view())).collect(),
            bindless_images: launch.bindless_images.iter().map(|(n, i)| (*n, i.layout().view())).collect(),
            textures: textures.iter().map(|(slot, [t, s])| (*slot, texture_handle(*t, *s))).collect(),
            graphics: None,
            sanitizer: self.sanitize(launch, grid)?,
        };
        let bindless = launch.kernel.shader.resources.bindless_images.is_some();
        let bytes = constants.bytes(&abi, self.chip, bindless).map_err(Error::Invalid)?;
        let mut banks = vec![self.fill_bank(abi.aux_bank, &bytes)?];
        if let Grid::Indirect(at) = &launch.grid
            && self.chip != Chip::Gf100
        {
            // What the program reads of the grid comes from memory, too.
            self.using(&at.buffer.shared);
            let to = self.bank_address(abi.aux_bank) + u64::from(abi.grid_info) + 12;
            self.upload_from(to, at);
        }
        let input_at = u64::from(abi.input_offset);
        if input_at + launch.input.len() as u64 > BANK_BYTES {
            return invalid(format!("{} bytes of kernel input", launch.input.len()));
        }
        let mut input_bytes = input_at + launch.input.len() as u64;
        if let Some(uniforms) = &launch.uniforms {
            self.copy_to_bank(abi.input_bank, uniforms)?;
            input_bytes = input_bytes.max(uniforms.bytes);
        }
        self.upload(self.bank_address(abi.input_bank) + input_at, launch.input)?;
        if input_bytes != 0 {
            banks.push(self.own_bank(abi.input_bank, input_bytes));
        }
        for (n, slice) in launch.uniform_blocks.iter().filter(|(n, _)| *n < abi.bound_ubos.into()) {
            let index = abi.first_ubo_bank + *n as u8;
            if slice.bytes == 0 {
                continue;
            }
            banks.push(if slice.address().is_multiple_of(BANK_ALIGN) && slice.bytes <= BANK_BYTES {
                Bank { index, address: slice.address(), bytes: slice.bytes as u32 }
            } else {
                self.copy_to_bank(index, slice)?;
                self.own_bank(index, slice.bytes)
            });
        }
        banks.sort_by_key(|b| b.index);
        Ok(banks)
    }

    fn own_bank(&self, index: u8, bytes: u64) -> Bank {
        Bank { index, address: self.bank_address(index), bytes: bytes as u32 }
    }

    fn fill_bank(&mut self, index: u8, bytes: &[u8]) -> Result<Bank> {
        if u64::from(index) >= BANKS || bytes.len() as u64 > BANK_BYTES {
            return invalid(format!("{} bytes for constant bank {index}", bytes.len()));
        }
        self.upload(self.bank_address(index), bytes)?;
        Ok(self.own_bank(index, bytes.len() as u64))
    }

    fn copy_to_bank(&mut self, index: u8, from: &Slice) -> Result<()> {
        self.check(from)?;
        if from.bytes > BANK_BYTES {
            return invalid(format!("{} bytes of constants: a bank has {BANK_BYTES}", from.bytes));
        }
        self.using(&from.buffer.shared);
        self.copy_bytes(from.address(), self.bank_address(index), from.bytes);
        Ok(())
    }

    /// Lets the next launch and the next draw see code that was just written.
    pub(crate) fn flush_code(&mut self) {
        self.commands.methods(Subchannel::Compute, FLUSH, &[flush::CODE]);
        if self.graphics.is_some() {
            self.commands.methods(Subchannel::ThreeD, MEM_BARRIER, &[memory_barrier::CODE]);
        }
    }
}
