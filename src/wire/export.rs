//! Files of a rapid model: downloads, exports, and lists of formats.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::lenient::{self, Other};
use super::secret::SignedUrl;
use super::upload::Downloads;

/// The files of a rapid model: one URL per format, and under `all` every file by its name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RapidDownloads {
    /// The main file of each format.
    pub formats: Downloads,
    /// Every file by its name.
    pub all: Downloads,
}

impl Serialize for RapidDownloads {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entries = self
            .formats
            .iter()
            .map(|(name, url)| (name, Entry::File(url)));
        serializer.collect_map(entries.chain([("all", Entry::All(&self.all))]))
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Entry<'a> {
    File(&'a SignedUrl),
    All(&'a Downloads),
}

impl<'de> Deserialize<'de> for RapidDownloads {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Value::Object(mut map) = Value::deserialize(deserializer)? else {
            return Ok(Self::default());
        };
        let all = Downloads::from_value(map.remove("all").unwrap_or_default());
        Ok(Self {
            formats: Downloads::from_value(Value::Object(map)),
            all,
        })
    }
}

/// The exports of a rapid model by file name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ExportList(#[serde(deserialize_with = "exports")] pub BTreeMap<String, ExportFile>);

fn exports<'de, D: Deserializer<'de>>(d: D) -> Result<BTreeMap<String, ExportFile>, D::Error> {
    let Value::Object(map) = Value::deserialize(d)? else {
        return Ok(BTreeMap::new());
    };
    let read = |(name, value)| Some((name, serde_json::from_value(value).ok()?));
    Ok(map.into_iter().filter_map(read).collect())
}

/// One export of a rapid model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExportFile {
    pub download: SignedUrl,
    /// Only for glb and gltf.
    #[serde(default, deserialize_with = "lenient::field")]
    pub info: Option<ExportInfo>,
}

/// Details of an export.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ExportInfo {
    #[serde(default, deserialize_with = "lenient::field")]
    pub images: Vec<ExportImage>,
    #[serde(flatten)]
    pub other: Other,
}

/// An image in an export.
#[serde_with::apply(_ => #[serde(default, deserialize_with = "lenient::field")])]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExportImage {
    /// Colour channels.
    pub channels: u64,
    /// Bytes in the file.
    pub compressed_byte_size: u64,
    /// Pixels.
    pub height: u64,
    /// Pixels.
    pub width: u64,
    /// Its type, such as `image/png`.
    pub mimetype: String,
    /// Material slot that uses it.
    pub slot: String,
    #[serde_with(skip_apply)]
    #[serde(flatten)]
    pub other: Other,
}

/// A list of formats that the API sends as text. Read from a JSON text, from names separated by commas or
/// spaces, or from a list; written as a JSON text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FormatList(pub Vec<String>);

impl FormatList {
    fn from_text(text: &str) -> Self {
        if let Ok(formats) = serde_json::from_str(text) {
            return Self(formats);
        }
        let names = text.split(|c: char| c.is_whitespace() || ",;[]\"'".contains(c));
        Self(
            names
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
                .collect(),
        )
    }
}

impl Serialize for FormatList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = serde_json::to_string(&self.0).map_err(serde::ser::Error::custom)?;
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for FormatList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Value::deserialize(deserializer)? {
            Value::String(text) => Self::from_text(&text),
            value => Self(lenient::items(value).0),
        })
    }
}

super::lenient::by_deserialize!(ExportInfo, FormatList, RapidDownloads);
