#version 430
layout(local_size_x = 32, local_size_y = 1, local_size_z = 1) in;
layout(std430, binding = 0) buffer B { uint n; uint d[]; } b[4];
layout(std430, binding = 4) readonly buffer I { uint v[]; };
void main() { uint g = gl_GlobalInvocationID.x; uint i = v[g] & 3u, j = (v[g] >> 2) & 3u; uint x = b[i].d[g] + uint(b[j].d.length()); atomicAdd(b[(g >> 2) & 3u].n, x & 15u); b[g & 3u].d[g] = x * 3u; }
