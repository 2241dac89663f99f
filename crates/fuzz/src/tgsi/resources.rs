//! Images and textures of random programs. Images have a texel for each thread; textures are only read, and the nearest
//! texel is exact because coordinates are small multiples of 1/64.

use super::case::{Setup, bytes};
use super::generate::{Generator, INDEX, POINTER, SCRATCH, SELF, TEXEL, THREADS, WORDS};
use super::tables::{COMMUTATIVE, FORMATS, IMAGES, Shape, TEXELS, TEXTURES};
use arbitrary::{Result, Unstructured};
use std::fmt::Write;

/// An image: shape, and format as TGSI and as fixtures name it.
#[derive(Clone)]
pub(super) struct Image {
    pub shape: &'static Shape,
    pub format: (&'static str, &'static str),
}

impl Image {
    /// What is loaded is what was stored, or a rounding that is defined.
    pub(super) fn is_exact(&self) -> bool {
        !self.format.0.ends_with("NORM")
    }
}

/// Whether atomic operations work on a format.
pub(super) fn own_word(format: &str) -> bool {
    matches!(format, "R32_UINT" | "R32_SINT")
}

pub(super) struct Texture {
    shape: &'static Shape,
    /// The target of comparisons; empty where it is none.
    shadow: &'static str,
    /// Format, and what the view returns.
    texel: (&'static str, &'static str),
    levels: u32,
    sampler: String,
    /// Filtered: results are near what they should be.
    linear: bool,
}

pub(super) struct Resources {
    /// The first two are alike, to be chosen by a dynamic number.
    pub images: Vec<Image>,
    /// The first two are alike; the third is compared with.
    pub textures: Vec<Texture>,
    seed: u32,
}

impl Resources {
    pub(super) fn new(u: &mut Unstructured<'_>) -> Result<Resources> {
        let mut images = Vec::new();
        for _ in 0..2 {
            images.push(Image { shape: u.choose(IMAGES)?, format: *u.choose(FORMATS)? });
        }
        images.insert(1, images[0].clone());
        let mut textures = Vec::new();
        for shadow in [false, true] {
            let (shape, compared) = loop {
                let (shape, compared) = u.choose(TEXTURES)?;
                if !shadow || !compared.is_empty() {
                    break (shape, if shadow { compared } else { "" });
                }
                if u.is_empty() {
                    break (&TEXTURES[1].0, TEXTURES[1].1);
                }
            };
            let texel = if shadow { ("r32f", "FLOAT") } else { *u.choose(TEXELS)? };
            let plain = matches!(shape.target, "RECT" | "BUFFER" | "2D_MSAA");
            let levels = if plain { 1 } else { u.int_in_range(1..=3)? };
            for _ in 0..if shadow { 1 } else { 2 } {
                let reads = match shadow {
                    true => Reads::Compared,
                    false if u.ratio(1, 4)? => Reads::Linear,
                    false => Reads::Nearest,
                };
                let sampler = sampler(u, shape, reads)?;
                textures.push(Texture {
                    shape,
                    shadow: compared,
                    texel,
                    levels,
                    sampler,
                    linear: reads == Reads::Linear,
                });
            }
        }
        Ok(Resources { images, textures, seed: u.arbitrary()? })
    }

    pub(super) fn declarations(&self) -> String {
        let mut d = String::new();
        for (n, i) in self.images.iter().enumerate() {
            let _ = writeln!(d, "DCL IMAGE[{n}], {}, PIPE_FORMAT_{}, WR", i.shape.target, i.format.0);
        }
        for (n, t) in self.textures.iter().enumerate() {
            let target = if t.shadow.is_empty() { t.shape.target } else { t.shadow };
            let _ = writeln!(d, "DCL SAMP[{n}]\nDCL SVIEW[{n}], {target}, {}", t.texel.1);
        }
        d
    }

    /// The extents of an image in its first two coordinates, and the component of its third.
    pub(super) fn extent(&self, n: usize) -> ([u32; 2], &'static str) {
        let shape = self.images[n].shape;
        ([shape.size[0], shape.size[1]], if shape.target == "2D_MSAA" { "w" } else { "z" })
    }

    /// Words without a pattern.
    fn noise(&self, which: u32, n: u32) -> Vec<u32> {
        let mut state = self.seed ^ which.wrapping_mul(0x9e37_79b9);
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state ^ state >> 15
        };
        (0..n).map(|_| next()).collect()
    }

    /// Floats between -8 and 8.
    fn floats(&self, which: u32, n: u32) -> Vec<u32> {
        self.noise(which, n).into_iter().map(|w| ((w >> 16) as f32 / 4096.0 - 8.0).to_bits()).collect()
    }

    pub(super) fn bind(&self, mut s: Setup) -> Setup {
        let zeros = vec![0; (THREADS * WORDS * 4) as usize];
        s = s.buffer(&bytes(&input(self.seed))).buffer(&zeros).buffer(&zeros);
        s = s.buffer(&bytes(&sums()));
        for which in 0..2 {
            s = s.buffer(&bytes(&self.noise(which, 64)));
        }
        s = s.buffer(&[0; 64]);
        let uniforms = bytes(&self.floats(2, POINTER / 4));
        s = s.input(&uniforms).pointer("global", &bytes(&self.noise(12, THREADS * WORDS)));
        s = s.uniforms(&uniforms).ubo(&bytes(&self.noise(3, 32))).ubo(&bytes(&self.noise(4, 32)));
        for (n, i) in self.images.iter().enumerate() {
            let words = if i.format.0.ends_with("FLOAT") && i.format.0.contains("32") {
                self.floats(5 + n as u32, 1024)
            } else {
                // No patterns of small floats that are no numbers.
                self.noise(5 + n as u32, 1024).into_iter().map(|w| w & 0x37ff_37ff).collect()
            };
            s = s.image(i.shape.ty, i.format.1, i.shape.size, &bytes(&words));
        }
        for (n, t) in self.textures.iter().enumerate() {
            let words = match t.texel.0 {
                "rgba32f" | "r32f" => self.floats(9 + n as u32, 2048),
                _ => self.noise(9 + n as u32, 2048).into_iter().map(|w| w & 0x37ff_37ff).collect(),
            };
            s = s.texture((t.shape.ty, t.texel.0, t.shape.size, t.levels), &t.sampler, &bytes(&words));
        }
        s
    }
}

/// What is added up in a buffer: the machine takes denormals for zero when it adds floats there.
fn sums() -> Vec<u32> {
    COMMUTATIVE.iter().map(|op| if *op == "ATOMFADD" { 0 } else { 0x40 }).collect()
}

/// What the threads begin with: words with many special values among them.
fn input(seed: u32) -> Vec<u32> {
    const SPECIAL: [u32; 12] = [
        0,
        1,
        2,
        31,
        0x8000_0000,
        u32::MAX,
        0x3f80_0000,
        0xbf80_0000,
        0x7f80_0000,
        0x7fc0_0000,
        0x0000_0001,
        0x7fef_ffff,
    ];
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let pick = (state >> 8) as usize;
        if pick & 3 == 0 { SPECIAL[(pick >> 2) % SPECIAL.len()] } else { state ^ state >> 16 }
    };
    (0..THREADS * WORDS).map(|_| next()).collect()
}

/// What a sampler makes of texels.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reads {
    Nearest,
    Linear,
    /// The nearest, against a reference value.
    Compared,
}

fn sampler(u: &mut Unstructured<'_>, shape: &Shape, reads: Reads) -> Result<String> {
    const WRAPS: [&str; 5] =
        ["repeat", "mirrored_repeat", "clamp_to_edge", "clamp_to_border", "mirror_clamp_to_edge"];
    let linear = reads == Reads::Linear;
    let filter = if linear { "linear" } else { "nearest" };
    let mip =
        u.choose(if linear { &["none", "nearest", "linear"] } else { &["none", "nearest", "nearest"] })?;
    let mut wraps = Vec::new();
    for _ in 0..3 {
        wraps.push(format!("\"{}\"", u.choose(&WRAPS)?));
    }
    let mut s = format!(
        ",\"min\":\"{filter}\",\"mag\":\"{filter}\",\"mip\":\"{mip}\",\"wrap\":[{}],\"border\":[0.5,0,2,1]",
        wraps.join(",")
    );
    if reads == Reads::Compared {
        let compare =
            u.choose(&["never", "less", "equal", "lequal", "greater", "notequal", "gequal", "always"])?;
        let _ = write!(s, ",\"compare\":\"{compare}\"");
    }
    if shape.target == "RECT" {
        s += ",\"unnormalized\":true";
    }
    Ok(s)
}

/// Coordinates that a target has, and whether a layer follows them.
fn dims(target: &str) -> (usize, bool) {
    let n = match target {
        "1D" | "1D_ARRAY" | "BUFFER" | "SHADOW1D" | "SHADOW1D_ARRAY" => 1,
        "3D" | "CUBE" | "CUBEARRAY" | "SHADOWCUBE" | "SHADOWCUBE_ARRAY" => 3,
        _ => 2,
    };
    (n, target.ends_with("ARRAY"))
}

impl Generator<'_, '_> {
    /// What `TEXEL` registers hold: the texel of each image that is the thread's.
    pub(super) fn image_texels(&mut self) {
        for n in 0..self.resources.images.len() {
            let (size, third) = self.resources.extent(n);
            let (w, h) = (size[0], size[1]);
            let r = TEXEL + n as u32;
            let (x, y) = (self.all(w - 1), self.all(h - 1));
            let (row, plane) = (self.all(w.ilog2()), self.all((w * h).ilog2()));
            self.line(format!("AND TEMP[{r}].x, TEMP[{SELF}].xxxx, {x}"));
            self.line(format!("USHR TEMP[{r}].y, TEMP[{SELF}].xxxx, {row}"));
            self.line(format!("AND TEMP[{r}].y, TEMP[{r}].yyyy, {y}"));
            self.line(format!("USHR TEMP[{r}].{third}, TEMP[{SELF}].xxxx, {plane}"));
        }
    }

    pub(super) fn image(&mut self) -> Result<()> {
        let n = self.below(self.resources.images.len() as u32)?;
        let r = self.resources.images[n as usize].clone();
        let (d, m) = (self.target()?, self.mask()?);
        let (mut place, mut texel) = (format!("IMAGE[{n}]"), format!("TEMP[{}]", TEXEL + n));
        // The first two are alike.
        if n < 2 && self.u.ratio(1, 3)? {
            self.address(3, "x", 2)?;
            (place, texel) = ("IMAGE[ADDR[3].x]".to_owned(), format!("TEMP[{TEXEL}]"));
        }
        let suffix = format!(", {}, PIPE_FORMAT_{}", r.shape.target, r.format.0);
        let suffix =
            if r.shape.target == "BUFFER" { format!(", PIPE_FORMAT_{}", r.format.0) } else { suffix };
        match self.below(4)? {
            0 => self.line(format!("RESQ TEMP[{d}].x, {place}{suffix}")),
            1 if own_word(r.format.0) => {
                let line = self.atomic(&place, &texel, &suffix)?;
                self.line(line);
            }
            1 | 2 => {
                let v = self.source(0)?;
                self.line(format!("STORE {place}, {texel}, {v}{suffix}"));
            }
            _ if r.is_exact() => self.line(format!("LOAD TEMP[{d}]{m}, {place}, {texel}{suffix}")),
            _ => {
                self.line(format!("LOAD TEMP[{SCRATCH}], {place}, {texel}{suffix}"));
                self.near()?;
            }
        }
        Ok(())
    }

    pub(super) fn texture(&mut self) -> Result<()> {
        let n = self.below(3)?;
        lookup(self, n)
    }
}

/// A texture operation on texture `n`.
pub(super) fn lookup(g: &mut Generator<'_, '_>, n: u32) -> Result<()> {
    let t = &g.resources().textures[n as usize];
    let (shape, shadow, linear) = (t.shape, !t.shadow.is_empty(), t.linear);
    let other = &g.resources().textures[1];
    let linear = linear || n < 2 && other.linear || n < 2 && g.resources().textures[0].linear;
    let target = if shadow { t.shadow } else { shape.target };
    let (d, m) = (g.target()?, g.mask()?);
    let mut unit = format!("{n}");
    if n < 2 && g.u.ratio(1, 4)? {
        g.address(3, "y", 2)?;
        unit = "ADDR[3].y".to_owned();
    }
    if matches!(target, "BUFFER" | "2D_MSAA") || !shadow && !target.starts_with("CUBE") && g.u.ratio(1, 3)? {
        return fetch(g, &unit, target, d, &m);
    }
    if g.u.ratio(1, 8)? {
        let lod = g.below(3)?;
        let lod = g.all(lod);
        // Components that the documentation defines.
        let m = match dims(target) {
            (1, false) => ".x",
            (1, true) | (2, false) => ".xy",
            (3, false) if target.contains("CUBE") => ".xy",
            _ => ".xyz",
        };
        g.line(format!("TXQ TEMP[{d}]{m}, {lod}, SAMP[{unit}], {target}"));
        return Ok(());
    }
    coordinates(g, target)?;
    let coord = format!("TEMP[{INDEX}]");
    let dst = if linear { format!("TEMP[{SCRATCH}]") } else { format!("TEMP[{d}]{m}") };
    let cube = target.contains("CUBE");
    let offset = if !cube && g.u.ratio(1, 3)? { offset(g)? } else { String::new() };
    let gathers = matches!(
        target,
        "2D" | "2D_ARRAY" | "CUBE" | "CUBEARRAY" | "SHADOW2D" | "SHADOW2D_ARRAY" | "SHADOWCUBE"
    );
    let zero = g.all(0);
    let lod = g.below(7)? as f32 / 2.0 - 0.5;
    let lod = g.all_float(lod);
    let line = match (target, g.below(6)?) {
        ("SHADOWCUBE_ARRAY", _) => {
            let reference = g.source(0)?;
            format!("TEX2 {dst}, {coord}, {reference}, SAMP[{unit}], {target}")
        }
        ("CUBEARRAY", 0) => format!("TXL2 {dst}, {coord}, {lod}, SAMP[{unit}], {target}"),
        ("CUBEARRAY", 1) => format!("TXB2 {dst}, {coord}, {lod}, SAMP[{unit}], {target}"),
        (_, 2) if gathers => {
            let dst = format!("TEMP[{d}]{m}");
            let component = g.below(4)?;
            let component = if shadow { zero } else { g.all(component) };
            g.line(format!("TG4 {dst}, {coord}, {component}, SAMP[{unit}], {target}{offset}"));
            return Ok(());
        }
        // Bias and level stand in w, where other targets have a reference or a layer.
        ("1D" | "2D" | "3D" | "1D_ARRAY" | "2D_ARRAY" | "CUBE" | "SHADOW1D" | "SHADOW2D", 0) => {
            g.line(format!("MOV TEMP[{INDEX}].w, {lod}"));
            let op = g.pick(&["TXL", "TXB"])?;
            format!("{op} {dst}, {coord}, SAMP[{unit}], {target}{offset}")
        }
        ("1D" | "2D" | "3D" | "2D_ARRAY" | "SHADOW2D", 1) => {
            let (x, y) = (g.below(5)?, g.below(5)?);
            let (x, y) = (g.all_float(x as f32 / 4.0), g.all_float(y as f32 / 8.0));
            format!("TXD {dst}, {coord}, {x}, {y}, SAMP[{unit}], {target}{offset}")
        }
        ("1D" | "2D" | "RECT" | "3D", 3) => {
            let two = g.all_float(2.0);
            g.line(format!("MOV TEMP[{INDEX}].w, {two}"));
            format!("TXP {dst}, {coord}, SAMP[{unit}], {target}{offset}")
        }
        (_, 4) if !shadow => {
            let view = g.pick(&["", ".wzyx", ".yyxx"])?;
            format!("SAMPLE {dst}, {coord}, SVIEW[{unit}]{view}, SAMP[{unit}]{offset}")
        }
        (_, 5) => format!("TEX_LZ {dst}, {coord}, SAMP[{unit}], {target}{offset}"),
        _ => format!("TEX {dst}, {coord}, SAMP[{unit}], {target}{offset}"),
    };
    g.line(line);
    if linear { g.near() } else { Ok(()) }
}

/// `INDEX` becomes coordinates, layer and reference: multiples of 1/64 from -1 to 3. On a cube a place inside of a face,
/// clear of the borders between texels: division is not exact.
fn coordinates(g: &mut Generator<'_, '_>, target: &str) -> Result<()> {
    let s = g.source(0)?;
    if target.contains("CUBE") {
        let (mask, scale, less) = (g.imm([7, 7, 7, 3]), g.all_float(0.25), g.all_float(-0.875));
        g.line(format!("AND TEMP[{INDEX}], {s}, {mask}"));
        g.line(format!("U2F TEMP[{INDEX}], TEMP[{INDEX}]"));
        g.line(format!("FMA TEMP[{INDEX}].xyz, TEMP[{INDEX}], {scale}, {less}"));
        let (axis, sign) = (g.pick(&["x", "y", "z"])?, g.pick(&["", "-"])?);
        let one = g.all_float(1.0);
        g.line(format!("MOV TEMP[{INDEX}].{axis}, {sign}{one}"));
        return Ok(());
    }
    let (mask, scale, less) = (g.all(255), g.all_float(1.0 / 64.0), g.all_float(-1.0));
    let scale = if target.ends_with("RECT") { g.all_float(1.0 / 16.0) } else { scale };
    g.line(format!("AND TEMP[{INDEX}], {s}, {mask}"));
    g.line(format!("U2F TEMP[{INDEX}], TEMP[{INDEX}]"));
    g.line(format!("FMA TEMP[{INDEX}], TEMP[{INDEX}], {scale}, {less}"));
    Ok(())
}

/// Texel offsets after an instruction: constant, or in a register.
fn offset(g: &mut Generator<'_, '_>) -> Result<String> {
    if g.u.ratio(1, 4)? {
        let (s, mask) = (g.source(0)?, g.all(7));
        g.line(format!("AND TEMP[{SCRATCH}].xyz, {s}, {mask}"));
        return Ok(format!(", TEMP[{SCRATCH}].xyz"));
    }
    let mut words = [0; 4];
    for w in &mut words {
        *w = (g.below(16)? as i32 - 8) as u32;
    }
    Ok(format!(", {}.xyz", g.imm(words)))
}

/// A texel by its place; some are outside.
fn fetch(g: &mut Generator<'_, '_>, unit: &str, target: &str, d: u32, m: &str) -> Result<()> {
    let (s, mask) = (g.source(0)?, g.imm([15, 7, 3, 3]));
    g.line(format!("AND TEMP[{INDEX}], {s}, {mask}"));
    let plain = matches!(target, "BUFFER" | "2D_MSAA" | "CUBE" | "CUBEARRAY");
    let offset = if !plain && g.u.ratio(1, 4)? { offset(g)? } else { String::new() };
    let line = match g.below(4)? {
        0 if target != "2D_MSAA" => {
            format!("TXF_LZ TEMP[{d}]{m}, TEMP[{INDEX}], SAMP[{unit}], {target}{offset}")
        }
        1 if target != "2D_MSAA" => format!("SAMPLE_I TEMP[{d}]{m}, TEMP[{INDEX}], SVIEW[{unit}]{offset}"),
        _ => format!("TXF TEMP[{d}]{m}, TEMP[{INDEX}], SAMP[{unit}], {target}{offset}"),
    };
    g.line(line);
    Ok(())
}
