//! The indices of intrinsics.

use super::super::alu;
use super::super::cursor::Result;
use super::super::indices::Indices;
use super::super::locations::{self, Location};
use super::super::names::{Access, ValueType};
use super::Parser;
use super::operand::component;
use crate::diag::{Diagnostic, closest};
use crate::format::Format;
use arrayvec::ArrayVec;

/// More indices than an intrinsic has.
const MOST: usize = 32;

/// The names that [`Parser::index`] reads.
#[rustfmt::skip]
const READ: [&str; 38] = [
    "base", "align_mul", "range", "align_offset", "component", "wrmask", "write_mask", "access", "src_access", "dst_access",
    "atomic_op", "reduction_op", "cluster_size", "io location", "interp_mode", "stream_id", "image_dim", "image_array", "format",
    "src_type", "dest_type", "rounding_mode", "saturate", "exec_scope", "execution_scope", "mem_scope", "memory_scope",
    "mem_semantics", "memory_semantics", "mem_modes", "memory_modes", "param_idx", "num_array_elems", "num_components", "bit_size", "legacy_fabs",
    "legacy_fneg", "legacy_fsat",
];

/// The others of Mesa's `nir_intrinsics.py` (22.3 to 25.0), and likely ones of later versions: they say nothing here.
#[rustfmt::skip]
const OTHERS: [&str; 42] = [
    "range_base", "desc_set", "desc_type", "binding", "column", "call_idx", "stack_size", "swizzle_mask", "fetch_inactive", "offset0",
    "offset1", "st64", "arg_upper_bound_u32_amd", "driver_location", "io_semantics", "io_xfb", "io_xfb2", "ray_query_value",
    "committed", "synchronous", "value_id", "sign_extend", "flags", "resource_block_intel", "resource_access_intel", "divergent",
    "preamble_class", "cmat_desc", "matrix_layout", "cmat_signed_mask", "alu_op", "systolic_depth", "repeat_count", "explicit_coord",
    "ucp_id", "matrix_desc", "memory_order", "sync_scope", "base_type", "image_format", "location", "mask",
];

impl<'s> Parser<'s> {
    /// `base=0, access=none, io location=4 slots=1)`. Where nobody reads them they may say anything.
    pub(super) fn indices(&mut self, read: bool) -> Result<Indices> {
        let mut list = Indices::default();
        let mut seen: ArrayVec<&str, MOST> = ArrayVec::new();
        loop {
            self.cur.space();
            let name = self.cur.until_any(|b| matches!(b, b'=' | b',' | b'(' | b')'));
            if name.is_empty() {
                return Err(self.cur.expected("an index such as `base=0`"));
            }
            let named = self.cur.peek() == b'=';
            // What transform feedback takes has parentheses (`xfb()`).
            if read && !named && self.cur.peek() != b'(' {
                return Err(self.cur.expected("`=` and the index's value"));
            }
            self.cur.pos += usize::from(named);
            let value = self.index_value();
            if named && read {
                self.index(&mut list, name, value)?;
                if seen.contains(&name) || seen.try_push(name).is_err() {
                    let d = Diagnostic::error(format!("index `{name}` is given twice"));
                    return Err(Box::new(d.at(self.span_of(name), "")));
                }
            }
            if !self.cur.eat(b',') {
                break;
            }
        }
        self.cur.expect(b')')?;
        Ok(list)
    }

    /// Up to the `,` or `)` that ends it, parentheses inside balanced, without the comment that gives its number.
    fn index_value(&mut self) -> &'s str {
        let rest = self.cur.rest();
        let mut depth = 0u32;
        let mut end = rest.len();
        for (i, &b) in rest.iter().enumerate() {
            match b {
                b'(' => depth += 1,
                b')' if depth > 0 => depth -= 1,
                b',' if depth > 0 => {}
                b',' | b')' | b'\n' => {
                    end = i;
                    break;
                }
                b'/' if rest.get(i + 1) == Some(&b'*') => {
                    end = i;
                    break;
                }
                _ => {}
            }
        }
        let start = self.cur.pos;
        self.cur.pos += end;
        self.cur.text[start..start + end].trim_ascii()
    }

    /// Those that say nothing about the code are passed over, but not slips of the pen: a mask or alignment that is not read
    /// would be another one.
    fn index(&mut self, list: &mut Indices, name: &str, value: &'s str) -> Result<()> {
        match name {
            "base" => list.base = self.index_number(value)?,
            "align_mul" => list.align_mul = Some(self.index_number(value)?),
            "range" => list.range = Some(self.index_number(value)?),
            "align_offset" => list.align_offset = self.index_number(value)?,
            "component" => list.component = self.index_number(value)?,
            "wrmask" | "write_mask" => list.write_mask = Some(self.write_mask(value)?),
            "access" => list.access = self.access(value)?,
            "src_access" => list.src_access = self.access(value)?,
            "dst_access" => list.dst_access = self.access(value)?,
            "atomic_op" => list.atomic_op = Some(self.named(value)?),
            "reduction_op" => {
                list.reduction_op = match alu::lookup(value) {
                    Some(info) => Some(info),
                    None => return Err(self.unknown("reduction operation", value, || alu::nearest(value))),
                };
            }
            "cluster_size" => list.cluster_size = self.index_number(value)?,
            "io location" => list.location = Some(self.io_location(value)?),
            "interp_mode" => list.interpolation = self.named(value)?,
            "stream_id" => list.stream = self.index_number(value)?,
            "image_dim" => list.image_dim = Some(self.named(value)?),
            "image_array" => list.image_array = self.index_flag(value)?,
            "format" => list.format = self.image_format(value)?,
            "src_type" => list.src_type = self.value_type(value)?,
            "dest_type" => list.dest_type = self.value_type(value)?,
            "rounding_mode" => list.rounding = self.named(value)?,
            "saturate" => list.saturate = self.index_flag(value)?,
            "exec_scope" | "execution_scope" => list.execution_scope = self.named(value)?,
            "mem_scope" | "memory_scope" => list.memory_scope = self.named(value)?,
            "mem_semantics" | "memory_semantics" => list.semantics = self.set(value)?,
            "mem_modes" | "memory_modes" => {
                list.modes = if matches!(value, "" | "0") { Default::default() } else { self.set(value)? };
            }
            "param_idx" => list.param = self.index_number(value)?,
            "num_array_elems" => list.num_array_elems = self.index_number(value)?,
            "num_components" => list.num_components = self.index_number(value)?,
            "bit_size" => list.bit_size = self.index_number(value)?,
            "legacy_fabs" => list.abs = self.index_flag(value)?,
            "legacy_fneg" => list.neg = self.index_flag(value)?,
            "legacy_fsat" => list.sat = self.index_flag(value)?,
            _ if OTHERS.contains(&name) => {}
            _ => {
                if let Some(near) = closest(name, &READ) {
                    return Err(self.unknown("index", name, || Some(near)));
                }
            }
        }
        Ok(())
    }

    /// 32 bits, which the printers take for a signed number.
    fn index_number(&mut self, value: &'s str) -> Result<u32> {
        let n = value.parse::<i64>().ok().filter(|n| (i32::MIN.into()..=u32::MAX.into()).contains(n));
        n.map(|n| n as u32).ok_or_else(|| self.unknown("number", value, || None))
    }

    fn index_flag(&mut self, value: &'s str) -> Result<bool> {
        match value {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Ok(self.index_number(value)? != 0),
        }
    }

    /// `x` to `w` in vectors of up to four components, `a` to `p` in longer ones.
    fn write_mask(&mut self, value: &'s str) -> Result<u16> {
        let bit = |mask, letter| Some(mask | 1 << component(letter)?);
        value.bytes().try_fold(0, bit).ok_or_else(|| self.unknown("write mask", value, || None))
    }

    /// `coherent|volatile`, `none`, or the number that the older printer writes.
    fn access(&mut self, value: &'s str) -> Result<Access> {
        match value.parse() {
            Ok(bits) => Ok(Access::from_number(bits)),
            Err(_) => self.set(value),
        }
    }

    fn image_format(&mut self, value: &'s str) -> Result<Option<Format>> {
        if value == "none" {
            return Ok(None);
        }
        let format = Format::from_gallium(value).map_err(|e| e.at(self.span_of(value)))?;
        Ok(Some(format))
    }

    /// `32 slots=1 dualsrc`, what follows `io location=`.
    fn io_location(&mut self, value: &'s str) -> Result<Location> {
        let mut words = value.split_whitespace();
        let name = words.next().unwrap_or("");
        let number = locations::number(name).ok_or_else(|| self.unknown("location", name, || None))?;
        let mut location = Location { number, slots: 1, dual_source: false };
        for word in words {
            match word.strip_prefix("slots=") {
                Some(n) => location.slots = self.index_number(n)?,
                None => location.dual_source |= word == "dualsrc",
            }
        }
        Ok(location)
    }

    /// `float32`; `invalid` is what the printers call none.
    fn value_type(&mut self, value: &'s str) -> Result<Option<ValueType>> {
        match ValueType::of(value) {
            None if value != "invalid" => Err(self.unknown("type", value, || None)),
            ty => Ok(ty),
        }
    }
}
