//! Reading the fields of a JSON body. All errors are reported together, by field.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request};
use bytes::BytesMut;
use futures_util::StreamExt;
use serde_json::{Map, Value};

use super::error::ApiError;
use crate::service::app::App;
use crate::service::ids::id_number;
use crate::service::names;
use crate::wire::preset_text::is_preset_key;
use crate::wire::tag::MAX_TAG_CHARS;
use crate::wire::{OptimizerConfig, PresetId, PresetText, PresetTextError, strict_json};
use assetfs_engine::settings::{Settings, UnknownKey, most_alike};

/// The largest JSON body. The configuration of an embed contains pictures.
const MAX_BODY_BYTES: usize = 8 << 20;

/// Timeout for receiving a JSON body.
const BODY_TIME: Duration = Duration::from_secs(30);

/// The most tags or ids of one request.
const MAX_ITEMS: usize = 10_000;

/// Maximum number of unknown keys that a message names, and of characters of each.
const NAMED_KEYS: usize = 3;
const MAX_NAMED_KEY_CHARS: usize = 64;

/// Keys that a configuration may have although they belong to the request.
const REQUEST_KEYS: [&str; 3] = ["preset_id", "tags", "exportName"];

/// The parsed configuration of an optimization request.
#[derive(Debug, Default)]
pub struct RequestedConfig {
    pub config: OptimizerConfig,
    /// A preset, instead of a configuration.
    pub preset: Option<PresetId>,
    /// Tags for the rapid model.
    pub tags: Option<Vec<String>>,
    /// The name of the exported files.
    pub export_name: Option<String>,
}

/// The unread fields of a body, and the errors found so far. [`Fields::finish`] refuses what is still unread: a field that
/// a call does not know would be dropped without a word.
#[derive(Debug)]
pub struct Fields {
    map: Map<String, Value>,
    /// The names of the fields that were asked for.
    known: BTreeSet<String>,
    errors: BTreeMap<String, Vec<String>>,
}

impl FromRequest<Arc<App>> for Fields {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &Arc<App>) -> Result<Fields, ApiError> {
        Fields::read(request.into_body()).await
    }
}

async fn collect(body: Body) -> Result<Bytes, ApiError> {
    let mut chunks = body.into_data_stream();
    let mut whole = BytesMut::new();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|error| {
            ApiError::BadRequest(format!(
                "The body was not received whole ({error}); send it again."
            ))
        })?;
        if whole.len() + chunk.len() > MAX_BODY_BYTES {
            return Err(ApiError::TooLarge(format!(
                "The body must not be larger than {MAX_BODY_BYTES} bytes."
            )));
        }
        whole.extend_from_slice(&chunk);
    }
    Ok(whole.freeze())
}

impl Fields {
    /// Receives a body, in limited time.
    pub async fn read(body: Body) -> Result<Fields, ApiError> {
        // The timeout error carries no details.
        let whole = tokio::time::timeout(BODY_TIME, collect(body)).await;
        let late = |_| ApiError::TooSlow("The body took too long.".to_owned());
        Fields::parse(&whole.map_err(late)??)
    }

    /// Parses a body; an empty one has no fields.
    pub fn parse(body: &[u8]) -> Result<Fields, ApiError> {
        if body.iter().all(u8::is_ascii_whitespace) {
            return Ok(Fields::of(Map::new()));
        }
        match strict_json(body) {
            Ok(Value::Object(map)) => Ok(Fields::of(map)),
            Ok(_) => Err(ApiError::field("body", "The body must be a JSON object.")),
            Err(error) if error.is_data() => {
                Err(ApiError::field("body", format!("In the body {error}.")))
            }
            Err(error) => Err(ApiError::field(
                "body",
                format!("The body is not valid JSON: {error}."),
            )),
        }
    }

    /// The fields of a parsed object.
    pub fn of(map: Map<String, Value>) -> Fields {
        Fields {
            map,
            known: BTreeSet::new(),
            errors: BTreeMap::new(),
        }
    }

    /// Adds an error about a field.
    pub fn refuse(&mut self, name: &str, problem: &str) {
        let end = if problem.ends_with('?') { "" } else { "." };
        let problem = format!("The {name} field {problem}{end}");
        self.errors
            .entry(name.to_owned())
            .or_default()
            .push(problem);
    }

    /// Whether a field was refused.
    pub fn is_refused(&self, name: &str) -> bool {
        self.errors.contains_key(name)
    }

    /// Takes a field; null counts as absent.
    fn take(&mut self, name: &str) -> Option<Value> {
        self.known.insert(name.to_owned());
        self.map.remove(name).filter(|value| !value.is_null())
    }

    /// Whether a field is present and not null.
    pub fn has(&self, name: &str) -> bool {
        self.map.get(name).is_some_and(|value| !value.is_null())
    }

    /// An optional field; refused with `problem` if `parse` returns `None`.
    fn parsed<T>(
        &mut self,
        name: &str,
        problem: &str,
        parse: impl FnOnce(Value) -> Option<T>,
    ) -> Option<T> {
        let parsed = parse(self.take(name)?);
        if parsed.is_none() {
            self.refuse(name, problem);
        }
        parsed
    }

    /// A required field. After an error, the default, which is not used.
    fn required<T: Default>(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut Self, &str) -> Option<T>,
    ) -> T {
        if !self.has(name) {
            self.refuse(name, "is required");
        }
        read(self, name).unwrap_or_default()
    }

    /// An optional text.
    pub fn optional_text(&mut self, name: &str) -> Option<String> {
        let text = self.parsed(name, "must be a text", text)?;
        if text.contains('\0') {
            self.refuse(name, "must not contain a NUL character");
            return None;
        }
        Some(text)
    }

    /// A required text, which may be empty.
    pub fn text(&mut self, name: &str) -> String {
        self.required(name, Self::optional_text)
    }

    /// A required name.
    pub fn name(&mut self, name: &str) -> String {
        self.required(name, Self::optional_name)
    }

    /// An optional name.
    pub fn optional_name(&mut self, name: &str) -> Option<String> {
        let text = self.optional_text(name)?;
        match names::check_name(&text) {
            Ok(()) => Some(text),
            Err(problem) => {
                self.refuse(name, &problem);
                None
            }
        }
    }

    /// An optional boolean.
    pub fn optional_flag(&mut self, name: &str) -> Option<bool> {
        self.parsed(name, "must be true or false", |value| match value {
            Value::Bool(flag) => Some(flag),
            Value::Number(number) if number.as_u64() == Some(0) => Some(false),
            Value::Number(number) if number.as_u64() == Some(1) => Some(true),
            _ => None,
        })
    }

    /// An optional number.
    pub fn optional_number(&mut self, name: &str) -> Option<f64> {
        self.parsed(name, "must be a number", |value| {
            let number = match value {
                Value::Number(number) => number.as_f64(),
                Value::String(text) => text.parse().ok(),
                _ => None,
            };
            number.filter(|number| number.is_finite())
        })
    }

    /// An optional id.
    pub fn optional_id(&mut self, name: &str) -> Option<u64> {
        self.parsed(name, "must be an integer", id)
    }

    /// A required id.
    pub fn id(&mut self, name: &str) -> u64 {
        self.required(name, Self::optional_id)
    }

    /// A required list.
    fn items<T>(
        &mut self,
        name: &str,
        problem: &str,
        parse: impl Fn(Value) -> Option<T>,
    ) -> Vec<T> {
        let items = match self.take(name) {
            Some(Value::Array(items)) if items.len() <= MAX_ITEMS => items,
            Some(Value::Array(_)) => {
                self.refuse(name, &format!("must not have more than {MAX_ITEMS} items"));
                return Vec::new();
            }
            Some(_) => {
                self.refuse(name, "must be a list");
                return Vec::new();
            }
            None => {
                self.refuse(name, "is required");
                return Vec::new();
            }
        };
        let mut found = Vec::with_capacity(items.len());
        for item in items {
            match parse(item) {
                Some(item) => found.push(item),
                None => self.refuse(name, problem),
            }
        }
        found
    }

    /// A required list of ids, which may be empty.
    pub fn ids(&mut self, name: &str) -> Vec<u64> {
        self.items(name, "must be a list of integers", id)
    }

    /// A required list of texts.
    pub fn texts(&mut self, name: &str) -> Vec<String> {
        self.items(name, "must be a list of texts", text)
    }

    /// A required list of objects.
    pub fn objects(&mut self, name: &str) -> Vec<Map<String, Value>> {
        self.items(name, "must be a list of objects", |value| match value {
            Value::Object(map) => Some(map),
            _ => None,
        })
    }

    /// Required tags.
    pub fn tags(&mut self, name: &str) -> Vec<String> {
        let tags = self.texts(name);
        for tag in &tags {
            if tag.trim().is_empty() {
                self.refuse(name, "must not have an empty tag");
            } else if tag.chars().count() > MAX_TAG_CHARS {
                let problem =
                    format!("must not have a tag of more than {MAX_TAG_CHARS} characters");
                self.refuse(name, &problem);
            } else if tag.contains('\0') {
                self.refuse(name, "must not contain a NUL character");
            }
        }
        tags
    }

    /// Optional tags.
    pub fn optional_tags(&mut self, name: &str) -> Option<Vec<String>> {
        if !self.has(name) {
            self.take(name);
            return None;
        }
        Some(self.tags(name))
    }

    /// A required optimizer configuration, for a preset. Keys that belong to a request are refused.
    pub fn config(&mut self, name: &str) -> OptimizerConfig {
        let asked = self.asked(name);
        let of_requests = [
            ("preset_id", asked.preset.is_some()),
            ("tags", asked.tags.is_some()),
            ("exportName", asked.export_name.is_some()),
        ];
        for (key, is_there) in of_requests {
            if is_there {
                let problem = format!("has {key}, which belongs to an optimization request");
                self.refuse(name, &problem);
            }
        }
        asked.config
    }

    /// A required configuration of an optimization request.
    pub fn asked(&mut self, name: &str) -> RequestedConfig {
        self.required(name, Self::optional_asked)
    }

    /// The configuration of an optimization request: an optimizer configuration, or a preset that contains one, as an
    /// object or as JSON text. Keys of the request may be among its keys.
    ///
    /// Unknown keys and values that the engine would refuse are refused here, before the user pays.
    pub fn optional_asked(&mut self, name: &str) -> Option<RequestedConfig> {
        let value = self.take(name)?;
        let config = match PresetText::from_value(value) {
            Ok(preset) => preset.config,
            Err(PresetTextError::Config(error)) => {
                self.refuse(name, &format!("must be a configuration object ({error})"));
                return None;
            }
            Err(error) => {
                self.refuse(name, &error.to_string());
                return None;
            }
        };
        Some(self.check_asked(name, config.0))
    }

    /// Checks the configuration in the field `name`.
    pub fn check_asked(&mut self, name: &str, config: Map<String, Value>) -> RequestedConfig {
        let mut fields = Fields::of(config);
        let asked = RequestedConfig {
            preset: fields.optional_id("preset_id").map(PresetId),
            tags: fields.optional_tags("tags"),
            export_name: fields.optional_name("exportName"),
            config: OptimizerConfig(fields.rest()),
        };
        self.errors.extend(fields.errors);
        if asked.preset.is_some() && !asked.config.is_empty() {
            self.refuse(name, "must not have both a preset_id and settings");
        }
        self.check_settings(name, &asked.config);
        asked
    }

    /// An optional object, or its JSON text.
    pub fn optional_object(&mut self, name: &str) -> Option<Map<String, Value>> {
        let value = self.take(name)?;
        match OptimizerConfig::from_value(value) {
            Ok(object) => Some(object.0),
            Err(error) => {
                self.refuse(name, &format!("must be an object ({error})"));
                None
            }
        }
    }

    fn check_settings(&mut self, name: &str, config: &OptimizerConfig) {
        match Settings::read(&config.0) {
            Err(error) => self.refuse(name, &format!("is not a valid configuration: {error}")),
            Ok(settings) => {
                for key in settings.unknown.iter().take(NAMED_KEYS) {
                    let key = with_request_keys(key);
                    self.refuse(name, &format!("is not a valid configuration: {key}"));
                }
                if let Some(schema) = settings.unknown_schema {
                    self.refuse(name, &format!("is not a valid configuration: {schema}"));
                }
            }
        }
    }

    /// Leaves out the unread fields that a preset may have beside its configuration.
    pub fn leave_out_preset_fields(&mut self) {
        self.map.retain(|key, _| !is_preset_key(key));
    }

    /// Refuses the unread fields, each with the most similar known one.
    fn refuse_unread(&mut self) {
        let unread: Vec<String> = self.map.keys().take(NAMED_KEYS).cloned().collect();
        for key in unread {
            let meant = most_alike(&key, self.known.iter().map(String::as_str));
            let problem = match meant {
                Some(meant) => format!("is unknown; did you mean {meant}?"),
                None if self.known.contains("config") => {
                    "is unknown; keys of a configuration belong into the config field".to_owned()
                }
                None => "is unknown".to_owned(),
            };
            let shown: String = key.chars().take(MAX_NAMED_KEY_CHARS).collect();
            self.refuse(&shown, &problem);
        }
    }

    /// All unread fields.
    pub fn rest(&mut self) -> Map<String, Value> {
        std::mem::take(&mut self.map)
    }

    /// Reports the errors. All fields that the call knows have been read.
    ///
    /// # Errors
    /// If any field has an error or is unread; contains all of them.
    pub fn finish(mut self) -> Result<(), ApiError> {
        self.refuse_unread();
        let Some(first) = self.errors.values().flatten().next() else {
            return Ok(());
        };
        let more = self.errors.values().flatten().count() - 1;
        let message = match more {
            0 => first.clone(),
            1 => format!("{first} (and 1 more error)"),
            more => format!("{first} (and {more} more errors)"),
        };
        Err(ApiError::Invalid {
            message,
            errors: self.errors,
        })
    }
}

/// An unknown key, which may be a slip of a key that belongs to the request if it is at the top.
fn with_request_keys(key: &UnknownKey) -> UnknownKey {
    let first = |path: &str| path.split(['.', '[']).next().map(str::to_owned);
    let of_settings = key.nearest.as_deref().and_then(first);
    let known = REQUEST_KEYS.into_iter().chain(of_settings.as_deref());
    let is_at_the_top = !key.path.contains(['.', '[']);
    let meant =
        most_alike(&key.path, known).filter(|meant| is_at_the_top && REQUEST_KEYS.contains(meant));
    UnknownKey {
        path: key.path.clone(),
        nearest: meant.map(str::to_owned).or_else(|| key.nearest.clone()),
    }
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

fn id(value: Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64().or_else(|| whole(number.as_f64()?)),
        Value::String(text) => id_number(&text),
        _ => None,
    }
}

/// An integer that was written as `1.0`.
fn whole(number: f64) -> Option<u64> {
    /// From here on a floating-point number is not one exact integer.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    (number.fract() == 0.0 && (0.0..EXACT).contains(&number)).then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_wrong_is_told_at_once() {
        let mut fields = Fields::parse(br#"{"name": 5, "ids": [1, "x"], "tags": [""]}"#).unwrap();
        fields.name("name");
        fields.ids("ids");
        fields.tags("tags");
        fields.text("missing");
        let Err(ApiError::Invalid { message, errors }) = fields.finish() else {
            panic!("accepted");
        };
        assert_eq!(
            errors.keys().collect::<Vec<_>>(),
            ["ids", "missing", "name", "tags"]
        );
        assert!(message.ends_with("(and 3 more errors)"), "{message}");
    }

    #[test]
    fn an_empty_body_has_no_fields_and_null_is_absent() {
        assert!(Fields::parse(b" ").unwrap().finish().is_ok());
        let mut fields = Fields::parse(br#"{"config": null}"#).unwrap();
        assert!(!fields.has("config"));
        assert!(fields.optional_asked("config").is_none());
        assert!(fields.finish().is_ok());
    }

    #[test]
    fn null_asks_for_nothing_in_every_field_of_a_request() {
        let body =
            br#"{"config": {"tags": null, "preset_id": null, "exportName": null}, "tags": null}"#;
        let mut fields = Fields::parse(body).unwrap();
        let asked = fields.asked("config");
        assert!(asked.tags.is_none() && asked.preset.is_none() && asked.config.is_empty());
        assert!(fields.optional_tags("tags").is_none());
        fields.finish().unwrap();
    }

    #[test]
    fn a_slip_of_a_request_key_is_offered_that_key() {
        for (slip, meant) in [
            ("tag", "tags"),
            ("exportNam", "exportName"),
            ("presetid", "preset_id"),
            ("preset", "preset_id"),
            ("exports", "export[]"),
            ("limts", "limits"),
        ] {
            let mut fields = Fields::of(Map::new());
            let config = Map::from_iter([(slip.to_owned(), Value::from(7))]);
            fields.check_asked("config", config);
            let Err(ApiError::Invalid { message, .. }) = fields.finish() else {
                panic!("{slip} is accepted");
            };
            assert!(
                message.ends_with(&format!("did you mean {meant}?")),
                "{message}"
            );
        }
    }

    #[test]
    fn an_unread_field_is_refused_with_the_field_that_was_meant() {
        let mut fields = Fields::parse(br#"{"tag": ["a"], "zzz": null}"#).unwrap();
        fields.optional_tags("tags");
        let Err(ApiError::Invalid { errors, .. }) = fields.finish() else {
            panic!("accepted");
        };
        assert_eq!(
            errors["tag"],
            ["The tag field is unknown; did you mean tags?"]
        );
        assert_eq!(errors["zzz"], ["The zzz field is unknown."]);
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for body in ["[]", "1", "{", "\"x\"", "{\"a\":1}x"] {
            assert!(Fields::parse(body.as_bytes()).is_err(), "{body}");
        }
    }
}
