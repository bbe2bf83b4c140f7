//! Whether the content of a draft is ready to be sent, regardless of time. Pure.

use std::collections::BTreeSet;

use crate::outbox::drafts::info::DraftKind;
use crate::outbox::drafts::settle::several::{FileView, SeveralModels};
use crate::outbox::error::OutboxError;
use crate::outbox::names;
use crate::outbox::status::ItemStatus;
use assetfs_formats::references::{Need, Reference};
use assetfs_formats::resolve::{Found, ModelFiles};
use assetfs_formats::wholeness::Wholeness;

/// A file of a draft that is not junk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFacts {
    pub path: String,
    pub size: u64,
    pub state: BytesState,
    /// The files that it refers to.
    pub references: Vec<Reference>,
    /// Of a zip: the files in it, with their sizes.
    pub members: Vec<(String, u64)>,
}

/// Whether the bytes of a file are complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BytesState {
    /// Complete, as far as its format tells.
    Whole,
    /// Some are missing.
    Short {
        /// The complete length, if the format tells it.
        expected: Option<u64>,
    },
    /// It was never flushed: its writer did not finish.
    Interrupted,
    /// A write failed.
    WriteFailed,
}

impl From<Wholeness> for BytesState {
    fn from(wholeness: Wholeness) -> BytesState {
        match wholeness {
            Wholeness::Whole => BytesState::Whole,
            Wholeness::Short { expected } => BytesState::Short { expected },
        }
    }
}

/// The contents of a draft, for the rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftFacts {
    pub kind: DraftKind,
    /// Files that may be sent.
    pub files: Vec<FileFacts>,
    /// Files that a copy tool is still writing, by their temporary name (such as `.chair.glb.Xy12Z9` of rsync).
    pub in_flight: Vec<String>,
    /// A version control folder in it.
    pub version_control: Option<String>,
    /// The model that it is a new version of: only a command says that all of it is there.
    pub replaces: Option<String>,
    /// Files that are open for writing.
    pub being_written: Vec<String>,
}

impl DraftFacts {
    /// The status of a draft that only a command sends.
    pub fn held_for_command(&self) -> Option<ItemStatus> {
        let of_folder = self.version_control.clone();
        let of_folder = of_folder.map(|folder| ItemStatus::NeedsCommit { folder });
        let of_version = || {
            let name = self.replaces.clone()?;
            Some(ItemStatus::NewVersion { name })
        };
        of_folder.or_else(of_version)
    }
}

/// A content that is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadyContent {
    /// Referenced files that are missing.
    pub missing: Vec<String>,
    /// Models in it that are not read.
    pub several: Option<SeveralModels>,
    /// True if its references prove that the model is complete.
    pub references_tell: bool,
}

/// Why a draft cannot be sent as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// It contains no file that is sent.
    Empty,
    /// Files, but no model.
    NoModel,
    /// A loose file that needs a folder.
    NeedsFolder {
        /// Why, as a sentence.
        why: String,
    },
    /// A loose model that refers to other files. By force it is sent without them.
    LacksFolder {
        path: String,
        /// The files that it refers to.
        missing: Vec<String>,
    },
    /// A file is open for writing.
    BeingWritten(String),
    /// A file has the temporary name of a copy.
    InFlight(String),
    /// A file is incomplete; the text says which and how.
    NotWhole(String),
    /// Files are missing without which the service would refuse the model.
    Lacks(Vec<String>),
}

impl Obstacle {
    /// The status of the draft.
    pub fn status(&self) -> ItemStatus {
        match self.clone() {
            Obstacle::Empty => ItemStatus::Empty,
            Obstacle::NoModel => ItemStatus::NoModel,
            Obstacle::NeedsFolder { why } => ItemStatus::NeedsFolder { why },
            Obstacle::LacksFolder { .. } => ItemStatus::NeedsFolder {
                why: format!(
                    "{}, or send it without by `assetfs commit --force`",
                    self.sentence()
                ),
            },
            Obstacle::BeingWritten(path) => ItemStatus::BeingWritten { path },
            Obstacle::InFlight(path) => ItemStatus::TemporaryName { path },
            Obstacle::NotWhole(what) => ItemStatus::Incomplete { what },
            Obstacle::Lacks(missing) => ItemStatus::NeedsFiles { missing },
        }
    }

    /// The message of `commit`.
    pub fn sentence(&self) -> String {
        match self {
            Obstacle::Empty => "it contains nothing to send".to_owned(),
            Obstacle::NoModel => "it contains no model file".to_owned(),
            Obstacle::NeedsFolder { why } => why.clone(),
            Obstacle::LacksFolder { path, missing } => format!(
                "{path} needs {}; put {} into a folder",
                missing.join(", "),
                if missing.len() == 1 { "both" } else { "all" }
            ),
            Obstacle::BeingWritten(path) => format!("{path} is still being written"),
            Obstacle::InFlight(path) => format!("{path} is a temporary file of an unfinished copy"),
            Obstacle::NotWhole(what) => what.clone(),
            Obstacle::Lacks(missing) => format!(
                "{}, which the model needs, {} missing",
                missing.join(", "),
                if missing.len() == 1 { "is" } else { "are" }
            ),
        }
    }

    /// The error of `commit`.
    pub fn into_error(self) -> OutboxError {
        let what = self.sentence();
        match self {
            Obstacle::Empty | Obstacle::NoModel | Obstacle::NeedsFolder { .. } => {
                OutboxError::NothingToSend(what)
            }
            Obstacle::BeingWritten(_)
            | Obstacle::InFlight(_)
            | Obstacle::NotWhole(_)
            | Obstacle::Lacks(_)
            | Obstacle::LacksFolder { .. } => OutboxError::NotWhole { what },
        }
    }

    /// True if `commit --force` ignores it.
    pub fn can_be_forced(&self) -> bool {
        matches!(
            self,
            Obstacle::InFlight(_)
                | Obstacle::NotWhole(_)
                | Obstacle::Lacks(_)
                | Obstacle::LacksFolder { .. }
                | Obstacle::NoModel
        )
    }
}

/// Checks the contents of a draft, regardless of time.
pub fn readiness(facts: &DraftFacts) -> Result<ReadyContent, Obstacle> {
    if let Some(path) = facts.being_written.first() {
        return Err(Obstacle::BeingWritten(path.clone()));
    }
    if let Some(path) = facts.in_flight.first() {
        return Err(Obstacle::InFlight(path.clone()));
    }
    if facts.files.is_empty() {
        return Err(Obstacle::Empty);
    }
    if facts.kind == DraftKind::LooseFile {
        check_stands_alone(facts)?;
    }
    if !facts.files.iter().any(|file| names::is_model(&file.path)) {
        return Err(Obstacle::NoModel);
    }
    let files = ModelFiles::new(facts.files.iter().map(|file| file.path.as_str()));
    check_files_complete(facts, &files)?;
    let mut missing = BTreeSet::new();
    let mut is_hopeless = false;
    for reference in facts.files.iter().flat_map(|file| &file.references) {
        let lacking = match reference.find_in(&files) {
            Found::File(_) => continue,
            Found::Nothing => reference.paths[0].clone(),
            Found::Several(found) => {
                format!("{} (which of {}?)", reference.paths[0], found.join(", "))
            }
        };
        missing.insert(lacking);
        is_hopeless |= reference.need == Need::ForImport;
    }
    if is_hopeless {
        return Err(Obstacle::Lacks(missing.into_iter().collect()));
    }
    let mut models = facts
        .files
        .iter()
        .filter(|file| names::is_model(&file.path));
    Ok(ReadyContent {
        missing: missing.into_iter().collect(),
        several: several_in(facts, &files),
        references_tell: models.all(|file| names::has_references(&file.path)),
    })
}

fn several_in(facts: &DraftFacts, files: &ModelFiles) -> Option<SeveralModels> {
    match &facts.files[..] {
        [zip] if !zip.members.is_empty() => SeveralModels::in_zip(&zip.path, &zip.members),
        all => {
            let views: Vec<FileView<'_>> = all.iter().map(view_of).collect();
            SeveralModels::among(&views, files)
        }
    }
}

fn view_of(file: &FileFacts) -> FileView<'_> {
    FileView {
        path: &file.path,
        size: file.size,
        references: &file.references,
    }
}

fn check_stands_alone(facts: &DraftFacts) -> Result<(), Obstacle> {
    let file = &facts.files[0];
    if !names::is_self_contained(&file.path) {
        let why = format!(
            "{} is not a complete model by itself, so it is kept and not sent; put it into a folder with its model",
            file.path
        );
        return Err(Obstacle::NeedsFolder { why });
    }
    if file.references.is_empty() {
        return Ok(());
    }
    let missing = file
        .references
        .iter()
        .map(|reference| reference.paths[0].clone());
    let missing: BTreeSet<String> = missing.collect();
    Err(Obstacle::LacksFolder {
        path: file.path.clone(),
        missing: missing.into_iter().collect(),
    })
}

fn check_files_complete(facts: &DraftFacts, files: &ModelFiles) -> Result<(), Obstacle> {
    for file in &facts.files {
        let path = &file.path;
        let what = match &file.state {
            BytesState::Whole => continue,
            BytesState::Interrupted => format!("the copy of {path} was interrupted"),
            BytesState::WriteFailed => format!("writing {path} failed"),
            BytesState::Short { .. } if file.size == 0 => format!("{path} is empty"),
            BytesState::Short {
                expected: Some(expected),
            } => short_of(path, file.size, *expected),
            BytesState::Short { expected: None } => format!("{path} is cut off"),
        };
        return Err(Obstacle::NotWhole(what));
    }
    let sized = facts.files.iter().flat_map(|file| &file.references);
    for reference in sized {
        let Some(min_len) = reference.min_len else {
            continue;
        };
        let Found::File(path) = reference.find_in(files) else {
            continue;
        };
        let named = facts.files.iter().find(|file| file.path == path);
        if let Some(file) = named.filter(|file| file.size < min_len) {
            return Err(Obstacle::NotWhole(short_of(&file.path, file.size, min_len)));
        }
    }
    Ok(())
}

fn short_of(path: &str, size: u64, expected: u64) -> String {
    let (has, unit) = in_unit_of(size, expected);
    let (wants, _) = in_unit_of(expected, expected);
    if has == wants {
        return format!("{path} has {size} of {expected} bytes");
    }
    format!("{path} has {has} of {wants} {unit}")
}

/// `bytes` in the unit that suits `scale`.
fn in_unit_of(bytes: u64, scale: u64) -> (String, &'static str) {
    let (unit, name) = match scale {
        0..1_000 => (1, "bytes"),
        1_000..1_000_000 => (1_000, "kB"),
        1_000_000..1_000_000_000 => (1_000_000, "MB"),
        _ => (1_000_000_000, "GB"),
    };
    let whole = bytes / unit;
    if unit == 1 || whole >= 10 {
        (whole.to_string(), name)
    } else {
        (format!("{whole}.{}", bytes % unit * 10 / unit), name)
    }
}

/// The warning for a draft that is sent with missing files, or with models that are not read.
pub fn warning_for(content: &ReadyContent) -> Option<String> {
    let missing = (!content.missing.is_empty()).then(|| {
        format!(
            "sent without {}, which the model refers to; if it should be there, `assetfs replace` uploads the model \
             again with all its files",
            content.missing.join(", ")
        )
    });
    let unread = content.several.as_ref().map(|several| {
        format!(
            "sent as one model, of which only {} is read; copy {} in again, each in a folder of its own",
            several.read,
            several.unread.join(", ")
        )
    });
    let sentences: Vec<String> = missing.into_iter().chain(unread).collect();
    (!sentences.is_empty()).then(|| sentences.join("; "))
}
