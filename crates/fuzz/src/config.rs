//! How a program is compiled for a comparison: chips, levels and limits, in turns.

use nvir::compiler::DebugOptions;
use nvir::emu::Checks;
use nvir::options::Sanitize;
use nvir::random::Random;
use nvir::{Chip, OptLevel, Options};
use nvir_fixture::run::Settings;
use std::fmt;

/// A chip and a way to compile for it.
#[derive(Clone)]
pub(crate) struct Config {
    pub chip: Chip,
    pub settings: Settings,
}

impl Config {
    fn new(chip: Chip, options: Options) -> Config {
        let settings = Settings { options, step_limit: 1 << 22, checks: Checks::ALL, ..Settings::default() };
        Config { chip, settings }
    }

    /// What a case is compiled with: each chip without optimisation or with little of it and at -O2, -O3 or -Os, sometimes with
    /// few registers, values that cross blocks in memory, or the verifier after each pass.
    pub(crate) fn of_case(r: &mut Random) -> Vec<Config> {
        let mut all = Vec::new();
        for chip in Chip::ALL {
            for levels in
                [[OptLevel::O0, OptLevel::O0, OptLevel::O1], [OptLevel::O3, OptLevel::Os, OptLevel::O2]]
            {
                let max_gprs = r.one_in(4).then(|| 16 + r.below(20) as u32);
                let debug = DebugOptions {
                    verify_each: r.one_in(8),
                    through_memory: r.one_in(8),
                    ..DebugOptions::default()
                };
                all.push(Config::new(chip, Options { max_gprs, debug, ..Options::at(*r.of_list(&levels)) }));
            }
        }
        all
    }

    /// The same for a kernel that a launch provides for: some check their own accesses.
    pub(crate) fn of_kernel(r: &mut Random) -> Vec<Config> {
        let mut all = Config::of_case(r);
        for config in &mut all {
            if r.one_in(4) {
                let [shared, global, private] = [r.one_in(2), r.one_in(2), r.one_in(2)];
                let zones = shared && r.one_in(2);
                config.settings.options.sanitize = Sanitize { shared, global, private, zones };
            }
        }
        all
    }
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let o = &self.settings.options;
        write!(f, "{} -O{}", self.chip, o.opt_level)?;
        if let Some(n) = o.max_gprs {
            write!(f, " with {n} registers")?;
        }
        if !o.sanitize.is_none() {
            write!(f, " sanitized: {}", o.sanitize)?;
        }
        f.write_str(if o.debug.through_memory { " through memory" } else { "" })
    }
}
