#version 450
// OpenGL's atomic counters lie behind all storage buffers.
layout(local_size_x = 32) in;
layout(binding = 0, offset = 4) uniform atomic_uint c;
layout(std430, binding = 0) buffer O { uint o[]; };
void main() {
  uint a = atomicCounterIncrement(c);
  memoryBarrier(); barrier();
  o[gl_LocalInvocationIndex] = atomicCounter(c);
  barrier();
  if (gl_LocalInvocationIndex < 4u) atomicCounterDecrement(c);
  o[32u + a] = 1u;
}
