//! `assetfs token …`: the API tokens of an account.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde_json::json;

use super::connect::ServiceArgs;
use super::exit::Exit;
use super::output;
use super::table::{moment, table_below};
use crate::client::Priority;
use crate::durable::write_atomic;
use crate::wire::TokenId;

/// List, create and delete API tokens
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
    },
    /// Create a token; its text is printed only this once
    Create {
        /// Name of the token
        name: String,
        /// File to store it in, readable by you alone; without it, the token is printed
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        #[command(flatten)]
        service: ServiceArgs,
    },
    /// Delete a token
    Delete {
        /// Id of the token
        id: u64,
        #[command(flatten)]
        service: ServiceArgs,
    },
}

pub(super) fn token(args: &TokenArgs) -> Result<Exit> {
    match &args.command {
        TokenCommand::List { service } => {
            let tokens = service.ask(async |it| it.tokens().list(Priority::Interactive).await)?;
            if output::is_json() {
                output::is_list();
                tokens.iter().for_each(output::line);
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
            print!("{}", table_below(&head, rows));
        }
        TokenCommand::Create { name, out, service } => {
            let token = service.ask(async |it| it.tokens().create(name).await)?;
            match out {
                Some(path) => {
                    write_atomic(path, token.expose().as_bytes())
                        .with_context(|| path.display().to_string())?;
                    println!("The token is in {}", path.display());
                    output::done(path);
                }
                None if output::is_json() => {
                    output::line(json!({ "state": "done", "token": token.expose(), "exit": 0 }));
                }
                None => println!("{}", token.expose()),
            }
        }
        TokenCommand::Delete { id, service } => {
            service.ask(async |it| it.tokens().delete(TokenId(*id)).await)?;
        }
    }
    Ok(Exit::Done)
}
