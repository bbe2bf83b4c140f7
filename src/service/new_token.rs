//! Makes API tokens.

use super::ids::random_secret;
use super::records::{Records, RecordsError};
use super::secrets::hash_secret;
use crate::wire::UserId;

/// Creates a token and returns its text.
pub async fn make_token(
    records: &Records,
    user: UserId,
    name: &str,
) -> Result<String, RecordsError> {
    let secret = random_secret();
    let token = records
        .tokens()
        .create(user, name, &hash_secret(&secret))
        .await?;
    Ok(format!("{token}|{secret}"))
}
