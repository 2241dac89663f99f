#version 450
layout(vertices=3) out;
struct S { vec4 a; float b[2]; };
layout(location=0) in S s[]; layout(location=0) out S o[]; layout(location=10) patch out P { vec4 a; mat3 m; float c[3]; } p;
void main(){ int i=gl_InvocationID; o[gl_InvocationID]=s[i]; o[gl_InvocationID].b[1]+=s[(i+1)%3].b[i&1]; barrier(); p.c[i]=o[(i+2)%3].b[1]; if(i==0){ p.a=o[2].a; p.m=mat3(1); p.m[2].x=7.0; p.m[1]=p.m[2]+1.0; } }
