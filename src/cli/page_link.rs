//! `assetfs page`: where the page of the local service is, with a link that signs in once. Also what `mount` and `serve` print
//! about it.

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use serde_json::json;

use super::block_on::block_on;
use super::exit::Exit;
use super::{local, output, settings};
use crate::fuse::shell_quoted;

/// Print a link that opens the page of the local service, signed in
///
/// The service runs as long as a drive of it is mounted (`assetfs mount --local`), or by `assetfs serve`. A link works once,
/// in a browser on this machine, for ten minutes.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: assetfs page\nExample: assetfs page --open")]
pub(super) struct PageArgs {
    /// Folder of the local service's records [default: $XDG_DATA_HOME/assetfs/service]
    #[arg(long, env = "ASSETFS_DATA_DIR", value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Open the link in the browser of the desktop
    #[arg(long)]
    open: bool,
}

pub(super) fn run(args: &PageArgs) -> Result<Exit> {
    let data_dir = match &args.data_dir {
        Some(dir) => std::path::absolute(dir)?,
        None => settings::local_service_dir()?,
    };
    let link = block_on(local::sign_in_link(&data_dir))?;
    if args.open {
        open_in_browser(&link)?;
    }
    if output::is_json() {
        output::line(json!({ "state": "done", "link": link, "exit": 0 }));
    } else if !args.open {
        println!("{link}");
        // Beside the link and not in its line, so that scripts get the link alone.
        eprintln!("It signs in once, within 10 minutes, in a browser on this machine.");
    }
    Ok(Exit::Done)
}

fn open_in_browser(link: &str) -> Result<()> {
    let done = Command::new("xdg-open")
        .arg(link)
        .stdin(Stdio::null())
        .status();
    let done = done.context("cannot start xdg-open; open the link that `assetfs page` prints")?;
    anyhow::ensure!(
        done.success(),
        "xdg-open found no browser; open the link that `assetfs page` prints"
    );
    Ok(())
}

/// Where a service with its records in `data_dir` has its page, for people. `link` signs in once.
pub(super) fn place_of_page(address: &str, link: Option<&str>, data_dir: &Path) -> String {
    let command = command(data_dir);
    match link {
        Some(link) => {
            format!("{link} (signs in once, within 10 minutes; {command} prints another link)")
        }
        None => format!("{address} ({command} prints a link that signs in)"),
    }
}

/// The command that prints a link.
fn command(data_dir: &Path) -> String {
    match settings::local_service_dir().is_ok_and(|usual| usual == data_dir) {
        true => "`assetfs page`".to_owned(),
        false => format!("`assetfs page --data-dir {}`", shell_quoted(data_dir)),
    }
}

/// Whether standard output may be a log, which keeps what is printed longer than is good for a link. A program that goes on
/// running writes into a log if not to a terminal; another one does if systemd has started it.
pub(super) fn may_be_logged(goes_on: bool) -> bool {
    let by_systemd = std::env::var_os("JOURNAL_STREAM").is_some();
    !io::stdout().is_terminal() && (goes_on || by_systemd)
}
