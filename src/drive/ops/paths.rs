//! Where a thing is shown: its path, for sentences and for `status.json`. Best effort: a thing that
//! is gone keeps a path that says what it was.

use crate::drive::shared::Shared;
use crate::drive::tree::names::HIDDEN_FOLDER;
use crate::drive::tree::node::{
    AssetFolder, ErrorPlace, Home, JobPart, Node, Place, RemoteFolder, Top,
};
use crate::outbox::{DraftId, EntryId};
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
            Node::AssetFolder(asset, folder) => self.asset_folder_path(*asset, *folder),
            Node::Job(asset, name, part) => {
                let folder = self.asset_folder_path(*asset, AssetFolder::Optimize);
                format!("{folder}/{}", job_part_name(name, *part))
            }
            Node::RapidLink(asset, rapid) => {
                let name = self.rapid_name(*rapid).unwrap_or_else(|| rapid.to_string());
                format!(
                    "{}/{name}",
                    self.asset_folder_path(*asset, AssetFolder::RapidLinks)
                )
            }
            Node::Rapid(rapid) => self.rapid_path(*rapid),
            Node::ErrorText(place) => match place {
                ErrorPlace::Model(home) => format!("{}/ERROR.txt", self.home_path(*home)),
                ErrorPlace::Optimize(asset) => {
                    format!(
                        "{}/ERROR.txt",
                        self.asset_folder_path(*asset, AssetFolder::Optimize)
                    )
                }
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

    fn asset_folder_path(&self, asset: AssetId, folder: AssetFolder) -> String {
        format!("{}/{}", self.home_path(self.home_of(asset)), folder.name())
    }

    fn remote_path(&self, folder: RemoteFolder, path: &str) -> String {
        let model = match folder {
            RemoteFolder::AssetFiles(asset)
            | RemoteFolder::AssetAnalysis(asset)
            | RemoteFolder::AssetRenders(asset)
            | RemoteFolder::AssetConverted(asset) => self.home_path(self.home_of(asset)),
            RemoteFolder::RapidFiles(rapid)
            | RemoteFolder::RapidAnalysis(rapid)
            | RemoteFolder::RapidRenders(rapid) => self.rapid_path(rapid),
        };
        let parts = [
            Some(model.as_str()),
            folder.name(),
            Some(path).filter(|path| !path.is_empty()),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("/")
    }

    fn entry_path(&self, draft: DraftId, entry: EntryId) -> String {
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
        parts.push(self.home_path(Home::Made(draft)));
        parts.reverse();
        parts.join("/")
    }
}

/// The name under which a part of a job is shown.
pub(in crate::drive) fn job_part_name(text_name: &str, part: JobPart) -> String {
    let stem = text_name.strip_suffix(".json").unwrap_or(text_name);
    match part {
        JobPart::Text => text_name.to_owned(),
        JobPart::Status => format!("{stem}.status"),
        JobPart::Result => stem.to_owned(),
    }
}

fn top_path(top: Top) -> String {
    match top {
        Top::FactoryPresets => "/presets/factory".to_owned(),
        top => format!("/{}", top.name()),
    }
}
