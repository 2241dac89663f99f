//! What is printed of a warp.

use super::condition::{Place, View};
use nvir::emu::engine::open::{LANES, Wait};
use nvir::emu::engine::{Cx, Warp};
use std::fmt::Write;

/// The lanes that run.
pub(super) fn running(warp: &Warp) -> impl Iterator<Item = usize> + use<> {
    let active = warp.active;
    (0..LANES).filter(move |lane| active >> lane & 1 != 0)
}

/// The number of the source's line that an address belongs to.
pub(super) fn line_number(cx: &Cx<'_>, pc: u32) -> Option<u64> {
    cx.program().line(pc)?.split(':').nth(1)?.trim().parse().ok()
}

/// Number, warp, address, instruction, source.
pub(super) fn place(cx: &Cx<'_>, warp: &Warp, number: u64) -> String {
    let [x, y, z] = cx.block();
    let pc = warp.pc;
    let kernel = match cx.kernel() {
        "" => String::new(),
        name => format!(" of {name}"),
    };
    let mut out = format!(
        "#{number} block ({x},{y},{z}) warp {}{kernel}, threads {:08x}\n=> {pc:#06x}  {}",
        warp.index,
        warp.active,
        cx.program().text(pc)
    );
    if let Some(line) = cx.program().line(pc) {
        let _ = write!(out, "\n   {}", line.trim_end());
    }
    out + "\n"
}

/// The code around, with an arrow at what comes next and a star at breakpoints.
pub(super) fn list(cx: &Cx<'_>, warp: &Warp, count: usize, broken: impl Fn(u32) -> bool) -> String {
    let mut out = String::new();
    let mut before = None;
    for (pc, text) in cx.program().around(warp.pc, count.div_ceil(2)) {
        let line = cx.program().line(pc);
        if line != before
            && let Some(line) = line
        {
            let _ = writeln!(out, "   {}", line.trim_end());
        }
        before = line;
        let arrow = if pc == warp.pc { "=>" } else { "  " };
        let star = if broken(pc) { '*' } else { ' ' };
        let _ = writeln!(out, "{arrow}{star}{pc:#06x}  {text}");
    }
    out
}

/// Columns in a line.
fn columns(out: &mut String, cells: impl Iterator<Item = String>, most: usize, indent: &str) {
    let cells: Vec<String> = cells.collect();
    let width = cells.iter().map(String::len).max().unwrap_or(0);
    for row in cells.chunks(most) {
        let row: Vec<String> = row.iter().map(|cell| format!("{cell:<width$}")).collect();
        let _ = writeln!(out, "{indent}{}", row.join("  ").trim_end());
    }
}

/// Registers from one to another: what all threads that run have alike in columns, the others a thread each.
pub(super) fn registers(warp: &Warp, first: u8, last: u8, view: View, lane: Option<usize>) -> String {
    let end = usize::from(last).saturating_add(1).min(warp.regs.len());
    let rows = || (usize::from(first)..end).map(|n| (n, &warp.regs[n].0));
    let mut out = String::new();
    if let Some(lane) = lane {
        columns(&mut out, rows().map(|(n, row)| format!("R{n} = {}", view.text(row[lane]))), 4, "");
        return out;
    }
    let alike = |row: &[u32; LANES]| {
        let mut values = running(warp).map(|lane| row[lane]);
        let head = values.next().unwrap_or(0);
        values.all(|v| v == head).then_some(head)
    };
    let common = rows().filter_map(|(n, row)| Some(format!("R{n} = {}", view.text(alike(row)?))));
    columns(&mut out, common, 4, "");
    for (n, row) in rows().filter(|(_, row)| alike(row).is_none()) {
        let _ = writeln!(out, "R{n}, by thread:");
        let value = |lane| if warp.active >> lane & 1 != 0 { view.text(row[lane]) } else { "-".into() };
        columns(&mut out, (0..LANES).map(value), 8, "  ");
    }
    if out.is_empty() {
        out = format!("the program has {} registers\n", warp.regs.len());
    }
    out
}

pub(super) fn predicates(warp: &Warp) -> String {
    let mut out = String::new();
    columns(&mut out, (0..7).map(|p| format!("P{p} = {:08x}", warp.preds[p])), 4, "");
    let cc = &warp.cc;
    let flags = [("zero", cc.zero), ("sign", cc.sign), ("carry", cc.carry), ("overflow", cc.overflow)];
    columns(&mut out, flags.iter().map(|(name, mask)| format!("CC.{name} = {mask:08x}")), 4, "");
    out
}

/// Masks, and the divergence stack from its top.
pub(super) fn stack(warp: &Warp) -> String {
    let mut out = format!("threads that run {:08x}, that have not ended {:08x}\n", warp.active, warp.live);
    for entry in warp.stack.iter().rev() {
        let what = match entry.wait {
            Wait::Div => "the other side of a branch",
            Wait::Ssy => "SSY",
            Wait::Pbk => "PBK",
            Wait::Pcnt => "PCNT",
            Wait::Ret => "CAL",
            Wait::Jmp => "PLONGJMP",
        };
        let _ = writeln!(
            out,
            "{what}: threads {:08x} go on at {:#06x}, {:08x} wait",
            entry.mask, entry.pc, entry.waiting
        );
    }
    if warp.stack.is_empty() {
        out.push_str("the divergence stack is empty\n");
    }
    out
}

/// Words of memory from a place on.
pub(super) fn words(
    cx: &Cx<'_>,
    warp: &Warp,
    place: Place,
    count: u64,
    view: View,
    lane: usize,
) -> Result<String, String> {
    let at = |n: u64| match place {
        Place::Global(at) => at.checked_add(4 * n).map(Place::Global),
        Place::Shared(at) => at.checked_add(4 * n).map(Place::Shared),
        Place::Local(at) => at.checked_add(4 * n).map(Place::Local),
        _ => None,
    };
    let read = |n| at(n).and_then(|p| p.value(cx, warp, lane));
    let values: Vec<u32> = (0..count).map_while(read).collect();
    if values.is_empty() {
        return Err(match place {
            Place::Register(_) | Place::Predicate(_) => format!("{place} is not in memory: `regs` shows it"),
            Place::Local(_) => format!("{place}: nothing has been stored there"),
            _ => format!("{place}: there is no memory"),
        });
    }
    let mut out = String::new();
    for (n, row) in values.chunks(4).enumerate() {
        let head = at(4 * n as u64).map_or(String::new(), |p| p.to_string());
        let row: Vec<String> = row.iter().map(|&bits| view.text(bits)).collect();
        let _ = writeln!(out, "{head}  {}", row.join("  "));
    }
    if (values.len() as u64) < count {
        out.push_str("no more memory\n");
    }
    Ok(out)
}
