//! The promises of `durable` through its public interface: a killed process, a full disk, and a log that an
//! older version wrote.

#[path = "support/skip.rs"]
mod skip;
#[path = "support/tmpfs.rs"]
mod tmpfs;

use std::error::Error as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use assetfs::durable::{AppendLog, DirLock, DurableError, MetaStore, write_atomic};
use tmpfs::SmallDisk;

const MAGIC: [u8; 8] = *b"testlog\n";
/// Environment variable of the process that is killed: its folder.
const VICTIM: &str = "ASSETFS_TEST_VICTIM_DIR";

/// Not a test by itself: the code of the killed process. It prints a number only after that record is
/// durable.
#[test]
fn victim_of_the_kill_test() {
    let Some(dir) = std::env::var_os(VICTIM).map(PathBuf::from) else {
        return;
    };
    let _lock = DirLock::acquire(&dir).unwrap();
    let log = Mutex::new(AppendLog::open(dir.join("log"), MAGIC).unwrap().0);
    let store = MetaStore::open(dir.join("store")).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..3_u32 {
            let (log, store, dir) = (&log, &store, &dir);
            scope.spawn(move || {
                for number in 0_u32.. {
                    let text = format!("{writer} {number}");
                    log.lock().unwrap().append(text.as_bytes()).unwrap();
                    store.put("t", &writer.to_string(), &number).unwrap();
                    write_atomic(
                        dir.join(format!("file{writer}")),
                        text.repeat(500).as_bytes(),
                    )
                    .unwrap();
                    writeln!(std::io::stdout(), "durable {text}").unwrap();
                }
            });
        }
    });
}

#[test]
fn durable_records_survive_sigkill() {
    let dir = tempfile::tempdir().unwrap();
    for round in 0..3 {
        let mut victim = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "victim_of_the_kill_test", "--nocapture"])
            .env(VICTIM, dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(victim.stdout.take().unwrap()).lines();
        let mut printed = Vec::new();
        while printed.len() < 40 + round * 17 {
            let line = lines
                .next()
                .expect("the process runs until it is killed")
                .unwrap();
            printed.extend(line.strip_prefix("durable ").map(str::to_owned));
        }
        let error = DirLock::acquire(dir.path()).unwrap_err();
        assert!(
            error.to_string().contains(&victim.id().to_string()),
            "{error}"
        );
        victim.kill().unwrap();
        victim.wait().unwrap();
        // Records printed before the kill are durable too.
        for line in lines.map_while(Result::ok) {
            printed.extend(
                line.strip_prefix("durable ")
                    .filter(|it| it.contains(' '))
                    .map(str::to_owned),
            );
        }
        check_survivors(dir.path(), &printed);
        fs::remove_file(dir.path().join("log")).unwrap();
    }
}

fn check_survivors(dir: &Path, printed: &[String]) {
    let _lock = DirLock::acquire(dir).expect("the lock ended with the process");
    let (_, records) = AppendLog::open(dir.join("log"), MAGIC).unwrap();
    let records: Vec<String> = records
        .into_iter()
        .map(|record| String::from_utf8(record).unwrap())
        .collect();
    for text in printed {
        assert!(records.contains(text), "{text} was reported as durable");
    }
    let store = MetaStore::open(dir.join("store")).unwrap();
    assert_eq!(store.moved_aside(), None);
    for writer in 0..3_u32 {
        let of_writer = |text: &&String| text.starts_with(&format!("{writer} "));
        let Some(last) = printed.iter().rfind(of_writer) else {
            continue;
        };
        let number: u32 = last.split(' ').nth(1).unwrap().parse().unwrap();
        let stored: u32 = store.get("t", &writer.to_string()).unwrap().unwrap();
        assert!(stored >= number);
        let file = fs::read_to_string(dir.join(format!("file{writer}"))).unwrap();
        let line = &file[..file.len() / 500];
        assert_eq!(file, line.repeat(500), "old or new content, never a mix");
    }
}

#[test]
fn a_full_disk_loses_nothing_and_writes_succeed_after_space_is_freed() {
    let dir = tempfile::tempdir().unwrap();
    let options = c"size=262144";
    let flags = rustix::mount::MountFlags::empty();
    if let Err(error) = rustix::mount::mount("tmpfs", dir.path(), "tmpfs", flags, options) {
        skip::skipped(&format!("no tmpfs can be mounted ({error})"));
        return;
    }
    let outcome = std::panic::catch_unwind(|| on_a_small_disk(dir.path()));
    rustix::mount::unmount(dir.path(), rustix::mount::UnmountFlags::DETACH).unwrap();
    outcome.unwrap();
}

fn on_a_small_disk(dir: &Path) {
    let path = dir.join("log");
    let (mut log, _) = AppendLog::open(&path, MAGIC).unwrap();
    write_atomic(dir.join("state"), b"old").unwrap();
    let ballast = dir.join("ballast");
    fs::write(&ballast, vec![0; 40_000]).unwrap();
    let mut written: Vec<Vec<u8>> = Vec::new();
    let error = loop {
        let record = vec![written.len() as u8; 5000];
        match log.append(&record) {
            Ok(()) => written.push(record),
            Err(error) => break error,
        }
    };
    assert!(error.is_disk_full(), "{error:?}");
    assert!(written.len() > 10);
    assert_eq!(
        fs::metadata(&path).unwrap().len(),
        log.len_bytes(),
        "no trace of the failed record"
    );
    let error = write_atomic(dir.join("state"), &vec![1; 100_000]).unwrap_err();
    assert!(error.is_disk_full(), "{error:?}");
    assert_eq!(fs::read(dir.join("state")).unwrap(), b"old");
    assert_eq!(
        fs::read_dir(dir).unwrap().count(),
        3,
        "no temporary file is left"
    );
    let error = log.replace_all(&[vec![2; 100_000]]).unwrap_err();
    assert!(error.is_disk_full(), "{error:?}");

    fs::remove_file(ballast).unwrap();
    log.append(b"there is room again").unwrap();
    written.push(b"there is room again".to_vec());
    let len = fs::metadata(&path).unwrap().len();
    let (mut log, found) = AppendLog::open(&path, MAGIC).unwrap();
    assert_eq!((found, log.len_bytes()), (written, len));
    log.replace_all(&[b"all that matters"]).unwrap();
    write_atomic(dir.join("state"), b"new").unwrap();
    assert_eq!(
        AppendLog::open(&path, MAGIC).unwrap().1,
        [b"all that matters"]
    );
}

#[test]
fn a_log_of_the_first_format_can_still_be_read() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/append-log-1");
    let dir = tempfile::tempdir().unwrap();
    let copy = dir.path().join("log");
    fs::copy(&fixture, &copy).unwrap();
    let (log, records) = AppendLog::open(&copy, MAGIC).unwrap();
    assert_eq!(
        records,
        [b"first".as_slice(), b"", b"second batch", b"\0\x01\xFF"]
    );
    assert_eq!(log.len_bytes(), fs::metadata(fixture).unwrap().len());
    let error = AppendLog::open(&copy, *b"otherlog").unwrap_err();
    assert!(matches!(error, DurableError::NotALog { .. }), "{error}");
}

#[test]
fn a_store_works_again_when_a_full_disk_has_room_again() {
    let dir = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(dir.path(), 8 << 20) else {
        return;
    };
    let store = MetaStore::open(dir.path().join("store")).unwrap();
    store.put("t", "before", &1).unwrap();
    disk.fill();
    let long = "long".repeat(10_000);
    let fails = |number: u32| store.put("t", &number.to_string(), &long).is_err();
    assert!((0..1000).any(fails), "the disk is full");
    disk.free();
    let end = Instant::now() + Duration::from_secs(10);
    while let Err(error) = store.put("t", "after", &2) {
        assert!(Instant::now() < end, "{error}: {:?}", error.source());
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(store.get::<u32>("t", "before").unwrap(), Some(1));
    assert_eq!(store.get::<u32>("t", "after").unwrap(), Some(2));
    assert_eq!(store.moved_aside(), None);
}
