//! Texts that the drive accepts and the service refuses: `close` fails, `why` shows the message of the service, and
//! nothing is paid or created.

use std::time::Duration;

use assetfs::client::{EmbedQuery, ListQuery, Priority};
use assetfs::drive::DriveError;

use crate::support::account::{Account, MINIMAL_GLTF, Mounted};

const WRONG_KEY: &str = r#"{"limits":{"faces":{"cuont":5}}}"#;

async fn refused(mounted: &Mounted, path: &str, text: &str, sentence: &str) {
    let tree = &mounted.tree;
    let written = tree.write(path, text.as_bytes()).await;
    assert!(
        matches!(written, Err(DriveError::Invalid(_))),
        "{path}: {written:?}"
    );
    let why = tree.why(path).await;
    assert!(why.contains(sentence), "{path}: {why}");
    assert_eq!(tree.read_text(path).await.unwrap(), text, "the text stays");
}

async fn made(account: &Account) -> (u64, u64, usize) {
    let (all, now) = (ListQuery::all(), Priority::Interactive);
    let rapids = account.client.rapids().list(all, now).await.unwrap();
    let embeds = account.client.embeds().list(EmbedQuery::default(), now);
    let presets = account.client.presets().list(now).await.unwrap();
    (
        rapids.meta.total,
        embeds.await.unwrap().meta.total,
        presets.len(),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_service_refuses_fails_at_close_with_its_sentence_and_costs_nothing() {
    let (account, mounted) = Account::mounted_with_cube().await;
    let tree = &mounted.tree;
    let obj_only = br#"{"compressionAndExport":{"fileExports":[{"fileType":"obj"}]}}"#;
    tree.write("/rawmodels/cube/optimize/obj.json", obj_only)
        .await
        .unwrap();
    tree.until_status("/rawmodels/cube/optimize/obj.status", "done")
        .await;
    let rapid = tree.list("/rapidmodels").await.unwrap().remove(0);
    let before = made(&account).await;
    let points = tree.read_text("/account/points").await.unwrap();

    refused(
        &mounted,
        "/rawmodels/cube/optimize/wrong.json",
        WRONG_KEY,
        "count",
    )
    .await;
    let many =
        format!(r#"{{"optimizations":[{{"model":"rawmodels/cube","config":{WRONG_KEY}}}]}}"#);
    refused(&mounted, "/jobs/many.json", &many, "count").await;
    let viewer = format!("/rapidmodels/{rapid}/embeds/viewer.json");
    refused(&mounted, &viewer, "{}", "no glb export").await;
    refused(&mounted, "/presets/wrong.json", WRONG_KEY, "count").await;

    assert_eq!(made(&account).await, before);
    let left = tree.read_text("/account/points").await.unwrap();
    assert_eq!(left, points, "nothing was paid");
    mounted.close().await;
}

const NOT_TODAY: &str = r#"
[[rule]]
method = "POST"
path = "*/api-upload/start"
fault = { kind = "status", status = 422, body = "{\"message\":\"Not today.\"}" }
"#;

#[tokio::test(flavor = "multi_thread")]
async fn what_failed_of_a_loose_file_is_a_text_that_can_be_read_and_removed() {
    let mut account = Account::new().await;
    account.meet_faults(NOT_TODAY).await;
    let mounted = account.mount().await;
    let tree = &mounted.tree;
    tree.write("/rawmodels/chair.gltf", MINIMAL_GLTF)
        .await
        .unwrap();
    let errors = "/rawmodels/ERROR.txt";
    let text = tree
        .until(errors, |text| text.starts_with("chair.gltf: "))
        .await;
    assert!(text.contains("Not today; `assetfs retry`"), "{text}");
    let listed = tree.list("/rawmodels").await.unwrap();
    assert!(listed.contains(&"ERROR.txt".to_owned()), "{listed:?}");
    for name in &listed {
        let path = format!("/rawmodels/{name}");
        assert!(tree.stat(&path).await.is_ok(), "{path} is listed");
    }
    assert!(!tree.exists("/rawmodels/ERROR.txt@").await);
    tree.unlink(errors).await.unwrap();
    assert_eq!(tree.read(errors).await, Err(DriveError::NotFound));
    assert_eq!(tree.list("/rawmodels").await.unwrap(), ["chair.gltf"]);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_success_at_once_after_a_failure_ends_it() {
    let (_account, mounted) = Account::mounted().await;
    let tree = &mounted.tree;
    let preset = "/presets/mine.json";
    for _ in 0..2 {
        tree.write(preset, b"{").await.unwrap_err();
        assert!(!tree.why(preset).await.is_empty());
        tree.write(preset, br#"{"limits":{"faces":{"percentage":50}}}"#)
            .await
            .unwrap();
        assert_eq!(tree.why(preset).await, "");
    }
    tree.mkdir("/rawmodels/a").await.unwrap();
    let refused = tree.rename("/rawmodels/a", "/embeds/a").await;
    let refused = refused.unwrap_err().to_string();
    assert_eq!(tree.why("/rawmodels/a").await, refused);
    tree.rename("/rawmodels/a", "/rawmodels/b").await.unwrap();
    assert_eq!(tree.why("/rawmodels/a").await, "");
    let status = tree.read_text("/.assetfs/status.json").await.unwrap();
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["refused"], serde_json::json!([]), "{status}");
    mounted.close().await;
}

/// The service is up, and does nothing: it names a long pause.
const UNDER_REPAIR: &str = r#"
[[rule]]
fault = { kind = "status", status = 503, retry_after = "20", body = "{\"message\":\"under repair\"}" }
"#;

#[tokio::test(flavor = "multi_thread")]
async fn the_status_of_a_draft_gives_the_reason_while_the_service_answers_with_errors() {
    let mut account = Account::new().await;
    let mounted = account.mount().await;
    let tree = &mounted.tree;
    tree.mkdir("/rawmodels/chair").await.unwrap();
    tree.write("/rawmodels/chair/chair.gltf", MINIMAL_GLTF)
        .await
        .unwrap();
    // Sent by command only, so not before the faults begin.
    tree.mkdir("/rawmodels/chair/.git").await.unwrap();
    tree.write("/rawmodels/chair/.git/HEAD", b"x")
        .await
        .unwrap();
    account.meet_faults(UNDER_REPAIR).await;
    let commit = tree.write("/rawmodels/chair/.assetfs/ctl", b"commit\n");
    let seen = async {
        loop {
            let status = tree.read_text("/rawmodels/chair/.assetfs/status").await;
            let status = status.unwrap();
            if status.contains("under repair") {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    // Well before the pause is over, and so before the call has failed for good.
    tokio::select! {
        done = commit => panic!("{done:?}"),
        seen = tokio::time::timeout(Duration::from_secs(15), seen) => seen.expect("a reason"),
    }
    mounted.close().await;
}
