//! Starting an upload, and maps from file names to signed URLs.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::id::AssetId;
use super::lenient::{self, Other};
use super::secret::SignedUrl;

/// File names and their signed URLs. Read tolerantly: an empty list means an empty map, and entries
/// without a URL are skipped.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Downloads(pub BTreeMap<String, SignedUrl>);

impl Downloads {
    pub fn get(&self, name: &str) -> Option<&SignedUrl> {
        self.0.get(name)
    }

    /// All files, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &SignedUrl)> {
        self.0.iter().map(|(name, url)| (name.as_str(), url))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

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
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model_name: String,
    /// Names of the files, extensions included.
    pub filenames: Vec<String>,
    /// Whether the single file is an archive that the service unpacks.
    #[serde(default, deserialize_with = "lenient::field")]
    pub is_zip: bool,
}

/// Reply to a started upload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UploadStarted {
    pub id: AssetId,
    pub links: UploadLinks,
    /// Whether another client has started this upload with the same join key. Absent if there was no join key or the service
    /// supports none: then nobody joins. Not a part of the API.
    #[serde(
        default,
        deserialize_with = "lenient::field",
        skip_serializing_if = "Option::is_none"
    )]
    pub joined: Option<bool>,
    #[serde(flatten)]
    pub other: Other,
}

/// Upload targets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UploadLinks {
    /// One signed URL per file name.
    pub s3_upload_urls: Downloads,
    /// The link that completes the upload. Informative: the client calls its own base URL.
    #[serde(
        default,
        deserialize_with = "lenient::field",
        skip_serializing_if = "Option::is_none"
    )]
    pub complete_upload: Option<String>,
    #[serde(flatten)]
    pub other: Other,
}

super::lenient::by_deserialize!(Downloads);
