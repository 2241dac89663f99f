#version 430
layout(local_size_x = 64, local_size_y = 1, local_size_z = 1) in;
layout(std430, binding = 0) buffer O { uint o[]; };
layout(std430, binding = 1) readonly buffer I { uvec4 v[]; };

void main() {
  uint g = gl_GlobalInvocationID.x;
  uvec4 a = v[g];
  int off = int(a.z % 33u), bits = int(a.w % uint(33 - off));
  uint k = g * 16u;
  o[k] = bitfieldExtract(a.x, off, bits);
  o[k + 1] = uint(bitfieldExtract(int(a.x), off, bits));
  o[k + 2] = bitfieldInsert(a.x, a.y, off, bits);
  o[k + 3] = uint(bitfieldInsert(int(a.y), int(a.x), off, bits));
  o[k + 4] = bitfieldReverse(a.x);
  o[k + 5] = uint(bitCount(a.x));
  o[k + 6] = uint(findLSB(a.x));
  o[k + 7] = uint(findMSB(a.x));
  o[k + 8] = uint(findMSB(int(a.x)));
  o[k + 9] = uint(findLSB(int(a.y)));
  uint c; o[k + 10] = uaddCarry(a.x, a.y, c); o[k + 11] = c;
  o[k + 12] = usubBorrow(a.x, a.y, c); o[k + 13] = c;
  uint hi, lo; umulExtended(a.x, a.y, hi, lo); o[k + 14] = hi ^ lo;
  int sh, sl; imulExtended(int(a.x), int(a.y), sh, sl); o[k + 15] = uint(sh) + uint(sl);
}
