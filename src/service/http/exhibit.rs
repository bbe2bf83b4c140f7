//! The files that the viewer of an embed shows, or the state of their conversion.

use super::error::ApiError;
use super::record_forms::RelatedRows;
use crate::formats;
use crate::service::app::App;
use crate::service::records::{Area, EmbedSource, JobState};
use crate::wire::{AssetId, Downloads, ModelId, SignedUrl};

/// The model of an embed.
#[derive(Debug)]
pub enum Model {
    Ready(Files),
    /// The glb is being converted.
    Pending,
    /// There is no glb; with the reason, if it is known.
    None(Option<String>),
}

#[derive(Debug)]
pub struct Files {
    pub glb: SignedUrl,
    /// For AR on phones that need usdz.
    pub usdz: Option<SignedUrl>,
}

impl Files {
    fn among(downloads: &Downloads) -> Option<Files> {
        let of_format = |format: &str| {
            let found = downloads
                .iter()
                .find(|(name, _)| formats::extension(name) == format);
            found.map(|(_, url)| url.clone())
        };
        Some(Files {
            glb: of_format("glb")?,
            usdz: of_format("usdz"),
        })
    }
}

pub async fn of_source(app: &App, source: EmbedSource) -> Result<Model, ApiError> {
    match source {
        EmbedSource::Rapid(rapid) => {
            let exports = RelatedRows::area(app, ModelId::Rapid(rapid), Area::Export).await?;
            Ok(Files::among(&exports).map_or(Model::None(None), Model::Ready))
        }
        EmbedSource::Asset(asset) => of_asset(app, asset).await,
    }
}

/// The model of a base asset: the upload itself if it is one glb file, otherwise its conversion to glb. A viewer can
/// load neither several files nor an archive.
pub async fn of_asset(app: &App, asset: AssetId) -> Result<Model, ApiError> {
    let owner = ModelId::Asset(asset);
    let related = RelatedRows::read(app, &[owner]).await?;
    let uploaded = related.downloads(app, owner, Area::Source);
    let converted = related.downloads(app, owner, Area::Converted);
    let whole = Some(&uploaded).filter(|files| files.iter().count() == 1);
    let found = whole
        .and_then(Files::among)
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
