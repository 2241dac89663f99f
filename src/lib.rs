//! nvir: a shader code generator for NVIDIA's Fermi and Kepler, and an emulator that runs what it
//! makes.
//!
//! [`Compiler`] turns TGSI and NIR text into a [`Shader`]; [`image::listing`] and [`image::cubin`]
//! write it down and read it back; [`emu`] executes it; [`isa`] knows single instructions;
//! [`driver::Abi`] says what a driver puts where.
//!
//! NIR to code, to SASS text, to a cubin, and what it computes:
//!
//! ```
//! use nvir::{Chip, Compiler, Source, emu, image::{cubin, listing}};
//! let text = "shader: MESA_SHADER_KERNEL
//! workgroup_size: 32, 1, 1
//! decl_function main () (entrypoint)
//!
//! impl main {
//!     block b0:  // preds:
//!     32x3 %0 = @load_local_invocation_id
//!     32   %1 = load_const (0x00000000)
//!     64   %2 = @load_kernel_input (%1 (0x0)) (base=0, range=8, align_mul=8, align_offset=0)
//!     32   %3 = load_const (0x00000002)
//!     32   %4 = ishl %0.x, %3 (0x2)
//!     64   %5 = u2u64 %4
//!     64   %6 = iadd %2, %5
//!     32   %7 = imul %0.x, %0.x
//!          @store_global (%7, %6) (wrmask=x, access=none, align_mul=4, align_offset=0)
//!     // succs: b1
//!     block b1:
//! }
//! ";
//! let chip = Chip::Gk110;
//! let shader = Compiler::new(chip).compile(&Source::nir(text)).unwrap();
//!
//! // As text, and back.
//! let sass = listing::print(chip, &[shader.kernel()], listing::Options::default());
//! assert!(sass.contains("S2R R") && sass.contains("EXIT;"), "{sass}");
//! assert_eq!(listing::assemble(&sass, chip, "main").unwrap().kernels[0].code, shader.code);
//!
//! // As NVIDIA's container.
//! let file = cubin::write(chip, &[shader.kernel()]);
//! assert_eq!(cubin::Cubin::read(&file).unwrap().kernels[0].code, shader.code);
//!
//! // On the emulator: a buffer, its address in the kernel input, one block of 32 threads.
//! let mut memory = emu::Memory::new();
//! let squares = memory.alloc(32 * 4, 16).unwrap();
//! let program = emu::Program::new(chip, &shader.code);
//! let mut launch = emu::Launch::new(&program);
//! launch.block = shader.launch_block(shader.block_size.unwrap()).unwrap();
//! (launch.gprs, launch.local_bytes) = (shader.launch_gprs(), shader.local_bytes);
//! launch.set_const(0, 0, &squares.to_le_bytes());
//! emu::run(&launch, &mut memory, &mut emu::Options::default()).unwrap();
//! assert_eq!(memory.read(squares + 4 * 9, 4).unwrap(), 81u32.to_le_bytes());
//! ```

// The library returns what it has to say.
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod compiler;
pub mod driver;
pub mod image;
pub mod remark;

// What the compiler is made of: for nvir's own tests and program. It changes without notice.
mod analysis;
mod emit;
pub mod front;
// Fields and variants are named as the listing has them, which `nvir ir` explains.
#[allow(missing_docs)]
pub mod ir;
pub mod lower;
pub mod opt;
pub mod options;
pub mod ra;
mod sanitizer;
mod sched;
mod select;
pub mod verify;
mod whole_warp;

pub use nvir_base::{Chip, chip, diag, format, stage, tiling};
pub use nvir_base::{caught, input, num, random};

pub use nvir_asm as asm;
pub use nvir_emu as emu;
pub use nvir_hw as hw;
pub use nvir_isa as isa;

pub use compiler::{Cancel, CompileError, Compiler, InitRegs, Language, Observer, OptLevel, Options, Source};
pub use front::nir::options::{NirOption, OPTIONS as NIR_OPTIONS};
pub use image::Shader;
