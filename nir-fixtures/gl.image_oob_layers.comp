#version 430
layout(local_size_x = 8, local_size_y = 8, local_size_z = 1) in;
layout(rg16ui, binding = 0) uniform uimage2DArray a; layout(r8ui, binding = 1) uniform uimage3D b;
layout(std430, binding = 0) buffer O { uint o[]; };
void main() { ivec3 p = ivec3(gl_GlobalInvocationID) - 2; uint i = gl_GlobalInvocationID.x + 8u * gl_GlobalInvocationID.y + 64u * gl_GlobalInvocationID.z; uvec4 t = imageLoad(a, p), u = imageLoad(b, p.zyx); o[i] = t.x + (t.y << 8) + (u.x << 16); imageStore(a, p, uvec4(7, 8, 9, 10)); }
