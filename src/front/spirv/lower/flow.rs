//! Constructs, phis, calls.

use super::value::Value;
use super::{Lower, R};
use crate::front::common::emit::value::{Comp, Pred, Word};
use crate::front::common::ssa::Var;
use crate::front::spirv::graph::{Copies, Edge, Term as GraphTerm, Test};
use crate::front::spirv::loops::Loop;
use crate::front::spirv::structure::Item;
use crate::front::spirv::types::Type;
use crate::ir::{BlockId, Class, Cond, Merge, Type as IrType};
use rustc_hash::FxHashMap;
use spirv::{Op, StorageClass};

/// A construct that is open.
enum Frame {
    If {
        header: BlockId,
        els: BlockId,
        join: BlockId,
    },
    Region {
        header: BlockId,
        exit: BlockId,
        to: usize,
        route: Var,
        /// Nodes that are left for beyond that, by what the route says.
        others: Vec<usize>,
        values: FxHashMap<usize, u32>,
    },
    Loop {
        header: BlockId,
        cont: BlockId,
        exit: BlockId,
        node: usize,
    },
    /// In code that nothing reaches.
    Dead,
}

/// Dispatches at the ends of regions that a program has at most: a program does not come near it.
const MOST_DISPATCHES: usize = 1 << 14;

impl Lower<'_, '_> {
    pub(super) fn run(&mut self, function: usize, kernel: bool, items: &[Item], loops: &[Loop]) -> R<()> {
        self.routes = (0..self.graph.routes).map(|_| self.e.ssa.var(Class::Gpr)).collect();
        self.begin_stage();
        self.global_variables()?;
        self.tables(function)?;
        self.parameters(function, kernel)?;
        self.tops.insert(0, self.private);
        let mut frames = Vec::new();
        let mut dispatches = 0;
        for &item in items {
            match item {
                Item::Code(node) if self.e.reachable => self.code(node)?,
                Item::Edge(node, which) if self.e.reachable => self.edge(node, which)?,
                Item::Goto(to) if self.e.reachable => self.goto(to, &mut frames)?,
                Item::Leave if self.e.reachable => self.leave(),
                Item::Code(_) | Item::Edge(..) | Item::Goto(_) | Item::Leave => {}
                Item::If { .. } | Item::IfElse(_) | Item::Region(_) | Item::Loop(_) if !self.e.reachable => {
                    frames.push(Frame::Dead);
                }
                Item::If { node, not } => {
                    let join = self.e.b.func.detached_block();
                    frames.push(self.begin_if(node, not, join, join)?);
                }
                Item::IfElse(node) => {
                    let [els, join] = [(); 2].map(|()| self.e.b.func.detached_block());
                    frames.push(self.begin_if(node, false, els, join)?);
                }
                Item::Region(to) => frames.push(self.begin_region(to)),
                Item::Loop(l) => frames.push(self.begin_loop(loops[l].header)),
                Item::Else => {
                    if let Some(&Frame::If { els, join, .. }) = frames.last() {
                        self.fall(join);
                        self.e.begin(els);
                    }
                }
                Item::EndIf | Item::EndRegion | Item::EndLoop => {
                    dispatches += self.end(&mut frames)?;
                    if dispatches > MOST_DISPATCHES {
                        return self.missing("control flow as tangled as this is");
                    }
                }
            }
        }
        if self.e.reachable {
            self.leave();
        }
        Ok(())
    }

    /// Ends the program.
    fn leave(&mut self) {
        let term = self.end_stage();
        self.e.b.terminate(term);
        self.e.reachable = false;
    }

    fn fall(&mut self, to: BlockId) {
        if self.e.reachable {
            self.e.go(to);
        }
    }

    /// Begins an `if`; `els`: where control goes if the test fails, the join or the other arm.
    fn begin_if(&mut self, node: usize, not: bool, els: BlockId, join: BlockId) -> R<Frame> {
        let GraphTerm::Branch { test, .. } = &self.graph.nodes[node].term else {
            return self.fail("a construct without a test");
        };
        let p = self.test(test)?;
        let p = if not { p.not() } else { p };
        let header = self.e.b.block;
        let then = self.e.b.func.detached_block();
        self.e.fork(p, then, els);
        self.e.ssa.seal(self.e.b.func, then);
        if els != join {
            self.e.ssa.seal(self.e.b.func, els);
        }
        self.e.begin(then);
        Ok(Frame::If { header, els, join })
    }

    fn begin_region(&mut self, to: usize) -> Frame {
        let func = &mut *self.e.b.func;
        let [header, body, exit] = [(); 3].map(|()| func.detached_block());
        // Whoever leaves for elsewhere says so.
        let route = self.e.ssa.var(Class::Gpr);
        self.e.write_vars(&[route], Comp::Word(Word::Imm(0)));
        self.enter(header, body);
        Frame::Region { header, exit, to, route, others: Vec::new(), values: FxHashMap::default() }
    }

    fn begin_loop(&mut self, node: usize) -> Frame {
        let func = &mut *self.e.b.func;
        let [header, body, cont, exit] = [(); 4].map(|()| func.detached_block());
        self.loops += 1;
        self.enter(header, body);
        Frame::Loop { header, cont, exit, node }
    }

    /// Goes into a loop or region, whose header is a block of its own.
    fn enter(&mut self, header: BlockId, body: BlockId) {
        self.e.go(header);
        self.e.begin(header);
        self.e.go(body);
        self.e.ssa.seal(self.e.b.func, body);
        self.e.begin(body);
    }

    /// Ends the innermost construct; how many ways lead on from it besides the usual one.
    fn end(&mut self, frames: &mut Vec<Frame>) -> R<usize> {
        match frames.pop() {
            Some(Frame::If { header, join, .. }) => {
                self.fall(join);
                self.e.ssa.seal(self.e.b.func, join);
                self.e.b.func.blocks[header].merge = Merge::If { join };
                self.e.begin_end(join);
            }
            Some(Frame::Loop { header, cont, exit, .. }) => {
                self.loops -= 1;
                self.fall(cont);
                let mut back = header;
                self.e.ssa.seal(self.e.b.func, cont);
                if self.e.ssa.is_reached(cont) {
                    self.e.begin(cont);
                    self.e.go(header);
                    back = cont;
                }
                self.e.ssa.seal(self.e.b.func, header);
                self.e.ssa.seal(self.e.b.func, exit);
                self.e.b.func.blocks[header].merge = Merge::Loop { exit, cont: back };
                self.e.begin_end(exit);
            }
            Some(Frame::Region { header, exit, route, others, .. }) => {
                self.fall(exit);
                self.e.ssa.seal(self.e.b.func, header);
                self.e.ssa.seal(self.e.b.func, exit);
                self.e.b.func.blocks[header].merge = Merge::Loop { exit, cont: header };
                self.e.begin_end(exit);
                for (n, &to) in others.iter().enumerate() {
                    let way = self.e.read_vars(&[route], 32).word();
                    let p = self.e.cmp(Cond::Eq, IrType::U32, way, n as u32 + 1);
                    let join = self.e.begin_when(p);
                    self.goto(to, frames)?;
                    self.e.ssa.seal(self.e.b.func, join);
                    self.e.begin(join);
                }
                return Ok(others.len());
            }
            Some(Frame::Dead) | None => {}
        }
        Ok(0)
    }

    /// Leaves for a node that does not follow: by the innermost loop or region, and from there on.
    fn goto(&mut self, node: usize, frames: &mut [Frame]) -> R<()> {
        for frame in frames.iter_mut().rev() {
            match frame {
                Frame::If { .. } | Frame::Dead => {}
                Frame::Loop { cont, exit, node: header, .. } => {
                    let to = if *header == node { *cont } else { *exit };
                    self.e.go(to);
                    return Ok(());
                }
                Frame::Region { exit, to, route, others, values, .. } => {
                    let (exit, route) = (*exit, *route);
                    if *to != node {
                        let n = *values.entry(node).or_insert_with(|| {
                            others.push(node);
                            others.len() as u32
                        });
                        self.e.write_vars(&[route], Comp::Word(Word::Imm(n)));
                    }
                    self.e.go(exit);
                    return Ok(());
                }
            }
        }
        self.fail("a branch leaves its construct in no way that is known")
    }

    fn test(&mut self, test: &Test) -> R<Pred> {
        match *test {
            Test::Value { instance, id } => {
                self.instance = instance;
                match self.scalar(id)? {
                    Comp::Bool(p) => Ok(p),
                    _ => self.fail("the condition of a branch is not a bool"),
                }
            }
            Test::Route { route, value } => {
                let var = self.routes[route as usize];
                let way = self.e.read_vars(&[var], 32).word();
                Ok(self.e.cmp(Cond::Eq, IrType::U32, way, value))
            }
            Test::Case { instance, switch, ref values } => {
                self.instance = instance;
                self.locate(switch);
                self.case(values)
            }
        }
    }

    /// Whether the selector of the switch at hand has one of some values.
    fn case(&mut self, values: &[u64]) -> R<Pred> {
        let x = self.operands();
        let Some(&Type::Int { bits, .. }) = self.m.code.type_of(x[0]).and_then(|ty| self.m.ty(ty)) else {
            return self.fail("the selector of a switch is not an integer");
        };
        let selector = self.scalar(x[0])?;
        let mut hit = Pred::Const(false);
        for &value in values {
            let value = Comp::constant(bits, value);
            let p = self.e.compare_ints(Cond::Eq, false, selector, value, bits);
            hit = self.e.or(hit, p);
        }
        Ok(hit)
    }

    // ---- code

    fn code(&mut self, node: usize) -> R<()> {
        let Some(piece) = &self.graph.nodes[node].piece else { return Ok(()) };
        self.instance = piece.instance;
        if let Some(call) = piece.returned {
            self.locate(call);
            self.arrived(call)?;
        }
        if piece.label.is_some() {
            for n in piece.insts.clone() {
                match self.m.code.insts[n].op {
                    Op::Phi => {
                        self.locate(n);
                        self.arrived(n)?;
                    }
                    _ if self.m.is_debug(n) => {}
                    _ => break,
                }
            }
        }
        for n in piece.insts.clone() {
            self.locate(n);
            self.instruction()?;
        }
        if let Some((call, callee)) = piece.call {
            self.locate(call);
            self.call(callee)?;
        }
        Ok(())
    }

    /// A loop that is not a construct of the module: what is done while a test holds.
    pub(super) fn repeated(
        &mut self,
        test: impl FnOnce(&mut Self) -> R<Pred>,
        body: impl FnOnce(&mut Self) -> R<()>,
    ) -> R<()> {
        let func = &mut *self.e.b.func;
        let [header, inside, next, exit] = [(); 4].map(|()| func.detached_block());
        func.blocks[header].merge = Merge::Loop { exit, cont: next };
        self.e.go(header);
        self.e.begin(header);
        let more = test(self)?;
        self.e.fork(more, inside, exit);
        self.e.ssa.seal(self.e.b.func, inside);
        self.e.begin(inside);
        body(self)?;
        self.e.go(next);
        self.e.close_loop(header, next, exit);
        Ok(())
    }

    /// Reads the variables of a phi or of a call's result.
    fn arrived(&mut self, n: usize) -> R<()> {
        let inst = self.m.code.insts[n];
        if self.m.ty(inst.ty) == Some(&Type::Void) {
            return Ok(());
        }
        let slots = self.arrival(self.instance, n)?;
        let comps = self.read_slots(&slots, inst.ty)?;
        self.define_of_type(comps)
    }

    /// A result of any type: a pointer, where it is one. Pointers to a kernel's shared and private memory stay addresses,
    /// of which null is one, until something is done with them.
    pub(super) fn define_of_type(&mut self, comps: impl AsRef<[Comp]>) -> R<()> {
        let comps = comps.as_ref();
        use StorageClass::{Function, Private, Workgroup};
        let ty = self.ty();
        match (self.m.ty(ty), comps) {
            (Some(Type::Pointer { class: Workgroup | Function | Private, .. }), _) if self.m.kernel => {}
            (Some(Type::Pointer { .. }), &[c]) => {
                let p = self.pointer_at(c, ty)?;
                self.define_value(Value::Pointer(p));
                return Ok(());
            }
            _ => {}
        }
        self.define(comps)
    }

    /// The variables of a phi or of a call's result.
    fn arrival(&mut self, instance: u32, n: usize) -> R<std::rc::Rc<[super::Words]>> {
        let inst = self.m.code.insts[n];
        let key = (instance, inst.result);
        if let Some(slots) = self.phis.get(&key) {
            return Ok(slots.clone());
        }
        let slots = self.new_slots(inst.ty)?;
        self.phis.insert(key, slots.clone());
        Ok(slots)
    }

    /// Gives the parameters of what is called their values.
    fn call(&mut self, callee: u32) -> R<()> {
        let args = &self.operands()[1..];
        let function = &self.m.functions[self.graph.instances[callee as usize].function];
        if args.len() != function.params.len() {
            return self.fail("the call has not as many arguments as the function has parameters");
        }
        if self.m.code.insts[function.at].ty != self.ty() {
            return self.fail("the call has another type than the function's result");
        }
        let mut values = Vec::new();
        for (&arg, &param) in args.iter().zip(&function.params) {
            if self.type_of(arg)? != self.type_of(param)? {
                return self.fail("an argument has another type than the parameter");
            }
            values.push(self.value(arg)?);
        }
        let top = self.tops.get(&self.instance).copied().unwrap_or(self.private);
        self.tops.insert(callee, top);
        for ((value, &arg), &param) in values.into_iter().zip(args).zip(&function.params) {
            let value = self.parameter(callee, param, arg, value)?;
            self.values.insert(self.m, (callee, param), (value, self.e.b.block));
        }
        Ok(())
    }

    /// What an edge writes: everything is read before anything is written.
    fn edge(&mut self, node: usize, which: usize) -> R<()> {
        let graph = self.graph;
        let Some(Edge { copies, sets, .. }) = graph.nodes[node].term.edges().nth(which) else {
            return Ok(());
        };
        match *copies {
            Copies::None => {}
            Copies::Phis { instance, from, to } => self.phi_copies(instance, from, to)?,
            Copies::Result { callee, value, caller, call } => {
                self.instance = callee;
                let comps = self.comps(value)?;
                let slots = self.arrival(caller, call)?;
                self.write_slots(&slots, &comps)?;
            }
        }
        for &(route, value) in sets {
            let var = self.routes[route as usize];
            self.e.write_vars(&[var], Comp::Word(Word::Imm(value)));
        }
        Ok(())
    }

    fn phi_copies(&mut self, instance: u32, from: u32, to: usize) -> R<()> {
        self.instance = instance;
        let function = &self.m.functions[self.graph.instances[instance as usize].function];
        let mut writes = Vec::new();
        for n in function.blocks[to].insts.clone() {
            let inst = self.m.code.insts[n];
            match inst.op {
                Op::Phi => {}
                _ if self.m.is_debug(n) => continue,
                _ => break,
            }
            self.locate(n);
            let Some(&value) = self.incoming.get(&(inst.result, from)) else {
                return self.fail(format!("the phi has no value from {}", self.m.name(from)));
            };
            if self.type_of(value)? != inst.ty {
                return self.fail("a value of the phi has another type");
            }
            let comps = self.comps(value)?;
            writes.push((self.arrival(instance, n)?, comps));
        }
        for (slots, comps) in writes {
            self.write_slots(&slots, &comps)?;
        }
        Ok(())
    }

    pub(super) fn write_slots(&mut self, slots: &[super::Words], comps: &[Comp]) -> R<()> {
        if slots.len() != comps.len() {
            return self.fail("the value has another type than what it is written to");
        }
        for (vars, &c) in slots.iter().zip(comps) {
            self.e.write_vars(vars, c);
        }
        Ok(())
    }
}
