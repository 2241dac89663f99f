//! Loads and stores through derefs of inputs and outputs become loads and stores at offsets in vectors, which is what Mesa's
//! `nir_lower_io` makes of them: so that the interface and the lowering know one form.
//!
//! State trackers leave the derefs to the driver. An index of a vertex becomes the operand of its own that it is; all others
//! are summed, in vectors of the variable. A vector takes one, or two where its 64-bit components need them; arrays, matrices
//! and structures are their parts in order.

use super::alu;
use super::ast::*;
use super::indices::Indices;
use super::interface::is_per_vertex;
use super::intrinsics::{self, Barycentric, Io, Kind, Mem};
use super::locations::Location;
use super::lower::types::Layouts;
use super::names::{Interpolation, Mode, Stage};
use super::types::{Type, TypeId};
use crate::diag::{Diagnostic, Diagnostics, Span};
use rustc_hash::{FxHashMap, FxHashSet};

const WORD: Shape = Shape { bits: 32, comps: 1 };

/// Vectors that a stage's inputs or outputs take together, at the most.
const MOST: u32 = 128;

/// Replaces them in all functions. An error: the text does not say where an accessed variable lies, or copies one whole.
pub(super) fn lower(shader: &mut Shader<'_>) -> Result<(), Diagnostics> {
    let mut functions = std::mem::take(&mut shader.functions);
    let mut diags = Diagnostics::default();
    let second = second_colors(shader);
    let numbers = shader.vars.iter().enumerate().map(|(n, v)| (v.name, n)).collect();
    let mut layouts = Layouts::default();
    for f in functions.iter_mut().filter(|f| f.defined && has_derefs(f)) {
        let body = std::mem::take(&mut f.body);
        f.body.reserve(2 * body.len());
        let next = body.iter().map(|(node, _)| after(f, node)).max().unwrap_or(0);
        let chains = FxHashMap::default();
        let mut l =
            Lower { f, shader, numbers: &numbers, layouts: &mut layouts, second: &second, chains, next };
        for (node, span) in body {
            if let Err(d) = l.node(node, span) {
                diags.push(*d);
            }
        }
    }
    shader.functions = functions;
    if diags.has_errors() { Err(diags) } else { Ok(()) }
}

fn is_attribute(d: &Deref<'_>) -> bool {
    d.modes.has(Mode::ShaderIn) || d.modes.has(Mode::ShaderOut)
}

fn has_derefs(f: &Function<'_>) -> bool {
    f.body.iter().any(|(node, _)| matches!(node, Node::Deref(d) if is_attribute(f.deref(*d))))
}

/// The first number behind those that a node defines.
fn after(f: &Function<'_>, node: &Node<'_>) -> u32 {
    let number = |dest: &Dest| match dest {
        Dest::Ssa(def) => def.index.saturating_add(1),
        Dest::Reg(..) => 0,
    };
    match node {
        Node::Const { def, .. } | Node::Undef(def) => def.index.saturating_add(1),
        Node::ParallelCopy(range) => f.copies(*range).iter().map(|(d, _)| number(d)).max().unwrap_or(0),
        node => f.dest(node).map_or(0, |dest| number(&dest)),
    }
}

/// Results of a fragment shader that are the second colour of two that are blended: the text does not say which one of two at
/// one location it is; whoever prints it sees to it that it has the later register.
fn second_colors<'s>(shader: &Shader<'s>) -> FxHashSet<&'s str> {
    let mut first: FxHashMap<u32, u32> = FxHashMap::default();
    let results = || {
        let outputs = shader.vars.iter().filter(|v| v.mode == Mode::ShaderOut);
        outputs.filter_map(|v| Some((v.name, v.io.location?, v.place?.0)))
    };
    if shader.stage != Stage::Fragment {
        return FxHashSet::default();
    }
    for (_, location, register) in results() {
        first.entry(location).and_modify(|r| *r = register.min(*r)).or_insert(register);
    }
    results().filter(|(_, location, register)| register > &first[location]).map(|r| r.0).collect()
}

/// Where a chain of derefs has led.
#[derive(Clone)]
struct Chain {
    /// The variable, by its number in the shader.
    var: usize,
    ty: TypeId,
    vertex: Option<ArrayIndex>,
    /// Whether the next index is that of a vertex.
    of_vertex: bool,
    /// What is known of the sum of indices, and what is not, each with what it counts for.
    vectors: u32,
    components: u32,
    terms: Vec<(Src, u32)>,
}

struct Lower<'f, 's> {
    f: &'f mut Function<'s>,
    shader: &'f Shader<'s>,
    /// The shader's variables by name.
    numbers: &'f FxHashMap<&'s str, usize>,
    layouts: &'f mut Layouts,
    second: &'f FxHashSet<&'s str>,
    /// By the number of the deref.
    chains: FxHashMap<u32, Chain>,
    /// The next definition's number.
    next: u32,
}

impl<'f, 's> Lower<'f, 's> {
    fn node(&mut self, node: Node<'s>, span: Span) -> Result<(), Box<Diagnostic>> {
        match node {
            Node::Deref(id) if is_attribute(self.f.deref(id)) => {
                let deref = *self.f.deref(id);
                return self.deref(&deref, span);
            }
            Node::Intrinsic(i) => match i.info.kind {
                Kind::Load(Mem::Deref) | Kind::Store(Mem::Deref) | Kind::InterpolateDeref(_) => {
                    if let Some(chain) = self.chain(&self.f.srcs(i.srcs)[0]) {
                        return self.access(&i, chain, span);
                    }
                }
                Kind::CopyDeref if self.f.srcs(i.srcs).iter().any(|src| self.chain(src).is_some()) => {
                    let message = "copies of whole inputs and outputs are not supported; `nir_lower_var_copies` takes them apart";
                    return Err(Diagnostic::unsupported(message).at(span, "").into());
                }
                _ => {}
            },
            _ => {}
        }
        self.f.body.push((node, span));
        Ok(())
    }

    fn access(&mut self, i: &Intrinsic, chain: Chain, span: Span) -> Result<(), Box<Diagnostic>> {
        let second = self.f.srcs(i.srcs).get(1).copied();
        match (i.info.kind, i.dest, second) {
            (Kind::InterpolateDeref(at), Some(dest), second) => {
                self.load(chain, dest, Some((at, second)), span)
            }
            (_, Some(dest), _) => self.load(chain, dest, None, span),
            (_, None, Some(data)) => self.store(chain, data, self.f.indices(i.indices).write_mask, span),
            // The validator knows how many sources there are.
            (_, None, None) => Ok(()),
        }
    }

    // ---- chains

    /// Where a source leads, if it comes from a variable of a stage's interface.
    fn chain(&self, src: &Src) -> Option<Chain> {
        match src.place {
            Place::Ssa(number) => self.chains.get(&number).cloned(),
            Place::Reg(_) => None,
        }
    }

    /// The vectors that a type takes.
    fn vectors(&mut self, ty: TypeId) -> Option<u32> {
        self.layouts.of(self.shader, ty).map(|layout| layout.vectors)
    }

    fn deref(&mut self, d: &Deref<'s>, span: Span) -> Result<(), Box<Diagnostic>> {
        const NO_LAYOUT: &str = "the layout of this structure is not in the text";
        let unknown = |what: &str| Box::new(Diagnostic::unsupported(what).at(span, ""));
        let chain = match &d.kind {
            DerefKind::Var(name) => {
                let shader = self.shader;
                let Some(&var) = self.numbers.get(name) else { return Ok(()) };
                Some(Chain {
                    var,
                    ty: d.ty,
                    vertex: None,
                    of_vertex: is_per_vertex(shader.stage, &shader.vars[var]),
                    vectors: 0,
                    components: 0,
                    terms: Vec::new(),
                })
            }
            DerefKind::Array { parent, index, pointer: false } => {
                let Some(mut chain) = self.chain(parent) else { return Ok(()) };
                chain.ty = d.ty;
                if std::mem::take(&mut chain.of_vertex) {
                    chain.vertex = Some(*index);
                } else {
                    self.step(&mut chain, index)
                        .ok_or_else(|| unknown("the text does not say where this element lies"))?;
                }
                Some(chain)
            }
            DerefKind::Struct { parent, field } => {
                let Some(mut chain) = self.chain(parent) else { return Ok(()) };
                let Type::Struct(number) = self.shader.types.get(chain.ty) else {
                    return Err(unknown(NO_LAYOUT));
                };
                for (ty, name) in &self.shader.structs[number as usize].fields {
                    if name == field {
                        break;
                    }
                    let each = self.vectors(*ty).ok_or_else(|| unknown(NO_LAYOUT))?;
                    chain.vectors = chain.vectors.saturating_add(each);
                }
                chain.ty = d.ty;
                Some(chain)
            }
            DerefKind::Cast { .. } | DerefKind::Array { .. } => {
                return Err(unknown("pointers to inputs and outputs lead to variables and their parts only"));
            }
        };
        if let (Some(chain), Dest::Ssa(def)) = (chain, d.dest) {
            self.chains.insert(def.index, chain);
        }
        Ok(())
    }

    /// Goes on to an element, or a column, of the chain's new type.
    fn step(&mut self, chain: &mut Chain, index: &ArrayIndex) -> Option<()> {
        let each = self.vectors(chain.ty)?;
        let compact = self.shader.vars[chain.var].io.compact;
        match (index, compact) {
            (ArrayIndex::Const(n), false) => {
                let n = u32::try_from(*n).ok()?;
                chain.vectors = chain.vectors.checked_add(n.checked_mul(each)?)?;
            }
            (ArrayIndex::Const(n), true) => {
                chain.components = u32::try_from(*n).ok().filter(|&n| n < 4 * MOST)?
            }
            (ArrayIndex::Src(src), false) => chain.terms.push((*src, each)),
            (ArrayIndex::Src(_), true) | (ArrayIndex::Wildcard, _) => return None,
        }
        Some(())
    }

    // ---- accesses

    fn load(
        &mut self,
        chain: Chain,
        dest: Dest,
        at: Option<(Barycentric, Option<Src>)>,
        span: Span,
    ) -> Result<(), Box<Diagnostic>> {
        let var = &self.shader.vars[chain.var];
        let (stage, io) = (self.shader.stage, var.io);
        let input = var.mode == Mode::ShaderIn;
        let indices = self.indices(&chain, span)?;
        let mut srcs = Vec::new();
        let kind = match (input, chain.vertex) {
            (true, Some(_)) => Io::VertexInput,
            (false, Some(_)) => Io::VertexOutput,
            (false, None) => Io::Output,
            (true, None) if stage == Stage::Fragment && io.interpolation != Interpolation::Flat => {
                Io::Interpolated
            }
            (true, None) => Io::Input,
        };
        if kind == Io::Interpolated {
            let (at, where_) = at.unwrap_or(match () {
                () if io.sample => (Barycentric::Sample, None),
                () if io.centroid => (Barycentric::Centroid, None),
                () => (Barycentric::Pixel, None),
            });
            let coordinates = Indices { interpolation: io.interpolation, ..Indices::default() };
            let (def, place) = self.define(Shape { bits: 32, comps: 2 }, span);
            self.push(Kind::Barycentric(at), Some(Dest::Ssa(def)), where_.as_slice(), coordinates, span);
            srcs.push(place);
        }
        srcs.extend(self.vertex(&chain, span));
        srcs.push(self.offset(&chain, span));
        self.push(Kind::LoadIo(kind), Some(dest), &srcs, indices, span);
        Ok(())
    }

    fn store(
        &mut self,
        chain: Chain,
        data: Src,
        mask: Option<u16>,
        span: Span,
    ) -> Result<(), Box<Diagnostic>> {
        let indices = Indices { write_mask: mask, ..self.indices(&chain, span)? };
        let mut srcs = vec![data];
        srcs.extend(self.vertex(&chain, span));
        srcs.push(self.offset(&chain, span));
        let kind = if chain.vertex.is_some() { Io::VertexOutput } else { Io::Output };
        self.push(Kind::StoreIo(kind), None, &srcs, indices, span);
        Ok(())
    }

    /// What an access says of the variable that it goes to.
    fn indices(&mut self, chain: &Chain, span: Span) -> Result<Indices, Box<Diagnostic>> {
        let shader = self.shader;
        let var = &shader.vars[chain.var];
        let ty = match shader.types.get(var.ty) {
            Type::Array { element, .. } if is_per_vertex(shader.stage, var) => element,
            _ => var.ty,
        };
        let (Some(number), Some((base, _)), Some(slots)) = (var.io.location, var.place, self.vectors(ty))
        else {
            let message = format!("the text does not say where `{}` lies", var.name);
            return Err(Diagnostic::unsupported(message)
                .at(span, "")
                .label(var.span, "declared here")
                .into());
        };
        let slots = if var.io.compact { slots.div_ceil(4) } else { slots };
        let component = u32::from(var.io.component) + chain.components;
        let location =
            Location { number, slots: slots.clamp(1, MOST), dual_source: self.second.contains(var.name) };
        Ok(Indices { base, component, location: Some(location), ..Indices::default() })
    }

    fn vertex(&mut self, chain: &Chain, span: Span) -> Option<Src> {
        Some(match chain.vertex? {
            ArrayIndex::Const(n) => self.constant(n as u32, span),
            ArrayIndex::Src(src) => src,
            ArrayIndex::Wildcard => self.constant(0, span),
        })
    }

    /// The sum of the indices.
    fn offset(&mut self, chain: &Chain, span: Span) -> Src {
        let mut sum = None;
        for &(index, each) in &chain.terms {
            let term = match each {
                1 => index,
                _ => {
                    let each = self.constant(each, span);
                    self.alu("imul", index, each, span)
                }
            };
            sum = Some(match sum {
                Some(before) => self.alu("iadd", before, term, span),
                None => term,
            });
        }
        match (sum, chain.vectors) {
            (Some(sum), 0) => sum,
            (None, known) => self.constant(known, span),
            (Some(sum), known) => {
                let known = self.constant(known, span);
                self.alu("iadd", sum, known, span)
            }
        }
    }

    // ---- new nodes

    fn define(&mut self, shape: Shape, span: Span) -> (Def, Src) {
        let def = Def { index: self.next, shape };
        self.next += 1;
        (def, Src { place: Place::Ssa(def.index), neg: false, abs: false, swizzle: None, span })
    }

    fn constant(&mut self, value: u32, span: Span) -> Src {
        let (def, src) = self.define(WORD, span);
        let values = self.f.push_consts(&[value.into()]);
        self.f.body.push((Node::Const { def, values }, span));
        src
    }

    fn alu(&mut self, name: &str, a: Src, b: Src, span: Span) -> Src {
        let (def, src) = self.define(WORD, span);
        let srcs = self.f.push_srcs(&[a, b]);
        if let Some(info) = alu::lookup(name) {
            let dest = Dest::Ssa(def);
            let alu = Alu { info, dest, exact: false, saturate: false, nsw: false, nuw: false, srcs };
            self.f.body.push((Node::Alu(alu), span));
        }
        src
    }

    fn push(&mut self, kind: Kind, dest: Option<Dest>, srcs: &[Src], indices: Indices, span: Span) {
        let srcs = self.f.push_srcs(srcs);
        let indices = self.f.push_indices(indices);
        if let Some(info) = intrinsics::of_interface(kind) {
            self.f.body.push((Node::Intrinsic(Intrinsic { info, dest, srcs, indices }), span));
        }
    }
}
