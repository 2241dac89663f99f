#version 450
#extension GL_EXT_nonuniform_qualifier : require
// An array of buffers whose length the module does not say.
layout(local_size_x = 4) in;
layout(push_constant) uniform Which { uint which; };
layout(std430, binding = 0) buffer Out { uint words[]; } outs[];
void main() { outs[which].words[gl_LocalInvocationIndex] = 7u + gl_LocalInvocationIndex; }
