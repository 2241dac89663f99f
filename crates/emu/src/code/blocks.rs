//! Basic blocks: where they begin.
//!
//! A block begins at the first instruction of a segment, wherever a transfer of control can send lanes, now or later, and behind
//! everything that may change which lanes run or where ([`Inst::ends_block`](super::micro::Inst::ends_block)): at its **leader**.
//! Control can also come to other places, by a computed jump; it then goes on to the next leader as in any block.

use super::micro::Micro;
use super::program::Code;

/// Marks the leaders.
pub(super) fn mark_leaders(code: &mut Code) {
    let mut leaders: Vec<usize> = code.segment_starts().collect();
    let mut at = 0;
    while at < code.insts.len() {
        let inst = &code.insts[at];
        let next = at + (usize::from(inst.bytes) >> code.step()).max(1);
        if !matches!(inst.micro, Micro::Sched) {
            leaders.extend(inst.micro.target().and_then(|pc| code.index(pc)));
            if inst.ends_block() {
                leaders.push(next);
            }
        }
        at += 1;
    }
    for at in leaders {
        if let Some(inst) = code.insts.get_mut(at) {
            inst.leader = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Program;
    use nvir_base::Chip;
    use nvir_isa as isa;

    #[test]
    fn blocks_begin_at_targets_and_behind_transfers() {
        let lines = [
            "MOV R0, RZ",
            "SSY 0x38",
            "MOV R1, RZ",
            "@P0 BRA 0x30",
            "MOV R2, RZ",
            "NOP.S",
            "MOV R3, RZ",
            "BAR.SYNC 0x0",
            "EXIT",
        ];
        let encode = |(n, line): (usize, &&str)| {
            let m = isa::text::parse(Chip::Gf100, line, 8 * n as u32, &|_| None).expect(line);
            isa::encode(Chip::Gf100, &m, 8 * n as u32).expect(line)
        };
        let words: Vec<u64> = lines.iter().enumerate().map(encode).collect();
        let program = Program::new(Chip::Gf100, &words);
        let leaders: Vec<usize> = (0..lines.len()).filter(|&n| program.code.insts[n].leader).collect();
        // Behind SSY, BRA, NOP.S and BAR, and where SSY and BRA lead to.
        assert_eq!(leaders, [0, 2, 4, 6, 7, 8]);
    }
}
