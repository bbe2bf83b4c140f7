//! What is wrong with a layer that the library cannot read, in plain words. The library's own words speak of its parser.

use std::fs;
use std::path::Path;

use openusd::usda::parser::Parser;

use super::crate_check::MAGIC;
use super::old_text;
use assetfs_formats::text::decoded;
use assetfs_formats::{self as formats, extension};

/// The first word of a layer as text.
const TEXT_MARK: &[u8] = b"#usda";

/// What is wrong with the file of a layer.
pub(super) fn of_layer(path: &Path) -> String {
    if !is_named_as_layer(&path.to_string_lossy()) {
        return "it is not a USD file".to_owned();
    }
    match fs::read(path) {
        Ok(bytes) => of_bytes(&bytes, &extension(&path.to_string_lossy())),
        Err(error) => error.to_string(),
    }
}

/// Whether a name is one of a layer or of a package of layers.
pub(super) fn is_named_as_layer(name: &str) -> bool {
    let name = name.strip_suffix(']').unwrap_or(name);
    formats::of_name(name).is_some_and(|format| format.extension.starts_with("usd"))
}

fn of_bytes(bytes: &[u8], extension: &str) -> String {
    let is_binary = bytes.starts_with(MAGIC);
    if bytes.is_empty() {
        "the file is empty".to_owned()
    } else if is_binary && extension != "usda" {
        "the binary layer is damaged or cut off".to_owned()
    } else if is_binary {
        "it is a binary layer with the extension of a layer of text".to_owned()
    } else if extension == "usdc" {
        "it does not begin like a binary layer".to_owned()
    } else if !is_text(bytes) {
        "it does not begin with #usda".to_owned()
    } else {
        of_text(bytes)
    }
}

/// Whether a layer begins like one of text.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    bytes.starts_with(TEXT_MARK)
}

fn of_text(bytes: &[u8]) -> String {
    let text = decoded(bytes);
    let modern = old_text::modern(text.as_bytes()).and_then(|text| String::from_utf8(text).ok());
    let mut parser = Parser::new(modern.as_deref().unwrap_or(&text));
    let place = match parser.parse() {
        Ok(_) => None,
        Err(_) => parser.last_error_highlight(),
    };
    match place {
        Some(place) => format!(
            "its text is damaged or cut off at line {}, column {}",
            place.line, place.column
        ),
        None => "its text cannot be understood".to_owned(),
    }
}
