#version 430
#extension GL_ARB_gpu_shader_int64 : require
layout(local_size_x = 32, local_size_y = 1, local_size_z = 1) in;
layout(std430, binding = 0) buffer O { uvec2 o[]; };
layout(std430, binding = 1) readonly buffer I { uvec2 v[]; };

void main() {
  uint g = gl_GlobalInvocationID.x;
  uint64_t t[8]; uint64_t s = packUint2x32(v[g]);
  for (int i = 0; i < 8; i++) { s = s * 6364136223846793005ul + 1442695040888963407ul; t[i] = s; }
  for (int i = 0; i < 40; i++) { int a = int(s & 7ul), b = int((s >> 8) % 8ul); uint64_t x = t[a]; t[a] = t[b] ^ (x >> 3); t[b] = x + t[a]; s = s * 6364136223846793005ul + x; }
  uint64_t h = 0ul; for (int i = 0; i < 8; i++) h = h * 31ul ^ t[i];
  o[g] = unpackUint2x32(h);
}
