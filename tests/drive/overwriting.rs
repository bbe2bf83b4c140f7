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

/// A complete file that no service can import: it refers to accessor 7, which does not exist.
fn broken(spaces: usize) -> Vec<u8> {
    let sound = String::from_utf8(model(spaces)).unwrap();
    let broken = sound.replace("\"POSITION\":1", "\"POSITION\":7");
    assert_ne!(broken, sound);
    broken.into_bytes()
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

async fn until_failed(mounted: &Mounted) {
    let has_failed = |text: &str| {
        let status: serde_json::Value = serde_json::from_str(text).unwrap();
        status["drafts"][0]["state"] == "failed"
    };
    mounted
        .tree
        .until("/.assetfs/status.json", has_failed)
        .await;
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
async fn what_a_kill_cut_off_before_close_leaves_the_file_as_it_was() {
    let (account, mounted) = with_chair().await;
    let (ino, fh) = open(&mounted, Access::Write, true).await;
    mounted.tree.write_open(ino, fh, &model(1)).await.unwrap();
    let fsynced = mounted.drive.fsync(ino, fh).await;
    fsynced.unwrap();
    assert_eq!(mounted.tree.list("/rawmodels").await.unwrap().len(), 2);
    let killed = account.mount_after_kill().await;
    assert_eq!(killed.tree.list("/rawmodels").await.unwrap(), ["chair"]);
    assert_eq!(killed.tree.read(FILE).await.unwrap(), MINIMAL_GLTF);
    until_sent(&killed).await;
    assert_eq!(account.assets().await.len(), 1);
    killed.close().await;
    mounted.close().await;
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

/// Writes the file in place, or renames a new one over it.
async fn save(mounted: &Mounted, bytes: &[u8], in_place: bool) {
    let tree = &mounted.tree;
    if in_place {
        return tree.write(FILE, bytes).await.unwrap();
    }
    let temporary = "/rawmodels/.chair.gltf.a1b2c3";
    tree.write(temporary, bytes).await.unwrap();
    tree.rename(temporary, FILE).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_whose_import_failed_is_saved_again() {
    for in_place in [true, false] {
        let (account, mounted) = Account::mounted().await;
        mounted.tree.write(FILE, &broken(0)).await.unwrap();
        until_failed(&mounted).await;
        save(&mounted, &broken(1), in_place).await;
        until_failed(&mounted).await;
        save(&mounted, &model(1), in_place).await;
        until_sent(&mounted).await;
        assert_eq!(mounted.tree.list("/rawmodels").await.unwrap(), ["chair"]);
        assert_eq!(mounted.tree.read(INSIDE).await.unwrap(), model(1));
        assert_eq!(account.assets().await.len(), 1);
        mounted.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_failed_is_saved_again_and_the_one_before_it_stays() {
    for in_place in [true, false] {
        let (account, mounted) = with_chair().await;
        mounted.tree.write(FILE, &broken(1)).await.unwrap();
        until_failed(&mounted).await;
        assert_eq!(mounted.tree.read(FILE).await.unwrap(), broken(1));
        save(&mounted, &model(1), in_place).await;
        assert_is_second_version(&account, &mounted, &model(1)).await;
        mounted.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bytes_that_failed_written_again_and_a_touch_send_nothing() {
    let (account, mounted) = with_chair().await;
    mounted.tree.write(FILE, &broken(1)).await.unwrap();
    until_failed(&mounted).await;
    let before = account.assets().await;
    mounted.tree.write(FILE, &broken(1)).await.unwrap();
    let touched = open(&mounted, Access::Write, false).await;
    flush(&mounted, touched).await;
    mounted.drive.release(touched.0, touched.1).await.unwrap();
    // In the middle, nothing can be changed.
    let (ino, fh) = open(&mounted, Access::ReadWrite, false).await;
    let refused = mounted.drive.write(ino, fh, 7, b"x").await.unwrap_err();
    let said = refused.to_string();
    assert!(said.contains("copy a whole file over it"), "{said}");
    mounted.drive.release(ino, fh).await.unwrap();
    until_failed(&mounted).await;
    assert_eq!(account.assets().await, before);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_for_a_model_whose_import_failed_runs_when_the_model_is_saved_again() {
    for in_place in [true, false] {
        let (_account, mounted) = Account::mounted().await;
        let tree = &mounted.tree;
        tree.write(FILE, &broken(0)).await.unwrap();
        until_failed(&mounted).await;
        let text = br#"{"limits": {"faces": {"percentage": 50}}}"#;
        tree.write("/rawmodels/chair/optimize/half.json", text)
            .await
            .unwrap();
        save(&mounted, MINIMAL_GLTF, in_place).await;
        let is_done = |text: &str| text.starts_with("done");
        tree.until("/rawmodels/chair/optimize/half.status", is_done)
            .await;
        mounted.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_being_imported_says_when_it_can_be_saved_again() {
    let account = Account::with_slow_imports().await;
    let mounted = account.mount().await;
    let tree = &mounted.tree;
    tree.write(FILE, MINIMAL_GLTF).await.unwrap();
    let status = "/rawmodels/chair/.assetfs/status";
    tree.until(status, |it| it.starts_with("importing")).await;
    let refused = tree.write(FILE, &model(1)).await.unwrap_err();
    assert!(matches!(refused, DriveError::ReadOnly(_)), "{refused:?}");
    let why = tree.why(FILE).await;
    let reason = "is being imported; it can be replaced once";
    assert!(why.contains(reason), "{why}");
    until_sent(&mounted).await;
    assert_eq!(tree.read(FILE).await.unwrap(), MINIMAL_GLTF);
    for access in [Access::Read, Access::Write] {
        let touched = open(&mounted, access, false).await;
        flush(&mounted, touched).await;
        mounted.drive.release(touched.0, touched.1).await.unwrap();
    }
    let why = tree.why(FILE).await;
    assert!(why.contains(reason), "{why}");
    tree.write(FILE, &model(1)).await.unwrap();
    let why = tree.why(FILE).await;
    assert!(!why.contains(reason), "{why}");
    assert_is_second_version(&account, &mounted, &model(1)).await;
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bytes_of_the_version_before_it_end_a_next_version_that_was_cut_off() {
    let (account, mounted) = with_chair().await;
    let tree = &mounted.tree;
    let cut_off = &model(1)[..MINIMAL_GLTF.len() / 2];
    for in_place in [true, false] {
        save(&mounted, cut_off, in_place).await;
        assert_eq!(tree.read(FILE).await.unwrap(), cut_off);
        save(&mounted, MINIMAL_GLTF, in_place).await;
        until_sent(&mounted).await;
        assert_eq!(tree.list("/rawmodels").await.unwrap(), ["chair"]);
        assert_eq!(tree.read(FILE).await.unwrap(), MINIMAL_GLTF);
        assert_eq!(account.assets().await.len(), 1);
    }
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bytes_of_the_version_before_it_end_a_next_version_that_is_being_sent() {
    let (mut account, mounted) = with_chair().await;
    // The files of the model are checked when this has returned.
    mounted.tree.write(FILE, MINIMAL_GLTF).await.unwrap();
    account.stop_service().await;
    mounted.tree.write(FILE, &model(1)).await.unwrap();
    let is_stuck = |text: &str| text.contains("\"waiting\"");
    mounted.tree.until("/.assetfs/status.json", is_stuck).await;
    mounted.tree.write(FILE, MINIMAL_GLTF).await.unwrap();
    until_sent(&mounted).await;
    account.start_service().await;
    assert_eq!(mounted.tree.read(FILE).await.unwrap(), MINIMAL_GLTF);
    assert_eq!(account.assets().await.len(), 1);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_in_a_folder_whose_import_failed_is_written_again() {
    let (account, mounted) = Account::mounted().await;
    let tree = &mounted.tree;
    let files = [("chair.gltf".to_owned(), broken(0))];
    tree.copy_in(&files, "/rawmodels/chair").await.unwrap();
    tree.sync("/rawmodels/chair").await.unwrap();
    until_failed(&mounted).await;
    let why = tree.why("/rawmodels/chair").await;
    assert!(why.contains("copy an intact one over it"), "{why}");
    let before = account.assets().await;
    tree.write(INSIDE, &broken(0)).await.unwrap();
    let ino = tree.look(INSIDE).await.unwrap().attributes.ino;
    for append in [false, true] {
        let flags = OpenFlags {
            access: Access::ReadWrite,
            append,
            ..OpenFlags::READ
        };
        let opened = mounted.drive.open_file(ino, flags, &tree.caller).await;
        assert_eq!(opened.is_ok(), !append, "{opened:?}");
        if let Ok(opened) = opened {
            mounted.drive.release(ino, opened.fh).await.unwrap();
        }
    }
    until_failed(&mounted).await;
    assert_eq!(account.assets().await, before);
    tree.write(INSIDE, MINIMAL_GLTF).await.unwrap();
    tree.sync("/rawmodels/chair").await.unwrap();
    until_sent(&mounted).await;
    assert_eq!(tree.list("/rawmodels").await.unwrap(), ["chair"]);
    assert_eq!(tree.read(INSIDE).await.unwrap(), MINIMAL_GLTF);
    assert_eq!(account.assets().await.len(), 1);
    mounted.close().await;
}
