//! Whole jobs on small models made here: budgets, textures, what passes through, what is refused.

mod avif;
mod blender;
mod chart_maps;
mod far;
mod fbx;
mod formats;
mod gltf;
mod keyframes;
mod ktx2;
mod ktx2_out;
mod limits;
mod losses;
pub mod rebake;
mod rebake_kinds;
mod rebake_limits;
mod rebake_surface;
mod rebake_thin;
mod reports;
mod results;
mod runner;
pub mod scene;
pub mod shapes;
mod texture_places;
mod textures;
mod unlit;
mod usdz;
mod webp;
