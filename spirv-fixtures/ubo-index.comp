#version 450
#extension GL_EXT_nonuniform_qualifier : require
layout(local_size_x = 16) in;
layout(set = 0, binding = 0, std430) buffer O { uint o[]; };
layout(set = 0, binding = 0, std140) uniform U { uvec4 u; } us[3];
layout(set = 0, binding = 2, std430) readonly buffer S { uint s[4]; } ss[2];
void main() {
  uint l = gl_LocalInvocationIndex;
  o[l] = us[nonuniformEXT(l % 3u)].u[l & 3u] + ss[nonuniformEXT(l & 1u)].s[(l >> 1) & 3u];
}
