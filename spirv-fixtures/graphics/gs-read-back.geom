#version 450
layout(lines) in; layout(line_strip, max_vertices=4) out;
layout(location=0) in vec4 v[]; layout(location=0) out vec4 a; layout(location=1) out float c[2];
void main(){ for(int i=0;i<2;i++){ gl_Position=gl_in[i].gl_Position; a=v[1-i]; a.x+=a.y; c[i]=a.x; c[1-i]=c[i]*2.0; gl_Layer=i+gl_PrimitiveIDIn; gl_ViewportIndex=2*i; gl_PrimitiveID=7; EmitVertex(); } EndPrimitive(); }
