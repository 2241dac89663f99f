#version 430
#extension GL_ARB_shader_ballot : require
layout(local_size_x = 64, local_size_y = 1, local_size_z = 1) in;
layout(std430, binding = 0) buffer O { uint o[]; };
layout(std430, binding = 1) readonly buffer I { uint v[]; };

uint up(uint x, uint d) { uint l = gl_SubGroupInvocationARB; return readInvocationARB(x, l >= d ? l - d : l); }
void main() { uint g = gl_GlobalInvocationID.x; uint x = v[g] & 0xffffu; for (uint d = 1u; d < 32u; d <<= 1) { uint y = up(x, d); if (gl_SubGroupInvocationARB >= d) x += y; } o[g] = x; }
