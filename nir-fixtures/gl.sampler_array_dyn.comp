#version 430
layout(local_size_x = 32, local_size_y = 1, local_size_z = 1) in;
layout(binding = 0) uniform sampler2D a[4]; layout(binding = 4) uniform usampler2D b[3];
layout(std430, binding = 0) buffer O { vec4 o[]; };
layout(std430, binding = 1) readonly buffer I { uint v[]; };
void main() { uint g = gl_GlobalInvocationID.x; uint s = v[g]; ivec2 p = ivec2(g & 3u, g >> 2 & 3u); o[g] = texelFetch(a[s & 3u], p, 0) + textureLod(a[(s >> 2) & 3u], vec2(p) * 0.25 + 0.1, 0.0) + vec4(texelFetch(b[(s >> 4) % 3u], p, 0)) + vec4(textureSize(a[s >> 7 & 3u], 0), textureSize(b[2], 0)); }
