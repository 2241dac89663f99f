//! The assembler of benches, here and of the crates with other engines.

use nvir_base::Chip;
use nvir_isa as isa;
use std::collections::HashMap;

/// Assembles GK110 code whose lines may be labels (`name:`); each scheduling word is zero.
pub(crate) fn assemble(source: &str) -> Vec<u64> {
    let mut labels = HashMap::new();
    let mut lines = Vec::new();
    let address = |n: usize| 8 * (n + n / 7 + 1) as u32;
    for line in source.lines().map(str::trim).filter(|l| !l.is_empty()) {
        match line.strip_suffix(':') {
            Some(label) => {
                labels.insert(label, address(lines.len()));
            }
            None => lines.push(line),
        }
    }
    let mut words: Vec<u64> = Vec::new();
    for line in lines {
        if words.len().is_multiple_of(8) {
            words.push(0x0800_0000_0000_0000);
        }
        let pc = words.len() as u32 * 8;
        let m = isa::text::parse(Chip::Gk110, line, pc, &|name| labels.get(name).copied())
            .unwrap_or_else(|e| panic!("{line}: {e}"));
        words.push(isa::encode(Chip::Gk110, &m, pc).unwrap_or_else(|e| panic!("{line}: {e:?}")));
    }
    words
}
