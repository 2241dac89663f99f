#version 430
layout(local_size_x = 4, local_size_y = 4, local_size_z = 1) in;
layout(r32ui, binding = 0) uniform uimage1D a; layout(r32ui, binding = 1) uniform uimage3D b; layout(r32ui, binding = 2) uniform uimageCube c; layout(r32ui, binding = 3) uniform uimageBuffer d; layout(r32ui, binding = 4) uniform uimage1DArray e; layout(r32ui, binding = 5) uniform uimage2DArray f; layout(r32ui, binding = 6) uniform uimageCubeArray g; layout(r32ui, binding = 7) uniform uimage2DRect h;
layout(std430, binding = 0) buffer O { uint o[]; };
void main() { ivec3 p = ivec3(gl_GlobalInvocationID); int i = p.x + 4 * p.y + 16 * p.z; uint s = 0u; 
 s += imageLoad(a, p.x).x; s ^= imageLoad(b, p).x * 3u; s += imageLoad(c, p).x; s ^= imageLoad(d, i).x; s += imageLoad(e, p.xz).x * 7u; s ^= imageLoad(f, p).y + imageLoad(f, p).w; s += imageLoad(g, ivec3(p.xy, p.z + 7)).x; s ^= imageLoad(h, p.xy).x;
 imageStore(b, p, uvec4(s)); imageStore(c, ivec3(p.xy, p.z), uvec4(s + 1u)); imageStore(d, i, uvec4(s * 2u)); imageStore(f, p, uvec4(s + 3u)); imageStore(g, ivec3(p.xy, p.z), uvec4(s + 4u)); if (p.z == 0) imageStore(h, ivec2(p.x, p.y + 4), uvec4(s)); if (p.y == 0) imageStore(e, ivec2(p.x, 4), uvec4(7));
 ivec3 z = imageSize(b) + imageSize(f) * 10 + imageSize(g) * 100; ivec2 y = imageSize(c) + imageSize(e) * 10 + imageSize(h) * 100; o[i] = uint(z.x + z.y * 3 + z.z * 5 + y.x * 7 + y.y * 11 + imageSize(a) * 13 + imageSize(d) * 17); }
