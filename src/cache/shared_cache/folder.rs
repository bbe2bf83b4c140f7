//! A folder as the store: one file for each chunk, written under a temporary name and renamed. Works on NFS.
//!
//! Files get the permissions of the folder, so that its owner decides who may read. Nothing is synced: checksums find what
//! a power cut damages.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use tokio::sync::Semaphore;

use super::chunk::{ChunkName, MAX_STORED};
use super::claim_file::{age, claim_file, claim_path, open, remove};
use super::prune::{self, Pruned};
use super::store::{Claimed, Holder, SharedStore, StoreError, StoreFuture};
use crate::backoff::Backoff;

/// Threads that may hang in the folder, for example if its server does not answer.
const THREADS: usize = 32;
/// A chunk that is read gets a new time if its time is older.
const TOUCHED_AFTER: Duration = Duration::from_secs(3600);
/// The pauses while another mount prunes.
const PRUNE_AGAIN: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(10));
/// The folder in the folder: another version of the form gets another name.
const BELOW: &str = "assetfs-1";

#[derive(Debug, Clone)]
pub(super) struct FolderStore {
    inner: Arc<FolderState>,
}

#[derive(Debug)]
struct FolderState {
    root: PathBuf,
    limit: u64,
    threads: Arc<Semaphore>,
    /// Bytes written since the folder was last measured.
    unmeasured: AtomicU64,
    is_pruning: AtomicBool,
    /// Not all users may write to the folder.
    is_trusted: AtomicBool,
}

impl FolderStore {
    /// Touches nothing: the folder may be unreachable.
    pub(super) fn new(root: &Path, limit: u64) -> FolderStore {
        FolderStore {
            inner: Arc::new(FolderState {
                root: root.join(BELOW),
                limit,
                threads: Arc::new(Semaphore::new(THREADS)),
                // Measures at the first write.
                unmeasured: AtomicU64::new(limit),
                is_pruning: AtomicBool::new(false),
                is_trusted: AtomicBool::new(false),
            }),
        }
    }

    /// Runs blocking work on a thread of its own.
    fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&FolderState) -> Result<T, StoreError> + Send + 'static,
    ) -> StoreFuture<T> {
        let inner = Arc::clone(&self.inner);
        Box::pin(async move {
            // The thread keeps it: threads that hang are counted.
            let permit = Arc::clone(&inner.threads).acquire_owned().await;
            let thread = tokio::task::spawn_blocking(move || {
                let _permit = permit;
                inner.check()?;
                work(&inner)
            });
            // It fails only by a bug, or if the runtime ends.
            thread
                .await
                .unwrap_or_else(|error| Err(io::Error::other(error).into()))
        })
    }

    fn note_written(&self, bytes: u64) {
        let inner = &self.inner;
        let unmeasured = inner.unmeasured.fetch_add(bytes, Ordering::SeqCst) + bytes;
        if unmeasured < prune::step(inner.limit) || inner.is_pruning.swap(true, Ordering::SeqCst) {
            return;
        }
        tokio::spawn(self.clone().prune());
    }

    /// Prunes until everything that was written is measured, also what is written meanwhile.
    async fn prune(self) {
        let inner = &self.inner;
        let mut pauses = Backoff::doubling(PRUNE_AGAIN.0, PRUNE_AGAIN.1);
        loop {
            inner.unmeasured.store(0, Ordering::SeqCst);
            let pruned = self.run(|inner| Ok(prune::prune(&inner.root, inner.limit)?));
            match pruned.await {
                Ok(Pruned::ByUs) => {}
                Ok(Pruned::ByAnother) => {
                    tokio::time::sleep(pauses.next_pause()).await;
                    continue;
                }
                // The writes that follow try again.
                Err(error) => tracing::debug!(%error, "the shared cache could not be pruned"),
            }
            inner.is_pruning.store(false, Ordering::SeqCst);
            // A write that comes before this check has left the pruning to this task.
            let unmeasured = inner.unmeasured.load(Ordering::SeqCst);
            if unmeasured < prune::step(inner.limit)
                || inner.is_pruning.swap(true, Ordering::SeqCst)
            {
                break;
            }
        }
    }
}

impl FolderState {
    fn path(&self, name: ChunkName) -> PathBuf {
        self.root.join(name.path())
    }

    /// Refuses a folder that all users may write to: what is in it is trusted.
    fn check(&self) -> Result<(), StoreError> {
        if self.is_trusted.load(Ordering::Relaxed) {
            return Ok(());
        }
        let top = self.root.parent().expect("it is in a folder");
        match fs::metadata(top) {
            Ok(found) if found.permissions().mode() & 0o002 != 0 => {
                Err(StoreError::Open(top.display().to_string()))
            }
            Ok(_) => {
                self.is_trusted.store(true, Ordering::Relaxed);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Runs `work` in the folder of `path`. Creates the folder if it is missing.
    fn in_folder_of<T>(
        &self,
        path: &Path,
        work: impl Fn(Permissions) -> io::Result<T>,
    ) -> Result<T, StoreError> {
        let folder = path.parent().expect("a chunk is in a folder");
        for _ in 0..2 {
            match fs::metadata(folder) {
                Ok(found) => {
                    let permissions = Permissions::from_mode(found.permissions().mode() & 0o666);
                    return Ok(work(permissions)?);
                }
                Err(error) if error.kind() == ErrorKind::NotFound => self.create(folder)?,
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::Error::from(ErrorKind::NotFound).into())
    }

    /// Creates a folder with the permissions of the one that the user named, which is private if it is created here.
    fn create(&self, folder: &Path) -> Result<(), StoreError> {
        let top = self.root.parent().expect("it is in a folder");
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(top)?;
        self.check()?;
        let mode = fs::metadata(top)?.permissions().mode();
        for made in [&*self.root, folder] {
            match fs::create_dir(made) {
                // The umask of this process does not matter.
                Ok(()) => fs::set_permissions(made, Permissions::from_mode(mode & 0o2777))?,
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

fn read_chunk(path: &Path) -> io::Result<Option<Bytes>> {
    let Some((file, metadata)) = open(path)? else {
        return Ok(None);
    };
    let mut bytes = Vec::with_capacity(metadata.len().min(MAX_STORED) as usize + 1);
    // A foreign file may have any length.
    match (&file).take(MAX_STORED + 1).read_to_end(&mut bytes) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::StaleNetworkFileHandle => return Ok(None),
        Err(error) => return Err(error),
    }
    if age(&metadata) > Some(TOUCHED_AFTER) {
        // Only the owner may; then it counts as older than it is.
        let _ = file.set_modified(SystemTime::now());
    }
    Ok(Some(bytes.into()))
}

impl SharedStore for FolderStore {
    fn get(&self, name: ChunkName) -> StoreFuture<Option<Bytes>> {
        self.run(move |inner| Ok(read_chunk(&inner.path(name))?))
    }

    fn put(&self, name: ChunkName, parts: Vec<Bytes>) -> StoreFuture<()> {
        let store = self.clone();
        let len = parts.iter().map(|part| part.len() as u64).sum();
        let put = self.run(move |inner| {
            let path = inner.path(name);
            inner.in_folder_of(&path, |permissions| {
                let mut file = tempfile::Builder::new()
                    .prefix(&format!("{name}."))
                    .suffix(".part")
                    .tempfile_in(path.parent().expect("a chunk is in a folder"))?;
                // The umask of this process does not matter.
                file.as_file().set_permissions(permissions)?;
                parts.iter().try_for_each(|part| file.write_all(part))?;
                file.persist(&path)?;
                Ok(())
            })
        });
        Box::pin(async move {
            put.await?;
            store.note_written(len);
            Ok(())
        })
    }

    fn claim(&self, name: ChunkName, holder: Holder) -> StoreFuture<Claimed> {
        self.run(move |inner| {
            let path = claim_path(&inner.path(name));
            inner.in_folder_of(&path, |permissions| claim_file(&path, holder, permissions))
        })
    }

    fn release(&self, name: ChunkName) -> StoreFuture<()> {
        self.run(move |inner| Ok(remove(&claim_path(&inner.path(name)))?))
    }
}
