#!/usr/bin/python3
"""Small scenes of OpenGL, one for each part of drawing; `record` runs them on the virtual GPU and on llvmpipe.

    scenes.py NAME [FILE]

draws a scene and writes its picture (P6, and the alpha values behind it) to FILE."""

import sys

from gl import *


def draws():
    """Arrays, indices of three sizes, restart, bases, instances, indirect and multiple draws."""
    t = Target(4, 3)
    program(vs=PASS, fs=SHOW)
    data = corners((-0.9, -0.9, RED), (0.9, -0.9, RED), (-0.9, 0.0, GREEN), (0.9, 0.0, GREEN),
                   (-0.9, 0.9, BLUE), (0.9, 0.9, WHITE), (0.0, 0.5, WHITE))
    vertices(4, 4, data=data)
    t.next(), gl.DrawArrays(STRIP, 1, 4)
    for kind, size in [(UBYTE, "B"), (USHORT, "H"), (UINT, "I")]:
        t.next()
        gl.Enable(0x8D69)  # restart by the largest index
        last = {"B": 255, "H": 65535, "I": 0xFFFFFFFF}[size]
        buffer(ELEMENTS, struct.pack("9" + size, 9, 0, 1, 2, last, 3, 4, 5, 1))
        gl.DrawElements(STRIP, 7, kind, P(struct.calcsize(size)))
    t.next(), gl.Disable(0x8D69)
    buffer(ELEMENTS, struct.pack("6H", 0, 1, 2, 2, 1, 3))
    gl.DrawElementsBaseVertex(TRIANGLES, 6, USHORT, P(0), 2)
    # From the program's memory: in the stream.
    t.next(), gl.BindBuffer(ELEMENTS, 0)
    gl.DrawElements(TRIANGLES, 3, UBYTE, bytes([5, 2, 1]))
    gl.MultiDrawArrays(TRIANGLES, [0, 3], [3, 3], 2)
    # Instances with a divisor and a base.
    t.next()
    buffer(ARRAY, list(RED + GREEN + BLUE + WHITE))
    gl.VertexAttribPointer(1, 4, FLOAT, 0, 0, P(0))
    gl.VertexAttribDivisor(1, 2)
    program(vs="""layout(location=0) in vec4 p; layout(location=1) in vec4 c; out vec4 v;
        void main() { gl_Position = vec4(p.xy * 0.3 + 0.4 * vec2(gl_InstanceID % 3 - 1, gl_InstanceID / 3), 0, 1); v = c; }""",
            fs=SHOW)
    gl.DrawArraysInstanced(STRIP, 0, 4, 5)
    t.next(), gl.DrawArraysInstancedBaseInstance(STRIP, 0, 4, 3, 2)
    t.next()
    buffer(INDIRECT, words(4, 2, 0, 0, 3, 3, 2, 1, 4, 1, 1, 3))
    gl.MultiDrawArraysIndirect(STRIP, P(0), 3, 0)
    t.next(), buffer(ELEMENTS, struct.pack("6H", 0, 1, 2, 2, 1, 3))
    buffer(INDIRECT, words(6, 2, 0, 0, 0, 3, 4, 3, 1, 1))
    gl.MultiDrawElementsIndirect(TRIANGLES, USHORT, P(0), 2, 0)
    # Numbers of vertices.
    t.next()
    program(vs="""out vec4 v; void main() { int i = gl_VertexID - 3;
        gl_Position = vec4(i % 2 * 2 - 1, i / 2 * 2 - 1, 0, 1); v = vec4(i & 1, i >> 1, 0.5, 1); }""", fs=SHOW)
    gl.DrawArrays(STRIP, 3, 4)
    return t


def attributes():
    """Formats of vertex attributes, and values that are the same for all vertices."""
    t = Target(4, 4)
    program(vs="""layout(location=0) in vec2 p; layout(location=1) in vec4 c; out vec4 v;
        void main() { gl_Position = vec4(p, 0, 1); v = c; }""", fs=SHOW)
    vertices(2, data=[-1.0, -1.0, 1.0, -1.0, -1.0, 1.0, 1.0, 1.0])
    gl.EnableVertexAttribArray(1)
    half = [0, 0x3C00, 0x3800, 0x3C00, 0x3400, 0x3800, 0, 0x3C00, 0x3A00, 0, 0x3800, 0x3C00, 0x3C00, 0x3C00, 0, 0x3C00]
    cases = [
        (4, UBYTE, 1, bytes(range(0, 256, 16))),
        (0x80E1, UBYTE, 1, bytes(range(0, 256, 16))),
        (3, BYTE, 1, bytes([0, 64, 127, 1, 127, 0, 30, 1, 10, 90, 40, 1, 127, 127, 127, 1])),
        (4, USHORT, 1, struct.pack("16H", *[i * 4369 for i in range(16)])),
        (2, SHORT, 1, struct.pack("8h", 0, 32767, 16384, 0, 1, 2, 30000, -30000)),
        (4, 0x140B, 0, struct.pack("16H", *half)),
        (4, 0x8368, 1, words(0x000003FF, 0x400FFC00, 0x9FF00000, 0xFFFFFFFF)),
        (4, 0x8D9F, 1, words(0x000001FF, 0x4007FC00, 0x1FF00000, 0x7FFFFFFF)),
        (3, 0x8C3B, 0, words(0x3C0, 0x3C0 << 11, 0x1E0 << 22, 0x3C0 | 0x3C0 << 11)),
        (1, UBYTE, 0, bytes([0, 1, 1, 0])),
        (2, INT, 1, struct.pack("8i", 0, 2**31 - 1, 2**30, 0, -1, 5, 2**31 - 1, 2**29)),
        (4, 0x140A, 0, struct.pack("16d", *[i / 15 for i in range(16)])),
    ]
    for size, kind, normalized, data in cases:
        t.next(), buffer(ARRAY, data)
        gl.VertexAttribPointer(1, size, kind, normalized, 0, P(0))
        gl.DrawArrays(STRIP, 0, 4)
    # No array; and integers, from the middle of elements.
    t.next(), gl.DisableVertexAttribArray(1)
    gl.VertexAttrib4f(1, 1.0, 0.5, 0.0, 1.0), gl.DrawArrays(STRIP, 0, 4)
    t.next()
    program(vs="""layout(location=0) in vec2 p; layout(location=1) in ivec2 c; layout(location=2) in dvec3 d; out vec4 v;
        void main() { gl_Position = vec4(p, 0, 1); v = vec4(c.x == -5 || c.y == 300, c.y / 300.0, float(d.z), 1); }""", fs=SHOW)
    gl.EnableVertexAttribArray(1), gl.EnableVertexAttribArray(2)
    buffer(ARRAY, struct.pack("12h", 0, -5, 300, 0, 7, 150, 0, -5, 60, 0, 9, 300))
    gl.VertexAttribIPointer(1, 2, SHORT, 6, P(2))
    buffer(ARRAY, struct.pack("12d", 0, 0, 0.25, 0, 0, 0.5, 0, 0, 0.75, 0, 0, 1.0))
    gl.VertexAttribLPointer(2, 3, 0x140A, 0, P(0))
    gl.DrawArrays(STRIP, 0, 4)
    return t


def programs():
    """Uniform blocks, textures of all shapes, images and storage buffers, in vertex and fragment programs."""
    t = Target(4, 3)
    vertices(4, 4, data=square())
    texels = bytes((i * 37 + c * 85) & 255 for i in range(64) for c in range(4))
    flat = texture(TEX2D, RGBA8, (8, 8), texels, filters=0x2601)
    texture(TEX3D, RGBA8, (4, 4, 4), texels, filters=0x2601)
    texture(ARRAY2D, RGBA8, (4, 4, 4), texels)
    cube = made("Textures")
    gl.BindTexture(CUBE, cube)
    for face in range(6):
        gl.TexImage2D(0x8515 + face, 0, RGBA8, 2, 2, 0, RGBA, UBYTE, texels[16 * face:16 * face + 16])
    gl.TexParameteri(CUBE, 0x2800, 0x2600), gl.TexParameteri(CUBE, 0x2801, 0x2600)
    place = "layout(location=0) in vec4 p; out vec2 s; void main() { gl_Position = p; s = p.xy * 0.5 + 0.5; }"
    for look in ["sampler2D|texture(t, s)", "sampler3D|texture(t, vec3(s, 0.4))", "sampler2DArray|texture(t, vec3(s, 2))",
                 "samplerCube|texture(t, vec3(s * 2 - 1, 0.7))", "sampler2D|texelFetch(t, ivec2(s * 8 + 0.03), 0)",
                 "sampler2D|textureGather(t, s, 1)", "sampler2D|vec4(textureSize(t, 0) / 16.0, dFdx(s.x) * 8, 1)"]:
        kind, value = look.split("|")
        t.next()
        program(vs=place, fs=f"uniform {kind} t; in vec2 s; out vec4 o; void main() {{ o = {value}; }}")
        gl.DrawArrays(STRIP, 0, 4)
    t.next()
    program(vs=PASS, fs="""layout(std140, binding=2) uniform B { vec4 c[3]; }; uniform int n; out vec4 o;
        void main() { o = c[(int(gl_FragCoord.x) / 4 + n) % 3]; }""")
    uniform("n", 1)
    gl.BindBufferBase(UNIFORM, 2, buffer(UNIFORM, list(RED + BLUE + WHITE)))
    gl.DrawArrays(STRIP, 0, 4)
    # A texture that moves vertices.
    t.next()
    program(vs="""layout(location=0) in vec4 p; uniform sampler2D t; out vec4 v;
        void main() { v = texelFetch(t, ivec2(p.xy) + 2, 0); gl_Position = vec4(p.xy * (0.3 + 0.7 * v.xy), 0, 1); }""", fs=SHOW)
    gl.DrawArrays(STRIP, 0, 4)
    # Fragments count themselves, and write an image that is drawn then.
    t.next()
    store = buffer(STORAGE, words(*[0] * 16))
    gl.BindBufferBase(STORAGE, 1, store)
    image = texture(TEX2D, RGBA8, (16, 12))
    gl.BindImageTexture(3, image, 0, 0, 0, 0x88BA, RGBA8)
    program(vs=PASS, fs="""layout(std430, binding=1) buffer S { uint n[]; }; layout(rgba8, binding=3) uniform image2D i; out vec4 o;
        void main() { ivec2 at = ivec2(gl_FragCoord.xy) % ivec2(16, 12); atomicAdd(n[at.y % 4], uint(at.x));
        imageStore(i, at, vec4(at / vec2(16, 12), n[15], 1)); o = vec4(0, 0.5, 0, 1); }""")
    gl.DrawArrays(STRIP, 0, 4), gl.MemoryBarrier(0xFFFFFFFF)
    t.next()
    program(vs=place, fs="""layout(std430, binding=1) buffer S { uint n[]; }; layout(rgba8, binding=3) uniform image2D i;
        out vec4 o; void main() { ivec2 at = ivec2(gl_FragCoord.xy) % ivec2(16, 12);
        o = at.y < 8 ? imageLoad(i, at) : vec4(n[at.y % 4] == 360u, 0, 0, 1); }""")
    gl.DrawArrays(STRIP, 0, 4)
    assert flat
    return t


def tessellation():
    """Domains, spacings, points, levels of programs and of the state."""
    t = Target(4, 3, (24, 18))
    gl.PolygonMode(0x408, 0x1B01)
    vs = "layout(location=0) in vec4 p; void main() { gl_Position = p; }"
    vertices(4, 4, data=corners((-0.9, -0.9), (0.9, -0.9), (-0.9, 0.9), (0.9, 0.9)))
    tcs = """layout(vertices=4) out; patch out vec4 tint; void main() {
        gl_out[gl_InvocationID].gl_Position = gl_in[gl_InvocationID].gl_Position; tint = vec4(0.5, 1, 0.5, 1);
        gl_TessLevelOuter = float[](%s); gl_TessLevelInner = float[](%s); }"""
    quad = """layout(%s) in; patch in vec4 tint; out vec4 v; void main() { vec2 c = gl_TessCoord.xy;
        gl_Position = mix(mix(gl_in[0].gl_Position, gl_in[1].gl_Position, c.x),
                          mix(gl_in[2].gl_Position, gl_in[3].gl_Position, c.x), c.y); v = vec4(c, 1, 1) * tint; }"""
    triangle = """layout(%s) in; patch in vec4 tint; out vec4 v; void main() { vec3 c = gl_TessCoord;
        gl_Position = c.x * gl_in[0].gl_Position + c.y * gl_in[1].gl_Position + c.z * gl_in[2].gl_Position;
        v = vec4(c, 1) * tint; }"""
    gl.PatchParameteri(0x8E72, 4)
    for layout, outer, inner, text in [
            ("quads, equal_spacing, ccw", "2, 3, 4, 1", "3, 2", quad),
            ("quads, fractional_even_spacing", "2.5, 2.5, 3.5, 5", "2.7, 3.1", quad),
            ("quads, fractional_odd_spacing, cw", "1.5, 3, 2.2, 3.3", "1.2, 3", quad),
            ("quads, point_mode", "2, 3, 4, 5", "3, 4", quad),
            ("isolines", "4, 3, 1, 1", "1, 1", quad),
            ("triangles", "3, 2, 4, 1", "3, 1", triangle),
            ("triangles, fractional_odd_spacing", "1.5, 2.5, 3.5, 1", "4.5, 1", triangle),
            ("triangles, point_mode", "2, 2, 2, 1", "2, 1", triangle),
            ("triangles", "1, 0, 1, 1", "1, 1", triangle)]:
        t.next()
        program(vs=vs, tcs=tcs % (outer, inner), tes=text % layout, fs=SHOW)
        gl.DrawArrays(0xE, 0, 4)
    # Without a control program, filled.
    t.next(), gl.PolygonMode(0x408, 0x1B02)
    gl.PatchParameterfv(0x8E74, [2.0, 3.0, 2.0, 3.0]), gl.PatchParameterfv(0x8E73, [3.0, 3.0])
    alone = (quad % "quads").replace("patch in vec4 tint;", "const vec4 tint = vec4(1);")
    program(vs=vs, tes=alone, fs=SHOW)
    gl.DrawArrays(0xE, 0, 4)
    # The evaluation program reads the levels of the state.
    t.next()
    program(vs=vs, tes=alone.replace("vec4(c, 1, 1)", "vec4(gl_TessLevelOuter[1], gl_TessLevelInner[0], c.x * 4, 4) / 4"), fs=SHOW)
    gl.DrawArrays(0xE, 0, 4)
    return t


def geometry():
    """Primitives made of others, invocations, adjacency, layers, viewports."""
    t = Target(4, 2)
    vs = "layout(location=0) in vec4 p; layout(location=1) in vec4 c; out vec4 w; void main() { gl_Position = p; w = c; }"
    vertices(4, 4, data=corners((-0.6, -0.6, RED), (0.6, -0.6, GREEN), (-0.6, 0.6, BLUE), (0.6, 0.6, WHITE),
                                (0.0, 0.9, RED), (0.9, 0.0, GREEN)))
    t.next()
    program(vs=vs, fs=SHOW, gs="""layout(points) in; layout(triangle_strip, max_vertices=8) out; in vec4 w[]; out vec4 v;
        void main() { for (int s = 0; s < 2; s++) { for (int i = 0; i < 4; i++) { v = s == 0 ? w[0] : vec4(0.5);
            gl_Position = gl_in[0].gl_Position + vec4(i % 2 - s * 0.3, i / 2 - s * 0.5, 0, 0) * 0.3; EmitVertex(); }
            EndPrimitive(); } }""")
    gl.DrawArrays(POINTS, 0, 4)
    t.next()
    program(vs=vs, fs=SHOW, gs="""layout(triangles, invocations=3) in; layout(line_strip, max_vertices=4) out; in vec4 w[];
        out vec4 v; void main() { for (int i = 0; i < 4; i++) { v = w[gl_InvocationID];
            gl_Position = vec4(gl_in[i % 3].gl_Position.xy * (0.3 * gl_InvocationID + 0.4), 0, 1); EmitVertex(); } }""")
    gl.DrawArrays(STRIP, 0, 4)
    for kind, mode in [("lines_adjacency", 0xA), ("triangles_adjacency", 0xC), ("triangles_adjacency", 0xD)]:
        t.next()
        program(vs=vs, fs=SHOW, gs=f"""layout({kind}) in; layout(triangle_strip, max_vertices=6) out; in vec4 w[]; out vec4 v;
            void main() {{ for (int i = 0; i < gl_in.length(); i++) {{ v = w[i] * (gl_PrimitiveIDIn + 1) * 0.5;
            gl_Position = gl_in[i].gl_Position; EmitVertex(); }} }}""")
        gl.DrawArrays(mode, 0, 6)
    # Layers of an array, which are drawn then.
    layers = texture(ARRAY2D, RGBA8, (8, 8, 3))
    framebuffer(layers, layered=True)
    gl.Viewport(0, 0, 8, 8), gl.Clear(COLOR)
    program(vs=vs, fs=SHOW, gs="""layout(triangles) in; layout(triangle_strip, max_vertices=9) out; in vec4 w[]; out vec4 v;
        void main() { for (int l = 0; l < 3; l++) { for (int i = 0; i < 3; i++) { v = w[l]; gl_Layer = l;
            gl_Position = gl_in[i].gl_Position * vec4(l == 1 ? -1 : 1, 1, 1, 1); EmitVertex(); } EndPrimitive(); } }""")
    gl.DrawArrays(TRIANGLES, 0, 3)
    t.next()
    program(vs=PASS, fs="""uniform sampler2DArray t; out vec4 o; void main() { vec2 s = mod(gl_FragCoord.xy, vec2(16, 12));
        o = texelFetch(t, ivec3(s.x * 1.5 - floor(s.x * 1.5 / 8) * 8, s.y / 1.5, s.x * 1.5 / 8), 0); }""")
    vertices(4, 4, data=square()), gl.DrawArrays(STRIP, 0, 4)
    t.next()
    gl.ViewportIndexedf(1, 34.0, 14.0, 5.0, 8.0), gl.ViewportIndexedf(2, 40.0, 13.0, 7.5, 4.5)
    program(vs=vs, fs=SHOW, gs="""layout(triangles) in; layout(triangle_strip, max_vertices=6) out; in vec4 w[]; out vec4 v;
        void main() { for (int l = 1; l < 3; l++) { for (int i = 0; i < 3; i++) { v = vec4(l - 1, 1, 0, 1); gl_ViewportIndex = l;
            gl_Position = gl_in[i].gl_Position; EmitVertex(); } EndPrimitive(); } }""")
    gl.DrawArrays(STRIP, 0, 4)
    # Numbers of primitives are those that the program gives to the provoking vertices.
    t.next()
    program(vs=vs, gs="""layout(points) in; layout(triangle_strip, max_vertices=4) out; void main() { for (int i = 0; i < 4; i++) {
            gl_Position = vec4(vec2(i % 2, i / 2) * 1.8 - 0.9, 0, 1); gl_PrimitiveID = i < 2 ? 99 : 4 - i; EmitVertex(); } }""",
            fs="out vec4 o; void main() { o = vec4(gl_PrimitiveID == 1, gl_PrimitiveID == 2, gl_PrimitiveID > 2, 1); }")
    gl.DrawArrays(POINTS, 0, 1)
    return t


def assembly():
    """All primitives with flat colours, by both conventions."""
    t = Target(6, 4)
    program(vs=PASS.replace("out vec4", "flat out vec4"), fs=SHOW.replace("in vec4", "flat in vec4"))
    colors = [RED, GREEN, BLUE, WHITE, (1.0, 1.0, 0.0, 1.0), (0.0, 1.0, 1.0, 1.0), (1.0, 0.0, 1.0, 1.0), (0.5, 0.5, 0.5, 1.0)]
    ring = [(-0.9, -0.3), (-0.3, -0.9), (0.3, -0.9), (0.9, -0.3), (0.9, 0.3), (0.3, 0.9), (-0.3, 0.9), (-0.9, 0.3)]
    strip = [(-0.9 + 0.25 * i, 0.8 if i % 2 else -0.8) for i in range(8)]
    grid = [(-0.9, -0.9), (-0.2, -0.9), (-0.2, 0.7), (-0.9, 0.7), (0.1, -0.7), (0.9, -0.7), (0.9, 0.9), (0.1, 0.9)]
    shapes = {POINTS: ring, LINES: ring, LOOP: ring, LINE_STRIP: ring, TRIANGLES: strip, STRIP: strip, FAN: ring, QUADS: grid,
              QUAD_STRIP: strip, POLYGON: ring, 0xA: ring, 0xC: strip}
    for convention in [0x8E4D, 0x8E4E]:
        gl.ProvokingVertex(convention)
        for mode, shape in shapes.items():
            t.next()
            vertices(4, 4, data=corners(*[(*at, color) for at, color in zip(shape, colors)]))
            gl.DrawArrays(mode, 0, 8)
    return t


def feedback():
    """Captured vertices, drawn again: one buffer and several, gaps, a pause, streams, and as many as there are."""
    t = Target(3, 2)
    vertices(4, 4, data=corners((-0.9, -0.9, RED), (0.0, -0.9, GREEN), (-0.9, 0.0, BLUE), (0.0, 0.0, WHITE), (0.5, 0.9, RED),
                                (0.9, 0.2, GREEN)))
    show = lambda: program(vs=PASS, fs=SHOW)
    data = [floats(*[0.0] * 128) for _ in range(3)]

    def capture(mode, kept, how=0x8C8C, pause=False, **sources):
        made_program = program(capture=kept, mode=how, **sources)
        buffers = [buffer(FEEDBACK, d) for d in data]
        for n, name in enumerate(buffers):
            gl.BindBufferBase(FEEDBACK, n, name)
        gl.Enable(0x8C89), gl.BeginTransformFeedback(mode)
        gl.DrawArrays({0: POINTS, 4: STRIP}[mode], 0, 4)
        if pause:
            gl.PauseTransformFeedback(), gl.DrawArrays({0: POINTS, 4: STRIP}[mode], 0, 4), gl.ResumeTransformFeedback()
            gl.DrawArrays(POINTS if mode == 0 else TRIANGLES, 3, 3)
        gl.EndTransformFeedback(), gl.Disable(0x8C89)
        assert made_program
        return buffers

    def redraw(mode, count, position, color, stride):
        t.next(), show()
        for n, (name, offset) in enumerate([position, color]):
            gl.BindBuffer(ARRAY, name), gl.VertexAttribPointer(n, 4, FLOAT, 0, stride, P(offset))
        gl.DrawArrays(mode, 0, count) if count else gl.DrawTransformFeedback(mode, 0)
        vertices(4, 4, data=corners((-0.9, -0.9, RED), (0.0, -0.9, GREEN), (-0.9, 0.0, BLUE), (0.0, 0.0, WHITE),
                                    (0.5, 0.9, RED), (0.9, 0.2, GREEN)))

    a, *_ = capture(4, ["gl_Position", "v"], vs=PASS, fs=SHOW)
    redraw(TRIANGLES, 6, (a, 0), (a, 16), 32)
    a, b, _ = capture(4, ["v", "gl_Position"], 0x8C8D, pause=True, vs=PASS, fs=SHOW)
    redraw(TRIANGLES, 9, (b, 0), (a, 0), 0)
    a, *_ = capture(0, ["gl_Position", "gl_SkipComponents4", "v"], vs=PASS, fs=SHOW)
    gl.PointSize(3.0), redraw(POINTS, 4, (a, 0), (a, 32), 48)
    streams = """layout(points) in; layout(points, max_vertices=4) out; in vec4 w[]; layout(stream=0) out vec4 p0;
        layout(stream=0) out vec4 c0; layout(stream=1) out vec4 p1; layout(stream=1) out vec4 c1;
        void main() { p0 = gl_in[0].gl_Position; c0 = w[0]; EmitStreamVertex(0); for (int i = 0; i < 2; i++) {
        p1 = p0 + vec4(0.3, 0.3 * i, 0, 0); c1 = vec4(1, i, 0, 1); EmitStreamVertex(1); } }"""
    _, b, _ = capture(0, ["p0", "c0", "gl_NextBuffer", "p1", "c1"], gs=streams, fs="void main() {}",
                      vs=PASS.replace("out vec4 v", "out vec4 w").replace("v = c", "w = c"))
    redraw(POINTS, 8, (b, 0), (b, 16), 32)
    a, *_ = capture(0, ["gl_Position", "v"], vs=PASS, fs=SHOW)
    redraw(LOOP, 0, (a, 0), (a, 16), 32)
    return t


def clipping():
    """Positions behind the viewer, clip and cull distances, depth, viewports and scissors, window rectangles."""
    t = Target(4, 2)
    program(vs=PASS, fs=SHOW)
    t.next(), vertices(4, 4, data=[*(-1.0, -1.0, 0.0, 1.0), *RED, *(1.0, -1.0, 0.0, 1.0), *GREEN, *(0.0, -1.0, 0.0, -0.5), *BLUE])
    gl.DrawArrays(TRIANGLES, 0, 3)
    slanted = [*(-1.0, -1.0, -2.0, 1.0), *RED, *(1.0, -1.0, 2.0, 1.0), *GREEN, *(-1.0, 1.0, -2.0, 1.0), *BLUE,
               *(1.0, 1.0, 2.0, 1.0), *WHITE]
    t.next(), vertices(4, 4, data=slanted), gl.DrawArrays(STRIP, 0, 4)
    t.next(), gl.Enable(0x864F), gl.DrawArrays(STRIP, 0, 4), gl.Disable(0x864F)
    t.next(), gl.ClipControl(0x8CA1, 0x935F), gl.DrawArrays(STRIP, 0, 4), gl.ClipControl(0x8CA1, 0x935E)
    t.next(), gl.Enable(0x3000), gl.Enable(0x3002)
    program(fs=SHOW, vs=PASS.replace("void main() {", "void main() { gl_ClipDistance[0] = p.x + 0.5 * p.y + 0.3; gl_ClipDistance[2] = 0.8 - p.y; "))
    vertices(4, 4, data=square()), gl.DrawArrays(STRIP, 0, 4)
    gl.Disable(0x3000), gl.Disable(0x3002)
    t.next(), gl.Enable(0x0C11), gl.Scissor(19, 14, 9, 7), program(vs=PASS, fs=SHOW)
    gl.DrawArrays(STRIP, 0, 4), gl.Disable(0x0C11)
    # Far outside of the guard band.
    t.next(), vertices(4, 4, data=corners((-3e5, -2e5, RED), (4e5, -0.3, GREEN), (-2.0, 3e5, BLUE)))
    gl.DrawArrays(TRIANGLES, 0, 3)
    t.next(), vertices(4, 4, data=square())
    rectangles = [[50, 14, 5, 6], [58, 18, 4, 3]]
    if has("GL_EXT_window_rectangles"):
        gl.WindowRectanglesEXT(0x8F10, 2, sum(rectangles, [])), gl.DrawArrays(STRIP, 0, 4)
        gl.WindowRectanglesEXT(0x8F11, 0, P(0))
        return t
    gl.Enable(0x0C11)
    for rectangle in rectangles:
        gl.Scissor(*rectangle), gl.DrawArrays(STRIP, 0, 4)
    gl.Disable(0x0C11)
    return t


def polygons():
    """Polygon modes with edge flags, offset, culling, stipple, facing and colours of two sides."""
    t = Target(4, 2)
    program(vs=PASS, fs="in vec4 v; out vec4 o; void main() { o = gl_FrontFacing ? v : v.bgra * 0.75; }")
    both = corners((-0.9, -0.9, RED), (-0.1, -0.9, RED), (-0.9, 0.9, GREEN), (0.1, -0.9, RED), (0.1, 0.9, GREEN), (0.9, -0.9, RED))
    vertices(4, 4, data=both)
    t.next(), gl.DrawArrays(TRIANGLES, 0, 6)
    t.next(), gl.Enable(0x0B44), gl.DrawArrays(TRIANGLES, 0, 6)
    t.next(), gl.FrontFace(0x900), gl.CullFace(0x404), gl.DrawArrays(TRIANGLES, 0, 6)
    gl.Disable(0x0B44), gl.FrontFace(0x901)
    t.next(), gl.PolygonMode(0x408, 0x1B01), gl.DrawArrays(TRIANGLES, 0, 6)
    t.next(), gl.PolygonMode(0x408, 0x1B00), gl.PointSize(3.0), gl.DrawArrays(TRIANGLES, 0, 6)
    gl.PolygonMode(0x408, 0x1B02)
    # The second is behind the first but for its offset.
    t.next(), gl.Enable(0x0B71), gl.Enable(0x8037), gl.DrawArrays(TRIANGLES, 0, 3)
    gl.PolygonOffset(-1.0, -40.0), vertices(4, 4, data=square(z=0.000002, color=BLUE, scale=0.6)), gl.DrawArrays(STRIP, 0, 4)
    gl.Disable(0x8037), gl.Disable(0x0B71)
    t.next(), gl.Enable(0x0B42), gl.PolygonStipple(bytes((0xF0 if i // 4 % 2 else 0xCC) for i in range(128)))
    gl.DrawArrays(STRIP, 0, 4), gl.Disable(0x0B42)
    # Edges of which some are none, by the fixed pipeline.
    t.next(), gl.UseProgram(0), gl.PolygonMode(0x408, 0x1B01), gl.Color4f(*WHITE)
    gl.DisableVertexAttribArray(0), gl.DisableVertexAttribArray(1)
    gl.Begin(POLYGON)
    for (x, y), flag in zip([(-0.8, -0.8), (0.8, -0.8), (0.8, 0.8), (-0.8, 0.8)], [1, 0, 1, 1]):
        gl.EdgeFlag(flag), gl.Vertex2f(x, y)
    gl.End()
    return t


def lines():
    """Lines and points: widths, stipple, sizes of vertices, sprites."""
    t = Target(4, 2, (20, 16))
    program(vs=PASS, fs=SHOW)
    star = [(0.9, 0.1), (0.7, 0.8), (-0.3, 0.9), (-0.85, 0.25), (-0.7, -0.6), (0.05, -0.95), (0.8, -0.45)]
    rays = corners(*[v for at in star for v in ((0.02, 0.03, WHITE), (*at, RED))])
    for width in [1.0, 3.0]:
        t.next(), gl.LineWidth(width), vertices(4, 4, data=rays), gl.DrawArrays(LINES, 0, 14)
    t.next(), gl.LineWidth(1.0), gl.Enable(0x0B24), gl.LineStipple(2, 0x5F33)
    vertices(4, 4, data=corners(*[(*at, GREEN) for at in star])), gl.DrawArrays(LOOP, 0, 7), gl.Disable(0x0B24)
    for size in [1.0, 2.0, 4.0]:
        t.next(), gl.PointSize(size), vertices(4, 4, data=corners(*[(*at, BLUE) for at in star])), gl.DrawArrays(POINTS, 0, 7)
    t.next(), gl.Enable(0x8861), gl.Enable(0x8642)
    program(vs="""layout(location=0) in vec4 p; void main() { gl_Position = p; gl_PointSize = 3.5 + 2.5 * p.x; }""",
            fs="out vec4 o; void main() { o = vec4(gl_PointCoord, 0, 1); }")
    gl.DrawArrays(POINTS, 0, 7)
    t.next(), gl.PointParameteri(0x8CA0, 0x8CA1), gl.DrawArrays(POINTS, 0, 7)
    return t


def samples():
    """2, 4 and 8 samples: coverage, masks, alpha, one run a sample, resolves, single samples."""
    t = Target(4, 2)
    triangle = corners((-0.9, -0.8, RED), (0.95, -0.5, GREEN), (-0.3, 0.9, (0.0, 0.0, 1.0, 0.4)))
    for count, case in [(2, ""), (4, ""), (8, ""), (4, "mask"), (4, "alpha"), (4, "each"), (4, "fetch"), (8, "program")]:
        many = made("Textures")
        most = ctypes.c_int()
        gl.GetIntegerv(0x910E, ctypes.byref(most))
        gl.BindTexture(MULTISAMPLE, many)
        gl.TexImage2DMultisample(MULTISAMPLE, count if count <= most.value else most.value, RGBA8, 16, 12, 1)
        name = made("Framebuffers")
        gl.BindFramebuffer(FRAMEBUFFER, name)
        gl.FramebufferTexture2D(FRAMEBUFFER, ATTACHMENT, MULTISAMPLE, many, 0)
        gl.Viewport(0, 0, 16, 12), gl.Clear(COLOR)
        program(vs=PASS, fs={
            "each": "in vec4 v; out vec4 o; void main() { o = vec4(gl_SampleID & 1, gl_SampleID >> 1, gl_SamplePosition.x, 1); }",
            "program": "in vec4 v; out vec4 o; void main() { o = v; gl_SampleMask[0] = 0x5A & gl_SampleMaskIn[0]; }",
        }.get(case, "centroid in vec4 v; out vec4 o; void main() { o = v; }"), ) if case in ("each", "program") else program(
            vs=PASS.replace("out vec4", "centroid out vec4"), fs="centroid in vec4 v; out vec4 o; void main() { o = v; }")
        vertices(4, 4, data=triangle)
        if case == "mask":
            gl.Enable(0x8E51), gl.SampleMaski(0, 0b1010)
        if case == "alpha":
            gl.Enable(0x809E)
        gl.DrawArrays(TRIANGLES, 0, 3)
        gl.Disable(0x8E51), gl.Disable(0x809E)
        t.next()
        if case == "fetch":
            program(vs=PASS, fs="""uniform sampler2DMS t; out vec4 o;
                void main() { o = texelFetch(t, ivec2(gl_FragCoord.xy) % ivec2(16, 12), 2); }""")
            vertices(4, 4, data=square()), gl.DrawArrays(STRIP, 0, 4)
            continue
        n = t.count - 1
        x, y = n % 4 * 16, n // 4 * 12
        gl.BindFramebuffer(READ, name), gl.BlitFramebuffer(0, 0, 16, 12, x, y, x + 16, y + 12, COLOR, 0x2600)
    return t


def tests():
    """Depth, stencil, alpha, depths of programs, early tests, formats of depth."""
    t = Target(4, 3)
    program(vs=PASS, fs=SHOW)
    slanted = [*(-1.0, -1.0, -0.9, 1.0), *RED, *(1.0, -1.0, 0.9, 1.0), *RED, *(-1.0, 1.0, -0.3, 1.0), *GREEN,
               *(1.0, 1.0, 0.4, 1.0), *GREEN]
    gl.Enable(0x0B71)
    for func in [0x201, 0x206, 0x205]:
        t.next(), gl.DepthFunc(0x207), vertices(4, 4, data=square(z=0.1, color=BLUE, scale=0.7)), gl.DrawArrays(STRIP, 0, 4)
        gl.DepthFunc(func), vertices(4, 4, data=slanted), gl.DrawArrays(STRIP, 0, 4)
    gl.DepthFunc(0x201)
    for form, outer, kind in [(0x81A5, 0x1902, UINT), (0x8CAC, 0x1902, FLOAT), (0x8CAD, 0x84F9, 0x8DAD)]:
        depth = texture(TEX2D, form, (16, 12), outer=outer, kind=kind)
        color = texture(TEX2D, RGBA8, (16, 12))
        name = framebuffer(color, depth=(depth, outer == 0x84F9))
        gl.Viewport(0, 0, 16, 12), gl.Clear(COLOR | DEPTH | STENCIL)
        vertices(4, 4, data=square(z=0.1, color=BLUE, scale=0.7)), gl.DrawArrays(STRIP, 0, 4)
        vertices(4, 4, data=slanted), gl.DrawArrays(STRIP, 0, 4)
        t.next()
        x, y = (t.count - 1) % 4 * 16, (t.count - 1) // 4 * 12
        gl.BindFramebuffer(READ, name), gl.BlitFramebuffer(0, 0, 16, 12, x, y, x + 16, y + 12, COLOR, 0x2600)
    # The stencil of both sides.
    t.next(), gl.Enable(0x0B90), gl.Disable(0x0B71)
    gl.StencilFuncSeparate(0x404, 0x207, 3, 0xFF), gl.StencilOpSeparate(0x404, 0x1E00, 0x1E00, 0x1E01)
    gl.StencilFuncSeparate(0x405, 0x207, 0, 0xFF), gl.StencilOpSeparate(0x405, 0x1E00, 0x1E00, 0x8508)
    gl.ColorMask(0, 0, 0, 0)
    vertices(4, 4, data=corners((-1.0, -1.0), (0.6, -1.0), (-1.0, 0.6), (1.0, 1.0), (1.0, -0.6), (-0.6, 1.0)))
    gl.DrawArrays(TRIANGLES, 0, 3), gl.DrawArrays(TRIANGLES, 3, 3)
    gl.ColorMask(1, 1, 1, 1), gl.StencilOp(0x1E00, 0x1E00, 0x1E00)
    for value, color in [(3, RED), (0xFF, GREEN), (2, WHITE)]:
        gl.StencilFunc(0x202, value, 0xFF), vertices(4, 4, data=square(color=color)), gl.DrawArrays(STRIP, 0, 4)
    gl.Disable(0x0B90)
    # Alpha, by the fixed pipeline; the bounds of what is stored.
    t.next(), gl.Enable(0x0BC0), gl.AlphaFunc(0x204, 0.5)
    vertices(4, 4, data=corners((-1.0, -1.0, (1.0, 1.0, 0.0, 0.0)), (1.0, -1.0, (1.0, 1.0, 0.0, 1.0)),
                                (-1.0, 1.0, (1.0, 1.0, 0.0, 0.0)), (1.0, 1.0, (1.0, 1.0, 0.0, 1.0))))
    gl.DrawArrays(STRIP, 0, 4), gl.Disable(0x0BC0)
    t.next(), gl.Enable(0x0B71), gl.DepthFunc(0x207), vertices(4, 4, data=slanted), gl.DrawArrays(STRIP, 0, 4)
    vertices(4, 4, data=square(color=WHITE))
    if has("GL_EXT_depth_bounds_test"):
        gl.Enable(0x8890), gl.DepthBoundsEXT(ctypes.c_double(0.4), ctypes.c_double(0.7))
        gl.DrawArrays(STRIP, 0, 4), gl.Disable(0x8890)
    # Depths of the program; tests before it, which its discard does not undo.
    t.next(), gl.DepthFunc(0x201)
    program(vs=PASS, fs="in vec4 v; out vec4 o; void main() { o = v; gl_FragDepth = fract(gl_FragCoord.x / 16) * 0.9 + 0.05; }")
    gl.DrawArrays(STRIP, 0, 4), program(vs=PASS, fs=SHOW)
    vertices(4, 4, data=square(z=0.0, color=RED)), gl.DrawArrays(STRIP, 0, 4)
    t.next()
    program(vs=PASS, fs="""layout(early_fragment_tests) in; in vec4 v; out vec4 o;
        void main() { if (int(gl_FragCoord.y) % 4 < 2) discard; o = v; }""")
    gl.DrawArrays(STRIP, 0, 4), program(vs=PASS, fs=SHOW)
    vertices(4, 4, data=square(z=0.5, color=GREEN)), gl.DrawArrays(STRIP, 0, 4)
    return t


def blending():
    """Equations and factors, two sources, several targets, logic operations, masks, sRGB, formats."""
    t = Target(6, 4, (8, 6))
    tinted = corners((-1.0, -1.0, (1.0, 0.0, 0.5, 0.0)), (1.0, -1.0, (0.0, 1.0, 0.5, 1.0)), (-1.0, 1.0, (1.0, 0.5, 0.0, 0.3)),
                     (1.0, 1.0, (0.2, 0.4, 0.6, 0.8)))
    program(vs=PASS, fs=SHOW)
    vertices(4, 4, data=tinted)
    gl.Enable(0x0BE2), gl.BlendColor(0.25, 0.5, 0.75, 0.5)
    for equation, source, destination in [(0x8006, 0x302, 0x303), (0x8006, 1, 1), (0x800A, 1, 0x300), (0x800B, 0x306, 1),
                                          (0x8007, 1, 1), (0x8008, 1, 1), (0x8006, 0x308, 0x304), (0x8006, 0x8001, 0x8004)]:
        t.next(), gl.BlendEquation(equation), gl.BlendFunc(source, destination), gl.DrawArrays(STRIP, 0, 4)
    t.next(), gl.BlendEquationSeparate(0x8006, 0x8008), gl.BlendFuncSeparate(0x302, 1, 1, 0), gl.DrawArrays(STRIP, 0, 4)
    t.next(), gl.BlendEquation(0x8006), gl.BlendFunc(0x88F9, 0x88FA)
    program(vs=PASS, fs="""in vec4 v; layout(location=0, index=0) out vec4 a; layout(location=0, index=1) out vec4 b;
        void main() { a = v; b = vec4(0.25, 0.5, 0.75, 1); }""")
    gl.DrawArrays(STRIP, 0, 4), gl.Disable(0x0BE2), program(vs=PASS, fs=SHOW)
    for operation in [0x1506, 0x150C, 0x1508]:
        t.next(), gl.Enable(0x0BF2), gl.LogicOp(operation), gl.DrawArrays(STRIP, 0, 4), gl.Disable(0x0BF2)
    t.next(), gl.ColorMask(1, 0, 1, 0), gl.DrawArrays(STRIP, 0, 4), gl.ColorMask(1, 1, 1, 1)

    def shown(form, outer, kind, out="vec4", value="v", srgb=False, blend=False):
        """A target of another format, drawn as a texture then."""
        other = texture(TEX2D, form, (8, 6), outer=outer, kind=kind)
        framebuffer(other)
        gl.Viewport(0, 0, 8, 6)
        program(vs=PASS, fs=f"in vec4 v; out {out} o; void main() {{ o = {out}({value}); }}")
        if blend:
            gl.Enable(0x0BE2), gl.BlendFunc(0x302, 0x303), gl.Clear(COLOR)
        if srgb:
            gl.Enable(0x8DB9)
        gl.DrawArrays(STRIP, 0, 4), gl.Disable(0x0BE2), gl.Disable(0x8DB9)
        t.next()
        kind = {"vec4": "", "uvec4": "u", "ivec4": "i"}[out]
        program(vs=PASS, fs=f"""uniform {kind}sampler2D t; out vec4 o;
            void main() {{ o = vec4(texelFetch(t, ivec2(gl_FragCoord.xy) % ivec2(8, 6), 0)){"" if not kind else " / 100.0"}; }}""")
        gl.DrawArrays(STRIP, 0, 4)

    shown(0x8C43, RGBA, UBYTE, srgb=True, blend=True)
    shown(0x881A, RGBA, FLOAT, blend=True)
    shown(0x8C3A, 0x1907, FLOAT)
    shown(0x8059, RGBA, UBYTE, blend=True)
    shown(0x8D62, 0x1907, UBYTE)
    shown(0x8F97, RGBA, UBYTE, value="v * 2 - 1")
    shown(0x8D88, 0x8D99, SHORT, "ivec4", "v * 150 - 50")
    shown(0x8D7C, 0x8D99, UBYTE, "uvec4", "v * 150")
    shown(0x8814, RGBA, FLOAT, blend=True)
    # Two targets with blending of their own.
    one, two = [texture(TEX2D, RGBA8, (8, 6)) for _ in range(2)]
    framebuffer(one, two)
    gl.Viewport(0, 0, 8, 6), gl.Clear(COLOR)
    program(vs=PASS, fs="""in vec4 v; layout(location=0) out vec4 a; layout(location=1) out vec4 b;
        void main() { a = v; b = vec4(v.a); }""")
    gl.Enablei(0x0BE2, 1), gl.BlendFunci(1, 1, 1), gl.ColorMaski(0, 1, 1, 0, 1), gl.DrawArrays(STRIP, 0, 4)
    gl.Disablei(0x0BE2, 1), gl.ColorMaski(0, 1, 1, 1, 1)
    t.next()
    gl.ActiveTexture(0x84C1), gl.BindTexture(TEX2D, one), gl.ActiveTexture(0x84C0), gl.BindTexture(TEX2D, two)
    program(vs=PASS, fs="""uniform sampler2D t, s; out vec4 o; void main() { ivec2 at = ivec2(gl_FragCoord.xy) % ivec2(8, 6);
        o = texelFetch(t, at, 0) * 0.5 + texelFetch(s, at, 0) * 0.5; }""")
    uniform("s", 1), gl.DrawArrays(STRIP, 0, 4)
    return t


def targets():
    """Slices of a volume, faces of a cube, levels, an odd size above 128 rows, and no target at all."""
    t = Target(3, 2)
    vertices(4, 4, data=corners((-1.0, -1.0, RED), (1.0, -1.0, GREEN), (-1.0, 1.0, BLUE), (1.0, 1.0, WHITE)))

    def shown(kind, value):
        t.next()
        program(vs=PASS, fs=f"uniform {kind} t; in vec4 v; out vec4 o; void main() {{ vec2 s = mod(gl_FragCoord.xy, vec2(16, 12)) / vec2(16, 12); o = {value}; }}")
        gl.DrawArrays(STRIP, 0, 4)

    volume = texture(TEX3D, RGBA8, (7, 5, 4))
    for slice_number in [1, 3]:
        name = made("Framebuffers")
        gl.BindFramebuffer(FRAMEBUFFER, name)
        gl.FramebufferTextureLayer(FRAMEBUFFER, ATTACHMENT, volume, 0, slice_number)
        gl.Viewport(0, 0, 7, 5), gl.Clear(COLOR)
        program(vs=PASS, fs=SHOW), gl.DrawArrays(TRIANGLES, slice_number // 3, 3)
    shown("sampler3D", "texelFetch(t, ivec3(s * vec2(7, 5), s.x > 0.5 ? 3 : 1), 0)")
    cube = made("Textures")
    gl.BindTexture(CUBE, cube)
    for face in range(6):
        gl.TexImage2D(0x8515 + face, 0, RGBA8, 8, 8, 0, RGBA, UBYTE, P(0))
    gl.TexParameteri(CUBE, 0x2800, 0x2600), gl.TexParameteri(CUBE, 0x2801, 0x2600)
    for face in [0, 3, 4]:
        name = made("Framebuffers")
        gl.BindFramebuffer(FRAMEBUFFER, name)
        gl.FramebufferTexture2D(FRAMEBUFFER, ATTACHMENT, 0x8515 + face, cube, 0)
        gl.Viewport(0, 0, 8, 8), gl.ClearColor(face / 5, 0.5, 0.0, 1.0), gl.Clear(COLOR)
        program(vs=PASS, fs=SHOW), gl.DrawArrays(TRIANGLES, 0, 3)
    shown("samplerCube", "texture(t, s.x < 0.33 ? vec3(1, 2 * s - 1) : s.x < 0.67 ? vec3(2 * s.x - 1, -1, 2 * s.y - 1) : vec3(2 * s - 1, 1))")
    levels = texture(TEX2D, RGBA8, (20, 12))
    for level in range(1, 5):
        gl.TexImage2D(TEX2D, level, RGBA8, max(20 >> level, 1), max(12 >> level, 1), 0, RGBA, UBYTE, P(0))
    for level in range(5):
        name = made("Framebuffers")
        gl.BindFramebuffer(FRAMEBUFFER, name)
        gl.FramebufferTexture2D(FRAMEBUFFER, ATTACHMENT, TEX2D, levels, level)
        gl.Viewport(0, 0, max(20 >> level, 1), max(12 >> level, 1)), program(vs=PASS, fs=SHOW), gl.DrawArrays(STRIP, 0, 4)
    gl.TexParameteri(TEX2D, 0x2801, 0x2700)
    shown("sampler2D", "textureLod(t, s, floor(s.x * 5))")
    tall = texture(TEX2D, RGBA8, (9, 141))
    framebuffer(tall), gl.Viewport(0, 0, 9, 141), gl.Clear(COLOR)
    program(vs=PASS, fs=SHOW), gl.DrawArrays(TRIANGLES, 0, 3)
    shown("sampler2D", "texelFetch(t, ivec2(s * vec2(9, 141)), 0)")
    # None: fragments leave their places in an image.
    image = texture(TEX2D, 0x8236, (16, 12), outer=0x8D94, kind=UINT, data=bytes(16 * 12 * 4))
    name = made("Framebuffers")
    gl.BindFramebuffer(FRAMEBUFFER, name)
    gl.FramebufferParameteri(FRAMEBUFFER, 0x9310, 16), gl.FramebufferParameteri(FRAMEBUFFER, 0x9311, 12)
    gl.Viewport(0, 0, 16, 12), gl.BindImageTexture(0, image, 0, 0, 0, 0x88BA, 0x8236)
    program(vs=PASS, fs="""layout(r32ui, binding=0) uniform uimage2D i; void main() {
        imageAtomicAdd(i, ivec2(gl_FragCoord.xy), uint(gl_FragCoord.x) + 1u); }""")
    gl.DrawArrays(TRIANGLES, 0, 3), gl.DrawArrays(TRIANGLES, 0, 3), gl.MemoryBarrier(0xFFFFFFFF)
    shown("usampler2D", "vec4(texelFetch(t, ivec2(s * vec2(16, 12)), 0)) / 32.0")
    return t


def queries():
    """Counters as bars: samples, primitives, what feedback wrote, pipeline statistics; and conditional draws."""
    t = Target(1, 1, (40, 30))
    program(vs=PASS, fs=SHOW)
    vertices(4, 4, data=corners((-0.5, -0.5, RED), (0.0, -0.5, RED), (-0.5, 0.0, RED), (0.0, 0.0, RED)))
    bars = []

    def counted(what, draw, index=0):
        query = made("Queries")
        gl.BeginQueryIndexed(what, index, query), draw(), gl.EndQueryIndexed(what, index)
        value = ctypes.c_uint()
        gl.GetQueryObjectuiv(query, 0x8866, ctypes.byref(value))
        bars.append(value.value)
        return query

    strip = lambda: gl.DrawArrays(STRIP, 0, 4)
    t.next()
    hit = counted(0x8914, strip)
    gl.Enable(0x0B71), gl.DepthFunc(0x200)
    missed = counted(0x8914, strip)
    gl.DepthFunc(0x207), gl.Disable(0x0B71)
    counted(0x8C2F, strip), counted(0x8C87, strip)
    for what in [0x82EE, 0x82EF, 0x82F0, 0x82F6, 0x82F7, 0x82F4]:
        counted(what, strip)
    feedback_program = program(capture=["v"], vs=PASS, fs=SHOW)
    gl.BindBufferBase(FEEDBACK, 0, buffer(FEEDBACK, floats(*[0.0] * 16)))
    gl.BeginTransformFeedback(4), counted(0x8C88, strip), gl.EndTransformFeedback()
    # Draws that a query allows, and that it does not.
    vertices(4, 4, data=square(color=GREEN, scale=0.3))
    gl.BeginConditionalRender(hit, 0x8E13), strip(), gl.EndConditionalRender()
    vertices(4, 4, data=square(color=BLUE, scale=0.2))
    gl.BeginConditionalRender(missed, 0x8E13), strip(), gl.EndConditionalRender()
    gl.Enable(0x0C11), gl.ClearColor(*WHITE)
    for n, bar in enumerate(bars):
        gl.Scissor(0, 2 * n, min(bar, 40), 1), gl.Clear(COLOR)
    gl.Disable(0x0C11)
    assert feedback_program
    return t


def blits():
    """Copies that scale, turn over, filter and convert, mipmaps, depth, bitmaps and pixels."""
    t = Target(4, 3)
    source = texture(TEX2D, RGBA8, (13, 9), bytes((i * 29 + c * 70) & 255 for i in range(117) for c in range(4)))
    name = framebuffer(source)

    def blit(box, place=(0, 0, 16, 12), mask=COLOR, filters=0x2600, of=None):
        t.next()
        x, y = (t.count - 1) % 4 * 16, (t.count - 1) // 4 * 12
        gl.BindFramebuffer(READ, of or name)
        gl.BlitFramebuffer(*box, x + place[0], y + place[1], x + place[2], y + place[3], mask, filters)

    blit((0, 0, 13, 9), (1, 1, 14, 10))
    blit((0, 0, 13, 9), (14, 10, 1, 1))
    blit((0, 0, 13, 9))
    blit((2, 1, 11, 8), filters=0x2601)
    blit((13, 0, 0, 9), (2, 2, 9, 7), filters=0x2601)
    # Levels made by the driver.
    t.next()
    levels = texture(TEX2D, RGBA8, (16, 12), bytes((i * 53 + c * 90) & 255 for i in range(192) for c in range(4)))
    gl.GenerateMipmap(TEX2D), gl.TexParameteri(TEX2D, 0x2801, 0x2700)
    program(vs=PASS, fs="""uniform sampler2D t; out vec4 o; void main() { vec2 s = mod(gl_FragCoord.xy, vec2(16, 12));
        o = texelFetch(t, ivec2(s) >> int(s.x / 6), int(s.x / 6)); }""")
    vertices(4, 4, data=square()), gl.DrawArrays(STRIP, 0, 4)
    # A half float target, read by conversion; a copy of the picture into a texture.
    wide = texture(TEX2D, 0x881A, (13, 9), outer=RGBA, kind=FLOAT)
    other = framebuffer(wide)
    gl.BindFramebuffer(READ, name), gl.BlitFramebuffer(0, 0, 13, 9, 0, 0, 13, 9, COLOR, 0x2600)
    blit((0, 0, 13, 9), (0, 0, 13, 9), of=other)
    t.next(), gl.BindFramebuffer(READ, t.name), gl.BindTexture(TEX2D, levels)
    gl.TexImage2D(TEX2D, 0, 0x8D62, 16, 12, 0, 0x1907, UBYTE, P(0))
    gl.CopyTexSubImage2D(TEX2D, 0, 0, 0, 32, 0, 16, 12)
    program(vs=PASS, fs="""uniform sampler2D t; out vec4 o;
        void main() { o = texelFetch(t, ivec2(mod(gl_FragCoord.xy, vec2(16, 12))), 0); }""")
    gl.DrawArrays(STRIP, 0, 4)
    # The depth of one framebuffer, tested in another.
    depth = texture(TEX2D, 0x88F0, (16, 12), outer=0x84F9, kind=0x84FA)
    deep = framebuffer(texture(TEX2D, RGBA8, (16, 12)), depth=(depth, True))
    gl.Viewport(0, 0, 16, 12), gl.Clear(COLOR | DEPTH), gl.Enable(0x0B71), program(vs=PASS, fs=SHOW)
    vertices(4, 4, data=square(z=-0.5, scale=0.5)), gl.DrawArrays(STRIP, 0, 4)
    blit((0, 0, 16, 12), mask=DEPTH, of=deep)
    vertices(4, 4, data=square(z=0.0, color=RED)), gl.DrawArrays(STRIP, 0, 4), gl.Disable(0x0B71)
    # The fixed pipeline's pixels.
    t.next(), gl.UseProgram(0), gl.WindowPos2i((t.count - 1) % 4 * 16 + 2, (t.count - 1) // 4 * 12 + 2)
    gl.DrawPixels(6, 5, RGBA, UBYTE, bytes((i * 41) & 255 for i in range(120)))
    gl.Color4f(*GREEN), gl.WindowPos2i((t.count - 1) % 4 * 16 + 9, (t.count - 1) // 4 * 12 + 3)
    gl.Bitmap(6, 4, 0.0, 0.0, 0.0, 0.0, bytes([0xA8, 0x54, 0xFC, 0x84]))
    t.next(), gl.WindowPos2i((t.count - 1) % 4 * 16, (t.count - 1) // 4 * 12), gl.CopyPixels(0, 0, 16, 12, 0x1800)
    return t


SCENES = [draws, attributes, programs, tessellation, geometry, assembly, feedback, clipping, polygons, lines, samples, tests,
          blending, targets, queries, blits]

if __name__ == "__main__":
    scene = {s.__name__: s for s in SCENES}[sys.argv[1]]
    context()
    size, pixels = scene().picture()
    finish()
    if len(sys.argv) > 2:
        with open(sys.argv[2], "wb") as out:
            out.write(b"P6 %d %d 255\n" % size)
            rows = [pixels[4 * size[0] * y:4 * size[0] * (y + 1)] for y in range(size[1] - 1, -1, -1)]
            texels = [row[i:i + 4] for row in rows for i in range(0, len(row), 4)]
            out.write(b"".join(x[:3] for x in texels) + bytes(x[3] for x in texels))
