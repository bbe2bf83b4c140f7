//! The text of files that the drive writes itself: status lines, records, presets, job texts,
//! `ERROR.txt`. Each is made when it is asked for, from what is known at that moment.

mod errors;
mod hidden;
mod metrics;
mod page;

use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;

use super::rows::job_folder;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::fresh::blobs::Blob;
use crate::drive::shared::Shared;
use crate::drive::tree::known::{KnownPreset, system_time};
use crate::drive::tree::node::{AccountFile, DropFolder, JobPart, Node, RemoteFolder};
use crate::outbox::PresetOverlay;
use page::embed_page;

/// A text and when it came to be.
#[derive(Debug, Clone)]
pub(in crate::drive) struct Text {
    pub(in crate::drive) bytes: Bytes,
    pub(in crate::drive) modified: SystemTime,
}

impl Text {
    fn new(text: impl Into<String>, modified: SystemTime) -> Text {
        Text {
            bytes: Bytes::from(text.into()),
            modified,
        }
    }

    fn line(text: &str, modified: SystemTime) -> Text {
        Text::new(format!("{text}\n"), modified)
    }
}

/// The text that is held here under a name.
fn held_text(overlay: &PresetOverlay, name: Option<&str>) -> Option<Text> {
    let name = name?;
    let file = overlay.files.iter().find(|file| file.name == name)?;
    Some(Text {
        bytes: file.text.clone().into(),
        modified: file.mtime,
    })
}

fn preset_text(row: &KnownPreset) -> Text {
    Text::new(row.text.as_str(), system_time(row.updated))
}

impl Shared {
    /// The text of a file that the drive writes itself.
    pub(in crate::drive) async fn text_of(self: &Arc<Self>, node: &Node) -> DriveResult<Text> {
        match node {
            Node::HiddenFile(place, file) => self.hidden_text(*place, *file).await,
            Node::Job(folder, name, part) => self.job_text(*folder, name, *part),
            Node::ErrorText(place) => {
                let text = self.error_text(*place).ok_or(DriveError::NotFound)?;
                Ok(Text::new(text, self.opened))
            }
            Node::Preset(preset, _) => {
                let overlay = self.preset_overlay();
                let known = self.known();
                let row = known.presets.row(preset.0).ok_or(DriveError::NotFound)?;
                // The kernel may still know the preset whose file has another text by now.
                let name = known.presets.name(preset.0);
                Ok(held_text(&overlay, name).unwrap_or_else(|| preset_text(row)))
            }
            Node::PresetFile(name) => {
                let overlay = self.preset_overlay();
                let known = self.known();
                // Somebody may have it open still while the service has the text already.
                let saved = || known.presets.find(name).map(preset_text);
                let text = held_text(&overlay, Some(name)).or_else(saved);
                text.ok_or(DriveError::NotFound)
            }
            Node::FactoryPreset(preset, _) => {
                let known = self.known();
                let row = known.factory.row(preset.0).ok_or(DriveError::NotFound)?;
                Ok(Text::new(row.text.as_str(), system_time(row.updated)))
            }
            Node::Account(file) => {
                let value = self.account_value(*file).await?;
                Ok(Text::line(&value.to_string(), self.opened))
            }
            Node::Token(token) => {
                let known = self.known();
                let row = known.tokens.row(token.0).ok_or(DriveError::NotFound)?;
                Ok(Text::new(row.text.as_str(), system_time(row.created)))
            }
            Node::Webhook(webhook) => {
                let known = self.known();
                let row = known.webhooks.row(webhook.0).ok_or(DriveError::NotFound)?;
                Ok(Text::new(row.text.as_str(), system_time(row.created)))
            }
            Node::Embed(embed) => {
                let row = self.known().embeds.row(embed.0).cloned();
                let row = row.ok_or(DriveError::NotFound)?;
                Ok(Text::new(embed_page(&row), system_time(row.created)))
            }
            Node::EmbedRecord(embed) => self.embed_record(*embed).await,
            Node::BundleFile(bundle, preset, text) => {
                let blob = Blob::Preset(*bundle, *preset, *text);
                Ok(Text {
                    bytes: self.blob(&blob).await?,
                    modified: self.opened,
                })
            }
            Node::RemoteFile(RemoteFolder::RapidQc(rapid), path, _) => Ok(Text {
                bytes: self.blob(&Shared::report_at(*rapid, path)).await?,
                modified: self.opened,
            }),
            _ => Err(DriveError::IsAFolder),
        }
    }

    fn job_text(&self, folder: DropFolder, name: &str, part: JobPart) -> DriveResult<Text> {
        let job = self
            .outbox
            .job(&job_folder(folder), name)
            .ok_or(DriveError::NotFound)?;
        match part {
            JobPart::Text => Ok(Text {
                bytes: job.text.into(),
                modified: job.mtime,
            }),
            JobPart::Status => Ok(Text::line(&job.status_text, job.mtime)),
            JobPart::Result => Err(DriveError::NotFound),
        }
    }

    /// What `account/` is known to say about room, for whoever must not wait.
    pub(in crate::drive) fn storage_left_at_hand(self: &Arc<Self>) -> Option<u64> {
        self.account_value_at_hand(AccountFile::StorageLeft)
    }
}
