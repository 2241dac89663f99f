#version 430
layout(local_size_x = 32, local_size_y = 1, local_size_z = 1) in;
layout(std430, binding = 0) buffer O { uint o[]; };
layout(std430, binding = 1) readonly buffer I { uint v[]; };

struct N { int key; int l, r; vec2 w; };
void main() {
  uint g = gl_GlobalInvocationID.x; N t[16]; int n = 0; uint s = v[g];
  for (int i = 0; i < 16; i++) { s = s * 1664525u + 1013904223u; int k = int(s >> 24); t[n].key = k; t[n].l = -1; t[n].r = -1; t[n].w = vec2(k, i);
    if (n > 0) { int p = 0; while (true) { bool left = k < t[p].key; int c = left ? t[p].l : t[p].r; if (c < 0) { if (left) t[p].l = n; else t[p].r = n; break; } p = c; } } n++; }
  int st[16]; int sp = 0; int cur = 0; uint h = 0u; float f = 0.0;
  while (sp > 0 || cur >= 0) { if (cur >= 0) { st[sp++] = cur; cur = t[cur].l; } else { cur = st[--sp]; h = h * 33u + uint(t[cur].key); f += t[cur].w.y * float(sp); cur = t[cur].r; } }
  o[g] = h ^ uint(f);
}
