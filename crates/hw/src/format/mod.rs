//! Formats of texels as engines number them: both ways between a number and what it means.

pub mod color;
pub mod image;
pub mod texture;
pub mod vertex;
pub mod zeta;
