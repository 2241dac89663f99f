#version 430
layout(local_size_x = 32, local_size_y = 1, local_size_z = 1) in;
struct N { vec3 lo; int l; vec3 hi; int r; };
layout(std430, binding = 0) buffer O { int o[]; };
layout(std430, binding = 1) readonly buffer I { N n[]; };
layout(std430, binding = 2) readonly buffer J { vec4 q[]; };
void main() { uint g = gl_GlobalInvocationID.x; vec3 p = q[2u * g].xyz, d = q[2u * g + 1u].xyz; vec3 inv = 1.0 / d; int st[8]; int sp = 0, best = -1, c = 0; float bt = 1e30; st[sp++] = 0; 
 while (sp > 0) { int i = st[--sp]; vec3 a = (n[i].lo - p) * inv, b = (n[i].hi - p) * inv; vec3 mn = min(a, b), mx = max(a, b); float t0 = max(max(mn.x, mn.y), mn.z), t1 = min(min(mx.x, mx.y), mx.z); c++; if (t0 > t1 || t1 < 0.0 || t0 > bt) continue; if (n[i].l < 0) { if (t0 < bt) { bt = t0; best = n[i].r; } } else if (sp < 7) { st[sp++] = n[i].l; st[sp++] = n[i].r; } } o[g] = best * 100 + c; }
