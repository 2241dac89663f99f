#version 450
#extension GL_EXT_shader_image_load_formatted : enable
// Stores without a format; the driver's descriptor has it.
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) writeonly uniform image2D i;
void main() { uint l = gl_LocalInvocationIndex; imageStore(i, ivec2(l & 3u, l >> 2), vec4(float(l), float(l) * 2.0, -1.0, 0.5)); }
