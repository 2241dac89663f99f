//! The operation table against everything that reads it: what a row allows prints, reads back, verifies and compiles (or
//! is refused as something the chip lacks); what it does not allow the verifier refuses.

use nvir::Chip;
use nvir::compiler::{Compiler, DebugOptions, OptLevel, Options, Source};
use nvir::ir::Phase;
use nvir::ir::build::Builder;
use nvir::ir::op::{Detail, Reads, Results, Types, row};
use nvir::ir::*;
use nvir::verify;

/// Values to take operands from.
struct Pool {
    words: Vec<ValueId>,
    preds: Vec<ValueId>,
}

/// A kernel with one instruction in it, whose results it stores.
fn program(make: impl FnOnce(&mut Function, &Pool) -> Inst) -> Program {
    let mut f = Function::new("k");
    f.local_bytes = 64;
    let entry = f.new_block();
    let mut b = Builder::new(&mut f, entry);
    let words: Vec<ValueId> = (0..8).map(|n| b.mov(Src::cbuf(0, 4 * n))).collect();
    let preds = (0..2u32).map(|n| b.setp(Cond::Lt, Type::U32, words[0], n)).collect();
    let pool = Pool { words, preds };
    let inst = make(&mut f, &pool);
    let dsts = inst.dsts;
    let mut b = Builder::new(&mut f, entry);
    b.push(inst);
    for (n, &d) in dsts.iter().enumerate() {
        let v = match b.func.class(d) {
            Class::Gpr => d,
            Class::Pred => b.sel(d, 1, 2),
            Class::Carry => continue,
        };
        let out = MemRef::new(Space::Global).with_base(&pool.words[..2]).with_offset(0x100 + 4 * n as i32);
        b.st(Type::U32, out.with_align(Align::multiple_of(4)), Src::val(v));
    }
    f.blocks[entry].term = Term::Exit;
    let mut p = Program::new(f);
    // What only graphics stages have is allowed in them.
    if p.funcs[p.entry].insts.values().any(|i| i.is_of_graphics()) {
        p.interface = Some(Box::new(Interface::new(Stage::Fragment)));
    }
    p
}

fn value(pool: &Pool, ty: Type) -> Src {
    if ty == Type::Pred { pool.preds[0].into() } else { Src::tuple(&pool.words[..ty.words()]) }
}

/// Details that go with an operation's types.
fn details(op: Op, ty: Type, sty: Type) -> Vec<Aux> {
    let all = |list: Vec<Aux>| list;
    match op.row().detail {
        Detail::None | Detail::Call | Detail::Tex | Detail::Surf => vec![Aux::None],
        Detail::Sv if ty.words() == 2 => vec![Aux::Sv(Sv::ClockLo)],
        Detail::Sv => Sv::ALL.iter().map(|&s| Aux::Sv(s)).collect(),
        Detail::Atom => AtomOp::ALL.iter().filter(|o| o.types().has(ty)).map(|&o| Aux::Atom(o)).collect(),
        Detail::Bar => BarOp::ALL.iter().map(|&o| Aux::Bar(o)).collect(),
        Detail::Scope => Scope::ALL.iter().map(|&o| Aux::Scope(o)).collect(),
        Detail::Vote => VoteOp::ALL.iter().map(|&o| Aux::Vote(o)).collect(),
        Detail::Shfl => ShflOp::ALL.iter().map(|&o| Aux::Shfl(o)).collect(),
        Detail::Part => {
            let small = matches!(sty.bytes(), 1 | 2);
            let parts = (0..if small { 4 / sty.bytes() as u8 } else { 0 }).map(Aux::Byte);
            let rounds = (ty == sty && ty.is_float()).then_some(Aux::Integral);
            std::iter::once(Aux::None).chain(parts).chain(rounds).collect()
        }
        Detail::Wrap => all(vec![Aux::None, Aux::Wrap]),
        Detail::Shift => all(vec![Aux::None, Aux::Shift]),
        Detail::Quad => all(vec![Aux::Quad { lane: 1, ops: 27 }]),
        Detail::Count => all(vec![Aux::Count(0), Aux::Count(3)]),
        Detail::Suclamp => (0..15)
            .flat_map(|mode| [false, true].map(|two_d| Aux::Suclamp { mode, two_d, signed: !two_d, imm: -3 }))
            .collect(),
        Detail::Subfm => [false, true].map(|three_d| Aux::Subfm { three_d }).to_vec(),
        Detail::Madsp => all(vec![Aux::Madsp(madsp::SD), Aux::Madsp(0), Aux::Madsp(5)]),
        Detail::Interp => (InterpMode::ALL.iter())
            .flat_map(|&mode| InterpAt::ALL.iter().map(move |&at| Aux::Interp(Interp { mode, at })))
            .collect(),
        Detail::Pixel => PixelOp::ALL.iter().map(|&o| Aux::Pixel(o)).collect(),
        Detail::Emit => EmitOp::ALL.iter().map(|&o| Aux::Emit(o)).collect(),
        Detail::Fact => Fact::ALL.iter().map(|&o| Aux::Fact(o)).collect(),
    }
}

fn ext(op: Op, ty: Type, pool: &Pool) -> Option<Box<Ext>> {
    match op.row().detail {
        Detail::Tex => Some(Box::new(Ext::Tex(Tex {
            op: TexOp::Lod,
            dim: Dim::D2,
            array: false,
            shadow: false,
            texture: 1,
            sampler: 1,
            mask: 3,
            component: 0,
            level_zero: false,
            offset: None,
            ty,
            operands: vec![
                (TexRole::Coord, pool.words[..2].to_vec()),
                (TexRole::Lod, pool.words[2..3].to_vec()),
            ],
            indirect: false,
            machine_offsets: false,
        }))),
        Detail::Surf => Some(Box::new(Ext::Surf(Surf {
            dim: Dim::D2,
            array: false,
            image: 0,
            index: None,
            handle: None,
            format: Some("r32ui".parse().expect("a format")),
            mask: 1,
            ty: Type::U32,
            atom: (op == Op::Sured).then_some(AtomOp::Add),
            coords: pool.words[..2].to_vec(),
            sample: None,
            data: match op {
                Op::Sust => pool.words[..1].to_vec(),
                Op::Sured => pool.words[..ty.words()].to_vec(),
                _ => Vec::new(),
            },
            order: Order::Weak,
            machine: None,
        }))),
        _ => None,
    }
}

/// Sources that go with a detail.
fn source_counts(op: Op, aux: Aux) -> Vec<usize> {
    let row = op.row();
    match aux {
        Aux::Atom(AtomOp::Load) => vec![0],
        Aux::Atom(AtomOp::Cas) => vec![2],
        Aux::Atom(_) => vec![1],
        Aux::Bar(BarOp::Sync | BarOp::Arrive) => vec![0, 1, 2],
        Aux::Bar(_) => vec![3],
        Aux::Interp(Interp { at: InterpAt::Offset, .. }) => vec![2],
        Aux::Interp(_) => vec![0, 1],
        Aux::Pixel(PixelOp::SampleOffset) => vec![1],
        Aux::Pixel(_) => vec![0],
        _ if matches!(row.detail, Detail::Tex | Detail::Surf) => vec![0],
        _ => (row.least()..=row.srcs.len()).collect(),
    }
}

fn conditions(op: Op, sty: Type) -> Vec<Cond> {
    match (op.is(row::COND), sty) {
        (false, _) => vec![Cond::default()],
        (true, Type::Pred) => vec![Cond::Eq, Cond::Ne],
        (true, t) => Cond::ALL.into_iter().filter(|c| t.is_float() || c.ordered() == *c).collect(),
    }
}

fn memory(op: Op, space: Space, pool: &Pool) -> Option<MemRef> {
    op.is(op::MEMORY).then(|| {
        let words = if matches!(space, Space::Global | Space::Generic) { 2 } else { 1 };
        MemRef::new(space)
            .with_base(&pool.words[..words])
            .with_offset(0x20)
            .with_align(Align::multiple_of(16))
    })
}

/// An instruction with values as sources, and the destinations that it has.
fn plain(f: &mut Function, pool: &Pool, op: Op, ty: Type, sty: Type, aux: Aux, space: Space) -> Inst {
    let mut i = Inst::new(op, ty).with_aux(aux);
    i.sty = sty;
    if op.is(row::COND) && sty == Type::Pred {
        i.cond = Cond::Eq;
    }
    i.mem = memory(op, space, pool);
    i.ext = ext(op, ty, pool);
    for n in 0..source_counts(op, aux)[0] {
        let what = &op.row().srcs[n];
        i.srcs.push(match what.below {
            0 => value(pool, i.src_type(n)),
            bound => Src::imm(bound - 1),
        });
    }
    let (class, words) = match op.row().results {
        Results::Value | Results::MaybeValue | Results::ValuePred => (ty.class(), ty.words()),
        Results::MaybePred => (Class::Pred, 1),
        Results::Ballot if ty == Type::Pred => (Class::Pred, 1),
        Results::Ballot => (Class::Gpr, 1),
        Results::Components => (Class::Gpr, 2),
        Results::Image => (Class::Gpr, if op == Op::Sured { ty.words() } else { 1 }),
        Results::None | Results::Call | Results::Copies => (Class::Gpr, 0),
    };
    for _ in 0..words {
        let d = f.new_value(class);
        i.dsts.push(d);
    }
    i
}

fn spaces(op: Op) -> Vec<Space> {
    match op.is(op::MEMORY) {
        true => Space::ALL.into_iter().filter(|&s| op.row().accesses(s)).collect(),
        false => vec![Space::Global],
    }
}

/// Every base form of an operation: types, details, spaces.
fn forms(op: Op) -> Vec<(Type, Type, Aux, Space)> {
    let mut all = Vec::new();
    for ty in op.row().types.iter() {
        for sty in op.row().source_types(ty) {
            for aux in details(op, ty, sty) {
                let fits = |s: &Space| !(s.is_attribute() && Types::SMALL.has(ty));
                all.extend(spaces(op).into_iter().filter(fits).map(|s| (ty, sty, aux, s)));
            }
        }
    }
    all
}

fn modifiers() -> impl Iterator<Item = SrcMods> {
    (1..8u8).map(|n| SrcMods { neg: n & 1 != 0, abs: n & 2 != 0, inv: n & 4 != 0 })
}

/// Changes of one thing that leave an instruction legal.
fn legal_variants(i: &Inst, pool: &Pool) -> Vec<Inst> {
    let row = i.op.row();
    let mut all = vec![i.clone()];
    let mut add = |change: &dyn Fn(&mut Inst)| {
        let mut new = i.clone();
        change(&mut new);
        all.push(new);
    };
    let counts = source_counts(i.op, i.aux);
    for &n in counts[1..].iter().filter(|_| !(i.op == Op::Set && i.sty == Type::Pred)) {
        add(&|new| {
            while new.srcs.len() < n {
                let v = value(pool, new.src_type(new.srcs.len()));
                new.srcs.push(v);
            }
        });
    }
    for n in 0..i.srcs.len() {
        let (what, ty) = (&row.srcs[n], i.src_type(n));
        if what.below > 0 || what.reads == Reads::Tuple {
            continue;
        }
        match (ty, ty.words()) {
            (Type::Pred, _) => add(&|new| new.srcs[n] = Src::imm(1)),
            (_, 1) => {
                let number = if i.op == Op::Bar { 5 } else { 0x1357_9bdf };
                add(&|new| new.srcs[n] = Src::imm(number));
                add(&|new| new.srcs[n] = Src::cbuf(3, 0xfffc));
            }
            (_, 2) => {
                add(&|new| new.srcs[n] = Src::imm64(0x4000_0000_1357_9bdf));
                add(&|new| new.srcs[n] = Src::cbuf(3, 0xfff8));
            }
            _ => {}
        }
        for mods in modifiers().filter(|&m| what.takes(m, ty)) {
            add(&|new| new.srcs[n].mods = mods);
        }
    }
    for cond in conditions(i.op, i.sty) {
        add(&|new| new.cond = cond);
    }
    let f32_or_f16 = [i.ty, i.sty].iter().any(|t| matches!(t, Type::F32 | Type::F16));
    if row.is(row::FTZ) && f32_or_f16 {
        add(&|new| new.ftz = true);
    }
    if row.is(row::RND) && (i.ty.is_float() || i.sty.is_float()) {
        Rnd::ALL.into_iter().for_each(|r| add(&|new| new.rnd = r));
    }
    if row.sat.has(i.ty) {
        add(&|new| new.sat = true);
    }
    add(&|new| new.exact = true);
    add(&|new| new.guard = Some(Guard { pred: pool.preds[1], not: true }));
    all
}

/// Changes of one thing, each of which makes it illegal.
fn illegal_variants(i: &Inst, f: &mut Function, pool: &Pool) -> Vec<(&'static str, Inst)> {
    let row = i.op.row();
    let mut all: Vec<(&'static str, Inst)> = Vec::new();
    let mut add = |what: &'static str, change: &dyn Fn(&mut Inst)| {
        let mut new = i.clone();
        change(&mut new);
        all.push((what, new));
    };
    for ty in Type::ALL.into_iter().filter(|&t| !row.types.has(t)) {
        add("a type that it has not", &|new| new.ty = ty);
    }
    let sources: Vec<Type> = row.source_types(i.ty).collect();
    for sty in Type::ALL.into_iter().filter(|t| !sources.contains(t)) {
        add("a source type that it has not", &|new| new.sty = sty);
    }
    if row.srcs.iter().all(|s| s.reads != Reads::Tuple) {
        if i.srcs.len() < 4 && row.srcs.len() < 4 {
            add("a source too many", &|new| {
                while new.srcs.len() <= row.srcs.len() {
                    new.srcs.push(pool.words[0].into());
                }
            });
        }
        if !i.srcs.is_empty() && row.least() == i.srcs.len() {
            add("a source too few", &|new| new.srcs.truncate(new.srcs.len() - 1));
        }
    }
    for n in 0..i.srcs.len() {
        let (what, ty) = (&row.srcs[n], i.src_type(n));
        if what.reads == Reads::Tuple {
            continue;
        }
        let other = if ty == Type::Pred { Type::U32 } else { Type::Pred };
        add("a source of another class", &|new| new.srcs[n] = value(pool, other));
        let words = if ty.words() == 1 { 2 } else { 1 };
        add("a source of another width", &|new| new.srcs[n] = Src::tuple(&pool.words[..words]));
        add("an immediate of another width", &|new| {
            new.srcs[n] = if ty.words() == 2 { Src::imm(2) } else { Src::imm64(2) }
        });
        add("a constant between words", &|new| new.srcs[n] = Src::cbuf(0, 3));
        if ty.words() == 2 {
            add("a constant that is not aligned", &|new| new.srcs[n] = Src::cbuf(0, 4));
        }
        for mods in modifiers().filter(|&m| !what.takes(m, ty)) {
            add("a modifier that it does not take", &|new| new.srcs[n].mods = mods);
        }
    }
    if !row.is(row::COND) {
        add("a condition", &|new| new.cond = Cond::Ne);
    } else if i.sty == Type::Pred {
        add("an order of predicates", &|new| new.cond = Cond::Lt);
    } else if !i.sty.is_float() {
        add("an unordered condition of integers", &|new| new.cond = Cond::Ltu);
    }
    if !row.is(row::LOGIC) {
        add("a logic operation", &|new| new.logic = Logic::Or);
    }
    if !row.sat.has(i.ty) {
        add("saturation", &|new| new.sat = true);
    }
    if !row.is(row::FTZ) || ![i.ty, i.sty].iter().any(|t| matches!(t, Type::F32 | Type::F16)) {
        add("flushing", &|new| new.ftz = true);
    }
    if !row.is(row::RND) || !(i.ty.is_float() || i.sty.is_float()) {
        add("rounding", &|new| new.rnd = Rnd::Up);
    }
    if !matches!(row.detail, Detail::None | Detail::Part | Detail::Wrap | Detail::Shift) {
        add("no details", &|new| (new.aux, new.ext) = (Aux::None, None));
    }
    if row.detail != Detail::Count {
        add("another detail", &|new| new.aux = Aux::Count(1));
    }
    if row.is(op::MEMORY) {
        for space in Space::ALL.into_iter().filter(|&s| !row.accesses(s)) {
            add("another memory space", &|new| new.mem = memory(new.op, space, pool));
        }
        add("no memory operand", &|new| new.mem = None);
        add("an address that is no word", &|new| {
            new.mem = new.mem.map(|m| m.with_base(&pool.preds[..1]));
        });
    } else {
        add("a memory operand", &|new| new.mem = Some(MemRef::new(Space::Global)));
    }
    let carry = f.new_value(Class::Carry);
    let gives_carry = row.is(op::CARRY_OUT) && Types::WORD.has(i.ty);
    if !gives_carry && !i.dsts.is_full() {
        add("a carry out", &|new| new.dsts.push(carry));
    }
    let extra = [f.new_value(Class::Gpr), f.new_value(Class::Gpr)];
    if row.results != Results::Image {
        add("two destinations too many", &|new| {
            extra.iter().for_each(|&d| {
                if !new.dsts.is_full() {
                    new.dsts.push(d)
                }
            })
        });
    }
    if matches!(row.results, Results::Value | Results::ValuePred | Results::Ballot | Results::Components) {
        add("a destination too few", &|new| new.dsts.truncate(new.dsts.len() - 1));
    }
    add("a guard that is no predicate", &|new| new.guard = Some(Guard { pred: pool.words[0], not: false }));
    all
}

/// Those that stand anywhere: what is around a call, a parallel copy or a question for whole warps has tests of its own.
fn operations() -> impl Iterator<Item = Op> {
    Op::ALL.iter().copied().filter(|&op| !matches!(op, Op::Call | Op::Pcopy | Op::WholeWarp))
}

fn legal_programs(op: Op) -> Vec<Program> {
    let mut all = Vec::new();
    for (ty, sty, aux, space) in forms(op) {
        let count = {
            let mut n = 0;
            program(|f, pool| {
                let i = plain(f, pool, op, ty, sty, aux, space);
                n = legal_variants(&i, pool).len();
                i
            });
            n
        };
        for k in 0..count {
            all.push(program(|f, pool| {
                let i = plain(f, pool, op, ty, sty, aux, space);
                legal_variants(&i, pool).swap_remove(k)
            }));
        }
    }
    all
}

#[test]
fn what_a_row_allows_verifies_prints_and_reads_back() {
    let mut count = 0;
    for op in operations() {
        for p in legal_programs(op) {
            count += 1;
            verify::program(&p, Phase::Front).unwrap_or_else(|v| panic!("{v}\n{p}"));
            let text = p.to_string();
            let back = parse::program(&text).unwrap_or_else(|d| panic!("{d:?}\n{text}"));
            assert_eq!(back.to_string(), text);
            verify::program(&back, Phase::Front).unwrap_or_else(|v| panic!("read back: {v}\n{text}"));
        }
    }
    assert!(count > 5000, "{count}");
}

#[test]
fn what_a_row_does_not_allow_is_refused() {
    let (mut count, mut accepted) = (0, Vec::new());
    for op in operations() {
        for (ty, sty, aux, space) in forms(op) {
            let mut variants = 0;
            let mut k = 0;
            loop {
                let mut name = "";
                let p = program(|f, pool| {
                    let i = plain(f, pool, op, ty, sty, aux, space);
                    let mut list = illegal_variants(&i, f, pool);
                    variants = list.len();
                    let (what, bad) = list.swap_remove(k);
                    name = what;
                    bad
                });
                count += 1;
                if verify::program(&p, Phase::Front).is_ok() {
                    accepted.push(format!("{op} {ty} {sty}: {name}"));
                }
                k += 1;
                if k >= variants {
                    break;
                }
            }
        }
    }
    accepted.sort();
    accepted.dedup();
    assert!(accepted.is_empty(), "accepted:\n{}", accepted.join("\n"));
    assert!(count > 5000, "{count}");
}

#[test]
fn what_a_row_allows_compiles_or_is_refused_as_what_the_chip_lacks() {
    let mut failures = Vec::new();
    let every: usize = std::env::var("NVIR_IR_EVERY").ok().and_then(|s| s.parse().ok()).unwrap_or(5);
    for op in operations() {
        for (n, p) in legal_programs(op).into_iter().enumerate() {
            // A part of them; with NVIR_IR_EVERY=1 all.
            if n % every != 0 {
                continue;
            }
            for chip in Chip::ALL {
                let level = if (n / every).is_multiple_of(2) { OptLevel::O0 } else { OptLevel::O3 };
                let options = Options { debug: DebugOptions::verifying(), ..Options::at(level) };
                if let Err(d) = Compiler::new(chip).with_options(options).compile(p.clone())
                    && d.to_string().contains("internal error")
                {
                    let line = p.to_string().lines().nth(14).unwrap_or("").trim().to_string();
                    let reason = d.to_string();
                    let reason = reason.lines().next().unwrap_or("").to_string();
                    failures.push(format!("{chip} -O{} `{line}`: {reason}", level));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} fail:\n{}", failures.len(), failures.join("\n"));
}

// ---- examples that the program refuses, with place and reason

#[test]
fn a_choice_by_greater_encodes_on_every_chip() {
    for chip in Chip::ALL {
        let p = program(|f, pool| {
            let mut i =
                Inst::new(Op::Slct, Type::U32).src(pool.words[0]).src(pool.words[1]).src(pool.words[2]);
            i.sty = Type::F32;
            i.cond = Cond::Gt;
            i.dsts.push(f.new_value(Class::Gpr));
            i
        });
        let image = Compiler::new(chip).compile(p);
        assert!(image.is_ok(), "{chip}: {image:?}");
    }
}

#[test]
fn a_predicate_converts_to_both_words_of_a_double() {
    for chip in Chip::ALL {
        let p = program(|f, pool| {
            let mut i = Inst::new(Op::Cvt, Type::F64).src(pool.preds[0]);
            i.sty = Type::Pred;
            let words = [f.new_value(Class::Gpr), f.new_value(Class::Gpr)];
            i.dsts.extend(words);
            i
        });
        let legal = Compiler::new(chip).optimised(&Source::ir(&p.to_string()), &mut Default::default());
        let text = legal.expect("it compiles").to_string();
        assert!(text.contains("0x3ff00000"), "{chip}\n{text}");
    }
}
