#version 450
layout(location=0) smooth in vec4 a; layout(location=1) noperspective in vec2 b; layout(location=1, component=2) centroid in vec2 c;
layout(location=2) flat in ivec2 f;
layout(location=4) in B { float x; noperspective float y; vec2 z; } s;
layout(location=0) out vec4 o0; layout(location=1) out vec4 o1; layout(location=2) out ivec2 o2; layout(location=3) out vec4 o3;
void main(){ o0=a; o1=vec4(b,c); o2=f; o3=vec4(s.x,s.y,s.z); }
