//! Importing: what is in the file is in the scene, and a damaged file is refused with its reason.

mod accounted;
mod cad;
mod coordinates;
mod encodings;
pub mod far;
mod fbx;
mod fixtures;
mod nurbs;
mod obj;
mod obj_materials;
mod ply;
mod samples;
mod stl_and_ply;
mod texts;
mod usd;
mod zip_archives;

use assetfs_engine::import::import;

#[test]
fn cad_and_unknown_files_are_refused_clearly() {
    let dir = tempfile::tempdir().unwrap();
    for (file, start) in [
        (
            "part.SLDPRT",
            "part.SLDPRT: this format of CAD files is not supported",
        ),
        ("scene.blend", "scene.blend: this format is not supported"),
        (
            "notes.txt",
            "no 3D model found: the upload holds only notes.txt",
        ),
    ] {
        std::fs::write(dir.path().join(file), b"x").unwrap();
        let error = import(dir.path(), &[file.to_owned()]).unwrap_err();
        assert!(error.to_string().starts_with(start), "{error}");
    }
    let empty = import(dir.path(), &[]).unwrap_err();
    assert_eq!(empty.to_string(), "no 3D model found: the upload is empty");
}

#[test]
fn an_empty_file_of_any_format_is_called_empty() {
    let dir = tempfile::tempdir().unwrap();
    for extension in assetfs_formats::read() {
        let file = format!("model.{extension}");
        std::fs::write(dir.path().join(&file), b"").unwrap();
        let error = import(dir.path(), std::slice::from_ref(&file)).unwrap_err();
        assert!(error.to_string().contains("the file is empty"), "{error}");
    }
}
