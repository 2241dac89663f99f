//! The interface to C: `include/nvir.h` is made from this crate.
//!
//! Rules that hold for every function: it never unwinds and never ends the process; a null pointer where none is allowed
//! gives `NVIR_STATUS_USAGE` (or nothing, from functions that free or read); objects that it gives belong to the caller until
//! freed; pointers that it gives out of an object live as long as the object. Compilers may be used by several
//! threads at once; other objects may be read by several threads.

#![allow(non_camel_case_types, clippy::missing_safety_doc)]

mod memory;
pub mod stage;
mod view;

use compiler::compiler::{Cancel, Input, Language, Module};
use compiler::diag::{Diagnostic, Diagnostics, Fault, Severity, line_column};
use compiler::image::{Access, Uses, cubin, listing};
use compiler::{Chip, CompileError, Compiler, InitRegs, Observer, OptLevel, Options, Shader, Source};
use memory::{boxed, copied, free, given, list, place, written};
use std::borrow::Cow;
use std::ffi::{CStr, CString, c_char};
use std::time::{Duration, Instant};

/// The version of this interface: changed when something that was there changes or goes.
pub const NVIR_INTERFACE: u32 = 1;

/// How a call ended.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum nvir_status {
    /// Done.
    Ok = 0,
    /// The input is at fault: the error says where.
    Input = 1,
    /// The input is right, but asks for something that the chip or the compiler does not have.
    Unsupported = 2,
    /// A defect of nvir.
    Defect = 3,
    /// The time that was allowed is over.
    Cancelled = 4,
    /// The call is wrong: a null pointer, a number that does not exist, text that is not UTF-8, options out of range.
    Usage = 5,
}

/// The chips that code is made for.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum nvir_chip {
    /// Fermi (chipsets 0xc0 to 0xcf, 0xd7, 0xd9).
    Gf100 = 0,
    /// Kepler (0xe4 to 0xe7).
    Gk104 = 1,
    /// Kepler (0xf0, 0xf1, 0x106, 0x108).
    Gk110 = 2,
}

/// What a text is written in.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum nvir_language {
    /// What Mesa's tgsi_dump prints.
    Tgsi = 0,
    /// What Mesa's nir_print_shader prints.
    Nir = 1,
    /// nvir's own intermediate representation.
    Ir = 2,
    /// A SPIR-V module: its bytes, or the listing that the command line writes of it.
    SpirV = 3,
}

/// What kind of resource a program uses.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum nvir_use_kind {
    /// A bank of constant memory.
    Constant = 0,
    /// A storage buffer.
    Buffer = 1,
    /// A uniform block.
    Uniform = 2,
    /// An image.
    Image = 3,
    /// A texture.
    Texture = 4,
    /// A sampler.
    Sampler = 5,
}

/// Choices of a compiler. Fill it with nvir_options_init first.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nvir_options {
    /// sizeof(nvir_options): older programs work with newer libraries.
    pub size: u32,
    /// 0 to 3; 3 by default. 4 is 3 without what makes code longer.
    pub opt_level: u32,
    /// Registers that are read before they are written: 0 are left, 1 all are zero at entry, 2 those that matter, 3 on the
    /// paths on which a write is missing (the default).
    pub init_regs: u32,
    /// A bound on registers below the chip's: 16 or more; 0: none.
    pub max_gprs: u32,
    /// Threads of the largest block that will be launched, where the program does not say it; 0: not known.
    pub threads: u32,
    /// What may be assumed of the address of a buffer argument, in bytes: a power of two; 4 by default.
    pub pointer_align: u32,
    /// Bytes of private memory that a TGSI program addresses itself.
    pub private_bytes: u32,
    /// Milliseconds that a compile may take; 0: as long as it takes.
    pub milliseconds: u32,
    /// Threads in x, y and z of every block that will be launched, where the program does not declare it: the code is for
    /// that size alone; 0, 0, 0: not known.
    pub block_size: [u32; 3],
    /// Dimensions of every grid that will be launched, 1 to 3; 0: not known.
    pub work_dim: u32,
    /// User clip planes that a vertex, tessellation or geometry program evaluates, 0 to 8: those up to the highest that is
    /// switched on.
    pub clip_planes: u32,
    /// How many of the values in CLIPDIST clip and how many cull: NIR text says only the sum; 0 and 0: it is as the text
    /// says.
    pub clip_distances: u32,
    /// See above.
    pub cull_distances: u32,
    /// What a tessellation program declares, of which NIR text says nothing: vertices of the patch that the control program
    /// writes; 0: not said.
    pub tess_vertices_out: u32,
    /// An nvir_domain.
    pub tess_domain: u32,
    /// An nvir_spacing.
    pub tess_spacing: u32,
    /// 1: triangles are counter-clockwise.
    pub tess_counter_clockwise: u32,
    /// 1: points rather than lines or triangles.
    pub tess_points: u32,
    /// What a geometry program declares; it counts if `geometry_vertices_in` is not 0, otherwise the text says it.
    /// Primitives have OpenGL's numbers.
    pub geometry_input: u32,
    /// See above.
    pub geometry_output: u32,
    /// Vertices that an invocation may emit.
    pub geometry_vertices_out: u32,
    /// Vertices of a primitive that it gets.
    pub geometry_vertices_in: u32,
    /// Invocations a primitive.
    pub geometry_invocations: u32,
    /// Streams that it emits to, one bit each.
    pub geometry_streams: u32,
    /// What a fragment program declares, of which NIR text says nothing: 1 if depth and stencil tests come before it runs.
    pub early_fragment_tests: u32,
    /// 1 if the coverage mask is that after the early tests.
    pub post_depth_coverage: u32,
    /// 1: a stage behind the program's reads its clip vertex, which is stored then if there are no clip planes.
    pub clip_vertex_read: u32,
    /// 1: a graphics program's arithmetic on single floats takes subnormal numbers for zero, and gives zero for them.
    pub flush_subnormals: u32,
}

impl nvir_options {
    const DEFAULT: nvir_options = nvir_options {
        size: size_of::<nvir_options>() as u32,
        opt_level: 3,
        init_regs: 3,
        max_gprs: 0,
        threads: 0,
        pointer_align: 4,
        private_bytes: 0,
        milliseconds: 0,
        block_size: [0; 3],
        work_dim: 0,
        clip_planes: 0,
        clip_distances: 0,
        cull_distances: 0,
        tess_vertices_out: 0,
        tess_domain: 0,
        tess_spacing: 0,
        tess_counter_clockwise: 0,
        tess_points: 0,
        geometry_input: 0,
        geometry_output: 0,
        geometry_vertices_out: 0,
        geometry_vertices_in: 0,
        geometry_invocations: 0,
        geometry_streams: 0,
        early_fragment_tests: 0,
        post_depth_coverage: 0,
        clip_vertex_read: 0,
        flush_subnormals: 0,
    };
}

/// What a launch needs, and what there is to know of a shader.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nvir_shader_info {
    /// sizeof(nvir_shader_info), set by the caller.
    pub size: u32,
    /// The code, in 64-bit words; it runs wherever it is loaded at a multiple of 256 bytes.
    pub code: *const u64,
    /// Bytes of the code.
    pub code_bytes: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of local memory of a thread.
    pub local_bytes: u32,
    /// Bytes of call-return stack of a warp; 0: what is on the chip is enough.
    pub stack_bytes: u32,
    /// Bytes of shared memory of a block that the program declares.
    pub shared_bytes: u32,
    /// Execution barriers: the highest number, plus one.
    pub barriers: u32,
    /// Threads of a block in x, y and z as the program declares them, each by itself; 0 where it leaves a dimension to the
    /// launch. The code is for these sizes only: with others it computes wrong values. A driver refuses a launch that
    /// differs in a dimension that is not 0; nvir_shader_launch_block does that.
    pub block_size: [u32; 3],
    /// Bytes of kernel input.
    pub input_bytes: u32,
    /// Warps of this program that a multiprocessor holds at once.
    pub resident_warps: u32,
    /// Instructions of the program; without library routines.
    pub instructions: u32,
    /// Instructions of library routines.
    pub library: u32,
    /// Instructions that store registers to memory for want of registers, and that load them again.
    pub spills: u32,
    /// See above.
    pub fills: u32,
    /// Estimated cycles of one warp, loops counted a fixed number of times.
    pub cycles: u64,
    /// 1: blocks are launched as whole warps: for x * y * z threads that many rounded up to a multiple of 32, in one dimension;
    /// the driver's bank says x, y and z. 0: as they are.
    pub whole_warps: u32,
}

/// One resource that a program uses.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nvir_use {
    /// Its number.
    pub slot: u32,
    /// The number is computed: any resource of the kind may be meant.
    pub indexed: bool,
    /// Contents are read.
    pub read: bool,
    /// Contents are written.
    pub written: bool,
    /// Of a bank of constants: bytes from its beginning that are read; 0 where addresses are computed.
    pub bytes: u32,
}

/// One finding about an input.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nvir_diagnostic {
    /// Whether there is a result nevertheless.
    pub warning: bool,
    /// Whose fault it is.
    pub status: nvir_status,
    /// What is wrong.
    pub message: *const c_char,
    /// What is wrong with the place, or was expected there; empty where there is nothing to say.
    pub label: *const c_char,
    /// What would be right, a sentence a line; empty where that is not known.
    pub help: *const c_char,
    /// The place, from 1; 0: there is none.
    pub line: u32,
    /// In characters, from 1; 0: there is none.
    pub column: u32,
    /// The place as bytes of the text: first.
    pub start: u32,
    /// And behind the last.
    pub end: u32,
}

/// Compiles for one chip with one set of options.
pub struct nvir_compiler {
    compiler: Compiler,
    time: Option<Duration>,
}

/// A compiled program.
pub struct nvir_shader {
    shader: Shader,
    name: CString,
}

/// Why there is no shader.
pub struct nvir_error {
    text: CString,
    list: Vec<Finding>,
}

/// A text or file that was made.
pub struct nvir_blob(Vec<u8>);

struct Finding {
    message: CString,
    label: CString,
    help: CString,
    rest: nvir_diagnostic,
}

fn status(fault: Fault) -> nvir_status {
    match fault {
        Fault::Input => nvir_status::Input,
        Fault::Unsupported => nvir_status::Unsupported,
        Fault::Defect => nvir_status::Defect,
        Fault::Cancelled => nvir_status::Cancelled,
    }
}

fn chip(number: u32) -> Option<Chip> {
    Chip::ALL.get(number as usize).copied()
}

fn language(number: u32) -> Option<Language> {
    [Language::Tgsi, Language::Nir, Language::Ir, Language::SpirV].get(number as usize).copied()
}

/// Nothing may unwind into C. What panics here was not caught by the library, and is a defect.
fn guarded(work: impl FnOnce() -> nvir_status) -> nvir_status {
    compiler::caught::catching(work).unwrap_or(nvir_status::Defect)
}

/// The version of the interface that the library has: compare it with NVIR_INTERFACE.
#[unsafe(no_mangle)]
pub extern "C" fn nvir_interface() -> u32 {
    NVIR_INTERFACE
}

/// The library's version, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn nvir_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(text) => text,
            Err(_) => panic!("one zero, at the end"),
        };
    VERSION.as_ptr()
}

/// The defaults. `size` is the caller's sizeof(nvir_options).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvir_options_init(options: *mut nvir_options, size: u32) {
    let defaults = nvir_options { size, ..nvir_options::DEFAULT };
    // SAFETY: the caller gives a structure of `size` bytes, or null.
    unsafe { place(options, size, &defaults) };
}

/// A compiler for Mesa's nvc0 driver on a chip (an nvir_chip). Without options: the defaults. The first one of a process and
/// chip makes the tables that all share: a driver makes one when it opens the device, and no draw waits for them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvir_compiler_new(
    chip_number: u32,
    options: *const nvir_options,
    out: *mut *mut nvir_compiler,
) -> nvir_status {
    guarded(|| {
        // SAFETY: the caller gives options that begin with their size, or null.
        let Some(o) = (unsafe { copied(options) }) else { return nvir_status::Usage };
        let (Some(chip), Some(&opt_level), Some(&init_regs), Some(stage)) = (
            chip(chip_number),
            OptLevel::ALL.get(o.opt_level as usize),
            InitRegs::ALL.get(o.init_regs as usize),
            stage::options(&o),
        ) else {
            return nvir_status::Usage;
        };
        let some = |n: u32| (n != 0).then_some(n);
        let compiler = Compiler::new(chip).with_options(Options {
            opt_level,
            init_regs,
            max_gprs: some(o.max_gprs),
            threads: some(o.threads),
            block_size: Some(o.block_size).filter(|&size| size != [0; 3]),
            work_dim: some(o.work_dim),
            pointer_align: o.pointer_align,
            private_bytes: o.private_bytes,
            stage,
            ..Options::default()
        });
        if compiler.check().is_err() {
            return nvir_status::Usage;
        }
        compiler.prepare();
        let time = some(o.milliseconds).map(|ms| Duration::from_millis(ms.into()));
        // SAFETY: the caller gives a place for a pointer, or null.
        unsafe { boxed(out, nvir_compiler { compiler, time }) }
    })
}

/// Frees a compiler; null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvir_compiler_free(compiler: *mut nvir_compiler) {
    // SAFETY: it came from nvir_compiler_new, and the caller gives it up.
    unsafe { free(compiler) };
}

/// Compiles one kernel, or the program of a graphics stage, of a text of `length` bytes, which need not end in a zero. `entry` is its name (null: the only one),
/// `name` what errors call the text (null: "shader"). On success `shader` is set, otherwise `error` (if it is not null).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvir_compile(
    compiler: *const nvir_compiler,
    language: u32,
    source: *const c_char,
    length: usize,
    entry: *const c_char,
    name: *const c_char,
    shader: *mut *mut nvir_shader,
    error: *mut *mut nvir_error,
) -> nvir_status {
    guarded(|| {
        // SAFETY: the caller gives objects of this library, a text of that length, and strings that end in a zero.
        let (compiler, source, entry, name) = unsafe {
            (given(compiler), list(source.cast(), length), view::string(entry), view::string(name))
        };
        let (Some(compiler), Some(source), Ok(entry), Ok(name)) = (compiler, source, entry, name) else {
            return nvir_status::Usage;
        };
        let Some(language) = self::language(language) else { return nvir_status::Usage };
        let name = name.unwrap_or("shader");
        let (mut text, mut module) = (Cow::Borrowed(""), None);
        // A module's listing is made where there is an error to show.
        let read = if language.is_binary(source) {
            Module::new(source).map(|m| module = Some(m)).map_err(|e| e.to_string())
        } else {
            language.text(source).map(|read| text = read)
        };
        match read {
            Ok(()) => {}
            Err(what) if language == Language::SpirV => {
                let e = CompileError::from(Diagnostics::from(Diagnostic::error(what)));
                if !error.is_null() {
                    // SAFETY: the caller gives a place for a pointer.
                    unsafe { boxed(error, findings(&e, "")) };
                }
                return nvir_status::Input;
            }
            Err(_) => return nvir_status::Usage,
        }
        let module = module.map(|m| m.with_entry(entry).with_name(name));
        let source = Source { language, text: &text, entry, name };
        let input = module.as_ref().map_or(Input::from(&source), Input::from);
        let cancel = Cancel { flag: None, deadline: compiler.time.map(|t| Instant::now() + t) };
        let made = compiler.compiler.observed(input, &mut Observer::with_cancel(cancel));
        match made {
            Ok(made) => {
                let name = view::c_string(&made.entry_name);
                // SAFETY: the caller gives a place for a pointer, or null.
                unsafe { boxed(shader, nvir_shader { shader: made, name }) }
            }
            Err(e) => {
                let fault = status(e.fault());
                if !error.is_null() {
                    // SAFETY: as above.
                    unsafe { boxed(error, findings(&e, module.as_ref().map_or(source.text, Module::text))) };
                }
                fault
            }
        }
    })
}

fn findings(e: &CompileError, source: &str) -> nvir_error {
    let finding = |d: &Diagnostic| {
        let (message, help) = (view::c_string(&d.message), view::c_string(&d.helps.join("\n")));
        let (span, label) = match &d.primary {
            Some((span, label)) => (Some(*span), view::c_string(label)),
            None => (None, CString::default()),
        };
        let (line, column) = span.map_or((0, 0), |s| line_column(source, s.start));
        let rest = nvir_diagnostic {
            warning: d.severity == Severity::Warning,
            status: status(d.fault),
            message: std::ptr::null(),
            label: std::ptr::null(),
            help: std::ptr::null(),
            line: line as u32,
            column: column as u32,
            start: span.map_or(0, |s| s.start),
            end: span.map_or(0, |s| s.end),
        };
        Finding { message, label, help, rest }
    };
    nvir_error {
        text: view::c_string(&e.to_string()),
        list: e.diagnostics().list.iter().map(finding).collect(),
    }
}

/// A key for a disk cache: 32 bytes that are equal only if the shaders are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvir_cache_key(
    compiler: *const nvir_compiler,
    language: u32,
    source: *const c_char,
    length: usize,
    entry: *const c_char,
    key: *mut u8,
) -> nvir_status {
    guarded(|| {
        // SAFETY: as for nvir_compile.
        let (compiler, source, entry) =
            unsafe { (given(compiler), list(source.cast(), length), view::string(entry)) };
        let (Some(compiler), Some(source), Ok(entry), false) = (compiler, source, entry, key.is_null())
        else {
            return nvir_status::Usage;
        };
        let Some(language) = self::language(language) else { return nvir_status::Usage };
        // What has no listing compiles to nothing, whatever its key.
        let Ok(text) = language.text(source) else { return nvir_status::Usage };
        let made = compiler.compiler.cache_key(&Source { language, text: &text, entry, name: "" });
        // SAFETY: the caller gives 32 bytes.
        unsafe { std::ptr::copy_nonoverlapping(made.0.as_ptr(), key, made.0.len()) };
        nvir_status::Ok
    })
}

/// Frees a shader; null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvir_shader_free(shader: *mut nvir_shader) {
    // SAFETY: it came from nvir_compile, and the caller gives it up.
    unsafe { free(shader) };
}

/// What a launch needs. `info->size` is the caller's sizeof(nvir_shader_info). NVIR_STATUS_UNSUPPORTED for a caller whose
/// structure ends before `whole_warps` and a kernel that needs it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvir_shader_get_info(
    shader: *const nvir_shader,
    info: *mut nvir_shader_info,
) -> nvir_status {
    guarded(|| {
        // SAFETY: the caller gives a shader, and a structure that begins with its size.
        let (Some(shader), Some(size)) = (unsafe { (given(shader), view::size(info.cast())) }) else {
            return nvir_status::Usage;
        };
        let s = &shader.shader;
        let all = nvir_shader_info {
            size,
            code: s.code.as_ptr(),
            code_bytes: s.code_bytes(),
            registers: s.launch_gprs(),
            local_bytes: s.local_bytes,
            stack_bytes: s.stack_bytes,
            shared_bytes: s.shared_bytes,
            barriers: s.barriers,
            block_size: s.block_size.unwrap_or([0; 3]),
            input_bytes: s.input_bytes,
            resident_warps: s.resident_warps(None),
            instructions: s.instructions,
            library: s.library,
            spills: s.spills,
            fills: s.fills,
            cycles: s.cycles,
            whole_warps: s.whole_warps.into(),
        };
        if s.whole_warps && (size as usize) <= std::mem::offset_of!(nvir_shader_info, whole_warps) {
            return nvir_status::Unsupported;
        }
        // SAFETY: as above.
        unsafe { place(info, size, &all) };
        nvir_status::Ok
    })
}

/// What the machine is told to launch for a block of `block` threads in x, y and z (three numbers): these, or whole warps
/// for a kernel that wants them. `launched` has room for three numbers. NVIR_STATUS_INPUT, with `launched` left as it is, for a
/// block of another size than the program declares.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvir_shader_launch_block(
    shader: *const nvir_shader,
    block: *const u32,
    launched: *mut u32,
) -> nvir_status {
    guarded(|| {
        if launched.is_null() {
            return nvir_status::Usage;
        }
        // SAFETY: the caller gives a shader, or null, and three numbers, or null.
        let (shader, block) = unsafe { (given(shader), memory::list(block, 3)) };
        let (Some(shader), Some(&[x, y, z])) = (shader, block) else { return nvir_status::Usage };
        let Ok(all) = shader.shader.launch_block([x, y, z]) else { return nvir_status::Input };
        // SAFETY: the caller gives room for three numbers.
        unsafe { std::ptr::copy_nonoverlapping(all.as_ptr(), launched, all.len()) };
        nvir_status::Ok
    })
}

/// The kernel's name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvir_shader_name(shader: *const nvir_shader) -> *const c_char {
    // SAFETY: the caller gives a shader, or null.
    unsafe { given(shader) }.map_or(std::ptr::null(), |s| s.name.as_ptr())
}

/// The number of resources of a kind (an nvir_use_kind) that a shader uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvir_shader_use_count(shader: *const nvir_shader, kind: u32) -> u32 {
    // SAFETY: the caller gives a shader, or null.
    unsafe { given(shader) }.map_or(0, |s| uses(&s.shader, kind).len() as u32)
}

/// One of them, from 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvir_shader_get_use(
    shader: *const nvir_shader,
    kind: u32,
    number: u32,
    out: *mut nvir_use,
) -> nvir_status {
    guarded(|| {
        // SAFETY: the caller gives a shader, or null.
        let Some(shader) = (unsafe { given(shader) }) else { return nvir_status::Usage };
        let one = uses(&shader.shader, kind).get(number as usize).copied();
        // SAFETY: the caller gives a place for one use, or null.
        unsafe { written(one, out) }
    })
}

fn uses(shader: &Shader, kind: u32) -> Vec<nvir_use> {
    let r = &shader.resources;
    let of = |uses: &Uses| {
        let one =
            |slot, indexed, a: Access| nvir_use { slot, indexed, read: a.read, written: a.written, bytes: 0 };
        let named =
            uses.slots.iter().map(|u| one(u.slot, false, Access { read: u.read, written: u.written }));
        named.chain(uses.indexed.map(|a| one(0, true, a))).collect()
    };
    match kind {
        0 => {
            let one = |c: &compiler::image::ConstantBank| nvir_use {
                slot: c.bank.into(),
                indexed: false,
                read: true,
                written: false,
                bytes: c.bytes.unwrap_or(0),
            };
            r.constants.iter().map(one).collect()
        }
        1 => of(&r.buffers),
        2 => of(&r.uniforms),
        3 => of(&r.images),
        4 => of(&r.textures),
        5 => of(&r.samplers),
        _ => Vec::new(),
    }
}

/// A shader as SASS text (without a zero at its end).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvir_shader_sass(
    shader: *const nvir_shader,
    out: *mut *mut nvir_blob,
) -> nvir_status {
    guarded(|| {
        // SAFETY: the caller gives a shader, or null, and a place for a pointer, or null.
        unsafe {
            let Some(s) = given(shader) else { return nvir_status::Usage };
            let text = listing::print(s.shader.chip, &[s.shader.kernel()], listing::Options::default());
            boxed(out, nvir_blob(text.into_bytes()))
        }
    })
}

/// A shader in NVIDIA's container, for nvdisasm and cuobjdump. NVIR_STATUS_UNSUPPORTED for a kernel that runs whole warps, of
/// which the container says nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvir_shader_cubin(
    shader: *const nvir_shader,
    out: *mut *mut nvir_blob,
) -> nvir_status {
    guarded(|| {
        // SAFETY: the caller gives a shader, or null, and a place for a pointer, or null.
        unsafe {
            let Some(s) = given(shader) else { return nvir_status::Usage };
            if s.shader.check_container().is_err() {
                return nvir_status::Unsupported;
            }
            boxed(out, nvir_blob(cubin::write(s.shader.chip, &[s.shader.kernel()])))
        }
    })
}

/// Words of machine code as SASS text (without a zero at its end).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvir_disassemble(
    chip_number: u32,
    words: *const u64,
    count: usize,
    out: *mut *mut nvir_blob,
) -> nvir_status {
    guarded(|| {
        // SAFETY: the caller gives so many words, or null.
        let words = unsafe { memory::list(words, count) };
        let (Some(chip), Some(words)) = (chip(chip_number), words) else { return nvir_status::Usage };
        let kernel = cubin::Kernel { name: "code".into(), code: words.to_vec(), ..cubin::Kernel::default() };
        let text = listing::print(chip, &[kernel], listing::Options::default());
        // SAFETY: the caller gives a place for a pointer, or null.
        unsafe { boxed(out, nvir_blob(text.into_bytes())) }
    })
}

/// The bytes of a blob.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvir_blob_data(blob: *const nvir_blob) -> *const u8 {
    // SAFETY: the caller gives a blob, or null.
    unsafe { given(blob) }.map_or(std::ptr::null(), |b| b.0.as_ptr())
}

/// How many there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvir_blob_size(blob: *const nvir_blob) -> usize {
    // SAFETY: the caller gives a blob, or null.
    unsafe { given(blob) }.map_or(0, |b| b.0.len())
}

/// Frees a blob; null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvir_blob_free(blob: *mut nvir_blob) {
    // SAFETY: it came from this library, and the caller gives it up.
    unsafe { free(blob) };
}

/// The whole of an error as people read it: each finding with file, line, column, the line itself and a caret.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvir_error_text(error: *const nvir_error) -> *const c_char {
    // SAFETY: the caller gives an error, or null.
    unsafe { given(error) }.map_or(std::ptr::null(), |e| e.text.as_ptr())
}

/// The number of findings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvir_error_count(error: *const nvir_error) -> u32 {
    // SAFETY: the caller gives an error, or null.
    unsafe { given(error) }.map_or(0, |e| e.list.len() as u32)
}

/// One of them, from 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvir_error_get(
    error: *const nvir_error,
    number: u32,
    out: *mut nvir_diagnostic,
) -> nvir_status {
    guarded(|| {
        // SAFETY: the caller gives an error, or null.
        let Some(error) = (unsafe { given(error) }) else { return nvir_status::Usage };
        let one = error.list.get(number as usize).map(|one| {
            let (message, label, help) = (one.message.as_ptr(), one.label.as_ptr(), one.help.as_ptr());
            nvir_diagnostic { message, label, help, ..one.rest }
        });
        // SAFETY: the caller gives a place for one diagnostic, or null.
        unsafe { written(one, out) }
    })
}

/// Frees an error; null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvir_error_free(error: *mut nvir_error) {
    // SAFETY: it came from nvir_compile, and the caller gives it up.
    unsafe { free(error) };
}
