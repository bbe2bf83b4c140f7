//! Tokens that `assetfs login` stores: a file of mode 0600 for each service, named by its address.

use std::fs;
use std::io;
use std::path::PathBuf;

use anyhow::{Context, Result};
use url::Url;

use crate::durable::{PrivateDir, write_atomic};
use crate::wire::Token;

use super::settings;

/// The stored token of a service.
pub(super) fn kept_token(base_url: &Url) -> Result<Option<Token>> {
    let path = token_path(base_url)?;
    match fs::read_to_string(&path) {
        Ok(text) => Ok(Some(Token::parse(&text)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| path.display().to_string()),
    }
}

pub(super) fn keep_token(base_url: &Url, token: &Token) -> Result<PathBuf> {
    let path = token_path(base_url)?;
    let dir = path.parent().context("a token has a folder")?;
    fs::create_dir_all(dir.parent().context("that folder is in one")?)?;
    PrivateDir::open(dir).context("cannot use the folder of tokens")?;
    write_atomic(&path, token.expose().as_bytes()).context("cannot store the token")?;
    Ok(path)
}

/// One file for each origin, so a token is only sent to the service that issued it.
pub(super) fn token_path(base_url: &Url) -> Result<PathBuf> {
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
