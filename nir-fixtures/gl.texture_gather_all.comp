#version 430
layout(local_size_x = 16, local_size_y = 1, local_size_z = 1) in;
layout(binding = 0) uniform sampler2D a; layout(binding = 1) uniform sampler2DArray b; layout(binding = 2) uniform isampler2D c; layout(binding = 3) uniform sampler2DShadow s;
layout(std430, binding = 0) buffer O { vec4 o[]; };
layout(std430, binding = 1) readonly buffer I { vec4 v[]; };
void main() { uint g = gl_GlobalInvocationID.x; vec4 x = v[g]; o[g * 6u] = textureGather(a, x.xy); o[g * 6u + 1u] = textureGather(a, x.xy, 2) + textureGatherOffset(a, x.zw, ivec2(1, -1), 1); o[g * 6u + 2u] = textureGather(b, vec3(x.xy, 1.0), 3); o[g * 6u + 3u] = vec4(textureGather(c, x.yx, 1)); o[g * 6u + 4u] = textureGatherOffsets(a, x.xy, ivec2[4](ivec2(0, 1), ivec2(-1, 0), ivec2(2, 2), ivec2(1, -2)), 0); o[g * 6u + 5u] = textureGather(s, x.xy, 0.5); }
