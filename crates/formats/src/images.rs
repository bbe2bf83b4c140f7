//! The kinds of encoded images: one row for each, with its names, its first bytes and what glTF says of it. What decodes
//! and encodes them is in the engine, in `textures/codecs.rs`.

use super::rows::rows;

/// The names of a kind of images, and how glTF files have it.
#[derive(Debug, Clone, Copy)]
pub struct ImageKindRow {
    /// The usual extension.
    pub name: &'static str,
    /// Another extension, which configurations may use as well.
    pub other_name: Option<&'static str>,
    pub media_type: &'static str,
    /// Whether a file that starts with these bytes is of this kind.
    pub is: fn(&[u8]) -> bool,
    pub gltf: GltfUse,
    /// The kind of the baked textures that replace it.
    pub baked: ImageKind,
}

/// How a glTF file has images of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GltfUse {
    /// Every viewer shows it.
    Core,
    /// With this extension of the texture that shows it.
    Extension(&'static str),
    Forbidden,
}

use GltfUse::{Core, Extension, Forbidden};
use ImageKind::{Jpeg, Ktx2, Png, WebP};

rows! {
    /// A kind of encoded images. A texture with several shows the last one of them that the viewer knows.
    pub enum ImageKind: ImageKindRow {
        Png { name: "png", other_name: None, media_type: "image/png", is: |bytes| bytes.starts_with(b"\x89PNG\r\n\x1a\n"), gltf: Core, baked: Png }
        Jpeg { name: "jpg", other_name: Some("jpeg"), media_type: "image/jpeg", is: |bytes| bytes.starts_with(b"\xff\xd8\xff"), gltf: Core, baked: Jpeg }
        WebP { name: "webp", other_name: None, media_type: "image/webp", is: |bytes| bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP"), gltf: Extension("EXT_texture_webp"), baked: WebP }
        /// Is read, but not written.
        Avif { name: "avif", other_name: None, media_type: "image/avif", is: |bytes| bytes.get(4..12) == Some(b"ftypavif"), gltf: Extension("EXT_texture_avif"), baked: Jpeg }
        Ktx2 { name: "ktx2", other_name: None, media_type: "image/ktx2", is: |bytes| bytes.starts_with(b"\xabKTX 20\xbb\r\n\x1a\n"), gltf: Extension("KHR_texture_basisu"), baked: Ktx2 }
        Gif { name: "gif", other_name: None, media_type: "image/gif", is: |bytes| bytes.starts_with(b"GIF8"), gltf: Forbidden, baked: Png }
        Bmp { name: "bmp", other_name: None, media_type: "image/bmp", is: |bytes| bytes.starts_with(b"BM"), gltf: Forbidden, baked: Png }
        Tiff { name: "tiff", other_name: None, media_type: "image/tiff", is: |bytes| bytes.starts_with(b"II*\0") || bytes.starts_with(b"MM\0*"), gltf: Forbidden, baked: Png }
    }
}

impl ImageKind {
    /// The kind with this media type.
    pub fn of_media_type(media_type: &str) -> Option<ImageKind> {
        let mut all = ImageKind::ALL.iter().copied();
        all.find(|kind| kind.media_type() == media_type)
    }

    /// The kind of an encoded image by its first bytes.
    pub fn of_bytes(bytes: &[u8]) -> Option<ImageKind> {
        let mut all = ImageKind::ALL.iter().copied();
        all.find(|kind| (kind.row().is)(bytes))
    }

    /// The kind of files with this extension, in lower case.
    pub fn of_extension(extension: &str) -> Option<ImageKind> {
        let mut all = ImageKind::ALL.iter().copied();
        all.find(|kind| kind.name() == extension || kind.row().other_name == Some(extension))
    }

    pub fn media_type(self) -> &'static str {
        self.row().media_type
    }

    /// Whether every viewer of glTF files shows it.
    pub fn is_plain(self) -> bool {
        self.row().gltf == Core
    }

    /// The extension of a texture in a glTF file that this kind needs.
    pub fn gltf_extension(self) -> Option<&'static str> {
        match self.row().gltf {
            Extension(name) => Some(name),
            Core | Forbidden => None,
        }
    }
}

/// The extensions of a texture that refer to an image in another format than PNG and JPEG. The first of those that a
/// texture has counts.
pub fn gltf_image_extensions() -> impl Iterator<Item = &'static str> {
    ImageKind::ALL
        .iter()
        .filter_map(|kind| kind.gltf_extension())
}

/// The word of a configuration, and what it asks for.
#[derive(Debug, Clone, Copy)]
pub struct TextureFormatRow {
    pub name: &'static str,
    /// `None` leaves the choice to us.
    pub kind: Option<ImageKind>,
}

rows! {
    /// The encoding of textures that a configuration asks for.
    #[derive(Default)]
    pub enum TextureFormat: TextureFormatRow {
        /// The smallest encoding without visible loss.
        #[default]
        Auto { name: "auto", kind: None }
        Png { name: Png.name(), kind: Some(Png) }
        /// JPEG, where alpha is not used.
        Jpg { name: Jpeg.name(), kind: Some(Jpeg) }
        /// WebP, lossy for colours and lossless for the rest; in glTF only.
        WebP { name: WebP.name(), kind: Some(WebP) }
        /// KTX2 with Basis Universal, which graphics cards keep packed; in glTF only.
        Ktx2 { name: Ktx2.name(), kind: Some(Ktx2) }
    }
}

impl TextureFormat {
    /// The format called `name`, in any case; no name leaves the choice to us.
    pub fn from_name(name: &str) -> Option<TextureFormat> {
        let name = match name.to_lowercase() {
            name if name.is_empty() => "auto".to_owned(),
            name => name,
        };
        let mut all = TextureFormat::ALL.iter().copied();
        all.find(|format| match format.kind() {
            Some(kind) => ImageKind::of_extension(&name) == Some(kind),
            None => format.name() == name,
        })
    }

    pub const fn kind(self) -> Option<ImageKind> {
        self.row().kind
    }

    /// Whether only glTF files hold it.
    pub fn is_gltf_only(self) -> bool {
        self.kind().is_some_and(|kind| !kind.is_plain())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_texture_format_has_the_extensions_of_its_kind_as_names() {
        assert_eq!(TextureFormat::NAMES, ["auto", "png", "jpg", "webp", "ktx2"]);
        for (name, format) in [
            ("", Some(TextureFormat::Auto)),
            ("AUTO", Some(TextureFormat::Auto)),
            ("jpeg", Some(TextureFormat::Jpg)),
            ("WebP", Some(TextureFormat::WebP)),
            ("avif", None),
            ("x", None),
        ] {
            assert_eq!(TextureFormat::from_name(name), format, "{name}");
        }
    }
}
