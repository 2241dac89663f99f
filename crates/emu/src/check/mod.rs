//! Checkers: races, what nothing has written, going on after a fault; and traces.

pub(crate) mod access;
pub(crate) mod definedness;
pub(crate) mod race;
pub(crate) mod resume;
pub(crate) mod shadow;
pub(crate) mod trace;

/// What a run checks, in the spirit of compute-sanitizer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Checks {
    /// Alignment and bounds of every access. Off: bad reads give 0, bad writes are dropped.
    ///
    /// A read of a thread's own (local) memory outside its size is a [`Note`](crate::Note), not a fault, and gives 0: a compiler may
    /// compute `i < 6 && a[i] == 0` without a branch, and then nobody uses the value.
    pub memory: bool,
    /// Registers and memory that are read before anything wrote them.
    pub init: bool,
    /// Accesses to shared memory of two threads that nothing orders, at least one of which writes (`docs/emulator.md`). Two
    /// warps that write the same value to one place are only noted.
    pub race: bool,
    /// With `race`: those are faults, too.
    pub strict_race: bool,
    /// Accesses to global memory as well, also by threads of two blocks. The blocks of a launch run on one thread.
    pub global_race: bool,
    /// Barriers that only part of a warp or block reaches, and misuse of the divergence stack.
    pub sync: bool,
}

impl Default for Checks {
    fn default() -> Checks {
        Checks { memory: true, ..Checks::NONE }
    }
}

impl Checks {
    /// None of them.
    pub const NONE: Checks = Checks {
        memory: false,
        init: false,
        race: false,
        strict_race: false,
        global_race: false,
        sync: false,
    };
    /// All of them, but for races in global memory; two warps that write the same value are a note only.
    pub const ALL: Checks = Checks { memory: true, init: true, race: true, sync: true, ..Checks::NONE };
}

/// Checkers by name, between commas: `memcheck`, `initcheck`, `racecheck`, `racecheck=strict`, `racecheck=global`, `synccheck`,
/// `all`, `none`.
impl std::str::FromStr for Checks {
    type Err = String;

    fn from_str(list: &str) -> Result<Checks, String> {
        let mut checks = Checks::NONE;
        for name in list.split(',').map(str::trim) {
            match name {
                "memcheck" => checks.memory = true,
                "initcheck" => checks.init = true,
                "racecheck" => checks.race = true,
                "racecheck=strict" => (checks.race, checks.strict_race) = (true, true),
                "racecheck=global" => (checks.race, checks.global_race) = (true, true),
                "synccheck" => checks.sync = true,
                "all" => {
                    let Checks { strict_race, global_race, .. } = checks;
                    checks = Checks { strict_race, global_race, ..Checks::ALL };
                }
                "none" | "" => {}
                _ => {
                    return Err(format!(
                        "unknown checker `{name}`; available: memcheck, initcheck, racecheck, racecheck=strict, \
                         racecheck=global, synccheck, all, none"
                    ));
                }
            }
        }
        Ok(checks)
    }
}
