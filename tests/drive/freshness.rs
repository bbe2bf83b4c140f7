//! Changes by other clients are shown; concurrent questions share one request.

use std::ffi::OsStr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use assetfs::client::Priority;
use assetfs::drive::{DriveError, Ino, KernelCache};

use crate::support::account::{Account, MINIMAL_GLTF};

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

#[derive(Default)]
struct Recorder(Mutex<Vec<String>>);

impl KernelCache for Recorder {
    fn entry_changed(&self, parent: Ino, name: &OsStr) {
        self.0
            .lock()
            .unwrap()
            .push(format!("entry {parent} {}", name.display()));
    }
    fn attributes_changed(&self, _ino: Ino) {}
    fn content_changed(&self, _ino: Ino) {}
    fn entry_removed(&self, parent: Ino, child: Ino, name: &OsStr) {
        self.0
            .lock()
            .unwrap()
            .push(format!("removed {parent} {child} {}", name.display()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_kernel_is_notified_of_what_others_removed() {
    let account = Account::new().await;
    let asset = account.add_cube().await;
    let mounted = account.mount().await;
    let recorder = Arc::new(Recorder::default());
    mounted.drive.attach_kernel(recorder.clone());
    let folder = mounted.tree.stat("/rawmodels").await.unwrap().ino;
    let child = mounted.tree.stat("/rawmodels/cube").await.unwrap().ino;
    account.client.assets().delete(asset).await.unwrap();
    tokio::time::sleep(Duration::from_millis(120)).await;
    assert_eq!(mounted.tree.list("/rawmodels").await.unwrap(), [""; 0]);
    let expected = format!("removed {folder} {child} cube");
    for _ in 0..100 {
        if recorder.0.lock().unwrap().contains(&expected) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(
        recorder.0.lock().unwrap().contains(&expected),
        "{:?}",
        recorder.0.lock().unwrap()
    );
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
