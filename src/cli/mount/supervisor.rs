//! Reports to systemd (sd_notify(3)): READY when the drive answers, STATUS while it serves and sends, STOPPING when it
//! ends. Each report is a datagram to the socket that `NOTIFY_SOCKET` names. Without that variable, or if the socket
//! cannot be used, nothing is reported: a drive never depends on its supervisor.

use std::convert::Infallible;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;
use std::time::Duration;

use crate::cli::table::counted;
use crate::drive::{DraftStatus, Drive, MountStatus, StatusWord};
use crate::fuse::shell_quoted;

/// The variable by which systemd names its socket.
pub(super) const SOCKET_VARIABLE: &str = "NOTIFY_SOCKET";

/// How often STATUS is compared with what was reported last.
const STATUS_PERIOD: Duration = Duration::from_secs(1);

/// The connection to systemd, if it started this process and wants reports.
pub(super) struct Supervisor(Option<UnixDatagram>);

impl Supervisor {
    /// The supervisor that the environment names.
    pub(super) fn from_environment() -> Supervisor {
        let socket = std::env::var_os(SOCKET_VARIABLE).and_then(|name| {
            connect(name.as_bytes())
                .inspect_err(|error| tracing::warn!(%error, "cannot report to systemd"))
                .ok()
        });
        Supervisor(socket)
    }

    /// Reports that the drive answers.
    pub(super) fn ready(&self) {
        self.send("READY=1");
    }

    /// Reports that the drive ends.
    pub(super) fn stopping(&self) {
        self.send("STOPPING=1\nSTATUS=Unmounted; closing");
    }

    /// Reports what the drive does, whenever that changes.
    pub(super) async fn report(&self, drive: &Drive, mount_point: &Path) -> Infallible {
        if self.0.is_none() {
            return std::future::pending().await;
        }
        let mut reported = String::new();
        let mut ticks = tokio::time::interval(STATUS_PERIOD);
        loop {
            ticks.tick().await;
            let line = status_line(mount_point, &drive.status());
            if line != reported {
                self.send(&format!("STATUS={line}"));
                reported = line;
            }
        }
    }

    fn send(&self, report: &str) {
        if let Some(socket) = &self.0
            && let Err(error) = socket.send(report.as_bytes())
        {
            tracing::debug!(%error, "systemd did not take a report");
        }
    }
}

/// Connects to a path, or to a name of the abstract namespace, which begins with `@`.
fn connect(name: &[u8]) -> std::io::Result<UnixDatagram> {
    let address = match name.strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(Path::new(std::ffi::OsStr::from_bytes(name)))?,
    };
    let socket = UnixDatagram::unbound()?;
    socket.connect_addr(&address)?;
    // A supervisor that does not read must not stop the drive.
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// What the drive does, in one line for `systemctl status`.
fn status_line(mount_point: &Path, status: &MountStatus) -> String {
    let mut line = format!(
        "Serving {} at {}",
        status.account,
        shell_quoted(mount_point)
    );
    match (&status.offline_because, status.online) {
        (Some(why), _) => line.push_str(&format!("; {why}")),
        (None, false) => line.push_str("; the service cannot be reached"),
        (None, true) => {}
    }
    let uploading = status.uploading().count();
    if uploading > 0 {
        let percent = status.percent_uploaded();
        line.push_str(&format!("; uploading {}, {percent}%", models(uploading)));
    }
    let is_sent =
        |draft: &DraftStatus| draft.asset.is_some() || draft.state == StatusWord::Uploading;
    let stays = |draft: &&DraftStatus| draft.stuck || !is_sent(draft);
    let waiting = status.drafts.iter().filter(stays).count();
    if waiting > 0 {
        line.push_str(&format!("; {} not uploaded yet", models(waiting)));
    }
    line
}

fn models(count: usize) -> String {
    counted(count as u64, "model")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(state: StatusWord, sent_bytes: u64, total_bytes: u64) -> DraftStatus {
        DraftStatus {
            state,
            sent_bytes,
            total_bytes,
            ..DraftStatus::default()
        }
    }

    #[test]
    fn the_status_says_what_is_sent_and_what_waits() {
        let mut status = MountStatus {
            account: "the local service".to_owned(),
            online: true,
            ..MountStatus::default()
        };
        let line = |status: &MountStatus| status_line(Path::new("/mnt/a b"), status);
        assert_eq!(line(&status), "Serving the local service at '/mnt/a b'");
        status.drafts = vec![
            draft(StatusWord::Uploading, 10, 100),
            draft(StatusWord::Uploading, 20, 100),
            draft(StatusWord::Settling, 0, 0),
        ];
        status.online = false;
        assert_eq!(
            line(&status),
            "Serving the local service at '/mnt/a b'; the service cannot be reached; uploading 2 models, 15%; \
             1 model not uploaded yet"
        );
    }

    #[test]
    fn reports_reach_a_socket_by_path_and_by_abstract_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notify");
        let name = format!("assetfs-test-{}", std::process::id());
        let receivers = [
            UnixDatagram::bind(&path).unwrap(),
            UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap(),
        ];
        let names = [path.to_str().unwrap().to_owned(), format!("@{name}")];
        for (receiver, name) in receivers.iter().zip(names) {
            Supervisor(Some(connect(name.as_bytes()).unwrap())).ready();
            let mut buffer = [0; 64];
            let length = receiver.recv(&mut buffer).unwrap();
            assert_eq!(&buffer[..length], b"READY=1");
        }
    }
}
