//! What a format cannot hold: each says for every [`ScenePart`] what becomes of it.

use super::super::scene::Scene;
use super::texture_places::CoordinateSets;
use assetfs_formats::warnings::Warning;

/// A part of a scene that some format cannot hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScenePart {
    /// Scenes that are not the default one.
    OtherScenes,
    Cameras,
    Lights,
    Variants,
    Animations,
    MorphAnimations,
    Skins,
    MorphTargets,
    PointsAndLines,
    Coordinates,
    MoreCoordinates,
    VertexColors,
    /// Vertex colours on materials with a texture of the base colour.
    TexturedVertexColors,
    VertexAlpha,
    /// If a format cannot hold materials, it says nothing of the parts below.
    Materials,
    /// Textures of roughness and metalness.
    SurfaceTextures,
    OcclusionTextures,
    NormalStrength,
    TextureTransforms,
    ClampedTextures,
    MirroredTextures,
    AlphaCutoffs,
    StrongEmission,
    DoubleSided,
    Unlit,
    ClearcoatTextures,
}

impl ScenePart {
    pub(super) fn name(self) -> &'static str {
        match self {
            ScenePart::OtherScenes => "scenes besides the default one",
            ScenePart::Cameras => "cameras",
            ScenePart::Lights => "lights",
            ScenePart::Variants => "material variants",
            ScenePart::Animations => "animations",
            ScenePart::MorphAnimations => "animations of morph targets",
            ScenePart::Skins => "skins",
            ScenePart::MorphTargets => "morph targets",
            ScenePart::PointsAndLines => "points and lines",
            ScenePart::Coordinates => "texture coordinates",
            ScenePart::MoreCoordinates => "more than one set of texture coordinates",
            ScenePart::VertexColors | ScenePart::TexturedVertexColors => "vertex colours",
            ScenePart::VertexAlpha => "the alpha of vertex colours",
            ScenePart::Materials => "materials",
            ScenePart::SurfaceTextures => "textures of roughness and metalness",
            ScenePart::OcclusionTextures => "occlusion textures",
            ScenePart::NormalStrength => "the strength of normal maps",
            ScenePart::TextureTransforms => "texture transforms",
            ScenePart::ClampedTextures => "clamped textures",
            ScenePart::MirroredTextures => "mirrored textures",
            ScenePart::AlphaCutoffs => "alpha cutoffs",
            ScenePart::StrongEmission => "emission above 1",
            ScenePart::DoubleSided => "double-sided materials",
            ScenePart::Unlit => "unlit materials",
            ScenePart::ClearcoatTextures => "clearcoat textures",
        }
    }
}

/// What becomes of a part of a scene in a format.
pub(super) enum Loss {
    /// It is held, or the warning about another part covers it.
    Nothing,
    /// It is left out.
    Total,
    /// Something else is written, as the words say.
    Changed(&'static str),
}

/// What a format cannot hold.
pub(super) struct FormatLimits {
    pub(super) loss: fn(ScenePart) -> Loss,
    /// The number of its sets of texture coordinates, if the writer applies texture transforms to them.
    pub(super) coordinate_sets: Option<CoordinateSets>,
    /// The extensions of materials that it holds, besides those that are a [`ScenePart`].
    pub(super) material_extensions: &'static [&'static str],
    /// Further warnings.
    pub(super) others: fn(&Scene) -> Vec<Warning>,
}
