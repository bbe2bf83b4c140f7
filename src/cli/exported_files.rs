//! The exported files in a folder of results: which they are, and how a build names them.
//!
//! Exports get the name that a template says, whatever the service or the engine has called them. What they name in their
//! text, as the buffer of a glTF, has its new name there, too.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::files;
use assetfs_formats::FileFormat;
use assetfs_formats::extension;
use assetfs_formats::file_names::safe_stem;
use assetfs_formats::renamed_references::{NewNames, name_again};

/// What is in a folder of results beside the exported files.
const NOT_EXPORTS: [&str; 4] = ["analysis", "before-after.png", "renders", "ERROR.txt"];

/// The beginning of the temporary name of a file that is being renamed.
const ASIDE: &str = ".assetfs-renamed-";

/// The exported files below a folder of results.
pub(super) fn exports(results: &Path) -> Result<Vec<PathBuf>> {
    let is_export = |path: &PathBuf| {
        let first = path.components().next();
        let first = first.map(|part| part.as_os_str().to_owned());
        !NOT_EXPORTS
            .iter()
            .any(|name| first.as_deref() == Some(name.as_ref()))
    };
    let below = files::below(results)?.into_iter().map(|file| file.path);
    Ok(below.filter(is_export).collect())
}

/// Names the exports in a folder of results after `stem`. Characters that a file name cannot have everywhere become `_`.
pub(super) fn name_exports(results: &Path, stem: &str) -> Result<()> {
    let exports = exports(results)?;
    let names = exports.iter().filter(|path| path.components().count() == 1);
    let names = names.filter_map(|path| Some(path.to_str()?.to_owned()));
    let new = new_names(&names.collect(), stem);
    let cannot = || format!("cannot name the files in {}", results.display());
    // Two steps, because a new name may be the old one of another file.
    for (number, old) in new.keys().enumerate() {
        let aside = results.join(format!("{ASIDE}{number}"));
        fs::rename(results.join(old), aside).with_context(cannot)?;
    }
    for (number, name) in new.values().enumerate() {
        let aside = results.join(format!("{ASIDE}{number}"));
        name_again_in(&aside, name, &new).with_context(cannot)?;
        fs::rename(&aside, results.join(name)).with_context(cannot)?;
    }
    Ok(())
}

/// Writes the new names into a file that will be called `name`.
fn name_again_in(file: &Path, name: &str, new: &NewNames) -> std::io::Result<()> {
    if !["gltf", "obj", "mtl"].contains(&extension(name).as_str()) {
        return Ok(());
    }
    let other = file.with_extension("tmp");
    let mut text = BufReader::new(File::open(file)?);
    let mut out = BufWriter::new(File::create_new(&other)?);
    name_again(name, &mut text, new, &mut out)?;
    out.flush()?;
    fs::rename(other, file)
}

/// The new names of those that get one: the main file of each export, and the files that are named after it.
fn new_names(names: &BTreeSet<String>, stem: &str) -> NewNames {
    let mut mains: Vec<(FileFormat, &str, &str)> = Vec::new();
    for name in names {
        if let Some((old, extension)) = name.rsplit_once('.')
            && let Some(format) = FileFormat::from_name(extension)
        {
            mains.push((format, old, name));
        }
    }
    mains.sort_by_key(|(format, old, _)| (format.name(), *old));
    let mut new = NewNames::new();
    // The new stems of the formats that have other files beside them, by the old ones.
    let mut stems: BTreeMap<&str, String> = BTreeMap::new();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (format, old, name) in mains {
        let count = counts.entry(format.name()).or_default();
        *count += 1;
        let mut own = safe_stem(stem);
        if format == FileFormat::Obj {
            // Its readers end a name at a space.
            own = own.replace(char::is_whitespace, "_");
        }
        if *count > 1 {
            own = format!("{own}_{count}");
        }
        new.insert(name.to_owned(), format!("{own}.{}", format.name()));
        if matches!(format, FileFormat::Gltf | FileFormat::Obj) {
            stems.entry(old).or_insert(own);
        }
    }
    for name in names
        .iter()
        .filter(|name| !new.contains_key(*name))
        .cloned()
        .collect::<Vec<_>>()
    {
        let after = stems.iter().rev().find_map(|(old, own)| {
            let rest = name.strip_prefix(old)?;
            let is_beside = rest.starts_with("_texture_") || rest.rfind('.') == Some(0);
            is_beside.then(|| format!("{own}{rest}"))
        });
        if let Some(after) = after {
            new.insert(name, after);
        }
    }
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[&str], stem: &str) -> Vec<(String, String)> {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let new = new_names(&names, stem);
        new.into_iter().collect()
    }

    #[test]
    fn exports_are_named_after_the_template_with_what_is_beside_them() {
        let pair = |old: &str, new: &str| (old.to_owned(), new.to_owned());
        assert_eq!(
            named(&["rapid.glb", "rapid.usdz", "wood.png"], "chair.web"),
            [
                pair("rapid.glb", "chair.web.glb"),
                pair("rapid.usdz", "chair.web.usdz")
            ]
        );
        assert_eq!(
            named(
                &[
                    "c.bin",
                    "c.gltf",
                    "c_2.bin",
                    "c_2.gltf",
                    "c_texture_0.png",
                    "cloth.png"
                ],
                "a b"
            ),
            [
                pair("c.bin", "a b.bin"),
                pair("c.gltf", "a b.gltf"),
                pair("c_2.bin", "a b_2.bin"),
                pair("c_2.gltf", "a b_2.gltf"),
                pair("c_texture_0.png", "a b_texture_0.png"),
            ]
        );
        assert_eq!(
            named(&["c.mtl", "c.obj"], "a b:c"),
            [pair("c.mtl", "a_b_c.mtl"), pair("c.obj", "a_b_c.obj")]
        );
    }

    #[test]
    fn a_renamed_gltf_finds_its_buffer() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        // The new name of one file is the old one of another.
        write("x_2.gltf", r#"{"buffers":[{"uri":"x_2.bin"}]}"#);
        write("x_2.bin", "second");
        write("y.gltf", r#"{"buffers":[{"uri":"y.bin"}]}"#);
        write("y.bin", "third");
        write("before-after.png", "picture");
        name_exports(dir.path(), "x").unwrap();
        let read = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
        assert_eq!(read("x.bin"), "second");
        assert_eq!(read("x.gltf"), r#"{"buffers":[{"uri":"x.bin"}]}"#);
        assert_eq!(read("x_2.bin"), "third");
        assert_eq!(read("x_2.gltf"), r#"{"buffers":[{"uri":"x_2.bin"}]}"#);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 5);
    }
}
