//! Many files, huge files, unusual names, full disks.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::models::{corners, triangle, triangle_glb};
use super::tools::{assert_arrived, tree};
use crate::needs_fuse;
use crate::support::{Fixture, assetfs, read, run, small_chair, text, wait_until};
use crate::tmpfs::SmallDisk;

#[test]
fn five_hundred_files_in_one_folder_arrive() {
    needs_fuse!();
    let fixture = Fixture::new();
    let source = fixture.scratch.path().join("many");
    fs::create_dir(&source).unwrap();
    let mut document = triangle(36, Some("part000.bin"));
    let buffers = document["buffers"].as_array_mut().unwrap();
    for number in 1..499 {
        buffers
            .push(serde_json::json!({ "byteLength": 36, "uri": format!("part{number:03}.bin") }));
    }
    for number in 0..499 {
        fs::write(source.join(format!("part{number:03}.bin")), corners()).unwrap();
    }
    fs::write(source.join("many.gltf"), document.to_string()).unwrap();
    fixture.copy_in(&source, "rawmodels/many");
    assert_arrived(&fixture, "many", &tree(&source, &[]));
    fixture.only_asset();
}

#[test]
fn odd_names_arrive_as_they_are() {
    needs_fuse!();
    let fixture = Fixture::new();
    let longest = format!("{}.bin", "x".repeat(251));
    let umlauts = format!("{}.bin", "ä".repeat(125));
    let names: BTreeMap<&str, &str> = [
        ("with spaces and  two", "a b.bin"),
        ("-rf", "--help"),
        ("😀 stuhl", "🪑.bin"),
        ("quotes'\"`$(x)\\n", "'\"`$(x).bin"),
        ("percent%20", "100%.bin"),
        ("hash#q?", "a#b?c.bin"),
        ("dots...", "...x.bin"),
        ("long", &longest),
        ("umlauts", &umlauts),
        ("Ünïcödé e\u{301}", "e\u{301}.bin"),
    ]
    .into();
    for (name, file) in &names {
        let source = fixture.scratch.path().join("odd").join(name);
        fs::create_dir_all(&source).unwrap();
        fs::write(source.join(file), corners()).unwrap();
        let encoded: String = file.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let document = triangle(36, Some(&encoded));
        fs::write(source.join("model.gltf"), document.to_string()).unwrap();
        run(Command::new("cp")
            .args(["-r", "--"])
            .args([&source, &fixture.path("rawmodels").join(name)]));
    }
    for name in names.keys() {
        let source = fixture.scratch.path().join("odd").join(name);
        assert_arrived(&fixture, name, &tree(&source, &[]));
    }
    let mut longest_asset = "a".repeat(255);
    fs::create_dir(fixture.path("rawmodels").join(&longest_asset)).unwrap();
    longest_asset.push('a');
    let refused = fs::create_dir(fixture.path("rawmodels").join(&longest_asset)).unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(36), "ENAMETOOLONG");
}

/// The folder of drafts below the state folder.
fn outbox_dir(fixture: &Fixture) -> std::path::PathBuf {
    let state = fixture.scratch.path().join("state");
    let found = run(Command::new("find")
        .arg(&state)
        .args(["-type", "d", "-name", "outbox"]));
    found.trim().into()
}

#[test]
fn a_full_staging_disk_is_enospc_loses_nothing_and_works_again_with_room() {
    needs_fuse!();
    let mut fixture = Fixture::new();
    run(assetfs("unmount", fixture.root()));
    let outbox = outbox_dir(&fixture);
    fs::remove_dir_all(&outbox).unwrap();
    fs::create_dir(&outbox).unwrap();
    let Some(disk) = SmallDisk::mount(&outbox, 1 << 20) else {
        return;
    };
    fixture.mount(&["--settle", "10m"]);
    let source = small_chair(fixture.scratch.path());
    let chair = fixture.path("rawmodels/chair");
    run(Command::new("cp").arg("-r").args([&source, &chair]));
    let room = run(Command::new("stat")
        .args(["-f", "-c", "%a %S"])
        .arg(fixture.root()));
    let room: Vec<u64> = room
        .split_whitespace()
        .map(|word| word.parse().unwrap())
        .collect();
    assert!(
        room[0] * room[1] < 1 << 20,
        "statfs tells it before: {room:?}"
    );

    let large = fixture.scratch.path().join("large.glb");
    fs::write(&large, vec![7; 3 << 20]).unwrap();
    let folder = fixture.path("rawmodels/large");
    fs::create_dir(&folder).unwrap();
    let copied = Command::new("cp")
        .arg(&large)
        .arg(&folder)
        .output()
        .unwrap();
    assert!(!copied.status.success());
    assert!(
        text(&copied.stderr).contains("No space left"),
        "{}",
        text(&copied.stderr)
    );
    for path in ["rawmodels/large/large.glb", "rawmodels/large"] {
        let why = fixture.why(path);
        assert!(
            why.contains("no room for what was written"),
            "{path}: {why}"
        );
    }
    let loose = Command::new("cp")
        .arg(&large)
        .arg(fixture.path("rawmodels"))
        .output()
        .unwrap();
    assert!(text(&loose.stderr).contains("No space left"));
    let status = run(assetfs("status", fixture.root()));
    assert!(
        status.contains("/mnt/rawmodels/large.glb: no room"),
        "{status}"
    );
    run(Command::new("rm").arg(fixture.path("rawmodels/large.glb")));

    // Files accepted before are complete and can be sent while the disk is full.
    assert_eq!(tree(&chair, &[]), tree(&source, &[]));
    run(Command::new("sync").arg(&chair));
    assert_arrived(&fixture, "chair", &tree(&source, &[]));
    let status = Command::new("sync").arg(&folder).output().unwrap();
    assert!(!status.status.success(), "half a file is not sent");

    // Removals free space on the full disk, and everything works again.
    run(Command::new("rm").arg("-r").arg(&folder));
    assert_eq!(fixture.service.assets().len(), 1);
    let again = fixture.path("rawmodels/again");
    run(Command::new("cp").arg("-r").args([&source, &again]));
    run(Command::new("sync").arg(&again));
    assert_arrived(&fixture, "again", &tree(&source, &[]));
    run(assetfs("unmount", fixture.root()));
    drop(disk);
}

#[test]
fn a_draft_larger_than_the_account_has_room_does_not_start_and_says_so() {
    needs_fuse!();
    let fixture = Fixture::with(&["--quota", "1M"], &[]);
    let folder = fixture.path("rawmodels/large");
    fs::create_dir(&folder).unwrap();
    let mut bytes = triangle_glb("large");
    bytes.resize(2 << 20, 0);
    fs::write(folder.join("large.glb"), &bytes).unwrap();
    let status = || text(&read(folder.join(".assetfs/status")));
    wait_until("the status says so", || status().contains("1.0 MB left"));
    assert!(fixture.service.assets().is_empty());
    let sync = Command::new("sync").arg(&folder).output().unwrap();
    assert!(
        text(&sync.stderr).contains("No space left"),
        "{}",
        text(&sync.stderr)
    );
    assert_eq!(read(folder.join("large.glb")), bytes, "nothing is lost");
    // A smaller one works.
    let small = fixture.path("rawmodels/small");
    fs::create_dir(&small).unwrap();
    fs::write(small.join("small.glb"), triangle_glb("small")).unwrap();
    fixture.wait("rawmodels/small");
}

/// A binary STL of a little over five gibibytes: sparse, so that it needs no disk space here; its bytes are zeros.
fn huge_stl(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("huge.stl");
    let triangles = 107_374_182_u32;
    let mut head = vec![0; 80];
    head.extend(triangles.to_le_bytes());
    fs::write(&path, head).unwrap();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(84 + 50 * u64::from(triangles)).unwrap();
    path
}

fn copy_huge(fixture: &Fixture) -> (std::path::PathBuf, std::path::PathBuf) {
    let source = huge_stl(fixture.scratch.path());
    let folder = fixture.path("rawmodels/huge");
    fs::create_dir(&folder).unwrap();
    run(Command::new("cp")
        .arg("--sparse=always")
        .arg(&source)
        .arg(&folder));
    let copied = folder.join("huge.stl");
    assert_eq!(
        fs::metadata(&copied).unwrap().len(),
        fs::metadata(&source).unwrap().len()
    );
    (source, copied)
}

#[test]
fn a_file_of_five_gibibytes_is_taken_whole_and_waits_for_room() {
    needs_fuse!();
    let fixture = Fixture::with(&["--quota", "1G"], &[]);
    let (source, copied) = copy_huge(&fixture);
    wait_until("its status says why it waits", || {
        text(&read(fixture.path("rawmodels/huge/.assetfs/status"))).contains("5.4 GB")
    });
    let len = fs::metadata(&source).unwrap().len();
    for skip in [0, len - 1_000_000] {
        let skip = skip.to_string();
        run(Command::new("cmp")
            .args(["-n", "1000000", "-i", &skip])
            .args([&source, &copied]));
    }
}

/// Needs five gibibytes of disk and almost a minute, so it is run only on request.
#[test]
fn a_file_of_five_gibibytes_arrives_whole() {
    needs_fuse!();
    if std::env::var_os("ASSETFS_HUGE").is_none() {
        crate::skip::skipped("ASSETFS_HUGE is not set");
        return;
    }
    let fixture = Fixture::new();
    let (source, _) = copy_huge(&fixture);
    run(Command::new("sync").arg(fixture.path("rawmodels/huge")));
    let assets = fixture.service.assets();
    assert_eq!(assets.len(), 1, "{assets:#?}");
    let id = &assets[0]["id"];
    let downloads = fixture
        .service
        .get(&format!("api/v2/rawmodel/{id}/downloads"));
    let url = downloads["huge.stl"].as_str().expect("a signed URL");
    let mut fetch = Command::new("curl")
        .args(["-sS", "--fail", url])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let compared = Command::new("cmp")
        .arg(&source)
        .stdin(fetch.stdout.take().expect("piped"))
        .status();
    fetch.wait().unwrap();
    assert!(
        compared.unwrap().success(),
        "the service has something else"
    );
}
