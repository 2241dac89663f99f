//! Derefs: chains of pointers whose modes and types follow from where they begin.

use super::super::ast::{ArrayIndex, Deref, DerefKind, Dest, Node, Shape, Src};
use super::super::names::Mode;
use super::super::types::{Type, TypeId, bare};
use super::Checker;
use crate::diag::{Diagnostic, closest};

/// Modes in which a vector may be indexed like an array; temporaries since 23.1.
const INDEXED_VECTORS: [Mode; 7] = [
    Mode::Ubo,
    Mode::Ssbo,
    Mode::Shared,
    Mode::Global,
    Mode::PushConst,
    Mode::ShaderTemp,
    Mode::FunctionTemp,
];

/// Modes that a generic pointer may have together.
const GENERIC: [Mode; 5] = [Mode::ShaderTemp, Mode::FunctionTemp, Mode::Shared, Mode::Global, Mode::Generic];

impl<'a> Checker<'a, '_> {
    /// The deref that makes a source.
    pub(super) fn deref_of(&self, src: &Src) -> Option<&'a Deref<'a>> {
        match self.node_of(src)? {
            Node::Deref(id) => Some(self.fun.deref(*id)),
            _ => None,
        }
    }

    pub(super) fn deref(&mut self, deref: &Deref<'a>) {
        match &deref.kind {
            DerefKind::Var(name) => self.deref_var(deref, name),
            DerefKind::Cast { parent, align_mul, align_offset, .. } => {
                self.source(parent);
                self.cast(deref, parent, *align_mul, *align_offset);
            }
            DerefKind::Array { parent, index, pointer } => {
                self.index(deref, index);
                if let Some(parent) = self.parent(deref, parent) {
                    self.array(deref, parent, *pointer);
                }
            }
            DerefKind::Struct { parent, field } => {
                if let Some(parent) = self.parent(deref, parent) {
                    self.member(deref, parent, field);
                }
            }
        }
    }

    fn deref_var(&mut self, deref: &Deref<'_>, name: &'a str) {
        let Some(&var) = self.locals.get(name).or_else(|| self.variables.get(name)) else {
            let all: Vec<&str> = self.locals.keys().chain(self.variables.keys()).copied().collect();
            let span = self.span;
            return self.findings.push(|| {
                let d = Diagnostic::error(format!("variable `{name}` is not declared")).at(span, "");
                d.did_you_mean(closest(name, &all))
            });
        };
        let (span, modes) = (self.span, deref.modes);
        if !(modes.has(var.mode) && modes.len() == 1) {
            self.findings.push(|| {
                Diagnostic::error(format!("`{name}` is in `{}`, the pointer in `{modes}`", var.mode))
                    .at(span, "")
                    .label(var.span, "declared here")
            });
        }
        if !self.same_type(deref.ty, var.ty) {
            let [found, declared] = [deref.ty, var.ty].map(|ty| self.shader.types.name(ty));
            self.findings.push(|| {
                Diagnostic::error(format!("`{name}` is of type `{declared}`, the pointer leads to `{found}`"))
                    .at(span, "")
                    .label(var.span, "declared here")
            });
        }
    }

    fn cast(&mut self, deref: &Deref<'_>, parent: &Src, mul: u32, offset: u32) {
        let modes = deref.modes;
        let generic = GENERIC.iter().filter(|&&mode| modes.has(mode)).count() as u32;
        if modes.len() > 1 && generic < modes.len() {
            self.error(self.span, || format!("a pointer cannot be in `{modes}` at once"));
        }
        if let Some(from) = self.deref_of(parent)
            && !modes.shares(from.modes)
        {
            let from = from.modes;
            self.error(parent.span, || format!("a cast cannot lead from `{from}` to `{modes}`"));
        }
        if mul != 0 && !mul.is_power_of_two() {
            self.error(self.span, || format!("`align_mul` must be a power of two, not {mul}"));
        } else if offset >= mul.max(1) {
            self.error(self.span, || {
                format!("`align_offset` must be less than `align_mul` ({mul}), not {offset}")
            });
        }
    }

    /// The deref that another one goes on from.
    fn parent(&mut self, deref: &Deref<'_>, src: &Src) -> Option<&'a Deref<'a>> {
        let found = self.source(src)?;
        let Some(parent) = self.deref_of(src) else {
            self.error(src.span, || "this value is not the result of a deref".into());
            return None;
        };
        if let Dest::Ssa(def) = deref.dest {
            self.same(src.span, "pointer", Some(def.shape), Some(found));
        }
        if deref.modes != parent.modes {
            let (modes, from) = (deref.modes, parent.modes);
            self.error(self.span, || {
                format!("the pointer is in `{modes}`, the one that it goes on from in `{from}`")
            });
        }
        Some(parent)
    }

    fn index(&mut self, deref: &Deref<'_>, index: &ArrayIndex) {
        let ArrayIndex::Src(src) = index else { return };
        let found = self.source(src);
        if let Dest::Ssa(def) = deref.dest {
            self.scalar(src, found, "index", def.shape.bits);
        }
    }

    fn array(&mut self, deref: &Deref<'_>, parent: &Deref<'_>, pointer: bool) {
        let types = &self.shader.types;
        if pointer {
            let stepped = matches!(parent.kind, DerefKind::Array { .. } | DerefKind::Cast { .. });
            if !stepped {
                self.error(self.span, || "`deref_ptr_as_array` must go on from an element or a cast".into());
            }
            return;
        }
        let scalar = |shape: Shape| Type::Vector(Shape { comps: 1, ..shape }, Default::default());
        let fits = match types.get(parent.ty) {
            Type::Array { element, .. } => self.same_type(element, deref.ty),
            Type::Matrix { column, .. } => self.is_vector(deref.ty, column),
            Type::Vector(shape, _)
                if shape.comps > 1 && INDEXED_VECTORS.iter().any(|&m| deref.modes.has(m)) =>
            {
                matches!((types.get(deref.ty), scalar(shape)), (Type::Vector(a, _), Type::Vector(b, _)) if a == b)
            }
            Type::Unknown => true,
            _ => {
                let name = types.name(parent.ty);
                return self.error(self.span, || format!("`{name}` has no elements"));
            }
        };
        if !fits {
            let [found, whole] = [deref.ty, parent.ty].map(|ty| self.shader.types.name(ty));
            self.error(self.span, || format!("an element of `{whole}` is not a `{found}`"));
        }
    }

    fn member(&mut self, deref: &Deref<'_>, parent: &Deref<'_>, field: &str) {
        let name = self.shader.types.name(parent.ty);
        match self.shader.types.get(parent.ty) {
            Type::Struct(number) => {
                let fields = &self.shader.structs[number as usize].fields;
                let Some(&(ty, _)) = fields.iter().find(|(_, f)| *f == field) else {
                    let all: Vec<&str> = fields.iter().map(|(_, name)| *name).collect();
                    let span = self.span;
                    return self.findings.push(|| {
                        Diagnostic::error(format!("`{name}` has no field `{field}`"))
                            .at(span, "")
                            .did_you_mean(closest(field, &all))
                    });
                };
                if !self.same_type(ty, deref.ty) {
                    let [found, wanted] = [deref.ty, ty].map(|ty| self.shader.types.name(ty));
                    self.error(self.span, || {
                        format!("field `{field}` is of type `{wanted}`, the pointer leads to `{found}`")
                    });
                }
            }
            // The text says nothing of its fields.
            Type::Unknown => {}
            _ => self.error(self.span, || format!("`{name}` is not a structure")),
        }
    }

    // ---- types

    /// Whether two types are one, by what the text says of them.
    pub(super) fn same_type(&self, a: TypeId, b: TypeId) -> bool {
        self.alike(a, b, |a, b| a == b)
    }

    /// The same, whatever their sizes in memory are.
    pub(super) fn same_bare_type(&self, a: TypeId, b: TypeId) -> bool {
        let types = &self.shader.types;
        self.alike(a, b, |a, b| match (types.get(a), types.get(b)) {
            (Type::Vector(..) | Type::Matrix { .. }, Type::Vector(..) | Type::Matrix { .. }) => {
                bare(types.name(a)) == bare(types.name(b))
            }
            _ => a == b,
        })
    }

    /// Compares arrays by length, and their elements as it is told.
    fn alike(&self, mut a: TypeId, mut b: TypeId, same: impl Fn(TypeId, TypeId) -> bool) -> bool {
        let types = &self.shader.types;
        loop {
            match (types.get(a), types.get(b)) {
                _ if a == b => return true,
                (Type::Array { element: x, len: m }, Type::Array { element: y, len: n }) if m == n => {
                    (a, b) = (x, y);
                }
                _ => return same(a, b),
            }
        }
    }

    fn is_vector(&self, ty: TypeId, shape: Shape) -> bool {
        matches!(self.shader.types.get(ty), Type::Vector(found, _) if found == shape)
    }

    /// Whether it is a sampler, texture or image, or the text does not say.
    pub(super) fn is_opaque(&self, ty: TypeId) -> bool {
        matches!(self.shader.types.get(ty), Type::Opaque { .. } | Type::Unknown)
    }
}
