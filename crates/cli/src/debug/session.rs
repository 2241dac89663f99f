//! What the debugger is doing: where to stop next, and what is asked for when it has stopped.

use super::command::{At, Break, Command, Motion, help};
use super::condition::Place;
use super::input::Input;
use super::show;
use super::target::End;
use crate::out;
use nvir::emu::engine::{Cx, Warp};
use nvir::isa::Op;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether to execute once more.
pub(super) enum Next {
    Again,
    Quit,
}

/// What goes on until something is asked for again.
#[derive(Clone, Debug)]
enum Mode {
    /// Forwards, until something is reached.
    Go(Motion),
    /// To the instruction of this number, from the beginning.
    To(u64),
    /// From the beginning up to the instruction `end`: the last one before it that a motion backwards leads to.
    Find { end: u64, motion: Motion, last: Option<u64> },
    /// The rest of the execution is of no interest.
    Abandoned,
}

/// A warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Focus {
    block: [u32; 3],
    warp: u32,
}

/// A place that is watched.
struct Watch {
    number: u32,
    place: Place,
    lane: usize,
    /// Whose it is; none of what all warps share.
    focus: Option<Focus>,
    /// The value at the last look.
    value: Option<u32>,
}

pub(super) struct Session {
    input: Input,
    interrupted: Arc<AtomicBool>,
    breaks: Vec<(u32, Break)>,
    watches: Vec<Watch>,
    next_number: u32,
    /// The instruction that comes next, counted over all warps from 1.
    position: u64,
    /// The one before it: whose it was, and its address.
    before: Option<(Focus, u32)>,
    mode: Mode,
    /// What the next execution does.
    again: Option<Mode>,
    /// The warp that is looked at, the source's line that it was at, and its line of code.
    focus: Option<Focus>,
    line: Option<String>,
    /// What an empty line does.
    repeated: Option<Command>,
    quit: bool,
}

/// What a command leads to.
enum Done {
    /// Another one is asked for.
    Stay,
    /// The execution goes on.
    Leave,
}

impl Session {
    pub(super) fn new(input: Input) -> Session {
        let interrupted = Arc::new(AtomicBool::new(false));
        if input.interactive() {
            // Without it Ctrl-C ends the program, as it does elsewhere.
            let _ = signal_hook::flag::register(signal_hook::consts::SIGINT, interrupted.clone());
        }
        Session {
            input,
            interrupted,
            breaks: Vec::new(),
            watches: Vec::new(),
            next_number: 1,
            position: 0,
            before: None,
            mode: Mode::To(1),
            again: None,
            focus: None,
            line: None,
            repeated: None,
            quit: false,
        }
    }

    /// A new execution begins.
    pub(super) fn begin(&mut self) {
        self.position = 0;
        self.before = None;
        self.watches.iter_mut().for_each(|w| w.value = None);
        self.mode = self.again.take().unwrap_or(Mode::To(1));
    }

    /// Before an instruction; false: the execution is given up.
    pub(super) fn before(&mut self, cx: &Cx<'_>, warp: &Warp) -> bool {
        if matches!(self.mode, Mode::Abandoned) {
            return false;
        }
        if cx.program().is_scheduling_word(warp.pc) {
            return true;
        }
        self.position += 1;
        let position = self.position;
        let here = Focus { block: cx.block(), warp: warp.index };
        let event = self.event(cx, warp, here);
        self.before = Some((here, warp.pc));
        let stops = match &mut self.mode {
            Mode::To(number) => *number == position,
            Mode::Go(_) => {
                event.is_some()
                    || self.interrupted.swap(false, Ordering::Relaxed)
                    || self.arrives(cx, warp, here)
            }
            Mode::Find { end, motion, last } => {
                if position >= *end {
                    let last = *last;
                    self.found(last);
                    return false;
                }
                let focused = self.focus.is_none_or(|f| f == here);
                let leads = match motion {
                    Motion::Run => event.is_some(),
                    Motion::Any(_) => true,
                    Motion::Step(_) | Motion::Warp { .. } => focused,
                    Motion::Line => focused && is_other_line(cx, warp, self.line.as_deref()),
                    Motion::Barrier => focused && is_barrier(cx, warp),
                };
                if leads {
                    *last = Some(position);
                }
                false
            }
            Mode::Abandoned => false,
        };
        if stops {
            self.stop(cx, warp, here, event);
        }
        !matches!(self.mode, Mode::Abandoned)
    }

    /// The breakpoint that is here, or the change of what is watched.
    fn event(&mut self, cx: &Cx<'_>, warp: &Warp, here: Focus) -> Option<String> {
        let mut event = None;
        for w in self.watches.iter_mut().filter(|w| w.focus.is_none_or(|f| f == here)) {
            let value = w.place.value(cx, warp, w.lane);
            if let (Some(before), Some(now)) = (w.value, value)
                && before != now
            {
                let mut text = format!("watch {}: {} was {before:08x}, is {now:08x}", w.number, w.place);
                if let Some((by, pc)) = self.before {
                    let Focus { block: [x, y, z], warp } = by;
                    text += &format!(
                        "\n   by #{} block ({x},{y},{z}) warp {warp} {pc:#06x}  {}",
                        self.position - 1,
                        cx.program().text(pc)
                    );
                }
                event = Some(text);
            }
            w.value = value.or(w.value);
        }
        event.or_else(|| {
            let hit = self.breaks.iter().find(|(_, b)| hits(b, cx, warp, here));
            hit.map(|(number, _)| format!("breakpoint {number}"))
        })
    }

    /// Whether a motion forwards ends here.
    fn arrives(&mut self, cx: &Cx<'_>, warp: &Warp, here: Focus) -> bool {
        let focus = *self.focus.get_or_insert(here);
        let Mode::Go(motion) = &mut self.mode else { return false };
        let focused = focus == here;
        // A warp that has ended comes to nothing more: whoever follows it stops at what comes then.
        let ended = !focused && (focus.block != here.block || cx.has_ended(focus.warp));
        match motion {
            Motion::Run => false,
            Motion::Any(left) => counted(left),
            Motion::Step(left) if focused => counted(left),
            Motion::Line if focused => is_other_line(cx, warp, self.line.as_deref()),
            Motion::Barrier if focused => is_barrier(cx, warp),
            Motion::Warp { block, warp } => *warp == here.warp && block.unwrap_or(here.block) == here.block,
            _ => {
                if ended {
                    out::stdout(format!("warp {} has ended\n", focus.warp).as_bytes());
                }
                ended
            }
        }
    }

    fn give_up(&mut self, again: Mode) {
        self.again = Some(again);
        self.mode = Mode::Abandoned;
    }

    /// A motion backwards leads to this instruction, or to nothing.
    fn found(&mut self, last: Option<u64>) {
        if last.is_none() {
            out::stdout(b"there is none before; this is the beginning\n");
        }
        self.give_up(Mode::To(last.unwrap_or(1)));
    }

    /// Says where the warp is, and asks what to do.
    fn stop(&mut self, cx: &Cx<'_>, warp: &Warp, here: Focus, event: Option<String>) {
        let mut text = String::new();
        // What the warp did before, if it was looked at.
        if self.focus == Some(here)
            && warp.at != warp.pc
            && let Some(done) = cx.executed(warp)
            && let Some((_, written)) = done.split_once("  ")
            && let Some((_, written)) = written.split_once("  ")
        {
            text += &format!("   {written}\n");
        }
        text += &event.map_or(String::new(), |e| e + "\n");
        text += &show::place(cx, warp, self.position);
        out::stdout(text.as_bytes());
        self.focus = Some(here);
        self.line = cx.program().line(warp.pc).map(str::to_string);
        loop {
            let Some(command) = self.command() else { return self.leave() };
            match self.obey(command, Some((cx, warp))) {
                Ok(Done::Stay) => {}
                Ok(Done::Leave) => return,
                Err(why) => out::stdout(format!("{why}\n").as_bytes()),
            }
        }
    }

    /// The execution has ended: by itself, or since it was given up.
    pub(super) fn ended(&mut self, end: &End) -> Next {
        if self.quit {
            return Next::Quit;
        }
        if self.again.is_some() {
            return Next::Again;
        }
        if let Mode::Find { last, .. } = self.mode {
            self.found(last);
            return Next::Again;
        }
        if self.position == 0 {
            out::stdout(format!("no instruction was executed; {}\n", end.how).as_bytes());
            return Next::Quit;
        }
        out::stdout(format!("{}\n", end.how).as_bytes());
        if end.faulted && !matches!(self.mode, Mode::To(_)) {
            out::stdout(b"the instruction that faults comes next:\n");
            self.again = Some(Mode::To(self.position));
            return Next::Again;
        }
        // Every instruction is behind it.
        self.position += 1;
        loop {
            let Some(command) = self.command() else { return Next::Quit };
            match self.obey(command, None) {
                Ok(Done::Stay) => {}
                Ok(Done::Leave) if self.quit => return Next::Quit,
                Ok(Done::Leave) => return Next::Again,
                Err(why) => out::stdout(format!("{why}\n").as_bytes()),
            }
        }
    }

    fn leave(&mut self) {
        self.quit = true;
        self.mode = Mode::Abandoned;
    }

    /// The next command; none at the end of the input.
    fn command(&mut self) -> Option<Command> {
        loop {
            let line = self.input.line()?;
            match Command::parse(&line) {
                Ok(Some(command)) => {
                    self.repeated =
                        matches!(command, Command::Go(_) | Command::Back(_)).then(|| command.clone());
                    return Some(command);
                }
                Ok(None) if self.input.interactive() && line.trim().is_empty() => {
                    if let Some(command) = &self.repeated {
                        return Some(command.clone());
                    }
                }
                Ok(None) => {}
                Err(why) => out::stdout(format!("{why}\n").as_bytes()),
            }
        }
    }

    fn obey(&mut self, command: Command, at: Option<(&Cx<'_>, &Warp)>) -> Result<Done, String> {
        let here = || {
            at.ok_or(
                "the execution has ended: `goto 1` begins again, `rany` goes back to its last instruction",
            )
        };
        let text = match command {
            Command::Go(motion) => {
                here()?;
                self.mode = Mode::Go(motion);
                return Ok(Done::Leave);
            }
            Command::Back(motion) => {
                if at.is_none() {
                    self.focus = None;
                }
                self.give_up(Mode::Find { end: self.position, motion, last: None });
                return Ok(Done::Leave);
            }
            Command::Goto(0) => return Err("instructions are counted from 1".into()),
            Command::Goto(number) if number > self.position && at.is_some() => {
                self.mode = Mode::To(number);
                return Ok(Done::Leave);
            }
            Command::Goto(number) => {
                self.give_up(Mode::To(number));
                return Ok(Done::Leave);
            }
            Command::Quit => {
                self.leave();
                return Ok(Done::Leave);
            }
            Command::Break(b) => {
                if let Some((cx, _)) = at {
                    is_somewhere(&b, cx)?;
                }
                self.breaks.push((self.next_number, b));
                self.numbered("breakpoint")
            }
            Command::Watch { place, lane } => {
                let (cx, warp) = here()?;
                let focus = (!place.is_common()).then_some(Focus { block: cx.block(), warp: warp.index });
                let value = place.value(cx, warp, lane);
                if value.is_none() && !matches!(place, Place::Local(_)) {
                    return Err(format!("{place}: there is nothing"));
                }
                self.watches.push(Watch { number: self.next_number, place, lane, focus, value });
                self.numbered("watch")
            }
            Command::Delete(None) => {
                self.breaks.clear();
                self.watches.clear();
                String::new()
            }
            Command::Delete(Some(number)) => {
                let before = self.breaks.len() + self.watches.len();
                self.breaks.retain(|b| b.0 != number);
                self.watches.retain(|w| w.number != number);
                if self.breaks.len() + self.watches.len() == before {
                    return Err(format!("there is no breakpoint {number}; `breaks` lists them"));
                }
                String::new()
            }
            Command::Breaks => self.list_of_breaks(),
            Command::Registers { first, last, view, lane } => {
                show::registers(here()?.1, first, last, view, lane)
            }
            Command::Predicates => show::predicates(here()?.1),
            Command::Stack => show::stack(here()?.1),
            Command::List(count) => {
                let (cx, warp) = here()?;
                show::list(cx, warp, count, |pc| self.breaks.iter().any(|(_, b)| is_at(b, cx, pc)))
            }
            Command::Examine { place, count, view, lane } => {
                let (cx, warp) = here()?;
                show::words(cx, warp, place, count, view, lane)?
            }
            Command::Where => {
                let (cx, warp) = here()?;
                show::place(cx, warp, self.position)
            }
            Command::Help => help(),
        };
        out::stdout(text.as_bytes());
        Ok(Done::Stay)
    }

    fn numbered(&mut self, what: &str) -> String {
        self.next_number += 1;
        format!("{what} {}\n", self.next_number - 1)
    }

    fn list_of_breaks(&self) -> String {
        let breaks = self.breaks.iter().map(|(number, b)| {
            let at = match b.at {
                At::Address(pc) => format!("{pc:#06x}"),
                At::Line(line) => format!("line {line}"),
            };
            let only = |what: &str, n: Option<String>| n.map_or(String::new(), |n| format!(", {what} {n}"));
            let block = b.block.map(|[x, y, z]| format!("{x},{y},{z}"));
            let condition = if b.condition.is_some() { ", under a condition" } else { "" };
            let (warp, lane) = (b.warp.map(|n| n.to_string()), b.lane.map(|n| n.to_string()));
            format!(
                "{number}: {at}{}{}{}{condition}\n",
                only("block", block),
                only("warp", warp),
                only("lane", lane)
            )
        });
        let watches = self.watches.iter().map(|w| format!("{}: watches {}\n", w.number, w.place));
        let all: String = breaks.chain(watches).collect();
        if all.is_empty() { "there are none; faults stop always\n".into() } else { all }
    }
}

/// Counts down; whether that was the last.
fn counted(left: &mut u64) -> bool {
    *left -= 1;
    *left == 0
}

/// Whether a breakpoint is at an address.
fn is_at(b: &Break, cx: &Cx<'_>, pc: u32) -> bool {
    match b.at {
        At::Address(address) => address == pc,
        At::Line(line) => show::line_number(cx, pc) == Some(line) && is_first_of_line(cx, pc),
    }
}

/// Refuses what no instruction of the program can be: a recording may have others.
fn is_somewhere(b: &Break, cx: &Cx<'_>) -> Result<(), String> {
    let program = cx.program();
    match b.at {
        At::Address(pc) if program.instruction(pc).is_none() => {
            Err(format!("no instruction is at {pc:#06x}"))
        }
        At::Line(line) => {
            let words =
                program.code().flat_map(|(start, words)| (0..words.len() as u32).map(move |n| start + 8 * n));
            let known = words.into_iter().any(|pc| show::line_number(cx, pc) == Some(line));
            known.then_some(()).ok_or_else(|| format!("no instruction is of line {line}"))
        }
        At::Address(_) => Ok(()),
    }
}

fn hits(b: &Break, cx: &Cx<'_>, warp: &Warp, here: Focus) -> bool {
    is_at(b, cx, warp.pc)
        && b.block.is_none_or(|block| block == here.block)
        && b.warp.is_none_or(|n| n == here.warp)
        && b.lane.is_none_or(|lane| warp.active >> lane & 1 != 0)
        && b.condition.is_none_or(|c| c.holds(cx, warp, b.lane))
}

/// Whether the instructions of a line begin at an address.
fn is_first_of_line(cx: &Cx<'_>, pc: u32) -> bool {
    pc.checked_sub(1).and_then(|before| cx.program().line(before)) != cx.program().line(pc)
}

/// Whether the warp is at a line of the source, and that another one.
fn is_other_line(cx: &Cx<'_>, warp: &Warp, line: Option<&str>) -> bool {
    cx.program().line(warp.pc).is_some_and(|now| line != Some(now))
}

fn is_barrier(cx: &Cx<'_>, warp: &Warp) -> bool {
    cx.program().instruction(warp.pc).is_some_and(|m| m.op == Op::Bar)
}
