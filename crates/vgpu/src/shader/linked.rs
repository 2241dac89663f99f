//! A kernel that lies among others in memory, as code of its own.

use super::Kernel;
use nvir_asm::cubin;
use nvir_base::Chip;
use nvir_emu::Program;
use nvir_isa::{self as isa, Operand, fetch};

/// Code keeps its place in groups of so many bytes: on Kepler each begins with a scheduling word.
const GROUP: u32 = 64;

impl Kernel<'_> {
    /// The code without gaps, jumps and calls led to where their targets are now, and what a launch needs. It can be
    /// written as a cubin and listed.
    pub fn image(&self, name: &str) -> cubin::Kernel {
        cubin::Kernel {
            name: name.to_string(),
            code: linked(self.program),
            gprs: self.gprs,
            shared: self.shared,
            stack: self.local as u32,
            block_size: Some(self.block),
            ..cubin::Kernel::default()
        }
    }
}

/// Where a part of the code was and is, and its bytes.
struct Part {
    old: u32,
    new: u32,
    bytes: Vec<u8>,
}

fn linked(program: &Program) -> Vec<u64> {
    let mut end = 0;
    let place = |(old, words): (u32, &[u64])| {
        let new = end + old.wrapping_sub(end) % GROUP;
        end = new + 8 * words.len() as u32;
        Part { old, new, bytes: words.iter().flat_map(|w| w.to_le_bytes()).collect() }
    };
    let mut parts: Vec<Part> = program.code().map(place).collect();
    let moves: Vec<(u32, u32, u32)> = parts.iter().map(|p| (p.old, p.new, p.bytes.len() as u32)).collect();
    let moved = |target: u32| {
        let inside = |&&(old, _, len): &&(u32, u32, u32)| target >= old && target - old < len;
        moves.iter().find(inside).map_or(target, |&(old, new, _)| new + (target - old))
    };
    for ((_, words), part) in program.code().zip(&mut parts) {
        for (at, word) in targets_moved(program.chip(), words, part, moved) {
            if let Some(place) = part.bytes.get_mut(at as usize..at as usize + 8) {
                place.copy_from_slice(&word.to_le_bytes());
            }
        }
    }
    let mut code = vec![0; end as usize];
    for p in parts {
        code[p.new as usize..][..p.bytes.len()].copy_from_slice(&p.bytes);
    }
    code.chunks_exact(8).map(|b| u64::from_le_bytes(std::array::from_fn(|i| b[i]))).collect()
}

/// The instructions of a part that name a code address: where they are in it, and what they become.
fn targets_moved(chip: Chip, words: &[u64], part: &Part, moved: impl Fn(u32) -> u32) -> Vec<(u32, u64)> {
    let one = |(at, fetched): (u32, fetch::Fetched)| {
        let mut m = fetch::decode(chip, fetched, part.old + at)?;
        let target = m.operands.iter_mut().find_map(|o| match o {
            Operand::Target(t) => Some(t),
            _ => None,
        })?;
        *target = moved(*target);
        // One that cannot be led there stays what it is.
        (m.bytes() == 8).then_some(())?;
        Some((at, isa::encode(chip, &m, part.new + at).ok()?))
    };
    fetch::sweep(chip, words).filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nvir_asm::listing;

    /// A kernel that calls a routine which lies elsewhere.
    #[test]
    fn a_kernel_and_what_it_calls_become_one_piece() {
        for chip in [Chip::Gf100, Chip::Gk104, Chip::Gk110] {
            let assemble = |text: &str| {
                let a = listing::assemble(text, chip, "text").unwrap_or_else(|e| panic!("{chip}: {e:?}"));
                a.kernels[0].code.clone()
            };
            let mut memory = vec![0; 0x400];
            let mut put = |at: usize, code: &[u64]| memory[at / 8..][..code.len()].copy_from_slice(code);
            put(0x1000, &assemble(".kernel k\nJCAL 0x240\nEXIT\n"));
            put(0x240, &assemble(".kernel r\nIADD R0, R0, 0x1\nRET\n"));
            let program = Program::reachable(chip, 0x1000, |at| memory.get(at).copied());
            let kernel = Kernel {
                header: None,
                code: 0x10_0000,
                entry: 0x1000,
                program: &program,
                gprs: 8,
                shared: 0,
                local: 0,
                block: [1; 3],
            };
            let image = kernel.image("k");
            assert!(image.code.len() < 64, "{chip}: {} words", image.code.len());
            let again = Program::reachable(chip, 0, |at| image.code.get(at).copied());
            let text = listing::print(chip, &[image], listing::Options::default());
            assert!(text.contains("JCAL") && text.contains("RET") && text.contains("EXIT"), "{chip}: {text}");
            // All of it is reached from its start: the call leads to where the routine is now.
            assert!(again.bytes() >= program.bytes(), "{chip}: {text}");
        }
    }
}
