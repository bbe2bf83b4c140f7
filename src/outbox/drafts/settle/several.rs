//! Several independent models in one folder: the service reads one of them, so the others are named before the folder is sent,
//! with the command that makes models of them. Pure.

use std::collections::{BTreeMap, BTreeSet};

use assetfs_formats::printable::printable;
use assetfs_formats::references::Reference;
use assetfs_formats::resolve::{Found, ModelFiles};
use assetfs_formats::shell::shell_quoted;
use assetfs_formats::{self as formats, Kind, Parts, extension};

use crate::outbox::names::{has_references, is_junk_path, is_self_contained, stem};

/// Maximum number of models that a command names.
const SHOWN: usize = 4;
/// Maximum number of other files that a command names for each model of a zip.
const OTHERS_SHOWN: usize = 12;

/// Length of the longest command that is shown, in bytes.
const MAX_COMMAND_LEN: usize = 1000;

/// A file of the folder.
#[derive(Debug, Clone, Copy)]
pub struct FileView<'a> {
    pub path: &'a str,
    pub size: u64,
    /// The files that it refers to.
    pub references: &'a [Reference],
}

/// The models of a folder of which one is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeveralModels {
    /// The model that is read.
    pub read: String,
    /// The models that are not.
    pub unread: Vec<String>,
    /// The command, to be run in the folder, that makes a model of each of them.
    pub command: String,
    /// The zip that they are in; else they are in a folder.
    pub zip: Option<String>,
}

impl SeveralModels {
    /// `None` unless several models are there that do not refer to each other. One model in several formats has one name, and
    /// formats whose references cannot be read are not counted.
    pub fn among(all: &[FileView<'_>], files: &ModelFiles) -> Option<SeveralModels> {
        let named = NamedFiles::of(all, files);
        let all_named: BTreeSet<&str> = named.by_file.values().flatten().copied().collect();
        let sized = all.iter().map(|file| (file.path, file.size));
        let (read, unread) = read_and_unread(sized, &all_named)?;
        Some(SeveralModels {
            read: read.to_owned(),
            command: named.command(&unread, read),
            unread: unread.into_iter().map(str::to_owned).collect(),
            zip: None,
        })
    }

    /// The same for the members of a zip, which are shown in the folder of its model, where nothing can be moved. What they
    /// refer to is not read, so each model gets all files that are no models. `None` also if a name leads out of the zip: the
    /// import refuses it, and a command with that name would take another file.
    pub fn in_zip(zip: &str, members: &[(String, u64)]) -> Option<SeveralModels> {
        let is_file = |path: &str| !path.ends_with('/') && !is_junk_path(path);
        let members = members.iter().filter(|(path, _)| is_file(path));
        let members: Vec<(&str, u64)> =
            members.map(|(path, size)| (path.as_str(), *size)).collect();
        if members.iter().any(|(path, _)| leads_out(path)) {
            return None;
        }
        let (read, unread) = read_and_unread(members.iter().copied(), &BTreeSet::new())?;
        let others = members.iter().map(|(path, _)| *path);
        let others: Vec<&str> = others.filter(|path| !is_counted(path)).collect();
        Some(SeveralModels {
            read: read.to_owned(),
            command: copying(&unread, &others),
            unread: unread.into_iter().map(str::to_owned).collect(),
            zip: Some(zip.to_owned()),
        })
    }

    /// For the status and the warning.
    pub fn sentence(&self) -> String {
        let (place, folder) = match &self.zip {
            None => ("one folder", "the folder"),
            Some(zip) => (
                zip.as_str(),
                "the folder of its model when it is complete (or unpack the zip, and copy in a folder for each)",
            ),
        };
        let sentence = format!(
            "{} models are in {place}, and only {} is read; to make a model of each, run this in {folder}: {}",
            self.unread.len() + 1,
            self.read,
            self.command
        );
        printable(&sentence).into_owned()
    }
}

/// The model that is read, and those that are not; `None` unless there are several. `named` are files that others refer to.
fn read_and_unread<'a>(
    files: impl Iterator<Item = (&'a str, u64)>,
    named: &BTreeSet<&str>,
) -> Option<(&'a str, Vec<&'a str>)> {
    let models: Vec<(&str, u64)> = files.filter(|(path, _)| is_counted(path)).collect();
    if models.len() < 2 {
        return None;
    }
    let read = *formats::rank_models(models.iter().copied()).first()?;
    let is_usd = |path: &str| extension(path).starts_with("usd");
    let unread: Vec<&str> = models
        .iter()
        .map(|(path, _)| *path)
        .filter(|path| !named.contains(path) && !has_same_stem(path, read))
        // USD files may be layers of one scene, and not all references between layers are read.
        .filter(|path| !(is_usd(path) && is_usd(read)))
        .collect();
    (!unread.is_empty()).then_some((read, unread))
}

/// The commands that copy each model, with the files that it may refer to.
fn copying(models: &[&str], others: &[&str]) -> String {
    if models.len() > SHOWN || others.len() > OTHERS_SHOWN {
        return in_words("cp");
    }
    let steps = models.iter().map(|model| {
        if is_self_contained(model) && !has_references(model) {
            return format!("cp {} ../", quoted(model));
        }
        let folder = folder_for(model);
        let files = [model].into_iter().chain(others).map(|file| quoted(file));
        let files: Vec<String> = files.collect();
        format!("mkdir {folder} && cp {} {folder}/", files.join(" "))
    });
    short(steps.collect(), "cp")
}

/// The steps in one line, or what they do if that is too long. `tool` brings the files to their folder.
fn short(steps: Vec<String>, tool: &str) -> String {
    let command = steps.join(" && ");
    match command.len() <= MAX_COMMAND_LEN {
        true => command,
        false => in_words(tool),
    }
}

fn in_words(tool: &str) -> String {
    format!("mkdir ../NAME && {tool} FILES ../NAME/, for each model with its files")
}

/// True if the path of a member of a zip is absolute or contains `..`, so that it would be outside of the folder of the zip.
fn leads_out(path: &str) -> bool {
    path.starts_with(['/', '\\']) || path.split(['/', '\\']).any(|part| part == "..")
}

/// The folder beside the present one that is named after a model.
fn folder_for(model: &str) -> String {
    let name = model.rsplit('/').next().unwrap_or(model);
    quoted(&format!("../{}", stem(name)))
}

fn is_counted(path: &str) -> bool {
    formats::of_name(path).is_some_and(|format| {
        format.is_read() && format.kind != Kind::Archive && format.parts != Parts::Unknown
    })
}

fn has_same_stem(one: &str, other: &str) -> bool {
    let stem_of = |path: &str| stem(path.rsplit('/').next().unwrap_or(path)).to_lowercase();
    stem_of(one) == stem_of(other)
}

/// The files that each file names.
struct NamedFiles<'a> {
    by_file: BTreeMap<&'a str, BTreeSet<&'a str>>,
}

impl<'a> NamedFiles<'a> {
    fn of(all: &[FileView<'a>], files: &'a ModelFiles) -> NamedFiles<'a> {
        let mut by_file: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for file in all {
            for reference in file.references {
                if let Found::File(found) = reference.find_in(files)
                    && found != file.path
                {
                    by_file.entry(file.path).or_default().insert(found);
                }
            }
        }
        NamedFiles { by_file }
    }

    /// A file with all that it names, directly or through others.
    fn with_named(&self, file: &'a str) -> BTreeSet<&'a str> {
        let mut all = BTreeSet::from([file]);
        let mut waiting = vec![file];
        while let Some(file) = waiting.pop() {
            for named in self.by_file.get(file).into_iter().flatten() {
                if all.insert(named) {
                    waiting.push(named);
                }
            }
        }
        all
    }

    fn command(&self, unread: &[&'a str], read: &'a str) -> String {
        if unread.len() > SHOWN {
            return in_words("mv");
        }
        let mut steps: Vec<String> = Vec::new();
        let mut alone = Vec::new();
        for model in unread {
            let files = self.with_named(model);
            if files.len() == 1 && is_self_contained(model) {
                alone.push(quoted(model));
                continue;
            }
            let others = unread.iter().filter(|other| *other != model);
            let of_others: BTreeSet<&str> = others
                .chain([&read])
                .flat_map(|other| self.with_named(other))
                .collect();
            let folder = folder_for(model);
            steps.push(format!("mkdir {folder}"));
            let (shared, own): (Vec<&str>, Vec<&str>) =
                files.into_iter().partition(|file| of_others.contains(file));
            for (tool, files) in [("cp", shared), ("mv", own)] {
                if !files.is_empty() {
                    let files: Vec<String> = files.into_iter().map(quoted).collect();
                    steps.push(format!("{tool} {} {folder}/", files.join(" ")));
                }
            }
        }
        if !alone.is_empty() {
            steps.push(format!("mv {} ../", alone.join(" ")));
        }
        short(steps, "mv")
    }
}

/// Quotes a relative path for the shell. A path that begins with `-` gets `./` in front, because programs would read it as an option.
fn quoted(path: &str) -> String {
    match path.starts_with('-') {
        true => shell_quoted(&format!("./{path}")),
        false => shell_quoted(path),
    }
}
