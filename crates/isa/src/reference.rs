//! The reference page of an instruction set, written from its rows.
//!
//! ```text
//! FADD on gk110: unit Alu, 12 forms
//!   result     after 9 cycles
//!   ...
//!   FADD{.FTZ}{.RM|.RP|.RZ}{.SAT} R, R, c[][]
//!     opcode  0110 0010 11.. .... .... .... .... .... .... .... .... .... .... .... .... ..10
//!     47      FTZ
//! ```

use super::effects::{self, Access, Resource};
use super::row::{Bits, Group, Kind, Row, Slot};
use super::{Op, Table, latency};
use nvir_base::Chip;
use std::fmt::Write;

/// One line an operation: its name, how many forms it has, its unit, cycles to a reader of its
/// result, cycles from one to the next, and on Kepler what it issues together with.
pub fn index(chip: Chip) -> String {
    let mut out = String::new();
    let pairs = chip.has_sched_words();
    let head = if pairs { "  pairs" } else { "" };
    let _ =
        writeln!(out, "{:<14}{:>6}  {:<10}{:>7}{:>6}{head}", "operation", "forms", "unit", "result", "rate");
    for &op in Op::ALL {
        let forms = Table::for_chip(chip).of_op(op).len();
        if forms > 0 {
            let result = match latency::result(op) {
                _ if !results(chip, op).0 => "-".to_string(),
                latency::SCOREBOARD => "waits".to_string(),
                0 => "barrier".to_string(),
                n => n.to_string(),
            };
            let unit = format!("{:?}", latency::unit(op));
            let rate = interval(op);
            let set = if pairs { format!("  {}", latency::pair_set(op).name()) } else { String::new() };
            let _ = writeln!(out, "{:<14}{forms:>6}  {unit:<10}{result:>7}{rate:>6}{set}", op.name());
        }
    }
    out
}

/// Cycles from one of these operations to the next.
fn interval(op: Op) -> u32 {
    let row = if latency::row(op) == latency::Row::None { 1 } else { latency::ROW_INTERVAL };
    latency::queue(op).map_or(row, |q| latency::queue_interval(q, q))
}

/// Those that share a port with an operation.
fn shared_with(op: Op) -> Vec<&'static str> {
    let (row, queue) = (latency::row(op), latency::queue(op));
    let same = |o: Op| {
        row != latency::Row::None && latency::row(o) == row || queue.is_some() && latency::queue(o) == queue
    };
    Op::ALL.iter().filter(|&&o| o != op && same(o)).map(|o| o.name()).collect()
}

/// Whether an operation has a register as result, and whether a predicate.
fn results(chip: Chip, op: Op) -> (bool, bool) {
    let (mut register, mut predicate) = (false, false);
    for row in Table::for_chip(chip).of_op(op) {
        // Fields of zeros are R0 and P0.
        let Some(m) = super::decode(chip, row.bits, 0) else { continue };
        // Named, that is: a mask of zeros asks for no component.
        let each = |_, r, _, access| match r {
            Resource::Gpr(_) => register |= access == Access::Write,
            Resource::Pred(_) => predicate |= access == Access::Write,
            Resource::Carry => {}
        };
        effects::named(&m, each, |_| ());
    }
    (register, predicate)
}

/// When the result is there, how often it issues, and with what.
fn timing(out: &mut String, chip: Chip, op: Op) {
    let (register, predicate) = results(chip, op);
    let _ = match latency::result(op) {
        _ if !register => Ok(()),
        latency::SCOREBOARD => writeln!(
            out,
            "  result     when the hardware says so, after {} cycles as a rule",
            latency::typical(op)
        ),
        0 => writeln!(out, "  result     behind TEXDEPBAR, after {} cycles as a rule", latency::typical(op)),
        n if latency::typical(op) > n => {
            writeln!(
                out,
                "  result     after {n} cycles; the hardware waits, for {} as a rule",
                latency::typical(op)
            )
        }
        n => writeln!(out, "  result     after {n} cycles"),
    };
    if predicate {
        let _ = writeln!(out, "  predicate  after {} cycles", latency::predicate(op));
    }
    let shared = shared_with(op);
    let with = if shared.is_empty() { String::new() } else { format!(", and with {}", shared.join(" ")) };
    match interval(op) {
        1 => _ = writeln!(out, "  rate       one in every cycle"),
        n => _ = writeln!(out, "  rate       one in {n} cycles{with}"),
    }
    if latency::holds_sources(op) {
        let _ = writeln!(out, "  sources    kept for {} cycles", latency::HOLD);
    }
    if chip.has_sched_words() {
        let _ = writeln!(out, "  pairs      {}", latency::pair_set(op).name());
    }
}

/// Every form of an operation with its fields; none if the chip does not have it.
pub fn page(chip: Chip, op: Op) -> Option<String> {
    let rows = Table::for_chip(chip).of_op(op);
    if rows.is_empty() {
        return None;
    }
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{} on {chip}: unit {:?}, {} form{}",
        op.name(),
        latency::unit(op),
        rows.len(),
        if rows.len() == 1 { "" } else { "s" }
    );
    timing(&mut out, chip, op);
    for row in rows {
        form(&mut out, row);
    }
    Some(out)
}

fn form(out: &mut String, row: &Row) {
    let suffixes: String = row.groups.iter().map(summary).collect();
    let operands: Vec<String> = row.slots.iter().map(operand).collect();
    let guard = if row.guard.is_some() { "{@P} " } else { "" };
    let sync = if row.sync.exists() { "{.S}" } else { "" };
    let short = if row.short { " {short}" } else { "" };
    let _ = writeln!(out, "\n  {guard}{}{suffixes}{sync} {}{short}", row.op.name(), operands.join(", "));
    if row.variant > 0 {
        let _ = writeln!(out, "    another encoding of the same text");
    }
    let _ = writeln!(out, "    {:<8}{}", "opcode", pattern(row));
    let mut fields: Vec<(Bits, String)> = Vec::new();
    if let Some(Kind::Pred { at, not }) = row.guard {
        fields.push((at, "guard predicate".to_string()));
        fields.push((Bits { lo: not.0, n: 1, lo2: 0, n2: 0 }, "guard negated".to_string()));
    }
    if row.sync.exists() {
        fields.push((Bits { lo: row.sync.0, n: 1, lo2: 0, n2: 0 }, ".S".to_string()));
    }
    for g in row.groups.iter().filter(|g| g.at.width() > 0) {
        fields.push((g.at, values(g)));
    }
    for (n, s) in row.slots.iter().enumerate() {
        fields.extend(s.fields().map(|(what, at)| (at, format!("operand {}: {what}", n + 1))));
    }
    fields.sort_by_key(|(at, _)| at.lo);
    for (at, what) in fields {
        let _ = writeln!(out, "    {:<8}{what}", span(at));
    }
    for &(mask, value) in &row.except {
        let _ = writeln!(out, "    not when word & {mask:#018x} == {value:#018x}: another form");
    }
}

/// `47`, `42-43`, `23-41,59`.
fn span(at: Bits) -> String {
    let run = |lo: u8, n: u8| if n == 1 { format!("{lo}") } else { format!("{lo}-{}", lo + n - 1) };
    if at.n2 == 0 { run(at.lo, at.n) } else { format!("{},{}", run(at.lo, at.n), run(at.lo2, at.n2)) }
}

/// The bits from the highest down, 32 of a short form and 64 of others: 0 and 1 are fixed, `-` is
/// ignored, a point belongs to a field.
fn pattern(row: &Row) -> String {
    let bit = |n: u32| match n {
        _ if row.mask >> n & 1 == 1 => char::from(b'0' + (row.bits >> n & 1) as u8),
        _ if row.free >> n & 1 == 1 => '-',
        _ => '.',
    };
    let bits = if row.short { 32 } else { 64 };
    (0..bits)
        .rev()
        .flat_map(|n| std::iter::once(bit(n)).chain((n % 8 == 0 && n > 0).then_some(' ')))
        .collect()
}

fn name(mods: &[super::Mod]) -> String {
    mods.iter().map(|m| format!(".{}", m.name())).collect()
}

/// `{.FTZ}`, `.AND|.OR|.XOR`.
fn summary(g: &Group) -> String {
    let mut names: Vec<String> = Vec::new();
    for n in g.names.iter().flatten().map(|n| name(n)) {
        if !names.contains(&n) {
            names.push(n);
        }
    }
    let optional = names.iter().any(String::is_empty);
    names.retain(|n| !n.is_empty());
    match (optional, names.len()) {
        (_, 0) => String::new(),
        (true, _) => format!("{{{}}}", names.join("|")),
        (false, 1) => names.remove(0),
        (false, _) => format!("({})", names.join("|")),
    }
}

fn values(g: &Group) -> String {
    let named = |(v, n): (usize, &Option<&'static [super::Mod]>)| {
        n.map(|n| if n.is_empty() { format!("{v} (none)") } else { format!("{v} {}", name(n)) })
    };
    g.names.iter().enumerate().filter_map(named).collect::<Vec<_>>().join(", ")
}

fn operand(s: &Slot) -> String {
    let plain = match s.kind {
        Kind::Reg(_) | Kind::Tied { .. } => "R".to_string(),
        Kind::Pred { not, .. } => if not.exists() { "{!}P" } else { "P" }.to_string(),
        Kind::Imm { at, enc } => format!("imm{}:{enc:?}", at.width()),
        Kind::True => "PT".to_string(),
        Kind::Const { .. } => "c[][]".to_string(),
        Kind::ConstOf { bank, .. } => format!("c[{bank:#x}][]"),
        Kind::ConstInd { .. } => "c[][R+]".to_string(),
        Kind::Mem { offset, .. } => format!("[R+imm{}]", offset.width()),
        Kind::Attr { offset, .. } => format!("a[R+imm{}]", offset.width()),
        Kind::Sreg(_) => "SR".to_string(),
        Kind::TargetRel(_) | Kind::TargetNear(_) | Kind::TargetAbs(_) => "target".to_string(),
        Kind::CcTest(_) => "CC.test".to_string(),
        Kind::Word { words, .. } => words.iter().flatten().map(|w| w.name()).collect::<Vec<_>>().join("|"),
    };
    let plain = if s.mods.abs.exists() { format!("{{|}}{plain}{{|}}") } else { plain };
    let plain = if s.mods.neg.exists() { format!("{{-}}{plain}") } else { plain };
    let plain = if s.mods.inv.exists() { format!("{{~}}{plain}") } else { plain };
    let part = match s.sel {
        Some((_, names)) => {
            let names: Vec<&str> = names.iter().flatten().filter_map(|n| n.name()).collect();
            format!("{{.{}}}", names.join("|."))
        }
        None => String::new(),
    };
    format!("{plain}{part}{}", if s.cc.exists() { "{.CC}" } else { "" })
}
