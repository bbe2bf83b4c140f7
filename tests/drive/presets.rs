//! Presets are files.

use assetfs::drive::DriveError;

use crate::support::account::Account;

#[tokio::test(flavor = "multi_thread")]
async fn writing_makes_or_updates_a_preset_renaming_renames_it_and_rm_deletes_it() {
    let (account, mounted) = Account::mounted().await;
    let tree = &mounted.tree;
    tree.write(
        "/presets/web.json",
        br#"{"limits":{"faces":{"count":1000}}}"#,
    )
    .await
    .unwrap();
    let made = account.presets().await;
    assert_eq!((made.len(), made[0].name.as_str()), (1, "web"));
    assert_eq!(
        tree.list("/presets").await.unwrap(),
        ["factory", "web.json"]
    );
    let text = tree.read_text("/presets/web.json").await.unwrap();
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&text).unwrap()["limits"]["faces"]["count"],
        1000
    );
    assert_eq!(
        tree.read_text("/presets/web.json").await.unwrap(),
        text,
        "the same bytes each time"
    );

    tree.write(
        "/presets/web.json",
        br#"{"limits":{"faces":{"count":2000}}}"#,
    )
    .await
    .unwrap();
    let updated = account.presets().await;
    assert_eq!(
        (updated.len(), updated[0].id),
        (1, made[0].id),
        "the id is kept"
    );
    let text = tree.read_text("/presets/web.json").await.unwrap();
    assert!(text.contains("2000"), "{text}");

    tree.rename("/presets/web.json", "/presets/mobile.json")
        .await
        .unwrap();
    let renamed = account.presets().await;
    assert_eq!(
        (renamed.len(), renamed[0].name.as_str(), renamed[0].id),
        (1, "mobile", made[0].id)
    );
    assert_eq!(
        tree.list("/presets").await.unwrap(),
        ["factory", "mobile.json"]
    );
    tree.unlink("/presets/mobile.json").await.unwrap();
    assert_eq!(account.presets().await.len(), 0);
    assert_eq!(tree.list("/presets").await.unwrap(), ["factory"]);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn factory_presets_are_read_only() {
    let (_account, mounted) = Account::mounted().await;
    let tree = &mounted.tree;
    let names = tree.list("/presets/factory").await.unwrap();
    assert!(!names.is_empty());
    let path = format!("/presets/factory/{}", names[0]);
    let text = tree.read_text(&path).await.unwrap();
    assert!(
        serde_json::from_str::<serde_json::Value>(&text)
            .unwrap()
            .is_object()
    );
    assert_eq!(tree.stat(&path).await.unwrap().size, text.len() as u64);
    assert!(matches!(
        tree.write(&path, b"{}").await,
        Err(DriveError::ReadOnly(_))
    ));
    assert!(matches!(
        tree.unlink(&path).await,
        Err(DriveError::NotPermitted(_))
    ));
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preset_that_is_not_json_is_refused_at_close_and_its_text_kept() {
    let (account, mounted) = Account::mounted().await;
    let tree = &mounted.tree;
    let refused = tree
        .write("/presets/web.json", b"{ nope")
        .await
        .unwrap_err();
    assert!(matches!(refused, DriveError::Invalid(_)), "{refused:?}");
    assert_eq!(tree.read("/presets/web.json").await.unwrap(), b"{ nope");
    assert!(
        tree.why("/presets/web.json").await.contains("line 1"),
        "{}",
        tree.why("/presets/web.json").await
    );
    assert_eq!(account.presets().await.len(), 0);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_description_can_be_set_before_a_preset_is_made_and_is_read_ever_after() {
    let (_account, mounted) = Account::mounted().await;
    let tree = &mounted.tree;
    let path = "/presets/shop.json";
    tree.write(path, b"").await.unwrap();
    let name = "user.assetfs.description";
    tree.set_xattr(path, name, "for the shop").await.unwrap();
    assert_eq!(tree.xattr(path, name).await.unwrap(), "for the shop");
    tree.write(path, br#"{"limits":{"faces":{"count":500}}}"#)
        .await
        .unwrap();
    assert_eq!(tree.xattr(path, name).await.unwrap(), "for the shop");
    let refused = tree.set_xattr(path, name, "for another").await;
    assert!(
        matches!(refused, Err(DriveError::Unsupported(_))),
        "{refused:?}"
    );
    let version = tree.xattr(path, "user.assetfs.rpdx_version").await;
    assert!(!version.unwrap().is_empty());
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_preset_archives_become_presets() {
    let (account, mounted) = Account::mounted().await;
    let tree = &mounted.tree;
    let wrapped = br#"{"rpdx_version":"2.5","name":"Other","description":"for pages","config":{"limits":{"faces":{"count":7}}}}"#;
    tree.write("/presets/Web.rpdx", wrapped).await.unwrap();
    tree.write("/presets/net.api.json", wrapped).await.unwrap();
    let made = account.presets().await;
    let names: Vec<&str> = made.iter().map(|preset| preset.name.as_str()).collect();
    assert_eq!(names, ["Web", "net.api"], "the file gives the name");
    for preset in &made {
        assert_eq!(
            preset.config.to_text(),
            r#"{"limits":{"faces":{"count":7}}}"#
        );
        assert_eq!(preset.description.as_deref(), Some("for pages"));
    }
    assert_eq!(
        tree.list("/presets").await.unwrap(),
        ["Web.json", "factory", "net.api.json"]
    );
    // A refused file and its removal do not change a preset of that name.
    let refused = tree
        .write("/presets/Web.rpdx", br#"{"rpdx_version":"2.5"}"#)
        .await;
    assert!(
        matches!(refused, Err(DriveError::Invalid(_))),
        "{refused:?}"
    );
    tree.unlink("/presets/Web.rpdx").await.unwrap();
    let left = account.presets().await;
    assert_eq!(left.len(), 2);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn factory_presets_can_be_taken_along_too() {
    let (_account, mounted) = Account::mounted().await;
    let tree = &mounted.tree;
    let names = tree.list("/presets/factory").await.unwrap();
    for bundle in ["bundle", "cli"] {
        let zips = tree.list(&format!("/presets/.assetfs/{bundle}")).await;
        let zips = zips.unwrap();
        assert_eq!(zips.len(), names.len());
        let path = format!("/presets/.assetfs/{bundle}/{}", zips[0]);
        let zip = tree.read(&path).await.unwrap();
        assert_eq!(&zip[..4], b"PK\x03\x04");
        assert_eq!(tree.stat(&path).await.unwrap().size, zip.len() as u64);
    }
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_can_never_be_a_preset_is_refused_with_a_sentence_and_editors_names_are_not() {
    let (_account, mounted) = Account::mounted().await;
    let tree = &mounted.tree;
    let refused = tree.write("/presets/notes.txt", b"a note").await;
    assert!(
        matches!(refused, Err(DriveError::Invalid(_))),
        "{refused:?}"
    );
    let why = tree.why("/presets/notes.txt").await;
    assert!(why.contains("notes.json"), "{why}");
    assert_eq!(tree.list("/presets").await.unwrap(), ["factory"]);
    for name in ["web.json~", ".web.json.swp", "4913", "web.bak"] {
        let path = format!("/presets/{name}");
        tree.write(&path, b"{}").await.unwrap();
        tree.unlink(&path).await.unwrap();
    }
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_mount_reports_moved_bytes_and_its_file_limit() {
    let (_account, mounted) = Account::mounted_with_cube().await;
    let tree = &mounted.tree;
    let cube = tree.read("/rawmodels/cube/cube.gltf").await.unwrap();
    tree.read("/rawmodels/cube/cube.gltf").await.unwrap();
    let status = mounted.drive.status();
    assert!(
        status.traffic.fetched_bytes >= cube.len() as u64,
        "{status:?}"
    );
    assert!(status.traffic.read_bytes >= 2 * cube.len() as u64);
    let metrics = tree.read_text("/.assetfs/metrics").await.unwrap();
    for name in [
        "cache_hits_total",
        "cache_misses_total",
        "fetched_bytes_total",
    ] {
        assert!(metrics.contains(&format!("\nassetfs_{name} ")), "{metrics}");
    }
    let room = mounted.drive.statfs().await.unwrap();
    assert!(
        room.files > room.files_free && room.files_free > 1_000_000,
        "{room:?}"
    );
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_no_delete_presets_of_the_service_stay_and_local_files_can_be_removed() {
    let account = Account::new().await;
    let mounted = account.mount_with(|config| config.no_delete = true).await;
    let tree = &mounted.tree;
    for (name, count) in [("a", 1000), ("b", 2000)] {
        let text = format!(r#"{{"limits":{{"faces":{{"count":{count}}}}}}}"#);
        let path = format!("/presets/{name}.json");
        tree.write(&path, text.as_bytes()).await.unwrap();
    }
    let refused = tree.unlink("/presets/a.json").await.unwrap_err();
    let is_refusal =
        matches!(&refused, DriveError::NotPermitted(why) if why.contains("--no-delete"));
    assert!(is_refusal, "{refused:?}");
    let refused = tree.rename("/presets/a.json", "/presets/b.json").await;
    assert!(matches!(refused, Err(DriveError::NotPermitted(_))));
    let left = account.presets().await;
    assert_eq!(left.len(), 2, "{left:?}");

    // The steps of an editor that saves.
    tree.rename("/presets/a.json", "/presets/a.json~")
        .await
        .unwrap();
    let text = br#"{"limits":{"faces":{"count":3000}}}"#;
    tree.write("/presets/a.json", text).await.unwrap();
    tree.unlink("/presets/a.json~").await.unwrap();
    let saved = account.presets().await;
    assert_eq!(saved.len(), 2, "{saved:?}");
    mounted.close().await;
}

/// A text that names it would be paid with the configuration that the service still has.
#[tokio::test(flavor = "multi_thread")]
async fn an_emptied_preset_is_used_by_no_text_until_it_is_written_again() {
    let (account, mounted) = Account::mounted().await;
    account.add_cube().await;
    let tree = &mounted.tree;
    let config = br#"{"limits":{"faces":{"count":1000}}}"#;
    tree.write("/presets/web.json", config).await.unwrap();
    tree.write("/presets/web.json", b"").await.unwrap();
    let job = "/rawmodels/cube/optimize/a.json";
    // `close` may say it, too.
    let _ = tree.write(job, br#"{"preset": "web"}"#).await;
    let status = "/rawmodels/cube/optimize/a.status";
    let said = tree
        .until(status, |text| {
            text.starts_with("failed") || text.starts_with("done")
        })
        .await;
    assert!(
        said.contains("it is empty; correct presets/web.json first"),
        "{said}"
    );
    tree.write("/presets/web.json", config).await.unwrap();
    tree.optimize("cube", "b", r#"{"preset": "web"}"#).await;
    mounted.close().await;
}
