//! Assets that are one zip on the service: the drive shows the members.

use std::io::{Cursor, Write as _};
use std::time::{Duration, SystemTime};

use assetfs::drive::{Access, DriveError, FileKind};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use crate::support::account::{Account, MINIMAL_GLTF};
use crate::support::tree::Tree;

/// Bytes that compress well, but not to almost nothing.
fn bytes(len: usize) -> Vec<u8> {
    (0..len as u32)
        .map(|at| (at.wrapping_mul(at) >> 9) as u8)
        .collect()
}

fn zip_of(files: &[(&str, &[u8])], method: CompressionMethod) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        let at = DateTime::from_date_and_time(2021, 5, 6, 7, 8, 10).unwrap();
        let options = SimpleFileOptions::default()
            .compression_method(method)
            .last_modified_time(at);
        writer.start_file(*name, options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// All files below a folder, with bytes and times, without the folders of the service.
pub async fn files_below(tree: &Tree, folder: &str) -> Vec<(String, Vec<u8>, SystemTime)> {
    let service = [
        "analysis",
        "renders",
        "optimize",
        "rapidmodels",
        "converted",
        "pbr",
    ];
    let mut found = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(below) = folders.pop() {
        for (name, kind) in tree.rows(&format!("{folder}/{below}")).await.unwrap() {
            let path = format!("{below}{name}");
            match kind {
                FileKind::Folder if below.is_empty() && service.contains(&name.as_str()) => {}
                FileKind::Folder => folders.push(format!("{path}/")),
                _ => {
                    let full = format!("{folder}/{path}");
                    let stat = tree.stat(&full).await.unwrap();
                    let bytes = tree.read(&full).await.unwrap();
                    assert_eq!(stat.size, bytes.len() as u64, "the true size of {path}");
                    found.push((path, bytes, stat.mtime));
                }
            }
        }
    }
    found.sort();
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nested_folder_is_shown_as_the_tree_that_was_copied_in_when_the_staged_copy_is_gone() {
    let (account, mounted) = Account::mounted().await;
    let tree = &mounted.tree;
    let texture = bytes(150_000);
    tree.mkdir("/rawmodels/nested").await.unwrap();
    tree.mkdir("/rawmodels/nested/maps").await.unwrap();
    tree.mkdir("/rawmodels/nested/maps/wood").await.unwrap();
    for (path, content) in [
        ("cube.gltf", MINIMAL_GLTF),
        ("maps/notes.txt", b"a note".as_slice()),
        ("maps/wood/grain.dat", &texture),
    ] {
        let path = format!("/rawmodels/nested/{path}");
        tree.write(&path, content).await.unwrap();
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_500_000_000);
        tree.set_mtime(&path, then).await.unwrap();
    }
    let before = files_below(tree, "/rawmodels/nested").await;
    let nobody = crate::support::account::OtherProcess::start();
    tree.as_process(nobody.pid())
        .sync("/rawmodels/nested")
        .await
        .unwrap();
    tree.until_status("/rawmodels/nested/.assetfs/status", "complete")
        .await;
    // The staged copy is removed after the service has every byte.
    for _ in 0..200 {
        if mounted.outbox.drafts().all().is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(
        mounted.outbox.drafts().all().is_empty(),
        "the staged copy is gone"
    );
    assert_eq!(files_below(tree, "/rawmodels/nested").await, before);
    mounted.close().await;

    let again = account.mount().await;
    assert_eq!(files_below(&again.tree, "/rawmodels/nested").await, before);
    again.close().await;

    let other = account.mount_elsewhere().await;
    assert_eq!(
        files_below(&other.tree, "/rawmodels/nested").await,
        before,
        "another machine, which knows the zip alone"
    );
    other.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zip_that_was_uploaded_elsewhere_shows_its_members_with_their_times() {
    let account = Account::new().await;
    let big = bytes(700_000);
    for (name, method) in [
        ("stored", CompressionMethod::Stored),
        ("deflated", CompressionMethod::Deflated),
    ] {
        let zip = zip_of(
            &[
                ("cube.gltf", MINIMAL_GLTF),
                ("deep/er/big.bin", &big),
                ("empty.txt", b""),
            ],
            method,
        );
        account.upload_zip_elsewhere(name, &zip).await;
    }
    let mounted = account.mount().await;
    for name in ["stored", "deflated"] {
        let folder = format!("/rawmodels/{name}");
        let files = files_below(&mounted.tree, &folder).await;
        let names: Vec<&str> = files.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(names, ["cube.gltf", "deep/er/big.bin", "empty.txt"]);
        assert!(files[1].1 == big, "the bytes of {name}");
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_620_284_890);
        assert_eq!(files[0].2, then, "the time in the zip");
        let whole = mounted
            .tree
            .read(&format!("{folder}/.assetfs/source.zip"))
            .await
            .unwrap();
        assert_eq!(&whole[..4], b"PK\x03\x04");
    }
    // From the end to the beginning, as a reader of an index does.
    let (ino, opened) = mounted
        .tree
        .open("/rawmodels/deflated/deep/er/big.bin", Access::Read)
        .await
        .unwrap();
    for start in (0..big.len()).step_by(99_999).rev() {
        let part = mounted.drive.read(ino, opened.fh, start as u64, 1000).await;
        let end = (start + 1000).min(big.len());
        assert!(part.unwrap()[..] == big[start..end], "from {start}");
    }
    mounted.drive.release(ino, opened.fh).await.unwrap();
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_member_fails_with_a_sentence_and_a_hostile_zip_is_shown_as_it_is() {
    let account = Account::new().await;
    for (name, method) in [
        ("stored", CompressionMethod::Stored),
        ("deflated", CompressionMethod::Deflated),
    ] {
        let mut zip = zip_of(
            &[("cube.gltf", MINIMAL_GLTF), ("big.bin", &bytes(200_000))],
            method,
        );
        // The checksum of the last entry, in the central directory.
        let at = zip.windows(4).rposition(|it| it == b"PK\x01\x02").unwrap();
        zip[at + 16] ^= 1;
        account.upload_zip_elsewhere(name, &zip).await;
    }
    let mut hostile = zip_of(
        &[("a.gltf", MINIMAL_GLTF), ("b.bin", &[7; 5000])],
        CompressionMethod::Stored,
    );
    let at = hostile
        .windows(4)
        .rposition(|it| it == b"PK\x01\x02")
        .unwrap();
    hostile[at + 42..at + 46].copy_from_slice(&3_u32.to_le_bytes());
    account.upload_zip_elsewhere("hostile", &hostile).await;

    let mounted = account.mount().await;
    let tree = &mounted.tree;
    for name in ["stored", "deflated"] {
        let path = format!("/rawmodels/{name}/big.bin");
        let error = tree.read(&path).await.unwrap_err();
        assert!(matches!(error, DriveError::Local(_)), "{error:?}");
        assert!(tree.why(&path).await.contains("checksum"), "{error}");
        let good = tree.read(&format!("/rawmodels/{name}/cube.gltf")).await;
        assert_eq!(good.unwrap(), MINIMAL_GLTF);
    }
    assert_eq!(
        tree.read("/rawmodels/hostile/hostile.zip").await.unwrap(),
        hostile
    );
    let why = tree.why("/rawmodels/hostile/hostile.zip").await;
    assert!(why.starts_with("the zip cannot be used"), "{why}");
    let why = tree.why("/rawmodels/hostile").await;
    assert!(!why.contains("zip cannot be used"), "of the model: {why}");
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_in_a_zip_never_leave_its_folder() {
    let account = Account::new().await;
    let zip = zip_of(
        &[
            ("cube.gltf", MINIMAL_GLTF),
            ("../../escape.txt", b"no"),
            ("/etc/passwd", b"no"),
        ],
        CompressionMethod::Stored,
    );
    account.upload_zip_elsewhere("evil", &zip).await;
    let mounted = account.mount().await;
    let listed = mounted.tree.list("/rawmodels/evil").await.unwrap();
    assert!(
        listed.contains(&"..%2F..%2Fescape.txt".to_owned())
            && listed.contains(&"%2Fetc%2Fpasswd".to_owned()),
        "{listed:?}"
    );
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_byte_of_a_member_with_a_flipped_bit_is_given_out() {
    // Longer and shorter than the buffer in memory.
    for len in [200_000, 9 << 20] {
        let account = Account::new().await;
        for (name, method) in [
            ("stored", CompressionMethod::Stored),
            ("deflated", CompressionMethod::Deflated),
        ] {
            let files: [(&str, &[u8]); 2] = [("cube.gltf", MINIMAL_GLTF), ("big.bin", &bytes(len))];
            let mut zip = zip_of(&files, method);
            // A bit of the member's bytes, near their end.
            let directory = zip.windows(4).position(|it| it == b"PK\x01\x02").unwrap();
            zip[directory - 2000] ^= 1;
            account.upload_zip_elsewhere(name, &zip).await;
        }
        let mounted = account.mount().await;
        let tree = &mounted.tree;
        for name in ["stored", "deflated"] {
            let path = format!("/rawmodels/{name}/big.bin");
            let (ino, opened) = tree.open(&path, Access::Read).await.unwrap();
            for offset in [0, 4096, len as u64 - 1000, 0] {
                let read = mounted.drive.read(ino, opened.fh, offset, 1000).await;
                assert!(
                    matches!(read, Err(DriveError::Local(_))),
                    "{name} at {offset}"
                );
            }
            mounted.drive.release(ino, opened.fh).await.unwrap();
            let why = tree.why(&path).await;
            assert!(
                why.contains("big.bin") && why.contains(&format!("zip of rawmodels/{name}")),
                "{why}"
            );
        }
        mounted.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_member_is_proven_once_and_then_read_without_a_request() {
    let account = Account::new().await;
    let big = bytes(9 << 20);
    let files: [(&str, &[u8]); 2] = [("cube.gltf", MINIMAL_GLTF), ("big.bin", &big)];
    for (name, method) in [
        ("stored", CompressionMethod::Stored),
        ("deflated", CompressionMethod::Deflated),
    ] {
        let zip = zip_of(&files, method);
        account.upload_zip_elsewhere(name, &zip).await;
    }
    let mounted = account.mount().await;
    for name in ["stored", "deflated"] {
        let path = format!("/rawmodels/{name}/big.bin");
        assert!(mounted.tree.read(&path).await.unwrap() == big, "{name}");
    }
    mounted.close().await;
    // Verified bytes are in the cache.
    let mut account = account;
    let mounted = account.mount().await;
    mounted.tree.list("/rawmodels/stored").await.unwrap();
    mounted.tree.list("/rawmodels/deflated").await.unwrap();
    account.stop_service().await;
    for name in ["stored", "deflated"] {
        let path = format!("/rawmodels/{name}/big.bin");
        assert!(mounted.tree.read(&path).await.unwrap() == big, "{name}");
    }
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_file_managers_left_in_a_zip_is_not_shown() {
    let account = Account::new().await;
    let files: [(&str, &[u8]); 7] = [
        ("cube.gltf", MINIMAL_GLTF),
        ("maps/wood.txt", b"wood"),
        ("maps/Thumbs.db", b"junk"),
        ("maps/.DS_Store", b"junk"),
        (".DS_Store", b"junk"),
        ("__MACOSX/._cube.gltf", b"junk"),
        ("__MACOSX/maps/._wood.txt", b"junk"),
    ];
    let zip = zip_of(&files, CompressionMethod::Deflated);
    account.upload_zip_elsewhere("mac", &zip).await;
    let mounted = account.mount().await;
    let shown = files_below(&mounted.tree, "/rawmodels/mac").await;
    let shown: Vec<&str> = shown.iter().map(|(path, ..)| path.as_str()).collect();
    assert_eq!(shown, ["cube.gltf", "maps/wood.txt"]);
    let junk = mounted.tree.exists("/rawmodels/mac/__MACOSX").await;
    assert!(!junk, "nor is it found by name");
    mounted.close().await;
}
