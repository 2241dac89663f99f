//! A TGSI program with what it runs on: compiled for a chip and emulated, or interpreted, it leaves buffers and images.

use nvir::Chip;
use nvir::emu::ImageDesc;
use nvir_fixture::env::Env;
use nvir_fixture::format::Test;
use nvir_fixture::run::{Loaded, Settings};
use nvir_fixture::{Fixture, Outcome};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// What a run left, by name.
pub(super) type Left = BTreeMap<String, Vec<u8>>;

/// The launch and the bindings of a program: a fixture in JSON while it is put together.
#[derive(Clone, Default)]
pub(super) struct Setup {
    buffers: Vec<String>,
    images: Vec<String>,
    ssbo: Vec<String>,
    ubo: Vec<String>,
    bound: Vec<String>,
    textures: Vec<String>,
    args: Vec<String>,
    rest: String,
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|b| [b >> 4, b & 15]).map(|d| char::from(DIGITS[usize::from(d)])).collect()
}

/// The bytes of words.
pub(super) fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// The words of bytes.
pub(super) fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect()
}

impl Setup {
    pub(super) fn new(grid: u32, block: [u32; 3]) -> Setup {
        Setup { rest: format!("\"grid\":[{grid},1,1],\"block\":{block:?}"), ..Setup::default() }
    }

    pub(super) fn shared(mut self, bytes: u32) -> Setup {
        let _ = write!(self.rest, ",\"shared_dynamic\":{bytes}");
        self
    }

    pub(super) fn private(mut self, bytes: u32) -> Setup {
        let _ = write!(self.rest, ",\"private_bytes\":{bytes}");
        self
    }

    fn place(&mut self, name: &str, data: &[u8]) {
        let (len, data) = (data.len(), hex(data));
        self.buffers
            .push(format!("\"{name}\":{{\"type\":\"u8\",\"len\":{len},\"init\":{{\"hex\":\"{data}\"}}}}"));
    }

    /// Binds the next storage buffer.
    pub(super) fn buffer(mut self, data: &[u8]) -> Setup {
        let n = self.ssbo.len();
        self.place(&format!("buffer{n}"), data);
        self.ssbo.push(format!("\"{n}\":\"buffer{n}\""));
        self
    }

    /// Binds the default uniforms, `CONST[0]`.
    pub(super) fn uniforms(mut self, data: &[u8]) -> Setup {
        self.place("uniforms", data);
        self.rest += ",\"uniforms\":\"uniforms\"";
        self
    }

    /// Binds the next uniform block, from `CONST[1]` on.
    pub(super) fn ubo(mut self, data: &[u8]) -> Setup {
        let n = self.ubo.len();
        self.place(&format!("ubo{n}"), data);
        self.ubo.push(format!("\"{n}\":\"ubo{n}\""));
        self
    }

    /// Bytes of the kernel input, behind those that there are.
    pub(super) fn input(mut self, data: &[u8]) -> Setup {
        self.args.push(format!("{{\"bytes\":\"{}\"}}", hex(data)));
        self
    }

    /// A pointer in the kernel input, behind what there is, to a buffer of that name.
    pub(super) fn pointer(mut self, name: &str, data: &[u8]) -> Setup {
        self.place(name, data);
        self.args.push(format!("{{\"buffer\":\"{name}\"}}"));
        self
    }

    /// Texels beyond the image are dropped.
    fn picture(&mut self, name: &str, ty: &str, format: &str, size: [u32; 3], levels: u32, data: &[u8]) {
        let desc = ImageDesc {
            dim: ty.parse().expect("a type of images"),
            format: format.parse().expect("a format"),
            size,
            levels,
        };
        let texels: u32 = (0..levels).map(|l| desc.level_size(l).into_iter().product::<u32>()).sum();
        let data = hex(&data[..data.len().min((texels * desc.format.bytes()) as usize)]);
        self.images.push(format!(
            "\"{name}\":{{\"type\":\"{ty}\",\"format\":\"{format}\",\"size\":{size:?},\"levels\":{levels},\
             \"init\":{{\"hex\":\"{data}\"}}}}"
        ));
    }

    /// Binds the next image: type, format and size as fixtures name them.
    pub(super) fn image(mut self, ty: &str, format: &str, size: [u32; 3], data: &[u8]) -> Setup {
        let n = self.bound.len();
        self.picture(&format!("image{n}"), ty, format, size, 1, data);
        self.bound.push(format!("\"{n}\":\"image{n}\""));
        self
    }

    /// Binds the next texture; `sampler` is JSON that follows the texture's image.
    pub(super) fn texture(
        mut self,
        (ty, format, size, levels): (&str, &str, [u32; 3], u32),
        sampler: &str,
        data: &[u8],
    ) -> Setup {
        let n = self.textures.len();
        self.picture(&format!("texture{n}"), ty, format, size, levels, data);
        self.textures.push(format!("\"{n}\":{{\"image\":\"texture{n}\"{sampler}}}"));
        self
    }

    /// The fixture as it would be written to a file.
    pub(super) fn json(&self) -> String {
        let list = |l: &[String]| l.join(",");
        format!(
            "{{\"source\":\"case.tgsi\",\"tests\":[{{\"name\":\"case\",{},\n\"ssbo\":{{{}}},\"ubo\":{{{}}},\"images_bound\":{{{}}},\
             \"textures\":{{{}}},\n\"args\":[{}],\n\"buffers\":{{{}}},\n\"images\":{{{}}}}}]}}",
            self.rest,
            list(&self.ssbo),
            list(&self.ubo),
            list(&self.bound),
            list(&self.textures),
            list(&self.args),
            list(&self.buffers),
            list(&self.images)
        )
    }

    pub(super) fn fixture(&self) -> Fixture {
        Fixture::parse(Path::new("case.json"), &self.json()).expect("a fixture")
    }
}

fn loaded(fixture: &Fixture, text: &str) -> Loaded {
    Loaded::new(Path::new("case.json"), fixture.clone(), text.as_bytes().to_vec())
        .expect("nothing is missing")
}

fn collect(left: &mut Left) -> impl FnMut(&Test, &Env) {
    |_, env| {
        for (name, b) in &env.buffers {
            left.insert(name.clone(), env.read(b).expect("it is mapped"));
        }
        for (name, i) in &env.images {
            left.insert(name.clone(), env.backend.download(i).expect("it is mapped"));
        }
    }
}

/// What the reference interpreter leaves, or why it stops.
pub(super) fn interpreted(fixture: &Fixture, text: &str) -> Result<Left, String> {
    let mut left = Left::new();
    let reports = loaded(fixture, text).interpret(None, 1 << 24, collect(&mut left));
    match reports.into_iter().next() {
        Some((_, Outcome::Failed(why))) => Err(why),
        _ => Ok(left),
    }
}

/// What the compiled program leaves, or why it does not compile or stops.
pub(super) fn compiled(
    fixture: &Fixture,
    text: &str,
    chip: Chip,
    settings: &Settings,
) -> Result<Left, String> {
    let mut left = Left::new();
    let reports = loaded(fixture, text).run(chip, None, settings, &mut None, collect(&mut left));
    match reports.into_iter().next().map(|r| r.outcome) {
        Some(Outcome::Failed(why)) => Err(why),
        _ => Ok(left),
    }
}
