//! What the service creates for a model in addition to its files: reports, conversions, zips, reasons.

use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use assetfs::drive::DriveError;
use assetfs::service::WorkerCommand;

use crate::support::account::{Account, MINIMAL_GLTF, Mounted};

const TWO_FORMATS: &[u8] = br#"{"schema":"2.5","limits":{"faces":{"percentage":50}},
"compressionAndExport":{"fileExports":[{"fileType":"glb"},{"fileType":"usdz"}]}}"#;

async fn optimized(account: &Account) -> (Mounted, String) {
    account.add_cube().await;
    let mounted = account.mount().await;
    let tree = &mounted.tree;
    tree.optimize("cube", "two", TWO_FORMATS).await;
    let target = tree
        .read_link("/rawmodels/cube/optimize/two")
        .await
        .unwrap();
    let rapid = format!("/rapidmodels/{}", target.rsplit('/').next().unwrap());
    (mounted, rapid)
}

#[tokio::test(flavor = "multi_thread")]
async fn qc_holds_one_report_per_format() {
    let account = Account::new().await;
    let (mounted, rapid) = optimized(&account).await;
    let tree = &mounted.tree;
    let listed = tree.list(&format!("{rapid}/qc")).await.unwrap();
    assert_eq!(listed, ["glb.json", "usdz.json"]);
    let path = format!("{rapid}/qc/glb.json");
    let report = tree.read_text(&path).await.unwrap();
    assert_eq!(tree.stat(&path).await.unwrap().size, report.len() as u64);
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["format"], "glb");
    let preset = tree.read(&format!("{rapid}/.assetfs/preset.zip")).await;
    assert_eq!(&preset.unwrap()[..2], b"PK");
    let exports = format!("{rapid}/.assetfs/exports.json");
    let exports = tree.read_text(&exports).await.unwrap();
    assert!(exports.contains("cube.glb"), "{exports}");
    mounted.close().await;

    // It is cached: another mount reads it without the service.
    let mut account = account;
    account.stop_service().await;
    let mounted = account.mount().await;
    let kept = mounted.tree.read_text(&path).await.unwrap();
    assert!(kept.contains("\"format\""));
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn converted_appears_after_a_conversion_and_formats_json_lists_it() {
    let (_account, mounted) = Account::mounted_with_cube().await;
    let tree = &mounted.tree;
    assert!(!tree.exists("/rawmodels/cube/converted").await);
    tree.write("/rawmodels/cube/.assetfs/ctl", b"convert obj glb\n")
        .await
        .unwrap();
    for _ in 0..600 {
        if tree.exists("/rawmodels/cube/converted").await {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let listed = tree.list("/rawmodels/cube/converted").await.unwrap();
    assert!(
        listed.iter().any(|name| name.ends_with(".glb")),
        "{listed:?}"
    );
    let formats = tree
        .read_text("/rawmodels/cube/.assetfs/formats.json")
        .await;
    let formats: serde_json::Value = serde_json::from_str(&formats.unwrap()).unwrap();
    assert_eq!(formats[0]["status"], "finished");
    assert!(
        tree.list("/rawmodels/cube")
            .await
            .unwrap()
            .contains(&"converted".to_owned())
    );
    let refused = tree
        .write("/rawmodels/cube/.assetfs/ctl", b"convert glb\n")
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("already"), "{refused}");
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn listing_a_finished_model_again_asks_the_service_nothing() {
    let account = Account::new().await;
    account.add_cube().await;
    let mounted = account
        .mount_with(|config| config.refresh = Duration::from_secs(600))
        .await;
    let tree = &mounted.tree;
    tree.list("/rawmodels/cube").await.unwrap();
    tree.list("/rawmodels/cube/analysis").await.unwrap();
    let asked = account.requests();
    for _ in 0..5 {
        tree.list("/rawmodels/cube").await.unwrap();
        tree.list("/rawmodels/cube/analysis").await.unwrap();
    }
    assert_eq!(account.requests(), asked);
    mounted.close().await;
}

/// A worker that fails every optimization, each with another reason.
fn failing_worker(account_dir: &std::path::Path) -> WorkerCommand {
    let script = account_dir.join("worker.sh");
    let text = format!(
        "#!/bin/sh\ntask=$(cat)\ncase \"$task\" in *ptimize*) exit 3;; esac\n\
         printf '%s' \"$task\" | exec {} engine-worker --no-pictures\n",
        env!("CARGO_BIN_EXE_assetfs")
    );
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    WorkerCommand {
        program: script,
        args: Vec::new(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_optimization_says_the_services_own_reason_everywhere() {
    let scripts = tempfile::tempdir().unwrap();
    let account = Account::with_worker(failing_worker(scripts.path())).await;
    account.add_cube().await;
    let mounted = account.mount().await;
    let tree = &mounted.tree;
    tree.write("/rawmodels/cube/optimize/two.json", TWO_FORMATS)
        .await
        .unwrap();
    let status = tree
        .until("/rawmodels/cube/optimize/two.status", |status| {
            status.starts_with("failed")
        })
        .await;
    let rapid = tree.list("/rapidmodels").await.unwrap().remove(0);
    let log = format!("/rapidmodels/{rapid}/analysis/error.log");
    let reason = tree.read_text(&log).await.unwrap();
    let reason = reason.trim();
    assert_eq!(status, format!("failed: {reason}"));
    for path in [
        "/rawmodels/cube/optimize/ERROR.txt".to_owned(),
        format!("/rapidmodels/{rapid}/ERROR.txt"),
        format!("/rapidmodels/{rapid}/.assetfs/status"),
    ] {
        let text = tree.read_text(&path).await.unwrap();
        assert!(text.contains(reason), "{path}: {text}");
    }
    for path in [
        "/rawmodels/cube/optimize/two.json".to_owned(),
        format!("/rapidmodels/{rapid}"),
    ] {
        let why = tree.why(&path).await;
        assert!(why.contains(reason), "{path}: {why}");
        assert!(why.contains("`assetfs run`"), "what to do, {path}: {why}");
    }
    assert_eq!(tree.list("/jobs").await.unwrap(), [rapid.as_str()]);
    let link = tree.read_link(&format!("/jobs/{rapid}")).await.unwrap();
    assert_eq!(link, format!("../rapidmodels/{rapid}"));
    tree.unlink(&format!("/rapidmodels/{rapid}/ERROR.txt"))
        .await
        .unwrap();
    assert!(
        !tree
            .exists(&format!("/rapidmodels/{rapid}/ERROR.txt"))
            .await
    );
    mounted.close().await;

    let other = account.mount_elsewhere().await;
    let told = other
        .tree
        .read_text(&format!("/rapidmodels/{rapid}/ERROR.txt"))
        .await
        .unwrap();
    assert!(
        told.contains(reason),
        "on a machine that did not send it: {told}"
    );
    other.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_optimization_says_why_although_its_log_cannot_be_read() {
    let scripts = tempfile::tempdir().unwrap();
    let mut account = Account::with_worker(failing_worker(scripts.path())).await;
    account.add_cube().await;
    let no_log = "[[rule]]\nmethod = \"GET\"\npath = \"/storage/*\"\nfault = { kind = \"status\", status = 404 }\n";
    account.meet_faults(no_log).await;
    let mounted = account.mount().await;
    let tree = &mounted.tree;
    tree.write("/rawmodels/cube/optimize/two.json", TWO_FORMATS)
        .await
        .unwrap();
    let of_text = tree
        .until("/rawmodels/cube/optimize/two.status", |status| {
            status.starts_with("failed")
        })
        .await;
    let rapid = tree.list("/rapidmodels").await.unwrap().remove(0);
    let read = async |name: &str| {
        tree.read_text(&format!("/rapidmodels/{rapid}/{name}"))
            .await
    };
    let of_result = read(".assetfs/status").await.unwrap();
    let record: serde_json::Value =
        serde_json::from_str(&read(".assetfs/detail.json").await.unwrap()).unwrap();
    let output = record["job_status"]["output"].as_str().unwrap();
    let output: serde_json::Value = serde_json::from_str(output).unwrap();
    let reason = output["error"].as_str().unwrap();
    assert_eq!(of_text, format!("failed: {reason}"));
    assert_eq!(of_result.trim(), format!("failed: {reason}"));
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_import_says_why_in_error_txt_until_that_is_removed() {
    let account = Account::new().await;
    account
        .upload_elsewhere("broken", &[("broken.glb", b"glTF, but no more")])
        .await;
    let mounted = account.mount().await;
    let tree = &mounted.tree;
    let status = tree.read_text("/rawmodels/broken/.assetfs/status").await;
    let status = status.unwrap();
    let reason = status.strip_prefix("failed: ").unwrap().trim().to_owned();
    assert!(!reason.contains("may say why"), "{reason}");
    let path = "/rawmodels/broken/ERROR.txt";
    assert_eq!(tree.read_text(path).await.unwrap().trim(), reason);
    tree.unlink(path).await.unwrap();
    assert_eq!(tree.read(path).await, Err(DriveError::NotFound));
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn source_zip_is_all_files_of_the_asset() {
    let account = Account::new().await;
    account
        .upload_elsewhere("cube", &[("cube.gltf", MINIMAL_GLTF), ("a.txt", b"hello")])
        .await;
    let mounted = account.mount().await;
    let path = "/rawmodels/cube/.assetfs/source.zip";
    let bytes = mounted.tree.read(path).await.unwrap();
    let mut zip = zip::ZipArchive::new(std::io::Cursor::new(&bytes)).unwrap();
    let mut names: Vec<String> = zip
        .file_names()
        .map(|name| name.unwrap().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["a.txt", "cube.gltf"]);
    let mut text = String::new();
    std::io::Read::read_to_string(&mut zip.by_name("a.txt").unwrap(), &mut text).unwrap();
    assert_eq!(text, "hello");
    assert_eq!(
        mounted.tree.stat(path).await.unwrap().size,
        bytes.len() as u64
    );
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_that_a_model_does_not_have_are_not_shown() {
    // Without renders there are no views; a glTF has no converted materials.
    let account = Account::new().await;
    let (mounted, rapid) = optimized(&account).await;
    let tree = &mounted.tree;
    for path in [
        "/rawmodels/cube/renders".to_owned(),
        "/rawmodels/cube/pbr".into(),
        format!("{rapid}/renders"),
    ] {
        assert!(!tree.exists(&path).await, "{path}");
    }
    mounted.close().await;

    let account = Account::with_pictures().await;
    let asset = account.add_cube().await;
    let mounted = account.mount().await;
    let views = mounted.tree.list("/rawmodels/cube/renders").await.unwrap();
    assert_eq!(views.len(), 6, "{views:?} of {asset}");
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rm_r_of_a_rapid_model_deletes_it_and_tags_are_set_on_it() {
    let account = Account::new().await;
    let (mounted, rapid) = optimized(&account).await;
    let tree = &mounted.tree;
    for tags in ["oak,shop", "shop"] {
        tree.set_xattr(&rapid, "user.xdg.tags", tags).await.unwrap();
        assert_eq!(tree.xattr(&rapid, "user.xdg.tags").await.unwrap(), tags);
    }
    let all = tree.read_text("/rapidmodels/.assetfs/tags").await.unwrap();
    assert!(all.contains("shop"), "{all}");
    tree.remove_all(&rapid).await.unwrap();
    assert!(tree.list("/rapidmodels").await.unwrap().is_empty());
    assert_eq!(account.assets().await.len(), 1);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn retry_tries_a_failed_import_again() {
    let account = Account::new().await;
    let asset = account
        .upload_elsewhere("broken", &[("broken.glb", b"glTF, but no more")])
        .await;
    let mounted = account.mount().await;
    let ctl = "/rawmodels/broken/.assetfs/ctl";
    mounted.tree.write(ctl, b"retry\n").await.unwrap();
    assert!(account.until_final(asset).await.is_failure());
    let status = mounted
        .tree
        .until("/rawmodels/broken/.assetfs/status", |it| {
            it.starts_with("failed")
        })
        .await;
    assert!(status.len() > 10, "{status}");
    let why = mounted.tree.why("/rawmodels/broken").await;
    let said = status.trim().trim_start_matches("failed: ");
    assert!(why.starts_with(said), "the service's words first: {why}");
    assert!(
        why.contains("copy the whole model in again under another name"),
        "{why}"
    );
    let status = mounted.tree.read_text("/.assetfs/status.json").await;
    let status = status.unwrap();
    assert!(status.contains("\"failed_elsewhere\": 1"), "{status}");
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_lists_the_files_that_are_being_downloaded() {
    let mut account = Account::new().await;
    let asset = account
        .upload_elsewhere("big", &[("big.stl", &[7; 400_000])])
        .await;
    let slow = "[[rule]]\nmethod = \"GET\"\npath = \"/storage/*\"\nfault = { kind = \"drip\", bytes_per_second = 100000 }\n";
    account.meet_faults(slow).await;
    let mounted = account.mount().await;
    let tree = mounted.tree.clone();
    let reading =
        tokio::spawn(async move { tree.read("/rawmodels/big/big.stl").await.unwrap().len() });
    let mut seen = Vec::new();
    while !reading.is_finished() {
        seen.extend(mounted.drive.status().transfers);
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(reading.await.unwrap(), 400_000, "{asset}");
    let download = seen.last().expect("a download is listed");
    assert_eq!(download.path, "/rawmodels/big/big.stl");
    assert_eq!(download.direction, assetfs::drive::Direction::Down);
    assert_eq!(download.total_bytes, 400_000);
    assert!(seen.iter().any(|it| it.done_bytes > 0), "{seen:?}");
    let after = mounted.drive.status().transfers;
    assert_eq!(after, [], "nothing is left after the read");
    mounted.close().await;
}
