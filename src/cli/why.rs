//! `assetfs why`: the last failure at a path, as one sentence.

use std::path::PathBuf;

use anyhow::Result;

use crate::fuse::shell_quoted;

use super::Exit;
use super::mounted::{self, MountedDrive};

/// Explain why something failed and what to do
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: assetfs why ~/assets/rawmodels/chair")]
pub(super) struct WhyArgs {
    /// Paths in a mounted drive; also names that could not be created
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &WhyArgs) -> Result<Exit> {
    let mut exit = Exit::Done;
    for path in &args.paths {
        let drive = MountedDrive::of(path)?;
        let why = mounted::why(path)?;
        let missing = match why {
            Some(_) => None,
            None => mounted::check_exists(path).err(),
        };
        if args.json {
            let exists = missing.is_none() && path.symlink_metadata().is_ok();
            println!(
                "{}",
                serde_json::json!({ "path": path, "why": why, "exists": exists })
            );
        } else if let Some(missing) = &missing {
            eprintln!("assetfs: {}", super::sentence(missing));
        } else {
            let nothing = || nothing_failed(&drive);
            let sentence = why.clone().unwrap_or_else(nothing);
            match args.paths.len() {
                1 => println!("{sentence}"),
                _ => println!("{}: {sentence}", shell_quoted(path)),
            }
        }
        if missing.is_some() {
            exit = Exit::Failed;
        }
    }
    Ok(exit)
}

/// What to do if nothing is recorded for a path.
fn nothing_failed(drive: &MountedDrive) -> String {
    let root = shell_quoted(drive.root());
    match drive.status() {
        Ok(status) if status.read_only => {
            "nothing failed here. The drive is mounted read-only: to change something, unmount it and mount it without --read-only".to_owned()
        }
        _ => format!(
            "nothing failed here. A command that was refused prints its reason itself; `assetfs status {root}` lists what failed elsewhere"
        ),
    }
}
