//! The calls of an upload: start, complete, retry. `storage` receives the files.
//!
//! Completing is idempotent: a second call changes nothing and returns the asset.

use axum::Json;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::body::Fields;
use super::error::ApiError;
use super::rawmodel;
use super::request::{ApiCall, JsonReply};
use crate::service::app::App;
use crate::service::ids::hex;
use crate::service::names;
use crate::service::records::{Completion, FileId, NewAsset};
use crate::wire::paths::{fill, route};
use crate::wire::{AssetForm, AssetId, Downloads, UploadLinks, UploadStarted, UploadStatus};
use assetfs_formats as formats;

/// Maximum number of missing files that a message names.
const NAMED_FILES: usize = 20;

/// A hash of the client's idempotency key and of the request, so that the same key with another request starts another
/// upload.
fn start_key(key: &str, name: &str, filenames: &[String], is_zip: bool) -> String {
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
    let key = call.request_key.as_deref();
    let key = key.map(|key| start_key(key, &name, &filenames, is_zip));
    let new = NewUpload {
        name: &name,
        filenames: &filenames,
        is_zip,
        key: key.as_deref(),
    };
    let (id, files) = create(&call, &new).await?;
    let complete = call.app.url(&fill(route::COMPLETE_UPLOAD, &[&id]));
    Ok(Json(started(&call.app, id, &filenames, &files, complete)))
}

pub(super) fn file_names(fields: &mut Fields) -> Vec<String> {
    let had = fields.has("filenames");
    let filenames = fields.texts("filenames");
    if had && let Err(problem) = names::check_file_names(&filenames) {
        fields.refuse("filenames", &format!("is not accepted: {problem}"));
    }
    filenames
}

/// Whether an upload without `is_zip` is an archive to unpack.
pub(super) fn is_one_zip(filenames: &[String]) -> bool {
    matches!(filenames, [name] if formats::extension(name) == "zip")
}

/// An upload that a client starts.
pub(super) struct NewUpload<'a> {
    pub(super) name: &'a str,
    pub(super) filenames: &'a [String],
    pub(super) is_zip: bool,
    /// See [`start_key`].
    pub(super) key: Option<&'a str>,
}

pub(super) async fn create(
    call: &ApiCall,
    upload: &NewUpload<'_>,
) -> Result<(AssetId, Vec<FileId>), ApiError> {
    let (main_file, format) = names::main_file(upload.filenames);
    let new = NewAsset {
        name: upload.name,
        filenames: upload.filenames,
        is_zip: upload.is_zip,
        format: &format,
        main_file,
        start_key: upload.key,
    };
    Ok(call.records().assets().create(call.user, &new).await?)
}

/// The reply to a start: one URL for each file.
pub(super) fn started(
    app: &App,
    id: AssetId,
    filenames: &[String],
    files: &[FileId],
    complete: String,
) -> UploadStarted {
    let url = |(name, &file): (&String, &FileId)| (name.clone(), app.upload_url(id, file, name));
    let urls: Downloads = filenames.iter().zip(files).map(url).collect();
    UploadStarted {
        id,
        links: UploadLinks {
            s3_upload_urls: urls,
            complete_upload: Some(complete),
            other: Default::default(),
        },
        other: Default::default(),
    }
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
