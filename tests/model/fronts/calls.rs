//! System calls by path: those of the kernel, or of a drive without one.

use rustix::io::Errno;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    File,
    Folder,
    Link,
}

/// Where to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    End,
    At(u64),
}

/// Paths begin at the top of the drive, without a slash.
pub trait Calls {
    fn mkdir(&self, path: &str) -> Result<(), Errno>;
    /// Creates or truncates, writes, closes.
    fn write(&self, path: &str, bytes: &[u8]) -> Result<(), Errno>;
    /// Writes into a file that exists.
    fn write_at(&self, path: &str, position: Position, bytes: &[u8]) -> Result<(), Errno>;
    fn truncate(&self, path: &str, len: u64) -> Result<(), Errno>;
    fn rename(&self, from: &str, to: &str) -> Result<(), Errno>;
    fn unlink(&self, path: &str) -> Result<(), Errno>;
    fn rmdir(&self, path: &str) -> Result<(), Errno>;
    fn rows(&self, path: &str) -> Result<Vec<(String, Kind)>, Errno>;
    fn read(&self, path: &str) -> Result<Vec<u8>, Errno>;
    /// The length that `stat` says.
    fn len(&self, path: &str) -> Result<u64, Errno>;
    fn read_link(&self, path: &str) -> Result<String, Errno>;
    fn xattr(&self, path: &str, name: &str) -> Result<String, Errno>;
    fn set_xattr(&self, path: &str, name: &str, value: &str) -> Result<(), Errno>;

    /// `rm -r`, also of what is a single file.
    fn remove_all(&self, path: &str) -> Result<(), Errno> {
        for (name, kind) in self.rows(path)? {
            let child = format!("{path}/{name}");
            match kind {
                Kind::Folder => self.remove_all(&child)?,
                Kind::File | Kind::Link => self.unlink(&child)?,
            }
        }
        self.rmdir(path)
    }

    fn read_text(&self, path: &str) -> Result<String, Errno> {
        let bytes = self.read(path)?;
        Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
    }
}
