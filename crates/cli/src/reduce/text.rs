//! Texts of programs made smaller: lines that go, and lines that become simpler.
//!
//! What a line means is hardly looked at: a candidate that is no program is refused by the compiler, and the next one is tried.

use nvir::Language;
use std::collections::BTreeMap;

/// A text in lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Text {
    pub language: Language,
    pub lines: Vec<String>,
}

impl Text {
    pub(super) fn new(language: Language, text: &str) -> Text {
        // Comments and empty lines mean nothing.
        let comment = match language {
            Language::Tgsi => "#",
            Language::Nir => "//",
            Language::Ir => ";",
            // Lines are instructions, all of them.
            Language::SpirV => "\0",
        };
        let kept = text.lines().map(str::trim_end).filter(|l| {
            !(l.trim().is_empty() || l.trim_start().starts_with(comment) && language != Language::Tgsi)
        });
        Text { language, lines: kept.map(str::to_string).collect() }
    }

    pub(super) fn without(&self, gone: impl Fn(usize) -> bool) -> Text {
        let lines = self.lines.iter().enumerate().filter(|(n, _)| !gone(*n)).map(|(_, l)| l.clone());
        Text { language: self.language, lines: lines.collect() }
    }

    /// The program, and of TGSI what became of the numbers of its instructions, by which kernels are named.
    pub(super) fn program(&self) -> Option<(String, BTreeMap<u64, u64>)> {
        if self.language != Language::Tgsi {
            return Some((self.lines.join("\n") + "\n", BTreeMap::new()));
        }
        let number = |line: &str| line.trim_start().split_once(':').and_then(|(n, _)| n.parse::<u64>().ok());
        let new: BTreeMap<u64, u64> = self.lines.iter().filter_map(|l| number(l)).zip(0..).collect();
        let mut text = String::new();
        for line in &self.lines {
            let Some(old) = number(line) else {
                text += line;
                text.push('\n');
                continue;
            };
            let (_, rest) = line.split_once(':')?;
            // A label is the last word: `CAL :25`.
            let mut rest = rest.to_string();
            if let Some((before, label)) = rest.rsplit_once(':')
                && let Ok(target) = label.trim().parse::<u64>()
            {
                let op = before.trim();
                match new.get(&target) {
                    Some(n) => rest = format!("{before}:{n}"),
                    // Of an IF the nesting says where it goes.
                    None if !op.starts_with("CAL") => rest = before.to_string(),
                    None => return None,
                }
            }
            text += &format!("{:3}:{rest}\n", new[&old]);
        }
        Some((text, new))
    }

    /// Sets of lines that may go together: constructs with what is in them, and without.
    pub(super) fn constructs(&self) -> Vec<Vec<usize>> {
        let mut all = Vec::new();
        let mut open: Vec<Vec<usize>> = Vec::new();
        for (n, line) in self.lines.iter().enumerate() {
            let word = |l: &str| {
                l.trim_start()
                    .trim_start_matches(|c: char| c.is_ascii_digit() || c == ':' || c == ' ')
                    .to_string()
            };
            let text = word(line);
            let first = text.split([' ', '\t']).next().unwrap_or_default();
            let (opens, middle, closes) = match self.language {
                Language::Tgsi => (
                    matches!(first, "IF" | "UIF" | "BGNLOOP" | "BGNSUB" | "SWITCH"),
                    first == "ELSE",
                    matches!(first, "ENDIF" | "ENDLOOP" | "ENDSUB" | "ENDSWITCH"),
                ),
                _ => {
                    let t = line.trim();
                    (
                        t.ends_with('{') && !t.starts_with('}'),
                        t.starts_with('}') && t.ends_with('{'),
                        t == "}",
                    )
                }
            };
            if opens {
                open.push(vec![n]);
            } else if middle {
                if let Some(marks) = open.last_mut() {
                    marks.push(n);
                }
            } else if closes && let Some(mut marks) = open.pop() {
                marks.push(n);
                let (begin, end) = (marks[0], n);
                // The whole; each part; the marks alone.
                all.push((begin..=end).collect());
                for part in marks.windows(2) {
                    let others = (begin..=end).filter(|k| !(part[0] < *k && *k < part[1]));
                    all.push(others.collect());
                }
                if let &[_, middle, _] = &marks[..] {
                    all.push((middle..end).collect());
                }
                all.push(marks);
            }
        }
        // Large ones first.
        all.sort_by_key(|set| std::cmp::Reverse(set.len()));
        all
    }

    /// Simpler forms of a line: what it computes becomes a constant or a copy.
    pub(super) fn simpler(&self, n: usize) -> Vec<String> {
        let line = &self.lines[n];
        let forms = match self.language {
            Language::Nir => nir(line),
            Language::Ir => ir(line),
            Language::Tgsi => tgsi(line),
            Language::SpirV => Vec::new(),
        };
        forms.into_iter().filter(|f| f != line).collect()
    }
}

impl Text {
    /// Texts without an operation: what reads its result reads one of its sources.
    pub(super) fn substituted(&self, n: usize) -> Vec<Text> {
        let words: Vec<&str> = self.lines[n].split_whitespace().collect();
        let is_register = |w: &&str| {
            let digits = w.strip_prefix("ssa_").or(w.strip_prefix("%r")).or(w.strip_prefix('%'));
            digits.is_some_and(|d| !d.is_empty() && d.chars().all(|c| c.is_ascii_digit()))
        };
        let word = |w: &'_ &str| w.trim_end_matches(',').to_string();
        // Words and what to put in their place, all at once.
        let ways: Vec<Vec<(String, String)>> = match (self.language, &words[..]) {
            (Language::Tgsi, &[_, "MOV", dst, src]) => tgsi_copy(dst, src).into_iter().collect(),
            (Language::Ir, [_, _, dst, sources @ ..]) if is_register(dst) => {
                let registers = sources.iter().filter(|s| is_register(s)).map(word);
                let constant = sources.first().filter(|s| words[0] == "mov" && s.starts_with("0x")).map(word);
                registers.chain(constant).map(|to| vec![(dst.to_string(), to)]).collect()
            }
            (Language::Nir, _) => {
                let Some(at) = words.iter().position(|w| *w == "=").filter(|&at| at > 0) else {
                    return Vec::new();
                };
                let sources = words[at + 1..].iter().map(word).filter(|w| is_register(&w.as_str()));
                sources.map(|to| vec![(words[at - 1].to_string(), to)]).collect()
            }
            _ => return Vec::new(),
        };
        let one = |way: &Vec<(String, String)>, from: usize| {
            let mut text = self.without(|k| k == n);
            for line in &mut text.lines[from..] {
                *line = way.iter().fold(line.clone(), |line, (from, to)| replaced(&line, from, to));
            }
            text
        };
        // Variables may be written elsewhere: what stands behind the copy first, then everything.
        ways.iter().flat_map(|way| [one(way, n), one(way, 0)]).collect()
    }
}

/// What a copy's components are copies of: `MOV TEMP[0].xy, SV[1].xzzz` makes `SV[1].zzzz` of `TEMP[0].yyyy`.
fn tgsi_copy(dst: &str, src: &str) -> Option<Vec<(String, String)>> {
    let (register, mask) = dst.strip_suffix(',')?.rsplit_once('.')?;
    let (source, swizzle) = src.rsplit_once('.')?;
    if src.starts_with('-') || register.contains("ADDR") || swizzle.len() != 4 {
        return None;
    }
    let component = |c: char| {
        let from = swizzle.get("xyzw".find(c)?..)?.chars().next()?.to_string();
        Some((format!("{register}.{}", c.to_string().repeat(4)), format!("{source}.{}", from.repeat(4))))
    };
    mask.chars().map(component).collect()
}

/// A line with a word in place of another, which is no part of a longer one.
fn replaced(line: &str, from: &str, to: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(from) {
        let end = at + from.len();
        let whole = !rest[end..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        text += &rest[..at];
        text += if whole { to } else { from };
        rest = &rest[end..];
    }
    text + rest
}

/// `vec1 32 ssa_5 = iadd ssa_3, ssa_4`, or `32x4 %5 = ...`, becomes a constant.
fn nir(line: &str) -> Vec<String> {
    let Some((left, right)) = line.split_once(" = ") else { return Vec::new() };
    if right.starts_with("load_const") || right.starts_with("phi") || right.contains("deref") {
        return Vec::new();
    }
    let words: Vec<&str> = left.split_whitespace().collect();
    let number = |text: &str| text.parse::<usize>().ok();
    let count = words.iter().find_map(|w| {
        w.strip_prefix("vec")
            .and_then(number)
            .or_else(|| w.split_once('x').and_then(|(b, n)| number(b).and(number(n))))
    });
    let bits = words.iter().find_map(|w| number(w.split('x').next().unwrap_or(w))).unwrap_or(32);
    let constant = |value: u32| {
        let one = match bits {
            1 => if value == 0 { "false" } else { "true" }.to_string(),
            bits => format!("0x{value:0width$x}", width = bits / 4),
        };
        format!("{left} = load_const ({})", vec![one; count.unwrap_or(1)].join(", "))
    };
    vec![constant(0), constant(1)]
}

/// `add u32 %r5 %r3 %r4` becomes `mov u32 %r5 0x0`, or a copy.
fn ir(line: &str) -> Vec<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let Some(at) = words.iter().position(|w| w.starts_with("%r")) else { return Vec::new() };
    let indent = &line[..line.len() - line.trim_start().len()];
    let plain = words[0].chars().all(|c| c.is_ascii_lowercase())
        && at >= 1
        && !matches!(words[0], "st" | "mov" | "jmp" | "br");
    if !plain {
        return Vec::new();
    }
    let dst = words[at];
    let mut forms = vec![format!("{indent}mov u32 {dst} 0x0"), format!("{indent}mov u32 {dst} 0x1")];
    let sources =
        words[at + 1..].iter().filter(|w| w.starts_with("%r") && w[2..].chars().all(|c| c.is_ascii_digit()));
    forms.extend(sources.map(|s| format!("{indent}mov u32 {dst} {s}")));
    forms
}

/// `12: UADD TEMP[0].x, TEMP[1].xxxx, IMM[0].yyyy` becomes `MOV` of each of its sources.
fn tgsi(line: &str) -> Vec<String> {
    let Some((number, rest)) = line.split_once(':') else { return Vec::new() };
    if number.trim().parse::<u64>().is_err() {
        return Vec::new();
    }
    let rest = rest.trim_start();
    let Some((op, operands)) = rest.split_once(' ') else { return Vec::new() };
    let operands: Vec<&str> = operands.split(", ").map(str::trim).collect();
    let temporary = operands
        .first()
        .is_some_and(|d| d.starts_with("TEMP") || d.starts_with("OUT") || d.starts_with("ADDR"));
    if !temporary || operands.len() < 2 || matches!(op, "MOV" | "IF" | "UIF") {
        return Vec::new();
    }
    let copy = |s: &&str| format!("{number}: MOV {}, {s}", operands[0]);
    let sources =
        operands[1..].iter().filter(|s| s.starts_with("TEMP") || s.starts_with("IMM") || s.starts_with("SV"));
    sources.map(copy).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_kernels_of_tgsi_follow_their_instructions() {
        let text = Text::new(
            Language::Tgsi,
            "COMP\n  0: BGNSUB\n  1: NOP\n  2: RET\n  3: ENDSUB\n  4: BGNSUB\n  5: CAL :0\n  6: ENDSUB\n",
        );
        let (less, new) = text.without(|n| n == 2).program().expect("a program");
        assert_eq!(less, "COMP\n  0: BGNSUB\n  1: RET\n  2: ENDSUB\n  3: BGNSUB\n  4: CAL :0\n  5: ENDSUB\n");
        assert_eq!(new.get(&4), Some(&3));
        // Without what it calls it is none.
        assert_eq!(text.without(|n| (1..5).contains(&n)).program(), None);
    }

    #[test]
    fn constructs_go_with_or_without_what_is_in_them() {
        let text = Text::new(
            Language::Tgsi,
            "  0: UIF TEMP[0].xxxx :2\n  1: NOP\n  2: ELSE :4\n  3: RET\n  4: ENDIF\n",
        );
        let sets = text.constructs();
        assert!(sets.contains(&vec![0, 1, 2, 3, 4]) && sets.contains(&vec![0, 2, 4]));
        assert!(sets.contains(&vec![0, 2, 3, 4]) && sets.contains(&vec![0, 1, 2, 4]));
        assert!(sets.contains(&vec![2, 3]), "{sets:?}");
    }

    #[test]
    fn copies_go() {
        let text = Text::new(
            Language::Tgsi,
            "  0: MOV TEMP[1].y, TEMP[10].zzzz\n  1: UADD TEMP[2].x, TEMP[1].yyyy, -TEMP[1].yyyy\n",
        );
        assert_eq!(text.substituted(0)[0].lines, ["  1: UADD TEMP[2].x, TEMP[10].zzzz, -TEMP[10].zzzz"]);
        let text = Text::new(Language::Ir, "    mov u32 %r1 %r5\n    add u32 %r10 %r1 %r11\n");
        assert_eq!(text.substituted(0)[0].lines, ["    add u32 %r10 %r5 %r11"]);
        let text =
            Text::new(Language::Nir, "\tvec1 32 ssa_1 = iadd ssa_2, ssa_3\n\tvec1 32 ssa_10 = mov ssa_1.x\n");
        let lines: Vec<String> = text.substituted(0).into_iter().step_by(2).flat_map(|t| t.lines).collect();
        assert_eq!(lines, ["\tvec1 32 ssa_10 = mov ssa_2.x", "\tvec1 32 ssa_10 = mov ssa_3.x"]);
        let pairs = tgsi_copy("TEMP[0].xy,", "SV[1].xzzz").expect("copies");
        assert_eq!(pairs[1], ("TEMP[0].yyyy".to_string(), "SV[1].zzzz".to_string()));
    }

    #[test]
    fn lines_become_simpler() {
        assert_eq!(
            nir("\tvec2 32 ssa_5 = iadd ssa_3, ssa_4")[0],
            "\tvec2 32 ssa_5 = load_const (0x00000000, 0x00000000)"
        );
        assert_eq!(
            nir("    32x2  %5 = iadd %3, %4")[1],
            "    32x2  %5 = load_const (0x00000001, 0x00000001)"
        );
        assert_eq!(nir("\tvec1 1 ssa_5 = ieq ssa_3, ssa_4")[0], "\tvec1 1 ssa_5 = load_const (false)");
        assert_eq!(ir("    add u32 %r5 %r3 0x4")[2], "    mov u32 %r5 %r3");
        assert_eq!(
            tgsi("  3: UADD TEMP[0].x, TEMP[1].xxxx, IMM[0].yyyy")[1],
            "  3: MOV TEMP[0].x, IMM[0].yyyy"
        );
        assert!(tgsi("  3: STORE BUFFER[0].x, TEMP[1].xxxx, IMM[0].yyyy").is_empty());
    }
}
