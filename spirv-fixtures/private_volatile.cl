// Stores to private arrays whose loads are volatile, as whole vectors and in parts: each load sees the store before it.
kernel void private_volatile(global const uint *in, global uint *out)
{
    size_t i = get_global_id(0);
    volatile uint a[4] = { 1, 2, 3, 4 };
    uint2 v = vload2(i, in);
    a[v.x & 3] = 9;
    vstore3(convert_ushort3((uint3)(v, 7)), 0, (private ushort *)a);
    volatile private ushort *h = (volatile private ushort *)a;
    out[2 * i] = h[0] + 3 * h[1] + 5 * h[2] + 7 * a[3];
    vstore2(v, 0, (private uint *)a + 1);
    ((private uchar *)a)[9] = 0x55;
    out[2 * i + 1] = a[0] + 3 * a[1] + 5 * a[2] + 7 * a[3];
}
