"""OpenGL through EGL without a window, by ctypes alone; and what all scenes need: a target, programs, buffers."""

import ctypes
import os
import struct

EGL = ctypes.CDLL("libEGL.so.1")
EGL.eglGetProcAddress.restype = ctypes.c_void_p
for name in ["eglGetPlatformDisplay", "eglCreateContext"]:
    getattr(EGL, name).restype = ctypes.c_void_p


class Functions:
    """gl.Clear is glClear. Numbers with a point are floats, bytes and lists of numbers are arrays; sizes and offsets, whose
    type is that of pointers, are given as P(n)."""

    def __init__(self):
        self.known = {}

    def __getattr__(self, name):
        address = EGL.eglGetProcAddress(b"gl" + name.encode())
        assert address, f"gl{name} is missing"
        function = ctypes.CFUNCTYPE(ctypes.c_uint64)(address)
        raw = ctypes.cast(function, ctypes.c_void_p).value

        def call(*arguments):
            given = [argument(a) for a in arguments]
            values = [value for value, _ in given]
            types = [type(value) for value in values]
            return ctypes.CFUNCTYPE(ctypes.c_uint64, *types)(raw)(*values)

        setattr(self, name, call)
        return call


def argument(a):
    """A value as it is passed, and what must live until then."""
    if isinstance(a, float):
        return ctypes.c_float(a), None
    if isinstance(a, int):
        return ctypes.c_uint(a & 0xFFFFFFFF), None
    if isinstance(a, (ctypes.c_void_p, ctypes.c_double)):
        return a, None
    if isinstance(a, bytes):
        return ctypes.c_void_p(ctypes.cast(ctypes.c_char_p(a), ctypes.c_void_p).value), a
    if isinstance(a, list):
        kind = ctypes.c_float if any(isinstance(v, float) for v in a) else ctypes.c_uint
        a = (kind * len(a))(*a)
    owner = getattr(a, "_obj", a)  # of what byref gives
    return ctypes.c_void_p(ctypes.addressof(owner)), owner


P = ctypes.c_void_p
gl = Functions()


def context():
    """A compatibility context of 4.3 without any surface."""
    surfaceless = 0x31DD
    display = ctypes.c_void_p(EGL.eglGetPlatformDisplay(surfaceless, None, None))
    assert EGL.eglInitialize(display, None, None), "no display"
    assert EGL.eglBindAPI(0x30A2)
    attributes = (ctypes.c_int * 7)(0x3098, 4, 0x30FB, 3, 0x30FD, 2, 0x3038)
    made = ctypes.c_void_p(EGL.eglCreateContext(display, None, None, attributes))
    assert made and EGL.eglMakeCurrent(display, None, None, made), "no context"
    gl.PixelStorei(0x0CF5, 1)
    gl.PixelStorei(0x0D05, 1)


def finish():
    """Leaves without the driver's own tidying up."""
    gl.Finish()
    error = gl.GetError() & 0xFFFF
    assert error == 0, f"OpenGL error {error:#x}"
    os.sys.stdout.flush()


def has(extension):
    """Whether there is an extension."""
    get = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_uint)(EGL.eglGetProcAddress(b"glGetString"))
    return extension in get(0x1F03).decode().split()


def made(what, n=1):
    """Names of new objects."""
    names = (ctypes.c_uint * n)()
    getattr(gl, "Gen" + what)(n, names)
    return names[0] if n == 1 else list(names)


# Names of what scenes use most.
COLOR, DEPTH, STENCIL = 0x4000, 0x100, 0x400
FLOAT, INT, UINT, BYTE, SHORT, USHORT, UBYTE = 0x1406, 0x1404, 0x1405, 0x1400, 0x1402, 0x1403, 0x1401
RGBA, RGBA8 = 0x1908, 0x8058
POINTS, LINES, LOOP, LINE_STRIP, TRIANGLES, STRIP, FAN, QUADS, QUAD_STRIP, POLYGON = range(10)
ARRAY, ELEMENTS, UNIFORM, STORAGE, INDIRECT, FEEDBACK = 0x8892, 0x8893, 0x8A11, 0x90D2, 0x8F3F, 0x8C8E
FRAMEBUFFER, DRAW, READ, ATTACHMENT = 0x8D40, 0x8CA9, 0x8CA8, 0x8CE0
TEX2D, TEX3D, ARRAY2D, CUBE, MULTISAMPLE = 0x0DE1, 0x806F, 0x8C1A, 0x8513, 0x9100
STAGES = {"vs": 0x8B31, "fs": 0x8B30, "gs": 0x8DD9, "tcs": 0x8E88, "tes": 0x8E87}


def program(capture=None, mode=0x8C8C, **sources):
    """A linked and used program of sources by stage; `capture`: what transform feedback takes."""
    made_program = gl.CreateProgram() & 0xFFFFFFFF
    for stage, text in sources.items():
        shader = gl.CreateShader(STAGES[stage]) & 0xFFFFFFFF
        text = ("#version 430\n" + text).encode()
        pointer = (ctypes.c_char_p * 1)(text)
        gl.ShaderSource(shader, 1, pointer, P(0))
        gl.CompileShader(shader)
        gl.AttachShader(made_program, shader)
    if capture:
        gl.TransformFeedbackVaryings(made_program, len(capture), (ctypes.c_char_p * len(capture))(
            *[c.encode() for c in capture]), mode)
    gl.LinkProgram(made_program)
    linked = ctypes.c_int()
    gl.GetProgramiv(made_program, 0x8B82, ctypes.byref(linked))
    if not linked.value:
        log = ctypes.create_string_buffer(4000)
        gl.GetProgramInfoLog(made_program, 4000, P(0), log)
        raise SystemExit(log.value.decode())
    gl.UseProgram(made_program)
    return made_program


def uniform(name, *values):
    """Sets a uniform of the used program by its type: floats or ints."""
    current = ctypes.c_int()
    gl.GetIntegerv(0x8B8D, ctypes.byref(current))
    place = gl.GetUniformLocation(current.value, name.encode()) & 0xFFFFFFFF
    kind = "f" if isinstance(values[0], float) else "i"
    getattr(gl, f"Uniform{len(values)}{kind}")(place, *values)


def buffer(target, data, usage=0x88E4):
    """A bound buffer with bytes or a list of floats."""
    name = made("Buffers")
    data = floats(*data) if isinstance(data, list) else data
    gl.BindBuffer(target, name)
    gl.BufferData(target, P(len(data)), data, usage)
    return name


def floats(*values):
    return struct.pack(f"{len(values)}f", *values)


def words(*values):
    return struct.pack(f"{len(values)}I", *[v & 0xFFFFFFFF for v in values])


def vertices(*sizes, data):
    """Binds interleaved floats as attributes of these sizes."""
    name = buffer(ARRAY, data)
    offset = 0
    for n, size in enumerate(sizes):
        gl.EnableVertexAttribArray(n)
        gl.VertexAttribPointer(n, size, FLOAT, 0, 4 * sum(sizes), P(offset))
        offset += 4 * size
    return name


def texture(target, form, size, data=None, outer=RGBA, kind=UBYTE, filters=0x2600):
    """A bound texture of one level with bytes in it."""
    name = made("Textures")
    gl.BindTexture(target, name)
    function = "TexImage3D" if len(size) == 3 else "TexImage2D"
    getattr(gl, function)(target, 0, form, *size, 0, outer, kind, data if data is not None else P(0))
    for what, value in [(0x2800, filters), (0x2801, filters), (0x2802, 0x812F), (0x2803, 0x812F)]:
        gl.TexParameteri(target, what, value)
    return name


def framebuffer(*colors, depth=None, layered=False):
    """A bound framebuffer of textures (of two dimensions unless `layered`)."""
    name = made("Framebuffers")
    gl.BindFramebuffer(FRAMEBUFFER, name)
    for n, color in enumerate(colors):
        if layered:
            gl.FramebufferTexture(FRAMEBUFFER, ATTACHMENT + n, color, 0)
        else:
            gl.FramebufferTexture2D(FRAMEBUFFER, ATTACHMENT + n, TEX2D, color, 0)
    if depth:
        gl.FramebufferTexture2D(FRAMEBUFFER, 0x821A if depth[1] else 0x8D00, TEX2D, depth[0], 0)
    gl.DrawBuffers(len(colors), [ATTACHMENT + n for n in range(len(colors))])
    status = gl.CheckFramebufferStatus(FRAMEBUFFER) & 0xFFFF
    assert status == 0x8CD5, f"framebuffer {status:#x}"
    return name


class Target:
    """The picture of a scene, with cells of equal size that are drawn to in turn."""

    def __init__(self, columns, rows, cell=(16, 12)):
        self.cell, self.columns = cell, columns
        self.size = (columns * cell[0], rows * cell[1])
        self.color = texture(TEX2D, RGBA8, self.size)
        self.depth = texture(TEX2D, 0x88F0, self.size, outer=0x84F9, kind=0x84FA)
        self.name = framebuffer(self.color, depth=(self.depth, True))
        gl.Viewport(0, 0, *self.size)
        gl.ClearColor(0.125, 0.125, 0.25, 1.0)
        gl.Clear(COLOR | DEPTH | STENCIL)
        self.count = 0

    def next(self):
        """Draws go to the next cell from now on."""
        gl.BindFramebuffer(FRAMEBUFFER, self.name)
        gl.DrawBuffers(1, [ATTACHMENT])
        (w, h), n = self.cell, self.count
        self.count += 1
        gl.Viewport(n % self.columns * w, n // self.columns * h, w, h)

    def picture(self):
        """What is there, as rows of texels from below."""
        gl.BindFramebuffer(FRAMEBUFFER, self.name)
        gl.ReadBuffer(ATTACHMENT)
        w, h = self.size
        data = ctypes.create_string_buffer(4 * w * h)
        gl.ReadPixels(0, 0, w, h, RGBA, UBYTE, data)
        return (w, h), data.raw


PASS = "layout(location=0) in vec4 p; layout(location=1) in vec4 c; out vec4 v; void main() { gl_Position = p; v = c; }"
SHOW = "in vec4 v; out vec4 o; void main() { o = v; }"
RED, GREEN, BLUE, WHITE = (1.0, 0.0, 0.0, 1.0), (0.0, 1.0, 0.0, 1.0), (0.0, 0.0, 1.0, 1.0), (1.0, 1.0, 1.0, 1.0)


def corners(*points):
    """Vertices of x, y and a colour: floats of two attributes of four."""
    return [v for (x, y, *c) in points for v in (x, y, 0.0, 1.0, *(c[0] if c else WHITE))]


def square(z=0.0, color=WHITE, scale=1.0):
    """A strip over the whole cell."""
    points = [(-scale, -scale), (scale, -scale), (-scale, scale), (scale, scale)]
    return [v for (x, y) in points for v in (x, y, z, 1.0, *color)]
