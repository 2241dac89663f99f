//! Declarations: the shader's properties, functions, registers.

use super::super::ast::*;
use super::super::cursor::Result;
use super::super::names::{Named, Primitive};
use super::Parser;
use crate::diag::Span;
use crate::options::{Domain, GeometryInfo, Spacing};

/// Local memory of a thread. Source: CUDA programming guide, compute capabilities 2.x and 3.x.
const MAX_SCRATCH: u32 = 512 << 10;

fn flag(value: &str) -> bool {
    value != "0" && value != "false"
}

impl<'s> Parser<'s> {
    /// `key: value`. Properties that say nothing about the code's meaning are passed over.
    pub(super) fn header_line(&mut self, shader: &mut Shader<'s>) -> Result<()> {
        let line = self.cur.rest_of_line();
        let Some((key, value)) = line.split_once(':') else {
            return Err(self
                .cur
                .expected("a property (`key: value`), `decl_var`, `decl_function` or `impl`"));
        };
        let value_at = self.cur.pos + key.len() + 1;
        let line_span = Span::new(self.cur.pos, self.cur.pos + line.trim_end().len());
        let value = value.trim();
        match key.trim() {
            "shader" => {
                shader.stage = self.named(value)?;
                shader.stage_span = line_span;
            }
            "name" => shader.name = value,
            "workgroup-size" | "workgroup_size" => {
                self.cur.pos = value_at;
                let mut size = [0; 3];
                for (i, axis) in size.iter_mut().enumerate() {
                    if i > 0 {
                        self.cur.expect(b',')?;
                    }
                    *axis = self.cur.number32()?;
                }
                shader.workgroup_size_span = line_span;
                shader.workgroup_size = (!value.ends_with("(variable)") && size != [0; 3]).then_some(size);
            }
            "shared-size" | "shared_size" | "shared" => {
                shader.shared_size_span = line_span;
                shader.shared_size = self.property(value_at)?;
            }
            "scratch" | "scratch_size" => {
                shader.scratch_size = self.property(value_at)?;
                if shader.scratch_size > MAX_SCRATCH {
                    self.cur.pos = value_at + 1;
                    return Err(self.cur.expected("at most 524288 bytes, the private memory of a thread"));
                }
            }
            "first_ubo_is_default_ubo" => shader.default_block = flag(value),
            "constants" | "constant_data_size" => shader.constants = self.property(value_at)?,
            key => {
                if !self.stage_property(&mut shader.said, key, value, value_at)? {
                    self.cur.skip_line();
                    return Ok(());
                }
            }
        }
        shader.properties.push((key.trim(), line_span));
        self.cur.skip_line();
        Ok(())
    }

    /// Properties of graphics stages; geometry's have blanks in their names before 23.1, the others are not printed there.
    /// Whether the property is one of them.
    fn stage_property(&mut self, said: &mut Said, key: &str, value: &'s str, at: usize) -> Result<bool> {
        let number = |this: &mut Self| this.property(at).map(|n| n.min(u16::MAX.into()) as u16);
        let small = |this: &mut Self| this.property(at).map(|n| n.min(u8::MAX.into()) as u8);
        let geometry = said.geometry;
        let geometry = || geometry.unwrap_or_default();
        match key {
            "vertices in" | "vertices_in" => {
                said.geometry = Some(GeometryInfo { vertices_in: small(self)?, ..geometry() });
            }
            "vertices out" | "vertices_out" => {
                said.geometry = Some(GeometryInfo { vertices_out: number(self)?, ..geometry() });
            }
            "invocations" => said.geometry = Some(GeometryInfo { invocations: small(self)?, ..geometry() }),
            "active_stream_mask" => {
                said.geometry = Some(GeometryInfo { streams: small(self)?, ..geometry() });
            }
            // Those with adjacency print as unknown.
            "input primitive" | "input_primitive" => {
                let input = Primitive::of(value).map_or(0, |p| p.number());
                said.geometry = Some(GeometryInfo { input, ..geometry() });
            }
            "output primitive" | "output_primitive" => {
                let output = self.named::<Primitive>(value)?.number();
                said.geometry = Some(GeometryInfo { output, ..geometry() });
            }
            "primitive_mode" => {
                said.tess.domain = match number(self)? {
                    1 => Some(Domain::Triangles),
                    2 => Some(Domain::Quads),
                    3 => Some(Domain::Isolines),
                    _ => None,
                }
            }
            "spacing" => {
                said.tess.spacing = match number(self)? {
                    1 => Some(Spacing::Equal),
                    2 => Some(Spacing::FractionalOdd),
                    3 => Some(Spacing::FractionalEven),
                    _ => None,
                }
            }
            "tcs_vertices_out" => said.tess.vertices_out = small(self)?,
            "ccw" => said.tess.ccw = flag(value),
            "point_mode" => said.tess.point_mode = flag(value),
            "early_fragment_tests" => said.early_fragment_tests = flag(value),
            "post_depth_coverage" => said.post_depth_coverage = flag(value),
            "clip_distance_array_size" => said.distances.get_or_insert_default().clip = small(self)?,
            "cull_distance_array_size" => said.distances.get_or_insert_default().cull = small(self)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn property(&mut self, at: usize) -> Result<u32> {
        self.cur.pos = at;
        self.cur.number32()
    }

    /// After `decl_function`: `NAME (N params)`, or `NAME (32 x, 64x3) (entrypoint)`.
    pub(super) fn function_decl(&mut self, start: usize) -> Result<Function<'s>> {
        self.cur.space();
        let name = self.cur.until(b" \t\r(");
        if name.is_empty() {
            return Err(self.cur.expected("a function's name"));
        }
        let mut f = Function::new(name, Span::new(start, self.cur.pos));
        self.cur.expect(b'(')?;
        let list = self.cur.until(b")");
        if let Some(count) = list.strip_suffix(" params") {
            f.params = count.trim().parse().map_err(|_| self.cur.expected("the number of parameters"))?;
        } else {
            for param in list.split(',').filter(|p| !p.trim().is_empty()) {
                let shape = param.split_whitespace().next().and_then(shape);
                f.param_shapes.push(shape.ok_or_else(|| self.cur.expected("parameters such as `32x4`"))?);
            }
            f.params = f.param_shapes.len() as u32;
        }
        self.cur.expect(b')')?;
        f.entrypoint = self.cur.rest_of_line().contains("(entrypoint)");
        self.cur.skip_line();
        Ok(f)
    }

    /// After `decl_reg`: `vec4 32 r0[8]`, `32x4 r0[8]`.
    pub(super) fn register(&mut self, start: usize) -> Result<RegDecl> {
        let shape = self.shape()?;
        self.cur.eat_word("div");
        self.cur.eat_word("con");
        let index = self.prefixed("r", "a register such as `r0`")?;
        let mut elems = 0;
        if self.cur.eat(b'[') {
            elems = self.cur.number32()?;
            self.cur.expect(b']')?;
        }
        Ok(RegDecl { index, shape, elems, span: Span::new(start, self.cur.pos) })
    }
}

/// `32`, `32x4`.
pub(super) fn shape(text: &str) -> Option<Shape> {
    let (bits, comps) = text.split_once('x').unwrap_or((text, "1"));
    let shape = Shape { bits: bits.parse().ok()?, comps: comps.parse().ok()? };
    valid(shape).then_some(shape)
}

/// The shapes that NIR knows.
pub(super) fn valid(shape: Shape) -> bool {
    matches!(shape.bits, 1 | 8 | 16 | 32 | 64) && matches!(shape.comps, 1..=5 | 8 | 16)
}
