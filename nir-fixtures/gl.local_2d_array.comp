#version 430
layout(local_size_x = 32, local_size_y = 1, local_size_z = 1) in;
layout(std430, binding = 0) buffer O { uint o[]; };
layout(std430, binding = 1) readonly buffer I { uint v[]; };

void main() {
  uint g = gl_GlobalInvocationID.x; uint t[5][7]; uvec3 c[4]; uint s = v[g];
  for (uint i = 0u; i < 5u; i++) for (uint j = 0u; j < 7u; j++) t[i][j] = i * 10u + j + g;
  for (uint i = 0u; i < 4u; i++) c[i] = uvec3(i, i * i, s >> i);
  for (uint n = 0u; n < 30u; n++) { s = s * 1103515245u + 12345u; uint a = (s >> 16) % 5u, b = (s >> 20) % 7u; t[a][b] += c[a & 3u][b % 3u]; c[b & 3u][a % 3u] ^= t[b % 5u][a]; }
  uint h = 0u; for (uint i = 0u; i < 5u; i++) for (uint j = 0u; j < 7u; j++) h = h * 31u + t[i][j];
  o[g] = h + c[0].x + c[1].y * 3u + c[2].z * 5u + c[3].x * 7u;
}
