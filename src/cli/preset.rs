//! `assetfs preset …`: shows presets as text, and exports them as zips.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap_complete::engine::ArgValueCompleter;
use futures_util::StreamExt as _;
use serde_json::{Value, json};

use super::block_on::block_on;
use super::completers;
use super::connect::ServiceArgs;
use super::exit::{Exit, WrongUse};
use super::preset_names::unknown;
use super::{output, preset_list};
use crate::client::{Client, Download, Priority};
use crate::given_files;
use crate::outbox::several_presets;
use crate::wire::{PresetId, PresetNamed, PresetText, find_preset};

/// List, show and export presets
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: assetfs preset list\nExample: assetfs preset export web --out web.zip\nExample: assetfs preset show 'Web Viewer' --local"
)]
pub(super) struct PresetArgs {
    #[command(subcommand)]
    command: PresetCommand,
}

#[derive(Debug, clap::Subcommand)]
enum PresetCommand {
    /// List the presets of a drive or an account, and those of the service, with what each does
    List {
        /// A path in a drive. Without it the account that flags name, else a mounted drive, else the engine's own presets
        drive: Option<PathBuf>,
        #[command(flatten)]
        service: ServiceArgs,
    },
    /// Print the configuration of a preset, as the service has it
    Show {
        /// Name of a preset of the account or of a factory preset
        #[arg(add = ArgValueCompleter::new(completers::presets))]
        preset: String,
        #[command(flatten)]
        service: ServiceArgs,
    },
    /// Write a preset, or a configuration in a file, as a zip
    Export {
        /// Name of a preset of the account or of a factory preset, or a file (.json, .rpdx) with a configuration or preset
        #[arg(add = ArgValueCompleter::new(completers::presets))]
        preset: String,
        /// File of the new zip
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
        /// Only the format of the command line; always the case for a file
        #[arg(long)]
        cli: bool,
        #[command(flatten)]
        service: ServiceArgs,
    },
}

pub(super) fn preset(args: &PresetArgs) -> Result<Exit> {
    match &args.command {
        PresetCommand::List { drive, service } => {
            preset_list::print(&preset_list::listed(drive.as_deref(), service)?);
            Ok(Exit::Done)
        }
        PresetCommand::Show { preset, service } => {
            let client = service.client()?;
            let preset = block_on(async {
                let id = named(&client, preset).await?;
                Ok(client.presets().get(id, Priority::Interactive).await?)
            })?;
            match output::is_json() {
                true => output::line(
                    json!({ "id": preset.id, "name": preset.name, "config": preset.config.0 }),
                ),
                false => println!("{}", preset.config.to_pretty_text()),
            }
            Ok(Exit::Done)
        }
        PresetCommand::Export {
            preset,
            out,
            cli,
            service,
        } => export(&*service.client()?, preset, out, *cli),
    }
}

fn export(client: &Client, preset: &str, out: &Path, cli: bool) -> Result<Exit> {
    let file = Path::new(preset);
    let is_file = PresetText::is_file_name(preset) && file.is_file();
    block_on(async {
        let download = if is_file {
            let text = given_files::read_text(file).with_context(|| file.display().to_string())?;
            let preset = PresetText::from_value(Value::String(text))
                .with_context(|| format!("{} is not a preset", file.display()))?;
            client.presets().config_rpdx(&preset.config).await?
        } else {
            let id = named(client, preset).await?;
            match cli {
                true => client.presets().rpdx(id, Priority::Interactive).await?,
                false => client.presets().zip(id, Priority::Interactive).await?,
            }
        };
        let bytes = whole(download).await?;
        fs::write(out, bytes).with_context(|| out.display().to_string())?;
        match output::is_json() {
            true => output::done(out),
            false => println!("{}", out.display()),
        }
        Ok(Exit::Done)
    })
}

/// The preset of a name.
async fn named(client: &Client, name: &str) -> Result<PresetId> {
    let own = client.presets().list(Priority::Interactive).await?;
    let factory = client.presets().factory(Priority::Interactive).await?;
    let own: Vec<_> = own.iter().map(|it| (it.name.as_str(), it.id)).collect();
    let factory: Vec<_> = factory.iter().map(|it| (it.name.as_str(), it.id)).collect();
    match find_preset(name, &own, &factory) {
        PresetNamed::One(id) => Ok(id),
        PresetNamed::Nothing => {
            let names = own.iter().chain(&factory).map(|(name, _)| *name);
            Err(unknown(name, names).into())
        }
        PresetNamed::Several(several) => Err(WrongUse(several_presets(name, &several)).into()),
    }
}

const MAX_BYTES: usize = 64 << 20;

async fn whole(mut download: Download) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while let Some(chunk) = download.stream.next().await {
        bytes.extend_from_slice(&chunk?);
        if bytes.len() > MAX_BYTES {
            bail!("the preset that the service sends is too large");
        }
    }
    Ok(bytes)
}
