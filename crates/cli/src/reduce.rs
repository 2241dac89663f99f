//! `nvir reduce`: the smallest program that still fails in the same way.

mod text;

use crate::out::errln;
use crate::rerun::{self, Ended, Rerun};
use crate::run::How;
use crate::{common, output};
use nvir::compiler::Options;
use nvir::emu::Checks;
use nvir::{InitRegs, OptLevel, input};
use nvir_fixture::format::{Name, Test, Tolerance};
use nvir_fixture::run::{Failure, Loaded, Outcome, Settings};
use nvir_fixture::values::Elem;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use text::Text;

/// Make a failing test's program smaller while it fails in the same way
///
/// Removes lines, constructs and operations of the TGSI, NIR or IR text as long as it still fails alike: with the same fault
/// (a hang is one), the same refusal, or wrong values. What is right for a smaller program the fixture does not say: there
/// the same program at -O0, or under TGSI's interpreter, has to run without any fault and give other values.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  nvir reduce k.toml                     prints the smaller program
  nvir reduce k.toml -o small.tgsi       writes it, and a fixture of it to small.json")]
pub(crate) struct Args {
    /// A fixture with a test that fails
    fixture: PathBuf,
    #[command(flatten)]
    which: rerun::Which,
    /// Optimisation level
    #[arg(short = 'O', long = "opt", default_value = "3", value_parser = common::level(), value_name = "N")]
    opt: OptLevel,
    #[command(flatten)]
    how: How,
    /// Write the program here, and a fixture of it beside it
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Programs to try at most
    #[arg(long, default_value_t = 20_000, value_name = "N")]
    tries: u32,
}

/// What says which values are right.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Right {
    /// Nobody: it fails otherwise than by values.
    Nobody,
    /// The same program at -O0.
    Simple,
    /// TGSI's interpreter.
    Interpreter,
}

/// How a candidate is judged.
struct Oracle<'a> {
    rerun: &'a Rerun,
    bad: Settings,
    /// -O0, with every check: what is undefined may be anything.
    good: Settings,
    right: Right,
    /// The program does not fault at -O0, and must not begin to.
    sound: bool,
    /// The interpreter gives what -O0 does, and must not cease to: what is undefined may be anything at -O0, unnoticed where
    /// its register holds another value.
    agreed: bool,
    tries: u32,
}

pub(crate) fn run(mut a: Args) -> ExitCode {
    a.output = a.output.filter(|o| !input::is_standard(o));
    let mut bad = match a.how.settings(a.opt) {
        Ok(s) => s,
        Err(e) => return common::usage(e),
    };
    bad.options.debug.verify_each = true;
    let rerun = match Rerun::failing(&a.fixture, &a.which, &bad) {
        Ok(t) => t,
        Err(code) => return code,
    };
    let fault = |why: &str| common::fault_in(&a.fixture, why);
    let Some((language, source)) = rerun.loaded.source_text() else {
        return fault("its source is machine code: there is nothing to reduce");
    };
    if matches!(rerun.failure, Failure::Setup | Failure::NoFault) {
        return fault(&format!("the test itself fails, whatever the program is: {}", rerun.why));
    }
    if let Some(path) = &a.output {
        let beside = path.with_extension("json");
        let outputs = [(path.as_path(), Path::new("program")), (&beside, Path::new("fixture"))];
        let inputs = [a.fixture.clone(), rerun.loaded.source_path().to_path_buf()];
        if let Err(code) = output::distinct(outputs, &inputs) {
            return code;
        }
    }
    let original = Text::new(language, source);
    let mut oracle = match Oracle::new(&rerun, bad, a.tries) {
        Ok(o) => o,
        Err(why) => return fault(&why),
    };
    if !oracle.holds(&original) {
        return fault("it does not fail again without its comments: it does not always fail");
    }
    let small = oracle.reduce(original.clone());
    errln!(
        "{} lines of {} are left after {} programs; it fails with: {}",
        small.lines.len(),
        original.lines.len(),
        a.tries - oracle.tries,
        rerun.why.lines().next().unwrap_or_default()
    );
    let Some((program, numbers)) = small.program() else { return fault("the result is not a program") };
    if let Some(path) = &a.output {
        let fixture = oracle.fixture(&a.fixture, path, &program, &numbers);
        let beside = path.with_extension("json");
        let written = fixture.map(|text| common::write_output(Some(&beside), text.as_bytes()));
        match written.unwrap_or_else(|e| common::fault_in(&beside, e)) {
            ExitCode::SUCCESS => {}
            code => return code,
        }
    }
    common::write_output(a.output.as_deref(), program.as_bytes())
}

impl<'a> Oracle<'a> {
    fn new(rerun: &'a Rerun, bad: Settings, tries: u32) -> Result<Oracle<'a>, String> {
        let mut good = Settings { checks: Checks::ALL, ..bad.clone() };
        good.options.opt_level = OptLevel::O0;
        let mut oracle = Oracle { rerun, bad, good, right: Right::Nobody, sound: true, agreed: false, tries };
        // Where the program reads nothing unwritten, a smaller one must not begin to.
        let strict = Options { init_regs: InitRegs::Leave, ..oracle.good.options.clone() };
        let strict = Settings { options: strict, ..oracle.good.clone() };
        if rerun.run(&rerun.loaded, &strict).failure.is_none() {
            oracle.good = strict;
        }
        let simple = rerun.run(&rerun.loaded, &oracle.good);
        if rerun.failure == Failure::Values {
            oracle.right = if simple.failure.is_none() {
                Right::Simple
            } else if oracle.interpreted(&rerun.loaded).is_some() {
                Right::Interpreter
            } else {
                return Err("its values are wrong at -O0 too, and only TGSI has another reference: \
                            nothing says what a smaller program should give"
                    .into());
            };
        }
        oracle.sound = simple.failure.is_none();
        oracle.agreed = oracle.right == Right::Simple
            && oracle.interpreted(&rerun.loaded).is_some_and(|i| !oracle.differ(&i, &simple.values));
        Ok(oracle)
    }

    /// What the interpreter leaves in the buffers, if it comes to the end.
    fn interpreted(&self, loaded: &Loaded) -> Option<BTreeMap<String, Vec<u8>>> {
        let mut values = BTreeMap::new();
        let after = |test: &Test, env: &nvir_fixture::env::Env| {
            for (name, _) in test.buffers.iter().filter(|(_, b)| b.expect.is_some()) {
                if let Ok(bytes) = env.buffer(name).and_then(|b| env.read(&b)) {
                    values.insert(name.clone(), bytes);
                }
            }
        };
        let limit = self.rerun.settings(&self.bad).step_limit.saturating_mul(32);
        let ended = loaded.interpret(Some(&self.rerun.test().name), limit, after);
        let came_to_the_end = match &ended.first()?.1 {
            Outcome::Passed => true,
            Outcome::Failed(why) => why.contains("values wrong"),
            Outcome::Skipped(_) => false,
        };
        came_to_the_end.then_some(values)
    }

    /// Whether a candidate still fails in the same way.
    fn holds(&mut self, text: &Text) -> bool {
        if self.tries == 0 {
            return false;
        }
        let Some((program, numbers)) = text.program() else { return false };
        let Some(loaded) = self.loaded(&program, &numbers) else { return false };
        self.tries -= 1;
        let bad = self.rerun.run(&loaded, &self.bad);
        if self.right == Right::Nobody {
            let alike = self.rerun.alike(&bad);
            // What does not compile is not run; a fault must not become the program's own.
            let own = self.sound && self.rerun.failure != Failure::Compile;
            return alike && (!own || self.finished(&loaded).is_some());
        }
        if !matches!(bad.failure, None | Some(Failure::Values)) {
            return false;
        }
        let right = match self.right {
            Right::Interpreter => self.interpreted(&loaded),
            _ => self.finished(&loaded).map(|e| e.values),
        };
        let agrees = |right: &BTreeMap<String, Vec<u8>>| {
            !self.agreed || self.interpreted(&loaded).is_some_and(|values| !self.differ(&values, right))
        };
        right.is_some_and(|right| self.differ(&bad.values, &right) && agrees(&right))
    }

    /// The end of a run at -O0 without a fault.
    fn finished(&self, loaded: &Loaded) -> Option<Ended> {
        let ended = self.rerun.run(loaded, &self.good);
        matches!(ended.failure, None | Some(Failure::Values)).then_some(ended)
    }

    /// Whether values are further apart than the test allows.
    fn differ(&self, bad: &BTreeMap<String, Vec<u8>>, right: &BTreeMap<String, Vec<u8>>) -> bool {
        let bits = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |n, &b| n << 8 | u64::from(b));
        self.rerun.test().buffers.iter().any(|(name, b)| {
            let (elem, tolerance): (Elem, &Tolerance) = (b.ty, &b.tolerance);
            let (Some(one), Some(two)) = (bad.get(name), right.get(name)) else { return false };
            one != two
                && one
                    .chunks(elem.size())
                    .zip(two.chunks(elem.size()))
                    .any(|(g, w)| !elem.accepts(bits(g), bits(w), tolerance))
        })
    }

    /// The fixture with another program; none where a kernel is gone.
    fn loaded(&self, program: &str, numbers: &BTreeMap<u64, u64>) -> Option<Loaded> {
        let mut loaded = self.rerun.loaded.with_source(program);
        let rename = |name: &mut Option<Name>| -> Option<()> {
            if let Some(n) =
                name.as_ref().and_then(|n| n.to_string().parse::<u64>().ok()).filter(|_| !numbers.is_empty())
            {
                *name = Some(Name::Number(*numbers.get(&n)?));
            }
            Some(())
        };
        rename(&mut loaded.fixture.kernel)?;
        for test in &mut loaded.fixture.tests {
            // Other tests may lose their kernels.
            if test.name == self.rerun.test().name {
                rename(&mut test.kernel)?;
                test.launches.iter_mut().flatten().try_for_each(|l| rename(&mut l.kernel))?;
            }
        }
        Some(loaded)
    }

    /// Makes a program smaller until nothing more can go.
    fn reduce(&mut self, mut text: Text) -> Text {
        loop {
            let before = text.clone();
            self.remove_lines(&mut text);
            self.remove_constructs(&mut text);
            self.simplify(&mut text);
            if text == before || self.tries == 0 {
                return text;
            }
        }
    }

    /// Delta debugging: pieces of half the text, of a quarter and so on, from the end.
    fn remove_lines(&mut self, text: &mut Text) {
        let mut size = text.lines.len().div_ceil(2).max(1);
        loop {
            let mut removed = false;
            let mut end = text.lines.len();
            while end > 0 {
                let begin = end.saturating_sub(size);
                let less = text.without(|n| (begin..end).contains(&n));
                if self.holds(&less) {
                    *text = less;
                    removed = true;
                }
                end = begin;
            }
            match (size, removed) {
                (1, false) => return,
                (1, true) => {}
                _ => size = size.div_ceil(2),
            }
            if self.tries == 0 {
                return;
            }
        }
    }

    fn remove_constructs(&mut self, text: &mut Text) {
        let mut at = 0;
        loop {
            let sets = text.constructs();
            let found = sets.iter().skip(at).position(|set| {
                let less = text.without(|n| set.binary_search(&n).is_ok());
                self.holds(&less)
            });
            let Some(n) = found else { return };
            at += n;
            let set = &sets[at];
            *text = text.without(|n| set.binary_search(&n).is_ok());
        }
    }

    /// Operations become copies and constants, from the end on, where that lets others go.
    fn simplify(&mut self, text: &mut Text) {
        for n in (0..text.lines.len()).rev() {
            if let Some(less) = text.substituted(n).into_iter().find(|less| self.holds(less)) {
                *text = less;
                continue;
            }
            for form in text.simpler(n) {
                let mut other = text.clone();
                other.lines[n] = form;
                if self.holds(&other) {
                    *text = other;
                    break;
                }
            }
        }
    }

    /// A fixture of the smaller program, with the one test; it expects what is right.
    fn fixture(
        &self,
        original: &Path,
        source: &Path,
        program: &str,
        numbers: &BTreeMap<u64, u64>,
    ) -> Result<String, String> {
        let text = std::fs::read_to_string(original).map_err(|e| e.to_string())?;
        let mut all: Value = if text.trim_start().starts_with('{') {
            serde_json::from_str(&text).map_err(|e| e.to_string())?
        } else {
            toml::from_str(&text).map_err(|e| e.to_string())?
        };
        let loaded = self.loaded(program, numbers).ok_or("a kernel is gone")?;
        let right = match self.right {
            Right::Interpreter => self.interpreted(&loaded).unwrap_or_default(),
            _ => self.finished(&loaded).map(|e| e.values).unwrap_or_default(),
        };
        let place = loaded.fixture.tests.iter().position(|t| t.name == self.rerun.test().name).unwrap_or(0);
        let mut test = all["tests"][place].take();
        let name = |n: &Option<Name>| match n {
            Some(Name::Number(n)) => json!(n),
            Some(Name::Text(t)) => json!(t),
            None => Value::Null,
        };
        let put = |to: &mut Value, n: &Option<Name>| {
            if n.is_some() {
                to["kernel"] = name(n);
            }
        };
        put(&mut all, &loaded.fixture.kernel);
        put(&mut test, &loaded.fixture.tests[place].kernel);
        for (n, launch) in loaded.fixture.tests[place].launches.iter().flatten().enumerate() {
            put(&mut test["launches"][n], &launch.kernel);
        }
        for (buffer, bytes) in &right {
            let digits: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
            test["buffers"][buffer]["expect"] = json!({ "hex": digits });
        }
        all["tests"] = json!([test]);
        all["targets"] = json!([self.rerun.chip.name()]);
        all["source"] = source.file_name().unwrap_or_default().to_string_lossy().into();
        serde_json::to_string_pretty(&all).map(|t| t + "\n").map_err(|e| e.to_string())
    }
}
