//! Stored parts of the service's records: enough to show a folder without a request, offline and after a
//! remount. URLs are not stored.

mod preset;
mod shown;

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

pub use preset::KnownPreset;
pub use shown::{KnownEmbed, KnownRecord};

use super::listing::Record;
use crate::outbox::ItemStatus;
use crate::wire::{
    AssetId, BaseAsset, OptimizationStatus, RapidId, RapidMeta, RapidModel, ResultNotes,
    SourceNotes, Tag, TagId, Timestamp, UploadStatus, is_own_tag,
};
use assetfs_formats as formats;

/// A tag of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownTag {
    pub id: TagId,
    pub name: String,
}

impl KnownTag {
    /// The tags of the user: not those in which a drive notes what made a result.
    fn all(tags: &[Tag]) -> Vec<KnownTag> {
        tags.iter()
            .filter(|tag| !is_own_tag(&tag.name))
            .map(|tag| KnownTag {
                id: tag.id,
                name: tag.name.clone(),
            })
            .collect()
    }
}

fn tag_names(tags: &[Tag]) -> impl Iterator<Item = &str> {
    tags.iter().map(|tag| tag.name.as_str())
}

/// A source model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KnownAsset {
    pub id: AssetId,
    /// Its name on the service.
    pub name: String,
    /// The state of its import.
    pub state: UploadStatus,
    /// Percent of the present step, if reported.
    pub progress: Option<f64>,
    /// Why it failed.
    pub error: Option<String>,
    /// Creation time.
    pub created: Option<Timestamp>,
    /// Size of its files as the service reports it.
    pub size: Option<u64>,
    /// Format of the upload.
    pub format: Option<String>,
    /// Its tags.
    pub tags: Vec<KnownTag>,
    /// What a drive noted on it.
    #[serde(default)]
    pub notes: SourceNotes,
    /// Its optimized models, if a detail record was received.
    pub rapid_models: Vec<RapidId>,
    /// Whether it has a picture.
    #[serde(default)]
    pub has_thumbnail: bool,
    /// Its triangles, if the service says so.
    #[serde(default)]
    pub triangles: Option<u64>,
    /// The name of the token that it was uploaded with, if the service says so.
    #[serde(default)]
    pub token_name: Option<String>,
    /// Whether it has views, if the service says so.
    #[serde(default)]
    pub has_renders: Option<bool>,
    /// Whether it has converted materials, if the service says so.
    #[serde(default)]
    pub has_pbr: Option<bool>,
    /// Its name was handed over to a new version. It does not get it back, even if that version is deleted.
    #[serde(default)]
    pub is_old_version: bool,
}

impl KnownAsset {
    /// From a record.
    pub fn from_record(record: &BaseAsset) -> KnownAsset {
        KnownAsset {
            id: record.id,
            name: record.name.clone(),
            state: record.upload_status.clone(),
            progress: record.progress,
            error: record
                .error_message
                .clone()
                .filter(|text| !text.trim().is_empty()),
            created: record.created_at,
            size: record.size,
            format: record.format.clone(),
            tags: KnownTag::all(&record.tags),
            notes: SourceNotes::of_tags(tag_names(&record.tags)),
            rapid_models: record.rapid_models.clone(),
            has_thumbnail: record.has_thumbnail(),
            triangles: record.triangles(),
            token_name: record.made_by(),
            has_renders: record.has_folder("renders"),
            has_pbr: record.has_folder("pbr"),
            is_old_version: false,
        }
    }

    /// True if a viewer can be made of it directly.
    pub fn is_glb(&self) -> bool {
        let format = self.format.as_deref();
        format.is_some_and(|format| format.eq_ignore_ascii_case("glb"))
    }

    /// Whether it is a file of a CAD program, which refers to no others.
    pub fn is_cad(&self) -> bool {
        let format = formats::of_extension(self.format.as_deref().unwrap_or_default());
        format.is_some_and(|format| format.kind == formats::Kind::Cad)
    }

    /// False if the service says that it has no converted materials, or cannot convert those of its format.
    pub fn may_have_materials(&self) -> bool {
        if let Some(has_pbr) = self.has_pbr {
            return has_pbr;
        }
        let format = self.format.as_deref().unwrap_or_default();
        let known = formats::of_extension(format);
        known.is_none_or(|format| format.is_scene())
    }

    pub fn status(&self) -> ItemStatus {
        match &self.state {
            UploadStatus::Complete => ItemStatus::Complete,
            state if state.is_failure() => ItemStatus::Failed {
                reason: self.failure_reason(),
            },
            state => ItemStatus::importing(state, self.progress),
        }
    }

    /// Why it failed, in words.
    pub fn failure_reason(&self) -> String {
        match (&self.error, &self.state) {
            (Some(error), _) => error.clone(),
            (None, UploadStatus::ImportLimitExceeded) => {
                "the model exceeds the import limits of the service".to_owned()
            }
            (None, _) => {
                "the service could not import it; analysis/error.log may say why".to_owned()
            }
        }
    }
}

impl Record for KnownAsset {
    fn is_gone_if_unlisted() -> bool {
        // Cached bytes and pins would be lost with it, and lists are sometimes incomplete.
        false
    }
    fn number(&self) -> u64 {
        self.id.0
    }
    fn service_name(&self) -> &str {
        &self.name
    }
    fn state_changed(&self, known: &KnownAsset) -> bool {
        self.state != known.state || self.size != known.size
    }
    fn hands_over_its_name(&mut self) {
        self.is_old_version = true;
    }
    fn keep_details_of(&mut self, known: &KnownAsset) {
        self.is_old_version |= known.is_old_version;
        if self.tags.is_empty() && self.notes == SourceNotes::default() {
            // A form of the record without tags.
            self.notes = known.notes.clone();
        }
        if self.token_name.is_none() {
            self.token_name.clone_from(&known.token_name);
        }
        if self.rapid_models.is_empty() {
            self.rapid_models.clone_from(&known.rapid_models);
        }
        if self.state == known.state {
            self.progress = self.progress.or(known.progress);
            // A form of the record without them.
            self.triangles = self.triangles.or(known.triangles);
            self.has_thumbnail |= known.has_thumbnail;
            if self.error.is_none() {
                self.error.clone_from(&known.error);
            }
        }
    }
}

/// An optimized model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KnownRapid {
    pub id: RapidId,
    /// Its name on the service.
    pub name: String,
    /// How far the optimization is.
    pub state: OptimizationStatus,
    /// 0 to 100.
    pub progress: u64,
    /// Why it failed, as far as its record says so.
    #[serde(default)]
    pub failure: Option<String>,
    /// Why the service has not begun with it, if it says so.
    #[serde(default)]
    pub obstacle: Option<String>,
    /// The model it was made from.
    pub source: Option<AssetId>,
    /// The text of a drop folder it was made with, without extension; `None` if it was made elsewhere, or was named
    /// before this was known.
    #[serde(default)]
    pub made_with: Option<String>,
    /// Creation time.
    pub created: Option<Timestamp>,
    /// When it last changed.
    pub updated: Option<Timestamp>,
    /// Its tags.
    pub tags: Vec<KnownTag>,
    /// What a drive noted on it.
    #[serde(default)]
    pub notes: ResultNotes,
    /// Bytes of all exports, or of the model if the service reports only those.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// The lowest mean score of its exports, 0 to 100.
    #[serde(default)]
    pub similarity: Option<f64>,
    /// The formats of its exports.
    #[serde(default)]
    pub formats: Vec<String>,
    /// The names of its exported files on the service.
    #[serde(default)]
    pub files: Vec<String>,
    /// Whether it has a picture.
    #[serde(default)]
    pub has_thumbnail: bool,
    /// The name of the token that it was requested with, if the service says so.
    #[serde(default)]
    pub token_name: Option<String>,
    /// Its triangles, if the service says so.
    #[serde(default)]
    pub triangles: Option<u64>,
    /// The lines of its warning.log, if the service says so.
    #[serde(default)]
    pub warnings: Option<Vec<String>>,
    /// Whether it has views, if the service says so.
    #[serde(default)]
    pub has_renders: Option<bool>,
    /// The name that the request gave to the exported files, if it gave one.
    #[serde(default)]
    pub export_name: Option<String>,
}

/// How many exported files and warnings of a result are kept, and how many characters of a warning.
const MAX_FILES: usize = 1_000;
const MAX_WARNINGS: usize = 20;
const MAX_WARNING_CHARS: usize = 500;

impl KnownRapid {
    /// From a record.
    pub fn from_record(record: &RapidModel) -> KnownRapid {
        let notes = ResultNotes::of_tags(tag_names(&record.tags));
        KnownRapid {
            id: record.id,
            name: record.name.clone(),
            state: record.optimization_status.clone(),
            progress: record.progress,
            failure: record.failure(),
            obstacle: record.waits_because(),
            source: record.rawmodel.as_ref().map(|source| source.id),
            made_with: notes
                .names
                .iter()
                .chain(&notes.former_names)
                .next()
                .cloned(),
            created: record.created_at,
            updated: record.updated_at,
            tags: KnownTag::all(&record.tags),
            notes,
            bytes: record
                .meta
                .as_ref()
                .and_then(|meta| meta.export_size.or(meta.size)),
            similarity: record.meta.as_ref().and_then(lowest_score),
            formats: record
                .optimization_formats
                .clone()
                .map_or_else(Vec::new, |formats| formats.0),
            files: exported_names(record),
            has_thumbnail: record.has_thumbnail(),
            token_name: record.made_by(),
            triangles: record.triangles(),
            warnings: record.warnings().map(|lines| {
                let lines = lines.take(MAX_WARNINGS);
                let cut = |line: &str| line.chars().take(MAX_WARNING_CHARS).collect();
                lines.map(cut).collect()
            }),
            has_renders: record.has_folder("renders"),
            export_name: record.own_export_name().map(str::to_owned),
        }
    }

    /// The names of the text that it was made with, but not those that have another result now.
    pub fn text_names(&self) -> impl Iterator<Item = &str> {
        let noted = self.notes.names.iter();
        let has_notes = !(self.notes.names.is_empty() && self.notes.former_names.is_empty());
        let here = self.made_with.iter().filter(move |_| !has_notes);
        noted.chain(here).map(String::as_str)
    }

    pub fn status(&self) -> ItemStatus {
        match &self.state {
            OptimizationStatus::Done => ItemStatus::Done,
            state if state.is_failure() => ItemStatus::Failed {
                reason: self
                    .failure
                    .clone()
                    .unwrap_or_else(|| "analysis/error.log may say why".to_owned()),
            },
            OptimizationStatus::SentToQueue if self.progress == 0 => ItemStatus::Queued {
                obstacle: self.obstacle.clone(),
            },
            OptimizationStatus::SentToQueue => ItemStatus::Running {
                percent: self.progress.min(100) as u8,
                seconds_left: None,
            },
            state => ItemStatus::Other {
                word: state.to_string(),
            },
        }
    }
}

impl Record for KnownRapid {
    fn is_gone_if_unlisted() -> bool {
        // Cached bytes and pins would be lost with it, and lists are sometimes incomplete.
        false
    }
    fn number(&self) -> u64 {
        self.id.0
    }
    fn service_name(&self) -> &str {
        &self.name
    }
    fn is_again(&self, gone: &KnownRapid) -> bool {
        (&self.name, self.source, &self.made_with) == (&gone.name, gone.source, &gone.made_with)
    }
    fn qualifier(&self) -> Option<&str> {
        self.made_with.as_deref()
    }
    fn state_changed(&self, known: &KnownRapid) -> bool {
        self.state != known.state
    }
    fn keep_details_of(&mut self, known: &KnownRapid) {
        self.source = self.source.or(known.source);
        if self.tags.is_empty() && self.notes.is_empty() {
            // A form of the record without tags.
            self.notes = known.notes.clone();
        }
        if self.made_with.is_none() {
            self.made_with.clone_from(&known.made_with);
        }
        if self.token_name.is_none() {
            self.token_name.clone_from(&known.token_name);
        }
        if self.state == known.state {
            // A form of the record without them.
            self.triangles = self.triangles.or(known.triangles);
            if self.warnings.is_none() {
                self.warnings.clone_from(&known.warnings);
            }
            if self.files.is_empty() {
                self.files.clone_from(&known.files);
            }
            self.has_thumbnail |= known.has_thumbnail;
        }
    }
}

fn exported_names(record: &RapidModel) -> Vec<String> {
    let names = record.downloads.all.iter().map(|(name, _)| name);
    names.take(MAX_FILES).map(str::to_owned).collect()
}

fn lowest_score(meta: &RapidMeta) -> Option<f64> {
    let scores = meta.qc.iter().flat_map(BTreeMap::values);
    let means = scores.filter_map(|score| score.avg_score);
    means
        .filter(|mean| (0.0..=100.0).contains(mean))
        .min_by(f64::total_cmp)
}

/// A time as the file system shows it; the epoch if there is none.
pub fn system_time(timestamp: Option<Timestamp>) -> SystemTime {
    timestamp.map_or(SystemTime::UNIX_EPOCH, SystemTime::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_similarity_of_a_result_is_that_of_its_worst_export() {
        let of = |meta: serde_json::Value| {
            let record: RapidModel = serde_json::from_value(serde_json::json!({
                "id": 3, "meta": meta, "optimization_formats": ["glb", "usdz"]
            }))
            .unwrap();
            KnownRapid::from_record(&record)
        };
        let row = of(serde_json::json!({ "exportSize": 1200, "size": 900, "qc": [
            { "glb": { "maxScore": 99.0, "avgScore": 97.5 } },
            { "usdz": { "maxScore": 99.0, "avgScore": 91.25 } },
            { "stl": { "maxScore": null, "avgScore": null } },
            { "ply": { "maxScore": 1e9, "avgScore": -5.0 } },
        ] }));
        assert_eq!(row.similarity, Some(91.25));
        assert_eq!(row.bytes, Some(1200));
        assert_eq!(row.formats, ["glb", "usdz"]);
        assert_eq!(of(serde_json::json!({ "size": 900 })).bytes, Some(900));
        assert_eq!(of(serde_json::Value::Null).similarity, None);
    }

    #[test]
    fn what_a_service_says_of_triangles_and_warnings_is_taken_only_if_it_can_be() {
        let of = |more: serde_json::Value| {
            let mut record = serde_json::json!({ "id": 3 });
            let more = more.as_object().unwrap().clone();
            record.as_object_mut().unwrap().extend(more);
            KnownRapid::from_record(&serde_json::from_value(record).unwrap())
        };
        let known = of(
            serde_json::json!({ "triangles": 12, "warnings": ["a [no-gain]", 7, "b"],
            "downloads": { "glb": "https://x/1", "all": { "a.glb": "https://x/1" } },
            "thumbnail": { "first": "https://x/2" } }),
        );
        assert_eq!(known.triangles, Some(12));
        assert_eq!(known.warnings.unwrap(), ["a [no-gain]", "b"]);
        assert_eq!(
            (known.files, known.has_thumbnail),
            (vec!["a.glb".to_owned()], true)
        );
        let long = vec!["x".repeat(9_000); 50];
        let other = of(serde_json::json!({ "triangles": -1, "warnings": long }));
        assert_eq!(other.triangles, None);
        let lines = other.warnings.unwrap();
        assert_eq!(
            (lines.len(), lines[0].len()),
            (MAX_WARNINGS, MAX_WARNING_CHARS)
        );
        let silent = of(serde_json::json!({ "warnings": "none" }));
        assert_eq!((silent.triangles, silent.warnings), (None, None));
    }
}
