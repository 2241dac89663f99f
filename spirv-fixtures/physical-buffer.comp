#version 460
#extension GL_EXT_buffer_reference : require
// A list whose cells hold the address of the next; the module is compiled for Vulkan 1.2.
layout(local_size_x = 32) in;
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Cell { uint v[8]; };
layout(push_constant) uniform P { Cell data; Cell result; uint n; } p;
void main() {
  uint g = gl_GlobalInvocationID.x;
  Cell d = p.data;
  uint s = 0u;
  for (uint i = 0u; i < p.n; i++) s = s * 3u + d.v[(g + i) & 7u];
  if ((g & 1u) == 1u) d = p.result;
  p.result.v[g & 7u] = 0u;
  barrier();
  atomicAdd(p.result.v[g & 7u], s);
}
