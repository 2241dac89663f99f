//! Random kernels: values that all lanes compute, a body that some run, a tail that all run and in which they talk.

mod text;

use crate::config::Config;
use crate::runner::Tally;
use arbitrary::Unstructured;
use nvir::emu::Checks;
use nvir::emu::engine::{Engine, Interpreter, Lockstep};
use nvir::random::Random;
use nvir_emu_jit::Compiled;
use nvir_fixture::run::{Loaded, Settings};
use nvir_fixture::{Fixture, Outcome};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use text::{FOOT, head};

/// Registers: 0 the number of the thread, 1 condition, 2 address, 3 what it has loaded, 4 to 7 results, 8 to 13 values
/// that all lanes carry over the body, 14 to 16 counters of loops, 17 what the tail works with, 20 and on the body's own.
const BODY: usize = 20;
const BODY_REGISTERS: usize = 10;
const COUNTERS: usize = 14;

type Made = arbitrary::Result<()>;

/// A kernel, and the block that it is launched with.
#[derive(Default)]
struct Case {
    text: String,
    block: [u32; 3],
}

#[derive(Default)]
struct Gen {
    text: String,
    left: u32,
    depth: usize,
    loops: usize,
}

const LANES: [&str; 4] = ["xxxx", "yyyy", "zzzz", "wwww"];

impl Gen {
    fn line(&mut self, s: &str) {
        let _ = writeln!(self.text, "{s}");
    }

    /// A register that is written everywhere.
    fn value(&mut self, u: &mut Unstructured<'_>) -> arbitrary::Result<String> {
        let register = match u.int_in_range(0..=3)? {
            0 => 3,
            1 => u.int_in_range(4..=7)?,
            2 => u.int_in_range(8..=13)?,
            _ => return Ok((*u.choose(&["TEMP[0].xxxx", "IMM[1].yyyy", "IMM[1].zzzz"])?).to_owned()),
        };
        let lane = if register == 3 { "xxxx" } else { *u.choose(&LANES)? };
        Ok(format!("TEMP[{register}].{lane}"))
    }

    fn arithmetic(&mut self, u: &mut Unstructured<'_>) -> Made {
        let (to, a, b) = (u.int_in_range(4..=7)?, self.value(u)?, self.value(u)?);
        let mask = *u.choose(&["x", "y", "zw", "xyzw"])?;
        let op = *u.choose(&["UADD", "XOR", "UMUL", "UMAX"])?;
        self.line(&format!("{op} TEMP[{to}].{mask}, {a}, {b}"));
        Ok(())
    }

    fn condition(&mut self, u: &mut Unstructured<'_>) -> Made {
        let v = self.value(u)?;
        let line = match u.int_in_range(0..=3)? {
            0 => "AND TEMP[1].x, TEMP[0].xxxx, IMM[0].zzzz".to_owned(),
            1 => "USLT TEMP[1].x, TEMP[0].xxxx, IMM[1].xxxx".to_owned(),
            2 => "USEQ TEMP[1].x, TEMP[3].xxxx, TEMP[3].xxxx".to_owned(),
            _ => format!("AND TEMP[1].x, {v}, IMM[0].yyyy"),
        };
        self.line(&line);
        Ok(())
    }

    /// Many values at once, which only this place needs.
    fn pressure(&mut self, u: &mut Unstructured<'_>) -> Made {
        let count = u.int_in_range(2..=BODY_REGISTERS)?;
        for n in BODY..BODY + count {
            let (a, b) = (self.value(u)?, self.value(u)?);
            self.line(&format!("UMAD TEMP[{n}], {a}, IMM[1].wwww, {b}"));
            self.line(&format!("UADD TEMP[{n}].yw, TEMP[{n}], IMM[0].xyzw"));
        }
        for n in BODY..BODY + count {
            self.line(&format!("XOR TEMP[4], TEMP[4], TEMP[{n}]"));
            self.line(&format!("UMAD TEMP[5], TEMP[5], IMM[1].yyyy, TEMP[{n}].wzyx"));
        }
        Ok(())
    }

    /// What active lanes tell each other: it is said of those that are here.
    fn among_active(&mut self, u: &mut Unstructured<'_>) -> Made {
        let v = self.value(u)?;
        let to = u.int_in_range(4..=7)?;
        let line = match u.int_in_range(0..=2)? {
            0 => format!("BALLOT TEMP[17].xy, {v}"),
            1 => format!("VOTE_ANY TEMP[17].xy, {v}"),
            _ => format!("READ_FIRST TEMP[17].xy, {v}"),
        };
        self.line(&line);
        self.line(&format!("UADD TEMP[{to}].xy, TEMP[{to}].xyyy, TEMP[17].xyyy"));
        Ok(())
    }

    fn statements(&mut self, u: &mut Unstructured<'_>, most: u32) -> Made {
        for _ in 0..u.int_in_range(1..=most)? {
            self.statement(u)?;
        }
        Ok(())
    }

    fn statement(&mut self, u: &mut Unstructured<'_>) -> Made {
        if self.left == 0 || self.depth > 4 {
            return self.arithmetic(u);
        }
        self.left -= 1;
        match u.int_in_range(0..=7)? {
            0 | 1 => self.arithmetic(u)?,
            2 => self.pressure(u)?,
            // In which round a lane is that has left one early is not for the interpreter to say.
            3 if self.loops == 0 => self.among_active(u)?,
            4 | 5 => {
                self.condition(u)?;
                self.line("UIF TEMP[1].xxxx");
                self.depth += 1;
                self.statements(u, 3)?;
                if u.arbitrary()? {
                    self.line("ELSE");
                    self.statements(u, 3)?;
                }
                self.depth -= 1;
                self.line("ENDIF");
            }
            _ if self.loops < 2 => self.counted(u)?,
            _ => self.arithmetic(u)?,
        }
        Ok(())
    }

    /// A loop of as many rounds as a lane likes.
    fn counted(&mut self, u: &mut Unstructured<'_>) -> Made {
        let counter = COUNTERS + self.loops;
        let v = self.value(u)?;
        self.line(&format!("AND TEMP[{counter}].x, {v}, IMM[1].xxxx"));
        self.line("BGNLOOP");
        self.line(&format!("USEQ TEMP[1].x, TEMP[{counter}].xxxx, IMM[0].xxxx"));
        self.line("UIF TEMP[1].xxxx\nBRK\nENDIF");
        self.line(&format!("UADD TEMP[{counter}].x, TEMP[{counter}].xxxx, IMM[2].xxxx"));
        self.depth += 1;
        self.loops += 1;
        self.statements(u, 3)?;
        match u.int_in_range(0..=5)? {
            0 | 1 => {
                self.condition(u)?;
                self.line("UIF TEMP[1].xxxx");
                self.line(if u.arbitrary()? { "BRK" } else { "CONT" });
                self.line("ENDIF");
                self.arithmetic(u)?;
            }
            // Nobody gets to the end.
            2 => {
                self.condition(u)?;
                self.line("UIF TEMP[1].xxxx\nBRK\nELSE\nCONT\nENDIF");
            }
            _ => {}
        }
        self.loops -= 1;
        self.depth -= 1;
        self.line("ENDLOOP");
        Ok(())
    }

    /// A sum over the warp, which reads lanes that have skipped the body.
    fn butterfly(&mut self, u: &mut Unstructured<'_>) -> Made {
        let v = self.value(u)?;
        let to = u.int_in_range(4..=7)?;
        self.line(&format!("MOV TEMP[17], {v}"));
        for lane in ["zzzz", "yyyy", "xxxx", "wwww"] {
            self.line(&format!("XOR TEMP[18].x, SV[2].xxxx, IMM[3].{lane}"));
            self.line("READ_INVOC TEMP[19].x, TEMP[17].xxxx, TEMP[18].xxxx");
            self.line("UADD TEMP[17].x, TEMP[17].xxxx, TEMP[19].xxxx");
        }
        self.line(&format!("UADD TEMP[{to}], TEMP[{to}], TEMP[17].xxxx"));
        Ok(())
    }

    /// Half of the lanes, which read each other.
    fn half(&mut self, u: &mut Unstructured<'_>) -> Made {
        let v = self.value(u)?;
        self.line("AND TEMP[1].x, SV[2].xxxx, IMM[0].wwww\nXOR TEMP[18].x, SV[2].xxxx, IMM[0].yyyy");
        self.line("UIF TEMP[1].xxxx");
        self.depth += 1;
        self.line(&format!(
            "READ_INVOC TEMP[17].x, {v}, TEMP[18].xxxx\nUADD TEMP[6].x, TEMP[6].xxxx, TEMP[17].xxxx"
        ));
        self.line("ELSE");
        self.pressure(u)?;
        self.depth -= 1;
        self.line("ENDIF");
        Ok(())
    }

    fn tail(&mut self, u: &mut Unstructured<'_>) -> Made {
        for _ in 0..u.int_in_range(1..=4)? {
            match u.int_in_range(0..=5)? {
                0 | 1 => self.butterfly(u)?,
                2 => self.among_active(u)?,
                3 => self.line("BARRIER"),
                4 => self.half(u)?,
                _ => self.statement(u)?,
            }
        }
        Ok(())
    }
}

/// Sizes that leave lanes over in one, two and three dimensions, and some that do not.
const BLOCKS: &[[u32; 3]] = &[
    [1, 1, 1],
    [13, 1, 1],
    [32, 1, 1],
    [45, 1, 1],
    [5, 7, 1],
    [9, 9, 1],
    [1, 40, 1],
    [3, 5, 7],
    [2, 1, 17],
    [1, 1, 33],
    [33, 2, 1],
    [100, 1, 1],
];

fn program(u: &mut Unstructured<'_>) -> arbitrary::Result<Case> {
    let block = *u.choose(BLOCKS)?;
    let mut g = Gen { left: 14, ..Gen::default() };
    g.text = head(block, u.arbitrary()?);
    for n in 4..=13 {
        g.line(&format!("UMAD TEMP[{n}], TEMP[3].xxxx, IMM[{}].wzyx, IMM[1].xyzw", n % 2));
        g.line(&format!("XOR TEMP[{n}], TEMP[{n}], TEMP[0].xxxx"));
    }
    g.line("IF_ASKED");
    g.depth += 1;
    g.statements(u, 5)?;
    if u.ratio(1, 3)? {
        g.line("ELSE");
        g.statements(u, 2)?;
    }
    g.depth -= 1;
    g.line("ENDIF");
    g.tail(u)?;
    // What was carried over the body is looked at, all of it.
    for n in 8..=13 {
        g.line(&format!("UMAD TEMP[7], TEMP[7], IMM[1].yyyy, TEMP[{n}]"));
    }
    g.text += FOOT;
    Ok(Case { text: g.text, block })
}

/// What a thread finds in `x`.
fn input_of(thread: u32) -> u32 {
    thread.wrapping_mul(0x9e37_79b9).rotate_left(thread % 13) ^ 0x5bd1
}

fn made(case: u64) -> (Case, Random) {
    let mut r = Random::of(0x7768_6f6c, case);
    let bytes = r.decisions();
    (program(&mut Unstructured::new(&bytes)).unwrap_or_default(), r)
}

fn loaded(case: &Case) -> Result<Loaded, String> {
    let threads = case.block.iter().product::<u32>().next_multiple_of(32);
    let x: Vec<u32> = (0..threads).map(input_of).collect();
    let json = format!(
        r#"{{"source":"case.tgsi","tests":[{{"name":"case","grid":[2,1,1],"block":{:?},"ssbo":{{"0":"x","1":"out"}},
        "buffers":{{"x":{{"type":"u32","len":{threads},"init":{x:?}}},"out":{{"type":"u32","len":{},"init":{{"fill":0}}}}}}}}]}}"#,
        case.block,
        threads * 8,
    );
    let path = Path::new("case.json");
    let fixture = Fixture::parse(path, &json).map_err(|e| e.to_string())?;
    Loaded::new(path, fixture, case.text.clone().into_bytes()).map_err(|e| e.to_string())
}

pub(crate) fn input(case: u64) -> (Vec<u8>, &'static str) {
    (made(case).0.text.into_bytes(), "tgsi")
}

pub(crate) fn case(case: u64, tally: &mut Tally) -> Result<(), String> {
    compare(case, None, tally)
}

/// The same by the compiled engine: block by block against the interpreter, and alone.
pub(crate) fn engines(case: u64, tally: &mut Tally) -> Result<(), String> {
    let both = Lockstep::new(&Compiled::Exact, &Interpreter);
    let all: [Arc<dyn Engine>; 2] = [Arc::new(both), Arc::new(Compiled::Eager)];
    all.into_iter().try_for_each(|engine| compare(case, Some(engine), tally))
}

fn compare(case: u64, engine: Option<Arc<dyn Engine>>, tally: &mut Tally) -> Result<(), String> {
    let (case, mut r) = made(case);
    let loaded = loaded(&case)?;
    let (text, block) = (&case.text, case.block);
    let mut want = Vec::new();
    let reports = loaded.interpret(None, 1 << 24, |_, env| {
        want = env.read(&env.buffers["out"]).expect("it is mapped");
    });
    if let Some((_, Outcome::Failed(why))) = reports.into_iter().next() {
        return Err(format!("interpreted: {why}\n{text}"));
    }
    for mut config in Config::of_kernel(&mut r) {
        if r.one_in(2) {
            config.settings.options.max_gprs = Some(16 + r.below(17) as u32);
        }
        if engine.is_some() {
            // Other checks are the interpreter's alone.
            config.settings =
                Settings { engine: engine.clone(), checks: Checks::default(), ..config.settings };
        }
        let mut left = Vec::new();
        let reports = loaded.run(config.chip, None, &config.settings, &mut None, |_, env| {
            left = env.read(&env.buffers["out"]).expect("it is mapped");
        });
        if let Some(Outcome::Failed(why)) = reports.into_iter().next().map(|r| r.outcome) {
            return Err(format!("{config}, block {block:?}: {why}\n{text}"));
        }
        if let Some(n) = (0..want.len()).find(|&n| left.get(n) != want.get(n)) {
            return Err(format!("{config}, block {block:?}: thread {}, word {}\n{text}", n / 32, n / 4 % 8));
        }
    }
    tally.count("compared");
    Ok(())
}
