//! Special registers of kernels: threads' and blocks' numbers and sizes, and what is the same in every warp.

use super::super::frame::{LANE_ROWS, field};
use super::group::{Group, Lanes};
use super::vector::{ROW, WORDS};
use cranelift_codegen::ir::{InstBuilder, types};
use nvir_emu::engine::open::{self, special};

/// Where a special register is found.
enum Place {
    /// In the frame: a row of the warp's.
    Threads(usize),
    /// In the frame: a word.
    Size(usize),
    /// In the state of the block: a word.
    Block(usize),
    /// In the tables: a row.
    Lanes(usize),
}

fn place(reg: u8) -> Option<Place> {
    let axis = |first: u8| usize::from(reg - first);
    Some(match reg {
        special::TID_X..=special::TID_Z => Place::Threads(axis(special::TID_X) * ROW),
        special::NTID_X..=special::NTID_Z => Place::Size(axis(special::NTID_X) * 4),
        special::NCTAID_X..=special::NCTAID_Z => Place::Size((3 + axis(special::NCTAID_X)) * 4),
        special::CTAID_X..=special::CTAID_Z => Place::Block(open::CTAID + axis(special::CTAID_X) * 4),
        _ => Place::Lanes(field::LANES + LANE_ROWS.iter().position(|&r| r == reg)? * ROW),
    })
}

/// Whether [`Group::special`] knows a register.
pub(super) fn is_known(reg: u8) -> bool {
    place(reg).is_some()
}

impl Group<'_, '_, '_> {
    /// The value of a register that is known.
    pub(super) fn special(&mut self, reg: u8) -> Lanes {
        let places = self.places;
        let value = match place(reg) {
            Some(Place::Threads(offset)) => {
                let rows = self.e.load(types::I64, places.frame, field::THREADS);
                let rows = self.e.add(rows, places.offset);
                self.e.load(WORDS, rows, offset)
            }
            Some(Place::Lanes(offset)) => {
                let rows = self.e.add(places.tables, places.offset);
                self.e.load(WORDS, rows, offset)
            }
            Some(Place::Size(offset)) => {
                let word = self.e.load(types::I32, places.frame, field::SIZES + offset);
                self.e.b.ins().splat(WORDS, word)
            }
            Some(Place::Block(offset)) => {
                let word = self.e.load(types::I32, places.block, offset);
                self.e.b.ins().splat(WORDS, word)
            }
            None => unreachable!("S2R of {reg} is not one of is_known"),
        };
        Lanes::exact(value)
    }
}
