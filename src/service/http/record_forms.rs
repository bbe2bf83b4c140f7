//! Converts records of base assets, rapid models and tags to the JSON of the API.
//!
//! Times of tags have a two-digit zone and times of jobs have none, as in the API.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::error::ApiError;
use crate::service::app::App;
use crate::service::records::{Area, AssetRow, FileRow, JobRow, JobState, RapidRow, TagRow};
use crate::wire::{
    AssetForm, BaseAsset, ConvertedFile, Downloads, FOLDERS, FormatList, JobStatus, MADE_BY,
    ModelFiles, ModelId, QcScore, RapidForm, RapidId, RapidMeta, RapidModel, SourceModel,
    TRIANGLES, Tag, Thumbnail, UploadStatus, WAITS_BECAUSE, WARNINGS, rapid,
};
use assetfs_engine::job::{OVERVIEW_NAME, Report};
use assetfs_formats as formats;

/// How many lines of a warning.log a record has.
const MAX_LISTED_WARNINGS: usize = 20;

/// Files and tags of all models of a listing, read with one query each.
#[derive(Debug, Default)]
pub struct RelatedRows {
    files: HashMap<ModelId, Vec<FileRow>>,
    tags: HashMap<ModelId, Vec<TagRow>>,
    /// Results whose pictures are still to be drawn.
    drawings: HashSet<RapidId>,
}

impl RelatedRows {
    /// Reads files and tags of `owners`, which are of one kind.
    pub async fn read(app: &App, owners: &[ModelId]) -> Result<RelatedRows, ApiError> {
        let mut files: HashMap<ModelId, Vec<FileRow>> = HashMap::new();
        for file in app.records.files().list(owners).await? {
            files.entry(file.owner).or_default().push(file);
        }
        let tags = app.records.tags().list(owners).await?;
        let rapids = owners.iter().filter_map(|owner| match owner {
            ModelId::Rapid(rapid) => Some(*rapid),
            ModelId::Asset(_) => None,
        });
        let rapids: Vec<RapidId> = rapids.collect();
        let drawings = app.records.drawings().waiting(&rapids).await?;
        Ok(RelatedRows {
            files,
            tags,
            drawings: drawings.into_iter().collect(),
        })
    }

    /// The names and URLs of one owner's files in one area.
    pub async fn area(app: &App, owner: ModelId, area: Area) -> Result<Downloads, ApiError> {
        let related = RelatedRows::read(app, &[owner]).await?;
        Ok(related.downloads(app, owner, area))
    }

    fn files(&self, owner: ModelId, area: Area) -> impl Iterator<Item = &FileRow> {
        self.files
            .get(&owner)
            .into_iter()
            .flatten()
            .filter(move |file| file.area == area)
    }

    /// The files in one area whose bytes are there.
    pub fn stored(&self, owner: ModelId, area: Area) -> Vec<&FileRow> {
        let files = self.files(owner, area);
        files.filter(|file| file.blob.is_some()).collect()
    }

    /// Adds the large picture of a model, which is not a field of the API.
    fn add_overview(&self, app: &App, owner: ModelId, record: &mut Value) {
        let mut renders = self.files(owner, Area::Render);
        let found = renders.find(|file| file.name == OVERVIEW_NAME);
        if let Some(url) = found.and_then(|file| app.download_url(file)) {
            record["overview"] = serde_json::json!(url);
        }
    }

    /// Names the optional folders of a finished model that have files: not a field of the API. A drive need not ask for the
    /// others. Left out while pictures are still to be drawn.
    fn add_folders(&self, owner: ModelId, record: &mut Value) {
        if let ModelId::Rapid(rapid) = owner
            && self.drawings.contains(&rapid)
        {
            return;
        }
        let has = |areas: &[Area]| {
            let files = areas.iter().flat_map(|area| self.files(owner, *area));
            files.into_iter().any(|file| file.name != OVERVIEW_NAME)
        };
        let folders = [
            ("renders", has(&[Area::Render])),
            ("pbr", has(&[Area::PbrMaterial, Area::PbrQc])),
        ];
        let folders = folders.into_iter().filter(|(_, has)| *has);
        record[FOLDERS] = folders.map(|(name, _)| name).collect();
    }

    /// Whether the job of this model warned of something.
    fn has_warnings(&self, owner: ModelId) -> bool {
        self.files(owner, Area::Analysis)
            .any(|file| file.name == "warning.log" && file.size > 0)
    }

    fn tags(&self, owner: ModelId) -> Vec<Tag> {
        let (raw_id, rapid_id) = match owner {
            ModelId::Asset(asset) => (Some(asset), None),
            ModelId::Rapid(rapid) => (None, Some(rapid)),
        };
        let tags = self.tags.get(&owner).into_iter().flatten();
        tags.map(|tag| Tag {
            id: tag.id,
            name: tag.name.clone(),
            created_at: Some(tag.created_at.into()),
            updated_at: Some(tag.updated_at.into()),
            raw_id,
            rapid_id,
            other: Default::default(),
        })
        .collect()
    }

    /// The URLs of the files in one area, by name. A large picture is no view, so it is not among the views.
    pub fn downloads(&self, app: &App, owner: ModelId, area: Area) -> Downloads {
        self.files(owner, area)
            .filter(|file| area != Area::Render || file.name != OVERVIEW_NAME)
            .filter_map(|file| Some((file.name.clone(), app.download_url(file)?)))
            .collect()
    }
}

/// Converts the times of tags to the form of the API.
fn convert_tag_times(value: &mut Value, tags: &[Tag]) {
    let written = value.get_mut("tags").and_then(Value::as_array_mut);
    for (written, tag) in written.into_iter().flatten().zip(tags) {
        for (name, moment) in [
            ("created_at", tag.created_at),
            ("updated_at", tag.updated_at),
        ] {
            if let Some(moment) = moment {
                written[name] = moment.tag_form().into();
            }
        }
    }
}

/// A base asset in one of its forms.
pub async fn asset(
    app: &App,
    row: &AssetRow,
    related: &RelatedRows,
    form: AssetForm,
) -> Result<Value, ApiError> {
    let owner = ModelId::Asset(row.id);
    let mut asset = BaseAsset::new(row.id, row.name.clone(), row.status.clone());
    let working = !row.status.is_final() && row.status != UploadStatus::Incomplete;
    asset.uuid = Some(row.uuid.clone());
    asset.external = Some(false);
    asset.processing = Some(working);
    asset.size = Some(row.size);
    asset.created_at = Some(row.created_at.into());
    asset.scale_factor = Some(row.scale_factor);
    asset.has_errors = Some(row.has_errors);
    asset.format = Some(row.format.clone());
    asset.tags = related.tags(owner);
    asset.error_message = row.error_message.clone();
    asset.metadata = row
        .metadata
        .as_deref()
        .and_then(|text| serde_json::from_str(text).ok());
    asset.downloads = asset_downloads(app, row, related);
    let mut waits_because = None;
    if form == AssetForm::Detail {
        add_conversions(app, &mut asset, related, owner);
        if let Some(job) = app.records.jobs().latest_analysis(row.id).await? {
            asset.progress = Some(job.progress as f64);
            waits_because = app.obstacle(&job);
            asset.import_status = Some(waits_because.clone().unwrap_or(job.step));
        }
    }
    if form != AssetForm::List {
        asset.rapid_models = app.records.rapids().ids_of_asset(row.id).await?;
    }
    let mut value = asset.to_form(form);
    if let Some(reason) = waits_because {
        // Not a field of the API.
        value[WAITS_BECAUSE] = reason.into();
    }
    if form != AssetForm::UploadComplete {
        // Not fields of the API: what a card of the page says.
        value["has_warnings"] = related.has_warnings(owner).into();
        add_maker(row.made_by.as_deref(), &mut value);
        if let Some(triangles) = asset.metadata.as_ref().and_then(triangles_of) {
            value[TRIANGLES] = triangles.into();
        }
        if let Some(reason) = &row.error_message {
            value["error_message"] = reason.as_str().into();
        }
        related.add_overview(app, owner, &mut value);
        if row.status.is_final() {
            related.add_folders(owner, &mut value);
        }
    }
    convert_tag_times(&mut value, &asset.tags);
    Ok(value)
}

/// The triangles that the analysis has counted.
fn triangles_of(statistics: &Value) -> Option<u64> {
    statistics["geometry"]["triangles"].as_u64()
}

/// The files of the analysis, and the uploaded model under its own name.
fn asset_downloads(app: &App, row: &AssetRow, related: &RelatedRows) -> Downloads {
    let owner = ModelId::Asset(row.id);
    let mut downloads = Downloads::default();
    let model = related
        .files(owner, Area::Source)
        .filter(|file| file.name == row.main_file);
    for file in model.chain(related.files(owner, Area::Analysis)) {
        if let Some(url) = app.download_url(file) {
            downloads.0.insert(file.name.clone(), url);
        }
    }
    downloads
}

fn add_conversions(app: &App, asset: &mut BaseAsset, related: &RelatedRows, owner: ModelId) {
    for file in related.files(owner, Area::Converted) {
        let Some(url) = app.download_url(file) else {
            continue;
        };
        let format = formats::extension(&file.name);
        let place = match format.as_str() {
            "glb" => &mut asset.converted_glb,
            "gltf" => &mut asset.converted_gltf,
            "max" => &mut asset.converted_max,
            "fbx" => &mut asset.converted_fbx,
            "usdz" => &mut asset.converted_usdz,
            _ => continue,
        };
        *place = Some(ConvertedFile {
            name: file.name.clone(),
            url,
            human_name: format.to_uppercase(),
        });
    }
}

/// A rapid model in one of its forms.
pub fn rapid(app: &App, row: &RapidRow, related: &RelatedRows, form: RapidForm) -> Value {
    let owner = ModelId::Rapid(row.id);
    let mut model = RapidModel::new(row.id, row.name.clone(), row.status.clone());
    model.job_status = row.job.as_ref().map(job_status);
    model.progress = row.job.as_ref().map_or(0, |job| job.progress);
    model.processing_step = row.job.as_ref().map(|job| job.step.clone());
    let obstacle = row.job.as_ref().and_then(|job| app.obstacle(job));
    if let Some(reason) = &obstacle {
        model.progress = 0;
        model.processing_step = Some(reason.clone());
    }
    model.external = Some(false);
    model.rawmodel = Some(SourceModel {
        id: row.asset,
        name: row.asset_name.clone(),
        processing: (form == RapidForm::Summary).then_some(false),
        other: Default::default(),
    });
    let report = report(row);
    if form == RapidForm::Full {
        complete(app, row, related, report.as_ref(), &mut model);
    }
    let mut value = model.to_form(form);
    if form == RapidForm::Full {
        // Not a field of the API.
        value["preset_id"] = serde_json::json!(row.preset);
        value["preset_name"] = serde_json::json!(row.preset_name);
        value["has_warnings"] = related.has_warnings(owner).into();
        add_maker(row.made_by.as_deref(), &mut value);
        related.add_overview(app, owner, &mut value);
        if row.status.is_final() {
            related.add_folders(owner, &mut value);
        }
        add_findings(report.as_ref(), &mut value);
    }
    if let Some(reason) = obstacle {
        value[WAITS_BECAUSE] = reason.into();
    }
    convert_tag_times(&mut value, &related.tags(owner));
    convert_job_times(&mut value, row.job.as_ref());
    value
}

/// Adds the name of the token with which a model was made, which is no field of the API.
fn add_maker(token: Option<&str>, value: &mut Value) {
    if let Some(token) = token {
        value[MADE_BY] = token.into();
    }
}

/// Adds what the worker counted and warned of, which are no fields of the API. Lists of results for programs need them
/// without a request for each result.
fn add_findings(report: Option<&Report>, value: &mut Value) {
    let Some(report) = report else {
        return;
    };
    value[TRIANGLES] = report.result.triangles.into();
    let warnings = report.warnings.iter().take(MAX_LISTED_WARNINGS);
    value[WARNINGS] = warnings.map(ToString::to_string).collect();
}

/// Adds the fields that only the full form has.
fn complete(
    app: &App,
    row: &RapidRow,
    related: &RelatedRows,
    report: Option<&Report>,
    model: &mut RapidModel,
) {
    let owner = ModelId::Rapid(row.id);
    let logs = related.downloads(app, owner, Area::Analysis);
    let log = |name: &str| logs.get(name).cloned();
    let exports = related.downloads(app, owner, Area::Export);
    let size = related
        .files(owner, Area::Export)
        .map(|file| file.size)
        .sum();
    model.created_at = Some(row.created_at.into());
    model.updated_at = Some(row.updated_at.into());
    model.engine_core_version = Some(row.core_version.clone());
    model.tags = related.tags(owner);
    model.export_name = row.export_name.clone();
    model.uuid = Some(row.uuid.clone());
    model.accepted = Some(true);
    model.origin = Some("api".to_owned());
    model.thumbnail = Some(Thumbnail {
        first: log("thumb.jpg"),
        turntable: related.downloads(app, owner, Area::Turntable),
        other: Default::default(),
    });
    model.rpd_info = log("rpd_info.json");
    model.rpd_warnings = log("warning.log");
    model.rpd_error = log("error.log");
    model.metrics = log("metrics.json");
    model.downloads.formats = main_files(&exports, report)
        .filter_map(|(format, name)| Some((format, exports.get(&name)?.clone())))
        .collect();
    model.optimization_formats = Some(FormatList(
        model
            .downloads
            .formats
            .iter()
            .map(|(format, _)| format.to_owned())
            .collect(),
    ));
    model.model = viewer_files(app, related, owner);
    model.downloads.all = exports;
    model.meta = Some(RapidMeta {
        size: Some(size),
        export_size: Some(size),
        qc: scores(report),
        other: Default::default(),
    });
}

/// The report of the worker.
pub fn report(row: &RapidRow) -> Option<Report> {
    serde_json::from_str(row.report.as_deref()?).ok()
}

/// The main file of each format: from the report, otherwise by extension.
fn main_files<'a>(
    exports: &'a Downloads,
    report: Option<&'a Report>,
) -> Box<dyn Iterator<Item = (String, String)> + 'a> {
    match report {
        Some(report) => Box::new(
            report
                .exports
                .iter()
                .map(|export| (export.format.clone(), export.name.clone())),
        ),
        None => Box::new(
            exports
                .iter()
                .map(|(name, _)| (formats::extension(name), name.to_owned()))
                .filter(|(format, _)| formats::FileFormat::NAMES.contains(&format.as_str())),
        ),
    }
}

/// The folder URL and file name of the glb, for a viewer.
fn viewer_files(app: &App, related: &RelatedRows, owner: ModelId) -> Option<ModelFiles> {
    let mut exports = related.files(owner, Area::Export);
    let glb = exports.find(|file| formats::extension(&file.name) == "glb")?;
    let (root_url, file_name) = app.viewer_parts(glb)?;
    Some(ModelFiles {
        root_url: Some(root_url),
        file_name: Some(file_name),
        other: Default::default(),
    })
}

fn scores(report: Option<&Report>) -> Vec<std::collections::BTreeMap<String, QcScore>> {
    let exports = report.into_iter().flat_map(|report| &report.exports);
    exports
        .filter_map(|export| {
            let quality = export.quality?;
            let score = QcScore {
                max_score: Some(quality.max_score),
                avg_score: Some(quality.avg_score),
            };
            Some([(export.format.clone(), score)].into())
        })
        .collect()
}

fn job_status(job: &JobRow) -> JobStatus {
    JobStatus {
        id: Some(job.id.0),
        job_id: Some(job.key.clone()),
        kind: job.kind.text().to_owned(),
        queue: Some("default".to_owned()),
        attempts: job.attempts,
        progress_now: job.progress,
        progress_max: 100,
        status: match job.state {
            JobState::Queued => rapid::JobState::Queued,
            JobState::Running => rapid::JobState::Executing,
            JobState::Finished => rapid::JobState::Finished,
            JobState::Failed => rapid::JobState::Failed,
        },
        input: Value::Null,
        output: job.output.clone(),
        created_at: Some(job.created_at.into()),
        updated_at: Some(job.updated_at.into()),
        started_at: job.started_at.map(Into::into),
        finished_at: job.finished_at.map(Into::into),
        key: job.key.clone(),
        other: Default::default(),
    }
}

/// Converts the times of a job to the form of the API.
fn convert_job_times(value: &mut Value, job: Option<&JobRow>) {
    let (Some(job), Some(written)) = (job, value.get_mut("job_status")) else {
        return;
    };
    let moments = [
        ("created_at", Some(job.created_at)),
        ("updated_at", Some(job.updated_at)),
        ("started_at", job.started_at),
        ("finished_at", job.finished_at),
    ];
    for (name, moment) in moments {
        if let Some(moment) = moment {
            written[name] = crate::wire::Timestamp::from(moment).plain().into();
        }
    }
}
