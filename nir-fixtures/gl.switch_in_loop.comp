#version 430
layout(local_size_x = 64, local_size_y = 1, local_size_z = 1) in;
layout(std430, binding = 0) buffer O { uint o[]; };
layout(std430, binding = 1) readonly buffer I { uint v[]; };

void main() {
  uint g = gl_GlobalInvocationID.x; uint pc = 0u, acc = g, steps = 0u; uint r[4] = uint[4](1u, g, 3u, 4u);
  for (;;) {
    if (++steps > 200u) break;
    uint w = v[(pc + g * 4u) & 63u]; pc++;
    switch (w & 7u) {
      case 0u: acc += r[(w >> 3) & 3u]; continue;
      case 1u: r[(w >> 3) & 3u] = acc; break;
      case 2u: if ((acc & 1u) == 0u) { pc += (w >> 5) & 7u; continue; } break;
      case 3u: { for (uint i = 0u; i < (w >> 29); i++) { if (i == 5u) break; acc = acc * 5u + i; if ((acc & 16u) != 0u) continue; acc ^= i << 4; } } break;
      case 4u: switch ((w >> 3) & 3u) { case 0u: acc++; case 1u: acc ^= w; break; default: acc = ~acc; } break;
      case 5u: if (acc > 0xf0000000u) { o[g] = acc; return; }
      case 6u: acc = (acc << 3) | (acc >> 29); break;
      default: acc -= w; if (pc > 150u) { o[g] = acc + 1u; return; }
    }
    r[1] ^= acc;
  }
  o[g] = acc + r[0] + r[1] * 3u + r[2] * 5u + r[3] * 7u;
}
