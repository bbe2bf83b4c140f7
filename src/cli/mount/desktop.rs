//! The desktop of a user: where its notifications go.

use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{getegid, geteuid};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use super::owner::FileOwner;
use crate::cli::desktop_notice::{DEADLINE, Notice, has_session_bus};
use crate::running_program::running_program;

/// How long the program that shows a notification may take to start and to end.
const EXIT_TIME: Duration = Duration::from_secs(1);

/// A session that notifications can be shown in.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Desktop {
    /// That of this process.
    Own,
    /// That of another user, which only root can reach.
    Of {
        uid: u32,
        gid: u32,
        runtime_dir: PathBuf,
    },
}

/// Why there is no desktop to show anything on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoDesktop {
    #[error("there is no session bus, so no user is signed in to a desktop on this machine")]
    NoSession,
    #[error("only root can reach the desktop of another user")]
    NotOurs,
}

impl Desktop {
    /// The desktop of a user, as far as this process can reach it. A user who signs in later has one then.
    pub(super) fn of_user(uid: u32, gid: u32) -> Result<Desktop, NoDesktop> {
        let own = geteuid().as_raw();
        if uid == own {
            return has_session_bus()
                .then_some(Desktop::Own)
                .ok_or(NoDesktop::NoSession);
        }
        if own != 0 {
            return Err(NoDesktop::NotOurs);
        }
        // Made by pam_systemd and elogind when the user signs in.
        let runtime_dir = PathBuf::from(format!("/run/user/{uid}"));
        match runtime_dir.join("bus").exists() {
            true => Ok(Desktop::Of {
                uid,
                gid,
                runtime_dir,
            }),
            false => Err(NoDesktop::NoSession),
        }
    }

    /// The desktop for news of a drive: that of the user who mounted it, or of its owner if root did.
    pub(super) fn of_owner(owner: &FileOwner) -> Result<Desktop, NoDesktop> {
        match geteuid().is_root() {
            true => Desktop::of_user(owner.uid, owner.gid),
            false => Desktop::of_user(geteuid().as_raw(), getegid().as_raw()),
        }
    }

    /// Shows a notification, if there is a desktop. Returns when it is shown, or after [`DEADLINE`] and [`EXIT_TIME`].
    pub(super) async fn show(desktop: Result<Desktop, NoDesktop>, title: &str, text: String) {
        let desktop = match desktop {
            Ok(desktop) => desktop,
            Err(reason) => return tracing::debug!(%reason, "a notification is not shown"),
        };
        let notice = Notice {
            title: title.to_owned(),
            text,
        };
        match tokio::time::timeout(DEADLINE + EXIT_TIME, desktop.send(&notice)).await {
            Ok(Ok(status)) if status.success() => {}
            Ok(Ok(status)) => tracing::debug!(%status, "the desktop took no notification"),
            Ok(Err(error)) => tracing::warn!(%error, "cannot show a notification"),
            Err(_) => tracing::warn!("the desktop took no notification in time"),
        }
    }

    async fn send(&self, notice: &Notice) -> io::Result<std::process::ExitStatus> {
        let mut command = Command::new(running_program(std::env::current_exe()?));
        command
            .arg("desktop-notice")
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        if let Desktop::Of {
            uid,
            gid,
            runtime_dir,
        } = self
        {
            // Nothing of root's environment is for the user.
            command
                .env_clear()
                .env("XDG_RUNTIME_DIR", runtime_dir)
                .uid(*uid)
                .gid(*gid);
        }
        let mut child = command.spawn()?;
        let text = serde_json::to_vec(notice)?;
        if let Some(mut input) = child.stdin.take() {
            input.write_all(&text).await?;
        }
        child.wait().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_who_is_not_signed_in_has_no_desktop() {
        let nobody = 4_000_000_000;
        let expected = match geteuid().is_root() {
            true => NoDesktop::NoSession,
            false => NoDesktop::NotOurs,
        };
        assert_eq!(Desktop::of_user(nobody, nobody), Err(expected));
    }
}
