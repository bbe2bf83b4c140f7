//! The calls of an upload: start, complete, retry, abandon. `storage` receives the files.
//!
//! Completing is idempotent: a second call changes nothing and returns the asset.

use axum::Json;
use axum::http::StatusCode;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::body::Fields;
use super::error::ApiError;
use super::rawmodel;
use super::request::{ApiCall, JsonReply};
use crate::service::ids::hex;
use crate::service::names;
use crate::service::records::{Abandoned, Completion, NewAsset};
use crate::wire::paths::{fill, route};
use crate::wire::{AssetForm, AssetId, UploadLinks, UploadStarted, UploadStatus};
use assetfs_formats as formats;

/// Maximum number of missing files that a message names.
const NAMED_FILES: usize = 20;

/// A hash of an idempotency or join key of the client and of the request, so that the same key with another request starts
/// another upload.
fn key_of_start(key: &str, name: &str, filenames: &[String], is_zip: bool) -> String {
    let asked = json!([key, name, filenames, is_zip]).to_string();
    hex(&Sha256::digest(asked.as_bytes()))
}

pub async fn start(call: ApiCall, mut fields: Fields) -> Result<Json<UploadStarted>, ApiError> {
    let name = fields.name("model_name");
    let filenames = file_names(&mut fields);
    let is_zip = fields.optional_flag("is_zip");
    let is_zip = is_zip.unwrap_or_else(|| is_one_zip(&filenames));
    if is_zip && filenames.len() > 1 {
        fields.refuse(
            "filenames",
            "must name one file, the archive, when is_zip is true",
        );
    }
    fields.finish()?;
    let key_of = |key: &Option<String>| {
        let key = key.as_deref()?;
        Some(key_of_start(key, &name, &filenames, is_zip))
    };
    let (start_key, join_key) = (key_of(&call.request_key), key_of(&call.join_key));
    let (main_file, format) = names::main_file(&filenames);
    let new = NewAsset {
        name: &name,
        filenames: &filenames,
        is_zip,
        format: &format,
        main_file,
        start_key: start_key.as_deref(),
        join_key: join_key.as_deref(),
        token: call.token,
    };
    begin(&call, &new, route::COMPLETE_UPLOAD).await
}

pub(super) fn file_names(fields: &mut Fields) -> Vec<String> {
    let had = fields.has("filenames");
    let filenames = fields.texts("filenames");
    if had
        && !fields.is_refused("filenames")
        && let Err(problem) = names::check_file_names(&filenames)
    {
        fields.refuse("filenames", &format!("is not accepted: {problem}"));
    }
    filenames
}

/// Whether an upload without `is_zip` is an archive to unpack.
pub(super) fn is_one_zip(filenames: &[String]) -> bool {
    matches!(filenames, [name] if formats::extension(name) == "zip")
}

/// Creates an asset, or finds that of the same upload, and replies with one URL for each of its files. `complete` is the template of the path that completes
/// the upload.
pub(super) async fn begin(
    call: &ApiCall,
    new: &NewAsset<'_>,
    complete: &str,
) -> Result<Json<UploadStarted>, ApiError> {
    let begun = call.records().assets().create(call.user, new).await?;
    let id = begun.asset;
    let url = |(name, file): (String, _)| {
        let url = call.app.upload_url(id, file, &name);
        (name, url)
    };
    Ok(Json(UploadStarted {
        id,
        joined: new.join_key.map(|_| begun.joined),
        links: UploadLinks {
            s3_upload_urls: begun.files.into_iter().map(url).collect(),
            complete_upload: Some(call.app.url(&fill(complete, &[&id]))),
            other: Default::default(),
        },
        other: Default::default(),
    }))
}

/// Completes an upload. Does nothing if it is already complete.
pub(super) async fn finish(call: &ApiCall, id: AssetId) -> Result<(), ApiError> {
    let completion = match call.app.files.arrived(id).await? {
        Some(arrived) => {
            let incoming = call.records().incoming();
            incoming.complete(call.user, id, &arrived).await?
        }
        None => call.records().imports().start(call.user, id).await?,
    };
    match completion {
        Completion::Started => call.app.queue.announce(),
        Completion::Before => {}
        Completion::Gone => return Err(ApiError::no("base asset")),
        Completion::NoRoom => {
            let message = "The upload is larger than the remaining storage.";
            return Err(ApiError::TooLarge(message.to_owned()));
        }
        Completion::Missing(names) => return Err(missing(&names)),
    }
    Ok(())
}

pub async fn complete(call: ApiCall) -> JsonReply {
    let id = call.ids.asset()?;
    finish(&call, id).await?;
    let data = rawmodel::written(&call, id, AssetForm::UploadComplete).await?;
    Ok(Json(json!({ "data": data })))
}

fn missing(names: &[String]) -> ApiError {
    let mut named: Vec<String> = names.iter().take(NAMED_FILES).cloned().collect();
    let more = names.len() - named.len();
    if more > 0 {
        named.push(format!("{more} more"));
    }
    ApiError::Invalid {
        message: format!("Not all files are uploaded yet: {}.", named.join(", ")),
        errors: [("files".to_owned(), named)].into(),
    }
}

/// Gives up an upload that other clients may have joined.
pub async fn abandon(call: ApiCall) -> Result<StatusCode, ApiError> {
    let id = call.ids.asset()?;
    match call.records().assets().abandon(call.user, id).await? {
        Abandoned::Deleted(removal) => {
            call.app.clear_away(removal).await;
            Ok(StatusCode::OK)
        }
        Abandoned::Gone => Err(ApiError::no("base asset")),
        Abandoned::Joined => Err(ApiError::Conflict(
            "Another client sends the same upload, so it stays.".to_owned(),
        )),
    }
}

pub async fn retry(call: ApiCall) -> JsonReply {
    let id = call.ids.asset()?;
    let asset = rawmodel::existing(&call, id).await?;
    if !call.records().imports().retry(call.user, id).await? {
        let message = match asset.status {
            UploadStatus::Incomplete => "The upload is not complete yet.",
            _ => "The import has not failed.",
        };
        return Err(ApiError::field("id", message));
    }
    call.app.queue.announce();
    let data = rawmodel::written(&call, id, AssetForm::UploadComplete).await?;
    Ok(Json(json!({ "data": data })))
}
