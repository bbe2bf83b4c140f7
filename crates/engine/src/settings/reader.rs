//! Reads keys of a configuration by path, and records which were read.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use assetfs_formats::printable::printable;

/// Counts from here on are not read: as decimal numbers they have no exact value.
const MAX_COUNT: f64 = 1e15;

/// An invalid value in a configuration.
#[derive(Debug, thiserror::Error)]
#[error("{} {}", printable(path), printable(what))]
pub struct SettingsError {
    path: String,
    what: String,
}

/// The object of a configuration.
pub(super) fn object(text: &str) -> Result<Map<String, Value>, SettingsError> {
    serde_json::from_str(text).map_err(|error| SettingsError {
        path: "the text".to_owned(),
        what: format!("is no JSON object ({error})"),
    })
}

/// A configuration and the paths read from it.
pub(super) struct ConfigReader<'a> {
    config: &'a Map<String, Value>,
    read: BTreeSet<String>,
}

impl<'a> ConfigReader<'a> {
    pub(super) fn new(config: &'a Map<String, Value>) -> ConfigReader<'a> {
        ConfigReader {
            config,
            read: BTreeSet::new(),
        }
    }

    pub(super) fn wrong(&self, path: &str, what: &str) -> SettingsError {
        SettingsError {
            path: path.to_owned(),
            what: what.to_owned(),
        }
    }

    /// The value at `path`; `null` counts as absent.
    pub(super) fn take(&mut self, path: &str) -> Option<&'a Value> {
        self.read.insert(path.to_owned());
        self.find(path).ok()?.filter(|value| !value.is_null())
    }

    /// Marks a path as read.
    pub(super) fn touch(&mut self, path: &str) {
        self.read.insert(path.to_owned());
    }

    fn required_kind(&mut self, path: &str) -> Result<Option<&'a Value>, SettingsError> {
        self.read.insert(path.to_owned());
        Ok(self.find(path)?.filter(|value| !value.is_null()))
    }

    fn find(&self, path: &str) -> Result<Option<&'a Value>, SettingsError> {
        let mut walked = String::new();
        let mut at: Option<&'a Value> = None;
        for step in path.split('.') {
            let (key, indices) = step.split_once('[').unwrap_or((step, ""));
            let members = match at {
                None => self.config,
                Some(Value::Null) => return Ok(None),
                Some(Value::Object(members)) => members,
                Some(other) => {
                    let what = format!("is {other}; it must be an object");
                    return Err(self.wrong(&walked, &what));
                }
            };
            let Some(mut value) = members.get(key) else {
                return Ok(None);
            };
            for index in indices.split('[').filter(|index| !index.is_empty()) {
                let index: usize = index
                    .trim_end_matches(']')
                    .parse()
                    .expect("the paths are constants of this program");
                let Some(element) = value.get(index) else {
                    return Ok(None);
                };
                value = element;
            }
            walked = if walked.is_empty() {
                step.to_owned()
            } else {
                format!("{walked}.{step}")
            };
            at = Some(value);
        }
        Ok(at)
    }

    pub(super) fn flag(&mut self, path: &str) -> Result<bool, SettingsError> {
        match self.required_kind(path)? {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err(self.wrong(path, &format!("is {other}; it must be true or false"))),
        }
    }

    pub(super) fn text(&mut self, path: &str) -> Result<Option<String>, SettingsError> {
        match self.required_kind(path)? {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(self.wrong(path, &format!("is {other}; it must be a string"))),
        }
    }

    /// The name of a file: an empty one counts as absent.
    pub(super) fn name(&mut self, path: &str) -> Result<Option<String>, SettingsError> {
        Ok(self.text(path)?.filter(|name| !name.trim().is_empty()))
    }

    /// A whole number of at least `least` and less than [`MAX_COUNT`].
    pub(super) fn count(&mut self, path: &str, least: u64) -> Result<Option<u64>, SettingsError> {
        let Some(value) = self.required_kind(path)? else {
            return Ok(None);
        };
        let whole = value.as_u64().or_else(|| {
            let number = value.as_f64()?;
            (number.fract() == 0.0 && (0.0..MAX_COUNT).contains(&number)).then_some(number as u64)
        });
        match whole {
            Some(number) if number >= least && (number as f64) < MAX_COUNT => Ok(Some(number)),
            _ => {
                let most = match value.as_f64() {
                    Some(number) if number >= MAX_COUNT => " and below 1e15",
                    _ => "",
                };
                let what =
                    format!("is {value}; it must be a whole number of at least {least}{most}");
                Err(self.wrong(path, &what))
            }
        }
    }

    /// A number from `least` to `most`.
    pub(super) fn number(
        &mut self,
        path: &str,
        least: f64,
        most: f64,
    ) -> Result<Option<f64>, SettingsError> {
        let Some(value) = self.required_kind(path)? else {
            return Ok(None);
        };
        match value.as_f64() {
            Some(number) if (least..=most).contains(&number) => Ok(Some(number)),
            _ => {
                let range = match (least, most) {
                    (0.0, f64::MAX) => "number that is not negative".to_owned(),
                    (f64::MIN_POSITIVE, _) => format!("number above 0 and up to {most}"),
                    _ => format!("number from {least} to {most}"),
                };
                Err(self.wrong(path, &format!("is {value}; it must be a {range}")))
            }
        }
    }

    /// The length of a list; 0 if it is missing.
    pub(super) fn list_len(&mut self, path: &str) -> Result<usize, SettingsError> {
        match self.find(path)? {
            None | Some(Value::Null) => Ok(0),
            Some(Value::Array(list)) => Ok(list.len()),
            Some(other) => Err(self.wrong(path, &format!("is {other}; it must be a list"))),
        }
    }

    /// The keys of an object; none if it is missing.
    pub(super) fn keys(&mut self, path: &str) -> Result<Vec<String>, SettingsError> {
        match self.find(path)? {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Object(members)) => Ok(members.keys().cloned().collect()),
            Some(other) => Err(self.wrong(path, &format!("is {other}; it must be an object"))),
        }
    }

    /// The unread values, in the order of their paths.
    pub(super) fn unread(&self) -> Vec<(String, &'a Value)> {
        let mut found = Vec::new();
        for (key, value) in self.config {
            self.collect_unread(key.clone(), value, &mut found);
        }
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        found
    }

    fn collect_unread(&self, path: String, value: &'a Value, found: &mut Vec<(String, &'a Value)>) {
        if self.read.contains(&path) && !has_members(value) {
            return;
        }
        let starts = |separator: char| {
            let start = format!("{path}{separator}");
            self.read.iter().any(|read| read.starts_with(&start))
        };
        match value {
            Value::Object(members) if !members.is_empty() => {
                for (key, member) in members {
                    self.collect_unread(format!("{path}.{key}"), member, found);
                }
            }
            Value::Array(elements) if starts('[') => {
                for (index, element) in elements.iter().enumerate() {
                    self.collect_unread(format!("{path}[{index}]"), element, found);
                }
            }
            _ => found.push((path, value)),
        }
    }
}

/// Whether a value requests nothing, for any key.
pub(super) fn requests_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

fn has_members(value: &Value) -> bool {
    value.as_object().is_some_and(|members| !members.is_empty())
}
