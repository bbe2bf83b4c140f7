//! Draws and measures triangles on the CPU: a rasterizer, the comparison of pictures as people see them ([`compare`]), and a
//! tree of triangles for rays and nearest points ([`Tree`]).
//!
//! The same scene, box and settings give the same picture, whatever the number of threads. Pictures are square and carry the
//! number of the part seen in each pixel, for messages and for finding invisible triangles. This crate reads no files and
//! knows no format of models.
//!
//! It is a package of its own because the inner loops of the engine are here: builds for tests optimize it, and nothing else
//! of this repository.

mod alpha;
mod bins;
mod camera;
mod coarse;
pub mod compare;
mod coverage;
mod escape;
mod files;
mod fill;
mod inside;
mod interpolate;
mod painter;
mod picture;
mod prepare;
mod prepared_material;
mod prepared_mesh;
mod prepared_part;
mod projection;
mod raster;
mod rooms;
mod scene;
mod shade;
mod srgb;
mod studio;
mod surface_point;
mod texture;
mod tree;
mod visibility;
mod walls;

pub use camera::View;
pub use escape::spread_in;
pub use files::PictureError;
pub use picture::{NO_PART, Picture, RenderSettings};
pub use prepare::PreparedScene;
pub use scene::{
    BoundingBox, RenderAlpha, RenderInstance, RenderMaterial, RenderMesh, RenderScene,
    RenderTexture, RenderTextureUse, UV_SETS, Wrap, box_corners,
};
pub use srgb::{linear_of_srgb, srgb_of_linear};
pub use surface_point::SurfacePoint;
pub use texture::{linear_of_byte, linear_to_srgb};
pub use tree::{Hit, LeafPlace, Nearest, Tree};
pub use visibility::sphere_direction;
