#version 430
#extension GL_ARB_gpu_shader_int64 : require
layout(local_size_x = 16, local_size_y = 1, local_size_z = 1) in;
layout(std430, binding = 0) buffer O { uint o[]; };
layout(std430, binding = 1) readonly buffer I { uvec2 v[]; };

uint64_t mulmod(uint64_t a, uint64_t b, uint64_t m) { uint64_t r = 0ul; while (b != 0ul) { if ((b & 1ul) != 0ul) { r += a; if (r >= m) r -= m; } a += a; if (a >= m) a -= m; b >>= 1; } return r; }
uint64_t powmod(uint64_t b, uint64_t e, uint64_t m) { uint64_t r = 1ul; b %= m; for (; e != 0ul; e >>= 1) { if ((e & 1ul) == 1ul) r = mulmod(r, b, m); b = mulmod(b, b, m); } return r; }
void main() {
  uint g = gl_GlobalInvocationID.x;
  uint64_t n = uint64_t(v[g].x) * 131071ul + uint64_t(v[g].y) + 3ul;
  uint64_t q = powmod(uint64_t(g) + 2ul, n, n | 1ul);
  uvec2 u = unpackUint2x32(q); o[2u * g] = u.x; o[2u * g + 1u] = u.y;
}
