#version 430
layout(local_size_x = 4, local_size_y = 2, local_size_z = 1) in;
layout(rgba32ui, binding = 0) uniform uimage2D s0; layout(rgba32ui, binding = 1) writeonly uniform uimage2D d0;
layout(rgba16ui, binding = 2) uniform uimage2D s1; layout(rgba16ui, binding = 3) writeonly uniform uimage2D d1;
layout(rgb10_a2ui, binding = 4) uniform uimage2D s2; layout(rgb10_a2ui, binding = 5) writeonly uniform uimage2D d2;
layout(rgba8ui, binding = 6) uniform uimage2D s3; layout(rgba8ui, binding = 7) writeonly uniform uimage2D d3;
void main() { ivec2 c = ivec2(gl_GlobalInvocationID.xy); ivec2 q = imageSize(s0) - 1 - c;
 { uvec4 x = imageLoad(s0, c); imageStore(d0, q, x.yxwz & uvec4(63u)); imageStore(s0, c, uvec4(1, 0x33u, 3, 2)); }
 { uvec4 x = imageLoad(s1, c); imageStore(d1, q, x.yxwz & uvec4(63u)); imageStore(s1, c, uvec4(1, 0x33u, 3, 2)); }
 { uvec4 x = imageLoad(s2, c); imageStore(d2, q, x.yxwz & uvec4(63u)); imageStore(s2, c, uvec4(1, 0x33u, 3, 2)); }
 { uvec4 x = imageLoad(s3, c); imageStore(d3, q, x.yxwz & uvec4(63u)); imageStore(s3, c, uvec4(1, 0x33u, 3, 2)); }
}
