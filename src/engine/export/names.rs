//! Names of exported files: safe on every system, unique within an export folder.

use std::collections::BTreeSet;

use super::super::scene::Image;

/// The names already given in an export folder, without regard to case.
#[derive(Debug, Default)]
pub struct Names {
    taken: BTreeSet<String>,
    /// Put in front of the names of texture files.
    texture_prefix: String,
}

/// Names longer than this make trouble on some file systems once an extension is added.
const MAX_STEM_LEN_CHARS: usize = 120;

impl Names {
    /// No names taken; texture files start with `texture_prefix`.
    pub fn new(texture_prefix: &str) -> Names {
        Names {
            taken: BTreeSet::new(),
            texture_prefix: texture_prefix.to_owned(),
        }
    }

    /// From now on, texture files start with `prefix`.
    pub fn set_texture_prefix(&mut self, prefix: &str) {
        prefix.clone_into(&mut self.texture_prefix);
    }

    /// A name for `stem` with `extension`, with a number when it is taken.
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

    /// A name for an image: that of its file, else its own, else the model's with a number.
    pub fn take_image(
        &mut self,
        image: &Image,
        model: &str,
        index: usize,
        extension: &str,
    ) -> String {
        let of_file = image.file_name.as_deref().map(without_extension);
        let own = image.json.get("name").and_then(|name| name.as_str());
        let stem = of_file
            .or(own.map(without_image_extension))
            .filter(|stem| !safe(stem).trim_matches('_').is_empty())
            .map_or_else(|| format!("{model}_texture_{index}"), str::to_owned);
        let stem = format!("{}{stem}", self.texture_prefix);
        self.take(&stem, extension)
    }
}

fn without_extension(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    }
}

/// A name such as `wood.png` in an image's `name` is a file name; `v1.2` is not.
fn without_image_extension(name: &str) -> &str {
    let extension = name.rsplit('.').next().unwrap_or_default().to_lowercase();
    match extension.as_str() {
        "png" | "jpg" | "jpeg" | "webp" | "tga" | "bmp" | "tif" | "tiff" => without_extension(name),
        _ => name,
    }
}

/// The name without what some file system refuses.
pub fn safe(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|letter| match letter {
            '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|' => '_',
            letter if letter.is_control() => '_',
            letter => letter,
        })
        .take(MAX_STEM_LEN_CHARS)
        .collect();
    let plain = plain.trim().trim_start_matches('.').trim_end_matches('.');
    if plain.is_empty() {
        return "model".to_owned();
    }
    plain.to_owned()
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
        let unnamed = Image::default();
        assert_eq!(
            names.take_image(&unnamed, "chair", 3, "png"),
            "web_chair_texture_3.png"
        );
    }
}
