//! A model in memory: geometry, images and numbers are decoded; everything else is glTF JSON.
//!
//! Every importer makes a [`Scene`], every step of the pipeline changes one, every exporter writes
//! one. Nodes, materials, skins, animations and extensions stay glTF JSON, so unknown content passes
//! through.
//!
//! Invariant: indices in the JSON and in the structs are in range, and every attribute of a
//! geometry has one element for each vertex.

mod bounds;
mod content;
mod geometry;
mod material;
mod nodes;
mod origin;
mod pose;
mod references;
mod texture_slots;

pub use assetfs_render::Wrap;
pub use bounds::Bounds;
pub use content::{
    Image, Mesh, Primitive, Scene, Table, drop_extension, index_in, indices_in, without_extension,
};
pub use geometry::{Attribute, Geometry, Mode, Storage, is_crowded};
pub use material::{AlphaMode, DEFAULT_IOR, Material, TextureUse, Texturing, UvTransform};
pub use nodes::{Draw, MeshAtRest, local_matrix};
pub use origin::{far_point, float_step};
pub use pose::Pose;
pub use references::{
    TableUse, for_each_blob, for_each_table, keep_placed, new_places, rotation_samplers,
};
pub use texture_slots::{TextureSlot, coordinate_set_of, remove_textures, slots_of};
