//! Draws and measures triangles on the CPU: a rasterizer, the comparison of pictures as people see them ([`compare`]), and a
//! tree of triangles for rays and nearest points ([`Tree`]).
//!
//! The same scene, box and settings give the same picture, whatever the number of threads. Pictures are square and carry the
//! number of the part seen in each pixel, for messages and for finding invisible triangles. This crate reads no files and
//! knows no format of models.
//!
//! It is a package of its own because the inner loops of the engine are here: builds for tests optimize it, and nothing else
//! of this repository.

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
pub use files::{PictureError, write_png};
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

/// The part number of a pixel that shows the background.
pub const NO_PART: u32 = u32::MAX;

/// Size, sampling and light of pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RenderSettings {
    /// Pixels on each side.
    pub size: usize,
    /// Samples on each side of a pixel: 1 to 4.
    pub samples: usize,
    /// The sRGB colour behind the model; `None` leaves it transparent.
    pub background: Option<[u8; 3]>,
    /// Lights that make up the sky, for soft shadows on the model and on a floor below it; 0 for none. For each light
    /// the depth of the scene is drawn once.
    pub sky_lights: usize,
}

impl Default for RenderSettings {
    fn default() -> RenderSettings {
        RenderSettings {
            size: 512,
            samples: 2,
            background: Some([236, 237, 239]),
            sky_lights: 0,
        }
    }
}

/// A square picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// Pixels on each side.
    pub size: usize,
    /// sRGB with straight alpha, four bytes a pixel, the top row first.
    pub rgba: Vec<u8>,
    /// The part seen in each pixel, or [`NO_PART`].
    pub parts: Vec<u32>,
    /// The distance of the nearest solid surface in each pixel, infinite without one; empty in views from outside.
    pub depths: Vec<f32>,
}
