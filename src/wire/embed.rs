//! Embeds: viewers that show a model in a web page.
//!
//! The viewer's configuration is a JSON text with text values. It is passed on, not interpreted.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::asset::in_form;
use super::id::{AssetId, EmbedId, RapidId, UserId};
use super::lenient::{self, Other};
use super::time::Timestamp;

/// An embeddable viewer. Contains the fields of the list and the detail form. Keys have mixed case on the wire.
#[serde_with::skip_serializing_none]
#[serde_with::apply(_ => #[serde(default, deserialize_with = "lenient::field")])]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Embed {
    #[serde_with(skip_apply)]
    pub id: EmbedId,
    /// Its slug in addresses.
    pub identifier: Option<String>,
    pub name: String,
    pub user_id: Option<UserId>,
    /// The model; for the embed of a base asset, the number of the asset. Use [`Embed::rapid`].
    pub model_id: Option<RapidId>,
    /// The base asset, if the embed shows one. Only the local service sends it.
    pub raw_model_id: Option<AssetId>,
    pub view_count: Option<u64>,
    pub created_at: Option<Timestamp>,
    pub updated_at: Option<Timestamp>,
    /// List form.
    #[serde(rename = "rapidModelId")]
    pub rapid_model_id: Option<RapidId>,
    /// List form.
    #[serde(rename = "rapidModelName")]
    pub rapid_model_name: Option<String>,
    /// List form.
    pub thumbnail: Option<String>,
    /// Address of the viewer page; list form.
    pub url: Option<String>,
    #[serde_with(skip_apply)]
    #[serde(flatten)]
    pub other: Other,
}

/// The forms in which an embed is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbedForm {
    List,
    Detail,
}

const DETAIL_FIELDS: &str = "id identifier name user_id model_id view_count created_at updated_at";
const LIST_FIELDS: &str = "id identifier name user_id model_id view_count created_at updated_at rapidModelId \
     rapidModelName thumbnail url";

impl Embed {
    /// The rapid model; `None` for the embed of a base asset.
    pub fn rapid(&self) -> Option<RapidId> {
        match self.raw_model_id {
            Some(_) => None,
            None => self.rapid_model_id.or(self.model_id),
        }
    }

    /// The record with exactly the fields of one form; a field of the form that has no value is null. The
    /// embed of a base asset also has its id.
    pub fn to_form(&self, form: EmbedForm) -> Value {
        let mut value = match form {
            EmbedForm::List => in_form(self, LIST_FIELDS, ""),
            EmbedForm::Detail => in_form(self, DETAIL_FIELDS, ""),
        };
        if let Some(asset) = self.raw_model_id {
            value["raw_model_id"] = asset.0.into();
        }
        value
    }
}

/// Body that creates an embed of a rapid model.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateEmbed {
    pub model_id: RapidId,
    pub name: String,
    pub save_user_theme: Option<bool>,
    /// The viewer's configuration, as JSON text.
    pub config: Option<String>,
}

/// Body that creates an embed of a base asset in glb format.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateRawEmbed {
    pub raw_model_id: AssetId,
    pub name: String,
    pub save_user_theme: Option<bool>,
    /// The viewer's configuration, as JSON text.
    pub config: Option<String>,
}

/// Reply to creating an embed of a rapid model.
#[serde_with::skip_serializing_none]
#[serde_with::apply(_ => #[serde(default, deserialize_with = "lenient::field")])]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EmbedCreated {
    pub status: String,
    pub message: String,
    pub rapidmodel_id: Option<RapidId>,
    #[serde_with(skip_apply)]
    pub embed_id: EmbedId,
    /// Address of the viewer page.
    pub embed_url: Option<String>,
    #[serde_with(skip_apply)]
    #[serde(flatten)]
    pub other: Other,
}

/// Reply to creating an embed of a base asset; the embed is still being created.
#[serde_with::skip_serializing_none]
#[serde_with::apply(_ => #[serde(default, deserialize_with = "lenient::field")])]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RawEmbedCreated {
    pub message: String,
    #[serde_with(skip_apply)]
    pub embed_id: EmbedId,
    /// Address of the viewer page.
    pub embed_url: Option<String>,
    #[serde_with(skip_apply)]
    #[serde(flatten)]
    pub other: Other,
}

/// Keys that the service's viewer understands.
const VIEWER_KEYS: &str = "renderCanvasCSS interactiveToolsCSS environmentURL environmentName companyLogo productLogo threeDLogo \
    companyLogoToggle productLogoToggle threeDLogoToggle companyLink productLink companyLogoCSS productLogoCSS \
    threeDLogoCSS skyBoxEnabled skyBoxBlur shadowToggle shadowOpacity shadowBlur shadowLightIntensity \
    cameraMinVerticalAngle cameraMaxVerticalAngle cameraMinZoom cameraMaxZoom cameraPanning cameraBloom \
    cameraContrast cameraExposure fxaaOn enableSimpleMeasurement enableCoordinateDisplay baseUnit displayUnit \
    baseUnits displayUnits enableARBtn enableAnimationControl animationSpeed animationIdleTime \
    backgroundIsGradient backgroundIsColor gradientBackgroundColor1 gradientBackgroundColor2 \
    plainBackgroundColor";

/// A viewer's configuration; all values are texts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ViewerConfig(pub BTreeMap<String, String>);

impl ViewerConfig {
    /// Keys that the service's viewer understands.
    pub fn keys() -> impl Iterator<Item = &'static str> {
        VIEWER_KEYS.split(' ')
    }

    /// Parses the text of a configuration; numbers and booleans become texts.
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

    /// As the JSON text that requests carry.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).expect("a map of texts can be written as JSON")
    }
}
