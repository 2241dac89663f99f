#version 450
layout(points, invocations=2) in; layout(points, max_vertices=6) out;
layout(location=0) in vec2 v[]; 
layout(location=0, stream=0) out vec2 a; layout(location=1, stream=2) out vec4 b;
void main(){ a=v[0]+float(gl_InvocationID); EmitStreamVertex(0); for(int i=0;i<2;i++){ b=vec4(v[0]*float(i),gl_PrimitiveIDIn,i); EmitStreamVertex(2); } EndStreamPrimitive(0); }
