#version 430
layout(local_size_x = 32, local_size_y = 1, local_size_z = 1) in;
layout(binding = 0) uniform sampler2DShadow a; layout(binding = 1) uniform sampler2DArrayShadow b; layout(binding = 2) uniform samplerCubeShadow c; layout(binding = 3) uniform sampler1DShadow d;
layout(std430, binding = 0) buffer O { vec4 o[]; };
layout(std430, binding = 1) readonly buffer I { vec4 v[]; };
void main() { uint g = gl_GlobalInvocationID.x; vec4 x = v[g]; float z = fract(x.z); o[g] = vec4(textureLod(a, vec3(x.xy, z), 0.0) + textureProjLod(a, vec4(x.xy, z, 2.0), 0.0) * 2.0 + textureLodOffset(a, vec3(x.yx, z), 0.0, ivec2(1, 1)) * 4.0, texture(b, vec4(x.xy, float(g & 1u), z)), texture(c, vec4(x.xyz, z)), textureLod(d, vec3(x.x, 0.0, z), 0.0)); }
