//! As much of EGL and OpenGL as the client needs, found at run time: nothing of Mesa is needed to build it.

use libc::{c_char, c_int, c_uint, c_void};
use std::ffi::{CStr, CString};
use std::ptr::{null, null_mut};

type Handle = *mut c_void;

/// Makes a struct of functions, each with a method of its name.
macro_rules! functions {
    ($table:ident { $(fn $name:ident($($arg:ident: $kind:ty),*) $(-> $result:ty)?;)* }) => {
        #[allow(non_snake_case)]
        struct $table { $($name: unsafe extern "C" fn($($kind),*) $(-> $result)?,)* }

        #[allow(non_snake_case, clippy::too_many_arguments)]
        impl $table {
            /// Or the name that is missing.
            fn load(find: impl Fn(&CStr) -> *mut c_void) -> Result<$table, String> {
                $(
                    let name = CString::new(stringify!($name)).map_err(|e| e.to_string())?;
                    let $name = find(&name);
                    if $name.is_null() {
                        return Err(format!("there is no {}", stringify!($name)));
                    }
                )*
                // SAFETY: each is the address of the function of this name, which has this type.
                Ok(unsafe { $table { $($name: std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($kind),*) $(-> $result)?>($name),)* } })
            }

            $(
                /// # Safety
                ///
                /// Pointers are valid for what the function does with them.
                unsafe fn $name(&self, $($arg: $kind),*) $(-> $result)? {
                    // SAFETY: the caller's promise.
                    unsafe { (self.$name)($($arg),*) }
                }
            )*
        }
    };
}

functions!(Egl {
    fn eglGetPlatformDisplay(platform: c_uint, native: Handle, attributes: *const isize) -> Handle;
    fn eglInitialize(display: Handle, major: *mut c_int, minor: *mut c_int) -> c_uint;
    fn eglBindAPI(api: c_uint) -> c_uint;
    fn eglCreateContext(display: Handle, config: Handle, share: Handle, attributes: *const c_int) -> Handle;
    fn eglMakeCurrent(display: Handle, draw: Handle, read: Handle, context: Handle) -> c_uint;
    fn eglDestroyContext(display: Handle, context: Handle) -> c_uint;
    fn eglTerminate(display: Handle) -> c_uint;
});

functions!(Functions {
    fn glGetString(name: c_uint) -> *const c_char;
    fn glGetError() -> c_uint;
    fn glFinish();
    fn glCreateShader(kind: c_uint) -> c_uint;
    fn glShaderSource(shader: c_uint, count: c_int, text: *const *const c_char, lengths: *const c_int);
    fn glCompileShader(shader: c_uint);
    fn glGetShaderiv(shader: c_uint, what: c_uint, value: *mut c_int);
    fn glGetShaderInfoLog(shader: c_uint, room: c_int, bytes: *mut c_int, text: *mut c_char);
    fn glCreateProgram() -> c_uint;
    fn glAttachShader(program: c_uint, shader: c_uint);
    fn glLinkProgram(program: c_uint);
    fn glGetProgramiv(program: c_uint, what: c_uint, value: *mut c_int);
    fn glUseProgram(program: c_uint);
    fn glGetUniformLocation(program: c_uint, name: *const c_char) -> c_int;
    fn glUniform1ui(at: c_int, value: c_uint);
    fn glUniform4ui(at: c_int, x: c_uint, y: c_uint, z: c_uint, w: c_uint);
    fn glGenBuffers(count: c_int, names: *mut c_uint);
    fn glDeleteBuffers(count: c_int, names: *const c_uint);
    fn glBindBuffer(target: c_uint, name: c_uint);
    fn glBindBufferBase(target: c_uint, index: c_uint, name: c_uint);
    fn glBufferData(target: c_uint, bytes: isize, data: *const c_void, usage: c_uint);
    fn glBufferSubData(target: c_uint, offset: isize, bytes: isize, data: *const c_void);
    fn glGetBufferSubData(target: c_uint, offset: isize, bytes: isize, data: *mut c_void);
    fn glCopyBufferSubData(from: c_uint, to: c_uint, from_at: isize, to_at: isize, bytes: isize);
    fn glClearBufferSubData(target: c_uint, inner: c_uint, offset: isize, bytes: isize, format: c_uint, kind: c_uint, data: *const c_void);
    fn glMapBufferRange(target: c_uint, offset: isize, bytes: isize, access: c_uint) -> *mut c_void;
    fn glUnmapBuffer(target: c_uint) -> u8;
    fn glDispatchCompute(x: c_uint, y: c_uint, z: c_uint);
    fn glDispatchComputeIndirect(at: isize);
    fn glMemoryBarrier(bits: c_uint);
    fn glGenTextures(count: c_int, names: *mut c_uint);
    fn glActiveTexture(unit: c_uint);
    fn glBindTexture(target: c_uint, name: c_uint);
    fn glTexStorage2D(target: c_uint, levels: c_int, format: c_uint, w: c_int, h: c_int);
    fn glTexStorage3D(target: c_uint, levels: c_int, format: c_uint, w: c_int, h: c_int, d: c_int);
    fn glTexSubImage2D(target: c_uint, level: c_int, x: c_int, y: c_int, w: c_int, h: c_int, format: c_uint, kind: c_uint, data: *const c_void);
    fn glTexSubImage3D(target: c_uint, level: c_int, x: c_int, y: c_int, z: c_int, w: c_int, h: c_int, d: c_int, format: c_uint, kind: c_uint, data: *const c_void);
    fn glGetTexImage(target: c_uint, level: c_int, format: c_uint, kind: c_uint, data: *mut c_void);
    fn glTexParameteri(target: c_uint, name: c_uint, value: c_int);
    fn glCopyImageSubData(from: c_uint, from_target: c_uint, from_level: c_int, fx: c_int, fy: c_int, fz: c_int, to: c_uint, to_target: c_uint, to_level: c_int, tx: c_int, ty: c_int, tz: c_int, w: c_int, h: c_int, d: c_int);
    fn glBindImageTexture(unit: c_uint, name: c_uint, level: c_int, layered: u8, layer: c_int, access: c_uint, format: c_uint);
    fn glGenFramebuffers(count: c_int, names: *mut c_uint);
    fn glBindFramebuffer(target: c_uint, name: c_uint);
    fn glFramebufferTexture2D(target: c_uint, attachment: c_uint, kind: c_uint, name: c_uint, level: c_int);
    fn glClearBufferuiv(buffer: c_uint, index: c_int, value: *const c_uint);
    fn glReadPixels(x: c_int, y: c_int, w: c_int, h: c_int, format: c_uint, kind: c_uint, data: *mut c_void);
    fn glGenQueries(count: c_int, names: *mut c_uint);
    fn glBeginQuery(target: c_uint, name: c_uint);
    fn glEndQuery(target: c_uint);
    fn glQueryCounter(name: c_uint, target: c_uint);
    fn glGetQueryObjectui64v(name: c_uint, what: c_uint, value: *mut u64);
    fn glFenceSync(condition: c_uint, flags: c_uint) -> *mut c_void;
    fn glClientWaitSync(sync: *mut c_void, flags: c_uint, timeout: u64) -> c_uint;
});

pub(crate) const STORAGE: c_uint = 0x90d2;
pub(crate) const UNIFORM: c_uint = 0x8a11;
pub(crate) const COUNTER: c_uint = 0x92c0;
pub(crate) const TEXTURE_2D: c_uint = 0x0de1;
pub(crate) const TEXTURE_3D: c_uint = 0x806f;
pub(crate) const TEXTURE_2D_ARRAY: c_uint = 0x8c1a;
const INDIRECT: c_uint = 0x90ee;

pub(crate) const NEAREST: c_int = 0x2600;
pub(crate) const LINEAR: c_int = 0x2601;

/// A texel format: how the card keeps it, and how data is given.
#[derive(Clone, Copy)]
pub(crate) struct Format {
    inner: c_uint,
    format: c_uint,
    kind: c_uint,
    /// Of the data.
    words: usize,
}

pub(crate) const R32UI: Format = Format { inner: 0x8236, format: 0x8d94, kind: 0x1405, words: 1 };
pub(crate) const RGBA8UI: Format = Format { inner: 0x8d7c, format: 0x8d99, kind: 0x1401, words: 1 };
pub(crate) const RGBA8: Format = Format { inner: 0x8058, format: 0x1908, kind: 0x1401, words: 1 };
pub(crate) const RGBA32F: Format = Format { inner: 0x8814, format: 0x1908, kind: 0x1406, words: 4 };
/// Data in floats: what the card keeps are bytes.
pub(crate) const RGBA8_OF_FLOATS: Format = Format { inner: 0x8058, format: 0x1908, kind: 0x1406, words: 4 };

#[derive(Clone, Copy)]
pub(crate) struct Texture {
    name: c_uint,
    target: c_uint,
    pub format: Format,
    size: [usize; 3],
}

/// A context of OpenGL 4.3 without a window.
pub(crate) struct Gl {
    f: Functions,
    egl: Egl,
    display: Handle,
    context: Handle,
}

impl Gl {
    pub(crate) fn open() -> Result<Gl, String> {
        // SAFETY: a name that ends with a zero byte; the library stays loaded.
        let library = unsafe { libc::dlopen(c"libEGL.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        if library.is_null() {
            return Err("there is no libEGL.so.1".into());
        }
        // SAFETY: an open library and names that end with a zero byte.
        let find = |name: &CStr| unsafe { libc::dlsym(library, name.as_ptr()) };
        let egl = Egl::load(find)?;
        let address = find(c"eglGetProcAddress");
        if address.is_null() {
            return Err("there is no eglGetProcAddress".into());
        }
        // SAFETY: the function of this name has this type.
        let get: unsafe extern "C" fn(*const c_char) -> *mut c_void = unsafe { std::mem::transmute(address) };
        // SAFETY: names that end with a zero byte.
        let f = Functions::load(|name| unsafe { get(name.as_ptr()) })?;
        const SURFACELESS: c_uint = 0x31dd;
        const OPENGL: c_uint = 0x30a2;
        // Version 4.3, core profile.
        let attributes: [c_int; 7] = [0x3098, 4, 0x30fb, 3, 0x30fd, 1, 0x3038];
        // SAFETY: handles of the library, null where it allows that, and lists that end as it wants.
        unsafe {
            let display = egl.eglGetPlatformDisplay(SURFACELESS, null_mut(), null());
            if egl.eglInitialize(display, null_mut(), null_mut()) == 0 || egl.eglBindAPI(OPENGL) == 0 {
                return Err("eglInitialize fails".into());
            }
            let context = egl.eglCreateContext(display, null_mut(), null_mut(), attributes.as_ptr());
            if context.is_null() || egl.eglMakeCurrent(display, null_mut(), null_mut(), context) == 0 {
                return Err("there is no context of OpenGL 4.3".into());
            }
            Ok(Gl { f, egl, display, context })
        }
    }

    /// Vendor, renderer, version.
    pub(crate) fn names(&self) -> [String; 3] {
        [0x1f00, 0x1f01, 0x1f02].map(|n| {
            // SAFETY: a string that ends with a zero byte, or null.
            unsafe {
                let text = self.f.glGetString(n);
                if text.is_null() {
                    String::new()
                } else {
                    CStr::from_ptr(text).to_string_lossy().into_owned()
                }
            }
        })
    }

    /// What OpenGL has to say against what was done.
    pub(crate) fn check(&self) -> Result<(), String> {
        // SAFETY: no pointers.
        match unsafe { self.f.glGetError() } {
            0 => Ok(()),
            e => Err(format!("OpenGL error {e:#x}")),
        }
    }

    pub(crate) fn finish(&self) {
        // SAFETY: no pointers.
        unsafe { self.f.glFinish() }
    }

    /// A compute program of this text, in use.
    pub(crate) fn program(&self, text: &str) -> Result<c_uint, String> {
        let text = CString::new(format!("#version 430\n{text}")).map_err(|e| e.to_string())?;
        let mut done = 0;
        // SAFETY: a string that ends with a zero byte, and buffers as long as is said.
        unsafe {
            let shader = self.f.glCreateShader(0x91b9);
            self.f.glShaderSource(shader, 1, &text.as_ptr(), null());
            self.f.glCompileShader(shader);
            self.f.glGetShaderiv(shader, 0x8b81, &mut done);
            if done == 0 {
                let mut log = [0u8; 4096];
                self.f.glGetShaderInfoLog(shader, 4096, null_mut(), log.as_mut_ptr().cast());
                let text =
                    CStr::from_bytes_until_nul(&log).unwrap_or_default().to_string_lossy().into_owned();
                return Err(format!("the shader does not compile: {text}"));
            }
            let program = self.f.glCreateProgram();
            self.f.glAttachShader(program, shader);
            self.f.glLinkProgram(program);
            self.f.glGetProgramiv(program, 0x8b82, &mut done);
            if done == 0 {
                return Err("the program does not link".into());
            }
            self.f.glUseProgram(program);
            Ok(program)
        }
    }

    /// Sets a uniform of one or four words.
    pub(crate) fn uniform(&self, program: c_uint, name: &CStr, value: &[u32]) {
        // SAFETY: a name that ends with a zero byte.
        unsafe {
            let at = self.f.glGetUniformLocation(program, name.as_ptr());
            match *value {
                [x] => self.f.glUniform1ui(at, x),
                [x, y, z, w] => self.f.glUniform4ui(at, x, y, z, w),
                _ => {}
            }
        }
    }

    /// A buffer of these words, at a binding of a target.
    pub(crate) fn buffer(&self, target: c_uint, binding: c_uint, words: &[u32]) -> c_uint {
        let mut name = 0;
        // SAFETY: one name; as many bytes as are said.
        unsafe {
            self.f.glGenBuffers(1, &mut name);
            self.f.glBindBufferBase(target, binding, name);
            self.f.glBufferData(target, size_of_val(words) as isize, words.as_ptr().cast(), 0x88e4);
        }
        name
    }

    pub(crate) fn delete(&self, buffer: c_uint) {
        // SAFETY: one name.
        unsafe { self.f.glDeleteBuffers(1, &buffer) }
    }

    /// The first words of a buffer.
    pub(crate) fn read(&self, buffer: c_uint, words: usize) -> Vec<u32> {
        let mut data = vec![0xeeee_eeee; words];
        // SAFETY: as many bytes as are said.
        unsafe {
            self.f.glMemoryBarrier(u32::MAX);
            self.f.glBindBuffer(STORAGE, buffer);
            self.f.glGetBufferSubData(STORAGE, 0, 4 * words as isize, data.as_mut_ptr().cast());
        }
        data
    }

    /// The same through a mapping.
    pub(crate) fn read_mapped(&self, buffer: c_uint, words: usize) -> Result<Vec<u32>, String> {
        // SAFETY: the mapping is as long as was asked, and ends after it was read.
        unsafe {
            self.f.glBindBuffer(STORAGE, buffer);
            let at = self.f.glMapBufferRange(STORAGE, 0, 4 * words as isize, 1).cast::<u32>();
            if at.is_null() {
                return Err("the buffer cannot be mapped".into());
            }
            let data = std::slice::from_raw_parts(at, words).to_vec();
            self.f.glUnmapBuffer(STORAGE);
            Ok(data)
        }
    }

    pub(crate) fn update(&self, buffer: c_uint, offset: usize, words: &[u32]) {
        // SAFETY: as many bytes as are said.
        unsafe {
            self.f.glBindBuffer(STORAGE, buffer);
            let bytes = size_of_val(words) as isize;
            self.f.glBufferSubData(STORAGE, offset as isize, bytes, words.as_ptr().cast());
        }
    }

    /// Bytes from one buffer to another, on the card.
    pub(crate) fn copy(&self, from: c_uint, to: c_uint, from_at: usize, to_at: usize, bytes: usize) {
        const FROM: c_uint = 0x8f36;
        const TO: c_uint = 0x8f37;
        // SAFETY: no pointers.
        unsafe {
            self.f.glBindBuffer(FROM, from);
            self.f.glBindBuffer(TO, to);
            self.f.glCopyBufferSubData(FROM, TO, from_at as isize, to_at as isize, bytes as isize);
        }
    }

    /// Fills bytes of a buffer with words, or with bytes.
    pub(crate) fn fill(&self, buffer: c_uint, offset: usize, bytes: usize, value: u32, whole_words: bool) {
        let (inner, kind) = if whole_words { (0x8236, 0x1405) } else { (0x8232, 0x1401) };
        let value = value.to_le_bytes();
        // SAFETY: four bytes, of which one or all are read.
        unsafe {
            self.f.glBindBuffer(STORAGE, buffer);
            let (at, n) = (offset as isize, bytes as isize);
            self.f.glClearBufferSubData(STORAGE, inner, at, n, 0x8d94, kind, value.as_ptr().cast());
        }
    }

    pub(crate) fn dispatch(&self, grid: [u32; 3]) {
        // SAFETY: no pointers.
        unsafe { self.f.glDispatchCompute(grid[0], grid[1], grid[2]) }
    }

    /// With the grid at this byte of a buffer.
    pub(crate) fn dispatch_indirect(&self, buffer: c_uint, at: usize) {
        // SAFETY: no pointers.
        unsafe {
            self.f.glBindBuffer(INDIRECT, buffer);
            self.f.glDispatchComputeIndirect(at as isize);
        }
    }

    /// A texture of one level, filled.
    pub(crate) fn texture(&self, target: c_uint, format: Format, size: [usize; 3], data: &[u32]) -> Texture {
        assert_eq!(data.len(), size.iter().product::<usize>() * format.words);
        let texture = self.empty_texture(target, format, size, 1);
        self.upload(texture, 0, size, data);
        texture
    }

    pub(crate) fn empty_texture(
        &self,
        target: c_uint,
        format: Format,
        size: [usize; 3],
        levels: i32,
    ) -> Texture {
        let [w, h, d] = size.map(|n| n as c_int);
        let mut name = 0;
        // SAFETY: one name.
        unsafe {
            self.f.glGenTextures(1, &mut name);
            self.f.glBindTexture(target, name);
            match target {
                TEXTURE_2D => self.f.glTexStorage2D(target, levels, format.inner, w, h),
                _ => self.f.glTexStorage3D(target, levels, format.inner, w, h, d),
            }
        }
        let texture = Texture { name, target, format, size };
        self.filter(texture, NEAREST, NEAREST);
        texture
    }

    /// Fills a level, of this size.
    pub(crate) fn upload(&self, t: Texture, level: i32, size: [usize; 3], data: &[u32]) {
        assert!(data.len() >= size.iter().product::<usize>() * t.format.words);
        let [w, h, d] = size.map(|n| n as c_int);
        let (Format { format, kind, .. }, data) = (t.format, data.as_ptr().cast());
        // SAFETY: as many texels as are said.
        unsafe {
            self.f.glBindTexture(t.target, t.name);
            match t.target {
                TEXTURE_2D => self.f.glTexSubImage2D(t.target, level, 0, 0, w, h, format, kind, data),
                _ => self.f.glTexSubImage3D(t.target, level, 0, 0, 0, w, h, d, format, kind, data),
            }
        }
    }

    /// How a texture is sampled; it repeats.
    pub(crate) fn filter(&self, t: Texture, min: c_int, mag: c_int) {
        // SAFETY: no pointers.
        unsafe {
            self.f.glBindTexture(t.target, t.name);
            self.f.glTexParameteri(t.target, 0x2801, min);
            self.f.glTexParameteri(t.target, 0x2800, mag);
        }
    }

    /// The first level.
    pub(crate) fn texels(&self, t: Texture) -> Vec<u32> {
        let mut data = vec![0xeeee_eeee; t.size.iter().product::<usize>() * t.format.words];
        // SAFETY: as many texels as the level has.
        unsafe {
            self.f.glMemoryBarrier(u32::MAX);
            self.f.glBindTexture(t.target, t.name);
            self.f.glGetTexImage(t.target, 0, t.format.format, t.format.kind, data.as_mut_ptr().cast());
        }
        data
    }

    pub(crate) fn bind_texture(&self, unit: u32, t: Texture) {
        // SAFETY: no pointers.
        unsafe {
            self.f.glActiveTexture(0x84c0 + unit);
            self.f.glBindTexture(t.target, t.name);
        }
    }

    /// All layers, to read and write.
    pub(crate) fn bind_image(&self, unit: u32, t: Texture) {
        let layered = u8::from(t.target != TEXTURE_2D);
        // SAFETY: no pointers.
        unsafe { self.f.glBindImageTexture(unit, t.name, 0, layered, 0, 0x88ba, t.format.inner) }
    }

    /// A rectangle from one texture's first layer to another's.
    pub(crate) fn copy_image(
        &self,
        from: Texture,
        at: [i32; 2],
        to: Texture,
        to_at: [i32; 2],
        size: [i32; 2],
    ) {
        let ([fx, fy], [tx, ty], [w, h]) = (at, to_at, size);
        // SAFETY: no pointers.
        unsafe {
            self.f.glCopyImageSubData(
                from.name,
                from.target,
                0,
                fx,
                fy,
                0,
                to.name,
                to.target,
                0,
                tx,
                ty,
                0,
                w,
                h,
                1,
            );
        }
    }

    /// Clears a texture as a target of drawing, and reads its pixels.
    pub(crate) fn cleared(&self, t: Texture, value: [u32; 4]) -> Vec<u32> {
        let mut data = vec![0xeeee_eeee; t.size[0] * t.size[1]];
        let mut name = 0;
        let [w, h] = [t.size[0] as c_int, t.size[1] as c_int];
        // SAFETY: one name, four words, and as many pixels as the texture has, of a word each.
        unsafe {
            self.f.glGenFramebuffers(1, &mut name);
            self.f.glBindFramebuffer(0x8d40, name);
            self.f.glFramebufferTexture2D(0x8d40, 0x8ce0, t.target, t.name, 0);
            self.f.glClearBufferuiv(0x1800, 0, value.as_ptr());
            self.f.glReadPixels(0, 0, w, h, t.format.format, t.format.kind, data.as_mut_ptr().cast());
        }
        data
    }

    /// Nanoseconds of some work, and the card's time after it.
    pub(crate) fn times(&self, work: impl FnOnce()) -> [u64; 2] {
        let (mut names, mut values) = ([0; 2], [0; 2]);
        // SAFETY: two names, two values.
        unsafe {
            self.f.glGenQueries(2, names.as_mut_ptr());
            self.f.glBeginQuery(0x88bf, names[0]);
            work();
            self.f.glEndQuery(0x88bf);
            self.f.glQueryCounter(names[1], 0x8e28);
            for (name, value) in names.iter().zip(&mut values) {
                self.f.glGetQueryObjectui64v(*name, 0x8866, value);
            }
        }
        values
    }

    /// Whether a fence is reached within a second.
    pub(crate) fn fence(&self) -> bool {
        // SAFETY: the fence that was made.
        unsafe {
            let sync = self.f.glFenceSync(0x9117, 0);
            matches!(self.f.glClientWaitSync(sync, 1, 1_000_000_000), 0x911a | 0x911c)
        }
    }
}

impl Drop for Gl {
    fn drop(&mut self) {
        // SAFETY: the handles that were made.
        unsafe {
            self.egl.eglMakeCurrent(self.display, null_mut(), null_mut(), null_mut());
            self.egl.eglDestroyContext(self.display, self.context);
            self.egl.eglTerminate(self.display);
        }
    }
}
