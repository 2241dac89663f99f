#version 450
layout(location=0) in dvec3 d; layout(location=2) in vec2 m[2];
layout(location=1) flat out dvec3 o; layout(location=3) flat out dmat2 om;
void main(){ o=d*2.0lf; om=dmat2(d.x, d.y, m[0].x, m[1].y); gl_Position=vec4(m[0],m[1]); }
