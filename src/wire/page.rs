//! Envelopes around records: the page of a long list, the `data` object, and plain lists.
//!
//! A list keeps the items that can be read and counts the others, so one broken record never hides the
//! rest. The client requests further pages.

use serde::de::{DeserializeOwned, Deserializer};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::lenient;

/// One page of a long list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Page<T> {
    pub data: Vec<T>,
    pub links: PageLinks,
    pub meta: PageMeta,
    /// Number of items that could not be read; not on the wire.
    #[serde(skip)]
    pub unreadable: usize,
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Page<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Raw {
            data: Value,
            #[serde(default, deserialize_with = "lenient::field")]
            links: PageLinks,
            #[serde(default, deserialize_with = "lenient::field")]
            meta: PageMeta,
        }
        let raw = Raw::deserialize(deserializer)?;
        if !raw.data.is_array() && !raw.data.is_object() && !raw.data.is_null() {
            return Err(serde::de::Error::custom(
                "the `data` of a page is not a list",
            ));
        }
        let (data, unreadable) = lenient::items(raw.data);
        Ok(Self {
            data,
            links: raw.links,
            meta: raw.meta,
            unreadable,
        })
    }
}

/// Addresses of a list's pages as reported by the service. The client does not follow them.
#[serde_with::apply(_ => #[serde(default, deserialize_with = "lenient::field")])]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PageLinks {
    pub first: String,
    pub last: String,
    pub prev: Option<String>,
    pub next: Option<String>,
}

/// Position of a page in its list.
#[serde_with::apply(_ => #[serde(default, deserialize_with = "lenient::field")])]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PageMeta {
    /// This page, from 1.
    pub current_page: u64,
    /// Number of the first item, from 1; none on an empty page.
    pub from: Option<u64>,
    pub last_page: u64,
    pub links: Vec<PageButton>,
    /// Address without query.
    pub path: String,
    pub per_page: u64,
    /// Number of the last item; none on an empty page.
    pub to: Option<u64>,
    pub total: u64,
}

/// One button of a pagination bar.
#[serde_with::apply(_ => #[serde(default, deserialize_with = "lenient::field")])]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PageButton {
    /// `None` for a button without a target.
    pub url: Option<String>,
    pub label: String,
    pub active: bool,
}

/// A record in the envelope `{data: …}`; a bare record is also accepted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Data<T> {
    pub data: T,
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Data<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = match Value::deserialize(deserializer)? {
            Value::Object(mut map) => match map.remove("data") {
                Some(data) => data,
                None => Value::Object(map),
            },
            bare => bare,
        };
        let data = serde_json::from_value(value).map_err(serde::de::Error::custom)?;
        Ok(Self { data })
    }
}

/// A list, bare or in the envelope `{data: […]}`. Written bare; wrap it in [`Data`] to add the envelope.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Items<T>(pub Vec<T>);

impl<'de, T: DeserializeOwned> Deserialize<'de> for Items<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = match Value::deserialize(deserializer)? {
            Value::Object(mut map) if map.contains_key("data") => {
                map.remove("data").unwrap_or_default()
            }
            bare => bare,
        };
        match value {
            Value::Array(_) | Value::Object(_) | Value::Null => Ok(Self(lenient::items(value).0)),
            _ => Err(serde::de::Error::custom(
                "neither a list nor an object that contains one",
            )),
        }
    }
}

/// Body of a bulk delete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IdList<I> {
    pub ids: Vec<I>,
}

super::lenient::by_deserialize!(PageLinks, PageMeta);
