//! A failure leaves the status when its cause is mended, or gone with the model that it was about.

use assetfs::drive::MountStatus;
use zip::CompressionMethod;

use crate::staged_zips::zip_of;
use crate::support::account::{Account, MINIMAL_GLTF, Mounted};
use crate::support::tree::Tree;

fn pair() -> Vec<u8> {
    let files: [(&str, &[u8]); 2] = [("a.gltf", MINIMAL_GLTF), ("b.gltf", MINIMAL_GLTF)];
    zip_of(&files, CompressionMethod::Stored)
}

/// Copies a loose file in, and sends it now.
async fn send(tree: &Tree, name: &str, bytes: &[u8]) {
    let file = format!("/rawmodels/{name}");
    tree.write(&file, bytes).await.unwrap();
    let order = format!("commit {name}\n");
    let ctl = "/rawmodels/.assetfs/ctl";
    tree.write(ctl, order.as_bytes()).await.unwrap();
    let (model, _) = file.rsplit_once('.').unwrap();
    let status = format!("{model}/.assetfs/status");
    tree.until_status(&status, "complete").await;
}

/// The paths of all failures and refusals.
fn listed(mounted: &Mounted) -> Vec<String> {
    let MountStatus {
        failures, refused, ..
    } = mounted.drive.status();
    let lines = failures.into_iter().chain(refused);
    lines.map(|line| line.path).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_zip_was_sent_without_is_listed_until_the_model_is_deleted_also_by_its_id() {
    let (account, mounted) = Account::mounted().await;
    let tree = &mounted.tree;
    send(tree, "pair.zip", &pair()).await;
    assert_eq!(listed(&mounted), ["/rawmodels/pair"]);
    for name in ["a.gltf", "b.gltf"] {
        send(tree, name, MINIMAL_GLTF).await;
    }
    let assets = account.assets().await;
    let (pair, _) = assets.iter().find(|(_, name)| name == "pair").unwrap();
    let order = format!("delete --confirmed rawmodels {pair}\n");
    tree.write("/.assetfs/ctl", order.as_bytes()).await.unwrap();
    assert!(listed(&mounted).is_empty(), "{:?}", listed(&mounted));
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_refused_in_a_zip_is_listed_until_the_zip_is_removed_or_has_another_name() {
    let (_account, mounted) = Account::mounted().await;
    let tree = &mounted.tree;
    for name in ["one", "two"] {
        let zip = format!("/rawmodels/{name}.zip");
        tree.write(&zip, &pair()).await.unwrap();
        let inside = format!("/rawmodels/{name}/b.gltf");
        tree.write(&inside, b"{}").await.unwrap_err();
        assert_eq!(listed(&mounted).len(), 1, "{:?}", listed(&mounted));
        match name {
            "one" => tree.unlink(&zip).await.unwrap(),
            _ => tree.rename(&zip, "/rawmodels/other.zip").await.unwrap(),
        }
        assert!(listed(&mounted).is_empty(), "{:?}", listed(&mounted));
    }
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_refused_at_a_zip_stays_when_the_zip_is_read() {
    let (_account, mounted) = Account::mounted().await;
    let tree = &mounted.tree;
    let zip = "/rawmodels/pair.zip";
    tree.write(zip, &pair()).await.unwrap();
    let refused = tree.set_xattr(zip, "user.assetfs.mine", "x").await;
    refused.unwrap_err();
    let shown = tree.list("/rawmodels/pair").await.unwrap();
    assert_eq!(shown, ["a.gltf", "b.gltf"]);
    assert_eq!(listed(&mounted), [zip]);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zip_that_cannot_be_used_is_listed_until_a_whole_one_has_its_place() {
    let (_account, mounted) = Account::mounted().await;
    let tree = &mounted.tree;
    let mut damaged = pair();
    let is_directory = |it: &[u8]| it == b"PK\x01\x02";
    let at = damaged.windows(4).rposition(is_directory).unwrap();
    damaged[at + 42..at + 46].copy_from_slice(&3_u32.to_le_bytes());
    tree.write("/rawmodels/pair.zip", &damaged).await.unwrap();
    assert_eq!(tree.list("/rawmodels/pair").await.unwrap(), ["pair.zip"]);
    assert_eq!(listed(&mounted), ["/rawmodels/pair.zip"]);
    tree.write("/rawmodels/pair.zip", &pair()).await.unwrap();
    let shown = tree.list("/rawmodels/pair").await.unwrap();
    assert_eq!(shown, ["a.gltf", "b.gltf"]);
    assert!(listed(&mounted).is_empty(), "{:?}", listed(&mounted));
    mounted.close().await;
}
