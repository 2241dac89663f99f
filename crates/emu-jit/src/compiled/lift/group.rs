//! A group of lanes in a run of instructions: its registers and masks as values, read from the warp when first used.

use super::super::liveness::{FIRST_FLAG, MASKS};
use super::vector::{Emitter, ROW, WORDS};
use cranelift_codegen::ir::{Value, types};
use nvir_emu::engine::Code;
use nvir_emu::engine::open::{self, Inst, Modifier, NULL, POOL, PSrc, Src, Uniform};

/// Where what a group reads and writes lies.
#[derive(Clone, Copy)]
pub(super) struct Places {
    pub(super) warp: Value,
    pub(super) pool: Value,
    pub(super) frame: Value,
    /// The state of the block of threads.
    pub(super) block: Value,
    /// What generated code looks up.
    pub(super) tables: Value,
    /// The group's part of any row.
    pub(super) offset: Value,
    /// The group's part of the first register's row.
    pub(super) rows: Value,
    /// The group's first lane, to shift masks by.
    pub(super) lane: Value,
}

/// Which NaNs a value may have in place of the machine's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Nans {
    Exact,
    /// Any: what reads it as a float sees no difference.
    Any,
}

/// The value of a register, or of an operand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes {
    pub(super) value: Value,
    pub(super) nans: Nans,
    /// There are no subnormals.
    pub(super) flushed: bool,
}

impl Lanes {
    pub(super) fn exact(value: Value) -> Lanes {
        Lanes { value, nans: Nans::Exact, flushed: false }
    }
}

/// The state of a group.
pub(super) struct Group<'e, 'f, 'c> {
    pub(super) e: &'e mut Emitter<'f>,
    pub(super) code: &'c Code,
    pub(super) places: Places,
    regs: Box<[Option<Lanes>; 256]>,
    written: Vec<u8>,
    masks: [Option<Value>; MASKS],
    /// The lanes that execute the current instruction; none: all that are active.
    pub(super) guard: Option<Value>,
    /// The lanes that come to instructions; none: all that are active.
    pub(super) within: Option<Value>,
}

impl<'e, 'f, 'c> Group<'e, 'f, 'c> {
    pub(super) fn new(e: &'e mut Emitter<'f>, code: &'c Code, places: Places) -> Group<'e, 'f, 'c> {
        let regs = Box::new([None; 256]);
        Group { e, code, places, regs, written: Vec::new(), masks: [None; MASKS], guard: None, within: None }
    }

    /// The vector of a mask that is a word of the warp.
    fn spread(&mut self, word: Value) -> Value {
        let Places { tables, lane, .. } = self.places;
        spread(self.e, word, lane, tables)
    }

    /// A predicate or flag by its number among the masks.
    pub(super) fn mask(&mut self, n: usize) -> Value {
        if let Some(v) = self.masks[n] {
            return v;
        }
        let word = self.e.load(types::I32, self.places.warp, mask_offset(n));
        let v = self.spread(word);
        self.masks[n] = Some(v);
        v
    }

    pub(super) fn pred(&mut self, p: PSrc) -> Value {
        if p.num & 7 == 7 {
            return self.e.all(if p.not { 0 } else { u32::MAX });
        }
        let v = self.mask(usize::from(p.num & 7));
        if p.not { self.e.not(v) } else { v }
    }

    /// Begins an instruction: the lanes that execute it, if those are not all active ones.
    pub(super) fn enter(&mut self, inst: &Inst) -> Option<Value> {
        self.guard = self.within;
        if inst.guard != PSrc::TRUE {
            let guard = self.pred(inst.guard);
            self.guard = Some(self.within.map_or(guard, |within| self.e.and(within, guard)));
        }
        if inst.quad != 15 {
            let offset = usize::from(inst.quad) * 16;
            let quad = self.e.load(WORDS, self.places.tables, offset);
            self.guard = Some(match self.guard {
                Some(guard) => self.e.and(guard, quad),
                None => quad,
            });
        }
        self.guard
    }

    fn reg(&mut self, r: u8) -> Lanes {
        if let Some(v) = self.regs[usize::from(r)] {
            return v;
        }
        let row = self.e.row(r);
        let v = Lanes::exact(self.e.load(WORDS, self.places.rows, row));
        self.regs[usize::from(r)] = Some(v);
        v
    }

    /// A register with the machine's NaNs.
    fn exact_reg(&mut self, r: u8) -> Value {
        let v = self.reg(r);
        if v.nans == Nans::Exact {
            return v.value;
        }
        let value = self.e.canonical(v.value);
        self.regs[usize::from(r)] = Some(Lanes { value, nans: Nans::Exact, ..v });
        value
    }

    fn pool(&mut self, row: u16) -> Value {
        self.e.load(WORDS, self.places.pool, usize::from(row - POOL) * ROW)
    }

    /// The operand's bits.
    pub(super) fn bits(&mut self, src: Src) -> Value {
        let v = if src.row < POOL { self.exact_reg(src.row as u8) } else { self.pool(src.row) };
        self.e.modify(src.modifier, v)
    }

    /// The operand for what reads it as a float: NaNs may be any.
    pub(super) fn float(&mut self, src: Src) -> Lanes {
        use Modifier::{AbsF32, NegAbsF32, NegF32, None};
        if src.row >= POOL || !matches!(src.modifier, None | NegF32 | AbsF32 | NegAbsF32) {
            return Lanes::exact(self.bits(src));
        }
        let v = self.reg(src.row as u8);
        Lanes { value: self.e.modify(src.modifier, v.value), ..v }
    }

    /// The operand for a float operation that may flush.
    pub(super) fn flushed(&mut self, src: Src, ftz: bool) -> Value {
        let v = self.float(src);
        if ftz && !v.flushed { self.e.flush(v.value) } else { v.value }
    }

    /// What an operand is in all threads, if the code says so.
    pub(super) fn known(code: &Code, src: Src) -> Option<u32> {
        match code.uniforms().get(usize::from(src.row.checked_sub(POOL)?))? {
            Uniform::Imm(v) => Some(src.modifier.apply(*v)),
            Uniform::Const(..) => None,
        }
    }

    /// Writes a register in the lanes that execute the instruction.
    pub(super) fn put(&mut self, dst: u8, v: Lanes) {
        if dst == NULL {
            return;
        }
        let v = match self.guard {
            None => v,
            Some(guard) => {
                // What stays in the other lanes may be no float.
                let value = if v.nans == Nans::Any { self.e.canonical(v.value) } else { v.value };
                let old = self.exact_reg(dst);
                Lanes::exact(self.e.pick(guard, value, old))
            }
        };
        self.regs[usize::from(dst)] = Some(v);
        if !self.written.contains(&dst) {
            self.written.push(dst);
        }
    }

    /// Writes a predicate or flag, by its number among the masks.
    pub(super) fn put_mask(&mut self, n: usize, v: Value) {
        let v = match self.guard {
            None => v,
            Some(guard) => {
                let old = self.mask(n);
                self.e.pick(guard, v, old)
            }
        };
        self.masks[n] = Some(v);
    }

    pub(super) fn put_pred(&mut self, p: u8, v: Value) {
        if p < FIRST_FLAG as u8 {
            self.put_mask(p.into(), v);
        }
    }

    /// CC from a result without carry and overflow.
    pub(super) fn put_flags(&mut self, inst: &Inst, out: Value) {
        let mut zero = self.e.is_zero(out);
        if inst.chain {
            let old = self.mask(FIRST_FLAG);
            zero = self.e.and(zero, old);
        }
        let sign = self.e.is_negative(out);
        let none = self.e.all(0);
        for (n, v) in [zero, sign, none, none].into_iter().enumerate() {
            self.put_mask(FIRST_FLAG + n, v);
        }
    }

    /// Writes registers that were changed and live on to the warp's rows, in the active lanes.
    pub(super) fn write_back(&mut self, lives: impl Fn(u8) -> bool, active: Option<Value>) {
        for r in std::mem::take(&mut self.written) {
            if !lives(r) {
                continue;
            }
            let mut v = self.exact_reg(r);
            let offset = self.e.row(r);
            if let Some(active) = active {
                let old = self.e.load(WORDS, self.places.rows, offset);
                v = self.e.pick(active, v, old);
            }
            self.e.store(v, self.places.rows, offset);
        }
    }
}

/// Where in the warp a predicate or flag is.
pub(super) fn mask_offset(n: usize) -> usize {
    if n < FIRST_FLAG { open::PREDICATES + 4 * n } else { open::FLAGS[n - FIRST_FLAG] }
}

/// The vector of a group's lanes in a word.
pub(super) fn spread(e: &mut Emitter<'_>, word: Value, lane: Value, tables: Value) -> Value {
    use cranelift_codegen::ir::InstBuilder;
    let set = e.b.ins().ushr(word, lane);
    let set = e.b.ins().band_imm_u(set, 15);
    let set = e.b.ins().uextend(types::I64, set);
    let offset = e.b.ins().ishl_imm_u(set, 4);
    let at = e.b.ins().iadd(tables, offset);
    e.load(WORDS, at, 0)
}
