//! The files that a glTF names: its buffers, then its images. Pure.

use percent_encoding::percent_decode_str;
use serde::Deserialize;

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    buffers: Vec<Item>,
    #[serde(default)]
    images: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    uri: Option<String>,
}

/// The names of the files, from the model's own folder on; what lies elsewhere is left out.
pub(super) fn files(gltf: &str, text: &[u8]) -> Vec<String> {
    // Whoever opened the file will find out that it is none.
    let Ok(document) = serde_json::from_slice::<Document>(text) else {
        return Vec::new();
    };
    let folder = gltf.rsplit_once('/').map_or("", |(folder, _)| folder);
    let items = document.buffers.into_iter().chain(document.images);
    items
        .filter_map(|item| within(folder, &item.uri?))
        .collect()
}

/// The path that a relative reference means; none for other references and those that lead out.
fn within(folder: &str, uri: &str) -> Option<String> {
    let has_scheme = uri.split_once(':').is_some_and(|(scheme, _)| {
        scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    });
    if has_scheme || uri.starts_with('/') {
        return None;
    }
    let decoded = percent_decode_str(uri).decode_utf8().ok()?;
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in decoded.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_and_images_of_the_same_model_are_named() {
        let text = br#"{"buffers":[{"uri":"a%20b.bin"},{"uri":"data:x;base64,AA"},{}],
            "images":[{"uri":"../textures/./wood.png"},{"uri":"https://x.example/y.png"},
                      {"uri":"../../out.png"},{"uri":"/etc/passwd"}]}"#;
        assert_eq!(
            files("scene/chair.gltf", text),
            ["scene/a b.bin", "textures/wood.png"]
        );
        assert!(files("chair.gltf", b"no glTF").is_empty());
    }
}
