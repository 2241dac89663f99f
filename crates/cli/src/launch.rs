//! `nvir run PROGRAM --grid ...`: a launch from the command line.
//!
//! The options make the same [`Fixture`] that a file would, and it goes the same way from there. [`Spec`] is what a buffer or
//! image begins with, as it is written: `u32[64]:iota`.

use crate::program::{Code, Program};
use nvir::Chip;
use nvir::emu::image;
use nvir::random::Random;
use nvir_fixture::format::{self, Arg, Bound, Buffer, Data, Image, Item, Name, Test, Texture};
use nvir_fixture::run::Loaded;
use nvir_fixture::values::{Elem, decode_hex};
use nvir_fixture::{Fixture, FixtureError};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

/// The options of a launch without a fixture.
#[derive(clap::Args)]
#[command(next_help_heading = "Launching a program without a fixture")]
pub(crate) struct Options {
    /// Blocks in x, y and z [default: 1,1,1]
    #[arg(long, value_name = "X,Y,Z", value_parser = sizes)]
    grid: Option<[u32; 3]>,
    /// Threads of a block in x, y and z [default: what the program declares, else 1,1,1]
    #[arg(long, value_name = "X,Y,Z", value_parser = sizes)]
    block: Option<[u32; 3]>,
    /// The kernel: a NIR function's name, the instruction number of a TGSI BGNSUB, a kernel of a cubin
    #[arg(short, long, value_name = "NAME")]
    entry: Option<String>,
    /// Storage buffer N: its elements' type, how many, and what it begins with: zeros (the default), iota (0, 1, 2 ...), fill=V,
    /// list=1,2,3, hex=00ff, file=PATH or random=SEED. The length may be left out where a list, hex or file says it
    #[arg(long, value_name = "N=TYPE[LEN]:INIT", value_parser = numbered::<Spec>)]
    ssbo: Vec<(u32, Spec)>,
    /// Uniform block N, in the same way
    #[arg(long, value_name = "N=TYPE[LEN]:INIT", value_parser = numbered::<Spec>)]
    ubo: Vec<(u32, Spec)>,
    /// The default uniform block, in the same way
    #[arg(long, value_name = "TYPE[LEN]:INIT")]
    uniforms: Option<Spec>,
    /// The next argument: u32:5, f32:1.5 (or another type), bytes:00ff, shared:256 (the address of so much shared memory), or
    /// buffer:NAME=TYPE[LEN]:INIT (its address; buffer:NAME is one that came before)
    #[arg(long, value_name = "ARGUMENT")]
    arg: Vec<Argument>,
    /// Image N: its type (1d, 2d, 3d, cube, 1d_array, ...), format (rgba8, r32f, ...), size, and what it begins with
    #[arg(long, value_name = "N=TYPE:FORMAT:WxHxD[:INIT]", value_parser = numbered::<Picture>)]
    image: Vec<(u32, Picture)>,
    /// Texture N, in the same way; its sampler is a fixture's default one
    #[arg(long, value_name = "N=TYPE:FORMAT:WxHxD[:INIT]", value_parser = numbered::<Picture>)]
    texture: Vec<(u32, Picture)>,
    /// Bytes of shared memory on top of what the kernel declares
    #[arg(long, value_name = "BYTES")]
    shared_dynamic: Option<u32>,
    /// Bytes of private memory that a TGSI program addresses itself
    #[arg(long, value_name = "BYTES")]
    private_bytes: Option<u32>,
    /// Bytes of a buffer argument's address: 4 or 8 [default: 4 for TGSI, 8 otherwise]
    #[arg(long, value_name = "BYTES", value_parser = pointer)]
    pointer_bytes: Option<u32>,
}

/// `64`, `8,8` or `8,8,1`: the size of a grid or block.
pub(crate) fn sizes(text: &str) -> Result<[u32; 3], String> {
    let mut size = [1; 3];
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > 3 {
        return Err("three dimensions at most are expected".into());
    }
    for (to, part) in size.iter_mut().zip(parts) {
        *to = part.trim().parse().map_err(|_| format!("`{part}` is not a valid size"))?;
    }
    Ok(size)
}

/// The size of an address.
fn pointer(text: &str) -> Result<u32, String> {
    text.parse().ok().filter(|n| [4, 8].contains(n)).ok_or_else(|| "4 or 8 is expected".to_string())
}

/// `0=...`: a slot and what is bound to it.
fn numbered<T: FromStr<Err = String>>(text: &str) -> Result<(u32, T), String> {
    let (slot, what) =
        text.split_once('=').ok_or("a slot's number, `=`, and what is bound to it are expected")?;
    let slot = slot.trim().parse().map_err(|_| format!("`{slot}` is not a slot's number"))?;
    Ok((slot, what.parse()?))
}

/// What memory begins with.
#[derive(Clone, PartialEq, Debug, Default)]
enum Init {
    #[default]
    Zeros,
    Iota,
    Fill(Item),
    List(Vec<Item>),
    Hex(Vec<u8>),
    File(PathBuf),
    Random(u64),
}

impl FromStr for Init {
    type Err = String;

    fn from_str(text: &str) -> Result<Init, String> {
        let (key, value) = text.split_once('=').map_or((text, None), |(k, v)| (k, Some(v)));
        match (key, value) {
            ("zeros", None) => Ok(Init::Zeros),
            ("iota", None) => Ok(Init::Iota),
            ("fill", Some(v)) => item(v).map(Init::Fill),
            ("list", Some(v)) => v.split(',').map(item).collect::<Result<_, _>>().map(Init::List),
            ("hex", Some(v)) => decode_hex(v).map(Init::Hex),
            ("file", Some(v)) => Ok(Init::File(v.into())),
            ("random", Some(v)) => v
                .parse()
                .map(Init::Random)
                .map_err(|_| format!("`{v}` is not a valid seed: a number is expected")),
            _ => Err(format!(
                "unknown contents `{text}`; available: zeros, iota, fill=V, list=A,B,C, hex=DIGITS, file=PATH, random=SEED"
            )),
        }
    }
}

/// A number as fixtures write it, without quotes around `nan` and patterns.
fn item(text: &str) -> Result<Item, String> {
    let text = text.trim();
    let pattern = text.strip_prefix("0x").is_some_and(|h| u64::from_str_radix(h, 16).is_ok());
    if pattern || matches!(text, "nan" | "inf" | "-inf") {
        return Ok(Item::Text(text.into()));
    }
    if let Ok(n) = text.parse::<i64>() {
        return Ok(Item::Int(n));
    }
    if let Ok(n) = text.parse::<u64>() {
        return Ok(Item::Uint(n));
    }
    let number = text.parse::<f64>().ok().filter(|_| text.starts_with(|c: char| !c.is_alphabetic()));
    number.map(Item::Float).ok_or_else(|| format!("`{text}` is not a number, nan, inf, -inf or a 0x pattern"))
}

/// A buffer: `u32[64]:iota`.
#[derive(Clone, PartialEq, Debug)]
struct Spec {
    elem: Elem,
    len: Option<u32>,
    init: Init,
}

impl FromStr for Spec {
    type Err = String;

    fn from_str(text: &str) -> Result<Spec, String> {
        let (head, init) = text.split_once(':').map_or((text, "zeros"), |(h, i)| (h, i));
        let (name, len) = match head.split_once('[') {
            None => (head, None),
            Some((name, rest)) => {
                let len = rest.strip_suffix(']').and_then(|n| n.parse().ok());
                (
                    name,
                    Some(
                        len.ok_or_else(|| format!("`{head}` is not a type with a length, such as u32[64]"))?,
                    ),
                )
            }
        };
        let elem = Elem::from_name(name)
            .ok_or_else(|| format!("unknown type `{name}`; available: {}", Elem::NAMES.join(", ")))?;
        let spec = Spec { elem, len, init: init.parse()? };
        let items = match &spec.init {
            Init::Fill(item) => std::slice::from_ref(item),
            Init::List(items) => items,
            _ => &[],
        };
        items.iter().try_for_each(|i| elem.encode(i).map(|_| ()))?;
        match spec.init {
            _ if len.is_some() => Ok(spec),
            Init::List(_) | Init::Hex(_) | Init::File(_) => Ok(spec),
            _ => Err(format!("`{text}` has no length: write {name}[64]")),
        }
    }
}

impl Spec {
    /// As a fixture has it.
    fn buffer(&self) -> Result<Buffer, String> {
        let (init, given) = self.init.data(self.elem, self.len)?;
        let len = self.len.unwrap_or(given);
        Ok(Buffer { ty: self.elem, len, init, expect: None, tolerance: Default::default() })
    }
}

impl Init {
    /// As a fixture has it, and how many elements there are.
    fn data(&self, elem: Elem, len: Option<u32>) -> Result<(Option<Data>, u32), String> {
        let len = len.unwrap_or(0);
        let generated = |value: &mut dyn FnMut(u32) -> u64| {
            // What is larger is refused where it is placed.
            let count = len.min((2 << 30) / elem.size() as u32);
            let mut bytes = Vec::with_capacity(count as usize * elem.size());
            (0..count).for_each(|n| bytes.extend(&value(n).to_le_bytes()[..elem.size()]));
            Ok((Some(Data::Hex(bytes)), len))
        };
        let whole = |bytes: Vec<u8>| {
            let count = bytes.len().div_ceil(elem.size()) as u32;
            Ok((Some(Data::Hex(bytes)), count))
        };
        match self {
            Init::Zeros => Ok((None, len)),
            Init::Iota => generated(&mut |n| match elem {
                Elem::F16 | Elem::F32 | Elem::F64 => elem.encode(&Item::Uint(n.into())).unwrap_or(0),
                _ => n.into(),
            }),
            Init::Random(seed) => {
                let mut next = Random::new(*seed);
                generated(&mut |_| random(&mut next, elem))
            }
            Init::Fill(item) => Ok((Some(Data::Fill(item.clone())), len)),
            Init::List(items) => {
                let list = items.iter().cloned().map(Some).collect();
                Ok((Some(Data::List(list)), items.len() as u32))
            }
            Init::Hex(bytes) => whole(bytes.clone()),
            Init::File(path) => {
                whole(nvir::input::read(path).map_err(|e| format!("{}: {e}", path.display()))?)
            }
        }
    }
}

/// The next element: any integer, or a float from -1 to 1.
fn random(random: &mut Random, elem: Elem) -> u64 {
    let z = random.word();
    match elem {
        Elem::F16 | Elem::F32 | Elem::F64 => {
            let unit = (z >> 40) as f64 / f64::from(1 << 23) - 1.0;
            elem.encode(&Item::Float(unit)).unwrap_or(0)
        }
        _ => z,
    }
}

/// An image: `2d:rgba8:64x64:random=1`.
#[derive(Clone, PartialEq, Debug)]
struct Picture {
    ty: String,
    format: String,
    size: [u32; 3],
    init: Init,
}

impl FromStr for Picture {
    type Err = String;

    fn from_str(text: &str) -> Result<Picture, String> {
        let mut parts = text.splitn(4, ':');
        let (Some(ty), Some(format), Some(size)) = (parts.next(), parts.next(), parts.next()) else {
            return Err("a type, a format and a size are expected, such as 2d:rgba8:16x16".into());
        };
        ty.parse::<image::Dim>()?;
        format.parse::<image::Format>().map_err(|e| e.to_string())?;
        let mut extents = [1; 3];
        let given: Vec<&str> = size.split('x').collect();
        if given.len() > 3 {
            return Err(format!("`{size}` has more than three extents"));
        }
        for (to, part) in extents.iter_mut().zip(given) {
            *to = part.parse().map_err(|_| format!("`{size}` is not a size such as 16x16"))?;
        }
        let init = parts.next().map_or(Ok(Init::Zeros), str::parse)?;
        Ok(Picture { ty: ty.into(), format: format.into(), size: extents, init })
    }
}

impl Picture {
    /// As a fixture has it: contents are packed texels, in words.
    fn image(&self) -> Result<Image, String> {
        let format: image::Format =
            self.format.parse().map_err(|e: nvir::format::UnknownFormat| e.to_string())?;
        let texels = self.size.iter().try_fold(1u32, |n, &s| n.checked_mul(s));
        let words = texels
            .and_then(|n| n.checked_mul(format.bytes()))
            .map(|n| n / 4)
            .ok_or("the image is too large")?;
        let init = self.init.data(Elem::U32, Some(words))?.0;
        let init = match init {
            Some(Data::List(items)) => {
                let words = items.iter().flatten().map(|i| Ok(Some(Elem::U32.encode(i)? as u32)));
                Some(Data::Words(words.collect::<Result<_, String>>()?))
            }
            other => other,
        };
        Ok(Image {
            ty: self.ty.clone(),
            format: self.format.clone(),
            size: self.size,
            levels: None,
            layout: None,
            init,
            expect: None,
            tolerance: Default::default(),
        })
    }
}

/// An argument.
#[derive(Clone, PartialEq, Debug)]
enum Argument {
    Scalar(Elem, Item),
    Bytes(Vec<u8>),
    Shared(u32),
    /// One that came before.
    Named(String),
    Buffer(String, Spec),
}

impl FromStr for Argument {
    type Err = String;

    fn from_str(text: &str) -> Result<Argument, String> {
        let (kind, value) = text.split_once(':').ok_or("a kind and a value are expected, such as u32:5")?;
        match (kind, value.split_once('=')) {
            ("buffer", Some((name, spec))) => Ok(Argument::Buffer(name.into(), spec.parse()?)),
            ("buffer", None) => Ok(Argument::Named(value.into())),
            ("bytes", _) => decode_hex(value).map(Argument::Bytes),
            ("shared", _) => {
                value.parse().map(Argument::Shared).map_err(|_| format!("`{value}` is not a number of bytes"))
            }
            _ => {
                let elem = Elem::from_name(kind).ok_or_else(|| {
                    format!(
                        "unknown argument `{kind}`; available: buffer, bytes, shared, {}",
                        Elem::NAMES.join(", ")
                    )
                })?;
                let item = item(value)?;
                elem.encode(&item)?;
                Ok(Argument::Scalar(elem, item))
            }
        }
    }
}

impl Argument {
    fn arg(&self, buffers: &mut BTreeMap<String, Buffer>) -> Result<Arg, String> {
        Ok(match self {
            Argument::Scalar(elem, item) => scalar(*elem, item.clone()),
            Argument::Bytes(bytes) => Arg { bytes: Some(bytes.clone()), ..Arg::default() },
            Argument::Shared(bytes) => Arg { shared: Some(*bytes), ..Arg::default() },
            Argument::Named(name) if !buffers.contains_key(name) => {
                return Err(format!("no buffer `{name}` comes before the argument buffer:{name}"));
            }
            Argument::Named(name) => Arg { buffer: Some(name.clone()), ..Arg::default() },
            Argument::Buffer(name, spec) => {
                add(buffers, name, spec.buffer()?)?;
                Arg { buffer: Some(name.clone()), ..Arg::default() }
            }
        })
    }
}

/// A scalar argument.
pub(crate) fn scalar(elem: Elem, item: Item) -> Arg {
    let (mut arg, item) = (Arg::default(), Some(item));
    let to = match elem {
        Elem::U8 => &mut arg.u8,
        Elem::I8 => &mut arg.i8,
        Elem::U16 => &mut arg.u16,
        Elem::I16 => &mut arg.i16,
        Elem::U32 => &mut arg.u32,
        Elem::I32 => &mut arg.i32,
        Elem::U64 => &mut arg.u64,
        Elem::I64 => &mut arg.i64,
        Elem::F16 => &mut arg.f16,
        Elem::F32 => &mut arg.f32,
        Elem::F64 => &mut arg.f64,
    };
    *to = item;
    arg
}

/// Adds what is bound by a name of its own.
fn add<T>(all: &mut BTreeMap<String, T>, name: &str, value: T) -> Result<(), String> {
    match all.insert(name.to_string(), value) {
        None => Ok(()),
        Some(_) => Err(format!("`{name}` is given twice")),
    }
}

impl Options {
    /// Whether anything is asked for that only a launch without a fixture has.
    pub(crate) fn any(&self) -> bool {
        let Options { grid, block, entry, ssbo, ubo, uniforms, arg, image, texture, .. } = self;
        let sizes = grid.is_some() || block.is_some() || entry.is_some() || uniforms.is_some();
        let numbers = [self.shared_dynamic, self.private_bytes, self.pointer_bytes];
        let bound =
            !(ssbo.is_empty() && ubo.is_empty() && arg.is_empty() && image.is_empty() && texture.is_empty());
        sizes || bound || numbers.iter().any(Option::is_some)
    }

    /// The files that memory is filled from.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let specs = self.ssbo.iter().chain(&self.ubo).map(|(_, s)| &s.init);
        let pictures = self.image.iter().chain(&self.texture).map(|(_, p)| &p.init);
        let args = self.arg.iter().filter_map(|a| match a {
            Argument::Buffer(_, spec) => Some(&spec.init),
            _ => None,
        });
        let uniforms = self.uniforms.iter().map(|s| &s.init);
        let all = specs.chain(pictures).chain(args).chain(uniforms);
        all.filter_map(|i| if let Init::File(path) = i { Some(path.clone()) } else { None }).collect()
    }

    /// The fixture that the options describe, with the program as its source.
    ///
    /// # Errors
    /// A program that cannot be read, or options that contradict each other.
    pub(crate) fn loaded(
        &self,
        path: &std::path::Path,
        target: Option<Chip>,
    ) -> Result<Loaded, FixtureError> {
        let program = Program::read(path, self.entry.as_deref(), target)?;
        let fault = |e: String| FixtureError::new(path, e);
        if let Code::Text(ir) = &program.code
            && let Some(interface) = ir.interface.as_ref().filter(|i| i.stage.is_graphics())
        {
            let what = interface.stage;
            return Err(fault(format!(
                "a {what} shader has inputs that no option describes: `nvir new {}` writes a fixture for it",
                path.display()
            )));
        }
        let test = self.test(nvir::input::stem(path), program.block()).map_err(fault)?;
        let fixture = Fixture {
            source: program.file_name(),
            kernel: self.entry.clone().map(Name::Text),
            targets: Some(program.chips().iter().map(|c| c.name().to_string()).collect()),
            pointer_bytes: self.pointer_bytes,
            tests: vec![test],
            ..Fixture::default()
        };
        Loaded::new(path, fixture, program.data)
    }

    fn test(&self, name: String, declared: Option<[u32; 3]>) -> Result<Test, String> {
        let mut test = Test {
            name,
            grid: Some(self.grid.unwrap_or([1; 3])),
            block: Some(self.block.or(declared).unwrap_or([1; 3])),
            shared_dynamic: self.shared_dynamic.unwrap_or(0),
            private_bytes: self.private_bytes.unwrap_or(0),
            ..Test::default()
        };
        for (what, list, to) in [("ssbo", &self.ssbo, &mut test.ssbo), ("ubo", &self.ubo, &mut test.ubo)] {
            for (n, spec) in list {
                let name = format!("{what}{n}");
                add(&mut test.buffers, &name, spec.buffer()?)?;
                to.insert(n.to_string(), name);
            }
        }
        if let Some(spec) = &self.uniforms {
            add(&mut test.buffers, "uniforms", spec.buffer()?)?;
            test.uniforms = Some("uniforms".into());
        }
        for arg in &self.arg {
            test.args.push(arg.arg(&mut test.buffers)?);
        }
        for (n, picture) in &self.image {
            let name = format!("image{n}");
            add(&mut test.images, &name, picture.image()?)?;
            test.images_bound.insert(n.to_string(), Bound::Whole(name));
        }
        for (n, picture) in &self.texture {
            let name = format!("texture{n}");
            add(&mut test.images, &name, picture.image()?)?;
            test.textures.insert(n.to_string(), Texture { image: name, ..Texture::default() });
        }
        Ok(test)
    }
}

/// The memory of a test as it is before it runs.
pub(crate) fn before(test: &format::Test) -> Result<nvir_fixture::env::Env, String> {
    let backend = Box::new(nvir_fixture::backend::Emulator::default());
    nvir_fixture::env::Env::new(test, 16, std::path::Path::new(""), backend)
}
