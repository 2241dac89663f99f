//! What programs read: pictures of textures and contents of constant banks, each once, with the commands that read them.

use crate::pictures::{planes, png, words};
use nvir_vgpu::Memory;
use nvir_vgpu::watch::{Bank, Done, Ran, SamplerState, Seen, TextureHeader, What};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::hash::{Hash, Hasher};
use std::sync::atomic::Ordering::Relaxed;

/// Pictures of a texture at most: levels of slices, layers or faces.
const PICTURES: usize = 96;

/// Bytes of all pictures of textures at most.
const ALL_BYTES: usize = 16 << 20;

/// Words of a constant bank that are shown, and of all banks together.
const WORDS: usize = 256;
const ALL_WORDS: usize = 1 << 20;

/// What has been read so far.
#[derive(Default)]
pub(crate) struct Contents {
    /// Textures with what they held, in the order in which they were first read.
    textures: Vec<Value>,
    /// By the words of their headers.
    known: BTreeMap<[u32; 8], Known>,
    bytes: usize,
    constants: Vec<String>,
    constants_by_words: HashMap<Vec<u32>, usize>,
    constant_words: usize,
    submission: u64,
}

/// A texture as it was read last.
struct Known {
    header: TextureHeader,
    /// Of the words of its memory.
    hash: u64,
    /// Its number in the list.
    number: usize,
    /// Nothing has written to its memory since then.
    clean: bool,
}

impl Contents {
    /// A command has ended: what it has written is to be read again.
    pub(crate) fn passed(&mut self, seen: &Seen<'_>, done: &Done) {
        // Between submissions the host may have written anything.
        let same = std::mem::replace(&mut self.submission, seen.place.submission) == seen.place.submission;
        let targets: Vec<_> = seen.targets.iter().map(|t| t.span()).collect();
        let stores = done.programs.iter().any(|p| p.program.writes_memory());
        let draws = matches!(seen.what, What::Draw { .. });
        for known in self.known.values_mut().filter(|k| k.clean) {
            let span = known.header.span();
            let drawn = targets.iter().any(|t| t.start < span.end && span.start < t.end);
            known.clean = same && !drawn && if draws { !stores } else { !done.may_write(&span) };
        }
    }

    /// What a program of a command has read.
    pub(crate) fn json(&mut self, ran: &Ran, memory: &Memory) -> Value {
        let reads = &ran.reads;
        let banks = reads.banks.iter().map(|&(n, bank)| {
            json!([n, format!("{:#x}", bank.address), bank.size, self.constants(bank, memory)])
        });
        let banks: Vec<Value> = banks.collect();
        let textures = reads.textures.iter().map(|(entry, t)| json!([entry, self.texture(t, memory)]));
        let textures: Vec<Value> = textures.collect();
        let samplers = reads.samplers.iter().map(|(entry, s)| json!([entry, SamplerState::fields(s)]));
        json!({ "banks": banks, "textures": textures, "samplers": samplers.collect::<Vec<_>>() })
    }

    /// All textures and contents of banks, for the page.
    pub(crate) fn lists(&mut self) -> [Value; 2] {
        [std::mem::take(&mut self.textures).into(), std::mem::take(&mut self.constants).into()]
    }

    /// The number of a bank's content: its first words.
    fn constants(&mut self, bank: Bank, memory: &Memory) -> Option<usize> {
        let mut content = vec![0; (bank.size as usize / 4).min(WORDS)];
        memory.read_words(bank.address, &mut content).ok()?;
        if let Some(&known) = self.constants_by_words.get(&content) {
            return Some(known);
        }
        if self.constant_words + content.len() > ALL_WORDS {
            return None;
        }
        self.constant_words += content.len();
        self.constants.push(words(content.iter().copied()));
        self.constants_by_words.insert(content, self.constants.len() - 1);
        Some(self.constants.len() - 1)
    }

    /// The number of a texture with what it holds.
    fn texture(&mut self, header: &TextureHeader, memory: &Memory) -> usize {
        let known = self.known.get(&header.words());
        if let Some(known) = known.filter(|k| k.clean) {
            return known.number;
        }
        let hash = hash(header, memory);
        let number = match known.filter(|k| k.hash == hash) {
            Some(known) => known.number,
            None => {
                let shown = self.show(header, memory);
                self.textures.push(shown);
                self.textures.len() - 1
            }
        };
        let header = header.clone();
        self.known.insert(header.words(), Known { header, hash, number, clean: true });
        number
    }

    fn show(&mut self, header: &TextureHeader, memory: &Memory) -> Value {
        let all =
            (0..header.levels()).flat_map(|level| (0..header.layers(level)).map(move |layer| (level, layer)));
        let mut pictures = Vec::new();
        let mut left = None;
        for (n, (level, layer)) in all.enumerate() {
            if n >= PICTURES {
                left = Some(format!("{PICTURES} pictures of a texture are shown"));
                break;
            }
            if self.bytes > ALL_BYTES {
                left = Some(format!("{} MiB of pictures of textures are shown", ALL_BYTES >> 20));
                break;
            }
            let Some((picture, step)) = header.picture(level, layer, memory) else {
                left = Some("some of it does not lie in memory".into());
                continue;
            };
            for (plane, picture) in planes(picture, false) {
                let png = png(&picture);
                self.bytes += png.len();
                pictures.push(json!({
                    "level": level,
                    "layer": layer,
                    "plane": plane,
                    "step": step,
                    "size": [picture.width, picture.height],
                    "png": png,
                }));
            }
        }
        json!({
            "format": header.format(),
            "shape": header.shape(),
            "address": format!("{:#x}", header.address()),
            "size": header.size(),
            "levels": header.levels(),
            "samples": header.samples(),
            "pictures": pictures,
            "left": left,
        })
    }
}

/// Of all words of a texture's memory that there are.
fn hash(header: &TextureHeader, memory: &Memory) -> u64 {
    let mut hasher = rustc_hash::FxHasher::default();
    let span = header.span();
    let words = memory.words_from(span.start & !3).unwrap_or_default();
    let count = (span.end - span.start).div_ceil(4) + 1;
    words.iter().take(count as usize).for_each(|w| w.load(Relaxed).hash(&mut hasher));
    hasher.finish()
}
