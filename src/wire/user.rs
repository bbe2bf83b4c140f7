//! The account: sign-in, points, storage, and deletion.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::lenient;
use super::secret::{Password, Token};

/// Body that signs in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Login {
    pub email: String,
    pub password: Password,
}

/// Reply to a sign-in. The API does not define its form, so plain text, a JSON text, and an object with
/// the token under a likely key are all accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginReply {
    pub token: Token,
}

impl LoginReply {
    /// Finds the token in the body of a reply.
    pub fn from_body(body: &str) -> Option<Self> {
        let token = match serde_json::from_str::<Value>(body) {
            Ok(value) => token_in(&value)?,
            Err(_) => Token::parse(body).ok()?,
        };
        Some(Self { token })
    }
}

fn token_in(value: &Value) -> Option<Token> {
    if let Some(text) = value.as_str() {
        return Token::parse(text).ok();
    }
    [
        "token",
        "plain_text",
        "plainTextToken",
        "access_token",
        "api_token",
        "data",
    ]
    .into_iter()
    .find_map(|key| token_in(value.get(key)?))
}

/// Body that deletes an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeleteAccount {
    pub password: Password,
}

/// Remaining optimization points.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RapidPoints {
    #[serde(deserialize_with = "lenient::field")]
    pub rapidpoints: u64,
}

/// Remaining storage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StorageLeft {
    /// Bytes; 0 if the account is over its limit, `None` if the service does not say.
    #[serde(default, deserialize_with = "lenient::field")]
    pub storage_left: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_is_found_in_any_likely_reply() {
        for body in [
            "7|abc",
            "7|abc\n",
            "\"7|abc\"",
            r#"{"token": "7|abc"}"#,
            r#"{"data": {"access_token": "7|abc"}}"#,
            r#"{"token": {"plain_text": "7|abc"}}"#,
        ] {
            assert_eq!(
                LoginReply::from_body(body).unwrap().token.expose(),
                "7|abc",
                "{body}"
            );
        }
        for body in ["", "{}", "<html>no</html> x", "[]", "{\"message\": \"no\"}"] {
            assert_eq!(LoginReply::from_body(body), None, "{body}");
        }
    }
}
