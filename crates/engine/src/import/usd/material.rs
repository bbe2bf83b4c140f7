//! Materials: `UsdPreviewSurface` as metallic-roughness materials of glTF.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use openusd::sdf::Path;
use openusd::usd::Stage;
use serde_json::{Value as Json, json};

use super::super::channels::ImageChannel;
use super::super::scene_builder::SceneBuilder;
use super::images::Images;
use super::preview_surface::PreviewSurface;
use super::primvar::PLAIN_GREY;
use super::resolver::Files;
use super::shader::{ImageUse, SurfaceInput, TextureSource};
use super::warnings::Warnings;
use assetfs_formats::warnings::WarningKind;

/// What a mesh brings to its materials.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct MaterialUser {
    /// The names of the mesh's sets of texture coordinates.
    pub(super) coords: Vec<String>,
    pub(super) is_double_sided: bool,
    /// Whether the mesh has colours of its own (`displayColor`), and whether they are translucent.
    pub(super) has_colors: bool,
    pub(super) is_translucent: bool,
}

/// A material of the scene.
#[derive(Debug, Clone, Copy)]
pub(super) struct UsedMaterial {
    pub(super) index: usize,
    /// Whether it shows the colours of the mesh.
    pub(super) shows_colors: bool,
}

/// The materials that are in the scene already.
pub(super) struct StageMaterials {
    made: HashMap<(Option<String>, MaterialUser), UsedMaterial>,
    images: Images,
}

impl StageMaterials {
    pub(super) fn new(files: Rc<RefCell<Files>>) -> StageMaterials {
        StageMaterials {
            made: HashMap::new(),
            images: Images::new(files),
        }
    }

    /// Returns the scene's material for a material of the stage, or a plain one.
    pub(super) fn add(
        &mut self,
        stage: &Stage,
        path: Option<&Path>,
        user: &MaterialUser,
        builder: &mut SceneBuilder,
        warnings: &mut Warnings,
    ) -> UsedMaterial {
        let key = (path.map(|path| path.as_str().to_owned()), user.clone());
        if let Some(made) = self.made.get(&key) {
            return *made;
        }
        let mut surface = path.and_then(|path| PreviewSurface::of(stage, path, warnings));
        let shows_colors = user.has_colors
            && match &surface {
                None => true,
                Some(surface) => {
                    matches!(&surface.color, SurfaceInput::Primvar(name) if name == "displayColor")
                }
            };
        let name = path.and_then(Path::name);
        let mut json = match &mut surface {
            Some(surface) => {
                let mut maker = Maker {
                    name: name.unwrap_or_default(),
                    user,
                    images: &mut self.images,
                    builder,
                    warnings,
                };
                maker.make(surface)
            }
            None => plain(user),
        };
        if let Some(name) = name {
            json["name"] = name.into();
        }
        if user.is_double_sided {
            json["doubleSided"] = true.into();
        }
        if shows_colors && user.is_translucent {
            json["alphaMode"] = "BLEND".into();
        }
        let made = UsedMaterial {
            index: builder.add_material(json),
            shows_colors,
        };
        self.made.insert(key, made);
        made
    }
}

/// The material of meshes without one: their own colours, or grey.
fn plain(user: &MaterialUser) -> Json {
    let grey = if user.has_colors { 1.0 } else { PLAIN_GREY[0] };
    json!({
        "pbrMetallicRoughness": {
            "baseColorFactor": [grey, grey, grey, 1.0],
            "metallicFactor": 0.0,
            "roughnessFactor": 0.5,
        },
    })
}

/// Makes one material.
struct Maker<'a> {
    name: &'a str,
    user: &'a MaterialUser,
    images: &'a mut Images,
    builder: &'a mut SceneBuilder,
    warnings: &'a mut Warnings,
}

impl Maker<'_> {
    fn make(&mut self, surface: &mut PreviewSurface) -> Json {
        for input in surface.textured_mut() {
            if input.texture().is_some_and(|source| !self.can_read(source)) {
                input.fall_back();
            }
        }
        let mut json = json!({});
        json["pbrMetallicRoughness"] = self.base(surface);
        let opacity = surface.opacity.number().unwrap_or(1.0);
        let cutoff = surface.threshold.number().unwrap_or(0.0);
        let is_textured = surface.opacity.texture().is_some();
        if cutoff > 0.0 && (is_textured || opacity < 1.0) {
            json["alphaMode"] = "MASK".into();
            json["alphaCutoff"] = cutoff.into();
        } else if is_textured || opacity < 1.0 {
            json["alphaMode"] = "BLEND".into();
        }
        self.add_emission(surface, &mut json);
        if let Some(source) = surface.normal.texture()
            && let Some(mut texture) = self.whole(source, ImageUse::Numbers)
        {
            // Two is the scale of pixels that are plain normals.
            let strength = source.scale[0] / 2.0;
            if source.scale != [1.0; 4] && strength != 1.0 {
                texture["scale"] = strength.into();
            }
            json["normalTexture"] = texture;
        }
        if let Some(source) = surface.occlusion.texture()
            && let Some(mut texture) = self.channels([Some(source), None, None])
        {
            if source.factor() != 1.0 {
                texture["strength"] = source.factor().into();
            }
            json["occlusionTexture"] = texture;
        }
        self.add_extensions(surface, &mut json);
        json
    }

    fn base(&mut self, surface: &mut PreviewSurface) -> Json {
        let mut base = json!({});
        let texture = self.color_texture(surface);
        if texture.is_none() {
            surface.color.fall_back();
            surface.opacity.fall_back();
        }
        let mut color = match &surface.color {
            SurfaceInput::Primvar(_) => [1.0; 3],
            // Without a value, the default of the surface.
            other => other.color().unwrap_or([0.18; 3]),
        };
        let mut opacity = surface.opacity.number().unwrap_or(1.0);
        if let Some(source) = surface.color.texture() {
            color = [source.scale[0], source.scale[1], source.scale[2]];
        }
        if let Some(source) = surface.opacity.texture() {
            opacity = source.factor();
        }
        if let Some(texture) = texture {
            base["baseColorTexture"] = texture;
        }
        base["baseColorFactor"] = json!([color[0], color[1], color[2], opacity].map(unit));
        let (rough, metal) = (surface.roughness.texture(), surface.metallic.texture());
        match self.channels([None, rough, metal]) {
            Some(texture) => base["metallicRoughnessTexture"] = texture,
            None => {
                surface.roughness.fall_back();
                surface.metallic.fall_back();
            }
        }
        let factor = |input: &SurfaceInput, usual: f32| match input.texture() {
            Some(source) => source.factor(),
            None => input.number().unwrap_or(usual),
        };
        base["roughnessFactor"] = unit(factor(&surface.roughness, 0.5)).into();
        base["metallicFactor"] = match surface.is_specular {
            true => 0.0.into(),
            false => unit(factor(&surface.metallic, 0.0)).into(),
        };
        base
    }

    fn color_texture(&mut self, surface: &PreviewSurface) -> Option<Json> {
        match (surface.color.texture(), surface.opacity.texture()) {
            (Some(color), None) => self.whole(color, ImageUse::Colors),
            (Some(color), Some(opacity))
                if color.place() == opacity.place()
                    && opacity.channel == ImageChannel::Alpha
                    && opacity.shift().is_none() =>
            {
                self.whole(color, ImageUse::Colors)
            }
            (color, Some(opacity)) => self.with_alpha(color, opacity),
            (None, None) => None,
        }
    }

    fn add_emission(&mut self, surface: &mut PreviewSurface, json: &mut Json) {
        let source = surface.emissive.texture();
        let texture = source.and_then(|source| self.whole(source, ImageUse::Colors));
        if texture.is_none() {
            surface.emissive.fall_back();
        }
        let emitted = match surface.emissive.texture() {
            Some(source) => [source.scale[0], source.scale[1], source.scale[2]],
            None => surface.emissive.color().unwrap_or([0.0; 3]),
        };
        let emitted = emitted.map(|part| if part.is_finite() { part.max(0.0) } else { 0.0 });
        let strength = emitted.into_iter().fold(1.0f32, f32::max);
        if emitted != [0.0; 3] {
            json["emissiveFactor"] = json!(emitted.map(|part| part / strength));
        }
        if strength > 1.0 {
            self.add_extension(
                json,
                "KHR_materials_emissive_strength",
                json!({ "emissiveStrength": strength }),
            );
        }
        if let Some(texture) = texture {
            json["emissiveTexture"] = texture;
        }
    }

    fn add_extensions(&mut self, surface: &PreviewSurface, json: &mut Json) {
        if let Some(ior) = surface.ior.number()
            && ior >= 1.0
            && (ior - 1.5).abs() > 1e-3
        {
            self.add_extension(json, "KHR_materials_ior", json!({ "ior": ior }));
        }
        let coat = surface.clearcoat.number().unwrap_or(0.0);
        if coat > 0.0 {
            let rough = surface.clearcoat_roughness.number().unwrap_or(0.01);
            let coat =
                json!({ "clearcoatFactor": unit(coat), "clearcoatRoughnessFactor": unit(rough) });
            self.add_extension(json, "KHR_materials_clearcoat", coat);
        }
    }

    fn add_extension(&mut self, json: &mut Json, name: &str, content: Json) {
        json["extensions"][name] = content;
        self.builder.use_extension(name);
    }

    /// Whether the mesh has the coordinates of a texture, and its file can be read; if not, a warning says so.
    fn can_read(&mut self, source: &TextureSource) -> bool {
        if self.set_of(source).is_none() {
            self.warnings.add(WarningKind::BadTexture, format!(
                "material \"{}\": its textures read the coordinates \"{}\", which some meshes lack or have beyond the first four; they are left out there",
                self.name, source.coords
            ));
            return false;
        }
        self.images.is_readable(source, self.warnings)
    }

    /// The mesh's set of texture coordinates that a texture reads.
    fn set_of(&self, source: &TextureSource) -> Option<usize> {
        let mut names = self.user.coords.iter();
        names.position(|name| *name == source.coords)
    }

    /// A texture as it is.
    fn whole(&mut self, source: &TextureSource, used: ImageUse) -> Option<Json> {
        let image = self
            .images
            .whole(source, used, self.builder, self.warnings)?;
        self.texture(source, image)
    }

    /// A texture of occlusion, roughness and metalness in its three channels.
    fn channels(&mut self, sources: [Option<&TextureSource>; 3]) -> Option<Json> {
        let image = self.images.channels(sources, self.builder, self.warnings)?;
        let source = sources.into_iter().flatten().next()?;
        self.texture(source, image)
    }

    /// The texture of a colour, whose alpha is a channel of another.
    fn with_alpha(
        &mut self,
        color: Option<&TextureSource>,
        opacity: &TextureSource,
    ) -> Option<Json> {
        let image = self
            .images
            .with_alpha(color, opacity, self.builder, self.warnings)?;
        self.texture(color.unwrap_or(opacity), image)
    }

    /// The JSON of a use of a texture; `None` if the mesh lacks its coordinates.
    fn texture(&mut self, source: &TextureSource, image: usize) -> Option<Json> {
        let set = self.set_of(source)?;
        if source.is_black_outside {
            self.warnings.add(WarningKind::NotRead, format!(
                "the texture \"{}\" is black outside of its image (wrap mode `black`), which is not read; its border goes on there",
                source.asset
            ));
        }
        let builder = &mut self.builder;
        Some(builder.texture_use(image, set, source.wraps, source.transform))
    }
}

fn unit(number: f32) -> f32 {
    match number.is_finite() {
        true => number.clamp(0.0, 1.0),
        false => 1.0,
    }
}
