//! Writing in place to a loose file that was uploaded, as `cp`, a program that saves, and Samba do: other bytes are the next
//! version of the model.

use std::time::{Duration, SystemTime};

use assetfs::drive::{Access, DriveError, Fh, Ino, OpenFlags, SetAttributes, SetTime};

use crate::support::account::{Account, MINIMAL_GLTF, Mounted};

const FILE: &str = "/rawmodels/chair.gltf";
const INSIDE: &str = "/rawmodels/chair/chair.gltf";

/// The model with so many spaces behind it.
fn model(spaces: usize) -> Vec<u8> {
    [MINIMAL_GLTF, &vec![b' '; spaces]].concat()
}

/// An account with the model `chair`, which was copied in as a loose file, and its drive.
async fn with_chair() -> (Account, Mounted) {
    let (account, mounted) = Account::mounted().await;
    mounted.tree.write(FILE, MINIMAL_GLTF).await.unwrap();
    until_sent(&mounted).await;
    (account, mounted)
}

/// Waits until the drive has no draft and no copy of its own of the file.
async fn until_sent(mounted: &Mounted) {
    let is_empty = |text: &str| {
        let status: serde_json::Value = serde_json::from_str(text).unwrap();
        status["drafts"].as_array().is_some_and(Vec::is_empty)
    };
    mounted.tree.until("/.assetfs/status.json", is_empty).await;
}

async fn open(mounted: &Mounted, access: Access, truncate: bool) -> (Ino, Fh) {
    let ino = mounted.tree.look(FILE).await.unwrap().attributes.ino;
    let flags = OpenFlags {
        access,
        truncate,
        ..OpenFlags::READ
    };
    let opened = mounted.drive.open_file(ino, flags, &mounted.tree.caller);
    (ino, opened.await.unwrap().fh)
}

async fn flush(mounted: &Mounted, (ino, fh): (Ino, Fh)) {
    let flushed = mounted.drive.flush(ino, fh, &mounted.tree.caller);
    flushed.await.unwrap();
}

async fn change(mounted: &Mounted, ino: Ino, change: SetAttributes) {
    let set = mounted.drive.setattr(ino, &change, &mounted.tree.caller);
    set.await.unwrap();
}

async fn assert_is_second_version(account: &Account, mounted: &Mounted, bytes: &[u8]) {
    until_sent(mounted).await;
    let mut assets = account.assets().await;
    assets.sort();
    let [(first, _), _] = &assets[..] else {
        panic!("{assets:?}");
    };
    let old = format!("chair~{first}");
    assert_eq!(
        mounted.tree.list("/rawmodels").await.unwrap(),
        ["chair", &old]
    );
    for path in [FILE, INSIDE] {
        assert_eq!(mounted.tree.read(path).await.unwrap(), bytes, "{path}");
    }
    let old = format!("/rawmodels/{old}/chair.gltf");
    assert_eq!(mounted.tree.read(&old).await.unwrap(), MINIMAL_GLTF);
}

#[tokio::test(flavor = "multi_thread")]
async fn other_bytes_written_in_place_are_the_next_version_whichever_name_of_the_file_is_used() {
    for path in [FILE, INSIDE] {
        let (account, mounted) = with_chair().await;
        mounted.tree.write(path, &model(1)).await.unwrap();
        assert_is_second_version(&account, &mounted, &model(1)).await;
        mounted.close().await;
        let mounted = account.mount().await;
        assert_is_second_version(&account, &mounted, &model(1)).await;
        mounted.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_written_in_place_is_there_after_a_kill_once_close_has_returned() {
    let (mut account, mounted) = with_chair().await;
    // The files of the model are checked when this has returned.
    mounted.tree.write(FILE, MINIMAL_GLTF).await.unwrap();
    account.stop_service().await;
    mounted.tree.write(FILE, &model(1)).await.unwrap();
    assert_eq!(mounted.tree.read(FILE).await.unwrap(), model(1));
    let killed = account.mount_after_kill().await;
    assert_eq!(killed.tree.read(FILE).await.unwrap(), model(1));
    mounted.close().await;
    account.start_service().await;
    assert_is_second_version(&account, &killed, &model(1)).await;
    killed.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_bytes_written_in_place_change_nothing_but_a_time_that_is_set() {
    let (account, mounted) = with_chair().await;
    let before = mounted.tree.stat(FILE).await.unwrap().mtime;
    mounted.tree.write(FILE, MINIMAL_GLTF).await.unwrap();
    assert_eq!(mounted.tree.stat(FILE).await.unwrap().mtime, before);

    // As `cp -p` does. The kernel does not name the handle when the time is set.
    let (ino, fh) = open(&mounted, Access::Write, true).await;
    mounted
        .tree
        .write_open(ino, fh, MINIMAL_GLTF)
        .await
        .unwrap();
    let touched = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let time = SetAttributes {
        mtime: Some(SetTime::At(touched)),
        ..SetAttributes::default()
    };
    change(&mounted, ino, time).await;
    flush(&mounted, (ino, fh)).await;
    mounted.drive.release(ino, fh).await.unwrap();
    assert_eq!(mounted.tree.stat(FILE).await.unwrap().mtime, touched);
    assert_eq!(mounted.tree.list("/rawmodels").await.unwrap(), ["chair"]);
    assert_eq!(account.assets().await.len(), 1);
    until_sent(&mounted).await;
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_that_closes_an_empty_duplicate_before_it_writes_makes_one_version() {
    let (account, mounted) = with_chair().await;
    let (ino, fh) = open(&mounted, Access::Write, true).await;
    flush(&mounted, (ino, fh)).await;
    assert_eq!(mounted.tree.read(INSIDE).await.unwrap(), MINIMAL_GLTF);
    mounted.tree.write_open(ino, fh, &model(1)).await.unwrap();
    flush(&mounted, (ino, fh)).await;
    // Bytes that are written after the first close belong to the same version.
    mounted.drive.write(ino, fh, 0, &model(1)).await.unwrap();
    flush(&mounted, (ino, fh)).await;
    mounted.drive.release(ino, fh).await.unwrap();
    assert_is_second_version(&account, &mounted, &model(1)).await;
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_only_emptied_stays_as_it_was() {
    let (account, mounted) = with_chair().await;
    let (ino, fh) = open(&mounted, Access::Write, true).await;
    flush(&mounted, (ino, fh)).await;
    mounted.drive.release(ino, fh).await.unwrap();
    assert_eq!(mounted.tree.read(FILE).await.unwrap(), MINIMAL_GLTF);
    assert_eq!(mounted.tree.list("/rawmodels").await.unwrap(), ["chair"]);
    assert_eq!(account.assets().await.len(), 1);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handle_that_is_not_emptied_reads_what_was_sent_and_takes_nothing_else() {
    let (account, mounted) = with_chair().await;
    let (ino, fh) = open(&mounted, Access::ReadWrite, false).await;
    let read = mounted.drive.read(ino, fh, 0, 1 << 16).await.unwrap();
    assert_eq!(read, MINIMAL_GLTF);
    let refused = mounted.drive.write(ino, fh, 7, b"x").await.unwrap_err();
    assert!(matches!(refused, DriveError::ReadOnly(_)), "{refused:?}");

    // As Samba empties a file.
    let empty = SetAttributes {
        size: Some(0),
        fh: Some(fh),
        ..SetAttributes::default()
    };
    change(&mounted, ino, empty).await;
    mounted.tree.write_open(ino, fh, &model(2)).await.unwrap();
    let read = mounted.drive.read(ino, fh, 0, 1 << 16).await.unwrap();
    assert_eq!(read, model(2));
    flush(&mounted, (ino, fh)).await;
    mounted.drive.release(ino, fh).await.unwrap();
    assert_is_second_version(&account, &mounted, &model(2)).await;
    mounted.close().await;
}
