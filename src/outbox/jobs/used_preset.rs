//! The preset that a result was made with, which the service gives as a zip. By it a result without a note is recognized:
//! one that was made on the page, by another program, or by an earlier version.

use std::io::{Cursor, Read as _};

use futures_util::StreamExt as _;
use zip::ZipArchive;

use crate::client::{ClientError, Priority};
use crate::outbox::jobs::parts::JobParts;
use crate::wire::{OptimizerConfig, PresetText, RapidId};

/// The largest zip of a preset, and the largest text in it, in bytes. A preset has at most 8 MB.
const MAX_BYTES: usize = 16 << 20;

/// The configuration that a result was made with; `None` if the service does not tell it in a form that is known.
///
/// # Errors
/// If the service does not answer, so that it may tell it later.
pub async fn used_config(
    parts: &JobParts,
    rapid: RapidId,
) -> Result<Option<OptimizerConfig>, ClientError> {
    match zip_of(parts, rapid).await {
        Ok(zip) => Ok(zip.and_then(|zip| config_in(&zip))),
        Err(error) if error.is_no_answer() || error.is_about_token() => Err(error),
        Err(error @ ClientError::RateLimited { .. }) => Err(error),
        Err(error) => {
            tracing::debug!(rapid = rapid.0, %error, "the preset of a result cannot be read");
            Ok(None)
        }
    }
}

async fn zip_of(parts: &JobParts, rapid: RapidId) -> Result<Option<Vec<u8>>, ClientError> {
    let rapids = parts.client.rapids();
    let mut download = rapids.preset_zip(rapid, Priority::Interactive).await?;
    let mut zip = Vec::new();
    while let Some(chunk) = download.stream.next().await {
        zip.extend_from_slice(&chunk?);
        if zip.len() > MAX_BYTES {
            return Ok(None);
        }
    }
    Ok(Some(zip))
}

/// The configuration of the first file in a zip that is a preset.
fn config_in(zip: &[u8]) -> Option<OptimizerConfig> {
    let mut archive = ZipArchive::new(Cursor::new(zip)).ok()?;
    (0..archive.len()).find_map(|number| {
        let file = archive.by_index(number).ok()?;
        let name = file.name().ok()?;
        if !PresetText::is_file_name(&name) {
            return None;
        }
        let mut text = Vec::new();
        file.take(MAX_BYTES as u64).read_to_end(&mut text).ok()?;
        let preset = PresetText::from_value(serde_json::from_slice(&text).ok()?).ok()?;
        (!preset.config.is_empty()).then_some(preset.config)
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    fn zip_with(files: &[(&str, &str)]) -> Vec<u8> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, text) in files {
            let options = SimpleFileOptions::default();
            zip.start_file(*name, options).expect("a new entry");
            zip.write_all(text.as_bytes()).expect("written to memory");
        }
        zip.finish().expect("written to memory").into_inner()
    }

    #[test]
    fn the_configuration_is_that_of_the_first_file_which_is_a_preset() {
        let ten = r#"{"name": "web", "config": {"limits": {"faces": {"percentage": 10}}}}"#;
        let files = [
            ("commands.txt", "assetfs optimize"),
            ("notes.json", "[1]"),
            ("web.api.json", ten),
        ];
        let found = config_in(&zip_with(&files)).expect("a configuration");
        let expected = r#"{"limits": {"faces": {"percentage": 10.0}}}"#;
        assert!(found.meaning_eq(&OptimizerConfig::parse(expected).unwrap()));
        assert_eq!(config_in(&zip_with(&files[..2])), None);
        assert_eq!(config_in(b"<html>"), None);
    }
}
