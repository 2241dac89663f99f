#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
// A flag in a buffer hands over what another block stored before.
layout(local_size_x = 32) in;
layout(set = 0, binding = 0, std430) buffer O { uint o[]; };
layout(set = 0, binding = 1, std430) buffer D { uint flag; uint data[32]; } d;
void main() {
  uint l = gl_LocalInvocationIndex;
  d.data[l] = l * l;
  memoryBarrier(gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsAcquireRelease);
  atomicAdd(d.flag, 1u, gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsRelease);
  controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsBuffer, gl_SemanticsAcquireRelease);
  uint n = atomicLoad(d.flag, gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsAcquire);
  o[l] = d.data[31u - l] + n;
}
