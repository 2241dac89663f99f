//! From what front-ends say to what the chip can do: IR in phase `Front` to IR in phase `Ssa`.
//!
//! A file for each thing that the machine lacks. Straight-line expansions go through [`expand::expand`]; big ones
//! are routines of the [`library`], linked in once and called. Routines may use whatever later steps lower, so
//! the order in [`arithmetic`] matters.

pub mod atomics;
pub mod blocks;
pub mod buffers;
pub mod expand;
pub mod f64;
pub mod float;
pub mod int64;
pub mod int_div;
pub mod lanes;
pub mod legalise;
pub mod library;
pub mod split;
pub mod surfaces;
pub mod sysval;
pub mod textures;

use crate::analysis::known_bits::Launch;
use crate::chip::Chip;
use crate::compile::Options;
use crate::ir::Program;

/// From phase `Front` to phase `Ssa`.
pub fn run(p: &mut Program, chip: Chip, options: &Options) {
    let launch = Launch { block_size: p.block_size, max_grid_x: Some(chip.max_grid_x()) };
    for f in p.funcs.values_mut() {
        // Before system values become loads, of which less is known.
        buffers::run(f, &options.abi, options.pointer_align, &launch);
        lanes::run(f, chip);
        sysval::run(f, &options.abi, p.block_size);
    }
    textures::run(p, chip, &options.abi);
    surfaces::run(p, chip, &options.abi);
    memory(p, chip);
    arithmetic(p, chip);
}

/// Lowers arithmetic:
///
/// 1. `int_div`, `f64`: divisions and roots become calls of the library, which is linked in;
/// 2. `float`: single-precision sequences;
/// 3. `int64`: 64-bit integer arithmetic becomes 32-bit arithmetic with carries.
pub fn arithmetic(p: &mut Program, chip: Chip) {
    let mut library = library::Library::new(p);
    for (_, f) in p.funcs.iter_mut() {
        int_div::run(f, &mut library);
        // Before `f64`, since a double's ldexp may saturate.
        float::run(f);
        f64::run(f, &mut library);
    }
    library.link(p);
    for (_, f) in p.funcs.iter_mut() {
        int64::run(f, chip);
    }
}

/// Lowers memory accesses, after buffers have become global memory: `split` takes apart what alignment does not
/// allow, `atomics` makes loops of the operations that the chip lacks.
pub fn memory(p: &mut Program, chip: Chip) {
    for (_, f) in p.funcs.iter_mut() {
        split::run(f, MAX_CONST_BYTES);
        atomics::run(f, chip);
    }
}

/// The widest read of a constant bank: ptxas and Mesa never use more (facts of Kepler's LDC).
const MAX_CONST_BYTES: u32 = 8;

#[cfg(test)]
mod tests {
    use crate::chip::Chip;
    use crate::ir::{parse, verify};
    use pretty_assertions::assert_eq;

    /// The text of a program after memory accesses were lowered.
    fn memory(text: &str, chip: Chip) -> String {
        let mut p = match parse::program(text) {
            Ok(p) => p,
            Err(d) => panic!("{d:?}"),
        };
        verify::program(&p, verify::Phase::Front).expect("valid before");
        super::memory(&mut p, chip);
        verify::program(&p, verify::Phase::Ssa).unwrap_or_else(|v| panic!("{v}\n{p}"));
        p.to_string()
    }

    #[test]
    fn accesses_are_split_as_far_as_alignment_demands_and_no_further() {
        let loads = |align: &str| {
            let text = format!(
                "program\nkernel k() {{\nb0:\n rdsv u32 %r0 sv[tid.x]\n ld b128 {{%r1 %r2 %r3 %r4}} g[%r0+0x10{align}]\n exit\n}}"
            );
            let p = memory(&text, Chip::Gk110);
            p.lines().filter(|l| l.contains(" ld ")).map(|l| l.trim().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(loads(" align 16"), ["ld b128 {%r1 %r2 %r3 %r4} g[%r0+0x10 align 16]"]);
        assert_eq!(
            loads(" align 16+8"),
            ["ld u64 {%r1 %r2} g[%r0+0x10 align 16+8]", "ld u64 {%r3 %r4} g[%r0+0x18 align 16]"]
        );
        assert_eq!(loads(" align 4").len(), 4);
        assert_eq!(loads(" align 2").len(), 8);
        assert_eq!(loads("").len(), 16);
    }

    #[test]
    fn shared_and_missing_atomics_become_valid_loops() {
        for chip in Chip::ALL {
            for (op, ty, place, dst, data) in [
                ("add", "u32", "s[%r0+0x4 align 4]", "%r9", "%r0"),
                ("cas", "u64", "s[%r0+0x8 align 8]", "{%r9 %r10}", "{%r0 %r0} {%r0 %r0}"),
                ("fmin", "f32", "g[%r0+0x0 align 4]", "%r9", "%r0"),
            ] {
                for guard in ["", "@!%p1 "] {
                    let text = format!(
                        "program\nkernel k() {{\nb0:\n rdsv u32 %r0 sv[tid.x]\n set.lt pred u32 %p1 %r0 0x3\n if %p1 b1 b2 join b2\nb1:\n {guard}atom.{op} {ty} {dst} {place} {data}\n st u32 # g[%r0+0x0 align 4] %r9\n jump b2\nb2:\n exit\n}}"
                    );
                    let p = memory(&text, chip);
                    assert!(!p.contains(&format!("atom.{op}")), "{p}");
                    assert!(p.contains("loop exit"), "{p}");
                }
            }
        }
    }

    #[test]
    fn lowered_arithmetic_is_valid_and_has_no_64_bit_operations_left() {
        let mut text = String::from("program\nkernel k() {\nb0:\n    rdsv u32 %r0 sv[tid.x]\n");
        let mut n = 1;
        for op in ["add", "sub", "mul", "mulhi", "div", "mod", "min", "max", "and", "or", "xor", "mad"] {
            for ty in ["u64", "s64"] {
                let third = if op == "mad" { " {%r0 %r0}" } else { "" };
                text += &format!("    {op} {ty} {{%r{n} %r{}}} {{%r0 %r0}} {{%r0 %r0}}{third}\n", n + 1);
                n += 2;
            }
        }
        for op in ["div", "rcp", "sqrt", "rsq", "ldexp", "neg", "abs"] {
            let second = match op {
                "div" => " {%r0 %r0}",
                "ldexp" => " %r0",
                _ => "",
            };
            text += &format!("    {op} f64 {{%r{n} %r{}}} {{%r0 %r0}}{second}\n", n + 1);
            n += 2;
        }
        for line in [
            "shl u64 {D} {%r0 %r0} %r0",
            "shr s64 {D} {%r0 %r0} %r0",
            "shr u64 {D} {%r0 %r0} 0x21",
            "cvt s64 s8 {D} %r0",
            "cvt.sat s64 u64 {D} {%r0 %r0}",
            "cvt f64 u64 {D} {%r0 %r0}",
        ] {
            text += &format!("    {}\n", line.replace('D', &format!("%r{n} %r{}", n + 1)));
            n += 2;
        }
        for (i, cond) in ["lt", "eq", "le", "gt", "ne", "ge"].iter().enumerate() {
            text += &format!("    set.{cond} u32 s64 %r{} {{%r0 %r0}} {{%r0 %r0}}\n", n + i);
        }
        text += "    exit\n}\n";
        let mut p = match parse::program(&text) {
            Ok(p) => p,
            Err(d) => panic!("{d:?}"),
        };
        verify::program(&p, verify::Phase::Front).expect("valid before");
        super::arithmetic(&mut p, Chip::Gk104);
        verify::program(&p, verify::Phase::Ssa).unwrap_or_else(|v| panic!("{v}\n{p}"));
    }
}
