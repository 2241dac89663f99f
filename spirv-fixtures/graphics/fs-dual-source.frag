#version 450
layout(location=0) in vec4 a; layout(location=0, index=0) out vec4 o; layout(location=0, index=1) out vec4 p;
void main(){ o=a; p=a.wzyx; }
