#version 450
layout(location=0) in ivec2 ix; layout(location=1) in float v;
layout(location=0) out vec4 o[4];
out gl_PerVertex { vec4 gl_Position; float gl_PointSize; float gl_ClipDistance[3]; float gl_CullDistance[2]; };
void main(){
 for(int k=0;k<4;k++) o[k]=vec4(10*k,10*k+1,10*k+2,10*k+3);
 o[ix.x]=vec4(v); int j=(ix.x+1)&3; o[j][ix.x]=o[ix.x].x+o[j].w;
 gl_Position=vec4(v,1,2,3); gl_Position.y+=gl_Position.x; gl_PointSize=v*2.0;
 gl_ClipDistance[0]=0.0; gl_ClipDistance[1]=0.0; gl_ClipDistance[2]=0.0; gl_ClipDistance[ix.y]=v; gl_CullDistance[0]=5.0; gl_CullDistance[1]=gl_CullDistance[0]+1.0; }
