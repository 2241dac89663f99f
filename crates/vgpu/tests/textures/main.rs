//! Textures and surfaces of the virtual card: kernels look random texels up and write images, and a model that knows the
//! documents only says what they should find and where.

#[path = "../common/mod.rs"]
mod common;
mod compressed;
mod cubes;
mod entries;
mod formats;
mod layout;
mod rig;
mod sampling;
mod surface_formats;
mod surfaces;
