//! libnvir_vgpu.so: lets unmodified programs open nvir's virtual GPU.
