#version 450
#extension GL_ARB_shader_draw_parameters : require
layout(location=0) flat out ivec4 a; layout(location=1) flat out int b;
void main(){ a=ivec4(gl_VertexIndex, gl_InstanceIndex, gl_BaseVertexARB, gl_BaseInstanceARB); b=gl_DrawIDARB; gl_Position=vec4(0,0,0,1); }
