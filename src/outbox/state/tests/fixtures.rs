//! Journals as earlier versions have written them, never edited: they are understood for ever.

use super::*;
use crate::outbox::ids::DraftId;
use crate::outbox::ids::{JobFolder, OwnerFolder};
use crate::outbox::jobs::{EmbedStage, SubmissionStage};
use crate::wire::{AssetId, EmbedId, RapidId};

fn replayed(text: &str) -> State {
    let records = text
        .lines()
        .map(|line| serde_json::from_str::<Record>(line).unwrap());
    State::replay(records).unwrap()
}

/// The journal of the first version. Never edit it.
#[test]
fn the_first_journal_is_still_understood() {
    let text = include_str!("../../../../tests/fixtures/outbox-journal-1.jsonl");
    let state = replayed(text);
    let draft = &state.drafts.drafts[&DraftId(1)];
    assert_eq!((draft.name.as_str(), draft.tree.len()), ("stool", 4));
    assert!(draft.stage().is_some_and(|stage| stage.is_accepted()));
    assert_eq!(state.drafts.sent[&AssetId(1042)].entries.len(), 4);
    assert_eq!(state.jobs.files.len(), 1);
    assert_eq!(state.jobs.submissions.len(), 1);
    assert_eq!(state.presets.held.len(), 1);
    assert_eq!(state.drafts.open_starts.len(), 1);
}

/// A journal with sealed URLs, jobs for several assets, and embeds.
#[test]
fn the_second_journal_is_still_understood() {
    let text = include_str!("../../../../tests/fixtures/outbox-journal-2.jsonl");
    let state = replayed(text);
    let attempt = state.drafts.drafts[&DraftId(1)].attempt.as_ref().unwrap();
    assert_eq!(attempt.urls.as_deref(), Some("c2VhbGVk"));
    assert_eq!(attempt.put.len(), 1);
    let book = &state.jobs;
    let stages: Vec<&SubmissionStage> = book
        .optimizations_of("assetfs-01")
        .into_iter()
        .map(|(_, submission)| &submission.stage)
        .collect();
    let rapid = RapidId(11);
    assert_eq!(
        stages,
        [&SubmissionStage::Taken { rapid }, &SubmissionStage::Unknown]
    );
    let embed = EmbedId(9);
    assert_eq!(book.embeds["assetfs-04"].stage, EmbedStage::Made { embed });
    let folders: Vec<JobFolder> = book.files.keys().map(|key| key.folder).collect();
    let owner = OwnerFolder::Asset(AssetId(7));
    assert_eq!(folders, [JobFolder::Embeds(owner), JobFolder::Multi]);
    let paths = book.files.values().map(|file| file.paths.len());
    assert_eq!(paths.max(), Some(2));
}
