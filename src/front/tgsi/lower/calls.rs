//! What subroutines take and give: TGSI has no calling convention, all registers are global.
//!
//! A subroutine's *parameters* are the register components that it may read before it writes them; its *results* are
//! those that it may write and some caller may read afterwards. Both are found by liveness over all functions that
//! the kernel reaches:
//!
//! 1. callees before callers: what a call reads for sure or perhaps (`reads`), writes perhaps (`may`) and on every
//!    path (`must`);
//! 2. callers before callees: what is live after each call. The results are `may` of that; and a result that is not
//!    written on every path is also a parameter, because the old value may come back out.
//!
//! The kernel is called by nobody, so nothing is live at its end but what its stage leaves in registers. Calls must not be recursive.
//! Registers in local memory take no part: they keep their values across calls by themselves.

use rustc_hash::FxHashMap;

use super::super::ast::*;
use super::super::interface::Registers;
use super::graphics::VERTEX;
use crate::diag::{Diagnostic, Diagnostics};
use crate::stage::{Semantic, Stage};

/// A register's component.
pub(super) type Comp = (File, u32, u8);

/// What a subroutine takes and gives, in a fixed order.
#[derive(Default, Debug, Clone)]
pub(super) struct Binding {
    pub params: Vec<Comp>,
    pub results: Vec<Comp>,
}

#[derive(Default)]
pub(super) struct Calls {
    /// Subroutines that the kernel reaches, callers first.
    order: Vec<u32>,
    bindings: FxHashMap<u32, Binding>,
}

impl Calls {
    /// Analyses what is reached from the code at `entry`; refuses recursion.
    pub(super) fn new(ast: &Program, entry: u32, variables: Variables) -> Result<Calls, Diagnostics> {
        if !ast.code.iter().any(|i| is_call(i.op)) {
            return Ok(Calls::default());
        }
        let order = reached(ast, entry)?;
        if order.len() == 1 {
            return Ok(Calls::default());
        }
        let mut a = Analysis::new(ast, variables);
        a.number_what_occurs_in(&order[1..]);
        for &f in order.iter().rev() {
            a.summarise(f);
        }
        for &f in &order {
            let bits = a.exit.remove(&f).unwrap_or_default();
            let at_exit = if f == entry { a.left_by_stage() } else { bits.and(&a.may[&f]) };
            let at_entry = a.liveness(f, &at_exit);
            if f != entry {
                let binding = Binding { params: a.comps(&at_entry), results: a.comps(&at_exit) };
                a.bindings.insert(f, binding);
            }
        }
        Ok(Calls { order: order[1..].to_vec(), bindings: a.bindings })
    }

    pub(super) fn order(&self) -> &[u32] {
        &self.order
    }

    pub(super) fn binding(&self, sub: u32) -> Option<&Binding> {
        self.bindings.get(&sub)
    }
}

/// The instructions of the function that begins at `start`.
fn body(ast: &Program, start: u32) -> std::ops::Range<u32> {
    let from = start + u32::from(ast.code[start as usize].op == Opcode::BGNSUB);
    let rest = &ast.code[from as usize..];
    let n = rest.iter().position(|i| matches!(i.op, Opcode::BGNSUB | Opcode::ENDSUB)).unwrap_or(rest.len());
    from..from + n as u32
}

/// Which registers besides TEMP and ADDR are variables.
#[derive(Clone, Default)]
pub(super) struct Variables {
    /// Outputs by number: those of fragment shaders, and what is wanted when a vertex is complete.
    outputs: Vec<u32>,
    /// The vertex that a geometry shader makes.
    vertex: bool,
}

impl Variables {
    pub(super) fn of(registers: &Registers, clip_source: Option<Semantic>) -> Variables {
        let interface = &registers.interface;
        let kept = |n: &u32| {
            registers.output(*n).is_some_and(|a| {
                interface.stage == Stage::Fragment
                    || clip_source == Some(a.semantic)
                    || interface.stage == Stage::Geometry && a.semantic == Semantic::ViewportIndex
            })
        };
        let outputs = (0..registers.outputs()).filter(kept).collect();
        Variables { outputs, vertex: interface.stage == Stage::Geometry }
    }

    /// Calls `each` with the components of the outputs.
    fn for_outputs(&self, mut each: impl FnMut(Comp)) {
        self.outputs.iter().for_each(|&n| (0..4).for_each(|c| each((File::Out, n, c))));
    }

    /// Whether a register can be written and read back.
    fn has(&self, reg: &Reg) -> bool {
        match reg.file {
            File::Temp | File::Addr => true,
            File::Out => self.outputs.contains(&(reg.index.offset.max(0) as u32)),
            _ => false,
        }
    }
}

/// Whether an instruction goes on to the next vertex.
fn is_emission(op: Opcode) -> bool {
    matches!(op, Opcode::EMIT | Opcode::ENDPRIM)
}

fn is_call(op: Opcode) -> bool {
    matches!(op, Opcode::CAL | Opcode::CALLNZ)
}

/// The functions that are reached, callers before callees.
fn reached(ast: &Program, entry: u32) -> Result<Vec<u32>, Diagnostics> {
    /// A function on the way from the entry, and the calls of it that are left.
    struct Visit {
        func: u32,
        calls: std::vec::IntoIter<u32>,
    }
    #[derive(PartialEq)]
    enum State {
        Open,
        Done,
    }
    let visit = |func| {
        let calls: Vec<u32> = body(ast, func).filter(|&i| is_call(ast.code[i as usize].op)).collect();
        Visit { func, calls: calls.into_iter() }
    };
    let mut state = FxHashMap::from_iter([(entry, State::Open)]);
    let mut stack = vec![visit(entry)];
    let mut done = Vec::new();
    while let Some(top) = stack.last_mut() {
        match top.calls.next() {
            Some(call) => {
                let to = ast.partner[call as usize];
                match state.get(&to) {
                    None => {
                        state.insert(to, State::Open);
                        stack.push(visit(to));
                    }
                    Some(State::Done) => {}
                    Some(State::Open) => {
                        let d = Diagnostic::error("subroutines call each other recursively")
                            .at(ast.code[call as usize].span, "this call closes the circle")
                            .label(ast.code[to as usize].span, "this subroutine is being called");
                        return Err(d
                            .help("there is no stack for registers, so every subroutine runs once at a time")
                            .into());
                    }
                }
            }
            None => {
                state.insert(top.func, State::Done);
                done.push(top.func);
                stack.pop();
            }
        }
    }
    done.reverse();
    Ok(done)
}

/// Calls `each` with the components of TEMP and ADDR that a part of a function reads, and those that it writes, each of
/// these with the number of the instruction, in ascending order.
pub(super) fn for_accesses(
    ast: &Program,
    calls: &Calls,
    code: std::ops::Range<u32>,
    mut each: impl FnMut(Comp, Option<u32>),
) {
    let analysis = Analysis::new(ast, Variables::default());
    for at in code {
        analysis.for_reads(at, |c| each(c, None));
        analysis.for_writes(at, |c| each(c, Some(at)));
        if is_call(ast.code[at as usize].op)
            && let Some(binding) = calls.binding(ast.partner[at as usize])
        {
            let registers = binding.results.iter().filter(|c| matches!(c.0, File::Temp | File::Addr));
            registers.for_each(|&c| each(c, Some(at)));
        }
    }
}

/// A set of components, by number.
#[derive(Clone, Default, PartialEq)]
struct Bits(Vec<u64>);

impl Bits {
    fn insert(&mut self, n: usize) {
        if self.0.len() <= n / 64 {
            self.0.resize(n / 64 + 1, 0);
        }
        self.0[n / 64] |= 1 << (n % 64);
    }

    fn or(&mut self, other: &Bits) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    fn minus(&mut self, other: &Bits) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= !b);
    }

    fn and(&self, other: &Bits) -> Bits {
        Bits(self.0.iter().zip(&other.0).map(|(a, b)| a & b).collect())
    }

    fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0
            .iter()
            .enumerate()
            .flat_map(|(i, w)| (0..64).filter(move |b| w >> b & 1 != 0).map(move |b| i * 64 + b))
    }
}

/// A run of instructions that are executed one after the other; the last one may go elsewhere.
struct Run {
    code: std::ops::Range<u32>,
    next: Vec<usize>,
    /// Control may leave the function after it, returning.
    returns: bool,
}

struct Analysis<'a> {
    ast: &'a Program,
    variables: Variables,
    /// Of components that occur in subroutines: no others can be parameters or results.
    numbers: FxHashMap<Comp, usize>,
    names: Vec<Comp>,
    reads: FxHashMap<u32, Bits>,
    may: FxHashMap<u32, Bits>,
    must: FxHashMap<u32, Bits>,
    /// What is live after some call of the function.
    exit: FxHashMap<u32, Bits>,
    bindings: FxHashMap<u32, Binding>,
}

impl<'a> Analysis<'a> {
    fn new(ast: &'a Program, variables: Variables) -> Analysis<'a> {
        Analysis {
            ast,
            variables,
            numbers: FxHashMap::default(),
            names: Vec::new(),
            reads: FxHashMap::default(),
            may: FxHashMap::default(),
            must: FxHashMap::default(),
            exit: FxHashMap::default(),
            bindings: FxHashMap::default(),
        }
    }

    fn number_what_occurs_in(&mut self, subs: &[u32]) {
        let mut comps = Vec::new();
        for &f in subs {
            for at in body(self.ast, f) {
                self.for_writes(at, |c| comps.push(c));
                self.for_reads(at, |c| comps.push(c));
            }
        }
        for c in comps {
            let next = self.names.len();
            if *self.numbers.entry(c).or_insert(next) == next {
                self.names.push(c);
            }
        }
    }

    /// The set of those components that have numbers.
    fn set(&self, each: impl FnOnce(&mut dyn FnMut(Comp))) -> Bits {
        let mut bits = Bits::default();
        each(&mut |c| {
            if let Some(&n) = self.numbers.get(&c) {
                bits.insert(n);
            }
        });
        bits
    }

    fn comps(&self, bits: &Bits) -> Vec<Comp> {
        let mut all: Vec<Comp> = bits.iter().map(|n| self.names[n]).collect();
        all.sort_by_key(|&(file, index, comp)| (file.name(), index, comp));
        all
    }

    /// What is wanted at the end of the main code.
    fn left_by_stage(&self) -> Bits {
        self.set(|each| {
            self.variables.for_outputs(&mut *each);
            if self.variables.vertex {
                each(VERTEX);
            }
        })
    }

    /// Facts about a function that do not depend on its callers.
    fn summarise(&mut self, f: u32) {
        let runs = self.runs(f);
        let mut may = Bits::default();
        for at in body(self.ast, f) {
            let kill = self.writes(at);
            may.or(&kill);
            if is_call(self.ast.code[at as usize].op) {
                may.or(&self.may[&self.ast.partner[at as usize]].clone());
            }
        }
        // Written on every path to a return: forwards, intersecting; `None` is everything.
        let mut inn: Vec<Option<Bits>> = vec![None; runs.len()];
        let mut must: Option<Bits> = None;
        let mut work: Vec<usize> = Vec::new();
        if !runs.is_empty() {
            inn[0] = Some(Bits::default());
            work.push(0);
        }
        while let Some(r) = work.pop() {
            let mut out = inn[r].clone().unwrap_or_default();
            for at in runs[r].code.clone() {
                out.or(&self.surely_written(at));
            }
            for &n in &runs[r].next {
                let new = inn[n].as_ref().map_or_else(|| out.clone(), |old| old.and(&out));
                if inn[n].as_ref() != Some(&new) {
                    inn[n] = Some(new);
                    work.push(n);
                }
            }
        }
        for (r, run) in runs.iter().enumerate().filter(|(_, run)| run.returns) {
            let Some(mut out) = inn[r].clone() else { continue };
            for at in run.code.clone() {
                out.or(&self.surely_written(at));
            }
            must = Some(must.map_or_else(|| out.clone(), |m| m.and(&out)));
        }
        self.may.insert(f, may);
        self.must.insert(f, must.unwrap_or_default());
        let reads = self.liveness(f, &Bits::default());
        self.reads.insert(f, reads);
    }

    fn surely_written(&self, at: u32) -> Bits {
        match self.ast.code[at as usize].op {
            Opcode::CAL => self.must[&self.ast.partner[at as usize]].clone(),
            Opcode::CALLNZ => Bits::default(),
            _ => self.writes(at),
        }
    }

    /// What is live at the function's beginning; notes what is live after its calls.
    fn liveness(&mut self, f: u32, at_exit: &Bits) -> Bits {
        let runs = self.runs(f);
        let mut preds: Vec<Vec<usize>> = vec![Vec::new(); runs.len()];
        for (r, run) in runs.iter().enumerate() {
            run.next.iter().for_each(|&n| preds[n].push(r));
        }
        let mut before = vec![Bits::default(); runs.len()];
        // Once each from the end, then those again behind which something has changed.
        let mut work: Vec<usize> = (0..runs.len()).collect();
        let mut waiting = vec![true; runs.len()];
        while let Some(r) = work.pop() {
            waiting[r] = false;
            let mut live = if runs[r].returns { at_exit.clone() } else { Bits::default() };
            for &n in &runs[r].next {
                live.or(&before[n]);
            }
            for at in runs[r].code.clone().rev() {
                self.transfer(at, &mut live);
            }
            live.or(&before[r]);
            if live != before[r] {
                before[r] = live;
                work.extend(preds[r].iter().filter(|&&p| !std::mem::replace(&mut waiting[p], true)));
            }
        }
        before.into_iter().next().unwrap_or_default()
    }

    /// Liveness over one instruction, backwards.
    fn transfer(&mut self, at: u32, live: &mut Bits) {
        let op = self.ast.code[at as usize].op;
        let reads = self.reads_of(at);
        if is_call(op) {
            let callee = self.ast.partner[at as usize];
            self.exit.entry(callee).or_default().or(live);
            if op == Opcode::CAL {
                live.minus(&self.must[&callee]);
            }
            live.or(&self.reads[&callee]);
        } else {
            live.minus(&self.writes(at));
        }
        live.or(&reads);
    }

    /// The function's code in runs, with where they go. The first run begins the function.
    fn runs(&self, f: u32) -> Vec<Run> {
        let range = body(self.ast, f);
        let flow = |at: u32| self.ast.code[at as usize].op.info().shape == Shape::Flow;
        // Every flow instruction ends a run, and begins one where something jumps to it.
        let mut starts: Vec<u32> =
            range.clone().filter(|&at| at == range.start || flow(at) || flow(at - 1)).collect();
        starts.dedup();
        let find = |at: u32| starts.binary_search(&at).ok();
        let mut runs = Vec::with_capacity(starts.len());
        for (n, &start) in starts.iter().enumerate() {
            let end = starts.get(n + 1).copied().unwrap_or(range.end);
            let last = end - 1;
            let partner = self.ast.partner[last as usize];
            let mut to = Vec::new();
            let mut returns = false;
            use Opcode::*;
            // What falls out of a case goes past the next CASE.
            match self.ast.code[last as usize].op {
                IF | UIF | IF_ASKED => {
                    to.extend([end, partner + u32::from(self.ast.code[partner as usize].op == ELSE)])
                }
                ELSE => to.push(partner),
                ENDLOOP => to.push(partner),
                BRK => to.push(partner + 1),
                BREAKC => to.extend([end, partner + 1]),
                CONT => to.push(partner),
                SWITCH | CASE | DEFAULT => to.extend([end, partner]),
                RET => returns = true,
                END => {}
                _ => to.push(end),
            }
            let mut next = Vec::new();
            for t in to {
                match find(t) {
                    Some(n) => next.push(n),
                    None => returns = true,
                }
            }
            runs.push(Run { code: start..end, next, returns });
        }
        runs
    }

    /// Calls `each` with the components that an instruction writes for sure (itself, not what it calls).
    fn for_writes(&self, at: u32, mut each: impl FnMut(Comp)) {
        for d in self.ast.inst(at).dsts {
            if d.reg.index.indirect.is_none() && self.variables.has(&d.reg) {
                d.comps().for_each(|c| each((d.reg.file, d.reg.index.offset as u32, c as u8)));
            }
        }
        if self.variables.vertex && is_emission(self.ast.code[at as usize].op) {
            each(VERTEX);
        }
    }

    fn writes(&self, at: u32) -> Bits {
        self.set(|each| self.for_writes(at, each))
    }

    /// Calls `each` with the components that an instruction may read.
    fn for_reads(&self, at: u32, mut each: impl FnMut(Comp)) {
        let inst = &self.ast.inst(at);
        let stores = inst.dsts.iter().any(|d| d.reg.file == File::Out);
        if self.variables.vertex && (stores || is_emission(inst.op)) {
            // What an emission stores was written before.
            if is_emission(inst.op) {
                self.variables.for_outputs(&mut each);
            }
            each(VERTEX);
        }
        let mut read = |reg: &Reg, comp: u8| {
            if reg.index.indirect.is_none() && self.variables.has(reg) {
                each((reg.file, reg.index.offset as u32, comp));
            }
        };
        let mask = inst.dsts.first().map_or(0, |d| d.mask);
        for (n, s) in inst.srcs.iter().enumerate() {
            for c in read_components(inst, n, mask) {
                read(&s.reg, s.swizzle[c]);
            }
        }
        for s in inst.texture.iter().flat_map(|t| &t.offsets) {
            for c in s.swizzle {
                read(&s.reg, c);
            }
        }
        for reg in inst.dsts.iter().map(|d| &d.reg).chain(inst.srcs.iter().map(|s| &s.reg)) {
            for i in [Some(reg.index), reg.dim].into_iter().flatten().filter_map(|i| i.indirect) {
                if matches!(i.file, File::Temp | File::Addr) {
                    each((i.file, i.index.into(), i.comp));
                }
            }
        }
    }

    fn reads_of(&self, at: u32) -> Bits {
        self.set(|each| self.for_reads(at, each))
    }
}

/// The components of operand `n` (before its swizzle) that count, for an instruction that writes `mask`. Where an
/// opcode has no simple rule: all.
pub(crate) fn read_components(inst: &Inst<'_>, n: usize, mask: u8) -> Vec<usize> {
    let info = inst.op.info();
    let written = |m: u8| (0..4).filter(move |c| m >> c & 1 != 0).collect::<Vec<_>>();
    match info.shape {
        Shape::Scalar => vec![0],
        Shape::Dot(k) => (0..k as usize).collect(),
        Shape::Flow => vec![0],
        Shape::Graphics => match (inst.op, n) {
            (Opcode::KILL_IF, _) => vec![0, 1, 2, 3],
            (Opcode::EMIT | Opcode::ENDPRIM | Opcode::INTERP_SAMPLE, _) if n == info.srcs.len() - 1 => {
                vec![0]
            }
            (Opcode::INTERP_OFFSET, 1) => vec![0, 1],
            _ => written(mask),
        },
        Shape::Tex | Shape::Sample => texture_components(inst, n),
        Shape::Comp if info.dsts.iter().chain(info.srcs).all(|t| !t.is_64()) => written(mask),
        Shape::Mem => match (inst.op, info.srcs[n]) {
            (Opcode::STORE, Ty::Any) => written(mask),
            (_, Ty::Any | Ty::I32 | Ty::F32) => vec![0],
            _ => vec![0, 1, 2, 3],
        },
        _ => vec![0, 1, 2, 3],
    }
}

/// Those of an operand of a texture instruction.
fn texture_components(inst: &Inst<'_>, n: usize) -> Vec<usize> {
    use Opcode::*;
    let target = inst.texture.map_or(Target::Unknown, |t| t.target);
    let coords = target.dims() + usize::from(target.is_array());
    let named = target != Target::Unknown;
    match (inst.op, n) {
        (TEX | TEX_LZ | TXF_LZ | LODQ | TG4, 0) if named && !target.is_shadow() && !target.is_msaa() => {
            (0..coords).collect()
        }
        (TEX, 0) if target.is_shadow() && coords < 3 => {
            let mut all: Vec<usize> = (0..coords).collect();
            all.push(2);
            all
        }
        (TXB | TXL | TXF, 0) if named && !target.is_shadow() && !target.is_msaa() => {
            (0..coords).chain([3]).collect()
        }
        (TXP, 0) if named && !target.is_shadow() => (0..target.dims()).chain([3]).collect(),
        (TXD, 0) if named && !target.is_shadow() => (0..coords).collect(),
        (TXD, 1 | 2) if named => (0..target.dims()).collect(),
        _ => vec![0, 1, 2, 3],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::tgsi::parse;

    fn binding(text: &str, sub: u32) -> (Vec<String>, Vec<String>) {
        let ast = parse(text).expect("valid text");
        let calls = Calls::new(&ast, 0, Variables::default()).expect("no recursion");
        let show = |v: &[Comp]| {
            v.iter().map(|(f, i, c)| format!("{}[{i}].{}", f.name(), b"xyzw"[*c as usize] as char)).collect()
        };
        let b = calls.binding(sub).expect("it is called");
        (show(&b.params), show(&b.results))
    }

    #[test]
    fn parameters_are_read_before_written_and_results_are_read_by_a_caller() {
        let text = "COMP
            CAL :3
            STORE BUFFER[0].x, TEMP[0].xxxx, TEMP[1].xxxx
            END
            BGNSUB
            UADD TEMP[1].xy, TEMP[2].xxxx, TEMP[2].xxxx
            MOV TEMP[3].x, TEMP[1].xxxx
            ENDSUB";
        let (params, results) = binding(text, 3);
        assert_eq!(params, ["TEMP[2].x"]);
        assert_eq!(results, ["TEMP[1].x"]);
    }

    #[test]
    fn a_result_that_is_not_always_written_is_a_parameter_too() {
        let text = "COMP
            CAL :3
            STORE BUFFER[0].x, TEMP[0].xxxx, TEMP[1].xxxx
            END
            BGNSUB
            UIF TEMP[2].xxxx
            MOV TEMP[1].x, TEMP[3].xxxx
            ENDIF
            ENDSUB";
        let (params, results) = binding(text, 3);
        assert_eq!(params, ["TEMP[1].x", "TEMP[2].x", "TEMP[3].x"]);
        assert_eq!(results, ["TEMP[1].x"]);
    }

    #[test]
    fn what_a_nested_call_gives_passes_through() {
        let text = "COMP
            CAL :3
            STORE BUFFER[0].x, TEMP[0].xxxx, TEMP[1].xxxx
            END
            BGNSUB
            CAL :6
            ENDSUB
            BGNSUB
            MOV TEMP[1].x, TEMP[4].wwww
            ENDSUB";
        assert_eq!(binding(text, 3), (vec!["TEMP[4].w".into()], vec!["TEMP[1].x".into()]));
        assert_eq!(binding(text, 6), (vec!["TEMP[4].w".into()], vec!["TEMP[1].x".into()]));
    }

    #[test]
    fn recursion_is_refused() {
        let ast =
            parse("COMP\nCAL :2\nEND\nBGNSUB\nCAL :5\nENDSUB\nBGNSUB\nCAL :2\nENDSUB").expect("valid text");
        let d = Calls::new(&ast, 0, Variables::default()).err().expect("it is recursive");
        assert!(d.to_string().contains("recursively"));
    }
}
