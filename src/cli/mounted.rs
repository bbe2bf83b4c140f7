//! Access to a mounted drive. Commands use the drive's own files, so a script can do the same.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::drive::{MountStatus, StatusWord};
use crate::fuse::{self, shell_quoted};

use super::dying;
use super::exit::TimedOut;
use super::exit::WrongUse;
use super::mount_source;
use super::settings;
use super::unanswered;

/// How often a command polls a state that it waits for.
pub(super) const POLL_PERIOD: Duration = Duration::from_millis(200);
/// The hidden folder of controls.
const CONTROLS: &str = ".assetfs";
/// The attribute that holds the last failure at a path.
const WHY_ATTRIBUTE: &str = "user.assetfs.why";
/// The attribute that holds what a model was sent without.
const WARNING_ATTRIBUTE: &str = "user.assetfs.warning";
/// The attribute that holds the one-line status.
const STATUS_ATTRIBUTE: &str = "user.assetfs.status";
/// After an unmount the process of the drive usually ends within this time. If not, the drive may be mounted elsewhere.
pub(super) const ENDS_SOON: Duration = Duration::from_secs(3);
/// The attribute that holds the status as one word.
const STATE_ATTRIBUTE: &str = "user.assetfs.state";
/// The attribute that holds the description of a preset.
const DESCRIPTION_ATTRIBUTE: &str = "user.assetfs.description";
/// The attribute that holds the service's id of a path.
const ID_ATTRIBUTE: &str = "user.assetfs.id";
/// The attribute that holds the address of a record, or of the page of an embed.
const URL_ATTRIBUTE: &str = "user.assetfs.url";
/// The attribute that holds the similarity of a result, 0 to 100.
const SIMILARITY_ATTRIBUTE: &str = "user.assetfs.similarity";
/// The attribute that holds the checksum over the files of a model, as a drive has noted it on the service.
const SOURCE_HASH_ATTRIBUTE: &str = "user.assetfs.source_hash";
/// The attribute that holds the checksum (XXH3, 128 bits) of a file that was copied in on this machine.
const CHECKSUM_ATTRIBUTE: &str = "user.assetfs.xxh3";
/// The attribute that holds the MD5 that the storage reports of a file.
const MD5_ATTRIBUTE: &str = "user.assetfs.md5";

/// A drive that is mounted on this machine.
#[derive(Debug, Clone)]
pub(super) struct MountedDrive {
    root: PathBuf,
    /// The command that mounts it again. Kept here, because the account of a drive is not known after it was unmounted.
    command_again: String,
}

impl MountedDrive {
    fn at(root: PathBuf) -> MountedDrive {
        MountedDrive {
            command_again: mount_source::command_again(&root),
            root,
        }
    }

    /// The drive that contains `path`.
    pub(super) fn of(path: &Path) -> Result<MountedDrive> {
        unanswered::watch(path);
        dying::free_before_use()?;
        match fuse::find_mount(path)? {
            Some(root) => {
                // The path may have led here over a link.
                unanswered::watch_drive(&root);
                Ok(MountedDrive::at(root))
            }
            None => bail!(
                "{} is not in a mounted assetfs drive; `assetfs status` lists the drives",
                shell_quoted(path)
            ),
        }
    }

    /// All drives that are mounted on this machine, by every user.
    pub(super) fn all() -> Result<Vec<MountedDrive>> {
        dying::free_before_use()?;
        let mounts = fuse::mounts()?.into_iter();
        let mounts = mounts.inspect(|root| unanswered::watch_drive(root));
        Ok(mounts.map(MountedDrive::at).collect())
    }

    /// The drive at `dir`. Without `dir` the one that the working folder is in, else the only one that this user mounted, else
    /// the one at `~/assets`. If none of this says which, the error shows `command` with each of them.
    pub(super) fn at_or_only(dir: Option<&Path>, command: &str) -> Result<MountedDrive> {
        if let Some(dir) = dir {
            return MountedDrive::of(dir);
        }
        dying::free_before_use()?;
        let root = DriveChoice::here()?.root(command)?;
        unanswered::watch_drive(&root);
        Ok(MountedDrive::at(root))
    }

    /// The drives whose account a command means that names none, with their source. They are several only if all are of one
    /// account. `None` if this user has mounted none.
    pub(super) fn of_account() -> Result<Option<(Vec<MountedDrive>, String)>> {
        dying::free_before_use()?;
        let choice = DriveChoice::here()?;
        let roots = match choice.evident() {
            Some(root) => vec![root],
            None => choice.own,
        };
        let Some(first) = roots.first() else {
            return Ok(None);
        };
        let source_of = |root: &Path| fuse::mount_source(root).map(Option::unwrap_or_default);
        let source = source_of(first)?;
        for root in &roots {
            if source_of(root)? != source {
                return Err(several_accounts(&roots));
            }
            unanswered::watch_drive(root);
        }
        let drives = roots.into_iter().map(MountedDrive::at);
        Ok(Some((drives.collect(), source)))
    }

    /// The mount point.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The current status of the mount.
    pub(super) fn status(&self) -> Result<MountStatus> {
        let path = self.root.join(CONTROLS).join("status.json");
        let text = fs::read(&path).map_err(|error| self.explain(error))?;
        serde_json::from_slice(&text)
            .with_context(|| format!("cannot understand {}", path.display()))
    }

    /// The id of its process. It is another one when the drive has been mounted again.
    pub(super) fn process(&self) -> Result<u32> {
        Ok(self.status()?.pid)
    }

    /// Returns `error`, or the error that the drive has ended if `process` is not its process any more. In that case `error`
    /// may be misleading: while no drive is mounted, all files seem to be missing.
    pub(super) fn unless_ended(&self, process: u32, error: anyhow::Error) -> anyhow::Error {
        match self.check_process(process) {
            Ok(()) => error,
            Err(ended) => ended,
        }
    }

    /// Fails if the drive no longer has this process.
    pub(super) fn check_process(&self, process: u32) -> Result<()> {
        match self.process()? == process {
            true => Ok(()),
            false => Err(self.ended().into()),
        }
    }

    fn ended(&self) -> DriveEnded {
        let (root, again) = (shell_quoted(&self.root), &self.command_again);
        DriveEnded(match self.is_mounted() {
            true => format!(
                "the process of the drive at {root} has ended; `{again}`, with the other options that you gave, starts it again and finishes the unfinished uploads"
            ),
            false => format!(
                "the drive at {root} is not mounted any more; `{again}`, with the other options that you gave, mounts it again"
            ),
        })
    }

    /// Sends the mount a command.
    pub(super) fn command(&self, line: &str) -> Result<()> {
        write_command(&self.root.join(CONTROLS).join("ctl"), line)
            .map_err(|error| self.explain(error))
    }

    /// The stream of its change events.
    pub(super) fn events(&self) -> Result<fs::File> {
        let path = self.root.join(CONTROLS).join("events");
        fs::File::open(path).map_err(|error| self.explain(error))
    }

    /// Ends the streams of events, whose readers would keep the drive in use. A read-only mount takes no command.
    pub(super) fn end_events(&self) {
        let _ = self.command("end-events");
    }

    /// Sends the mount a command about models. The error is the drive's own message.
    pub(super) fn order(&self, line: &str) -> Result<()> {
        write_command(&self.root.join(CONTROLS).join("ctl"), line).map_err(|error| {
            match why(&self.root).ok().flatten() {
                Some(sentence) if !self.is_read_only() => anyhow::anyhow!("{sentence}"),
                _ => self.explain(error),
            }
        })
    }

    fn is_mounted(&self) -> bool {
        fuse::mounts().is_ok_and(|mounts| mounts.contains(&self.root))
    }

    fn is_read_only(&self) -> bool {
        self.status().is_ok_and(|status| status.read_only)
    }

    pub(super) fn explain(&self, error: io::Error) -> anyhow::Error {
        let root = shell_quoted(&self.root);
        if means_ended(&error) || !self.is_mounted() {
            self.ended().into()
        } else if error.raw_os_error() == Some(libc::EROFS) && self.is_read_only() {
            anyhow::anyhow!(
                "the drive at {root} is mounted read-only, and this would change something; to change it, unmount it and mount it without --read-only (or `read_only` in the configuration)"
            )
        } else if error.kind() == io::ErrorKind::PermissionDenied {
            anyhow::anyhow!(
                "the drive at {root} takes commands from its owner and from root only; ask them, or run this as one of them"
            )
        } else {
            anyhow::Error::new(error).context(format!("cannot reach the drive at {root}"))
        }
    }
}

/// What a command without a path of a drive may mean.
struct DriveChoice {
    /// The drive that the working folder is in.
    around: Option<PathBuf>,
    own: Vec<PathBuf>,
    usual: Option<PathBuf>,
}

impl DriveChoice {
    fn here() -> Result<DriveChoice> {
        let here = std::env::current_dir().unwrap_or_default();
        Ok(DriveChoice {
            around: fuse::mounts()?
                .into_iter()
                .find(|root| here.starts_with(root)),
            own: fuse::own_mounts()?,
            usual: settings::usual_drive().ok(),
        })
    }

    /// The drive, if something says which.
    fn evident(&self) -> Option<PathBuf> {
        let only = match self.own.as_slice() {
            [root] => Some(root),
            _ => None,
        };
        let is_own = |usual: &&PathBuf| self.own.contains(usual);
        let usual = || self.usual.as_ref().filter(is_own);
        let around = self.around.as_ref();
        around.or(only).or_else(usual).cloned()
    }

    fn root(mut self, command: &str) -> Result<PathBuf> {
        if let Some(root) = self.evident() {
            return Ok(root);
        }
        if self.own.is_empty() {
            bail!(
                "you have mounted no assetfs drive; `assetfs mount --local` mounts one at ~/assets, or name the drive of \
                 another user"
            );
        }
        self.own.sort();
        let mut text = "you have mounted several drives; name one of them:".to_owned();
        for root in &self.own {
            text.push_str(&format!("\n  assetfs {command} {}", shell_quoted(root)));
        }
        Err(WrongUse(text).into())
    }
}

fn several_accounts(roots: &[PathBuf]) -> anyhow::Error {
    let mut text = "you have mounted several drives, and nothing says which account is meant; name it with --local, \
                    --base-url or --profile, or run the command in one of them:"
        .to_owned();
    for root in roots {
        text.push_str(&format!("\n  {}", shell_quoted(root)));
    }
    WrongUse(text).into()
}

/// The path itself, or what it leads to if it is one of the links that the drive makes for scripts: those below `.assetfs`
/// (`by-id`, `by-source`, `search`, `source`). Links of a user's folders, as the results in `optimize/`, stay what they are.
///
/// # Errors
/// If a link of `by-id` leads to a model of another id, because a name was given to another model at this moment.
pub(super) fn own_target(path: &Path) -> Result<PathBuf> {
    // Without a slash at the end, which would follow the link.
    let link: PathBuf = std::path::absolute(path)?.components().collect();
    let parts: Vec<&str> = link
        .iter()
        .map(|it| it.to_str().unwrap_or_default())
        .collect();
    let hidden = parts.iter().rposition(|part| *part == CONTROLS);
    let below = hidden.map_or(&[][..], |at| &parts[at + 1..]);
    let id = match below {
        ["by-id", id] => Some(*id),
        ["source"] | ["search" | "by-source", _, _] => None,
        _ => return Ok(path.to_owned()),
    };
    let is_link = || {
        link.symlink_metadata()
            .is_ok_and(|status| status.is_symlink())
    };
    if !is_link() || fuse::find_mount(&link)?.is_none() {
        return Ok(path.to_owned());
    }
    let target = link
        .canonicalize()
        .map_err(|error| explain_at(path, error))?;
    if let Some(id) = id
        && item_id(&target)?.is_none_or(|found| found != id)
    {
        bail!(
            "{} leads to {}, which has another id now; try again",
            shell_quoted(path),
            shell_quoted(&target)
        );
    }
    Ok(target)
}

/// A command that the object cannot follow as it is.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct CommandRefused(String);

/// Sends a command to one asset, rapid model or draft. If the command fails, the write fails, and the error is the
/// drive's message.
pub(super) fn command_at(path: &Path, line: &str) -> Result<()> {
    let (folder, order) = addressed(path, line);
    order_about(path, &folder, &order, path)
}

/// Sends the model at `folder` a command about the object at `path`. Errors name `path`.
pub(super) fn command_about(path: &Path, folder: &Path, order: &str) -> Result<()> {
    order_about(path, folder, order, folder)
}

/// `noted_at` is the path at which the drive records a failure.
fn order_about(path: &Path, folder: &Path, order: &str, noted_at: &Path) -> Result<()> {
    let drive = MountedDrive::of(path)?;
    check_exists(path)?;
    write_command(&folder.join(CONTROLS).join("ctl"), order).map_err(|error| {
        let said = match error.raw_os_error() {
            Some(libc::EROFS) if drive.is_read_only() => return drive.explain(error),
            // The path has no `ctl` file, so the command was not sent.
            Some(libc::ENOENT | libc::ENOTDIR) => {
                return anyhow::anyhow!(
                    "{} is neither a model nor a draft, so `{order}` is not possible",
                    shell_quoted(path)
                );
            }
            _ => why(noted_at).ok().flatten(),
        };
        match said {
            Some(sentence) if error.raw_os_error() == Some(libc::ETIMEDOUT) => {
                TimedOut(format!("{}: {sentence}", shell_quoted(path))).into()
            }
            Some(sentence) if error.raw_os_error() == Some(libc::EINVAL) => {
                CommandRefused(format!("{}: {sentence}", shell_quoted(path))).into()
            }
            Some(sentence) => anyhow::anyhow!("{}: {sentence}", shell_quoted(path)),
            None => anyhow::Error::new(error)
                .context(format!("{}: `{order}` failed", shell_quoted(path))),
        }
    })
}

/// Refuses a path that does not exist.
pub(super) fn check_exists(path: &Path) -> Result<()> {
    let Err(error) = fs::symlink_metadata(path) else {
        return Ok(());
    };
    if is_missing(&error) {
        bail!("{} does not exist", shell_quoted(path));
    }
    match why(path).ok().flatten() {
        Some(sentence) => bail!("{}: {sentence}", shell_quoted(path)),
        None => Err(explain_at(path, error)),
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR))
}

fn write_command(ctl: &Path, line: &str) -> io::Result<()> {
    match fs::File::options().write(true).open(ctl) {
        Ok(mut file) => file.write_all(format!("{line}\n").as_bytes()),
        // On a read-only mount the kernel opens no file for writing.
        Err(error) if error.raw_os_error() == Some(libc::EROFS) => {
            fuse::send_command(&fs::File::open(ctl)?, line)
        }
        Err(error) => Err(error),
    }
}

/// The folder and the text of a command for `path`: an asset has its own folder; a loose file is named in the command
/// of its folder.
fn addressed(path: &Path, line: &str) -> (PathBuf, String) {
    // A relative name may have no parent folder.
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let top = whole
        .parent()
        .filter(|top| whole.is_file() && top.ends_with("rawmodels"));
    match (top, whole.file_name()) {
        (Some(top), Some(name)) => (top.to_owned(), format!("{line} {}", name.display())),
        _ => (path.to_owned(), line.to_owned()),
    }
}

/// The state of an asset, rapid model, draft or job.
pub(super) struct ItemReport {
    pub(super) state: StatusWord,
    /// The same as one line.
    pub(super) status: String,
}

/// The state of the model, draft or job at a path; `None` if it has none.
pub(super) fn item_report(path: &Path) -> io::Result<Option<ItemReport>> {
    // The line is read after the word, so that it is never older than a word that ends a wait.
    let word = attribute(path, STATE_ATTRIBUTE)?;
    let status = attribute(path, STATUS_ATTRIBUTE)?;
    Ok(word.zip(status).map(|(word, status)| ItemReport {
        state: StatusWord::from_word(&word),
        status,
    }))
}

/// What the model at a path was sent without; `None` if nothing, or if that is not known.
pub(super) fn warning(path: &Path) -> Option<String> {
    attribute(path, WARNING_ATTRIBUTE).ok().flatten()
}

/// What a preset's file on a drive says about it; `None` if nothing.
pub(super) fn preset_description(file: &Path) -> Option<String> {
    attribute(file, DESCRIPTION_ATTRIBUTE).ok().flatten()
}

/// The checksum of a file that was copied into the drive here; `None` for other files.
pub(super) fn own_checksum(path: &Path) -> Result<Option<String>> {
    attribute(path, CHECKSUM_ATTRIBUTE).map_err(|error| explain_at(path, error.into()))
}

/// The MD5 of a file of the drive; `None` if the storage does not report one.
pub(super) fn told_md5(path: &Path) -> Option<String> {
    let mut value = [0; 64];
    let len = rustix::fs::getxattr(path, MD5_ATTRIBUTE, &mut value).ok()?;
    String::from_utf8(value[..len].to_vec()).ok()
}

/// The similarity of a result to its source, 0 to 100, if the service has said it.
pub(super) fn similarity(path: &Path) -> Option<f64> {
    let text = attribute(path, SIMILARITY_ATTRIBUTE).ok().flatten()?;
    text.parse()
        .ok()
        .filter(|score| (0.0..=100.0).contains(score))
}

/// The checksum over the files of the model at a path, as a drive has noted it on the service.
pub(super) fn noted_source(path: &Path) -> Result<Option<String>> {
    attribute(path, SOURCE_HASH_ATTRIBUTE).map_err(|error| explain_at(path, error.into()))
}

/// The service's id of the object at a path; `None` if it has no id yet.
pub(super) fn item_id(path: &Path) -> Result<Option<String>> {
    attribute(path, ID_ATTRIBUTE).map_err(|error| explain_at(path, error.into()))
}

/// The address that the object at a path has on the service; `None` if it has none.
pub(super) fn item_url(path: &Path) -> Result<Option<String>> {
    attribute(path, URL_ATTRIBUTE).map_err(|error| explain_at(path, error.into()))
}

/// The service's id of an open file or folder, also when its path has changed.
pub(super) fn id_of(open: &fs::File) -> Option<String> {
    let mut buffer = [0; 32];
    let len = rustix::fs::fgetxattr(open, ID_ATTRIBUTE, &mut buffer[..]).ok()?;
    Some(String::from_utf8_lossy(&buffer[..len]).trim().to_owned())
}

/// An extended attribute of the drive; `None` if it is not set.
fn attribute(path: &Path, name: &str) -> rustix::io::Result<Option<String>> {
    let mut buffer = vec![0; 64 * 1024];
    match rustix::fs::lgetxattr(path, name, buffer.as_mut_slice()) {
        Ok(len) => Ok(Some(
            String::from_utf8_lossy(&buffer[..len]).trim().to_owned(),
        )),
        Err(rustix::io::Errno::NODATA) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The last failure at `path`. If `path` does not exist, the failure of this name in its folder. If the lookup fails,
/// the failure of `path`, otherwise of its folder.
pub(super) fn why(path: &Path) -> Result<Option<String>> {
    sentence_at(path).map_err(|error| explain_at(path, error.into()))
}

/// Error: the process of a drive has ended, and its mount point still exists.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct DriveEnded(String);

/// Whether an error occurred because the process of a drive has ended.
pub(super) fn has_drive_ended(error: &anyhow::Error) -> bool {
    let is_it = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<io::Error>().is_some_and(means_ended)
    };
    error.is::<DriveEnded>() || error.chain().any(is_it)
}

/// Whether a call to a drive failed because the process of the drive has ended, also in the middle of the call.
pub(super) fn means_ended(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::ENOTCONN | libc::ECONNABORTED)
    )
}

/// The message for an error at `path`. If the process of the drive has ended, it says so, and what to do.
pub(super) fn explain_at(path: &Path, error: io::Error) -> anyhow::Error {
    match MountedDrive::of(path) {
        Ok(drive) if means_ended(&error) => drive.explain(error),
        _ => anyhow::Error::new(error).context(shell_quoted(path)),
    }
}

fn sentence_at(path: &Path) -> rustix::io::Result<Option<String>> {
    let asked = attribute(path, WHY_ATTRIBUTE);
    let (Err(error), Some(folder), Some(name)) = (&asked, path.parent(), path.file_name()) else {
        return asked;
    };
    // If the process of the drive has ended, its folders do not answer either.
    if *error == rustix::io::Errno::NOTCONN {
        return asked;
    }
    let of_name = format!("{WHY_ATTRIBUTE}.{}", name.to_string_lossy());
    match attribute(folder, &of_name) {
        Ok(Some(sentence)) => Ok(Some(sentence)),
        _ if [rustix::io::Errno::NOENT, rustix::io::Errno::NOTDIR].contains(error) => Ok(None),
        Ok(None) => attribute(folder, WHY_ATTRIBUTE),
        Err(_) => sentence_at(folder),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_drive_needs_no_name_and_of_several_the_list_is_given() {
        let only = |own: Vec<PathBuf>, command: &str| {
            let choice = DriveChoice {
                around: None,
                own,
                usual: Some("/home/me/assets".into()),
            };
            choice.root(command)
        };
        assert_eq!(
            only(vec!["/mnt/a".into()], "status").unwrap(),
            Path::new("/mnt/a")
        );
        let several = vec!["/mnt/b c".into(), "/mnt/a".into()];
        let error = only(several, "unmount").unwrap_err();
        assert!(error.is::<WrongUse>());
        let text = error.to_string();
        assert!(
            text.ends_with("\n  assetfs unmount /mnt/a\n  assetfs unmount '/mnt/b c'"),
            "{text}"
        );
        let error = only(Vec::new(), "status").unwrap_err();
        assert!(!error.is::<WrongUse>());
        let with_usual = vec!["/mnt/a".into(), "/home/me/assets".into()];
        assert_eq!(
            only(with_usual, "status").unwrap(),
            Path::new("/home/me/assets")
        );
    }

    #[test]
    fn the_drive_around_the_working_folder_comes_first() {
        let choice = DriveChoice {
            around: Some("/mnt/b".into()),
            own: vec!["/mnt/a".into(), "/mnt/b".into()],
            usual: None,
        };
        assert_eq!(choice.root("status").unwrap(), Path::new("/mnt/b"));
    }
}
