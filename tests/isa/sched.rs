//! The checker of issue control ([`nvir::asm::check`]): what it finds in code that NVIDIA's compiler made, in such code
//! with one count too small or one pair too many, and in what nvir makes.

use nvir::asm::check::{self, Rule, Schedule, Totals, Violation};
use nvir::diag::Fault;
use nvir::image::cubin::Cubin;
use nvir::image::listing;
use nvir::isa::sched_word::{self, Issue, SLOTS};
use nvir::isa::{MInst, Op, Operand, Reg, latency};
use nvir::{Chip, Compiler, Language, OptLevel, Options, Source};
use rayon::prelude::*;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Kernels of our own as ptxas made them.
const VECTORS: &str = include_str!("../data/sched/sm35.txt");

struct Kernel {
    name: String,
    words: Vec<u64>,
    totals: Totals,
    /// Places between groups inside blocks, and how many of them have exactly the count that the rules ask for.
    places: usize,
    exact: usize,
}

fn kernels() -> Vec<Kernel> {
    let mut all: Vec<Kernel> = Vec::new();
    for line in VECTORS.lines().filter(|l| !l.starts_with('#')) {
        if let Some(head) = line.strip_prefix("kernel ") {
            let (name, rest) = head.split_once(' ').expect("a name");
            let n: Vec<u64> = rest.split(' ').map(|n| n.parse().expect("a number")).collect();
            let totals =
                Totals { instructions: n[0] as usize, pairs: n[1] as usize, counts: n[2], cycles: n[3] };
            let (places, exact) = (n[4] as usize, n[5] as usize);
            all.push(Kernel { name: name.into(), words: Vec::new(), totals, places, exact });
        } else {
            let words = line.split(' ').map(|w| u64::from_str_radix(w, 16).expect("a word"));
            all.last_mut().expect("a kernel line first").words.extend(words);
        }
    }
    all
}

fn read(words: &[u64]) -> Schedule {
    Schedule::read(Chip::Gk110, words).expect("code of GK110")
}

/// Violations, without advice.
fn violations(s: &Schedule) -> Vec<Violation> {
    let mut all = s.violations();
    all.retain(|v| !v.rule.is_advice());
    all
}

/// Whether the count at a place is what the rules ask for, for all places inside blocks but the first in a kernel.
fn exact(s: &Schedule) -> (usize, usize) {
    let places = s.waits().into_iter().skip(1).filter_map(|w| Some((w.count, w.want?)));
    places.fold((0, 0), |(n, exact), (count, want)| (n + 1, exact + usize::from(count == want)))
}

#[test]
fn nothing_is_found_in_what_ptxas_made_and_sums_are_those_of_another_implementation() {
    let mut wrong = String::new();
    for k in kernels() {
        let s = read(&k.words);
        for v in violations(&s) {
            let _ = writeln!(wrong, "{}: {:?} {}", k.name, v.rule, v.describe(&s));
        }
        if s.totals() != k.totals {
            let _ = writeln!(wrong, "{}: {:?}, not {:?}", k.name, s.totals(), k.totals);
        }
        if exact(&s) != (k.places, k.exact) {
            let _ = writeln!(wrong, "{}: {:?} exact, not {:?}", k.name, exact(&s), (k.places, k.exact));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn the_rules_ask_for_what_ptxas_wrote_in_96_of_100_places() {
    let (places, exact) =
        kernels().iter().map(|k| exact(&read(&k.words))).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    assert!(exact * 100 >= places * 96, "{exact} of {places}");
}

/// The words of a kernel with the control of one instruction replaced.
fn with(words: &[u64], s: &Schedule, n: usize, issue: Issue) -> Vec<u64> {
    let mut words = words.to_vec();
    let (group, slot) = (s.code[n].pc as usize / 64 * 8, s.code[n].slot() as usize - 1);
    let mut control = sched_word::decode(Chip::Gk110, words[group]).expect("a scheduling word");
    assert_eq!(control.len(), SLOTS);
    control[slot] = issue;
    words[group] = sched_word::encode(Chip::Gk110, control).expect("GK110 has them");
    words
}

/// Mutants by kind: how many there are and how many are found; and those that are not.
#[derive(Default)]
struct Found {
    kinds: std::collections::BTreeMap<String, (usize, usize)>,
    missed: String,
}

impl Found {
    fn add(&mut self, kind: &str, k: &Kernel, s: &Schedule, n: usize, issue: Issue, rules: &[Rule]) {
        let mutant = read(&with(&k.words, s, n, issue));
        let found = violations(&mutant).iter().any(|v| rules.contains(&v.rule));
        let count = self.kinds.entry(kind.to_string()).or_default();
        *count = (count.0 + 1, count.1 + usize::from(found));
        if !found {
            let text = nvir::isa::text::print(Chip::Gk110, &s.code[n].inst);
            let _ = writeln!(self.missed, "{kind}: {} {:04x} {text}", k.name, s.code[n].pc);
        }
    }

    /// At least so many of a hundred of each kind, of so many mutants.
    fn check(&self, least: usize, mutants: usize) {
        let (all, found) = self.kinds.values().fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        eprintln!("{found} of {all} mutants found: {:?}", self.kinds);
        assert!(all >= mutants, "only {all} mutants: {:?}", self.kinds);
        assert!(found * 100 >= all * 95, "{found} of {all}\n{}", self.missed);
        for (kind, (all, found)) in &self.kinds {
            assert!(found * 100 >= all * least, "{kind}: {found} of {all}\n{}", self.missed);
        }
    }
}

#[test]
fn a_count_that_is_one_too_small_is_found() {
    // What a count waits for is not written down, but these are seldom anything but a latency.
    let early = [Rule::Read, Rule::Overwrite, Rule::Held];
    let mut f = Found::default();
    for k in kernels() {
        let s = read(&k.words);
        for (n, i) in s.code.iter().enumerate() {
            let inside = n + 1 < s.code.len() && !s.code[n + 1].label && !latency::transfers(&i.inst);
            let count = s.cycles_of(n);
            if inside && i.inst.op != Op::Texdepbar && [9, 10, 13, 24].contains(&count) {
                f.add(&format!("{count:02} to {:02}", count - 1), &k, &s, n, Issue::after(count - 1), &early);
            }
            let leaves =
                matches!(i.inst.op, Op::Exit | Op::Ret) || i.inst.op == Op::Bra && i.inst.guard.is_true();
            if leaves && !i.is_dual() {
                f.add("end of a block", &k, &s, n, Issue::after(14), &[Rule::BlockEnd]);
            }
        }
    }
    f.check(50, 1000);
}

/// The unit of an instruction as far as pairs go, written down again: none two of which issue together.
fn unit(op: Op) -> Option<&'static str> {
    use Op::*;
    Some(match op {
        Imad | Imul | Imul32i | Iscadd | Shf | Shl | Shr | Bfe | Bfi | I2f | F2f | F2i | I2i | Mufu | Rro
        | Ldc => "slow",
        Ld | St | Lds | Sts | Ldl | Stl | Atom | Red | Shfl => "memory",
        Isetp | Fsetp | Psetp | Sel | Vote => "predicate",
        _ => return None,
    })
}

#[test]
fn a_pair_that_must_not_be_is_found() {
    use Rule::*;
    let mut f = Found::default();
    for k in kernels() {
        let s = read(&k.words);
        for (n, pair) in s.code.windows(2).enumerate() {
            let (a, b) = (&pair[0], &pair[1]);
            if a.is_dual() {
                continue;
            }
            let mut add = |kind: &str, rule| f.add(kind, &k, &s, n, Issue::DUAL, &[rule]);
            if a.slot() == 7 {
                add("last slot", PairSlot);
            }
            if b.label {
                add("label", PairLabel);
            }
            if b.is_dual() || n > 0 && s.code[n - 1].is_dual() {
                add("three", PairThree);
            }
            if unit(a.inst.op).is_some() && unit(a.inst.op) == unit(b.inst.op) {
                add("units", PairUnits);
            }
            if matches!(
                a.inst.op,
                Op::Dadd | Op::Dmul | Op::Dfma | Op::Bar | Op::Bra | Op::Exit | Op::Ssy | Op::Tex
            ) {
                add("never first", PairUnits);
            }
            let result = match a.inst.operands.first() {
                Some(Operand::Reg { reg, .. }) if *reg != Reg::Z => Some(reg),
                _ => None,
            };
            let simple = |m: &MInst| {
                matches!(m.op, Op::Iadd | Op::Fadd | Op::Ffma | Op::Fmul | Op::Lop | Op::Imad | Op::Mov)
            };
            let reads = |r: &Reg| {
                b.inst.operands[1..].iter().any(|o| matches!(o, Operand::Reg { reg, .. } if reg == r))
            };
            if simple(&a.inst) && simple(&b.inst) && result.is_some_and(reads) {
                add("dependence", PairReads);
            }
            let constant = |m: &MInst| {
                m.operands.iter().find_map(|o| match *o {
                    Operand::Const { bank, offset, .. } => Some((bank, offset / 16)),
                    _ => None,
                })
            };
            if matches!((constant(&a.inst), constant(&b.inst)), (Some(x), Some(y)) if x != y) {
                add("constants", PairConstants);
            }
        }
        let last = s.code.len() - 1;
        f.add("the last", &k, &s, last, Issue::DUAL, &[PairSlot]);
    }
    f.check(100, 1000);
}

/// The cubins that NVIDIA's compiler made, which are not part of the project.
fn cubins() -> Option<Vec<PathBuf>> {
    let folder = std::env::var_os("NVIR_CORPUS").map(PathBuf::from);
    let folder =
        folder.unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/corpus")));
    let mut found = Vec::new();
    let cubin = |f: &Path| nvir::input::ends_in(f, &["cubin"]);
    nvir::input::walk(&folder.join("ptxas"), &cubin, &mut found).ok()?;
    (!found.is_empty()).then_some(found)
}

#[test]
fn nothing_is_found_in_the_cubins_of_the_corpus() {
    let Some(files) = cubins() else {
        return eprintln!("SKIPPED: no cubins: NVIR_CORPUS names the folder with ptxas/");
    };
    let (mut wrong, mut instructions, mut places, mut right) = (String::new(), 0, 0, 0);
    for file in files {
        let cubin = Cubin::read(&std::fs::read(&file).expect("it can be read")).expect("a cubin");
        for k in cubin.kernels {
            let s = Schedule::read(cubin.chip, &k.code).expect("Kepler's code");
            instructions += s.code.len();
            let (n, exact) = exact(&s);
            (places, right) = (places + n, right + exact);
            for v in violations(&s) {
                let _ = writeln!(wrong, "{}: {}: {:?} {}", file.display(), k.name, v.rule, v.describe(&s));
            }
        }
    }
    eprintln!("{instructions} instructions, {right} of {places} counts as asked for");
    assert!(wrong.is_empty(), "{wrong}");
    assert!(right * 100 >= places * 96, "{right} of {places} counts as asked for");
}

#[test]
fn what_is_no_code_with_issue_control_is_refused_by_name() {
    let fails = |chip, words: &[u64]| Schedule::read(chip, words).map(|_| ()).map_err(|e| e.to_string());
    assert!(fails(Chip::Gf100, &[]).is_err_and(|e| e.contains("gf100 has no scheduling words")));
    let exit = 0x18000000001c003c;
    assert!(fails(Chip::Gk110, &[exit]).is_err_and(|e| e.contains("at 0x0000 is not a scheduling word")));
    let control = 0x08000000000000bc;
    let mut words = (1..64).map(|n| u64::MAX << n);
    let bad = words.find(|&w| nvir::isa::decode(Chip::Gk110, w, 8).is_none()).expect("it means nothing");
    assert!(
        fails(Chip::Gk110, &[control, bad])
            .is_err_and(|e| e.contains("at 0x0008 is not an instruction of gk110"))
    );
    assert_eq!(fails(Chip::Gk110, &[control, exit]), Ok(()));
    assert_eq!(fails(Chip::Gk110, &[]), Ok(()));
}

/// The same kernel on both chips that have issue control: the bytes are the same, at other bits of the word.
#[test]
fn gk104_is_checked_as_gk110_is() {
    let text = ".kernel k\n.sched 0x20 0x04 0x20 0x2f 0x20 0x20 0x20\nMOV R1, R2;\nMOV R3, R4;\nIADD R5, R1, R3;\nEXIT;\n";
    for chip in [Chip::Gk104, Chip::Gk110] {
        let code = &listing::assemble(text, chip, "k").expect("right").kernels[0].code;
        let s = Schedule::read(chip, code).expect("code");
        let found: Vec<(Rule, u32)> = violations(&s).iter().map(|v| (v.rule, v.short)).collect();
        // 1 cycle behind the first, 0 behind the second, which it is paired with.
        assert_eq!(found, [(Rule::PairReads, 0), (Rule::Read, 8), (Rule::Read, 9)], "{chip}");
        let shown = violations(&s)[1].describe(&s);
        assert_eq!(
            shown,
            "`IADD R5, R1, R3` at 0018 reads R1 8 cycles before `MOV R1, R2` at 0008 has written it"
        );
    }
}

/// Kernels and graphics stages of the project, on both chips with issue control, at levels that schedule differently, and
/// with so few registers that they spill.
#[test]
fn nothing_is_found_in_code_of_nvir() {
    let mut files = Vec::new();
    let source = |f: &Path| nvir::input::ends_in(f, &["tgsi", "nir"]);
    for folder in ["tgsi", "nir-fixtures"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        nvir::input::walk(&folder, &source, &mut files).expect("fixtures");
    }
    let ways = [(OptLevel::O0, None), (OptLevel::O1, None), (OptLevel::O3, None), (OptLevel::O3, Some(18))];
    let jobs: Vec<(&PathBuf, Chip)> =
        files.iter().flat_map(|f| [Chip::Gk104, Chip::Gk110].map(|chip| (f, chip))).collect();
    let check = |&(file, chip): &(&PathBuf, Chip)| {
        let data = nvir::input::read(file).expect("it can be read");
        let text = nvir::input::text(&data).expect("text");
        let source = Source { language: Language::of(file)?, text, entry: None, name: "fixture" };
        let mut wrong = String::new();
        let mut compiled = 0;
        for (opt_level, max_gprs) in ways {
            let options = Options { opt_level, max_gprs, ..Options::default() };
            // Some need options, or are meant to be refused: others look at those.
            let found = match Compiler::new(chip).with_options(options).compile(&source) {
                Ok(shader) => check::verify(chip, &shader.code),
                Err(e) if e.fault() == Fault::Defect => Err(e.to_string()),
                Err(_) => continue,
            };
            compiled += 1;
            if let Err(e) = found {
                let _ = writeln!(wrong, "{}, {chip}, {opt_level:?}, {max_gprs:?}: {e}", file.display());
            }
        }
        Some((compiled, wrong))
    };
    let found: Vec<(usize, String)> = jobs.par_iter().filter_map(check).collect();
    let compiled: usize = found.iter().map(|f| f.0).sum();
    assert!(compiled > 7 * files.len(), "only {compiled} of {} files were compiled", files.len());
    let wrong: String = found.into_iter().map(|f| f.1).collect();
    assert!(wrong.is_empty(), "{wrong}");
}
