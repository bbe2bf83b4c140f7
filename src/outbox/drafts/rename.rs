//! Renames: within a draft, between drafts, to the top and from it. One record, durable on return.

use crate::outbox::Outbox;
use crate::outbox::core::Core;
use crate::outbox::drafts::info::{DraftKind, EntryKind, Place, Renamed};
use crate::outbox::drafts::record::{DraftRecord, Target};
use crate::outbox::drafts::tree::Node;
use crate::outbox::error::{OutboxError, OutboxResult};
use crate::outbox::ids::{Caller, DraftId, EntryId};
use crate::outbox::moment::Moment;
use crate::outbox::names;

/// What is to be moved.
struct Source {
    draft: DraftId,
    /// The root for a whole draft.
    entry: EntryId,
    kind: EntryKind,
    name: String,
    /// The number of the file itself, where it is one.
    file: Option<EntryId>,
}

/// What stands at the target.
struct Standing {
    draft: DraftId,
    entry: EntryId,
    kind: EntryKind,
    is_empty: bool,
}

impl Outbox {
    /// Renames a draft at the top. `noreplace` fails where the name is taken by another draft;
    /// otherwise a loose file replaces a loose file, and a folder an empty one.
    pub fn rename_draft(
        &self,
        draft: DraftId,
        new_name: &str,
        noreplace: bool,
        caller: &Caller,
    ) -> OutboxResult<Renamed> {
        let name = self.shared.core().draft(draft)?.name.clone();
        self.rename(
            &Place::Top(name),
            &Place::Top(new_name.to_owned()),
            noreplace,
            caller,
        )
    }

    /// Renames or moves within a draft, between drafts, to the top or from it. Replaces like
    /// `rename(2)` unless `noreplace`. Durable on return.
    pub fn rename(
        &self,
        from: &Place,
        to: &Place,
        noreplace: bool,
        caller: &Caller,
    ) -> OutboxResult<Renamed> {
        let (renamed, from_draft, ticket) = {
            let mut core = self.shared.core();
            let source = find_source(&core, from)?;
            let standing = find_standing(&core, to)?;
            let (Place::Top(new_name) | Place::In { name: new_name, .. }) = to;
            names::check_new(new_name)?;
            if let Some(standing) = &standing {
                if noreplace {
                    return Err(OutboxError::Exists(new_name.clone()));
                }
                if standing.draft == source.draft && standing.entry == source.entry {
                    return Ok(Renamed {
                        draft: source.draft,
                        entry: source.file.unwrap_or(source.entry),
                    });
                }
                check_replaces(&source, standing, new_name)?;
            }
            let target = make_target(&mut core, &source, to)?;
            prepare(&mut core, &source, &target, standing.as_ref())?;
            let renamed = whereabouts(&source, &target);
            let shared_writers = renamed.draft != source.draft;
            core.record(DraftRecord::Moved {
                draft: source.draft,
                entry: source.entry,
                to: target,
                ctime: Moment::now(),
            })?;
            let now = self.shared.now();
            if shared_writers {
                core.share_writers(source.draft, renamed.draft);
            }
            core.stirred(renamed.draft, Some(caller), now);
            if shared_writers && core.state.drafts.contains_key(&source.draft) {
                core.stirred(source.draft, Some(caller), now);
            }
            core.forget_gone();
            (renamed, source.draft, self.shared.journal.last())
        };
        self.shared.journal.settle(ticket)?;
        self.shared.draft_changed(renamed.draft);
        if from_draft != renamed.draft {
            self.shared.draft_changed(from_draft);
        }
        self.shared.discard_news.notify_one();
        Ok(renamed)
    }
}

fn find_source(core: &Core, from: &Place) -> OutboxResult<Source> {
    let missing = |name: &str| OutboxError::NotFound(name.to_owned());
    let whole = |draft: DraftId, name: &str| -> OutboxResult<Source> {
        let found = core.draft(draft)?;
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
            let draft = core
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
            let found = core.draft(*draft)?;
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

fn find_standing(core: &Core, to: &Place) -> OutboxResult<Option<Standing>> {
    match to {
        Place::Top(name) => {
            let Some(id) = core.state.top.get(name).copied() else {
                return Ok(None);
            };
            let draft = core.draft(id)?;
            let kind = match draft.kind {
                DraftKind::Folder => EntryKind::Folder,
                DraftKind::LooseFile => EntryKind::File,
            };
            Ok(Some(Standing {
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
            core.check_holds_many(*draft)?;
            let tree = &core.draft(*draft)?.tree;
            let folder = tree.node(*parent).and_then(Node::folder);
            let folder = folder.ok_or_else(|| OutboxError::NotAFolder(tree.path(*parent)))?;
            let Some((entry, node)) = folder.get(name).and_then(|id| Some((*id, tree.node(*id)?)))
            else {
                return Ok(None);
            };
            Ok(Some(Standing {
                draft: *draft,
                entry,
                kind: node.kind(),
                is_empty: node.folder().is_none_or(|children| children.is_empty()),
            }))
        }
    }
}

fn check_replaces(source: &Source, standing: &Standing, name: &str) -> OutboxResult<()> {
    match (source.kind, standing.kind) {
        (EntryKind::File, EntryKind::File) => Ok(()),
        (EntryKind::File, EntryKind::Folder) => Err(OutboxError::IsAFolder(name.to_owned())),
        (EntryKind::Folder, EntryKind::File) => Err(OutboxError::NotAFolder(name.to_owned())),
        (EntryKind::Folder, EntryKind::Folder) if standing.is_empty => Ok(()),
        (EntryKind::Folder, EntryKind::Folder) => Err(OutboxError::NotEmpty(name.to_owned())),
    }
}

fn make_target(core: &mut Core, source: &Source, to: &Place) -> OutboxResult<Target> {
    let into_itself = || OutboxError::IntoItself(source.name.clone());
    match to {
        Place::Top(name) => {
            let draft = match source.entry {
                EntryId::ROOT => source.draft,
                _ => DraftId(core.state.next_id()),
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
            if same && (whole || core.draft(*draft)?.tree.is_within(*parent, source.entry)) {
                return Err(into_itself());
            }
            let entry = match source.file {
                Some(file) => file,
                None if whole => EntryId(core.state.next_id()),
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

/// Refuses what is frozen and takes back uploads of whatever the move touches.
fn prepare(
    core: &mut Core,
    source: &Source,
    target: &Target,
    standing: Option<&Standing>,
) -> OutboxResult<()> {
    let mut touched = vec![source.draft];
    if let Target::In { draft, .. } = target {
        touched.push(*draft);
    }
    touched.extend(standing.map(|standing| standing.draft));
    touched.dedup();
    for draft in &touched {
        let found = core.draft(*draft)?;
        if found.is_frozen() {
            return Err(OutboxError::Frozen(found.name.clone()));
        }
    }
    for draft in touched {
        core.begin_change(draft)?;
    }
    Ok(())
}

/// Where the moved thing is afterwards. A file keeps its number, in a loose draft of its own as well.
fn whereabouts(source: &Source, target: &Target) -> Renamed {
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
