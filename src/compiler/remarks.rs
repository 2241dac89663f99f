//! Remarks that need what the whole pipeline knows.

use crate::diag::Loc;
use crate::ir::Program;
use crate::ra::{Move, ProgramAllocation};
use crate::remark::Remark;
use std::collections::BTreeMap;

/// Where values go to local memory and come back, by place in the source.
pub(super) fn spills(program: &Program, alloc: &ProgramAllocation, limit: u32) -> Vec<Remark> {
    let mut found = Vec::new();
    for (id, f) in &program.funcs {
        let a = &alloc.funcs[id];
        if a.spills + a.fills == 0 {
            continue;
        }
        // Words stored and loaded by place.
        let mut places: BTreeMap<Option<crate::diag::Span>, [u32; 2]> = BTreeMap::new();
        let mut add = |loc: Loc, moves: &[Move]| {
            for m in moves {
                match m {
                    Move::Store { words, .. } => places.entry(loc.0).or_default()[0] += u32::from(*words),
                    Move::Load { words, .. } => places.entry(loc.0).or_default()[1] += u32::from(*words),
                    _ => {}
                }
            }
        };
        for &b in &f.layout {
            let first = f.blocks[b].body.first().map_or(f.blocks[b].term_loc, |&i| f.insts[i].loc);
            add(first, a.block_start(b));
            for &i in &f.blocks[b].body {
                add(f.insts[i].loc, a.before(i));
                add(f.insts[i].loc, a.after(i));
            }
            add(f.blocks[b].term_loc, a.block_end(b));
        }
        found.extend(places.into_iter().map(|(span, [stored, loaded])| {
            let of = |n: u32| if n == 1 { "1 value".to_string() } else { format!("{n} values") };
            let what = match (stored, loaded) {
                (n, 0) => format!("{} to local memory", of(n)),
                (0, n) => format!("{} from local memory again", of(n)),
                (n, m) => format!("{} to local memory and {} back", of(n), of(m)),
            };
            let message = format!("spilled: {what}, since more are alive than {limit} registers hold");
            Remark { loc: Loc(span), pass: "registers", message }
        }));
    }
    found
}
