//! An opened glTF or GLB file: its JSON and the bytes of its buffers.

use std::fs;
use std::path::PathBuf;

use bytes::Bytes;
use serde_json::Value;

use super::cursor::Cursor;
use super::error::DocumentError;
use super::uri;
use assetfs_formats::input_files::{InputFiles, UriTarget};
use assetfs_formats::number_text::grouped;

/// An opened glTF or GLB file.
#[derive(Debug)]
pub struct Document {
    pub(super) file: String,
    pub(super) files: InputFiles,
    pub(super) relative: PathBuf,
    pub(super) json: Value,
    pub(super) buffers: Vec<Bytes>,
    /// For each buffer, whether it needs no data because compression extensions contain all its views.
    pub(super) fallbacks: Vec<bool>,
    /// Bytes of the file and of the files that its buffers name.
    pub(super) len_bytes: u64,
    /// The unpacked bytes of views that a compression extension packed.
    pub(super) decoded_views: Vec<Option<Bytes>>,
}

impl Document {
    /// The name of the file, for messages.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Bytes of the file and of the files that its buffers name.
    pub fn len_bytes(&self) -> u64 {
        self.len_bytes
    }

    pub fn json(&self) -> &Value {
        &self.json
    }

    /// The top-level object of the JSON.
    pub fn top(&self) -> Cursor<'_> {
        Cursor::new(&self.file, String::new(), &self.json)
    }

    /// The number of objects in the top-level array `list`.
    pub fn count(&self, list: &str) -> usize {
        self.json[list].as_array().map_or(0, Vec::len)
    }

    /// The object `index` of the top-level array `list`.
    pub fn item(&self, list: &str, index: usize) -> Result<Cursor<'_>, DocumentError> {
        let path = format!("{list}[{index}]");
        match self.json[list].get(index) {
            Some(value) => Ok(Cursor::new(&self.file, path, value)),
            None => Err(DocumentError::Invalid {
                file: self.file.clone(),
                path,
                what: "is referred to but does not exist".to_owned(),
            }),
        }
    }

    pub fn view_bytes(&self, view: usize) -> Result<Bytes, DocumentError> {
        if let Some(Some(decoded)) = self.decoded_views.get(view) {
            return Ok(decoded.clone());
        }
        let at = self.item("bufferViews", view)?;
        let buffer = at
            .require("buffer")?
            .index_of(self.buffers.len(), "buffer")?;
        let offset = at.number_or("byteOffset", 0)?;
        let length = at.require("byteLength")?.number()?;
        let bytes = &self.buffers[buffer];
        match offset.checked_add(length) {
            Some(end) if end <= bytes.len() => Ok(bytes.slice(offset..end)),
            _ => Err(at.invalid(format!(
                "ends after its buffer: {} bytes from {} do not fit into {} bytes",
                grouped(length as u64),
                grouped(offset as u64),
                grouped(bytes.len() as u64)
            ))),
        }
    }

    pub fn buffer(&self, index: usize) -> Option<&Bytes> {
        self.buffers.get(index)
    }

    /// Sets the unpacked bytes of a packed view.
    pub fn set_decoded_view(&mut self, view: usize, bytes: Bytes) {
        if self.decoded_views.len() <= view {
            self.decoded_views.resize(view + 1, None);
        }
        self.decoded_views[view] = Some(bytes);
    }

    /// The bytes and media type of the `uri` at `at`.
    pub fn read_uri(
        &self,
        at: &Cursor<'_>,
        uri: &str,
    ) -> Result<(Bytes, Option<String>), DocumentError> {
        if let Some(decoded) = uri::data_uri(uri) {
            let (bytes, media_type) = decoded.map_err(|what| at.invalid(what))?;
            return Ok((Bytes::from(bytes), Some(media_type)));
        }
        let target = self.files.resolve(&self.relative, uri);
        let error = match target {
            UriTarget::File(path) => {
                let bytes = fs::read(&path).map_err(|source| DocumentError::Io { path, source })?;
                return Ok((Bytes::from(bytes), None));
            }
            UriTarget::Outside => DocumentError::OutsideFile {
                file: self.file.clone(),
                path: at.path().to_owned(),
                uri: uri.to_owned(),
            },
            UriTarget::Missing => DocumentError::MissingFile {
                file: self.file.clone(),
                path: at.path().to_owned(),
                name: uri::decoded(uri),
            },
            UriTarget::Several(_) => DocumentError::AmbiguousFile {
                file: self.file.clone(),
                path: at.path().to_owned(),
                name: uri::decoded(uri),
                why: target.absence().unwrap_or_default(),
            },
        };
        Err(error)
    }

    pub(super) fn is_fallback(&self, buffer: usize) -> bool {
        self.fallbacks.get(buffer).is_some_and(|is_one| *is_one)
    }
}
