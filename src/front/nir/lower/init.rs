//! Initial values of variables, as the printer writes them after `=`.
//!
//! `{ { 0x00000001, 0x00000002 }, { true } }`: every element and member in braces of its own, columns of a matrix
//! and components without; `null` for zeros. Since the order is that of the memory, the braces say nothing
//! more than the type. Floats have six decimals and are read as they are printed: what the printer has dropped is lost.

use super::types::{Kind, Layout};
use std::str::SplitTerminator;

/// Bytes of private memory that a thread can have.
const LIMIT: u32 = 1 << 19;

/// What the variable's memory begins with; an error says what is wrong with the text.
pub(super) fn bytes(text: &str, layout: &Layout) -> Result<Vec<u8>, String> {
    if layout.size > LIMIT {
        return Err("it is too large".into());
    }
    let mut out = vec![0; layout.size as usize];
    if text.trim() == "null" {
        return Ok(out);
    }
    if text.starts_with('&') {
        return Err("addresses of other variables are not supported".into());
    }
    let mut words = text.split_terminator(['{', '}', ',', ' ', '\t'] as [char; 5]);
    fill(&mut words, layout, &mut out)?;
    match words.find(|w| !w.is_empty()) {
        None => Ok(out),
        Some(word) => Err(format!("`{word}` is more than the type has room for")),
    }
}

type Words<'s> = SplitTerminator<'s, [char; 5]>;

fn fill(words: &mut Words<'_>, layout: &Layout, out: &mut [u8]) -> Result<(), String> {
    match &layout.kind {
        Kind::Value(shape) => {
            let size = usize::from(shape.bits.max(8)) / 8;
            // Booleans are words in memory.
            let size = if shape.bits == 1 { 4 } else { size };
            for component in out.chunks_mut(size).take(shape.comps.into()) {
                let word = words.find(|w| !w.is_empty()).ok_or("there are fewer values than the type has")?;
                let value = scalar(word, shape.bits).ok_or_else(|| format!("`{word}` is no value"))?;
                let len = component.len();
                component.copy_from_slice(&value.to_le_bytes()[..len]);
            }
        }
        Kind::Array { element, stride, len } => {
            for i in 0..*len as usize {
                let start = i * *stride as usize;
                let end = start + element.size as usize;
                fill(words, element, out.get_mut(start..end).ok_or("the type has no such size")?)?;
            }
        }
        Kind::Struct(members) => {
            for (_, offset, member) in members {
                let start = *offset as usize;
                let end = start + member.size as usize;
                fill(words, member, out.get_mut(start..end).ok_or("the type has no such size")?)?;
            }
        }
        Kind::Opaque => return Err("its type has no values".into()),
    }
    Ok(())
}

fn scalar(word: &str, bits: u8) -> Option<u64> {
    if let Some(hex) = word.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).ok();
    }
    match word {
        "true" => return Some(1),
        "false" => return Some(0),
        _ => {}
    }
    let x: f64 = word.parse().ok()?;
    Some(match bits {
        64 => x.to_bits(),
        16 => half::f16::from_f64(x).to_bits().into(),
        _ => (x as f32).to_bits().into(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::ast::{Shader, Struct};
    use super::*;

    fn words(ty: &str, text: &str) -> Result<Vec<u32>, String> {
        let shader = Shader {
            structs: vec![Struct { name: "pair", fields: vec![("bool", "b"), ("vec2", "v")] }],
            ..Shader::default()
        };
        let layout = Layout::parse(ty, &shader).ok_or("no such type")?;
        let bytes = bytes(text, &layout)?;
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
        assert!(words("int", "{ 0x1, 0x2 }").is_err_and(|e| e.contains("0x2")));
        assert!(words("int", "{ frob }").is_err_and(|e| e.contains("frob")));
        assert!(words("uint64_t", "&other").is_err());
        assert!(words("int[1000000000]", "null").is_err());
    }
}
