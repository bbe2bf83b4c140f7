//! The account by the API alone, as another program uses it, and what the service holds.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::time::{Duration, Instant};

use assetfs::client::{Client, ClientError, Priority};
use assetfs::wire::{
    AssetId, BaseAsset, CreatePreset, OptimizationStatus, OptimizeRequest, OptimizeSettings,
    OptimizerConfig, RapidModel, StartUpload, Tag, UpdatePreset, UploadStatus,
};
use futures_util::TryStreamExt as _;
use rustix::io::Errno;
use tokio::runtime::Runtime;

use super::Front;
use super::drive::PATIENCE;
use super::picture::{in_order, shown};
use crate::content::Content;
use crate::files::Node;
use crate::history::Op;
use crate::model::{Finished, Model, Outcome};
use crate::world::{POINTS, World, client, runtime};

const NOW: Priority = Priority::Interactive;

/// A client of the API.
pub struct ApiFront {
    runtime: Runtime,
    client: Client,
}

type Answer<T> = Result<T, ClientError>;

impl ApiFront {
    pub fn new(world: &World) -> ApiFront {
        ApiFront {
            runtime: runtime(),
            client: client(world.account()),
        }
    }

    /// The present model of a name.
    async fn asset(&self, name: &str) -> Answer<Option<AssetId>> {
        let all = self.client.assets().all(None, NOW).await?;
        let of_name = all.into_iter().filter(|asset| asset.name == name);
        Ok(of_name.map(|asset| asset.id).max_by_key(|id| id.0))
    }

    async fn complete(&self, name: &str) -> Answer<Result<AssetId, Errno>> {
        let end = Instant::now() + PATIENCE;
        let Some(id) = self.asset(name).await? else {
            return Ok(Err(Errno::NOENT));
        };
        while self.client.assets().get(id, NOW).await?.upload_status != UploadStatus::Complete {
            if Instant::now() > end {
                return Ok(Err(Errno::TIMEDOUT));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(Ok(id))
    }

    /// Whether a job of a model that is deleted is paid is a matter of luck.
    async fn until_no_job_runs(&self) -> Answer<Outcome> {
        let end = Instant::now() + PATIENCE;
        let has_ended = |rapid: &RapidModel| rapid.optimization_status.is_final();
        while !self
            .client
            .optimizations()
            .running(NOW)
            .await?
            .iter()
            .all(has_ended)
        {
            if Instant::now() > end {
                return Ok(Err(Errno::TIMEDOUT));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(Ok(()))
    }

    async fn call(&self, op: &Op) -> Answer<Outcome> {
        match op {
            Op::Upload(name, files) => self.upload(name, files).await?,
            Op::Order(model, text) => {
                let id = match self.complete(model).await? {
                    Ok(id) => id,
                    Err(error) => return Ok(Err(error)),
                };
                let request = OptimizeRequest {
                    settings: OptimizeSettings::Config(config(text)),
                    tags: Vec::new(),
                };
                self.client.optimizations().start(id, &request).await?;
            }
            Op::Tag(model, tags) => {
                let id = match self.complete(model).await? {
                    Ok(id) => id,
                    Err(error) => return Ok(Err(error)),
                };
                let asset = self.client.assets().get(id, NOW).await?;
                let is_old = |tag: &&Tag| is_of_people(tag) && !tags.contains(&tag.name);
                for tag in asset.tags.iter().filter(is_old) {
                    self.client.assets().remove_tag(id, tag.id).await?;
                }
                let tags: Vec<String> = tags.iter().cloned().collect();
                if !tags.is_empty() {
                    self.client.assets().add_tags(id, &tags, NOW).await?;
                }
            }
            Op::RemoveAll(name) => match self.asset(name).await? {
                Some(id) => {
                    if let Err(error) = self.until_no_job_runs().await? {
                        return Ok(Err(error));
                    }
                    self.client.assets().delete(id).await?;
                }
                None => return Ok(Err(Errno::NOENT)),
            },
            Op::WritePreset(name, text) => self.write_preset(name, text).await?,
            Op::RemovePreset(name) => {
                let presets = self.client.presets().list(NOW).await?;
                match presets.iter().find(|preset| preset.name == *name) {
                    Some(preset) => self.client.presets().delete(preset.id).await?,
                    None => return Ok(Err(Errno::NOENT)),
                }
            }
            other => unreachable!("a program has no call for {other:?}"),
        }
        Ok(Ok(()))
    }

    async fn upload(&self, name: &str, files: &[(String, Content)]) -> Answer<()> {
        let request = StartUpload {
            model_name: name.to_owned(),
            filenames: files.iter().map(|(name, _)| name.clone()).collect(),
            is_zip: false,
        };
        let started = self.client.assets().start_upload(&request).await?;
        for (name, content) in files {
            let url = started
                .links
                .s3_upload_urls
                .get(name)
                .expect("a URL a file");
            let bytes = content.bytes();
            let open = || futures_util::stream::iter([Ok(bytes::Bytes::from(content.bytes()))]);
            let len = bytes.len() as u64;
            self.client
                .transfers()
                .put_file(url, len, open, |_| {})
                .await?;
        }
        self.client.assets().complete_upload(started.id).await?;
        Ok(())
    }

    async fn write_preset(&self, name: &str, text: &Content) -> Answer<()> {
        let presets = self.client.presets().list(NOW).await?;
        match presets.iter().find(|preset| preset.name == name) {
            Some(preset) => {
                let update = UpdatePreset {
                    id: preset.id,
                    name: name.to_owned(),
                    config: config(text),
                    description: None,
                };
                self.client.presets().update(&update).await
            }
            None => {
                let create = CreatePreset {
                    name: name.to_owned(),
                    description: None,
                    engine_core_version: None,
                    config: config(text),
                };
                self.client.presets().create(&create).await
            }
        }
    }

    async fn holdings(&self) -> Answer<Vec<String>> {
        let mut lines = Vec::new();
        let mut names = BTreeMap::new();
        for asset in self.client.assets().all(None, NOW).await? {
            names.insert(asset.id, asset.name.clone());
            lines.push(self.asset_line(&asset).await?);
        }
        for rapid in self.client.rapids().all(None, NOW).await? {
            let source = rapid
                .rawmodel
                .as_ref()
                .and_then(|source| names.get(&source.id));
            lines.push(rapid_line(&rapid, source.map_or("", String::as_str)));
        }
        for preset in self.client.presets().list(NOW).await? {
            let config = serde_json::to_string(&preset.config).expect("JSON");
            lines.push(format!("preset {}: {config}", preset.name));
        }
        let embeds = self.client.embeds().all(None, NOW).await?.len();
        lines.push(format!("{embeds} embeds"));
        let points = self.client.account().points(NOW).await?.rapidpoints;
        lines.push(format!("points {points}"));
        lines.sort();
        Ok(lines)
    }

    async fn asset_line(&self, asset: &BaseAsset) -> Answer<String> {
        let mut files = Vec::new();
        if asset.upload_status == UploadStatus::Complete {
            let listed = self.client.assets().downloads(asset.id, NOW).await?;
            for (name, url) in listed.iter() {
                let reply = self
                    .client
                    .transfers()
                    .get_range(url, 0, None, None)
                    .await?;
                let blocks: Vec<bytes::Bytes> = reply.stream.try_collect().await?;
                files.extend(unzipped(name, blocks.concat()));
            }
        }
        let files: Vec<String> = files
            .iter()
            .map(|(name, bytes)| file(name, bytes))
            .collect();
        let tags = tags(&asset.tags);
        let (name, status) = (&asset.name, &asset.upload_status);
        Ok(asset_line(name, &format!("{status:?}"), &tags, files))
    }
}

fn asset_line(name: &str, status: &str, tags: &str, mut files: Vec<String>) -> String {
    files.sort();
    format!(
        "model {name} is {status}, tags {tags}, files {}",
        files.join("; ")
    )
}

fn file(name: &str, bytes: &[u8]) -> String {
    format!("{name}: {}", shown(bytes))
}

/// The drive notes what it did in tags of its own.
fn is_of_people(tag: &Tag) -> bool {
    !tag.name.starts_with("assetfs:")
}

fn tags(tags: &[Tag]) -> String {
    in_order(
        tags.iter()
            .filter(|tag| is_of_people(tag))
            .map(|tag| tag.name.clone()),
    )
}

fn rapid_line(rapid: &RapidModel, source: &str) -> String {
    let (status, tags) = (&rapid.optimization_status, tags(&rapid.tags));
    format!("result of {source:?} is {status:?}, tags {tags}")
}

/// A nested folder is sent as one zip.
fn unzipped(name: &str, bytes: Vec<u8>) -> Vec<(String, Vec<u8>)> {
    if !name.ends_with(".zip") {
        return vec![(name.to_owned(), bytes)];
    }
    let mut zip = zip::ZipArchive::new(std::io::Cursor::new(bytes)).expect("a zip");
    let mut files = Vec::new();
    for index in 0..zip.len() {
        let mut member = zip.by_index(index).expect("a member");
        if member.is_file() {
            let mut bytes = Vec::new();
            member.read_to_end(&mut bytes).expect("a sound member");
            files.push((member.name().expect("a name").to_string(), bytes));
        }
    }
    files
}

fn config(text: &Content) -> OptimizerConfig {
    let text = String::from_utf8(text.bytes()).expect("text");
    OptimizerConfig::parse(&text).expect("a configuration")
}

impl Front for ApiFront {
    fn act(&mut self, op: &Op) -> Outcome {
        match self.runtime.block_on(self.call(op)) {
            Ok(outcome) => outcome,
            Err(error) => {
                eprintln!("{op:?}: {error:?}");
                Err(Errno::IO)
            }
        }
    }

    fn picture(&mut self) -> Vec<String> {
        let lines = self.runtime.block_on(self.holdings());
        lines.unwrap_or_else(|error| vec![format!("{error:?}")])
    }

    fn expected(&self, model: &Model) -> Vec<String> {
        let mut lines = Vec::new();
        let replaced = model.replaced.iter().map(|(name, it)| (name, it));
        let mut names = BTreeMap::new();
        for (name, finished) in model.models.iter().chain(replaced) {
            names.insert(finished.serial, name.clone());
            lines.push(expected_asset(name, finished));
        }
        for result in model.results.iter() {
            let source = names.get(&result.source).map_or("", String::as_str);
            let tags = in_order(result.tags.iter().cloned());
            let status = match result.text.fails() {
                true => OptimizationStatus::Failed,
                false => OptimizationStatus::Done,
            };
            lines.push(format!("result of {source:?} is {status:?}, tags {tags}"));
        }
        for (name, preset) in &model.presets {
            // A drive keeps an empty file for itself.
            if preset.text.bytes().is_empty() {
                continue;
            }
            let text = String::from_utf8(preset.text.bytes()).expect("text");
            lines.push(format!("preset {name}: {text}"));
        }
        let embeds: usize = model.results.iter().map(|it| it.embeds.len()).sum();
        lines.push(format!("{embeds} embeds"));
        lines.push(format!("points {}", POINTS - model.points()));
        lines.sort();
        lines
    }
}

fn expected_asset(name: &str, finished: &Finished) -> String {
    let files = finished.files.iter().filter_map(|(path, node)| match node {
        Node::File(bytes) => Some(file(path, bytes)),
        Node::Folder => None,
    });
    let tags = in_order(finished.tags.iter().cloned());
    asset_line(name, "Complete", &tags, files.collect())
}
