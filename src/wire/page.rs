//! Envelopes around records: the page of a long list, the `data` object, and plain lists.
//!
//! A list keeps the items that can be read and counts the others, so that one broken record never
//! hides the rest. Following pages is the client's affair.

use serde::de::{DeserializeOwned, Deserializer};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::lenient;

/// One page of a long list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Page<T> {
    /// The items that could be read.
    pub data: Vec<T>,
    /// Where the other pages are.
    pub links: PageLinks,
    /// Where this page stands.
    pub meta: PageMeta,
    /// How many items could not be read; not on the wire.
    #[serde(skip)]
    pub unreadable: usize,
}

impl<T> Page<T> {
    /// Whether nothing comes after this page.
    pub fn is_last(&self) -> bool {
        self.meta.current_page >= self.meta.last_page
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Page<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Raw {
            data: Value,
            #[serde(default, deserialize_with = "lenient::or_default")]
            links: PageLinks,
            #[serde(default, deserialize_with = "lenient::or_default")]
            meta: PageMeta,
        }
        let raw = Raw::deserialize(deserializer)?;
        if !raw.data.is_array() && !raw.data.is_object() && !raw.data.is_null() {
            return Err(serde::de::Error::custom("the `data` of a page is no list"));
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

/// The addresses of a list's pages, as the service tells them. The client never follows them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PageLinks {
    /// The first page.
    #[serde(default, deserialize_with = "lenient::text")]
    pub first: String,
    /// The last page.
    #[serde(default, deserialize_with = "lenient::text")]
    pub last: String,
    /// The page before, if any.
    #[serde(default, deserialize_with = "lenient::maybe_text")]
    pub prev: Option<String>,
    /// The page after, if any.
    #[serde(default, deserialize_with = "lenient::maybe_text")]
    pub next: Option<String>,
}

/// Where a page stands in its list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PageMeta {
    /// This page, from 1.
    #[serde(default, deserialize_with = "lenient::count")]
    pub current_page: u64,
    /// Number of the first item, from 1; none on an empty page.
    #[serde(default, deserialize_with = "lenient::maybe_count")]
    pub from: Option<u64>,
    /// The last page.
    #[serde(default, deserialize_with = "lenient::count")]
    pub last_page: u64,
    /// Buttons for page numbers.
    #[serde(default, deserialize_with = "lenient::list")]
    pub links: Vec<PageButton>,
    /// The address without its query.
    #[serde(default, deserialize_with = "lenient::text")]
    pub path: String,
    /// Items on a page.
    #[serde(default, deserialize_with = "lenient::count")]
    pub per_page: u64,
    /// Number of the last item; none on an empty page.
    #[serde(default, deserialize_with = "lenient::maybe_count")]
    pub to: Option<u64>,
    /// Items in all.
    #[serde(default, deserialize_with = "lenient::count")]
    pub total: u64,
}

/// One button of a page bar.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PageButton {
    /// Where it leads, if anywhere.
    #[serde(default, deserialize_with = "lenient::maybe_text")]
    pub url: Option<String>,
    /// What it says.
    #[serde(default, deserialize_with = "lenient::text")]
    pub label: String,
    /// Whether it is the page shown.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub active: bool,
}

/// A record in the envelope `{data: …}`; a bare record is read as well.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Data<T> {
    /// The record.
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

/// A list that comes bare or in the envelope `{data: […]}`. Written bare; wrap it in [`Data`] for the
/// other form.
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
                "neither a list nor an object that holds one",
            )),
        }
    }
}

/// Body of the bulk deletes: the ids to delete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IdList<I> {
    /// The ids.
    pub ids: Vec<I>,
}
