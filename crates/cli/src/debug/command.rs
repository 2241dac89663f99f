//! The commands, read from a line.

use super::condition::{Condition, Place, View, number};

/// Where a breakpoint is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum At {
    Address(u32),
    /// A line of the source, by its number: where its instructions begin.
    Line(u64),
}

/// A breakpoint: where, and for whom.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Break {
    pub at: At,
    pub block: Option<[u32; 3]>,
    pub warp: Option<u32>,
    pub lane: Option<usize>,
    pub condition: Option<Condition>,
}

/// A motion, forwards or backwards.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Motion {
    /// To a breakpoint, a watched change, a fault or the end.
    Run,
    /// Instructions of this warp.
    Step(u64),
    /// Instructions of any.
    Any(u64),
    /// To another line of the source, in this warp.
    Line,
    /// To the warp's next barrier.
    Barrier,
    /// Until this warp is executed.
    Warp { block: Option<[u32; 3]>, warp: u32 },
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Command {
    Go(Motion),
    Back(Motion),
    /// To the instruction of that number.
    Goto(u64),
    Break(Break),
    Watch {
        place: Place,
        lane: usize,
    },
    Delete(Option<u32>),
    Breaks,
    Registers {
        first: u8,
        last: u8,
        view: View,
        lane: Option<usize>,
    },
    Predicates,
    Stack,
    List(usize),
    Examine {
        place: Place,
        count: u64,
        view: View,
        lane: usize,
    },
    Where,
    Help,
    Quit,
}

/// Names, and what `help` says of each.
const NAMES: [(&str, &str, &str); 24] = [
    ("run", "", "on to a breakpoint, a watched change, a fault, or the end"),
    ("step", "[N]", "the next instruction of this warp, or N of them"),
    ("any", "[N]", "the next instruction of any warp"),
    ("next", "", "on to another line of the source, in this warp"),
    ("barrier", "", "on to this warp's next BAR"),
    ("rrun", "", "back to the last breakpoint or watched change"),
    ("rstep", "", "back to this warp's instruction before"),
    ("rany", "", "back to the instruction before, of any warp"),
    ("rnext", "", "back to another line of the source, in this warp"),
    ("rbarrier", "", "back to this warp's last BAR"),
    ("goto", "N", "to instruction number N of the execution, wherever it is"),
    ("warp", "N [block X,Y,Z]", "on to where that warp is executed"),
    (
        "break",
        "0xADDRESS|LINE [warp N] [block X,Y,Z] [lane N] [if R3 == 7]",
        "stop there; `R4:f > 0.5` reads floats, :i signed numbers",
    ),
    ("watch", "PLACE [lane N]", "stop where it changes: R3, P0, g[0x1000], s[0x10], l[0]"),
    ("delete", "[N]", "a breakpoint, or all"),
    ("breaks", "", "which there are"),
    ("regs", "[R3[-R7]] [x|u|i|f] [lane N]", "registers: once where all threads that run have the same"),
    ("preds", "", "predicates and the condition code, a bit for each thread"),
    ("stack", "", "masks, and the divergence stack"),
    ("list", "[N]", "N instructions around"),
    ("x", "PLACE [N] [x|u|i|f] [lane N]", "N words of memory from there"),
    ("where", "", "which instruction of which warp comes next"),
    ("help", "", "this list"),
    ("quit", "", "the end"),
];

/// The list of commands.
pub(super) fn help() -> String {
    let width = NAMES.iter().map(|(name, args, _)| name.len() + 1 + args.len()).max().unwrap_or(0).min(34);
    let line = |(name, args, what): &(&str, &str, &str)| {
        let head = format!("{name} {args}");
        match head.len() > width {
            true => format!("{head}\n{:width$}  {what}\n", ""),
            false => format!("{head:<width$}  {what}\n"),
        }
    };
    NAMES.iter().map(line).collect()
}

/// The words after a command's name.
struct Words<'a>(std::vec::IntoIter<&'a str>);

impl<'a> Words<'a> {
    fn number(&mut self, otherwise: u64) -> Result<u64, String> {
        self.0.next().map_or(Ok(otherwise), parsed)
    }

    fn next(&mut self, what: &str) -> Result<&'a str, String> {
        self.0.next().ok_or_else(|| format!("{what} is missing"))
    }

    /// What follows a word such as `lane`, if it comes next.
    fn after(&mut self, word: &str) -> Result<Option<&'a str>, String> {
        match self.0.as_slice().first() {
            Some(&first) if first == word => {
                self.0.next();
                self.next(&format!("what `{word}` is")).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn lane(&mut self) -> Result<Option<usize>, String> {
        let Some(text) = self.after("lane")? else { return Ok(None) };
        match parsed(text)? {
            lane @ 0..32 => Ok(Some(lane as usize)),
            _ => Err("lanes are 0 to 31".into()),
        }
    }

    fn view(&mut self, otherwise: View) -> View {
        let view = self.0.as_slice().first().and_then(|word| View::of(word));
        if view.is_some() {
            self.0.next();
        }
        view.unwrap_or(otherwise)
    }
}

fn parsed(text: &str) -> Result<u64, String> {
    number(text).ok_or_else(|| format!("`{text}` is not a number"))
}

fn small(text: &str) -> Result<u32, String> {
    u32::try_from(parsed(text)?).map_err(|_| format!("{text} is too large"))
}

fn block(text: &str) -> Result<[u32; 3], String> {
    let parts: Vec<u32> = text.split(',').map(small).collect::<Result<_, _>>()?;
    match *parts.as_slice() {
        [x] => Ok([x, 0, 0]),
        [x, y] => Ok([x, y, 0]),
        [x, y, z] => Ok([x, y, z]),
        _ => Err(format!("`{text}` is not a block: X,Y,Z")),
    }
}

impl Command {
    /// The command that a line is; none of an empty one. Names may be shortened as long as only one begins that way.
    pub(super) fn parse(line: &str) -> Result<Option<Command>, String> {
        let line = line.split('#').next().unwrap_or("");
        let mut words = line.split_whitespace();
        let Some(word) = words.next() else { return Ok(None) };
        // As debuggers have them.
        let name = match word {
            "c" | "continue" | "r" => "run",
            "s" => "step",
            "n" => "next",
            "b" => "break",
            "rc" => "rrun",
            "rs" => "rstep",
            "rn" => "rnext",
            "l" => "list",
            "w" => "where",
            "i" => "regs",
            word => {
                let exact = NAMES.iter().find(|n| n.0 == word);
                let mut begun = NAMES.iter().filter(|n| n.0.starts_with(word));
                match (exact, begun.next(), begun.next()) {
                    (Some(n), ..) | (None, Some(n), None) => n.0,
                    (None, Some(a), Some(b)) => return Err(format!("`{word}` is `{}` or `{}`", a.0, b.0)),
                    (None, None, _) => return Err(format!("unknown command `{word}`; `help` lists them")),
                }
            }
        };
        let mut words = Words(words.collect::<Vec<_>>().into_iter());
        let command = Command::named(name, &mut words)?;
        match words.0.next() {
            Some(rest) => Err(format!("`{rest}` says nothing here; `help` shows what `{name}` takes")),
            None => Ok(Some(command)),
        }
    }

    fn named(name: &str, words: &mut Words<'_>) -> Result<Command, String> {
        Ok(match name {
            "run" => Command::Go(Motion::Run),
            "step" => Command::Go(Motion::Step(words.number(1)?.max(1))),
            "any" => Command::Go(Motion::Any(words.number(1)?.max(1))),
            "next" => Command::Go(Motion::Line),
            "barrier" => Command::Go(Motion::Barrier),
            "rrun" => Command::Back(Motion::Run),
            "rstep" => Command::Back(Motion::Step(1)),
            "rany" => Command::Back(Motion::Any(1)),
            "rnext" => Command::Back(Motion::Line),
            "rbarrier" => Command::Back(Motion::Barrier),
            "goto" => Command::Goto(parsed(words.next("the instruction's number")?)?),
            "warp" => {
                let warp = small(words.next("the warp's number")?)?;
                let block = words.after("block")?.map(block).transpose()?;
                Command::Go(Motion::Warp { block, warp })
            }
            "break" => {
                let at = words.next("the address (0x48) or the source's line (5)")?;
                let at = match at.starts_with("0x") {
                    true => At::Address(small(at)?),
                    false => At::Line(parsed(at)?),
                };
                let (mut all_of, mut in_block) = (None, None);
                loop {
                    if let Some(n) = words.after("warp")? {
                        all_of = Some(small(n)?);
                    } else if let Some(b) = words.after("block")? {
                        in_block = Some(block(b)?);
                    } else {
                        break;
                    }
                }
                let lane = words.lane()?;
                let condition = match words.0.as_slice() {
                    ["if", condition @ ..] => Some(Condition::parse(condition)?),
                    _ => None,
                };
                if condition.is_some() {
                    words.0 = Vec::new().into_iter();
                }
                Command::Break(Break { at, block: in_block, warp: all_of, lane, condition })
            }
            "watch" => {
                let place = Place::parse(words.next("the place (R3, g[0x1000])")?)?;
                Command::Watch { place, lane: words.lane()?.unwrap_or(0) }
            }
            "delete" => Command::Delete(words.0.next().map(small).transpose()?),
            "breaks" => Command::Breaks,
            "regs" => {
                let named = words.0.as_slice().first().is_some_and(|w| w.starts_with(['R', 'r']));
                let (first, last) = if named { registers(words.next("the register")?)? } else { (0, 254) };
                Command::Registers { first, last, view: words.view(View::Hex), lane: words.lane()? }
            }
            "preds" => Command::Predicates,
            "stack" => Command::Stack,
            "list" => Command::List(words.number(11)?.clamp(1, 1000) as usize),
            "x" => {
                let place = Place::parse(words.next("the place (g[0x1000], s[0], l[0])")?)?;
                let counted = words.0.as_slice().first().is_some_and(|w| number(w).is_some());
                let count = if counted { words.number(1)? } else { 1 };
                let (view, lane) = (words.view(View::Hex), words.lane()?.unwrap_or(0));
                Command::Examine { place, count: count.min(1 << 16), view, lane }
            }
            "where" => Command::Where,
            "help" => Command::Help,
            _ => Command::Quit,
        })
    }
}

/// `R3` or `R3-R7`.
fn registers(text: &str) -> Result<(u8, u8), String> {
    let one = |text: &str| match Place::parse(text)? {
        Place::Register(n) => Ok(n),
        _ => Err(format!("`{text}` is not a register")),
    };
    match text.split_once('-') {
        Some((first, last)) => Ok((one(first)?, one(last)?)),
        None => one(text).map(|n| (n, n)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_be_short_but_not_ambiguous() {
        for (line, motion) in [
            ("ru", Motion::Run),
            ("s 3", Motion::Step(3)),
            ("n # on", Motion::Line),
            ("step 0", Motion::Step(1)),
        ] {
            assert_eq!(Command::parse(line), Ok(Some(Command::Go(motion))), "{line}");
        }
        assert_eq!(Command::parse("  # nothing"), Ok(None));
        assert_eq!(Command::parse("rst"), Ok(Some(Command::Back(Motion::Step(1)))));
        assert_eq!(Command::parse("q"), Ok(Some(Command::Quit)));
        assert!(Command::parse("wa").unwrap_err().contains("`warp` or `watch`"));
        assert!(Command::parse("jump").unwrap_err().contains("unknown command"));
        assert!(help().contains("rbarrier"));
    }

    #[test]
    fn breakpoints_say_where_for_whom_and_when() {
        let line = "break 0x48 block 1,2 warp 3 lane 4 if R3:f >= 1.5";
        let Ok(Some(Command::Break(b))) = Command::parse(line) else { panic!("{line}") };
        assert_eq!((b.at, b.block, b.warp, b.lane), (At::Address(0x48), Some([1, 2, 0]), Some(3), Some(4)));
        assert!(b.condition.is_some());
        assert!(matches!(Command::parse("b 12"), Ok(Some(Command::Break(Break { at: At::Line(12), .. })))));
        for (line, why) in [
            ("break", "is missing"),
            ("break here", "`here` is not a number"),
            ("break 0x8 lane 32", "lanes are 0 to 31"),
            ("break 0x8 warp", "is missing"),
            ("break 0x8 if R3", "is like"),
            ("break 0x8 always", "`always` says nothing here"),
            ("regs P0-P1", "says nothing here"),
            ("regs R3-P1", "`P1` is not a register"),
            ("x q[0]", "is not a place"),
            ("goto", "is missing"),
            ("step 99999999999999999999", "is not a number"),
        ] {
            let said = Command::parse(line).expect_err(line);
            assert!(said.contains(why), "{line}: {said}");
        }
    }
}
