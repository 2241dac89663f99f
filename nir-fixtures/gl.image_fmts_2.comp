#version 430
layout(local_size_x = 4, local_size_y = 2, local_size_z = 1) in;
layout(rgb10_a2, binding = 0) uniform image2D s0; layout(rgb10_a2, binding = 1) writeonly uniform image2D d0;
layout(rgba8, binding = 2) uniform image2D s1; layout(rgba8, binding = 3) writeonly uniform image2D d1;
layout(rg16, binding = 4) uniform image2D s2; layout(rg16, binding = 5) writeonly uniform image2D d2;
layout(rg8, binding = 6) uniform image2D s3; layout(rg8, binding = 7) writeonly uniform image2D d3;
void main() { ivec2 c = ivec2(gl_GlobalInvocationID.xy); ivec2 q = imageSize(s0) - 1 - c;
 { vec4 x = imageLoad(s0, c); imageStore(d0, q, x.yxwz * vec4(1.0, 0.5, 1.0, 0.5) + vec4(0, 0, 0, 0.25)); imageStore(s0, c, vec4(0.5, -0.25, 2.0, 1.0)); }
 { vec4 x = imageLoad(s1, c); imageStore(d1, q, x.yxwz * vec4(1.0, 0.5, 1.0, 0.5) + vec4(0, 0, 0, 0.25)); imageStore(s1, c, vec4(0.5, -0.25, 2.0, 1.0)); }
 { vec4 x = imageLoad(s2, c); imageStore(d2, q, x.yxwz * vec4(1.0, 0.5, 1.0, 0.5) + vec4(0, 0, 0, 0.25)); imageStore(s2, c, vec4(0.5, -0.25, 2.0, 1.0)); }
 { vec4 x = imageLoad(s3, c); imageStore(d3, q, x.yxwz * vec4(1.0, 0.5, 1.0, 0.5) + vec4(0, 0, 0, 0.25)); imageStore(s3, c, vec4(0.5, -0.25, 2.0, 1.0)); }
}
