//! What the service told of the files in its folders: asked for here, and taken out of records that
//! came for another reason.

use std::sync::Arc;
use std::time::Instant;

use super::{Kept, StoredNames, keep_names};
use crate::client::Priority;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::places::{ModelFolder, ServiceFolder};
use crate::drive::shared::Shared;
use crate::drive::tree::filemap::FileMap;
use crate::drive::tree::node::RemoteFolder;
use crate::wire::{
    AssetId, BaseAsset, Downloads, PbrDownloads, RapidId, RapidModel, SignedUrl, UploadStatus,
};

/// The files in `analysis/`, as the record of a source model names them.
const ANALYSIS_NAMES: [&str; 6] = [
    "error.log",
    "info.log",
    "metrics.json",
    "rpd_info.json",
    "thumb.jpg",
    "warning.log",
];

impl Shared {
    pub(in crate::drive) async fn fetch_map(
        self: Arc<Self>,
        folder: RemoteFolder,
    ) -> DriveResult<()> {
        let (client, now) = (&self.client, Priority::Interactive);
        let began = Instant::now();
        match folder {
            RemoteFolder::AssetFiles(asset) => {
                let files = self.asked(client.asset_downloads(asset, now)).await?;
                self.told_files(folder, &files, self.asset_is_final(asset));
            }
            RemoteFolder::AssetAnalysis(asset) => {
                let record = self.asked(client.asset(asset, now)).await?;
                self.told_asset_detail(&record, began);
            }
            RemoteFolder::AssetMembers(asset) => self.fetch_members(asset).await?,
            RemoteFolder::AssetRenders(asset) => {
                let files = or_none(self.asked(client.asset_renders(asset, now)).await)?;
                self.told_files(folder, &files, self.asset_is_final(asset));
            }
            RemoteFolder::AssetPbr(asset) => {
                let files = or_none(self.asked(client.asset_pbr(asset, now)).await)?;
                self.told_files(folder, &pbr_files(&files), self.asset_is_final(asset));
            }
            RemoteFolder::AssetConverted(asset) => {
                let files = or_none(self.asked(client.asset_converted(asset, now)).await)?;
                self.told_converted(asset, &files);
            }
            RemoteFolder::RapidFiles(rapid)
            | RemoteFolder::RapidAnalysis(rapid)
            | RemoteFolder::RapidQc(rapid) => {
                let record = self.asked(client.rapid_model(rapid, now)).await?;
                self.told_rapid_detail(&record, began);
            }
            RemoteFolder::RapidRenders(rapid) => {
                let files = or_none(self.asked(client.rapid_renders(rapid, now)).await)?;
                self.told_files(folder, &files, self.rapid_is_final(rapid));
            }
        }
        Ok(())
    }

    /// Other formats may come at any time; a new one is told.
    fn told_converted(&self, asset: AssetId, files: &Downloads) {
        let folder = RemoteFolder::AssetConverted(asset);
        let before = self.known_map(folder).map_or(0, |map| map.files().count());
        self.told_files(folder, files, false);
        if files.iter().count() != before {
            let model = ModelFolder(self.home_of(asset));
            self.tell_entry(model, folder.name().unwrap_or_default());
            self.tell_attributes(ServiceFolder(folder));
        }
    }

    /// Takes in what the record of a source model says of its files.
    pub(in crate::drive) fn told_asset_files(&self, record: &BaseAsset) {
        let analysis = record
            .downloads
            .iter()
            .filter(|(name, _)| ANALYSIS_NAMES.contains(name));
        let analysis: Downloads = analysis
            .map(|(name, url)| (name.to_owned(), url.clone()))
            .collect();
        let is_settled = record.upload_status == UploadStatus::Complete;
        self.told_files(
            RemoteFolder::AssetAnalysis(record.id),
            &analysis,
            is_settled,
        );
    }

    /// Takes in what the record of an optimized model says of its files.
    pub(in crate::drive) fn told_rapid_files(&self, record: &RapidModel) {
        let is_settled = record.optimization_status.is_final();
        let downloads = &record.downloads;
        let files = if downloads.all.is_empty() {
            by_file_name(&downloads.formats)
        } else {
            downloads.all.clone()
        };
        self.told_files(
            RemoteFolder::RapidFiles(record.id),
            &files,
            is_settled && !files.is_empty(),
        );
        self.told_files(
            RemoteFolder::RapidAnalysis(record.id),
            &analysis_of(record),
            is_settled,
        );
        let reports = self.reports_of(record);
        let named = reports.into_iter().map(|name| (name, None));
        self.told_names(RemoteFolder::RapidQc(record.id), named, is_settled);
    }

    fn told_files(&self, folder: RemoteFolder, files: &Downloads, is_settled: bool) {
        let named = files
            .iter()
            .map(|(name, url)| (name.to_owned(), Some(url.clone())));
        self.told_names(folder, named, is_settled);
    }

    /// Takes in the files of a folder; gives them as they are shown.
    pub(in crate::drive) fn told_names(
        &self,
        folder: RemoteFolder,
        named: impl IntoIterator<Item = (String, Option<SignedUrl>)>,
        is_settled: bool,
    ) -> Arc<FileMap> {
        let map = Arc::new(FileMap::arrange(named, folder.subject().number()));
        let names: Vec<&str> = map
            .files()
            .map(|(_, source)| source.service_name.as_str())
            .collect();
        if self.maps.is_news(folder, &names, is_settled) {
            let stored = StoredNames {
                names: names.into_iter().map(str::to_owned).collect(),
                is_settled,
            };
            keep_names(&self.meta, folder, &stored);
        }
        self.maps.put(
            folder,
            Kept {
                map: Arc::clone(&map),
                told: Some(Instant::now()),
                is_settled,
            },
        );
        map
    }

    pub(in crate::drive) fn asset_is_final(&self, asset: AssetId) -> bool {
        self.known()
            .assets
            .row(asset.0)
            .is_some_and(|row| row.state == UploadStatus::Complete)
    }

    pub(in crate::drive) fn rapid_is_final(&self, rapid: RapidId) -> bool {
        self.known()
            .rapids
            .row(rapid.0)
            .is_some_and(|row| row.state.is_final())
    }
}

/// A folder that the service does not have is empty.
fn or_none<T: Default>(files: DriveResult<T>) -> DriveResult<T> {
    match files {
        Err(DriveError::NotFound) => Ok(T::default()),
        other => other,
    }
}

/// Materials and pictures, each in a folder of their own.
fn pbr_files(files: &PbrDownloads) -> Downloads {
    let materials = files.materials.iter().map(|file| ("materials", file));
    let pictures = files.qc.iter().map(|file| ("qc", file));
    materials
        .chain(pictures)
        .map(|(folder, (name, url))| (format!("{folder}/{name}"), url.clone()))
        .collect()
}

/// Where the service names formats alone, the file's name is the last part of its URL.
fn by_file_name(formats: &Downloads) -> Downloads {
    formats
        .iter()
        .map(|(format, url)| {
            (
                file_name_of(url).unwrap_or_else(|| format.to_owned()),
                url.clone(),
            )
        })
        .collect()
}

fn file_name_of(url: &SignedUrl) -> Option<String> {
    let parsed = url::Url::parse(url.expose()).ok()?;
    let last = parsed.path_segments()?.next_back()?;
    let name = percent_encoding::percent_decode_str(last)
        .decode_utf8()
        .ok()?;
    (!name.is_empty()).then(|| name.into_owned())
}

fn analysis_of(record: &RapidModel) -> Downloads {
    let thumbnail = record.thumbnail.as_ref();
    let named = [
        ("rpd_info.json", record.rpd_info.as_ref()),
        ("warning.log", record.rpd_warnings.as_ref()),
        ("error.log", record.rpd_error.as_ref()),
        ("metrics.json", record.metrics.as_ref()),
        (
            "thumb.jpg",
            thumbnail.and_then(|thumbnail| thumbnail.first.as_ref()),
        ),
    ];
    let named = named.into_iter().filter_map(|(name, url)| {
        Some((
            name.to_owned(),
            url.filter(|url| !url.expose().is_empty())?.clone(),
        ))
    });
    let turntable = thumbnail
        .map(|thumbnail| thumbnail.turntable.iter())
        .into_iter()
        .flatten();
    let turntable = turntable.map(|(name, url)| (format!("turntable/{name}"), url.clone()));
    named.chain(turntable).collect()
}
