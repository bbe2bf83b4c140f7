//! A full staging disk stays usable: complete drafts are sent, removals free space, and no acknowledged data is lost.

use std::path::{Path, PathBuf};
use std::time::Duration;

use assetfs::client::Priority;
use assetfs::outbox::{DraftId, EntryId, OpenMode, Outbox, OutboxConfig, OutboxError, StagedFile};

use crate::support::{ME, World, eventually, glb, killed, put};
use crate::tmpfs::SmallDisk;

/// A service, and a disk of 2 MiB for the outbox.
struct DiskWorld {
    // Unmounted before the folder is removed with the world.
    disk: SmallDisk,
    world: World,
}

impl DiskWorld {
    /// `None`, reported as a skipped test, if no file system can be mounted.
    async fn mount() -> Option<DiskWorld> {
        let world = World::start().await;
        let dir = world.dir.path().join("small");
        std::fs::create_dir_all(&dir).unwrap();
        let disk = SmallDisk::mount(&dir, 2 << 20)?;
        Some(DiskWorld { disk, world })
    }

    fn state(&self) -> PathBuf {
        self.disk.path().join("outbox")
    }

    fn open(&self) -> Outbox {
        self.open_at(&self.state())
    }

    /// Opens an outbox that sends nothing on its own.
    fn open_at(&self, state: &Path) -> Outbox {
        let config = OutboxConfig {
            settle: Duration::from_secs(600),
            ..crate::support::quick(state)
        };
        let opened = Outbox::open(config, self.world.client());
        let (outbox, mut events) = opened.expect("a full disk does not keep the drafts away");
        tokio::spawn(async move { while events.recv().await.is_some() {} });
        outbox
    }
}

#[tokio::test]
async fn bytes_that_the_journal_does_not_know_stay_where_they_are_while_the_disk_is_full() {
    let Some(disk) = DiskWorld::mount().await else {
        return;
    };
    let (dir, outbox) = (disk.disk.path(), disk.open());
    let draft = outbox.drafts().create("one", 0o755, &ME).unwrap().id;
    put(&outbox, draft, EntryId::ROOT, "chair.glb", &glb(100_000));
    outbox.shut_down().await;
    drop(outbox);
    // The state after a kill between the creation of a file and its record.
    let unknown = dir.join("outbox/staging/00000000ffff");
    std::fs::write(&unknown, b"bytes that were never acknowledged").unwrap();
    disk.disk.fill();
    for _ in 0..2 {
        let outbox = disk.open();
        let chair = outbox.entries().child(draft, EntryId::ROOT, "chair.glb");
        assert_eq!(chair.unwrap().size, 100_000);
        assert!(unknown.exists());
        assert!(outbox.recovered().is_empty(), "no empty folders are left");
        outbox.shut_down().await;
    }
    disk.disk.free();
    let outbox = disk.open();
    let recovered = outbox.recovered();
    assert_eq!(recovered.len(), 1);
    assert_eq!(recovered[0].files[0].bytes, 34);
    outbox.shut_down().await;
}

/// Writes until the disk is full and returns the error.
fn fill(outbox: &Outbox, name: &str) -> OutboxError {
    let draft = outbox.drafts().create(name, 0o755, &ME).unwrap().id;
    let (_, file) = outbox
        .entries()
        .create_file(draft, EntryId::ROOT, "large.glb", 0o644, &ME)
        .unwrap();
    let mut at = 0;
    // Fills the disk to the last page, as a copy of many files would.
    for len in [50_000, 4_096] {
        loop {
            match file.write_at(&vec![1; len], at) {
                Ok(()) => at += len as u64,
                Err(error) if len == 4_096 => return error,
                Err(_) => break,
            }
        }
    }
    unreachable!("each length ends in an error")
}

#[tokio::test]
async fn a_full_staging_disk_stays_usable() {
    let Some(disk) = DiskWorld::mount().await else {
        return;
    };
    let (dir, world, outbox) = (disk.disk.path(), &disk.world, disk.open());
    let kept: Vec<_> = ["one", "two", "three"]
        .map(|name| {
            let draft = outbox.drafts().create(name, 0o755, &ME).unwrap().id;
            put(&outbox, draft, EntryId::ROOT, "chair.glb", &glb(100_000));
            draft
        })
        .into();
    let error = fill(&outbox, "too large");
    assert!(
        matches!(error, OutboxError::StagingFull { .. }),
        "{error:?}"
    );
    let sentence = error.to_string();
    assert!(sentence.contains(dir.to_str().unwrap()), "{sentence}");
    // Complete drafts are sent.
    let asset = outbox.uploads().commit(kept[0], false).await.unwrap();
    world.wait_complete(asset).await;
    assert_eq!(world.files(asset).await["chair.glb"], glb(100_000));
    let error = fill(&outbox, "too large again");
    assert!(
        matches!(error, OutboxError::StagingFull { .. }),
        "{error:?}"
    );
    // Removals free space.
    for name in ["too large", "too large again"] {
        outbox
            .drafts()
            .remove(outbox.drafts().find(name).unwrap().id)
            .unwrap();
    }
    eventually("there is room again", async || {
        let name = "next.bin";
        let Ok((_, file)) = outbox
            .entries()
            .create_file(kept[1], EntryId::ROOT, name, 0o644, &ME)
        else {
            return false;
        };
        let written = file.write_at(&[2; 500_000], 0).and_then(|()| file.flush());
        drop(file);
        if written.is_err() {
            let _ = outbox
                .entries()
                .remove_file(kept[1], EntryId::ROOT, name, &ME);
        }
        written.is_ok()
    })
    .await;
    // No acknowledged data is lost, also over a restart.
    outbox.shut_down().await;
    drop(outbox);
    let outbox = disk.open();
    for draft in &kept[1..] {
        let chair = outbox
            .entries()
            .child(*draft, EntryId::ROOT, "chair.glb")
            .unwrap();
        assert_eq!(chair.size, 100_000);
        let asset = outbox.uploads().commit(*draft, false).await.unwrap();
        assert_eq!(world.files(asset).await["chair.glb"], glb(100_000));
    }
    outbox.shut_down().await;
}

/// Copies until the disk is full, several times.
fn copy_in_vain(outbox: &Outbox, copies: std::ops::Range<usize>) {
    for copy in copies {
        let Ok(draft) = outbox.drafts().create(&format!("copy{copy}"), 0o755, &ME) else {
            continue;
        };
        for name in ["a.glb", "b.glb"] {
            let made = outbox
                .entries()
                .create_file(draft.id, EntryId::ROOT, name, 0o644, &ME);
            let Ok((_, file)) = made else { continue };
            for block in 0.. {
                if file.write_at(&[1; 16_384], block * 16_384).is_err() {
                    break;
                }
            }
            let _ = file.flush();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_that_fill_the_disk_leave_room_to_commit_to_cancel_and_to_remove() {
    let Some(disk) = DiskWorld::mount().await else {
        return;
    };
    let (world, outbox) = (&disk.world, disk.open());
    let kept = ["one", "two", "three"].map(|name| {
        let draft = outbox.drafts().create(name, 0o755, &ME).unwrap().id;
        put(&outbox, draft, EntryId::ROOT, "chair.glb", &glb(100_000));
        draft
    });
    let copies = (0..4).map(|thread| {
        let outbox = outbox.clone();
        tokio::task::spawn_blocking(move || copy_in_vain(&outbox, thread * 10..thread * 10 + 10))
    });
    futures_util::future::join_all(copies).await;
    let left = || rustix::fs::statvfs(disk.disk.path()).unwrap().f_bavail * 4096;
    assert!(left() > 0, "data has taken all of the disk");
    // Deciding works before anything was freed, and in any order.
    let asset = outbox.uploads().commit(kept[0], false).await.unwrap();
    assert_eq!(world.files(asset).await["chair.glb"], glb(100_000));
    copy_in_vain(&outbox, 40..45);
    outbox.uploads().cancel(kept[1]).await.unwrap();
    copy_in_vain(&outbox, 45..50);
    let entries = outbox.entries();
    entries
        .remove_file(kept[2], EntryId::ROOT, "chair.glb", &ME)
        .unwrap();
    for draft in outbox.drafts().all() {
        if draft.name.starts_with("copy") {
            outbox.drafts().remove(draft.id).unwrap();
        }
    }
    eventually("there is room again", async || {
        let made = entries.create_file(kept[2], EntryId::ROOT, "chair.glb", 0o644, &ME);
        let Ok((_, file)) = made else { return false };
        let written = file.write_at(&glb(500_000), 0).and_then(|()| file.flush());
        drop(file);
        if written.is_err() {
            let _ = entries.remove_file(kept[2], EntryId::ROOT, "chair.glb", &ME);
        }
        written.is_ok()
    })
    .await;
    outbox.shut_down().await;
}

/// Removes all files of a draft on a disk without room, and dies.
async fn what_is_left_after_a_kill(prepare: impl Fn(&Path)) -> Option<Vec<String>> {
    let disk = DiskWorld::mount().await?;
    let (state, outbox) = (disk.state(), disk.open());
    let draft = outbox.drafts().create("one", 0o755, &ME).unwrap().id;
    let names: Vec<String> = (0..200).map(|number| format!("{number}.txt")).collect();
    for name in &names {
        put(&outbox, draft, EntryId::ROOT, name, b"x");
    }
    prepare(&state);
    disk.disk.fill();
    for name in &names {
        let removed = outbox
            .entries()
            .remove_file(draft, EntryId::ROOT, name, &ME);
        removed.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let copy = disk.world.dir.path().join("killed");
    killed(&state, &copy);
    let after = disk.open_at(&copy);
    let left = after.entries().children(draft, EntryId::ROOT).unwrap();
    let left = left.into_iter().map(|entry| entry.name).collect();
    after.shut_down().await;
    outbox.shut_down().await;
    Some(left)
}

#[tokio::test]
async fn what_was_removed_on_a_full_disk_stays_removed_over_a_kill() {
    let no_reserve = |state: &Path| std::fs::remove_file(state.join("journal.reserve")).unwrap();
    let left = what_is_left_after_a_kill(|_| {}).await;
    let Some(left) = left else {
        return;
    };
    assert_eq!(left, [""; 0], "with the room that is set aside");
    let left = what_is_left_after_a_kill(no_reserve).await;
    assert_eq!(left.unwrap(), [""; 0], "with what each removal frees");
}

/// What `stat` says of a file, and its bytes.
fn seen(outbox: &Outbox, draft: DraftId, entry: EntryId) -> (u64, Vec<u8>) {
    let len = outbox.entries().get(draft, entry).unwrap().size;
    let file = outbox.entries().open(draft, entry, OpenMode::Read, &ME);
    let mut bytes = vec![0; 8192];
    let read = file.unwrap().read_at(&mut bytes, 0).unwrap();
    bytes.truncate(read);
    (len, bytes)
}

/// Changes a file on a full disk and closes it; returns the bytes that are seen then, after a remount, and while the disk has
/// room again.
async fn seen_after(change: impl FnOnce(&Outbox, DraftId, EntryId)) -> Option<Vec<u8>> {
    let disk = DiskWorld::mount().await?;
    let outbox = disk.open();
    let draft = outbox.drafts().create("one", 0o755, &ME).unwrap().id;
    put(&outbox, draft, EntryId::ROOT, "a.txt", &[b'a'; 487]);
    let child = outbox.entries().child(draft, EntryId::ROOT, "a.txt");
    let entry = child.unwrap().id;
    disk.disk.fill();
    change(&outbox, draft, entry);
    let (len, bytes) = seen(&outbox, draft, entry);
    assert_eq!(len, bytes.len() as u64, "at once");
    outbox.shut_down().await;
    drop(outbox);
    let outbox = disk.open();
    assert_eq!(
        seen(&outbox, draft, entry),
        (len, bytes.clone()),
        "after a remount"
    );
    disk.disk.free();
    outbox.shut_down().await;
    drop(outbox);
    let outbox = disk.open();
    assert_eq!(
        seen(&outbox, draft, entry),
        (len, bytes.clone()),
        "with room again"
    );
    outbox.shut_down().await;
    Some(bytes)
}

fn open(outbox: &Outbox, draft: DraftId, entry: EntryId, mode: OpenMode) -> StagedFile {
    outbox.entries().open(draft, entry, mode, &ME).unwrap()
}

/// Makes the journal refuse what adds data.
fn fill_journal(outbox: &Outbox, draft: DraftId) {
    let value = vec![b'x'; 20_000];
    let set = outbox
        .entries()
        .set_xattr(draft, EntryId::ROOT, "user.large", &value, false, false);
    set.unwrap_err();
}

#[tokio::test]
async fn a_preset_whose_text_finds_no_room_is_what_it_was_before_and_is_not_sent() {
    let Some(disk) = DiskWorld::mount().await else {
        return;
    };
    let outbox = disk.open();
    let shown = |outbox: &Outbox| -> Vec<(String, Vec<u8>)> {
        let files = outbox.presets().overlay().files;
        files.into_iter().map(|it| (it.name, it.text)).collect()
    };
    let kept = [("web.json~".to_owned(), b"first".to_vec())];
    outbox.presets().save("web.json~", b"first").await.unwrap();
    disk.disk.fill();
    let long = format!("{{}}{}", " ".repeat(20_000));
    for name in ["web.json~", "new.json"] {
        let refused = outbox.presets().save(name, long.as_bytes()).await;
        assert!(
            matches!(refused, Err(OutboxError::StagingFull { .. })),
            "{refused:?}"
        );
        assert_eq!(shown(&outbox), kept);
    }
    disk.disk.free();
    outbox.shut_down().await;
    drop(outbox);
    let outbox = disk.open();
    assert_eq!(shown(&outbox), kept);
    let client = disk.world.client();
    let presets = client.presets().list(Priority::Interactive).await.unwrap();
    assert!(presets.is_empty(), "{presets:?}");
    outbox.shut_down().await;
}

#[tokio::test]
async fn what_a_failed_write_leaves_is_one_length_for_all() {
    let emptied = seen_after(|outbox, draft, entry| {
        let file = open(outbox, draft, entry, OpenMode::Truncate);
        file.write_at(&[b'b'; 300], 0).unwrap_err();
        file.flush().unwrap_err();
    });
    let Some(emptied) = emptied.await else {
        return;
    };
    assert_eq!(emptied, b"");
    let appended = seen_after(|outbox, draft, entry| {
        let file = open(outbox, draft, entry, OpenMode::Write);
        file.append(&[b'b'; 5000]).unwrap_err();
        file.flush().unwrap_err();
    });
    assert_eq!(appended.await.unwrap(), [b'a'; 487]);
    let cut_after_failure = seen_after(|outbox, draft, entry| {
        let file = open(outbox, draft, entry, OpenMode::Write);
        file.append(&[b'b'; 5000]).unwrap_err();
        file.truncate(100).unwrap();
    });
    assert_eq!(cut_after_failure.await.unwrap(), [b'a'; 100]);
    let with_another = seen_after(|outbox, draft, entry| {
        let other = open(outbox, draft, entry, OpenMode::Write);
        let file = open(outbox, draft, entry, OpenMode::Truncate);
        file.write_at(&[b'b'; 300], 0).unwrap_err();
        drop(file);
        assert_eq!(seen(outbox, draft, entry), (0, Vec::new()));
        drop(other);
    });
    assert_eq!(with_another.await.unwrap(), b"");
}

#[tokio::test]
async fn what_the_journal_refuses_leaves_one_length_for_all() {
    let truncated = seen_after(|outbox, draft, entry| {
        let file = open(outbox, draft, entry, OpenMode::Write);
        fill_journal(outbox, draft);
        file.truncate(100).unwrap();
    });
    let Some(truncated) = truncated.await else {
        return;
    };
    assert_eq!(truncated, [b'a'; 100]);
    // The page of its bytes has room for more.
    let appended = seen_after(|outbox, draft, entry| {
        let file = open(outbox, draft, entry, OpenMode::Write);
        fill_journal(outbox, draft);
        file.append(b"b").unwrap();
        file.flush().unwrap_err();
    });
    assert_eq!(appended.await.unwrap().len(), 488);
    let overwritten = seen_after(|outbox, draft, entry| {
        let file = open(outbox, draft, entry, OpenMode::Write);
        fill_journal(outbox, draft);
        file.write_at(b"b", 0).unwrap();
        file.flush().unwrap_err();
        drop(file);
        let trusted = outbox.entries().flushed_len_and_hash(draft, entry);
        assert_eq!(trusted, None, "its checksum is that of other bytes");
    });
    assert_eq!(overwritten.await.unwrap()[..2], *b"ba");
}
