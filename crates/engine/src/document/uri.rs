//! References from a model to its files: data URIs and names inside the upload's folder.
//!
//! Invariant: nothing outside the input folder is ever opened, however the reference is spelled and
//! whatever symlinks the upload holds.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use percent_encoding::percent_decode_str;

/// The target of a reference.
#[derive(Debug, PartialEq, Eq)]
pub enum UriTarget {
    /// A file inside the input folder.
    File(PathBuf),
    /// The reference leads out of the input folder, or to the network.
    Outside,
    /// No file of that name exists.
    Missing,
}

/// Bytes and media type of a data URI, or `None` when the text is not one.
pub fn data_uri(uri: &str) -> Option<Result<(Vec<u8>, String), String>> {
    let rest = uri.strip_prefix("data:")?;
    let Some((head, body)) = rest.split_once(',') else {
        return Some(Err("is a data URI without data".to_owned()));
    };
    let media_type = head.split(';').next().unwrap_or_default().to_owned();
    if head.ends_with(";base64") {
        let lenient = GeneralPurpose::new(
            &alphabet::STANDARD,
            GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
        );
        return Some(match lenient.decode(body.trim().as_bytes()) {
            Ok(bytes) => Ok((bytes, media_type)),
            Err(error) => Err(format!("is a data URI with damaged base64 ({error})")),
        });
    }
    Some(Ok((percent_decode_str(body).collect(), media_type)))
}

/// Finds the file that a reference in the file `base` (relative to `root`) points to.
///
/// The reference is tried percent-decoded, then as written, then without regard to case.
pub fn resolve(root: &Path, base: &Path, uri: &str) -> UriTarget {
    if is_remote(uri) {
        return UriTarget::Outside;
    }
    let decoded = decoded(uri);
    let folder = base.parent().unwrap_or(Path::new(""));
    let mut outside = false;
    for text in [decoded.as_str(), uri] {
        match join_inside(folder, text) {
            Some(relative) => {
                if let Some(found) = existing(root, &relative) {
                    return UriTarget::File(found);
                }
            }
            None => outside = true,
        }
    }
    if outside {
        return UriTarget::Outside;
    }
    for text in [decoded.as_str(), uri] {
        let relative = join_inside(folder, text);
        if let Some(found) = relative.and_then(|relative| ignoring_case(root, &relative)) {
            return UriTarget::File(found);
        }
    }
    UriTarget::Missing
}

/// A reference as the path that it stands for.
pub fn decoded(uri: &str) -> String {
    percent_decode_str(uri).decode_utf8_lossy().into_owned()
}

fn is_remote(uri: &str) -> bool {
    uri.split_once("://").is_some_and(|(scheme, _)| {
        !scheme.is_empty()
            && scheme
                .chars()
                .all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter))
    })
}

/// `folder` and `text` joined and normalized; `None` when the result would leave the root.
fn join_inside(folder: &Path, text: &str) -> Option<PathBuf> {
    let text = text.replace('\\', "/");
    let is_drive = text.as_bytes().get(1) == Some(&b':');
    if text.starts_with('/') || is_drive || text.contains('\0') {
        return None;
    }
    let mut parts: Vec<String> = folder
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    for part in text.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name.to_owned()),
        }
    }
    (!parts.is_empty()).then(|| parts.iter().collect())
}

/// The path if it is a file below `root`, also after symlinks are resolved.
fn existing(root: &Path, relative: &Path) -> Option<PathBuf> {
    let path = root.join(relative);
    if !path.is_file() {
        return None;
    }
    let inside = path.canonicalize().ok()?;
    inside
        .starts_with(root.canonicalize().ok()?)
        .then_some(path)
}

fn ignoring_case(root: &Path, relative: &Path) -> Option<PathBuf> {
    let mut found = PathBuf::new();
    for part in relative {
        let wanted = part.to_string_lossy().to_lowercase();
        let mut names: Vec<_> = fs::read_dir(root.join(&found))
            .ok()?
            .filter_map(|entry| Some(entry.ok()?.file_name()))
            .filter(|name| name.to_string_lossy().to_lowercase() == wanted)
            .collect();
        names.sort();
        found.push(names.into_iter().next()?);
    }
    existing(root, &found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_tried_decoded_raw_and_in_any_case() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("Textures")).unwrap();
        for name in ["a b.png", "100%.png", "Textures/Wood.PNG", "x%20y.png"] {
            fs::write(dir.path().join(name), b"x").unwrap();
        }
        let base = Path::new("model.gltf");
        for (uri, name) in [
            ("a%20b.png", "a b.png"),
            ("a b.png", "a b.png"),
            ("100%.png", "100%.png"),
            ("textures/wood.png", "Textures/Wood.PNG"),
            ("textures\\wood.png", "Textures/Wood.PNG"),
            ("x%20y.png", "x%20y.png"),
            ("./Textures/../a%20b.png", "a b.png"),
        ] {
            let found = UriTarget::File(dir.path().join(name));
            assert_eq!(resolve(dir.path(), base, uri), found, "{uri}");
        }
        assert_eq!(resolve(dir.path(), base, "none.png"), UriTarget::Missing);
    }

    #[test]
    fn nothing_outside_is_opened() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("in");
        fs::create_dir(&root).unwrap();
        fs::write(outer.path().join("secret"), b"x").unwrap();
        std::os::unix::fs::symlink("../secret", root.join("link")).unwrap();
        let base = Path::new("m/model.gltf");
        for uri in [
            "../../secret",
            "%2e%2e/%2e%2e/secret",
            "..\\..\\secret",
            "/etc/passwd",
            "C:\\secret",
            "file:///etc/passwd",
            "https://example.com/a.png",
        ] {
            assert_eq!(resolve(&root, base, uri), UriTarget::Outside, "{uri}");
        }
        assert_eq!(resolve(&root, base, "../link"), UriTarget::Missing);
    }

    #[test]
    fn data_uris_are_decoded() {
        let (bytes, kind) = data_uri("data:image/png;base64,AQID").unwrap().unwrap();
        assert_eq!(
            (bytes.as_slice(), kind.as_str()),
            (&[1u8, 2, 3][..], "image/png")
        );
        assert!(data_uri("data:image/png;base64,A*").unwrap().is_err());
        assert!(data_uri("file.png").is_none());
    }
}
