//! What envydis, the disassembler of the people who found out these machines' instructions, reads in our graphics programs is
//! what we mean: the operation by its name there, and every register, predicate and constant.
//!
//! Runs where `ENVYDIS` names the program. The programs are the project's own; `NVIR_GRAPHICS` names a folder of more.

use nvir::{Chip, Compiler, Source, isa};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Our names of operations that graphics stages use, and theirs.
const NAMES: [(&str, &str); 30] = [
    ("AL2P", "al2p"),
    ("ALD", "ld"),
    ("AST", "st"),
    ("EXIT", "exit"),
    ("FADD", "add sub subr"),
    ("FFMA", "fma"),
    ("FMNMX", "min max minmax"),
    ("FMUL", "mul"),
    ("FSETP", "set"),
    ("FSWZ", "quadop"),
    ("I2F", "cvt"),
    ("F2I", "cvt"),
    ("IADD", "add sub subr addpo"),
    ("IPA", "interp linterp"),
    ("ISETP", "set"),
    ("KIL", "discard"),
    ("LOP", "and or xor mov2"),
    ("MOV", "mov"),
    ("MOV32I", "mov"),
    ("MUFU", "cos sin ex2 lg2 rcp rsqrt rcp64h rsqrt64h"),
    ("OUT", "out emit restart"),
    ("PIXLD", "pixinfo"),
    ("S2R", "mov"),
    ("SEL", "selp"),
    ("TEX", "tex"),
    ("TLD", "texfetch tex"),
    ("TLD4", "texgather tex"),
    ("TXD", "texgrad"),
    ("TXQ", "texquery"),
    ("VILD", "ld"),
];

fn programs() -> Vec<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tgsi/graphics");
    let more = std::env::var_os("NVIR_GRAPHICS").map(PathBuf::from);
    let mut found = Vec::new();
    for folder in [Some(own), more].into_iter().flatten() {
        nvir::input::walk(&folder, &|f| nvir::input::ends_in(f, &["tgsi"]), &mut found).expect("readable");
    }
    found
}

/// What follows `marker` in a text, as numbers: `$r3` is 3 after `$r`.
fn numbers(text: &str, marker: &str) -> BTreeSet<u32> {
    let digits = |s: &str| s.chars().take_while(char::is_ascii_digit).collect::<String>();
    text.split(marker).skip(1).filter_map(|s| digits(s).parse().ok()).collect()
}

/// The words of a program that are instructions.
fn instructions(chip: Chip, code: &[u64]) -> Vec<u64> {
    let control = |n: usize| chip.has_sched_words() && n.is_multiple_of(8);
    code.iter().enumerate().filter(|(n, _)| !control(*n)).map(|(_, &w)| w).collect()
}

/// What envydis says of each word; nothing of those that it does not know.
fn read(program: &Path, chip: Chip, words: &[u64]) -> Vec<Option<String>> {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("envydis-{chip}.bin"));
    std::fs::write(&file, words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>()).expect("writable");
    let machine: &[&str] = match chip {
        Chip::Gf100 => &["-m", "gf100"],
        Chip::Gk104 => &["-m", "gf100", "-V", "gk104"],
        Chip::Gk110 => &["-m", "gk110"],
    };
    let ran = Command::new(program).args(["-n", "-i"]).args(machine).arg(&file).output().expect("it starts");
    let out = String::from_utf8_lossy(&ran.stdout).into_owned();
    let mut said = vec![None; words.len()];
    // ADDRESS: WORD WORD [mark of a target] text
    for line in out.lines() {
        let Some((address, rest)) = line.split_once(": ") else { continue };
        let Ok(address) = usize::from_str_radix(address, 16) else { continue };
        let is_word = |w: &&str| w.len() == 8 && w.bytes().all(|b| b.is_ascii_hexdigit());
        let words = rest.split_whitespace().skip_while(is_word);
        let text: Vec<&str> = words.skip_while(|w| matches!(*w, "B" | "C" | "BC" | "CB")).collect();
        let known = !rest.contains("unknown");
        if address % 8 == 0 && known && !text.is_empty() && address / 8 < said.len() {
            said[address / 8] = Some(text.join(" "));
        }
    }
    said
}

/// Why what envydis says is not what we mean.
fn difference(ours: &str, theirs: &str) -> Option<String> {
    let mut words = ours.split_whitespace();
    let guard = ours.starts_with('@').then(|| words.next()).flatten().unwrap_or("");
    let op = words.next().unwrap_or("");
    let op = op.split('.').next().unwrap_or("");
    if let Some((_, names)) = NAMES.iter().find(|(name, _)| *name == op) {
        let named = theirs.split_whitespace().any(|w| names.split(' ').any(|n| n == w));
        if !named {
            return Some(format!("no {names}"));
        }
    }
    let operands = words.collect::<Vec<_>>().join(" ");
    let operands = format!("{guard} {operands}").replace("SR_", "").replace("!P", "P").replace("@P", "P");
    let operands: String =
        operands.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { ' ' }).collect();
    let part = |letter: char| -> BTreeSet<u32> {
        let number = |w: &str| w.strip_prefix(letter).and_then(|n| n.parse().ok());
        operands.split_whitespace().filter_map(number).collect()
    };
    // A vector is named as a whole there, by its first register here.
    for (letter, marker) in [('R', "$r"), ('P', "$p")] {
        let missing: Vec<u32> = part(letter).difference(&numbers(theirs, marker)).copied().collect();
        if !missing.is_empty() {
            return Some(format!("no {letter}{missing:?}"));
        }
    }
    None
}

#[test]
fn envydis_reads_graphics_words_as_we_mean_them() {
    let Some(envydis) = std::env::var_os("ENVYDIS").map(PathBuf::from) else {
        eprintln!("SKIPPED: no envydis: ENVYDIS names the program");
        return;
    };
    for chip in Chip::ALL {
        let mut words: BTreeMap<u64, String> = BTreeMap::new();
        for file in programs() {
            let name = file.to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&file).expect("readable");
            let Ok(shader) = Compiler::new(chip).compile(&Source::tgsi(&text)) else { continue };
            words.extend(instructions(chip, &shader.code).into_iter().map(|w| (w, name.clone())));
        }
        let list: Vec<u64> = words.keys().copied().collect();
        let said = read(&envydis, chip, &list);
        let (mut wrong, mut unknown) = (Vec::new(), 0);
        for (&word, theirs) in list.iter().zip(said) {
            let m = isa::decode(chip, word, 0x10008).unwrap_or_else(|| panic!("{chip} {word:016x}"));
            let ours = isa::text::print(chip, &m);
            let Some(theirs) = theirs else {
                unknown += 1;
                continue;
            };
            // Targets of branches depend on where a word lies.
            if let Some(why) = difference(&ours, &theirs) {
                wrong.push(format!("{} {word:016x} `{ours}` `{theirs}`: {why}", words[&word]));
            }
        }
        assert!(
            wrong.is_empty(),
            "{chip}: {} of {}:\n{}",
            wrong.len(),
            list.len(),
            wrong[..wrong.len().min(20)].join("\n")
        );
        // After a word that it does not know it may miss the next. Of GK110 it does not know FSET.BF and DSET.BF with a constant, TLD4 with offsets, PIXLD.OFFSET; of the others surfaces.
        assert!(
            list.len() > 300 && 10 * unknown <= list.len(),
            "{chip}: {unknown} of {} unknown",
            list.len()
        );
    }
}
