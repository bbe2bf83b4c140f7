//! Chooses the account of a command: an account of a service by URL and token, or the local service. The token comes
//! from standard input, a file that only its owner can read, the environment, or the keyring, never from the command
//! line.

use std::fs;
use std::io::{self, BufRead, IsTerminal};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use url::Url;

use crate::wire::Token;

use super::exit::WrongUse;
use super::kept_tokens::{TokenSource, kept_token};
use super::settings::Profile;
use super::this_build;
use crate::given_files;
use crate::web_url::base_url;

/// Flags that choose the account.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct AccountArgs {
    /// Address of the service
    #[arg(long, env = "ASSETFS_BASE_URL", value_name = "URL")]
    pub(super) base_url: Option<String>,
    /// Profile of the configuration file
    #[arg(long, env = "ASSETFS_PROFILE", value_name = "NAME")]
    pub(super) profile: Option<String>,
    /// File that holds the token, readable by you alone (mode 0600)
    #[arg(long, env = "ASSETFS_TOKEN_FILE", value_name = "FILE")]
    pub(super) token_file: Option<PathBuf>,
    /// Read the token from standard input
    #[arg(long)]
    pub(super) token_stdin: bool,
    /// Use the local service of this machine; needs no account
    #[arg(long, conflicts_with_all = ["base_url", "token_file", "token_stdin"])]
    pub(super) local: bool,
}

impl AccountArgs {
    /// True if they say which account.
    pub(super) fn names_account(&self) -> bool {
        self.local || self.base_url.is_some() || self.profile.is_some()
    }
}

/// An account. Serialized only for the pipe to the background process.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Account {
    /// An account of a service.
    Remote {
        base_url: Url,
        #[serde(with = "token_text")]
        token: Token,
    },
    /// The local service, with its records below the folder.
    Local { data_dir: PathBuf },
}

/// Chooses the account. If none is configured, a command on a terminal uses the local service; a script gets an
/// error, so that it does not write into a local service by mistake.
pub(super) fn choose(args: &AccountArgs, profile: &Profile, data_dir: PathBuf) -> Result<Account> {
    if args.local {
        this_build::check_local_service("--local")?;
        return Ok(Account::Local { data_dir });
    }
    if args.base_url.is_none() && profile.local == Some(true) {
        if profile.base_url.is_some() {
            let text =
                "the configuration names both `local` and `base_url`; an account is one of them";
            return Err(WrongUse(text.to_owned()).into());
        }
        this_build::check_local_service("`local` in the configuration")?;
        return Ok(Account::Local { data_dir });
    }
    let Some(base_url) = args.base_url.as_ref().or(profile.base_url.as_ref()) else {
        if !this_build::HAS_LOCAL_SERVICE {
            let text = "no account is configured; name one with --base-url or --profile";
            return Err(WrongUse(text.to_owned()).into());
        }
        if io::stderr().is_terminal() {
            eprintln!(
                "No account is configured: using the local service of this machine (--local)."
            );
            return Ok(Account::Local { data_dir });
        }
        return Err(WrongUse(
            "no account is configured; without a terminal, add --local for the local service of this machine, or name an account with --base-url or --profile"
                .to_owned(),
        )
        .into());
    };
    let base_url = parse_base_url(base_url)?;
    let (token, _) = find_token(args, profile, &base_url)?;
    Ok(Account::Remote { base_url, token })
}

/// Where the token of an account of a service comes from.
pub(super) fn token_source(args: &AccountArgs, profile: &Profile) -> Result<TokenSource> {
    if args.token_stdin {
        // It has been read.
        return Ok(TokenSource::Stdin);
    }
    let base_url = args.base_url.as_ref().or(profile.base_url.as_ref());
    let base_url = parse_base_url(base_url.map_or("", String::as_str))?;
    Ok(find_token(args, profile, &base_url)?.1)
}

fn parse_base_url(text: &str) -> Result<Url> {
    let mut url: Url = text.parse().map_err(|_: url::ParseError| {
        WrongUse(format!(
            "`{text}` is not a URL; write it like https://assets.example.com"
        ))
    })?;
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
        return Err(WrongUse("the base URL contains a user name, a password or a query; pass the token by file or environment".to_owned()).into());
    }
    // Checked after that: a message must not show a password.
    if let Err(problem) = base_url(text) {
        return Err(WrongUse(format!("the base URL `{text}` cannot be used: {problem}")).into());
    }
    if !url.path().ends_with('/') {
        url.set_path(&format!("{}/", url.path()));
    }
    Ok(url)
}

fn find_token(
    args: &AccountArgs,
    profile: &Profile,
    base_url: &Url,
) -> Result<(Token, TokenSource)> {
    if args.token_stdin {
        let mut line = Vec::new();
        io::stdin()
            .lock()
            .read_until(b'\n', &mut line)
            .context("cannot read the token from standard input")?;
        // In UTF-16 the line ends in the middle of a character.
        line.pop_if(|last| *last == b'\n');
        let line = String::from_utf8_lossy(&assetfs_formats::text::utf8(&line)).into_owned();
        let token = parse_token(&line, "standard input")?;
        return Ok((token, TokenSource::Stdin));
    }
    if let Some(path) = &args.token_file {
        return Ok((token_from_file(path)?, TokenSource::File(path.clone())));
    }
    if let Ok(text) = std::env::var("ASSETFS_TOKEN") {
        let token = parse_token(&text, "ASSETFS_TOKEN")?;
        return Ok((token, TokenSource::Environment));
    }
    if let Some(path) = &profile.token_file {
        return Ok((token_from_file(path)?, TokenSource::File(path.clone())));
    }
    if let Some(kept) = kept_token(base_url)? {
        return Ok(kept);
    }
    Err(WrongUse(
        "no token: sign in with `assetfs login`, put it into ASSETFS_TOKEN, into a file named by --token-file (mode 0600), or give it by --token-stdin".to_owned(),
    )
    .into())
}

/// Reads a token from a file that only its owner can read.
fn token_from_file(path: &Path) -> Result<Token> {
    let named = || format!("token file {}", path.display());
    let unreadable = || format!("cannot read the {}", named());
    let metadata = fs::metadata(path).with_context(unreadable)?;
    if metadata.mode() & 0o077 != 0 {
        bail!(
            "{} can be read by others; run `chmod 600 {}`",
            named(),
            path.display()
        );
    }
    parse_token(
        &given_files::read_text(path).with_context(unreadable)?,
        &named(),
    )
}

/// Parses a token, one line `<id>|<secret>`, so that a typing mistake is reported before a request is sent.
fn parse_token(text: &str, source: &str) -> Result<Token> {
    let text = text.trim();
    let well_formed = text
        .split_once('|')
        .is_some_and(|(id, secret)| !id.is_empty() && !secret.is_empty())
        && text.chars().all(|c| c.is_ascii_graphic());
    if !well_formed {
        return Err(WrongUse(format!(
            "{source} does not contain a token; a token looks like `17|secret` and is shown once, when it is created"
        ))
        .into());
    }
    Ok(Token::parse(text)?)
}

mod token_text {
    //! The token in clear text, for the pipe to the background process.

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::wire::Token;

    pub(super) fn serialize<S: Serializer>(token: &Token, to: S) -> Result<S::Ok, S::Error> {
        token.expose().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Token, D::Error> {
        let text = String::deserialize(from)?;
        Token::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_configuration_may_choose_the_local_service_and_a_flag_another_account() {
        let mut profile = Profile {
            local: Some(true),
            ..Profile::default()
        };
        let mut args = AccountArgs::default();
        let chosen = choose(&args, &profile, PathBuf::from("/data"));
        let is_local = chosen.is_ok_and(|chosen| matches!(chosen, Account::Local { .. }));
        assert_eq!(is_local, this_build::HAS_LOCAL_SERVICE);
        profile.base_url = Some("https://a.example".to_owned());
        assert!(choose(&args, &profile, PathBuf::from("/data")).is_err());
        let dir = tempfile::tempdir().unwrap();
        let token = dir.path().join("token");
        fs::write(&token, "17|secret\n").unwrap();
        fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
        args.token_file = Some(token);
        args.base_url = Some("https://b.example".to_owned());
        let chosen = choose(&args, &profile, PathBuf::from("/data")).unwrap();
        assert!(matches!(chosen, Account::Remote { .. }));
    }

    #[test]
    fn a_token_file_that_others_can_read_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        fs::write(&path, "17|secret\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let error = token_from_file(&path).unwrap_err().to_string();
        assert!(error.contains("chmod 600"), "{error}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(token_from_file(&path).unwrap().expose(), "17|secret");
    }

    #[test]
    fn a_text_that_is_no_token_never_reaches_the_service_or_the_message() {
        let error = parse_token("hunter2", "the test").unwrap_err().to_string();
        assert!(
            error.contains("17|secret") && !error.contains("hunter2"),
            "{error}"
        );
    }

    #[test]
    fn a_base_url_gets_its_slash_and_never_carries_a_password() {
        assert_eq!(
            parse_base_url("https://a.example/x").unwrap().as_str(),
            "https://a.example/x/"
        );
        for wrong in [
            "ftp://a",
            "a.example",
            "https://me:pw@a.example",
            "https:///a",
            "https:a.example",
            "https://a.example#part",
        ] {
            assert!(parse_base_url(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_token_file_may_be_in_any_encoding_of_an_editor() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        let line = "17|secret\r\n";
        let units = |bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
            let text = format!("\u{feff}{line}");
            text.encode_utf16().flat_map(bytes).collect()
        };
        let texts = [
            line.as_bytes().to_vec(),
            format!("\u{feff}{line}").into_bytes(),
            units(u16::to_le_bytes),
            units(u16::to_be_bytes),
        ];
        for text in texts {
            fs::write(&path, &text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            let token = token_from_file(&path).unwrap();
            assert_eq!(token, Token::parse("17|secret").unwrap(), "{text:?}");
        }
    }
}
