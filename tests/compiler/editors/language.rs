//! A language as an editor shows it, and its two files: a TextMate grammar and a Vim syntax.

use regex_lite::Regex;
use serde_json::{Value, json};
use std::fmt::Write;

/// What a piece of text is: TextMate's scope, and Vim's group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Kind {
    /// In Vim, the end of the group's name, too.
    pub name: &'static str,
    pub scope: &'static str,
    pub group: &'static str,
}

const fn kind(name: &'static str, scope: &'static str, group: &'static str) -> Kind {
    Kind { name, scope, group }
}

pub(crate) const COMMENT: Kind = kind("Comment", "comment.line", "Comment");
pub(crate) const KEYWORD: Kind = kind("Keyword", "keyword.control", "Statement");
pub(crate) const DIRECTIVE: Kind = kind("Directive", "keyword.other.directive", "PreProc");
pub(crate) const OPCODE: Kind = kind("Opcode", "support.function.opcode", "Function");
pub(crate) const INTRINSIC: Kind = kind("Intrinsic", "support.function.intrinsic", "Function");
pub(crate) const SUFFIX: Kind = kind("Suffix", "storage.modifier", "Special");
pub(crate) const TYPE: Kind = kind("Type", "storage.type", "Type");
pub(crate) const REGISTER: Kind = kind("Register", "variable.language.register", "Identifier");
pub(crate) const NAME: Kind = kind("Name", "variable.other", "Normal");
pub(crate) const LABEL: Kind = kind("Label", "entity.name.label", "Label");
pub(crate) const FUNCTION: Kind = kind("Function", "entity.name.function", "Function");
pub(crate) const CONSTANT: Kind = kind("Constant", "constant.language", "Constant");
pub(crate) const NUMBER: Kind = kind("Number", "constant.numeric", "Number");
pub(crate) const PUNCTUATION: Kind = kind("Punctuation", "punctuation", "Delimiter");

/// How pieces of a kind are found.
pub(crate) enum Found {
    /// Whole words; then what may follow each, as a pattern and spelled out.
    Words(Vec<String>, &'static str, &'static [&'static str]),
    /// A pattern as a regular expression, and in Vim's syntax.
    Pattern(String, String),
    /// From one pattern to another, over lines.
    Span(&'static str, &'static str),
}

pub(crate) struct Rule(pub Kind, pub Found);

pub(crate) struct Language {
    /// Its name in file names and in Vim.
    pub id: &'static str,
    pub title: &'static str,
    /// Without the point.
    pub endings: &'static [&'static str],
    pub any_case: bool,
    /// What begins a comment to the end of the line.
    pub comment: &'static str,
    /// The earliest match counts, of several the first rule.
    pub rules: Vec<Rule>,
}

pub(crate) fn words<S: ToString>(kind: Kind, list: impl IntoIterator<Item = S>) -> Rule {
    words_with(kind, list, "", &[""])
}

pub(crate) fn words_with<S: ToString>(
    kind: Kind,
    list: impl IntoIterator<Item = S>,
    tail: &'static str,
    tails: &'static [&'static str],
) -> Rule {
    let mut list: Vec<String> = list.into_iter().map(|s| s.to_string()).filter(|s| !s.is_empty()).collect();
    // Of words that begin alike the longer is tried first.
    list.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
    list.dedup();
    Rule(kind, Found::Words(list, tail, tails))
}

pub(crate) fn pattern(kind: Kind, regex: impl ToString, vim: impl ToString) -> Rule {
    Rule(kind, Found::Pattern(regex.to_string(), vim.to_string()))
}

impl Language {
    fn flags(&self) -> &'static str {
        if self.any_case { "(?i)" } else { "" }
    }

    /// The regular expression of a rule that lies in one line.
    fn regex(&self, rule: &Rule) -> Option<String> {
        match &rule.1 {
            Found::Words(list, tail, _) => {
                let list: Vec<String> = list.iter().map(|w| w.replace('.', "\\.")).collect();
                Some(format!("{}\\b(?:{}){tail}\\b", self.flags(), list.join("|")))
            }
            Found::Pattern(regex, _) => Some(format!("{}{regex}", self.flags())),
            Found::Span(..) => None,
        }
    }

    /// The grammar for VS Code and others.
    pub(crate) fn textmate(&self) -> String {
        let patterns: Vec<Value> = self
            .rules
            .iter()
            .map(|rule| {
                let name = format!("{}.{}", rule.0.scope, self.id);
                match &rule.1 {
                    Found::Span(begin, end) => json!({ "name": name, "begin": begin, "end": end }),
                    _ => json!({ "name": name, "match": self.regex(rule) }),
                }
            })
            .collect();
        let grammar = json!({
            "comment": "Written by `BLESS=1 cargo test --test compiler editors` from nvir's tables",
            "name": self.title,
            "scopeName": format!("source.{}", self.id),
            "fileTypes": self.endings,
            "patterns": patterns,
        });
        serde_json::to_string_pretty(&grammar).expect("it has no other keys than strings") + "\n"
    }

    /// The syntax for Vim. Its keywords come before its matches, and of matches the last counts.
    pub(crate) fn vim(&self) -> String {
        let id = self.id;
        let mut out = format!(
            "\" {}. Written by `BLESS=1 cargo test --test compiler editors` from nvir's tables.\n\
             if exists('b:current_syntax')\n  finish\nendif\nsyn case {}\nsyn iskeyword @,48-57,_\n",
            self.title,
            if self.any_case { "ignore" } else { "match" }
        );
        for rule in self.rules.iter().rev() {
            let group = format!("{id}{}", rule.0.name);
            match &rule.1 {
                Found::Words(list, _, tails) => {
                    let plain = |w: &&String| w.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
                    for word in list.iter().filter(|w| !plain(w)) {
                        let _ = writeln!(out, "syn match {group} /\\<{}\\>/", word.replace('.', "\\."));
                    }
                    let mut plain: Vec<&String> = list.iter().filter(plain).collect();
                    plain.sort();
                    for some in plain.chunks(12) {
                        let _ = write!(out, "syn keyword {group}");
                        for (word, tail) in some.iter().flat_map(|w| tails.iter().map(move |t| (w, t))) {
                            // These are options of the command, unless a part of them stands in brackets.
                            let _ = match word.as_str() {
                                "contained" | "display" | "transparent" | "extend" | "fold" | "conceal" => {
                                    write!(out, " {}[{}]", &word[..word.len() - 1], &word[word.len() - 1..])
                                }
                                _ => write!(out, " {word}{tail}"),
                            };
                        }
                        out.push('\n');
                    }
                }
                Found::Pattern(_, vim) => {
                    let _ = writeln!(out, "syn match {group} {vim}");
                }
                Found::Span(begin, end) => {
                    let (begin, end) = (begin.replace('/', "\\/"), end.replace('/', "\\/"));
                    let _ = writeln!(out, "syn region {group} start=/{begin}/ end=/{end}/");
                }
            }
        }
        let mut linked: Vec<Kind> = Vec::new();
        for rule in &self.rules {
            if !linked.contains(&rule.0) {
                linked.push(rule.0);
                let _ = writeln!(out, "hi def link {id}{} {}", rule.0.name, rule.0.group);
            }
        }
        let _ = writeln!(out, "let b:current_syntax = '{id}'");
        out
    }

    /// What editors share about it.
    pub(crate) fn configuration(&self) -> String {
        let mut comments = json!({ "lineComment": self.comment });
        if self.rules.iter().any(|r| matches!(r.1, Found::Span(..))) {
            comments["blockComment"] = json!(["/*", "*/"]);
        }
        let pairs = json!([["(", ")"], ["[", "]"], ["{", "}"]]);
        let all = json!({ "comments": comments, "brackets": pairs, "autoClosingPairs": pairs, "surroundingPairs": pairs });
        serde_json::to_string_pretty(&all).expect("it has no other keys than strings") + "\n"
    }
}

/// A grammar as an editor uses it: the earliest match in a line, of several the first, and spans over lines.
pub(crate) struct Tokeniser {
    rules: Vec<(String, Regex, Option<Regex>)>,
    /// The span that is open.
    open: Option<usize>,
}

impl Tokeniser {
    /// From the text of a grammar.
    pub(crate) fn new(grammar: &str) -> Tokeniser {
        let grammar: Value = serde_json::from_str(grammar).expect("a grammar is JSON");
        let regex = |rule: &Value, key: &str| {
            let text = rule.get(key)?.as_str().expect("a pattern is a string");
            Some(Regex::new(text).unwrap_or_else(|e| panic!("{text}: {e}")))
        };
        let rule = |r: &Value| {
            let name = r["name"].as_str().expect("a rule has a name").to_string();
            let first = regex(r, "match").or_else(|| regex(r, "begin")).expect("a rule has a pattern");
            assert_eq!(r.get("begin").is_some(), r.get("end").is_some(), "{name}");
            (name, first, regex(r, "end"))
        };
        let rules =
            grammar["patterns"].as_array().expect("a grammar has patterns").iter().map(rule).collect();
        Tokeniser { rules, open: None }
    }

    /// Scopes and texts of a line; what has no scope has an empty one.
    pub(crate) fn line<'t>(&mut self, line: &'t str) -> Vec<(String, &'t str)> {
        let mut out = Vec::new();
        let mut at = 0;
        // Matches that were found, and lie ahead.
        let mut ahead: Vec<Option<(usize, usize)>> = vec![Some((0, 0)); self.rules.len()];
        while at < line.len() {
            if let Some(rule) = self.open {
                let (name, _, end) = &self.rules[rule];
                let found = end.as_ref().and_then(|r| r.find_at(line, at));
                let to = found.map_or(line.len(), |m| m.end());
                self.open = if found.is_some() { None } else { Some(rule) };
                out.push((name.clone(), &line[at..to]));
                at = to;
                continue;
            }
            for (place, (_, first, _)) in ahead.iter_mut().zip(&self.rules) {
                if place.is_some_and(|(start, end)| start < at || end == 0) {
                    *place = first.find_at(line, at).map(|m| (m.start(), m.end())).filter(|(s, e)| e > s);
                }
            }
            let next = ahead.iter().enumerate().filter_map(|(n, p)| p.map(|(s, e)| (s, n, e))).min();
            let Some((start, n, end)) = next else {
                out.push((String::new(), &line[at..]));
                break;
            };
            if start > at {
                out.push((String::new(), &line[at..start]));
            }
            let (name, _, until) = &self.rules[n];
            out.push((name.clone(), &line[start..end]));
            self.open = until.as_ref().map(|_| n);
            at = end;
        }
        out
    }
}
