//! Converts the engine's scene for the rasterizer: the default scene in its rest pose.
//!
//! Geometry that several nodes draw is shared; skinned and morphed geometry is posed for each of its nodes. An image
//! that cannot be decoded is left out of the picture and named in a warning.

use std::collections::HashMap;
use std::sync::Arc;

use glam::{Affine2, Mat2, Mat3, Mat4, Vec2, Vec3, Vec4};
use image::RgbaImage;
use image::imageops::thumbnail;
use rayon::prelude::*;

pub use assetfs_render::{
    BoundingBox, NO_PART, Picture, PictureError, PreparedScene, RenderAlpha, RenderInstance,
    RenderMaterial, RenderMesh, RenderScene, RenderSettings, RenderTexture, RenderTextureUse,
    SurfacePoint, UV_SETS, View, linear_of_byte, linear_to_srgb, sphere_direction,
};

use super::scene::{self as model, Draw, Geometry, Scene};
use super::textures::{self, dimensions};
use assetfs_formats::warnings::{Warning, WarningKind};

/// The scene to draw, with the images of the model that could not be decoded.
#[derive(Debug)]
pub struct ConvertedModel {
    /// Ready for [`PreparedScene::new`].
    pub scene: RenderScene,
    /// Which of the model's geometries each instance draws.
    pub geometries: Vec<usize>,
    /// Images that could not be decoded.
    pub warnings: Vec<Warning>,
}

impl ConvertedModel {
    /// Converts everything that the model's default scene draws.
    pub fn of(model: &Scene) -> ConvertedModel {
        let (mut adapted, used) = ConvertedModel::adapt(model);
        (adapted.scene.textures, adapted.warnings) = decode(model, &used);
        adapted
    }

    /// As [`ConvertedModel::of`], without the pixels of the textures; for [`PreparedScene::reshaped`].
    pub fn shape_of(model: &Scene) -> RenderScene {
        ConvertedModel::adapt(model).0.scene
    }

    /// The scene without textures, and the images from which its textures must be decoded.
    fn adapt(model: &Scene) -> (ConvertedModel, Vec<usize>) {
        let mut adapter = ModelConverter {
            model,
            scene: RenderScene::default(),
            geometries: Vec::new(),
            shared: HashMap::new(),
        };
        for draw in model.draws() {
            adapter.add(&draw);
        }
        let used = adapter.take_materials();
        let adapted = ConvertedModel {
            scene: adapter.scene,
            geometries: adapter.geometries,
            warnings: Vec::new(),
        };
        (adapted, used)
    }
}

struct ModelConverter<'a> {
    model: &'a Scene,
    scene: RenderScene,
    geometries: Vec<usize>,
    /// Meshes by geometry and material.
    shared: HashMap<(usize, Option<usize>), usize>,
}

impl ModelConverter<'_> {
    fn add(&mut self, draw: &Draw) {
        let name = self.name_of(draw);
        for primitive in &self.model.meshes[draw.mesh].primitives {
            let geometry = &self.model.geometries[primitive.geometry];
            if geometry.triangle_count() == 0 {
                continue;
            }
            let posed = draw.joints.is_some() || draw.weights.iter().any(|weight| *weight != 0.0);
            let (mesh, world) = if posed {
                self.scene
                    .meshes
                    .push(posed_mesh(draw, geometry, primitive.material));
                (self.scene.meshes.len() - 1, Mat4::IDENTITY)
            } else {
                (
                    self.shared_mesh(primitive.geometry, primitive.material),
                    draw.world,
                )
            };
            self.geometries.push(primitive.geometry);
            self.scene.instances.push(RenderInstance {
                mesh,
                world,
                name: name.clone(),
            });
        }
    }

    fn shared_mesh(&mut self, geometry: usize, material: Option<usize>) -> usize {
        let (meshes, model) = (&mut self.scene.meshes, self.model);
        *self.shared.entry((geometry, material)).or_insert_with(|| {
            meshes.push(mesh(&model.geometries[geometry], material));
            meshes.len() - 1
        })
    }

    /// The node's name, else the mesh's, else a number.
    fn name_of(&self, draw: &Draw) -> String {
        let node = &self.model.list("nodes")[draw.node]["name"];
        let name = node
            .as_str()
            .or_else(|| self.model.meshes[draw.mesh].name());
        name.map_or_else(|| format!("node {}", draw.node), str::to_owned)
    }

    /// Fills the materials and points their textures at a list of the images that are used, which is returned.
    fn take_materials(&mut self) -> Vec<usize> {
        let mut used: Vec<usize> = Vec::new();
        let count = self.model.list("materials").len();
        for index in (0..count).map(Some).chain([None]) {
            let material = self.model.material(index);
            self.scene
                .materials
                .push(render_material(&material, &mut used));
        }
        // The last one is the default material of the file format.
        for mesh in &mut self.scene.meshes {
            mesh.material = Some(
                mesh.material
                    .filter(|&material| material < count)
                    .unwrap_or(count),
            );
        }
        used
    }
}

fn mesh(geometry: &Geometry, material: Option<usize>) -> RenderMesh {
    let vec2 = |name: &str| rows::<2>(geometry, name).map(Vec2::from_array).collect();
    RenderMesh {
        positions: rows::<3>(geometry, "POSITION")
            .map(Vec3::from_array)
            .collect(),
        normals: rows::<3>(geometry, "NORMAL")
            .map(Vec3::from_array)
            .collect(),
        tangents: rows::<4>(geometry, "TANGENT")
            .map(Vec4::from_array)
            .collect(),
        uvs: [vec2("TEXCOORD_0"), vec2("TEXCOORD_1")],
        colors: colors(geometry),
        indices: geometry.indices.clone(),
        material,
    }
}

/// An attribute's elements; none when it is missing or has another width.
fn rows<'a, const N: usize>(
    geometry: &'a Geometry,
    name: &str,
) -> impl Iterator<Item = [f32; N]> + 'a {
    let attribute = geometry
        .attribute(name)
        .filter(|attribute| attribute.components == N);
    let values = attribute.map_or(&[][..], |attribute| &attribute.values);
    values.as_chunks::<N>().0.iter().copied()
}

fn colors(geometry: &Geometry) -> Vec<Vec4> {
    let without_alpha = rows::<3>(geometry, "COLOR_0").map(|[r, g, b]| Vec4::new(r, g, b, 1.0));
    without_alpha
        .chain(rows::<4>(geometry, "COLOR_0").map(Vec4::from_array))
        .collect()
}

/// The geometry of one draw in the world, with its morph targets and its skin applied.
fn posed_mesh(draw: &Draw, geometry: &Geometry, material: Option<usize>) -> RenderMesh {
    let mut posed = mesh(geometry, material);
    posed.positions = draw.world_positions(geometry);
    for (target, weight) in geometry.targets.iter().zip(&draw.weights) {
        let Some(deltas) = target.iter().find(|deltas| deltas.name == "NORMAL") else {
            continue;
        };
        for (normal, delta) in posed.normals.iter_mut().zip(deltas.values.chunks_exact(3)) {
            *normal += Vec3::from_slice(delta) * *weight;
        }
    }
    for vertex in 0..posed.normals.len() {
        let upright = draw.normal_matrix(geometry, vertex);
        posed.normals[vertex] = (upright * posed.normals[vertex]).normalize_or_zero();
        if let Some(tangent) = posed.tangents.get_mut(vertex) {
            let linear = Mat3::from_mat4(draw.vertex_matrix(geometry, vertex));
            *tangent = (linear * tangent.truncate())
                .normalize_or_zero()
                .extend(tangent.w);
        }
    }
    posed
}

fn render_material(material: &model::Material, used: &mut Vec<usize>) -> RenderMaterial {
    let mut slot = |usage: &Option<model::TextureUse>| {
        let usage = usage.as_ref()?;
        let texture = used
            .iter()
            .position(|image| *image == usage.image)
            .unwrap_or_else(|| {
                used.push(usage.image);
                used.len() - 1
            });
        Some(RenderTextureUse {
            texture,
            uv_set: usage.tex_coord,
            wrap: [usage.wrap_s, usage.wrap_t],
            transform: transform(&usage.transform),
        })
    };
    RenderMaterial {
        base_color: Vec4::from_array(material.base_color),
        base_color_texture: slot(&material.base_color_texture),
        metallic: material.metallic,
        roughness: material.roughness,
        metallic_roughness_texture: slot(&material.metallic_roughness_texture),
        normal_texture: slot(&material.normal_texture),
        normal_scale: material.normal_scale,
        occlusion_texture: slot(&material.occlusion_texture),
        occlusion_strength: material.occlusion_strength,
        emissive: Vec3::from_array(material.emissive),
        emissive_texture: slot(&material.emissive_texture),
        alpha: match material.alpha_mode {
            model::AlphaMode::Opaque => RenderAlpha::Opaque,
            model::AlphaMode::Mask => RenderAlpha::Mask(material.alpha_cutoff),
            model::AlphaMode::Blend => RenderAlpha::Blend,
        },
        double_sided: material.double_sided,
        unlit: material.unlit,
    }
}

fn transform(transform: &model::UvTransform) -> Affine2 {
    let (sin, cos) = transform.rotation.sin_cos();
    let [x, y] = transform.scale;
    let matrix = Mat2::from_cols(Vec2::new(cos, -sin) * x, Vec2::new(sin, cos) * y);
    Affine2::from_mat2_translation(matrix, Vec2::from_array(transform.offset))
}

/// Decodes the images of the textures. Many large images are decoded at a smaller size, so that the pixels of all of
/// them together stay within [`MAX_PIXELS`]; the pictures are far smaller than that.
fn decode(model: &Scene, used: &[usize]) -> (Vec<RenderTexture>, Vec<Warning>) {
    let pixels_of = |image: &usize| {
        let (width, height) = dimensions(&model.images[*image].bytes).unwrap_or((1, 1));
        u64::from(width) * u64::from(height)
    };
    let halvings = halvings_for(used.iter().map(pixels_of).sum());
    let decoded: Vec<(RenderTexture, Option<Warning>)> = used
        .par_iter()
        .map(|&image| decode_image(&model.images[image], image, halvings))
        .collect();
    let (textures, warnings): (Vec<_>, Vec<_>) = decoded.into_iter().unzip();
    (textures, warnings.into_iter().flatten().collect())
}

/// Maximum number of decoded pixels of all textures: 32 textures of 2048 by 2048.
const MAX_PIXELS: u64 = 1 << 27;

/// How often the sides of all textures are halved, so that `pixels` come within [`MAX_PIXELS`].
fn halvings_for(pixels: u64) -> u32 {
    (0..)
        .find(|halvings| pixels >> (2 * halvings) <= MAX_PIXELS)
        .unwrap_or(0)
}

/// The pixels of an image, or one white pixel and a warning.
fn decode_image(
    image: &model::Image,
    number: usize,
    halvings: u32,
) -> (RenderTexture, Option<Warning>) {
    match textures::decode(&image.bytes) {
        Ok(pixels) => (texture_of(pixels, halvings), None),
        Err(error) => {
            let name = image
                .file_name
                .clone()
                .unwrap_or_else(|| format!("image {number}"));
            let text = format!(
                "{name} ({}) is not shown in the pictures: {error}",
                image.media_type
            );
            let warning = Warning::new(WarningKind::BadTexture, text);
            let white = RgbaImage::from_pixel(1, 1, image::Rgba([255; 4]));
            (texture_of(white, 0), Some(warning))
        }
    }
}

fn texture_of(pixels: RgbaImage, halvings: u32) -> RenderTexture {
    let pixels = match halvings {
        0 => pixels,
        _ => {
            let smaller = |side: u32| (side >> halvings).max(1);
            thumbnail(&pixels, smaller(pixels.width()), smaller(pixels.height()))
        }
    };
    RenderTexture {
        width: pixels.width(),
        height: pixels.height(),
        rgba: Arc::new(pixels.into_raw()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_large_textures_are_decoded_smaller_and_few_as_they_are() {
        let square = |side: u64| side * side;
        assert_eq!(halvings_for(0), 0);
        assert_eq!(halvings_for(32 * square(2048)), 0);
        assert_eq!(halvings_for(33 * square(2048)), 1);
        assert_eq!(halvings_for(500 * square(2048)), 2);
        let wide = RgbaImage::from_fn(8, 1, |x, _| image::Rgba([if x < 4 { 0 } else { 200 }; 4]));
        let small = texture_of(wide, 2);
        assert_eq!((small.width, small.height), (2, 1));
        assert_eq!(*small.rgba, [0, 0, 0, 0, 200, 200, 200, 200]);
    }
}
