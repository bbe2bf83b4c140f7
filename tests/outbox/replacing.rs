//! New versions of assets: the process dies at each step of a replacement; in the end the new version is there once and
//! has the name, and the old one is there unless its deletion was asked for.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use assetfs::outbox::{DraftId, DraftPhase, EntryId, Failpoint, Outbox, OutboxError, Replaced};
use assetfs::wire::{AssetId, BaseAsset, UploadStatus};

use super::crash::sent_or_send;
use super::support::{
    Fault, ME, World, as_map, chair, client, copy_chair, eventually, glb, put, quick,
};

/// The files of the second version.
fn second() -> Vec<(&'static str, Vec<u8>)> {
    vec![("chair.glb", glb(4000))]
}

fn replaced(asset: AssetId, name: &str, remove_old: bool) -> Replaced {
    Replaced {
        asset,
        first_version: None,
        name: name.to_owned(),
        model_name: name.to_owned(),
        remove_old,
    }
}

fn named(outbox: &Outbox, name: &str) -> Option<AssetId> {
    let records = outbox.uploads().sent_records();
    let mut named = records
        .iter()
        .filter(|record| record.folder_name() == Some(name));
    named.next().map(|record| record.asset)
}

/// Makes the second version, continuing the work of an earlier run.
async fn replace(outbox: &Outbox, name: &str, old: AssetId, remove_old: bool) {
    let version = format!("{name}~new");
    if named(outbox, name) == Some(old) {
        let draft = match outbox.drafts().find(&version) {
            Some(draft) => draft,
            None => outbox.drafts().create(&version, 0o755, &ME).unwrap(),
        };
        if draft.replaces.is_none() && named(outbox, name) == Some(old) {
            let replaced = replaced(old, name, remove_old);
            outbox.uploads().make_version(draft.id, &replaced).unwrap();
        }
        if draft.phase == DraftPhase::Editing {
            for (file, bytes) in second() {
                put(outbox, draft.id, EntryId::ROOT, file, &bytes);
            }
        }
        outbox.uploads().commit(draft.id, false).await.unwrap();
    }
    eventually("the name has moved and nothing is left to do", async || {
        named(outbox, name).is_some_and(|asset| asset != old) && outbox.drafts().all().is_empty()
    })
    .await;
    eventually("the old version is gone", async || {
        !remove_old || !outbox.uploads().unseen_assets().contains(&old)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the process that dies; started by the test below"]
async fn child() {
    let Ok(dir) = std::env::var("ASSETFS_TEST_DIR") else {
        return;
    };
    let dir = PathBuf::from(dir);
    let variable = |name: &str| std::env::var(name).unwrap();
    let client = client(
        &variable("ASSETFS_TEST_URL"),
        &variable("ASSETFS_TEST_TOKEN"),
    );
    let (outbox, mut events) = Outbox::open(quick(&dir.join("outbox")), client).unwrap();
    tokio::spawn(async move { while events.recv().await.is_some() {} });
    let name = variable("ASSETFS_TEST_NAME");
    let old = dir.join("old");
    match std::fs::read_to_string(&old) {
        Err(_) => {
            let asset = sent_or_send(&outbox, &name).await;
            eventually("the first version is checked", async || {
                outbox.drafts().all().is_empty()
            })
            .await;
            std::fs::write(old, asset.0.to_string()).unwrap();
        }
        Ok(id) => {
            let id = AssetId(id.parse().unwrap());
            replace(&outbox, &name, id, name.ends_with("removing")).await;
            std::fs::write(dir.join("done"), b"").unwrap();
        }
    }
    outbox.shut_down().await;
}

fn run_child(world: &World, dir: &Path, name: &str, failpoint: Option<&str>) -> String {
    std::fs::create_dir_all(dir).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "replacing::child", "--ignored", "--nocapture"])
        .env("ASSETFS_TEST_DIR", dir)
        .env("ASSETFS_TEST_URL", world.relay.url())
        .env("ASSETFS_TEST_TOKEN", world.service.token())
        .env("ASSETFS_TEST_NAME", name)
        .env_remove("ASSETFS_FAILPOINT");
    if let Some(failpoint) = failpoint {
        command.env("ASSETFS_FAILPOINT", failpoint);
    }
    let out = command.output().unwrap();
    let (said, errors) = (&out.stdout, &out.stderr);
    format!(
        "{}\n{}\n{}",
        out.status,
        String::from_utf8_lossy(said),
        String::from_utf8_lossy(errors)
    )
}

/// The points that a replacement passes; the last two only if the old version is deleted.
const POINTS: &[(Failpoint, &[u32])] = &[
    (Failpoint::BeforeJournal, &[2, 5, 6]),
    (Failpoint::AfterJournal, &[3]),
    (Failpoint::AfterData, &[1]),
    (Failpoint::BeforeStart, &[1]),
    (Failpoint::AfterStart, &[1]),
    (Failpoint::BeforePuts, &[1]),
    (Failpoint::AfterPut, &[1]),
    (Failpoint::AfterPuts, &[1]),
    (Failpoint::BeforeComplete, &[1]),
    (Failpoint::AfterComplete, &[1]),
    (Failpoint::AfterAccepted, &[1]),
    (Failpoint::AfterImport, &[1]),
    (Failpoint::AfterVerified, &[1]),
    (Failpoint::BeforeDrop, &[1]),
    (Failpoint::BeforeDiscard, &[1]),
    (Failpoint::AfterDiscard, &[1]),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_death_at_every_step_of_a_replacement_makes_one_version_and_loses_none() {
    let world = std::sync::Arc::new(World::start().await);
    let limit = std::sync::Arc::new(tokio::sync::Semaphore::new(3));
    let mut running = tokio::task::JoinSet::new();
    let mut cases = Vec::new();
    for (at, (point, passes)) in POINTS.iter().enumerate() {
        let deletes = matches!(point, Failpoint::BeforeDiscard | Failpoint::AfterDiscard);
        for pass in *passes {
            let removing = deletes || (at + *pass as usize).is_multiple_of(2);
            cases.push((format!("{}:{pass}", point.name()), removing));
        }
    }
    for (number, (armed, removing)) in cases.into_iter().enumerate() {
        let (world, limit) = (world.clone(), limit.clone());
        running.spawn(async move {
            let _turn = limit.acquire_owned().await.unwrap();
            let ending = if removing { "removing" } else { "keeping" };
            let name = format!("chair{number}{ending}");
            let dir = world.dir.path().join(&name);
            let told = {
                let (world, dir, name, armed) =
                    (world.clone(), dir.clone(), name.clone(), armed.clone());
                tokio::task::spawn_blocking(move || {
                    let first = run_child(&world, &dir, &name, None);
                    assert!(dir.join("old").exists(), "{armed}: {first}");
                    let died = run_child(&world, &dir, &name, Some(&armed));
                    assert!(
                        !dir.join("done").exists(),
                        "{armed} is never passed: {died}"
                    );
                    format!(
                        "{died}\n--- then ---\n{}",
                        run_child(&world, &dir, &name, None)
                    )
                })
            };
            let told = told.await.unwrap();
            assert!(dir.join("done").exists(), "{armed}: {told}");
            let old = std::fs::read_to_string(dir.join("old")).unwrap();
            check(
                &world,
                &name,
                &armed,
                AssetId(old.parse().unwrap()),
                removing,
            )
            .await;
        });
    }
    while let Some(done) = running.join_next().await {
        done.unwrap();
    }
}

async fn check(world: &World, name: &str, armed: &str, old: AssetId, removing: bool) {
    let assets = world.assets().await;
    let named: Vec<&BaseAsset> = assets.iter().filter(|asset| asset.name == name).collect();
    let mut whole = named.clone();
    whole.retain(|asset| asset.upload_status == UploadStatus::Complete);
    // Only a start whose answer was not recorded may leave an asset that was only started.
    let begun = named.len() - whole.len();
    let lost_start = ["after-start", "before-journal"];
    let lost_start = lost_start.iter().any(|point| armed.starts_with(point));
    assert!(
        begun == 0 || (begun == 1 && lost_start),
        "{armed}: {named:?}"
    );
    let new: Vec<_> = whole.iter().filter(|asset| asset.id != old).collect();
    assert_eq!(new.len(), 1, "{armed}: {named:?}");
    assert_eq!(world.files(new[0].id).await, as_map(second()), "{armed}");
    assert_eq!(
        whole.len() - 1,
        usize::from(!removing),
        "{armed}: {named:?}"
    );
    if !removing {
        assert_eq!(world.files(old).await, as_map(chair()), "{armed}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_with_the_same_files_is_not_sent_and_a_second_one_is_refused() {
    let world = World::start().await;
    let outbox = world.outbox();
    let old = sent_or_send(&outbox, "chair").await;
    let same = copy_chair(&outbox, "chair~new");
    let replaced = replaced(old, "chair", true);
    outbox.uploads().make_version(same.id, &replaced).unwrap();
    let other = copy_chair(&outbox, "other");
    let refused = outbox.uploads().make_version(other.id, &replaced);
    assert!(
        matches!(refused, Err(OutboxError::NotPermitted(_))),
        "{refused:?}"
    );
    outbox.drafts().remove(other.id).unwrap();
    assert_eq!(outbox.uploads().commit(same.id, false).await.unwrap(), old);
    assert!(outbox.drafts().find("chair~new").is_none());
    assert_eq!(named(&outbox, "chair"), Some(old));
    let assets = world.assets().await;
    assert_eq!(world.the_one(&assets), old);
    outbox.shut_down().await;
}

/// An outbox of a mount that deletes no old version.
fn keeping_outbox(world: &World) -> Outbox {
    let mut config = world.config();
    config.keep_old_versions = true;
    let (outbox, mut events) = Outbox::open(config, world.client()).unwrap();
    tokio::spawn(async move { while events.recv().await.is_some() {} });
    outbox
}

/// A model whose new version has the name, while a mount that deletes nothing is to delete the old one. Returns both,
/// and the draft.
async fn replaced_but_kept(world: &World) -> (AssetId, AssetId, DraftId) {
    let outbox = keeping_outbox(world);
    let old = sent_or_send(&outbox, "chair").await;
    eventually("the first version is checked", async || {
        outbox.drafts().all().is_empty()
    })
    .await;
    let version = outbox.drafts().create("chair~new", 0o755, &ME).unwrap();
    let replaced = replaced(old, "chair", true);
    let uploads = outbox.uploads();
    uploads.make_version(version.id, &replaced).unwrap();
    for (file, bytes) in second() {
        put(&outbox, version.id, EntryId::ROOT, file, &bytes);
    }
    let new = uploads.commit(version.id, false).await.unwrap();
    eventually("the name has moved", async || {
        named(&outbox, "chair") == Some(new)
    })
    .await;
    // Its files are compared with those of the service, twice: in this run and in the next.
    outbox.shut_down().await;
    drop(outbox);
    let before = world.relay.calls("GET", "downloads").len();
    let outbox = keeping_outbox(world);
    eventually("its files are looked at", async || {
        world.relay.calls("GET", "downloads").len() > before
    })
    .await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(
        world.relay.calls("GET", "downloads").len(),
        before + 1,
        "a comparison that changes nothing is not repeated at once"
    );
    assert!(outbox.drafts().get(version.id).is_some());
    outbox.shut_down().await;
    drop(outbox);
    assert_eq!(world.relay.calls("DELETE", "").len(), 0);
    (old, new, version.id)
}

async fn ids(world: &World) -> Vec<AssetId> {
    let assets = world.assets().await;
    assets.iter().map(|asset| asset.id).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_version_is_deleted_only_by_a_run_that_may_delete() {
    let world = World::start().await;
    let (old, new, _) = replaced_but_kept(&world).await;
    assert!(ids(&world).await.contains(&old));
    let outbox = world.outbox();
    eventually("the old version is deleted", async || {
        ids(&world).await == [new]
    })
    .await;
    assert_eq!(named(&outbox, "chair"), Some(new));
    outbox.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_old_version_stays_if_the_new_one_is_lost_before_it_was_checked() {
    let world = World::start().await;
    let (old, new, draft) = replaced_but_kept(&world).await;
    world.direct().assets().delete(new).await.unwrap();
    let outbox = world.outbox();
    eventually("the loss is noticed", async || {
        let draft = outbox.drafts().get(draft);
        draft.is_some_and(|draft| draft.phase == DraftPhase::Editing && draft.failure.is_some())
    })
    .await;
    // Sent again, it is a model of its own: the wish to delete the old one is over.
    outbox.uploads().retry(draft).await.unwrap();
    let again = outbox.uploads().commit(draft, false).await.unwrap();
    eventually("it is checked", async || outbox.drafts().all().is_empty()).await;
    let outbox = world.reopen(outbox).await;
    let mut left = ids(&world).await;
    left.sort();
    assert_eq!(left, [old, again]);
    assert_eq!(world.files(old).await, as_map(chair()));
    outbox.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_file_added_while_an_unchanged_version_is_committed_is_not_lost() {
    let world = World::start().await;
    let outbox = world.outbox();
    let old = sent_or_send(&outbox, "chair").await;
    let (mut kept, mut removed) = (0, 0);
    for round in 0..60_u64 {
        let version = copy_chair(&outbox, "chair~new").id;
        let replaced = replaced(old, "chair", false);
        outbox.uploads().make_version(version, &replaced).unwrap();
        let adding = {
            let outbox = outbox.clone();
            tokio::task::spawn_blocking(move || {
                std::thread::sleep(Duration::from_micros(round % 20 * 100));
                let entries = outbox.entries();
                let made = entries.create_file(version, EntryId::ROOT, "more.txt", 0o644, &ME);
                let (_, file) = made.ok()?;
                file.write_at(b"more", 0).ok()?;
                file.flush().ok()?;
                file.release();
                Some(())
            })
        };
        // Refused while the file is written; sent with or without the file, if that came later.
        let committed = outbox.uploads().commit(version, false).await;
        match adding.await.unwrap() {
            Some(()) => {
                kept += 1;
                let is_sent = matches!(committed, Ok(asset) if asset != old);
                let there = outbox.drafts().get(version).is_some();
                assert!(there || is_sent, "round {round}: the file is nowhere");
            }
            None => removed += 1,
        }
        if matches!(committed, Ok(asset) if asset != old) {
            break;
        }
        let _ = outbox.uploads().cancel_version(version).await;
    }
    assert!(kept + removed > 0);
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_commit_sends_what_was_added_after_its_order() {
    let world = World::start().await;
    // A service that does not tell the free storage is asked before each upload.
    world
        .relay
        .fault("GET", "user/storage", Fault::Status(404), 1);
    let outbox = world.outbox();
    let old = sent_or_send(&outbox, "chair").await;
    eventually("the first version is checked", async || {
        outbox.drafts().all().is_empty()
    })
    .await;
    let version = outbox.drafts().create("chair~new", 0o755, &ME).unwrap().id;
    let replaced = replaced(old, "chair", false);
    outbox.uploads().make_version(version, &replaced).unwrap();
    for (file, bytes) in second() {
        put(&outbox, version, EntryId::ROOT, file, &bytes);
    }
    // Between the order and the start request the upload asks for the free storage.
    let asked = world.relay.calls("GET", "user/storage").len();
    let late = Fault::Late(Duration::from_millis(300));
    world.relay.fault("GET", "user/storage", late, 1);
    let commit = tokio::spawn({
        let outbox = outbox.clone();
        async move { outbox.uploads().commit(version, false).await }
    });
    eventually("the upload is ordered", async || {
        world.relay.calls("GET", "user/storage").len() > asked
    })
    .await;
    put(&outbox, version, EntryId::ROOT, "more.txt", b"more");
    let sent = tokio::time::timeout(Duration::from_secs(30), commit).await;
    let new = sent.expect("the commit ends").unwrap().unwrap();
    assert_ne!(new, old);
    assert_eq!(world.files(new).await["more.txt"], b"more");
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_complete_model_is_not_cancelled_while_its_staged_copy_is_kept() {
    let world = World::start().await;
    let outbox = world.outbox();
    let draft = copy_chair(&outbox, "chair");
    let asset = outbox.uploads().commit(draft.id, false).await.unwrap();
    let is_importing = || {
        let draft = outbox.drafts().get(draft.id);
        draft.is_some_and(|draft| draft.phase == DraftPhase::Accepted)
    };
    while is_importing() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let refused = outbox.uploads().cancel(draft.id).await;
    assert!(
        matches!(refused, Err(OutboxError::NotFound(_))),
        "{refused:?}"
    );
    outbox.shut_down().await;
    let assets = world.assets().await;
    assert_eq!(world.the_one(&assets), asset);
}
