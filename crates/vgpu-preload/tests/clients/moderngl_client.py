"""A compute client of OpenGL through moderngl: transposes in shared memory, counts by atomics, many launches, an image."""

import struct

import moderngl

ctx = moderngl.create_context(standalone=True, backend="egl", require=430)
assert ctx.info["GL_RENDERER"].startswith("NV"), ctx.info["GL_RENDERER"]


def words(data):
    return list(struct.unpack(f"{len(data) // 4}I", data))


# A transposition of 64 x 64 in tiles of 16 x 16.
n = 64
transpose = ctx.compute_shader("""
#version 430
layout(local_size_x = 16, local_size_y = 16) in;
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) writeonly buffer B { uint b[]; };
uniform uint n;
shared uint tile[16][17];
void main() {
    uvec2 l = gl_LocalInvocationID.xy, g = gl_WorkGroupID.xy * 16u;
    tile[l.y][l.x] = a[(g.y + l.y) * n + g.x + l.x];
    barrier();
    b[(g.x + l.y) * n + g.y + l.x] = tile[l.x][l.y];
}
""")
source = [(i * 2654435761) & 0xFFFFFFFF for i in range(n * n)]
a, b = ctx.buffer(struct.pack(f"{n * n}I", *source)), ctx.buffer(reserve=4 * n * n)
a.bind_to_storage_buffer(0)
b.bind_to_storage_buffer(1)
transpose["n"].value = n
transpose.run(n // 16, n // 16, 1)
assert words(b.read()) == [source[x * n + y] for y in range(n) for x in range(n)]

# A histogram, summed over launches.
histogram = ctx.compute_shader("""
#version 430
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) buffer B { uint b[]; };
void main() { atomicAdd(b[a[gl_GlobalInvocationID.x] >> 28], 1u); }
""")
counts = ctx.buffer(reserve=64)
counts.clear()
counts.bind_to_storage_buffer(1)
for _ in range(200):
    histogram.run(n * n // 64, 1, 1)
assert words(counts.read()) == [200 * sum(v >> 28 == i for v in source) for i in range(16)]

# An image that is written and read back as a texture.
image = ctx.texture((32, 16), 4, dtype="f4")
image.bind_to_image(0, read=False, write=True)
ctx.compute_shader("""
#version 430
layout(local_size_x = 8, local_size_y = 8) in;
layout(rgba32f, binding = 0) writeonly uniform image2D i;
void main() { ivec2 p = ivec2(gl_GlobalInvocationID.xy); imageStore(i, p, vec4(p, p.x * p.y, 0.5)); }
""").run(4, 2, 1)
got = struct.unpack("2048f", image.read())
assert list(got) == [float(v) for y in range(16) for x in range(32) for v in (x, y, x * y, 0.5)]
print("ok")
