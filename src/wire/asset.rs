//! Base assets: the record, updates, and conversion to further formats.
//!
//! Which fields a record carries varies by endpoint; [`BaseAsset::to_form`] writes exactly those of one
//! form, nulls included, for whoever plays the service.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Other;
use super::id::{AssetId, RapidId};
use super::lenient;
use super::secret::SignedUrl;
use super::tag::Tag;
use super::time::Timestamp;
use super::upload::Downloads;

pub use super::state::{ConversionStatus, UploadStatus};

/// A base asset: an uploaded model. The union of all forms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BaseAsset {
    /// Its id.
    pub id: AssetId,
    /// Its universal id.
    #[serde(
        default,
        deserialize_with = "lenient::maybe_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub uuid: Option<String>,
    /// Its name.
    #[serde(default, deserialize_with = "lenient::text")]
    pub name: String,
    /// Whether it comes from elsewhere.
    #[serde(
        default,
        deserialize_with = "lenient::maybe_flag",
        skip_serializing_if = "Option::is_none"
    )]
    pub external: Option<bool>,
    /// Whether it is being processed.
    #[serde(
        default,
        deserialize_with = "lenient::maybe_flag",
        skip_serializing_if = "Option::is_none"
    )]
    pub processing: Option<bool>,
    /// How far it is; the field to look at first.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub upload_status: UploadStatus,
    /// More words about the import.
    #[serde(
        default,
        deserialize_with = "lenient::maybe_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub import_status: Option<String>,
    /// Progress of the import.
    #[serde(
        default,
        deserialize_with = "lenient::maybe_number",
        skip_serializing_if = "Option::is_none"
    )]
    pub progress: Option<f64>,
    /// What went wrong.
    #[serde(
        default,
        deserialize_with = "lenient::maybe_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub error_message: Option<String>,
    /// Bytes of all its files.
    #[serde(
        default,
        deserialize_with = "lenient::maybe_count",
        skip_serializing_if = "Option::is_none"
    )]
    pub size: Option<u64>,
    /// When it was made.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub created_at: Option<Timestamp>,
    /// Scale of the model; a text in answers.
    #[serde(
        default,
        deserialize_with = "lenient::maybe_number",
        serialize_with = "lenient::number_as_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub scale_factor: Option<f64>,
    /// Whether the processor wrote an error.log that contains errors.
    #[serde(
        default,
        deserialize_with = "lenient::maybe_flag",
        skip_serializing_if = "Option::is_none"
    )]
    pub has_errors: Option<bool>,
    /// File format of the upload.
    #[serde(
        default,
        deserialize_with = "lenient::maybe_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub format: Option<String>,
    /// Its tags.
    #[serde(default, deserialize_with = "lenient::list")]
    pub tags: Vec<Tag>,
    /// What the analysis found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// Optimized models made from it.
    #[serde(default, deserialize_with = "lenient::list")]
    pub rapid_models: Vec<RapidId>,
    /// Its files and where to get them.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub downloads: Downloads,
    /// The glb made from it.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub converted_glb: Option<ConvertedFile>,
    /// The gltf made from it.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub converted_gltf: Option<ConvertedFile>,
    /// The authoring tool's scene made from it.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub converted_max: Option<ConvertedFile>,
    /// The fbx made from it.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub converted_fbx: Option<ConvertedFile>,
    /// The usdz made from it.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub converted_usdz: Option<ConvertedFile>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Other,
}

/// The forms in which a base asset is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssetForm {
    /// An item of the list.
    List,
    /// The record on its own.
    Detail,
    /// The answer that ends an upload.
    UploadComplete,
}

const LIST_FIELDS: &[&str] = &[
    "id",
    "name",
    "external",
    "upload_status",
    "size",
    "created_at",
    "scale_factor",
    "has_errors",
    "format",
    "tags",
    "downloads",
];
const DETAIL_FIELDS: &[&str] = &[
    "id",
    "uuid",
    "name",
    "external",
    "upload_status",
    "import_status",
    "progress",
    "error_message",
    "size",
    "created_at",
    "scale_factor",
    "has_errors",
    "format",
    "tags",
    "metadata",
    "rapid_models",
    "downloads",
];
const UPLOAD_COMPLETE_FIELDS: &[&str] = &[
    "id",
    "name",
    "external",
    "processing",
    "upload_status",
    "size",
    "created_at",
    "scale_factor",
    "has_errors",
    "rapid_models",
    "downloads",
];

impl BaseAsset {
    /// A record that has nothing but an id, a name and a state.
    pub fn new(id: AssetId, name: impl Into<String>, upload_status: UploadStatus) -> Self {
        Self {
            id,
            uuid: None,
            name: name.into(),
            external: None,
            processing: None,
            upload_status,
            import_status: None,
            progress: None,
            error_message: None,
            size: None,
            created_at: None,
            scale_factor: None,
            has_errors: None,
            format: None,
            tags: Vec::new(),
            metadata: None,
            rapid_models: Vec::new(),
            downloads: Downloads::default(),
            converted_glb: None,
            converted_gltf: None,
            converted_max: None,
            converted_fbx: None,
            converted_usdz: None,
            other: Other::new(),
        }
    }

    /// The converted files that are there, with the format each is named for.
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
        let optional: &[&str] = match form {
            AssetForm::Detail => &[
                "converted_glb",
                "converted_gltf",
                "converted_max",
                "converted_fbx",
                "converted_usdz",
            ],
            AssetForm::List | AssetForm::UploadComplete => &[],
        };
        in_form(self, fields, optional)
    }
}

/// A record as an object with `fields`, null where absent, and those of `optional` that have a value.
pub(super) fn in_form<T: Serialize>(record: &T, fields: &[&str], optional: &[&str]) -> Value {
    let value = serde_json::to_value(record).expect("a record can be written as JSON");
    let Value::Object(mut all) = value else {
        unreachable!("a record is a JSON object")
    };
    let mut form = Other::new();
    for &field in fields {
        form.insert(field.to_owned(), all.remove(field).unwrap_or_default());
    }
    for &field in optional {
        if let Some(value) = all.remove(field).filter(|value| !value.is_null()) {
            form.insert(field.to_owned(), value);
        }
    }
    Value::Object(form)
}

/// A file in another format that was made from a base asset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConvertedFile {
    /// Its file name.
    #[serde(default, deserialize_with = "lenient::text")]
    pub name: String,
    /// Where to get it.
    pub url: SignedUrl,
    /// What people call the format.
    #[serde(default, deserialize_with = "lenient::text")]
    pub human_name: String,
}

/// Body that changes a base asset.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AssetUpdate {
    /// Tags to add.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub tags: Option<Vec<String>>,
    /// The new scale; a number here.
    #[serde(
        default,
        deserialize_with = "lenient::maybe_number",
        skip_serializing_if = "Option::is_none"
    )]
    pub scale_factor: Option<f64>,
}

/// The material and quality-control files of a converted asset.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PbrDownloads {
    /// Converted materials.
    #[serde(default)]
    pub materials: Downloads,
    /// Renders and differences.
    #[serde(default)]
    pub qc: Downloads,
}

/// Body that asks for further formats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormatsRequest {
    /// The formats wanted.
    pub formats: Vec<String>,
}

/// Answer to a request for further formats.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FormatsAdded {
    /// What the service says.
    #[serde(default, deserialize_with = "lenient::text")]
    pub message: String,
    /// The formats that are being made.
    #[serde(default, deserialize_with = "lenient::list")]
    pub formats: Vec<String>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Other,
}

/// A conversion of a base asset to further formats.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ConversionJob {
    /// 0 to 100.
    #[serde(default, deserialize_with = "lenient::count")]
    pub progress: u64,
    /// How far it is.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub status: ConversionStatus,
    /// The formats being made.
    #[serde(default, deserialize_with = "lenient::list")]
    pub formats: Vec<String>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Other,
}
