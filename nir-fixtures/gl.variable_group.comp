#version 430
#extension GL_ARB_compute_variable_group_size : require
layout(local_size_variable) in;
layout(std430, binding = 0) buffer O { uint o[]; };
shared uint t[256];
void main() { uint l = gl_LocalInvocationIndex; t[l] = l * gl_LocalGroupSizeARB.x; barrier(); uint n = gl_LocalGroupSizeARB.x * gl_LocalGroupSizeARB.y * gl_LocalGroupSizeARB.z; uvec3 g = gl_GlobalInvocationID; o[(gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x) * n + l] = t[n - 1u - l] + g.x * 10u + g.y * 1000u + g.z * 100000u; }
