//! Graphics stages: headers, slots and code against other compilers, threads against values worked
//! out by hand.

mod graphics_envydis;
mod graphics_headers;
mod graphics_interp;
mod graphics_mesa;
mod graphics_text;
mod stages;
