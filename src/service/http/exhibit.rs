//! The files that the viewer of an embed shows, or the state of their conversion.

use super::error::ApiError;
use super::record_forms::RelatedRows;
use crate::service::app::App;
use crate::service::records::{Area, FileRow, JobState};
use crate::wire::{AssetId, ModelId};
use assetfs_formats as formats;

/// The model of an embed.
#[derive(Debug)]
pub enum Model {
    /// The glb, and with it a usdz for phones.
    Ready(Box<Files>),
    /// The glb is being converted.
    Pending,
    /// There is no glb; with the reason, if it is known.
    None(Option<String>),
}

#[derive(Debug)]
pub struct Files {
    pub glb: FileRow,
    /// For AR on phones that need usdz.
    pub usdz: Option<FileRow>,
}

impl Files {
    fn among(rows: &[&FileRow]) -> Option<Box<Files>> {
        let of_format = |format: &str| {
            let found = rows
                .iter()
                .find(|row| formats::extension(&row.name) == format);
            found.map(|row| (*row).clone())
        };
        Some(Box::new(Files {
            glb: of_format("glb")?,
            usdz: of_format("usdz"),
        }))
    }
}

pub async fn of_source(app: &App, source: ModelId) -> Result<Model, ApiError> {
    match source {
        ModelId::Rapid(_) => {
            let related = RelatedRows::read(app, &[source]).await?;
            let exports = related.stored(source, Area::Export);
            Ok(Files::among(&exports).map_or(Model::None(None), Model::Ready))
        }
        ModelId::Asset(asset) => of_asset(app, asset).await,
    }
}

/// The model of a base asset: the upload itself if it is one glb file, otherwise its conversion to glb. A viewer can
/// load neither several files nor an archive.
pub async fn of_asset(app: &App, asset: AssetId) -> Result<Model, ApiError> {
    let owner = ModelId::Asset(asset);
    let related = RelatedRows::read(app, &[owner]).await?;
    let uploaded = related.stored(owner, Area::Source);
    let converted = related.stored(owner, Area::Converted);
    let whole = Some(&uploaded).filter(|files| files.len() == 1);
    let found = whole
        .and_then(|files| Files::among(files))
        .or_else(|| Files::among(&converted));
    if let Some(files) = found {
        return Ok(Model::Ready(files));
    }
    let mut reason = None;
    for conversion in app.records.conversions().list(asset).await? {
        if !conversion.formats.iter().any(|format| format == "glb") {
            continue;
        }
        match conversion.state {
            JobState::Queued | JobState::Running | JobState::Finished => return Ok(Model::Pending),
            JobState::Failed => reason = conversion.message,
        }
    }
    Ok(Model::None(reason))
}

/// The thumbnail of an embed's model.
pub async fn poster(app: &App, source: ModelId) -> Result<Option<FileRow>, ApiError> {
    let related = RelatedRows::read(app, &[source]).await?;
    let analysis = related.stored(source, Area::Analysis);
    let thumbnail = analysis.iter().find(|row| row.name == "thumb.jpg");
    Ok(thumbnail.map(|row| (*row).clone()))
}
