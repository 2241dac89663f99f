//! Initial values of variables, laid out as memory has them.

use super::super::ast::{Init, Literal, Shader};
use super::types::{Kind, Layout};

/// Bytes of private memory that a thread can have.
const LIMIT: u32 = 1 << 19;

/// What the variable's memory begins with; an error says why that cannot be used.
pub(super) fn bytes(shader: &Shader<'_>, init: Init, layout: &Layout) -> Result<Vec<u8>, &'static str> {
    if layout.size > LIMIT {
        return Err("it is too large");
    }
    let mut out = vec![0; layout.size as usize];
    let values = match init {
        Init::Zero => return Ok(out),
        Init::Address => return Err("addresses of other variables are not supported"),
        Init::Values(range) => shader.literals(range),
    };
    let mut values = values.iter();
    fill(&mut values, layout, &mut out)?;
    if values.next().is_some() { Err("there are more values than the type has room for") } else { Ok(out) }
}

fn fill(
    values: &mut std::slice::Iter<'_, Literal>,
    layout: &Layout,
    out: &mut [u8],
) -> Result<(), &'static str> {
    match &layout.kind {
        Kind::Value(shape) => {
            let size = usize::from(shape.bits.max(8)) / 8;
            // Booleans are words in memory.
            let size = if shape.bits == 1 { 4 } else { size };
            for component in out.chunks_mut(size).take(shape.comps.into()) {
                let value = values.next().ok_or("there are fewer values than the type has")?;
                let value = bits(*value, shape.bits);
                let len = component.len();
                component.copy_from_slice(&value.to_le_bytes()[..len]);
            }
        }
        Kind::Array { element, stride, len } => {
            for i in 0..*len as usize {
                let start = i * *stride as usize;
                let end = start + element.size as usize;
                fill(values, element, out.get_mut(start..end).ok_or("the type has no such size")?)?;
            }
        }
        Kind::Struct(members) => {
            for (_, offset, member) in members {
                let start = *offset as usize;
                let end = start + member.size as usize;
                fill(values, member, out.get_mut(start..end).ok_or("the type has no such size")?)?;
            }
        }
        Kind::Opaque => return Err("its type has no values"),
    }
    Ok(())
}

/// The bits of a component that has `bits` of them.
fn bits(value: Literal, bits: u8) -> u64 {
    match value {
        Literal::Bits(value) => value,
        Literal::Float(x) => match bits {
            64 => x.to_bits(),
            16 => half::f16::from_f64(x).to_bits().into(),
            _ => (x as f32).to_bits().into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::super::types::Layouts;
    use super::*;
    use crate::front::nir::parse;

    fn words(ty: &str, init: &str) -> Result<Vec<u32>, String> {
        let text = format!(
            "struct pair {{\n   bool b;\n   vec2 v;\n}}\n\
             decl_var shared INTERP_MODE_NONE {ty} x = {init}\nimpl main {{\n}}\n"
        );
        let shader = parse(&text).map_err(|e| e.to_string())?;
        let var = &shader.vars[0];
        let layout = Layouts::default().of(&shader, var.ty).ok_or("no such type")?;
        let bytes = bytes(&shader, var.init.ok_or("no value")?, &layout)?;
        Ok(bytes.chunks(4).map(|c| c.iter().rev().fold(0, |w, &b| w << 8 | u32::from(b))).collect())
    }

    #[test]
    fn every_type_is_filled_in_order() {
        assert_eq!(words("int[2]", "{ { 0x00000001 }, { 0xffffffff } }"), Ok(vec![1, u32::MAX]));
        assert_eq!(words("uvec2", "{ 0x00000001, 0x00000002 }"), Ok(vec![1, 2]));
        assert_eq!(
            words("uint8_t[5]", "{ { 0x01 }, { 0x02 }, { 0x03 }, { 0x04 }, { 0x05 } }"),
            Ok(vec![0x0403_0201, 5])
        );
        assert_eq!(
            words("mat2", "{ 1.000000, 0.500000, -inf, 0.000000 }"),
            Ok(vec![0x3f80_0000, 0x3f00_0000, 0xff80_0000, 0])
        );
        assert_eq!(
            words("pair", "{ { true }, { 1.000000, 2.000000 } }"),
            Ok(vec![1, 0, 0x3f80_0000, 0x4000_0000])
        );
        assert_eq!(words("uint64_t", "{ 0x100000002 }"), Ok(vec![2, 1]));
        assert_eq!(words("int[3]", "null"), Ok(vec![0; 3]));
    }

    #[test]
    fn values_that_do_not_fit_the_type_are_errors() {
        assert!(words("int[2]", "{ { 0x1 } }").is_err());
        assert!(words("int", "{ 0x1, 0x2 }").is_err_and(|e| e.contains("more values")));
        assert!(words("int", "{ frob }").is_err_and(|e| e == "unknown value `frob`"));
        assert!(words("uint64_t", "&other").is_err());
        assert!(words("int[1000000000]", "null").is_err());
    }
}
