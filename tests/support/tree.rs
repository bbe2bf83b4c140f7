//! A drive by path: the effects of system calls, made with the drive's operations.

use std::ffi::OsStr;
use std::path::Path;
use std::time::{Duration, SystemTime};

use assetfs::drive::{
    Access, Attributes, Caller, Drive, DriveError, DriveResult, Entry, Fh, FileKind, Ino,
    OpenFlags, Opened, RenameMode, SetAttributes, SetTime, XattrMode,
};

/// Links followed before a path counts as a loop.
const MAX_LINKS: u32 = 16;
/// Bytes asked for and written at a time.
const CHUNK: usize = 128 * 1024;

/// A drive as one process sees it.
#[derive(Clone)]
pub struct Tree {
    pub drive: Drive,
    pub caller: Caller,
}

impl Tree {
    /// The drive as this process sees it.
    pub fn new(drive: Drive) -> Tree {
        Tree {
            drive,
            caller: Caller {
                pid: std::process::id(),
                uid: 0,
                gid: 0,
            },
        }
    }

    /// The drive as another process sees it.
    pub fn as_process(&self, pid: u32) -> Tree {
        Tree {
            drive: self.drive.clone(),
            caller: Caller { pid, ..self.caller },
        }
    }

    /// `lstat`.
    pub async fn look(&self, path: &str) -> DriveResult<Entry> {
        self.walk(path, false).await
    }

    /// `stat`.
    pub async fn stat(&self, path: &str) -> DriveResult<Attributes> {
        Ok(self.walk(path, true).await?.attributes)
    }

    pub async fn exists(&self, path: &str) -> bool {
        match self.look(path).await {
            Ok(_) => true,
            Err(DriveError::NotFound) => false,
            Err(error) => panic!("{path}: {error}"),
        }
    }

    async fn walk(&self, path: &str, follow_last: bool) -> DriveResult<Entry> {
        let mut trail: Vec<Entry> = vec![self.drive.getattr(Ino::ROOT, None).await?];
        let mut left: Vec<String> = parts(path);
        left.reverse();
        let mut links = 0;
        while let Some(name) = left.pop() {
            if name == ".." {
                if trail.len() > 1 {
                    trail.pop();
                }
                continue;
            }
            let parent = trail.last().expect("the root").attributes.ino;
            let entry = self
                .drive
                .lookup(parent, OsStr::new(&name), &self.caller)
                .await?;
            let is_last = left.is_empty();
            if entry.attributes.kind == FileKind::Link && (follow_last || !is_last) {
                links += 1;
                assert!(links < MAX_LINKS, "{path} is a loop of links");
                let target = self.drive.readlink(entry.attributes.ino).await?;
                let target = target.to_str().expect("a target is text");
                assert!(!target.starts_with('/'), "links are relative: {target}");
                left.extend(parts(target).into_iter().rev());
            } else {
                trail.push(entry);
            }
        }
        Ok(*trail.last().expect("the root"))
    }

    async fn parent<'a>(&self, path: &'a str) -> DriveResult<(Ino, &'a OsStr)> {
        let path = Path::new(path);
        let name = path.file_name().expect("a name");
        let parent = path.parent().and_then(Path::to_str).unwrap_or_default();
        Ok((self.walk(parent, true).await?.attributes.ino, name))
    }

    /// `ls -A`: names in order.
    pub async fn list(&self, path: &str) -> DriveResult<Vec<String>> {
        let mut names: Vec<String> = self
            .rows(path)
            .await?
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        names.sort();
        Ok(names)
    }

    /// Names and kinds, as from `readdir`.
    pub async fn rows(&self, path: &str) -> DriveResult<Vec<(String, FileKind)>> {
        let (rows, end) = self.rows_and_end(path).await?;
        end.map(|()| rows)
    }

    /// The same, and whether the folder ends with an error.
    pub async fn rows_and_end(
        &self,
        path: &str,
    ) -> DriveResult<(Vec<(String, FileKind)>, DriveResult<()>)> {
        let ino = self.walk(path, true).await?.attributes.ino;
        let fh = self.drive.open_dir(ino, &self.caller).await?;
        let mut rows = Vec::new();
        let mut offset = 0;
        let end = loop {
            let next = match self.drive.read_dir(ino, fh, offset).await {
                Ok(next) => next,
                Err(error) => break Err(error),
            };
            let Some(last) = next.last() else {
                break Ok(());
            };
            offset = last.offset;
            rows.extend(
                next.into_iter()
                    .map(|row| (row.name.into_string().expect("names are text"), row.kind)),
            );
        };
        self.drive.release_dir(fh).await?;
        rows.retain(|(name, _)| name != "." && name != "..");
        Ok((rows, end))
    }

    /// `cat`.
    pub async fn read(&self, path: &str) -> DriveResult<Vec<u8>> {
        let ino = self.walk(path, true).await?.attributes.ino;
        self.read_number(ino).await
    }

    /// Reads a file by its inode number, as the kernel does for a cached name.
    pub async fn read_number(&self, ino: Ino) -> DriveResult<Vec<u8>> {
        let opened = self
            .drive
            .open_file(ino, OpenFlags::READ, &self.caller)
            .await?;
        let result = self.read_open(ino, opened.fh).await;
        self.drive.flush(ino, opened.fh, &self.caller).await?;
        self.drive.release(ino, opened.fh).await?;
        result
    }

    pub async fn read_text(&self, path: &str) -> DriveResult<String> {
        self.read(path)
            .await
            .map(|bytes| String::from_utf8(bytes).expect("text"))
    }

    async fn read_open(&self, ino: Ino, fh: Fh) -> DriveResult<Vec<u8>> {
        let mut bytes = Vec::new();
        loop {
            let part = self
                .drive
                .read(ino, fh, bytes.len() as u64, CHUNK as u32)
                .await?;
            if part.is_empty() {
                return Ok(bytes);
            }
            bytes.extend_from_slice(&part);
        }
    }

    /// `open(O_CREAT | O_TRUNC)`.
    pub async fn open_for_writing(&self, path: &str) -> DriveResult<(Ino, Opened)> {
        let (parent, name) = self.parent(path).await?;
        match self.drive.lookup(parent, name, &self.caller).await {
            Ok(entry) => {
                let ino = entry.attributes.ino;
                Ok((
                    ino,
                    self.drive
                        .open_file(ino, OpenFlags::OVERWRITE, &self.caller)
                        .await?,
                ))
            }
            Err(DriveError::NotFound) => {
                let (entry, opened) = self
                    .drive
                    .create(parent, name, 0o644, OpenFlags::OVERWRITE, &self.caller)
                    .await?;
                Ok((entry.attributes.ino, opened))
            }
            Err(error) => Err(error),
        }
    }

    /// Writes a file as `cp` does: create, write, close. The error of `close` is the result.
    pub async fn write(&self, path: &str, bytes: &[u8]) -> DriveResult<()> {
        let (ino, opened) = self.open_for_writing(path).await?;
        let written = self.write_open(ino, opened.fh, bytes).await;
        let flushed = self.drive.flush(ino, opened.fh, &self.caller).await;
        self.drive.release(ino, opened.fh).await?;
        written.and(flushed)
    }

    pub async fn write_open(&self, ino: Ino, fh: Fh, bytes: &[u8]) -> DriveResult<()> {
        let mut at = 0;
        for part in bytes.chunks(CHUNK) {
            at += u64::from(self.drive.write(ino, fh, at, part).await?);
        }
        assert_eq!(at, bytes.len() as u64);
        Ok(())
    }

    /// Opens without creating, for writing or for both.
    pub async fn open(&self, path: &str, access: Access) -> DriveResult<(Ino, Opened)> {
        let ino = self.walk(path, true).await?.attributes.ino;
        let flags = OpenFlags {
            access,
            ..OpenFlags::READ
        };
        Ok((ino, self.drive.open_file(ino, flags, &self.caller).await?))
    }

    pub async fn mkdir(&self, path: &str) -> DriveResult<()> {
        let (parent, name) = self.parent(path).await?;
        self.drive
            .make_dir(parent, name, 0o755, &self.caller)
            .await
            .map(|_| ())
    }

    pub async fn unlink(&self, path: &str) -> DriveResult<()> {
        let (parent, name) = self.parent(path).await?;
        self.drive.remove_file(parent, name, &self.caller).await
    }

    pub async fn rmdir(&self, path: &str) -> DriveResult<()> {
        let (parent, name) = self.parent(path).await?;
        self.drive.remove_dir(parent, name, &self.caller).await
    }

    pub async fn rename(&self, from: &str, to: &str) -> DriveResult<()> {
        let (parent, name) = self.parent(from).await?;
        let (new_parent, new_name) = self.parent(to).await?;
        self.drive
            .rename(
                parent,
                name,
                new_parent,
                new_name,
                RenameMode::Replace,
                &self.caller,
            )
            .await
    }

    pub async fn read_link(&self, path: &str) -> DriveResult<String> {
        let ino = self.look(path).await?.attributes.ino;
        Ok(self
            .drive
            .readlink(ino)
            .await?
            .into_string()
            .expect("a target is text"))
    }

    pub async fn set_mtime(&self, path: &str, mtime: SystemTime) -> DriveResult<()> {
        let ino = self.walk(path, true).await?.attributes.ino;
        let change = SetAttributes {
            mtime: Some(SetTime::At(mtime)),
            ..SetAttributes::default()
        };
        self.drive
            .setattr(ino, &change, &self.caller)
            .await
            .map(|_| ())
    }

    pub async fn xattr(&self, path: &str, name: &str) -> DriveResult<String> {
        let ino = self.look(path).await?.attributes.ino;
        let value = self.drive.get_xattr(ino, OsStr::new(name)).await?;
        Ok(String::from_utf8(value).expect("text"))
    }

    pub async fn set_xattr(&self, path: &str, name: &str, value: &str) -> DriveResult<()> {
        let ino = self.look(path).await?.attributes.ino;
        self.drive
            .set_xattr(ino, OsStr::new(name), value.as_bytes(), XattrMode::Any)
            .await
    }

    /// `assetfs why`.
    pub async fn why(&self, path: &str) -> String {
        match self.xattr(path, "user.assetfs.why").await {
            Ok(why) => why,
            Err(DriveError::NotFound) => {
                let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
                self.xattr(parent, &format!("user.assetfs.why.{name}"))
                    .await
                    .unwrap_or_default()
            }
            Err(_) => String::new(),
        }
    }

    /// `sync DIR`.
    pub async fn sync(&self, path: &str) -> DriveResult<()> {
        let ino = self.walk(path, true).await?.attributes.ino;
        let fh = self.drive.open_dir(ino, &self.caller).await?;
        let synced = self.drive.sync_dir(ino, &self.caller).await;
        self.drive.release_dir(fh).await?;
        synced
    }

    /// `cp -r` of a flat local folder.
    pub async fn copy_in(&self, files: &[(String, Vec<u8>)], path: &str) -> DriveResult<()> {
        self.mkdir(path).await?;
        for (name, bytes) in files {
            self.write(&format!("{path}/{name}"), bytes).await?;
        }
        Ok(())
    }

    /// `rm -r`: every folder is read once, then emptied, then removed.
    pub async fn remove_all(&self, path: &str) -> DriveResult<()> {
        for (name, kind) in self.rows(path).await? {
            let child = format!("{path}/{name}");
            match kind {
                FileKind::Folder => Box::pin(self.remove_all(&child)).await?,
                FileKind::File | FileKind::Link => self.unlink(&child).await?,
            }
        }
        self.rmdir(path).await
    }

    /// Waits until a status line is as wanted; returns the last line.
    pub async fn until(&self, path: &str, is_wanted: impl Fn(&str) -> bool) -> String {
        let mut status = String::new();
        for _ in 0..6000 {
            status = self
                .read_text(path)
                .await
                .unwrap_or_else(|error| format!("unreadable: {error}"));
            if is_wanted(status.trim()) {
                return status.trim().to_owned();
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{path} still says {status:?} after 300 s");
    }

    /// Writes a text of a model's `optimize/` and waits for its result.
    pub async fn optimize(&self, model: &str, text: &str, config: impl AsRef<[u8]>) {
        let path = format!("/rawmodels/{model}/optimize/{text}");
        let written = self.write(&format!("{path}.json"), config.as_ref()).await;
        written.unwrap();
        self.until_status(&format!("{path}.status"), "done").await;
    }

    /// Waits until the status file has this text.
    pub async fn until_status(&self, path: &str, status: &str) {
        self.until(path, |text| text == status).await;
    }
}

fn parts(path: &str) -> Vec<String> {
    path.split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .map(str::to_owned)
        .collect()
}
