#version 450
layout(triangles, fractional_odd_spacing, cw) in;
layout(location=0) in vec4 v[]; layout(location=3) patch in vec2 p; layout(location=0) out vec4 o; layout(location=1) out vec4 l;
void main(){ o=v[0]*gl_TessCoord.x+v[1]*gl_TessCoord.y+v[2]*gl_TessCoord.z; l=vec4(gl_TessLevelOuter[1],gl_TessLevelInner[0],p); gl_Position=gl_in[gl_PrimitiveID%3].gl_Position+vec4(gl_PatchVerticesIn); }
