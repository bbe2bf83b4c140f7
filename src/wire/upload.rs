//! Starting an upload, and maps from file names to signed URLs.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::id::AssetId;
use super::secret::SignedUrl;
use super::{Other, lenient};

/// File names and where to get them. Read tolerantly: an empty list stands for an empty map, and an
/// entry without a URL is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Downloads(pub BTreeMap<String, SignedUrl>);

impl Downloads {
    /// The URL of a file.
    pub fn get(&self, name: &str) -> Option<&SignedUrl> {
        self.0.get(name)
    }

    /// All files in order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &SignedUrl)> {
        self.0.iter().map(|(name, url)| (name.as_str(), url))
    }

    /// Whether it names no file.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many files it names.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn from_value(value: Value) -> Self {
        let Value::Object(map) = value else {
            return Self::default();
        };
        map.into_iter()
            .filter_map(|(name, url)| Some((name, url_of(url)?)))
            .collect()
    }
}

fn url_of(value: Value) -> Option<SignedUrl> {
    match value {
        Value::String(url) if !url.is_empty() => Some(SignedUrl::new(url)),
        _ => None,
    }
}

impl FromIterator<(String, SignedUrl)> for Downloads {
    fn from_iter<I: IntoIterator<Item = (String, SignedUrl)>>(files: I) -> Self {
        Self(files.into_iter().collect())
    }
}

impl<'de> Deserialize<'de> for Downloads {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::from_value)
    }
}

/// Body that starts an upload. In version 1 the name is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartUpload {
    /// Name of the asset to be.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model_name: String,
    /// Names of the files, extensions included.
    pub filenames: Vec<String>,
    /// Whether the one file is an archive to be unpacked.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub is_zip: bool,
}

/// Answer to a started upload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UploadStarted {
    /// The new base asset, still incomplete.
    pub id: AssetId,
    /// Where the files go.
    pub links: UploadLinks,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Other,
}

/// Where the files of an upload go.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UploadLinks {
    /// One signed URL a file name.
    pub s3_upload_urls: Downloads,
    /// The link that ends the upload; informative, since the call is made at the base URL.
    #[serde(
        default,
        deserialize_with = "lenient::maybe_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub complete_upload: Option<String>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Other,
}
