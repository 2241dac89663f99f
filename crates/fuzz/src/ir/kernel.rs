//! Random IR through the whole compiler: what the machine code leaves in the emulator is what the evaluator says, whether the
//! program is compiled whole, or each function alone and then linked.

use super::{Words, evaluated, front_program, listing};
use crate::config::Config;
use crate::runner::Tally;
use nvir::emu::{self, Memory, Words as Cells};
use nvir::image::separate::{self, Unit};
use nvir::ir::{Aux, Function, Inst, Linkage, Op, Program, Space, Type};
use nvir::random::Random;
use nvir::{Compiler, Language, Shader, Source};
use nvir_reference::eval;

/// Where the program's output lies (`eval::constant`), and how much of it there may be.
const OUTPUT: u64 = 0x1000_0000;
const SIZE: u64 = 1 << 16;

/// Bytes of the constant bank that programs read.
const PARAMETERS: u32 = 512;

const STEPS: u64 = 1_000_000;

/// The case's program: with the evaluator's special registers as numbers, since it follows one thread of no launch.
fn program(case: u64) -> Program {
    let mut p = front_program(case);
    for inst in p.funcs.values_mut().flat_map(|f| f.insts.values_mut()) {
        if inst.op == Op::Rdsv
            && let Aux::Sv(sv) = inst.aux
            && let Some(d) = inst.dsts.first().copied()
        {
            *inst = Inst::new(Op::Mov, Type::U32).dst(d).src(eval::special(sv));
        }
    }
    p
}

pub(crate) fn input(case: u64) -> (Vec<u8>, &'static str) {
    listing(&program(case))
}

/// Why the compiled program does not leave what is wanted.
fn difference(p: &Program, want: &Words, config: &Config) -> Option<String> {
    let compiler = Compiler::new(config.chip).with_options(config.settings.options.clone());
    let image = match compiler.compile(p.clone()) {
        Ok(image) => image,
        Err(e) => return Some(e.to_string()),
    };
    left(&image, want)
}

/// A text for each function of a program, in which the others are declared only. None if some function cannot be called from elsewhere.
fn apart(p: &Program) -> Option<Vec<String>> {
    let mut texts = Vec::new();
    for own in p.funcs.keys() {
        let mut text = String::from("program\n");
        for (id, f) in p.funcs.iter() {
            if id == own {
                text += &format!("{} {f}", if id == p.entry { "kernel" } else { "sub" });
            } else if id != p.entry {
                if nvir::ra::calling_convention::refuses(f).is_some() {
                    return None;
                }
                text += &format!("extern {}", Function { linkage: Linkage::Declared, ..f.clone() });
            }
        }
        texts.push(text);
    }
    Some(texts)
}

/// The same for a program whose functions are compiled separately.
fn linked_difference(texts: &[String], want: &Words, config: &Config) -> Option<String> {
    let compiler = Compiler::new(config.chip).with_options(config.settings.options.clone());
    let mut units = Vec::new();
    for (n, text) in texts.iter().enumerate() {
        let source = Source { language: Language::Ir, text, entry: None, name: "unit.ir" };
        let unit = match compiler.unit(&source, &mut Default::default()) {
            Ok(unit) => unit.write(),
            Err(e) => return Some(format!("{e}\n{text}")),
        };
        match Unit::read(&unit) {
            Ok(unit) => units.push((format!("{n}"), unit)),
            Err(e) => return Some(format!("{e}\n{text}")),
        }
    }
    match separate::link(&units) {
        Ok(linked) => linked.kernels.iter().find_map(|k| {
            let image = Shader::assembled(linked.chip, k.kernel.clone());
            left(&image, want).map(|why| format!("{why}\n{}", linked.table()))
        }),
        Err(e) => Some(e.to_string()),
    }
}

/// Why a program does not leave what is wanted.
fn left(image: &Shader, want: &Words) -> Option<String> {
    let mut memory = Memory::new();
    memory.insert(OUTPUT, SIZE, Cells::zeroed((SIZE / 4) as usize)).ok()?;
    let code = emu::Program::new(image.chip, &image.code);
    let mut launch = emu::Launch::new(&code);
    launch.block = [1, 1, 1];
    launch.gprs = image.gprs;
    launch.local_bytes = image.local_bytes;
    launch.shared_bytes = image.shared_bytes;
    for at in (0..PARAMETERS).step_by(4) {
        launch.set_const_u32(0, at as usize, eval::constant(0, at));
    }
    let mut options = emu::Options { step_limit: 1 << 22, ..Default::default() };
    if let Err(fault) = emu::run(&launch, &mut memory, &mut options) {
        return Some(fault.to_string());
    }
    let global = want.iter().filter(|w| w.0.0 == Space::Global);
    for &((_, at), want) in global {
        let got = match memory.word(at) {
            Ok(got) => got,
            Err(e) => return Some(e.to_string()),
        };
        let nan = |x: u32| f32::from_bits(x).is_nan();
        if got != want && !(nan(got) && nan(want)) {
            return Some(format!("{at:#x}: {got:#x}, the evaluator says {want:#x}"));
        }
    }
    None
}

pub(crate) fn case(case: u64, tally: &mut Tally) -> Result<(), String> {
    let p = program(case);
    let mut r = Random::of(0x6b65_726e, case);
    let want = evaluated(&p, STEPS)?;
    for config in Config::of_case(&mut r) {
        if let Some(why) = difference(&p, &want, &config) {
            let pass = (0..400).find(|&n| {
                let mut limited = config.clone();
                limited.settings.options.debug.bisect_limit = Some(n);
                difference(&p, &want, &limited).is_some()
            });
            return Err(format!("{config}: {why}\nfirst wrong with --bisect-limit {pass:?}\n{p}"));
        }
    }
    if p.funcs.len() > 1
        && let Some(texts) = apart(&p)
    {
        // By the convention a callee may use more registers than a kernel is limited to: such files are not linked.
        let linkable = |s: &Config| {
            s.settings.options.max_gprs.is_none_or(|n| n >= nvir::ra::calling_convention::CALLEES)
        };
        for config in Config::of_case(&mut r).into_iter().filter(linkable) {
            if let Some(why) = linked_difference(&texts, &want, &config) {
                return Err(format!("linked, {config}: {why}\n{p}"));
            }
            tally.count("linked");
        }
    }
    tally.count("compared");
    Ok(())
}
