//! The text of an embed: a viewer's settings, or an empty object for the default viewer. Pure.

use serde_json::{Map, Value};

use crate::outbox::names;
use crate::outbox::texts::{NAME_MAX_CHARS, is_name, parse_json};
use crate::wire::strict_json;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbedText {
    /// By default the name of the file.
    pub name: String,
    /// The viewer's settings, as JSON text.
    pub config: Option<String>,
    /// Whether its theme becomes the user's own.
    pub save_user_theme: Option<bool>,
}

/// Parses the text; `file` is the file's name.
pub fn parse(file: &str, text: &[u8]) -> Result<EmbedText, String> {
    let Value::Object(mut map) = parse_json(file, text)? else {
        return Err(format!(
            "{file} is no embed: it must be a JSON object, {{}} for the default viewer"
        ));
    };
    let name = match map.shift_remove("name") {
        None | Some(Value::Null) => names::stem(file).to_owned(),
        Some(Value::String(name)) if is_name(&name) => name,
        Some(_) => {
            return Err(format!(
                "{file}: \"name\" must be a string of 1 to {NAME_MAX_CHARS} characters"
            ));
        }
    };
    let config = match map.shift_remove("config") {
        None | Some(Value::Null) => None,
        Some(value) => Some(config_of(file, value)?),
    };
    let save_user_theme = match map.shift_remove("save_user_theme") {
        None | Some(Value::Null) => None,
        Some(Value::Bool(save)) => Some(save),
        Some(_) => {
            return Err(format!("{file}: \"save_user_theme\" must be true or false"));
        }
    };
    match map.keys().next() {
        None => Ok(EmbedText {
            name,
            config,
            save_user_theme,
        }),
        Some(other) => Err(format!(
            "{file} has {other:?}, which an embed does not know; the viewer's settings go into \"config\""
        )),
    }
}

/// The viewer's settings as the service expects them: the JSON text of an object of strings.
fn config_of(file: &str, value: Value) -> Result<String, String> {
    let wrong = |what: &str| format!("{file}: \"config\" must be an object of strings{what}");
    let map = match value {
        Value::Object(map) => map,
        Value::String(text) => match strict_json(text.as_bytes()) {
            Ok(Value::Object(map)) => map,
            Ok(_) => return Err(wrong("")),
            Err(error) => return Err(wrong(&format!("; {error}"))),
        },
        _ => return Err(wrong("")),
    };
    let as_text = |(key, value): (String, Value)| {
        let text = match value {
            Value::String(text) => text,
            // Numbers and booleans are sent as strings.
            Value::Number(number) => number.to_string(),
            Value::Bool(flag) => flag.to_string(),
            _ => return Err(wrong(&format!("; {key:?} is not a string"))),
        };
        Ok((key, Value::String(text)))
    };
    let map: Map<String, Value> = map
        .into_iter()
        .map(as_text)
        .collect::<Result<_, String>>()?;
    Ok(Value::Object(map).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<EmbedText, String> {
        parse("viewer.json", text.as_bytes())
    }

    #[test]
    fn an_empty_object_is_the_default_viewer_under_the_files_name() {
        let expected = EmbedText {
            name: "viewer".to_owned(),
            config: None,
            save_user_theme: None,
        };
        assert_eq!(parsed("{}"), Ok(expected));
    }

    #[test]
    fn settings_become_an_object_of_texts() {
        let text = r#"{"name":"Chair","config":{"fxaaOn":true,"cameraMinZoom":2,"baseUnit":"m"},"save_user_theme":true}"#;
        let embed = parsed(text).unwrap();
        assert_eq!(
            (embed.name.as_str(), embed.save_user_theme),
            ("Chair", Some(true))
        );
        let config = embed.config.unwrap();
        assert_eq!(
            config,
            r#"{"fxaaOn":"true","cameraMinZoom":"2","baseUnit":"m"}"#
        );
        let as_text = parsed(r#"{"config":"{\"baseUnit\":\"m\"}"}"#).unwrap();
        assert_eq!(as_text.config.as_deref(), Some(r#"{"baseUnit":"m"}"#));
    }

    #[test]
    fn what_is_no_embed_is_refused_with_its_reason() {
        for (text, expected) in [
            ("[]", "must be a JSON object"),
            (r#"{"name":7}"#, "\"name\" must be a string"),
            (r#"{"name":" "}"#, "\"name\" must be a string"),
            (r#"{"config":[]}"#, "an object of strings"),
            (r#"{"config":{"a":{}}}"#, "\"a\" is not a string"),
            (r#"{"save_user_theme":"yes"}"#, "true or false"),
            (r#"{"baseUnit":"m"}"#, "go into \"config\""),
        ] {
            let error = parsed(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
