#version 430
layout(local_size_x = 16, local_size_y = 1, local_size_z = 1) in;
layout(rgba8ui, binding = 0) uniform uimage2D a[2][3];
layout(std430, binding = 0) buffer O { uint o[]; };
layout(std430, binding = 1) readonly buffer I { uint v[]; };
void main() { uint g = gl_GlobalInvocationID.x; ivec2 p = ivec2(g & 3u, g >> 2 & 3u); uint s = v[g]; uvec4 t = imageLoad(a[s & 1u][(s >> 1) % 3u], p) + imageLoad(a[1][(s >> 4) % 3u], p.yx); o[g] = t.x + (t.y << 8) + (t.z << 16) + (t.w << 24); }
