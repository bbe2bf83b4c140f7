//! Settings of an export: file formats, packing of geometry, encoding of textures.

use super::super::scene::TextureSlot;
use assetfs_formats::{FileFormat, TextureFormat};

/// How the geometry of a glTF file is packed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MeshCompression {
    /// Plain numbers.
    #[default]
    None,
    /// `KHR_draco_mesh_compression`.
    Draco,
    /// `EXT_meshopt_compression`.
    Meshopt,
    /// As the source is packed; a job replaces it by one of the others once the source is read.
    LikeSource,
}

impl MeshCompression {
    /// The name of a mesh compression in configurations; `None` if it has none.
    pub fn name(self) -> Option<&'static str> {
        match self {
            MeshCompression::Draco => Some("draco"),
            MeshCompression::Meshopt => Some("meshopt"),
            MeshCompression::None | MeshCompression::LikeSource => None,
        }
    }
}

/// The encoding of textures by slot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct TextureFormats {
    pub base_color: TextureFormat,
    pub emissive: TextureFormat,
    pub normal: TextureFormat,
    /// For occlusion, roughness and metallic.
    pub orm: TextureFormat,
    /// For the slots whose format loses something.
    pub quality: TextureQuality,
}

/// How much JPEG and WebP may lose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum TextureQuality {
    /// Nothing that is seen; WebP keeps normals and other numbers exactly.
    #[default]
    High,
    /// What is seen only up close.
    Medium,
}

impl TextureQuality {
    /// The quality called `name`, in any case; no name is [`TextureQuality::High`].
    pub fn from_name(name: &str) -> Option<TextureQuality> {
        match name.to_lowercase().as_str() {
            "" | "high" => Some(TextureQuality::High),
            "medium" => Some(TextureQuality::Medium),
            _ => None,
        }
    }
}

impl TextureFormats {
    /// The formats of all slots.
    pub fn all(&self) -> [TextureFormat; 4] {
        [self.base_color, self.emissive, self.normal, self.orm]
    }

    /// The format of a slot.
    pub fn of(&self, slot: TextureSlot) -> TextureFormat {
        match slot {
            TextureSlot::BaseColor => self.base_color,
            TextureSlot::Emissive => self.emissive,
            TextureSlot::Normal => self.normal,
            TextureSlot::Orm => self.orm,
        }
    }
}

/// One file to write.
#[derive(Debug, Clone, PartialEq)]
pub struct ExportSettings {
    pub format: FileFormat,
    /// The name without extension, if the configuration has one.
    pub file_name: Option<String>,
    /// Objects that only this file leaves out.
    pub discard: Discard,
    /// Prefix of the names of texture files.
    pub texture_prefix: String,
    /// How geometry is packed.
    pub compression: MeshCompression,
    /// The factor by which the model is scaled.
    pub scale: f64,
    /// How textures are encoded.
    pub textures: TextureFormats,
}

impl ExportSettings {
    /// A plain export.
    pub fn new(format: FileFormat) -> ExportSettings {
        ExportSettings {
            format,
            file_name: None,
            discard: Discard::default(),
            texture_prefix: String::new(),
            compression: MeshCompression::None,
            scale: 1.0,
            textures: TextureFormats::default(),
        }
    }
}

/// What to leave out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Discard {
    pub cameras: bool,
    pub lights: bool,
    pub animations: bool,
    pub morph_targets: bool,
    /// Texture coordinates that no material uses.
    pub unused_uvs: bool,
}
