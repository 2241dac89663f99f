//! The routines of checks, out of line: the report, looking up addresses, and where a block's
//! shared memory lies.

use crate::chip::Chip;
use crate::driver::Abi;
use crate::driver::sanitizer::{HEADER_BYTES, RECORD_BYTES, Words};
use crate::ir::build::Builder;
use crate::ir::*;

/// What there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Routine {
    /// (site, address): counts, and records the first time.
    Report,
    /// (site, address, number of the buffer).
    ReportOf,
    /// ([`what`], address low, high) to whether it is in the table of global memory; else it
    /// reports.
    FindGlobal,
    /// ([`what`], offset) to whether it is in the table of variables in shared memory; else it
    /// reports.
    FindShared,
    /// Nothing to the address of the block's shared memory.
    Region,
}

/// How many.
pub(super) const COUNT: usize = 5;

/// Bits of the bytes of an access, below the number of its check, in what a routine is passed.
const BYTES_BITS: u32 = 8;

/// A check and the bytes of its access, as one word. Zero: nothing is accessed.
pub(super) fn what(site: u32, bytes: u32) -> u32 {
    site << BYTES_BITS | bytes
}

impl Routine {
    /// Words of arguments and of results.
    pub(super) fn shape(self) -> (usize, usize) {
        match self {
            Routine::Report => (2, 0),
            Routine::ReportOf => (3, 0),
            Routine::FindGlobal => (3, 1),
            Routine::FindShared => (2, 1),
            Routine::Region => (0, 2),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Routine::Report => "sanitizer_report",
            Routine::ReportOf => "sanitizer_report_of",
            Routine::FindGlobal => "sanitizer_global",
            Routine::FindShared => "sanitizer_shared",
            Routine::Region => "sanitizer_region",
        }
    }

    /// The function.
    pub(super) fn build(self, chip: Chip, abi: &Abi) -> Function {
        let mut f = Function::new(self.name());
        let (args, results) = self.shape();
        let a: Vec<ValueId> = (0..args).map(|_| f.add_param(Class::Gpr)).collect();
        f.results = vec![Class::Gpr; results];
        let entry = f.new_block();
        let mut b = Builder::new(&mut f, entry);
        let zero = |b: &mut Builder<'_>| b.mov(0u32);
        match self {
            Routine::Report => {
                let high = zero(&mut b);
                report(&mut b, abi, a[0], [a[1], high]);
                b.terminate(Term::Ret(Vec::new()));
            }
            Routine::ReportOf => {
                report(&mut b, abi, a[0], [a[1], a[2]]);
                b.terminate(Term::Ret(Vec::new()));
            }
            Routine::FindGlobal => find(&mut b, abi, a[0], [a[1], a[2]], Words::GLOBAL),
            Routine::FindShared => {
                let high = zero(&mut b);
                find(&mut b, abi, a[0], [a[1], high], Words::VARIABLES);
            }
            Routine::Region => {
                let address = region(&mut b, chip, abi);
                b.terminate(Term::Ret(address.to_vec()));
            }
        }
        f
    }
}

/// A word of the driver's.
fn word(abi: &Abi, at: u16) -> Src {
    Src::cbuf(abi.aux_bank, abi.sanitizer + at)
}

fn address(b: &mut Builder<'_>, abi: &Abi, at: u16) -> [ValueId; 2] {
    [0, 4].map(|n| b.mov(word(abi, at + n)))
}

/// `base + offset`, an unsigned number of 32 bits.
fn beyond(b: &mut Builder<'_>, base: [ValueId; 2], offset: ValueId) -> [ValueId; 2] {
    crate::lower::buffers::add_wide(b, offset.into(), base[0].into(), base[1].into())
}

fn global(base: [ValueId; 2], align: u32) -> MemRef {
    MemRef::new(Space::Global).with_base(&base).with_align(Align::multiple_of(align))
}

/// Counts a failed check, and records it if it is the first time. The builder stands behind it
/// then.
fn report(b: &mut Builder<'_>, abi: &Abi, site: ValueId, at: [ValueId; 2]) {
    let base = address(b, abi, Words::REPORT);
    let n = b.atom(AtomOp::Add, Type::U32, global(base, 4), &[Src::imm(1)])[0];
    let count = b.op2(Op::Shl, Type::U32, site, 2u32);
    let count = beyond(b, base, count);
    let mut of_site = global(count, 4);
    of_site.offset = HEADER_BYTES as i32;
    let before = b.atom(AtomOp::Add, Type::U32, of_site, &[Src::imm(1)])[0];
    let first = b.setp(Cond::Eq, Type::U32, before, 0u32);
    let [record, join] = [(); 2].map(|()| b.func.new_block());
    let header = b.block;
    b.branch(first, record, join);
    b.func.blocks[header].merge = Merge::If { join };
    b.block = record;
    let records = address(b, abi, Words::RECORDS);
    let offset = b.op2(Op::Shl, Type::U32, site, RECORD_BYTES.trailing_zeros());
    let to = beyond(b, records, offset);
    let place = [Sv::CtaidX, Sv::CtaidY, Sv::CtaidZ, Sv::TidX, Sv::TidY, Sv::TidZ].map(|sv| b.sv(sv));
    let [bx, by, bz, tx, ty, tz] = place;
    let high = b.op2(Op::Shl, Type::U32, ty, 16u32);
    let xy = b.op2(Op::Or, Type::U32, tx, high);
    b.st(Type::B128, global(to, 16), Src::tuple(&[n, at[0], at[1], bx]));
    let mut second = global(to, 16);
    second.offset = 16;
    b.st(Type::B128, second, Src::tuple(&[by, bz, xy, tz]));
    b.jump(join);
    b.block = join;
}

/// Whether an access is inside one of a table's ranges, which lie in the order of their addresses;
/// it is reported if not.
///
/// Halves the table until one entry is left: the last one that begins at or below the address.
fn find(b: &mut Builder<'_>, abi: &Abi, what: ValueId, at: [ValueId; 2], table: u16) {
    let base = address(b, abi, table);
    let bytes = b.op2(Op::And, Type::U32, what, (1u32 << BYTES_BITS) - 1);
    let [low, high] = [b.mov(0u32), b.mov(word(abi, table + 8))];
    let [header, round, after, ask, count] = [(); 5].map(|()| b.func.new_block());
    // Ends of constructs stand behind all of them.
    let [reported, join] = [(); 2].map(|()| b.func.detached_block());
    b.terminate(Term::Jump(Edge { to: header, args: vec![low, high] }));
    // So many entries begin at or below the address: `from` at least, `to` at most.
    let [from, to] = [(); 2].map(|()| b.func.add_block_param(header, Class::Gpr));
    b.func.blocks[header].merge = Merge::Loop { exit: after, cont: header };
    b.block = header;
    let more = b.setp(Cond::Lt, Type::U32, from, to);
    b.branch(more, round, after);
    b.block = round;
    let both = b.add(Type::U32, from, to);
    let middle = b.op2(Op::Shr, Type::U32, both, 1u32);
    let offset = b.op2(Op::Shl, Type::U32, middle, 4u32);
    let entry = beyond(b, base, offset);
    let start = b.ld(Type::U64, global(entry, 16));
    let below = b.setp(Cond::Le, Type::U64, Src::tuple(&start), at);
    let next = b.add(Type::U32, middle, 1u32);
    let (from2, to2) = (b.sel(below, next, from), b.sel(below, to, middle));
    b.terminate(Term::Jump(Edge { to: header, args: vec![from2, to2] }));
    // The end of the last of these; of none, if there is none.
    b.block = after;
    let some = b.setp(Cond::Ne, Type::U32, from, 0u32);
    let last = b.add(Type::U32, from, u32::MAX);
    let offset = b.op2(Op::Shl, Type::U32, last, 4u32);
    let entry = beyond(b, base, offset);
    let mut end = Inst::new(Op::Ld, Type::U64).with_mem(global(entry, 16).with_offset(8));
    end.guard = Some(Guard { pred: some, not: false });
    let end = b.pair(end).map(|word| b.sel(some, word, 0u32));
    let left = b.pair(Inst::new(Op::Sub, Type::U64).src(end).src(at));
    let nothing = b.mov(0u32);
    // The address is not below the range's beginning; what is left of it is no more than its size
    // unless it is behind its end.
    let before = b.setp(Cond::Le, Type::U64, at, end);
    let fits = b.setp(Cond::Ge, Type::U64, left, [bytes, nothing]);
    let inside = b.op2(Op::And, Type::Pred, before, fits);
    let inside = b.op2(Op::And, Type::Pred, inside, some);
    let found = b.sel(inside, 1u32, 0u32);
    b.func.blocks[after].merge = Merge::If { join };
    b.branch(inside, join, ask);
    // Nothing is accessed: there is nothing to report.
    b.block = ask;
    let real = b.setp(Cond::Ne, Type::U32, what, 0u32);
    b.func.blocks[ask].merge = Merge::If { join: reported };
    b.branch(real, count, reported);
    b.block = count;
    let site = b.op2(Op::Shr, Type::U32, what, BYTES_BITS);
    report(b, abi, site, at);
    b.jump(reported);
    b.func.layout.extend([reported, join]);
    b.block = reported;
    b.jump(join);
    b.block = join;
    b.terminate(Term::Ret(vec![found]));
}

/// The address of the block's shared memory: the blocks of the grid lie in the order of their
/// numbers.
fn region(b: &mut Builder<'_>, chip: Chip, abi: &Abi) -> [ValueId; 2] {
    let [x, y, z] = [Sv::CtaidX, Sv::CtaidY, Sv::CtaidZ].map(|sv| b.sv(sv));
    let size = |b: &mut Builder<'_>, n: u16, sv: Sv| -> Src {
        match abi.sizes_in_sregs {
            true => b.sv(sv).into(),
            false => Src::cbuf(abi.aux_bank, abi.grid_info + 12 + 4 * n),
        }
    };
    let (nx, ny) = (size(b, 0, Sv::NctaidX), size(b, 1, Sv::NctaidY));
    debug_assert!(chip == Chip::Gf100 || !abi.sizes_in_sregs);
    let row = b.op3(Op::Mad, Type::U32, z, ny, y);
    let number = b.op3(Op::Mad, Type::U32, row, nx, x);
    // No region has 4 GiB.
    let offset = b.mul(Type::U32, number, word(abi, Words::STRIDE));
    let base = address(b, abi, Words::REGION);
    beyond(b, base, offset)
}
