//! Zips that were copied in: the members are shown before the upload as after it.

use std::io::{Cursor, Write as _};
use std::time::Duration;

use assetfs::drive::{Access, DriveError, Ino};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use crate::archives::files_below;
use crate::support::account::{Account, MINIMAL_GLTF, Mounted, OtherProcess};
use crate::support::tree::Tree;

static BIG: [u8; 100_000] = [7; 100_000];

pub fn zip_of(files: &[(&str, &[u8])], method: CompressionMethod) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let at = DateTime::from_date_and_time(2021, 5, 6, 7, 8, 10).unwrap();
    for (name, bytes) in files {
        let options = SimpleFileOptions::default()
            .compression_method(method)
            .last_modified_time(at);
        writer.start_file(*name, options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn mac_zip(method: CompressionMethod) -> Vec<u8> {
    let files: [(&str, &[u8]); 6] = [
        ("cube.gltf", MINIMAL_GLTF),
        ("maps/wood/grain.dat", &BIG),
        ("maps/.DS_Store", b"junk"),
        ("__MACOSX/._cube.gltf", b"junk"),
        ("__MACOSX/maps/._wood", b"junk"),
        ("empty.txt", b""),
    ];
    zip_of(&files, method)
}

/// Waits until no more files are expected next to the zip.
async fn until_shown(tree: &Tree, member: &str) {
    for _ in 0..200 {
        if tree.exists(member).await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{member} is not shown within 10 s");
}

async fn send(mounted: &Mounted, sync: &str, model: &str) {
    let nobody = OtherProcess::start();
    let other = mounted.tree.as_process(nobody.pid());
    other.sync(sync).await.unwrap();
    let status = format!("{model}/.assetfs/status");
    mounted.tree.until_status(&status, "complete").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zip_has_the_same_paths_and_bytes_before_and_after_the_upload_and_elsewhere() {
    let (account, mounted) = Account::mounted().await;
    let tree = &mounted.tree;
    let models = [
        ("loose", "/rawmodels/loose.zip", CompressionMethod::Deflated),
        (
            "alone",
            "/rawmodels/alone/mac.zip",
            CompressionMethod::Stored,
        ),
    ];
    tree.mkdir("/rawmodels/alone").await.unwrap();
    let mut before = Vec::new();
    for (name, zip, method) in models {
        tree.write(zip, &mac_zip(method)).await.unwrap();
        let model = format!("/rawmodels/{name}");
        until_shown(tree, &format!("{model}/cube.gltf")).await;
        let shown = files_below(tree, &model).await;
        let names: Vec<&str> = shown.iter().map(|(path, ..)| path.as_str()).collect();
        assert_eq!(names, ["cube.gltf", "empty.txt", "maps/wood/grain.dat"]);
        assert_eq!((&shown[0].1[..], &shown[2].1[..]), (MINIMAL_GLTF, &BIG[..]));
        assert!(!tree.exists(&format!("{model}/__MACOSX")).await);
        assert_eq!(
            tree.read(zip).await.unwrap(),
            mac_zip(method),
            "the zip itself"
        );
        before.push(shown);
    }
    assert!(account.assets().await.is_empty(), "nothing is sent yet");
    for ((name, zip, method), before) in models.into_iter().zip(&before) {
        let model = format!("/rawmodels/{name}");
        send(&mounted, &model, &model).await;
        assert_eq!(&files_below(tree, &model).await, before, "accepted");
        while !mounted
            .outbox
            .drafts()
            .all()
            .iter()
            .all(|draft| !zip.contains(&draft.name))
        {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(
            &files_below(tree, &model).await,
            before,
            "without the staged copy"
        );
        // The zip keeps its name and may be copied again.
        assert_eq!(tree.read(zip).await.unwrap(), mac_zip(method));
        tree.write(zip, &mac_zip(method)).await.unwrap();
    }
    mounted.close().await;
    for mounted in [account.mount().await, account.mount_elsewhere().await] {
        for ((name, ..), before) in models.into_iter().zip(&before) {
            let model = format!("/rawmodels/{name}");
            assert_eq!(&files_below(&mounted.tree, &model).await, before);
        }
        mounted.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_members_of_a_zip_keep_their_inode_numbers_when_the_staged_copy_goes() {
    let (account, mounted) = Account::mounted().await;
    let model = "/rawmodels/loose";
    let zip = mac_zip(CompressionMethod::Deflated);
    mounted
        .tree
        .write("/rawmodels/loose.zip", &zip)
        .await
        .unwrap();
    until_shown(&mounted.tree, "/rawmodels/loose/cube.gltf").await;
    let before = inode_numbers(&mounted.tree, model).await;
    let known = mounted.tree.stat(&format!("{model}/cube.gltf")).await;
    send(&mounted, model, model).await;
    while !mounted.outbox.drafts().all().is_empty() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // A program that found the file before reads it without looking it up again.
    let read = mounted.tree.read_number(known.unwrap().ino).await;
    assert_eq!(read.unwrap(), MINIMAL_GLTF);
    assert_eq!(inode_numbers(&mounted.tree, model).await, before);
    mounted.close().await;
    let again = account.mount().await;
    assert_eq!(inode_numbers(&again.tree, model).await, before, "remounted");
    again.close().await;
}

/// The inode numbers of two members and of the folders between them.
async fn inode_numbers(tree: &Tree, model: &str) -> Vec<Ino> {
    let mut numbers = Vec::new();
    for path in ["cube.gltf", "maps", "maps/wood", "maps/wood/grain.dat"] {
        let found = tree.stat(&format!("{model}/{path}")).await.unwrap();
        numbers.push(found.ino);
    }
    numbers
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zip_that_is_being_written_is_one_file_and_a_draft_stays_an_ordinary_folder() {
    let (account, mounted) = Account::mounted().await;
    let tree = &mounted.tree;
    tree.mkdir("/rawmodels/box").await.unwrap();
    let zip = mac_zip(CompressionMethod::Stored);
    tree.write("/rawmodels/box/mac.zip", &zip).await.unwrap();
    let listed = tree.list("/rawmodels/box").await.unwrap();
    assert_eq!(listed, ["mac.zip"], "more may be copied beside it");
    until_shown(tree, "/rawmodels/box/cube.gltf").await;

    // The members cannot be written; the message says what can be done.
    let refused = tree.write("/rawmodels/box/cube.gltf", b"x").await;
    assert!(
        matches!(refused, Err(DriveError::ReadOnly(_))),
        "{refused:?}"
    );
    let refused = tree.write("/rawmodels/box/maps/new.txt", b"x").await;
    assert!(
        matches!(refused, Err(DriveError::ReadOnly(_))),
        "{refused:?}"
    );
    let why = tree.why("/rawmodels/box/cube.gltf").await;
    assert!(why.contains("inside a zip"), "{why}");

    // A reader of a member never gets bytes of another zip.
    let grain = "/rawmodels/box/maps/wood/grain.dat";
    let (ino, opened) = tree.open(grain, Access::Read).await.unwrap();
    assert_eq!(
        mounted.drive.read(ino, opened.fh, 0, 4).await.unwrap()[..],
        [7; 4]
    );
    let (zip_ino, writing) = tree
        .open("/rawmodels/box/mac.zip", Access::Write)
        .await
        .unwrap();
    let listed = tree.list("/rawmodels/box").await.unwrap();
    assert_eq!(listed, ["mac.zip"], "it is being written");
    let other = zip_of(&[("other.gltf", MINIMAL_GLTF)], CompressionMethod::Stored);
    tree.write_open(zip_ino, writing.fh, &other).await.unwrap();
    let read = mounted.drive.read(ino, opened.fh, 50_000, 4).await;
    assert!(matches!(read, Err(DriveError::Stale(_))), "{read:?}");
    mounted
        .drive
        .flush(zip_ino, writing.fh, &tree.caller)
        .await
        .unwrap();
    mounted.drive.release(zip_ino, writing.fh).await.unwrap();
    let read = mounted.drive.read(ino, opened.fh, 50_000, 4).await;
    assert!(matches!(read, Err(DriveError::Stale(_))), "{read:?}");
    mounted.drive.release(ino, opened.fh).await.unwrap();

    // After a rewrite the new members are shown; with a second file in the draft it is an ordinary folder.
    tree.write("/rawmodels/box/mac.zip", &other).await.unwrap();
    until_shown(tree, "/rawmodels/box/other.gltf").await;
    assert_eq!(tree.list("/rawmodels/box").await.unwrap(), ["other.gltf"]);
    tree.write("/rawmodels/box/notes.txt", b"x").await.unwrap();
    let listed = tree.list("/rawmodels/box").await.unwrap();
    assert_eq!(listed, ["mac.zip", "notes.txt"]);
    tree.unlink("/rawmodels/box/notes.txt").await.unwrap();
    until_shown(tree, "/rawmodels/box/other.gltf").await;

    // The zip can be renamed and removed.
    tree.rename("/rawmodels/box/mac.zip", "/rawmodels/box/b.zip")
        .await
        .unwrap();
    assert_eq!(tree.read("/rawmodels/box/b.zip").await.unwrap(), other);
    tree.unlink("/rawmodels/box/b.zip").await.unwrap();
    assert!(tree.list("/rawmodels/box").await.unwrap().is_empty());
    tree.rmdir("/rawmodels/box").await.unwrap();
    assert!(account.assets().await.is_empty());
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rm_r_of_a_draft_that_shows_a_zip_removes_the_draft_and_one_removed_member_is_back() {
    let mut account = Account::new().await;
    let mounted = account
        .mount_with(|config| config.restore_after = Duration::from_millis(500))
        .await;
    // All of this works without the service.
    account.stop_service().await;
    let tree = &mounted.tree;
    tree.mkdir("/rawmodels/box").await.unwrap();
    let zip = mac_zip(CompressionMethod::Deflated);
    tree.write("/rawmodels/box/mac.zip", &zip).await.unwrap();
    until_shown(tree, "/rawmodels/box/cube.gltf").await;
    let before = tree.list("/rawmodels/box").await.unwrap();
    assert_eq!(
        tree.rmdir("/rawmodels/box").await,
        Err(DriveError::NotEmpty)
    );
    tree.unlink("/rawmodels/box/cube.gltf").await.unwrap();
    assert!(!tree.exists("/rawmodels/box/cube.gltf").await);
    assert_eq!(
        tree.rmdir("/rawmodels/box").await,
        Err(DriveError::NotEmpty)
    );
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(tree.list("/rawmodels/box").await.unwrap(), before);
    tree.remove_all("/rawmodels/box").await.unwrap();
    assert!(!tree.exists("/rawmodels/box").await);
    assert!(mounted.outbox.drafts().all().is_empty());
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_zip_is_one_file_before_the_upload_too() {
    let (_account, mounted) = Account::mounted().await;
    let tree = &mounted.tree;
    let mut hostile = zip_of(
        &[("a.gltf", MINIMAL_GLTF), ("b.bin", &[7; 5000])],
        CompressionMethod::Stored,
    );
    let at = hostile
        .windows(4)
        .rposition(|it| it == b"PK\x01\x02")
        .unwrap();
    hostile[at + 42..at + 46].copy_from_slice(&3_u32.to_le_bytes());
    tree.write("/rawmodels/hostile.zip", &hostile)
        .await
        .unwrap();
    assert_eq!(
        tree.list("/rawmodels/hostile").await.unwrap(),
        ["hostile.zip"]
    );
    assert_eq!(tree.read("/rawmodels/hostile.zip").await.unwrap(), hostile);
    let why = tree.why("/rawmodels/hostile.zip").await;
    assert!(why.contains("the zip cannot be used"), "{why}");
    // Reading a member with a wrong checksum fails, as after the upload.
    let mut flipped = mac_zip(CompressionMethod::Deflated);
    let in_directory = |it: &[u8]| it == b"maps/wood/grain.dat";
    let at = flipped.windows(19).rposition(in_directory).unwrap();
    flipped[at - 46 + 16] ^= 1;
    tree.write("/rawmodels/flipped.zip", &flipped)
        .await
        .unwrap();
    let grain = "/rawmodels/flipped/maps/wood/grain.dat";
    let read = tree.read(grain).await;
    assert!(
        matches!(read, Err(DriveError::Local(_))),
        "{:?}",
        read.err()
    );
    assert_eq!(
        tree.read("/rawmodels/flipped/cube.gltf").await.unwrap(),
        MINIMAL_GLTF
    );
    mounted.close().await;
}
