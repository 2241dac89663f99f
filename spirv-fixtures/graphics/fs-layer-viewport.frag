#version 450
layout(location=0) out ivec4 o;
void main(){ o=ivec4(gl_Layer, gl_ViewportIndex, gl_PrimitiveID, gl_FrontFacing?1:0); }
