//! Declarations: one of each name, in memory that exists there.

use super::super::ast::{Function, Shader, Variable};
use super::super::names::{Mode, Stage};
use super::Findings;
use crate::diag::{Diagnostic, Span};
use rustc_hash::FxHashMap;

pub(super) type Variables<'a> = FxHashMap<&'a str, &'a Variable<'a>>;
pub(super) type Functions<'a> = FxHashMap<&'a str, &'a Function<'a>>;

pub(super) fn functions<'a>(shader: &'a Shader<'a>) -> Functions<'a> {
    shader.functions.iter().map(|f| (f.name, f)).collect()
}

pub(super) fn shader(shader: &Shader<'_>, findings: &mut Findings) {
    // Mesa 22.3 writes `shared-size`, later versions `shared_size`.
    let properties: Vec<(String, Span)> =
        shader.properties.iter().map(|(key, span)| (key.replace(['-', ' '], "_"), *span)).collect();
    once("property", properties.iter().map(|(key, span)| (&**key, *span)), findings);
    once("function", shader.functions.iter().map(|f| (f.name, f.span)), findings);
    once("variable", shader.vars.iter().map(|v| (v.name, v.span)), findings);
    for var in &shader.vars {
        variable(var, var.mode != Mode::FunctionTemp && exists(var.mode, shader.stage), shader, findings);
    }
    for fun in &shader.functions {
        once("variable", fun.vars.iter().map(|v| (v.name, v.span)), findings);
        let registers: Vec<(String, Span)> =
            fun.regs.iter().map(|r| (format!("r{}", r.index), r.span)).collect();
        once("register", registers.iter().map(|(name, span)| (&**name, *span)), findings);
        for var in &fun.vars {
            variable(var, var.mode == Mode::FunctionTemp, shader, findings);
        }
    }
}

/// Each name once.
fn once<'a>(what: &str, names: impl Iterator<Item = (&'a str, Span)>, findings: &mut Findings) {
    let mut seen: FxHashMap<&str, Span> = FxHashMap::default();
    for (name, span) in names {
        if let Some(&first) = seen.get(name) {
            findings.push(|| {
                Diagnostic::error(format!("{what} `{name}` is declared twice"))
                    .at(span, "")
                    .label(first, "first declared here")
            });
        } else {
            seen.insert(name, span);
        }
    }
}

/// Whether a stage has variables of that mode.
fn exists(mode: Mode, stage: Stage) -> bool {
    use Stage::{AnyHit, Callable, ClosestHit, Intersection, Mesh, Miss, Raygen, Task};
    match mode {
        Mode::ShaderCallData => {
            matches!(stage, Raygen | AnyHit | ClosestHit | Miss | Intersection | Callable)
        }
        Mode::RayHitAttrib => matches!(stage, AnyHit | ClosestHit | Intersection),
        Mode::TaskPayload => matches!(stage, Task | Mesh),
        Mode::Generic => false,
        _ => true,
    }
}

fn variable(var: &Variable<'_>, allowed: bool, shader: &Shader<'_>, findings: &mut Findings) {
    let (name, mode) = (var.name, var.mode);
    if !allowed {
        findings.push(|| {
            Diagnostic::error(format!("variable `{name}` cannot be in `{mode}` here")).at(var.span, "")
        });
    }
    let (_, elements) = shader.types.flattened(var.ty);
    let ty = shader.types.name(var.ty);
    if mode == Mode::Image && elements > 0 && !shader.types.is_image(var.ty) {
        findings.push(|| {
            Diagnostic::error(format!("variable `{name}` is in `image`, but `{ty}` is not an image"))
                .at(var.span, "")
        });
    }
}
