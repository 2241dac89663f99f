//! The table of facts as text: what the section `.nvir.facts` holds.
//!
//! ```text
//! nvir.facts 1 open
//! kernel k block 64,1,1 limit 63 input 8 | params 0 results 0 gprs 8 .. effects any
//! call f params 1 results 1 stack 1 apart no
//! function f | params 1 results 1 gprs 6 .. effects pure
//! ```
//!
//! A line a function, and after it one for each function that it calls. All words of a line are
//! there, in this order.

use super::{Call, Effects, Facts, Function, Launch, Returns, UnitError, World};
use crate::ir::Sv;
use std::fmt::Write;

/// The version of the table. It changes with the meaning of what is there, and with the calling
/// convention.
pub const SCHEMA: u32 = 1;

const EFFECTS: [(Effects, &str); 3] = [
    (Effects::None, Effects::None.name()),
    (Effects::Reads, Effects::Reads.name()),
    (Effects::Any, Effects::Any.name()),
];
const RETURNS: [(Returns, &str); 3] =
    [(Returns::Always, "always"), (Returns::Perhaps, "perhaps"), (Returns::Never, "never")];
const YES: [(bool, &str); 2] = [(true, "yes"), (false, "no")];

fn name_of<T: PartialEq + Copy>(all: &[(T, &'static str)], value: T) -> &'static str {
    all.iter().find(|x| x.0 == value).map_or("", |x| x.1)
}

/// Whether a name can be a symbol: what is printed between spaces.
pub(crate) fn is_symbol(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_graphic())
}

/// One row.
pub(super) fn row(f: &Facts) -> String {
    let mut special: Vec<&str> = f.special_registers().collect();
    if special.is_empty() {
        special.push("none");
    }
    format!(
        "params {} results {} gprs {} frame {} memory {} shared {} barriers {} stack {} special {} diverges {} returns {} effects {}",
        f.params,
        f.results,
        f.gprs,
        f.frame,
        f.memory,
        f.shared,
        f.barriers,
        f.stack,
        special.join(","),
        name_of(&YES, f.diverges),
        name_of(&RETURNS, f.returns),
        name_of(&EFFECTS, f.effects),
    )
}

/// The head of a function's line.
pub(super) fn head(name: &str, kernel: Option<&Launch>) -> String {
    match kernel {
        None => format!("function {name}"),
        Some(k) => {
            let block = match k.block_size {
                Some(size) => size.map(|n| if n == 0 { "any".to_string() } else { n.to_string() }).join(","),
                None => "any".to_string(),
            };
            format!("kernel {name} block {block} limit {} input {}", k.limit, k.input_bytes)
        }
    }
}

/// The whole table of functions of the open world.
pub(super) fn print(functions: &[Function]) -> String {
    let mut text = first_line(World::Open);
    for f in functions {
        let _ = writeln!(text, "{} | {}", head(&f.name, f.kernel.as_ref()), row(&f.facts));
        for c in &f.calls {
            let apart = name_of(&YES, c.apart);
            let _ = writeln!(
                text,
                "call {} params {} results {} stack {} apart {apart}",
                c.name, c.params, c.results, c.stack
            );
        }
    }
    text
}

/// The line that the table begins with.
pub(crate) fn first_line(world: World) -> String {
    format!("nvir.facts {SCHEMA} {}\n", world.name())
}

/// The words of a line.
struct Words<'a> {
    words: std::str::SplitWhitespace<'a>,
    line: usize,
}

type Result<T> = std::result::Result<T, UnitError>;

impl<'a> Words<'a> {
    fn wrong(&self, why: impl Into<String>) -> UnitError {
        UnitError::Facts { line: self.line, why: why.into() }
    }

    fn next(&mut self) -> Result<&'a str> {
        self.words.next().ok_or_else(|| self.wrong("it ends too early"))
    }

    fn key(&mut self, key: &str) -> Result<&'a str> {
        let word = self.next()?;
        if word != key {
            return Err(self.wrong(format!("`{key}` should stand where `{word}` does")));
        }
        self.next()
    }

    fn number(&mut self, key: &str) -> Result<u32> {
        let word = self.key(key)?;
        let number = word.parse().ok().filter(|&n| n < 1 << 30);
        number.ok_or_else(|| self.wrong(format!("`{key} {word}` is not a size")))
    }

    fn one_of<T: Copy>(&mut self, key: &str, all: &[(T, &str)]) -> Result<T> {
        let word = self.key(key)?;
        let found = all.iter().find(|x| x.1 == word);
        found.map(|x| x.0).ok_or_else(|| self.wrong(format!("`{key}` is never `{word}`")))
    }

    fn special(&mut self) -> Result<u64> {
        let list = self.key("special")?;
        if list == "none" {
            return Ok(0);
        }
        let mut mask = 0;
        for name in list.split(',') {
            let sv =
                Sv::from_name(name).ok_or_else(|| self.wrong(format!("no special register `{name}`")))?;
            mask |= 1 << sv as u32;
        }
        Ok(mask)
    }

    fn block(&mut self) -> Result<Option<[u32; 3]>> {
        let word = self.key("block")?;
        if word == "any" {
            return Ok(None);
        }
        let extent = |n: &str| match n {
            "any" => Some(0),
            n => n.parse().ok().filter(|n| (1..=1024).contains(n)),
        };
        let sizes: Option<Vec<u32>> = word.split(',').map(extent).collect();
        let size = sizes.and_then(|s| <[u32; 3]>::try_from(s).ok()).filter(|s| *s != [0; 3]);
        size.map(Some).ok_or_else(|| self.wrong(format!("`{word}` is not the size of a block")))
    }

    fn facts(&mut self) -> Result<Facts> {
        let facts = Facts {
            params: self.number("params")?,
            results: self.number("results")?,
            gprs: self.number("gprs")?,
            frame: self.number("frame")?,
            memory: self.number("memory")?,
            shared: self.number("shared")?,
            barriers: self.number("barriers")?,
            stack: self.number("stack")?,
            sysvals: self.special()?,
            diverges: self.one_of("diverges", &YES)?,
            returns: self.one_of("returns", &RETURNS)?,
            effects: self.one_of("effects", &EFFECTS)?,
        };
        if facts.gprs > 255 || facts.barriers > 16 {
            return Err(self.wrong("more registers or barriers than the chip has"));
        }
        Ok(facts)
    }

    fn end(&mut self) -> Result<()> {
        match self.words.next() {
            None => Ok(()),
            Some(word) => Err(self.wrong(format!("`{word}` is too much"))),
        }
    }
}

/// Reads a table of the open world: functions without code.
pub(super) fn parse(text: &str) -> Result<Vec<Function>> {
    let mut lines = text.lines().zip(1..);
    let head = lines.next().unwrap_or_default().0;
    match head.split_whitespace().collect::<Vec<_>>()[..] {
        ["nvir.facts", schema, world] if schema == SCHEMA.to_string() => {
            if world != World::Open.name() {
                return Err(UnitError::Closed);
            }
        }
        ["nvir.facts", schema, ..] => return Err(UnitError::Schema(schema.to_string())),
        _ => return Err(UnitError::Facts { line: 1, why: "it does not begin with `nvir.facts`".into() }),
    }
    let mut functions: Vec<Function> = Vec::new();
    for (line, number) in lines {
        let mut w = Words { words: line.split_whitespace(), line: number };
        match w.next()? {
            "call" => {
                let call = Call {
                    name: w.next()?.to_string(),
                    params: w.number("params")?,
                    results: w.number("results")?,
                    stack: w.number("stack")?,
                    apart: w.one_of("apart", &YES)?,
                };
                let Some(f) = functions.last_mut() else { return Err(w.wrong("a call of no function")) };
                f.calls.push(call);
            }
            kind @ ("kernel" | "function") => {
                let name = w.next()?.to_string();
                let kernel = match kind {
                    "kernel" => Some(Launch {
                        block_size: w.block()?,
                        limit: w.number("limit")?,
                        input_bytes: w.number("input")?,
                    }),
                    _ => None,
                };
                if w.next()? != "|" {
                    return Err(w.wrong("`|` stands before a row of facts"));
                }
                let facts = w.facts()?;
                functions.push(Function {
                    name,
                    kernel,
                    code: Vec::new(),
                    facts,
                    calls: Vec::new(),
                    relocs: Vec::new(),
                });
            }
            other => return Err(w.wrong(format!("`{other}` is not a kernel, function or call"))),
        }
        w.end()?;
    }
    Ok(functions)
}
