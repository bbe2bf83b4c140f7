//! Embeds, and jobs for many models, are created by copying a file.

use assetfs::client::{EmbedQuery, Priority};
use assetfs::drive::{DriveError, FileKind};

use crate::support::account::{Account, MINIMAL_GLTF, Mounted};

const TEN_PERCENT: &[u8] = br#"{"schema":"2.5","limits":{"faces":{"percentage":10}},
"compressionAndExport":{"fileExports":[{"fileType":"glb"}]}}"#;

async fn with_rapid() -> (Account, Mounted, String) {
    let (account, mounted) = Account::mounted_with_cube().await;
    let tree = &mounted.tree;
    tree.optimize("cube", "small", TEN_PERCENT).await;
    let rapid = tree.list("/rapidmodels").await.unwrap().remove(0);
    (account, mounted, rapid)
}

async fn embeds_on_service(account: &Account) -> u64 {
    let page = account
        .client
        .embeds()
        .list(EmbedQuery::default(), Priority::Interactive)
        .await;
    page.unwrap().meta.total
}

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_dropped_into_embeds_is_made_once_shown_as_a_page_and_deleted_by_rm() {
    let (account, mounted, rapid) = with_rapid().await;
    let tree = &mounted.tree;
    let folder = format!("/rapidmodels/{rapid}/embeds");
    let viewer = format!("{folder}/viewer.json");
    tree.write(&viewer, b"{}").await.unwrap();
    tree.until_status(&format!("{folder}/viewer.status"), "done")
        .await;
    tree.write(&viewer, b"{}").await.unwrap();
    assert_eq!(embeds_on_service(&account).await, 1, "the same text once");
    let rows = tree.rows(&folder).await.unwrap();
    assert!(
        rows.contains(&("viewer.html".to_owned(), FileKind::Link)),
        "{rows:?}"
    );
    let link = tree.read_link(&format!("{folder}/viewer.html")).await;
    assert_eq!(link.unwrap(), "../../../embeds/viewer.html");

    let named = br#"{"name":"My <b>chair</b>","config":{"shadowToggle":"true"}}"#;
    tree.write(&format!("{folder}/named.json"), named)
        .await
        .unwrap();
    tree.until_status(&format!("{folder}/named.status"), "done")
        .await;
    let pages = tree.list("/embeds").await.unwrap();
    assert_eq!(pages, ["My <b>chair<%2Fb>.html", "viewer.html"]);
    let page = tree.read_text(&format!("/embeds/{}", pages[0])).await;
    let page = page.unwrap();
    assert!(
        page.contains("http-equiv=\"refresh\"") && !page.contains("<b>"),
        "{page}"
    );
    let record = tree
        .read_text("/embeds/.assetfs/viewer.json")
        .await
        .unwrap();
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    let url = record["url"].as_str().unwrap();
    assert!(url.contains("/embed/"), "{url}");
    let shown = tree.xattr("/embeds/viewer.html", "user.assetfs.url").await;
    assert_eq!(shown.unwrap(), url);

    tree.unlink("/embeds/viewer.html").await.unwrap();
    assert_eq!(tree.list("/embeds").await.unwrap().len(), 1);
    assert_eq!(embeds_on_service(&account).await, 1);
    let left = tree.list(&folder).await.unwrap();
    assert!(!left.contains(&"viewer.html".to_owned()), "{left:?}");
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_viewer_is_refused_and_no_delete_keeps_the_embed() {
    let (account, mounted, rapid) = with_rapid().await;
    let folder = format!("/rapidmodels/{rapid}/embeds");
    let refused = mounted
        .tree
        .write(&format!("{folder}/bad.json"), br#"{"colour":"red"}"#)
        .await;
    assert!(
        matches!(refused, Err(DriveError::Invalid(_))),
        "{refused:?}"
    );
    let errors = mounted.tree.read_text(&format!("{folder}/ERROR.txt")).await;
    assert!(errors.unwrap().contains("bad.json"));
    mounted
        .tree
        .write(&format!("{folder}/good.json"), b"{}")
        .await
        .unwrap();
    mounted
        .tree
        .until_status(&format!("{folder}/good.status"), "done")
        .await;
    mounted.close().await;
    let mounted = account.mount_with(|config| config.no_delete = true).await;
    let refused = mounted.tree.unlink("/embeds/good.html").await;
    assert!(matches!(refused, Err(DriveError::NotPermitted(_))));
    assert_eq!(embeds_on_service(&account).await, 1);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_glb_asset_has_embeds_of_its_own() {
    let (account, mounted, rapid) = with_rapid().await;
    let tree = &mounted.tree;
    let results = tree.list(&format!("/rapidmodels/{rapid}")).await.unwrap();
    let glb = results.iter().find(|name| name.ends_with(".glb")).unwrap();
    let bytes = tree.read(&format!("/rapidmodels/{rapid}/{glb}")).await;
    account
        .upload_elsewhere("solid", &[("solid.glb", &bytes.unwrap())])
        .await;
    // It shows within the refresh time.
    tree.until_status("/rawmodels/solid/.assetfs/state", "complete")
        .await;
    let listed = tree.list("/rawmodels/solid").await.unwrap();
    assert!(listed.contains(&"embeds".to_owned()), "{listed:?}");
    assert!(
        !tree.exists("/rawmodels/cube/embeds").await,
        "a gltf has none"
    );
    tree.write("/rawmodels/solid/embeds/show.json", b"{}")
        .await
        .unwrap();
    tree.until_status("/rawmodels/solid/embeds/show.status", "done")
        .await;
    assert!(tree.exists("/embeds/show.html").await);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_dropped_into_jobs_optimizes_several_models_by_their_paths() {
    let account = Account::new().await;
    let mut ids = Vec::new();
    for name in ["one", "two"] {
        let id = account
            .upload_elsewhere(name, &[("cube.gltf", MINIMAL_GLTF)])
            .await;
        ids.push(id);
    }
    let mounted = account.mount().await;
    let tree = &mounted.tree;
    let text = format!(
        r#"{{"optimizations":[
            {{"model":"/mnt/assets/rawmodels/one","config":{{"limits":{{"faces":{{"percentage":50}}}}}}}},
            {{"model_id":{},"config":{{"limits":{{"faces":{{"percentage":50}}}},"tags":["both"]}}}}]}}"#,
        ids[1]
    );
    tree.write("/jobs/both.json", text.as_bytes())
        .await
        .unwrap();
    tree.until_status("/jobs/both.status", "done").await;
    for name in ["one", "two"] {
        let made = tree.list(&format!("/rawmodels/{name}/rapidmodels")).await;
        assert_eq!(made.unwrap().len(), 1, "{name}");
    }
    tree.write("/jobs/both.json", text.as_bytes())
        .await
        .unwrap();
    assert_eq!(tree.list("/rapidmodels").await.unwrap().len(), 2);

    let missing = br#"{"optimizations":[{"model":"rawmodels/nobody","config":{"preset_id":1}}]}"#;
    let refused = tree.write("/jobs/missing.json", missing).await;
    assert!(
        matches!(refused, Err(DriveError::Invalid(_))),
        "{refused:?}"
    );
    assert!(tree.why("/jobs/missing.json").await.contains("nobody"));
    let listed = tree.list("/jobs").await.unwrap();
    assert!(listed.contains(&"both.status".to_owned()), "{listed:?}");
    assert!(listed.contains(&"ERROR.txt".to_owned()), "{listed:?}");
    mounted.close().await;
}
