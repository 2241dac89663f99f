#version 430
#extension GL_ARB_shader_atomic_counter_ops : require
layout(local_size_x = 64, local_size_y = 1, local_size_z = 1) in;
layout(binding = 0) uniform atomic_uint a[8];
void main() { uint g = gl_GlobalInvocationID.x; atomicCounterAddARB(a[0], g); atomicCounterSubtractARB(a[1], 3u); atomicCounterMinARB(a[2], g + 5u); atomicCounterMaxARB(a[3], g * 7u); atomicCounterAndARB(a[4], ~(1u << (g & 31u))); atomicCounterOrARB(a[5], g); atomicCounterXorARB(a[6], g * 3u); if (atomicCounterCompSwapARB(a[7], 0u, 9u) == 0u) atomicCounterExchangeARB(a[7], 1234u); }
