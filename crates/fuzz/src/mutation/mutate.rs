//! What is done to a seed: bytes, tokens, numbers, lines, splices, nests.

use nvir::random::Random;

/// Values at which something ends: widths, signs, limits of the chips, of files and of host types.
const EDGES: &[&str] = &[
    "0",
    "1",
    "2",
    "-1",
    "3",
    "15",
    "16",
    "17",
    "31",
    "32",
    "33",
    "63",
    "64",
    "65",
    "127",
    "255",
    "256",
    "1023",
    "1024",
    "1025",
    "4095",
    "32767",
    "32768",
    "49152",
    "49153",
    "65535",
    "65536",
    "1048576",
    "16777216",
    "2147483647",
    "2147483648",
    "-2147483648",
    "4294967280",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999999999999",
    "0x80000000",
    "0xffffffff",
    "0xffffffffffffffff",
    "0x7f800000",
    "1e38",
    "-0.0",
    "1e999",
    "nan",
];

/// What the mutator knows of a language.
pub(crate) struct Grammar {
    /// Tokens and pieces of lines that are put in place of others.
    pub words: &'static [&'static str],
    /// What opens and what closes a construct, as whole lines.
    pub nests: &'static [(&'static str, &'static str)],
    /// The deepest nest that is made.
    pub depth: usize,
}

/// Runs of letters and digits, and each other character by itself.
fn tokens(line: &str) -> Vec<&str> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut out = Vec::new();
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let len = if word(c) { rest.find(|c| !word(c)).unwrap_or(rest.len()) } else { c.len_utf8() };
        let (token, after) = rest.split_at(len);
        out.push(token);
        rest = after;
    }
    out
}

/// What sort of token it is, by its beginning and whether it is one.
fn kind(token: &str) -> (u32, bool) {
    let first = token.chars().next().unwrap_or(' ');
    let sort = match first {
        'A'..='Z' => 1,
        'a'..='z' => 2,
        '0'..='9' => 3,
        c => c.into(),
    };
    (sort, tokens(token).len() == 1)
}

/// A text with one to some changes.
pub(crate) fn text(seed: &str, other: &str, grammar: &Grammar, r: &mut Random) -> String {
    let mut lines: Vec<String> = seed.split_inclusive('\n').map(str::to_string).collect();
    let others: Vec<&str> = other.split_inclusive('\n').collect();
    let count = match r.below(8) {
        0 => 1 + r.below(12),
        1 | 2 => 2,
        _ => 1,
    };
    for _ in 0..count {
        if lines.is_empty() || others.is_empty() {
            break;
        }
        change(&mut lines, &others, grammar, r);
    }
    lines.concat()
}

fn change(lines: &mut Vec<String>, others: &[&str], grammar: &Grammar, r: &mut Random) {
    let at = r.below(lines.len());
    match r.below(24) {
        0 => lines.truncate(at),
        1 => {
            lines.remove(at);
        }
        2 => {
            let to = r.below(lines.len());
            lines.swap(at, to);
        }
        3 => {
            let line = lines.remove(at);
            let to = r.below(lines.len() + 1);
            lines.insert(to, line);
        }
        4 => {
            let line = lines[r.below(lines.len())].clone();
            lines.insert(at, line);
        }
        5 => {
            // Some lines of another text.
            let from = r.below(others.len());
            let n = 1 + r.below(4);
            let piece = others[from..].iter().take(n).map(|l| l.to_string());
            lines.splice(at..at, piece.collect::<Vec<_>>());
        }
        6 if r.one_in(4) => {
            // The head of this text, the tail of the other one.
            lines.truncate(at);
            lines.extend(others[r.below(others.len())..].iter().map(|l| l.to_string()));
        }
        7 => bytes_of_line(&mut lines[at], r),
        8 if !grammar.nests.is_empty() => nest(lines, at, grammar, r),
        9 if r.one_in(12) => {
            // A stretch many times over.
            let end = (at + 1 + r.below(4)).min(lines.len());
            let piece: Vec<String> = lines[at..end].to_vec();
            let times = 1 << r.below(10);
            lines.splice(at..at, std::iter::repeat_n(piece, times).flatten());
        }
        10..=14 => edit_number(&mut lines[at], r),
        _ => edit_token(&mut lines[at], others, grammar, r),
    }
}

/// A construct around some lines, now and then thousands deep.
fn nest(lines: &mut Vec<String>, at: usize, grammar: &Grammar, r: &mut Random) {
    let (open, close) = r.of_list(grammar.nests);
    let depth = if r.one_in(24) { 1 + r.below(grammar.depth) } else { 1 + r.below(3) };
    let end = (at + r.below(6)).min(lines.len());
    lines.splice(end..end, std::iter::repeat_n(format!("{close}\n"), depth));
    lines.splice(at..at, std::iter::repeat_n(format!("{open}\n"), depth));
}

fn bytes_of_line(line: &mut String, r: &mut Random) {
    let mut bytes = std::mem::take(line).into_bytes();
    let at = r.below(bytes.len());
    match r.below(4) {
        0 => bytes.truncate(at),
        1 => bytes.insert(at, r.word() as u8),
        2 if !bytes.is_empty() => bytes[at] ^= 1 << r.below(8),
        _ if !bytes.is_empty() => {
            bytes.remove(at);
        }
        _ => {}
    }
    *line = String::from_utf8_lossy(&bytes).into_owned();
}

fn edit_number(line: &mut String, r: &mut Random) {
    let mut all: Vec<String> = tokens(line).into_iter().map(str::to_string).collect();
    // `r5`, `ssa_7` and `TEMP` with its number apart count as numbers by the digits at their end.
    let ends: Vec<usize> =
        (0..all.len()).filter(|&k| all[k].ends_with(|c: char| c.is_ascii_digit())).collect();
    if ends.is_empty() {
        return;
    }
    let k = *r.of_list(&ends);
    let token = &all[k];
    let digits = token.len() - token.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let head = token[..token.len() - digits].to_string();
    let head = if head == "0x" { String::new() } else { head };
    let value: Option<u64> = token[token.len() - digits..].parse().ok();
    let new = match (value, r.below(4)) {
        (Some(v), 0) => v.wrapping_add(1).to_string(),
        (Some(v), 1) => v.saturating_sub(1).to_string(),
        _ => r.of_list(EDGES).to_string(),
    };
    all[k] = head + &new;
    *line = all.concat();
}

fn edit_token(line: &mut String, others: &[&str], grammar: &Grammar, r: &mut Random) {
    let mut all: Vec<&str> = tokens(line);
    if all.is_empty() {
        return;
    }
    let solid: Vec<usize> = (0..all.len()).filter(|&k| !all[k].trim().is_empty()).collect();
    let k = if solid.is_empty() { 0 } else { *r.of_list(&solid) };
    let theirs = tokens(others[r.below(others.len())]);
    match r.below(12) {
        0 => {
            all.remove(k);
        }
        1 => all.insert(k, all[k]),
        2 => {
            let to = r.below(all.len());
            all.swap(k, to);
        }
        3 => all[k] = all[r.below(all.len())],
        4 => all.insert(k, *r.of_list(grammar.words)),
        5 => all[k] = *r.of_list(grammar.words),
        // Another one of its kind, so that most of these parse.
        n => {
            let from = if n % 2 == 0 { &theirs[..] } else { grammar.words };
            for _ in 0..32.min(from.len()) {
                let new = *r.of_list(from);
                if kind(new) == kind(all[k]) && new != all[k] {
                    all[k] = new;
                    break;
                }
            }
        }
    }
    *line = all.concat();
}

/// Bytes with one to some changes.
pub(crate) fn bytes(seed: &[u8], other: &[u8], r: &mut Random) -> Vec<u8> {
    let mut out = seed.to_vec();
    for _ in 0..1 + r.below(6) {
        if out.is_empty() || other.is_empty() {
            break;
        }
        // Half of the changes hit the first 512 bytes or the last 2048, where headers and tables are.
        let at = match r.below(4) {
            0 => r.below(out.len().min(512)),
            1 => out.len() - 1 - r.below(out.len().min(2048)),
            _ => r.below(out.len()),
        };
        match r.below(12) {
            0 => out[at] = r.word() as u8,
            1 => out.truncate(at),
            2 => {
                out.remove(at);
            }
            3 => {
                let from = r.below(other.len());
                let n = (1 + r.below(64)).min(other.len() - from).min(out.len() - at);
                out[at..at + n].copy_from_slice(&other[from..from + n]);
            }
            4..=6 => {
                let at = at & !3;
                let edge: u64 = match r.below(8) {
                    0 => 0,
                    1 => u64::MAX,
                    2 => 1 << 31,
                    3 => 1 << 63,
                    4 => 0xffff_fff8,
                    5 => r.word(),
                    6 => r.below(256) as u64,
                    _ => out.len() as u64,
                };
                let n = [1, 2, 4, 8][r.below(4)].min(out.len() - at);
                out[at..at + n].copy_from_slice(&edge.to_le_bytes()[..n]);
            }
            _ => out[at] ^= 1 << r.below(8),
        }
    }
    out
}
