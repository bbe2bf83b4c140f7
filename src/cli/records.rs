//! `assetfs token …`, `webhook …` and `preset export`: the account's records, from the command line.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use futures_util::StreamExt as _;

use crate::client::{Client, Download, Priority};
use crate::durable::write_atomic;
use crate::wire::{CreateWebhook, OptimizerConfig, PresetId, Timestamp, TokenId, WebhookId};

use super::connect::{ServiceArgs, block_on};
use super::table::table;
use super::{Exit, WrongUse};

/// List, make and delete API tokens
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: assetfs token create studio --out ~/studio.token")]
pub(super) struct TokenArgs {
    #[command(subcommand)]
    command: TokenCommand,
}

#[derive(Debug, clap::Subcommand)]
enum TokenCommand {
    /// Show the tokens; never their secrets
    List {
        #[command(flatten)]
        service: ServiceArgs,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Make a token; its text is told this once
    Create {
        /// What it is called
        name: String,
        /// File to keep it in, readable by you alone; else it is printed
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        #[command(flatten)]
        service: ServiceArgs,
    },
    /// Delete a token
    Delete {
        /// Its number
        id: u64,
        #[command(flatten)]
        service: ServiceArgs,
    },
}

pub(super) fn token(args: &TokenArgs) -> Result<Exit> {
    match &args.command {
        TokenCommand::List { service, json } => {
            let client = service.client()?;
            let tokens = block_on(async { Ok(client.tokens(Priority::Interactive).await?) })?;
            if *json {
                println!("{}", serde_json::to_string(&tokens)?);
                return Ok(Exit::Done);
            }
            let head = ["name", "number", "last used", "optimizations"];
            let rows = tokens.iter().map(|token| {
                vec![
                    token.name.clone(),
                    token.id.to_string(),
                    moment(token.last_used_at),
                    token.optimization_count.unwrap_or(0).to_string(),
                ]
            });
            print!("{}", table(&with_head(&head, rows)));
        }
        TokenCommand::Create { name, out, service } => {
            let client = service.client()?;
            let token = block_on(async { Ok(client.create_token(name).await?) })?;
            match out {
                Some(path) => {
                    write_atomic(path, token.expose().as_bytes())
                        .with_context(|| path.display().to_string())?;
                    println!("The token is in {}", path.display());
                }
                None => println!("{}", token.expose()),
            }
        }
        TokenCommand::Delete { id, service } => {
            let client = service.client()?;
            block_on(async { Ok(client.delete_token(TokenId(*id)).await?) })?;
        }
    }
    Ok(Exit::Done)
}

/// List, register, test and delete webhooks
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: assetfs webhook test 3")]
pub(super) struct WebhookArgs {
    #[command(subcommand)]
    command: WebhookCommand,
}

#[derive(Debug, clap::Subcommand)]
enum WebhookCommand {
    /// Show the webhooks; never their secrets
    List {
        #[command(flatten)]
        service: ServiceArgs,
    },
    /// Register an address for events
    Add {
        /// The address
        url: String,
        /// File that holds the key with which events are signed
        #[arg(long, value_name = "FILE")]
        secret_file: Option<PathBuf>,
        /// Do not check the address's certificate
        #[arg(long)]
        no_verify: bool,
        #[command(flatten)]
        service: ServiceArgs,
    },
    /// Send a test event
    Test {
        /// Its number
        id: u64,
        #[command(flatten)]
        service: ServiceArgs,
    },
    /// Delete a webhook
    Delete {
        /// Its number
        id: u64,
        #[command(flatten)]
        service: ServiceArgs,
    },
}

pub(super) fn webhook(args: &WebhookArgs) -> Result<Exit> {
    match &args.command {
        WebhookCommand::List { service } => {
            let client = service.client()?;
            let hooks = block_on(async { Ok(client.webhooks(Priority::Interactive).await?) })?;
            let head = ["address", "number", "last called", "failed calls"];
            let rows = hooks.iter().map(|hook| {
                vec![
                    without_path(&hook.url),
                    hook.id.to_string(),
                    moment(hook.last_called_at),
                    hook.failed_calls.to_string(),
                ]
            });
            print!("{}", table(&with_head(&head, rows)));
        }
        WebhookCommand::Add {
            url,
            secret_file,
            no_verify,
            service,
        } => {
            let read = |path: &PathBuf| {
                let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
                Ok::<_, anyhow::Error>(text.trim().to_owned())
            };
            let request = CreateWebhook {
                url: url.clone(),
                verify_ssl: !no_verify,
                secret: secret_file.as_ref().map(read).transpose()?,
            };
            let client = service.client()?;
            let made = block_on(async { Ok(client.create_webhook(&request).await?) })?;
            println!("Webhook {} is registered", made.id);
        }
        WebhookCommand::Test { id, service } => {
            let client = service.client()?;
            block_on(async { Ok(client.test_webhook(WebhookId(*id)).await?) })?;
            println!("A test event is on its way; `assetfs webhook list` shows whether it came");
        }
        WebhookCommand::Delete { id, service } => {
            let client = service.client()?;
            block_on(async { Ok(client.delete_webhook(WebhookId(*id)).await?) })?;
        }
    }
    Ok(Exit::Done)
}

/// Take presets along
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: assetfs preset export web --out web.zip")]
pub(super) struct PresetArgs {
    #[command(subcommand)]
    command: PresetCommand,
}

#[derive(Debug, clap::Subcommand)]
enum PresetCommand {
    /// Print the configuration of a preset, as the service has it
    Show {
        /// Name of a preset of the account
        preset: String,
        #[command(flatten)]
        service: ServiceArgs,
    },
    /// Write a preset, or a configuration in a file, as a zip
    Export {
        /// Name of a preset of the account, or a JSON file with a configuration
        preset: String,
        /// The zip to be
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
        /// Only the form of the command line; a file has no other
        #[arg(long)]
        cli: bool,
        #[command(flatten)]
        service: ServiceArgs,
    },
}

pub(super) fn preset(args: &PresetArgs) -> Result<Exit> {
    match &args.command {
        PresetCommand::Show { preset, service } => {
            let client = service.client()?;
            let preset = block_on(async {
                let id = named(&client, preset).await?;
                Ok(client.preset(id, Priority::Interactive).await?)
            })?;
            println!("{}", preset.config.to_pretty_text());
            Ok(Exit::Done)
        }
        PresetCommand::Export {
            preset,
            out,
            cli,
            service,
        } => export(&service.client()?, preset, out, *cli),
    }
}

fn export(client: &Client, preset: &str, out: &Path, cli: bool) -> Result<Exit> {
    let file = Path::new(preset);
    let is_file = file.extension().is_some_and(|it| it == "json") && file.is_file();
    block_on(async {
        let download = if is_file {
            let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
            let config = OptimizerConfig::parse(&text)
                .with_context(|| format!("{} is no configuration", file.display()))?;
            client.config_rpdx(&config).await?
        } else {
            let id = named(client, preset).await?;
            match cli {
                true => client.preset_rpdx(id, Priority::Interactive).await?,
                false => client.preset_zip(id, Priority::Interactive).await?,
            }
        };
        let bytes = whole(download).await?;
        fs::write(out, bytes).with_context(|| out.display().to_string())?;
        println!("{}", out.display());
        Ok(Exit::Done)
    })
}

/// The preset of a name.
async fn named(client: &Client, name: &str) -> Result<PresetId> {
    let all = client.presets(Priority::Interactive).await?;
    if let Some(preset) = all.iter().find(|preset| preset.name == name) {
        return Ok(preset.id);
    }
    let names: Vec<&str> = all.iter().map(|preset| preset.name.as_str()).collect();
    let names = names.join(", ");
    Err(WrongUse(format!("there is no preset {name:?}; there are: {names}")).into())
}

/// No preset is longer.
const MAX_BYTES: usize = 64 << 20;

async fn whole(mut download: Download) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while let Some(chunk) = download.stream.next().await {
        bytes.extend_from_slice(&chunk?);
        if bytes.len() > MAX_BYTES {
            bail!("the service sends more than a preset can be");
        }
    }
    Ok(bytes)
}

fn with_head(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Vec<Vec<String>> {
    let head = head.iter().map(|name| (*name).to_owned()).collect();
    std::iter::once(head).chain(rows).collect()
}

fn moment(at: Option<Timestamp>) -> String {
    at.map_or_else(|| "never".to_owned(), |at| at.plain())
}

/// The path of an address may be what proves that a call is the service's.
fn without_path(url: &str) -> String {
    url::Url::parse(url).map_or_else(
        |_| "unreadable".to_owned(),
        |url| url.origin().ascii_serialization(),
    )
}
