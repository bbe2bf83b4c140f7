//! Loose files that a tool copies in again by renaming a new file over them, as `rsync` does.

use std::time::{Duration, Instant, SystemTime};

use assetfs::client::Priority;
use assetfs::wire::{AssetId, source_note};
use serde_json::Value;

use crate::by_source::replace;
use crate::support::account::{Account, MINIMAL_GLTF, Mounted};

/// The file with other bytes each time, renamed to the name of the model.
async fn send_again(mounted: &Mounted, spaces: usize) {
    let mut bytes = MINIMAL_GLTF.to_vec();
    bytes.extend(vec![b' '; spaces]);
    let (part, file) = ("/rawmodels/.chair.gltf.Ab12Cd", "/rawmodels/chair.gltf");
    mounted.tree.write(part, &bytes).await.unwrap();
    mounted.tree.rename(part, file).await.unwrap();
}

/// Waits until `rawmodels/` has these names and returns the id of the model with the plain name.
async fn until_listed(mounted: &Mounted, names: &[String]) -> String {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let now = mounted.tree.list("/rawmodels").await.unwrap();
        if now == names {
            let id = mounted.tree.xattr("/rawmodels/chair", "user.assetfs.id");
            return id.await.unwrap();
        }
        assert!(Instant::now() < end, "{now:?} is not {names:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loose_file_with_other_bytes_is_the_next_version_also_of_what_another_machine_made_of_it()
{
    let (account, mounted) = Account::mounted().await;
    let (apart, _) = account.mount_apart(1, |_| {}).await;
    let mut shown = vec!["chair".to_owned()];
    send_again(&mounted, 0).await;
    let status = "/rawmodels/chair/.assetfs/status";
    mounted.tree.until_status(status, "complete").await;
    let first = until_listed(&mounted, &shown).await;
    until_listed(&apart, &shown).await;
    let second = replace(&apart.tree, "chair", "chair.gltf").await;
    shown.push(format!("chair~{first}"));
    assert_eq!(until_listed(&mounted, &shown).await, second.to_string());

    send_again(&mounted, 1).await;
    shown.push(format!("chair~{second}"));
    let third = until_listed(&mounted, &shown).await;
    assert_eq!(until_listed(&apart, &shown).await, third);
    assert!(third != first && third != second.to_string());
    apart.close().await;
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_was_only_touched_has_its_new_time_so_that_the_next_run_of_rsync_copies_nothing()
 {
    let (account, mounted) = Account::mounted().await;
    send_again(&mounted, 0).await;
    let status = "/rawmodels/chair/.assetfs/status";
    mounted.tree.until_status(status, "complete").await;
    let touched = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let (part, file) = ("/rawmodels/.chair.gltf.Ab12Cd", "/rawmodels/chair.gltf");
    mounted.tree.write(part, MINIMAL_GLTF).await.unwrap();
    mounted.tree.set_mtime(part, touched).await.unwrap();
    mounted.tree.rename(part, file).await.unwrap();
    let inside = "/rawmodels/chair/chair.gltf";
    for path in [file, inside] {
        assert_eq!(
            mounted.tree.stat(path).await.unwrap().mtime,
            touched,
            "{path}"
        );
    }
    assert_eq!(account.assets().await.len(), 1);
    mounted.close().await;

    let mounted = account.mount().await;
    for path in [file, inside] {
        assert_eq!(
            mounted.tree.stat(path).await.unwrap().mtime,
            touched,
            "{path}"
        );
    }
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_file_that_two_machines_copy_in_one_after_the_other_is_one_more_version() {
    let (account, mounted) = Account::mounted().await;
    let (apart, _) = account.mount_apart(1, |_| {}).await;
    let mut shown = vec!["chair".to_owned()];
    let mut newest = String::new();
    for (round, earlier) in [(0, 0), (1, 1), (2, 2)] {
        send_again(&mounted, round).await;
        newest = until_listed(&mounted, &shown).await;
        until_noted(&mounted).await;
        assert_eq!(until_listed(&apart, &shown).await, newest);
        until_noted(&apart).await;

        send_again(&apart, round).await;
        until_sent(&apart).await;
        assert_eq!(until_listed(&apart, &shown).await, newest);
        assert_eq!(account.assets().await.len(), earlier + 1);
        let read = apart.tree.read("/rawmodels/chair.gltf").await.unwrap();
        assert_eq!(read.len(), MINIMAL_GLTF.len() + round);
        shown.push(format!("chair~{newest}"));
    }
    let id = mounted
        .tree
        .xattr("/rawmodels/chair", "user.assetfs.id")
        .await;
    assert_eq!(id.unwrap(), newest);
    apart.close().await;
    mounted.close().await;
}

/// Waits until the machine has no draft.
async fn until_sent(mounted: &Mounted) {
    let is_empty = |text: &str| {
        let status: Value = serde_json::from_str(text).unwrap();
        status["drafts"].as_array().is_some_and(Vec::is_empty)
    };
    mounted.tree.until("/.assetfs/status.json", is_empty).await;
}

/// Waits until the machine knows the note on the model with the plain name.
async fn until_noted(mounted: &Mounted) {
    let end = Instant::now() + Duration::from_secs(30);
    let source = "user.assetfs.source_hash";
    while mounted
        .tree
        .xattr("/rawmodels/chair", source)
        .await
        .is_err()
    {
        assert!(Instant::now() < end, "there is no note");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// A model `chair` with this content that no drive has sent, with a note that its file is [`MINIMAL_GLTF`]; and a machine that
/// knows it.
async fn noted(content: &[u8]) -> (Account, Mounted, AssetId) {
    let (account, mounted) = Account::mounted().await;
    let (apart, client) = account.mount_apart(1, |_| {}).await;
    let source = "user.assetfs.source_hash";
    send_again(&mounted, 0).await;
    let status = "/rawmodels/chair/.assetfs/status";
    mounted.tree.until_status(status, "complete").await;
    let hash = mounted.tree.xattr("/rawmodels/chair", source).await;
    let hash = hash.unwrap();
    mounted.tree.remove_all("/rawmodels/chair").await.unwrap();
    mounted.close().await;
    // An upload without a join key, as one that is too old to be joined.
    let file = ("chair.gltf", content);
    let chair = account.upload_elsewhere("chair", &[file]).await;
    let note = [source_note(&hash)];
    let noted = client.assets().add_tags(chair, &note, Priority::Background);
    noted.await.unwrap();
    let end = Instant::now() + Duration::from_secs(30);
    while apart
        .tree
        .xattr("/rawmodels/chair", source)
        .await
        .ok()
        .as_ref()
        != Some(&hash)
        || until_listed(&apart, &["chair".to_owned()]).await != chair.to_string()
    {
        assert!(Instant::now() < end, "{:?}", account.assets().await);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    (account, apart, chair)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_of_the_file_of_another_machine_becomes_its_model_however_long_ago_that_was_sent() {
    let (account, apart, chair) = noted(MINIMAL_GLTF).await;
    send_again(&apart, 0).await;
    let shown = until_listed(&apart, &["chair".to_owned()]).await;
    assert_eq!(shown, chair.to_string());
    let read = apart.tree.read("/rawmodels/chair.gltf").await.unwrap();
    assert_eq!(read, MINIMAL_GLTF);
    assert_eq!(account.assets().await, [(chair, "chair".to_owned())]);

    // Other bytes are the next version, as on the machine that has sent the model.
    send_again(&apart, 1).await;
    let names = ["chair".to_owned(), format!("chair~{chair}")];
    assert_ne!(until_listed(&apart, &names).await, chair.to_string());
    apart.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_has_other_bytes_than_its_note_says_is_not_joined() {
    let other = [MINIMAL_GLTF, b" "].concat();
    let (account, apart, chair) = noted(&other).await;
    send_again(&apart, 0).await;
    let end = Instant::now() + Duration::from_secs(30);
    let own = loop {
        let mut found = account.assets().await.into_iter();
        match found.find(|(asset, _)| *asset != chair) {
            Some((own, _)) => break own,
            None => assert!(Instant::now() < end, "it is not sent"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let names = ["chair".to_owned(), format!("chair~{own}")];
    assert_eq!(until_listed(&apart, &names).await, chair.to_string());
    let path = format!("/rawmodels/chair~{own}/chair.gltf");
    assert_eq!(apart.tree.read(&path).await.unwrap(), MINIMAL_GLTF);
    assert_eq!(
        apart
            .tree
            .read("/rawmodels/chair/chair.gltf")
            .await
            .unwrap(),
        other
    );
    apart.close().await;
}
