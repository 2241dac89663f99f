//! Programs of graphics stages, and the form in which the hardware has them: a header of 20 words in front of the code.

use crate::code::Piece;
use crate::context::Context;
use crate::error::{Error, Result, invalid};
use nvir::image::fixup::State;
use nvir::image::stage::Graphics;
use nvir::stage::Stage;
use nvir::{Chip, Shader};
use std::sync::Arc;

/// A compiled program of a graphics stage. Clones are the same program.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) shader: Arc<Shader>,
    id: u64,
}

/// Bytes of the header.
const HEADER_BYTES: u64 = 80;

impl Program {
    /// What the compiler said of it.
    pub fn shader(&self) -> &Shader {
        &self.shader
    }

    /// Its stage.
    pub fn stage(&self) -> Stage {
        self.graphics().map_or(Stage::Compute, |g| g.stage)
    }

    pub(crate) fn graphics(&self) -> Option<&Graphics> {
        self.shader.stage.as_deref()
    }
}

impl Context {
    /// A program of compiled code. It is uploaded when something is drawn with it for the first time.
    ///
    /// # Errors
    /// The code is for another chip, of a kernel, or larger than a code segment.
    pub fn program(&mut self, shader: &Shader) -> Result<Program> {
        let id = self.new_code(shader)?;
        if shader.stage.is_none() {
            return invalid(format!("`{}` is a kernel: launch it", shader.entry_name));
        }
        Ok(Program { shader: Arc::new(shader.clone()), id })
    }

    /// The offset of the program's header in the code segment, for a state of the rasteriser.
    pub(crate) fn place_program(&mut self, program: &Program, state: State) -> Result<u32> {
        let Some(graphics) = program.graphics() else {
            return invalid("kernels have no stage of a draw".to_string());
        };
        let variant =
            u8::from(state.flat_shade) | u8::from(state.per_sample) << 1 | u8::from(state.multisampled) << 2;
        // Only fragment programs have state in them.
        let variant = if graphics.stage == Stage::Fragment { variant } else { 0 };
        let key = (program.id, variant);
        if let Some(at) = self.placed(key) {
            return Ok(at);
        }
        let state = if variant == 0 { State::default() } else { state };
        let (header, code) = graphics
            .in_state(self.chip, state, &program.shader.code)
            .map_err(|e| Error::Invalid(e.to_string()))?;
        let words = header.encode().into_iter().flat_map(u32::to_le_bytes);
        let bytes = words.chain(code.iter().flat_map(|w| w.to_le_bytes())).collect();
        // Kepler's code begins at a line of 128 bytes, behind the header.
        let skip = if self.chip == Chip::Gf100 { 0 } else { 128 - HEADER_BYTES };
        self.place_piece(key, Piece { bytes, skip })
    }
}
