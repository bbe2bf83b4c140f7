//! The sizes, times, phases and statuses of entries and drafts. Read-only.

use crate::outbox::drafts::activity::{Activity, Trouble};
use crate::outbox::drafts::draft::{Draft, Stage};
use crate::outbox::drafts::info::{DraftInfo, DraftPhase, EntryInfo, EntryKind};
use crate::outbox::drafts::memory::DraftsMemory;
use crate::outbox::drafts::tree::Node;
use crate::outbox::ids::{DraftId, EntryId};
use crate::outbox::moment::Moment;
use crate::outbox::status::ItemStatus;
use crate::wire::UploadStatus;

pub fn entry_info(memory: &DraftsMemory, draft: DraftId, entry: EntryId) -> Option<EntryInfo> {
    let found = memory.state.drafts.get(&draft)?;
    let node = found.tree.node(entry)?;
    let mut info = node_info(memory, entry, node);
    if entry == EntryId::ROOT {
        info.name.clone_from(&found.name);
    }
    if let Some(children) = node.folder() {
        let is_folder = |id: &&EntryId| {
            found
                .tree
                .node(**id)
                .is_some_and(|node| node.kind() == EntryKind::Folder)
        };
        info.subfolders = children.values().filter(is_folder).count() as u32;
    }
    Some(info)
}

/// An open file that was removed or replaced.
pub fn removed_info(memory: &DraftsMemory, entry: EntryId) -> Option<EntryInfo> {
    let node = memory.removed(entry)?.removed.as_ref()?;
    Some(node_info(memory, entry, node))
}

fn node_info(memory: &DraftsMemory, entry: EntryId, node: &Node) -> EntryInfo {
    let mut info = EntryInfo {
        id: entry,
        parent: node.parent,
        name: node.name.clone(),
        kind: node.kind(),
        size: 0,
        mode: node.attributes.mode,
        uid: node.attributes.uid,
        gid: node.attributes.gid,
        mtime: node.attributes.mtime.into(),
        ctime: node.attributes.ctime.into(),
        subfolders: 0,
    };
    if let Some(file) = node.file() {
        info.size = file.size;
        if let Some(open) = memory.open.get(&file.content) {
            let (size, written_at) = open.content.size_and_time();
            info.size = size;
            if let Some(at) = written_at {
                info.mtime = at.into();
                info.ctime = Moment::max(at, node.attributes.ctime).into();
            }
        }
    }
    info
}

pub fn draft_info(memory: &DraftsMemory, id: DraftId) -> Option<DraftInfo> {
    let draft = memory.state.drafts.get(&id)?;
    let activity = memory.activity_of(id);
    let trouble = activity.and_then(|activity| activity.trouble.as_ref());
    let failure = draft
        .failure
        .clone()
        .or_else(|| trouble.map(Trouble::sentence));
    Some(DraftInfo {
        id,
        name: draft.name.clone(),
        kind: draft.kind,
        phase: phase(memory, id, draft),
        status: status(memory, id, draft),
        missing_files: activity
            .filter(|_| draft.attempt.is_none())
            .and_then(|activity| activity.missing_files.sentence()),
        asset: draft.accepted_asset(),
        warning: draft.warning.clone(),
        comparison: activity.and_then(|activity| activity.comparison.clone()),
        failure,
        is_stuck: draft.failure.is_some() || trouble.is_some_and(Trouble::needs_user),
        no_answer: match trouble {
            Some(Trouble::Service(error)) if error.is_no_answer() => Some(error.to_string()),
            _ => None,
        },
        replaces: draft.replaces.clone(),
        size: draft.size(),
        created: draft.created.into(),
    })
}

fn phase(memory: &DraftsMemory, id: DraftId, draft: &Draft) -> DraftPhase {
    match draft.stage() {
        None => DraftPhase::Editing,
        Some(Stage::StartSent | Stage::Started { .. } | Stage::CompleteSent { .. }) => {
            DraftPhase::Uploading {
                percent: percent(memory, id),
            }
        }
        Some(Stage::Accepted { .. }) => DraftPhase::Accepted,
        Some(Stage::Imported { .. }) => DraftPhase::Complete,
        Some(Stage::ImportFailed { .. }) => DraftPhase::ImportFailed,
    }
}

/// Percentage of the bytes that were sent.
pub fn percent(memory: &DraftsMemory, draft: DraftId) -> u8 {
    let upload = memory
        .activity_of(draft)
        .and_then(|activity| activity.upload.as_ref());
    let Some(upload) = upload else { return 0 };
    let sent = upload.sent.load(std::sync::atomic::Ordering::Relaxed);
    if upload.total == 0 {
        return 0;
    }
    // The last percent is left for the completion request.
    (u128::from(sent) * 99 / u128::from(upload.total)).min(99) as u8
}

fn status(memory: &DraftsMemory, id: DraftId, draft: &Draft) -> ItemStatus {
    if let Some(reason) = draft.failure.clone() {
        return ItemStatus::Failed { reason };
    }
    let activity = memory.activity_of(id);
    let obstacle = activity.and_then(Activity::obstacle);
    match draft.stage() {
        None => match obstacle {
            Some(obstacle) => ItemStatus::Waiting { obstacle },
            // The rule has decided: its upload is about to be started.
            None if draft.ordered.is_some() || activity.is_some_and(|it| it.upload.is_some()) => {
                ItemStatus::Uploading {
                    percent: 0,
                    obstacle,
                }
            }
            None => activity.map_or(ItemStatus::Draft, |it| it.held_by.clone()),
        },
        Some(Stage::StartSent | Stage::Started { .. } | Stage::CompleteSent { .. }) => {
            let percent = percent(memory, id);
            ItemStatus::Uploading { percent, obstacle }
        }
        Some(Stage::Accepted { .. }) => {
            let import = activity.and_then(|activity| activity.import.clone());
            import
                .unwrap_or_else(|| ItemStatus::importing(&UploadStatus::Analysing, None))
                .with_obstacle(obstacle)
        }
        Some(Stage::Imported { .. }) => ItemStatus::Complete,
        Some(Stage::ImportFailed { .. }) => ItemStatus::Failed {
            reason: "the import failed".to_owned(),
        },
    }
}
