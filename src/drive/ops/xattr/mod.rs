//! Extended attributes: properties of models and files, tags as file managers show them, and in drafts any
//! `user.*` attribute.

use std::ffi::{OsStr, OsString};
use std::sync::Arc;

mod tags;
mod thumbnail;

use crate::drive::catalog::{content_of, learn_reason};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::mount::Mount;
use crate::drive::ops::why::{warning, why, why_name};
pub(in crate::drive::ops) use crate::drive::ops::xattr::tags::change_tags;
use crate::drive::ops::xattr::tags::{set_tags, tags_of};
use crate::drive::places::{DraftEntry, Node, Removal, refusals};
use crate::drive::posix::{FileKind, Ino, XattrMode};
use crate::drive::tree::Tree;
use crate::drive::values::node::Model;
use crate::outbox::{DraftId, EntryId, ItemStatus};
use assetfs_formats as formats;

const TAGS: &str = "user.xdg.tags";
const MIME_TYPE: &str = "user.mime_type";
const WHY: &str = "user.assetfs.why";
/// The failure of a name that does not exist is read from its folder.
const WHY_OF_NAME: &str = "user.assetfs.why.";
const WARNING: &str = "user.assetfs.warning";
const ID: &str = "user.assetfs.id";
const STATUS: &str = "user.assetfs.status";
/// The status as one word.
const STATE: &str = "user.assetfs.state";
const PROGRESS: &str = "user.assetfs.progress";
const URL: &str = "user.assetfs.url";
const SIMILARITY: &str = "user.assetfs.similarity";
const MD5: &str = "user.assetfs.md5";
/// The checksum of a file that was copied in here, known without a request.
const XXH3: &str = "user.assetfs.xxh3";
/// The checksum over the files of a model, if a drive has noted it.
const SOURCE_HASH: &str = "user.assetfs.source_hash";
const DESCRIPTION: &str = "user.assetfs.description";
const RPDX_VERSION: &str = "user.assetfs.rpdx_version";

pub async fn get_xattr(mount: &Arc<Mount>, ino: Ino, name: &OsStr) -> DriveResult<Vec<u8>> {
    let node = mount.node(ino)?;
    let Some(name) = name.to_str() else {
        return Err(DriveError::NoAttribute);
    };
    if let Some(child) = name.strip_prefix(WHY_OF_NAME) {
        return why_name(mount, &node, child)
            .map(String::into_bytes)
            .ok_or(DriveError::NoAttribute);
    }
    if let Some(offset) = thumbnail::offset_of(name) {
        return thumbnail::part(mount, &node, offset).await;
    }
    if let Some((draft, entry)) = own_xattrs_of(mount, &node)
        && !is_ours(name)
    {
        return Ok(mount.outbox().entries().get_xattr(draft, entry, name)?);
    }
    let value = match name {
        WHY => {
            if let Some(model) = node.shown_model(mount) {
                learn_reason(mount.catalog(), model).await;
            }
            match why(mount, &node) {
                Some(sentence) => Some(sentence),
                None => {
                    let status = status(mount, &node).await;
                    let waiting = status.filter(ItemStatus::has_obstacle);
                    waiting.map(|status| status.to_string())
                }
            }
        }
        WARNING => warning(mount, &node),
        ID => node.id(mount),
        STATUS => status(mount, &node).await.map(|it| it.to_string()),
        STATE => status(mount, &node).await.map(|it| it.word().to_string()),
        PROGRESS => status(mount, &node)
            .await
            .and_then(|it| Some(it.percent()?.to_string())),
        URL => node.url(mount),
        SIMILARITY => {
            let score = node.similarity(mount).await.ok().flatten();
            score.map(|score| score.to_string())
        }
        MD5 => md5_text(mount, &node).await,
        XXH3 => own_checksum(mount, &node),
        SOURCE_HASH => source_hash(mount, &node),
        TAGS => tags_of(mount, &node).map(|tags| tags::join_tags(&tags)),
        MIME_TYPE => mime_type(mount, &node).map(str::to_owned),
        DESCRIPTION => node.description(mount),
        RPDX_VERSION => node.rpdx_version(mount),
        _ => None,
    };
    value.map(String::into_bytes).ok_or(DriveError::NoAttribute)
}

/// The names of the attributes that have a value.
pub async fn list_xattr(mount: &Arc<Mount>, ino: Ino) -> DriveResult<Vec<OsString>> {
    let node = mount.node(ino)?;
    // Linux reads no attribute of a link whose name begins with "user.", so `rsync -X` would fail on each that is listed.
    if node.kind() == Some(FileKind::Link) {
        return Ok(Vec::new());
    }
    let mut names: Vec<String> = Vec::new();
    if let Some((draft, entry)) = own_xattrs_of(mount, &node) {
        names.extend(mount.outbox().entries().list_xattrs(draft, entry)?);
    }
    // Only known data: listing attributes must not send requests.
    let at_hand = [
        (ID, node.id(mount).is_some()),
        (STATUS, node.has_status(mount)),
        (STATE, node.has_status(mount)),
        (URL, node.url(mount).is_some()),
        (
            TAGS,
            tags_of(mount, &node).is_some_and(|tags| !tags.is_empty()),
        ),
        (MIME_TYPE, mime_type(mount, &node).is_some()),
        (DESCRIPTION, node.description(mount).is_some()),
        (RPDX_VERSION, node.rpdx_version(mount).is_some()),
    ];
    names.extend(
        at_hand
            .into_iter()
            .filter(|(_, is_there)| *is_there)
            .map(|(name, _)| name.to_owned()),
    );
    Ok(names.into_iter().map(OsString::from).collect())
}

/// The checksum of a file that was copied in here, as soon as it was closed.
fn own_checksum(mount: &Mount, node: &Node) -> Option<String> {
    let (draft, entry) = node.draft_entry()?;
    let staged = mount.outbox().entries().flushed_len_and_hash(draft, entry);
    let staged = staged.map(|(_, hash)| hash);
    staged.or_else(|| DraftEntry::new(draft, entry).sent(mount)?.hash)
}

fn source_hash(mount: &Mount, node: &Node) -> Option<String> {
    let Model::Raw(home) = node.model_folder()? else {
        return None;
    };
    let asset = mount.catalog().asset_of(home)?;
    let sent = mount.outbox().uploads().sent_record(asset);
    let sent = sent.and_then(|record| record.source_hash());
    sent.map(|hash| hash.to_string())
        .or_else(|| mount.catalog().asset(asset)?.notes.source)
}

pub async fn set_xattr(
    mount: &Arc<Mount>,
    ino: Ino,
    name: &OsStr,
    value: &[u8],
    mode: XattrMode,
) -> DriveResult<()> {
    let node = mount.node(ino)?;
    let name = name
        .to_str()
        .filter(|name| name.starts_with("user."))
        .ok_or_else(refusals::unsupported_xattr)?;
    if mount.config().read_only {
        return Err(refusals::read_only_mount());
    }
    let own = own_xattrs_of(mount, &node);
    if name == TAGS && own.is_some_and(|(_, entry)| entry == EntryId::ROOT) {
        return Err(refusals::tags_of_a_draft());
    }
    if let Some((draft, entry)) = own
        && !is_ours(name)
    {
        let (create, replace) = (mode == XattrMode::Create, mode == XattrMode::Replace);
        return Ok(mount
            .outbox()
            .entries()
            .set_xattr(draft, entry, name, value, create, replace)?);
    }
    match name {
        TAGS => set_tags(mount, &node, value).await,
        DESCRIPTION => describe(mount, &node, value).await,
        _ => Err(refusals::unsupported_xattr()),
    }
}

pub async fn remove_xattr(mount: &Arc<Mount>, ino: Ino, name: &OsStr) -> DriveResult<()> {
    let node = mount.node(ino)?;
    let name = name.to_str().ok_or(DriveError::NoAttribute)?;
    if mount.config().read_only {
        return Err(refusals::read_only_mount());
    }
    if let Some((draft, entry)) = own_xattrs_of(mount, &node)
        && !is_ours(name)
    {
        return Ok(mount.outbox().entries().remove_xattr(draft, entry, name)?);
    }
    match name {
        TAGS if tags_of(mount, &node).is_some() => set_tags(mount, &node, b"").await,
        _ => Err(DriveError::NoAttribute),
    }
}

/// The entry of a draft, which stores any attribute.
fn own_xattrs_of(tree: &Tree, node: &Node) -> Option<(DraftId, EntryId)> {
    node.draft_entry()
        .filter(|(draft, _)| tree.catalog().asset_of_draft(*draft).is_none())
}

/// The MD5 of a remote file, if the ETag is one: true for files that were uploaded in one part and not
/// encrypted with a key of the service.
async fn md5_text(tree: &Arc<Tree>, node: &Node) -> Option<String> {
    let (folder, path) = node.service_file()?;
    let etag = content_of(tree.catalog(), folder, &path).await.ok()?.etag?;
    let digest = etag.trim_matches('"');
    let is_md5 = digest.len() == 32 && digest.bytes().all(|it| it.is_ascii_hexdigit());
    is_md5.then(|| digest.to_ascii_lowercase())
}

/// The service accepts a description only with a new preset.
async fn describe(tree: &Arc<Tree>, node: &Node, value: &[u8]) -> DriveResult<()> {
    let text = std::str::from_utf8(value)
        .map_err(|_| DriveError::Invalid("a description is UTF-8 text".into()))?
        .trim_end_matches('\0')
        .to_owned();
    if let Some(name) = node.held_preset() {
        let outbox = tree.outbox().clone();
        return tree
            .detached(async move { Ok(outbox.presets().describe(&name, &text).await?) })
            .await;
    }
    match node.removal() {
        Removal::Preset => Err(DriveError::Unsupported(
            "the service accepts the description of a preset only when the preset is created"
                .into(),
        )),
        _ => Err(refusals::unsupported_xattr()),
    }
}

fn mime_type(tree: &Tree, node: &Node) -> Option<&'static str> {
    if node.kind().is_some_and(|kind| kind != FileKind::File) {
        return None;
    }
    media_type_of(&node.path(tree))
}

/// Attributes that the drive computes, also in drafts.
fn is_ours(name: &str) -> bool {
    name.starts_with("user.assetfs.")
}

async fn status(mount: &Arc<Mount>, node: &Node) -> Option<ItemStatus> {
    node.status(mount).await.ok().flatten()
}

fn media_type_of(path: &str) -> Option<&'static str> {
    formats::media_type(path).or(match formats::extension(path).as_str() {
        // Pages of embeds, and reports of the drive.
        "html" => Some("text/html"),
        "status" => Some("text/plain"),
        _ => None,
    })
}
