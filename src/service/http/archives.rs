//! Zip downloads: the files of an asset, and presets in the formats of the API and of the command line.

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use jiff::Timestamp;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;

use super::body::Fields;
use super::error::ApiError;
use super::preset::{self, stored_config};
use super::rapidmodel;
use super::rawmodel;
use super::request::ApiCall;
use crate::service::app::App;
use crate::service::archive::{Content, Entry, Pack};
use crate::service::names::file_stem;
use crate::service::presets::{self, RPDX_VERSION};
use crate::service::records::Area;
use crate::wire::{ModelId, OptimizerConfig};

/// A named configuration.
struct Named {
    name: String,
    description: String,
    config: OptimizerConfig,
    modified: Timestamp,
}

impl Named {
    /// The body with which the API creates this preset.
    fn api_form(&self) -> Entry {
        let value = json!({
            "name": self.name,
            "description": self.description,
            "config": self.config.0,
        });
        let name = format!("{}.api.json", file_stem(&self.name));
        Entry::of_bytes(&name, pretty(&value), self.modified)
    }

    /// The preset file of the command line, and a text with an example command.
    fn command_form(&self) -> Vec<Entry> {
        let stem = file_stem(&self.name);
        let value = json!({
            "rpdx_version": RPDX_VERSION,
            "name": self.name,
            "description": self.description,
            "config": self.config.0,
        });
        let command = format!(
            "# INPUT is a model file, a zip or a folder; OUTPUT is the folder for the results.\n\
             assetfs optimize INPUT OUTPUT --preset={}\n",
            quoted(&format!("{stem}.rpdx"))
        );
        vec![
            Entry::of_bytes(&format!("{stem}.rpdx"), pretty(&value), self.modified),
            Entry::of_bytes("commands.txt", command, self.modified),
        ]
    }
}

fn pretty(value: &serde_json::Value) -> String {
    format!("{value:#}\n")
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Sends an archive.
fn send(app: &App, name: &str, entries: Vec<Entry>) -> Response {
    let pack = Pack::new(entries);
    let encoded =
        utf8_percent_encode(&format!("{}.zip", file_stem(name)), NON_ALPHANUMERIC).to_string();
    let disposition = format!("attachment; filename=\"archive.zip\"; filename*=UTF-8''{encoded}");
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("application/zip")),
        (CONTENT_LENGTH, HeaderValue::from(pack.len_bytes())),
        (
            CONTENT_DISPOSITION,
            HeaderValue::try_from(disposition).expect("encoded text is a header value"),
        ),
    ];
    (
        headers,
        Body::from_stream(pack.into_stream(app.files.clone())),
    )
        .into_response()
}

pub async fn asset(call: ApiCall) -> Result<Response, ApiError> {
    let row = rawmodel::existing(&call, call.ids.asset()?).await?;
    let owner = ModelId::Asset(row.id);
    let files = call.records().files().list(&[owner]).await?;
    let entries: Vec<Entry> = files
        .into_iter()
        .filter(|file| file.area == Area::Source)
        .filter_map(|file| {
            Some(Entry {
                content: Content::Blob(file.blob?),
                name: file.name,
                size: file.size,
                crc32: file.crc32,
                modified: file.modified_at,
            })
        })
        .collect();
    if entries.is_empty() {
        return Err(ApiError::NotFound(
            "No file of this base asset has been uploaded.".to_owned(),
        ));
    }
    Ok(send(&call.app, &row.name, entries))
}

/// A factory preset, or a preset of the caller.
async fn named(call: &ApiCall) -> Result<Named, ApiError> {
    let id = call.ids.preset()?;
    if let Some(preset) = presets::factory(id) {
        return Ok(Named {
            name: preset.name.to_owned(),
            description: preset.description.to_owned(),
            config: preset.config(),
            modified: call.app.clock.now(),
        });
    }
    let row = preset::existing(call, id).await?;
    Ok(Named {
        config: stored_config(&row.config)?,
        name: row.name,
        description: row.description,
        modified: row.updated_at,
    })
}

pub async fn preset_both(call: ApiCall) -> Result<Response, ApiError> {
    let named = named(&call).await?;
    Ok(send_both(&call.app, &named))
}

fn send_both(app: &App, named: &Named) -> Response {
    let mut entries = vec![named.api_form()];
    entries.extend(named.command_form());
    send(app, &named.name, entries)
}

pub async fn preset_command(call: ApiCall) -> Result<Response, ApiError> {
    let named = named(&call).await?;
    Ok(send(&call.app, &named.name, named.command_form()))
}

pub async fn config_command(call: ApiCall, mut fields: Fields) -> Result<Response, ApiError> {
    let config = fields.config("config");
    fields.leave_out_preset_fields();
    fields.finish()?;
    let named = Named {
        name: "preset".to_owned(),
        description: String::new(),
        config,
        modified: call.app.clock.now(),
    };
    Ok(send(&call.app, &named.name, named.command_form()))
}

pub async fn rapid_preset(call: ApiCall) -> Result<Response, ApiError> {
    let row = rapidmodel::named(&call).await?;
    let named = Named {
        config: stored_config(&row.config)?,
        name: row.preset_name.unwrap_or(row.name),
        description: String::new(),
        modified: row.created_at,
    };
    Ok(send_both(&call.app, &named))
}
