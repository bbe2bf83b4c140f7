//! Making files and folders: drafts at the top of `rawmodels/`, entries of drafts, job texts, preset
//! texts. Nowhere else can anything be made.

use std::ffi::OsStr;
use std::sync::Arc;

use super::lookup::text;
use super::rows::job_folder;
use super::text::{TextBuffer, TextTarget};
use super::why;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::fresh::listings::Which;
use crate::drive::handles::{Body, OpenFile};
use crate::drive::shared::Shared;
use crate::drive::tree::names::HIDDEN_FOLDER;
use crate::drive::tree::node::{DropFolder, Home, JobPart, Node, Top};
use crate::drive::types::{Access, Caller, Entry, Ino, OpenFlags, Opened, OpenedMode};
use crate::outbox::{DraftId, EntryId};

impl Shared {
    /// Makes a folder.
    pub(in crate::drive) async fn make_dir(
        self: &Arc<Self>,
        parent: Ino,
        name: &OsStr,
        mode: u32,
        caller: &Caller,
    ) -> DriveResult<Entry> {
        let folder = self.node(parent)?;
        let name = new_name(name)?;
        self.check_may_make(&folder, name).await?;
        let caller = caller.for_outbox();
        let node = match &folder {
            Node::Top(Top::RawModels) => {
                let draft = self.outbox.create_draft(name, mode, &caller)?;
                Node::Model(Home::Made(draft.id))
            }
            Node::Model(Home::Made(draft)) => {
                self.make_entry_dir(*draft, EntryId::ROOT, name, mode, &caller)?
            }
            Node::Entry(draft, entry) => {
                self.make_entry_dir(*draft, *entry, name, mode, &caller)?
            }
            folder => return Err(self.no_place(folder)),
        };
        self.entry(&node).await
    }

    fn make_entry_dir(
        &self,
        draft: DraftId,
        parent: EntryId,
        name: &str,
        mode: u32,
        caller: &crate::outbox::Caller,
    ) -> DriveResult<Node> {
        let info = self.outbox.make_dir(draft, parent, name, mode, caller)?;
        Ok(Node::Entry(draft, info.id))
    }

    /// Makes an empty regular file without keeping it open.
    pub(in crate::drive) async fn make_node(
        self: &Arc<Self>,
        parent: Ino,
        name: &OsStr,
        mode: u32,
        caller: &Caller,
    ) -> DriveResult<Entry> {
        let flags = OpenFlags {
            exclusive: true,
            ..OpenFlags::OVERWRITE
        };
        let (entry, opened) = self.create(parent, name, mode, flags, caller).await?;
        self.flush(opened.fh, caller).await?;
        self.release(opened.fh).await?;
        Ok(entry)
    }

    /// Makes a file that is not there and opens it. `missing` is how it was found missing.
    pub(in crate::drive) async fn create_new(
        self: &Arc<Self>,
        folder: &Node,
        name: &str,
        mode: u32,
        flags: OpenFlags,
        caller: &Caller,
        missing: DriveError,
    ) -> DriveResult<(Node, Opened)> {
        self.check_may_make(folder, name).await?;
        let (node, body, opened_mode) = match folder {
            Node::Top(Top::RawModels) => {
                let (draft, info, staged) =
                    self.outbox
                        .create_loose_file(name, mode, &caller.for_outbox())?;
                (
                    Node::Entry(draft.id, info.id),
                    Body::Staged(staged),
                    OpenedMode::Cached,
                )
            }
            Node::Model(Home::Made(draft)) => {
                self.create_entry(*draft, EntryId::ROOT, name, mode, caller)?
            }
            Node::Entry(draft, entry) => self.create_entry(*draft, *entry, name, mode, caller)?,
            Node::Drop(_) | Node::Top(Top::Jobs) => {
                let folder = drop_of(folder).expect("only drop folders come here");
                self.outbox.write_job_text(&job_folder(folder), name, b"")?;
                let buffer = self.new_text(TextTarget::Job(folder, name.to_owned()), caller);
                (
                    Node::Job(folder, name.into(), JobPart::Text),
                    buffer,
                    OpenedMode::Direct,
                )
            }
            Node::Top(Top::Presets) => {
                // Whether a preset of that name exists decides between making and updating it.
                if missing != DriveError::NotFound {
                    return Err(missing);
                }
                let outbox = self.outbox.clone();
                let file_name = name.to_owned();
                self.detached(async move { Ok(outbox.save_preset(&file_name, b"").await?) })
                    .await?;
                let buffer = self.new_text(TextTarget::Preset(name.to_owned()), caller);
                (Node::PresetFile(name.into()), buffer, OpenedMode::Direct)
            }
            folder => return Err(self.no_place(folder)),
        };
        // What was just made can be written to, whatever its mode says; a handle that is only read
        // stays so.
        let flags = OpenFlags {
            access: flags.access,
            ..flags
        };
        let fh = self.handles.insert_file(OpenFile {
            node: node.clone(),
            flags,
            body,
        });
        Ok((
            node,
            Opened {
                fh,
                mode: opened_mode,
            },
        ))
    }

    fn create_entry(
        &self,
        draft: DraftId,
        parent: EntryId,
        name: &str,
        mode: u32,
        caller: &Caller,
    ) -> DriveResult<(Node, Body, OpenedMode)> {
        let (info, staged) =
            self.outbox
                .create_file(draft, parent, name, mode, &caller.for_outbox())?;
        Ok((
            Node::Entry(draft, info.id),
            Body::Staged(staged),
            OpenedMode::Cached,
        ))
    }

    fn new_text(&self, target: TextTarget, caller: &Caller) -> Body {
        Body::Text(TextBuffer::new(target, &bytes::Bytes::new(), false, caller))
    }

    /// Refuses what can never be made here, with a sentence.
    async fn check_may_make(self: &Arc<Self>, folder: &Node, name: &str) -> DriveResult<()> {
        if self.config.read_only {
            return Err(why::read_only_mount());
        }
        if name == HIDDEN_FOLDER {
            return Err(DriveError::NotPermitted(format!(
                "{HIDDEN_FOLDER} is the drive's own name in every folder"
            )));
        }
        if name.starts_with(".Trash") && matches!(folder, Node::Root | Node::Top(_)) {
            return Err(why::no_trash());
        }
        if let Node::Model(Home::Made(draft)) | Node::Entry(draft, _) = folder
            && self.outbox.asset_of_draft(*draft).is_some()
        {
            // What a failed import lacked may be copied in.
            self.outbox.take_back_failed(*draft)?;
        }
        match folder {
            Node::Top(Top::RawModels) => self.check_name_is_free(name).await,
            Node::Model(home) => match self.model(*home).ok_or(DriveError::NotFound)? {
                view if view.is_open() => Ok(()),
                _ => Err(why::frozen_asset(&self.home_path(*home))),
            },
            Node::Entry(draft, _) if self.asset_of_draft(*draft).is_some() => {
                Err(why::frozen_asset(&self.home_path(Home::Made(*draft))))
            }
            Node::Entry(..) | Node::Drop(_) | Node::Top(Top::Presets | Top::Jobs) => Ok(()),
            folder => Err(self.no_place(folder)),
        }
    }

    /// Only a confirmed listing says that a name is free; while the service is away a draft can be
    /// made nevertheless, and gives way to nothing that is known.
    async fn check_name_is_free(self: &Arc<Self>, name: &str) -> DriveResult<()> {
        if let Err(error) = self.refreshed(Which::Assets).await {
            tracing::debug!(error = %error, "a draft is made without knowing the listing");
        }
        let is_taken = self
            .outbox
            .find_draft(name)
            .is_some_and(|draft| self.asset_of_draft(draft.id).is_none())
            || self.listed_asset(name).is_some();
        if is_taken {
            Err(DriveError::Exists)
        } else {
            Ok(())
        }
    }

    fn no_place(&self, folder: &Node) -> DriveError {
        match folder {
            Node::Top(Top::RapidModels) | Node::Rapid(_) => why::no_rapid_by_hand(),
            Node::Model(home) => why::frozen_asset(&self.home_path(*home)),
            folder => why::no_place(&self.path_of(folder)),
        }
    }
}

/// The drop folder that a folder is.
pub(in crate::drive) fn drop_of(folder: &Node) -> Option<DropFolder> {
    match folder {
        Node::Drop(folder) => Some(*folder),
        Node::Top(Top::Jobs) => Some(DropFolder::Jobs),
        _ => None,
    }
}

/// A name for something new: the service takes text alone.
fn new_name(name: &OsStr) -> DriveResult<&str> {
    text(name).map_err(|error| match error {
        DriveError::NotFound => {
            DriveError::Invalid("the name is not valid UTF-8, which the service needs".into())
        }
        other => other,
    })
}

/// What a handle that only reads may not do.
pub(in crate::drive) fn check_writes(access: Access) -> DriveResult<()> {
    if access.writes() {
        Ok(())
    } else {
        Err(DriveError::BadHandle)
    }
}
