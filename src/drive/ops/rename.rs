//! Renaming: freely among drafts, job texts and presets; never an asset, because the service has no
//! such call, and never with an error that would make `mv` copy and delete instead.

use std::ffi::OsStr;
use std::sync::Arc;

use super::lookup::text;
use super::text::TextTarget;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::fresh::listings::Which;
use crate::drive::places::{
    Container, DraftEntry, DropFolder, HeldPreset, JobPart, ModelFolder, Node, PresetFolder,
    RawModels, Removal, child, loose_row, refusals, sent_loose_file,
};
use crate::drive::shared::Shared;
use crate::drive::tree::names::HIDDEN_FOLDER;
use crate::drive::tree::node::Home;
use crate::drive::types::{Caller, Ino, RenameMode};
use crate::outbox::{self, DraftId, DraftKind, EntryId, PresetFile, Renamed};

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
            return Err(refusals::read_only_mount());
        }
        if mode == RenameMode::Exchange {
            return Err(DriveError::Invalid(
                "two names cannot be exchanged here; rename them one after the other".into(),
            ));
        }
        if [name, new_name].contains(&HIDDEN_FOLDER) {
            return Err(refusals::not_permitted_here(HIDDEN_FOLDER));
        }
        let noreplace = mode == RenameMode::NoReplace;
        match (from.container(), to.container()) {
            (Some(Container::Jobs(of)), Some(Container::Jobs(to))) if of == to => {
                self.rename_job(of, name, new_name, noreplace).await
            }
            (Some(Container::Presets), Some(Container::Presets)) => {
                self.rename_preset(name, new_name, noreplace).await
            }
            (Some(source), Some(target)) if is_of_drafts(source) && is_of_drafts(target) => {
                let (from, to) = ((&from, source, name), (&to, target, new_name));
                self.rename_draft_entry(from, to, noreplace, caller).await
            }
            (source, _) => {
                let node = child(self, &from, name).await?;
                match source {
                    Some(Container::Jobs(_) | Container::Presets) => {
                        Err(refusals::no_move_between())
                    }
                    Some(_) => self.refuse_move(&node, &to),
                    None => Err(refusals::no_rename(&node.path(self))),
                }
            }
        }
    }

    fn refuse_move(&self, node: &Node, to: &Node) -> DriveResult<()> {
        if node.model_folder().is_some() {
            node.check_movable(self)?;
        }
        match to.path(self).as_str() {
            "/" => Err(refusals::no_place("/")),
            _ => Err(refusals::no_move_between()),
        }
    }

    async fn rename_draft_entry(
        self: &Arc<Self>,
        (from, source_in, name): (&Node, Container, &str),
        (to, target_in, new_name): (&Node, Container, &str),
        noreplace: bool,
        caller: &Caller,
    ) -> DriveResult<()> {
        let source = child(self, from, name).await?;
        source.check_movable(self)?;
        self.check_target(to, target_in, new_name, &source).await?;
        if target_in == Container::Drafts
            && RawModels::open_draft(self, new_name).is_none()
            && let Some(sent) = sent_loose_file(self, new_name)
        {
            return match noreplace {
                true => Err(DriveError::Exists),
                false => self.replace_sent_loose_file(&source, sent),
            };
        }
        let (from, to) = (place(source_in, name), place(target_in, new_name));
        let renamed = self
            .outbox
            .rename(&from, &to, noreplace, &caller.for_outbox())?;
        self.relocate(&source, renamed);
        Ok(())
    }

    async fn check_target(
        self: &Arc<Self>,
        to: &Node,
        container: Container,
        new_name: &str,
        source: &Node,
    ) -> DriveResult<()> {
        if container != Container::Drafts {
            return to.check_may_make(self);
        }
        if new_name.starts_with(".Trash") {
            return Err(refusals::no_trash());
        }
        if let Err(error) = self.refreshed(Which::Assets).await {
            tracing::debug!(error = %error, "a draft is renamed without knowing the listing");
        }
        match RawModels::listed_asset(self, new_name) {
            // An asset is never replaced by a rename.
            Some(_) if source.model_folder().is_some() => Err(DriveError::NotEmpty),
            Some(_) => Err(DriveError::IsAFolder),
            None => Ok(()),
        }
    }

    /// The kernel keeps the number of what it renamed.
    fn relocate(&self, source: &Node, renamed: Renamed) {
        let new = match renamed.entry {
            // A loose file is its draft's one file; a folder is the draft.
            EntryId::ROOT => match self.loose_row_of_kind(renamed.draft) {
                Some(node) => node,
                None => ModelFolder(Home::Made(renamed.draft)).into(),
            },
            entry => {
                let draft = renamed.draft;
                DraftEntry { draft, entry }.into()
            }
        };
        if new != *source {
            self.inodes().relocate(source, new);
        }
    }

    fn loose_row_of_kind(&self, draft: DraftId) -> Option<Node> {
        let info = self.outbox.draft(draft)?;
        let row = loose_row(self, draft).filter(|_| info.kind == DraftKind::LooseFile);
        row.map(|row| row.node)
    }

    async fn rename_job(
        self: &Arc<Self>,
        drop: DropFolder,
        name: &str,
        new_name: &str,
        noreplace: bool,
    ) -> DriveResult<()> {
        let folder = drop.in_outbox();
        if self.outbox.job(&folder, name).is_none() {
            return match child(self, &drop.into(), name).await {
                Ok(node) => Err(refusals::no_rename(&node.path(self))),
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
        let node = |name: &str| Node::from(drop.entry(name, JobPart::Text));
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
        let folder = Node::from(PresetFolder);
        let source = child(self, &folder, name).await?;
        if !matches!(source.removal(), Removal::Preset) {
            return Err(refusals::not_permitted_here(&source.path(self)));
        }
        if noreplace && child(self, &folder, new_name).await.is_ok() {
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
                .relocate(&source, HeldPreset(new_name.into()).into());
        }
        self.handles.rename_text(
            &TextTarget::Preset(name.into()),
            &TextTarget::Preset(new_name.into()),
        );
        self.doubt(Which::Presets);
        Ok(())
    }
}

fn is_of_drafts(container: Container) -> bool {
    matches!(container, Container::Drafts | Container::Entries(..))
}

/// A name in a folder of drafts, in the outbox's words.
fn place(folder: Container, name: &str) -> outbox::Place {
    let name = name.to_owned();
    match folder {
        Container::Entries(draft, parent) => outbox::Place::In {
            draft,
            parent,
            name,
        },
        _ => outbox::Place::Top(name),
    }
}
