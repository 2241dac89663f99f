#version 450
struct S { float a; vec2 b; vec3 c; mat2 m; };
layout(location=0) uniform float x[3]; layout(location=3) uniform mat3 m; layout(location=4) uniform S s[2]; layout(location=20) uniform vec2 v; layout(location=21) uniform ivec2 iv;
layout(location=0) in ivec2 i; layout(location=0) out vec4 o0; layout(location=1) out vec4 o1; layout(location=2) out vec4 o2; layout(location=3) out vec4 o3;
void main(){ o0=vec4(x[i.x],m[i.x][i.y],m[1].yz); o1=vec4(s[i.y].a,s[i.y].b,s[1].c.z); o2=vec4(s[i.y].m[1],s[0].m[0]); S t=s[1]; o3=vec4(t.m[1].y,v,float(iv.y)); gl_Position=vec4(0); }
