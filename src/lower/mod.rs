//! From what front-ends say to what the chip can do: IR in phase `Front` to IR in phase `Ssa`.
//!
//! A file for each thing that the machine lacks. Straight-line expansions go through [`expand::expand`]; big ones
//! are routines of the [`library`], linked in once and called. Routines may use whatever later steps lower, so
//! the order in [`arithmetic`] matters.

pub mod expand;
pub mod f64;
pub mod float;
pub mod int64;
pub mod int_div;
pub mod library;

use crate::ir::Program;

/// Lowers arithmetic:
///
/// 1. `int_div`, `f64`: divisions and roots become calls of the library, which is linked in;
/// 2. `float`: single-precision sequences;
/// 3. `int64`: 64-bit integer arithmetic becomes 32-bit arithmetic with carries.
pub fn arithmetic(p: &mut Program) {
    let mut library = library::Library::new(p);
    for (_, f) in p.funcs.iter_mut() {
        int_div::run(f, &mut library);
        // Before `f64`, since a double's ldexp may saturate.
        float::run(f);
        f64::run(f, &mut library);
    }
    library.link(p);
    for (_, f) in p.funcs.iter_mut() {
        int64::run(f);
    }
}

#[cfg(test)]
mod tests {
    use crate::ir::{parse, verify};

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
        super::arithmetic(&mut p);
        verify::program(&p, verify::Phase::Ssa).unwrap_or_else(|v| panic!("{v}\n{p}"));
    }
}
