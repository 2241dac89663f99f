//! What is told of kernels: their code in files, notes of checkers, and what they did.

use crate::options::{options, say};
use nvir_asm::{cubin, listing};
use nvir_base::Chip;
use nvir_base::input::why;
use nvir_base::stage::Stage;
use nvir_emu::Note;
use nvir_emu_jit::Threads;
use nvir_vgpu::shader::{DrawProfiles, Kernel, KernelProfile, OnKernel};
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// Kernels and instructions that a profile shows.
const SHOWN: usize = 20;
const HOT: usize = 5;

/// Different notes that are told; a program that makes kernels without end has no end of them.
const MAX_NOTES: usize = 1000;

/// Writes each kernel into a folder as a cubin and as SASS, and each program of a stage as SASS and as the header's words with
/// the code behind them.
pub(crate) fn dump(chip: Chip, folder: PathBuf) -> OnKernel {
    let mut told = false;
    Box::new(move |kernel| {
        if let Err(e) = write(chip, &folder, kernel)
            && !told
        {
            told = true;
            crate::ending::lost();
            say(&format!("NVIR_VGPU_DUMP_SHADERS={}: {}", folder.display(), why(&e)));
        }
    })
}

fn write(chip: Chip, folder: &Path, kernel: &Kernel<'_>) -> std::io::Result<()> {
    let image = kernel.image("main");
    // By its contents: the same kernel of several launches, processes and runs is one file.
    let mut hash = DefaultHasher::new();
    (&image.code, image.gprs, image.shared, image.stack, image.block_size).hash(&mut hash);
    let words = kernel.header.map(|h| h.encode());
    words.inspect(|words| words.hash(&mut hash));
    let stage = kernel.header.map_or(String::new(), |h| format!("{}-", h.stage()));
    let name = format!("{chip}-{stage}{:016x}", hash.finish());
    let head = format!(
        "// Launched at {:#x}, which is {:#x} of the code that faults and profiles count from.\n// Local memory: {} bytes a thread.\n",
        kernel.code.wrapping_add(kernel.entry.into()),
        kernel.entry,
        kernel.local
    );
    fs::create_dir_all(folder)?;
    match words {
        None => {
            fs::write(folder.join(format!("{name}.cubin")), cubin::write(chip, std::slice::from_ref(&image)))?
        }
        Some(words) => {
            let header = words.iter().flat_map(|w| w.to_le_bytes());
            let code = image.code.iter().flat_map(|w| w.to_le_bytes());
            fs::write(folder.join(format!("{name}.bin")), header.chain(code).collect::<Vec<u8>>())?;
        }
    }
    let text = listing::print(chip, &[image], listing::Options { words: true });
    fs::write(folder.join(format!("{name}.sass")), head + &text)
}

/// Tells each note once.
pub(crate) fn on_note() -> Box<dyn FnMut(&Note) + Send> {
    let mut told = HashSet::new();
    Box::new(move |note| {
        let text = note.what.to_string();
        if told.len() < MAX_NOTES && told.insert(text) {
            say(&format!("note: {note}"));
        }
    })
}

/// What a program is called.
fn what(stage: Stage) -> String {
    match stage {
        Stage::Compute => "kernel".into(),
        stage => format!("{stage} program"),
    }
}

/// What kernels of a card did, those first that took the most cycles.
pub(crate) fn profile(card: u32, kernels: &[KernelProfile], draws: &DrawProfiles) -> String {
    let mut rows: Vec<(u64, BTreeMap<u32, u64>, &KernelProfile)> = kernels
        .iter()
        .map(|k| {
            let cycles = k.cycles();
            (cycles.values().sum(), cycles, k)
        })
        .collect();
    rows.sort_by_key(|(cycles, _, _)| std::cmp::Reverse(*cycles));
    let all = |of: fn(&KernelProfile) -> u64| kernels.iter().map(of).sum::<u64>();
    let mut t = format!(
        "profile of card {card}: {} kernels, {} launches, {} thread instructions, {} estimated cycles of warps one after the other\n",
        kernels.len(),
        all(|k| k.launches),
        all(|k| k.thread_instructions),
        rows.iter().map(|(cycles, _, _)| cycles).sum::<u64>(),
    );
    for (cycles, by_pc, k) in rows.iter().take(SHOWN) {
        let _ = writeln!(
            t,
            "{} at {:#x}: {} launches, {} thread instructions, {} warp instructions, {cycles} estimated cycles",
            what(k.stage),
            k.address,
            k.launches,
            k.thread_instructions,
            k.warp_instructions
        );
        let threads = if k.stage == Stage::Compute { Threads::Kernel } else { Threads::Stage };
        let engine = options().engine.outlook(&k.program, threads, k.warp_instructions);
        let _ = writeln!(t, "  without a profile {engine}");
        let mut hot: Vec<(u32, u64)> = by_pc.iter().map(|(&pc, &n)| (pc, n)).collect();
        hot.sort_by_key(|&(pc, n)| (std::cmp::Reverse(n), pc));
        for (pc, n) in hot.into_iter().take(HOT) {
            let issues = k.profile.as_ref().and_then(|p| p.by_pc.get(&pc)).map_or(0, |p| p.issues);
            let part = 100.0 * n as f64 / (*cycles).max(1) as f64;
            let _ = writeln!(t, "  {part:5.1} % {pc:06x} {issues:>8} times  {}", k.program.text(pc));
        }
    }
    if rows.len() > SHOWN {
        let _ = writeln!(t, "and {} kernels that took less", rows.len() - SHOWN);
    }
    t + &profile_of_draws(draws)
}

/// All draws, and those with the most instructions.
fn profile_of_draws(draws: &DrawProfiles) -> String {
    if draws.count == 0 {
        return String::new();
    }
    let DrawProfiles { count, vertices, primitives, fragments, instructions, heaviest } = draws;
    let mut t = format!(
        "{count} draws: {vertices} vertices, {primitives} primitives, {fragments} fragments, {instructions} thread instructions\n"
    );
    for d in heaviest {
        let _ = write!(
            t,
            "draw {} of {}: {} vertices, {} primitives, {} fragments",
            d.number, d.what, d.vertices, d.primitives, d.fragments
        );
        const STAGES: [&str; 5] = ["vertex", "control", "evaluation", "geometry", "fragment"];
        for (stage, n) in STAGES.into_iter().zip(d.instructions).filter(|(_, n)| *n != 0) {
            let _ = write!(t, ", {n} {stage} instructions");
        }
        t.push('\n');
    }
    if *count > heaviest.len() as u64 {
        let _ = writeln!(t, "and {} draws that took less", count - heaviest.len() as u64);
    }
    t
}

#[cfg(test)]
mod tests {
    use super::*;
    use nvir::isa::header::Header;
    use nvir_emu::Program;

    #[test]
    fn programs_of_stages_are_written_with_their_headers() {
        let folder = std::env::temp_dir().join(format!("nvir-stages-{}", std::process::id()));
        let code = listing::assemble(".kernel k\nEXIT\n", Chip::Gk104, "k").unwrap().kernels.remove(0).code;
        let program = Program::reachable(Chip::Gk104, 0, |at| code.get(at).copied());
        let mut header = Header::new(Stage::Fragment);
        header.set_color_mask(0, 15);
        let mut tell = dump(Chip::Gk104, folder.clone());
        let shapes = (4, 0, 0, [32, 1, 1]);
        for header in [None, Some(&header), Some(&header)] {
            let (gprs, shared, local, block) = shapes;
            tell(&Kernel { header, code: 0x1000, entry: 0, program: &program, gprs, shared, local, block });
        }
        let mut files: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
        files.sort();
        let stem = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_string();
        let kinds: Vec<&str> = files.iter().map(|f| f.extension().unwrap().to_str().unwrap()).collect();
        assert_eq!(kinds, ["cubin", "sass", "bin", "sass"], "{files:?}");
        assert!(
            stem(&files[2]).starts_with("gk104-frag-") && stem(&files[2]) == stem(&files[3]),
            "{files:?}"
        );
        let bytes = fs::read(&files[2]).unwrap();
        let words: Vec<u32> = bytes.chunks(4).map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect();
        assert_eq!((words[..20].to_vec(), words.len()), (header.encode().to_vec(), 20 + 2 * code.len()));
        fs::remove_dir_all(&folder).unwrap();
    }
}
