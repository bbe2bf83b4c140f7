//! Names of files and folders that operating systems create in a user's folders. They are not part of a model.

use std::path::Path;

/// True for the name of a file or folder that an operating system or a file manager creates.
pub fn is_system_name(name: &str) -> bool {
    const EXACT: &[&str] = &["__MACOSX", ".DS_Store", ".directory"];
    const ANY_CASE: &[&str] = &["Thumbs.db", "desktop.ini"];
    EXACT.contains(&name)
        || ANY_CASE
            .iter()
            .any(|known| known.eq_ignore_ascii_case(name))
        || name.starts_with("._")
}

/// True for a path with such a name in it.
pub fn is_system_path(path: &Path) -> bool {
    path.iter()
        .any(|part| is_system_name(&part.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_below_a_system_folder_is_a_system_path() {
        for path in ["__MACOSX/chair/a.obj", "chair/._a.obj", "THUMBS.DB"] {
            assert!(is_system_path(Path::new(path)), "{path}");
        }
        for path in ["chair/a.obj", "thumbs.db.obj", "chair/.hidden"] {
            assert!(!is_system_path(Path::new(path)), "{path}");
        }
    }
}
