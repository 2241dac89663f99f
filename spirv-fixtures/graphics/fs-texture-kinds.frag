#version 450
#extension GL_ARB_sparse_texture_clamp : require
#extension GL_EXT_nonuniform_qualifier : require
#extension GL_EXT_samplerless_texture_functions : require
layout(binding=0) uniform sampler2D t; layout(binding=1) uniform sampler2DArray arr; layout(binding=2) uniform samplerCube cube; layout(binding=3) uniform sampler3D vol;
layout(binding=4) uniform sampler2DShadow depth; layout(binding=5) uniform sampler2D ts[2]; layout(binding=7) uniform texture2D ramp; layout(binding=8) uniform sampler smp;
layout(location=0) noperspective in vec2 p; layout(location=1) flat in int i;
layout(location=0) out vec4 o0; layout(location=1) out vec4 o1; layout(location=2) out vec4 o2; layout(location=3) out vec4 o3; layout(location=4) out vec4 o4; layout(location=5) out vec4 o5; layout(location=6) out vec4 o6;
void main(){
 o0=vec4(texture(t,p).x, texture(t,p,1.0).y, textureGrad(t,p,vec2(0.25,0),vec2(0)).z, textureProj(t,vec3(p*3.0,3.0)).w);
 o1=vec4(texture(arr,vec3(p,1.25)).x, texture(cube,i==0?vec3(1,0.1,0.2):vec3(0.1,0.2,-1)).x, texture(vol,vec3(0.5,0.5,0.625)).x, texture(depth,vec3(p,0.25)));
 o2=vec4(texture(ts[nonuniformEXT(i)],p).x, texture(sampler2D(ramp,smp),vec2(1.375,0.5)).x, textureLod(sampler2D(ramp,smp),vec2(-0.125,0.5),0.0).x, textureLod(sampler2D(ramp,smp),vec2(2.125,0.5),0.0).x);
 o3=vec4(textureQueryLod(t,p), textureQueryLevels(t), textureSize(t,1).x);
 o4=vec4(texture(depth,vec3(p,0.75)), textureProj(depth,vec4(p*2.0,0.5,2.0)), textureLod(depth,vec3(p,0.125),0.0), textureSize(ramp,0).x);
 o5=vec4(textureClampARB(t,p,2.0).x, textureClampARB(t,p,0.5).x, textureClampARB(t,p,1.5,0.75).x, textureGather(depth,p,0.75).y);
 o6=vec4(textureGather(depth,p,0.25).x, textureProjLod(depth,vec4(p*2.0,1.5,2.0),0.0), textureGrad(depth,vec3(p,0.25),vec2(1),vec2(1)), textureProjGrad(depth,vec4(p,0.25,1.0),vec2(0),vec2(0)));
}
