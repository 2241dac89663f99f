//! Programs that check their own memory accesses ([`crate::options::Options::sanitize`]): what LLVM
//! calls a sanitizer.
//!
//! ```text
//! ld u32 %r2 s[%r0+0x8]      add u32 %r3 %r0 0x8                       where the access begins, modulo 2^32
//!                            set pred %p4 ge u32 %r3 <starts>          as many places as it may begin at
//!                            add u32 {%r5 %c6} %r3 %r7; add u32 %r8 0x0 %r9 %c6     %r7 %r9: the block's region
//!                            @!%p4 ld u32 %r10 g[{%r5 %r8}] coherent
//!                            sel u32 %r2 0x0 %r10 %p4
//!                            @%p4 call report(<site> %r3)              becomes an `if`: [`check_sites`]
//! ```
//!
//! **One comparison.** A memory of `size` bytes has `size - n + 1` places (none, if it is smaller)
//! where an access of `n` bytes may begin. Where it begins is computed modulo 2^32, as addresses of
//! these memories are, and compared with that as an unsigned number: whatever wraps around, below
//! zero or above the end, is compared where it really is. No end is computed, so none can wrap.
//! Only what has passed the comparison is extended to 64 bits.
//!
//! **One check for a vector.** Accesses of one instruction of the source to neighbouring words,
//! through one base, are checked together and skipped together. Different instructions are never
//! merged: each has its line in the report. Accesses that are known to be inside, by the range of
//! their base, have no check.
//!
//! **Shared memory** lies in global memory: each block of the grid has a region of its own
//! (`driver::sanitizer` says how large). Each function that accesses shared memory asks for its
//! base where it begins, so it does not matter which functions a kernel shares with another: each
//! kernel is compiled with its own copy of them. Atomics become global ones. Accesses are coherent,
//! which means: served by the second-level cache, where atomics work, too. The first level would
//! keep old lines after an atomic. A barrier orders a block's accesses to global memory as it
//! orders those to shared memory.
//!
//! **Variables** that the front-end tells ([`MemRef::var`]) have their own bounds. Pointers of
//! unknown origin, where a launch can add variables, are looked up in a table: so are global
//! addresses. Looking up is a routine of its own.
//!
//! **Storage buffers** are checked as ever (`lower/buffers`), since valid programs rely on it; here
//! the failed check is reported as well.

mod check_sites;
mod routines;

use crate::analysis::known_bits::{KnownBits, Launch};
use crate::chip::Chip;
use crate::diag::Diagnostic;
use crate::driver::sanitizer::{Access, Memory, Sanitizer, Site, Words};
use crate::driver::{Abi, sanitizer};
use crate::ir::build::Builder;
use crate::ir::*;
use crate::lower::buffers::{self, Sums, Table};
use crate::lower::library::Library;
use crate::lower::{self, Instrument};
use crate::options::{Options, Sanitize};
use crate::remark::Remark;
use rustc_hash::FxHashMap;

/// Accesses of so many bytes are checked together at most.
const WIDEST: u32 = 16;

/// What programs cannot have that check themselves.
pub(crate) fn refuses(p: &Program, spaces: Sanitize) -> Option<Diagnostic> {
    if spaces.is_none() {
        return None;
    }
    if p.stage().is_graphics() {
        let what =
            "graphics stages cannot be sanitized: they have no blocks and threads that a report could name";
        return Some(Diagnostic::unsupported(what));
    }
    for f in p.funcs.values() {
        let generic = |i: &Inst| i.mem.is_some_and(|m| m.space == Space::Generic);
        if let Some((_, i)) = f.insts_in_order().find(|(_, i)| generic(&f.insts[*i])) {
            let what = "accesses through generic pointers cannot be sanitized: their memory is not known";
            let d = Diagnostic::unsupported(what);
            return Some(match f.insts[i].loc.0 {
                Some(span) => d.at(span, "this is one"),
                None => d,
            });
        }
    }
    None
}

/// Lowers a program that checks its accesses to the memories of [`Options::sanitize`], from phase
/// `Front` to phase `Ssa`, and says what its launch must know. Without such memories the program is
/// lowered as any other.
pub(crate) fn lower(
    p: &mut Program,
    chip: Chip,
    abi: &Abi,
    options: &Options,
    remarks: &mut Vec<Remark>,
) -> Option<Box<Sanitizer>> {
    if options.sanitize.is_none() {
        lower::run(p, chip, abi, options);
        return None;
    }
    let launch = Launch { block_size: p.launched_block(), max_grid_x: Some(chip.max_grid()[0]) };
    let mut checks = Checks::new(p, chip, abi, options.sanitize, launch);
    lower::run_instrumented(p, chip, abi, options, &mut checks);
    remarks.append(&mut checks.remarks);
    Some(Box::new(checks.into_sanitizer(&p.funcs[p.entry].name)))
}

impl Instrument for Checks<'_> {
    fn before(&mut self, f: &mut Function, library: &mut Library) {
        self.run(f, library);
    }

    fn after(&mut self, f: &mut Function) {
        check_sites::run(f);
    }
}

/// What a program's functions share.
struct Checks<'a> {
    spaces: Sanitize,
    abi: &'a Abi,
    chip: Chip,
    launch: Launch,
    extents: Vec<Extent>,
    shared_pointers: bool,
    shared_bytes: u32,
    private_bytes: u32,
    red_zone_bytes: u32,
    sites: Vec<Site>,
    /// Checks that find less than they might.
    remarks: Vec<Remark>,
    linked: [Option<FuncId>; routines::COUNT],
}

/// Accesses that are checked together: of one instruction of the source, side by side.
struct Group {
    /// The lowest of them.
    mem: MemRef,
    bytes: u32,
    op: Op,
    /// Accesses that have not been dealt with.
    left: u32,
}

/// What is to be reported where `bad` holds.
#[derive(Clone)]
struct Report {
    bad: ValueId,
    site: u32,
    address: Src,
    /// Of a storage buffer, if it is computed.
    number: Option<ValueId>,
}

/// What was found out about a group at its first access.
#[derive(Clone)]
struct Verdict {
    /// It fails: the access's own guard not counted. None: it cannot.
    bad: Option<ValueId>,
    /// Base of the accesses, if it is not the one that they had, and the offset that stands for the
    /// group's.
    moved: Option<(Vec<ValueId>, u32)>,
    /// The report, unless a routine makes it.
    report: Option<Report>,
}

/// What groups have in common.
#[derive(PartialEq)]
struct Key {
    op: Op,
    loc: crate::diag::Loc,
    space: Space,
    place: (u16, Option<ValueId>, u16),
    base: Vec<ValueId>,
    guard: Option<Guard>,
}

impl<'a> Checks<'a> {
    fn new(p: &Program, chip: Chip, abi: &'a Abi, spaces: Sanitize, launch: Launch) -> Self {
        let own = p.funcs.values().map(|f| f.local_bytes).max().unwrap_or(0);
        Checks {
            spaces,
            abi,
            chip,
            launch,
            extents: p.extents.clone(),
            shared_pointers: p.shared_pointers,
            shared_bytes: p.shared_bytes,
            private_bytes: own.max(p.private_bytes),
            red_zone_bytes: p.red_zone_bytes,
            sites: Vec::new(),
            remarks: Vec::new(),
            linked: [None; routines::COUNT],
        }
    }

    /// What the launch has to know.
    fn into_sanitizer(self, kernel: &str) -> Sanitizer {
        let shared = self.extents.iter().filter(|e| e.space == Space::Shared);
        Sanitizer {
            kernel: kernel.into(),
            sites: self.sites,
            moved: self.spaces.shared,
            zones: self.spaces.has_zones(),
            shared_bytes: self.shared_bytes,
            variables: shared.map(|e| (e.start, e.bytes)).collect(),
            red_zone_bytes: self.red_zone_bytes,
        }
    }

    fn concerns(&self, i: &Inst) -> bool {
        let Some(m) = &i.mem else { return false };
        matches!(i.op, Op::Ld | Op::St | Op::Atom)
            && match m.space {
                Space::Shared => self.spaces.shared,
                Space::Local => self.spaces.private,
                Space::Buffer | Space::Global => self.spaces.global,
                _ => false,
            }
    }

    /// Checks the accesses of a function. Calls of the report are guarded, which only
    /// [`check_sites::run`] understands.
    fn run(&mut self, f: &mut Function, library: &mut Library) -> bool {
        let (mut groups, of) = self.groups(f);
        if of.is_empty() {
            return false;
        }
        let mut known = KnownBits::new(f, &self.launch);
        for g in &groups {
            if let Some(base) = g.mem.base32().filter(|_| g.mem.space != Space::Global) {
                known.learn(f, base);
            }
        }
        let sums = Sums::new(f, &self.launch);
        let shared = groups.iter().any(|g| g.mem.space == Space::Shared);
        let mut region = None;
        let mut verdicts: Vec<Option<Verdict>> = vec![None; groups.len()];
        for n in 0..f.layout.len() {
            let block = f.layout[n];
            let body = std::mem::take(&mut f.blocks[block].body);
            let mut b = Builder::new(f, block);
            if n == 0 && shared {
                let r = self.call(&mut b, library, routines::Routine::Region, Vec::new());
                region = Some([r[0], r[1]]);
            }
            for id in body {
                let Some(&g) = of.get(&id) else {
                    b.func.blocks[block].body.push(id);
                    continue;
                };
                let inst = b.func.insts[id].clone();
                b.loc = inst.loc;
                groups[g].left -= 1;
                let group = &groups[g];
                let buffer = group.mem.space == Space::Buffer;
                if verdicts[g].is_none() && !buffer {
                    verdicts[g] = Some(self.check(&mut b, library, group, &inst, &known, &sums, region));
                }
                match &verdicts[g] {
                    Some(v) if v.bad.is_some() || v.moved.is_some() => self.access(&mut b, &inst, group, v),
                    _ => b.func.blocks[block].body.push(id),
                }
                if group.left > 0 {
                    continue;
                }
                // Behind the accesses, so that no condition of theirs lives through the call.
                let verdict = match verdicts[g].take() {
                    None => self.check(&mut b, library, group, &inst, &known, &sums, region),
                    Some(v) => v,
                };
                if let Some(report) = verdict.report {
                    self.report(&mut b, library, inst.guard, &report);
                }
            }
        }
        true
    }

    /// The groups of a function, and the group of each instruction that is checked.
    fn groups(&self, f: &Function) -> (Vec<Group>, FxHashMap<InstId, usize>) {
        let (mut groups, mut of): (Vec<Group>, _) = (Vec::new(), FxHashMap::default());
        // Groups of one block and one place in the source.
        let mut open: Vec<(Key, usize)> = Vec::new();
        for &block in &f.layout {
            open.clear();
            for &id in &f.blocks[block].body {
                let inst = &f.insts[id];
                let Some(m) = inst.mem.as_ref().filter(|_| self.concerns(inst)) else { continue };
                let key = Key {
                    op: inst.op,
                    loc: inst.loc,
                    space: m.space,
                    place: (m.buffer, m.index, m.var),
                    base: m.base().to_vec(),
                    guard: inst.guard,
                };
                if open.first().is_some_and(|o| o.0.loc != key.loc) {
                    open.clear();
                }
                let bytes = inst.ty.bytes();
                let joins = |g: &Group| -> Option<(bool, u32)> {
                    // Offsets are compared as numbers; none of a group wraps.
                    let (a, b) = (i64::from(g.mem.offset), i64::from(m.offset));
                    let (start, end) = (a.min(b), (a + i64::from(g.bytes)).max(b + i64::from(bytes)));
                    let touches = b <= a + i64::from(g.bytes) && a <= b + i64::from(bytes);
                    (touches && end - start <= WIDEST.into() && end <= i32::MAX.into())
                        .then_some((b < a, (end - start) as u32))
                };
                let found = open.iter().rev().find(|o| o.0 == key && inst.op != Op::Atom);
                let found = found.and_then(|o| Some((o.1, joins(&groups[o.1])?)));
                // Without a place in the source, nothing says that two accesses are one.
                if let Some((g, (lower, bytes))) = found.filter(|_| inst.loc.0.is_some()) {
                    of.insert(id, g);
                    groups[g].bytes = bytes;
                    groups[g].left += 1;
                    if lower {
                        groups[g].mem = *m;
                    }
                } else {
                    of.insert(id, groups.len());
                    open.push((key, groups.len()));
                    groups.push(Group { mem: *m, bytes, op: inst.op, left: 1 });
                }
            }
        }
        (groups, of)
    }

    fn call(
        &mut self,
        b: &mut Builder<'_>,
        library: &mut Library,
        routine: routines::Routine,
        args: Vec<ValueId>,
    ) -> Vec<ValueId> {
        let (chip, abi) = (self.chip, self.abi);
        let func =
            *self.linked[routine as usize].get_or_insert_with(|| library.add(routine.build(chip, abi)));
        let results: Vec<ValueId> = (0..routine.shape().1).map(|_| b.gpr()).collect();
        let mut call = Inst::new(Op::Call, Type::U32);
        call.ext = Some(Box::new(Ext::Call(Call::new(func, args, results.clone()))));
        b.push(call);
        results
    }

    fn site(
        &mut self,
        g: &Group,
        memory: Memory,
        variable: Option<(u32, u32)>,
        loc: crate::diag::Loc,
    ) -> u32 {
        let access = match g.op {
            Op::Ld => Access::Read,
            Op::St => Access::Write,
            _ => Access::Atomic,
        };
        self.sites.push(Site { memory, access, bytes: g.bytes, variable, loc, line: None });
        self.sites.len() as u32 - 1
    }

    /// Checks a group: `first` is the access that comes first.
    #[expect(clippy::too_many_arguments, reason = "what is known at one place")]
    fn check(
        &mut self,
        b: &mut Builder<'_>,
        library: &mut Library,
        g: &Group,
        first: &Inst,
        known: &KnownBits,
        sums: &Sums,
        region: Option<[ValueId; 2]>,
    ) -> Verdict {
        let m = &g.mem;
        match m.space {
            Space::Global => self.global(b, library, g, first),
            Space::Buffer => {
                let table = Table::for_operand(b, m, self.abi);
                let words = [0, 1, 2].map(|n| table.word(b, n));
                let (_, _, bad) = buffers::checked(b, m, g.bytes, words, sums);
                let at = sum(b, m, m.offset as u32);
                let number = m.index.is_none().then_some(m.buffer.into());
                let site = self.site(g, Memory::Buffer(number), None, first.loc);
                let index = m.index.map(|n| b.add(Type::U32, n, u32::from(m.buffer)));
                // Lowering buffers does the rest.
                let report = Some(Report { bad, site, address: at, number: index });
                Verdict { bad: None, moved: None, report }
            }
            _ => self.windowed(b, library, g, first, known, region),
        }
    }

    /// Shared and private memory, whose addresses are offsets.
    fn windowed(
        &mut self,
        b: &mut Builder<'_>,
        library: &mut Library,
        g: &Group,
        first: &Inst,
        known: &KnownBits,
        region: Option<[ValueId; 2]>,
    ) -> Verdict {
        let m = &g.mem;
        let shared = m.space == Space::Shared;
        let extent = usize::from(m.var).checked_sub(1).and_then(|n| self.extents.get(n).copied());
        let (start, size) = match extent {
            Some(e) => (e.start, e.bytes),
            None => (0, if shared { self.shared_bytes } else { self.private_bytes }),
        };
        if extent.is_none()
            && !(shared && self.shared_pointers)
            && self.extents.iter().any(|e| e.space == m.space)
        {
            let what = if shared { "shared" } else { "private" };
            let message = format!("checked against all {what} memory: the variable is not known");
            self.remarks.push(Remark { loc: first.loc, pass: "sanitize", message });
        }
        // From the beginning of the variable, or of the memory.
        let offset = (m.offset as u32).wrapping_sub(start);
        let most = m.base32().map_or(0, |v| known.bits(v).max);
        let inside =
            most.checked_add(offset).and_then(|at| at.checked_add(g.bytes)).is_some_and(|end| end <= size);
        let lookup = shared && extent.is_none() && self.shared_pointers;
        let at = sum(b, m, offset);
        let mut report = None;
        let bad = if inside && !lookup {
            None
        } else if lookup {
            let memory = Memory::Shared;
            let site = self.site(g, memory, None, first.loc);
            let at = in_register(b, at);
            Some(self.look_up(b, library, routines::Routine::FindShared, first, site, g.bytes, vec![at]))
        } else {
            let starts = match shared && extent.is_none() {
                true => {
                    starts(b, Src::cbuf(self.abi.aux_bank, self.abi.sanitizer + Words::SHARED_BYTES), g.bytes)
                }
                false => Src::imm((size + 1).saturating_sub(g.bytes)),
            };
            let at = in_register(b, at);
            let bad = b.setp(Cond::Ge, Type::U32, at, starts);
            let memory = if shared { Memory::Shared } else { Memory::Private };
            let site = self.site(g, memory, extent.map(|e| (e.start, e.bytes)), first.loc);
            let absolute = if start == 0 { at } else { b.add(Type::U32, at, start) };
            report = Some(Report { bad, site, address: absolute.into(), number: None });
            Some(bad)
        };
        let moved = region.filter(|_| shared).map(|[lo, hi]| match at.as_imm() {
            Some(n) => (vec![lo, hi], n.wrapping_add(start)),
            None => (buffers::add_wide(b, at, lo.into(), hi.into()).to_vec(), start),
        });
        // What cannot be inside keeps an offset that instructions can have.
        let moved = moved.map(|(base, n)| (base, if n <= sanitizer::MAX_REGION as u32 { n } else { 0 }));
        Verdict { bad, moved, report }
    }

    /// Global memory: the address is looked up in the driver's table.
    fn global(&mut self, b: &mut Builder<'_>, library: &mut Library, g: &Group, first: &Inst) -> Verdict {
        let m = &g.mem;
        let address = match m.base()[..] {
            [lo, hi] if m.offset == 0 => vec![lo, hi],
            [lo, hi] => {
                let offset = Src::imm64(i64::from(m.offset) as u64);
                b.pair(Inst::new(Op::Add, Type::U64).src([lo, hi]).src(offset)).to_vec()
            }
            _ => {
                let at = sum(b, m, m.offset as u32);
                vec![in_register(b, at), b.mov(0u32)]
            }
        };
        let site = self.site(g, Memory::Global, None, first.loc);
        let bad = self.look_up(b, library, routines::Routine::FindGlobal, first, site, g.bytes, address);
        Verdict { bad: Some(bad), moved: None, report: None }
    }

    /// Calls a routine that looks an address up, and reports where it is not found; where the
    /// access's own guard does not hold it must not report, so no bytes are looked up.
    #[expect(clippy::too_many_arguments, reason = "what a routine is given")]
    fn look_up(
        &mut self,
        b: &mut Builder<'_>,
        library: &mut Library,
        routine: routines::Routine,
        first: &Inst,
        site: u32,
        bytes: u32,
        address: Vec<ValueId>,
    ) -> ValueId {
        let what = b.mov(routines::what(site, bytes));
        let what = match first.guard {
            None => what,
            Some(g) => {
                let own = Src { mods: SrcMods { inv: g.not, ..SrcMods::default() }, ..Src::val(g.pred) };
                b.value(Inst::new(Op::Sel, Type::U32).src(what).src(0u32).src(own))
            }
        };
        let mut args = vec![what];
        args.extend(address);
        let found = self.call(b, library, routine, args);
        b.setp(Cond::Eq, Type::U32, found[0], 0u32)
    }

    /// A call of the report, for accesses under a guard.
    fn report(&mut self, b: &mut Builder<'_>, library: &mut Library, guard: Option<Guard>, failed: &Report) {
        let bad = match guard {
            None => failed.bad,
            Some(g) => {
                let own = Src { mods: SrcMods { inv: g.not, ..SrcMods::default() }, ..Src::val(g.pred) };
                b.value(Inst::new(Op::And, Type::Pred).src(own).src(failed.bad))
            }
        };
        let routine = match failed.number {
            None => routines::Routine::Report,
            Some(_) => routines::Routine::ReportOf,
        };
        let site = b.mov(failed.site);
        let mut args = vec![site, in_register(b, failed.address)];
        args.extend(failed.number);
        self.call(b, library, routine, args);
        let block = b.block;
        if let Some(&call) = b.func.blocks[block].body.last() {
            b.func.insts[call].guard = Some(Guard { pred: bad, not: false });
        }
    }

    /// The access itself, where it does not fail.
    fn access(&self, b: &mut Builder<'_>, i: &Inst, g: &Group, verdict: &Verdict) {
        let mut access = i.clone();
        let mut mem = i.mem.unwrap_or(g.mem);
        if let Some((base, start)) = &verdict.moved {
            let step = (mem.offset as u32).wrapping_sub(g.mem.offset as u32);
            let log2 = mem.align.log2.min(sanitizer::REGION_ALIGN.trailing_zeros() as u8);
            let align = Align { log2, rest: mem.align.rest & ((1 << log2) - 1) };
            let order = if mem.order == Order::Weak { Order::Coherent } else { mem.order };
            mem = MemRef::new(Space::Global)
                .with_base(base)
                .with_offset(start.wrapping_add(step) as i32)
                .with_align(align);
            mem.order = order;
            // PTX ISA, `atom`: sums of floats flush denormals in global memory, and in shared
            // memory they do not.
            if i.aux == Aux::Atom(AtomOp::Add) && i.ty == Type::F32 {
                access.aux = Aux::Atom(AtomOp::Fadd);
            }
        }
        mem.var = 0;
        access.mem = Some(mem);
        match verdict.bad {
            Some(bad) => buffers::unless(b, bad, access),
            None => {
                b.push(access);
            }
        }
    }
}

/// Base and offset of 32 bits, modulo 2^32.
fn sum(b: &mut Builder<'_>, m: &MemRef, offset: u32) -> Src {
    match m.base32() {
        None => Src::imm(offset),
        Some(base) if offset == 0 => base.into(),
        Some(base) => b.add(Type::U32, base, offset).into(),
    }
}

fn in_register(b: &mut Builder<'_>, s: Src) -> ValueId {
    match s.as_val() {
        Some(v) => v,
        None => b.mov(s),
    }
}

/// The places in `size` bytes, which are fewer than 2^31, where an access may begin.
fn starts(b: &mut Builder<'_>, size: Src, bytes: u32) -> Src {
    if bytes == 1 {
        return size;
    }
    let rest = b.add(Type::U32, size, 1u32.wrapping_sub(bytes));
    b.op2(Op::Max, Type::S32, rest, 0u32).into()
}
