//! Faults of the service's own surroundings: the status and `why` say what models and jobs wait for.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use assetfs::service::WorkerCommand;

use crate::support::account::{Account, MINIMAL_GLTF};

/// The engine, but it ends as on a full work disk until the file `room` is beside it.
fn short_of_room(dir: &Path) -> WorkerCommand {
    let program = dir.join("worker.sh");
    let engine = env!("CARGO_BIN_EXE_assetfs");
    let text = format!(
        "#!/bin/sh\ntest -e {dir}/room || {{ cat > /dev/null; exit 28; }}\nexec {engine} engine-worker --no-pictures\n",
        dir = dir.display()
    );
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    WorkerCommand {
        program,
        args: Vec::new(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_of_the_service_is_the_reason_in_the_status_and_in_why() {
    let dir = tempfile::tempdir().unwrap();
    let account = Account::with_worker(short_of_room(dir.path())).await;
    let mounted = account.mount().await;
    let tree = &mounted.tree;
    let room = dir.path().join("room");
    let reason = "the work disk of the service is full";
    let advice = "as soon as the operator of the service has made room";

    tree.mkdir("/rawmodels/chair").await.unwrap();
    let file = "/rawmodels/chair/chair.gltf";
    tree.write(file, MINIMAL_GLTF).await.unwrap();
    tree.sync("/rawmodels/chair").await.unwrap();
    let status = "/rawmodels/chair/.assetfs/status";
    let said = tree.until(status, |it| it.contains(reason)).await;
    assert!(said.contains(advice), "{said}");
    let why = tree.why("/rawmodels/chair").await;
    assert!(why.contains(reason) && why.contains(advice), "{why}");
    std::fs::write(&room, "").unwrap();
    tree.until_status(status, "complete").await;
    assert!(
        tree.xattr("/rawmodels/chair", "user.assetfs.why")
            .await
            .is_err()
    );

    std::fs::remove_file(&room).unwrap();
    let job = "/rawmodels/chair/optimize/small.json";
    let half = br#"{"limits":{"faces":{"percentage":50}}}"#;
    tree.write(job, half).await.unwrap();
    let status = "/rawmodels/chair/optimize/small.status";
    let said = tree.until(status, |it| it.contains(reason)).await;
    assert!(said.contains("queued") && said.contains(advice), "{said}");
    let why = tree.why(job).await;
    assert!(why.contains(reason) && why.contains(advice), "{why}");
    let rapid = tree.list("/rapidmodels").await.unwrap().remove(0);
    let rapid = format!("/rapidmodels/{rapid}");
    let said = tree
        .until(&format!("{rapid}/.assetfs/status"), |it| {
            it.contains(reason)
        })
        .await;
    assert!(said.contains(advice), "{said}");
    assert!(tree.why(&rapid).await.contains(reason));
    mounted.close().await;
}
