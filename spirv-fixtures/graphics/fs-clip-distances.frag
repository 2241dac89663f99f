#version 450
in float gl_ClipDistance[3]; in float gl_CullDistance[1];
layout(location=0) flat in int i; layout(location=0) out vec4 o;
void main(){ o=vec4(gl_ClipDistance[0],gl_ClipDistance[i],gl_ClipDistance[2],gl_CullDistance[0]); }
