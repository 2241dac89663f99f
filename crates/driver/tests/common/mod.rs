//! What the tests of the driver share.
#![allow(dead_code, reason = "each test uses a part")]

use nvir::compiler::{Language, Source};
use nvir::{Chip, Compiler, Shader};
use nvir_driver::{Context, VirtualDevice};
use std::cell::RefCell;

pub(crate) const CHIPS: [Chip; 3] = Chip::ALL;

thread_local! {
    static GPU: RefCell<Option<nvir_vgpu::Gpu>> = const { RefCell::new(None) };
}

/// A context on a new virtual GPU.
pub(crate) fn context(chip: Chip) -> Context {
    let device = VirtualDevice::new(chip);
    GPU.set(Some(device.gpu().clone()));
    Context::new(device).expect("a channel")
}

/// What memory holds, once everything is done; of the context that this thread made last.
pub(crate) fn raw(c: &mut Context, address: u64, bytes: u64) -> Vec<u8> {
    c.finish().expect("done");
    GPU.with_borrow(|gpu| gpu.as_ref().expect("a context").read_bytes(address, bytes)).expect("mapped")
}

/// Compiled TGSI.
pub(crate) fn compile(chip: Chip, text: &str) -> Shader {
    let source = Source { language: Language::Tgsi, text, entry: None, name: "test" };
    Compiler::new(chip).compile(&source).unwrap_or_else(|e| panic!("{e}"))
}

/// Words as bytes.
pub(crate) fn words(words: impl IntoIterator<Item = u32>) -> Vec<u8> {
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}
