#version 450
layout(location=0) out vec4 o; layout(location=1) out int m;
void main(){ o=vec4(gl_SamplePosition, float(gl_SampleID), 1.0); m=gl_SampleMaskIn[0]; }
