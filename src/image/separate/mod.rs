//! Functions that are compiled separately, and linked later.
//!
//! ```text
//! nvir compile --separate a.ir -o a.cubin      a unit of the open world: kernels, functions, what they call
//! nvir compile --separate b.ir -o b.cubin
//! nvir link a.cubin b.cubin -o k.cubin         the closed world: kernels that run
//! ```
//!
//! A [`Unit`] is what one text became: its functions, each with its code, the places in the code
//! that only a linker can fill in ([`Reloc`]), and a row of facts ([`Facts`]) that holds whoever
//! calls it. It lies in a relocatable cubin ([`file`]): the code and its relocations as NVIDIA's
//! tools read them, the facts as text in a section of their own (`separate/facts.rs`). [`link()`]
//! puts units together, computes what needs the whole program, and refuses what does not fit.
//!
//! The calling convention is [`crate::ra::calling_convention`]'s.
//!
//! ```
//! use nvir::image::separate::{Unit, link};
//! use nvir::{Chip, Compiler, Language, Shader, Source};
//! let kernel = "program\nkernel k() {\nb0:\n call u32 %r0 f1{}\n st u32 # g[0x100 align 4] %r0\n exit\n}\nextern seven() -> r\n";
//! let function = "program\nsub seven() -> r {\nb0:\n mov u32 %r0 0x7\n ret {%r0}\n}\n";
//! let compiler = Compiler::new(Chip::Gk110);
//! let unit = |name: &str, text| {
//!     let source = Source { language: Language::Ir, text, entry: None, name };
//!     let file = compiler.unit(&source, &mut Default::default()).unwrap().write();
//!     (name.to_string(), Unit::read(&file).unwrap())
//! };
//! let linked = link(&[unit("k.ir", kernel), unit("seven.ir", function)]).unwrap();
//! let shader = Shader::assembled(linked.chip, linked.kernels[0].kernel.clone());
//! assert_eq!(shader.entry_name, "k");
//!
//! // What does not go together is told.
//! let e = link(&[unit("k.ir", kernel)]).unwrap_err();
//! assert_eq!(e.to_string(), "`seven` is not defined; `k` in k.ir calls it");
//! ```

mod error;
mod facts;
mod file;
mod link;

pub use crate::analysis::functions::{Returns, World};
pub use crate::ir::Effects;
pub use error::{LinkError, UnitError};
pub use facts::SCHEMA;
pub(crate) use facts::is_symbol;
pub(crate) use link::frame_relocs;
pub use link::{Linked, LinkedKernel, link};

use crate::chip::Chip;
use crate::ir::Sv;

/// Functions of a file at most: each has several sections, whose numbers have 16 bits.
pub(crate) const MOST_FUNCTIONS: usize = 8000;

/// What one text became.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unit {
    /// What it runs on.
    pub chip: Chip,
    /// Its functions, the kernel first, if there is one.
    pub functions: Vec<Function>,
}

/// A kernel, or a function that others may call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// The symbol.
    pub name: String,
    /// It is a kernel: what a launch must provide.
    pub kernel: Option<Launch>,
    /// 64-bit words from an address that is a multiple of 64 on, scheduling words among them.
    pub code: Vec<u64>,
    /// What is known of it whoever calls it, without what it calls.
    pub facts: Facts,
    /// The functions that it calls, each once.
    pub calls: Vec<Call>,
    /// What a linker must fill in, by address.
    pub relocs: Vec<Reloc>,
}

/// What a kernel asks of its launch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Launch {
    /// Threads of a block in x, y and z, where declared; 0 in a dimension that is left to the
    /// launch.
    pub block_size: Option<[u32; 3]>,
    /// General registers that a thread of such a block can have, or that were asked for.
    pub limit: u32,
    /// Bytes of kernel input.
    pub input_bytes: u32,
}

/// A row of the table: of a function alone, or with all that it calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Facts {
    /// Words of parameters.
    pub params: u32,
    /// Words of results.
    pub results: u32,
    /// General registers: the highest number used, plus one.
    pub gprs: u32,
    /// Bytes of local memory for spilled values.
    pub frame: u32,
    /// Bytes of private memory that the unit addresses itself, from 0: the same bytes for all
    /// units.
    pub memory: u32,
    /// Bytes of shared memory that it addresses, from 0: the same bytes for all units.
    pub shared: u32,
    /// Barriers used: the highest number, plus one.
    pub barriers: u32,
    /// Entries of the call-return stack at most.
    pub stack: u32,
    /// Special registers read: a bit each, in the order of [`Facts::special_registers`].
    pub sysvals: u64,
    /// Lanes of a warp may part in it.
    pub diverges: bool,
    /// Whether control comes back.
    pub returns: Returns,
    /// What it does besides giving results.
    pub effects: Effects,
}

impl Facts {
    /// Names of the special registers that are read.
    pub fn special_registers(&self) -> impl Iterator<Item = &'static str> {
        let mask = self.sysvals;
        Sv::ALL.iter().filter(move |&&sv| mask >> sv as u32 & 1 != 0).map(|sv| sv.name())
    }
}

/// What a function calls.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// The symbol.
    pub name: String,
    /// Words of arguments.
    pub params: u32,
    /// Words of results.
    pub results: u32,
    /// Entries of the call-return stack where it is called, at most.
    pub stack: u32,
    /// Some call may be made by a part of the lanes that called the caller, while the others wait.
    pub apart: bool,
}

/// A place in the code that depends on where something lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reloc {
    /// The address of an instruction, in bytes from the function's start.
    pub pc: u32,
    /// What its operand becomes.
    pub to: Target,
}

/// What an operand becomes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// The start of what is called: a place in [`Function::calls`].
    Call(u32),
    /// So many bytes from the start of the function's frame in local memory.
    Frame(u32),
}
