//! Imports of files that are literals in the tests.

use assetfs_engine::import::import;

/// Writes the files into a folder and imports them.
pub fn import_texts(files: &[(&str, &[u8])]) -> Result<assetfs_engine::import::Imported, String> {
    let dir = tempfile::tempdir().unwrap();
    let mut names = Vec::new();
    for (name, bytes) in files {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
        names.push((*name).to_owned());
    }
    import(dir.path(), &names).map_err(|error| error.to_string())
}

/// A grey PNG of two by two pixels.
pub fn grey_png(pixels: &[u8; 4]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 2, 2);
    encoder.set_color(png::ColorType::Grayscale);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(pixels).unwrap();
    writer.finish().unwrap();
    bytes
}
