//! A journal that is damaged, missing or empty next to staged files: no byte is lost.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assetfs::outbox::{
    EntryId, JobFolder, OpenMode, Outbox, OutboxConfig, holds_unsent, recovered_in,
};

use crate::support::{ME, World, eventually, glb, put};

const DRAFTS: usize = 12;

fn slow(dir: &Path) -> OutboxConfig {
    OutboxConfig {
        settle: Duration::from_secs(600),
        ..crate::support::quick(dir)
    }
}

fn open(world: &World, dir: &Path) -> Outbox {
    let (outbox, mut events) = Outbox::open(slow(dir), world.client()).unwrap();
    tokio::spawn(async move { while events.recv().await.is_some() {} });
    outbox
}

/// The bytes of a draft's model.
fn bytes_of(number: usize) -> Vec<u8> {
    let mut bytes = glb(400);
    bytes[399] = u8::try_from(number).unwrap();
    bytes
}

fn copy_dir(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_dir(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// All bytes that can still be read: in drafts, and in the folders of recovered files.
fn all_bytes(outbox: &Outbox, dir: &Path) -> BTreeSet<Vec<u8>> {
    let mut found = BTreeSet::new();
    for draft in outbox.drafts().all() {
        for child in outbox.entries().children(draft.id, EntryId::ROOT).unwrap() {
            let file = outbox
                .entries()
                .open(draft.id, child.id, OpenMode::Read, &ME)
                .unwrap();
            let mut bytes = vec![0; usize::try_from(file.size()).unwrap()];
            file.read_at(&mut bytes, 0).unwrap();
            found.insert(bytes);
        }
    }
    for folder in recovered_in(dir).unwrap() {
        for file in &folder.files {
            found.insert(fs::read(folder.path_of(file)).unwrap());
        }
    }
    found
}

type Damage = fn(&Path, &[u8]);

#[tokio::test]
async fn a_journal_that_is_damaged_missing_or_empty_costs_no_byte() {
    let world = World::start().await;
    let whole = world.dir.path().join("whole");
    let outbox = open(&world, &whole);
    for number in 0..DRAFTS {
        let draft = outbox
            .drafts()
            .create(&format!("chair {number}"), 0o755, &ME)
            .unwrap();
        put(
            &outbox,
            draft.id,
            EntryId::ROOT,
            "chair.glb",
            &bytes_of(number),
        );
    }
    outbox.shut_down().await;
    drop(outbox);
    let expected: BTreeSet<_> = (0..DRAFTS).map(bytes_of).collect();
    let cases: &[(&str, Damage)] = &[
        ("missing", |journal, _| fs::remove_file(journal).unwrap()),
        ("empty", |journal, _| fs::write(journal, b"").unwrap()),
        ("another file", |journal, _| {
            fs::write(journal, b"hello").unwrap()
        }),
        ("zeroed", |journal, bytes| {
            fs::write(journal, vec![0; bytes.len()]).unwrap()
        }),
        ("cut", |journal, bytes| {
            fs::write(journal, &bytes[..bytes.len() / 2]).unwrap()
        }),
        ("flipped in its head", |journal, bytes| {
            flip(journal, bytes, 20)
        }),
        ("flipped early", |journal, bytes| flip(journal, bytes, 90)),
        ("flipped in the middle", |journal, bytes| {
            flip(journal, bytes, bytes.len() / 2)
        }),
        ("flipped late", |journal, bytes| {
            flip(journal, bytes, bytes.len() - 900)
        }),
    ];
    for (name, damage) in cases {
        let dir = world.dir.path().join(name);
        copy_dir(&whole, &dir);
        fs::write(dir.join("notes.txt"), b"not of assetfs").unwrap();
        let journal = dir.join("journal");
        damage(&journal, &fs::read(&journal).unwrap());
        // Twice: the second start finds the result of the first.
        for start in 1..=2 {
            let outbox = open(&world, &dir);
            assert_eq!(all_bytes(&outbox, &dir), expected, "{name}, start {start}");
            let known = outbox.drafts().all().len() + recovered_files(&outbox);
            assert!(known >= DRAFTS, "{name}, start {start}: {known}");
            outbox.shut_down().await;
        }
        assert!(dir.join("notes.txt").exists(), "{name}");
    }
    assert!(world.assets().await.is_empty());
}

fn flip(journal: &Path, bytes: &[u8], at: usize) {
    let mut bytes = bytes.to_vec();
    bytes[at] ^= 0x40;
    fs::write(journal, bytes).unwrap();
}

fn recovered_files(outbox: &Outbox) -> usize {
    let recovered = outbox.recovered();
    recovered.iter().map(|folder| folder.files.len()).sum()
}

#[tokio::test]
async fn drafts_out_of_a_damaged_journal_keep_their_names_and_wait_for_their_owner() {
    let world = World::start().await;
    let dir: PathBuf = world.dir.path().join("outbox");
    let outbox = open(&world, &dir);
    for name in ["one", "two", "three"] {
        let draft = outbox.drafts().create(name, 0o755, &ME).unwrap();
        put(&outbox, draft.id, EntryId::ROOT, "chair.glb", &glb(300));
    }
    outbox.shut_down().await;
    drop(outbox);
    let bytes = fs::read(dir.join("journal")).unwrap();
    // Inside the record that created the second draft.
    let at = bytes.windows(5).position(|it| it == b"\"two\"").unwrap();
    flip(&dir.join("journal"), &bytes, at + 1);
    let (outbox, mut events) = Outbox::open(crate::support::quick(&dir), world.client()).unwrap();
    tokio::spawn(async move { while events.recv().await.is_some() {} });
    let names: Vec<_> = outbox
        .drafts()
        .all()
        .into_iter()
        .map(|draft| draft.name)
        .collect();
    assert_eq!(names, ["one", "three"]);
    let recovered = outbox.recovered();
    assert_eq!(recovered.len(), 1);
    assert!(
        recovered[0].reason.contains("damaged"),
        "{}",
        recovered[0].reason
    );
    assert_eq!(recovered[0].files.len(), 1);
    assert_eq!(recovered[0].files[0].path, "chair.glb");
    assert!(
        recovered[0].path.join("journal").exists(),
        "the evidence is kept"
    );
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert!(
        world.assets().await.is_empty(),
        "it may have been sent before"
    );
    let draft = outbox.drafts().find("one").unwrap();
    let why = draft.failure.unwrap();
    assert!(
        why.contains("damaged") && why.contains("assetfs retry"),
        "{why}"
    );
    outbox.uploads().retry(draft.id).await.unwrap();
    eventually("it is sent", async || world.assets().await.len() == 1).await;
    outbox.shut_down().await;
}

#[tokio::test]
async fn after_everything_is_deleted_no_staged_file_and_no_long_journal_remain() {
    let world = World::start().await;
    let dir: PathBuf = world.dir.path().join("outbox");
    let outbox = open(&world, &dir);
    for round in 0..40 {
        let draft = outbox.drafts().create("chair", 0o755, &ME).unwrap();
        for file in 0..5 {
            let name = format!("part-{round}-{file}.bin");
            put(&outbox, draft.id, EntryId::ROOT, &name, &[7; 300]);
        }
        outbox.drafts().remove(draft.id).unwrap();
    }
    let staged = || fs::read_dir(dir.join("staging")).unwrap().count();
    let journal = || fs::metadata(dir.join("journal")).unwrap().len();
    assert!(journal() > 16 << 10, "{}", journal());
    eventually("all of it goes while the drive is mounted", async || {
        staged() == 0 && journal() < 4 << 10
    })
    .await;
    // Everything works as before.
    let draft = outbox.drafts().create("chair", 0o755, &ME).unwrap();
    put(&outbox, draft.id, EntryId::ROOT, "chair.glb", &glb(300));
    outbox.shut_down().await;
    drop(outbox);
    assert_eq!(open(&world, &dir).drafts().all().len(), 1);
}

#[tokio::test]
async fn empty_files_and_texts_of_jobs_and_presets_count_as_unsent() {
    let world = World::start().await;
    type Prepare = fn(&Outbox);
    let cases: [(&str, bool, Prepare); 5] = [
        ("nothing", false, |_| {}),
        ("folder", true, |outbox| {
            outbox.drafts().create("folder", 0o755, &ME).unwrap();
        }),
        ("file", true, |outbox| {
            let draft = outbox.drafts().create("folder", 0o755, &ME).unwrap().id;
            put(outbox, draft, EntryId::ROOT, "notes.txt", b"");
        }),
        ("removed", false, |outbox| {
            let draft = outbox.drafts().create("folder", 0o755, &ME).unwrap().id;
            outbox.drafts().remove(draft).unwrap();
        }),
        ("job", true, |outbox| {
            let folder = JobFolder::Multi;
            outbox.jobs().write(&folder, "web.json", b"{}").unwrap();
        }),
    ];
    for (name, is_unsent, prepare) in cases {
        let dir = world.dir.path().join(name);
        let outbox = open(&world, &dir);
        prepare(&outbox);
        outbox.shut_down().await;
        drop(outbox);
        assert_eq!(holds_unsent(&dir), is_unsent, "{name}");
    }
    assert!(!holds_unsent(&world.dir.path().join("none")));
    let damaged = world.dir.path().join("nothing");
    fs::write(
        damaged.join("journal"),
        b"no journal at all, and long enough",
    )
    .unwrap();
    assert!(holds_unsent(&damaged), "what cannot be read counts");
}

/// The state that a killed process leaves: one file was closed, one was being written.
struct Killed {
    dir: PathBuf,
    closed: Vec<u8>,
}

/// Kills a process with these files; `change` is made to its state before the next start.
async fn killed(world: &World, name: &str, change: impl FnOnce(&Path, &Path)) -> Killed {
    let alive = world.dir.path().join(format!("{name} alive"));
    let outbox = open(world, &alive);
    let draft = outbox.drafts().create("chair", 0o755, &ME).unwrap();
    put(&outbox, draft.id, EntryId::ROOT, "first.glb", &bytes_of(1));
    let older = world.dir.path().join(format!("{name} older"));
    copy_dir(&alive, &older);
    put(&outbox, draft.id, EntryId::ROOT, "chair.glb", &bytes_of(2));
    let entries = outbox.entries();
    let (_, file) = entries
        .create_file(draft.id, EntryId::ROOT, "more.bin", 0o644, &ME)
        .unwrap();
    file.write_at(b"ten bytes!", 0).unwrap();
    let dir = world.dir.path().join(name);
    copy_dir(&alive, &dir);
    change(&dir, &older);
    drop(file);
    outbox.shut_down().await;
    Killed {
        dir,
        closed: bytes_of(2),
    }
}

#[tokio::test]
async fn after_a_kill_what_was_closed_is_there_and_what_was_being_written_is_no_recovered_file() {
    let world = World::start().await;
    let killed = killed(&world, "killed", |_, _| {}).await;
    let outbox = open(&world, &killed.dir);
    assert_eq!(recovered_files(&outbox), 0, "{:?}", outbox.recovered());
    assert!(all_bytes(&outbox, &killed.dir).contains(&killed.closed));
}

#[tokio::test]
async fn after_a_new_start_of_the_machine_also_what_was_being_written_is_recovered() {
    let world = World::start().await;
    let killed = killed(&world, "restarted", |dir, _| {
        fs::write(dir.join("boot"), "another start").unwrap();
    })
    .await;
    let outbox = open(&world, &killed.dir);
    assert_eq!(recovered_files(&outbox), 1, "{:?}", outbox.recovered());
    assert!(all_bytes(&outbox, &killed.dir).contains(b"ten bytes!".as_slice()));
    assert!(all_bytes(&outbox, &killed.dir).contains(&killed.closed));
}

#[tokio::test]
async fn what_was_closed_after_an_older_journal_was_written_is_recovered() {
    let world = World::start().await;
    let killed = killed(&world, "put back", |dir, older| {
        fs::copy(older.join("journal"), dir.join("journal")).unwrap();
    })
    .await;
    let outbox = open(&world, &killed.dir);
    assert_eq!(recovered_files(&outbox), 1, "{:?}", outbox.recovered());
    assert!(all_bytes(&outbox, &killed.dir).contains(&killed.closed));
}
