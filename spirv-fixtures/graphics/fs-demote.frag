#version 450
#extension GL_EXT_demote_to_helper_invocation : require
layout(location=0) noperspective in vec2 p; layout(location=0) out vec4 o;
void main(){ bool odd=(int(gl_FragCoord.x)&1)==1; bool before=helperInvocationEXT(); if(odd) demote; float h=helperInvocationEXT()?10.0:1.0; float d=abs(dFdx(h)); o=vec4(dFdx(p.x),dFdy(p.y),d,before||gl_HelperInvocation?1.0:0.0); }
