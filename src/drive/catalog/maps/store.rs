//! Stores the files of service folders from responses: requested here, or contained in other records.

use std::sync::Arc;

use crate::drive::catalog::blob_sizes::reports_of;
use crate::drive::catalog::parts::Catalog;
use crate::drive::values::filemap::FileMap;
use crate::drive::values::node::RemoteFolder;
use crate::wire::{AssetId, BaseAsset, Downloads, RapidId, RapidModel, SignedUrl, UploadStatus};

/// The files in `analysis/` that the record of a source model contains.
const ANALYSIS_NAMES: [&str; 6] = [
    "error.log",
    "info.log",
    "metrics.json",
    "rpd_info.json",
    "thumb.jpg",
    "warning.log",
];

/// Stores the files that the record of a source model contains.
pub fn store_asset_files(catalog: &Catalog, record: &BaseAsset) {
    let analysis = record
        .downloads
        .iter()
        .filter(|(name, _)| ANALYSIS_NAMES.contains(name));
    let analysis: Downloads = analysis
        .map(|(name, url)| (name.to_owned(), url.clone()))
        .collect();
    let is_settled = record.upload_status == UploadStatus::Complete;
    store_files(
        catalog,
        RemoteFolder::AssetAnalysis(record.id),
        &analysis,
        is_settled,
    );
}

/// Stores the files that the record of an optimized model contains.
pub fn store_rapid_files(catalog: &Catalog, record: &RapidModel) {
    let is_settled = record.optimization_status.is_final();
    let downloads = &record.downloads;
    let files = if downloads.all.is_empty() {
        by_file_name(&downloads.formats)
    } else {
        downloads.all.clone()
    };
    store_files(
        catalog,
        RemoteFolder::RapidFiles(record.id),
        &files,
        is_settled && !files.is_empty(),
    );
    // Pictures may come after the result, and with them its thumbnail.
    let gets_none =
        record.optimization_status.is_failure() || record.has_folder("renders") == Some(false);
    store_files(
        catalog,
        RemoteFolder::RapidAnalysis(record.id),
        &analysis_of(record),
        is_settled && (record.has_thumbnail() || gets_none),
    );
    let reports = reports_of(catalog, record);
    let named = reports.into_iter().map(|name| (name, None));
    store_names(catalog, RemoteFolder::RapidQc(record.id), named, is_settled);
}

/// Stores the analysis files of a source model from a list, as long as there is room: nobody has to request the record then.
pub fn store_listed_analysis(catalog: &Catalog, record: &BaseAsset) {
    let is_whole = record.upload_status == UploadStatus::Complete;
    let folder = RemoteFolder::AssetAnalysis(record.id);
    let has_analysis = record.downloads.get("rpd_info.json").is_some();
    if is_whole && has_analysis && catalog.maps.has_room() && known_map(catalog, folder).is_none() {
        store_asset_files(catalog, record);
    }
}

/// Stores the files of an optimized model from a list, as long as there is room.
pub fn store_listed_files(catalog: &Catalog, record: &RapidModel) {
    let is_whole = record.optimization_status.is_final() && !record.downloads.all.is_empty();
    let folder = RemoteFolder::RapidFiles(record.id);
    if is_whole && catalog.maps.has_room() && known_map(catalog, folder).is_none() {
        store_rapid_files(catalog, record);
    }
}

pub(super) fn store_files(
    catalog: &Catalog,
    folder: RemoteFolder,
    files: &Downloads,
    is_settled: bool,
) {
    let named = files
        .iter()
        .map(|(name, url)| (name.to_owned(), Some(url.clone())));
    store_names(catalog, folder, named, is_settled);
}

/// Stores the files of a folder; returns them as shown.
pub fn store_names(
    catalog: &Catalog,
    folder: RemoteFolder,
    named: impl IntoIterator<Item = (String, Option<SignedUrl>)>,
    is_settled: bool,
) -> Arc<FileMap> {
    let map = Arc::new(FileMap::arrange(named, folder.subject().number()));
    catalog.maps.keep(&catalog.meta, folder, &map, is_settled);
    map
}

pub fn asset_is_final(catalog: &Catalog, asset: AssetId) -> bool {
    catalog
        .asset(asset)
        .is_some_and(|row| row.state == UploadStatus::Complete)
}

pub fn rapid_is_final(catalog: &Catalog, rapid: RapidId) -> bool {
    catalog.rapid(rapid).is_some_and(|row| row.state.is_final())
}

/// If the service only names formats, the file name is the last part of the URL.
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

/// The known files, without a request.
pub fn known_map(catalog: &Catalog, folder: RemoteFolder) -> Option<Arc<FileMap>> {
    let kept = catalog.maps.known(&catalog.meta, folder);
    kept.map(|kept| kept.map)
}

/// A job is done: forgets the files that were known while it ran, so that they are not shown.
pub fn rapid_ended(catalog: &Catalog, rapid: RapidId) {
    for folder in [
        RemoteFolder::RapidFiles(rapid),
        RemoteFolder::RapidAnalysis(rapid),
    ] {
        catalog.maps.drop_unsettled(&catalog.meta, folder);
    }
}
