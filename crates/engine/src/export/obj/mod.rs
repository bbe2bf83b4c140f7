//! Wavefront OBJ with MTL and image files.
//!
//! Uses the keys that old readers support, plus the common ones for physically based materials. File and material
//! names have no spaces, since many readers stop at one.

use std::collections::BTreeMap;
use std::fmt::Write;

use bytes::Bytes;
use glam::{DVec3, Vec3};

use super::super::scene::{AlphaMode, Material, Scene, TextureUse};
use super::flat::{FlatPart, flatten};
use super::format_limits::{FormatLimits, Loss, ScenePart};
use super::grey::{SurfaceChannel, split};
use super::lit::lit_material;
use super::names::{Names, one_word};
use super::out_file::OutFile;
use super::texture_places::{CoordinateSets, with_transforms_applied};
use assetfs_render::srgb_of_linear;

/// The scene as `<stem>.obj`, `<stem>.mtl` and images, in this order.
pub fn write_obj(scene: &Scene, stem: &str, names: &mut Names) -> Vec<OutFile> {
    let stem = stem.replace(char::is_whitespace, "_");
    names.name_images_in_one_word();
    let scene = with_transforms_applied(scene, CoordinateSets::One);
    let mut writer = ObjWriter {
        scene: &scene,
        stem: stem.clone(),
        names,
        materials: BTreeMap::new(),
        images: BTreeMap::new(),
        channels: BTreeMap::new(),
        files: Vec::new(),
        mtl: String::from("# assetfs\n"),
    };
    let mtl_name = writer.names.take(&stem, "mtl");
    let body = writer.write_body();
    let obj = format!("# assetfs\nmtllib {mtl_name}\n{body}");
    let mut files = vec![
        OutFile {
            name: writer.names.take(&stem, "obj"),
            bytes: obj.into_bytes().into(),
        },
        OutFile {
            name: mtl_name,
            bytes: std::mem::take(&mut writer.mtl).into_bytes().into(),
        },
    ];
    files.append(&mut writer.files);
    files
}

struct ObjWriter<'a> {
    scene: &'a Scene,
    stem: String,
    names: &'a mut Names,
    /// Names of materials by index.
    materials: BTreeMap<Option<usize>, String>,
    /// File names of images by index.
    images: BTreeMap<usize, String>,
    /// The values of image channels in the material file, by image, channel and factor.
    channels: BTreeMap<(usize, SurfaceChannel, u32), MtlChannel>,
    files: Vec<OutFile>,
    mtl: String,
}

const SAFE: &str = "writing to a string cannot fail";

impl ObjWriter<'_> {
    fn write_body(&mut self) -> String {
        let mut text = String::new();
        let (mut positions, mut coords, mut normals) = (1, 1, 1);
        for (index, part) in flatten(self.scene).iter().enumerate() {
            if part.begins_object {
                let fallback = || format!("part_{index}");
                let name = part.name.clone().unwrap_or_else(fallback);
                writeln!(text, "o {}", one_word(&name)).expect(SAFE);
            }
            for (vertex, position) in part.positions.iter().enumerate() {
                write_position(&mut text, self.scene.origin, *position);
                if let Some([red, green, blue, _]) = part.colors.get(vertex) {
                    let [red, green, blue] = [*red, *green, *blue].map(srgb_of_linear);
                    write!(text, " {red} {green} {blue}").expect(SAFE);
                }
                text.push('\n');
            }
            for [u, v] in &part.coords {
                writeln!(text, "vt {u} {}", 1.0 - v).expect(SAFE);
            }
            let own_normals = !part.normals.is_empty();
            // Without normals glTF shades flat, but OBJ readers shade smoothly; flat normals are therefore written.
            let flat = if own_normals {
                Vec::new()
            } else {
                face_normals(part)
            };
            for normal in part.normals.iter().chain(&flat) {
                writeln!(text, "vn {} {} {}", normal.x, normal.y, normal.z).expect(SAFE);
            }
            let material = self.material_name(part.material);
            writeln!(text, "usemtl {material}").expect(SAFE);
            for (face, corners) in (0..).zip(part.indices.chunks_exact(3)) {
                text.push('f');
                for corner in corners {
                    let (v, t) = (corner + positions, corner + coords);
                    let n = normals + if own_normals { *corner } else { face };
                    match part.coords.is_empty() {
                        true => write!(text, " {v}//{n}"),
                        false => write!(text, " {v}/{t}/{n}"),
                    }
                    .expect(SAFE);
                }
                text.push('\n');
            }
            positions += part.positions.len() as u32;
            coords += part.coords.len() as u32;
            normals += (part.normals.len() + flat.len()) as u32;
        }
        text
    }

    fn material_name(&mut self, index: Option<usize>) -> String {
        if let Some(known) = self.materials.get(&index) {
            return known.clone();
        }
        let material = lit_material(self.scene, index);
        let own = material
            .name
            .as_deref()
            .map(one_word)
            .filter(|name| !name.is_empty());
        let base = own.unwrap_or_else(|| "material".to_owned());
        let mut name = base.clone();
        let mut number = 2;
        while self.materials.values().any(|known| *known == name) {
            name = format!("{base}_{number}");
            number += 1;
        }
        self.write_material(&name, &material);
        self.materials.insert(index, name.clone());
        name
    }

    fn write_material(&mut self, name: &str, material: &Material) {
        let [red, green, blue, alpha] = material.base_color;
        let [red, green, blue] = [red, green, blue].map(srgb_of_linear);
        let roughness = self.channel(material, SurfaceChannel::Roughness);
        let metallic = self.channel(material, SurfaceChannel::Metalness);
        let shininess = (2.0 / roughness.mean.max(0.03).powi(2) - 2.0).max(0.0);
        let mut lines = format!(
            "newmtl {name}\nKa 0 0 0\nKd {red} {green} {blue}\nKs 0.04 0.04 0.04\nNs {shininess}\nPr {}\nPm {}\nillum 2\n",
            roughness.number(),
            metallic.number()
        );
        for (key, channel) in [("map_Pr", &roughness), ("map_Pm", &metallic)] {
            if let Some(file) = &channel.file {
                writeln!(lines, "{key} {file}").expect(SAFE);
            }
        }
        if material.alpha_mode == AlphaMode::Blend && alpha < 1.0 {
            writeln!(lines, "d {alpha}").expect(SAFE);
        }
        if material.emissive != [0.0; 3] {
            let [red, green, blue] = material.emissive.map(srgb_of_linear);
            writeln!(lines, "Ke {red} {green} {blue}").expect(SAFE);
            if let Some(file) = self.image(&material.emissive_texture) {
                writeln!(lines, "map_Ke {file}").expect(SAFE);
            }
        }
        if let Some(file) = self.image(&material.base_color_texture) {
            writeln!(lines, "map_Kd {file}").expect(SAFE);
            if material.alpha_mode != AlphaMode::Opaque {
                writeln!(lines, "map_d {file}").expect(SAFE);
            }
        }
        if let Some(file) = self.image(&material.normal_texture) {
            // Most programs read normals from `map_Bump`, some from `norm` only.
            match material.normal_scale {
                1.0 => writeln!(lines, "map_Bump {file}"),
                scale => writeln!(lines, "map_Bump -bm {scale} {file}"),
            }
            .expect(SAFE);
            writeln!(lines, "norm {file}").expect(SAFE);
        }
        self.mtl.push_str(&lines);
    }

    /// Roughness or metalness: a number, or a separate grey image if the texture has more than one value.
    fn channel(&mut self, material: &Material, surface: SurfaceChannel) -> MtlChannel {
        let factor = surface.factor_of(material);
        let Some(texture) = &material.metallic_roughness_texture else {
            return MtlChannel::plain(factor);
        };
        let key = (texture.image, surface, factor.to_bits());
        if let Some(known) = self.channels.get(&key) {
            return known.clone();
        }
        let image = &self.scene.images[texture.image];
        let made = match split(&image.bytes, surface, factor) {
            Some((mean, None)) => MtlChannel::plain(mean),
            Some((mean, Some(png))) => {
                let bytes = Bytes::from(png);
                let name = self.take_name(texture.image, surface.suffix(), "png", bytes.clone());
                self.push_file(&name, bytes);
                MtlChannel {
                    mean,
                    file: Some(name),
                }
            }
            None => MtlChannel::plain(factor),
        };
        self.channels.insert(key, made.clone());
        made
    }

    /// Takes a name without spaces for a file that is made from an image.
    fn take_name(&mut self, index: usize, suffix: &str, extension: &str, bytes: Bytes) -> String {
        let mut image = self.scene.images[index].clone();
        let own = image.json.get("name").and_then(|name| name.as_str());
        let known = image.file_name.take().or(own.map(str::to_owned));
        let stem = known.unwrap_or_else(|| format!("{}_texture_{index}", self.stem));
        let stem = stem
            .rsplit_once('.')
            .map_or(stem.as_str(), |(stem, _)| stem);
        image.file_name = Some(format!("{stem}{suffix}.{extension}"));
        image.bytes = bytes;
        self.names.take_image(&image, &self.stem, index, extension)
    }

    /// Adds a file unless an image with the same bytes has added it.
    fn push_file(&mut self, name: &str, bytes: Bytes) {
        if self.files.iter().all(|file| file.name != name) {
            let name = name.to_owned();
            self.files.push(OutFile { name, bytes });
        }
    }

    fn image(&mut self, texture: &Option<TextureUse>) -> Option<String> {
        let index = texture.as_ref()?.image;
        if let Some(known) = self.images.get(&index) {
            return Some(known.clone());
        }
        let image = &self.scene.images[index];
        let extension = image.extension();
        let name = self.names.take_image(image, &self.stem, index, extension);
        self.push_file(&name, image.bytes.clone());
        self.images.insert(index, name.clone());
        Some(name)
    }
}

/// Writes a position that is measured from the origin of its scene.
fn write_position(text: &mut String, origin: DVec3, near: Vec3) {
    if origin == DVec3::ZERO {
        write!(text, "v {} {} {}", near.x, near.y, near.z).expect(SAFE);
        return;
    }
    // The decimal digits of the float, so that a sum has no more digits than both.
    let decimal = |part: f32| part.to_string().parse().unwrap_or(f64::from(part));
    let at = origin + DVec3::from_array(near.to_array().map(decimal));
    write!(text, "v {} {} {}", at.x, at.y, at.z).expect(SAFE);
}

/// The normal of each triangle.
fn face_normals(part: &FlatPart) -> Vec<Vec3> {
    let triangles = part.indices.chunks_exact(3);
    triangles
        .map(|corners| {
            let [a, b, c] = [0, 1, 2].map(|corner| part.positions[corners[corner] as usize]);
            (b - a).cross(c - a).normalize_or(Vec3::Y)
        })
        .collect()
}

/// Roughness or metalness in the material file: one number, or an image.
#[derive(Debug, Clone)]
struct MtlChannel {
    /// The mean of the image, or the number.
    mean: f32,
    /// The image file. Its pixels are the final values, with the factor already applied.
    file: Option<String>,
}

impl MtlChannel {
    /// A channel with the same value everywhere.
    fn plain(value: f32) -> MtlChannel {
        MtlChannel {
            mean: value,
            file: None,
        }
    }

    /// The number in the material file. Next to an image it is 1, so that readers that multiply by it and readers that
    /// ignore it agree.
    fn number(&self) -> f32 {
        if self.file.is_some() { 1.0 } else { self.mean }
    }
}

/// What is lost of a scene in OBJ.
pub(super) const LIMITS: FormatLimits = FormatLimits {
    loss: |part| match part {
        ScenePart::Skins => Loss::Changed("the rest pose is written"),
        ScenePart::AlphaCutoffs => Loss::Changed("these materials are blended"),
        ScenePart::Unlit => Loss::Changed("they are lit"),
        ScenePart::OtherScenes
        | ScenePart::Cameras
        | ScenePart::Lights
        | ScenePart::Variants
        | ScenePart::Animations
        | ScenePart::MorphTargets
        | ScenePart::PointsAndLines
        | ScenePart::MoreCoordinates
        | ScenePart::VertexAlpha
        | ScenePart::OcclusionTextures
        | ScenePart::ClampedTextures
        | ScenePart::MirroredTextures
        | ScenePart::StrongEmission
        | ScenePart::DoubleSided => Loss::Total,
        ScenePart::Coordinates
        | ScenePart::VertexColors
        | ScenePart::TexturedVertexColors
        | ScenePart::Materials
        | ScenePart::SurfaceTextures
        | ScenePart::NormalStrength
        // Applied to the coordinates.
        | ScenePart::TextureTransforms
        // Named with the animations, and with its extension.
        | ScenePart::MorphAnimations
        | ScenePart::ClearcoatTextures => Loss::Nothing,
    },
    coordinate_sets: Some(CoordinateSets::One),
    material_extensions: &[],
    others: |_| Vec::new(),
};
