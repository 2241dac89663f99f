#version 430
layout(local_size_x = 8, local_size_y = 1, local_size_z = 1) in;
layout(std430, binding = 0) buffer O { uint o[]; };
layout(std430, binding = 1) readonly buffer I { uint v[]; };

void main() { uint g = gl_GlobalInvocationID.x; uint a[8], b[8], r[16]; for (int i = 0; i < 8; i++) { a[i] = v[g * 16u + uint(i)]; b[i] = v[g * 16u + 8u + uint(i)]; } for (int i = 0; i < 16; i++) r[i] = 0u;
 for (int i = 0; i < 8; i++) { uint c = 0u; for (int j = 0; j < 8; j++) { uint hi, lo, k1, k2; umulExtended(a[i], b[j], hi, lo); lo = uaddCarry(lo, r[i + j], k1); lo = uaddCarry(lo, c, k2); r[i + j] = lo; c = hi + k1 + k2; } r[i + 8] = c; } for (int i = 0; i < 16; i++) o[g * 16u + uint(i)] = r[i]; }
