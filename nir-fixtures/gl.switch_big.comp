#version 430
layout(local_size_x = 64, local_size_y = 1, local_size_z = 1) in;
layout(std430, binding = 0) buffer O { uint o[]; };
layout(std430, binding = 1) readonly buffer I { uint v[]; };
uint f(uint op, uint a, uint b) {
 switch (op) {
 case 0u: a = a + b; break;
 case 1u: a = a - b; break;
 case 2u: a = a * b; break;
 case 3u: a = a ^ b;
 case 4u: a = a & b; break;
 case 5u: a = a | ~b; return a ^ 5u;
 case 6u: a = a << (b & 7u); break;
 case 7u: a = a >> (b & 7u); break;
 case 8u: a = min(a, b); break;
 case 9u: a = max(a, b); break;
 case 10u: a = a + 10u;
 case 11u: a = bitfieldReverse(a); break;
 case 12u: a = a * 25u + b; break;
 case 13u: a = a + b; break;
 case 14u: a = a - b; break;
 case 15u: a = a * b; break;
 case 16u: a = a ^ b; return a ^ 16u;
 case 17u: a = a & b;
 case 18u: a = a | ~b; break;
 case 19u: a = a << (b & 7u); break;
 case 20u: a = a >> (b & 7u); break;
 case 21u: a = min(a, b); break;
 case 22u: a = max(a, b); break;
 case 23u: a = a + 23u; break;
 case 24u: a = bitfieldReverse(a);
 case 25u: a = a * 51u + b; break;
 case 26u: a = a + b; break;
 case 27u: a = a - b; return a ^ 27u;
 case 28u: a = a * b; break;
 case 29u: a = a ^ b; break;
 case 30u: a = a & b; break;
 case 31u: a = a | ~b;
 case 32u: a = a << (b & 7u); break;
 case 33u: a = a >> (b & 7u); break;
 case 34u: a = min(a, b); break;
 case 35u: a = max(a, b); break;
 case 36u: a = a + 36u; break;
 case 37u: a = bitfieldReverse(a); break;
 case 38u: a = a * 77u + b;
 case 39u: a = a + b; break;
 case 77u: case 78u: case 99u: a += 13u; default: a = a * 3u + op; }
 return a + b;
}

void main() { uint g = gl_GlobalInvocationID.x; uint a = g, b = v[g]; for (uint i = 0u; i < 24u; i++) { a = f((b >> (i & 15u)) % 45u + ((i & 7u) == 7u ? 70u : 0u), a, b); b = b * 1664525u + 1013904223u; } o[g] = a; }
