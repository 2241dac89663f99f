//! Cranelift as far as it is not building functions: the host's instruction set, and memory for code.
//!
//! Memory is writable while a function is put into it and executable afterwards, never both. It goes with its owner.

use super::frame::Entry;
use cranelift_codegen::Context;
use cranelift_codegen::ir::{AbiParam, Function, Signature, types};
use cranelift_codegen::isa::{OwnedTargetIsa, TargetFrontendConfig};
use cranelift_codegen::settings::{self, Configurable, Flags};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{Linkage, Module, default_libcall_names};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// What memory for code is handed out in, on most hosts.
const PAGE: usize = 4096;

/// How much code there may be: what is compiled when there is as much is refused.
#[derive(Debug)]
pub(crate) struct Budget {
    most: usize,
    used: AtomicUsize,
}

impl Budget {
    /// That of a process, in bytes. The last function may exceed it.
    pub(crate) const PROCESS: &'static Budget = {
        static ALL: Budget = Budget::new(48 << 20);
        &ALL
    };

    const fn new(most: usize) -> Budget {
        Budget { most, used: AtomicUsize::new(0) }
    }
}

/// Why code is not compiled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Refused {
    /// The host is of a kind that is not supported, or lacks instructions.
    Host(String),
    /// There is as much code as there may be: so many bytes.
    Full(usize),
    /// Memory for code was not to be had, or the generator failed.
    Failed(String),
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refused::Host(why) | Refused::Failed(why) => f.write_str(why),
            Refused::Full(bytes) => write!(f, "there are {} MiB of compiled code", bytes >> 20),
        }
    }
}

/// A module for one function.
pub(crate) struct Host {
    module: JITModule,
    context: Context,
    budget: &'static Budget,
}

impl Host {
    /// Of the host; it must have fused multiply-add: else most float operations would be calls.
    pub(crate) fn new(budget: &'static Budget) -> Result<Host, Refused> {
        let isa = instruction_set()?;
        let module = JITModule::new(JITBuilder::with_isa(isa, default_libcall_names()));
        let mut context = module.make_context();
        context.func.signature = signature(&module);
        Ok(Host { module, context, budget })
    }

    /// The function that is built.
    pub(crate) fn function(&mut self) -> &mut Function {
        &mut self.context.func
    }

    /// What a function calls.
    pub(crate) fn callback(&self) -> Signature {
        signature(&self.module)
    }

    /// What finishing a function needs.
    pub(crate) fn config(&self) -> TargetFrontendConfig {
        self.module.target_config()
    }

    /// The function's code.
    pub(crate) fn finish(mut self) -> Result<Blob, Refused> {
        match self.define() {
            Ok((entry, bytes)) => {
                self.budget.used.fetch_add(bytes, Relaxed);
                Ok(Blob { module: ManuallyDrop::new(self.module), entry, bytes, budget: self.budget })
            }
            Err(why) => {
                // SAFETY: nobody has an address of it.
                unsafe { self.module.free_memory() };
                Err(why)
            }
        }
    }

    /// Where the function is, and how much memory it takes.
    fn define(&mut self) -> Result<(Entry, usize), Refused> {
        let failed = |e: &dyn std::fmt::Display| Refused::Failed(e.to_string());
        if self.budget.used.load(Relaxed) >= self.budget.most {
            return Err(Refused::Full(self.budget.most));
        }
        let signature = &self.context.func.signature;
        let id = self.module.declare_function("warp", Linkage::Local, signature).map_err(|e| failed(&e))?;
        self.module.define_function(id, &mut self.context).map_err(|e| match e {
            cranelift_module::ModuleError::Compilation(why) => Refused::Failed(format!("{why:?}")),
            other => failed(&other),
        })?;
        let bytes = self.context.compiled_code().map_or(0, |c| c.code_buffer().len());
        self.module.finalize_definitions().map_err(|e| failed(&e))?;
        let address = self.module.get_finalized_function(id);
        // SAFETY: this is the address of a function of this signature, `signature`, which `Entry` describes.
        let entry = unsafe { std::mem::transmute::<*const u8, Entry>(address) };
        Ok((entry, bytes.next_multiple_of(PAGE)))
    }
}

/// A function in memory.
pub(crate) struct Blob {
    module: ManuallyDrop<JITModule>,
    pub(crate) entry: Entry,
    bytes: usize,
    budget: &'static Budget,
}

// SAFETY: the module is not used but to free its memory, by whoever drops the only owner; the code in it does not change.
unsafe impl Sync for Blob {}

impl Drop for Blob {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Relaxed);
        // SAFETY: it is taken once, here. Nobody executes the function: whoever does has a reference to this.
        unsafe { ManuallyDrop::take(&mut self.module).free_memory() };
    }
}

fn signature(module: &JITModule) -> Signature {
    let mut signature = module.make_signature();
    let pointer = module.target_config().pointer_type();
    signature.params.extend([AbiParam::new(pointer), AbiParam::new(types::I32)]);
    signature.returns.push(AbiParam::new(types::I32));
    signature
}

/// The host's instructions, as far as this knows them.
pub(crate) fn instruction_set() -> Result<OwnedTargetIsa, Refused> {
    let refuse = |why: &str| Err(Refused::Host(why.to_string()));
    if cfg!(target_endian = "big") || !cfg!(target_pointer_width = "64") {
        return refuse("the host is not a little-endian machine of 64 bits");
    }
    #[cfg(target_arch = "x86_64")]
    if !(std::is_x86_feature_detected!("avx") && std::is_x86_feature_detected!("fma")) {
        return refuse("the host has no fused multiply-add");
    }
    let mut flags = settings::builder();
    for (name, value) in [
        ("use_colocated_libcalls", "false"),
        ("is_pic", "false"),
        // The optimiser takes a third of the time and finds little that is not done already.
        ("opt_level", "none"),
        ("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }),
        ("unwind_info", "false"),
    ] {
        flags.set(name, value).map_err(|e| Refused::Host(e.to_string()))?;
    }
    let builder = cranelift_native::builder().map_err(|e| Refused::Host(e.to_string()))?;
    builder.finish(Flags::new(flags)).map_err(|e| Refused::Host(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cranelift_codegen::ir::InstBuilder;
    use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

    /// A function that returns its second argument.
    fn second(budget: &'static Budget) -> Result<Blob, Refused> {
        let mut host = Host::new(budget)?;
        let config = host.config();
        let mut context = FunctionBuilderContext::new();
        let mut b = FunctionBuilder::new(host.function(), &mut context);
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        let second = b.block_params(entry)[1];
        b.ins().return_(&[second]);
        b.seal_all_blocks();
        b.finalize(config);
        host.finish()
    }

    #[test]
    fn code_is_refused_while_there_is_too_much_of_it() {
        static TWO: Budget = Budget::new(2 * PAGE);
        if let Err(Refused::Host(why)) = second(&TWO) {
            eprintln!("not tested: {why}");
            return;
        }
        let (first, other) = (second(&TWO).expect("there is none"), second(&TWO).expect("there is one page"));
        assert_eq!(second(&TWO).err(), Some(Refused::Full(2 * PAGE)));
        drop(first);
        let again = second(&TWO).expect("there is one page again");
        assert_eq!(second(&TWO).err(), Some(Refused::Full(2 * PAGE)));
        for blob in [&again, &other] {
            // SAFETY: the function takes a pointer that it does not use.
            assert_eq!(unsafe { (blob.entry)(std::ptr::null_mut(), 7) }, 7);
        }
    }
}
