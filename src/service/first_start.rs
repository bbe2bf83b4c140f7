//! The first account: created with the data folder, and stored in a file that only its owner can read.
//!
//! The file holds the password and a token in plain text, for the owner of the machine. It is written before the
//! account, so no account is ever without its file.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::config::{DEFAULT_QUOTA, ServiceConfig};
use super::error::ServiceError;
use super::ids::random_secret;
use super::new_token::make_token;
use super::records::{NewUser, Records};
use super::secrets::{hash_password, secret_matches};
use crate::durable::write_atomic;
use crate::wire::Token;

/// File with only the token of the first account, for scripts. The starter of the service writes it.
pub const TOKEN_FILE: &str = "token";

const EMAIL: &str = "owner@localhost";

#[derive(Serialize, Deserialize)]
struct Account {
    email: String,
    password: String,
    token: String,
}

/// The token of the first account. Creates the account if there is none.
pub async fn account(
    records: &Records,
    config: &ServiceConfig,
    data_dir: &Path,
) -> Result<Token, ServiceError> {
    let path = data_dir.join("account.json");
    let known = read(&path)?;
    let is_any = records.accounts().is_any().await?;
    if !is_any && known.as_ref().is_some_and(|known| !known.token.is_empty()) {
        set_aside(&path)?;
    }
    let account = match (known, is_any) {
        (Some(account), true) => account,
        // Only one of file and account exists after an interrupted first start, or after a deletion.
        (None, true) => unknown_password(),
        (_, false) => make(records, config, &path).await?,
    };
    let account = with_good_token(records, account, &path).await?;
    Token::parse(&account.token).map_err(|error| ServiceError::Account {
        path,
        reason: error.to_string(),
    })
}

fn read(path: &Path) -> Result<Option<Account>, ServiceError> {
    let text = match std::fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => {
            return Err(ServiceError::Io {
                path: path.to_owned(),
                source,
            });
        }
    };
    let account = serde_json::from_slice(&text).map_err(|error| ServiceError::Account {
        path: path.to_owned(),
        reason: error.to_string(),
    })?;
    Ok(Some(account))
}

/// Keeps the file of an account that is in other records, by renaming it. These records are new or were lost.
fn set_aside(path: &Path) -> Result<(), ServiceError> {
    let free = (1..)
        .map(|number| path.with_extension(format!("json.{number}")))
        .find(|kept| !kept.exists())
        .expect("a number is free");
    std::fs::rename(path, &free).map_err(|source| ServiceError::Io {
        path: path.to_owned(),
        source,
    })?;
    tracing::warn!(
        "{} belongs to an account that is not in these records; it is now {}",
        path.display(),
        free.display()
    );
    Ok(())
}

/// Removes the plain-text file of a deleted account.
pub fn forget(data_dir: &Path, email: &str) -> Result<(), ServiceError> {
    let path = data_dir.join("account.json");
    if read(&path)?.is_none_or(|account| account.email != email) {
        return Ok(());
    }
    for path in [data_dir.join(TOKEN_FILE), path] {
        match std::fs::remove_file(&path) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                return Err(ServiceError::Io { path, source });
            }
            _ => {}
        }
    }
    Ok(())
}

/// Writes the file. `write_atomic` gives it mode 0600.
fn write(path: &Path, account: &Account) -> Result<(), ServiceError> {
    let text = serde_json::to_string_pretty(account).expect("an account can be written");
    Ok(write_atomic(path, format!("{text}\n").as_bytes())?)
}

async fn make(
    records: &Records,
    config: &ServiceConfig,
    path: &Path,
) -> Result<Account, ServiceError> {
    let mut account = Account {
        email: EMAIL.to_owned(),
        password: random_secret(),
        token: String::new(),
    };
    write(path, &account)?;
    let user = records
        .accounts()
        .create_first(&NewUser {
            email: EMAIL,
            password_hash: &hash_password(&account.password),
            points: config.initial_points,
            quota_bytes: config.quota_bytes.unwrap_or(DEFAULT_QUOTA),
        })
        .await?;
    let Some(user) = user else {
        // Another process that shares the records was faster. Its account has another password.
        return Ok(unknown_password());
    };
    account.token = make_token(records, user, "first token").await?;
    write(path, &account)?;
    Ok(account)
}

/// An account whose file is lost or in the data folder of another process: it gets a new token; its password is unknown.
fn unknown_password() -> Account {
    Account {
        email: EMAIL.to_owned(),
        password: String::new(),
        token: String::new(),
    }
}

/// Replaces the token in the file if it does not work, because it was deleted or never written.
async fn with_good_token(
    records: &Records,
    mut account: Account,
    path: &Path,
) -> Result<Account, ServiceError> {
    if let Some((id, secret)) = account.token.split_once('|')
        && let Ok(id) = id.parse()
        && let Some(token) = records.tokens().get(id).await?
        && secret_matches(secret, &token.secret_hash)
    {
        return Ok(account);
    }
    let user = records
        .accounts()
        .get_by_email(&account.email)
        .await?
        .ok_or_else(|| ServiceError::Account {
            path: path.to_owned(),
            reason: format!("it names {}, which is not an account", account.email),
        })?;
    account.token = make_token(records, user.id, "renewed token").await?;
    write(path, &account)?;
    Ok(account)
}
