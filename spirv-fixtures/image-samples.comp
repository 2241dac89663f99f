#version 450
// Samples of an image that is read and written by them: each moves to the next sample of its pixel, and grows by its number.
layout(local_size_x = 4, local_size_y = 2) in;
layout(binding = 0, r32ui) uniform readonly uimage2DMS from;
layout(binding = 1, r32ui) uniform writeonly uimage2DMS to;
layout(std430, binding = 0) buffer Facts { uint facts[]; };
void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    for (int s = 0; s < 4; s++) {
        uint value = imageLoad(from, at, s).x;
        imageStore(to, at, (s + 1) & 3, uvec4(value + uint(s), 0, 0, 0));
    }
    if (gl_LocalInvocationIndex == 0) {
        facts[0] = uint(imageSize(from).x);
        facts[1] = uint(imageSize(from).y);
    }
}
