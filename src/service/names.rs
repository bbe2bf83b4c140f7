//! Rules for names that clients choose, and the format that file names suggest.
//!
//! An accepted file name is a safe path below any folder: no part is empty, `.` or `..`, and no file has the name of
//! a folder of another file. This module does no I/O.

use std::collections::HashSet;
use std::path::Path;

use assetfs_formats as formats;
use assetfs_formats::junk::is_system_path;

/// The longest name of an asset, preset, token or file-name part, in bytes.
pub const MAX_NAME_BYTES: usize = 255;

/// The longest file name with all its folders, in bytes.
const MAX_PATH_BYTES: usize = 1_024;

/// The most files of one upload.
const MAX_FILES: usize = 10_000;

/// Why a name is refused, as text for users.
pub type NameRefusal = String;

/// Checks the name of an asset or another record.
///
/// # Errors
/// If the name is empty, too long or contains a NUL.
pub fn check_name(name: &str) -> Result<(), NameRefusal> {
    if name.is_empty() {
        return Err("must not be empty".to_owned());
    }
    if name.len() > MAX_NAME_BYTES {
        return Err(format!("must not be longer than {MAX_NAME_BYTES} bytes"));
    }
    if name.contains('\0') {
        return Err("must not contain a NUL character".to_owned());
    }
    Ok(())
}

/// Checks the name of one file of an upload.
fn check_file_name(name: &str) -> Result<(), NameRefusal> {
    if name.len() > MAX_PATH_BYTES {
        return Err(format!("must not be longer than {MAX_PATH_BYTES} bytes"));
    }
    for part in name.split('/') {
        check_name(part).map_err(|refusal| match part {
            "" => "must not have an empty part between slashes".to_owned(),
            _ => refusal,
        })?;
        if part == "." || part == ".." {
            return Err(format!("must not have the part {part:?}"));
        }
    }
    Ok(())
}

/// Checks the names of all files of an upload.
///
/// # Errors
/// The first refused name, with the reason.
pub fn check_file_names(names: &[String]) -> Result<(), NameRefusal> {
    if names.is_empty() {
        return Err("must name at least one file".to_owned());
    }
    if names.len() > MAX_FILES {
        return Err(format!("must not name more than {MAX_FILES} files"));
    }
    let mut files = HashSet::with_capacity(names.len());
    for name in names {
        check_file_name(name).map_err(|refusal| format!("{name:?} {refusal}"))?;
        if !files.insert(name.as_str()) {
            return Err(format!("{name:?} is named twice"));
        }
    }
    for name in names {
        let folders = name.match_indices('/').map(|(at, _)| &name[..at]);
        if let Some(folder) = folders.into_iter().find(|folder| files.contains(folder)) {
            return Err(format!("{folder:?} is both a file and a folder"));
        }
    }
    Ok(())
}

/// The model file of an upload and its format, by the names only. If no name is a model, the first file. The analysis
/// may choose another one.
pub fn main_file(names: &[String]) -> (&str, String) {
    let wanted = names.iter().filter(|name| !is_system_path(Path::new(name)));
    let ranked = formats::rank_models(wanted.map(|name| (name.as_str(), 0)));
    let main = ranked.first().copied();
    let main = main.or(names.first().map(String::as_str)).unwrap_or("");
    (main, formats::extension(main))
}

/// A name for exported files, made from a name that a user chose: no folders, only characters that every system
/// accepts, short enough for any extension.
pub fn file_stem(name: &str) -> String {
    const MAX_STEM_BYTES: usize = 150;
    let mut stem = String::with_capacity(name.len());
    for character in name.trim().chars() {
        let safe = match character {
            '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|' => '_',
            control if control.is_control() => '_',
            plain => plain,
        };
        if stem.len() + safe.len_utf8() > MAX_STEM_BYTES {
            break;
        }
        stem.push(safe);
    }
    let stem = stem.trim_matches(['.', ' ']);
    if stem.is_empty() {
        "model".to_owned()
    } else {
        stem.to_owned()
    }
}

/// The media type of a file that a browser may show; otherwise `application/octet-stream`.
pub fn media_type(name: &str) -> &'static str {
    match formats::media_type(name) {
        Some("text/plain") => "text/plain; charset=utf-8",
        Some(known) => known,
        None => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn file_names_that_could_leave_their_folder_are_refused() {
        for bad in [
            "", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "../a", "a/.", "a\0b",
        ] {
            assert!(check_file_names(&names(&[bad])).is_err(), "{bad:?}");
        }
        for good in ["a", "a b", "…", "textures/wood.png", "...", "a\nb", "-rf"] {
            assert_eq!(check_file_names(&names(&[good])), Ok(()), "{good:?}");
        }
        assert!(check_file_names(&["x".repeat(256)]).is_err());
        assert_eq!(check_file_names(&["x".repeat(255)]), Ok(()));
    }

    #[test]
    fn names_that_stand_in_each_others_way_are_refused() {
        assert!(check_file_names(&names(&["a", "a"])).is_err());
        assert!(check_file_names(&names(&["a/b", "a"])).is_err());
        assert_eq!(check_file_names(&names(&["a/b", "a.b", "ab"])), Ok(()));
    }

    #[test]
    fn the_model_among_several_files_is_found() {
        let cases: &[(&[&str], &str, &str)] = &[
            (
                &["wood.png", "chair.bin", "chair.gltf"],
                "chair.gltf",
                "gltf",
            ),
            (&["a/b.obj", "b.obj", "b.mtl"], "b.obj", "obj"),
            (&["Füchs.GLB"], "Füchs.GLB", "glb"),
            (&["__MACOSX/a.glb", "a.obj"], "a.obj", "obj"),
            (&["readme"], "readme", ""),
        ];
        for (files, main, format) in cases {
            let files = names(files);
            assert_eq!(main_file(&files), (*main, (*format).to_owned()));
        }
    }

    #[test]
    fn a_stem_is_a_plain_file_name() {
        assert_eq!(file_stem("a/b:c"), "a_b_c");
        assert_eq!(file_stem(" ../.. "), "_");
        assert_eq!(file_stem("..."), "model");
        assert_eq!(file_stem("Füchs – лиса"), "Füchs – лиса");
        assert!(file_stem(&"ä".repeat(200)).len() <= 150);
    }
}
