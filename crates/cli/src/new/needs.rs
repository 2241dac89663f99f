//! What a program needs to be bound, read off its IR as front-ends make it.
//!
//! Slots, shapes and formats stand in the instructions. Words of the kernel input that are addresses are found by following
//! addresses back: `ld g[%a]`, `%a = add %p %i`, `%p = ld c0[0x8]` makes the word at 8 a buffer's address.

use nvir::driver::Abi;
use nvir::ir::{
    Aux, Dim, FuncId, Inst, Op, Program, Space, SrcKind, Surf, Sv, Term, Tex, TexOp, TexRole, Type, ValueId,
};
use std::collections::{BTreeMap, BTreeSet};

/// A value of one of the program's functions.
type Place = (FuncId, ValueId);

/// How the values of some memory are used, which says their type.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Uses {
    pub floats: u32,
    pub doubles: u32,
    pub integers: u32,
    /// Bytes of the smallest access; 0: none is known.
    pub smallest: u32,
    pub read: bool,
    pub written: bool,
    /// Bytes from the beginning that are accessed at numbers that the code has.
    pub bytes: u32,
    /// Some addresses are computed.
    pub computed: bool,
    /// It is the high word of integers of 64 bits.
    pub high: bool,
}

/// What a pointer in the kernel input points to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pointer {
    /// 4 or 8.
    pub bytes: u32,
    /// Of shared memory.
    pub shared: bool,
    pub uses: Uses,
}

/// An image or texture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Picture {
    pub dim: Dim,
    pub array: bool,
    pub shadow: bool,
    pub format: Option<nvir::format::Format>,
    pub ty: Type,
    pub written: bool,
    /// Its number is computed: this one and others behind it may be meant.
    pub indexed: bool,
}

/// What a program needs.
#[derive(Default, Debug)]
pub(super) struct Needs {
    pub buffers: BTreeMap<u32, Uses>,
    pub uniforms: BTreeMap<u32, Uses>,
    /// The words of the kernel input or default uniform block that are read, by byte.
    pub input: BTreeMap<u32, Uses>,
    /// Some of its addresses are computed.
    pub input_computed: bool,
    pub pointers: BTreeMap<u32, Pointer>,
    pub images: BTreeMap<u32, Picture>,
    pub textures: BTreeMap<u32, Picture>,
    pub framebuffer: bool,
    /// Images or textures come by handles that are data.
    pub handles: bool,
    /// Storage buffers, and uniform blocks, whose number is computed.
    pub indexed_buffers: bool,
    pub indexed_uniforms: bool,
    /// Bytes of private memory that the program addresses but does not declare.
    pub private_bytes: u32,
    /// How inputs of graphics stages are used, by address; of patches apart.
    pub attributes: BTreeMap<(bool, u32), Uses>,
    /// The highest number of a vertex of a primitive that is read, plus one; none: numbers are computed.
    pub vertices: Option<u32>,
}

/// A program with where its values come from and what reads them.
struct Flow<'a> {
    program: &'a Program,
    /// The values that a parameter of a block or function may be.
    from: BTreeMap<Place, Vec<Place>>,
    readers: BTreeMap<Place, Uses>,
}

impl<'a> Flow<'a> {
    fn of(program: &'a Program) -> Flow<'a> {
        let mut flow = Flow { program, from: BTreeMap::new(), readers: BTreeMap::new() };
        for (id, f) in &program.funcs {
            for &b in &f.layout {
                for edge in f.blocks[b].term.edges() {
                    for (&param, &arg) in f.blocks[edge.to].params.iter().zip(&edge.args) {
                        flow.from.entry((id, param)).or_default().push((id, arg));
                    }
                }
            }
            for (_, i) in f.insts_in_order() {
                let inst = &f.insts[i];
                flow.readers(id, inst);
                let Some(call) = inst.call() else { continue };
                let callee = &program.funcs[call.func];
                for (&param, &arg) in callee.params.iter().zip(&call.args) {
                    flow.from.entry((call.func, param)).or_default().push((id, arg));
                }
                for block in callee.layout.iter().map(|&b| &callee.blocks[b]) {
                    let Term::Ret(values) = &block.term else { continue };
                    for (&result, &value) in call.results.iter().zip(values) {
                        flow.from.entry((id, result)).or_default().push((call.func, value));
                    }
                }
            }
        }
        flow
    }

    /// Notes as what an instruction reads values. Moves and stores say nothing of a value's type.
    fn readers(&mut self, f: FuncId, inst: &Inst) {
        if matches!(inst.op, Op::Mov | Op::Sel | Op::St | Op::Call) {
            return;
        }
        for (n, src) in inst.srcs.iter().enumerate() {
            let ty = inst.src_type(n);
            for (word, &v) in src.values().iter().enumerate() {
                let uses = self.readers.entry((f, v)).or_default();
                note(uses, ty);
                uses.high |= word == 1 && matches!(ty, Type::U64 | Type::S64);
            }
        }
        // Addresses and coordinates are integers; what is sampled by floats is not known to be so here.
        for v in inst.mem.iter().flat_map(|m| m.base().to_vec()) {
            note(self.readers.entry((f, v)).or_default(), Type::U32);
        }
        let Some(tex) = inst.tex() else { return };
        for (role, values) in &tex.operands {
            let float = matches!(role, TexRole::Coord | TexRole::Compare | TexRole::Lod | TexRole::Bias)
                && !matches!(tex.op, TexOp::Fetch | TexOp::Size);
            let ty = if float { Type::F32 } else { Type::U32 };
            values.iter().for_each(|&v| note(self.readers.entry((f, v)).or_default(), ty));
        }
    }

    fn def(&self, (f, v): Place) -> Option<&'a Inst> {
        self.program.funcs[f].def_inst(v)
    }

    /// A value that is a number.
    fn number(&self, at: Place) -> Option<u32> {
        let inst = self.def(at)?;
        let word = |n: usize| match inst.srcs.get(n)?.kind {
            SrcKind::Imm(bits) => Some(bits),
            SrcKind::Val(v) => self.number((at.0, v)),
            _ => None,
        };
        match inst.op {
            Op::Mov => word(0),
            Op::Add if inst.ty.bits() == 32 && !inst.ty.is_float() => Some(word(0)?.wrapping_add(word(1)?)),
            Op::Shl => word(0)?.checked_shl(word(1)?),
            _ => None,
        }
    }

    /// The byte of an access, if it is a number.
    fn fixed(&self, f: FuncId, inst: &Inst) -> Option<u32> {
        let mem = inst.mem.as_ref()?;
        let base = match *mem.base() {
            [] => 0,
            [v] => self.number((f, v))?,
            _ => return None,
        };
        mem.index.is_none().then_some(base.wrapping_add(mem.offset as u32))
    }

    /// How what an access loads is used, or what it stores was made.
    fn uses(&self, f: FuncId, inst: &Inst) -> Uses {
        let mut uses = Uses { smallest: inst.ty.bytes().min(4), ..Uses::default() };
        if inst.ty.is_float() {
            note(&mut uses, inst.ty);
        }
        uses.read = inst.op != Op::St;
        uses.written = inst.op != Op::Ld;
        for v in &inst.dsts {
            if let Some(r) = self.readers.get(&(f, *v)) {
                uses.add(r);
            }
        }
        for v in inst.srcs.iter().flat_map(|s| s.values().to_vec()) {
            if let Some(made) =
                self.def((f, v)).filter(|i| !matches!(i.op, Op::Mov | Op::Sel | Op::Ld | Op::Call))
            {
                note(&mut uses, made.ty);
            }
        }
        let end = self.fixed(f, inst).map(|at| at.saturating_add(inst.ty.bytes()));
        uses.bytes = end.unwrap_or(0);
        uses.computed = end.is_none();
        uses
    }

    /// The words of the input that an address may be the sum of, at their bytes.
    fn roots(&self, start: Place, bank: u16) -> BTreeSet<u32> {
        let (mut roots, mut seen, mut todo) = (BTreeSet::new(), BTreeSet::new(), vec![start]);
        while let Some(at) = todo.pop() {
            if !seen.insert(at) {
                continue;
            }
            todo.extend(self.from.get(&at).into_iter().flatten());
            let Some(inst) = self.def(at) else { continue };
            let src = |n: usize| inst.srcs.get(n).map(|s| s.low_word());
            let followed = match inst.op {
                Op::Ld => {
                    let place = inst.dsts.iter().position(|d| *d == at.1).unwrap_or(0) as u32;
                    let input = inst.mem.is_some_and(|m| m.space == Space::Const && m.buffer == bank);
                    roots.extend(self.fixed(at.0, inst).filter(|_| input).map(|byte| byte + 4 * place));
                    continue;
                }
                // The high word of a sum is no address.
                Op::Add | Op::Sel if inst.dsts.first() == Some(&at.1) => [src(0), src(1)],
                Op::Mov | Op::Sub | Op::And | Op::Cvt if inst.dsts.first() == Some(&at.1) => [src(0), None],
                Op::Mad | Op::ShlAdd if inst.dsts.first() == Some(&at.1) => [src(2), None],
                _ => continue,
            };
            for s in followed.into_iter().flatten() {
                match s.kind {
                    SrcKind::Val(v) => todo.push((at.0, v)),
                    SrcKind::Const { bank: b, offset } if u16::from(b) == bank => {
                        roots.insert(offset.into());
                    }
                    _ => {}
                }
            }
        }
        roots
    }
}

fn note(uses: &mut Uses, ty: Type) {
    match ty {
        Type::F32 | Type::F16 => uses.floats += 1,
        Type::F64 => uses.doubles += 1,
        Type::Pred => {}
        _ => uses.integers += 1,
    }
}

impl Uses {
    pub(super) fn add(&mut self, o: &Uses) {
        self.floats += o.floats;
        self.doubles += o.doubles;
        self.integers += o.integers;
        self.read |= o.read;
        self.written |= o.written;
        self.computed |= o.computed;
        self.high |= o.high;
        self.bytes = self.bytes.max(o.bytes);
        self.smallest = match (self.smallest, o.smallest) {
            (0, n) | (n, 0) => n,
            (a, b) => a.min(b),
        };
    }

    pub(super) fn is_float(&self) -> bool {
        self.floats > self.integers
    }
}

/// An access through pointers of the input: the words that may be the pointer, and the access.
struct Access {
    roots: BTreeSet<u32>,
    bytes: u32,
    shared: bool,
    uses: Uses,
}

impl Needs {
    pub(super) fn of(program: &Program, abi: &Abi) -> Needs {
        let flow = Flow::of(program);
        let mut needs = Needs { vertices: Some(0), ..Needs::default() };
        let bank = u16::from(abi.input_bank);
        let mut accesses = Vec::new();
        for (id, f) in &program.funcs {
            for (_, i) in f.insts_in_order() {
                let inst = &f.insts[i];
                needs.memory(&flow, id, inst, bank, &mut accesses);
                if let Some(surf) = inst.surf() {
                    needs.image(inst, surf);
                }
                if let Some(tex) = inst.tex() {
                    needs.texture(tex);
                }
                if inst.op == Op::Vertex {
                    let n = inst.srcs.iter().map(|s| match s.kind {
                        SrcKind::Imm(n) => Some(n),
                        SrcKind::Val(v) => flow.number((id, v)),
                        _ => None,
                    });
                    let n = n.sum::<Option<u32>>();
                    needs.vertices = needs.vertices.zip(n).map(|(a, b)| a.max(b.saturating_add(1)));
                }
            }
        }
        if program.private_bytes > 0 {
            needs.private_bytes = 0;
        }
        needs.pointers(&accesses);
        needs
    }

    fn memory(&mut self, flow: &Flow<'_>, f: FuncId, inst: &Inst, bank: u16, found: &mut Vec<Access>) {
        for src in &inst.srcs {
            if let SrcKind::Const { bank: b, offset } = src.kind
                && u16::from(b) == bank
            {
                self.input.entry(offset.into()).or_default();
            }
        }
        let Some(mem) = &inst.mem else { return };
        let slot = u32::from(mem.buffer);
        match mem.space {
            Space::Buffer => {
                self.indexed_buffers |= mem.index.is_some();
                self.buffers.entry(slot).or_default().add(&flow.uses(f, inst));
            }
            Space::Uniform => {
                self.indexed_uniforms |= mem.index.is_some();
                self.uniforms.entry(slot).or_default().add(&flow.uses(f, inst));
            }
            // Uniform blocks that are addressed by their banks.
            Space::Const if mem.buffer != bank => {
                let block = slot.saturating_sub(u32::from(bank) + 1);
                self.indexed_uniforms |= mem.index.is_some();
                self.uniforms.entry(block).or_default().add(&flow.uses(f, inst));
            }
            Space::Const => match flow.fixed(f, inst) {
                None => self.input_computed = true,
                Some(at) => {
                    for (n, v) in inst.dsts.iter().enumerate() {
                        let word = self.input.entry(at + 4 * n as u32).or_default();
                        word.smallest = inst.ty.bytes().min(4);
                        word.add(flow.readers.get(&(f, *v)).unwrap_or(&Uses::default()));
                    }
                }
            },
            Space::Global | Space::Generic | Space::Shared => {
                let base = mem.base();
                let Some(&low) = base.first() else { return };
                let (bytes, shared) = (4 * base.len() as u32, mem.space == Space::Shared);
                let (roots, uses) = (flow.roots((f, low), bank), flow.uses(f, inst));
                found.push(Access { roots, bytes, shared, uses });
            }
            Space::Local => {
                let end = flow.fixed(f, inst).map_or(1024, |at| at.saturating_add(inst.ty.bytes()));
                self.private_bytes = self.private_bytes.max(end.next_multiple_of(16));
            }
            Space::Input | Space::PatchInput => {
                let patch = mem.space == Space::PatchInput;
                let at = mem.offset as u32;
                let uses = flow.uses(f, inst);
                self.attributes.entry((patch, at & !15)).or_default().add(&uses);
            }
            Space::Output | Space::PatchOutput => {}
        }
        if let Aux::Sv(Sv::VerticesIn) = inst.aux {
            self.vertices = None;
        }
    }

    fn image(&mut self, inst: &Inst, surf: &Surf) {
        if surf.handle.is_some() {
            self.handles = true;
            return;
        }
        let written = matches!(inst.op, Op::Sust | Op::Sured);
        let p = Picture {
            dim: surf.dim,
            array: surf.array,
            shadow: false,
            format: surf.format,
            ty: surf.ty,
            written,
            indexed: surf.index.is_some(),
        };
        let known = self.images.entry(surf.image.into()).or_insert(p);
        known.format = known.format.or(p.format);
        known.written |= written;
        known.indexed |= p.indexed;
        // A query says nothing of the texels.
        if inst.op != Op::Suq {
            known.ty = p.ty;
        }
    }

    fn texture(&mut self, tex: &Tex) {
        let has = |role| tex.operands.iter().any(|(r, _)| *r == role);
        if has(TexRole::Handle) {
            self.handles = true;
            return;
        }
        if tex.texture == Tex::FRAMEBUFFER {
            self.framebuffer = true;
            return;
        }
        let p = Picture {
            dim: tex.dim,
            array: tex.array,
            shadow: tex.shadow,
            format: None,
            ty: tex.ty,
            written: false,
            indexed: has(TexRole::Index),
        };
        let filtered = !matches!(tex.op, TexOp::Fetch | TexOp::Size | TexOp::Samples);
        for slot in std::iter::once(tex.texture).chain(filtered.then_some(tex.sampler)) {
            let known = self.textures.entry(slot.into()).or_insert(p);
            known.shadow |= p.shadow;
            known.indexed |= p.indexed;
        }
    }

    /// Which words are pointers. An address is the sum of one pointer and of offsets, and a word that is an offset for one access
    /// may be one for many; so what alone makes up an address is a pointer for certain, and of several words that may be, the
    /// first is taken.
    fn pointers(&mut self, accesses: &[Access]) {
        let certain: BTreeSet<u32> =
            accesses.iter().filter(|a| a.roots.len() == 1).flat_map(|a| a.roots.iter().copied()).collect();
        for a in accesses {
            let Some(&at) = a.roots.iter().find(|r| certain.contains(r)).or(a.roots.first()) else {
                continue;
            };
            let p =
                self.pointers.entry(at).or_insert(Pointer { bytes: a.bytes, shared: a.shared, uses: a.uses });
            p.uses.add(&a.uses);
            p.bytes = p.bytes.max(a.bytes);
            p.shared &= a.shared;
        }
        for (&at, p) in &self.pointers {
            for word in (at..at + p.bytes).step_by(4) {
                self.input.remove(&word);
            }
        }
    }
}
