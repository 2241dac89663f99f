#version 430
layout(local_size_x = 4, local_size_y = 4, local_size_z = 1) in;
layout(rgba8ui, binding = 0) uniform uimage2D a[4]; layout(rgba32f, binding = 4) writeonly uniform image2D d[2];
layout(std430, binding = 0) readonly buffer I { uint v[]; };
void main() { ivec2 p = ivec2(gl_GlobalInvocationID.xy); uint s = v[p.x + p.y * 4]; uvec4 t = imageLoad(a[s & 3u], p) + imageLoad(a[(s >> 2) & 3u], p.yx); ivec2 z = imageSize(a[s >> 4 & 3u]); imageStore(d[s & 1u], p, vec4(t) + vec4(z, z)); imageStore(a[3], ivec2(9, p.x), uvec4(3)); }
