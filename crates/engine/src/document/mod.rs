//! A glTF document as in its file: ordered JSON and the bytes of its buffers.
//!
//! The JSON is not changed, so unknown parts pass through. Opening checks the container, the lengths of buffers and
//! views and every reference between objects; after that an index read from the document is known to be in range. The
//! meaning of the objects is left to the importer.

mod accessor;
mod check;
mod cursor;
mod element;
mod error;
pub mod glb;
mod gltf_file;
pub mod uri;

use std::fs;
use std::path::Path;

use bytes::Bytes;
use serde_json::Value;

pub use accessor::{AccessorInfo, Accessors};
pub use cursor::Cursor;
pub use element::{ComponentType, ElementType};
pub use error::DocumentError;
pub use gltf_file::Document;

use assetfs_formats::input_files::InputFiles;
use assetfs_formats::number_text::grouped;

/// The longest JSON text that is parsed. The parser itself limits the depth.
const MAX_JSON_LEN_BYTES: usize = 512 << 20;

impl Document {
    /// Opens the file `relative` in the folder `root`.
    ///
    /// # Errors
    /// When the file, its JSON, its buffers or a reference in it is damaged or missing.
    pub fn open(root: &Path, relative: &Path) -> Result<Document, DocumentError> {
        let path = root.join(relative);
        let bytes = fs::read(&path).map_err(|source| DocumentError::Io { path, source })?;
        let file = relative
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        Document::from_bytes(root, relative, file, Bytes::from(bytes))
    }

    fn from_bytes(
        root: &Path,
        relative: &Path,
        file: String,
        bytes: Bytes,
    ) -> Result<Document, DocumentError> {
        let len_bytes = bytes.len() as u64;
        let is_named_glb = relative
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("glb"));
        let (text, bin) = if glb::is_glb(&bytes) || is_named_glb {
            let parts = glb::split(&file, &bytes)?;
            (parts.json, parts.bin)
        } else {
            (bytes, None)
        };
        let json = parse(&file, &text)?;
        let mut document = Document {
            file,
            files: InputFiles::new(root),
            relative: relative.to_owned(),
            json,
            buffers: Vec::new(),
            fallbacks: Vec::new(),
            len_bytes,
            decoded_views: Vec::new(),
        };
        document.check_version()?;
        document.load_buffers(bin)?;
        check::check(&document)?;
        Ok(document)
    }

    fn check_version(&self) -> Result<(), DocumentError> {
        let top = self.top();
        top.members()
            .map_err(|_| self.not_gltf("is not a glTF file: its JSON is not an object"))?;
        let Some(asset) = top.get("asset") else {
            return Err(self.not_gltf("is not a glTF file: it has no \"asset\""));
        };
        let version = asset.require("version")?.text()?.to_owned();
        if version.split('.').next() == Some("2") {
            return Ok(());
        }
        Err(DocumentError::Version {
            file: self.file.clone(),
            version,
        })
    }

    fn not_gltf(&self, what: &str) -> DocumentError {
        DocumentError::Invalid {
            file: self.file.clone(),
            path: "the file".to_owned(),
            what: what.to_owned(),
        }
    }

    fn load_buffers(&mut self, bin: Option<Bytes>) -> Result<(), DocumentError> {
        let mut buffers = Vec::new();
        let mut outer_bytes = 0;
        self.fallbacks = self.fallbacks()?;
        for (index, at) in self.top().list("buffers")?.into_iter().enumerate() {
            let declared = at.require("byteLength")?.number()?;
            let bytes = match at.get("uri") {
                Some(uri) => match self.read_uri(&uri, uri.text()?) {
                    Ok((bytes, media_type)) => {
                        if media_type.is_none() {
                            outer_bytes += bytes.len() as u64;
                        }
                        bytes
                    }
                    Err(DocumentError::MissingFile { .. }) if self.is_fallback(index) => {
                        Bytes::new()
                    }
                    Err(error) => return Err(error),
                },
                None => match &bin {
                    Some(bin) if index == 0 => bin.clone(),
                    // A buffer that only compression extensions fill has no bytes of its own.
                    _ if self.is_fallback(index) => Bytes::new(),
                    _ => {
                        return Err(at.invalid("has no data: neither a \"uri\" nor a binary chunk"));
                    }
                },
            };
            if bytes.len() < declared && !self.is_fallback(index) {
                return Err(self.short_buffer(&at, declared, bytes.len()));
            }
            let length = declared.min(bytes.len());
            buffers.push(bytes.slice(..length));
        }
        self.buffers = buffers;
        self.len_bytes += outer_bytes;
        Ok(())
    }

    /// For each buffer, whether it needs no data: it is marked as a fallback, or all its views are packed, because not all
    /// programs write the mark.
    fn fallbacks(&self) -> Result<Vec<bool>, DocumentError> {
        let buffers = self.top().list("buffers")?;
        let mut views = vec![(0, 0); buffers.len()];
        for view in self.top().list("bufferViews")? {
            let buffer = view.require("buffer")?.index_of(buffers.len(), "buffer")?;
            let (all, packed) = &mut views[buffer];
            *all += 1;
            *packed += u32::from(is_packed(&view));
        }
        let needs_none = |(buffer, (all, packed)): (&Cursor<'_>, &(u32, u32))| {
            is_packed(buffer) || *all > 0 && all == packed
        };
        Ok(buffers.iter().zip(&views).map(needs_none).collect())
    }

    fn short_buffer(&self, at: &Cursor<'_>, declared: usize, actual: usize) -> DocumentError {
        let name = match at.get("uri").and_then(|uri| uri.value().as_str()) {
            Some(uri) if !uri.starts_with("data:") => format!("\"{uri}\""),
            Some(_) => "its data URI".to_owned(),
            None => "the binary chunk".to_owned(),
        };
        at.invalid(format!(
            "is truncated: byteLength says {} bytes, {name} has {}",
            grouped(declared as u64),
            grouped(actual as u64)
        ))
    }
}

/// Whether a view, or a buffer as a whole, has a compression extension that replaces its bytes.
fn is_packed(at: &Cursor<'_>) -> bool {
    ["EXT_meshopt_compression", "KHR_meshopt_compression"]
        .iter()
        .any(|name| at.extension(name).is_some())
}

fn parse(file: &str, text: &[u8]) -> Result<Value, DocumentError> {
    let syntax = |what: String, line, column| DocumentError::Syntax {
        file: file.to_owned(),
        what,
        line,
        column,
    };
    if text.len() > MAX_JSON_LEN_BYTES {
        return Err(syntax("the text is too long".to_owned(), 1, 1));
    }
    // Some exporters begin with a byte order mark; some pad the chunk with zeros instead of spaces.
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let end = text
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1);
    if end == 0 {
        return Err(syntax("the file is empty".to_owned(), 1, 1));
    }
    serde_json::from_slice(&text[..end]).map_err(|error| {
        let full = error.to_string();
        let what = full.split(" at line ").next().unwrap_or(&full).to_owned();
        syntax(what, error.line(), error.column())
    })
}
