#version 430
layout(local_size_x = 64, local_size_y = 1, local_size_z = 1) in;
layout(std430, binding = 0) buffer O { double o[]; };
layout(std430, binding = 1) readonly buffer I { double v[]; };

shared double sh[64];
uniform int n;
void main() {
  uint l = gl_LocalInvocationID.x; double t[6]; double acc = 0.0lf;
  for (int i = 0; i < 6; i++) t[i] = v[l] * double(i + 1);
  sh[l] = t[int(l) % n]; barrier();
  for (int i = 0; i < n; i++) acc += sh[(l + uint(i) * 5u) & 63u] * t[(i + int(l)) % 6];
  dvec4 q = dvec4(acc, v[l], 2.0lf, -1.0lf); q[l & 3u] += 10.0lf;
  o[l] = q.x + q.y + q.z + q.w;
}
