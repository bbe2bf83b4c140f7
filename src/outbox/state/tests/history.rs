//! Histories that might have happened: choices become records only where the live code would write them.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::super::*;
use crate::outbox::drafts::Attributes;
use crate::outbox::drafts::EntryKind;
use crate::outbox::drafts::{AssetOrigin, DraftKind, Manifest, Replaced, Stage};
use crate::outbox::drafts::{DraftRecord, Target, UploadRecord};
use crate::outbox::ids::{DraftId, EntryId};
use crate::outbox::journal::forms::Blob;
use crate::outbox::moment::Moment;
use crate::outbox::staging::ContentHash;
use crate::outbox::staging::ContentId;
use crate::outbox::state::Record;
use crate::wire::AssetId;

/// A step of a generated history; its numbers select among the existing items.
#[derive(Debug, Clone)]
pub(super) enum Choice {
    Draft(u8),
    File(u8, u8, u8),
    Folder(u8, u8, u8),
    Flush(u8, u8),
    Move(u8, u8, u8, u8, u8),
    MoveToTop(u8, u8, u8),
    Remove(u8, u8),
    RemoveDraft(u8),
    Xattr(u8, u8),
    Upload(u8, u8),
    Replace(u8, u8),
    Gone(u8),
}

pub(super) fn choices() -> impl Strategy<Value = Vec<Choice>> {
    let n = any::<u8>;
    let choice = prop_oneof![
        3 => n().prop_map(Choice::Draft),
        6 => (n(), n(), n()).prop_map(|(a, b, c)| Choice::File(a, b, c)),
        3 => (n(), n(), n()).prop_map(|(a, b, c)| Choice::Folder(a, b, c)),
        6 => (n(), n()).prop_map(|(a, b)| Choice::Flush(a, b)),
        4 => (n(), n(), n(), n(), n()).prop_map(|(a, b, c, d, e)| Choice::Move(a, b, c, d, e)),
        2 => (n(), n(), n()).prop_map(|(a, b, c)| Choice::MoveToTop(a, b, c)),
        2 => (n(), n()).prop_map(|(a, b)| Choice::Remove(a, b)),
        1 => n().prop_map(Choice::RemoveDraft),
        1 => (n(), n()).prop_map(|(a, b)| Choice::Xattr(a, b)),
        8 => (n(), n()).prop_map(|(a, b)| Choice::Upload(a, b)),
        2 => (n(), n()).prop_map(|(a, b)| Choice::Replace(a, b)),
        1 => n().prop_map(Choice::Gone),
    ];
    prop::collection::vec(choice, 0..80)
}

fn pick<T: Copy>(from: &[T], n: u8) -> Option<T> {
    (!from.is_empty()).then(|| from[n as usize % from.len()])
}

/// The records of a history of choices, each checked against the state as the live code does.
pub(super) struct History {
    pub(super) state: State,
    pub(super) records: Vec<Record>,
    next: u64,
    /// All assets that the service ever created.
    pub(super) assets: BTreeSet<AssetId>,
    /// Those that another machine started, without old versions whose deletion was asked for.
    pub(super) joined: BTreeSet<AssetId>,
}

impl History {
    pub(super) fn of(choices: Vec<Choice>) -> History {
        let mut history = History {
            state: State::default(),
            records: Vec::new(),
            next: 1,
            assets: BTreeSet::new(),
            joined: BTreeSet::new(),
        };
        for choice in choices {
            if let Some(record) = history.record_for(choice) {
                history.push(record);
            }
        }
        history
    }

    pub(super) fn push(&mut self, record: impl Into<Record>) {
        let record = record.into();
        self.state
            .apply(&record)
            .unwrap_or_else(|error| panic!("{record:?}: {error}"));
        self.records.push(record);
    }

    fn fresh(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// A draft that may change; its upload is cancelled first.
    fn changeable(&mut self, n: u8) -> Option<DraftId> {
        let drafts: Vec<DraftId> = self.state.drafts.drafts.keys().copied().collect();
        let draft = pick(&drafts, n)?;
        if self.state.drafts.drafts[&draft].is_frozen() {
            return None;
        }
        if let Some(attempt) = &self.state.drafts.drafts[&draft].attempt {
            let attempt = attempt.number;
            self.push(UploadRecord::AttemptDropped { draft, attempt });
        }
        Some(draft)
    }

    fn entries(&self, draft: DraftId, kind: EntryKind) -> Vec<EntryId> {
        let tree = &self.state.drafts.drafts[&draft].tree;
        let mut found: Vec<EntryId> = tree
            .walk()
            .into_iter()
            .filter(|it| it.2.kind() == kind)
            .map(|it| it.1)
            .collect();
        if kind == EntryKind::Folder {
            found.push(EntryId::ROOT);
        }
        found
    }

    fn record_for(&mut self, choice: Choice) -> Option<Record> {
        let at = Moment { secs: 5, nanos: 6 };
        let attributes = Attributes::new(0o644, at);
        match choice {
            Choice::Draft(n) => {
                let name = format!("draft{}", n % 5);
                let draft = DraftId(self.fresh());
                let kind = DraftKind::Folder;
                let free = !self.state.drafts.top.contains_key(&name);
                free.then(|| {
                    DraftRecord::Made {
                        draft,
                        name,
                        kind,
                        attributes,
                        by_command: n % 2 == 0,
                    }
                    .into()
                })
            }
            Choice::File(n, parent, name) | Choice::Folder(n, parent, name) => {
                let draft = self.changeable(n)?;
                let parent = pick(&self.entries(draft, EntryKind::Folder), parent)?;
                let name = format!("n{}", name % 4);
                let taken = self.state.drafts.drafts[&draft]
                    .tree
                    .child(parent, &name)
                    .is_some();
                let loose = self.state.drafts.drafts[&draft].kind == DraftKind::LooseFile;
                if taken || loose {
                    return None;
                }
                let entry = EntryId(self.fresh());
                Some(match choice {
                    Choice::File(..) => {
                        let content = ContentId(self.fresh());
                        DraftRecord::FileMade {
                            draft,
                            entry,
                            parent,
                            name,
                            content,
                            attributes,
                        }
                        .into()
                    }
                    _ => DraftRecord::FolderMade {
                        draft,
                        entry,
                        parent,
                        name,
                        attributes,
                    }
                    .into(),
                })
            }
            Choice::Flush(n, entry) => {
                let draft = self.changeable(n)?;
                let entry = pick(&self.entries(draft, EntryKind::File), entry)?;
                let (size, hash) = (u64::from(n), ContentHash(u128::from(n)));
                Some(
                    DraftRecord::Flushed {
                        draft,
                        entry,
                        size,
                        hash,
                        mtime: at,
                    }
                    .into(),
                )
            }
            Choice::Move(from, entry, to, parent, name) => {
                let from = self.changeable(from)?;
                let to = self.changeable(to)?;
                self.move_record(from, entry, to, (parent, name), at)
            }
            Choice::MoveToTop(from, entry, name) => {
                let from = self.changeable(from)?;
                let mut entries = self.entries(from, EntryKind::File);
                entries.extend(self.entries(from, EntryKind::Folder));
                let entry = pick(&entries, entry)?;
                let name = format!("draft{}", name % 5);
                let loose = self.state.drafts.drafts[&from].kind == DraftKind::LooseFile;
                if self.state.drafts.top.contains_key(&name) || (loose && entry != EntryId::ROOT) {
                    return None;
                }
                let draft = if entry == EntryId::ROOT {
                    from
                } else {
                    DraftId(self.fresh())
                };
                let to = Target::Top { draft, name };
                Some(
                    DraftRecord::Moved {
                        draft: from,
                        entry,
                        to,
                        ctime: at,
                        replaces: None,
                    }
                    .into(),
                )
            }
            Choice::Remove(n, entry) => {
                let draft = self.changeable(n)?;
                let entry = pick(&self.entries(draft, EntryKind::File), entry)?;
                let loose = self.state.drafts.drafts[&draft].kind == DraftKind::LooseFile;
                (!loose).then(|| DraftRecord::EntryRemoved { draft, entry, at }.into())
            }
            Choice::RemoveDraft(n) => {
                let drafts: Vec<DraftId> = self.state.drafts.drafts.keys().copied().collect();
                Some(
                    DraftRecord::Removed {
                        draft: pick(&drafts, n)?,
                    }
                    .into(),
                )
            }
            Choice::Xattr(n, value) => {
                let drafts: Vec<DraftId> = self.state.drafts.drafts.keys().copied().collect();
                let draft = pick(&drafts, n)?;
                let value = (value % 3 > 0).then(|| Blob(vec![value, 0xFF]));
                let name = "user.x".to_owned();
                Some(
                    DraftRecord::XattrSet {
                        draft,
                        entry: EntryId::ROOT,
                        name,
                        value,
                    }
                    .into(),
                )
            }
            Choice::Upload(n, outcome) => self.upload_record(n, outcome, at),
            Choice::Replace(n, of) => self.replace_record(n, of),
            Choice::Gone(n) => {
                let sent: Vec<AssetId> = self.state.drafts.sent.keys().copied().collect();
                let asset = pick(&sent, n)?;
                self.assets.remove(&asset);
                Some(UploadRecord::AssetGone { asset }.into())
            }
        }
    }

    fn move_record(
        &mut self,
        from: DraftId,
        entry: u8,
        to: DraftId,
        place: (u8, u8),
        ctime: Moment,
    ) -> Option<Record> {
        let loose = |draft: &DraftId| self.state.drafts.drafts[draft].kind == DraftKind::LooseFile;
        if loose(&from) || loose(&to) {
            return None;
        }
        let entry = pick(&self.entries(from, EntryKind::File), entry)?;
        let parent = pick(&self.entries(to, EntryKind::Folder), place.0)?;
        let name = format!("n{}", place.1 % 4);
        let tree = &self.state.drafts.drafts[&to].tree;
        let standing = tree.child(parent, &name);
        let is_folder = standing
            .and_then(|it| tree.node(it))
            .is_some_and(|it| it.folder().is_some());
        if is_folder || (standing == Some(entry) && from == to) {
            return None;
        }
        let to = Target::In {
            draft: to,
            parent,
            name,
            entry,
        };
        Some(
            DraftRecord::Moved {
                draft: from,
                entry,
                to,
                ctime,
                replaces: None,
            }
            .into(),
        )
    }

    fn replace_record(&mut self, n: u8, of: u8) -> Option<Record> {
        let draft = self.changeable(n)?;
        let assets: Vec<AssetId> = self.state.drafts.sent.keys().copied().collect();
        let asset = pick(&assets, of)?;
        let name = self.state.drafts.sent[&asset].folder_name()?.to_owned();
        let replaced = Replaced {
            asset,
            first_version: None,
            model_name: name.clone(),
            name,
            remove_old: of.is_multiple_of(2),
        };
        Some(DraftRecord::Replaces { draft, replaced }.into())
    }

    /// The next step of an upload, with one of its results.
    fn upload_record(&mut self, n: u8, outcome: u8, at: Moment) -> Option<Record> {
        let drafts: Vec<DraftId> = self.state.drafts.drafts.keys().copied().collect();
        let draft = pick(&drafts, n)?;
        let found = self.state.drafts.drafts[&draft].clone();
        let Some(present) = &found.attempt else {
            let manifest = Manifest::of(found.model_name(), &found.tree, |_| false);
            let attempt = self.fresh();
            let warning = None;
            let key = outcome
                .is_multiple_of(2)
                .then(|| format!("token {}", outcome % 8));
            return Some(
                UploadRecord::StartSent {
                    draft,
                    attempt,
                    at,
                    manifest,
                    key,
                    warning,
                }
                .into(),
            );
        };
        let attempt = present.number;
        let good = !outcome.is_multiple_of(4);
        let record = match present.stage {
            Stage::StartSent if good => {
                let asset = AssetId(self.fresh());
                let origin = match outcome % 3 {
                    0 => AssetOrigin::Own,
                    1 => AssetOrigin::Shared,
                    _ => AssetOrigin::Joined,
                };
                match origin {
                    AssetOrigin::Joined => self.joined.insert(asset),
                    AssetOrigin::Own | AssetOrigin::Shared => self.assets.insert(asset),
                };
                UploadRecord::Started {
                    draft,
                    attempt,
                    asset,
                    urls: Some("sealed".to_owned()),
                    origin,
                }
            }
            Stage::StartSent => UploadRecord::StartRefused { draft, attempt },
            Stage::Started { .. } if outcome.is_multiple_of(3) => UploadRecord::FilePut {
                draft,
                attempt,
                file: 0,
            },
            Stage::Started { .. } if good => UploadRecord::CompleteSent { draft, attempt },
            Stage::Started { .. } => UploadRecord::AttemptDropped { draft, attempt },
            Stage::CompleteSent { .. } if good => UploadRecord::Accepted { draft, attempt },
            Stage::CompleteSent { .. } => UploadRecord::CompleteRefused { draft, attempt },
            Stage::Accepted { .. } if good => UploadRecord::Imported { draft },
            Stage::Accepted { .. } => UploadRecord::ImportFailed {
                draft,
                reason: "no".to_owned(),
            },
            Stage::Imported { .. } => {
                // The deletion of the old version, which was asked for.
                self.assets.retain(|asset| found.outdated != Some(*asset));
                let drafts = self.state.drafts.drafts.values();
                for outdated in drafts.filter_map(|draft| draft.outdated) {
                    self.joined.remove(&outdated);
                }
                UploadRecord::Verified { draft }
            }
            Stage::ImportFailed { .. } => UploadRecord::Retried { draft },
        };
        Some(record.into())
    }
}
