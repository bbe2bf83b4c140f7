//! `assetfs webhook …`: the addresses that receive events.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde_json::json;

use super::connect::ServiceArgs;
use super::exit::Exit;
use super::output;
use super::table::{moment, table_below};
use crate::client::Priority;
use crate::given_files;
use crate::wire::{CreateWebhook, WebhookId};

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
    /// Register an address that receives events
    Add {
        /// URL of the receiver
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
        /// Id of the webhook
        id: u64,
        #[command(flatten)]
        service: ServiceArgs,
    },
    /// Delete a webhook
    Delete {
        /// Id of the webhook
        id: u64,
        #[command(flatten)]
        service: ServiceArgs,
    },
}

pub(super) fn webhook(args: &WebhookArgs) -> Result<Exit> {
    match &args.command {
        WebhookCommand::List { service } => {
            let hooks = service.ask(async |it| it.webhooks().list(Priority::Interactive).await)?;
            if output::is_json() {
                output::is_list();
                for hook in &hooks {
                    output::line(json!({
                        "id": hook.id,
                        "url": without_path(&hook.url),
                        "last_called_at": hook.last_called_at,
                        "failed_calls": hook.failed_calls,
                    }));
                }
                return Ok(Exit::Done);
            }
            let head = ["address", "number", "last called", "failed calls"];
            let rows = hooks.iter().map(|hook| {
                vec![
                    without_path(&hook.url),
                    hook.id.to_string(),
                    moment(hook.last_called_at),
                    hook.failed_calls.to_string(),
                ]
            });
            print!("{}", table_below(&head, rows));
        }
        WebhookCommand::Add {
            url,
            secret_file,
            no_verify,
            service,
        } => {
            let read = |path: &PathBuf| {
                let text =
                    given_files::read_text(path).with_context(|| path.display().to_string())?;
                Ok::<_, anyhow::Error>(text.trim().to_owned())
            };
            let request = CreateWebhook {
                url: url.clone(),
                verify_ssl: !no_verify,
                secret: secret_file.as_ref().map(read).transpose()?,
            };
            let made = service.ask(async |it| it.webhooks().create(&request).await)?;
            println!("Webhook {} is registered", made.id);
            if output::is_json() {
                output::line(json!({ "id": made.id, "state": "done", "exit": 0 }));
            }
        }
        WebhookCommand::Test { id, service } => {
            service.ask(async |it| it.webhooks().test(WebhookId(*id)).await)?;
            println!("A test event is being sent; `assetfs webhook list` shows whether it arrived");
        }
        WebhookCommand::Delete { id, service } => {
            service.ask(async |it| it.webhooks().delete(WebhookId(*id)).await)?;
        }
    }
    Ok(Exit::Done)
}

/// The path of a URL may be a secret that authenticates the service.
fn without_path(url: &str) -> String {
    url::Url::parse(url).map_or_else(
        |_| "unreadable".to_owned(),
        |url| url.origin().ascii_serialization(),
    )
}
