//! The promises of the shared cache, with stores that work, fail and hang.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::time::SystemTime;

use super::chunk::ChunkName;
use super::store::StoreFuture;
use super::*;

const CHUNK: u64 = 1 << 20;

fn key() -> ObjectKey {
    ObjectKey {
        name: "raw/1/chair.bin".to_owned(),
        size: 4 * CHUNK,
        etag: Some("\"v1\"".to_owned()),
    }
}

fn cache(dir: &Path, account: &str) -> SharedCache {
    SharedCache::new(SharedCacheConfig {
        place: SharedCachePlace::Folder(dir.to_owned()),
        account: account.to_owned(),
        limit_bytes: 1 << 30,
        credentials: None,
    })
    .unwrap()
}

fn object(dir: &Path) -> SharedObject {
    cache(dir, "a").object(&key()).unwrap()
}

fn content(chunk: u64) -> Bytes {
    vec![chunk as u8 + 1; CHUNK as usize].into()
}

async fn stored(object: &SharedObject, chunk: u64) -> bool {
    matches!(
        object.next(chunk * 16..(chunk + 1) * 16).await,
        NextBlocks::Here(found) if found == [content(chunk)]
    )
}

/// The turn that fetches a chunk.
async fn turn(object: &SharedObject, chunk: u64) -> Turn {
    match object.next(chunk * 16..(chunk + 1) * 16).await {
        NextBlocks::Fetch(turn) => turn,
        NextBlocks::Here(_) => panic!("chunk {chunk} is stored"),
    }
}

/// Stores chunks as a mount that fetched them.
async fn store(object: &SharedObject, chunks: Range<u64>) {
    for chunk in chunks {
        let mut turn = turn(object, chunk).await;
        turn.take(chunk * CHUNK, content(chunk)).await;
        until(|| !files(object, "claim").contains(&object.id.chunk(chunk).to_string())).await;
    }
}

/// The names of the files with this extension in the folder of the object's cache.
fn files(object: &SharedObject, extension: &str) -> Vec<String> {
    let names = all_files(Path::new(&object.inner.place));
    let names = names.iter().filter(|path| {
        let found = path.extension().map(|it| it.to_str().unwrap());
        found.unwrap_or_default() == extension
    });
    names
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect()
}

fn all_files(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| match path.is_dir() {
            true => all_files(&path),
            false => vec![path],
        })
        .collect()
}

async fn until(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < deadline, "it does not happen");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn path_of(object: &SharedObject, chunk: u64) -> PathBuf {
    let root = Path::new(&object.inner.place).join("assetfs-1");
    root.join(object.id.chunk(chunk).path())
}

#[tokio::test]
async fn what_one_mount_fetched_another_one_reads() {
    let dir = tempfile::tempdir().unwrap();
    let first = object(dir.path());
    store(&first, 0..3).await;
    let second = object(dir.path());
    match second.next(0..64).await {
        NextBlocks::Here(found) => assert!(found == [content(0), content(1), content(2)]),
        NextBlocks::Fetch(turn) => panic!("{turn:?}"),
    }
    let turn = turn(&second, 3).await;
    assert_eq!(turn.end_block(), 64);
    assert_eq!(cache(dir.path(), "a").stats().left_alone, None);
}

#[tokio::test]
async fn a_damaged_truncated_or_exchanged_chunk_is_never_read_and_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let first = object(dir.path());
    store(&first, 0..4).await;
    let mut flipped = fs::read(path_of(&first, 0)).unwrap();
    flipped[70_000] ^= 1;
    fs::write(path_of(&first, 0), flipped).unwrap();
    let whole = fs::read(path_of(&first, 1)).unwrap();
    fs::write(path_of(&first, 1), &whole[..whole.len() / 2]).unwrap();
    fs::copy(path_of(&first, 3), path_of(&first, 2)).unwrap();
    let cache = cache(dir.path(), "a");
    let second = cache.object(&key()).unwrap();
    for chunk in 0..3 {
        let mut turn = turn(&second, chunk).await;
        turn.take(chunk * CHUNK, content(chunk)).await;
        drop(turn);
    }
    assert!(cache.stats().bad_chunks >= 3);
    until(|| cache.stats().stored_bytes == 3 * CHUNK).await;
    let third = object(dir.path());
    for chunk in 0..4 {
        assert!(stored(&third, chunk).await, "chunk {chunk}");
    }
}

#[tokio::test]
async fn a_mount_that_is_killed_while_it_writes_leaves_nothing_that_others_read() {
    let dir = tempfile::tempdir().unwrap();
    let first = object(dir.path());
    store(&first, 0..1).await;
    let path = path_of(&first, 0);
    let half = &fs::read(&path).unwrap()[..4096];
    let left = path.with_extension("x7Fq2a.part");
    fs::rename(&path, &left).unwrap();
    fs::write(&left, half).unwrap();
    drop(turn(&object(dir.path()), 0).await);
    // It is removed once it is old.
    let old = SystemTime::now() - Duration::from_secs(7200);
    let file = fs::File::options().write(true).open(&left).unwrap();
    file.set_modified(old).unwrap();
    store(&object(dir.path()), 0..1).await;
    until(|| !left.exists()).await;
    assert!(stored(&first, 0).await);
}

#[tokio::test]
async fn accounts_do_not_see_each_others_chunks() {
    let dir = tempfile::tempdir().unwrap();
    store(&object(dir.path()), 0..1).await;
    let other = cache(dir.path(), "b").object(&key()).unwrap();
    drop(turn(&other, 0).await);
    let same = cache(dir.path(), "a").object(&key()).unwrap();
    assert!(stored(&same, 0).await);
}

#[tokio::test]
async fn the_folder_is_private_and_one_that_all_may_write_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let own = dir.path().join("own");
    store(&object(&own), 0..1).await;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&own), 0o700);
    assert_eq!(mode(&path_of(&object(&own), 0)), 0o600);
    let group = dir.path().join("group");
    fs::create_dir(&group).unwrap();
    fs::set_permissions(&group, fs::Permissions::from_mode(0o770)).unwrap();
    store(&object(&group), 0..1).await;
    assert_eq!(mode(&path_of(&object(&group), 0)), 0o660);
    let open = dir.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    let cache = cache(&open, "a");
    turn(&cache.object(&key()).unwrap(), 0)
        .await
        .take(0, content(0))
        .await;
    let why = cache.stats().left_alone.unwrap().why;
    assert!(why.contains("chmod o-w"), "{why}");
    assert!(all_files(&open).is_empty());
}

#[tokio::test]
async fn a_chunk_that_another_mount_fetches_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let (first, second) = (object(dir.path()), object(dir.path()));
    let mut fetching = turn(&first, 0).await;
    let waiting = tokio::spawn(async move { stored(&second, 0).await });
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!waiting.is_finished());
    fetching.take(0, content(0)).await;
    assert!(waiting.await.unwrap());
}

#[tokio::test]
async fn a_fetch_that_is_given_up_is_taken_over() {
    let dir = tempfile::tempdir().unwrap();
    let (first, second) = (object(dir.path()), object(dir.path()));
    let fetching = turn(&first, 0).await;
    let waiting = tokio::spawn(async move { turn(&second, 0).await });
    drop(fetching);
    let turn = waiting.await.unwrap();
    assert_eq!(turn.end_block(), 16);
}

#[tokio::test]
async fn the_claims_of_a_dead_mount_delay_another_one_once() {
    let dir = tempfile::tempdir().unwrap();
    let dead = object(dir.path());
    for chunk in 0..3 {
        std::mem::forget(turn(&dead, chunk).await);
    }
    let second = object(dir.path());
    let begin = Instant::now();
    drop(turn(&second, 0).await);
    let waited = begin.elapsed();
    assert!(waited >= Duration::from_secs(2), "{waited:?}");
    assert!(waited < Duration::from_secs(20), "{waited:?}");
    // No patience is left for this mount.
    assert!(
        !second
            .inner
            .claim_wait
            .may_wait(dead.inner.holder, Instant::now())
    );
    // An old claim is not waited for at all.
    let claim = path_of(&dead, 2).with_extension("claim");
    let file = fs::File::options().write(true).open(&claim).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(120))
        .unwrap();
    let third = object(dir.path());
    let turn = turn(&third, 2).await;
    assert_eq!(
        fs::read_to_string(&claim).unwrap(),
        third.inner.holder.to_string()
    );
    drop(turn);
}

#[tokio::test]
async fn several_mounts_keep_a_folder_below_its_limit() {
    let dir = tempfile::tempdir().unwrap();
    let limit = 32 * CHUNK;
    let stores = [0, 1].map(|_| FolderStore::new(dir.path(), limit));
    let key = ObjectKey {
        size: 200 * CHUNK,
        ..key()
    };
    let id = ObjectId::of("a", &key).unwrap();
    let used = || -> u64 {
        let files = all_files(dir.path());
        files
            .iter()
            .filter_map(|path| fs::metadata(path).ok())
            .map(|it| it.len())
            .sum()
    };
    for chunk in 0..100 {
        let name = id.chunk(chunk);
        let store = &stores[chunk as usize % 2];
        store
            .put(name, name.encode(vec![content(chunk)]))
            .await
            .unwrap();
        // Pruning runs beside the writes.
        until(|| used() <= limit).await;
    }
    assert!(used() > limit / 2, "only {} bytes are left", used());
    assert!(
        stores[0].get(id.chunk(99)).await.unwrap().is_some(),
        "the newest is kept"
    );
    assert!(
        stores[0].get(id.chunk(0)).await.unwrap().is_none(),
        "the oldest is gone"
    );
}

#[tokio::test]
async fn what_is_written_while_another_mount_prunes_is_pruned_without_a_further_write() {
    let dir = tempfile::tempdir().unwrap();
    let limit = 8 * CHUNK;
    let store = FolderStore::new(dir.path(), limit);
    let key = ObjectKey {
        size: 40 * CHUNK,
        ..key()
    };
    let id = ObjectId::of("a", &key).unwrap();
    let put = async |chunk| {
        let name = id.chunk(chunk);
        let put = store.put(name, name.encode(vec![content(chunk)]));
        put.await.unwrap();
    };
    put(0).await;
    let claim = dir.path().join("assetfs-1/prune.claim");
    until(|| !claim.exists()).await;
    fs::write(&claim, "another mount").unwrap();
    for chunk in 1..12 {
        put(chunk).await;
    }
    // The pruning after the last write finds the claim too.
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(chunks(dir.path()).len(), 12, "the other mount's turn");
    fs::remove_file(&claim).unwrap();
    until(|| chunks(dir.path()).len() <= 7).await;
}

/// The files with chunks.
fn chunks(dir: &Path) -> Vec<PathBuf> {
    let mut files = all_files(dir);
    files.retain(|path| path.extension().is_none());
    files
}

/// A store that hangs or fails.
#[derive(Debug)]
struct BadStore {
    get: Behaviour,
    write: Behaviour,
    /// Requests that were sent.
    asked: Arc<AtomicUsize>,
}

#[derive(Debug, Clone, Copy)]
enum Behaviour {
    Works,
    Hangs,
    Fails(std::io::ErrorKind),
}

impl BadStore {
    fn answer<T: Send + 'static>(&self, behaviour: Behaviour, value: T) -> StoreFuture<T> {
        let asked = Arc::clone(&self.asked);
        Box::pin(async move {
            asked.fetch_add(1, Ordering::SeqCst);
            match behaviour {
                Behaviour::Works => Ok(value),
                Behaviour::Hangs => std::future::pending().await,
                Behaviour::Fails(kind) => Err(std::io::Error::from(kind).into()),
            }
        })
    }
}

impl SharedStore for BadStore {
    fn get(&self, _: ChunkName) -> StoreFuture<Option<Bytes>> {
        self.answer(self.get, None)
    }

    fn put(&self, _: ChunkName, _: Vec<Bytes>) -> StoreFuture<()> {
        self.answer(self.write, ())
    }

    fn claim(&self, _: ChunkName, _: Holder) -> StoreFuture<Claimed> {
        self.answer(self.write, Claimed::Ours)
    }

    fn release(&self, _: ChunkName) -> StoreFuture<()> {
        self.answer(self.write, ())
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_or_fails_delays_reads_once_and_is_left_alone() {
    use std::io::ErrorKind::{HostUnreachable, ReadOnlyFilesystem, StorageFull};
    let cases = [
        (Behaviour::Hangs, Behaviour::Hangs, 3, "did not answer"),
        (Behaviour::Works, Behaviour::Hangs, 3, "did not answer"),
        (
            Behaviour::Fails(HostUnreachable),
            Behaviour::Fails(HostUnreachable),
            0,
            "unreachable",
        ),
        (
            Behaviour::Works,
            Behaviour::Fails(ReadOnlyFilesystem),
            0,
            "read-only",
        ),
        (
            Behaviour::Works,
            Behaviour::Fails(StorageFull),
            0,
            "no storage space",
        ),
    ];
    for (get, write, seconds, why) in cases {
        let store = Arc::new(BadStore {
            get,
            write,
            asked: Arc::default(),
        });
        let cache = SharedCache::over(store.clone(), "/farm".to_owned(), "a".to_owned());
        let object = cache.object(&key()).unwrap();
        let begin = tokio::time::Instant::now();
        let turn = turn(&object, 0).await;
        assert_eq!(begin.elapsed().as_secs(), seconds, "{why}");
        drop(turn);
        let left_alone = cache.stats().left_alone.expect(why);
        assert!(left_alone.why.contains(why), "{}", left_alone.why);
        assert_eq!(left_alone.is_read, matches!(get, Behaviour::Works));
        let (asked, begin) = (
            store.asked.load(Ordering::SeqCst),
            tokio::time::Instant::now(),
        );
        for chunk in 0..4 {
            let mut turn = self::turn(&object, chunk).await;
            turn.take(chunk * CHUNK, content(chunk)).await;
        }
        assert!(begin.elapsed().is_zero(), "{why}");
        let again = store.asked.load(Ordering::SeqCst) - asked;
        assert!(
            again <= if left_alone.is_read { 8 } else { 0 },
            "{why}: asked {again} times"
        );
    }
}
