//! A client of the virtual card: builds commands, submits them, looks at memory.
#![allow(dead_code)] // Every test file uses a part of it.

pub(crate) mod kernel;
pub(crate) mod scene;

use nvir::Chip;
use nvir_hw::Class;
use nvir_hw::method::channel::OBJECT;
use nvir_hw::push::{Header, kind};
use nvir_vgpu::{BufferUse, Config, Error, File, GemInfo, GemNew, Gpu, Owned, Push, domain};
use std::sync::{Arc, Mutex};

/// Subchannels as Mesa uses them.
pub(crate) const THREE_D: u32 = Class::ThreeD.subchannel();
pub(crate) const COMPUTE: u32 = Class::Compute.subchannel();
pub(crate) const MEMORY: u32 = Class::P2mf.subchannel();
pub(crate) const TWO_D: u32 = Class::TwoD.subchannel();
pub(crate) const COPY: u32 = Class::Copy.subchannel();

/// Class numbers of the subchannels 0 to 3.
pub(crate) fn classes(chip: Chip) -> [u32; 4] {
    [Class::ThreeD, Class::Compute, Class::upload(chip), Class::TwoD]
        .map(|class| class.number(chip).expect("the chip has it"))
}

/// Commands.
#[derive(Clone, Default, Debug)]
pub(crate) struct Commands(pub Vec<u32>);

impl Commands {
    fn packet(&mut self, kind: u32, sub: u32, method: u32, words: &[u32]) -> &mut Self {
        self.0.push(Header::packet(kind, sub, method, words.len() as u32).into());
        self.0.extend(words);
        self
    }

    /// Words to a method and those behind it.
    pub(crate) fn inc(&mut self, sub: u32, method: u32, words: &[u32]) -> &mut Self {
        self.packet(kind::INCREASING, sub, method, words)
    }

    /// All words to one method.
    pub(crate) fn same(&mut self, sub: u32, method: u32, words: &[u32]) -> &mut Self {
        self.packet(kind::SAME, sub, method, words)
    }

    /// The first word to a method, the others to the next.
    pub(crate) fn once(&mut self, sub: u32, method: u32, words: &[u32]) -> &mut Self {
        self.packet(kind::INCREASING_ONCE, sub, method, words)
    }

    /// A small number to a method.
    pub(crate) fn immediate(&mut self, sub: u32, method: u32, value: u32) -> &mut Self {
        self.0.push(Header::packet(kind::IMMEDIATE, sub, method, value).into());
        self
    }

    /// An address to two methods.
    pub(crate) fn address(&mut self, sub: u32, method: u32, address: u64) -> &mut Self {
        self.inc(sub, method, &[(address >> 32) as u32, address as u32])
    }
}

/// A writer whose text can be read.
#[derive(Clone, Default)]
pub(crate) struct Text(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Text {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Text {
    pub(crate) fn get(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

/// A file with a channel, and a buffer for commands.
pub(crate) struct Client {
    pub file: File,
    pub channel: u32,
    pub commands: GemInfo,
}

impl Client {
    pub(crate) fn new(chip: Chip) -> Client {
        Client::with(Config::new(chip))
    }

    pub(crate) fn with(config: Config) -> Client {
        let chip = config.chip;
        let file = Gpu::new(config, Box::new(Owned::default())).open();
        let channel = file.channel_alloc(0, 0).unwrap().channel;
        let commands = buffer(&file, 0x8_0000, domain::GART | domain::MAPPABLE);
        let client = Client { file, channel, commands };
        let mut bind = Commands::default();
        for (sub, class) in classes(chip).into_iter().enumerate() {
            bind.inc(sub as u32, OBJECT, &[class]);
        }
        client.run(&bind).unwrap();
        client
    }

    pub(crate) fn gpu(&self) -> &Gpu {
        self.file.gpu()
    }

    /// A buffer of zeros in video memory.
    pub(crate) fn buffer(&self, bytes: u64) -> GemInfo {
        buffer(&self.file, bytes, domain::VRAM)
    }

    /// A buffer with these words at its start.
    pub(crate) fn filled(&self, bytes: u64, words: &[u32]) -> GemInfo {
        let info = self.buffer(bytes);
        self.gpu().write(info.offset, words).unwrap();
        info
    }

    pub(crate) fn run(&self, commands: &Commands) -> Result<(), Error> {
        self.run_ranges(&[&commands.0])
    }

    /// Submits ranges that are one stream.
    pub(crate) fn run_ranges(&self, ranges: &[&[u32]]) -> Result<(), Error> {
        let uses =
            [BufferUse { handle: self.commands.handle, read_domains: 4, write_domains: 0, valid_domains: 4 }];
        let mut offset = 0;
        let mut pushes = Vec::new();
        for range in ranges {
            self.gpu().write(self.commands.offset + offset, range).unwrap();
            pushes.push(Push { bo_index: 0, offset, bytes: range.len() as u32 * 4, no_prefetch: false });
            offset += range.len() as u64 * 4;
        }
        self.file.submit(self.channel, &uses, &pushes).map(|_| ())
    }

    pub(crate) fn words(&self, address: u64, count: usize) -> Vec<u32> {
        let mut words = vec![0; count];
        self.gpu().read(address, &mut words).unwrap();
        words
    }

    pub(crate) fn bytes(&self, address: u64, count: usize) -> Vec<u8> {
        let mut bytes: Vec<u8> =
            self.words(address, count.div_ceil(4)).iter().flat_map(|w| w.to_le_bytes()).collect();
        bytes.truncate(count);
        bytes
    }

    pub(crate) fn write_bytes(&self, address: u64, bytes: &[u8]) {
        let words: Vec<u32> =
            bytes.chunks(4).map(|c| c.iter().rev().fold(0, |w, b| w << 8 | u32::from(*b))).collect();
        self.gpu().write(address, &words).unwrap();
    }
}

fn buffer(file: &File, bytes: u64, domain: u32) -> GemInfo {
    file.gem_new(GemNew { domain, size: bytes, ..GemNew::default() }).unwrap()
}
