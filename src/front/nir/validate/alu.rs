//! ALU instructions: sizes and components by the table of opcodes.

use super::super::alu::{Base, Op, Ty};
use super::super::ast::{Alu, Shape, Src};
use super::{Checker, bits, number};
use crate::diag::{Diagnostic, Span};

impl Checker<'_, '_> {
    pub(super) fn alu(&mut self, alu: &Alu) {
        let (info, fun) = (alu.info, self.fun);
        let dest = self.dest(&alu.dest);
        if let Some(dest) = dest
            && info.dest.comps != 0
            && dest.comps != info.dest.comps
        {
            self.components("the result", self.span, alu, info.dest.comps, dest.comps);
        }
        if alu.saturate && info.dest.base != Base::Float {
            let span = self.span;
            self.error(span, || format!("`{}` has no `.sat`, its result is not a float", info.name));
        }
        // Operands whose row names no size have one size, and so does the result.
        let mut common: Option<(u8, Span)> = None;
        for (src, ty) in fun.srcs(alu.srcs).iter().zip(&info.srcs) {
            let Some(found) = self.source(src) else { continue };
            let read = if ty.comps == 0 { dest.map(|d| d.comps) } else { Some(ty.comps) };
            self.swizzle(alu, src, found, read);
            self.size(alu, *ty, found.bits, src.span, &mut common);
            if info.op == Op::Mov && (src.neg || src.abs) {
                self.error(src.span, || "`mov` has no type, so its operand has no `-` and no `abs`".into());
            }
        }
        if let Some(dest) = dest {
            self.size(alu, info.dest, dest.bits, self.span, &mut common);
        }
    }

    /// An operand has the components that are read, and names as many as are.
    fn swizzle(&mut self, alu: &Alu, src: &Src, found: Shape, read: Option<u8>) {
        let named = src.swizzle.map_or(found.comps, |s| s.len() as u8);
        if let Some(read) = read
            && named != read
        {
            self.components("this operand", src.span, alu, read, named);
        }
        let Some(letters) = src.swizzle else { return };
        let outside = (0..letters.len()).filter_map(|i| letters.get(i)).find(|&c| c >= found.comps.into());
        if let Some(component) = outside {
            self.error(src.span, || {
                let letter = if found.comps <= 4 && component < 4 {
                    b"xyzw"[component] as char
                } else {
                    (b'a' + component as u8) as char
                };
                let count = number(found.comps.into(), "component");
                format!("component `{letter}` of a value that has {count}")
            });
        }
    }

    #[cold]
    fn components(&mut self, what: &str, span: Span, alu: &Alu, wanted: u8, found: u8) {
        self.error(span, || {
            let count = number(wanted.into(), "component");
            format!("{what} of `{}` must have {count}, not {found}", alu.info.name)
        });
    }

    fn size(&mut self, alu: &Alu, ty: Ty, found: u8, span: Span, common: &mut Option<(u8, Span)>) {
        let name = &alu.info.name;
        let what = if span == self.span { "the result" } else { "this operand" };
        match *common {
            _ if ty.bits != 0 => {
                if found != ty.bits {
                    self.error(span, || {
                        format!("{what} of `{name}` must have {}, not {found}", bits(ty.bits))
                    });
                }
            }
            Some((wanted, first)) if found != wanted => self.findings.push(|| {
                Diagnostic::error(format!("{what} of `{name}` must have {}, not {found}", bits(wanted)))
                    .at(span, "")
                    .label(first, format!("has {}", bits(wanted)))
            }),
            Some(_) => {}
            None => *common = Some((found, span)),
        }
        if ty.base == Base::Float && !matches!(found, 16 | 32 | 64) && ty.bits == 0 {
            self.error(span, || format!("a float of {} (`{name}`)", bits(found)));
        }
    }
}
