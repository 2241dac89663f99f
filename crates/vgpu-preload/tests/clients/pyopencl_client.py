"""A client of OpenCL through pyopencl: its array operations, a scan and a reduction, against numpy."""

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
from pyopencl.reduction import ReductionKernel

ctx = cl.create_some_context(interactive=False)
assert ctx.devices[0].name.startswith("NV"), ctx.devices[0].name
queue = cl.CommandQueue(ctx)

a = (np.arange(3000, dtype=np.uint32) * 2654435761 & 0xFFFF).astype(np.int32)
b = a[::-1].copy()
da, db = cl_array.to_device(queue, a), cl_array.to_device(queue, b)
assert np.array_equal((3 * da - db).get(), 3 * a - b)
assert np.array_equal((da & db ^ 0x55).get(), a & b ^ 0x55)

x = np.linspace(0, 1, 3000, dtype=np.float32)
dx = cl_array.to_device(queue, x)
assert np.array_equal((dx * dx + 1).get(), x * x + np.float32(1))

total = ReductionKernel(ctx, np.int32, neutral="0", reduce_expr="a+b", map_expr="x[i]*2", arguments="__global int *x")
assert total(da).get() == 2 * a.sum()
assert cl_array.max(da).get() == a.max()
print("ok")
