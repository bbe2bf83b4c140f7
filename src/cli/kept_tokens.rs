//! Tokens that `assetfs login` stores: in the keyring of the desktop where one answers, else in a file of mode 0600 for
//! each service, named by its address.

use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;

use anyhow::{Context, Result};
use url::Url;

use crate::durable::{PrivateDir, write_atomic};
use crate::wire::Token;

use super::keyring::{self, KeyringError};
use super::settings;
use crate::given_files;

/// Where a token comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TokenSource {
    Stdin,
    /// The variable `ASSETFS_TOKEN`.
    Environment,
    File(PathBuf),
    Keyring,
}

impl fmt::Display for TokenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TokenSource::Stdin => f.write_str("standard input"),
            TokenSource::Environment => f.write_str("ASSETFS_TOKEN"),
            TokenSource::File(path) => path.display().fmt(f),
            TokenSource::Keyring => f.write_str("the keyring"),
        }
    }
}

/// The stored token of a service. A file comes first: it is written only when the keyring cannot be used.
pub(super) fn kept_token(base_url: &Url) -> Result<Option<(Token, TokenSource)>> {
    let path = token_path(base_url)?;
    match given_files::read_text(&path) {
        Ok(text) => return Ok(Some((Token::parse(&text)?, TokenSource::File(path)))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error).with_context(|| path.display().to_string()),
    }
    match keyring::find(base_url) {
        Ok(token) => Ok(token.map(|token| (token, TokenSource::Keyring))),
        Err(KeyringError::Off | KeyringError::NoBus | KeyringError::NoService(_)) => Ok(None),
        Err(error) => Err(error).context(
            "no file has a token for this service, and the keyring cannot be read; unlock it, or sign in again with `assetfs login`",
        ),
    }
}

/// Stores a token. If it is in a file, the error says why the keyring was not used.
pub(super) fn keep_token(
    base_url: &Url,
    token: &Token,
) -> Result<(TokenSource, Option<KeyringError>)> {
    match keyring::store(base_url, token) {
        Ok(()) => {
            remove_file(base_url)?;
            Ok((TokenSource::Keyring, None))
        }
        Err(why) => {
            let path = write_file(base_url, token)?;
            Ok((TokenSource::File(path), Some(why)))
        }
    }
}

/// Removes the stored token of a service from file and keyring. The error says why the keyring could not be asked.
pub(super) fn forget_token(base_url: &Url) -> Result<Option<KeyringError>> {
    remove_file(base_url)?;
    Ok(match keyring::remove(base_url) {
        Ok(_) | Err(KeyringError::Off | KeyringError::NoBus | KeyringError::NoService(_)) => None,
        Err(why) => Some(why),
    })
}

fn write_file(base_url: &Url, token: &Token) -> Result<PathBuf> {
    let path = token_path(base_url)?;
    let dir = path.parent().context("a token has a folder")?;
    fs::create_dir_all(dir.parent().context("that folder is in one")?)?;
    PrivateDir::open(dir).context("cannot use the folder of tokens")?;
    write_atomic(&path, token.expose().as_bytes()).context("cannot store the token")?;
    Ok(path)
}

fn remove_file(base_url: &Url) -> Result<()> {
    let path = token_path(base_url)?;
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| path.display().to_string())
        }
        _ => Ok(()),
    }
}

/// One file for each origin, so a token is only sent to the service that issued it.
fn token_path(base_url: &Url) -> Result<PathBuf> {
    let origin = base_url.origin().ascii_serialization();
    let name: String = origin
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '.' || c == '-' {
                c
            } else {
                '_'
            }
        })
        .collect();
    Ok(settings::config_dir()?.join("tokens").join(name))
}
