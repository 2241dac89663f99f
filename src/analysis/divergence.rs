//! Which branches all active lanes of a warp take alike.
//!
//! ```text
//! rdsv u32 %r0 sv[ctaid.x]            the same in all lanes: uniform
//! rdsv u32 %r1 sv[tid.x]              divergent
//! set.lt pred u32 %p2 %r0 0x10        uniform, and so is a branch on it: no lane waits for another
//! set.lt pred u32 %p3 %r1 0x10        divergent
//! ```
//!
//! A value is divergent if lanes that are active together may hold different bits of it:
//! - it comes from what differs by nature (thread and lane numbers, atomics, the thread's own
//!   memory, arguments);
//! - an operand is divergent;
//! - it is a parameter of a block where lanes meet that took different ways;
//! - it is computed in a loop that lanes leave in different iterations, and read outside.
//!
//! Everything counts as uniform until shown otherwise, and the function is gone through until
//! nothing changes. Where lanes may meet is read off the layout, which keeps constructs together:
//! behind a divergent branch, up to its join (or the end of the loop around it, or of the
//! function), every block with several incoming edges, and the exit and continue block of the loop
//! around it.

use crate::ir::*;
use cranelift_entity::{EntitySet, SecondaryMap};

/// Blocks whose branch is uniform, for each function.
pub(crate) type UniformBranches = SecondaryMap<FuncId, Option<EntitySet<BlockId>>>;

/// Uniform branches of all functions of a program.
pub(crate) fn of_program(p: &Program) -> UniformBranches {
    let mut all = UniformBranches::new();
    for (id, f) in p.funcs.iter() {
        all[id] = Some(uniform_branches(f));
    }
    all
}

/// Blocks of a function that end in a branch which all active lanes take alike.
pub(crate) fn uniform_branches(f: &Function) -> EntitySet<BlockId> {
    let mut uniform = EntitySet::with_capacity(f.blocks.len());
    let is_branch = |b: BlockId| matches!(f.blocks[b].term, Term::Branch { .. });
    if !f.layout.iter().any(|&b| is_branch(b)) {
        return uniform;
    }
    let mut d = Divergence::new(f, &f.param_facts);
    if d.solve() {
        for &b in &f.layout {
            if is_branch(b) && !d.branches.contains(b) {
                uniform.insert(b);
            }
        }
    }
    uniform
}

/// Which arguments of calls may differ between the lanes that make them: one list a call. `params`
/// is what is known of the function's own parameters.
pub(crate) fn arguments(f: &Function, params: &[ParamFact], calls: &[(BlockId, InstId)]) -> Vec<Vec<bool>> {
    let mut d = Divergence::new(f, params);
    let known = d.solve();
    let of_call = |&(b, i): &(BlockId, InstId)| {
        let args = f.insts[i].call().map_or(&[][..], |c| &c.args);
        args.iter().map(|&a| !known || d.differs(a, b)).collect()
    };
    calls.iter().map(of_call).collect()
}

/// Blocks that may run while other lanes of the warp, of those that the function was called with,
/// wait elsewhere or have returned. Lanes that have ended are missing nowhere.
pub(crate) fn apart(f: &Function) -> EntitySet<BlockId> {
    /// An `if`, or the outermost loop: positions of its header and end.
    struct Open {
        start: usize,
        end: usize,
        parts: bool,
        /// The least and the largest position that an edge in it leads to.
        reach: [usize; 2],
        returns: bool,
    }
    let uniform = uniform_branches(f);
    let count = f.layout.len();
    let mut position: SecondaryMap<BlockId, usize> = f.block_table();
    f.layout.iter().enumerate().for_each(|(n, &b)| position[b] = n);
    // By how many more reasons a block is apart than the one before it.
    let mut more = vec![0i32; count + 1];
    let mut add = |start: usize, end: usize| {
        if start < end {
            more[start] += 1;
            more[end] -= 1;
        }
    };
    let mut ifs: Vec<Open> = Vec::new();
    let mut outer: Option<Open> = None;
    for (n, &b) in f.layout.iter().enumerate() {
        while let Some(c) = ifs.pop_if(|c| c.end <= n) {
            if c.parts {
                add(c.start + 1, if c.returns { count } else { c.end });
                // Who leaves a round early is missing in the rest of the loop, the next rounds
                // among it.
                let leaves = c.returns || c.reach[0] <= c.start || c.reach[1] > c.end;
                outer.iter_mut().for_each(|l| l.parts |= leaves);
            }
            if let Some(around) = ifs.last_mut() {
                around.reach = [around.reach[0].min(c.reach[0]), around.reach[1].max(c.reach[1])];
                around.returns |= c.returns;
            }
        }
        if let Some(l) = outer.take_if(|l| l.end <= n)
            && l.parts
        {
            add(l.start, if l.returns { count } else { l.end });
        }
        let block = &f.blocks[b];
        let parts = matches!(block.term, Term::Branch { .. }) && !uniform.contains(b);
        match block.merge {
            Merge::Loop { exit, .. } if outer.is_none() => {
                outer =
                    Some(Open { start: n, end: position[exit], parts: false, reach: [n, n], returns: false });
            }
            Merge::If { join } => {
                ifs.push(Open { start: n, end: position[join], parts, reach: [n + 1, n], returns: false });
            }
            _ => {}
        }
        if parts && !matches!(block.merge, Merge::If { .. }) {
            outer.iter_mut().for_each(|l| l.parts = true);
        }
        let returns = matches!(block.term, Term::Ret(_));
        outer.iter_mut().for_each(|l| l.returns |= returns);
        if let Some(c) = ifs.last_mut() {
            c.returns |= returns;
            for to in block.term.successors().map(|s| position[s]) {
                c.reach = [c.reach[0].min(to), c.reach[1].max(to)];
            }
        }
    }
    let mut reasons = 0;
    let mut apart = EntitySet::new();
    for (&b, more) in f.layout.iter().zip(more) {
        reasons += more;
        if reasons > 0 {
            apart.insert(b);
        }
    }
    apart
}

/// Rounds after which everything is given up as divergent: deeper chains of loops than occur.
const ROUNDS: usize = 16;

/// A loop construct.
struct Loop {
    header: BlockId,
    exit: BlockId,
    cont: BlockId,
    /// Layout positions of header and exit.
    start: u32,
    end: u32,
    parent: Option<usize>,
    /// Positions of blocks with an edge to the exit, ascending.
    breaks: Vec<u32>,
    /// Lanes may leave it in different iterations.
    divergent_exit: bool,
}

struct Divergence<'f> {
    f: &'f Function,
    values: EntitySet<ValueId>,
    branches: EntitySet<BlockId>,
    /// Blocks in which lanes meet that came by different ways.
    meeting: EntitySet<BlockId>,
    /// For each position in the layout, one from which on to look for blocks that are not found to
    /// be meeting yet.
    unmet: Vec<u32>,
    position: SecondaryMap<BlockId, u32>,
    /// Edges to a block. A loop is gone round together by the lanes that entered it together, so
    /// the edges back to its header count for nothing.
    edges_in: SecondaryMap<BlockId, u32>,
    loops: Vec<Loop>,
    /// Innermost loop around a block, plus one.
    inside: SecondaryMap<BlockId, u32>,
    /// The loop in which a value is defined, plus one.
    home: SecondaryMap<ValueId, u32>,
    changed: bool,
}

impl<'f> Divergence<'f> {
    fn new(f: &'f Function, params: &[ParamFact]) -> Divergence<'f> {
        let mut d = Divergence {
            f,
            values: EntitySet::with_capacity(f.values.len()),
            branches: EntitySet::with_capacity(f.blocks.len()),
            meeting: EntitySet::with_capacity(f.blocks.len()),
            unmet: (0..=f.layout.len() as u32).collect(),
            position: f.block_table(),
            edges_in: f.block_table(),
            loops: Vec::new(),
            inside: f.block_table(),
            home: SecondaryMap::new(),
            changed: false,
        };
        for (n, &b) in f.layout.iter().enumerate() {
            d.position[b] = n as u32;
        }
        for &b in &f.layout {
            let goes_on = |s: &BlockId| {
                d.position[*s] > d.position[b] || !matches!(f.blocks[*s].merge, Merge::Loop { .. })
            };
            f.blocks[b].term.successors().filter(goes_on).for_each(|s| d.edges_in[s] += 1);
        }
        let mut open: Vec<usize> = Vec::new();
        for (n, &b) in f.layout.iter().enumerate() {
            while open.last().is_some_and(|&l| d.loops[l].exit == b) {
                open.pop();
            }
            if let Merge::Loop { exit, cont } = f.blocks[b].merge {
                let (start, end) = (n as u32, d.position[exit]);
                let parent = open.last().copied();
                open.push(d.loops.len());
                let header = b;
                d.loops.push(Loop {
                    header,
                    exit,
                    cont,
                    start,
                    end,
                    parent,
                    breaks: Vec::new(),
                    divergent_exit: false,
                });
            }
            let innermost = open.last().map_or(0, |&l| l as u32 + 1);
            d.inside[b] = innermost;
            if innermost == 0 {
                continue;
            }
            let l = &mut d.loops[innermost as usize - 1];
            if f.blocks[b].term.successors().any(|s| s == l.exit) {
                l.breaks.push(n as u32);
            }
            let home = &mut d.home;
            f.blocks[b].params.iter().for_each(|&p| home[p] = innermost);
            for &i in &f.blocks[b].body {
                f.insts[i].for_defs(|v| home[v] = innermost);
            }
        }
        for (k, &p) in f.params.iter().enumerate() {
            if !params.get(k).is_some_and(|fact| fact.uniform) {
                d.values.insert(p);
            }
        }
        d
    }

    /// Whether it came to an end.
    fn solve(&mut self) -> bool {
        for _ in 0..ROUNDS {
            self.changed = false;
            for n in 0..self.f.layout.len() {
                self.block(self.f.layout[n]);
            }
            if !self.changed {
                return true;
            }
        }
        false
    }

    fn mark(&mut self, v: ValueId) {
        self.changed |= self.values.insert(v);
    }

    /// Whether lanes active in block `b` may see different bits of a value.
    fn differs(&self, v: ValueId, b: BlockId) -> bool {
        if self.values.contains(v) {
            return true;
        }
        let mut home = self.home[v];
        let at = self.position[b];
        while home != 0 {
            let l = &self.loops[home as usize - 1];
            if (l.start..l.end).contains(&at) {
                return false;
            }
            if l.divergent_exit {
                return true;
            }
            home = l.parent.map_or(0, |p| p as u32 + 1);
        }
        false
    }

    fn block(&mut self, b: BlockId) {
        let f = self.f;
        let block = &f.blocks[b];
        for &i in &block.body {
            let inst = &f.insts[i];
            let mut divergent = by_nature(inst);
            if !divergent && inst.op != Op::Vote {
                inst.for_uses(|v| divergent |= self.differs(v, b));
            }
            if divergent {
                inst.for_defs(|v| self.mark(v));
            }
        }
        for e in block.term.edges() {
            let met = self.meeting.contains(e.to);
            for (&p, &a) in f.blocks[e.to].params.iter().zip(&e.args) {
                // Who leaves a loop brings what it had in its own last round.
                if met || self.differs(a, b) || self.differs(a, e.to) {
                    self.mark(p);
                }
            }
        }
        if let Term::Branch { cond, .. } = block.term
            && !self.branches.contains(b)
            && self.differs(cond, b)
        {
            self.branches.insert(b);
            self.changed = true;
            self.part(b);
        }
    }

    /// The first position from `n` on that [`Divergence::part`] has not looked at: constructs nest,
    /// and what an outer one found need not be looked at for each inner one.
    fn next_unmet(&mut self, mut n: u32) -> u32 {
        while self.unmet[n as usize] != n {
            // Each step halves the way for those who come later.
            let next = self.unmet[n as usize];
            self.unmet[n as usize] = self.unmet[next as usize];
            n = next;
        }
        n
    }

    /// Lanes part at the end of `b`: where may they meet again?
    fn part(&mut self, b: BlockId) {
        let start = self.position[b];
        let innermost = self.inside[b].checked_sub(1).map(|l| l as usize);
        let end = match (self.f.blocks[b].merge, innermost) {
            (Merge::If { join }, _) => self.position[join],
            (_, Some(l)) => self.loops[l].end,
            _ => self.f.layout.len() as u32 - 1,
        };
        let mut n = self.next_unmet(start + 1);
        while n <= end {
            let t = self.f.layout[n as usize];
            if self.edges_in[t] > 1 && self.meeting.insert(t) {
                self.changed = true;
            }
            self.unmet[n as usize] = n + 1;
            n = self.next_unmet(n);
        }
        let Some(l) = innermost else { return };
        let (exit, cont, header) = (self.loops[l].exit, self.loops[l].cont, self.loops[l].header);
        for t in [exit, cont] {
            // Lanes come to the header from the continue block together.
            if t != header && self.edges_in[t] > 1 && self.meeting.insert(t) {
                self.changed = true;
            }
        }
        // A header that is its own continue block: lanes that continue early wait for nobody there.
        if cont == header && self.meeting.insert(header) {
            self.changed = true;
        }
        let breaks = &self.loops[l].breaks;
        let first = breaks.partition_point(|&n| n < start);
        let leaves = breaks.get(first).is_some_and(|&n| n == start || n < end);
        if leaves && !self.loops[l].divergent_exit {
            self.loops[l].divergent_exit = true;
            self.changed = true;
        }
    }
}

/// Whether an instruction's results may differ between lanes though its operands do not.
fn by_nature(inst: &Inst) -> bool {
    match inst.op {
        Op::Rdsv => match inst.aux {
            Aux::Sv(sv) => !matches!(
                sv,
                Sv::CtaidX
                    | Sv::CtaidY
                    | Sv::CtaidZ
                    | Sv::NtidX
                    | Sv::NtidY
                    | Sv::NtidZ
                    | Sv::NctaidX
                    | Sv::NctaidY
                    | Sv::NctaidZ
                    | Sv::Gridid
                    | Sv::WorkDim
                    | Sv::SharedWindow
                    | Sv::LocalWindow
            ),
            _ => true,
        },
        // One instruction reads one address once for all lanes; the thread's own memory is another
        // for each.
        Op::Ld => !inst.mem.is_some_and(|m| {
            m.order == Order::Weak
                && matches!(m.space, Space::Const | Space::Uniform | Space::Global | Space::Shared)
        }),
        Op::Vote => false,
        // Pixels of a warp lie in different places and triangles, vertices belong to different
        // primitives.
        Op::Interp | Op::Vertex | Op::Emit => true,
        Op::Undef => true,
        // It computes the same of the same arguments, in any lane.
        Op::Call => inst.call().is_none_or(|c| c.effects != Effects::None),
        op => op.is(op::READS | op::CROSS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uniform(body: &str) -> Vec<u32> {
        uniform_in("", body)
    }

    /// The same of a graphics stage, as the lines in front of the function say.
    fn uniform_in(stage: &str, body: &str) -> Vec<u32> {
        let p = parse::program(&format!("program\n{stage}kernel k() {{\n{body}\n}}\n")).expect("valid text");
        crate::verify::program(&p, Phase::Front).expect("valid program");
        let f = &p.funcs[p.entry];
        let set = uniform_branches(f);
        f.layout.iter().filter(|&&b| set.contains(b)).map(|b| b.as_u32()).collect()
    }

    #[test]
    fn what_stages_read_of_their_own_pixel_or_primitive_diverges() {
        const GEOM: &str = "stage geom\nproperty vertices_in 3\nproperty strips 3\nproperty max_vertices 3\n";
        for (stage, value) in [
            ("stage frag\n", "interp.flat.center u32 %r1 a[0x80 align 16]"),
            ("stage frag\n", "interp.linear.center f32 %r1 a[0x80 align 16]"),
            (GEOM, "vertex u32 %r1 0x0"),
            (GEOM, "emit.vertex u32 %r1 0x0 0x0"),
        ] {
            let text = format!(
                "b0:\n {value}\n set.ne pred u32 %p2 %r1 0x0\n if %p2 b1 b2 join b2\nb1:\n jump b2\nb2:\n exit"
            );
            assert_eq!(uniform_in(stage, &text), [0u32; 0], "{value}");
        }
    }

    #[test]
    fn thread_numbers_diverge_and_block_numbers_do_not() {
        let text = "b0:
    rdsv u32 %r0 sv[tid.x]
    rdsv u32 %r1 sv[ctaid.x]
    set.lt pred u32 %p2 %r0 0x4
    set.lt pred u32 %p3 %r1 0x4
    if %p2 b1 b2 join b2
b1:
    jump b2
b2:
    if %p3 b3 b4 join b4
b3:
    jump b4
b4:
    exit";
        assert_eq!(uniform(text), [2]);
    }

    #[test]
    fn a_choice_by_a_divergent_branch_diverges_though_both_values_are_uniform() {
        let text = "b0:
    rdsv u32 %r0 sv[tid.x]
    rdsv u32 %r1 sv[ctaid.x]
    rdsv u32 %r9 sv[ctaid.y]
    set.lt pred u32 %p2 %r0 0x4
    if %p2 b1 b2 join b3
b1:
    jump b3(%r1)
b2:
    jump b3(%r9)
b3(%r3):
    set.lt pred u32 %p4 %r3 0x4
    if %p4 b4 b5 join b5
b4:
    jump b5
b5:
    exit";
        assert_eq!(uniform(text), [] as [u32; 0]);
    }

    const LOOP: &str = "b0:
    rdsv u32 %r0 sv[LIMIT]
    mov u32 %r1 0x0
    jump b1(%r1)
b1(%r2): loop exit b5 cont b4
    set.ge pred u32 %p3 %r2 %r0
    jump b2
b2:
    if %p3 b5 b3 join b3
b3:
    jump b4
b4:
    add u32 %r4 %r2 0x1
    jump b1(%r4)
b5:
    set.lt pred u32 %p6 %r2 0x4
    if %p6 b6 b7 join b7
b6:
    jump b7
b7:
    exit";

    const IN_AN_IF: &str = "b0:
    rdsv u32 %r0 sv[nctaid.x]
    rdsv u32 %r1 sv[tid.x]
    mov u32 %r7 0x0
    set.lt pred u32 %p2 %r1 0x4
    set.lt pred u32 %p3 %r1 0x2
    if %p2 b1 b6 join b6
b1:
    jump b2(%r7)
b2(%r4): loop exit b5 cont CONT
    set.ge pred u32 %p5 %r4 %r0
    jump b3
b3:
    if %p5 b5 b4 join b4
b4:
    add u32 %r6 %r4 0x1
    REST
b5:
    jump b6
b6:
    exit";

    #[test]
    fn a_loop_in_a_divergent_if_is_gone_round_together() {
        let text = IN_AN_IF.replace("CONT", "b7").replace("REST", "jump b7\nb7:\n jump b2(%r6)");
        assert_eq!(uniform(&text), [3]);
        assert_eq!(uniform(&text.replace("nctaid.x", "tid.y")), [0u32; 0]);
    }

    #[test]
    fn lanes_that_go_round_early_meet_the_others_in_no_round() {
        let rest = "if %p3 b7 b8 join b8\nb7:\n jump b2(%r7)\nb8:\n jump b2(%r6)";
        let text = IN_AN_IF.replace("CONT", "b2").replace("REST", rest);
        assert_eq!(uniform(&text), [0u32; 0]);
    }

    #[test]
    fn what_is_brought_out_of_a_loop_is_of_the_round_in_which_a_lane_left_it() {
        let text = LOOP.replace("if %p3 b5 b3", "if %p3 b5(%r2) b3").replace("b5:\n", "b5(%r7):\n");
        let text = text.replace("set.lt pred u32 %p6 %r2", "set.lt pred u32 %p6 %r7");
        assert_eq!(uniform(&text.replace("LIMIT", "nctaid.x")), [2, 5]);
        assert_eq!(uniform(&text.replace("LIMIT", "tid.x")), [] as [u32; 0]);
    }

    #[test]
    fn a_counter_is_uniform_after_a_loop_only_if_all_lanes_leave_together() {
        assert_eq!(uniform(&LOOP.replace("LIMIT", "nctaid.x")), [2, 5]);
        assert_eq!(uniform(&LOOP.replace("LIMIT", "tid.x")), [] as [u32; 0]);
    }
}
