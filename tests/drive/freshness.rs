//! Changes by other clients are shown; concurrent questions share one request.

use std::ffi::OsStr;
use std::time::Duration;

use assetfs::client::Priority;
use assetfs::drive::{Caller, DriveError};

use crate::support::account::{Account, MINIMAL_GLTF};

fn caller() -> Caller {
    Caller {
        pid: std::process::id(),
        uid: 0,
        gid: 0,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_done_elsewhere_shows_within_the_refresh_time() {
    let (account, mounted) = Account::mounted().await;
    let tree = &mounted.tree;
    assert_eq!(tree.list("/rawmodels").await.unwrap(), [""; 0]);
    let asset = account.add_cube().await;
    tokio::time::sleep(Duration::from_millis(120)).await;
    assert_eq!(tree.list("/rawmodels").await.unwrap(), ["cube"]);
    let second = account
        .upload_elsewhere("dice", &[("cube.gltf", MINIMAL_GLTF)])
        .await;
    account.client.assets().delete(asset).await.unwrap();
    tokio::time::sleep(Duration::from_millis(120)).await;
    assert_eq!(
        tree.list("/rawmodels").await.unwrap(),
        ["dice"],
        "the total stayed the same"
    );
    account.client.assets().delete(second).await.unwrap();
    tokio::time::sleep(Duration::from_millis(120)).await;
    assert_eq!(
        tree.look("/rawmodels/dice").await.unwrap_err(),
        DriveError::NotFound
    );
    mounted.close().await;
}

/// The kernel is told of no change: telling it waits for the lock of a folder, which another program may hold until the
/// drive answers. So it may not keep a name for longer than a moment.
#[tokio::test(flavor = "multi_thread")]
async fn the_kernel_keeps_a_name_for_a_moment_only() {
    let account = Account::new().await;
    let asset = account.add_cube().await;
    let mounted = account.mount().await;
    let moment = Duration::from_millis(10);
    let tree = &mounted.tree;
    for path in [
        "/",
        "/rawmodels",
        "/rawmodels/cube",
        "/rawmodels/cube/cube.gltf",
    ] {
        let ino = tree.stat(path).await.unwrap().ino;
        let entry = mounted.drive.getattr(ino, None).await.unwrap();
        assert!(entry.ttl <= moment, "{path}: {:?}", entry.ttl);
    }
    let folder = tree.stat("/rawmodels").await.unwrap().ino;
    let look = |name: &'static str| {
        let (drive, caller) = (mounted.drive.clone(), caller());
        async move { drive.lookup(folder, OsStr::new(name), &caller).await }
    };
    assert!(look("cube").await.unwrap().ttl <= moment);
    account.client.assets().delete(asset).await.unwrap();
    tokio::time::sleep(Duration::from_millis(120)).await;
    assert_eq!(tree.list("/rawmodels").await.unwrap(), [""; 0]);
    assert_eq!(look("cube").await.unwrap_err(), DriveError::NotFound);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tags_are_read_and_set_as_file_managers_do() {
    let account = Account::new().await;
    let asset = account.add_cube().await;
    let mounted = account.mount().await;
    let tree = &mounted.tree;
    tree.set_xattr("/rawmodels/cube", "user.xdg.tags", "red%2C shiny,wood")
        .await
        .unwrap();
    let tags = |record: assetfs::wire::BaseAsset| -> Vec<String> {
        record.tags.into_iter().map(|tag| tag.name).collect()
    };
    let mut now = tags(
        account
            .client
            .assets()
            .get(asset, Priority::Interactive)
            .await
            .unwrap(),
    );
    now.sort();
    assert_eq!(now, ["red, shiny", "wood"]);
    tree.set_xattr("/rawmodels/cube", "user.xdg.tags", "wood")
        .await
        .unwrap();
    assert_eq!(
        tree.xattr("/rawmodels/cube", "user.xdg.tags")
            .await
            .unwrap(),
        "wood"
    );
    assert_eq!(
        tags(
            account
                .client
                .assets()
                .get(asset, Priority::Interactive)
                .await
                .unwrap()
        ),
        ["wood"]
    );
    assert_eq!(
        tree.xattr("/rawmodels/cube", "user.nothing")
            .await
            .unwrap_err(),
        DriveError::NoAttribute
    );
    let refused = tree
        .set_xattr("/rawmodels/cube", "user.nothing", "x")
        .await
        .unwrap_err();
    assert!(matches!(refused, DriveError::Unsupported(_)), "{refused:?}");
    mounted.close().await;
}
