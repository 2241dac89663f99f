#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
layout(local_size_x = 8) in;
layout(set = 0, binding = 0, std430) buffer O { int o[]; };
layout(push_constant) uniform P { int8_t a[4]; uint16_t b[3]; uint8_t c; int16_t d; } p;
void main() {
  uint l = gl_LocalInvocationIndex;
  o[l] = int(p.a[l & 3u]) * 1000 + int(p.b[l % 3u]) + int(p.c) + int(p.d);
}
