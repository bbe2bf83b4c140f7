//! Reading through the drive: the bytes are those of a local copy whatever the storage does, whoever
//! reads them in whatever way, and whatever becomes of the cache.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::storage::{Chance, Storage};
use crate::support::{ASSETFS, Fixture, ServeProcess, run, text, wait_until};
use crate::{needs_fuse, needs_program};

const MIB: usize = 1 << 20;

/// The smallest model: a triangle whose bytes stand in the file.
fn triangle() -> Vec<u8> {
    json!({
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}], "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3",
                       "min": [0, 0, 0], "max": [1, 1, 0]}],
        "bufferViews": [{"buffer": 0, "byteLength": 36}],
        "buffers": [{"byteLength": 36, "uri": "data:application/octet-stream;base64,\
                     AAAAAAAAAAAAAAAAAAAAgD8AAAAAAAAAAAAAAAAAAIA/AAAAAA=="}]
    })
    .to_string()
    .into_bytes()
}

/// Sends a model past the drive, as somebody else would, so that nothing of it is on this disk.
fn send(service: &ServeProcess, name: &str, files: &[(&str, &[u8])]) -> u64 {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let id = runtime.block_on(async {
        let http = reqwest::Client::new();
        let api = |path: &str| format!("http://{}/api/v2/rawmodel/{path}", service.listens_on());
        let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
        let started: Value = http
            .post(api("api-upload/start"))
            .bearer_auth(service.token())
            .header("content-type", "application/json")
            .body(json!({"model_name": name, "filenames": names}).to_string())
            .send()
            .await
            .expect("the service answers")
            .bytes()
            .await
            .map(|body| serde_json::from_slice(&body).expect("JSON"))
            .expect("a body");
        for (name, content) in files {
            let url = started["links"]["s3_upload_urls"][*name]
                .as_str()
                .expect("a URL");
            let put = http.put(url).body(content.to_vec()).send().await;
            assert!(put.expect("stored").status().is_success());
        }
        let id = started["id"].as_u64().expect("an id");
        let completed = http
            .get(api(&format!("{id}/api-upload/complete")))
            .bearer_auth(service.token())
            .send()
            .await;
        assert!(completed.expect("completed").status().is_success());
        id
    });
    wait_until("the model is complete", || {
        service.get(&format!("api/v2/rawmodel/{id}"))["data"]["upload_status"] == "complete"
    });
    id
}

/// A drive over one model with a large file of chance, whose bytes storage elsewhere serves.
struct World {
    storage: Storage,
    fixture: Fixture,
    content: Arc<Vec<u8>>,
    asset: u64,
}

impl World {
    fn new(len: usize, mount: &[&str]) -> World {
        let mut world = World::unmounted(len);
        world.fixture.mount(mount);
        world
    }

    fn unmounted(len: usize) -> World {
        let storage = Storage::start();
        let fixture = Fixture::unmounted(&["--files-url", &storage.url()]);
        let content = Chance(5).bytes(len);
        let model = triangle();
        let files = [
            ("m.gltf", model.as_slice()),
            ("big.bin", content.as_slice()),
        ];
        let asset = send(&fixture.service, "m", &files);
        files.iter().for_each(|(name, it)| storage.put(name, it));
        for name in [
            "error.log",
            "info.log",
            "warning.log",
            "metrics.json",
            "rpd_info.json",
        ] {
            storage.put(name, b"{}");
        }
        World {
            storage,
            fixture,
            content: Arc::new(content),
            asset,
        }
    }

    fn big(&self) -> PathBuf {
        self.fixture.path("rawmodels/m/big.bin")
    }

    fn assert_whole(&self) {
        assert!(crate::support::read(self.big()) == *self.content);
    }

    fn cache_files(&self, extension: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.fixture.scratch.path().join("cache")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                match path.is_dir() {
                    true => folders.push(path),
                    false if path.extension().is_some_and(|it| it == extension) => found.push(path),
                    false => {}
                }
            }
        }
        found
    }

    fn status(&self) -> Value {
        let status = fs::read(self.fixture.path(".assetfs/status.json")).expect("it answers");
        serde_json::from_slice(&status).expect("JSON")
    }
}

/// Forgets what the kernel has of a file, so that the drive is asked again.
fn forget_pages(file: &File) {
    rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed).expect("advice is taken");
}

fn peak_mib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    let kib: u64 = line
        .and_then(|line| line.split_whitespace().nth(1)?.parse().ok())
        .expect("a number");
    kib / 1024
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Reads at random places from several threads until enough was read, in the ways readers have, and
/// compares each with the local copy. Gives reads and failures.
fn read_at_random(
    path: &Path,
    content: &Arc<Vec<u8>>,
    threads: u64,
    is_enough: impl Fn(u64) -> bool + Sync,
) -> (u64, u64) {
    let (reads, failures) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for seed in 0..threads {
            let (reads, failures, is_enough) = (&reads, &failures, &is_enough);
            scope.spawn(move || {
                let mut chance = Chance(seed + 100);
                let mut file = File::open(path).expect("it opens");
                let mut at = 0;
                let mut buffer = vec![0; 300_000];
                while !is_enough(reads.load(Ordering::Relaxed)) {
                    if chance.below(3) == 0 || at >= content.len() {
                        at = chance.below(content.len() as u64) as usize;
                    }
                    match chance.below(60) {
                        0 => forget_pages(&file),
                        1 => {
                            let mut options = fs::OpenOptions::new();
                            let direct = if chance.below(2) == 0 {
                                libc::O_DIRECT
                            } else {
                                0
                            };
                            options.read(true).custom_flags(direct);
                            file = options.open(path).expect("it opens");
                        }
                        _ => {}
                    }
                    let len = match chance.below(4) {
                        0 => 4096,
                        1 => 1 + chance.below(300_000) as usize,
                        _ => 1 + chance.below(20_000) as usize,
                    };
                    match file.read_at(&mut buffer[..len], at as u64) {
                        Ok(read) => {
                            let end = (at + read).min(content.len());
                            assert!(read > 0, "an end at {at} of {}", content.len());
                            assert!(
                                buffer[..read] == content[at..end],
                                "wrong bytes at {at}+{read}"
                            );
                            at += read;
                        }
                        Err(_) => {
                            failures.fetch_add(1, Ordering::Relaxed);
                            at += len;
                        }
                    }
                    reads.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    (reads.into_inner(), failures.into_inner())
}

#[test]
fn random_readers_see_the_local_copy_through_every_fault() {
    needs_fuse!();
    let wanted = std::env::var("ASSETFS_READS")
        .ok()
        .and_then(|it| it.parse::<u64>().ok());
    let world = World::new(12 * MIB + 777, &["--cache-size", "6M"]);
    fs::metadata(world.big()).expect("it is there");
    world.storage.with(|it| it.fault_in = 4);
    let started = Instant::now();
    let (reads, failures) = read_at_random(&world.big(), &world.content, 4, |reads| match wanted {
        Some(wanted) => reads >= wanted,
        None => started.elapsed() > Duration::from_secs(10),
    });
    world.storage.with(|it| it.fault_in = 0);
    eprintln!(
        "{reads} reads, {failures} failed, {} requests, in {:?}",
        world.storage.with(|it| it.requests),
        started.elapsed()
    );
    // A senseless answer is an error; everything else is repaired.
    assert!(failures * 20 <= reads, "{failures} of {reads} reads failed");
    world.assert_whole();
}

#[test]
fn a_kill_while_the_cache_fills_costs_no_byte_of_truth() {
    needs_fuse!();
    let mut world = World::new(16 * MIB, &[]);
    for seconds in [150, 400] {
        world.storage.with(|it| it.bytes_per_second = Some(4 << 20));
        let mut reader = Command::new("cat")
            .arg(world.big())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("cat");
        std::thread::sleep(Duration::from_millis(seconds));
        world.fixture.kill_mount();
        let _ = reader.wait();
        world.storage.with(|it| it.bytes_per_second = None);
        world.fixture.mount(&[]);
        world.assert_whole();
    }
}

#[test]
fn a_cache_that_rots_is_fetched_again_and_never_served() {
    needs_fuse!();
    let mut world = World::new(8 * MIB, &[]);
    world.assert_whole();
    let mut chance = Chance(77);
    for round in 0..3 {
        run(Command::new(ASSETFS)
            .args(["unmount", "--now"])
            .arg(world.fixture.root()));
        for path in world
            .cache_files("data")
            .iter()
            .chain(&world.cache_files("map"))
        {
            let file = File::options()
                .read(true)
                .write(true)
                .open(path)
                .expect("it opens");
            let len = file.metadata().expect("a length").len().max(1);
            for _ in 0..5 {
                let at = chance.below(len);
                file.write_at(&[chance.below(256) as u8], at)
                    .expect("spoiled");
            }
            if round == 2 && path.extension().is_some_and(|it| it == "data") {
                file.set_len(len / 2).expect("cut");
            }
        }
        world.fixture.mount(&[]);
        world.assert_whole();
    }
}

#[test]
fn a_cache_that_is_deleted_under_a_mount_or_full_stops_no_reader() {
    needs_fuse!();
    let world = World::new(6 * MIB, &["--cache-size", "2M"]);
    let pinned = Command::new(ASSETFS)
        .arg("pin")
        .arg(world.fixture.path("rawmodels/m"))
        .output();
    let pinned = pinned.expect("assetfs runs");
    assert!(pinned.status.success(), "{}", text(&pinned.stderr));
    let open: Vec<File> = (0..8)
        .map(|_| File::open(world.big()).expect("it opens"))
        .collect();
    world.assert_whole();
    forget_pages(&open[0]);
    world.assert_whole();
    let used = world.status()["cache"]["used_bytes"]
        .as_u64()
        .expect("a number");
    assert!(used <= 2 << 20, "{used} bytes");
    forget_pages(&open[0]);
    fs::remove_dir_all(world.fixture.scratch.path().join("cache")).expect("deleted");
    world.assert_whole();
    drop(open);
    forget_pages(&File::open(world.big()).expect("it opens"));
    world.assert_whole();
}

#[test]
fn two_processes_reading_what_is_being_fetched_share_the_fetch() {
    needs_fuse!();
    let world = World::new(8 * MIB, &[]);
    let copy = world.fixture.scratch.path().join("copy");
    fs::write(&copy, &*world.content).expect("a copy");
    world.storage.with(|it| {
        it.bytes_per_second = Some(8 << 20);
        it.sent = 0;
    });
    let compare = || {
        Command::new("cmp")
            .args([&copy, &world.big()])
            .spawn()
            .expect("cmp")
    };
    let readers = [compare(), compare()];
    for mut reader in readers {
        assert!(reader.wait().expect("it ends").success());
    }
    let sent = world.storage.with(|it| it.sent) as usize;
    assert!(
        sent < world.content.len() + MIB,
        "{sent} bytes were fetched"
    );
}

const EVERY_WAY: &str = r#"
import hashlib, mmap, os, sys
path, want = sys.argv[1], sys.argv[2]
def check(name, data):
    assert hashlib.md5(data).hexdigest() == want, name
fd = os.open(path, os.O_RDONLY)
size = os.fstat(fd).st_size
with mmap.mmap(fd, size, prot=mmap.PROT_READ) as view:
    check("mmap", view)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
for name, copy in (("sendfile", lambda o, n: os.sendfile(o, fd, n, size - n)),
                   ("copy_file_range", lambda o, n: os.copy_file_range(fd, o, size - n, n))):
    with open(sys.argv[3], "w+b") as out:
        done = 0
        while done < size:
            try:
                done += copy(out.fileno(), done)
            except OSError as error:  # as between any two file systems: tools copy the bytes then
                assert name == "copy_file_range" and error.errno == 18, error
                done += os.pwrite(out.fileno(), os.pread(fd, size - done, done), done)
        out.seek(0)
        check(name, out.read())
direct = os.open(path, os.O_RDONLY | os.O_DIRECT)
page = mmap.mmap(-1, 1 << 20)
data, at = bytearray(), 0
while at < size:
    got = os.preadv(direct, [page], at)
    assert got > 0
    data += page[:got]
    at += got
check("O_DIRECT", data)
"#;

#[test]
fn mmap_sendfile_copy_file_range_and_direct_io_give_the_same_bytes() {
    needs_fuse!();
    needs_program!("python3");
    let world = World::new(3 * MIB + 5, &[]);
    let copy = world.fixture.scratch.path().join("copy");
    fs::write(&copy, &*world.content).expect("a copy");
    let digest = run(Command::new("md5sum").arg(&copy));
    let digest = digest.split(' ').next().expect("a digest");
    // Cold, then from the cache, then lent to the kernel where that is possible.
    for _ in 0..3 {
        run(Command::new("timeout")
            .args(["60", "python3", "-c", EVERY_WAY])
            .arg(world.big())
            .arg(digest)
            .arg(world.fixture.scratch.path().join("out")));
    }
}

#[test]
fn what_is_deleted_on_the_service_ends_in_an_error_and_what_is_cached_stays_readable() {
    needs_fuse!();
    let world = World::new(8 * MIB, &[]);
    let mut file = File::open(world.big()).expect("it opens");
    let mut start = vec![0; 1000];
    file.read_exact(&mut start).expect("the start");
    let url = format!(
        "http://{}/api/v2/rawmodel/{}",
        world.fixture.service.listens_on(),
        world.asset
    );
    crate::support::request(
        reqwest::Method::DELETE,
        &url,
        &world.fixture.service.token(),
    );
    world.storage.with(|it| it.files.clear());
    file.seek(SeekFrom::Start(6 * MIB as u64)).expect("a seek");
    let started = Instant::now();
    assert!(
        file.read_exact(&mut start).is_err(),
        "there is nothing to read"
    );
    assert!(started.elapsed() < Duration::from_secs(40));
    forget_pages(&file);
    file.read_exact_at(&mut start, 0)
        .expect("the start is cached");
    assert_eq!(start, world.content[..1000]);
}

#[test]
fn content_that_changes_under_a_reader_is_stale_and_never_mixed() {
    needs_fuse!();
    let world = World::new(8 * MIB, &[]);
    let file = File::open(world.big()).expect("it opens");
    let mut part = vec![0; 1000];
    file.read_exact_at(&mut part, 0).expect("the start");
    let other = vec![b'!'; 8 * MIB];
    world.storage.put("big.bin", &other);
    let error = file.read_exact_at(&mut part, 6 * MIB as u64).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ESTALE), "{error}");
    drop(file);
    wait_until("the new content is shown", || {
        fs::read(world.big()).is_ok_and(|found| found == other)
    });
}

#[test]
fn a_complete_file_is_read_by_the_kernel_alone() {
    needs_fuse!();
    if !is_root() {
        eprintln!("SKIPPED a_complete_file_is_read_by_the_kernel_alone: needs root");
        return;
    }
    let mut world = World::new(2 * MIB, &[]);
    world.assert_whole();
    let read_while_stopped = |world: &World| {
        let file = File::open(world.big()).expect("it opens");
        let pid = world.fixture.pid().to_string();
        forget_pages(&file);
        run(Command::new("kill").args(["-STOP", &pid]));
        let (send, receive) = std::sync::mpsc::channel();
        let reader = std::thread::spawn(move || {
            let mut found = vec![0; 2 * MIB];
            let read = file.read_exact_at(&mut found, 0);
            // Closed only later: that is for the drive to answer.
            let _ = send.send(read.is_ok().then_some(found));
            file
        });
        let found = receive.recv_timeout(Duration::from_secs(10));
        run(Command::new("kill").args(["-CONT", &pid]));
        drop(reader.join().expect("no panic"));
        found.is_ok_and(|found| found.as_ref() == Some(&*world.content))
    };
    assert!(read_while_stopped(&world), "the drive was needed");
    // After a kill nothing is believed until it was compared once, behind the first reader.
    world.fixture.kill_mount();
    world.fixture.mount(&[]);
    world.assert_whole();
    wait_until("the cache is verified", || read_while_stopped(&world));
}

#[test]
fn a_user_without_rights_mounts_and_reads_the_same() {
    needs_fuse!();
    needs_program!("setpriv");
    needs_program!("fusermount3");
    if !is_root() {
        eprintln!(
            "SKIPPED a_user_without_rights_mounts_and_reads_the_same: every other test is it"
        );
        return;
    }
    let world = World::unmounted(3 * MIB);
    let scratch = world.fixture.scratch.path();
    run(Command::new("chmod").arg("755").arg(scratch));
    let home = scratch.join("user");
    fs::create_dir(&home).expect("a folder");
    run(Command::new("chown").arg("nobody").arg(&home));
    let as_user = |command: &Command| {
        let mut run_as = Command::new("setpriv");
        run_as
            .args([
                "--reuid=nobody",
                "--regid=nogroup",
                "--clear-groups",
                "timeout",
                "60",
            ])
            .arg(command.get_program())
            .args(command.get_args())
            .env("HOME", &home)
            .env("ASSETFS_TOKEN", world.fixture.service.token());
        run_as.output().expect("setpriv runs")
    };
    let mount_point = home.join("mnt");
    let binary = home.join("assetfs");
    fs::copy(ASSETFS, &binary).expect("a copy that the user may run");
    let mut mount = Command::new(&binary);
    mount.arg("mount").arg(&mount_point);
    mount.args(["--base-url", &world.fixture.service.base_url, "--state-dir"]);
    mount
        .arg(home.join("state"))
        .arg("--cache-dir")
        .arg(home.join("cache"));
    let mounted = as_user(&mount);
    assert!(mounted.status.success(), "{}", text(&mounted.stderr));
    let big = mount_point.join("rawmodels/m/big.bin");
    let mut results = Vec::new();
    for _ in 0..2 {
        let mut cat = Command::new("cat");
        cat.arg(&big);
        results.push(as_user(&cat).stdout == *world.content);
    }
    let requests = world.storage.with(|it| it.requests);
    let mut cat = Command::new("cat");
    cat.arg(&big);
    results.push(as_user(&cat).stdout == *world.content);
    let asked_again = world.storage.with(|it| it.requests) > requests;
    let mut unmount = Command::new(&binary);
    unmount.args(["unmount", "--now"]).arg(&mount_point);
    let unmounted = as_user(&unmount);
    assert!(unmounted.status.success(), "{}", text(&unmounted.stderr));
    assert_eq!(results, [true, true, true]);
    assert!(!asked_again, "what is cached was fetched again");
}

#[test]
fn small_files_read_one_after_the_other_are_there_before_they_are_asked_for() {
    needs_fuse!();
    let storage = Storage::start();
    let mut fixture = Fixture::unmounted(&["--files-url", &storage.url()]);
    let model = triangle();
    let parts: Vec<(String, Vec<u8>)> = (0..9)
        .map(|number| (format!("p{number}.bin"), Chance(number).bytes(20_000)))
        .collect();
    let mut files = vec![("m.gltf", model.as_slice())];
    files.extend(
        parts
            .iter()
            .map(|(name, it)| (name.as_str(), it.as_slice())),
    );
    files.iter().for_each(|(name, it)| storage.put(name, it));
    for number in 0..8 {
        send(&fixture.service, &format!("m{number}"), &files);
    }
    let latency = Duration::from_millis(100);
    storage.with(|it| it.latency = latency);
    fixture.mount(&[]);
    fs::read_dir(fixture.path("rawmodels"))
        .expect("a listing")
        .for_each(drop);
    storage.with(|it| it.requests = 0);
    let started = Instant::now();
    for number in 0..8 {
        for (name, content) in &files {
            let path = fixture.path(&format!("rawmodels/m{number}/{name}"));
            assert!(
                fs::read(&path).expect("it reads") == *content,
                "{}",
                path.display()
            );
        }
    }
    let (elapsed, requests) = (started.elapsed(), storage.with(|it| it.requests));
    assert!(elapsed < latency * 80 / 3, "80 files took {elapsed:?}");
    assert!(requests <= 100, "{requests} requests for 80 files");
}

#[test]
fn what_a_gltf_names_is_fetched_when_it_is_read() {
    needs_fuse!();
    let storage = Storage::start();
    let mut fixture = Fixture::unmounted(&["--files-url", &storage.url()]);
    let mut model: Value = serde_json::from_slice(&triangle()).expect("JSON");
    model["buffers"] = json!([{"byteLength": 36, "uri": "z.bin"}]);
    let model = model.to_string().into_bytes();
    let mut buffer = vec![0; 36];
    for (at, value) in [(12, 1.0_f32), (28, 1.0)] {
        buffer[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
    buffer.resize(300_000, 7);
    let files = [("m.gltf", model.as_slice()), ("z.bin", buffer.as_slice())];
    files.iter().for_each(|(name, it)| storage.put(name, it));
    send(&fixture.service, "m", &files);
    fixture.mount(&[]);
    let sent = || storage.with(|it| it.sent);
    let before = sent();
    File::open(fixture.path("rawmodels/m/m.gltf")).expect("it opens");
    assert!(sent() - before < 100, "opening alone fetches nothing");
    fs::read(fixture.path("rawmodels/m/m.gltf")).expect("it reads");
    wait_until("the buffer is fetched", || sent() - before >= 300_000);
    let fetched = sent();
    assert!(fs::read(fixture.path("rawmodels/m/z.bin")).expect("it reads") == buffer);
    assert_eq!(sent(), fetched);
}

#[test]
fn memory_does_not_grow_with_what_is_read() {
    needs_fuse!();
    let world = World::new(24 * MIB, &["--cache-size", "8M"]);
    let read = || {
        let file = File::open(world.big()).expect("it opens");
        forget_pages(&file);
        world.assert_whole();
    };
    (0..3).for_each(|_| read());
    let before = peak_mib(world.fixture.pid());
    (0..12).for_each(|_| read());
    let after = peak_mib(world.fixture.pid());
    assert!(after < before + 24, "{before} MiB, then {after} MiB");
}

#[test]
fn the_cache_is_shown_verified_pinned_and_cleared_by_commands() {
    needs_fuse!();
    let world = World::new(MIB, &[]);
    let command = |args: &[&str]| {
        let output = Command::new(ASSETFS)
            .args(args)
            .arg(world.fixture.root())
            .output();
        output.expect("assetfs runs")
    };
    let info = |args: &[&str]| -> Value {
        let output = command(args);
        let reports: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        reports[0].clone()
    };
    let model = world.fixture.path("rawmodels/m");
    run(Command::new(ASSETFS).arg("pin").arg(&model));
    let held = info(&["cache", "info", "--json"]);
    assert_eq!(held["pins"], json!(["rawmodels/m"]));
    assert!(held["used_bytes"].as_u64() >= Some(MIB as u64), "{held}");
    let verified = info(&["cache", "verify", "--json"]);
    assert_eq!(verified["verify"]["bad_blocks"], 0);
    assert!(
        verified["verify"]["blocks"].as_u64() >= Some(16),
        "{verified}"
    );
    let data = world
        .cache_files("data")
        .into_iter()
        .max_by_key(|path| fs::metadata(path).map_or(0, |it| it.size()))
        .expect("a file");
    let rotten = File::options().write(true).open(&data).expect("it opens");
    rotten.write_at(b"rot", 100_000).expect("spoiled");
    let found = command(&["cache", "verify", "--json"]);
    assert_eq!(found.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&found.stdout).expect("JSON");
    assert_eq!(report[0]["verify"]["bad_blocks"], 1);
    world.assert_whole();
    run(Command::new(ASSETFS).arg("unpin").arg(&model));
    assert!(command(&["cache", "clear"]).status.success());
    let empty = info(&["cache", "info", "--json"]);
    assert_eq!((&empty["objects"], &empty["pins"]), (&json!(0), &json!([])));
    world.assert_whole();
    run(Command::new(ASSETFS)
        .args(["unmount", "--now"])
        .arg(world.fixture.root()));
    let cache = world.fixture.scratch.path().join("cache");
    let offline = Command::new(ASSETFS)
        .args(["cache", "verify", "--json", "--cache-dir"])
        .arg(&cache)
        .output()
        .expect("assetfs runs");
    // Another drive on this machine may be mounted; then the command means that one.
    if let Ok(Value::Array(reports)) = serde_json::from_slice(&offline.stdout)
        && let Some(report) = reports.first()
        && report["cache"]
            .as_str()
            .is_some_and(|it| it.starts_with(&*cache.to_string_lossy()))
    {
        assert_eq!(report["verify"]["bad_blocks"], 0);
    }
}

#[test]
fn check_finds_what_is_missing_and_what_differs() {
    needs_fuse!();
    let world = World::new(200_000, &[]);
    let local = world.fixture.scratch.path().join("local");
    fs::create_dir(&local).expect("a folder");
    fs::write(local.join("big.bin"), &*world.content).expect("a file");
    fs::write(local.join("m.gltf"), triangle()).expect("a file");
    let model = world.fixture.path("rawmodels/m");
    let check = |more: &[&str]| {
        let output = Command::new(ASSETFS)
            .args(["check", "--json"])
            .args([&local, &model])
            .args(more)
            .output()
            .expect("assetfs runs");
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        (output.status.code(), report)
    };
    let (code, report) = check(&[]);
    assert_eq!((code, &report["differences"]), (Some(0), &json!([])));
    assert_eq!(report["by_bytes"], 2);
    let mut spoiled = world.content.to_vec();
    spoiled[150_000] ^= 1;
    fs::write(local.join("big.bin"), &spoiled).expect("a file");
    fs::write(local.join("m.gltf"), "shorter").expect("a file");
    fs::write(local.join("more.bin"), "more").expect("a file");
    let (code, report) = check(&[]);
    assert_eq!(code, Some(1));
    let kinds: Vec<&str> = report["differences"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| it["what"]["kind"].as_str().expect("a kind"))
        .collect();
    assert_eq!(kinds, ["content", "size", "missing"]);
    let (_, report) = check(&["--size-only"]);
    assert_eq!(report["differences"].as_array().map(Vec::len), Some(2));
}
