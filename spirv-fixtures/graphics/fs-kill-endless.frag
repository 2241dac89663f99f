#version 450
layout(location=0) noperspective in vec2 p; layout(location=0) out vec4 o;
void main(){ int i=0; int n=int(gl_FragCoord.x); for(;;){ if(n>2){ if(i>n) discard; } else if(i>3) break; i++; } o=vec4(dFdx(p.x),float(i),0,1); }
