//! Offsets at the edges of 2^32, in every width, against the definition of "inside" in 64 bits.

use super::{WAYS, only, settings};
use nvir::Chip;
use nvir::compiler::Sanitize;

/// Bytes of each memory.
const SIZE: u32 = 40;

/// Where accesses begin: around both ends of the memory, of the signed numbers and of 2^32.
fn edges() -> Vec<u32> {
    let around = |n: u32| (0..24).map(move |d: u32| n.wrapping_add(d).wrapping_sub(12));
    [0, SIZE, 1 << 24, 1 << 31, 0xffff_ff00].into_iter().flat_map(around).collect()
}

/// A kernel in IR: each of 32 threads loads a word of the offsets, and accesses `space` there, `plus` bytes further.
fn program(space: &str, ty: &str, registers: &str, align: u32, plus: i64) -> String {
    let sign = if plus < 0 { "-" } else { "+" };
    format!(
        "program shared {SIZE} private {SIZE}\nkernel main() {{\nb0:\n    rdsv u32 %r0 sv[ctaid.x]\n    shl u32 %r1 %r0 0x2\n    \
         ld u32 %r2 b0[%r1+0x0 align 4]\n    ld {ty} {registers} {space}[%r2{sign}{:#x} align {align}]\n    \
         st u32 # b1[%r1+0x0 align 4] %r3\n    exit\n}}\n",
        plus.abs()
    )
}

#[test]
fn what_is_told_is_what_is_outside() {
    let offsets = edges();
    for (ty, registers, bytes) in [
        ("u8", "%r3", 1),
        ("u16", "%r3", 2),
        ("u32", "%r3", 4),
        ("u64", "{%r3 %r4}", 8),
        ("b128", "{%r3 %r4 %r5 %r6}", 16),
    ] {
        for space in ["s", "l"] {
            for plus in [0i64, 8, -8, 0x7fff_fff0, -0x7fff_fff0] {
                // Aligned as the machine wants it, so that no access traps.
                let starts: Vec<u32> =
                    offsets.iter().map(|o| (o / bytes * bytes).wrapping_sub(plus as u32 % bytes)).collect();
                let text = program(space, ty, registers, bytes, plus);
                let list = starts.iter().map(|o| o.to_string()).collect::<Vec<_>>().join(", ");
                let toml = format!(
                    "[[tests]]\nname = \"t\"\ngrid = [{n}, 1, 1]\nblock = [1, 1, 1]\nssbo = {{ 0 = \"at\", 1 = \"out\" }}\n\
                     [tests.buffers.at]\ntype = \"u32\"\nlen = {n}\ninit = [{list}]\n[tests.buffers.out]\ntype = \"u32\"\nlen = {n}\n",
                    n = starts.len()
                );
                let outside = |o: &&u32| {
                    let at = u64::from(o.wrapping_add(plus as u32));
                    at + u64::from(bytes) > u64::from(SIZE)
                };
                let want = starts.iter().filter(outside).count() as u64;
                assert!(want > 0 && want < starts.len() as u64 || plus.abs() > 8, "{text}");
                for chip in Chip::ALL {
                    for way in WAYS {
                        let mut settings = settings(way, Sanitize::ALL);
                        settings.faults = u32::MAX;
                        let r = only("k.ir", &text, &toml, chip, &settings);
                        let told = r.stats.faults.iter().chain(&r.stats.notes);
                        let told: u64 = told.map(|n| n.times).sum();
                        assert_eq!(told, want, "{chip} {way:?} {:?}\n{text}", r.outcome);
                    }
                }
            }
        }
    }
}
