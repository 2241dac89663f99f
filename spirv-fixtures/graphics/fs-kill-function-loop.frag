#version 450
layout(location=0) noperspective in vec2 p; layout(location=0) out vec4 o;
void odd(int x){ if((x&1)==1) discard; }
float sum(int n,int x,int y){ float s=0.0; for(int i=0;;i++){ if(i>=n) break; if(i==2 && (y&1)==1 && y>=4) discard; s+=float(i); } return s; }
void main(){ ivec2 c=ivec2(gl_FragCoord.xy); float k; odd(c.x); float s=sum(4+c.x%3,c.x,c.y); if(c.x>100) { discard; } else { k=p.x; } o=vec4(dFdx(k),s,k,1.0); }
