//! What was written through the drive is what every later read gives, byte by byte, whatever listing, refresh or
//! remount comes between.

use std::time::Duration;

use assetfs::client::Priority;
use assetfs::wire::{OptimizerConfig, Preset, UpdatePreset};

use crate::support::account::{Account, Mounted};

/// Spaces, line ends and an order that no renderer makes.
const WRITTEN: &str =
    "{ \"limits\" :{\"faces\":\t{\"count\": 1000.0}},\r\n\n  \"export\":[ ] }   \n";

const PRESET: &str = "/presets/web.json";

async fn listed(account: &Account) -> Vec<Preset> {
    let presets = account.client.presets();
    presets.list(Priority::Interactive).await.unwrap()
}

/// Somebody else gives the only preset another text.
async fn change_elsewhere(account: &Account, text: &str) {
    let preset = listed(account).await.remove(0);
    let request = UpdatePreset {
        description: None,
        id: preset.id,
        name: preset.name,
        config: OptimizerConfig::parse(text).unwrap(),
    };
    account.client.presets().update(&request).await.unwrap();
}

/// Waits until the drive has listed the presets anew.
async fn refresh(account: &Account, mounted: &Mounted) {
    tokio::time::sleep(Duration::from_millis(150)).await;
    let before = account.requests();
    while account.requests() == before {
        mounted.tree.list("/presets").await.unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tokio::time::sleep(Duration::from_millis(150)).await;
    mounted.tree.list("/presets").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preset_reads_as_the_bytes_that_were_written_whatever_listing_or_remount_comes_between() {
    let account = Account::new().await;
    let mounted = account.mount().await;
    mounted
        .tree
        .write(PRESET, WRITTEN.as_bytes())
        .await
        .unwrap();
    let first = mounted.tree.stat(PRESET).await.unwrap();
    assert_eq!(mounted.tree.read_text(PRESET).await.unwrap(), WRITTEN);
    for _ in 0..3 {
        refresh(&account, &mounted).await;
        assert_eq!(mounted.tree.read_text(PRESET).await.unwrap(), WRITTEN);
        let stat = mounted.tree.stat(PRESET).await.unwrap();
        assert_eq!((stat.size, stat.mtime), (WRITTEN.len() as u64, first.mtime));
    }
    let killed = account.mount_after_kill().await;
    assert_eq!(killed.tree.read_text(PRESET).await.unwrap(), WRITTEN);
    killed.close().await;
    mounted.close().await;
    // What is known of listings may be lost; the text is not.
    std::fs::remove_file(account.dir.path().join("state/meta.redb")).unwrap();
    let mounted = account.mount().await;
    for _ in 0..2 {
        assert_eq!(mounted.tree.read_text(PRESET).await.unwrap(), WRITTEN);
        assert_eq!(mounted.tree.stat(PRESET).await.unwrap().mtime, first.mtime);
        refresh(&account, &mounted).await;
    }
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preset_that_was_really_changed_elsewhere_shows_the_new_value() {
    let account = Account::new().await;
    let mounted = account.mount().await;
    let tree = &mounted.tree;
    tree.write(PRESET, WRITTEN.as_bytes()).await.unwrap();
    refresh(&account, &mounted).await;
    // The same value in another form is no change.
    change_elsewhere(
        &account,
        r#"{"export":[],"limits":{"faces":{"count":1000}}}"#,
    )
    .await;
    refresh(&account, &mounted).await;
    assert_eq!(tree.read_text(PRESET).await.unwrap(), WRITTEN);
    change_elsewhere(&account, r#"{"limits":{"faces":{"count":7}}}"#).await;
    refresh(&account, &mounted).await;
    let new = listed(&account).await[0].config.to_pretty_text();
    assert_eq!(tree.read_text(PRESET).await.unwrap(), new);
    assert_eq!(tree.stat(PRESET).await.unwrap().size, new.len() as u64);
    // The old value comes back from elsewhere: it is theirs, and so is its form.
    change_elsewhere(&account, WRITTEN).await;
    refresh(&account, &mounted).await;
    let theirs = listed(&account).await[0].config.to_pretty_text();
    assert_eq!(tree.read_text(PRESET).await.unwrap(), theirs);
    mounted.close().await;
    let mounted = account.mount().await;
    assert_eq!(mounted.tree.read_text(PRESET).await.unwrap(), theirs);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preset_keeps_its_bytes_and_its_time_under_another_name() {
    let account = Account::new().await;
    let mounted = account.mount().await;
    let tree = &mounted.tree;
    tree.write(PRESET, WRITTEN.as_bytes()).await.unwrap();
    refresh(&account, &mounted).await;
    let mtime = tree.stat(PRESET).await.unwrap().mtime;
    for (from, to) in [
        ("web", "mobile"),
        ("mobile", "mobile.json.bak"),
        ("mobile.json.bak", "mobile"),
    ] {
        let path = |name: &str| match name.contains('.') {
            true => format!("/presets/{name}"),
            false => format!("/presets/{name}.json"),
        };
        tree.rename(&path(from), &path(to)).await.unwrap();
        refresh(&account, &mounted).await;
        assert_eq!(tree.read_text(&path(to)).await.unwrap(), WRITTEN, "{to}");
        assert_eq!(tree.stat(&path(to)).await.unwrap().mtime, mtime, "{to}");
    }
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_written_text_of_a_preset_goes_with_the_preset() {
    let account = Account::new().await;
    let mounted = account.mount().await;
    let tree = &mounted.tree;
    for remove_here in [true, false] {
        tree.write(PRESET, WRITTEN.as_bytes()).await.unwrap();
        refresh(&account, &mounted).await;
        assert_eq!(mounted.outbox.presets().saved().len(), 1);
        if remove_here {
            tree.unlink(PRESET).await.unwrap();
        } else {
            let id = listed(&account).await[0].id;
            account.client.presets().delete(id).await.unwrap();
            refresh(&account, &mounted).await;
        }
        assert!(!tree.exists(PRESET).await);
        assert_eq!(mounted.outbox.presets().saved(), []);
    }
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_with_a_byte_order_mark_and_a_wrapped_preset_read_as_written() {
    let account = Account::new().await;
    let mounted = account.mount().await;
    let tree = &mounted.tree;
    let marked = format!("\u{feff}{WRITTEN}");
    let wrapped = format!("{{\"name\": \"Other\",\"config\":  {WRITTEN}}}");
    let texts = [("marked.json", marked), ("net.api.json", wrapped)];
    for (name, text) in &texts {
        let path = format!("/presets/{name}");
        tree.write(&path, text.as_bytes()).await.unwrap();
        assert_eq!(tree.read_text(&path).await.unwrap(), *text);
    }
    refresh(&account, &mounted).await;
    for (name, text) in &texts {
        let path = format!("/presets/{name}");
        assert_eq!(tree.read_text(&path).await.unwrap(), *text);
    }
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_of_drop_folders_read_as_the_bytes_that_were_written() {
    let account = Account::new().await;
    account.add_cube().await;
    let mounted = account.mount().await;
    let many = "{\"optimizations\" :[ {\"model\": \"rawmodels/cube\",\n \"config\":{\"preset\":\"Lossless Clean-Up\"}}]}\n\n";
    let texts = [
        ("/rawmodels/cube/optimize/web.json", WRITTEN),
        ("/jobs/all.json", many),
    ];
    let mut times = Vec::new();
    for (path, text) in texts {
        mounted.tree.write(path, text.as_bytes()).await.unwrap();
        times.push(mounted.tree.stat(path).await.unwrap().mtime);
        let status = path.replace(".json", ".status");
        mounted.tree.until(&status, |line| line == "done").await;
    }
    mounted.close().await;
    let mounted = account.mount().await;
    for ((path, text), mtime) in texts.into_iter().zip(times) {
        assert_eq!(mounted.tree.read_text(path).await.unwrap(), text, "{path}");
        assert_eq!(mounted.tree.stat(path).await.unwrap().mtime, mtime);
    }
    let tags = "user.xdg.tags";
    let tree = &mounted.tree;
    tree.set_xattr("/rawmodels/cube", tags, "zebra,apple")
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    tree.list("/rawmodels").await.unwrap();
    assert_eq!(
        tree.xattr("/rawmodels/cube", tags).await.unwrap(),
        "zebra,apple"
    );
    mounted.close().await;
}
