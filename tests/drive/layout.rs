//! The layout of the tree.

use std::time::Duration;

use assetfs::drive::{DriveError, FileKind, MountStatus, StatusWord};

use crate::copying::truncated_glb;
use crate::support::account::{Account, MINIMAL_GLTF, files_in};

#[tokio::test(flavor = "multi_thread")]
async fn the_top_holds_the_folders_of_the_account() {
    let (_account, mounted) = Account::mounted().await;
    let tree = &mounted.tree;
    assert_eq!(
        tree.list("/").await.unwrap(),
        [
            "account",
            "embeds",
            "jobs",
            "presets",
            "rapidmodels",
            "rawmodels"
        ]
    );
    assert_eq!(
        tree.list("/account").await.unwrap(),
        [
            "points",
            "points.jsonl",
            "storage_left",
            "tokens",
            "webhooks"
        ]
    );
    let points: u64 = tree
        .read_text("/account/points")
        .await
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    assert!(points > 0);
    let left: u64 = tree
        .read_text("/account/storage_left")
        .await
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let room = mounted.drive.statfs().await.unwrap();
    assert_eq!(room.blocks_free, left / u64::from(room.block_size));
    assert!(room.blocks_available <= room.blocks_free && room.blocks_available > 0);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_room_that_is_left_follows_what_is_sent_and_deleted_here() {
    let account = Account::new().await;
    let mounted = account
        .mount_with(|config| config.refresh = Duration::from_secs(600))
        .await;
    let free = || async { mounted.drive.statfs().await.unwrap().blocks_free };
    let until = |is_so: fn(u64, u64) -> bool, before: u64| async move {
        for _ in 0..400 {
            if is_so(free().await, before) {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        false
    };
    let empty = free().await;
    let files = files_in(&account.chair());
    mounted
        .tree
        .copy_in(&files, "/rawmodels/chair")
        .await
        .unwrap();
    mounted.tree.sync("/rawmodels/chair").await.unwrap();
    assert!(
        until(|now, before| now < before, empty).await,
        "after sending"
    );
    let full = free().await;
    mounted.tree.remove_all("/rawmodels/chair").await.unwrap();
    assert!(
        until(|now, before| now > before, full).await,
        "after deleting"
    );
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hidden_assetfs_folder_is_never_listed_and_always_resolves() {
    let account = Account::new().await;
    let asset = account.add_cube().await;
    let mounted = account.mount().await;
    let tree = &mounted.tree;
    for folder in [
        "",
        "/rawmodels",
        "/rapidmodels",
        "/presets",
        "/account",
        "/rawmodels/cube",
    ] {
        let listed = tree.list(folder).await.unwrap();
        assert!(
            !listed.contains(&".assetfs".to_owned()),
            "{folder}: {listed:?}"
        );
        let hidden = tree.stat(&format!("{folder}/.assetfs")).await.unwrap();
        assert_eq!(hidden.kind, FileKind::Folder, "{folder}");
    }
    assert_eq!(
        tree.list("/rawmodels/cube/.assetfs").await.unwrap(),
        [
            "ctl",
            "detail.json",
            "formats.json",
            "source.zip",
            "state",
            "status"
        ]
    );
    assert_eq!(
        tree.read_text("/rawmodels/cube/.assetfs/status")
            .await
            .unwrap(),
        "complete\n"
    );
    let by_id = format!("/rawmodels/.assetfs/by-id/{asset}");
    assert_eq!(tree.read_link(&by_id).await.unwrap(), "../../cube");
    assert_eq!(
        tree.stat(&by_id).await.unwrap().ino,
        tree.stat("/rawmodels/cube").await.unwrap().ino
    );
    assert_eq!(
        tree.look("/rawmodels/.assetfs/by-id/999999")
            .await
            .unwrap_err(),
        DriveError::NotFound
    );
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn detail_json_is_the_record_with_signed_urls_left_out() {
    let account = Account::new().await;
    let asset = account.add_cube().await;
    let mounted = account.mount().await;
    let detail = mounted
        .tree
        .read_text("/rawmodels/cube/.assetfs/detail.json")
        .await
        .unwrap();
    let record: serde_json::Value = serde_json::from_str(&detail).unwrap();
    assert_eq!(record["id"], asset.0);
    assert_eq!(record["upload_status"], "complete");
    assert!(!detail.contains('?') || !detail.contains("sig"), "{detail}");
    for url in record["downloads"].as_object().unwrap().values() {
        assert!(!url.as_str().unwrap().contains('='), "{url}");
    }
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn status_json_describes_the_mount_without_secrets() {
    let (_account, mounted) = Account::mounted().await;
    let text = mounted
        .tree
        .read_text("/.assetfs/status.json")
        .await
        .unwrap();
    let status: MountStatus = serde_json::from_str(&text).unwrap();
    assert_eq!(status.pid, std::process::id());
    assert_eq!(status.account, "test account");
    assert!(status.online && status.rate.limit_per_minute > 0 && status.cache.limit_bytes > 0);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_state_of_a_draft_and_of_a_model_is_one_word_wherever_it_is_shown() {
    let account = Account::new().await;
    let glb = truncated_glb();
    account
        .upload_elsewhere("broken", &[("broken.glb", glb.as_slice())])
        .await;
    let mounted = account.mount().await;
    let tree = &mounted.tree;
    tree.write("/rawmodels/notes.obj", b"v 0 0 0\n")
        .await
        .unwrap();
    for name in ["cut", "plain"] {
        tree.mkdir(&format!("/rawmodels/{name}")).await.unwrap();
    }
    tree.write("/rawmodels/cut/cut.glb", &glb).await.unwrap();
    for (path, state) in [
        ("/rawmodels/notes.obj", StatusWord::NeedsFolder),
        ("/rawmodels/cut", StatusWord::Incomplete),
        ("/rawmodels/plain", StatusWord::Draft),
        ("/rawmodels/broken", StatusWord::Failed),
    ] {
        let is_shown =
            async || tree.xattr(path, "user.assetfs.state").await.unwrap() == state.as_str();
        for _ in 0..600 {
            if is_shown().await {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert!(is_shown().await, "{path} is not {state}");
        if path != "/rawmodels/notes.obj" {
            let text = tree.read_text(&format!("{path}/.assetfs/state")).await;
            assert_eq!(text.unwrap().trim(), state.as_str(), "{path}");
        }
        if state != StatusWord::Failed {
            let status = tree.read_text("/.assetfs/status.json").await.unwrap();
            let status: MountStatus = serde_json::from_str(&status).unwrap();
            let draft = status.drafts.iter().find(|draft| draft.path == path);
            assert_eq!(draft.unwrap().state, state, "{path}");
        }
    }
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn service_folders_are_there_once_the_asset_is_complete_and_your_files_win() {
    let account = Account::new().await;
    account
        .upload_elsewhere(
            "cube",
            &[("cube.gltf", MINIMAL_GLTF), ("analysis", b"mine")],
        )
        .await;
    let mounted = account.mount().await;
    let tree = &mounted.tree;
    let listed = tree.list("/rawmodels/cube").await.unwrap();
    assert!(listed.contains(&"analysis@".to_owned()), "{listed:?}");
    assert_eq!(
        tree.read("/rawmodels/cube/analysis").await.unwrap(),
        b"mine"
    );
    let analysis = tree.list("/rawmodels/cube/analysis@").await.unwrap();
    assert!(
        analysis.contains(&"rpd_info.json".to_owned()),
        "{analysis:?}"
    );
    let info = tree
        .read("/rawmodels/cube/analysis@/rpd_info.json")
        .await
        .unwrap();
    assert_eq!(
        info.len() as u64,
        tree.stat("/rawmodels/cube/analysis@/rpd_info.json")
            .await
            .unwrap()
            .size
    );
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_peoples_incomplete_assets_are_folders_without_files() {
    let account = Account::new().await;
    account.begin_elsewhere("theirs").await;
    let mounted = account.mount().await;
    let tree = &mounted.tree;
    assert_eq!(tree.list("/rawmodels").await.unwrap(), ["theirs"]);
    assert_eq!(tree.list("/rawmodels/theirs").await.unwrap(), [""; 0]);
    assert_eq!(
        tree.read_text("/rawmodels/theirs/.assetfs/status")
            .await
            .unwrap(),
        "uploading: not all of its files are there yet\n"
    );
    mounted.close().await;
}
