#version 430
layout(local_size_x = 64, local_size_y = 1, local_size_z = 1) in;
layout(std430, binding = 0) buffer O { int o[]; };
layout(std430, binding = 1) readonly buffer I { int v[]; };

int find(int t) { for (int i = 0; i < 20; i++) { int j = 0; do { if (j == 13) break; int k = 0; while (true) { k += 3; if (k > 17) break; if ((i * j + k) % 7 == 3) continue; if (i * i + j * j + k * k == t) return i * 10000 + j * 100 + k; } j++; if (i > 11 && j < 5) continue; } while (j < 20 - i); } return -1; }
void main() { uint g = gl_GlobalInvocationID.x; if (v[g] < 0) { o[g] = -5; return; } int s = 0; for (int i = 0; i < 3; i++) { int q = find(v[g] + i); if (q < 0) continue; s += q; if (s > 100000) { s = -s; break; } } o[g] = s; }
