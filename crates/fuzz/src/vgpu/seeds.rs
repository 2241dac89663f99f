//! What mutants are made from: recordings of Mesa's driver, as calls of a client.

use nvir::Chip;
use nvir_vgpu::trace::{Reader, Record};
use nvir_vgpu::{GemNew, domain};
use std::collections::BTreeMap;

/// No buffer with contents is larger.
const LARGE: u64 = 16 << 20;

/// One call of a client, or something that the processor writes.
#[derive(Clone, Debug)]
pub(super) enum Action {
    Create {
        request: GemNew,
        address: u64,
    },
    Close {
        address: u64,
    },
    Object {
        handle: u32,
        class: u32,
    },
    Write {
        address: u64,
        words: Vec<u32>,
    },
    Submit {
        buffers: Vec<u64>,
        pushes: Vec<Range>,
    },
    /// A call whose arguments mean nothing in the recording.
    Call {
        which: usize,
        arguments: [u64; 3],
    },
}

/// A range of commands.
#[derive(Clone, Debug)]
pub(super) struct Range {
    pub address: u64,
    /// Written before the submission, where they are not in memory already.
    pub words: Vec<u32>,
    pub write: bool,
    /// What is added to the offset and to the bytes that the submission says.
    pub skew: (i64, i64),
    pub no_prefetch: bool,
}

pub(super) struct Seed {
    pub name: String,
    pub chip: Chip,
    pub actions: Vec<Action>,
    /// Addresses and bytes of its buffers.
    pub buffers: Vec<(u64, u64)>,
}

/// Name and text of the recordings in a folder.
fn files(folder: &str) -> Vec<(String, String)> {
    let folder = crate::project().join("crates/vgpu/tests").join(folder);
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("recordings")
        .map(|entry| entry.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|e| e == "trace"))
        .map(|path| {
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            (name, std::fs::read_to_string(path).expect("readable"))
        })
        .collect();
    files.sort();
    files
}

pub(super) fn texts() -> Vec<String> {
    files("recordings").into_iter().map(|(_, text)| text).collect()
}

pub(super) fn all() -> Vec<Seed> {
    files("recordings").into_iter().map(|(name, text)| seed(name, &text)).collect()
}

/// Those that draw.
pub(super) fn scenes() -> Vec<Seed> {
    files("recordings/scenes").into_iter().map(|(name, text)| seed(name, &text)).collect()
}

fn seed(name: String, text: &str) -> Seed {
    let mut reader = Reader::new(text.as_bytes()).expect("a recording");
    let chip = format!("{:x}", reader.chipset()).parse().expect("a chip");
    let mut actions = Vec::new();
    let mut buffers = BTreeMap::new();
    while let Some(record) = reader.next_record().expect("a record") {
        match record {
            Record::Buffer { address, bytes, domain, tile_mode, tile_flags, align, .. } => {
                // Local memory, which nothing touches, would take most of the time.
                let bytes = if bytes > LARGE { nvir_vgpu::PAGE } else { bytes };
                buffers.insert(address, (bytes, domain));
                let request = GemNew { domain, size: bytes, align, tile_mode, tile_flags };
                actions.push(Action::Create { request, address });
            }
            Record::Free { address, .. } => actions.push(Action::Close { address }),
            Record::Object { handle, class } => actions.push(Action::Object { handle, class }),
            Record::Cpu { address, words } => actions.push(Action::Write { address, words }),
            Record::Submit { buffers, .. } => {
                let buffers = buffers.into_iter().map(|(address, _)| address).collect();
                actions.push(Action::Submit { buffers, pushes: Vec::new() });
            }
            Record::Push { address, no_prefetch, words } => {
                let within = buffers.range(..=address).next_back();
                // The contents of push buffers stand here only.
                let write = within.is_some_and(|(_, b)| *b == (0x8_0000, domain::GART | domain::MAPPABLE));
                if let Some(Action::Submit { pushes, .. }) = actions.last_mut() {
                    pushes.push(Range { address, words, write, skew: (0, 0), no_prefetch });
                }
            }
            Record::Gpu { .. } => {}
        }
    }
    Seed { name, chip, actions, buffers: buffers.into_iter().map(|(a, (bytes, _))| (a, bytes)).collect() }
}
