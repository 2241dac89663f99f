//! Kernels whose tail runs with all lanes of every warp, whatever the block's size: values on every chip and level with few
//! registers; what each rule is for; what launches must say. Random ones are a target of `crates/fuzz`.

mod launch;
mod rules;
mod tail;
#[path = "../../../crates/fuzz/src/whole_warp/text.rs"]
mod text;

use nvir::Chip;
use nvir::compiler::{DebugOptions, OptLevel, Options};
use nvir::emu::Checks;
use nvir_fixture::run::{Loaded, Settings};
use nvir_fixture::{Fixture, Outcome};
use std::path::Path;

/// A launch of one block: buffers `x` (a word for each thread that runs) and `out` (eight words).
pub(crate) struct Case {
    /// For messages.
    pub name: &'static str,
    /// The program.
    pub text: String,
    /// Threads in x, y and z.
    pub block: [u32; 3],
}

impl Case {
    /// Threads that run.
    pub(crate) fn threads(&self) -> u32 {
        self.block.iter().product::<u32>().next_multiple_of(32)
    }

    fn loaded(&self, fault: Option<&str>) -> Loaded {
        let threads = self.threads();
        let x: Vec<u32> = (0..threads).map(input).collect();
        let fault = fault.map_or(String::new(), |f| format!(r#""fault":"{f}","#));
        let json = format!(
            r#"{{"source":"{}","tests":[{{"name":"case",{fault}"grid":[2,1,1],"block":{:?},"ssbo":{{"0":"x","1":"out"}},
            "buffers":{{"x":{{"type":"u32","len":{threads},"init":{x:?}}},"out":{{"type":"u32","len":{},"init":{{"fill":0}}}}}}}}]}}"#,
            self.name,
            self.block,
            threads * 8,
        );
        let fixture = Fixture::parse(Path::new("case.json"), &json).expect("a fixture");
        Loaded::new(Path::new("case.json"), fixture, self.text.clone().into_bytes())
            .expect("nothing is missing")
    }

    /// What the interpreter leaves in `out`.
    pub(crate) fn interpreted(&self) -> Result<Vec<u32>, String> {
        let mut left = Vec::new();
        let reports = self.loaded(None).interpret(None, 1 << 24, |_, env| {
            left = words(&env.read(&env.buffers["out"]).expect("it is mapped"));
        });
        match reports.into_iter().next() {
            Some((_, Outcome::Failed(why))) => Err(why),
            _ => Ok(left),
        }
    }

    /// What the compiled program leaves in `out`, under all checks.
    pub(crate) fn run(
        &self,
        chip: Chip,
        opt_level: OptLevel,
        max_gprs: Option<u32>,
    ) -> Result<Vec<u32>, String> {
        self.run_expecting(chip, opt_level, max_gprs, None)
    }

    /// Runs it and compares.
    pub(crate) fn run_expecting(
        &self,
        chip: Chip,
        opt_level: OptLevel,
        max_gprs: Option<u32>,
        fault: Option<&str>,
    ) -> Result<Vec<u32>, String> {
        let settings = Settings {
            options: Options { debug: DebugOptions::verifying(), max_gprs, ..Options::at(opt_level) },
            step_limit: 1 << 24,
            checks: Checks::ALL,
            ..Settings::default()
        };
        let mut left = Vec::new();
        let reports = self.loaded(fault).run(chip, None, &settings, &mut None, |_, env| {
            left = words(&env.read(&env.buffers["out"]).expect("it is mapped"));
        });
        match &reports[0].outcome {
            Outcome::Passed => Ok(left),
            Outcome::Failed(why) | Outcome::Skipped(why) => Err(why.clone()),
        }
    }

    /// Whether it computes `want` on every chip and level, with 16 to 32 registers and with as many as it likes.
    pub(crate) fn compare(&self, want: &[u32]) -> Result<(), String> {
        for chip in Chip::ALL {
            for opt_level in OptLevel::ALL {
                for max_gprs in [None, Some(16), Some(20), Some(24), Some(32)] {
                    self.compare_one(chip, opt_level, max_gprs, want)?;
                }
            }
        }
        Ok(())
    }

    /// Compares one kernel.
    pub(crate) fn compare_one(
        &self,
        chip: Chip,
        opt_level: OptLevel,
        max_gprs: Option<u32>,
        want: &[u32],
    ) -> Result<(), String> {
        let way = format!("{chip} -O{opt_level} {max_gprs:?}");
        let left = self.run(chip, opt_level, max_gprs).map_err(|why| format!("{way}: {why}"))?;
        match (0..want.len()).find(|&n| left.get(n) != Some(&want[n])) {
            None => Ok(()),
            Some(n) => {
                let (thread, word) = (n / 8, n % 8);
                Err(format!("{way}: word {word} of thread {thread}: {:#x}, not {:#x}", left[n], want[n]))
            }
        }
    }
}

/// What a thread finds in `x`.
pub(crate) fn input(thread: u32) -> u32 {
    thread.wrapping_mul(0x9e37_79b9).rotate_left(thread % 13) ^ 0x5bd1
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect()
}
