//! Drafts on local disk: the operations of tools, and their results after a restart of the outbox.

use std::time::{Duration, SystemTime};

use assetfs::outbox::{
    AttributeChange, Caller, DraftKind, DraftPhase, EntryId, EntryKind, OpenMode, Outbox,
    OutboxConfig, OutboxError, Place,
};

use super::support::{ME, World, client, copy_chair, eventually, glb, killed, put, quick};

/// An outbox that sends nothing, because no service runs.
fn lonely(dir: &std::path::Path) -> Outbox {
    let config = OutboxConfig {
        paused: true,
        ..quick(dir)
    };
    Outbox::open(config, client("http://127.0.0.1:9", "1|secret"))
        .unwrap()
        .0
}

fn paths(outbox: &Outbox, draft: assetfs::outbox::DraftId) -> Vec<String> {
    fn below(
        outbox: &Outbox,
        draft: assetfs::outbox::DraftId,
        at: EntryId,
        prefix: &str,
        all: &mut Vec<String>,
    ) {
        for child in outbox.entries().children(draft, at).unwrap() {
            let path = format!("{prefix}{}", child.name);
            all.push(path.clone());
            if child.kind == EntryKind::Folder {
                below(outbox, draft, child.id, &format!("{path}/"), all);
            }
        }
    }
    let mut all = Vec::new();
    below(outbox, draft, EntryId::ROOT, "", &mut all);
    all
}

#[tokio::test]
async fn everything_accepted_is_there_after_a_reopen() {
    let dir = tempfile::tempdir().unwrap();
    let outbox = lonely(dir.path());
    let draft = copy_chair(&outbox, "chair").id;
    let sub = outbox
        .entries()
        .make_dir(draft, EntryId::ROOT, "textures", 0o750, &ME)
        .unwrap();
    put(&outbox, draft, sub.id, "wood.png", b"wood");
    let moved = outbox
        .entries()
        .child(draft, EntryId::ROOT, "wood.png")
        .unwrap()
        .id;
    let place = |parent, name: &str| Place::In {
        draft,
        parent,
        name: name.to_owned(),
    };
    outbox
        .drafts()
        .rename(
            &place(EntryId::ROOT, "wood.png"),
            &place(sub.id, "oak.png"),
            true,
            &ME,
        )
        .unwrap();
    let mtime = SystemTime::UNIX_EPOCH + Duration::new(1_234_567, 89);
    let change = AttributeChange {
        mode: Some(0o600),
        uid: Some(7),
        mtime: Some(mtime),
        ..AttributeChange::default()
    };
    outbox
        .entries()
        .set_attributes(draft, moved, &change, &ME)
        .unwrap();
    outbox
        .entries()
        .set_xattr(draft, moved, "user.note", b"\xFFoak", true, false)
        .unwrap();
    outbox
        .entries()
        .remove_file(draft, EntryId::ROOT, "chair.bin", &ME)
        .unwrap();
    outbox
        .drafts()
        .rename(
            &Place::Top(outbox.drafts().get(draft).unwrap().name),
            &Place::Top("stool".to_owned()),
            true,
            &ME,
        )
        .unwrap();
    let before = paths(&outbox, draft);
    assert_eq!(
        before,
        [
            "chair.gltf",
            "textures",
            "textures/oak.png",
            "textures/wood.png"
        ]
    );
    outbox.shut_down().await;
    drop(outbox);

    let outbox = lonely(dir.path());
    assert!(outbox.drafts().find("chair").is_none());
    let found = outbox.drafts().find("stool").unwrap();
    assert_eq!(
        (found.id, found.kind, found.phase),
        (draft, DraftKind::Folder, DraftPhase::Editing)
    );
    assert_eq!(paths(&outbox, draft), before);
    let oak = outbox.entries().get(draft, moved).unwrap();
    assert_eq!(
        (oak.mode, oak.uid, oak.mtime, oak.name.as_str()),
        (0o600, Some(7), mtime, "oak.png")
    );
    assert_eq!(
        outbox
            .entries()
            .get_xattr(draft, moved, "user.note")
            .unwrap(),
        b"\xFFoak"
    );
    let file = outbox
        .entries()
        .open(draft, moved, OpenMode::Read, &ME)
        .unwrap();
    let mut bytes = vec![0; 1000];
    let got = file.read_at(&mut bytes, 0).unwrap();
    assert!(bytes[..got].starts_with(b"\x89PNG"));
    assert!(matches!(
        file.write_at(b"x", 0),
        Err(OutboxError::NotWritable)
    ));
    outbox.shut_down().await;
}

#[tokio::test]
async fn renames_follow_the_rules_of_rename() {
    let dir = tempfile::tempdir().unwrap();
    let outbox = lonely(dir.path());
    let draft = outbox.drafts().create("a", 0o755, &ME).unwrap().id;
    let place = |parent, name: &str| Place::In {
        draft,
        parent,
        name: name.to_owned(),
    };
    let root = EntryId::ROOT;
    put(&outbox, draft, root, "one", b"1");
    put(&outbox, draft, root, "two", b"2");
    let folder = outbox
        .entries()
        .make_dir(draft, root, "folder", 0o755, &ME)
        .unwrap()
        .id;
    let full = outbox
        .entries()
        .make_dir(draft, root, "full", 0o755, &ME)
        .unwrap()
        .id;
    put(&outbox, draft, full, "x", b"x");
    let rename = |from: &str, to: &str, noreplace| {
        outbox
            .drafts()
            .rename(&place(root, from), &place(root, to), noreplace, &ME)
    };
    assert!(matches!(
        rename("one", "two", true),
        Err(OutboxError::Exists(_))
    ));
    assert!(matches!(
        rename("one", "folder", false),
        Err(OutboxError::IsAFolder(_))
    ));
    assert!(matches!(
        rename("folder", "one", false),
        Err(OutboxError::NotAFolder(_))
    ));
    assert!(matches!(
        rename("folder", "full", false),
        Err(OutboxError::NotEmpty(_))
    ));
    assert!(matches!(
        rename("none", "x", false),
        Err(OutboxError::NotFound(_))
    ));
    let inside = outbox
        .drafts()
        .rename(&place(root, "full"), &place(full, "sub"), false, &ME);
    assert!(matches!(inside, Err(OutboxError::IntoItself(_))));
    let one = outbox.entries().child(draft, root, "one").unwrap().id;
    assert_eq!(rename("one", "two", false).unwrap().entry, one);
    assert_eq!(rename("full", "folder", false).unwrap().entry, full);
    assert_eq!(paths(&outbox, draft), ["folder", "folder/x", "two"]);
    assert!(outbox.entries().get(draft, folder).is_none());
    assert_eq!(rename("two", "two", false).unwrap().entry, one);
    outbox.shut_down().await;
}

#[tokio::test]
async fn things_move_between_drafts_and_the_top() {
    let dir = tempfile::tempdir().unwrap();
    let outbox = lonely(dir.path());
    let a = outbox.drafts().create("a", 0o755, &ME).unwrap().id;
    let b = outbox.drafts().create("b", 0o755, &ME).unwrap().id;
    let file = put(&outbox, a, EntryId::ROOT, "x.glb", &glb(100));
    let top = |name: &str| Place::Top(name.to_owned());
    let within = |draft, name: &str| Place::In {
        draft,
        parent: EntryId::ROOT,
        name: name.to_owned(),
    };
    // A draft becomes a folder of another draft.
    let moved = outbox
        .drafts()
        .rename(&top("a"), &within(b, "parts"), true, &ME)
        .unwrap();
    assert_eq!(moved.draft, b);
    assert_eq!(paths(&outbox, b), ["parts", "parts/x.glb"]);
    assert!(outbox.drafts().find("a").is_none());
    // A file of it becomes a loose file and keeps its inode number.
    let from = Place::In {
        draft: b,
        parent: moved.entry,
        name: "x.glb".to_owned(),
    };
    let loose = outbox
        .drafts()
        .rename(&from, &top("x.glb"), true, &ME)
        .unwrap();
    assert_eq!(loose.entry, file);
    let info = outbox.drafts().find("x.glb").unwrap();
    assert_eq!((info.kind, info.id), (DraftKind::LooseFile, loose.draft));
    // It is renamed with its draft and moved back into a folder.
    outbox
        .drafts()
        .rename(&top("x.glb"), &top("y.glb"), true, &ME)
        .unwrap();
    assert_eq!(paths(&outbox, loose.draft), ["y.glb"]);
    let back = outbox
        .drafts()
        .rename(&top("y.glb"), &within(b, "z.glb"), true, &ME)
        .unwrap();
    assert_eq!((back.draft, back.entry), (b, file));
    // The folder becomes a draft.
    let made = outbox
        .drafts()
        .rename(&within(b, "parts"), &top("parts"), true, &ME)
        .unwrap();
    assert_eq!(made.entry, EntryId::ROOT);
    assert_eq!(paths(&outbox, b), ["z.glb"]);
    let names: Vec<String> = outbox
        .drafts()
        .all()
        .into_iter()
        .map(|draft| draft.name)
        .collect();
    assert_eq!(names, ["b", "parts"]);
    outbox.shut_down().await;
    drop(outbox);
    let outbox = lonely(dir.path());
    assert_eq!(paths(&outbox, b), ["z.glb"]);
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_file_stays_whole_through_every_kind_of_write() {
    let dir = tempfile::tempdir().unwrap();
    let outbox = lonely(dir.path());
    let draft = outbox.drafts().create("a", 0o755, &ME).unwrap().id;
    let (info, file) = outbox
        .entries()
        .create_file(draft, EntryId::ROOT, "a.bin", 0o644, &ME)
        .unwrap();
    // Flushes may come early, without changes, and often.
    file.flush().unwrap();
    file.allocate(0, 100, true).unwrap();
    assert_eq!(file.size(), 0);
    file.write_at(b"world", 6).unwrap();
    file.write_at(b"hello ", 0).unwrap();
    file.append(b"!!").unwrap();
    file.truncate(12).unwrap();
    assert_eq!(outbox.entries().get(draft, info.id).unwrap().size, 12);
    // Removed or renamed while open, it stays the same file.
    let place = |name: &str| Place::In {
        draft,
        parent: EntryId::ROOT,
        name: name.to_owned(),
    };
    outbox
        .drafts()
        .rename(&place("a.bin"), &place("b.bin"), true, &ME)
        .unwrap();
    file.flush().unwrap();
    file.release();
    let again = outbox
        .entries()
        .open(draft, info.id, OpenMode::Read, &ME)
        .unwrap();
    outbox
        .entries()
        .remove_file(draft, EntryId::ROOT, "b.bin", &ME)
        .unwrap();
    let mut bytes = [0; 20];
    let got = again.read_at(&mut bytes, 0).unwrap();
    assert_eq!(&bytes[..got], b"hello world!");
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_copy_that_was_cut_off_is_never_sent_by_itself() {
    let world = World::start().await;
    let outbox = world.outbox();
    let draft = outbox.drafts().create("chair", 0o755, &ME).unwrap().id;
    put(&outbox, draft, EntryId::ROOT, "chair.glb", &glb(400)[..47]);
    eventually("the status names what is missing", async || {
        outbox.drafts().get(draft).unwrap().status.to_string()
            == "incomplete: chair.glb has 47 of 400 bytes"
    })
    .await;
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert!(world.relay.calls("POST", "start").is_empty());
    let refused = outbox.uploads().commit(draft, false).await.unwrap_err();
    assert!(matches!(refused, OutboxError::NotWhole { .. }), "{refused}");
    put(&outbox, draft, EntryId::ROOT, "chair.glb", &glb(400));
    eventually("the whole file is sent", async || {
        outbox
            .drafts()
            .get(draft)
            .is_none_or(|info| info.phase.is_frozen())
    })
    .await;
    outbox.shut_down().await;
}

#[tokio::test]
async fn the_writer_and_its_end_decide_how_long_quiet_has_to_be() {
    let world = World::start().await;
    let outbox = world.outbox();
    let mut writer = std::process::Command::new("sleep")
        .arg("600")
        .spawn()
        .unwrap();
    let caller = Caller {
        pid: writer.id(),
        ..ME
    };
    let draft = outbox.drafts().create("chair", 0o755, &caller).unwrap().id;
    let (_, file) = outbox
        .entries()
        .create_file(draft, EntryId::ROOT, "chair.glb", 0o644, &caller)
        .unwrap();
    file.write_at(&glb(400), 0).unwrap();
    file.flush().unwrap();
    assert!(outbox.drafts().wrote_into(draft, &caller));
    assert!(!outbox.drafts().wrote_into(
        draft,
        &Caller {
            pid: std::process::id(),
            ..ME
        }
    ));
    eventually("an open file is named", async || {
        outbox.drafts().get(draft).unwrap().status.to_string() == "being written: chair.glb"
    })
    .await;
    file.release();
    writer.kill().unwrap();
    writer.wait().unwrap();
    eventually("it is sent", async || {
        outbox
            .drafts()
            .get(draft)
            .is_none_or(|it| it.phase.is_frozen())
    })
    .await;
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_full_disk_fails_the_write_and_keeps_accepted_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let mount = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"])
        .arg(dir.path())
        .status();
    if !mount.is_ok_and(|status| status.success()) {
        crate::skip::skipped("no tmpfs can be mounted");
        return;
    }
    let outbox = lonely(&dir.path().join("outbox"));
    let draft = outbox.drafts().create("chair", 0o755, &ME).unwrap().id;
    put(&outbox, draft, EntryId::ROOT, "small.bin", &[7; 10_000]);
    let (_, file) = outbox
        .entries()
        .create_file(draft, EntryId::ROOT, "large.glb", 0o644, &ME)
        .unwrap();
    let full = (0..40u64).find_map(|n| file.write_at(&[1; 50_000], n * 50_000).err());
    assert!(
        matches!(full, Some(OutboxError::StagingFull { .. })),
        "{full:?}"
    );
    assert!(matches!(file.flush(), Err(OutboxError::StagingFull { .. })));
    file.release();
    outbox
        .entries()
        .remove_file(draft, EntryId::ROOT, "large.glb", &ME)
        .unwrap();
    eventually("there is room again", async || {
        let Ok((_, file)) =
            outbox
                .entries()
                .create_file(draft, EntryId::ROOT, "next.bin", 0o644, &ME)
        else {
            return false;
        };
        let done = file
            .write_at(&[2; 100_000], 0)
            .and_then(|()| file.flush())
            .is_ok();
        drop(file);
        if !done {
            outbox
                .entries()
                .remove_file(draft, EntryId::ROOT, "next.bin", &ME)
                .unwrap();
        }
        done
    })
    .await;
    outbox.shut_down().await;
    drop(outbox);
    let outbox = lonely(&dir.path().join("outbox"));
    assert_eq!(paths(&outbox, draft), ["next.bin", "small.bin"]);
    let small = outbox
        .entries()
        .child(draft, EntryId::ROOT, "small.bin")
        .unwrap();
    assert_eq!(small.size, 10_000);
    outbox.shut_down().await;
    drop(outbox);
    let unmounted = std::process::Command::new("umount")
        .arg("-l")
        .arg(dir.path())
        .status();
    assert!(unmounted.unwrap().success());
}

#[tokio::test]
async fn one_process_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let outbox = lonely(dir.path());
    let second = Outbox::open(quick(dir.path()), client("http://127.0.0.1:9", "1|secret"));
    assert!(second.is_err_and(|error| error.to_string().contains("in use")));
    outbox.shut_down().await;
}

#[tokio::test]
async fn attributes_and_removals_are_there_after_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let (state, copy) = (dir.path().join("state"), dir.path().join("killed"));
    let outbox = lonely(&state);
    let (loose, entry, file) = outbox
        .drafts()
        .create_loose_file("chair.glb", 0o644, &ME)
        .unwrap();
    file.write_at(&glb(1000), 0).unwrap();
    file.flush().unwrap();
    drop(file);
    let entries = outbox.entries();
    let set = |name| entries.set_xattr(loose.id, entry.id, name, b"oak", false, false);
    set("user.note").unwrap();
    set("user.gone").unwrap();
    entries
        .remove_xattr(loose.id, entry.id, "user.gone")
        .unwrap();
    let folder = outbox.drafts().create("folder", 0o755, &ME).unwrap().id;
    put(&outbox, folder, EntryId::ROOT, "kept", b"x");
    put(&outbox, folder, EntryId::ROOT, "removed", b"x");
    entries
        .remove_file(folder, EntryId::ROOT, "removed", &ME)
        .unwrap();
    killed(&state, &copy);

    let after = lonely(&copy);
    assert_eq!(paths(&after, folder), ["kept"]);
    let names = after.entries().list_xattrs(loose.id, entry.id).unwrap();
    assert_eq!(names, ["user.note"]);
}

#[tokio::test]
async fn times_and_modes_are_there_after_a_sync_and_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    let outbox = lonely(&state);
    let (loose, entry, file) = outbox
        .drafts()
        .create_loose_file("chair.glb", 0o644, &ME)
        .unwrap();
    file.write_at(&glb(1000), 0).unwrap();
    drop(file);
    let entries = outbox.entries();
    let change = AttributeChange {
        mode: Some(0o600),
        ..AttributeChange::default()
    };
    entries
        .set_attributes(loose.id, entry.id, &change, &ME)
        .unwrap();
    // `sync FILE` opens it for reading.
    let open = entries.open(loose.id, entry.id, OpenMode::Read, &ME);
    open.unwrap().flush().unwrap();
    let copy = dir.path().join("killed");
    killed(&state, &copy);
    let after = lonely(&copy);
    let found = after.entries().get(loose.id, entry.id).unwrap();
    assert_eq!(found.mode, 0o600);
}

#[tokio::test]
async fn an_append_that_a_kill_interrupts_leaves_what_the_last_close_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let (state, copy) = (dir.path().join("state"), dir.path().join("killed"));
    let outbox = lonely(&state);
    let draft = outbox.drafts().create("chair", 0o755, &ME).unwrap().id;
    let entry = put(&outbox, draft, EntryId::ROOT, "notes.txt", &[b'a'; 5000]);
    let appending = outbox.entries().open(draft, entry, OpenMode::Write, &ME);
    let appending = appending.unwrap();
    appending.append(&[b'x'; 1000]).unwrap();
    killed(&state, &copy);
    // The second time is another kill, without a write in between.
    let again = dir.path().join("killed-again");
    for folder in [&copy, &again] {
        let after = lonely(folder);
        let info = after.entries().get(draft, entry).unwrap();
        let file = after.entries().open(draft, entry, OpenMode::Read, &ME);
        let file = file.unwrap();
        let mut bytes = vec![0; 8000];
        let read = file.read_at(&mut bytes, 0).unwrap();
        assert_eq!((info.size, file.size(), read), (5000, 5000, 5000));
        assert!(bytes[..read].iter().all(|byte| *byte == b'a'));
        if folder == &copy {
            killed(&copy, &again);
        }
    }
}

#[tokio::test]
async fn two_writers_that_close_at_the_same_moment_leave_the_last_length() {
    let dir = tempfile::tempdir().unwrap();
    let outbox = lonely(dir.path());
    let draft = outbox.drafts().create("chair", 0o755, &ME).unwrap().id;
    let entries = outbox.entries();
    for round in 0..300 {
        let name = format!("{round}.txt");
        let (made, first) = entries
            .create_file(draft, EntryId::ROOT, &name, 0o644, &ME)
            .unwrap();
        first.flush().unwrap();
        let second = entries.open(draft, made.id, OpenMode::Write, &ME).unwrap();
        second.truncate(1_234_567).unwrap();
        let together = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            for handle in [first, second] {
                let together = &together;
                scope.spawn(move || {
                    together.wait();
                    handle.release();
                });
            }
        });
        assert_eq!(
            entries.get(draft, made.id).unwrap().size,
            1_234_567,
            "{round}"
        );
    }
}

#[tokio::test]
async fn a_file_that_a_kill_interrupts_has_one_length_for_stat_reading_and_appending() {
    let dir = tempfile::tempdir().unwrap();
    let (state, copy) = (dir.path().join("state"), dir.path().join("killed"));
    let outbox = lonely(&state);
    let draft = outbox.drafts().create("chair", 0o755, &ME).unwrap().id;
    // A new one, and one that is written from the start anew.
    let (made, new) = outbox
        .entries()
        .create_file(draft, EntryId::ROOT, "new.txt", 0o644, &ME)
        .unwrap();
    new.append(&[b'b'; 5000]).unwrap();
    let old = put(&outbox, draft, EntryId::ROOT, "old.txt", &[b'a'; 9000]);
    let again = outbox.entries().open(draft, old, OpenMode::Truncate, &ME);
    let again = again.unwrap();
    again.append(&[b'b'; 5000]).unwrap();
    // Makes the record of the new file durable.
    let reader = outbox.entries().open(draft, old, OpenMode::Read, &ME);
    reader.unwrap().flush().unwrap();
    killed(&state, &copy);
    let after = lonely(&copy);
    for entry in [made.id, old] {
        let info = after.entries().get(draft, entry).unwrap();
        let file = after.entries().open(draft, entry, OpenMode::Read, &ME);
        let file = file.unwrap();
        let mut bytes = vec![0; 20_000];
        let read = file.read_at(&mut bytes, 0).unwrap();
        assert_eq!((info.size, file.size(), read), (5000, 5000, 5000));
    }
}
