#version 450
layout(binding=0, r32ui) uniform uimage2D n; layout(binding=1, r32ui) uniform uimage2D s;
layout(location=0) noperspective in vec2 p; layout(location=0) out float o;
void main(){ ivec2 c=ivec2(gl_FragCoord.xy); if((c.x&1)==1) discard; imageStore(s,c,uvec4(c.x+1)); imageAtomicAdd(n,c,uint(c.x+1)); uint old=imageLoad(n,c).x; uint seen;
 for(int k=0;k<5;){ seen=imageAtomicCompSwap(n,c,old,old+1u); if(seen==old) k++; old=imageAtomicOr(n,c,0u); } o=dFdx(p.x); }
