//! Names of exported files: safe on every system, unique within an export folder.

use std::collections::{BTreeSet, HashMap};

use xxhash_rust::xxh3::xxh3_128;

pub use assetfs_formats::file_names::safe_stem as safe;

use super::super::scene::{Image, without_extension};

/// The names already given in an export folder, without regard to case.
#[derive(Debug, Default)]
pub struct Names {
    taken: BTreeSet<String>,
    /// Prefix of the names of texture files.
    texture_prefix: String,
    /// Whether names of image files hold no spaces.
    images_in_one_word: bool,
    /// The files of images by their names' prefix, their extension and a hash of their bytes.
    images: HashMap<(String, String, u128), String>,
}

impl Names {
    /// An empty set of names; texture files start with `texture_prefix`.
    pub fn new(texture_prefix: &str) -> Names {
        Names {
            texture_prefix: texture_prefix.to_owned(),
            ..Names::default()
        }
    }

    /// From now on, names of image files hold no spaces: OBJ readers take a space for the end of a name.
    pub fn name_images_in_one_word(&mut self) {
        self.images_in_one_word = true;
    }

    /// From now on, texture files start with `prefix`.
    pub fn set_texture_prefix(&mut self, prefix: &str) {
        prefix.clone_into(&mut self.texture_prefix);
    }

    /// Takes a name for `stem` with `extension`; adds a number if the name is taken.
    pub fn take(&mut self, stem: &str, extension: &str) -> String {
        let stem = safe(stem);
        let mut name = format!("{stem}.{extension}");
        let mut number = 2;
        while !self.taken.insert(name.to_lowercase()) {
            name = format!("{stem}_{number}.{extension}");
            number += 1;
        }
        name
    }

    /// The name of an image's file: that of the file it came from, else its own, else the model's with a number. An image
    /// with the same bytes as an earlier one gets the same file.
    pub fn take_image(
        &mut self,
        image: &Image,
        model: &str,
        index: usize,
        extension: &str,
    ) -> String {
        let key = (
            self.texture_prefix.clone(),
            extension.to_owned(),
            xxh3_128(&image.bytes),
        );
        if let Some(known) = self.images.get(&key) {
            return known.clone();
        }
        let own = image.json.get("name").and_then(|name| name.as_str());
        let stem = image
            .file_stem()
            .or(own.map(without_image_extension))
            .filter(|stem| !safe(stem).trim_matches('_').is_empty())
            .map_or_else(|| format!("{model}_texture_{index}"), str::to_owned);
        let mut stem = format!("{}{stem}", self.texture_prefix);
        if self.images_in_one_word {
            stem = one_word(&stem);
        }
        let name = self.take(&stem, extension);
        self.images.insert(key, name.clone());
        name
    }
}

/// The name without the extension of an image file: `wood.png` becomes `wood`, `v1.2` stays.
fn without_image_extension(name: &str) -> &str {
    let extension = name.rsplit('.').next().unwrap_or_default().to_lowercase();
    match extension.as_str() {
        "png" | "jpg" | "jpeg" | "webp" | "tga" | "bmp" | "tif" | "tiff" => without_extension(name),
        _ => name,
    }
}

/// The name without spaces, for formats whose readers end a name at a space and take `#` for a comment.
pub(super) fn one_word(name: &str) -> String {
    name.trim()
        .chars()
        .map(|letter| {
            if letter.is_whitespace() || letter.is_control() || letter == '#' {
                '_'
            } else {
                letter
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_and_unique_in_any_case() {
        let mut names = Names::default();
        assert_eq!(names.take("a/b", "glb"), "a_b.glb");
        assert_eq!(names.take("A/B", "glb"), "A_B_2.glb");
        assert_eq!(names.take("..", "bin"), "model.bin");
        assert_eq!(safe(" Füchs – лиса #2 "), "Füchs – лиса #2");
    }

    #[test]
    fn long_names_stay_unique_and_fit_a_file_system() {
        let mut names = Names::default();
        for long in [
            "木".repeat(300),
            format!("{}x", "木".repeat(300)),
            "a".repeat(400),
        ] {
            let name = names.take(&long, "png");
            assert!(name.len() <= 255 && name.ends_with(".png"), "{name}");
        }
        assert_eq!(names.taken.len(), 3);
        assert_eq!(safe(&"木".repeat(300)), "木".repeat(66), "no letter is cut");
    }

    #[test]
    fn an_image_keeps_the_name_of_its_file() {
        let mut names = Names::new("web_");
        let image = Image {
            file_name: Some("wood.v2.PNG".to_owned()),
            ..Image::default()
        };
        assert_eq!(
            names.take_image(&image, "chair", 0, "jpg"),
            "web_wood.v2.jpg"
        );
        assert_eq!(
            names.take_image(&image, "table", 7, "jpg"),
            "web_wood.v2.jpg",
            "the same bytes are one file"
        );
        let unnamed = Image::default();
        assert_eq!(
            names.take_image(&unnamed, "chair", 3, "png"),
            "web_chair_texture_3.png"
        );
    }
}
