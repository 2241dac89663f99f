#version 450
#extension GL_INTEL_shader_integer_functions2 : require
#extension GL_AMD_shader_trinary_minmax : require
// Functions of integers that Intel has, and the least, greatest and middle one of three.
layout(local_size_x = 32) in;
layout(std430, binding = 0) buffer B { uint b[]; };
void main()
{
    uint i = gl_LocalInvocationIndex;
    uint x = b[i], y = b[32u + i], z = b[64u + i];
    int p = int(x), q = int(y), r = int(z);
    float f = float(p), g = float(q), h = float(r);
    uint at = 96u + 22u * i;
    b[at] = countLeadingZeros(x);
    b[at + 1u] = countTrailingZeros(y);
    b[at + 2u] = absoluteDifference(x, y);
    b[at + 3u] = absoluteDifference(p, q);
    b[at + 4u] = addSaturate(x, y);
    b[at + 5u] = uint(addSaturate(p, q));
    b[at + 6u] = subtractSaturate(x, y);
    b[at + 7u] = uint(subtractSaturate(p, q));
    b[at + 8u] = average(x, y);
    b[at + 9u] = uint(average(p, q));
    b[at + 10u] = averageRounded(x, y);
    b[at + 11u] = uint(averageRounded(p, q));
    b[at + 12u] = multiply32x16(x, y);
    b[at + 13u] = uint(multiply32x16(p, q));
    b[at + 14u] = min3(x, y, z);
    b[at + 15u] = uint(min3(p, q, r));
    b[at + 16u] = max3(x, y, z);
    b[at + 17u] = uint(max3(p, q, r));
    b[at + 18u] = mid3(x, y, z);
    b[at + 19u] = uint(mid3(p, q, r));
    b[at + 20u] = floatBitsToUint(mid3(f, g, h));
    b[at + 21u] = floatBitsToUint(max3(min3(f, g, h), g, f));
}
