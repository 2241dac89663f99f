#version 450
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
// Uniform blocks with members of 8 and 16 bits.
layout(local_size_x = 4) in;
layout(std430, binding = 0) readonly buffer Dummy { uint unused; };
layout(std140, binding = 0) uniform Block { uint8_t a; int8_t b; uint16_t c; int16_t d; float16_t e; };
layout(std430, binding = 1) buffer Out { uint words[]; };
void main() {
    uint t = gl_LocalInvocationIndex;
    words[t] = t == 0 ? uint(a) : t == 1 ? uint(int(b)) : t == 2 ? uint(c) * 65536u + (uint(int(d)) & 65535u) : floatBitsToUint(float(e));
}
