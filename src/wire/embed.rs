//! Embeds: viewers that show a model in a web page.
//!
//! The viewer's configuration is a JSON text of text values; it is passed on, not interpreted.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::asset::in_form;
use super::id::{AssetId, EmbedId, RapidId, UserId};
use super::time::Timestamp;
use super::{Other, lenient};

/// An embeddable viewer. The union of list and detail forms; its keys have mixed case on the wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Embed {
    /// Its id.
    pub id: EmbedId,
    /// What stands for it in addresses.
    #[serde(
        default,
        deserialize_with = "lenient::maybe_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub identifier: Option<String>,
    /// Its name.
    #[serde(default, deserialize_with = "lenient::text")]
    pub name: String,
    /// Its owner.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub user_id: Option<UserId>,
    /// The model it shows; of the embed of a base asset the number of that. [`Embed::rapid`] tells them
    /// apart.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub model_id: Option<RapidId>,
    /// The base asset it shows, where it shows one; the local service says so.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub raw_model_id: Option<AssetId>,
    /// How often it was seen.
    #[serde(
        default,
        deserialize_with = "lenient::maybe_count",
        skip_serializing_if = "Option::is_none"
    )]
    pub view_count: Option<u64>,
    /// When it was made.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub created_at: Option<Timestamp>,
    /// When it last changed.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub updated_at: Option<Timestamp>,
    /// The rapid model it shows, in lists.
    #[serde(
        default,
        rename = "rapidModelId",
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub rapid_model_id: Option<RapidId>,
    /// Name of that rapid model, in lists.
    #[serde(
        default,
        rename = "rapidModelName",
        deserialize_with = "lenient::maybe_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub rapid_model_name: Option<String>,
    /// Its picture, in lists.
    #[serde(
        default,
        deserialize_with = "lenient::maybe_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub thumbnail: Option<String>,
    /// Where the viewer opens, in lists.
    #[serde(
        default,
        deserialize_with = "lenient::maybe_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub url: Option<String>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Other,
}

/// The forms in which an embed is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbedForm {
    /// An item of the list.
    List,
    /// The record on its own.
    Detail,
}

const DETAIL_FIELDS: &[&str] = &[
    "id",
    "identifier",
    "name",
    "user_id",
    "model_id",
    "view_count",
    "created_at",
    "updated_at",
];
const LIST_FIELDS: &[&str] = &[
    "id",
    "identifier",
    "name",
    "user_id",
    "model_id",
    "view_count",
    "created_at",
    "updated_at",
    "rapidModelId",
    "rapidModelName",
    "thumbnail",
    "url",
];

impl Embed {
    /// The rapid model it shows; none for the embed of a base asset.
    pub fn rapid(&self) -> Option<RapidId> {
        match self.raw_model_id {
            Some(_) => None,
            None => self.rapid_model_id.or(self.model_id),
        }
    }

    /// The record with exactly the fields of one form; a field of the form that has no value is null. The
    /// embed of a base asset also says which one.
    pub fn to_form(&self, form: EmbedForm) -> Value {
        let mut value = match form {
            EmbedForm::List => in_form(self, LIST_FIELDS, &[]),
            EmbedForm::Detail => in_form(self, DETAIL_FIELDS, &[]),
        };
        if let Some(asset) = self.raw_model_id {
            value["raw_model_id"] = asset.0.into();
        }
        value
    }
}

/// Body that makes an embed of a rapid model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateEmbed {
    /// The rapid model.
    pub model_id: RapidId,
    /// Name of the embed.
    pub name: String,
    /// Whether its look becomes the user's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub save_user_theme: Option<bool>,
    /// The viewer's configuration, as JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
}

/// Body that makes an embed of a base asset in glb format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateRawEmbed {
    /// The base asset.
    pub raw_model_id: AssetId,
    /// Name of the embed.
    pub name: String,
    /// Whether its look becomes the user's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub save_user_theme: Option<bool>,
    /// The viewer's configuration, as JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
}

/// Answer to an embed made of a rapid model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EmbedCreated {
    /// A word of success.
    #[serde(default, deserialize_with = "lenient::text")]
    pub status: String,
    /// What the service says.
    #[serde(default, deserialize_with = "lenient::text")]
    pub message: String,
    /// The rapid model.
    #[serde(
        default,
        deserialize_with = "lenient::or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub rapidmodel_id: Option<RapidId>,
    /// The embed.
    pub embed_id: EmbedId,
    /// Where the viewer opens.
    #[serde(
        default,
        deserialize_with = "lenient::maybe_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub embed_url: Option<String>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Other,
}

/// Answer to an embed made of a base asset; the embed is still being made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RawEmbedCreated {
    /// What the service says.
    #[serde(default, deserialize_with = "lenient::text")]
    pub message: String,
    /// The embed.
    pub embed_id: EmbedId,
    /// Where the viewer opens.
    #[serde(
        default,
        deserialize_with = "lenient::maybe_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub embed_url: Option<String>,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Other,
}

/// A viewer's configuration: all its values are texts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ViewerConfig(pub BTreeMap<String, String>);

impl ViewerConfig {
    /// Keys that the service's viewer knows.
    pub const KEYS: &[&str] = &[
        "renderCanvasCSS",
        "interactiveToolsCSS",
        "environmentURL",
        "environmentName",
        "companyLogo",
        "productLogo",
        "threeDLogo",
        "companyLogoToggle",
        "productLogoToggle",
        "threeDLogoToggle",
        "companyLink",
        "productLink",
        "companyLogoCSS",
        "productLogoCSS",
        "threeDLogoCSS",
        "skyBoxEnabled",
        "skyBoxBlur",
        "shadowToggle",
        "shadowOpacity",
        "shadowBlur",
        "shadowLightIntensity",
        "cameraMinVerticalAngle",
        "cameraMaxVerticalAngle",
        "cameraMinZoom",
        "cameraMaxZoom",
        "cameraPanning",
        "cameraBloom",
        "cameraContrast",
        "cameraExposure",
        "fxaaOn",
        "enableSimpleMeasurement",
        "enableCoordinateDisplay",
        "baseUnit",
        "displayUnit",
        "baseUnits",
        "displayUnits",
        "enableARBtn",
        "enableAnimationControl",
        "animationSpeed",
        "animationIdleTime",
        "backgroundIsGradient",
        "backgroundIsColor",
        "gradientBackgroundColor1",
        "gradientBackgroundColor2",
        "plainBackgroundColor",
    ];

    /// Reads the text of a configuration; numbers and yes-or-no values become texts.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        let map: Other = serde_json::from_str(text)?;
        let as_text = |value: Value| match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        Ok(Self(
            map.into_iter()
                .map(|(key, value)| (key, as_text(value)))
                .collect(),
        ))
    }

    /// The configuration as the text that requests carry.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).expect("a map of texts can be written as JSON")
    }
}
