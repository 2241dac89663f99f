#version 430
layout(local_size_x = 4, local_size_y = 2, local_size_z = 1) in;
layout(rgba8i, binding = 0) uniform iimage2D s0; layout(rgba8i, binding = 1) writeonly uniform iimage2D d0;
layout(rg32i, binding = 2) uniform iimage2D s1; layout(rg32i, binding = 3) writeonly uniform iimage2D d1;
layout(rg16i, binding = 4) uniform iimage2D s2; layout(rg16i, binding = 5) writeonly uniform iimage2D d2;
layout(rg8i, binding = 6) uniform iimage2D s3; layout(rg8i, binding = 7) writeonly uniform iimage2D d3;
void main() { ivec2 c = ivec2(gl_GlobalInvocationID.xy); ivec2 q = imageSize(s0) - 1 - c;
 { ivec4 x = imageLoad(s0, c); imageStore(d0, q, x.yxwz / 2); imageStore(s0, c, ivec4(-1, 0x33, -3, 7)); }
 { ivec4 x = imageLoad(s1, c); imageStore(d1, q, x.yxwz / 2); imageStore(s1, c, ivec4(-1, 0x33, -3, 7)); }
 { ivec4 x = imageLoad(s2, c); imageStore(d2, q, x.yxwz / 2); imageStore(s2, c, ivec4(-1, 0x33, -3, 7)); }
 { ivec4 x = imageLoad(s3, c); imageStore(d3, q, x.yxwz / 2); imageStore(s3, c, ivec4(-1, 0x33, -3, 7)); }
}
