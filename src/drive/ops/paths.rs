//! Where a thing is shown: its path, for sentences and for `status.json`. Best effort: a thing that
//! is gone keeps a path that says what it was.

use crate::drive::shared::Shared;
use crate::drive::tree::names::HIDDEN_FOLDER;
use crate::drive::tree::node::{
    DropFolder, ErrorPlace, Home, JobPart, Node, Place, RemoteFolder, Subject, Top,
};
use crate::outbox::{DraftId, DraftInfo, DraftKind, EntryId, JobFolder, OwnerFolder};
use crate::wire::{AssetId, RapidId};

impl Shared {
    /// The path from the top of the drive, beginning with `/`.
    pub(in crate::drive) fn path_of(&self, node: &Node) -> String {
        match node {
            Node::Root => "/".to_owned(),
            Node::Top(top) => top_path(*top),
            Node::Hidden(place) => self.hidden_path(*place),
            Node::HiddenFile(place, file) => {
                format!("{}/{}", self.hidden_path(*place), file.name())
            }
            Node::ById(family) => format!("{}/by-id", self.hidden_path(Place::Top(family.top()))),
            Node::ByIdLink(family, id) => {
                format!("{}/by-id/{id}", self.hidden_path(Place::Top(family.top())))
            }
            Node::SourceLink(rapid) => format!("{}/source", self.hidden_path(Place::Rapid(*rapid))),
            Node::Model(home) => self.home_path(*home),
            Node::Entry(draft, entry) => self.entry_path(*draft, *entry),
            Node::RemoteFolder(folder) => self.remote_path(*folder, ""),
            Node::RemoteSubfolder(folder, path) | Node::RemoteFile(folder, path, _) => {
                self.remote_path(*folder, path)
            }
            Node::Search(family) => {
                format!("{}/search", self.hidden_path(Place::Top(family.top())))
            }
            Node::Found(family, query) => format!(
                "{}/search/{query}",
                self.hidden_path(Place::Top(family.top()))
            ),
            Node::FoundLink(family, query, id) => format!(
                "{}/search/{query}/{id}",
                self.hidden_path(Place::Top(family.top()))
            ),
            Node::Bundles(bundle) => format!(
                "{}/{}",
                self.hidden_path(Place::Top(Top::Presets)),
                bundle.name()
            ),
            Node::BundleFile(bundle, preset, _) => format!(
                "{}/{}/{preset}",
                self.hidden_path(Place::Top(Top::Presets)),
                bundle.name()
            ),
            Node::Drop(folder) => self.drop_path(*folder),
            Node::Job(folder, name, part) => format!(
                "{}/{}",
                self.drop_path(*folder),
                job_part_name(*folder, name, *part)
            ),
            Node::RapidLinks(asset) => self.rapid_links_path(*asset),
            Node::RapidLink(asset, rapid) => {
                let name = self.rapid_name(*rapid).unwrap_or_else(|| rapid.to_string());
                format!("{}/{name}", self.rapid_links_path(*asset))
            }
            Node::JobLink(rapid) => {
                let name = self.rapid_name(*rapid).unwrap_or_else(|| rapid.to_string());
                format!("/jobs/{name}")
            }
            Node::Rapid(rapid) => self.rapid_path(*rapid),
            Node::ErrorText(place) => match place {
                ErrorPlace::Model(home) => format!("{}/ERROR.txt", self.home_path(*home)),
                ErrorPlace::Drop(folder) => format!("{}/ERROR.txt", self.drop_path(*folder)),
                ErrorPlace::RawModels => "/rawmodels/ERROR.txt".to_owned(),
                ErrorPlace::Rapid(rapid) => format!("{}/ERROR.txt", self.rapid_path(*rapid)),
            },
            Node::Preset(preset, _) => {
                let name = self.known().presets.name(preset.0).map(str::to_owned);
                format!("/presets/{}", name.unwrap_or_else(|| preset.to_string()))
            }
            Node::PresetFile(name) => format!("/presets/{name}"),
            Node::FactoryPreset(preset, _) => {
                let name = self.known().factory.name(preset.0).map(str::to_owned);
                format!(
                    "/presets/factory/{}",
                    name.unwrap_or_else(|| preset.to_string())
                )
            }
            Node::Account(file) => format!("/account/{}", file.name()),
            Node::Token(token) => {
                let name = self.known().tokens.name(token.0).map(str::to_owned);
                format!(
                    "/account/tokens/{}",
                    name.unwrap_or_else(|| token.to_string())
                )
            }
            Node::Webhook(webhook) => {
                let name = self.known().webhooks.name(webhook.0).map(str::to_owned);
                let name = name.unwrap_or_else(|| webhook.to_string());
                format!("/account/webhooks/{name}")
            }
            Node::Embed(embed) => {
                let name = self.known().embeds.name(embed.0).map(str::to_owned);
                format!("/embeds/{}", name.unwrap_or_else(|| embed.to_string()))
            }
            Node::EmbedRecord(embed) => {
                format!("{}/{embed}", self.hidden_path(Place::Top(Top::Embeds)))
            }
        }
    }

    fn hidden_path(&self, place: Place) -> String {
        let folder = match place {
            Place::Root => String::new(),
            Place::Top(top) => top_path(top),
            Place::Model(home) => self.home_path(home),
            Place::Rapid(rapid) => self.rapid_path(rapid),
        };
        format!("{folder}/{HIDDEN_FOLDER}")
    }

    /// The path of a source model's folder.
    pub(in crate::drive) fn home_path(&self, home: Home) -> String {
        format!(
            "/rawmodels/{}",
            self.model_name(home).unwrap_or_else(|| home.to_string())
        )
    }

    fn rapid_path(&self, rapid: RapidId) -> String {
        format!(
            "/rapidmodels/{}",
            self.rapid_name(rapid).unwrap_or_else(|| rapid.to_string())
        )
    }

    fn rapid_links_path(&self, asset: AssetId) -> String {
        format!("{}/rapidmodels", self.home_path(self.home_of(asset)))
    }

    fn subject_path(&self, subject: Subject) -> String {
        match subject {
            Subject::Asset(asset) => self.home_path(self.home_of(asset)),
            Subject::Rapid(rapid) => self.rapid_path(rapid),
        }
    }

    fn drop_path(&self, folder: DropFolder) -> String {
        let model = folder.subject().map(|subject| self.subject_path(subject));
        format!("{}/{}", model.unwrap_or_default(), folder.name())
    }

    /// The path of a drop folder of the outbox.
    pub(in crate::drive) fn job_folder_path(&self, folder: &JobFolder) -> String {
        match folder {
            JobFolder::Optimize(OwnerFolder::Draft(draft)) => {
                format!("{}/optimize", self.home_path(Home::Made(*draft)))
            }
            JobFolder::Embeds(OwnerFolder::Draft(draft)) => {
                format!("{}/embeds", self.home_path(Home::Made(*draft)))
            }
            folder => match drop_folder(folder) {
                Some(folder) => self.drop_path(folder),
                None => String::new(),
            },
        }
    }

    fn remote_path(&self, folder: RemoteFolder, path: &str) -> String {
        let model = self.subject_path(folder.subject());
        let parts = [
            Some(model.as_str()),
            folder.name(),
            Some(path).filter(|path| !path.is_empty()),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("/")
    }

    fn entry_path(&self, draft: DraftId, entry: EntryId) -> String {
        let home = self.home_path(Home::Made(draft));
        // A file that stands directly in `rawmodels/` has the draft's path.
        let is_loose = |info: DraftInfo| info.kind == DraftKind::LooseFile;
        if self.asset_of_draft(draft).is_none() && self.outbox.draft(draft).is_some_and(is_loose) {
            return home;
        }
        let mut parts = Vec::new();
        let mut at = entry;
        while at != EntryId::ROOT {
            let Some(info) = self.outbox.entry(draft, at) else {
                break;
            };
            parts.push(info.name);
            at = info.parent;
        }
        if parts.is_empty()
            && let Some(sent) = self.sent_entry(draft, entry)
        {
            parts.push(sent.path.clone());
        }
        parts.push(home);
        parts.reverse();
        parts.join("/")
    }
}

/// The name under which a part of a job is shown.
pub(in crate::drive) fn job_part_name(
    folder: DropFolder,
    text_name: &str,
    part: JobPart,
) -> String {
    let ending = [".json", ".rpdx"].into_iter();
    let mut stems = ending.filter_map(|ending| text_name.strip_suffix(ending));
    let stem = stems.next().unwrap_or(text_name);
    match part {
        JobPart::Text => text_name.to_owned(),
        JobPart::Status => format!("{stem}.status"),
        JobPart::Result => match folder {
            DropFolder::AssetEmbeds(_) | DropFolder::RapidEmbeds(_) => format!("{stem}.html"),
            DropFolder::Optimize(_) | DropFolder::Jobs => stem.to_owned(),
        },
    }
}

/// A drop folder of the outbox as one of the tree; a draft has none there.
pub(in crate::drive) fn drop_folder(folder: &JobFolder) -> Option<DropFolder> {
    Some(match folder {
        JobFolder::Optimize(OwnerFolder::Asset(asset)) => DropFolder::Optimize(*asset),
        JobFolder::Embeds(OwnerFolder::Asset(asset)) => DropFolder::AssetEmbeds(*asset),
        JobFolder::Optimize(OwnerFolder::Draft(_)) | JobFolder::Embeds(OwnerFolder::Draft(_)) => {
            return None;
        }
        JobFolder::RapidEmbeds(rapid) => DropFolder::RapidEmbeds(*rapid),
        JobFolder::Multi => DropFolder::Jobs,
    })
}

fn top_path(top: Top) -> String {
    match top {
        Top::FactoryPresets => "/presets/factory".to_owned(),
        Top::Tokens | Top::Webhooks => format!("/account/{}", top.name()),
        top => format!("/{}", top.name()),
    }
}
