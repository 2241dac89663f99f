#version 450
layout(vertices=3) out;
layout(location=0) in vec4 v[]; layout(location=0) out vec4 o[]; layout(location=1) out vec4 sum[];
layout(location=4) patch out vec4 pa[2]; layout(location=6) patch out float pf;
void main(){ o[gl_InvocationID]=v[gl_InvocationID]*2.0; gl_out[gl_InvocationID].gl_Position=v[(gl_InvocationID+1)%gl_PatchVerticesIn];
 barrier(); sum[gl_InvocationID]=o[0]+o[1]+o[(gl_InvocationID+1)%3]+gl_out[2].gl_Position;
 if(gl_InvocationID==0){ pa[0]=v[0]; pa[1]=pa[0]+1.0; pf=float(gl_PrimitiveID); gl_TessLevelInner[0]=4.0; gl_TessLevelInner[1]=5.0; for(int i=0;i<4;i++) gl_TessLevelOuter[i]=float(i)+1.0; } }
