//! Makes API tokens. Those of sign-ins are bounded in number and in age, because nobody deletes them.

use jiff::{SignedDuration, Timestamp};

use super::ids::random_secret;
use super::records::{Records, RecordsError};
use super::secrets::hash_secret;
use crate::wire::UserId;

/// How a user signed in. This is stored only as the name of the token, so users cannot choose these names for their tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignIn {
    /// By a link to the page.
    Link,
    /// With the e-mail address and the password: on the page, and by `assetfs login`.
    Password,
}

impl SignIn {
    const ALL: [SignIn; 2] = [SignIn::Link, SignIn::Password];

    fn token_name(self) -> &'static str {
        match self {
            SignIn::Link => "page (sign-in link)",
            SignIn::Password => "sign-in (e-mail and password)",
        }
    }

    /// Whether a token of this name is taken for one of a sign-in.
    pub fn has_name(name: &str) -> bool {
        SignIn::ALL
            .iter()
            .any(|sign_in| sign_in.token_name() == name)
    }

    /// How many of these tokens an account keeps: those that were used last.
    fn max_tokens(self) -> u32 {
        match self {
            SignIn::Link => 16,
            SignIn::Password => 256,
        }
    }

    /// A token that was not used for so long has expired.
    fn lifetime(self) -> SignedDuration {
        const DAY: i64 = 24;
        match self {
            SignIn::Link => SignedDuration::from_hours(30 * DAY),
            SignIn::Password => SignedDuration::from_hours(90 * DAY),
        }
    }
}

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

/// The same for somebody who signs in. Of the account's tokens of such sign-ins, the least recently used are deleted if there
/// are too many.
pub async fn make_sign_in_token(
    records: &Records,
    user: UserId,
    sign_in: SignIn,
) -> Result<String, RecordsError> {
    let name = sign_in.token_name();
    let token = make_token(records, user, name).await?;
    let tokens = records.tokens();
    tokens.keep_latest(user, name, sign_in.max_tokens()).await?;
    Ok(token)
}

/// Removes the tokens of sign-ins that have expired; returns how many.
pub async fn remove_expired(records: &Records, now: Timestamp) -> Result<u64, RecordsError> {
    let mut removed = 0;
    for sign_in in SignIn::ALL {
        let Ok(before) = now.checked_sub(sign_in.lifetime()) else {
            continue;
        };
        let tokens = records.tokens();
        removed += tokens.remove_unused(sign_in.token_name(), before).await?;
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::records::NewUser;

    async fn names(records: &Records, user: UserId) -> Vec<String> {
        let tokens = records.tokens().list(user).await.unwrap();
        tokens.into_iter().map(|token| token.name).collect()
    }

    #[tokio::test]
    async fn sign_ins_are_bounded_and_those_that_nobody_uses_expire() {
        let dir = tempfile::tempdir().unwrap();
        let records = Records::of_test(dir.path()).await;
        let new = NewUser {
            email: "me@example.com",
            password_hash: "",
            points: 0,
            quota_bytes: 0,
        };
        let user = records.accounts().create_first(&new).await.unwrap();
        let user = user.expect("the first one");
        make_token(&records, user, "render farm").await.unwrap();
        let count = SignIn::Password.max_tokens() + 3;
        for _ in 0..count {
            make_sign_in_token(&records, user, SignIn::Password)
                .await
                .unwrap();
        }
        let kept = SignIn::Password.max_tokens() as usize;
        assert_eq!(names(&records, user).await.len(), 1 + kept);
        make_sign_in_token(&records, user, SignIn::Link)
            .await
            .unwrap();
        let now = Timestamp::now();
        let day = SignedDuration::from_hours(24);
        assert_eq!(remove_expired(&records, now + day).await.unwrap(), 0);
        assert_eq!(remove_expired(&records, now + day * 31).await.unwrap(), 1);
        let removed = remove_expired(&records, now + day * 91).await.unwrap();
        assert_eq!(removed, kept as u64);
        assert_eq!(names(&records, user).await, ["render farm"]);
    }
}
