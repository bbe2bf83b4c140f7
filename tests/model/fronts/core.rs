//! The calls on a drive without a kernel.

use std::time::Duration;

use assetfs::drive::{Access, DriveResult, FileKind, OpenFlags, SetAttributes};
use assetfs::fuse::errno;
use rustix::io::Errno;

use super::calls::{Calls, Kind, Position};
use super::{Ending, Front, drive, picture};
use crate::history::{ActorId, Op};
use crate::model::{Model, Outcome};
use crate::support::tree::Tree;
use crate::tmpfs::SmallDisk;
use crate::world::{ALONE, Machine, World};

/// Bytes of a disk that histories fill.
const SMALL: u64 = 32 << 20;

impl Machine {
    fn call<T>(&self, calls: impl AsyncFnOnce(&Tree) -> DriveResult<T>) -> Result<T, Errno> {
        let done = self.run(async |mounted| calls(&mounted.tree).await);
        done.map_err(|error| Errno::from_raw_os_error(errno(&error).code()))
    }

    /// The kernel opens no folder for writing.
    fn of_file(&self, path: &str, result: Result<(), Errno>) -> Result<(), Errno> {
        let result = self.below(path, result);
        if result == Err(Errno::ROFS)
            && let Ok(found) = self.call(async |tree| tree.stat(path).await)
            && found.kind == FileKind::Folder
        {
            return Err(Errno::ISDIR);
        }
        result
    }

    /// The kernel looks for nothing in a file.
    fn below<T>(&self, path: &str, result: Result<T, Errno>) -> Result<T, Errno> {
        match (&result, path.rsplit_once('/')) {
            (Err(Errno::NOENT | Errno::ROFS | Errno::PERM), Some((parent, _))) => {
                let found = self.call(async |tree| tree.stat(parent).await);
                match found {
                    Ok(found) if found.kind == FileKind::File => Err(Errno::NOTDIR),
                    Err(Errno::NOENT) => self.below(parent, result),
                    _ => result,
                }
            }
            _ => result,
        }
    }
}

impl Calls for Machine {
    fn mkdir(&self, path: &str) -> Result<(), Errno> {
        // The kernel looks the name up first.
        if self.call(async |tree| tree.look(path).await).is_ok() {
            return Err(Errno::EXIST);
        }
        self.below(path, self.call(async |tree| tree.mkdir(path).await))
    }

    fn write(&self, path: &str, bytes: &[u8]) -> Result<(), Errno> {
        self.of_file(path, self.call(async |tree| tree.write(path, bytes).await))
    }

    fn write_at(&self, path: &str, position: Position, bytes: &[u8]) -> Result<(), Errno> {
        let written = self.call(async |tree| {
            let attributes = tree.stat(path).await?;
            let flags = OpenFlags {
                access: Access::Write,
                append: position == Position::End,
                ..OpenFlags::READ
            };
            let at = match position {
                Position::End => attributes.size,
                Position::At(at) => at,
            };
            let (drive, ino) = (&tree.drive, attributes.ino);
            let opened = drive.open_file(ino, flags, &tree.caller).await?;
            let written = drive.write(ino, opened.fh, at, bytes).await;
            let flushed = drive.flush(ino, opened.fh, &tree.caller).await;
            drive.release(ino, opened.fh).await?;
            written.map(drop).and(flushed)
        });
        self.of_file(path, written)
    }

    fn truncate(&self, path: &str, len: u64) -> Result<(), Errno> {
        let changed = self.call(async |tree| {
            let ino = tree.stat(path).await?.ino;
            let change = SetAttributes {
                size: Some(len),
                ..SetAttributes::default()
            };
            tree.drive.setattr(ino, &change, &tree.caller).await?;
            Ok(())
        });
        self.of_file(path, changed)
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), Errno> {
        let renamed = self.call(async |tree| tree.rename(from, to).await);
        let mut renamed = self.below(from, renamed);
        // The kernel looks for the folder of the new name if there is one of the old name.
        let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
        if self.call(async |tree| tree.stat(folder).await).is_ok() {
            renamed = self.below(to, renamed);
        }
        match renamed {
            // The kernel looks for this first.
            Err(Errno::NOTDIR)
                if to.starts_with(&format!("{from}/")) && self.rows(from).is_ok() =>
            {
                Err(Errno::INVAL)
            }
            renamed => renamed,
        }
    }

    fn unlink(&self, path: &str) -> Result<(), Errno> {
        self.below(path, self.call(async |tree| tree.unlink(path).await))
    }

    fn rmdir(&self, path: &str) -> Result<(), Errno> {
        self.below(path, self.call(async |tree| tree.rmdir(path).await))
    }

    fn rows(&self, path: &str) -> Result<Vec<(String, Kind)>, Errno> {
        let rows = self.call(async |tree| tree.rows(path).await)?;
        let kind = |kind| match kind {
            FileKind::File => Kind::File,
            FileKind::Folder => Kind::Folder,
            FileKind::Link => Kind::Link,
        };
        Ok(rows
            .into_iter()
            .map(|(name, it)| (name, kind(it)))
            .collect())
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, Errno> {
        self.call(async |tree| tree.read(path).await)
    }

    fn len(&self, path: &str) -> Result<u64, Errno> {
        self.call(async |tree| Ok(tree.stat(path).await?.size))
    }

    fn read_link(&self, path: &str) -> Result<String, Errno> {
        self.call(async |tree| tree.read_link(path).await)
    }

    fn xattr(&self, path: &str, name: &str) -> Result<String, Errno> {
        self.call(async |tree| tree.xattr(path, name).await)
    }

    fn set_xattr(&self, path: &str, name: &str, value: &str) -> Result<(), Errno> {
        self.call(async |tree| tree.set_xattr(path, name, value).await)
    }
}

/// A drive without a kernel.
pub struct CoreFront {
    actor: ActorId,
    refresh: Duration,
    machine: Option<Machine>,
    /// Unmounted after the drive.
    disk: Option<SmallDisk>,
}

impl CoreFront {
    pub fn new(world: &World, actor: ActorId, refresh: Duration) -> CoreFront {
        let machine = Some(world.mount(&format!("machine{actor}"), refresh));
        CoreFront {
            actor,
            refresh,
            machine,
            disk: None,
        }
    }

    /// A drive whose state is on a small disk of its own; `None`, reported as a skipped test, if none can be mounted.
    pub fn on_small_disk(world: &World, actor: ActorId) -> Option<CoreFront> {
        let folder = world.folder(&format!("machine{actor}"));
        let disk = Some(SmallDisk::mount(&folder, SMALL)?);
        Some(CoreFront {
            disk,
            ..CoreFront::new(world, actor, ALONE)
        })
    }

    fn machine(&self) -> &Machine {
        self.machine.as_ref().expect("a drive")
    }
}

impl Front for CoreFront {
    fn act(&mut self, op: &Op) -> Outcome {
        drive::act(self.machine(), op)
    }

    fn fill_disk(&mut self, is_full: bool) {
        let disk = self.disk.as_ref().expect("a disk");
        match is_full {
            true => disk.fill(),
            false => disk.free(),
        }
    }

    fn picture(&mut self) -> Vec<String> {
        picture::picture(self.machine())
    }

    fn expected(&self, model: &Model) -> Vec<String> {
        picture::expected(model, self.actor)
    }

    fn restart(&mut self, world: &World, ending: Ending) {
        let machine = self.machine.take().expect("a drive");
        match ending {
            Ending::Unmounted => machine.close(),
            Ending::Killed => machine.kill(),
        }
        self.machine = Some(world.mount(&format!("machine{}", self.actor), self.refresh));
    }
}
