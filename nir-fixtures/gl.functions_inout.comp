#version 430
layout(local_size_x = 32, local_size_y = 1, local_size_z = 1) in;
layout(std430, binding = 0) buffer O { vec4 o[]; };
layout(std430, binding = 1) readonly buffer I { vec4 v[]; };

struct P { vec3 pos; int n; float w[4]; };
void bump(inout P p, float d, out float old) { old = p.w[p.n & 3]; p.w[p.n & 3] += d; p.pos.yz *= 2.0; p.n++; }
P mk(vec4 a) { P p; p.pos = a.xyz; p.n = int(a.w); for (int i = 0; i < 4; i++) p.w[i] = float(i) * a.x; return p; }
float sum(float w[4]) { float s = 0.0; for (int i = 3; i >= 0; i--) { s = s * 0.5 + w[i]; w[i] = 100.0; } return s; }
bool pick(P a, P b, out P c) { if (a.n > b.n) { c = a; return true; } c = b; return false; }
void main() {
  uint g = gl_GlobalInvocationID.x; P a = mk(v[g]), b = mk(v[(g + 1u) & 31u]), c; float old, t = 0.0;
  for (int i = 0; i < 3; i++) { bump(a, 1.5, old); t += old; if (a.n > 5) bump(b, -1.0, old); t -= old; }
  bool q = pick(a, b, c); o[g * 2u] = vec4(c.pos, q ? 1.0 : 0.0); o[g * 2u + 1u] = vec4(sum(a.w), sum(b.w), t, float(c.n));
}
