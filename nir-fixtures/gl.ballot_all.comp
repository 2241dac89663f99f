#version 430
#extension GL_ARB_shader_ballot : require
#extension GL_ARB_shader_group_vote : require
#extension GL_ARB_gpu_shader_int64 : require
layout(local_size_x = 64, local_size_y = 1, local_size_z = 1) in;
layout(std430, binding = 0) buffer O { uint o[]; };
layout(std430, binding = 1) readonly buffer I { uint v[]; };

void main() { uint g = gl_GlobalInvocationID.x, x = v[g], k = g * 8u; uint64_t b = ballotARB((x & 1u) != 0u);
 o[k] = unpackUint2x32(b).x; o[k + 1] = uint(bitCount(unpackUint2x32(b & gl_SubGroupLtMaskARB).x)); o[k + 2] = readInvocationARB(x, 7u); o[k + 3] = readFirstInvocationARB(x);
 if ((x & 4u) != 0u) { o[k + 4] = readFirstInvocationARB(x); o[k + 5] = unpackUint2x32(ballotARB((x & 2u) != 0u)).x; } else { o[k + 5] = unpackUint2x32(ballotARB((x & 2u) != 0u)).x; o[k + 4] = readFirstInvocationARB(x); }
 o[k + 6] = uint(anyInvocationARB((x & 8u) != 0u)) | uint(allInvocationsARB((x & 8u) != 0u)) << 1 | uint(allInvocationsEqualARB((x & 8u) != 0u)) << 2 | gl_SubGroupInvocationARB << 8 | gl_SubGroupSizeARB << 16;
 o[k + 7] = unpackUint2x32(gl_SubGroupEqMaskARB ^ gl_SubGroupGeMaskARB ^ gl_SubGroupGtMaskARB ^ gl_SubGroupLeMaskARB ^ gl_SubGroupLtMaskARB).x; }
