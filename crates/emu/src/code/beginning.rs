//! Which registers of a warp that begins its code may ever be read before it writes them.
//!
//! Blocks take the warps of those that have ended, registers and all. Of a short kernel, most are written by all lanes before anything
//! branches: these need not be cleared.

use super::micro::{Class, Flow, Inst, Micro};
use super::program::Code;
use std::ops::Range;

/// The registers that must be zero where a warp with all its lanes begins with this instruction, if a fault ends its launch and nobody
/// looks at registers but the code: what it does is then what it would do with zeros in all of them.
pub(crate) fn registers_to_clear(code: &Code, entry: usize) -> Vec<Range<usize>> {
    let mut written = vec![false; code.named.end];
    let mut clear = vec![false; code.named.end];
    if !goes_to_the_end(code, entry, &mut written, &mut clear) {
        clear.iter_mut().zip(&written).for_each(|(clear, written)| *clear |= !written);
    }
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for reg in (0..clear.len()).filter(|&reg| clear[reg]) {
        match ranges.last_mut() {
            Some(last) if last.end == reg => last.end += 1,
            _ => ranges.push(reg..reg + 1),
        }
    }
    ranges
}

/// Walks from an instruction to the first that may send lanes elsewhere, and notes which registers are surely written on the way, and
/// which are read before. Whether all lanes have ended there.
fn goes_to_the_end(code: &Code, entry: usize, written: &mut [bool], read: &mut [bool]) -> bool {
    // What a lane that has ended has not written, others may still read.
    let lanes_talk = code.insts.iter().any(looks_at_other_lanes);
    let mut at = entry;
    while let Some(inst) = code.insts.get(at) {
        match inst.micro {
            _ if inst.sync => return false,
            Micro::Flow(Flow::Exit(_)) if inst.never_falls_through() => return true,
            Micro::Flow(Flow::Exit(_)) if !lanes_talk => {}
            Micro::Load { .. } | Micro::Store { .. } | Micro::LoadConst { .. } => {}
            _ if matches!(inst.micro.class(), Class::Pure | Class::CrossLane) => {}
            _ => return false,
        }
        for reg in registers(&inst.reads) {
            read[reg] |= !written[reg];
        }
        if inst.is_for_all() {
            registers(&inst.writes).for_each(|reg| written[reg] = true);
        }
        at = code.next(at);
    }
    false
}

fn registers(of: &[(u8, u8)]) -> impl Iterator<Item = usize> + '_ {
    of.iter().flat_map(|&(first, count)| (usize::from(first)..).take(count.into()))
}

/// Whether lanes may get registers of others by it, also of such as do not run.
fn looks_at_other_lanes(inst: &Inst) -> bool {
    match inst.micro {
        Micro::Shfl { .. } | Micro::Fswz { .. } | Micro::Tex(_) => true,
        Micro::Flow(flow) => matches!(flow, Flow::QuadOn | Flow::QuadPop),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::Program;
    use nvir_base::Chip;
    use nvir_isa as isa;

    /// The registers to clear in front of lines of GK110's code, of which none is at an address where a scheduling word belongs.
    fn cleared(lines: &[&str]) -> Vec<usize> {
        let mut words = vec![0x0800_0000_0000_0000];
        for line in lines {
            let pc = 8 * words.len() as u32;
            let m = isa::text::parse(Chip::Gk110, line, pc, &|_| Some(8)).expect("it is an instruction");
            words.push(isa::encode(Chip::Gk110, &m, pc).expect("it has a form"));
        }
        let program = Program::new(Chip::Gk110, &words);
        program.decoded().cleared(0).iter().cloned().flatten().collect()
    }

    #[test]
    fn what_is_read_or_written_in_part_is_cleared() {
        assert_eq!(cleared(&["IADD R2, R1, R4", "MOV R1, RZ", "EXIT"]), [1, 4]);
        assert_eq!(cleared(&["@P0 MOV R1, RZ", "ST.E [R2], R1", "EXIT"]), [1, 2, 3]);
        assert_eq!(cleared(&["MOV R1, RZ", "@P0 MOV R1, R2", "ST.E [R2], R1", "EXIT"]), [2, 3]);
        // Not at all, and before anything reads it.
        assert_eq!(cleared(&["MOV R5, RZ", "LD.E.64 R2, [R4]", "IADD R0, R2, R3", "EXIT"]), [4]);
        assert_eq!(cleared(&["@P0 MOV R1, RZ", "MOV R1, RZ", "IADD R0, R1, R1", "EXIT"]), []);
    }

    #[test]
    fn whatever_follows_a_branch_counts_as_read() {
        assert_eq!(cleared(&["MOV R1, RZ", "@P0 BRA 0x8", "MOV R3, R1", "EXIT"]), [0, 2, 3]);
        assert_eq!(cleared(&["MOV R1, RZ", "BAR.SYNC 0x0", "EXIT"]), [0]);
    }

    #[test]
    fn lanes_that_have_ended_keep_what_others_may_read() {
        let talk = "SHFL.IDX PT, R2, R1, 0x0, 0x1f";
        assert_eq!(cleared(&["@P0 EXIT", "MOV R1, RZ", "IADD R2, R1, R1", "EXIT"]), []);
        assert_eq!(cleared(&["@P0 EXIT", "MOV R1, RZ", talk, "EXIT"]), [0, 1, 2]);
        assert_eq!(cleared(&["MOV R1, RZ", talk, "@P0 EXIT", "EXIT"]), [0]);
    }
}
