#version 430
layout(local_size_x = 4, local_size_y = 4, local_size_z = 1) in;
layout(binding = 0) uniform sampler2D a; layout(binding = 1) uniform sampler3D b; layout(binding = 2) uniform usampler2DArray c; layout(binding = 3) uniform isamplerBuffer d; layout(binding = 4) uniform sampler1D e; layout(binding = 5) uniform sampler1DArray f; layout(binding = 6) uniform sampler2DRect h;
layout(std430, binding = 0) buffer O { vec4 o[]; };
void main() { ivec3 p = ivec3(gl_GlobalInvocationID); int i = p.x + 4 * p.y; int l = p.y & 1; 
 vec4 r = texelFetch(a, p.xy >> l, l) + texelFetchOffset(a, p.xy & 1, 0, ivec2(1, 2)); r += texelFetch(b, ivec3(p.xy, i & 3), 0) * 2.0; r += vec4(texelFetch(c, ivec3(p.xy, i % 3), 0)); r += vec4(texelFetch(d, i)); r += texelFetch(e, p.x, 0); r += texelFetch(f, ivec2(p.x, p.y), 0); r += texelFetch(h, p.xy);
 o[2 * i] = r; o[2 * i + 1] = vec4(textureSize(a, l), textureSize(b, 0).z + textureSize(c, 0).z * 10 + textureSize(d) * 100 + textureSize(e, 0) * 1000, textureSize(f, 0).y + textureSize(h).x * 10 + textureQueryLevels(a) * 100); }
