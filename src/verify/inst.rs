//! One instruction against its row of the operation table ([`op`]), and against its phase.

use super::*;
use crate::ir::op::{Detail, Reads, Results, SourceTypes, Types, row};

impl Verifier<'_> {
    pub(super) fn inst(&self, i: &Inst) -> Result<(), Violation> {
        if !self.f.ops.contains(i.op) {
            return self.fail("an operation is not in the function's set");
        }
        self.types(i)?;
        self.suffixes(i)?;
        self.detail(i)?;
        if let Some(g) = i.guard
            && self.f.class(g.pred) != Class::Pred
        {
            return self.fail("the guard is not a predicate");
        }
        self.memory(i)?;
        self.sources(i)?;
        self.results(i)?;
        self.comparison(i)?;
        self.phase(i)
    }

    fn types(&self, i: &Inst) -> Result<(), Violation> {
        let row = i.op.row();
        if !row.types.has(i.ty) {
            return self.fail(format!("`{}` has no type {}: it has {}", i.op, i.ty, names(row.types)));
        }
        let from = match row.from {
            SourceTypes::Same => i.sty == i.ty,
            SourceTypes::Of(types) => types.has(i.sty),
        };
        if !from {
            return match row.from {
                SourceTypes::Same => self.fail(format!("`{}` has one type, and no source type", i.op)),
                SourceTypes::Of(types) => {
                    self.fail(format!("`{}` has no source type {}: it has {}", i.op, i.sty, names(types)))
                }
            };
        }
        Ok(())
    }

    /// Condition, logic operation, saturation, flushing, rounding: nothing that the operation does
    /// not read.
    fn suffixes(&self, i: &Inst) -> Result<(), Violation> {
        let row = i.op.row();
        let no = |what: &str| self.fail(format!("`{}` has no {what} on this type", i.op));
        let float = |t: Type| t.is_float();
        if !row.is(row::COND) && i.cond != Cond::default() {
            return no("condition");
        }
        if i.logic != Logic::And && !(row.is(row::LOGIC) && i.srcs.len() > 2) {
            return no("logic operation");
        }
        if i.sat && !row.sat.has(i.ty) {
            return no("`.sat`");
        }
        if i.ftz && !(row.is(row::FTZ) && [i.ty, i.sty].iter().any(|t| matches!(t, Type::F32 | Type::F16))) {
            return no("`.ftz`");
        }
        if i.rnd != Rnd::Near && !(row.is(row::RND) && (float(i.ty) || float(i.sty))) {
            return no("rounding");
        }
        if i.known != Align::ANY && !(i.op == Op::Ld && i.ty.words() == 1) {
            return self.fail("only a load of one word says what is known of its value");
        }
        Ok(())
    }

    /// What belongs to the operation besides types and operands.
    fn detail(&self, i: &Inst) -> Result<(), Violation> {
        let wanted = i.op.row().detail;
        if !wanted.fits(i) {
            return match wanted {
                Detail::None => self.fail(format!("`{}` has no details", i.op)),
                _ => self.fail(format!("`{}` needs its details: {}", i.op, wanted.text())),
            };
        }
        match i.aux {
            Aux::Byte(n) => {
                let whole = Types::new(&[Type::U8, Type::S8, Type::U16, Type::S16, Type::F16]).has(i.sty);
                if !whole || u32::from(n) * i.sty.bytes() >= 4 {
                    return self.fail("a word has no such part");
                }
            }
            Aux::Integral if !(i.ty.is_float() && i.ty == i.sty) => {
                return self.fail("only a float of the same type is rounded to an integral value");
            }
            Aux::Sv(sv) if Types::WIDE.has(i.ty) && sv != Sv::ClockLo => {
                return self.fail("only the clock has 64 bits");
            }
            Aux::Atom(op) => self.atomic(i, op)?,
            Aux::Bar(op) => {
                let reduction = !matches!(op, BarOp::Sync | BarOp::Arrive);
                if reduction != (i.srcs.len() == 3) {
                    return self.fail("barrier reductions take a predicate, and only these");
                }
                if matches!(i.srcs.first(), Some(s) if s.as_imm().is_some_and(|n| n > 15)) {
                    return self.fail("barriers have the numbers 0 to 15");
                }
            }
            Aux::Interp(how) if (how.at == InterpAt::Offset) != (i.srcs.len() == 2) => {
                return self.fail("the inverse of w and an offset stand with `.offset`, no offset elsewhere");
            }
            Aux::Pixel(what) if (what == PixelOp::SampleOffset) != (i.srcs.len() == 1) => {
                return self.fail("a sample stands with `.offset`, and nowhere else");
            }
            Aux::Suclamp { mode: 15.., .. } => return self.fail("`suclamp` has the modes 0 to 14"),
            Aux::Madsp(parts) if parts > 0xff && parts != madsp::SD => {
                return self.fail("`madsp` has no such parts");
            }
            _ => {}
        }
        match i.ext.as_deref() {
            Some(Ext::Tex(t)) => self.texture(i, t),
            Some(Ext::Surf(s)) => self.image(i, s),
            _ => Ok(()),
        }
    }

    fn atomic(&self, i: &Inst, op: AtomOp) -> Result<(), Violation> {
        let operands = match op {
            AtomOp::Load => 0,
            AtomOp::Cas => 2,
            _ => 1,
        };
        if i.srcs.len() != operands {
            return self.fail(format!("{} sources; `.{}` takes {operands}", i.srcs.len(), op.name()));
        }
        if !op.types().has(i.ty) {
            return self.fail(format!("`.{}` has no type {}: it has {}", op.name(), i.ty, names(op.types())));
        }
        Ok(())
    }

    fn texture(&self, i: &Inst, t: &Tex) -> Result<(), Violation> {
        if !(1..16).contains(&t.mask) || t.component > 3 {
            return self.fail("a texel has the components 0 to 3, and one is wanted at least");
        }
        if !Types::WORD.union(Types::F32).has(t.ty) {
            return self.fail("texels are f32, s32 or u32");
        }
        self.general(t.operands.iter().flat_map(|(_, list)| list))?;
        if self.rules.phase >= Phase::Ssa && !t.operands.is_empty() {
            return self.fail("operands by role are removed by lowering");
        }
        if !i.srcs.is_empty() && !t.operands.is_empty() {
            return self.fail("operands stand by role or as the machine takes them");
        }
        Ok(())
    }

    fn image(&self, i: &Inst, s: &Surf) -> Result<(), Violation> {
        if s.mask > 15 {
            return self.fail("a texel has the components 0 to 3");
        }
        self.general(s.coords.iter().chain(&s.data).chain(&s.index).chain(&s.handle).chain(&s.sample))?;
        if !i.srcs.is_empty() {
            return Ok(());
        }
        if (i.op == Op::Sured) != s.atom.is_some() {
            return self.fail("an image atomic, and nothing else, has an atomic operation");
        }
        if let Some(op) = s.atom.filter(|op| !op.types().has(i.ty)) {
            return self.fail(format!("`{}` has no type {}: it has {}", op.name(), i.ty, names(op.types())));
        }
        if self.rules.phase >= Phase::Ssa {
            return self.fail("this form of an image access is removed by lowering");
        }
        let (coords, data) = match (i.op, s.atom) {
            (Op::Suq, _) => return self.texel(i, s),
            (Op::Sust, _) => (true, s.mask.count_ones() as usize),
            (_, Some(AtomOp::Load)) => (true, 0),
            (_, None) => {
                self.texel(i, s)?;
                (true, 0)
            }
            (_, Some(AtomOp::Cas)) => (true, 2 * i.ty.words()),
            (_, Some(_)) => (true, i.ty.words()),
        };
        if coords && s.coords.is_empty() {
            return self.fail("there are no coordinates");
        }
        if s.data.len() != data {
            return self.fail(format!("{} words of data; {data} are right", s.data.len()));
        }
        Ok(())
    }

    /// The destinations of what reads a texel or the size of an image.
    fn texel(&self, i: &Inst, s: &Surf) -> Result<(), Violation> {
        let words = i.dsts.iter().filter(|&&d| self.f.class(d) == Class::Gpr).count();
        if words == s.mask.count_ones() as usize {
            return Ok(());
        }
        self.fail("as many destinations as the mask has components are right")
    }

    fn bank(&self, n: u16) -> Result<(), Violation> {
        let known = n < BANKS;
        if known { Ok(()) } else { self.fail(format!("constant bank {n}: instructions name {BANKS}")) }
    }

    fn general<'v>(&self, values: impl IntoIterator<Item = &'v ValueId>) -> Result<(), Violation> {
        match values.into_iter().find(|&&v| self.f.class(v) != Class::Gpr) {
            Some(&v) => {
                self.fail(format!("%{}{} is not a general value", self.f.class(v).letter(), v.as_u32()))
            }
            None => Ok(()),
        }
    }

    fn memory(&self, i: &Inst) -> Result<(), Violation> {
        if i.op.is(op::MEMORY) != i.mem.is_some() {
            return self.fail("a memory operand is missing or out of place");
        }
        let Some(m) = &i.mem else { return Ok(()) };
        if !i.op.row().accesses(m.space) {
            return self.fail(format!("`{}` does not access this memory space", i.op));
        }
        self.general(m.base().iter().chain(&m.index))?;
        if m.base().len() == 2 && !matches!(m.space, Space::Global | Space::Generic) {
            return self.fail("only global and generic addresses have 64 bits");
        }
        let numbered = matches!(m.space, Space::Const | Space::Buffer | Space::Uniform);
        if !numbered && (m.buffer != 0 || m.index.is_some() && !m.space.is_attribute()) {
            return self.fail("this memory space has no buffers");
        }
        if m.space.is_attribute() && (m.order != Order::Weak || Types::SMALL.has(i.ty)) {
            return self.fail("attributes are words that nobody else sees");
        }
        if m.space.is_attribute() && matches!(i.op, Op::Ld | Op::St) && m.align.bytes() < 4 {
            return self.fail("attributes lie at multiples of 4: `align 4`");
        }
        let fixed = m.base().is_empty() && m.index.is_none();
        for fact in [m.align, i.known] {
            if u64::from(fact.rest) >= 1 << fact.log2 {
                return self.fail("what is left over is not below what an address or value is a multiple of");
            }
        }
        if m.space == Space::Const {
            self.bank(m.buffer)?;
        }
        if m.space == Space::Const && fixed {
            // One that lies beyond it as a whole reads nothing of use, but valid programs have such
            // in code that never runs; selection puts the offset into a register.
            let start = i64::from(m.offset as u32);
            let end = start + i64::from(i.ty.bytes());
            if start < BANK && end > BANK {
                return self.fail("the access reaches beyond the bank of constant memory, 64 KiB");
            }
        }
        if self.rules.phase >= Phase::Ssa {
            if matches!(m.space, Space::Buffer | Space::Uniform) {
                return self.fail("this memory space is removed by lowering");
            }
            // Atomics and locks trap where they are misaligned: nothing is promised.
            let wants = if i.ty == Type::B96 { 16 } else { i.ty.bytes() };
            if matches!(i.op, Op::Ld | Op::St) && m.proven() < wants {
                return self.fail(format!(
                    "an access of {wants} bytes whose address is proven to be a multiple of {} only",
                    m.proven()
                ));
            }
        }
        Ok(())
    }

    fn sources(&self, i: &Inst) -> Result<(), Violation> {
        let (f, row) = (self.f, i.op.row());
        let mut srcs = i.srcs.as_slice();
        if let Some(last) = srcs.last().and_then(Src::as_val)
            && f.class(last) == Class::Carry
        {
            if !row.is(op::CARRY_IN) || !Types::WORD.has(i.sty) {
                return self.fail("this operation takes no carry");
            }
            if srcs.last().is_some_and(|s| s.mods != SrcMods::default()) {
                return self.fail("a carry takes no modifier");
            }
            srcs = &srcs[..srcs.len() - 1];
            if i.op == Op::Set && srcs.len() < 3 {
                return self.fail("a carry stands behind the third source");
            }
        }
        let (least, most) = (row.least(), row.srcs.len());
        if srcs.len() < least || srcs.len() > most {
            return self.fail(format!("{} sources; {least} to {most} are right", srcs.len()));
        }
        for (n, s) in srcs.iter().enumerate() {
            let what = &row.srcs[n];
            if what.reads == Reads::Tuple {
                if s.values().iter().any(|&v| f.class(v) == Class::Carry) {
                    return self.fail(format!("source {n} is of the wrong class"));
                }
                self.constant(n, s, 1)?;
                continue;
            }
            let ty = i.src_type(n);
            let (class, words) = (ty.class(), ty.words());
            if s.values().iter().any(|&v| f.class(v) != class) {
                return self.fail(format!("source {n} is of the wrong class"));
            }
            let wrong_kind = match s.kind {
                SrcKind::Imm(x) if class == Class::Pred => x > 1,
                // Zero is zero in every word.
                SrcKind::Imm(x) => words != 1 && (words == 2 || x != 0),
                SrcKind::Imm64(_) => words != 2,
                SrcKind::Const { .. } => class == Class::Pred || words > 2,
                _ => {
                    if s.values().len() != words {
                        return self
                            .fail(format!("source {n} has {} words instead of {words}", s.values().len()));
                    }
                    false
                }
            };
            if wrong_kind {
                let kind = match (class, s.kind) {
                    (Class::Pred, _) => "no predicate".to_string(),
                    (_, SrcKind::Const { .. }) => "too wide for a constant".to_string(),
                    _ => format!("an immediate of another width than {ty}"),
                };
                return self.fail(format!("source {n} is {kind}"));
            }
            if !what.takes(s.mods, ty) {
                return self.fail(format!("source {n} takes no such modifier, read as {ty}"));
            }
            if what.below > 0 && s.as_imm().is_none_or(|x| x >= what.below) {
                return self.fail(format!("source {n} is not an immediate below {}", what.below));
            }
            self.constant(n, s, words)?;
        }
        Ok(())
    }

    /// A source in constant memory: instructions name words of it, or pairs of them that lie at
    /// multiples of 8.
    fn constant(&self, n: usize, s: &Src, words: usize) -> Result<(), Violation> {
        let SrcKind::Const { bank, offset } = s.kind else { return Ok(()) };
        self.bank(bank.into())?;
        let bytes = 4 * words as i64;
        if i64::from(offset) % bytes == 0 {
            return Ok(());
        }
        self.fail(format!("source {n} is a constant at an offset that is not a multiple of {bytes}"))
    }

    fn results(&self, i: &Inst) -> Result<(), Violation> {
        let (f, row) = (self.f, i.op.row());
        let mut dsts = i.dsts.as_slice();
        if let Some((&last, rest)) = dsts.split_last()
            && f.class(last) == Class::Carry
        {
            if !row.is(op::CARRY_OUT) || !Types::WORD.has(i.ty) {
                return self.fail("this operation gives no carry");
            }
            dsts = rest;
        }
        let (class, words) = (i.ty.class(), i.ty.words());
        let is = |dsts: &[ValueId], class: Class| dsts.iter().all(|&d| f.class(d) == class);
        let whole = |dsts: &[ValueId]| dsts.len() == words && is(dsts, class);
        let with_pred = |dsts: &[ValueId]| {
            dsts.split_last().is_some_and(|(&p, rest)| f.class(p) == Class::Pred && whole(rest))
        };
        let (ok, right) = match row.results {
            Results::None | Results::Call => (dsts.is_empty(), "no destinations"),
            Results::Value => (whole(dsts), "destinations of the type's class"),
            Results::MaybeValue => (dsts.is_empty() || whole(dsts), "destinations of the type's class"),
            Results::ValuePred => (whole(dsts) || with_pred(dsts), "destinations of the type's class"),
            Results::MaybePred => (dsts.len() < 2 && is(dsts, Class::Pred), "no destination but a predicate"),
            Results::Ballot => {
                let ok = match *dsts {
                    [d] => f.class(d) != Class::Carry,
                    [d, p] => f.class(d) == Class::Gpr && f.class(p) == Class::Pred,
                    _ => false,
                };
                (ok, "a word, a predicate, or both")
            }
            Results::Components => {
                let n = i.tex().map_or(0, |t| t.mask.count_ones() as usize);
                (dsts.len() == n && is(dsts, Class::Gpr), "destinations for the components of the mask")
            }
            Results::Image => {
                let words = match dsts.split_last() {
                    Some((&p, rest)) if f.class(p) == Class::Pred => rest,
                    _ => dsts,
                };
                (is(words, Class::Gpr), "general destinations, then perhaps a predicate,")
            }
            Results::Copies => {
                let n: usize = i.srcs.iter().map(|s| s.values().len().max(1)).sum();
                (dsts.len() == n, "a destination for each word copied")
            }
        };
        if ok { Ok(()) } else { self.fail(format!("{right} are right")) }
    }

    /// Conditions that have a meaning on what is compared.
    fn comparison(&self, i: &Inst) -> Result<(), Violation> {
        if !i.op.is(row::COND) || i.sty.is_float() {
            return Ok(());
        }
        if i.cond.ordered() != i.cond {
            return self.fail(format!("`.{}` compares floats only", i.cond.name()));
        }
        if i.sty == Type::Pred {
            if !matches!(i.cond, Cond::Eq | Cond::Ne) {
                return self.fail("predicates are equal or not, and have no order");
            }
            if i.srcs.len() > 2 {
                return self.fail("a comparison of predicates has no third source");
            }
        }
        Ok(())
    }

    fn phase(&self, i: &Inst) -> Result<(), Violation> {
        if self.rules.phase >= Phase::Ssa {
            if i.op.is(op::FRONT) {
                return self.fail("this operation is removed by lowering");
            }
            let wide = [i.ty, i.sty].into_iter().any(|t| Types::WIDE.has(t));
            if wide && !i.op.is(row::WIDE) {
                return self.fail("64-bit integer arithmetic is removed by lowering");
            }
        }
        match self.rules.chip {
            Some(chip) if self.rules.phase == Phase::Legal => select::check(chip, self.f, i)
                .or_else(|why| self.fail(format!("no machine instruction does this: {why}"))),
            _ => Ok(()),
        }
    }
}

/// Whether lowering may put other instructions in place of one, which may give carries of their
/// own.
pub(super) fn may_expand(i: &Inst) -> bool {
    let pair = [i.ty, i.sty].iter().any(|t| t.words() > 1);
    let sequence = matches!(i.op, Op::Sin | Op::Cos | Op::Ex2 | Op::Rdsv | Op::Shfl);
    pair || sequence || i.mem.is_some() || i.ext.is_some() || i.op.is(op::FRONT)
}

/// Banks of constant memory: both generations' instructions have five bits for the number.
const BANKS: u16 = 32;

/// Bytes of a bank of constant memory.
const BANK: i64 = 1 << 16;

fn names(types: Types) -> String {
    types.iter().map(|t| t.name()).collect::<Vec<_>>().join(" ")
}
