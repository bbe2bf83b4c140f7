//! Finds the files that USD layers name, within the upload only.
//!
//! Packages (usdz) are unpacked into a temporary folder when a layer names them; a layer of a package can only name files
//! of its package. Files that are not found are recorded with the reason.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use openusd::ar::{self, Asset, ResolvedPath, Resolver};

use super::super::super::intake::{ZipError, ZipLimits, unpack};
use super::{crate_check, crate_nesting, damage, old_crate, old_text, text_check};
use assetfs_formats as formats;
use assetfs_formats::input_files::{InputFiles, UriTarget};
use assetfs_formats::text::decoded;
use assetfs_formats::warnings::WarningKind;

/// More packages in one upload are not opened.
const MAX_PACKAGES: usize = 256;
/// The start of the names of files that were not found.
const NOWHERE: &str = "nowhere:";

/// The name of a file that was not found, as the layer spells it.
pub(super) fn as_spelled(identifier: &str) -> &str {
    identifier.strip_prefix(NOWHERE).unwrap_or(identifier)
}

/// Why a file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Absence {
    Missing,
    Outside,
    /// Several files could be meant, as a sentence says.
    Several(String),
    /// A package that cannot be unpacked, with the reason.
    Unreadable(String),
}

impl Absence {
    /// For a sentence that says that a file is left out.
    pub(super) fn reason(&self) -> String {
        match self {
            Absence::Missing => "it is not among the uploaded files".to_owned(),
            Absence::Outside => "its path leads out of the upload".to_owned(),
            Absence::Several(why) | Absence::Unreadable(why) => why.clone(),
        }
    }

    /// The kind of a warning about it.
    pub(super) fn kind(&self) -> WarningKind {
        match self {
            Absence::Missing | Absence::Outside | Absence::Several(_) => WarningKind::MissingFile,
            Absence::Unreadable(_) => WarningKind::Damaged,
        }
    }
}

/// The files of an upload, as USD layers see them.
pub(super) struct Files {
    /// The folder of the upload, and those of the packages. All are canonical.
    roots: Vec<Rc<InputFiles>>,
    /// The first layer of each package that is open, or why it cannot be opened.
    packages: BTreeMap<PathBuf, Result<PathBuf, Absence>>,
    scratch: tempfile::TempDir,
    /// What all packages together may still unpack.
    left: ZipLimits,
    /// References that lead nowhere, as layers spell them.
    absent: BTreeMap<String, Absence>,
    opened: BTreeSet<PathBuf>,
    /// Layers that cannot be read, with the reason.
    refused: BTreeMap<PathBuf, String>,
}

impl Files {
    pub(super) fn new(dir: &Path) -> io::Result<Files> {
        Ok(Files {
            roots: vec![Rc::new(InputFiles::new(&dir.canonicalize()?))],
            packages: BTreeMap::new(),
            scratch: tempfile::tempdir()?,
            left: ZipLimits::default(),
            absent: BTreeMap::new(),
            opened: BTreeSet::new(),
            refused: BTreeMap::new(),
        })
    }

    /// The layer to open for the model: the file itself, or the first layer of a package.
    pub(super) fn main_layer(&mut self, model: &Path) -> Result<PathBuf, Absence> {
        let root: &Path = (*self.roots[0]).as_ref();
        self.layer_of(&root.join(model))
    }

    pub(super) fn absent(&self) -> &BTreeMap<String, Absence> {
        &self.absent
    }

    /// What is wrong with a layer that the library could not read.
    pub(super) fn damage(&mut self, layer: &Path) -> String {
        let known = self.refused.entry(layer.to_owned());
        known.or_insert_with(|| damage::of_layer(layer)).clone()
    }

    /// What is wrong with a layer that another layer names by `asset`, or that has it as its identifier.
    pub(super) fn damage_of(&mut self, asset: &str, anchor: &str) -> String {
        let found = match self.root_of(Path::new(asset)) {
            Some(_) => Ok(PathBuf::from(asset)),
            None => self.find(asset, Path::new(anchor)),
        };
        match found.and_then(|path| self.layer_of(&path)) {
            Ok(layer) => self.damage(&layer),
            Err(absence) => absence.reason(),
        }
    }

    /// Why a file with a name that was not found is absent.
    pub(super) fn absence_of(&self, asset: &str) -> &Absence {
        self.absent.get(asset).unwrap_or(&Absence::Missing)
    }

    /// Counts a file that was read, for the size of the model.
    pub(super) fn note_read(&mut self, path: &Path) {
        self.opened.insert(path.to_owned());
    }

    /// Bytes of all files that were read.
    pub(super) fn size_bytes(&self) -> u64 {
        let scratch = self.scratch.path();
        let packages = self.packages.keys();
        let plain = self.opened.iter().filter(|path| !path.starts_with(scratch));
        let sizes = packages
            .chain(plain)
            .filter(|path| !path.starts_with(scratch))
            .map(|path| fs::metadata(path).map_or(0, |metadata| metadata.len()));
        sizes.sum()
    }

    /// The text without the folders of this machine.
    pub(super) fn without_folders(&self, text: &str) -> String {
        self.roots.iter().fold(text.to_owned(), |text, root| {
            let root: &Path = (**root).as_ref();
            text.replace(&format!("{}/", root.display()), "")
        })
    }

    fn layer_of(&mut self, path: &Path) -> Result<PathBuf, Absence> {
        if formats::extension(&path.to_string_lossy()) == "usdz" {
            return self.open_package(path);
        }
        Ok(path.to_owned())
    }

    fn open_package(&mut self, path: &Path) -> Result<PathBuf, Absence> {
        if let Some(known) = self.packages.get(path) {
            return known.clone();
        }
        let opened = match self.packages.len() {
            MAX_PACKAGES.. => Err(Absence::Unreadable(format!(
                "more than {MAX_PACKAGES} packages are not opened"
            ))),
            number => self.unpack_package(path, number),
        };
        self.packages.insert(path.to_owned(), opened.clone());
        opened
    }

    fn unpack_package(&mut self, path: &Path, number: usize) -> Result<PathBuf, Absence> {
        let unreadable = |why: &dyn std::fmt::Display| Absence::Unreadable(why.to_string());
        let into = self.scratch.path().join(number.to_string());
        fs::create_dir(&into).map_err(|error| unreadable(&error))?;
        let into = into.canonicalize().map_err(|error| unreadable(&error))?;
        let files = unpack(path, &into, &self.left);
        let files = files.map_err(|error: ZipError| {
            Absence::Unreadable(format!("the package {}", error.problem()))
        })?;
        let unpacked = files.iter().map(|file| into.join(file));
        let sizes = unpacked.map(|file| fs::metadata(file).map_or(0, |it| it.len()));
        self.left.unpacked_bytes = self.left.unpacked_bytes.saturating_sub(sizes.sum());
        self.left.entries = self.left.entries.saturating_sub(files.len());
        // The first layer in the archive's own order is the package's.
        let archive = File::open(path).map_err(|error| unreadable(&error))?;
        let archive = zip::ZipArchive::new(archive).map_err(|error| unreadable(&error))?;
        let mut names = archive.file_names().filter_map(Result::ok);
        let first = names.find(|name| {
            let is_layer = ["usd", "usda", "usdc"].contains(&&*formats::extension(name));
            is_layer && files.iter().any(|file| file == &**name)
        });
        let first = first.ok_or_else(|| unreadable(&"the package has no layer"))?;
        let layer = into.join(&*first);
        self.roots.push(Rc::new(InputFiles::new(&into)));
        Ok(layer)
    }

    /// The file that `asset` names in the layer at `anchor`.
    fn find(&mut self, asset: &str, anchor: &Path) -> Result<PathBuf, Absence> {
        if let Some((package, inner)) = ar::split_package_relative_path_outer(asset) {
            let package = self.find(&package, anchor)?;
            let layer = self.open_package(&package)?;
            let root = self.root_of(&layer).ok_or(Absence::Outside)?;
            let root: &Path = (*root).as_ref();
            return self.find(&inner, &root.join("package"));
        }
        let files = self.root_of(anchor).ok_or(Absence::Outside)?;
        let root: &Path = (*files).as_ref();
        let base = anchor.strip_prefix(root).unwrap_or(anchor);
        let target = files.resolve(base, asset);
        match target {
            UriTarget::File(path) => Ok(path),
            UriTarget::Outside => Err(Absence::Outside),
            UriTarget::Missing => Err(Absence::Missing),
            UriTarget::Several(_) => Err(Absence::Several(target.absence().unwrap_or_default())),
        }
    }

    fn root_of(&self, path: &Path) -> Option<Rc<InputFiles>> {
        let mut roots = self.roots.iter();
        roots
            .find(|root| path.starts_with((***root).as_ref() as &Path))
            .cloned()
    }
}

/// The upload's files for the USD library.
pub(super) struct Confined(pub(super) Rc<RefCell<Files>>);

impl Resolver for Confined {
    fn create_identifier(&self, asset_path: &str, anchor: Option<&ResolvedPath>) -> String {
        let Some(anchor) = anchor else {
            // Only the model itself is opened without another layer, by the path that this reader chose.
            return asset_path.to_owned();
        };
        let mut files = self.0.borrow_mut();
        match files.find(asset_path, anchor) {
            Ok(path) => path.to_string_lossy().into_owned(),
            Err(absence) => {
                files.absent.insert(asset_path.to_owned(), absence);
                format!("{NOWHERE}{asset_path}")
            }
        }
    }

    fn resolve(&self, asset_path: &str) -> Option<ResolvedPath> {
        if asset_path.starts_with(NOWHERE) {
            return None;
        }
        let mut files = self.0.borrow_mut();
        let path = Path::new(asset_path);
        files.root_of(path)?;
        match files.layer_of(path) {
            Ok(layer) => layer.is_file().then(|| ResolvedPath::new(layer)),
            Err(absence) => {
                let name = files.without_folders(asset_path);
                files.absent.insert(name, absence);
                None
            }
        }
    }

    fn resolve_for_new_asset(&self, _asset_path: &str) -> Option<ResolvedPath> {
        None
    }

    fn open_asset(&self, resolved_path: &ResolvedPath) -> io::Result<Box<dyn Asset>> {
        let mut files = self.0.borrow_mut();
        if files.root_of(resolved_path).is_none() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        files.note_read(resolved_path);
        let opened = open(resolved_path);
        if let Err(error) = &opened {
            // The OS text for an unexpected end of file is replaced.
            if error.kind() != io::ErrorKind::UnexpectedEof {
                let layer = resolved_path.to_path_buf();
                files.refused.insert(layer, error.to_string());
            }
        }
        opened
    }
}

/// Opens a layer, as the library reads it. Refuses one that would end or stop the library.
fn open(layer: &Path) -> io::Result<Box<dyn Asset>> {
    let file = File::open(layer)?;
    if crate_check::is_binary(&file)? {
        crate_check::check(&file)?;
        crate_nesting::check(&file)?;
        let mut head = [0; 16];
        file.read_exact_at(&mut head, 0)?;
        if old_crate::is_old(&head) {
            return Ok(Box::new(io::Cursor::new(old_crate::modern(fs::read(
                layer,
            )?))));
        }
        return Ok(Box::new(file));
    }
    let text = fs::read(layer)?;
    let text = match decoded(&text) {
        Cow::Owned(text) if damage::is_text(text.as_bytes()) => text.into_bytes(),
        _ => text,
    };
    text_check::check(&text)?;
    let text = old_text::modern(&text).unwrap_or(text);
    Ok(Box::new(io::Cursor::new(text)))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn all_packages_together_have_one_limit() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a.usdz", "b.usdz"] {
            let mut package = zip::ZipWriter::new(File::create(dir.path().join(name)).unwrap());
            let options = zip::write::SimpleFileOptions::default();
            package.start_file("m.usda", options).unwrap();
            package.write_all(&[b'#'; 60]).unwrap();
            package.finish().unwrap();
        }
        let mut files = Files::new(dir.path()).unwrap();
        files.left.unpacked_bytes = 100;
        files.main_layer(Path::new("a.usdz")).unwrap();
        let refused = files.main_layer(Path::new("b.usdz"));
        assert!(
            matches!(refused, Err(Absence::Unreadable(_))),
            "{refused:?}"
        );
    }
}
