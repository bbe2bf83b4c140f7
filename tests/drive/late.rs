//! Late answers: every read after a write through the drive returns what was written, also while a listing is fetched
//! or refreshed, and after a remount.

use std::time::Duration;

use assetfs::drive::{Access, DriveConfig};

use crate::support::account::{Account, Mounted};

/// The time that the service needs for an answer.
const SLOW: &str = "[[rule]]\npath = \"/api/*\"\nfault = { kind = \"latency\", ms = 100 }\n";
/// Answers to these requests are computed at once but arrive late.
const LATE: [&str; 4] = [
    "/api/v2/optimizer/*",
    "/api/v2/rawmodel*",
    "/api/v2/rapidmodel*",
    "/api/v2/*embed*",
];

fn late() -> String {
    let rule = |path: &&str| {
        format!(
            "[[rule]]\nmethod = \"GET\"\npath = \"{path}\"\nfault = {{ kind = \"drip\", bytes_per_second = 4000 }}\n"
        )
    };
    LATE.iter().map(rule).collect()
}

fn limit(count: u64) -> String {
    format!(r#"{{"limits":{{"faces":{{"count":{count}}}}}}}"#)
}

/// So long that nothing is refreshed because of its age.
fn believes_long(config: &mut DriveConfig) {
    config.refresh = Duration::from_secs(60);
}

/// A listing whose request is running.
fn listing_under_way(mounted: &Mounted, folder: &'static str) -> tokio::task::JoinHandle<()> {
    let tree = mounted.tree.as_process(std::process::id());
    tokio::spawn(async move {
        tree.list(folder).await.unwrap();
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preset_reads_as_it_was_written_though_the_kernel_knows_it_from_before() {
    let mut account = Account::new().await;
    account.meet_faults(SLOW).await;
    let mounted = account.mount_with(believes_long).await;
    let tree = &mounted.tree;
    let path = "/presets/web.json";
    tree.write(path, limit(1).as_bytes()).await.unwrap();
    for count in 2..8 {
        // The inode that the kernel remembers: it opens it without a new lookup.
        let known = tree.look(path).await.unwrap().attributes.ino;
        tree.write(path, limit(count).as_bytes()).await.unwrap();
        let text = tree.read_number(known).await.unwrap();
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text, limit(count));
        let size = tree.drive.getattr(known, None).await.unwrap();
        assert_eq!(size.attributes.size, text.len() as u64);
        assert_eq!(tree.read_text(path).await.unwrap(), text);
    }
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listing_that_began_before_a_preset_was_written_does_not_bring_the_old_text_back() {
    let mut account = Account::new().await;
    let mounted = account.mount_with(believes_long).await;
    mounted
        .tree
        .write("/presets/web.json", limit(1).as_bytes())
        .await
        .unwrap();
    mounted
        .tree
        .write("/presets/old.json", limit(1).as_bytes())
        .await
        .unwrap();
    mounted
        .tree
        .write("/presets/gone.json", limit(1).as_bytes())
        .await
        .unwrap();
    mounted.close().await;
    account.meet_faults(&late()).await;
    let mounted = account.mount_with(believes_long).await;
    let tree = &mounted.tree;
    let listing = listing_under_way(&mounted, "/presets");
    tokio::time::sleep(Duration::from_millis(30)).await;
    tree.write("/presets/web.json", limit(2).as_bytes())
        .await
        .unwrap();
    tree.rename("/presets/old.json", "/presets/new.json")
        .await
        .unwrap();
    tree.unlink("/presets/gone.json").await.unwrap();
    listing.await.unwrap();
    for _ in 0..20 {
        let text = tree.read_text("/presets/web.json").await.unwrap();
        assert_eq!(text, limit(2));
        let names = tree.list("/presets").await.unwrap();
        assert_eq!(names, ["factory", "new.json", "web.json"]);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listing_that_began_before_tags_were_set_does_not_bring_the_old_ones_back() {
    let mut account = Account::new().await;
    account.add_cube().await;
    let (path, tags) = ("/rawmodels/cube", "user.xdg.tags");
    let mounted = account.mount_with(believes_long).await;
    mounted.tree.set_xattr(path, tags, "before").await.unwrap();
    mounted.close().await;
    account.meet_faults(&late()).await;
    let mounted = account.mount_with(believes_long).await;
    let tree = &mounted.tree;
    assert_eq!(tree.xattr(path, tags).await.unwrap(), "before");
    for round in 0..4 {
        tree.write("/.assetfs/ctl", b"refresh\n").await.unwrap();
        let listing = listing_under_way(&mounted, "/rawmodels");
        let set = format!("round {round}");
        tree.set_xattr(path, tags, &set).await.unwrap();
        assert_eq!(tree.xattr(path, tags).await.unwrap(), set);
        listing.await.unwrap();
        assert_eq!(tree.xattr(path, tags).await.unwrap(), set);
        let detail = tree
            .read_text("/rawmodels/cube/.assetfs/detail.json")
            .await
            .unwrap();
        assert!(detail.contains(&set), "{detail}");
    }
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listing_that_began_before_a_deletion_does_not_show_what_is_gone() {
    let mut account = Account::new().await;
    account.add_cube().await;
    let mounted = account.mount_with(believes_long).await;
    mounted.close().await;
    account.meet_faults(&late()).await;
    let mounted = account.mount_with(believes_long).await;
    let tree = &mounted.tree;
    assert_eq!(tree.list("/rawmodels").await.unwrap(), ["cube"]);
    tree.write("/.assetfs/ctl", b"refresh\n").await.unwrap();
    let listing = listing_under_way(&mounted, "/rawmodels");
    tokio::time::sleep(Duration::from_millis(30)).await;
    tree.remove_all("/rawmodels/cube").await.unwrap();
    listing.await.unwrap();
    for _ in 0..10 {
        assert_eq!(tree.list("/rawmodels").await.unwrap().len(), 0);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mount_after_a_kill_shows_what_was_written_before_it_without_the_service() {
    let mut account = Account::new().await;
    account.add_cube().await;
    let mounted = account.mount_with(believes_long).await;
    let tree = &mounted.tree;
    for name in ["web", "old", "gone"] {
        let path = format!("/presets/{name}.json");
        tree.write(&path, limit(1).as_bytes()).await.unwrap();
    }
    assert_eq!(tree.list("/presets").await.unwrap().len(), 4);
    assert_eq!(tree.list("/rawmodels").await.unwrap(), ["cube"]);
    tree.write("/presets/web.json", limit(2).as_bytes())
        .await
        .unwrap();
    tree.rename("/presets/old.json", "/presets/new.json")
        .await
        .unwrap();
    tree.unlink("/presets/gone.json").await.unwrap();
    tree.set_xattr("/rawmodels/cube", "user.xdg.tags", "kept")
        .await
        .unwrap();
    account.stop_service().await;
    let killed = account.mount_after_kill().await;
    let names = killed.tree.list("/presets").await.unwrap();
    assert_eq!(names, ["factory", "new.json", "web.json"]);
    let text = killed.tree.read_text("/presets/web.json").await.unwrap();
    assert_eq!(text, limit(2));
    let tags = killed.tree.xattr("/rawmodels/cube", "user.xdg.tags").await;
    assert_eq!(tags.unwrap(), "kept");
    killed.close().await;
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preset_that_is_still_on_its_way_reads_as_written_and_a_job_that_names_it_waits_for_it() {
    let mut account = Account::new().await;
    account.add_cube().await;
    let mounted = account.mount_with(believes_long).await;
    let path = "/presets/web.json";
    mounted.tree.write(path, limit(1).as_bytes()).await.unwrap();
    let known = mounted.tree.look(path).await.unwrap().attributes.ino;
    account.stop_service().await;
    mounted.tree.write(path, limit(2).as_bytes()).await.unwrap();
    let text = mounted.tree.read_number(known).await.unwrap();
    assert_eq!(text, limit(2).as_bytes(), "the preset is not saved yet");
    mounted.close().await;
    let mounted = account.mount_with(believes_long).await;
    let tree = &mounted.tree;
    assert_eq!(tree.read_text(path).await.unwrap(), limit(2));
    account.start_service().await;
    let job = "/rawmodels/cube/optimize/named.json";
    tree.write(job, br#"{"preset":"web"}"#).await.unwrap();
    let presets = account.presets().await;
    let saved = presets[0].config.to_pretty_text();
    assert!(
        saved.contains("\"count\": 2"),
        "the preset was saved first: {saved}"
    );
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_keeps_its_text_while_the_preset_gets_another() {
    let account = Account::new().await;
    let mounted = account.mount_with(believes_long).await;
    let tree = &mounted.tree;
    tree.write("/presets/web.json", limit(1).as_bytes())
        .await
        .unwrap();
    let known = tree.look("/presets/web.json").await.unwrap().attributes.ino;
    tree.rename("/presets/web.json", "/presets/web.json~")
        .await
        .unwrap();
    tree.write("/presets/web.json", limit(2).as_bytes())
        .await
        .unwrap();
    // The inode number moved to the name of the backup.
    let backup = tree.read_number(known).await.unwrap();
    assert_eq!(backup, limit(1).as_bytes());
    let text = tree.read_text("/presets/web.json").await.unwrap();
    assert_eq!(text, limit(2));
    let (ino, opened) = tree.open("/presets/web.json", Access::Read).await.unwrap();
    tree.drive.release(ino, opened.fh).await.unwrap();
    mounted.close().await;
}
