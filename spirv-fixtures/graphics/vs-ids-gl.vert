#version 450
layout(location=3) out ivec2 a;
void main(){ a=ivec2(gl_VertexID, gl_InstanceID); gl_Position=vec4(0); }
