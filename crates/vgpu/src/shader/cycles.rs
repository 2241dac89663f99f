//! How long a kernel's warps take, by the model of latencies that the compiler orders code by.

use super::KernelProfile;
use nvir_asm::check::Schedule;
use nvir_asm::issue;
use nvir_emu::{PcProfile, Profile, Program};
use nvir_isa::MInst;
use nvir_isa::effects::Touched;
use nvir_isa::fetch;
use std::collections::{BTreeMap, HashMap};

impl KernelProfile {
    /// [`estimated_cycles`]; none if launches are not profiled.
    pub fn cycles(&self) -> BTreeMap<u32, u64> {
        self.profile.as_ref().map_or(BTreeMap::new(), |p| estimated_cycles(&self.program, p))
    }
}

/// Estimated cycles of a program by code address, of all warps one after the other. A card runs several warps at once, so it takes
/// less: what one waits for, another one uses.
pub fn estimated_cycles(program: &Program, profile: &Profile) -> BTreeMap<u32, u64> {
    let gaps = gaps(program);
    let of = |(pc, p): (&u32, &PcProfile)| (*pc, cost(p, gaps.get(pc).copied().unwrap_or(1)));
    profile.by_pc.iter().map(of).collect()
}

/// Cycles of one instruction: every issue, and every further pass that its accesses take.
fn cost(p: &PcProfile, gap: u32) -> u64 {
    p.issues * u64::from(gap) + p.bank_conflicts + p.transactions.saturating_sub(p.issues)
}

/// Cycles from each instruction to the next one: as its scheduling word says, else by the model.
fn gaps(program: &Program) -> HashMap<u32, u32> {
    let chip = program.chip();
    let mut all = HashMap::new();
    for (start, words) in program.code() {
        if let Ok(s) = Schedule::read(chip, words) {
            all.extend((0..s.code.len()).map(|n| (start + s.code[n].pc, s.cycles_of(n))));
            continue;
        }
        let pcs = fetch::sweep(chip, words).map(|(at, _)| start + at);
        let code: Vec<(u32, &MInst)> = pcs.filter_map(|pc| Some((pc, program.instruction(pc)?))).collect();
        let mut touched = Touched::default();
        let places = issue::in_code_order(&code, &mut touched);
        let issues = issue::control(places.iter().copied(), &touched, code.len(), chip.has_sched_words());
        all.extend(code.iter().zip(issues).map(|(&(pc, _), i)| (pc, i.cycles())));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use nvir_asm::listing;
    use nvir_base::Chip;

    #[test]
    fn results_are_waited_for_and_passes_count() {
        let text = ".kernel k\nMOV R1, R2\nIADD R0, R1, 0x1\nEXIT\n";
        for (chip, first) in [(Chip::Gf100, 0), (Chip::Gk104, 8), (Chip::Gk110, 8)] {
            let code = listing::assemble(text, chip, "text").expect("right").kernels[0].code.clone();
            let gaps = gaps(&Program::new(chip, &code));
            assert_eq!(gaps.get(&first), Some(&9), "{chip}");
            assert_eq!(gaps.len(), 3, "{chip}");
        }
        let p = PcProfile { issues: 10, transactions: 12, bank_conflicts: 3, ..PcProfile::default() };
        assert_eq!(cost(&p, 9), 95);
    }
}
