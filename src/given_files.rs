//! Files that a user names: models, presets, tokens, passwords, certificates, the configuration.
//!
//! Opening a pipe waits for a process at its other end, and a device may never end, so only files are opened. The exception
//! is what this process was started with: standard input, and the pipes of a shell (`--preset <(…)`), which are below
//! `/dev/fd`.

use std::fs::{self, File, FileType};
use std::io::{self, Read as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::process::geteuid;

/// Maximum size of a text that is read as a whole.
const MAX_TEXT_BYTES: u64 = 8 << 20;

/// Opens a file for reading; never waits.
///
/// # Errors
/// Those of the system, and if it is a folder, a pipe, a socket or a device.
pub fn open(path: &Path) -> io::Result<File> {
    // Checked before opening, because that alone may have an effect on a device, and after, because the file may have
    // been replaced in between.
    let found = fs::metadata(path)?;
    check_kind(found.file_type())?;
    let file = File::options()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)
        .map_err(|error| with_owner(error, found.uid(), geteuid().as_raw()))?;
    check_kind(file.metadata()?.file_type())?;
    Ok(file)
}

/// Opens a file as [`open`] does, and refuses it if it is outside of `folder` (a path without symbolic links). The check is made
/// on the open file, so replacing a link at the same moment does not get around it.
///
/// # Errors
/// Those of [`open`], and `ELOOP` if links lead out of the folder.
pub fn open_within(path: &Path, folder: &Path) -> io::Result<File> {
    let file = open(path)?;
    let opened = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    match opened.starts_with(folder) {
        true => Ok(file),
        false => Err(io::Error::from_raw_os_error(libc::ELOOP)),
    }
}

/// Reads a text in any encoding that editors write, as UTF-8 if it is a text.
///
/// # Errors
/// Those of [`open`], and if the file is too long for a text.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = match is_own_descriptor(path) {
        true => File::open(path)?,
        false => open(path)?,
    };
    let mut bytes = Vec::new();
    file.take(MAX_TEXT_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_TEXT_BYTES {
        return Err(io::Error::other(format!(
            "it has more than {} MB",
            MAX_TEXT_BYTES >> 20
        )));
    }
    Ok(assetfs_formats::text::utf8(&bytes).into_owned())
}

/// Like [`read`], but fails if the file is not a text.
pub fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not a text in UTF-8"))
}

/// Says whose file it is: in a container a secret often belongs to a user of the host.
fn with_owner(error: io::Error, owner: u32, user: u32) -> io::Error {
    if error.kind() != io::ErrorKind::PermissionDenied || owner == user {
        return error;
    }
    let message = format!(
        "it belongs to the user {owner} while this process runs as {user}: let it read the file (chmod g+r and its group, \
         or chmod o+r in a folder that only its users can enter)"
    );
    io::Error::new(io::ErrorKind::PermissionDenied, message)
}

fn is_own_descriptor(path: &Path) -> bool {
    path.starts_with("/dev/fd")
        || path.starts_with("/proc/self/fd")
        || path == Path::new("/dev/stdin")
}

fn check_kind(kind: FileType) -> io::Result<()> {
    if kind.is_file() {
        return Ok(());
    }
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let is = match () {
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () => "a device",
    };
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("it is {is}, not a file"),
    ))
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::*;

    #[test]
    fn a_pipe_a_folder_and_a_device_are_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("token");
        mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
        for (path, why) in [
            (pipe.as_path(), "it is a pipe, not a file"),
            (dir.path(), "is a directory"),
            (Path::new("/dev/zero"), "it is a device, not a file"),
        ] {
            for error in [open(path).unwrap_err(), read(path).unwrap_err()] {
                assert!(error.to_string().contains(why), "{error}");
            }
        }
    }

    #[test]
    fn a_link_that_leads_out_of_a_folder_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let folder = top.join("hot");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("own"), "x").unwrap();
        fs::write(top.join("secret"), "x").unwrap();
        for (name, target) in [("inside", "own"), ("outside", "../secret")] {
            std::os::unix::fs::symlink(target, folder.join(name)).unwrap();
        }
        assert!(open_within(&folder.join("own"), &folder).is_ok());
        assert!(open_within(&folder.join("inside"), &folder).is_ok());
        let refused = open_within(&folder.join("outside"), &folder).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::ELOOP));
    }

    #[test]
    fn a_file_of_another_user_is_refused_with_both_users() {
        let denied = || io::Error::from_raw_os_error(libc::EACCES);
        let said = with_owner(denied(), 1000, 65534).to_string();
        assert!(
            said.contains("the user 1000") && said.contains("as 65534"),
            "{said}"
        );
        assert!(said.contains("chmod"), "{said}");
        assert_eq!(
            with_owner(denied(), 7, 7).raw_os_error(),
            Some(libc::EACCES)
        );
        let missing = io::Error::from_raw_os_error(libc::ENOENT);
        assert_eq!(with_owner(missing, 1, 2).raw_os_error(), Some(libc::ENOENT));
    }

    #[test]
    fn a_pipe_of_the_shell_is_read() {
        let (reader, mut writer) = io::pipe().unwrap();
        io::Write::write_all(&mut writer, b"\xEF\xBB\xBF17|secret").unwrap();
        drop(writer);
        let path = format!("/dev/fd/{}", reader.as_raw_fd());
        assert_eq!(read_text(Path::new(&path)).unwrap(), "17|secret");
    }
}
