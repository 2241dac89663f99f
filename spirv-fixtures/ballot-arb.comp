#version 450
#extension GL_ARB_shader_ballot : require
#extension GL_ARB_shader_group_vote : require
#extension GL_ARB_gpu_shader_int64 : require
layout(local_size_x = 32) in;
layout(std430, binding = 0) buffer O { uint o[]; };
layout(std430, binding = 1) readonly buffer I { uint v[]; };
void main() {
  uint l = gl_LocalInvocationIndex, x = v[l];
  uint64_t b = ballotARB((x & 1u) == 1u);
  uint r = uint(b) ^ uint(b >> 32);
  r += readFirstInvocationARB(x) * 3u + readInvocationARB(x, 5u) * 7u;
  r += (anyInvocationARB(x == 3u) ? 1u : 0u) + (allInvocationsARB(x < 1000u) ? 2u : 0u) + (allInvocationsEqualARB((x & 1u) == 1u) ? 4u : 0u);
  r += uint(gl_SubGroupLtMaskARB);
  o[l] = r;
}
