//! Base assets: the record, updates, and conversion to further formats.
//!
//! Endpoints return different subsets of a record's fields. [`BaseAsset::to_form`] writes exactly the fields
//! of one form, including nulls; the local service uses it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::id::{AssetId, RapidId};
use super::lenient::{self, Other};
use super::secret::SignedUrl;
use super::tag::Tag;
use super::time::Timestamp;
use super::upload::Downloads;

pub use super::status::{ConversionStatus, UploadStatus};

/// Scale factors that keep coordinates in the range of every format.
pub const SCALES: std::ops::RangeInclusive<f64> = 1e-9..=1e9;

/// A base asset: an uploaded model. Contains the fields of all forms.
#[serde_with::skip_serializing_none]
#[serde_with::apply(_ => #[serde(default, deserialize_with = "lenient::field")])]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BaseAsset {
    #[serde_with(skip_apply)]
    pub id: AssetId,
    pub uuid: Option<String>,
    pub name: String,
    /// Whether it was imported from another system.
    pub external: Option<bool>,
    pub processing: Option<bool>,
    /// The authoritative state of the asset.
    pub upload_status: UploadStatus,
    /// Details of the import state.
    pub import_status: Option<String>,
    pub progress: Option<f64>,
    pub error_message: Option<String>,
    /// Bytes of all its files.
    pub size: Option<u64>,
    pub created_at: Option<Timestamp>,
    /// Scale of the model; a text in answers.
    #[serde(serialize_with = "lenient::number_as_text")]
    pub scale_factor: Option<f64>,
    /// Whether the processor wrote an error.log that contains errors.
    pub has_errors: Option<bool>,
    /// File format of the upload.
    pub format: Option<String>,
    pub tags: Vec<Tag>,
    pub metadata: Option<Value>,
    pub rapid_models: Vec<RapidId>,
    pub downloads: Downloads,
    pub converted_glb: Option<ConvertedFile>,
    pub converted_gltf: Option<ConvertedFile>,
    /// A scene of the authoring tool.
    pub converted_max: Option<ConvertedFile>,
    pub converted_fbx: Option<ConvertedFile>,
    pub converted_usdz: Option<ConvertedFile>,
    #[serde_with(skip_apply)]
    #[serde(flatten)]
    pub other: Other,
}

/// The forms in which a base asset is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssetForm {
    List,
    Detail,
    /// The reply that completes an upload.
    UploadComplete,
}

const LIST_FIELDS: &str = "id name external upload_status size created_at scale_factor has_errors format tags \
     downloads";
const DETAIL_FIELDS: &str = "id uuid name external upload_status import_status progress error_message size created_at \
     scale_factor has_errors format tags metadata rapid_models downloads";
const UPLOAD_COMPLETE_FIELDS: &str = "id name external processing upload_status size created_at scale_factor has_errors \
     rapid_models downloads";

const CONVERTED_FIELDS: &str =
    "converted_glb converted_gltf converted_max converted_fbx converted_usdz";

impl BaseAsset {
    /// Why our own service has not begun to work on it, if an infrastructure fault is the cause.
    pub fn waits_because(&self) -> Option<String> {
        lenient::waits_because(&self.other)
    }

    /// Its triangles, if the service says so.
    pub fn triangles(&self) -> Option<u64> {
        lenient::triangles(&self.other)
    }

    pub fn has_thumbnail(&self) -> bool {
        self.downloads.get("thumb.jpg").is_some()
    }

    /// With which token it was made, if the service says so.
    pub fn made_by(&self) -> Option<String> {
        lenient::made_by(&self.other)
    }

    /// Whether a finished model has this folder, if the service says so.
    pub fn has_folder(&self, name: &str) -> Option<bool> {
        lenient::has_folder(&self.other, name)
    }

    /// A record with only an id, a name and a state.
    pub fn new(id: AssetId, name: impl Into<String>, upload_status: UploadStatus) -> Self {
        let record: Self =
            serde_json::from_value(json!({ "id": id })).expect("a record needs only its id");
        Self {
            name: name.into(),
            upload_status,
            ..record
        }
    }

    /// The converted files that exist, each with its format.
    pub fn converted(&self) -> impl Iterator<Item = (&'static str, &ConvertedFile)> {
        [
            ("glb", &self.converted_glb),
            ("gltf", &self.converted_gltf),
            ("max", &self.converted_max),
            ("fbx", &self.converted_fbx),
            ("usdz", &self.converted_usdz),
        ]
        .into_iter()
        .filter_map(|(format, file)| Some((format, file.as_ref()?)))
    }

    /// The record with exactly the fields of one form; a field of the form that has no value is null.
    /// Converted files are in the detail form where they exist.
    pub fn to_form(&self, form: AssetForm) -> Value {
        let fields = match form {
            AssetForm::List => LIST_FIELDS,
            AssetForm::Detail => DETAIL_FIELDS,
            AssetForm::UploadComplete => UPLOAD_COMPLETE_FIELDS,
        };
        let optional = match form {
            AssetForm::Detail => CONVERTED_FIELDS,
            AssetForm::List | AssetForm::UploadComplete => "",
        };
        in_form(self, fields, optional)
    }
}

/// Writes a record as an object with `fields` (null if absent), and those of `optional` that have a value. Both are
/// names separated by spaces.
pub(super) fn in_form<T: Serialize>(record: &T, fields: &str, optional: &str) -> Value {
    let value = serde_json::to_value(record).expect("a record can be written as JSON");
    let Value::Object(mut all) = value else {
        unreachable!("a record is a JSON object")
    };
    let mut form = Other::new();
    for field in fields.split_whitespace() {
        form.insert(field.to_owned(), all.remove(field).unwrap_or_default());
    }
    for field in optional.split_whitespace() {
        if let Some(value) = all.remove(field).filter(|value| !value.is_null()) {
            form.insert(field.to_owned(), value);
        }
    }
    Value::Object(form)
}

/// A file in another format that was made from a base asset.
#[serde_with::apply(_ => #[serde(default, deserialize_with = "lenient::field")])]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConvertedFile {
    pub name: String,
    #[serde_with(skip_apply)]
    pub url: SignedUrl,
    /// Display name of the format.
    pub human_name: String,
}

/// Body that changes a base asset.
#[serde_with::skip_serializing_none]
#[serde_with::apply(_ => #[serde(default, deserialize_with = "lenient::field")])]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AssetUpdate {
    pub tags: Option<Vec<String>>,
    /// A number here, a text in answers.
    pub scale_factor: Option<f64>,
}

/// The material and quality-control files of a converted asset.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PbrDownloads {
    /// Converted materials.
    #[serde(default)]
    pub materials: Downloads,
    /// Renders and difference images.
    #[serde(default)]
    pub qc: Downloads,
}

/// Body that requests further formats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormatsRequest {
    pub formats: Vec<String>,
}

/// Reply to a request for further formats.
#[serde_with::apply(_ => #[serde(default, deserialize_with = "lenient::field")])]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FormatsAdded {
    pub message: String,
    pub formats: Vec<String>,
    #[serde_with(skip_apply)]
    #[serde(flatten)]
    pub other: Other,
}

/// A conversion of a base asset to further formats.
#[serde_with::apply(_ => #[serde(default, deserialize_with = "lenient::field")])]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ConversionJob {
    /// 0 to 100.
    pub progress: u64,
    pub status: ConversionStatus,
    pub formats: Vec<String>,
    #[serde_with(skip_apply)]
    #[serde(flatten)]
    pub other: Other,
}

impl ConversionJob {
    /// Whether it has ended, well or not.
    pub fn is_over(&self) -> bool {
        matches!(
            self.status,
            ConversionStatus::Finished | ConversionStatus::Failed
        )
    }

    /// Whether it makes a format.
    pub fn makes(&self, format: &str) -> bool {
        let mut formats = self.formats.iter();
        formats.any(|known| known.eq_ignore_ascii_case(format))
    }
}

super::lenient::by_deserialize!(ConvertedFile);
