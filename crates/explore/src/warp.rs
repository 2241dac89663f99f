//! The steps of one warp of a fixture's test.

use nvir::emu::Program;
use nvir::emu::engine::steps::Recorder;
use nvir::emu::engine::{Code, Cx, Engine, Exec, Interpreter, SingleSteps, Trap, Warp, Yield};
use nvir_fixture::Settings;
use nvir_fixture::run::Loaded;
use serde_json::{Value, json};
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

/// Instructions that a page has.
const MAX_STEPS: usize = 5_000;

/// Which warp of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WarpId {
    /// Its block; of a graphics stage the first number counts warps.
    pub block: [u32; 3],
    /// In the block.
    pub warp: u32,
}

impl fmt::Display for WarpId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.block;
        write!(f, "warp {} of block ({x}, {y}, {z})", self.warp)
    }
}

impl FromStr for WarpId {
    type Err = String;

    /// `X[,Y[,Z]][:W]`.
    fn from_str(text: &str) -> Result<WarpId, String> {
        let wrong = || format!("`{text}` is not a block and a warp in it: X[,Y[,Z]][:W]");
        let number = |t: &str| t.trim().parse::<u32>().map_err(|_| wrong());
        let (block, warp) = text.split_once(':').unwrap_or((text, "0"));
        let mut id = WarpId { warp: number(warp)?, ..WarpId::default() };
        for (n, part) in block.split(',').enumerate() {
            *id.block.get_mut(n).ok_or_else(wrong)? = number(part)?;
        }
        Ok(id)
    }
}

#[derive(Default)]
struct State {
    recorder: Recorder,
    program: Option<Program>,
    cut: bool,
}

/// An engine that looks at one warp, and leaves the others alone.
#[derive(Clone)]
struct Follower {
    which: WarpId,
    state: Arc<Mutex<State>>,
}

impl fmt::Debug for Follower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Follower").field(&self.which).finish()
    }
}

impl Engine for Follower {
    fn prepare(&self, code: &Arc<Code>) -> Option<Arc<dyn Exec>> {
        // A launch begins; the last one stays.
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = State::default();
        Some(Arc::new(Following {
            steps: SingleSteps.prepare(code)?,
            others: Interpreter.prepare(code)?,
            follower: self.clone(),
        }))
    }

    fn shares_memory(&self) -> bool {
        false
    }
}

struct Following {
    steps: Arc<dyn Exec>,
    others: Arc<dyn Exec>,
    follower: Follower,
}

impl Exec for Following {
    fn run(&self, cx: &mut Cx<'_>, warp: &mut Warp, until: u64) -> Result<Yield, Trap> {
        let which = self.follower.which;
        if cx.block() != which.block || warp.index != which.warp {
            return self.others.run(cx, warp, until);
        }
        let mut state = self.follower.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.recorder.len() >= MAX_STEPS {
            state.cut = true;
            drop(state);
            return self.others.run(cx, warp, until);
        }
        let end = self.steps.run(cx, warp, until)?;
        if end == Yield::Step {
            state.program.get_or_insert_with(|| cx.program().clone());
            state.recorder.look(cx, warp);
        }
        Ok(end)
    }
}

/// What a warp did in a test's last launch; none: there is no such warp.
pub(crate) fn steps(
    loaded: &Loaded,
    test: &str,
    chip: nvir::Chip,
    settings: &Settings,
    which: WarpId,
) -> Option<Value> {
    let follower = Follower { which, state: Arc::default() };
    let settings = Settings { profile: false, engine: Some(Arc::new(follower.clone())), ..settings.clone() };
    loaded.run(chip, Some(test), &settings, &mut None, |_, _| ());
    let mut state = std::mem::take(&mut *follower.state.lock().unwrap_or_else(PoisonError::into_inner));
    let program = state.program.take()?;
    let steps = nvir_page::steps::of_warp(&state.recorder.finish(), &program, state.cut);
    Some(json!({ "title": which.to_string(), "found": steps }))
}

#[cfg(test)]
mod tests {
    use super::WarpId;

    #[test]
    fn warps_have_names() {
        let id = |t: &str| t.parse::<WarpId>();
        assert_eq!(id("3"), Ok(WarpId { block: [3, 0, 0], warp: 0 }));
        assert_eq!(id("1,2,3:4"), Ok(WarpId { block: [1, 2, 3], warp: 4 }));
        for wrong in ["", "a", "1,2,3,4", "1:", ":1", "-1", "1:2:3"] {
            assert!(id(wrong).is_err_and(|e| e.contains("is not a block")), "{wrong}");
        }
    }
}
