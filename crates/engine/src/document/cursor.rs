//! A value in the JSON of a document with its path, so that every error names its position.
//!
//! The methods of a [`Cursor`] check kind and range; their errors name file and path. The meaning of fields is not
//! known here.

use serde_json::{Map, Value};

use super::error::DocumentError;
use assetfs_formats::number_text::{counted, plural};

/// A value of the document and its path.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    file: &'a str,
    path: String,
    value: &'a Value,
}

impl<'a> Cursor<'a> {
    /// A cursor at `path` of `file`.
    pub fn new(file: &'a str, path: String, value: &'a Value) -> Cursor<'a> {
        Cursor { file, path, value }
    }

    pub fn value(&self) -> &'a Value {
        self.value
    }

    /// The path, such as `meshes[0].primitives[1]`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// An error about this value; `what` is the rest of the sentence.
    pub fn invalid(&self, what: impl Into<String>) -> DocumentError {
        DocumentError::Invalid {
            file: self.file.to_owned(),
            path: self.path.clone(),
            what: what.into(),
        }
    }

    /// The member `key`, if it exists.
    pub fn get(&self, key: &str) -> Option<Cursor<'a>> {
        let value = self.value.as_object()?.get(key)?;
        let path = if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        };
        Some(Cursor::new(self.file, path, value))
    }

    /// The required member `key`.
    pub fn require(&self, key: &str) -> Result<Cursor<'a>, DocumentError> {
        self.get(key)
            .ok_or_else(|| self.invalid(format!("has no \"{key}\"")))
    }

    /// The extension `name` of this object.
    pub fn extension(&self, name: &str) -> Option<Cursor<'a>> {
        self.get("extensions")?.get(name)
    }

    pub fn members(&self) -> Result<&'a Map<String, Value>, DocumentError> {
        self.value
            .as_object()
            .ok_or_else(|| self.invalid("is not a JSON object"))
    }

    pub fn elements(&self) -> Result<Vec<Cursor<'a>>, DocumentError> {
        let array = self
            .value
            .as_array()
            .ok_or_else(|| self.invalid("is not a JSON array"))?;
        Ok(array
            .iter()
            .enumerate()
            .map(|(index, value)| Cursor::new(self.file, format!("{}[{index}]", self.path), value))
            .collect())
    }

    /// The elements of the array `key`; none if it is missing.
    pub fn list(&self, key: &str) -> Result<Vec<Cursor<'a>>, DocumentError> {
        self.get(key).map_or(Ok(Vec::new()), |list| list.elements())
    }

    /// A whole number that is not negative.
    pub fn number(&self) -> Result<usize, DocumentError> {
        self.value
            .as_u64()
            .or_else(|| whole(self.value.as_f64()?))
            .and_then(|number| usize::try_from(number).ok())
            .ok_or_else(|| {
                self.invalid(format!(
                    "is {}, which is not a whole number in range",
                    self.value
                ))
            })
    }

    /// The number `key`, or `default` if it is missing.
    pub fn number_or(&self, key: &str, default: usize) -> Result<usize, DocumentError> {
        self.get(key).map_or(Ok(default), |value| value.number())
    }

    /// Reads an index into a list of `count` objects; errors call such an object `thing`.
    pub fn index_of(&self, count: usize, thing: &str) -> Result<usize, DocumentError> {
        let index = self.number()?;
        if index < count {
            return Ok(index);
        }
        let there = if count == 0 {
            format!("has no {}", plural(thing))
        } else {
            format!("has only {}", counted(count as u64, thing))
        };
        Err(self.invalid(format!("refers to {thing} {index}, but the file {there}")))
    }

    pub fn text(&self) -> Result<&'a str, DocumentError> {
        self.value
            .as_str()
            .ok_or_else(|| self.invalid("is not a text"))
    }

    /// A list of numbers of the given length.
    pub fn floats<const N: usize>(&self) -> Result<[f32; N], DocumentError> {
        let wrong = || self.invalid(format!("is not a list of {N} numbers"));
        let array = self.value.as_array().ok_or_else(wrong)?;
        if array.len() != N {
            return Err(wrong());
        }
        let mut numbers = [0.0; N];
        for (number, value) in numbers.iter_mut().zip(array) {
            *number = value.as_f64().ok_or_else(wrong)? as f32;
        }
        Ok(numbers)
    }
}

fn whole(number: f64) -> Option<u64> {
    // Above 2^53 a double no longer names one whole number.
    ((0.0..=9_007_199_254_740_992.0).contains(&number) && number.fract() == 0.0)
        .then_some(number as u64)
}
