//! `ctl` files: one command a line; the write's error is the command's error.

use std::str::FromStr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::rows::optimize_folder;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::fresh::listings::Which;
use crate::drive::shared::Shared;
use crate::drive::tree::node::{Home, Node, Place, RemoteFolder, Top};
use crate::outbox::DraftId;
use crate::wire::{AssetId, AssetUpdate};

/// A line longer than this is no command.
const MAX_LINE_BYTES: usize = 16 * 1024;
/// How long `allow-delete` lifts the limit.
pub(in crate::drive) const DELETE_ALLOWED_FOR: Duration = Duration::from_secs(600);

/// What was written to a `ctl` file and is no whole line yet.
pub(in crate::drive) struct ControlBuffer {
    place: Place,
    pending: Mutex<Vec<u8>>,
}

impl ControlBuffer {
    pub(in crate::drive) fn new(place: Place) -> ControlBuffer {
        ControlBuffer {
            place,
            pending: Mutex::default(),
        }
    }

    pub(in crate::drive) fn place(&self) -> Place {
        self.place
    }

    /// Adds what was written and takes out the whole lines.
    fn lines(&self, data: &[u8]) -> DriveResult<Vec<String>> {
        let mut pending = self.pending.lock().expect("no panic while a line is held");
        pending.extend_from_slice(data);
        let whole = pending
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        let lines: Vec<u8> = pending.drain(..whole).collect();
        if pending.len() > MAX_LINE_BYTES || lines.len() > MAX_LINE_BYTES * 64 {
            pending.clear();
            return Err(DriveError::Invalid("a command is a short line".into()));
        }
        Ok(String::from_utf8_lossy(&lines)
            .lines()
            .map(str::to_owned)
            .collect())
    }

    /// Takes out a last line that was not ended.
    fn rest(&self) -> Option<String> {
        let mut pending = self.pending.lock().expect("no panic while a line is held");
        let rest = std::mem::take(&mut *pending);
        (!rest.is_empty()).then(|| String::from_utf8_lossy(&rest).into_owned())
    }
}

/// One command.
#[derive(Debug, Clone, PartialEq)]
enum Command {
    Commit { force: bool },
    Cancel,
    CancelOrphan(AssetId),
    Retry,
    Convert(Vec<String>),
    Scale(f64),
    Run(String),
    Refresh,
    Drain { ready_only: bool },
    AllowDelete,
}

impl FromStr for Command {
    type Err = DriveError;

    fn from_str(line: &str) -> DriveResult<Command> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["commit"] => Ok(Command::Commit { force: false }),
            ["commit", "--force" | "force"] => Ok(Command::Commit { force: true }),
            ["cancel"] => Ok(Command::Cancel),
            ["cancel", "--orphan", id] => match id.parse() {
                Ok(id) => Ok(Command::CancelOrphan(id)),
                Err(_) => Err(DriveError::Invalid(format!(
                    "{id} is not the number of an asset"
                ))),
            },
            ["retry"] => Ok(Command::Retry),
            ["convert", formats @ ..] if !formats.is_empty() => Ok(Command::Convert(
                formats.iter().map(|format| (*format).to_owned()).collect(),
            )),
            ["scale", factor] => match factor.parse::<f64>() {
                Ok(factor) if factor.is_finite() && factor > 0.0 => Ok(Command::Scale(factor)),
                _ => Err(DriveError::Invalid(format!(
                    "{factor} is not a scale; write a number such as 0.01"
                ))),
            },
            ["run", ..] => {
                let name = line.trim().strip_prefix("run").unwrap_or_default().trim();
                if name.is_empty() {
                    return Err(DriveError::Invalid(
                        "name the job to run, such as `run web.json`".into(),
                    ));
                }
                Ok(Command::Run(name.to_owned()))
            }
            ["refresh"] => Ok(Command::Refresh),
            ["drain"] => Ok(Command::Drain { ready_only: false }),
            ["drain", "--ready" | "ready"] => Ok(Command::Drain { ready_only: true }),
            ["allow-delete"] => Ok(Command::AllowDelete),
            _ => Err(DriveError::Invalid(format!(
                "{:?} is not a command; read this file for the commands",
                line.trim()
            ))),
        }
    }
}

/// What reading a `ctl` file shows.
pub(in crate::drive) fn help(place: Place) -> String {
    let commands = match place {
        Place::Root => "drain [ready]\ncancel --orphan ID\nallow-delete\nrefresh\n",
        Place::Model(_) => {
            "commit [force]\ncancel\nretry\nconvert FORMAT…\nscale FACTOR\nrun JOB.json\nrefresh\n"
        }
        Place::Top(_) => "commit [force] FILE\ncancel FILE\nretry FILE\n",
        Place::Rapid(_) => "refresh\n",
    };
    format!("# Write one command a line:\n{commands}")
}

impl Shared {
    /// Runs the whole lines of what was written, up to the first that fails.
    pub(in crate::drive) async fn write_control(
        self: &Arc<Self>,
        control: &ControlBuffer,
        data: &[u8],
    ) -> DriveResult<()> {
        for line in control.lines(data)? {
            self.run_line(control.place, &line).await?;
        }
        Ok(())
    }

    /// Runs a last line that was not ended.
    pub(in crate::drive) async fn flush_control(
        self: &Arc<Self>,
        control: &ControlBuffer,
    ) -> DriveResult<()> {
        match control.rest() {
            Some(line) => self.run_line(control.place, &line).await,
            None => Ok(()),
        }
    }

    async fn run_line(self: &Arc<Self>, place: Place, line: &str) -> DriveResult<()> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        tracing::info!(place = %place, command = line, "a command was written");
        let (place, line) = match place {
            Place::Top(Top::RawModels) => self.order_to_loose_file(line).ok_or_else(not_here)?,
            place => (place, line),
        };
        let command: Command = line.parse()?;
        let result = match (place, command) {
            (Place::Root, command) => self.run_on_mount(command).await,
            (Place::Model(home), command) => self.run_on_model(home, command).await,
            (Place::Rapid(rapid), Command::Refresh) => {
                self.maps.doubt(&self.meta, RemoteFolder::RapidFiles(rapid));
                self.refreshed_rapid(rapid, Duration::ZERO)
                    .await
                    .map(|_| ())
            }
            (Place::Rapid(_) | Place::Top(_), _) => Err(not_here()),
        };
        // The sentence belongs to the model, not to its `ctl` file alone.
        match place {
            Place::Model(home) => self.noted_node(&Node::Model(home), result),
            Place::Rapid(rapid) => self.noted_node(&Node::Rapid(rapid), result),
            Place::Root | Place::Top(_) => self.noted_node(&Node::Root, result),
        }
    }

    /// The command of a line that ends in the name of a loose file, and the model that the file is or
    /// becomes. Commands have no folder of such a file to be written to before there is an asset.
    fn order_to_loose_file<'line>(&self, line: &'line str) -> Option<(Place, &'line str)> {
        let mut splits = line.match_indices(' ');
        splits.find_map(|(at, _)| {
            let draft = self.loose_draft(&line[at + 1..])?;
            Some((Place::Model(Home::Made(draft)), &line[..at]))
        })
    }

    async fn run_on_mount(self: &Arc<Self>, command: Command) -> DriveResult<()> {
        match command {
            Command::Drain { ready_only } => {
                let outbox = self.outbox.clone();
                let report = self
                    .detached(async move { Ok(outbox.drain(ready_only).await) })
                    .await?;
                match report.left.first() {
                    None => Ok(()),
                    Some(_) if ready_only => Ok(()),
                    Some((draft, reason)) => {
                        let name = self
                            .outbox
                            .draft(*draft)
                            .map_or_else(|| draft.to_string(), |draft| draft.name);
                        Err(DriveError::Busy(format!(
                            "{name} is not sent yet: {reason}"
                        )))
                    }
                }
            }
            Command::CancelOrphan(asset) => {
                let shared = Arc::clone(self);
                self.detached(async move {
                    shared.outbox.cancel_orphan(asset).await?;
                    shared.asset_gone(asset);
                    Ok(())
                })
                .await
            }
            Command::AllowDelete => {
                self.deletions().allow(DELETE_ALLOWED_FOR);
                Ok(())
            }
            Command::Refresh => {
                for which in [Which::Assets, Which::Rapids, Which::Presets, Which::Factory] {
                    self.doubt(which);
                }
                self.refreshed(Which::Assets).await
            }
            _ => Err(not_here()),
        }
    }

    async fn run_on_model(self: &Arc<Self>, home: Home, command: Command) -> DriveResult<()> {
        let asset = self.asset_of(home);
        match (command, home, asset) {
            // Accepted already: there is nothing left to commit.
            (Command::Commit { .. }, _, Some(_)) => Ok(()),
            (Command::Commit { force }, Home::Made(draft), None) => self.commit(draft, force).await,
            (Command::Cancel, Home::Made(draft), _) if self.outbox.draft(draft).is_some() => {
                let outbox = self.outbox.clone();
                self.detached(async move { Ok(outbox.cancel(draft).await?) })
                    .await?;
                if let Some(asset) = asset {
                    self.asset_gone(asset);
                }
                Ok(())
            }
            (Command::Cancel, ..) => Err(DriveError::Invalid(
                "there is nothing to cancel; `rm -r` deletes an asset".into(),
            )),
            (Command::Retry, Home::Made(draft), _) if self.outbox.draft(draft).is_some() => {
                let outbox = self.outbox.clone();
                self.detached(async move { Ok(outbox.retry(draft).await?) })
                    .await
            }
            (Command::Retry, _, Some(asset)) => {
                self.asked(self.client.retry_import(asset)).await?;
                self.refreshed_asset(asset, Duration::ZERO)
                    .await
                    .map(|_| ())
            }
            (Command::Convert(formats), _, Some(asset)) => {
                self.asked(self.client.add_formats(asset, &formats)).await?;
                self.maps
                    .doubt(&self.meta, RemoteFolder::AssetConverted(asset));
                Ok(())
            }
            (Command::Scale(factor), _, Some(asset)) => {
                let update = AssetUpdate {
                    scale_factor: Some(factor),
                    ..AssetUpdate::default()
                };
                self.asked(self.client.update_asset(asset, &update)).await?;
                self.refreshed_asset(asset, Duration::ZERO)
                    .await
                    .map(|_| ())
            }
            (Command::Run(name), _, Some(asset)) => {
                let outbox = self.outbox.clone();
                self.detached(async move {
                    outbox.run_job(&optimize_folder(asset), &name).await?;
                    Ok(())
                })
                .await
            }
            (Command::Refresh, _, Some(asset)) => {
                self.maps.doubt(&self.meta, RemoteFolder::AssetFiles(asset));
                self.doubt_rapids_of(asset);
                self.refreshed_asset(asset, Duration::ZERO)
                    .await
                    .map(|_| ())
            }
            (Command::Refresh, _, None) => Ok(()),
            (
                Command::Convert(_) | Command::Scale(_) | Command::Run(_) | Command::Retry,
                _,
                None,
            ) => Err(DriveError::Invalid(
                "this is a draft yet; commit it first".into(),
            )),
            (Command::Commit { .. }, Home::Found(_), None)
            | (Command::CancelOrphan(_) | Command::Drain { .. } | Command::AllowDelete, ..) => {
                Err(not_here())
            }
        }
    }

    /// Sends a draft and waits until the service has accepted it, for as long as `sync` may take.
    pub(in crate::drive) async fn commit(
        self: &Arc<Self>,
        draft: DraftId,
        force: bool,
    ) -> DriveResult<()> {
        let shared = Arc::clone(self);
        let accepted = self.detached(async move {
            let asset = shared.outbox.commit(draft, force).await?;
            shared
                .made
                .lock()
                .expect("no panic while models are held")
                .insert(draft, asset);
            Ok(())
        });
        match tokio::time::timeout(self.config.sync_deadline, accepted).await {
            Ok(result) => result,
            Err(_) => Err(DriveError::TimedOut(format!(
                "the upload takes longer than {} s and goes on in the background; `assetfs wait` waits for its end",
                self.config.sync_deadline.as_secs()
            ))),
        }
    }

    /// Keeps the sentence of a failure for a thing.
    pub(in crate::drive) fn noted_node<T>(
        &self,
        node: &Node,
        result: DriveResult<T>,
    ) -> DriveResult<T> {
        match &result {
            Err(error) if error.is_worth_a_sentence() => {
                self.note_failure(node, None, &error.to_string())
            }
            Err(_) => {}
            Ok(_) => {
                self.failures.clear(&self.path_of(node));
            }
        }
        result
    }
}

fn not_here() -> DriveError {
    DriveError::Invalid("this command does nothing here; read this file for the commands".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_the_words_of_the_command_line() {
        for (line, command) in [
            ("commit", Command::Commit { force: false }),
            ("commit --force", Command::Commit { force: true }),
            (
                "convert fbx usdz",
                Command::Convert(vec!["fbx".into(), "usdz".into()]),
            ),
            ("scale 0.01", Command::Scale(0.01)),
            ("run my web.json", Command::Run("my web.json".into())),
            ("cancel --orphan 1042", Command::CancelOrphan(AssetId(1042))),
            ("drain", Command::Drain { ready_only: false }),
        ] {
            assert_eq!(line.parse::<Command>().unwrap(), command, "{line}");
        }
        for bad in [
            "",
            "commmit",
            "scale",
            "scale big",
            "scale -1",
            "scale inf",
            "convert",
            "run",
            "cancel --orphan x",
        ] {
            assert!(bad.parse::<Command>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_line_may_come_in_pieces_and_the_last_one_need_not_end() {
        let control = ControlBuffer::new(Place::Root);
        assert!(control.lines(b"dra").unwrap().is_empty());
        assert_eq!(
            control.lines(b"in\nrefresh\nallow").unwrap(),
            ["drain", "refresh"]
        );
        assert_eq!(control.rest().as_deref(), Some("allow"));
        assert_eq!(control.rest(), None);
        assert!(control.lines(&[b'x'; MAX_LINE_BYTES + 1]).is_err());
    }
}
