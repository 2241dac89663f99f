//! From what front-ends say to what the chip can do: IR in phase `Front` to IR in phase `Ssa`.
//!
//! A file for each thing that the machine lacks, and a `Step` that does it. Straight-line
//! expansions go through [`expand`](crate::ir::expand::expand); big ones are routines of the
//! [`library`], linked in once and called. A step may make what a later one lowers, so that their
//! order matters. One walk over a function tells which steps have anything to look for.

pub mod atomics;
pub mod blocks;
pub mod buffers;
pub mod f64;
mod f64_inline;
pub mod float;
pub(crate) mod flush;
pub(crate) mod int64;
pub(crate) mod int_div;
pub mod lanes;
pub mod legalise;
pub mod library;
pub mod split;
pub mod stage;
pub mod surfaces;
pub(crate) mod sysval;
pub mod texels;
pub mod textures;

use crate::analysis::known_bits::Launch;
use crate::chip::Chip;
use crate::driver::Abi;
use crate::ir::{Function, Inst, Op, Program, Space, Type};
use crate::options::Options;
use library::Library;

/// The steps, in their order.
#[derive(Clone, Copy)]
enum Step {
    /// Before system values become loads, of which less is known.
    Buffers,
    Lanes,
    /// What graphics stages have of their own.
    Stage,
    Sysval,
    Textures,
    Surfaces,
    /// After buffers have become global memory: takes apart what alignment does not allow.
    Split,
    /// Loops of operations on memory that the chip lacks.
    Atomics,
    /// Divisions become calls of the library.
    IntDiv,
    /// Single-precision sequences. Before `F64`, since a double's ldexp may saturate.
    Float,
    /// Divisions and roots become calls of the library, for operands in range behind code in line.
    F64,
    /// 64-bit integer arithmetic becomes 32-bit arithmetic with carries.
    Int64,
}

impl Step {
    const ALL: &'static [Step] = &[
        Step::Buffers,
        Step::Lanes,
        Step::Stage,
        Step::Sysval,
        Step::Textures,
        Step::Surfaces,
        Step::Split,
        Step::Atomics,
        Step::IntDiv,
        Step::Float,
        Step::F64,
        Step::Int64,
    ];
    #[cfg(test)]
    const MEMORY: &'static [Step] = &[Step::Split, Step::Atomics];
    #[cfg(test)]
    const ARITHMETIC: &'static [Step] = &[Step::IntDiv, Step::Float, Step::F64, Step::Int64];
}

/// A set of steps.
#[derive(Clone, Copy)]
struct Steps(u16);

impl Steps {
    const fn from_steps(steps: &[Step]) -> Steps {
        let (mut set, mut n) = (0, 0);
        while n < steps.len() {
            set |= 1 << steps[n] as u16;
            n += 1;
        }
        Steps(set)
    }

    fn has(self, step: Step) -> bool {
        self.0 >> step as u16 & 1 != 0
    }

    /// The steps that look at an operation, whatever its types and memory operand.
    const BY_OP: [Steps; Op::ALL.len()] = {
        let mut table = [Steps(0); Op::ALL.len()];
        let mut n = 0;
        while n < table.len() {
            table[n] = Steps::from_steps(match Op::ALL[n] {
                Op::BufSize => &[Step::Buffers],
                Op::Shfl => &[Step::Lanes],
                Op::Interp => &[Step::Stage],
                Op::Tex => &[Step::Textures],
                Op::Suld | Op::Sust | Op::Sured | Op::Suq => &[Step::Surfaces],
                Op::Atom => &[Step::Atomics],
                Op::Div | Op::Mod => &[Step::IntDiv, Step::Float],
                Op::Sqrt | Op::Sin | Op::Cos | Op::Ex2 | Op::Ldexp => &[Step::Float],
                _ => &[],
            });
            n += 1;
        }
        table
    };

    /// The steps that look at an operation because of a type.
    const BY_TYPE: [Steps; Type::ALL.len()] = {
        let mut table = [Steps(0); Type::ALL.len()];
        table[Type::F64 as usize] = Steps::from_steps(&[Step::F64]);
        table[Type::U64 as usize] = Steps::from_steps(&[Step::Int64]);
        table[Type::S64 as usize] = Steps::from_steps(&[Step::Int64]);
        table
    };

    /// Adds the steps that look at an instruction. They may still leave it as it is.
    fn add(&mut self, inst: &Inst) {
        self.0 |= Steps::BY_OP[inst.op as usize].0;
        self.0 |= Steps::BY_TYPE[inst.ty as usize].0 | Steps::BY_TYPE[inst.sty as usize].0;
        if let Some(m) = &inst.mem {
            let buffer = matches!(m.space, Space::Buffer | Space::Uniform);
            self.0 |= u16::from(buffer) << Step::Buffers as u16;
            self.0 |= u16::from(m.space.is_attribute()) << Step::Stage as u16;
            self.0 |= u16::from(split::concerns(inst, m)) << Step::Split as u16;
        } else if inst.op == Op::Rdsv {
            self.0 |= u16::from(sysval::concerns(inst)) << Step::Sysval as u16;
            self.0 |= u16::from(stage::concerns(inst)) << Step::Stage as u16;
        }
    }

    /// The steps for all instructions of a function.
    fn needed(f: &Function) -> Steps {
        let mut steps = Steps(0);
        for &b in &f.layout {
            f.blocks[b].body.iter().for_each(|&i| steps.add(&f.insts[i]));
        }
        steps
    }
}

/// What instruments functions around their lowering ([`crate::sanitizer`]).
pub(crate) trait Instrument {
    /// Adds code before any step hides what an access is.
    fn before(&mut self, f: &mut Function, library: &mut Library);
    /// Completes what it added, behind the last step.
    fn after(&mut self, f: &mut Function);
}

/// From phase `Front` to phase `Ssa`.
pub fn run(p: &mut Program, chip: Chip, abi: &Abi, options: &Options) {
    lower(p, chip, abi, options, Step::ALL, None);
}

/// [`run`], of a program that is instrumented.
pub(crate) fn run_instrumented(
    p: &mut Program,
    chip: Chip,
    abi: &Abi,
    options: &Options,
    instrument: &mut dyn Instrument,
) {
    lower(p, chip, abi, options, Step::ALL, Some(instrument));
}

fn lower(
    p: &mut Program,
    chip: Chip,
    abi: &Abi,
    options: &Options,
    steps: &[Step],
    mut instrument: Option<&mut dyn Instrument>,
) {
    let block_size = p.block_size;
    let interface = p.interface.clone();
    let fragment = p.stage() == crate::ir::Stage::Fragment;
    let launch = Launch { block_size: p.launched_block(), max_grid_x: Some(chip.max_grid()[0]) };
    let mut library = Library::new(p);
    for f in p.funcs.values_mut() {
        if let Some(instrument) = &mut instrument {
            instrument.before(f, &mut library);
        }
        let mut needed = Steps::needed(f);
        // Kernels of other sizes may call it.
        let anyone = f.linkage != crate::ir::Linkage::Internal;
        let (block_size, launch) =
            if anyone { (None, Launch { block_size: None, ..launch }) } else { (block_size, launch) };
        for &step in steps {
            if !needed.has(step) {
                continue;
            }
            let made = f.insts.len();
            match step {
                Step::Buffers => buffers::run(f, abi, options.pointer_align, &launch),
                Step::Lanes => lanes::run(f, chip),
                Step::Stage => {
                    if let Some(interface) = &interface {
                        stage::run(f, chip, abi, interface);
                    }
                    true
                }
                Step::Sysval => sysval::run(f, abi, block_size, options.work_dim),
                Step::Textures => textures::run(f, chip, abi, fragment),
                Step::Surfaces => surfaces::run(f, chip, abi, &mut library, options.opt_level.may_lengthen()),
                Step::Split => split::run(f),
                Step::Atomics => atomics::run(f, chip),
                Step::IntDiv => int_div::run(f, &mut library),
                Step::Float => float::run(f, float::Subnormals::of(&interface, options)),
                Step::F64 => {
                    if interface.is_none() && options.opt_level.may_lengthen() {
                        f64_inline::run(f, &mut library);
                    }
                    f64::run(f, &mut library)
                }
                Step::Int64 => int64::run(f, chip),
            };
            f.insts.values().skip(made).for_each(|inst| needed.add(inst));
        }
        if let Some(instrument) = &mut instrument {
            instrument.after(f);
        }
    }
    for mut f in library.routines() {
        int64::run(&mut f, chip);
        p.funcs.push(f);
    }
}

#[cfg(test)]
mod tests {
    use super::Step;
    use crate::chip::Chip;
    use crate::driver::Abi;
    use crate::ir::{Phase, parse};
    use crate::options::Options;
    use crate::verify;
    use pretty_assertions::assert_eq;

    /// The text of a program after memory accesses were lowered.
    fn memory(text: &str, chip: Chip) -> String {
        let mut p = match parse::program(text) {
            Ok(p) => p,
            Err(d) => panic!("{d:?}"),
        };
        verify::program(&p, Phase::Front).expect("valid before");
        super::lower(&mut p, chip, &Abi::nvc0(chip), &Options::default(), Step::MEMORY, None);
        // Arithmetic that this has made is lowered later.
        let mut whole = p.clone();
        super::lower(&mut whole, chip, &Abi::nvc0(chip), &Options::default(), Step::ARITHMETIC, None);
        verify::program(&whole, Phase::Ssa).unwrap_or_else(|v| panic!("{v}\n{whole}"));
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
        verify::program(&p, Phase::Front).expect("valid before");
        super::lower(
            &mut p,
            Chip::Gk104,
            &Abi::nvc0(Chip::Gk104),
            &Options::default(),
            Step::ARITHMETIC,
            None,
        );
        verify::program(&p, Phase::Ssa).unwrap_or_else(|v| panic!("{v}\n{p}"));
    }
}
