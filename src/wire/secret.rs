//! Secrets: API tokens, passwords, and signed URLs.
//!
//! The invariant: `Debug` and `Display` of these types never show the secret, only `expose` does, so a secret
//! cannot get into a log or an error by accident. The secret parts of a signed URL are its query and user
//! information; its host and path may be shown.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::id::TokenId;
use super::time::Timestamp;

/// A URL whose query authorizes the request.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SignedUrl(String);

impl SignedUrl {
    /// Keeps the text unchecked; an invalid URL fails when it is used.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The whole text, including the secret.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// When it expires, if the query says so in the parameters of a common object store.
    pub fn expires_at(&self) -> Option<Timestamp> {
        let url = url::Url::parse(&self.0).ok()?;
        let value = |name: &str| {
            url.query_pairs()
                .find(|(key, _)| key.eq_ignore_ascii_case(name))
                .map(|(_, value)| value.into_owned())
        };
        for prefix in ["X-Amz-", "X-Goog-"] {
            let signed_at = value(&format!("{prefix}Date")).and_then(|date| basic_iso(&date));
            let lifetime =
                value(&format!("{prefix}Expires")).and_then(|seconds| seconds.parse().ok());
            if let (Some(signed_at), Some(lifetime)) = (signed_at, lifetime) {
                return Some(signed_at.plus_seconds(lifetime));
            }
        }
        let seconds = value("Expires")?.parse().ok()?;
        Timestamp::from_unix_seconds(seconds)
    }
}

/// Reads `20240506T070809Z`.
fn basic_iso(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

impl fmt::Display for SignedUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown_url(&self.0))
    }
}

impl fmt::Debug for SignedUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SignedUrl({self})")
    }
}

/// Removes user information, query and fragment from a URL.
fn shown_url(text: &str) -> String {
    let end = text.find(['?', '#']).unwrap_or(text.len());
    let bare = &text[..end];
    let bare = match bare.split_once("://") {
        Some((scheme, rest)) => {
            let host_end = rest.find('/').unwrap_or(rest.len());
            let host = rest[..host_end].rsplit('@').next().unwrap_or_default();
            format!("{scheme}://{host}{}", &rest[host_end..])
        }
        None => bare.to_owned(),
    };
    if end < text.len() {
        format!("{bare}?…")
    } else {
        bare
    }
}

/// Removes the secret parts of every URL in a message of foreign origin.
pub fn without_secrets(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let start = rest[..at]
            .rfind(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '+' | '-' | '.'))
            .map_or(0, |before| before + 1);
        // The delimiter before a scheme may be longer than one byte.
        let start = (start..=at)
            .find(|&index| rest.is_char_boundary(index))
            .unwrap_or(at);
        let end = rest[at..]
            .find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | '`' | '\\'))
            .map_or(rest.len(), |length| at + length);
        shown.push_str(&rest[..start]);
        shown.push_str(&shown_url(&rest[start..end]));
        rest = &rest[end..];
    }
    shown.push_str(rest);
    shown
}

/// Removes the secret parts of every URL in a JSON value, at any depth.
pub fn json_without_secrets(value: serde_json::Value) -> serde_json::Value {
    use serde_json::Value;
    match value {
        // A text that starts as a URL counts as a URL to its end, including spaces and quotes.
        Value::String(text) if begins_as_url(&text) => Value::String(shown_url(&text)),
        Value::String(text) => Value::String(without_secrets(&text)),
        Value::Array(items) => items.into_iter().map(json_without_secrets).collect(),
        Value::Object(map) => map
            .into_iter()
            .map(|(key, value)| (key, json_without_secrets(value)))
            .collect(),
        plain => plain,
    }
}

fn begins_as_url(text: &str) -> bool {
    let scheme = text.split_once("://").map_or("", |(scheme, _)| scheme);
    !scheme.is_empty()
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

/// An API token: `<token_id>|<token_secret>`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Token(String);

/// Reasons why a text is not a token. The text itself is not repeated.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error("the token is empty")]
    Empty,
    /// A character that HTTP headers do not allow, such as a space.
    #[error(
        "the token contains a character that tokens cannot have (a space, a line break or a non-ASCII letter)"
    )]
    BadCharacter,
}

impl Token {
    /// Parses a token as typed or read from a file; trims white space.
    pub fn parse(text: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(TokenError::Empty);
        }
        if !text.chars().all(|c| c.is_ascii_graphic()) {
            return Err(TokenError::BadCharacter);
        }
        Ok(Self(text.to_owned()))
    }

    /// The whole text, including the secret.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The id before the bar. It is not secret.
    pub fn id(&self) -> Option<TokenId> {
        self.0.split_once('|')?.0.parse().ok()
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.id() {
            Some(id) => write!(f, "{id}|…"),
            None => f.write_str("…"),
        }
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({self})")
    }
}

/// The password of an account.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Password(String);

impl Password {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The password itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}

super::lenient::by_deserialize!(SignedUrl);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signed_url_shows_its_path_and_never_its_query() {
        let url =
            SignedUrl::new("https://u:pw@store.example/a/chair.bin?X-Amz-Signature=s3cret#s3cret");
        for shown in [
            format!("{url}"),
            format!("{url:?}"),
            format!("{:?}", Some(&url)),
        ] {
            assert!(shown.contains("store.example/a/chair.bin"), "{shown}");
            assert!(
                !shown.contains("s3cret") && !shown.contains("pw"),
                "{shown}"
            );
        }
        assert!(url.expose().contains("s3cret"));
    }

    #[test]
    fn a_token_shows_only_its_id() {
        let token = Token::parse(" 17|abcdefs3cret\n").unwrap();
        assert_eq!(token.id(), Some(TokenId(17)));
        assert_eq!(format!("{token} {token:?}"), "17|… Token(17|…)");
        assert!(!format!("{:?}", Password::new("s3cret")).contains("s3cret"));
    }

    #[test]
    fn an_invalid_token_is_refused_without_repeating_it() {
        assert!(matches!(Token::parse("  "), Err(TokenError::Empty)));
        for text in ["a b", "a\r\nX: y", "tök"] {
            let error = Token::parse(text).unwrap_err();
            assert!(!error.to_string().contains(text));
        }
    }

    #[test]
    fn urls_inside_a_message_lose_their_queries() {
        let text =
            "cannot read “https://h/x.glb?sig=s3cret”, see <http://h/y?a=s3cret> or s3://b/k";
        let shown = without_secrets(text);
        assert!(!shown.contains("s3cret"), "{shown}");
        assert!(
            shown.contains("https://h/x.glb?…") && shown.ends_with("s3://b/k"),
            "{shown}"
        );
        assert_eq!(without_secrets("no url ?a=b"), "no url ?a=b");
    }

    #[test]
    fn the_expiry_of_a_signed_url_is_read_from_its_query() {
        let at = |text: &str| SignedUrl::new(text).expires_at().map(|t| t.iso_offset());
        let expected = Some("2024-05-06T08:08:09+00:00".to_owned());
        assert_eq!(
            at("https://s/k?X-Amz-Date=20240506T070809Z&X-Amz-Expires=3600&x=1"),
            expected
        );
        assert_eq!(at("https://s/k?Expires=1714982889&Signature=a"), expected);
        assert_eq!(at("https://s/k"), None);
        assert_eq!(at("not a url"), None);
    }
}
