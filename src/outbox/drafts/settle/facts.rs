//! The facts of a draft for the settle rule, from its tree and from inspected files. Lists the files that still have
//! to be inspected. Does no I/O.

use std::collections::BTreeSet;

use crate::outbox::drafts::draft::Draft;
use crate::outbox::drafts::info::DraftKind;
use crate::outbox::drafts::memory::DraftsMemory;
use crate::outbox::drafts::settle::inspect::Subject;
use crate::outbox::drafts::settle::readiness::{BytesState, DraftFacts, FileFacts};
use crate::outbox::drafts::tree::FileState;
use crate::outbox::drafts::upload::manifest;
use crate::outbox::drafts::upload::manifest::{Exclusion, Manifest, Sendable};
use crate::outbox::ids::DraftId;
use crate::outbox::names;
use crate::outbox::names::FolderName;
use assetfs_formats::resolve::{Found, ModelFiles};

/// The known facts of a draft.
#[derive(Debug)]
pub enum Knowledge {
    All(DraftFacts),
    /// These files have to be inspected first.
    NeedsInspection(Vec<Subject>),
}

/// Gathers the known facts of a draft.
pub fn gather(memory: &DraftsMemory, id: DraftId) -> Option<Knowledge> {
    let draft = memory.state.drafts.get(&id)?;
    let being_written = memory.being_written(id);
    if !being_written.is_empty() {
        // The other files do not matter yet: the draft is going to change.
        return Some(Knowledge::All(DraftFacts {
            being_written,
            ..empty(draft)
        }));
    }
    let named = manifest::sendable(&draft.tree);
    if let Some(subjects) = unseen(memory, draft, &named) {
        return Some(Knowledge::NeedsInspection(subjects));
    }
    let referred = referred_folders(memory, draft);
    let all = manifest::sendable_with(&draft.tree, |folder| referred.contains(folder));
    if let Some(subjects) = unseen(memory, draft, &all) {
        return Some(Knowledge::NeedsInspection(subjects));
    }
    let files = all.iter().map(|item| facts_of(memory, item)).collect();
    Some(Knowledge::All(DraftFacts {
        files,
        ..empty(draft)
    }))
}

/// The service folders of a draft that a model refers to, as far as its files were inspected.
pub fn referred_folders(memory: &DraftsMemory, draft: &Draft) -> BTreeSet<String> {
    let named = manifest::sendable(&draft.tree);
    let all = manifest::sendable_with(&draft.tree, |_| true);
    if all.len() == named.len() {
        return BTreeSet::new();
    }
    let files = ModelFiles::new(all.into_iter().map(|item| item.path));
    let findings = named
        .iter()
        .filter_map(|item| memory.findings.of(&subject_of(item)?));
    let references = findings.flat_map(|finding| &finding.references);
    let found = references.filter_map(|reference| match reference.find_in(&files) {
        Found::File(path) => names::service_folder_of(path),
        Found::Several(_) | Found::Nothing => None,
    });
    found.map(str::to_owned).collect()
}

/// The files of a draft that will be sent.
pub fn manifest_of(memory: &DraftsMemory, draft: &Draft) -> Manifest {
    let referred = referred_folders(memory, draft);
    Manifest::of(draft.model_name(), &draft.tree, |folder| {
        referred.contains(folder)
    })
}

fn empty(draft: &Draft) -> DraftFacts {
    let mut in_flight = Vec::new();
    let mut version_control = None;
    for (path, entry, node) in draft.tree.walk() {
        if node.file().is_some() {
            if manifest::excluded_by_name(&draft.tree, entry) == Some(Exclusion::InFlight) {
                in_flight.push(path);
            }
        } else if names::judge_folder(&node.name) == FolderName::VersionControl {
            version_control = Some(path);
        }
    }
    let is_version = draft.kind == DraftKind::Folder;
    let replaced = draft.replaces.as_ref().filter(|_| is_version);
    DraftFacts {
        kind: draft.kind,
        files: Vec::new(),
        in_flight,
        version_control,
        replaces: replaced.map(|replaced| replaced.name.clone()),
        being_written: Vec::new(),
    }
}

fn subject_of(item: &Sendable<'_>) -> Option<Subject> {
    if item.file.state != FileState::Flushed {
        return None;
    }
    Some(Subject {
        path: item.path.clone(),
        content: item.file.content,
        hash: item.file.hash?,
        size: item.file.size,
    })
}

fn unseen(memory: &DraftsMemory, draft: &Draft, items: &[Sendable<'_>]) -> Option<Vec<Subject>> {
    // A loose file that cannot be sent anyway need not be read.
    if draft.kind == DraftKind::LooseFile && !names::is_self_contained(&draft.name) {
        return None;
    }
    let subjects = items.iter().filter_map(subject_of);
    let unseen: Vec<Subject> = subjects
        .filter(|it| memory.findings.of(it).is_none())
        .collect();
    (!unseen.is_empty()).then_some(unseen)
}

fn facts_of(memory: &DraftsMemory, item: &Sendable<'_>) -> FileFacts {
    let finding = subject_of(item).and_then(|subject| memory.findings.of(&subject).cloned());
    let state = match (item.file.state, &finding) {
        (FileState::Unflushed, _) => BytesState::Interrupted,
        (FileState::WriteFailed, _) => BytesState::WriteFailed,
        (FileState::Flushed, Some(finding)) => finding.state.clone(),
        (FileState::Flushed, None) => BytesState::Whole,
    };
    let finding = finding.filter(|_| item.file.state == FileState::Flushed);
    let (references, members) = finding.map_or_else(Default::default, |finding| {
        (finding.references, finding.members)
    });
    FileFacts {
        path: item.path.clone(),
        size: item.file.size,
        state,
        references,
        members,
    }
}
