#version 450
layout(location=0) in vec4 a; layout(location=1) noperspective in vec2 b;
layout(location=0) out vec4 o0; layout(location=1) out vec4 o1; layout(location=2) out vec4 o2;
void main(){ ivec2 p=ivec2(gl_FragCoord.xy); o0=interpolateAtSample(a,(p.x+2*p.y)&3); o1=interpolateAtOffset(a,vec2(0.25,-0.375)); o2=vec4(interpolateAtCentroid(a).x, interpolateAtOffset(b,vec2(-4.0,4.0)), interpolateAtCentroid(a.z)); }
