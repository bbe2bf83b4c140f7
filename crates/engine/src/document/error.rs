//! Errors in glTF and GLB files, for the user who exported the file.

use std::path::PathBuf;

use assetfs_formats::number_text::grouped;

/// Why a document cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// The file ends before its header says.
    #[error("{file} is truncated: the header says {} bytes, the file has {}", grouped(*declared), grouped(*actual))]
    Truncated {
        file: String,
        /// The length in the header.
        declared: u64,
        /// The length on disk.
        actual: u64,
    },
    /// The container is damaged in another way.
    #[error("{file} is not a valid GLB file: {what}")]
    Container { file: String, what: String },
    /// The JSON text does not parse.
    #[error("{file} is not valid JSON: {what} (line {line}, column {column})")]
    Syntax {
        file: String,
        /// The message of the parser.
        what: String,
        line: usize,
        column: usize,
    },
    /// A value is missing, of the wrong kind or out of range.
    #[error("{file}: {path} {what}")]
    Invalid {
        file: String,
        /// The position in the JSON, such as `meshes[0].primitives[1].indices`.
        path: String,
        /// The fault, as the end of a sentence that begins with the path.
        what: String,
    },
    /// A file that the document refers to does not exist.
    #[error(
        "{file}: {path} needs the file \"{name}\", which is not among the uploaded files; add it beside the model"
    )]
    MissingFile {
        file: String,
        path: String,
        /// The reference as a path: decoded, as the file would be called.
        name: String,
    },
    /// A reference that could mean several files.
    #[error(
        "{file}: {path} needs the file \"{name}\", and {why}; put the right one beside the model"
    )]
    AmbiguousFile {
        file: String,
        path: String,
        /// The reference as a path.
        name: String,
        /// The files, as a sentence.
        why: String,
    },
    /// An image has no bytes.
    #[error("{file}: {path}{} is an empty image; export the model again, or replace the image", named(name.as_deref()))]
    EmptyImage {
        file: String,
        path: String,
        /// The file of the image, if it has one.
        name: Option<String>,
    },
    /// A reference leads out of the upload.
    #[error("{file}: {path} refers to \"{uri}\", which is outside of the uploaded files")]
    OutsideFile {
        file: String,
        path: String,
        uri: String,
    },
    /// The file has an unsupported version of the format.
    #[error("{file} is glTF version {version}; only version 2 can be read")]
    Version {
        file: String,
        /// The version that the file declares.
        version: String,
    },
    #[error("{path}: {source}", path = path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
}

fn named(file: Option<&str>) -> String {
    file.map(|file| format!(" (\"{file}\")"))
        .unwrap_or_default()
}
