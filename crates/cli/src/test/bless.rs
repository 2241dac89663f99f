//! `--bless`: the values that tests leave, written into their fixture.
//!
//! Only `expect` of buffers and images changes, in the form that it has (a list stays a list, with its nulls; `hex` stays
//! `hex`), and nothing else of the file. A test that stops with a fault, or whose chips disagree, is left as it is.

use super::{Case, Ran};
use crate::out::errln;
use crate::{common, output};
use nvir_fixture::env::Env;
use nvir_fixture::format::{Data, Item, Test};
use nvir_fixture::picture;
use nvir_fixture::run::{Failure, Outcome};
use nvir_fixture::values::Elem;
use nvir_fixture::{Fixture, place};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

/// Where in a fixture something stands: the test's place, `buffers` or `images`, the name.
type At = (usize, &'static str, String);

/// What tests left.
#[derive(Default)]
pub(super) struct Values {
    /// By the case's name, then by place.
    taken: BTreeMap<String, BTreeMap<(&'static str, String), Vec<u8>>>,
}

impl Values {
    /// Takes what a test left in everything that it compares.
    pub(super) fn take(&mut self, test: &Test, env: &Env, case: &str) {
        let mut all = BTreeMap::new();
        for name in test.buffers.iter().filter(|(_, b)| b.expect.is_some()).map(|(name, _)| name) {
            if let Ok(bytes) = env.buffer(name).and_then(|b| env.read(&b)) {
                all.insert(("buffers", name.clone()), bytes);
            }
        }
        for name in test.images.iter().filter(|(_, i)| i.expect.is_some()).map(|(name, _)| name) {
            let bytes = env.image(name).and_then(|i| {
                let texels = env.backend.download(i)?;
                match &test.images[name].expect {
                    Some(Data::File(path)) if picture::is_png(path) => picture::exact(i, &texels),
                    _ => Ok(texels),
                }
            });
            if let Ok(bytes) = bytes {
                all.insert(("images", name.clone()), bytes);
            }
        }
        self.taken.insert(case.to_string(), all);
    }

    /// Writes them into the fixture where a test failed by its values; how many tests changed.
    pub(super) fn write(self, file: &Path, cases: &[Case]) -> Result<usize, String> {
        let failed = |c: &&Case| matches!(c.report.outcome, Outcome::Failed(_));
        if !cases.iter().any(|c| failed(&c)) {
            return Ok(0);
        }
        let text = std::fs::read_to_string(file).map_err(|e| e.to_string())?;
        let fixture = Fixture::parse(file, &text).map_err(|e| e.to_string())?;
        let mut changes: BTreeMap<At, String> = BTreeMap::new();
        let mut blessed = 0;
        let json = file.extension().is_some_and(|e| e.eq_ignore_ascii_case("json"));
        for (n, test) in fixture.tests.iter().enumerate() {
            let own: Vec<&Case> = cases.iter().filter(|c| c.test == test.name).collect();
            if !own.iter().any(failed) {
                continue;
            }
            let refuse = |why: &str| Err(format!("test `{}` is not blessed: {why}", test.name));
            if test.expect.is_some() {
                return refuse("values of graphics stages are written by hand");
            }
            if let Some(c) = own.iter().find(|c| failed(c) && c.report.failure != Some(Failure::Values)) {
                let Outcome::Failed(why) = &c.report.outcome else { continue };
                return refuse(&format!("{}: {}", c.chip, why.lines().next().unwrap_or_default()));
            }
            let mut left = own.iter().filter_map(|c| Some((*c, self.taken.get(&c.name)?)));
            let Some((first, values)) = left.next() else { continue };
            for (place, bytes) in values {
                if let Some((other, _)) = left.clone().find(|(_, v)| v.get(place) != Some(bytes)) {
                    return refuse(&format!(
                        "{} and {} leave other values in {}",
                        first.name, other.name, place.1
                    ));
                }
                let (elem, old) = match place.0 {
                    "buffers" => test.buffers.get(&place.1).map(|b| (b.ty, &b.expect)),
                    _ => test.images.get(&place.1).map(|i| (Elem::U8, &i.expect)),
                }
                .ok_or("a place that does not exist")?;
                let Some(old) = old else { continue };
                let new = data(old, elem, bytes, file.parent().unwrap_or(Path::new("")), json)?;
                changes.insert((n, place.0, place.1.clone()), new);
            }
            blessed += 1;
        }
        let new = if json { in_json(&text, &changes)? } else { in_toml(&text, &changes)? };
        // What was written must be readable before anything is lost.
        Fixture::parse(file, &new).map_err(|e| format!("this would be no fixture: {e}"))?;
        output::write(file, new.as_bytes()).map_err(|e| output::unwritable(&e))?;
        Ok(blessed)
    }
}

/// What `--bless` did.
pub(super) fn tell(ran: &[Ran]) -> ExitCode {
    let mut refused = false;
    for r in ran {
        match &r.blessed {
            Some(Ok(n)) if *n > 0 => errln!("blessed {n} tests of {}", r.file.display()),
            Some(Err(why)) => {
                refused = true;
                common::fault_in(&r.file, why);
            }
            _ => refused |= r.cases.is_err(),
        }
    }
    if refused { common::input_error() } else { ExitCode::SUCCESS }
}

/// Bytes in the form that an `expect` had, as TOML or JSON.
fn data(old: &Data, elem: Elem, bytes: &[u8], folder: &Path, json: bool) -> Result<String, String> {
    let table = |key: &str, value: String| {
        if json { format!("{{ \"{key}\": {value} }}") } else { format!("{{ {key} = {value} }}") }
    };
    let items =
        |size: usize| bytes.chunks(size).map(|b| b.iter().rev().fold(0u64, |n, &b| n << 8 | u64::from(b)));
    let numbers = || items(elem.size()).map(|bits| elem.literal(bits));
    let list = |values: Vec<String>| format!("[{}]", values.join(", "));
    Ok(match old {
        Data::File(path) => {
            output::write(&folder.join(path), bytes)
                .map_err(|e| format!("{}: {}", path.display(), output::unwritable(&e)))?;
            table("file", format!("{:?}", path.to_string_lossy()))
        }
        Data::Hex(_) => {
            let digits: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
            table("hex", format!("\"{digits}\""))
        }
        Data::Words(old) => {
            let null = |n: usize| old.get(n).is_some_and(Option::is_none);
            let words =
                items(4).enumerate().map(|(n, w)| if null(n) { "null".into() } else { w.to_string() });
            table("words", list(words.collect()))
        }
        Data::Fill(_) => {
            let mut all = numbers();
            let first = all.next().unwrap_or_else(|| "0".into());
            if all.all(|v| v == first) { table("fill", first) } else { list(numbers().collect()) }
        }
        Data::List(old) => {
            let null = |n: usize| matches!(old.get(n), Some(None));
            // As bits where they were.
            let hex = |n: usize| matches!(old.get(n), Some(Some(Item::Text(t))) if t.starts_with("0x"));
            let values = items(elem.size()).zip(numbers()).enumerate().map(|(n, (bits, number))| match () {
                () if null(n) => "null".to_string(),
                () if hex(n) => format!("\"{bits:#x}\""),
                () => number,
            });
            list(values.collect())
        }
    })
}

/// TOML with other values; comments and layout of everything else stay.
fn in_toml(text: &str, changes: &BTreeMap<At, String>) -> Result<String, String> {
    let mut document: toml_edit::DocumentMut =
        text.parse().map_err(|e: toml_edit::TomlError| e.to_string())?;
    for ((test, kind, name), new) in changes {
        let new: toml_edit::Value = new.parse().map_err(|e: toml_edit::TomlError| e.to_string())?;
        let place = || format!("`tests.{kind}.{name}.expect` of test {test} is not where a table has it");
        let tests = document.get_mut("tests").ok_or_else(place)?;
        let test = match tests {
            toml_edit::Item::ArrayOfTables(tests) => tests.get_mut(*test).and_then(|t| t.get_mut(kind)),
            other => other.get_mut(*test).and_then(|t| t.get_mut(*kind)),
        };
        let expect = test.and_then(|t| t.get_mut(name.as_str())).and_then(|t| t.get_mut("expect"));
        let old = expect.and_then(|e| e.as_value_mut()).ok_or_else(place)?;
        let decor = old.decor().clone();
        *old = new;
        *old.decor_mut() = decor;
    }
    Ok(document.to_string())
}

/// JSON with other values; everything else stays as it is written.
fn in_json(text: &str, changes: &BTreeMap<At, String>) -> Result<String, String> {
    // From the end on, so that places before it stay true.
    let mut spans = Vec::new();
    for ((test, kind, name), new) in changes {
        let path = ["tests", &test.to_string(), kind, name, "expect"];
        let span =
            place::in_json(text, &path).ok_or_else(|| format!("`{}` does not exist", path.join(".")))?;
        spans.push((span, new));
    }
    spans.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
    let mut text = text.to_string();
    for (span, new) in spans {
        text.replace_range(span, new);
    }
    Ok(text)
}
