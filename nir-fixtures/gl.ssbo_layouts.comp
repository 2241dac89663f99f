#version 430
layout(local_size_x = 8, local_size_y = 1, local_size_z = 1) in;
struct A { float f; vec2 v; vec3 w; }; struct B { A a[2]; int k; mat2x3 m; bool t; };
layout(std140, binding = 0) buffer X { B x[]; };
layout(std430, binding = 1) buffer Y { B y[]; };
layout(std430, row_major, binding = 2) buffer Z { mat3x4 z[]; };
void main() { uint g = gl_GlobalInvocationID.x; B b; b.a[0].f = float(g); b.a[0].v = vec2(g + 1u, g + 2u); b.a[0].w = vec3(g * 2u); b.a[1] = b.a[0]; b.a[1].v.x *= 3.0; b.k = int(g) - 5; b.m = mat2x3(1, 2, 3, 4, 5, g); b.t = (g & 1u) != 0u;
  x[g] = b; y[g] = b; y[g].a[g & 1u].w.y = x[g].m[1].z; x[g].m[g & 1u][g % 3u] = 99.0; z[g] = mat3x4(b.m[0], b.m[1].x, b.m[1].yz, 7.0, 8.0, 9.0, float(g), 11.0, 12.0); z[g][2].w += z[g][0][g & 3u]; if (y[g].t) y[g].k *= 2; }
