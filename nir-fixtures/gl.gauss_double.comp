#version 430
layout(local_size_x = 16, local_size_y = 1, local_size_z = 1) in;
layout(std430, binding = 0) buffer O { double o[]; };
layout(std430, binding = 1) readonly buffer I { double v[]; };

void main() { uint g = gl_GlobalInvocationID.x; double m[4][5]; for (int i = 0; i < 4; i++) for (int j = 0; j < 5; j++) m[i][j] = v[g * 20u + uint(i * 5 + j)];
 for (int c = 0; c < 4; c++) { int p = c; for (int r = c + 1; r < 4; r++) if (abs(m[r][c]) > abs(m[p][c])) p = r; if (m[p][c] == 0.0lf) { o[g * 4u] = -1.0lf; return; } if (p != c) for (int j = 0; j < 5; j++) { double t = m[p][j]; m[p][j] = m[c][j]; m[c][j] = t; } for (int r = 0; r < 4; r++) { if (r == c) continue; double f = m[r][c] / m[c][c]; for (int j = c; j < 5; j++) m[r][j] -= f * m[c][j]; } }
 for (int i = 0; i < 4; i++) o[g * 4u + uint(i)] = m[i][4] / m[i][i]; }
