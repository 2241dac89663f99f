//! Fixtures through the driver: `--device virtual` or a render node; and `nvir devices`.

mod scene;
mod stage;

use crate::out::outln;
use crate::output;
use nvir::driver::constants::Range;
use nvir::driver::sanitizer::Finding;
use nvir::emu::{self, Dim, ImageDesc};
use nvir::image::cubin;
use nvir::{Chip, Shader};
use nvir_driver::{
    Buffer, Context, DepthFormat, DepthImage, Device, Error, Image, Launch, RenderNode, Slice, VirtualDevice,
};
use nvir_fixture::Settings;
use nvir_fixture::backend::{Backend, Bindings, Emulator};
use nvir_fixture::kernel::{self, Kernel, LaunchError};
use nvir_fixture::run::Loaded;
use nvir_fixture::sanitize;
use nvir_fixture::scene::ScenePass;
use nvir_fixture::scene::format::Counter;
use nvir_fixture::stage::StageRun;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::Arc;

/// What `--device` names.
#[derive(Clone, Debug)]
pub(crate) enum Where {
    /// The virtual GPU in this process.
    Virtual,
    /// A card.
    Node(PathBuf),
}

impl FromStr for Where {
    type Err = String;

    fn from_str(s: &str) -> Result<Where, String> {
        match s {
            "virtual" => Ok(Where::Virtual),
            path if path.contains('/') => Ok(Where::Node(path.into())),
            _ => Err(format!("`{s}` is neither `virtual` nor a path like /dev/dri/renderD128")),
        }
    }
}

/// Where tests run.
pub(crate) enum Place {
    Emulator,
    Virtual,
    /// The virtual GPU, which records what is submitted into a file.
    Recorded(PathBuf),
    Card(Arc<RenderNode>),
}

impl Place {
    /// Opens what the option names; without it tests run in the emulator.
    pub(crate) fn open(device: Option<&Where>) -> Result<Place, String> {
        Ok(match device {
            None => Place::Emulator,
            Some(Where::Virtual) => Place::Virtual,
            Some(Where::Node(path)) => {
                Place::Card(Arc::new(RenderNode::open(path).map_err(|e| e.to_string())?))
            }
        })
    }

    /// Why nothing for a chip can run here.
    pub(crate) fn refuses(&self, chip: Chip) -> Option<String> {
        match self {
            Place::Card(card) if card.chip() != chip => Some(format!("the card has {}", card.chip())),
            _ => None,
        }
    }

    /// A new backend for a test of a fixture. Scenes are drawn on the virtual GPU where no device is named.
    pub(crate) fn backend(
        &self,
        loaded: &Loaded,
        chip: Chip,
        settings: &Settings,
    ) -> Result<Box<dyn Backend>, String> {
        let device: Arc<dyn Device> = match self {
            Place::Emulator if !loaded.is_scene() => return Ok(Box::new(Emulator::default())),
            Place::Emulator | Place::Virtual | Place::Recorded(_) => {
                let mut config = nvir_vgpu::Config::new(chip);
                if let Place::Recorded(path) = self {
                    let why = |e| format!("{}: {}", path.display(), output::unwritable(&e));
                    config.trace =
                        Some(Box::new(std::io::BufWriter::new(std::fs::File::create(path).map_err(why)?)));
                }
                config.launch.checks = settings.checks;
                config.launch.step_limit = settings.step_limit;
                Arc::new(VirtualDevice::with_config(config))
            }
            Place::Card(card) => card.clone(),
        };
        let context = Context::on(device).map_err(|e| e.to_string())?;
        Ok(Box::new(OnDevice {
            context: RefCell::new(context),
            buffers: BTreeMap::new(),
            images: BTreeMap::new(),
            depths: BTreeMap::new(),
        }))
    }
}

/// A test's memory and launches on a device.
struct OnDevice {
    context: RefCell<Context>,
    /// By the address that the test sees.
    buffers: BTreeMap<u64, Slice>,
    images: BTreeMap<u64, Image>,
    /// Those of `images` that are depths.
    depths: BTreeMap<u64, DepthImage>,
}

fn text(e: Error) -> String {
    e.to_string()
}

impl OnDevice {
    /// The part of a buffer at an address.
    fn slice(&self, address: u64, bytes: u64) -> Result<Slice, String> {
        let found = self.buffers.range(..=address).next_back();
        let (base, whole) = found.ok_or_else(|| format!("no buffer at {address:#x}"))?;
        Ok(whole.buffer.slice(whole.offset + (address - base), bytes))
    }

    fn range(&self, r: &Range) -> Result<Slice, String> {
        self.slice(r.address, r.size)
    }

    /// The image, or the part of it, that a description is of.
    fn part(&self, image: &emu::Image) -> Result<Image, String> {
        let found = self.images.range(..=image.address).next_back();
        let (_, whole) = found.ok_or_else(|| format!("no image at {:#x}", image.address))?;
        Ok(whole.with_layout(image.clone()))
    }

    /// Parts of buffers by number.
    fn slices(&self, all: &BTreeMap<u32, Range>) -> Result<Vec<(u32, Slice)>, String> {
        all.iter().map(|(&n, r)| Ok((n, self.range(r)?))).collect()
    }

    /// Images by number.
    fn parts(&self, all: &BTreeMap<u32, emu::Image>) -> Result<Vec<(u32, Image)>, String> {
        all.iter().map(|(&n, i)| Ok((n, self.part(i)?))).collect()
    }

    /// Textures with their samplers, by number.
    fn textures(&self, setup: &Bindings) -> Result<Vec<(u32, Image, emu::Sampler)>, String> {
        setup.textures.iter().map(|(&n, (image, how))| Ok((n, self.part(image)?, *how))).collect()
    }

    /// What is bound to a graphics stage, as the driver has it.
    fn given(&self, setup: &Bindings) -> Result<nvir_driver::Bindings, String> {
        if !setup.bindless_images.is_empty() {
            return Err("graphics stages have no images by handle".into());
        }
        let mut context = self.context.borrow_mut();
        let uniforms = match &setup.uniforms {
            None => Vec::new(),
            Some(r) => context.read(&self.range(r)?).map_err(text)?,
        };
        // Tests put buffers where programs must bear them; constant banks begin at multiples of 256 bytes.
        let mut uniform_blocks = self.slices(&setup.uniform_blocks)?;
        for (_, block) in uniform_blocks.iter_mut().filter(|(_, b)| !b.address().is_multiple_of(256)) {
            let bytes = context.read(block).map_err(text)?;
            let copy = context.buffer(block.bytes.max(1)).map_err(text)?.slice(0, block.bytes);
            context.write(&copy, &bytes).map_err(text)?;
            *block = copy;
        }
        Ok(nvir_driver::Bindings {
            uniforms,
            uniform_blocks,
            buffers: self.slices(&setup.buffers)?,
            images: self.parts(&setup.images)?,
            textures: self.textures(setup)?,
            framebuffer: setup.framebuffer.as_ref().map(|f| self.part(f)).transpose()?,
        })
    }

    fn run(&self, shader: &nvir::Shader, setup: &Bindings) -> Result<Vec<Finding>, LaunchError> {
        let bind = || -> Result<_, String> {
            Ok((
                setup.uniforms.as_ref().map(|r| self.range(r)).transpose()?,
                self.slices(&setup.buffers)?,
                self.slices(&setup.uniform_blocks)?,
                self.parts(&setup.images)?,
                self.parts(&setup.bindless_images)?,
                self.textures(setup)?,
            ))
        };
        let (uniforms, buffers, uniform_blocks, images, bindless_images, textures) =
            bind().map_err(LaunchError::Setup)?;
        let reached: Vec<Buffer> = self.buffers.values().map(|s| s.buffer.clone()).collect();
        let reached_parts = Some(self.buffers.values().cloned().collect());
        let mut context = self.context.borrow_mut();
        let kernel = context.kernel(shader).map_err(failed)?;
        let launch = Launch {
            shared_bytes: setup.shared_dynamic,
            input: &setup.input,
            uniforms,
            buffers,
            uniform_blocks,
            images,
            bindless_images,
            textures,
            reached,
            reached_parts,
            shared_variables: setup.shared_added.clone(),
            ..Launch::new(&kernel, setup.grid, setup.block)
        };
        context.launch(&launch).map_err(failed)?;
        context.finish().map_err(failed)?;
        context.findings().map_err(failed)
    }
}

/// What a driver's error means to a test.
fn failed(e: Error) -> LaunchError {
    match e {
        Error::Lost(why) => LaunchError::Lost(why),
        Error::Unsupported(why) => LaunchError::Unseen(why),
        e => LaunchError::Setup(e.to_string()),
    }
}

impl OnDevice {
    /// A kernel of a cubin: its constant banks are filled as CUDA's driver fills them.
    fn run_cuda(&mut self, file: &cubin::Cubin, name: &str, setup: &Bindings) -> Result<(), LaunchError> {
        let kernel = file.kernel(name).map_err(|e| LaunchError::Setup(e.to_string()))?;
        let kernel = kernel::place(file, kernel, self).map_err(LaunchError::Setup)?;
        let program = emu::Program::new(file.chip, &kernel.code);
        let Bindings { grid, block, input, shared_dynamic, .. } = setup;
        let cuda = nvir_fixture::cuda::launch(&program, &kernel, *grid, *block, input, *shared_dynamic);
        let banks = (0u8..).zip(&cuda.consts);
        let banks = banks.filter_map(|(n, b)| Some((n, b.bytes().filter(|b| !b.is_empty())?.to_vec())));
        let shader = Shader {
            gprs: cuda.gprs,
            local_bytes: cuda.local_bytes,
            shared_bytes: cuda.shared_bytes,
            ..Shader::assembled(file.chip, kernel.clone())
        };
        let reached = self.buffers.values().map(|s| s.buffer.clone()).collect();
        let context = self.context.get_mut();
        let kernel = context.kernel(&shader).map_err(failed)?;
        let launch = Launch { banks: banks.collect(), reached, ..Launch::new(&kernel, *grid, *block) };
        context.launch(&launch).map_err(failed)?;
        context.finish().map_err(failed)
    }
}

impl Backend for OnDevice {
    fn alloc(&mut self, bytes: u64, align: u64) -> Result<u64, String> {
        // Buffers begin at pages: a smaller alignment is had by beginning that far behind.
        let offset = if align < 4096 { align.next_multiple_of(4) } else { 0 };
        let buffer = self.context.get_mut().buffer(bytes.max(1) + offset).map_err(text)?;
        let slice = buffer.slice(offset, bytes);
        let address = slice.address();
        self.buffers.insert(address, slice);
        Ok(address)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), String> {
        let to = self.slice(address, bytes.len() as u64)?;
        self.context.get_mut().write(&to, bytes).map_err(text)
    }

    fn read(&self, address: u64, bytes: u64) -> Result<Vec<u8>, String> {
        let from = self.slice(address, bytes)?;
        self.context.borrow_mut().read(&from).map_err(text)
    }

    fn image(&mut self, desc: ImageDesc, how: emu::image::Arrangement) -> Result<emu::Image, String> {
        let image = self.context.get_mut().image(desc, how).map_err(text)?;
        let layout = image.layout().clone();
        self.images.insert(layout.address, image);
        Ok(layout)
    }

    fn depths(&mut self, format: DepthFormat, desc: ImageDesc) -> Result<emu::Image, String> {
        let [width, height, third] = desc.size;
        let (layers, samples) = match desc.dim {
            Dim::D2 => (1, 1),
            Dim::D2Array => (third, 1),
            Dim::D2Ms => (1, third),
            dim => return Err(format!("images of depths are 2d, 2d_array or 2d_ms, not {dim:?}")),
        };
        if desc.levels != 1 {
            return Err(format!("{} levels: an image of depths has one", desc.levels));
        }
        let image =
            self.context.get_mut().depth_image(format, [width, height], layers, samples).map_err(text)?;
        let layout = image.texels().layout().clone();
        self.images.insert(layout.address, image.texels().clone());
        self.depths.insert(layout.address, image);
        Ok(layout)
    }

    fn draw(&mut self, pass: &ScenePass<'_>) -> Result<BTreeMap<Counter, u64>, LaunchError> {
        self.draw_pass(pass)
    }

    fn stage(
        &mut self,
        run: &StageRun<'_>,
        _options: &mut emu::Options<'_>,
    ) -> Result<(emu::stage::Output, emu::Stats), LaunchError> {
        Ok((self.run_stage(run)?, emu::Stats::default()))
    }

    fn upload(&mut self, image: &emu::Image, texels: &[u8]) -> Result<(), String> {
        let image = self.part(image)?;
        let mut all = texels.to_vec();
        // Missing texels stay; they are zero.
        all.resize(image.layout().packed_bytes() as usize, 0);
        self.context.get_mut().upload_image(&image, &all).map_err(text)
    }

    fn download(&self, image: &emu::Image) -> Result<Vec<u8>, String> {
        let image = self.part(image)?;
        self.context.borrow_mut().download_image(&image).map_err(text)
    }

    fn launch(
        &mut self,
        kernel: &Kernel,
        setup: &Bindings,
        options: &mut emu::Options<'_>,
    ) -> Result<emu::Stats, LaunchError> {
        match kernel {
            Kernel::Ours { shader, .. } => {
                let found = self.run(shader, setup)?;
                sanitize::told(shader, &found, options, emu::Stats::default())
            }
            Kernel::Cuda { file, name } => self.run_cuda(file, name, setup).map(|()| emu::Stats::default()),
        }
    }
}

/// List the devices that `--device` can name
///
/// Prints a line `PATH CHIP` for each: the virtual GPU, and the render nodes of this machine. A node whose card is not a Fermi or
/// Kepler of ours, or that another driver serves, is listed with what it is.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Print JSON instead of lines
    #[arg(long)]
    json: bool,
}

/// Version of what `--json` writes; `docs/json.md` has the fields.
const SCHEMA: u64 = 1;

pub(crate) fn run(a: Args) -> ExitCode {
    let found = nvir_driver::devices();
    if a.json {
        let mut all = vec![serde_json::json!({ "device": "virtual", "chips": Chip::ALL.map(Chip::name) })];
        all.extend(found.iter().map(|f| {
            serde_json::json!({
                "device": f.path.to_string_lossy(),
                "driver": f.driver.as_ref().ok(),
                "error": f.driver.as_ref().err(),
                "chipset": f.chipset.map(|c| format!("{c:x}")),
                "chips": f.chip().map(Chip::name).into_iter().collect::<Vec<_>>(),
            })
        }));
        outln!("{}", serde_json::json!({ "schema": SCHEMA, "devices": all }));
        return ExitCode::SUCCESS;
    }
    outln!("virtual {}", Chip::ALL.map(Chip::name).join(" "));
    for f in &found {
        let what = match (&f.driver, f.chip(), f.chipset) {
            (_, Some(chip), _) => chip.name().to_string(),
            (Ok(_), None, Some(chipset)) => format!("NV{chipset:X}, for which there is no code"),
            (Ok(driver), None, None) => format!("driver {driver}, not nouveau"),
            (Err(why), ..) => why.strip_prefix(&format!("{}: ", path(&f.path))).unwrap_or(why).to_string(),
        };
        outln!("{} {what}", path(&f.path));
    }
    ExitCode::SUCCESS
}

fn path(p: &Path) -> String {
    p.display().to_string()
}
