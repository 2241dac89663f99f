#version 450
layout(location=0) flat in int i; layout(location=1) noperspective in float v;
layout(location=0) out vec4 o[3]; layout(location=3) out uvec2 u;
void main(){ for(int k=0;k<3;k++) o[k]=vec4(k); o[i][i]=v; o[(i+1)%3].zw=o[i].xy; u=uvec2(gl_FragCoord.xy); gl_FragDepth=v*0.0625; gl_SampleMask[0]=i+1; }
