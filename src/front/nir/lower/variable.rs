//! Variables: where they lie, and what they begin with.
//!
//! - shared: after what the kernel declares; an initial value is stored by one thread before a barrier
//! - temporaries of a function and of the shader: private memory, initialised where the function, or the kernel, begins
//! - constants: private memory, all together and in their order, as `load_constant` counts. The text does not hold
//!   constant data itself; it is known where the variables that it was made of are still declared.

use super::super::ast::{DerefKind, Function, Node, Shader, Variable};
use super::super::intrinsics::{Kind, Mem};
use super::super::names::{Mode, Stage};
use super::super::types::Type as NirType;
use super::deref::{Pointer, opaque};
use super::types::Layout;
use super::{Lower, init};
use crate::front::common::emit::value::Word;
use crate::front::common::lanes;
use crate::ir::{Align, Cond, MemRef, Space, Type};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// The shader's constant data in private memory.
#[derive(Default)]
pub(super) struct Constants<'a> {
    /// Where it begins; `None`: nothing is known of it.
    start: Option<u32>,
    offsets: FxHashMap<&'a str, u32>,
}

/// Whether a function reads constant data by its offset.
fn loads_constants(f: &Function<'_>) -> bool {
    f.body
        .iter()
        .any(|(node, _)| matches!(node, Node::Intrinsic(i) if i.info.kind == Kind::Load(Mem::Constant)))
}

/// Whether the default uniforms have places: until a pass gives them some, the text has the same for all.
pub(super) fn uniforms_placed(shader: &Shader<'_>) -> bool {
    let sampler =
        |v: &Variable<'_>| matches!(shader.types.flattened(v.ty).0, NirType::Opaque { dim: Some(_), .. });
    let uniforms = shader.vars.iter().filter(|v| v.mode == Mode::Uniform && !sampler(v));
    let mut seen = FxHashSet::default();
    uniforms.map(|v| v.place.map(|(driver, _)| driver)).all(|driver| seen.insert(driver))
}

/// Where among a kernel's inputs the address of its constants is: Rusticl appends a variable of this name to the kernel's
/// own arguments, which may have any (`src/gallium/frontends/rusticl/core/kernel.rs`). What has the address space
/// `constant` is not written while a kernel runs (OpenCL C 3.0, 6.7.1).
pub(super) fn constants_at(shader: &Shader<'_>) -> Option<u32> {
    let named = |v: &&Variable<'_>| v.mode == Mode::Uniform && v.name == "constant_buffer_addr";
    let last = shader.vars.iter().rev().find(named).filter(|_| shader.constants > 0)?;
    last.place.map(|(driver, _)| driver)
}

fn named<'a>(f: &Function<'a>) -> impl Iterator<Item = &'a str> {
    f.body.iter().filter_map(|(node, _)| match node {
        Node::Deref(d) => match f.deref(*d).kind {
            DerefKind::Var(name) => Some(name),
            _ => None,
        },
        _ => None,
    })
}

impl<'a> Lower<'a, '_> {
    pub(super) fn variable(&mut self, name: &str) -> Option<Pointer> {
        let local = self.vars.get(name).copied();
        let Some(var) = local.or_else(|| self.module.vars.get(name).copied()) else {
            self.error(self.span, format!("there is no variable `{name}`"));
            return None;
        };
        let (driver, binding) = var.place.unwrap_or((0, 0));
        // Nobody may ask for what is there: uniforms of subroutines' types, for one, are read by their numbers.
        let Some(layout) = self.module.layouts.of(self.module.shader, var.ty) else {
            let ty = self.module.shader.types.name(var.ty);
            return Some(Pointer::Unknown(format!("the layout of type `{ty}` is not in the text").into()));
        };
        if opaque(&layout) {
            let (ty, format) = (var.ty, var.format);
            return Some(Pointer::Opaque { binding, ty, format, index: Word::Imm(0) });
        }
        let mem = match var.mode {
            Mode::Shared => {
                let at = self.shared_variable(var, &layout);
                self.named(MemRef::new(Space::Shared).with_offset(at as i32), at)
            }
            Mode::FunctionTemp | Mode::ShaderTemp => {
                let at = self.private_variable(var, &layout, local.is_some());
                self.named(MemRef::new(Space::Local).with_offset(at as i32), at)
            }
            Mode::Constant => {
                let at = self.module.constants.offsets.get(var.name).copied();
                let Some(at) = at else {
                    self.error(self.span, format!("the value of `{name}` is not in the text"));
                    return None;
                };
                self.constants(at)?
            }
            Mode::Ssbo => MemRef::new(Space::Buffer).with_buffer(binding as u16),
            Mode::Ubo => MemRef::new(Space::Uniform).with_buffer(binding as u16),
            Mode::Uniform => {
                let kernel = self.module.shader.stage == Stage::Kernel;
                if !kernel && (layout.size > 16 || !self.module.uniforms_placed) {
                    let why = format!("the text does not say where the uniform `{name}` lies");
                    return Some(Pointer::Unknown(why.into()));
                }
                let offset = if kernel { driver } else { driver.wrapping_mul(16) };
                let abi = self.module.request.abi;
                MemRef::new(Space::Const)
                    .with_buffer(abi.input_bank.into())
                    .with_offset(offset.wrapping_add(abi.input_offset.into()) as i32)
            }
            mode => {
                return Some(Pointer::Unknown(
                    format!("variables of mode `{mode}` are not supported").into(),
                ));
            }
        };
        let mem = mem.with_align(Align::multiple_of(layout.align.clamp(1, 16)));
        let stride = layout.size;
        Some(Pointer::Memory { mem, layout, stride, wild: Vec::new() })
    }

    /// The same, with the variable that it goes to: the one that begins at `start`.
    pub(super) fn named(&self, mem: MemRef, start: u32) -> MemRef {
        mem.with_var(self.module.extent_at(mem.space, start))
    }

    fn shared_variable(&mut self, var: &Variable<'a>, layout: &Layout) -> u32 {
        if let Some(&at) = self.module.shared_vars.get(var.name) {
            return at;
        }
        if self.stage().is_graphics() {
            self.not_here("shared memory");
        }
        let at = self.module.shared_bytes.next_multiple_of(layout.align.max(16));
        match at.checked_add(layout.size).filter(|&end| end - self.module.zones <= 48 << 10) {
            Some(end) => {
                self.module.shared_bytes = end;
                self.module.extent(Space::Shared, at, layout.size);
                self.module.red_zone();
            }
            None => self.error(var.span, "more shared memory is used than a block can have (48 KiB)"),
        }
        self.module.shared_vars.insert(var.name, at);
        at
    }

    /// Where a temporary lies: one of this function, or one that all functions share.
    fn private_variable(&mut self, var: &Variable<'a>, layout: &Layout, local: bool) -> u32 {
        let known = if local { &self.local_vars } else { &self.module.shader_temps };
        if let Some(&at) = known.get(var.name) {
            return at;
        }
        let at = self.private(layout.size, layout.align.max(16));
        let known = if local { &mut self.local_vars } else { &mut self.module.shader_temps };
        known.insert(var.name, at);
        at
    }

    /// Constant data from an offset on.
    pub(super) fn constants(&mut self, offset: u32) -> Option<MemRef> {
        match self.module.constants.start {
            Some(start) => {
                let mem = MemRef::new(Space::Local).with_offset(start.wrapping_add(offset) as i32);
                Some(self.named(mem, start))
            }
            None => {
                self.error(
                    self.span,
                    "the text says how much constant data there is, but not what, so it cannot be loaded",
                );
                None
            }
        }
    }

    // ---- initial values

    /// Stores what variables begin with: this function's, and the shader's where this is the kernel.
    pub(super) fn initial_values(&mut self) {
        let fun = self.fun;
        let own: FxHashSet<&str> = named(fun).collect();
        for var in fun.vars.iter().filter(|v| own.contains(v.name)) {
            self.initialise(var, true);
        }
        if !self.is_entry {
            return;
        }
        let shader = self.module.shader;
        let used: FxHashSet<&str> = shader.functions.iter().flat_map(named).collect();
        for var in &shader.vars {
            if used.contains(var.name) && var.mode == Mode::ShaderTemp {
                self.initialise(var, false);
            }
        }
        let constants = || shader.vars.iter().filter(|v| v.mode == Mode::Constant);
        if shader.functions.iter().any(loads_constants) || constants().any(|v| used.contains(v.name)) {
            self.initialise_constants();
        }
        let shared: Vec<&Variable<'a>> = shader
            .vars
            .iter()
            .filter(|v| v.mode == Mode::Shared && v.init.is_some() && used.contains(v.name))
            .collect();
        if !shared.is_empty() {
            self.initialise_shared(&shared);
        }
    }

    fn initial_bytes(&mut self, var: &Variable<'a>) -> Option<(Rc<Layout>, Vec<u8>)> {
        let init = var.init?;
        let layout = self.layout(var.ty)?;
        match init::bytes(self.module.shader, init, &layout) {
            Ok(bytes) => Some((layout, bytes)),
            Err(why) => {
                self.error(var.span, format!("the initial value of `{}` cannot be used: {why}", var.name));
                None
            }
        }
    }

    fn initialise(&mut self, var: &Variable<'a>, local: bool) {
        if let Some((layout, bytes)) = self.initial_bytes(var) {
            let at = self.private_variable(var, &layout, local);
            self.e.store_bytes(MemRef::new(Space::Local).with_offset(at as i32), &bytes);
        }
    }

    fn initialise_constants(&mut self) {
        let shader = self.module.shader;
        let mut data = Vec::new();
        let mut offsets = FxHashMap::default();
        for var in shader.vars.iter().filter(|v| v.mode == Mode::Constant) {
            // A type that the text does not lay out ends what is known of the data.
            let Some(layout) = self.module.layouts.of(shader, var.ty) else { return };
            let Some(bytes) = var.init.and_then(|init| init::bytes(shader, init, &layout).ok()) else {
                return;
            };
            data.resize(data.len().next_multiple_of(layout.align.max(1) as usize), 0);
            offsets.insert(var.name, data.len() as u32);
            data.extend(bytes);
        }
        let complete = shader.constants == 0 || data.len() == shader.constants as usize;
        if data.is_empty() || !complete {
            return;
        }
        let start = self.private(data.len() as u32, 16);
        self.module.constants = Constants { start: Some(start), offsets };
        self.e.store_bytes(MemRef::new(Space::Local).with_offset(start as i32), &data);
    }

    /// One thread stores the values, and all wait for it.
    fn initialise_shared(&mut self, vars: &[&Variable<'a>]) {
        let index = self.e.local_index();
        let first = self.e.cmp(Cond::Eq, Type::U32, index, 0);
        let join = self.e.begin_when(first);
        for var in vars {
            if let Some((layout, bytes)) = self.initial_bytes(var) {
                let at = self.shared_variable(var, &layout);
                self.e.store_bytes(MemRef::new(Space::Shared).with_offset(at as i32), &bytes);
            }
        }
        self.e.end_when(join);
        lanes::barrier(&mut self.e.b);
    }
}
