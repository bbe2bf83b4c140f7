//! Renames within a draft, between drafts, and from or to `rawmodels/` itself. Each is one record.

use crate::outbox::drafts::info::Replaced;
use crate::outbox::drafts::info::{DraftKind, EntryKind, Place, Renamed};
use crate::outbox::drafts::memory::DraftsMemory;
use crate::outbox::drafts::record::{DraftRecord, Target};
use crate::outbox::drafts::tree::Node;
use crate::outbox::error::{OutboxError, OutboxResult};
use crate::outbox::ids::{DraftId, EntryId};
use crate::outbox::moment::Moment;
use crate::outbox::names;

/// The source of a move.
struct Source {
    draft: DraftId,
    /// `ROOT` for a whole draft.
    entry: EntryId,
    kind: EntryKind,
    name: String,
    /// The id of the file itself, if it is one.
    file: Option<EntryId>,
}

/// The entry that the move replaces.
struct Occupant {
    draft: DraftId,
    entry: EntryId,
    kind: EntryKind,
    is_empty: bool,
}

/// The outcome of a move.
pub enum Moved {
    /// It was moved out of this draft, or within it.
    From(DraftId, Renamed),
    /// Source and target are the same.
    Nowhere(Renamed),
}

pub fn record_move(
    memory: &mut DraftsMemory,
    from: &Place,
    to: &Place,
    noreplace: bool,
    replaces: Option<&Replaced>,
) -> OutboxResult<Moved> {
    let source = find_source(memory, from)?;
    let occupant = find_occupant(memory, to)?;
    let (Place::Top(new_name) | Place::In { name: new_name, .. }) = to;
    names::check_new(new_name)?;
    if let Some(occupant) = &occupant {
        if noreplace {
            return Err(OutboxError::Exists(new_name.clone()));
        }
        if occupant.draft == source.draft && occupant.entry == source.entry {
            return Ok(Moved::Nowhere(Renamed {
                draft: source.draft,
                entry: source.file.unwrap_or(source.entry),
            }));
        }
        check_replaces(&source, occupant, new_name)?;
    }
    let target = make_target(memory, &source, to)?;
    prepare(memory, &source, &target, occupant.as_ref())?;
    let renamed = new_place(&source, &target);
    // What replaces a new version is the new version.
    let replaces = replaces.cloned().or_else(|| {
        let replaced = occupant
            .filter(|occupant| occupant.entry == EntryId::ROOT)?
            .draft;
        memory.draft(replaced).ok()?.replaces.clone()
    });
    memory.record(DraftRecord::Moved {
        draft: source.draft,
        entry: source.entry,
        to: target,
        ctime: Moment::now(),
        replaces,
    })?;
    Ok(Moved::From(source.draft, renamed))
}

fn find_source(memory: &DraftsMemory, from: &Place) -> OutboxResult<Source> {
    let missing = |name: &str| OutboxError::NotFound(name.to_owned());
    let whole = |draft: DraftId, name: &str| -> OutboxResult<Source> {
        let found = memory.draft(draft)?;
        let (kind, file) = match found.kind {
            DraftKind::Folder => (EntryKind::Folder, None),
            DraftKind::LooseFile => {
                let file = found.tree.child(EntryId::ROOT, &found.name);
                (EntryKind::File, Some(file.ok_or_else(|| missing(name))?))
            }
        };
        Ok(Source {
            draft,
            entry: EntryId::ROOT,
            kind,
            name: name.to_owned(),
            file,
        })
    };
    match from {
        Place::Top(name) => {
            let draft = memory
                .state
                .top
                .get(name)
                .copied()
                .ok_or_else(|| missing(name))?;
            whole(draft, name)
        }
        Place::In {
            draft,
            parent,
            name,
        } => {
            let found = memory.draft(*draft)?;
            let entry = found
                .tree
                .child(*parent, name)
                .ok_or_else(|| missing(name))?;
            // The one file of a loose draft is the draft.
            if found.kind == DraftKind::LooseFile {
                return whole(*draft, name);
            }
            let kind = found
                .tree
                .node(entry)
                .map(Node::kind)
                .ok_or_else(|| missing(name))?;
            Ok(Source {
                draft: *draft,
                entry,
                kind,
                name: name.clone(),
                file: (kind == EntryKind::File).then_some(entry),
            })
        }
    }
}

fn find_occupant(memory: &DraftsMemory, to: &Place) -> OutboxResult<Option<Occupant>> {
    match to {
        Place::Top(name) => {
            let Some(id) = memory.state.top.get(name).copied() else {
                return Ok(None);
            };
            let draft = memory.draft(id)?;
            let kind = match draft.kind {
                DraftKind::Folder => EntryKind::Folder,
                DraftKind::LooseFile => EntryKind::File,
            };
            Ok(Some(Occupant {
                draft: id,
                entry: EntryId::ROOT,
                kind,
                is_empty: draft.tree.len() == 0,
            }))
        }
        Place::In {
            draft,
            parent,
            name,
        } => {
            memory.check_holds_many(*draft)?;
            let tree = &memory.draft(*draft)?.tree;
            let folder = tree.node(*parent).and_then(Node::folder);
            let folder = folder.ok_or_else(|| OutboxError::NotAFolder(tree.path(*parent)))?;
            let Some((entry, node)) = folder.get(name).and_then(|id| Some((*id, tree.node(*id)?)))
            else {
                return Ok(None);
            };
            Ok(Some(Occupant {
                draft: *draft,
                entry,
                kind: node.kind(),
                is_empty: node.folder().is_none_or(|children| children.is_empty()),
            }))
        }
    }
}

fn check_replaces(source: &Source, occupant: &Occupant, name: &str) -> OutboxResult<()> {
    match (source.kind, occupant.kind) {
        (EntryKind::File, EntryKind::File) => Ok(()),
        (EntryKind::File, EntryKind::Folder) => Err(OutboxError::IsAFolder(name.to_owned())),
        (EntryKind::Folder, EntryKind::File) => Err(OutboxError::NotAFolder(name.to_owned())),
        (EntryKind::Folder, EntryKind::Folder) if occupant.is_empty => Ok(()),
        (EntryKind::Folder, EntryKind::Folder) => Err(OutboxError::NotEmpty(name.to_owned())),
    }
}

fn make_target(memory: &mut DraftsMemory, source: &Source, to: &Place) -> OutboxResult<Target> {
    let into_itself = || OutboxError::IntoItself(source.name.clone());
    match to {
        Place::Top(name) => {
            let draft = match source.entry {
                EntryId::ROOT => source.draft,
                _ => DraftId(memory.state.next_id()),
            };
            Ok(Target::Top {
                draft,
                name: name.clone(),
            })
        }
        Place::In {
            draft,
            parent,
            name,
        } => {
            let same = *draft == source.draft;
            let whole = source.entry == EntryId::ROOT;
            if same && (whole || memory.draft(*draft)?.tree.is_within(*parent, source.entry)) {
                return Err(into_itself());
            }
            let entry = match source.file {
                Some(file) => file,
                None if whole => EntryId(memory.state.next_id()),
                None => source.entry,
            };
            Ok(Target::In {
                draft: *draft,
                parent: *parent,
                name: name.clone(),
                entry,
            })
        }
    }
}

/// Refuses to change frozen drafts, and cancels the uploads of all drafts that the move changes.
fn prepare(
    memory: &mut DraftsMemory,
    source: &Source,
    target: &Target,
    occupant: Option<&Occupant>,
) -> OutboxResult<()> {
    let mut touched = vec![source.draft];
    if let Target::In { draft, .. } = target {
        touched.push(*draft);
    }
    touched.extend(occupant.map(|occupant| occupant.draft));
    touched.dedup();
    for draft in &touched {
        let found = memory.draft(*draft)?;
        if found.is_frozen() {
            return Err(OutboxError::Frozen(found.name.clone()));
        }
    }
    for draft in touched {
        memory.begin_change(draft)?;
    }
    Ok(())
}

/// The new place. A file keeps its id, also as a loose file.
fn new_place(source: &Source, target: &Target) -> Renamed {
    match target {
        Target::Top { draft, .. } => Renamed {
            draft: *draft,
            entry: source.file.unwrap_or(EntryId::ROOT),
        },
        Target::In { draft, entry, .. } => Renamed {
            draft: *draft,
            entry: *entry,
        },
    }
}
