#version 430
layout(local_size_x = 8, local_size_y = 4, local_size_z = 2) in;
layout(std430, binding = 0) buffer O { uint o[]; };
layout(std430, binding = 1) readonly buffer I { uint v[]; };

shared uint u[16]; shared int s[4]; 
void main() { uint g = gl_LocalInvocationIndex; if (g < 16u) u[g] = (g == 1u || g == 3u) ? 0xffffffffu : 0u; if (g < 4u) s[g] = 0; barrier(); uint x = v[g];
 atomicAdd(u[0], x); atomicMin(u[1], x); atomicMax(u[2], x); atomicAnd(u[3], x | 0xffffu); atomicOr(u[4], x & 0xff00ffu); atomicXor(u[5], x); atomicMin(s[0], int(x)); atomicMax(s[1], int(x)); atomicAdd(s[2], -int(g)); uint old = atomicAdd(u[6], 1u); atomicOr(u[7 + (old >> 5)], 1u << (old & 31u));
 if (atomicCompSwap(u[9], 0u, 77u) == 0u) atomicAdd(u[10], 1u); if (atomicExchange(u[11], 1u) == 0u) u[12] = 123u; if ((g & 3u) == 0u) atomicAdd(u[13 + (g & 1u)], g);
 barrier(); if (g < 16u) o[g] = u[g]; else if (g < 20u) o[g] = uint(s[g - 16u]); }
