//! Which tests are wanted: patterns, shards; and what tests of the protocols ask for.

use nvir_fixture::run::Outcome;
use std::path::PathBuf;
use std::str::FromStr;

/// Text with `*` and `?`.
#[derive(Clone, Debug)]
pub(super) struct Pattern(Vec<char>);

impl FromStr for Pattern {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Pattern, Self::Err> {
        Ok(Pattern(text.chars().collect()))
    }
}

impl Pattern {
    /// Whether the whole name is of this form. Goes back to the last star only, so the time is at most the product of lengths.
    pub(super) fn is(&self, name: &str) -> bool {
        let (pattern, name) = (&self.0, name.chars().collect::<Vec<_>>());
        let (mut p, mut n) = (0, 0);
        let mut star = None;
        while n < name.len() {
            match pattern.get(p) {
                Some('*') => {
                    star = Some((p, n));
                    p += 1;
                }
                Some(&c) if c == '?' || c == name[n] => {
                    p += 1;
                    n += 1;
                }
                _ => {
                    let Some((at, from)) = star else { return false };
                    star = Some((at, from + 1));
                    p = at + 1;
                    n = from + 1;
                }
            }
        }
        pattern[p..].iter().all(|&c| c == '*')
    }

    /// Whether a part of the name is of this form.
    pub(super) fn finds(&self, name: &str) -> bool {
        let anywhere = std::iter::once('*').chain(self.0.iter().copied()).chain(['*']).collect();
        Pattern(anywhere).is(name)
    }
}

/// A part of all tests: `index` from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shard {
    index: u64,
    total: u64,
}

impl FromStr for Shard {
    type Err = String;

    /// `2/4`: the second of four.
    fn from_str(text: &str) -> Result<Shard, String> {
        let numbers = text.split_once('/').and_then(|(k, n)| Some((k.parse::<u64>().ok()?, n.parse().ok()?)));
        match numbers {
            Some((k, n)) if 1 <= k && k <= n => Ok(Shard { index: k - 1, total: n }),
            _ => Err(format!("`{text}` is not a part such as 1/4, the first of four")),
        }
    }
}

impl Shard {
    /// What CI systems and runners of tests set: GitLab's variables count from 1, GoogleTest's from 0.
    pub(super) fn from_environment() -> Result<Option<Shard>, String> {
        Shard::from_variables(|name| std::env::var(name).ok().filter(|v| !v.is_empty()))
    }

    fn from_variables(get: impl Fn(&str) -> Option<String>) -> Result<Option<Shard>, String> {
        for (index, total, from) in
            [("TEST_SHARD_INDEX", "TEST_TOTAL_SHARDS", 0), ("CI_NODE_INDEX", "CI_NODE_TOTAL", 1)]
        {
            if let (Some(k), Some(n)) = (get(index), get(total)) {
                let wrong = || format!("{index}={k}, {total}={n}: no part of all tests");
                let (k, n) = k.parse::<u64>().ok().zip(n.parse::<u64>().ok()).ok_or_else(wrong)?;
                let index = k.checked_sub(from).filter(|&k| k < n).ok_or_else(wrong)?;
                return Ok(Some(Shard { index, total: n }));
            }
        }
        Ok(None)
    }

    /// Whether a test is in this part: by its name alone.
    pub(super) fn has(self, name: &str) -> bool {
        // FNV-1a; its low bits are good enough for a remainder after the halves are mixed.
        let hash = name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
        (hash ^ hash >> 32) % self.total == self.index
    }
}

/// Failures on request, by which runners of tests are tested.
///
/// `NVIR_TEST_SEED_FAILURE=TEXT`: tests with that in their name fail. `NVIR_TEST_SEED_FLAKE=TEXT=FILE`: the first of those
/// fails if the file is not there, and makes it, so that it passes next time.
#[derive(Default)]
pub(super) struct Seeded {
    failure: Option<String>,
    flake: Option<(String, PathBuf)>,
}

impl Seeded {
    pub(super) fn from_environment() -> Seeded {
        let var = |name| std::env::var(name).ok().filter(|v| !v.is_empty());
        let flake = var("NVIR_TEST_SEED_FLAKE");
        let flake =
            flake.and_then(|v| v.rsplit_once('=').map(|(text, file)| (text.to_string(), file.into())));
        Seeded { failure: var("NVIR_TEST_SEED_FAILURE"), flake }
    }

    pub(super) fn apply(&self, name: &str, outcome: &mut Outcome) {
        let fails = self.failure.as_ref().is_some_and(|text| name.contains(text));
        let flakes = self.flake.as_ref().is_some_and(|(text, file)| {
            name.contains(text) && std::fs::OpenOptions::new().write(true).create_new(true).open(file).is_ok()
        });
        if fails || flakes {
            *outcome = Outcome::Failed("a failure that the environment asks for".into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        Pattern::from_str(text).expect("any text is one")
    }

    #[test]
    fn stars_and_question_marks_stand_for_anything() {
        for (p, name, whole, part) in [
            ("abc", "abc", true, true),
            ("bc", "abcd", false, true),
            ("a*d", "abcd", true, true),
            ("a?d", "abcd", false, false),
            ("*", "", true, true),
            ("*b*b", "abab", true, true),
            ("a**?", "ab", true, true),
            ("x", "abc", false, false),
        ] {
            assert_eq!((pattern(p).is(name), pattern(p).finds(name)), (whole, part), "{p} {name}");
        }
    }

    #[test]
    fn shards_are_all_tests_once() {
        for name in ["a", "b/c gk110", "", "äö"] {
            let parts = (1..=7).filter(|k| Shard::from_str(&format!("{k}/7")).expect("a part").has(name));
            assert_eq!(parts.count(), 1, "{name}");
        }
        for bad in ["0/4", "5/4", "1", "a/b", "1/0", "-1/4"] {
            assert!(Shard::from_str(bad).is_err(), "{bad}");
        }
        let vars = |index: &'static str, total: &'static str, k: &'static str, n: &'static str| {
            Shard::from_variables(move |v| {
                (v == index).then_some(k).or((v == total).then_some(n)).map(str::to_string)
            })
        };
        assert_eq!(vars("CI_NODE_INDEX", "CI_NODE_TOTAL", "1", "4"), Ok(Some(Shard { index: 0, total: 4 })));
        assert_eq!(
            vars("TEST_SHARD_INDEX", "TEST_TOTAL_SHARDS", "3", "4"),
            Ok(Some(Shard { index: 3, total: 4 }))
        );
        assert!(vars("CI_NODE_INDEX", "CI_NODE_TOTAL", "0", "4").is_err());
        assert!(vars("TEST_SHARD_INDEX", "TEST_TOTAL_SHARDS", "4", "4").is_err());
        assert_eq!(vars("CI_NODE_INDEX", "OTHER", "1", "4"), Ok(None));
    }
}
