//! The shader program header: the 20 words in front of the code of a graphics shader, which tell
//! the fixed units around it what it reads and writes.
//!
//! Source: Mesa 22.3.6, gallium/drivers/nouveau/nvc0/nvc0_program.c, and NVIDIA's shader program
//! header specification, which names the fields. Addresses are bytes of the attribute space
//! ([`nvir_base::stage`]).
//!
//! | words | vertex, tessellation, geometry | fragment |
//! | --- | --- | --- |
//! | 0 to 4 | kind, memory, counts, read-back range | the same |
//! | 5 to 12 | input map: a bit for each four bytes from 0x000 on | 5 to 17: input map, below |
//! | 13 to 19 | output map: a bit for each four bytes from 0x040 on | 18: four bits a colour target; 19: sample mask, depth |
//!
//! A fragment shader's input map has a bit for each four bytes of 0x000 to 0x07c (word 5) and of
//! 0x2c0 to 0x2fc (word 14, from bit 16 on), and an [`Interpolation`] of two bits for each four
//! bytes of 0x080 to 0x29c (words 6 to 14) and of 0x300 to 0x39c (words 15 to 17).
//!
//! ```
//! use nvir_isa::header::{Header, Interpolation};
//! use nvir_base::stage::Stage;
//! let mut header = Header::new(Stage::Fragment);
//! header.set_interpolation(0x80, Interpolation::Perspective);
//! header.set_color_mask(0, 15);
//! let words = header.encode();
//! assert_eq!((words[0], words[6], words[18]), (0x21462, 2, 15));
//! assert_eq!(Header::decode(&words), Ok(header));
//! ```

mod describe;

use nvir_base::stage::{ATTRIBUTE_BYTES, Stage, attribute};

/// Words of a header.
pub const WORDS: usize = 20;

/// Bytes of a header.
pub const BYTES: u32 = 4 * WORDS as u32;

/// What a fragment shader's input is between the vertices of a primitive.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Interpolation {
    /// Not read.
    #[default]
    Unused,
    /// The value of one vertex.
    Flat,
    /// Linear on the primitive in space.
    Perspective,
    /// Linear in the window.
    Linear,
}

impl Interpolation {
    /// What the two low bits of a word mean in a header's map; `kind as u32` is the way back.
    pub const fn from_bits(bits: u32) -> Interpolation {
        match bits & 3 {
            1 => Interpolation::Flat,
            2 => Interpolation::Perspective,
            3 => Interpolation::Linear,
            _ => Interpolation::Unused,
        }
    }

    /// Its name in descriptions and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Interpolation::Unused => "unused",
            Interpolation::Flat => "flat",
            Interpolation::Perspective => "perspective",
            Interpolation::Linear => "linear",
        }
    }
}

/// What a geometry shader emits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Topology {
    /// Points.
    Points,
    /// Line strips.
    Lines,
    /// Triangle strips.
    Triangles,
}

impl Topology {
    const ALL: [(Topology, u32, &'static str); 3] = [
        (Topology::Points, 1, "points"),
        (Topology::Lines, 6, "line_strip"),
        (Topology::Triangles, 7, "triangle_strip"),
    ];

    fn row(self) -> (Topology, u32, &'static str) {
        let [points, lines, triangles] = Topology::ALL;
        match self {
            Topology::Points => points,
            Topology::Lines => lines,
            Topology::Triangles => triangles,
        }
    }

    /// Vertices of a primitive that strips are made into.
    pub const fn vertices(self) -> usize {
        match self {
            Topology::Points => 1,
            Topology::Lines => 2,
            Topology::Triangles => 3,
        }
    }

    /// Its name in descriptions and JSON.
    pub fn name(self) -> &'static str {
        self.row().2
    }
}

/// A header. Fields that a stage does not have are zero.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Header {
    stage: Stage,
    /// FRAG: colour targets get values of their own, rather than all the same.
    pub several_targets: bool,
    /// FRAG: it may discard fragments.
    pub kills: bool,
    /// It writes global memory.
    pub global_stores: bool,
    /// It reads or writes local or global memory.
    pub memory: bool,
    /// It computes with doubles.
    pub doubles: bool,
    /// GEOM: streams that it may emit to, a bit each (four bits).
    pub streams: u8,
    /// Bytes of local memory of a thread, a multiple of 16 below 2^24.
    pub local_bytes: u32,
    /// TESS_CTRL: 32-bit words that it writes for a patch.
    pub patch_words: u8,
    /// TESS_CTRL: vertices of the patch that it writes. GEOM: invocations for each primitive.
    pub threads: u8,
    /// GEOM: what it emits.
    pub topology: Option<Topology>,
    /// GEOM: vertices that an invocation may emit, below 2^12.
    pub max_vertices: u16,
    /// Outputs that it reads back, of its own thread or another: word addresses (byte address / 4)
    /// of the lowest and the highest. First above last ([`Header::NO_READ_BACK`]), or both 0, is
    /// none.
    pub read_back: [u8; 2],
    /// Words 5 to 19.
    maps: [u32; WORDS - 5],
}

/// Why words are no header.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadHeader {
    /// The kind or stage of word 0.
    #[error("word 0 is {0:#x}: no stage has kind {kind} and number {stage}", kind = .0 & 31, stage = .0 >> 10 & 15)]
    Stage(u32),
    /// The versions of word 0.
    #[error("word 0 is {0:#x}: header version {version} and code version {code} rather than 3 and 1", version = .0 >> 5 & 31, code = .0 >> 17 & 15)]
    Version(u32),
    /// What a geometry shader emits.
    #[error("word 3 names output topology {0}: 1 points, 6 line strips, 7 triangle strips")]
    Topology(u32),
    /// Bits that mean nothing in this stage.
    #[error("word {word} of a {stage} header has bits {bits:#x}, which mean nothing there")]
    Unknown {
        /// The stage that word 0 names.
        stage: Stage,
        /// The word.
        word: usize,
        /// The bits.
        bits: u32,
    },
}

/// Header version in bits 5 to 9 of word 0, and the code's in bits 17 to 20.
const VERSIONS: u32 = 3 << 5 | 1 << 17;
const VERSION_BITS: u32 = 31 << 5 | 15 << 17;

/// Where the bit of a yes-or-no attribute lies: its number from the start of word 5.
fn bit(word: usize, bit: u32) -> u32 {
    (word as u32 - 5) * 32 + bit
}

impl Header {
    /// [`Header::read_back`] of a stage that reads none of its outputs, but for GEOM, which has
    /// zeros.
    pub(crate) const NO_READ_BACK: [u8; 2] = [0xff, 0];

    /// A header that declares nothing but what every shader of the stage has: FRAG reads 0x7c (the
    /// hardware traps otherwise), TESS_EVAL the tessellation coordinates, which lie among its
    /// outputs.
    ///
    /// A compute shader has no header; what comes of `Stage::Compute` is a vertex shader's.
    pub fn new(stage: Stage) -> Header {
        let stage = if stage.is_graphics() { stage } else { Stage::Vertex };
        let reads_back = !matches!(stage, Stage::Geometry | Stage::Fragment);
        let mut header = Header {
            stage,
            several_targets: false,
            kills: false,
            global_stores: false,
            memory: false,
            doubles: false,
            streams: 0,
            local_bytes: 0,
            patch_words: 0,
            threads: 0,
            topology: None,
            max_vertices: 0,
            read_back: if reads_back { Header::NO_READ_BACK } else { [0, 0] },
            maps: [0; WORDS - 5],
        };
        match stage {
            Stage::Fragment => header.set_read(attribute::POSITION_W),
            Stage::TessEval => [0x2f0, 0x2f4].into_iter().for_each(|a| header.set_written(a)),
            _ => {}
        }
        header
    }

    /// The stage.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    fn test(&self, bit: u32) -> bool {
        self.maps[bit as usize / 32] >> (bit % 32) & 1 != 0
    }

    fn set(&mut self, bit: u32) {
        self.maps[bit as usize / 32] |= 1 << (bit % 32);
    }

    /// The input bit of an address, or where two bits say how it is interpolated.
    fn input(&self, address: u32) -> Input {
        if address >= ATTRIBUTE_BYTES {
            return Input::None;
        }
        let slot = address / 4;
        match (self.stage, address) {
            (Stage::Fragment, attribute::GENERIC..attribute::BACK_COLOR) => {
                Input::Kind(bit(6, 2 * (slot - 0x20)))
            }
            (Stage::Fragment, attribute::CLIP_DISTANCE..attribute::TEX_COORD) => {
                Input::Bit(bit(14, 16 + slot - 0xb0))
            }
            (Stage::Fragment, attribute::TEX_COORD..0x3a0) => Input::Kind(bit(15, 2 * (slot - 0xc0))),
            (Stage::Fragment, 0x080..) => Input::None,
            _ => Input::Bit(bit(5, slot)),
        }
    }

    /// Whether the four bytes at an address of a vertex's (not a patch's) attributes are declared
    /// as read. FRAG: FACE (0x3fc) needs no declaration and has none.
    pub fn reads(&self, address: u32) -> bool {
        match self.input(address) {
            Input::None => false,
            Input::Bit(at) => self.test(at),
            Input::Kind(_) => self.interpolation(address) != Interpolation::Unused,
        }
    }

    /// Declares the four bytes at an address as read; FRAG: perspective, where there is a choice
    /// and none was made. Addresses that have no bit are left alone.
    pub fn set_read(&mut self, address: u32) {
        match self.input(address) {
            Input::None => {}
            Input::Bit(at) => self.set(at),
            Input::Kind(_) => self.merge_interpolation(address, Interpolation::Perspective),
        }
    }

    /// How a fragment shader's input is declared: position and front-facing linear and flat,
    /// numbers of primitive, layer and viewport and the point size flat, clip distances, fog and
    /// point coordinates perspective, if they are read. Other stages: unused.
    pub fn interpolation(&self, address: u32) -> Interpolation {
        let stated = match (self.stage, address) {
            (Stage::Fragment, 0x060..0x070) => Interpolation::Flat,
            (Stage::Fragment, 0x070..0x080) => Interpolation::Linear,
            (Stage::Fragment, attribute::FACE) => return Interpolation::Flat,
            (Stage::Fragment, _) => Interpolation::Perspective,
            _ => Interpolation::Unused,
        };
        match self.input(address) {
            Input::Kind(at) => Interpolation::from_bits(self.maps[at as usize / 32] >> (at % 32)),
            Input::Bit(at) if self.test(at) => stated,
            _ => Interpolation::Unused,
        }
    }

    /// Sets how a fragment shader's input is interpolated; where there is no choice, any kind but
    /// [`Interpolation::Unused`] declares it as read.
    pub fn set_interpolation(&mut self, address: u32, kind: Interpolation) {
        match self.input(address) {
            Input::Kind(at) => {
                let word = &mut self.maps[at as usize / 32];
                *word = *word & !(3 << (at % 32)) | (kind as u32) << (at % 32);
            }
            Input::Bit(at) if kind == Interpolation::Unused => {
                self.maps[at as usize / 32] &= !(1 << (at % 32))
            }
            Input::Bit(at) => self.set(at),
            Input::None => {}
        }
    }

    /// As [`Header::set_interpolation`] where several inputs share an address: linear before flat
    /// before perspective.
    pub fn merge_interpolation(&mut self, address: u32, kind: Interpolation) {
        let rank = |kind| match kind {
            Interpolation::Unused => 0,
            Interpolation::Perspective => 1,
            Interpolation::Flat => 2,
            Interpolation::Linear => 3,
        };
        if rank(kind) > rank(self.interpolation(address)) {
            self.set_interpolation(address, kind);
        }
    }

    fn output(&self, address: u32) -> Option<u32> {
        (self.stage != Stage::Fragment && (0x040..0x3c0).contains(&address))
            .then(|| bit(13, (address - 0x40) / 4))
    }

    /// Whether the four bytes at an address of a vertex's attributes are declared as written.
    pub fn writes(&self, address: u32) -> bool {
        self.output(address).is_some_and(|at| self.test(at))
    }

    /// Declares the four bytes at an address as written; addresses that have no bit are left alone.
    pub fn set_written(&mut self, address: u32) {
        if let Some(at) = self.output(address) {
            self.set(at);
        }
    }

    /// Whether the four bytes at an address of the outputs are declared as read back.
    pub fn reads_back(&self, address: u32) -> bool {
        let [first, last] = self.read_back.map(u32::from);
        self.read_back != [0, 0] && (first..=last).contains(&(address / 4))
    }

    /// Widens the outputs that are read back by the four bytes at an address.
    pub fn set_read_back(&mut self, address: u32) {
        let word = (address / 4).min(0xff) as u8;
        let [first, last] = self.read_back;
        let none = first > last || self.read_back == [0, 0];
        self.read_back = if none { [word, word] } else { [first.min(word), last.max(word)] };
    }

    /// Components of a colour target that a fragment shader writes, x in bit 0; there are 8
    /// targets.
    pub fn color_mask(&self, target: u32) -> u8 {
        if self.stage == Stage::Fragment && target < 8 {
            (self.maps[13] >> (4 * target)) as u8 & 15
        } else {
            0
        }
    }

    /// Sets the components of a colour target that a fragment shader writes.
    pub fn set_color_mask(&mut self, target: u32, mask: u8) {
        if self.stage == Stage::Fragment && target < 8 {
            self.maps[13] = self.maps[13] & !(15 << (4 * target)) | u32::from(mask & 15) << (4 * target);
        }
    }

    /// FRAG: it writes the sample mask.
    pub fn writes_sample_mask(&self) -> bool {
        self.stage == Stage::Fragment && self.maps[14] & 1 != 0
    }

    /// FRAG: says whether it writes the sample mask.
    pub fn set_sample_mask(&mut self, writes: bool) {
        self.set_result(0, writes);
    }

    /// FRAG: it writes the depth.
    pub fn writes_depth(&self) -> bool {
        self.stage == Stage::Fragment && self.maps[14] & 2 != 0
    }

    /// FRAG: says whether it writes the depth.
    pub fn set_depth(&mut self, writes: bool) {
        self.set_result(1, writes);
    }

    fn set_result(&mut self, bit: u32, writes: bool) {
        if self.stage == Stage::Fragment {
            self.maps[14] = self.maps[14] & !(1 << bit) | u32::from(writes) << bit;
        }
    }

    /// Words 5 to 19.
    pub fn maps(&self) -> &[u32; WORDS - 5] {
        &self.maps
    }

    /// The same as words of 64 bits, low half first, as it lies in front of code.
    pub fn words(&self) -> [u64; WORDS / 2] {
        let halves = self.encode();
        std::array::from_fn(|n| u64::from(halves[2 * n + 1]) << 32 | u64::from(halves[2 * n]))
    }

    /// The words. Numbers that do not fit their fields lose their upper bits.
    pub fn encode(&self) -> [u32; WORDS] {
        let (kind, number) = numbers(self.stage);
        let flag = |on: bool, bit: u32| u32::from(on) << bit;
        let mut words = [0; WORDS];
        words[0] = kind
            | VERSIONS
            | number << 10
            | flag(self.several_targets, 14)
            | flag(self.kills, 15)
            | flag(self.global_stores, 16)
            | flag(self.memory, 26)
            | flag(self.doubles, 27)
            | u32::from(self.streams & 15) << 28;
        words[1] = self.local_bytes & 0xff_ffff | u32::from(self.patch_words) << 24;
        words[2] = u32::from(self.threads) << 24;
        words[3] = self.topology.map_or(0, |t| t.row().1) << 24;
        let [first, last] = self.read_back.map(u32::from);
        words[4] = u32::from(self.max_vertices & 0xfff) | first << 12 | last << 24;
        words[5..].copy_from_slice(&self.maps);
        words
    }

    /// Reads words.
    ///
    /// # Errors
    /// [`BadHeader`], if they are none, or have bits that no field of the stage has.
    pub fn decode(words: &[u32; WORDS]) -> Result<Header, BadHeader> {
        let word = words[0];
        let stage =
            Stage::ALL.into_iter().find(|s| s.is_graphics() && numbers(*s) == (word & 31, word >> 10 & 15));
        let stage = stage.ok_or(BadHeader::Stage(word))?;
        if word & VERSION_BITS != VERSIONS {
            return Err(BadHeader::Version(word));
        }
        for (n, (&word, known)) in words.iter().zip(known_bits(stage)).enumerate() {
            if word & !known != 0 {
                return Err(BadHeader::Unknown { stage, word: n, bits: word & !known });
            }
        }
        let topology = match words[3] >> 24 {
            0 => None,
            n => Some(Topology::ALL.iter().find(|t| t.1 == n).ok_or(BadHeader::Topology(n))?.0),
        };
        let flag = |bit: u32| word >> bit & 1 != 0;
        let mut maps = [0; WORDS - 5];
        maps.copy_from_slice(&words[5..]);
        Ok(Header {
            stage,
            several_targets: flag(14),
            kills: flag(15),
            global_stores: flag(16),
            memory: flag(26),
            doubles: flag(27),
            streams: (word >> 28) as u8,
            local_bytes: words[1] & 0xff_ffff,
            patch_words: (words[1] >> 24) as u8,
            threads: (words[2] >> 24) as u8,
            topology,
            max_vertices: (words[4] & 0xfff) as u16,
            read_back: [(words[4] >> 12) as u8, (words[4] >> 24) as u8],
            maps,
        })
    }
}

enum Input {
    None,
    /// One bit from word 5 on.
    Bit(u32),
    /// Two bits from there on.
    Kind(u32),
}

/// Kind (bits 0 to 4 of word 0) and number (bits 10 to 13) of a stage.
fn numbers(stage: Stage) -> (u32, u32) {
    match stage {
        Stage::Compute | Stage::Vertex => (1, 1),
        Stage::TessControl => (1, 2),
        Stage::TessEval => (1, 3),
        Stage::Geometry => (1, 4),
        Stage::Fragment => (2, 5),
    }
}

/// Bits of each word that mean something.
fn known_bits(stage: Stage) -> [u32; WORDS] {
    let mut known = [u32::MAX; WORDS];
    let (fragment, geometry) = (stage == Stage::Fragment, stage == Stage::Geometry);
    let only = |is: bool, bits: u32| if is { bits } else { 0 };
    known[0] =
        0x0c01_0000 | 0x1f | VERSION_BITS | 15 << 10 | only(fragment, 0xc000) | only(geometry, 0xf000_0000);
    known[1] = 0xff_ffff | only(stage == Stage::TessControl, 0xff00_0000);
    known[2] = only(geometry || stage == Stage::TessControl, 0xff00_0000);
    known[3] = only(geometry, 0x0f00_0000);
    known[4] = only(!fragment, 0xff0f_f000) | only(geometry, 0xfff);
    if fragment {
        known[17] = 0xffff;
        known[19] = 3;
    }
    known
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn words(text: &str) -> [u32; WORDS] {
        let list: Vec<u32> = text.split_whitespace().map(|w| u32::from_str_radix(w, 16).unwrap()).collect();
        list.try_into().unwrap()
    }

    /// What a tessellation control shader with four vertices, two of its outputs read back, and 12
    /// words a patch declares.
    pub(crate) const CONTROL: &str =
        "00020861 0c000000 04000000 00000000 2301c000 f0000000 0000000f 0 0 0 0 0 0 000ff000 0 0 0 0 0 0";
    /// Position, COLOR[0] perspective, TEXCOORD[1].xy linear, GENERIC[0].x flat; kills; two targets
    /// and depth.
    pub(crate) const FRAGMENT: &str =
        "0002d462 00000010 0 0 0 f0000000 00000001 0 0 0 0 0 0 0 000000aa 00000f00 0 0 000000ff 00000002";
    /// Triangle strips of at most 12 vertices, two invocations.
    pub(crate) const GEOMETRY: &str =
        "10021061 0 02000000 07000000 0000000c f1000000 0000000f 0 0 0 0 0 0 000ff000 0 0 0 0 0 0";

    #[test]
    fn words_are_read_and_written() {
        for text in [CONTROL, FRAGMENT, GEOMETRY] {
            let words = words(text);
            assert_eq!(Header::decode(&words).unwrap().encode(), words);
        }
        let control = Header::decode(&words(CONTROL)).unwrap();
        assert_eq!((control.stage(), control.threads, control.patch_words), (Stage::TessControl, 4, 12));
        assert!(control.reads_back(0x70) && control.reads_back(0x8c) && !control.reads_back(0x90));
        assert!(control.reads(0x80) && !control.reads(0x90) && control.writes(0x7c) && !control.writes(0x90));
        let fragment = Header::decode(&words(FRAGMENT)).unwrap();
        assert!(
            fragment.kills
                && fragment.several_targets
                && fragment.writes_depth()
                && !fragment.writes_sample_mask()
        );
        assert_eq!((fragment.color_mask(0), fragment.color_mask(1), fragment.color_mask(2)), (15, 15, 0));
        let kinds: Vec<Interpolation> =
            [0x80, 0x84, 0x28c, 0x310, 0x318, 0x78, 0x60, 0x3fc].map(|a| fragment.interpolation(a)).into();
        use Interpolation::*;
        assert_eq!(kinds, [Flat, Unused, Perspective, Linear, Unused, Linear, Unused, Flat]);
        let geometry = Header::decode(&words(GEOMETRY)).unwrap();
        assert_eq!(
            (geometry.topology, geometry.max_vertices, geometry.streams),
            (Some(Topology::Triangles), 12, 1)
        );
        assert!(!geometry.reads_back(0) && geometry.reads(0x60));
    }

    #[test]
    fn headers_are_built() {
        let mut h = Header::new(Stage::TessEval);
        for address in [0x2f0, 0x2f4] {
            h.set_read_back(address);
        }
        assert_eq!((h.encode()[0], h.encode()[4], h.encode()[18]), (0x20c61, 0xbd0b_c000, 0x3000));
        let mut h = Header::new(Stage::Vertex);
        assert_eq!(h.encode()[4], 0xff000);
        for address in [0x80, 0x2f8, 0x2fc, 0x400, 0xffff_fffc] {
            h.set_read(address);
        }
        for address in [0x3c, 0x40, 0x70, 0x3bc, 0x3c0, 0xffff_fffc] {
            h.set_written(address);
        }
        let w = h.encode();
        assert_eq!((w[5], w[6], w[12], w[10]), (0, 1, 0, 0xc000_0000));
        assert_eq!((w[13], w[19]), (0x1001, 0x8000_0000));
        let mut h = Header::new(Stage::Fragment);
        h.merge_interpolation(0x80, Interpolation::Flat);
        h.merge_interpolation(0x80, Interpolation::Perspective);
        h.merge_interpolation(0x84, Interpolation::Linear);
        h.merge_interpolation(0x84, Interpolation::Flat);
        h.set_read(0x2e8);
        h.set_read(0x300);
        h.set_color_mask(8, 15);
        h.set_sample_mask(true);
        let w = h.encode();
        assert_eq!(
            (w[0], w[5], w[6], w[14], w[15], w[18], w[19]),
            (0x21462, 0x8000_0000, 0xd, 1 << 26, 2, 0, 1)
        );
    }

    #[test]
    fn what_is_no_header_is_refused_with_its_reason() {
        let mut bad = words(FRAGMENT);
        bad[0] = 0;
        assert_eq!(Header::decode(&bad), Err(BadHeader::Stage(0)));
        bad[0] = 0x61462;
        assert!(Header::decode(&bad).unwrap_err().to_string().contains("code version 3 rather than"));
        bad = words(FRAGMENT);
        bad[4] = 0xff000;
        assert_eq!(
            Header::decode(&bad),
            Err(BadHeader::Unknown { stage: Stage::Fragment, word: 4, bits: 0xff000 })
        );
        bad = words(GEOMETRY);
        bad[3] = 0x0200_0000;
        assert_eq!(Header::decode(&bad), Err(BadHeader::Topology(2)));
        bad = words(CONTROL);
        bad[0] |= 0x8000;
        assert!(
            Header::decode(&bad).unwrap_err().to_string().contains("word 0 of a tesc header has bits 0x8000")
        );
    }
}
