//! Settings of an export: file formats, packing of geometry, encoding of textures.

use super::super::scene::TextureSlot;

/// A file format that we write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileFormat {
    /// One binary file.
    Glb,
    /// JSON with a binary file and images.
    Gltf,
    /// Wavefront, with materials and images.
    Obj,
    /// Triangles only.
    Stl,
    /// Triangles with colours.
    Ply,
    /// Universal Scene Description, as Apple's devices show it.
    Usdz,
    /// For authoring programs.
    Fbx,
}

impl FileFormat {
    pub const ALL: [FileFormat; 7] = [
        FileFormat::Glb,
        FileFormat::Gltf,
        FileFormat::Obj,
        FileFormat::Stl,
        FileFormat::Ply,
        FileFormat::Usdz,
        FileFormat::Fbx,
    ];

    /// The name in configurations, which is the extension as well.
    pub fn name(self) -> &'static str {
        match self {
            FileFormat::Glb => "glb",
            FileFormat::Gltf => "gltf",
            FileFormat::Obj => "obj",
            FileFormat::Stl => "stl",
            FileFormat::Ply => "ply",
            FileFormat::Usdz => "usdz",
            FileFormat::Fbx => "fbx",
        }
    }

    /// The format called `name`, in any case.
    pub fn from_name(name: &str) -> Option<FileFormat> {
        let name = name.trim_start_matches('.').to_lowercase();
        FileFormat::ALL
            .into_iter()
            .find(|format| format.name() == name)
    }
}

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

/// The encoding of textures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum TextureFormat {
    /// The smallest encoding without visible loss.
    #[default]
    Auto,
    Png,
    /// JPEG, where alpha is not used.
    Jpg,
    /// WebP, lossy for colours and lossless for the rest; in glTF only.
    WebP,
    /// KTX2 with Basis Universal, which graphics cards keep packed; in glTF only.
    Ktx2,
}

impl TextureFormat {
    /// The words of configurations.
    pub const NAMES: &'static [&'static str] = &["auto", "png", "jpg", "webp", "ktx2"];

    /// The format called `name`, in any case.
    pub fn from_name(name: &str) -> Option<TextureFormat> {
        Some(match name.to_lowercase().as_str() {
            "" | "auto" => TextureFormat::Auto,
            "png" => TextureFormat::Png,
            "jpg" | "jpeg" => TextureFormat::Jpg,
            "webp" => TextureFormat::WebP,
            "ktx2" => TextureFormat::Ktx2,
            _ => return None,
        })
    }

    /// Whether only glTF files hold it.
    pub fn is_gltf_only(self) -> bool {
        matches!(self, TextureFormat::WebP | TextureFormat::Ktx2)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_what_the_table_of_formats_says() {
        let mut names = FileFormat::ALL.map(FileFormat::name);
        names.sort_unstable();
        assert_eq!(names.as_slice(), assetfs_formats::written());
    }
}
