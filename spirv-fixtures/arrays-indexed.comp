#version 450
#extension GL_EXT_nonuniform_qualifier : require
// Arrays of every kind of descriptor, indexed by a number that is the same for all threads.
layout(local_size_x = 8) in;
layout(push_constant) uniform Which { uint which; };
layout(std140, binding = 0) uniform Block { uvec4 words; } blocks[2];
layout(std430, binding = 0) buffer Out { uint words[]; } outs[3];
layout(binding = 0) uniform usampler2D textures[2];
layout(binding = 2) uniform usamplerBuffer texels[2];
layout(binding = 0, r32ui) uniform uimage2D images[2];
layout(binding = 2, r32ui) uniform uimageBuffer words[2];
void main() {
    uint t = gl_LocalInvocationIndex;
    ivec2 at = ivec2(t & 3, t >> 2);
    uint sum = blocks[which].words[t & 3] + texelFetch(textures[which], at, 0).x + texelFetch(texels[which], int(t)).x
        + imageLoad(images[which], at).x + imageLoad(words[which], int(t)).x;
    outs[which + 1].words[t] = sum;
}
