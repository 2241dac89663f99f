#version 450
#extension GL_EXT_shader_image_load_formatted : require
// Loads without a format, which GF100 cannot.
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) uniform readonly image2D i;
layout(set = 0, binding = 0, std430) buffer O { vec4 o[]; };
void main() { uint l = gl_LocalInvocationIndex; o[l] = imageLoad(i, ivec2(l & 3u, l >> 2)) * 2.0; }
