//! libnvir_vgpu.so: lets unmodified programs open nvir's virtual GPU.
//!
//! Preloaded before a program (`LD_PRELOAD`, or `nvir gpu`), it intercepts the functions of glibc through which Mesa and
//! libdrm find and talk to a device, so that there is a `/dev/dri/renderD128` whose kernel driver is `nouveau`.
//!
//! | file | what it does |
//! | --- | --- |
//! | `exports` | the intercepted functions: is this path, descriptor or folder ours? If not, on to glibc |
//! | `tree` | the paths of the device: nodes and sysfs files, as data |
//! | `fds` | which descriptors are ours, and what they share |
//! | `folders` | which open folders show our entries |
//! | `ioctl` | the kernel's interface: structures in and out |
//! | `machine` | the cards of this process, the lock under which all executes, fork |
//! | `kernels` | what is reported of kernels: code in files, notes of checkers, profile |
//! | `frames` | pictures of targets in files |
//! | `output`, `faults` | files that are written: logs and recordings; faults as JSON |
//! | `gate` | what the processes of one `nvir gpu` share |
//! | `ending` | the end of the process, and its status |
//! | `arena` | one memory file that holds all buffers |
//! | `options` | the variables |
//! | `sys` | raw calls with safe signatures |
//!
//! `unsafe` is in `sys` (raw calls) and `exports` (C's calling convention) only. What a client's pointers point to is read
//! and written by the kernel, which refuses bad ones. Nothing here panics across C frames: calls into the model are
//! caught (`machine::call`).

#![deny(unsafe_code)]
#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]

mod arena;
mod ending;
#[allow(unsafe_code)]
mod exports;
mod faults;
mod fds;
mod folders;
mod frames;
mod gate;
mod ioctl;
mod kernels;
mod machine;
mod nvif;
mod options;
mod output;
mod progress;
#[allow(unsafe_code)]
mod sys;
mod tree;

#[cfg(test)]
#[allow(unsafe_code)]
mod tests;
