//! `assetfs mount --notify`: a notification of the desktop at the end of each job, and when a model was uploaded without
//! files that it refers to. The events of the outbox pass through here on their way to the drive. Changes that are refused
//! are in [`super::refusals`].

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::args::MountArgs;
use super::desktop::Desktop;
use super::owner::FileOwner;
use crate::cli::settings::Profile;
use crate::drive::{Drive, StatusWord};
use crate::fuse::shell_quoted;
use crate::outbox::{DraftId, JobFolder, Outbox, OutboxEvent};

/// Capacity of the channels of events, as that of the outbox.
const EVENTS_WAITING: usize = 256;

/// What `assetfs mount` shows on the desktop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Notify {
    Nothing,
    /// Changes that were refused.
    Refusals,
    /// The ends of jobs, and uploads with a warning, as well.
    JobsToo,
}

impl Notify {
    pub(super) fn chosen(args: &MountArgs, profile: &Profile) -> Notify {
        let is_set = |value: Option<bool>| value.unwrap_or(false);
        if args.no_notify {
            Notify::Nothing
        } else if args.notify {
            Notify::JobsToo
        } else if is_set(profile.no_notify) {
            Notify::Nothing
        } else if is_set(profile.notify) {
            Notify::JobsToo
        } else {
            Notify::Refusals
        }
    }
}

/// Why `--notify` shows nothing.
pub(super) fn why_none_is_shown(owner: &FileOwner) -> Option<String> {
    let reason = Desktop::of_owner(owner).err()?;
    Some(format!("--notify shows nothing: {reason}"))
}

/// What may be worth a notification.
pub(super) enum News {
    /// A job changed, by its folder and the name of its text.
    Job(JobFolder, String),
    /// The service has accepted a draft.
    Uploaded(DraftId),
}

/// Passes on all events and reports the jobs that changed and the drafts that were uploaded.
pub(super) fn tap(
    mut events: mpsc::Receiver<OutboxEvent>,
) -> (mpsc::Receiver<OutboxEvent>, mpsc::Receiver<News>) {
    let (to_drive, for_drive) = mpsc::channel(EVENTS_WAITING);
    let (to_here, changed) = mpsc::channel(EVENTS_WAITING);
    tokio::spawn(async move {
        while let Some(event) = events.recv().await {
            let news = match &event {
                OutboxEvent::JobChanged(folder, name) => Some(News::Job(*folder, name.clone())),
                OutboxEvent::AssetCreated { draft, .. } => Some(News::Uploaded(*draft)),
                _ => None,
            };
            if let Some(news) = news {
                // The drive does not wait for notifications: one that finds no room is not shown.
                let _ = to_here.try_send(news);
            }
            if to_drive.send(event).await.is_err() {
                return;
            }
        }
    });
    (for_drive, changed)
}

/// Shows the end of each job that was running since the mount started, and each upload with a warning. Ends with the
/// outbox.
pub(super) async fn show(
    mut news: mpsc::Receiver<News>,
    outbox: Outbox,
    drive: Drive,
    mount_point: PathBuf,
    owner: FileOwner,
) {
    let notify = async |title: &str, text: String| {
        Desktop::show(Desktop::of_owner(&owner), title, text).await;
    };
    let mut running = HashSet::new();
    while let Some(news) = news.recv().await {
        let (folder, name) = match news {
            News::Job(folder, name) => (folder, name),
            News::Uploaded(draft) => {
                let draft = outbox.drafts().get(draft);
                if let Some((draft, warning)) = draft.and_then(|it| Some((it.name, it.warning?))) {
                    let path = format!("/rawmodels/{draft}");
                    let text = body(&mount_point, &path, Some(&warning));
                    notify("Model uploaded without files", text).await;
                }
                continue;
            }
        };
        let Some(job) = outbox.jobs().get(&folder, &name) else {
            running.remove(&(folder, name));
            continue;
        };
        let Some(title) = end_of(&folder, &job.status.word()) else {
            running.insert((folder, name));
            continue;
        };
        let path = drive.job_path(&folder, &name);
        if running.remove(&(folder, name)) {
            let text = body(&mount_point, &path, job.failure.as_deref());
            notify(title, text).await;
        }
    }
}

/// The title of a notification, if a job with this status is over.
fn end_of(folder: &JobFolder, word: &StatusWord) -> Option<&'static str> {
    let makes_an_embed = matches!(folder, JobFolder::Embeds(_) | JobFolder::RapidEmbeds(_));
    match (word, makes_an_embed) {
        (StatusWord::Done, false) => Some("Optimization done"),
        (StatusWord::Failed, false) => Some("Optimization failed"),
        (StatusWord::Done, true) => Some("Embed made"),
        (StatusWord::Failed, true) => Some("Embed failed"),
        _ => None,
    }
}

pub(super) fn body(mount_point: &Path, path: &str, failure: Option<&str>) -> String {
    let path = shell_quoted(&mount_point.join(path.trim_start_matches('/')));
    match failure {
        Some(failure) => format!("{path}: {failure}"),
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_has_its_reason() {
        let text = body(
            Path::new("/mnt"),
            "/rawmodels/a<b>&c/optimize/web.json",
            Some("no points"),
        );
        assert_eq!(text, "'/mnt/rawmodels/a<b>&c/optimize/web.json': no points");
    }
}
