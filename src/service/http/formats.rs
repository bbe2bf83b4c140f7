//! Conversions of base assets, and the quality-control reports of rapid models.

use axum::Json;
use serde_json::json;

use super::body::Fields;
use super::error::ApiError;
use super::rapidmodel;
use super::rawmodel;
use super::record_forms;
use super::request::{ApiCall, JsonReply};
use crate::service::records::{
    Conversion, ConversionRow, JobState, UnfinishedConversion, Uploaded,
};
use crate::wire::{self, ConversionJob, ConversionStatus, FormatsAdded};
use assetfs_formats::FileFormat;

pub async fn add(call: ApiCall, mut fields: Fields) -> Result<Json<FormatsAdded>, ApiError> {
    let id = call.ids.asset()?;
    let mut asked = fields.texts("formats");
    asked
        .iter_mut()
        .for_each(|format| *format = format.to_lowercase());
    asked.sort_unstable();
    asked.dedup();
    let unknown = asked
        .iter()
        .find(|format| !FileFormat::NAMES.contains(&format.as_str()));
    if let Some(unknown) = unknown {
        let known = FileFormat::NAMES.join(", ");
        fields.refuse(
            "formats",
            &format!("has {unknown:?}, which is not one of {known}"),
        );
    } else if asked.is_empty() {
        fields.refuse("formats", "must name at least one format");
    }
    fields.finish()?;
    let conversions = call.records().conversions();
    let starting = conversions.start(call.user, id, &asked, Uploaded::Counts);
    match starting.await? {
        Conversion::Queued => {}
        Conversion::Existing(existing) => {
            return Err(ApiError::BadRequest(format!(
                "The model already has these formats: {}.",
                existing.join(", ")
            )));
        }
        Conversion::NoRoom => return Err(ApiError::no_storage()),
        Conversion::NotComplete => {
            return Err(ApiError::field("id", "The base asset is not complete."));
        }
        Conversion::Gone => return Err(ApiError::no("base asset")),
    }
    call.app.queue.announce();
    Ok(Json(FormatsAdded {
        message: "The conversion has started.".to_owned(),
        formats: asked,
        other: Default::default(),
    }))
}

/// The conversions of the last week that wait, run or have failed, of all models of the caller, newest first. The API tells
/// those of one model only.
pub const UNFINISHED: &str = "/page/conversions.json";

pub async fn unfinished(call: ApiCall) -> JsonReply {
    let since = call.app.clock.now() - rawmodel::JOBS_WINDOW;
    let conversions = call.records().conversions();
    let rows = conversions.list_unfinished(call.user, since).await?;
    let line = |row: UnfinishedConversion| {
        let job = job_of(row.conversion);
        json!({ "model_id": row.asset, "model": row.name, "created_at": wire::Timestamp::from(row.created_at), "job": job })
    };
    let data: Vec<_> = rows.into_iter().map(line).collect();
    Ok(Json(json!({ "data": data })))
}

pub async fn processed(call: ApiCall) -> Result<Json<Vec<ConversionJob>>, ApiError> {
    let id = call.ids.asset()?;
    rawmodel::existing(&call, id).await?;
    let conversions = call.records().conversions().list(id).await?;
    Ok(Json(conversions.into_iter().map(job_of).collect()))
}

fn job_of(conversion: ConversionRow) -> ConversionJob {
    let mut other = serde_json::Map::new();
    if let Some(message) = conversion.message {
        other.insert("message".to_owned(), message.into());
    }
    ConversionJob {
        progress: conversion.progress,
        status: match conversion.state {
            JobState::Queued => ConversionStatus::Queued,
            JobState::Running => ConversionStatus::Executing,
            JobState::Finished => ConversionStatus::Finished,
            JobState::Failed => ConversionStatus::Failed,
        },
        formats: conversion.formats,
        other,
    }
}

pub async fn quality(call: ApiCall) -> JsonReply {
    let row = rapidmodel::named(&call).await?;
    let format = call.ids.text("format").to_lowercase();
    let none = || {
        ApiError::PlainNotFound(format!(
            "There is no quality-control report for {format} of this rapid model."
        ))
    };
    let report = record_forms::report(&row).ok_or_else(none)?;
    let export = report
        .exports
        .iter()
        .find(|export| export.format == format)
        .ok_or_else(none)?;
    Ok(Json(json!({
        "rapidmodel_id": row.id,
        "format": format,
        "file": export.name,
        "files": export.parts,
        "size": export.size_bytes,
        "maxScore": export.quality.map(|quality| quality.max_score),
        "avgScore": export.quality.map(|quality| quality.avg_score),
        "source": report.source,
        "result": report.result,
        "warnings": report.warnings,
    })))
}
