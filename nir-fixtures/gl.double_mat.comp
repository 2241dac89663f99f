#version 430
layout(local_size_x = 16, local_size_y = 1, local_size_z = 1) in;
layout(std430, binding = 0) buffer O { double o[]; };
layout(std430, binding = 1) readonly buffer I { dmat3 v[]; };

void main() {
  uint g = gl_GlobalInvocationID.x; dmat3 m = v[g]; dmat3 i = inverse(m);
  dmat3 p = m * transpose(m); uint k = g * 16u;
  o[k] = determinant(m); o[k + 1] = i[0][0]; o[k + 2] = i[1][2]; o[k + 3] = i[2][1];
  o[k + 4] = p[0].y; o[k + 5] = p[2].z; dvec3 c = cross(m[0], m[1]); o[k + 6] = c.x; o[k + 7] = c.y; o[k + 8] = c.z;
  o[k + 9] = dot(m[1], m[2]); o[k + 10] = length(m[0]); o[k + 11] = normalize(m[2]).y; dvec3 w = m * dvec3(1.0lf, -2.0lf, 0.25lf);
  o[k + 12] = w.x; o[k + 13] = w.y + w.z; dmat2x3 r = dmat2x3(m[0], m[2]); dvec2 z = m[1] * r; o[k + 14] = z.x; o[k + 15] = z.y;
}
