//! The formats that are written: one row for each, with what its files hold. The writers and what each loses are in the
//! engine, in `export/`.

use super::rows::rows;

/// What the files of a format hold.
#[derive(Debug, Clone, Copy)]
pub struct FileFormatRow {
    /// The name in configurations, which is the extension as well.
    pub name: &'static str,
    pub content: HeldContent,
    pub materials: HeldMaterials,
    pub packing: GeometryPacking,
    pub image_names: ImageNames,
}

/// The parts of a scene that a format holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldContent {
    /// Every part of a glTF scene, so nothing is lost.
    WholeScene,
    /// No points or lines, and what the limits of its writer say.
    Triangles,
}

/// The materials that a format holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldMaterials {
    /// None, and so no images.
    NoMaterials,
    /// Materials with images that are PNG or JPEG.
    PlainImages,
    /// Materials with images of every kind that is written.
    AllImages,
}

/// How a format stores geometry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GeometryPacking {
    /// As plain numbers.
    Never,
    /// Always packed.
    Always,
    /// With the compression that a configuration names.
    Chosen,
}

/// The names of image files that a format refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageNames {
    /// They may contain blanks.
    Spaced,
    OneWord,
}

use GeometryPacking::{Always, Chosen, Never};
use HeldContent::{Triangles, WholeScene};
use HeldMaterials::{AllImages, NoMaterials, PlainImages};
use ImageNames::{OneWord, Spaced};

rows! {
    /// A file format that we write. In the order of their names.
    pub enum FileFormat: FileFormatRow {
        /// For authoring programs.
        Fbx { name: "fbx", content: Triangles, materials: PlainImages, packing: Always, image_names: Spaced }
        /// One binary file.
        Glb { name: "glb", content: WholeScene, materials: AllImages, packing: Chosen, image_names: Spaced }
        /// JSON with a binary file and images.
        Gltf { name: "gltf", content: WholeScene, materials: AllImages, packing: Chosen, image_names: Spaced }
        /// Wavefront, with materials and images.
        Obj { name: "obj", content: Triangles, materials: PlainImages, packing: Never, image_names: OneWord }
        /// Triangles with colours.
        Ply { name: "ply", content: Triangles, materials: NoMaterials, packing: Never, image_names: Spaced }
        /// Triangles only.
        Stl { name: "stl", content: Triangles, materials: NoMaterials, packing: Never, image_names: Spaced }
        /// Universal Scene Description, as Apple's devices show it.
        Usdz { name: "usdz", content: Triangles, materials: PlainImages, packing: Never, image_names: Spaced }
    }
}

impl FileFormat {
    /// The format called `name`, in any case.
    pub fn from_name(name: &str) -> Option<FileFormat> {
        let name = name.trim_start_matches('.').to_lowercase();
        let mut all = FileFormat::ALL.iter().copied();
        all.find(|format| format.name() == name)
    }

    /// Whether it holds every part of a glTF scene.
    pub fn holds_whole_scene(self) -> bool {
        self.row().content == WholeScene
    }

    /// Whether it holds materials, and so images.
    pub fn holds_materials(self) -> bool {
        self.row().materials != NoMaterials
    }

    /// Whether a configuration may name a compression of its geometry.
    pub fn takes_compression(self) -> bool {
        self.row().packing == Chosen
    }
}

/// The formats that are written, for a sentence: `glb, gltf, … and usdz`.
pub fn written_in_words() -> String {
    match FileFormat::NAMES.split_last() {
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_said() {
        assert_eq!(written_in_words(), "fbx, glb, gltf, obj, ply, stl and usdz");
    }
}
