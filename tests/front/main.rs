//! TGSI, NIR and SPIR-V: what is read, what is refused, and what programs become.

mod nir_code;
mod nir_forms;
mod nir_graphics;
mod nir_graphics_corpus;
mod nir_images;
mod nir_intrinsics;
mod nir_parse;
mod nir_validate;
mod spirv;
mod spirv_graphics;
mod spirv_length;
mod spirv_modules;
mod tgsi_opcodes;
mod tgsi_text;
