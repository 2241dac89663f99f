//! Textures of the virtual card: kernels look random texels up, and a model that knows the documents only says what they
//! should find.

mod compressed;
mod cubes;
mod entries;
mod formats;
mod layout;
mod rig;
mod sampling;
