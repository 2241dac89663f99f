//! Pictures of what is drawn, in files.

use crate::options::say;
use crate::{ending, gate, sys};
use nvir_base::input::why;
use nvir_vgpu::frames::OnFrame;
use std::path::PathBuf;

/// The gate of the processes that write frames.
const GATE: &str = "frames";

/// Writes a card's frames into a folder. The first process of a run has the plain names; those of others begin with its number.
pub(crate) fn write(card: u32, folder: PathBuf) -> OnFrame {
    let mut prefix: Option<String> = None;
    let mut told = false;
    Box::new(move |frame| {
        let prefix = prefix.get_or_insert_with(|| {
            let first = gate::enter(GATE).ok().flatten().is_none_or(|gate| gate.first);
            let process = if first { String::new() } else { format!("process-{}-", sys::process()) };
            let card = if card == 0 { String::new() } else { format!("card-{card}-") };
            process + &card
        });
        if let Err(e) = frame.write(&folder, prefix)
            && !told
        {
            told = true;
            ending::lost();
            say(&format!("NVIR_VGPU_DUMP_FRAMES={}: {}; frames are missing", folder.display(), why(&e)));
        }
    })
}
