//! Renaming: freely among drafts, job texts and presets; never an asset, because the service has no
//! such call, and never with an error that would make `mv` copy and delete instead.

use std::ffi::OsStr;
use std::sync::Arc;

use super::create::drop_of;
use super::lookup::text;
use super::rows::job_folder;
use super::text::TextTarget;
use super::why;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::fresh::listings::Which;
use crate::drive::shared::Shared;
use crate::drive::tree::names::HIDDEN_FOLDER;
use crate::drive::tree::node::{DropFolder, Home, JobPart, Node, Top};
use crate::drive::types::{Caller, Ino, RenameMode};
use crate::outbox::{DraftId, EntryId, Place, PresetFile, Renamed};

impl Shared {
    /// Renames.
    pub(in crate::drive) async fn rename(
        self: &Arc<Self>,
        (parent, name): (Ino, &OsStr),
        (new_parent, new_name): (Ino, &OsStr),
        mode: RenameMode,
        caller: &Caller,
    ) -> DriveResult<()> {
        let (from, to) = (self.node(parent)?, self.node(new_parent)?);
        let (name, new_name) = (text(name)?, text(new_name)?);
        if self.config.read_only {
            return Err(why::read_only_mount());
        }
        if mode == RenameMode::Exchange {
            return Err(DriveError::Invalid(
                "two names cannot be exchanged here; rename them one after the other".into(),
            ));
        }
        if [name, new_name].contains(&HIDDEN_FOLDER) {
            return Err(why::not_permitted_here(HIDDEN_FOLDER));
        }
        let noreplace = mode == RenameMode::NoReplace;
        match (&from, &to) {
            (from, to) if drop_of(from).is_some() && drop_of(from) == drop_of(to) => {
                let folder = drop_of(from).expect("it was just looked at");
                self.rename_job(folder, name, new_name, noreplace).await
            }
            (Node::Top(Top::Presets), Node::Top(Top::Presets)) => {
                self.rename_preset(name, new_name, noreplace).await
            }
            (from, to) if is_draft_folder(from) && is_draft_folder(to) => {
                self.rename_draft_entry((from, name), (to, new_name), noreplace, caller)
                    .await
            }
            (from, _) => {
                let node = self.child(from, name).await?;
                match from {
                    Node::Drop(_) | Node::Top(Top::Presets | Top::Jobs) => {
                        Err(why::no_move_between())
                    }
                    from if is_draft_folder(from) => self.refuse_move(&node, &to),
                    _ => Err(why::no_rename(&self.path_of(&node))),
                }
            }
        }
    }

    fn refuse_move(&self, node: &Node, to: &Node) -> DriveResult<()> {
        match (node, to) {
            (Node::Model(home), _) if self.asset_of(*home).is_some() => {
                Err(why::no_rename(&self.home_path(*home)))
            }
            (_, Node::Root) => Err(why::no_place("/")),
            _ => Err(why::no_move_between()),
        }
    }

    async fn rename_draft_entry(
        self: &Arc<Self>,
        (from, name): (&Node, &str),
        (to, new_name): (&Node, &str),
        noreplace: bool,
        caller: &Caller,
    ) -> DriveResult<()> {
        let source = self.child(from, name).await?;
        self.check_is_open(&source)?;
        self.check_target(to, new_name, &source).await?;
        if matches!(to, Node::Top(Top::RawModels))
            && self.open_draft(new_name).is_none()
            && let Some(sent) = self.sent_loose_file(new_name)
        {
            return match noreplace {
                true => Err(DriveError::Exists),
                false => self.replace_sent_loose_file(&source, sent),
            };
        }
        let (from_place, to_place) = (place(from, name), place(to, new_name));
        let renamed =
            self.outbox
                .rename(&from_place, &to_place, noreplace, &caller.for_outbox())?;
        self.relocate(&source, renamed);
        Ok(())
    }

    /// Only what is still a draft can move.
    fn check_is_open(&self, source: &Node) -> DriveResult<()> {
        match source {
            Node::Model(home) if self.asset_of(*home).is_none() => Ok(()),
            Node::Entry(draft, _) if self.asset_of_draft(*draft).is_none() => Ok(()),
            Node::Model(home) => Err(why::no_rename(&self.home_path(*home))),
            Node::Entry(..) => Err(DriveError::NotPermitted(
                why::frozen_asset(&self.path_of(source)).to_string(),
            )),
            other => Err(why::no_rename(&self.path_of(other))),
        }
    }

    async fn check_target(
        self: &Arc<Self>,
        to: &Node,
        new_name: &str,
        source: &Node,
    ) -> DriveResult<()> {
        match to {
            Node::Top(Top::RawModels) => {
                if new_name.starts_with(".Trash") {
                    return Err(why::no_trash());
                }
                let refreshed = self.refreshed(Which::Assets).await;
                if let Err(error) = refreshed {
                    tracing::debug!(error = %error, "a draft is renamed without knowing the listing");
                }
                match self.listed_asset(new_name) {
                    // An asset is never replaced by a rename.
                    Some(_) if matches!(source, Node::Model(_)) => Err(DriveError::NotEmpty),
                    Some(_) => Err(DriveError::IsAFolder),
                    None => Ok(()),
                }
            }
            Node::Model(home) if self.asset_of(*home).is_some() => {
                Err(why::frozen_asset(&self.home_path(*home)))
            }
            Node::Entry(draft, _) if self.asset_of_draft(*draft).is_some() => {
                Err(why::frozen_asset(&self.home_path(Home::Made(*draft))))
            }
            _ => Ok(()),
        }
    }

    /// The kernel keeps the number of what it renamed.
    fn relocate(&self, source: &Node, renamed: Renamed) {
        let new = match renamed.entry {
            // A loose file is its draft's one file; a folder is the draft.
            EntryId::ROOT => match self.loose_row_of_kind(renamed.draft) {
                Some(node) => node,
                None => Node::Model(Home::Made(renamed.draft)),
            },
            entry => Node::Entry(renamed.draft, entry),
        };
        if new != *source {
            self.inodes().relocate(source, new);
        }
    }

    fn loose_row_of_kind(&self, draft: DraftId) -> Option<Node> {
        let info = self.outbox.draft(draft)?;
        (info.kind == crate::outbox::DraftKind::LooseFile)
            .then(|| self.loose_row(draft).map(|row| row.node))
            .flatten()
    }

    async fn rename_job(
        self: &Arc<Self>,
        drop: DropFolder,
        name: &str,
        new_name: &str,
        noreplace: bool,
    ) -> DriveResult<()> {
        let folder = job_folder(drop);
        if self.outbox.job(&folder, name).is_none() {
            return match self.child(&drop.node(), name).await {
                Ok(node) => Err(why::no_rename(&self.path_of(&node))),
                Err(error) => Err(error),
            };
        }
        if noreplace && self.outbox.job(&folder, new_name).is_some() {
            return Err(DriveError::Exists);
        }
        self.outbox.rename_job(&folder, name, new_name)?;
        let (from, to) = (
            TextTarget::Job(drop, name.into()),
            TextTarget::Job(drop, new_name.into()),
        );
        self.handles.rename_text(&from, &to);
        let node = |name: &str| Node::Job(drop, name.into(), JobPart::Text);
        self.inodes().relocate(&node(name), node(new_name));
        // A text that is still open for writing goes out when it is closed.
        if self.handles.is_text_open(&to) {
            return Ok(());
        }
        self.send_job(drop, new_name.to_owned()).await
    }

    async fn rename_preset(
        self: &Arc<Self>,
        name: &str,
        new_name: &str,
        noreplace: bool,
    ) -> DriveResult<()> {
        let folder = Node::Top(Top::Presets);
        let source = self.child(&folder, name).await?;
        if !matches!(source, Node::Preset(..) | Node::PresetFile(_)) {
            return Err(why::not_permitted_here(&self.path_of(&source)));
        }
        if noreplace && self.child(&folder, new_name).await.is_ok() {
            return Err(DriveError::Exists);
        }
        let (shared, from, to) = (Arc::clone(self), name.to_owned(), new_name.to_owned());
        self.detached(async move {
            let gone = shared.outbox.rename_preset(&from, &to).await?;
            if let Some(gone) = gone {
                shared.preset_gone(gone);
            }
            shared.preset_overlay();
            shared.keep_for_good().await
        })
        .await?;
        // The kernel keeps the number of what it renamed.
        let is_held = |file: &PresetFile| file.name == new_name;
        if self.preset_overlay().files.iter().any(is_held) {
            self.inodes()
                .relocate(&source, Node::PresetFile(new_name.into()));
        }
        self.handles.rename_text(
            &TextTarget::Preset(name.into()),
            &TextTarget::Preset(new_name.into()),
        );
        self.doubt(Which::Presets);
        Ok(())
    }
}

fn is_draft_folder(folder: &Node) -> bool {
    matches!(
        folder,
        Node::Top(Top::RawModels) | Node::Model(Home::Made(_)) | Node::Entry(..)
    )
}

/// A name in a folder of drafts, in the outbox's words.
fn place(folder: &Node, name: &str) -> Place {
    let name = name.to_owned();
    match folder {
        Node::Model(Home::Made(draft)) => Place::In {
            draft: *draft,
            parent: EntryId::ROOT,
            name,
        },
        Node::Entry(draft, entry) => Place::In {
            draft: *draft,
            parent: *entry,
            name,
        },
        _ => Place::Top(name),
    }
}
