//! The process dies at every named crash point; the next one finishes the work, once.
//!
//! The dying process is this test program, started again with the test `child` alone.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use assetfs::client::Priority;
use assetfs::outbox::{EntryId, Failpoint, JobFolder, JobState, Outbox, OwnerFolder, StatusWord};
use assetfs::wire::{AssetId, IDEMPOTENCY_KEY, UploadStatus};

use super::support::{ME, World, as_map, chair, client, eventually, put, quick};

const CONFIG: &[u8] = br#"{"limits":{"faces":{"count":77}}}"#;

/// Copies, sends, optimizes, saves a preset and cancels, continuing the work of an earlier run. Returns how the job
/// ended.
async fn do_everything(outbox: &Outbox, name: &str, gone_marker: &std::path::Path) -> String {
    let asset = sent_or_send(outbox, name).await;
    let folder = JobFolder::Optimize(OwnerFolder::Asset(asset));
    if outbox
        .jobs()
        .get(&folder, "web.json")
        .is_none_or(|job| job.text.is_empty())
    {
        outbox.jobs().write(&folder, "web.json", CONFIG).unwrap();
    }
    outbox.jobs().submit(&folder, "web.json").await.unwrap();
    eventually("the job has ended", async || {
        let state = outbox.jobs().get(&folder, "web.json").unwrap().state;
        matches!(state, JobState::Done | JobState::Unknown)
    })
    .await;
    if let Some(rapid) = outbox.jobs().get(&folder, "web.json").unwrap().rapid {
        make_embed(outbox, &JobFolder::RapidEmbeds(rapid), name).await;
    }
    outbox
        .presets()
        .save(&format!("{name}.json"), CONFIG)
        .await
        .unwrap();
    eventually("the preset is saved", async || {
        outbox.presets().overlay().files.is_empty()
    })
    .await;
    if !gone_marker.exists() {
        let other = format!("{name}-gone");
        sent_or_send(outbox, &other).await;
        std::fs::write(gone_marker, b"").unwrap();
        if let Some(draft) = outbox.drafts().find(&other) {
            outbox.drafts().remove(draft.id).unwrap();
        }
    }
    eventually("nothing is left to do", async || {
        outbox.drafts().find(name).is_none()
    })
    .await;
    // The removal of the tag and the deletion have no state that can be checked here.
    tokio::time::sleep(Duration::from_millis(700)).await;
    let job = outbox.jobs().get(&folder, "web.json").unwrap();
    job.status.word().to_string()
}

async fn make_embed(outbox: &Outbox, folder: &JobFolder, name: &str) {
    let text = format!("{{\"name\":{name:?}}}");
    if outbox.jobs().get(folder, "viewer.json").is_none() {
        outbox
            .jobs()
            .write(folder, "viewer.json", text.as_bytes())
            .unwrap();
    }
    outbox.jobs().submit(folder, "viewer.json").await.unwrap();
    eventually("the embed is made", async || {
        let state = outbox.jobs().get(folder, "viewer.json").unwrap().state;
        matches!(state, JobState::Done | JobState::Unknown)
    })
    .await;
}

pub(super) async fn sent_or_send(outbox: &Outbox, name: &str) -> AssetId {
    let sent = outbox
        .uploads()
        .sent_records()
        .into_iter()
        .find(|record| record.name == name);
    if let Some(record) = sent {
        return record.asset;
    }
    let draft = match outbox.drafts().find(name) {
        Some(draft) => draft.id,
        None => outbox.drafts().create(name, 0o755, &ME).unwrap().id,
    };
    let info = outbox.drafts().get(draft).unwrap();
    if !info.phase.is_frozen() && info.status.word() != StatusWord::Uploading {
        for (file, bytes) in chair() {
            let there = outbox.entries().child(draft, EntryId::ROOT, file);
            if there.is_none_or(|it| it.size != bytes.len() as u64) {
                put(outbox, draft, EntryId::ROOT, file, &bytes);
            }
        }
    }
    outbox.uploads().commit(draft, false).await.unwrap()
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
    let outcome = do_everything(&outbox, &name, &dir.join("gone")).await;
    outbox.shut_down().await;
    std::fs::write(dir.join("done"), outcome).unwrap();
}

fn run_child(world: &World, dir: &std::path::Path, name: &str, failpoint: Option<&str>) -> String {
    std::fs::create_dir_all(dir).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "--exact",
            "crash::child",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .env("ASSETFS_TEST_DIR", dir)
        .env("ASSETFS_TEST_URL", world.relay.url())
        .env("ASSETFS_TEST_TOKEN", world.service.token())
        .env("ASSETFS_TEST_NAME", name)
        .env_remove("ASSETFS_FAILPOINT")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(failpoint) = failpoint {
        command.env("ASSETFS_FAILPOINT", failpoint);
    }
    let out = command.output().unwrap();
    format!(
        "{}\n{}\n{}",
        out.status,
        String::from_utf8_lossy(&out.stdout),
        String::from_utf8_lossy(&out.stderr)
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_death_at_every_step_leaves_one_complete_asset_with_every_file() {
    // Points that are passed often, by writes of the journal, are tested at several passes.
    let mut cases: Vec<String> = Vec::new();
    // The request of a job has a key, so its result has no one-off tag.
    let points = Failpoint::ALL.iter();
    for point in points.filter(|point| **point != Failpoint::AfterTagRemoval) {
        cases.push(point.name().to_owned());
        let more: &[u32] = match point {
            Failpoint::BeforeJournal | Failpoint::AfterJournal => &[2, 5, 9, 14],
            Failpoint::AfterData | Failpoint::AfterPut => &[2, 3, 5],
            _ => &[],
        };
        cases.extend(more.iter().map(|pass| format!("{}:{pass}", point.name())));
    }
    die_at_each(World::start().await, cases).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_death_around_the_order_of_a_job_pays_once_on_a_service_without_idempotency_keys() {
    let world = World::start().await;
    world.relay.without(&[IDEMPOTENCY_KEY]);
    let points = [
        Failpoint::BeforeOptimize,
        Failpoint::AfterOptimize,
        Failpoint::BeforeTagRemoval,
        Failpoint::AfterTagRemoval,
    ];
    die_at_each(world, points.map(|point| point.name().to_owned()).into()).await;
}

async fn die_at_each(world: World, cases: Vec<String>) {
    let world = std::sync::Arc::new(world);
    let limit = std::sync::Arc::new(tokio::sync::Semaphore::new(3));
    let mut running = tokio::task::JoinSet::new();
    for (number, armed) in cases.into_iter().enumerate() {
        let (world, limit) = (world.clone(), limit.clone());
        running.spawn(async move {
            let _turn = limit.acquire_owned().await.unwrap();
            let name = format!("chair{number}");
            let dir = world.dir.path().join(&name);
            let first = {
                let (world, dir, name, armed) =
                    (world.clone(), dir.clone(), name.clone(), armed.clone());
                tokio::task::spawn_blocking(move || run_child(&world, &dir, &name, Some(&armed)))
            };
            let first = first.await.unwrap();
            assert!(
                !dir.join("done").exists(),
                "{armed} is never passed: {first}"
            );
            let second = {
                let (world, dir, name) = (world.clone(), dir.clone(), name.clone());
                tokio::task::spawn_blocking(move || run_child(&world, &dir, &name, None))
            };
            let second = second.await.unwrap();
            assert!(
                dir.join("done").exists(),
                "{armed}: {first}\n--- then ---\n{second}"
            );
            let outcome = std::fs::read_to_string(dir.join("done")).unwrap();
            check(&world, &name, &armed, &outcome).await;
        });
    }
    while let Some(done) = running.join_next().await {
        done.unwrap();
    }
}

async fn check(world: &World, name: &str, armed: &str, outcome: &str) {
    let direct = world.direct();
    let assets = world.assets().await;
    let named: Vec<_> = assets.iter().filter(|asset| asset.name == name).collect();
    let whole: Vec<_> = named
        .iter()
        .filter(|asset| asset.upload_status == UploadStatus::Complete)
        .collect();
    assert_eq!(whole.len(), 1, "{armed}: {named:?}");
    // Only a start whose answer was lost may leave an asset that was only started.
    let begun = named.len() - 1;
    assert!(
        begun == 0 || (begun == 1 && armed == "after-start"),
        "{armed}: {named:?}"
    );
    assert_eq!(world.files(whole[0].id).await, as_map(chair()), "{armed}");
    let models = world.rapid_models(whole[0].id).await;
    // After a crash between intent and request the result is unknown; nothing may be paid twice.
    let certain = ["after-optimize", "before-tag-removal", "after-tag-removal"].contains(&armed);
    let allowed = match outcome {
        "unknown" => !certain && models.is_empty(),
        "done" => models.len() == 1,
        _ => false,
    };
    assert!(
        allowed,
        "{armed}: {outcome} with {} rapid models",
        models.len()
    );
    for model in &models {
        // The checksum of the text stays; the one-off tag is gone.
        let tags = model.tags.iter().map(|tag| tag.name.as_str());
        let tags: Vec<&str> = tags.filter(|name| !name.starts_with("assetfs:")).collect();
        assert!(tags.is_empty(), "{armed}: {tags:?}");
    }
    let embeds = direct
        .embeds()
        .all(None, Priority::Interactive)
        .await
        .unwrap();
    let embeds = embeds.iter().filter(|embed| embed.name == name).count();
    let expected = usize::from(outcome == "done" && armed != "before-embed");
    assert_eq!(embeds, expected, "{armed}: embeds");
    let presets = direct.presets().list(Priority::Interactive).await.unwrap();
    assert_eq!(
        presets.iter().filter(|preset| preset.name == name).count(),
        1,
        "{armed}"
    );
    let gone = format!("{name}-gone");
    let left: Vec<_> = assets
        .iter()
        .filter(|asset| asset.name == gone && asset.upload_status != UploadStatus::Incomplete)
        .collect();
    assert!(left.is_empty(), "{armed}: {left:?}");
}
