//! `account/`, `search/`, tags, metrics and presets as zips.

use assetfs::client::Priority;
use assetfs::drive::{DriveError, FileKind};
use assetfs::wire::{AssetUpdate, CreateWebhook};

use crate::support::account::{Account, MINIMAL_GLTF};

#[tokio::test(flavor = "multi_thread")]
async fn tokens_and_webhooks_are_records_without_any_secret() {
    let account = Account::new().await;
    let token = account.client.tokens().create("studio").await.unwrap();
    let webhook = CreateWebhook {
        url: "https://hooks.example/very/secret/path?key=hidden".into(),
        verify_ssl: true,
        secret: Some("a secret of ours".into()),
    };
    account.client.webhooks().create(&webhook).await.unwrap();
    let mounted = account.mount().await;
    let tree = &mounted.tree;
    let tokens = tree.list("/account/tokens").await.unwrap();
    assert!(tokens.contains(&"studio.json".to_owned()), "{tokens:?}");
    let hooks = tree.list("/account/webhooks").await.unwrap();
    assert_eq!(hooks, ["hooks.example.json"]);
    let secret = token.expose().split('|').nth(1).unwrap().to_owned();
    let mut paths: Vec<String> = tokens
        .iter()
        .map(|name| format!("/account/tokens/{name}"))
        .collect();
    paths.push(format!("/account/webhooks/{}", hooks[0]));
    for path in paths {
        let text = tree.read_text(&path).await.unwrap();
        let size = tree.stat(&path).await.unwrap().size;
        assert_eq!(size, text.len() as u64);
        assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok());
        for hidden in [&secret, "a secret of ours", "very/secret", "hidden"] {
            assert!(!text.contains(hidden), "{path}: {text}");
        }
        let refused = tree.unlink(&path).await;
        assert!(matches!(refused, Err(DriveError::NotPermitted(_))));
    }
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn search_is_the_services_own_by_name_or_tag_and_leads_to_the_model() {
    let account = Account::new().await;
    for name in ["oak chair", "pine table", "oak table"] {
        account
            .upload_elsewhere(name, &[("cube.gltf", MINIMAL_GLTF)])
            .await;
    }
    let mounted = account.mount().await;
    let tree = &mounted.tree;
    let found = tree.rows("/rawmodels/.assetfs/search/oak").await.unwrap();
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(found.iter().all(|(_, kind)| *kind == FileKind::Link));
    let link = "/rawmodels/.assetfs/search/oak/oak table";
    assert_eq!(tree.read_link(link).await.unwrap(), "../../../oak table");
    let inside = tree.list(&format!("{link}/")).await.unwrap();
    assert!(inside.contains(&"cube.gltf".to_owned()), "{inside:?}");
    assert!(
        tree.list("/rawmodels/.assetfs/search")
            .await
            .unwrap()
            .is_empty()
    );

    tree.set_xattr(
        "/rawmodels/pine table",
        "user.xdg.tags",
        "soft%2C cheap,new",
    )
    .await
    .unwrap();
    let tagged = tree.list("/rawmodels/.assetfs/search/cheap").await.unwrap();
    assert_eq!(tagged, ["pine table"]);
    let tags = tree.read_text("/rawmodels/.assetfs/tags").await.unwrap();
    assert_eq!(tags, "new\nsoft, cheap\n");
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_is_found_by_one_search_without_listing_its_folder() {
    let account = Account::new().await;
    let first = account
        .upload_elsewhere("twin", &[("cube.gltf", MINIMAL_GLTF)])
        .await;
    let second = account
        .upload_elsewhere("twin", &[("cube.gltf", MINIMAL_GLTF)])
        .await;
    account
        .upload_elsewhere("other", &[("cube.gltf", MINIMAL_GLTF)])
        .await;
    // Only hits by name count, not a hit by a tag with that text.
    let tagged = AssetUpdate {
        tags: Some(vec!["lonely".into()]),
        ..AssetUpdate::default()
    };
    account
        .client
        .assets()
        .update(first, &tagged)
        .await
        .unwrap();
    let mounted = account.mount().await;
    let tree = &mounted.tree;
    let id = |path: &'static str| async move { tree.xattr(path, "user.assetfs.id").await.unwrap() };
    assert_eq!(id("/rawmodels/twin").await, first.to_string());
    let other = format!("/rawmodels/twin~{second}");
    assert_eq!(
        tree.xattr(&other, "user.assetfs.id").await.unwrap(),
        second.to_string()
    );
    assert!(!tree.exists("/rawmodels/lonely").await);
    let listed = tree.list("/rawmodels").await.unwrap();
    assert_eq!(
        listed,
        ["other".to_owned(), "twin".into(), format!("twin~{second}")]
    );
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_categories_and_presets_as_zips_are_hidden_files() {
    let (_account, mounted) = Account::mounted().await;
    let tree = &mounted.tree;
    tree.write(
        "/presets/web.json",
        br#"{"limits":{"faces":{"count":500}}}"#,
    )
    .await
    .unwrap();
    let metrics = tree.read_text("/.assetfs/metrics").await.unwrap();
    assert!(metrics.contains("\nassetfs_online 1\n"), "{metrics}");
    for folder in ["bundle", "cli"] {
        let folder = format!("/presets/.assetfs/{folder}");
        let zips = tree.list(&folder).await.unwrap();
        assert!(zips.contains(&"web.zip".to_owned()), "{zips:?}");
        let path = format!("{folder}/web.zip");
        let zip = tree.read(&path).await.unwrap();
        assert_eq!(&zip[..2], b"PK");
        assert_eq!(tree.stat(&path).await.unwrap().size, zip.len() as u64);
    }
    let categories = tree.read_text("/presets/.assetfs/categories.json").await;
    let categories: serde_json::Value = serde_json::from_str(&categories.unwrap()).unwrap();
    assert!(categories.is_array());
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_mount_refuses_before_anything_changes() {
    let account = Account::new().await;
    account.add_cube().await;
    let mounted = account.mount_with(|config| config.read_only = true).await;
    let tree = &mounted.tree;
    let refusals = [
        tree.mkdir("/rawmodels/new").await,
        tree.unlink("/rawmodels/cube/cube.gltf").await,
        tree.write("/rawmodels/cube/optimize/web.json", b"{}").await,
        tree.write("/jobs/all.json", b"{}").await,
        tree.write("/rawmodels/cube/.assetfs/ctl", b"scale 2\n")
            .await,
        tree.set_xattr("/rawmodels/cube", "user.xdg.tags", "x")
            .await,
    ];
    for refused in refusals {
        assert!(
            matches!(refused, Err(DriveError::ReadOnly(_))),
            "{refused:?}"
        );
    }
    tree.write("/.assetfs/ctl", b"refresh\n").await.unwrap();
    assert_eq!(account.assets().await.len(), 1);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tags_of_a_draft_are_refused_and_not_lost_at_the_upload() {
    let (_account, mounted) = Account::mounted().await;
    let tree = &mounted.tree;
    tree.mkdir("/rawmodels/new").await.unwrap();
    let refused = tree
        .set_xattr("/rawmodels/new", "user.xdg.tags", "oak")
        .await;
    assert!(
        matches!(refused, Err(DriveError::Unsupported(_))),
        "{refused:?}"
    );
    assert!(tree.xattr("/rawmodels/new", "user.xdg.tags").await.is_err());
    tree.set_xattr("/rawmodels/new", "user.comment", "oak")
        .await
        .unwrap();
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn scale_sets_the_factor_of_the_asset() {
    let account = Account::new().await;
    let asset = account.add_cube().await;
    let mounted = account.mount().await;
    mounted
        .tree
        .write("/rawmodels/cube/.assetfs/ctl", b"scale 0.01\n")
        .await
        .unwrap();
    let record = account
        .client
        .assets()
        .get(asset, Priority::Interactive)
        .await;
    assert_eq!(record.unwrap().scale_factor, Some(0.01));
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tags_that_change_twice_right_after_an_upload_are_the_last_ones() {
    let (_account, mounted) = Account::mounted().await;
    let tree = &mounted.tree;
    for number in 0..8 {
        let path = format!("/rawmodels/m{number}");
        let bytes = [MINIMAL_GLTF, &vec![b' '; number]].concat();
        tree.write(&format!("{path}.gltf"), &bytes).await.unwrap();
        let order = format!("commit m{number}.gltf\n");
        tree.write("/rawmodels/.assetfs/ctl", order.as_bytes())
            .await
            .unwrap();
        tree.until_status(&format!("{path}/.assetfs/status"), "complete")
            .await;
        for tags in ["red", "blue", "oak,red", "blue", "green"] {
            let set = tree.set_xattr(&path, "user.xdg.tags", tags).await;
            set.unwrap_or_else(|error| panic!("{path}: {tags}: {error:?}"));
            assert_eq!(tree.xattr(&path, "user.xdg.tags").await.unwrap(), tags);
        }
    }
    mounted.close().await;
}
