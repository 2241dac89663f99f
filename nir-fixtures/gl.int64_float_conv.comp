#version 430
#extension GL_ARB_gpu_shader_int64 : require
layout(local_size_x = 32, local_size_y = 1, local_size_z = 1) in;
layout(std430, binding = 0) buffer O { int64_t o[]; };
layout(std430, binding = 1) readonly buffer I { int64_t v[]; };
layout(std430, binding = 2) readonly buffer J { double d[]; };
void main() {
  uint g = gl_GlobalInvocationID.x; int64_t a = v[g]; double f = d[g]; uint k = g * 8u;
  o[k] = doubleBitsToInt64(double(a)); o[k + 1] = doubleBitsToInt64(double(uint64_t(a)));
  o[k + 2] = int64_t(f); o[k + 3] = int64_t(uint64_t(abs(f)));
  o[k + 4] = int64_t(floatBitsToInt(float(a))); o[k + 5] = int64_t(floatBitsToInt(float(uint64_t(a))));
  o[k + 6] = int64_t(float(f)); o[k + 7] = int64_t(doubleBitsToUint64(int64BitsToDouble(a & 0x7fefffffffffffffl)));
}
