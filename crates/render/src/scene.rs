//! The input of the rasterizer: triangles with attributes, materials, decoded textures, placed instances.
//!
//! It is plain data that any importer can fill. It is not trusted: preparing the scene drops indices out of range and
//! attributes of the wrong length.

use std::sync::Arc;

use glam::{Affine2, Mat4, Vec2, Vec3, Vec4};
use rayon::prelude::*;

/// A scene at rest: skins in rest pose, morphs at zero, node transforms multiplied out.
#[derive(Debug, Clone, Default)]
pub struct RenderScene {
    pub meshes: Vec<RenderMesh>,
    /// Materials that meshes name by index.
    pub materials: Vec<RenderMaterial>,
    /// Images that materials name by index.
    pub textures: Vec<RenderTexture>,
    /// The meshes to draw, with their transforms.
    pub instances: Vec<RenderInstance>,
}

/// Sets of texture coordinates of a mesh. Textures that need a later one are not drawn.
pub const UV_SETS: usize = 2;

/// One triangle list with one material: a primitive.
#[derive(Debug, Clone, Default)]
pub struct RenderMesh {
    /// Corners of the triangles.
    pub positions: Vec<Vec3>,
    /// One for each position, or empty: then flat normals are computed.
    pub normals: Vec<Vec3>,
    /// One for each position, or empty: then they are computed if a normal map needs them.
    pub tangents: Vec<Vec4>,
    /// Each set has one for each position, or is empty.
    pub uvs: [Vec<Vec2>; UV_SETS],
    /// Linear factors on the base colour, one for each position, or empty.
    pub colors: Vec<Vec4>,
    /// Three for each triangle.
    pub indices: Vec<u32>,
    /// `None` stands for the default material.
    pub material: Option<usize>,
}

/// A mesh at a place.
#[derive(Debug, Clone)]
pub struct RenderInstance {
    pub mesh: usize,
    /// From the mesh to the world.
    pub world: Mat4,
    /// The node's or mesh's name, for messages.
    pub name: String,
}

/// The mode for coordinates outside of 0…1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Wrap {
    /// The image is repeated.
    #[default]
    Repeat,
    /// The image is repeated, every other time mirrored.
    MirroredRepeat,
    /// The pixels at the edge are repeated.
    ClampToEdge,
}

impl Wrap {
    /// The glTF number of the mode.
    pub fn code(self) -> u32 {
        match self {
            Wrap::Repeat => 10_497,
            Wrap::MirroredRepeat => 33_648,
            Wrap::ClampToEdge => 33_071,
        }
    }
}

/// A decoded image.
#[derive(Debug, Clone)]
pub struct RenderTexture {
    pub width: u32,
    pub height: u32,
    /// Four bytes a pixel as stored. The slot that uses them determines whether they are sRGB.
    pub rgba: Arc<Vec<u8>>,
}

/// A texture in a slot of a material.
#[derive(Debug, Clone, Copy)]
pub struct RenderTextureUse {
    pub texture: usize,
    /// The set of coordinates, below [`UV_SETS`].
    pub uv_set: usize,
    /// The mode for coordinates outside of the image, across and down.
    pub wrap: [Wrap; 2],
    /// The transform of the coordinates before the look-up.
    pub transform: Affine2,
}

impl RenderTextureUse {
    /// The texture with the first coordinates, repeated.
    pub fn new(texture: usize) -> RenderTextureUse {
        RenderTextureUse {
            texture,
            uv_set: 0,
            wrap: [Wrap::Repeat; 2],
            transform: Affine2::IDENTITY,
        }
    }
}

/// How alpha is used.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum RenderAlpha {
    /// Alpha is ignored.
    #[default]
    Opaque,
    /// Pixels with an alpha below the limit are not drawn.
    Mask(f32),
    /// Alpha blends with what is behind.
    Blend,
}

/// Metal and roughness, as glTF defines them.
#[derive(Debug, Clone)]
pub struct RenderMaterial {
    /// Linear, with alpha.
    pub base_color: Vec4,
    /// sRGB.
    pub base_color_texture: Option<RenderTextureUse>,
    /// 0 to 1.
    pub metallic: f32,
    /// 0 to 1.
    pub roughness: f32,
    /// Roughness in the green channel, metal in the blue one.
    pub metallic_roughness_texture: Option<RenderTextureUse>,
    /// Normals in tangent space, green up.
    pub normal_texture: Option<RenderTextureUse>,
    /// Factor on x and y of the normal map.
    pub normal_scale: f32,
    /// Occlusion in the red channel.
    pub occlusion_texture: Option<RenderTextureUse>,
    /// Strength of the occlusion: 0 to 1.
    pub occlusion_strength: f32,
    /// Linear.
    pub emissive: Vec3,
    /// sRGB.
    pub emissive_texture: Option<RenderTextureUse>,
    /// How alpha is used.
    pub alpha: RenderAlpha,
    /// Whether back faces are drawn.
    pub double_sided: bool,
    /// Whether the base colour is shown without light.
    pub unlit: bool,
}

impl Default for RenderMaterial {
    fn default() -> RenderMaterial {
        RenderMaterial {
            base_color: Vec4::ONE,
            base_color_texture: None,
            metallic: 1.0,
            roughness: 1.0,
            metallic_roughness_texture: None,
            normal_texture: None,
            normal_scale: 1.0,
            occlusion_texture: None,
            occlusion_strength: 1.0,
            emissive: Vec3::ZERO,
            emissive_texture: None,
            alpha: RenderAlpha::Opaque,
            double_sided: false,
            unlit: false,
        }
    }
}

impl RenderMaterial {
    /// A matt surface of one linear colour.
    pub fn dull(color: Vec3) -> RenderMaterial {
        RenderMaterial {
            base_color: color.extend(1.0),
            metallic: 0.0,
            ..RenderMaterial::default()
        }
    }
}

/// An axis-aligned box.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoundingBox {
    pub low: Vec3,
    pub high: Vec3,
}

impl RenderScene {
    /// The box of everything that is drawn; `None` if that is nothing.
    pub fn bounding_box(&self) -> Option<BoundingBox> {
        let used = self.meshes.par_iter().map(RenderMesh::used_positions);
        let used: Vec<Vec<Vec3>> = used.collect();
        let of_instance = |instance: &RenderInstance| {
            let mut bounds: Option<BoundingBox> = None;
            for position in used.get(instance.mesh)? {
                let point = instance.world.transform_point3(*position);
                if point.is_finite() {
                    let so_far = bounds.unwrap_or(BoundingBox {
                        low: point,
                        high: point,
                    });
                    bounds = Some(so_far.with(point, point));
                }
            }
            bounds
        };
        let all = self.instances.par_iter().filter_map(of_instance);
        all.reduce_with(|one, other| one.with(other.low, other.high))
    }
}

impl BoundingBox {
    fn with(&self, low: Vec3, high: Vec3) -> BoundingBox {
        BoundingBox {
            low: self.low.min(low),
            high: self.high.max(high),
        }
    }
}

/// The corners of a box. The bits of a corner's number say on which side of each axis it is.
pub fn box_corners(low: Vec3, high: Vec3) -> [Vec3; 8] {
    std::array::from_fn(|corner| {
        let side = |axis: usize| [low, high][corner >> axis & 1][axis];
        Vec3::new(side(0), side(1), side(2))
    })
}

impl RenderMesh {
    /// The positions that triangles use.
    fn used_positions(&self) -> Vec<Vec3> {
        let mut is_used = vec![false; self.positions.len()];
        for index in &self.indices {
            if let Some(is_used) = is_used.get_mut(*index as usize) {
                *is_used = true;
            }
        }
        let all = self.positions.iter().zip(is_used);
        all.filter(|(_, is_used)| *is_used)
            .map(|(position, _)| *position)
            .collect()
    }
}
