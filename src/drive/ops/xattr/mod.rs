//! Extended attributes: what is known of a thing beside its bytes, the tags as file managers show
//! them, and in drafts whatever `user.*` a tool wants to keep.

use std::ffi::{OsStr, OsString};
use std::sync::Arc;
use std::time::Duration;

mod tags;

use super::rows::job_folder;
use super::why;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::shared::Shared;
use crate::drive::tree::node::{Home, JobPart, Node};
use crate::drive::types::{FileKind, Ino, XattrMode};
use crate::formats;
use crate::outbox::{DraftId, DraftKind, EntryId};
use crate::wire::paths::{fill, route};

const TAGS: &str = "user.xdg.tags";
const MIME_TYPE: &str = "user.mime_type";
const WHY: &str = "user.assetfs.why";
/// The failure of a name in a folder that stands for nothing is asked for on the folder.
const WHY_OF_NAME: &str = "user.assetfs.why.";
const ID: &str = "user.assetfs.id";
const STATUS: &str = "user.assetfs.status";
const PROGRESS: &str = "user.assetfs.progress";
const URL: &str = "user.assetfs.url";
const MD5: &str = "user.assetfs.md5";
const DESCRIPTION: &str = "user.assetfs.description";
const RPDX_VERSION: &str = "user.assetfs.rpdx_version";

impl Shared {
    /// One extended attribute.
    pub(in crate::drive) async fn get_xattr(
        self: &Arc<Self>,
        ino: Ino,
        name: &OsStr,
    ) -> DriveResult<Vec<u8>> {
        let node = self.node(ino)?;
        let Some(name) = name.to_str() else {
            return Err(DriveError::NoAttribute);
        };
        if let Some(child) = name.strip_prefix(WHY_OF_NAME) {
            return self
                .why_name(&node, child)
                .map(String::into_bytes)
                .ok_or(DriveError::NoAttribute);
        }
        if let Some((draft, entry)) = self.own_xattrs_of(&node)
            && !is_ours(name)
        {
            return Ok(self.outbox.get_xattr(draft, entry, name)?);
        }
        let value = match name {
            WHY => {
                self.learn_reason(&node).await;
                self.why(&node)
            }
            ID => self.id_text(&node),
            STATUS => self.status_of(&node).await,
            PROGRESS => self
                .status_of(&node)
                .await
                .and_then(|status| progress_in(&status)),
            URL => self.url_text(&node),
            MD5 => self.md5_text(&node).await,
            TAGS => self.tags_of(&node).map(|tags| tags::join_tags(&tags)),
            MIME_TYPE => self.mime_type(&node).map(str::to_owned),
            DESCRIPTION => self.description_of(&node),
            RPDX_VERSION => self.preset_row(&node).and_then(|row| row.rpdx_version),
            _ => None,
        };
        value.map(String::into_bytes).ok_or(DriveError::NoAttribute)
    }

    /// The names of the extended attributes that have a value.
    pub(in crate::drive) async fn list_xattr(
        self: &Arc<Self>,
        ino: Ino,
    ) -> DriveResult<Vec<OsString>> {
        let node = self.node(ino)?;
        let mut names: Vec<String> = Vec::new();
        if let Some((draft, entry)) = self.own_xattrs_of(&node) {
            names.extend(self.outbox.list_xattrs(draft, entry)?);
        }
        // Only what is at hand: listing attributes must not ask the service.
        let at_hand = [
            (ID, self.id_text(&node).is_some()),
            (STATUS, self.has_status(&node)),
            (URL, self.url_text(&node).is_some()),
            (
                TAGS,
                self.tags_of(&node).is_some_and(|tags| !tags.is_empty()),
            ),
            (MIME_TYPE, self.mime_type(&node).is_some()),
            (DESCRIPTION, self.description_of(&node).is_some()),
            (
                RPDX_VERSION,
                self.preset_row(&node)
                    .is_some_and(|row| row.rpdx_version.is_some()),
            ),
        ];
        names.extend(
            at_hand
                .into_iter()
                .filter(|(_, is_there)| *is_there)
                .map(|(name, _)| name.to_owned()),
        );
        Ok(names.into_iter().map(OsString::from).collect())
    }

    /// Sets an extended attribute.
    pub(in crate::drive) async fn set_xattr(
        self: &Arc<Self>,
        ino: Ino,
        name: &OsStr,
        value: &[u8],
        mode: XattrMode,
    ) -> DriveResult<()> {
        let node = self.node(ino)?;
        let name = name
            .to_str()
            .filter(|name| name.starts_with("user."))
            .ok_or_else(unsupported)?;
        if self.config.read_only {
            return Err(why::read_only_mount());
        }
        if let Some((draft, entry)) = self.own_xattrs_of(&node)
            && !is_ours(name)
        {
            let (create, replace) = (mode == XattrMode::Create, mode == XattrMode::Replace);
            return Ok(self
                .outbox
                .set_xattr(draft, entry, name, value, create, replace)?);
        }
        match name {
            TAGS => self.set_tags(&node, value).await,
            DESCRIPTION => self.describe(&node, value).await,
            _ => Err(unsupported()),
        }
    }

    /// Removes an extended attribute.
    pub(in crate::drive) async fn remove_xattr(
        self: &Arc<Self>,
        ino: Ino,
        name: &OsStr,
    ) -> DriveResult<()> {
        let node = self.node(ino)?;
        let name = name.to_str().ok_or(DriveError::NoAttribute)?;
        if self.config.read_only {
            return Err(why::read_only_mount());
        }
        if let Some((draft, entry)) = self.own_xattrs_of(&node)
            && !is_ours(name)
        {
            return Ok(self.outbox.remove_xattr(draft, entry, name)?);
        }
        match name {
            TAGS if self.tags_of(&node).is_some() => self.set_tags(&node, b"").await,
            _ => Err(DriveError::NoAttribute),
        }
    }

    /// The entry of a draft whose attributes are kept as they are set.
    fn own_xattrs_of(&self, node: &Node) -> Option<(DraftId, EntryId)> {
        let (draft, entry) = match node {
            Node::Entry(draft, entry) => (*draft, *entry),
            Node::Model(Home::Made(draft)) => (*draft, EntryId::ROOT),
            _ => return None,
        };
        self.asset_of_draft(draft)
            .is_none()
            .then_some((draft, entry))
    }

    fn id_text(&self, node: &Node) -> Option<String> {
        match node {
            Node::Model(home) => self.asset_of(*home).map(|asset| asset.to_string()),
            Node::Rapid(rapid) => Some(rapid.to_string()),
            Node::Preset(preset, _) | Node::FactoryPreset(preset, _) => Some(preset.to_string()),
            Node::Embed(embed) => Some(embed.to_string()),
            Node::Job(folder, name, _) => {
                let job = self.outbox.job(&job_folder(*folder), name)?;
                let rapid = job.rapid.map(|rapid| rapid.to_string());
                rapid.or_else(|| Some(job.embed?.to_string()))
            }
            _ => None,
        }
    }

    fn has_status(&self, node: &Node) -> bool {
        matches!(
            node,
            Node::Model(_) | Node::Rapid(_) | Node::Job(_, _, JobPart::Text)
        ) || matches!(node, Node::Entry(draft, _) if self.is_loose(*draft))
    }

    /// True for the draft of a loose file, and for what it became.
    fn is_loose(&self, draft: DraftId) -> bool {
        let kind = self.outbox.draft(draft).map(|draft| draft.kind);
        let sent = || {
            let records = self.outbox.sent_records();
            records
                .iter()
                .find(|record| record.draft == draft)
                .map(|record| record.kind)
        };
        kind.or_else(sent) == Some(DraftKind::LooseFile)
    }

    async fn status_of(self: &Arc<Self>, node: &Node) -> Option<String> {
        match node {
            Node::Model(home) => self.model_status(*home, Duration::from_secs(1)).await.ok(),
            Node::Entry(draft, _) if self.is_loose(*draft) => self
                .model_status(Home::Made(*draft), Duration::from_secs(1))
                .await
                .ok(),
            Node::Rapid(rapid) => self
                .known_rapid(*rapid)
                .await
                .ok()
                .map(|row| self.rapid_status(&row)),
            Node::Job(folder, name, JobPart::Text | JobPart::Status) => self
                .outbox
                .job(&job_folder(*folder), name)
                .map(|job| job.status_text),
            _ => None,
        }
    }

    /// The MD5 of a remote file's content, where the storage's ETag is one: files put in one piece
    /// and not encrypted with a key of the service's have it.
    async fn md5_text(self: &Arc<Self>, node: &Node) -> Option<String> {
        let Node::RemoteFile(folder, path, _) = node else {
            return None;
        };
        let etag = self.content_of(*folder, path).await.ok()?.etag?;
        let digest = etag.trim_matches('"');
        let is_md5 = digest.len() == 32 && digest.bytes().all(|it| it.is_ascii_hexdigit());
        is_md5.then(|| digest.to_ascii_lowercase())
    }

    /// The address of the record, which needs the token; never a signed one.
    fn url_text(&self, node: &Node) -> Option<String> {
        let path = match node {
            Node::Embed(embed) => return self.known().embeds.row(embed.0)?.url.clone(),
            Node::Model(home) => fill(route::ASSET, &[&self.asset_of(*home)?]),
            Node::Rapid(rapid) => fill(route::RAPID_MODEL, &[rapid]),
            Node::Preset(preset, _) => fill(route::PRESET, &[preset]),
            _ => return None,
        };
        Some(format!(
            "{}{path}",
            self.client.base_url().as_str().trim_end_matches('/')
        ))
    }

    fn preset_row(&self, node: &Node) -> Option<crate::drive::tree::known::KnownPreset> {
        match node {
            Node::Preset(preset, _) => self.known().presets.row(preset.0).cloned(),
            _ => None,
        }
    }

    fn description_of(&self, node: &Node) -> Option<String> {
        match node {
            Node::PresetFile(name) => {
                let overlay = self.preset_overlay();
                let file = overlay.files.into_iter().find(|it| *it.name == **name);
                file.and_then(|file| file.description)
            }
            node => self.preset_row(node).and_then(|row| row.description),
        }
    }

    /// The service takes a description with a new preset alone.
    async fn describe(self: &Arc<Self>, node: &Node, value: &[u8]) -> DriveResult<()> {
        let text = std::str::from_utf8(value)
            .map_err(|_| DriveError::Invalid("a description is UTF-8 text".into()))?
            .trim_end_matches('\0')
            .to_owned();
        match node {
            Node::PresetFile(name) => {
                let (outbox, name) = (self.outbox.clone(), name.to_string());
                self.detached(async move { Ok(outbox.describe_preset(&name, &text).await?) })
                    .await
            }
            Node::Preset(..) => Err(DriveError::Unsupported(
                "the service takes the description of a preset only when it is made".into(),
            )),
            _ => Err(unsupported()),
        }
    }

    fn mime_type(&self, node: &Node) -> Option<&'static str> {
        if node.kind().is_some_and(|kind| kind != FileKind::File) {
            return None;
        }
        media_type_of(&self.path_of(node))
    }
}

/// Names that the drive answers itself, in drafts too.
fn is_ours(name: &str) -> bool {
    name.starts_with("user.assetfs.")
}

fn unsupported() -> DriveError {
    DriveError::Unsupported("this extended attribute cannot be set here".into())
}

fn progress_in(status: &str) -> Option<String> {
    let percent = status
        .split_whitespace()
        .find_map(|word| word.strip_suffix('%'))?;
    percent
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| percent.to_owned())
}

fn media_type_of(path: &str) -> Option<&'static str> {
    formats::media_type(path).or(match formats::extension(path).as_str() {
        // Pages of embeds, and the drive's own reports.
        "html" => Some("text/html"),
        "status" => Some("text/plain"),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_the_number_in_the_status() {
        assert_eq!(progress_in("uploading 43%").as_deref(), Some("43"));
        assert_eq!(progress_in("complete"), None);
    }
}
