//! `assetfs login`, `logout`, `whoami`, `account delete`: sign-in and identity.

use std::io::{self, BufRead, IsTerminal, Write};
use std::process::{Command, Stdio};

use anyhow::{Result, bail};
use serde_json::json;

use crate::client::Priority;
use crate::wire::{Password, Token};

use super::block_on::block_on;
use super::connect::{Connected, ServiceArgs};
use super::exit::{Exit, WrongUse, sentence};
use super::kept_tokens::{TokenSource, forget_token, keep_token, kept_token};
use super::output;
use super::service_client::client_for;
use super::table::bytes;

/// Sign in to a service and store the token
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: assetfs login --base-url https://assets.example.com --email me@example.com"
)]
pub(super) struct LoginArgs {
    /// Address of the service
    #[arg(long, env = "ASSETFS_BASE_URL", value_name = "URL")]
    base_url: String,
    /// Your e-mail address there; asked for if it is missing
    #[arg(long)]
    email: Option<String>,
    /// Allow plain http to other machines; anybody in the network can then read the password
    #[arg(long, env = "ASSETFS_ALLOW_INSECURE")]
    allow_insecure: bool,
}

pub(super) fn login(args: &LoginArgs) -> Result<Exit> {
    let client = client_for(&args.base_url, None, args.allow_insecure)?;
    let email = match &args.email {
        Some(email) => email.clone(),
        None => asked("Email: ")?,
    };
    let password = Password::new(secretly_asked("Password: ")?);
    let token = block_on(async { Ok(client.account().login(&email, password).await?) })?;
    let (place, why_not_keyring) = keep_token(client.base_url(), &token)?;
    match why_not_keyring {
        None => println!("Signed in; the token is in {place}"),
        Some(why) => println!("Signed in; the token is in {place}, because {why}"),
    }
    println!("Mount it: assetfs mount --base-url {}", args.base_url);
    if output::is_json() {
        let service = client.base_url();
        output::line(
            json!({ "service": service, "state": "done", "kept_in": place.to_string(), "exit": 0 }),
        );
    }
    Ok(Exit::Done)
}

/// Delete the token that `login` stored, here and on the service
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: assetfs logout --base-url https://assets.example.com")]
pub(super) struct LogoutArgs {
    #[command(flatten)]
    service: ServiceArgs,
}

pub(super) fn logout(args: &LogoutArgs) -> Result<Exit> {
    let client = args.service.client()?;
    if let Connected::Local(_) = client {
        println!(
            "The local service of this machine needs no sign-in; there is nothing to sign out of."
        );
        return Ok(Exit::Done);
    }
    let kept = kept_token(client.base_url())?;
    let id = kept.as_ref().and_then(|(token, _)| Token::id(token));
    let (Some((_, source)), Some(id)) = (&kept, id) else {
        bail!(
            "no token of `assetfs login` is stored for {}",
            client.base_url()
        );
    };
    let deleted = block_on(async { Ok(client.tokens().delete(id).await) })?;
    if let Err(error) = deleted {
        let why = sentence(&error.into());
        eprintln!("assetfs: the token could not be deleted on the service: {why}");
    }
    match forget_token(client.base_url())? {
        Some(why) if *source == TokenSource::Keyring => {
            bail!("the token could not be removed from the keyring: {why}")
        }
        // The token was in a file.
        Some(why) => eprintln!("assetfs: {why}, so a token of an earlier sign-in may be in it"),
        None => {}
    }
    println!("Signed out of {}", client.base_url());
    Ok(Exit::Done)
}

/// Show the account of the token, and its remaining points and storage
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: assetfs whoami --local\nExample: assetfs whoami --base-url https://assets.example.com"
)]
pub(super) struct WhoamiArgs {
    #[command(flatten)]
    service: ServiceArgs,
}

pub(super) fn whoami(args: &WhoamiArgs) -> Result<Exit> {
    let client = args.service.client()?;
    let from = match client {
        Connected::Remote(_) => Some(args.service.token_source()?),
        Connected::Local(_) => None,
    };
    let told = block_on(async {
        let identity = client.account().identity().await?;
        let points = client
            .account()
            .points(Priority::Interactive)
            .await?
            .rapidpoints;
        let storage = client
            .account()
            .storage_left(Priority::Interactive)
            .await?
            .storage_left;
        Ok(json!({
            "service": identity.origin,
            "owner": identity.owner.map(|owner| owner.0),
            "token_id": identity.token_id.map(|token| token.0),
            "token_from": from.as_ref().map(ToString::to_string),
            "points": points,
            "storage_left": storage,
        }))
    })?;
    if output::is_json() {
        output::line(&told);
        return Ok(Exit::Done);
    }
    let known = told.as_object().into_iter().flatten();
    for (name, value) in known.filter(|(_, value)| !value.is_null()) {
        let shown = match (name.as_str(), value.as_u64(), value.as_str()) {
            ("storage_left", Some(left), _) => bytes(left),
            (_, _, Some(text)) => text.to_owned(),
            _ => value.to_string(),
        };
        println!("{:<13} {shown}", name.replace('_', " "));
    }
    Ok(Exit::Done)
}

/// Delete the account
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: assetfs account delete --base-url https://assets.example.com")]
pub(super) struct AccountCommandArgs {
    #[command(subcommand)]
    command: AccountCommand,
}

#[derive(Debug, clap::Subcommand)]
enum AccountCommand {
    /// Delete the account and everything in it permanently; asks for the password
    Delete {
        #[command(flatten)]
        service: ServiceArgs,
    },
}

pub(super) fn account(args: &AccountCommandArgs) -> Result<Exit> {
    let AccountCommand::Delete { service } = &args.command;
    let client = service.client()?;
    eprintln!(
        "This deletes the account at {} with all its models, presets and embeds permanently.",
        client.base_url()
    );
    let password = Password::new(secretly_asked("Password of the account: ")?);
    block_on(async { Ok(client.account().delete(password).await?) })?;
    // The token is invalid now.
    match forget_token(client.base_url()) {
        Ok(None) => {}
        Ok(Some(why)) => eprintln!("assetfs: {why}, so the token may still be in it"),
        Err(error) => eprintln!("assetfs: {}", sentence(&error)),
    }
    println!("The account is deleted.");
    Ok(Exit::Done)
}

fn asked(question: &str) -> Result<String> {
    eprint!("{question}");
    io::stderr().flush()?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let answer = line.trim_end_matches(['\n', '\r']).to_owned();
    if answer.is_empty() {
        return Err(WrongUse("nothing was given".to_owned()).into());
    }
    Ok(answer)
}

/// Asks for a text without echo. From a pipe, reads the first line.
fn secretly_asked(question: &str) -> Result<String> {
    if !io::stdin().is_terminal() {
        return asked("");
    }
    let hidden = echo(false);
    let answer = asked(question);
    if hidden {
        echo(true);
        eprintln!();
    }
    answer
}

/// Switches the echo of the terminal; true if it was on.
fn echo(on: bool) -> bool {
    let word = if on { "echo" } else { "-echo" };
    let stty = Command::new("stty")
        .arg(word)
        .stdin(Stdio::inherit())
        .stdout(Stdio::null())
        .status();
    stty.is_ok_and(|status| status.success())
}
