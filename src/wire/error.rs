//! Bodies of error replies: JSON objects and lists, plain text, or the XML of an object store.
//!
//! The invariant: [`ErrorBody::message`] is one printable line without secrets, or `None`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::secret::without_secrets;

/// The longest message that is kept, in characters.
const MAX_MESSAGE_CHARS: usize = 1000;

/// An error reply of the service.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorBody {
    /// The main message, one line.
    #[serialize_always]
    pub message: Option<String>,
    /// A second text, as in `Token format is invalid`.
    pub error: Option<String>,
    /// Messages for each field of the request.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, Vec<String>>,
    /// A number, or the error code of an object store.
    pub code: Option<String>,
}

impl ErrorBody {
    /// Start of the plain text that refuses a multi-optimize request.
    pub const COULD_NOT_PROCESS: &str = "Could not process request:";
    /// Start of the plain text that reports an internal error of a multi-optimize request.
    pub const INTERNAL: &str = "An error occurred while processing your request:";

    /// A body with only a message.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: Some(message.into()),
            ..Self::default()
        }
    }

    pub fn invalid_token() -> Self {
        Self {
            error: Some("Token format is invalid".into()),
            ..Self::new("Invalid token")
        }
    }

    pub fn too_many_webhooks(message: &str) -> Value {
        json!([{ "code": 1, "message": message }])
    }

    /// Reads a body in any of the known forms.
    pub fn read(body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        let text = text.trim_start_matches('\u{feff}').trim();
        match serde_json::from_str::<Value>(text) {
            Ok(value) => Self::from_json(&value),
            Err(_) => Self::from_text(text),
        }
    }

    fn from_json(value: &Value) -> Self {
        match value {
            Value::Object(map) => Self {
                message: map.get("message").and_then(line_of),
                error: map.get("error").and_then(line_of),
                errors: map.get("errors").map(field_errors).unwrap_or_default(),
                code: map.get("code").and_then(line_of),
            },
            Value::Array(items) => items.first().map(Self::from_json).unwrap_or_default(),
            Value::String(text) => Self::from_text(text),
            _ => Self::default(),
        }
    }

    fn from_text(text: &str) -> Self {
        if text.starts_with('<') {
            let part = |tag: &str| {
                let (_, after) = text.split_once(&format!("<{tag}>"))?;
                line(after.split_once("</")?.0)
            };
            // The HTML page of a proxy has neither, and nothing worth showing.
            return Self {
                message: part("Message"),
                code: part("Code"),
                ..Self::default()
            };
        }
        Self {
            message: line(text),
            ..Self::default()
        }
    }

    /// All messages joined into one sentence; the code if there is none.
    pub fn sentence(&self) -> Option<String> {
        let mut parts: Vec<&str> = Vec::new();
        let fields = self.errors.values().flatten().map(String::as_str);
        for part in self
            .message
            .as_deref()
            .into_iter()
            .chain(self.error.as_deref())
            .chain(fields)
        {
            if !parts.iter().any(|known| known.contains(part)) {
                parts.push(part);
            }
        }
        if parts.is_empty() {
            return self.code.clone();
        }
        Some(parts.join("; "))
    }
}

fn line_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => line(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Object(map) => map.get("message").and_then(line_of),
        _ => None,
    }
}

/// Makes one printable line of bounded length, without the secrets of URLs.
fn line(text: &str) -> Option<String> {
    let clean = without_secrets(text);
    let words: Vec<&str> = clean
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|w| !w.is_empty())
        .collect();
    let line: String = words.join(" ").chars().take(MAX_MESSAGE_CHARS).collect();
    (!line.is_empty()).then_some(line)
}

fn field_errors(value: &Value) -> BTreeMap<String, Vec<String>> {
    let Value::Object(map) = value else {
        return BTreeMap::new();
    };
    let lines = |value: &Value| match value {
        Value::Array(items) => items.iter().filter_map(line_of).collect(),
        one => line_of(one).into_iter().collect(),
    };
    map.iter()
        .map(|(field, value)| (field.clone(), lines(value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_error_body_gives_its_sentence() {
        let cases: &[(&str, Option<&str>)] = &[
            (
                r#"{"message": "Invalid token", "error": "Token format is invalid"}"#,
                Some("Invalid token; Token format is invalid"),
            ),
            (
                "Could not process request: model_id is missing\n",
                Some("Could not process request: model_id is missing"),
            ),
            (
                r#"{"message": "The given data was invalid.", "errors": {"email": ["Wrong credentials."]}}"#,
                Some("The given data was invalid.; Wrong credentials."),
            ),
            (
                r#"[{"code": 1, "message": "Maximum reached"}]"#,
                Some("Maximum reached"),
            ),
            (
                r#"{"code": 1, "message": "Maximum reached"}"#,
                Some("Maximum reached"),
            ),
            ("\"plain\"", Some("plain")),
            (
                "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>",
                Some("Request has expired"),
            ),
            ("<html><body>502 Bad Gateway</body></html>", None),
            ("", None),
            ("{}", None),
            ("[]", None),
            ("null", None),
        ];
        for (body, expected) in cases {
            assert_eq!(
                ErrorBody::read(body.as_bytes()).sentence().as_deref(),
                *expected,
                "{body}"
            );
        }
    }

    #[test]
    fn a_message_is_one_line_without_secrets_and_of_bounded_length() {
        let body = format!("bad\r\nurl https://h/k?sig=s3cret {}", "x".repeat(100_000));
        let sentence = ErrorBody::read(body.as_bytes()).sentence().unwrap();
        assert!(!sentence.contains("s3cret") && !sentence.contains('\n'));
        assert!(sentence.chars().count() <= MAX_MESSAGE_CHARS);
    }
}
