#version 450
layout(local_size_x = 64, local_size_y = 1, local_size_z = 1) in;
layout(r32ui, binding = 0) uniform uimage2D a; layout(r32i, binding = 1) uniform iimage1D b; layout(r32ui, binding = 2) uniform uimageBuffer c; layout(r32f, binding = 3) uniform image2D f; layout(r32ui, binding = 4) uniform uimage3D d; layout(r32i, binding = 5) uniform iimage2DArray e;
layout(std430, binding = 0) readonly buffer I { uint v[]; };
void main() { uint g = gl_LocalInvocationIndex; uint x = v[g]; int y = int(x); 
 imageAtomicAdd(a, ivec2(g & 3u, 0), x); imageAtomicMin(a, ivec2(g & 3u, 1), x); imageAtomicMax(a, ivec2(g & 3u, 2), x); imageAtomicAnd(a, ivec2(g & 3u, 3), x | 0xff00u);
 imageAtomicMin(b, int(g & 1u), y); imageAtomicMax(b, 2 + int(g & 1u), y); imageAtomicAdd(b, 4, -y); imageAtomicXor(b, 5, y);
 if (imageAtomicCompSwap(c, int(g & 7u), 0u, g + 1u) != 0u) imageAtomicAdd(c, 8 + int(g & 7u), 1u); imageAtomicOr(c, 16, 1u << (g & 31u)); 
 if (imageAtomicExchange(f, ivec2(1, 2), 2.5) == 2.5) imageStore(f, ivec2(0, 0), vec4(9.0));
 imageAtomicXor(d, ivec3(g & 1u, g >> 1 & 1u, g >> 2 & 1u), x); imageAtomicAdd(e, ivec3(g & 1u, 0, 1), y); imageAtomicExchange(e, ivec3(1, 1, int(g & 1u)), 44); }
