#version 430
layout(local_size_x = 32, local_size_y = 1, local_size_z = 1) in;
layout(std430, binding = 0) buffer O { vec4 o[]; };
struct L { vec3 p; float r; ivec2 k[2]; };
layout(std140, binding = 0) uniform B { vec4 c; L l[3]; mat2 m; } u[3];
layout(std430, binding = 1) readonly buffer I { uint v[]; };
void main() { uint g = gl_GlobalInvocationID.x; uint s = v[g]; uint i = s % 3u, j = (s >> 4) % 3u; vec4 r = u[i].c * u[2].l[j].r; r.xyz += u[j].l[i].p; r.w += float(u[i].l[j].k[s & 1u].y - u[0].l[1].k[0].x); r.xy += u[j].m * r.zw; o[g] = r; }
