//! Where registers live: as variables, or, when they are indexed dynamically, in the thread's local memory.
//!
//! A declared array `TEMP[2..9], ARRAY(1)` goes to memory as a whole as soon as anything indexes it dynamically, and
//! so does the whole file when an access does not say which array it is for. A component of a register in memory is
//! at `base + 16 * (index - first) + 4 * component`; all functions of the program share these places.

use rustc_hash::FxHashMap;

use super::super::ast::*;
use crate::ir::{Extent, Space};

/// A run of registers in local memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Array {
    pub first: u32,
    pub last: u32,
    /// Byte address of the first register, a multiple of 16.
    pub base: u32,
}

/// The registers in memory.
#[derive(Default)]
pub(super) struct Storage {
    arrays: Vec<(File, Array)>,
    /// The array that a register is in.
    of: FxHashMap<(File, u32), usize>,
    /// The first byte after the arrays.
    pub end: u32,
}

/// Files whose registers are the program's to write and can be indexed.
const FILES: [File; 2] = [File::Temp, File::Addr];

impl Storage {
    /// Places what must be in memory from address `start` on.
    pub(super) fn new(ast: &Program, start: u32) -> Storage {
        let mut s = Storage { end: start.next_multiple_of(16), ..Storage::default() };
        if regs(ast).any(|reg| reg.index.indirect.is_some()) {
            for file in FILES {
                s.place_file(ast, file);
            }
        }
        s
    }

    fn place_file(&mut self, ast: &Program, file: File) {
        let arrays: Vec<&Decl> = ast.decls.iter().filter(|d| d.file == file && d.array != 0).collect();
        let mut used = vec![false; arrays.len()];
        let mut whole = false;
        let mut top = ast.decls.iter().filter(|d| d.file == file).map(|d| d.last).max();
        for reg in regs(ast).filter(|reg| reg.file == file) {
            match reg.index.indirect {
                None => top = top.max(Some(reg.index.offset.max(0) as u32)),
                Some(i) => match arrays.iter().position(|d| d.array == i.array) {
                    Some(n) => used[n] = true,
                    None => whole = true,
                },
            }
        }
        if whole {
            self.place(file, 0, top.unwrap_or(0));
            return;
        }
        for (d, _) in arrays.iter().zip(used).filter(|(_, used)| *used) {
            self.place(file, d.first, d.last);
        }
    }

    fn place(&mut self, file: File, first: u32, last: u32) {
        let n = self.arrays.len();
        self.arrays.push((file, Array { first, last, base: self.end }));
        self.end += (last - first + 1) * 16;
        for index in first..=last {
            self.of.insert((file, index), n);
        }
    }

    /// Whether no register is in memory, and none is indexed dynamically.
    pub(super) fn is_empty(&self) -> bool {
        self.arrays.is_empty()
    }

    /// The array that holds a register, if it is in memory.
    pub(super) fn find(&self, file: File, index: u32) -> Option<Array> {
        self.of.get(&(file, index)).map(|&n| self.arrays[n].1)
    }

    /// Where the arrays lie, for programs that check themselves: after `private_bytes` that the program addresses itself.
    pub(super) fn extents(&self, private_bytes: u32) -> Vec<Extent> {
        let own = Extent { space: Space::Local, start: 0, bytes: private_bytes };
        let arrays = self.arrays.iter().map(|(_, a)| (a.base, 16 * (a.last - a.first + 1)));
        let arrays = arrays.map(|(start, bytes)| Extent { space: Space::Local, start, bytes });
        std::iter::once(own).chain(arrays).take(u16::MAX.into()).collect()
    }

    /// The number that accesses to an array have ([`crate::ir::MemRef::var`]); the program's own memory has the first.
    pub(super) fn number(&self, a: &Array) -> u16 {
        let n = self.arrays.iter().position(|(_, b)| b.base == a.base);
        n.and_then(|n| u16::try_from(n + 2).ok()).unwrap_or(0)
    }

    /// The array that a dynamic index goes into.
    pub(super) fn dynamic(&self, ast: &Program, reg: &Reg) -> Option<Array> {
        let array = reg.index.indirect?.array;
        let decl = ast.decls.iter().find(|d| d.file == reg.file && d.array == array && array != 0);
        match decl {
            Some(d) => self.find(reg.file, d.first),
            None => self.arrays.iter().find(|(f, _)| *f == reg.file).map(|(_, a)| *a),
        }
    }
}

/// Every register operand of the program.
fn regs(ast: &Program) -> impl Iterator<Item = &Reg> {
    let offsets = ast.textures.iter().flat_map(|t| &t.offsets);
    ast.dsts.iter().map(|d| &d.reg).chain(ast.srcs.iter().chain(offsets).map(|s| &s.reg))
}
