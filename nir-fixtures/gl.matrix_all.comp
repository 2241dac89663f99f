#version 430
layout(local_size_x = 16, local_size_y = 1, local_size_z = 1) in;
struct M { mat4 a; mat3x2 b; mat2x4 c; };
layout(std430, binding = 0) buffer O { vec4 o[]; };
layout(std430, binding = 1) readonly buffer I { M v[]; };
layout(std140, row_major, binding = 0) uniform U { mat3 rm; mat4x3 rn; } ;
void main() {
  uint g = gl_GlobalInvocationID.x; M m = v[g]; uint k = g * 8u;
  mat4 t = transpose(m.a) * m.a; o[k] = t[g & 3u]; o[k + 1] = m.a * t[1]; o[k + 2] = t[2] * m.a;
  mat2 q = m.b * mat2x3(vec3(1, 2, 3), vec3(0.5, -1, 4)); o[k + 3] = vec4(q[0], q[1]);
  mat4 z = m.c * transpose(m.c); o[k + 4] = z[3 - int(g & 3u)];
  mat2 y = outerProduct(vec2(m.a[0][0], m.a[1][1]), vec2(2, 3)); y = matrixCompMult(y, q); o[k + 5] = vec4(y[0].yx, y[1].x, determinant(y));
  vec3 w = rm * m.a[0].xyz; o[k + 6] = vec4(w, (rn * m.a[3]).y); m.a[int(g) & 3][int(g >> 2) & 3] = 7.0; o[k + 7] = m.a[0] + m.a[1] * 2.0 + m.a[2] * 4.0 + m.a[3] * 8.0;
}
