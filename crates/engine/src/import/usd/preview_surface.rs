//! The inputs of a `UsdPreviewSurface`, and warnings about what is not read of it.

use openusd::sdf::Path;
use openusd::usd::Stage;

use super::shader::{SurfaceInput, TextureSource, shader_id, surface_of};
use super::warnings::{Warnings, name_inputs};
use assetfs_formats::warnings::WarningKind;

/// The inputs that are read, or for which there is a warning elsewhere.
const INPUTS: &[&str] = &[
    "diffuseColor",
    "emissiveColor",
    "metallic",
    "roughness",
    "opacity",
    "opacityThreshold",
    "normal",
    "occlusion",
    "clearcoat",
    "clearcoatRoughness",
    "ior",
    "displacement",
    "useSpecularWorkflow",
    "specularColor",
];

/// The inputs of a surface that are read.
pub(super) struct PreviewSurface {
    pub(super) color: SurfaceInput,
    pub(super) emissive: SurfaceInput,
    pub(super) metallic: SurfaceInput,
    pub(super) roughness: SurfaceInput,
    pub(super) opacity: SurfaceInput,
    pub(super) threshold: SurfaceInput,
    pub(super) normal: SurfaceInput,
    pub(super) occlusion: SurfaceInput,
    pub(super) clearcoat: SurfaceInput,
    pub(super) clearcoat_roughness: SurfaceInput,
    pub(super) ior: SurfaceInput,
    displacement: SurfaceInput,
    /// A colour of reflections (`specularColor`) instead of metalness.
    pub(super) is_specular: bool,
}

impl PreviewSurface {
    /// The surface of a material; `None` without one that is read, with a warning.
    pub(super) fn of(
        stage: &Stage,
        path: &Path,
        warnings: &mut Warnings,
    ) -> Option<PreviewSurface> {
        let name = path.name().unwrap_or_default();
        let Some(shader) = surface_of(stage, path) else {
            warnings.add(
                WarningKind::NotRead,
                format!(
                    "material \"{name}\" has no surface that viewers show; a plain one is taken"
                ),
            );
            return None;
        };
        let id = shader_id(&shader).unwrap_or_default();
        // The MaterialX form has the same inputs.
        if !["UsdPreviewSurface", "ND_UsdPreviewSurface_surfaceshader"].contains(&&*id) {
            warnings.add(WarningKind::NotRead, format!(
                "material \"{name}\" has a surface of the kind {id}; only UsdPreviewSurface is read, and a plain one is taken"
            ));
            return None;
        }
        name_inputs(&shader, &format!("material \"{name}\""), INPUTS, warnings);
        let input = |name: &str| SurfaceInput::of(stage, &shader, name);
        let mut surface = PreviewSurface {
            color: input("diffuseColor"),
            emissive: input("emissiveColor"),
            metallic: input("metallic"),
            roughness: input("roughness"),
            opacity: input("opacity"),
            threshold: input("opacityThreshold"),
            normal: input("normal"),
            occlusion: input("occlusion"),
            clearcoat: input("clearcoat"),
            clearcoat_roughness: input("clearcoatRoughness"),
            ior: input("ior"),
            displacement: input("displacement"),
            is_specular: input("useSpecularWorkflow").number() == Some(1.0),
        };
        if let SurfaceInput::Texture(texture) = &mut surface.occlusion {
            texture.is_occlusion = true;
        }
        surface.warn_of_unread(name, warnings);
        Some(surface)
    }

    /// The inputs whose textures are read.
    pub(super) fn textured_mut(&mut self) -> [&mut SurfaceInput; 7] {
        [
            &mut self.color,
            &mut self.emissive,
            &mut self.metallic,
            &mut self.roughness,
            &mut self.opacity,
            &mut self.normal,
            &mut self.occlusion,
        ]
    }

    /// The inputs of which only numbers are read, with their names.
    fn numbers(&self) -> [(&'static str, &SurfaceInput); 5] {
        [
            ("clearcoat", &self.clearcoat),
            ("clearcoatRoughness", &self.clearcoat_roughness),
            ("ior", &self.ior),
            ("opacityThreshold", &self.threshold),
            ("displacement", &self.displacement),
        ]
    }

    fn warn_of_unread(&self, name: &str, warnings: &mut Warnings) {
        self.warn_of_shifts(name, warnings);
        if self.is_specular {
            warnings.add(WarningKind::NotRead, format!(
                "material \"{name}\" uses the specular workflow (specularColor), which is not read; it is treated as non-metallic"
            ));
        }
        for input in [
            &self.color,
            &self.emissive,
            &self.metallic,
            &self.roughness,
            &self.opacity,
            &self.normal,
            &self.occlusion,
        ] {
            if let SurfaceInput::Unknown(id) = input {
                warnings.add(
                    WarningKind::NotRead,
                    format!("material \"{name}\": a shader of the kind {id} is not read"),
                );
            }
            if let SurfaceInput::Primvar(primvar) = input
                && (primvar != "displayColor" || !std::ptr::eq(input, &self.color))
            {
                warnings.add(WarningKind::NotRead, format!(
                    "material \"{name}\": an input reads \"{primvar}\" of the meshes, which is not read"
                ));
            }
        }
        for (input, it) in self.numbers() {
            if it.texture().is_some() {
                warnings.add(
                    WarningKind::NotRead,
                    format!("material \"{name}\": its {input} texture is not read"),
                );
            }
        }
        if self.displacement.number().is_some_and(|it| it != 0.0) {
            warnings.add(
                WarningKind::NotRead,
                format!("material \"{name}\": its displacement is not read"),
            );
        }
        for (first, second, [one, other]) in [
            (&self.roughness, &self.metallic, ["roughness", "metalness"]),
            (&self.color, &self.opacity, ["colour", "opacity"]),
        ] {
            if let (Some(first), Some(second)) = (first.texture(), second.texture())
                && !first.lies_like(second)
            {
                warnings.add(WarningKind::NotRead, format!(
                    "material \"{name}\": its textures of {one} and {other} use different texture coordinates, transforms or wrap modes; glTF has one texture for both, so those of {one} are used"
                ));
            }
        }
    }

    /// Names the textures whose values change in a way that glTF cannot say.
    fn warn_of_shifts(&self, name: &str, warnings: &mut Warnings) {
        for input in [&self.color, &self.emissive] {
            if input.texture().is_some_and(|it| it.bias[..3] != [0.0; 3]) {
                warnings.add(
                    WarningKind::NotRead,
                    format!("material \"{name}\": the bias of a colour's texture is not read"),
                );
            }
        }
        // Strength changes x and y alike; pixels that are no plain normals are stretched from 0 to 1 to -1 to 1.
        let is_usual = |it: &TextureSource| {
            it.scale == [1.0; 4]
                || (it.scale[0] == it.scale[1] && it.scale[..3].iter().all(|part| *part > 0.0))
        };
        if self.normal.texture().is_some_and(|it| !is_usual(it)) {
            warnings.add(WarningKind::NotRead, format!(
                "material \"{name}\": the scale of its normal texture is unequal or negative (for example a flipped green channel); this is ignored"
            ));
        }
    }
}
