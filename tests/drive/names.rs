//! Names that come from the service.

use assetfs::client::Priority;
use assetfs::drive::DriveError;

use crate::support::account::{Account, MINIMAL_GLTF, Mounted};

#[tokio::test(flavor = "multi_thread")]
async fn two_objects_with_one_name_stay_distinct_over_remounts() {
    let account = Account::new().await;
    let first = account.add_cube().await;
    let mounted = account.mount().await;
    assert_eq!(mounted.tree.list("/rawmodels").await.unwrap(), ["cube"]);
    let second = account
        .upload_elsewhere("cube", &[("other.gltf", MINIMAL_GLTF)])
        .await;
    tokio::time::sleep(std::time::Duration::from_millis(120)).await;
    let later = format!("cube~{second}");
    assert_eq!(
        mounted.tree.list("/rawmodels").await.unwrap(),
        ["cube", &later]
    );
    assert!(
        mounted
            .tree
            .exists(&format!("/rawmodels/{later}/other.gltf"))
            .await
    );
    assert!(
        mounted
            .tree
            .exists(&format!("/rawmodels/cube~{first}/cube.gltf"))
            .await,
        "name~<id> always resolves"
    );
    account.client.assets().delete(first).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(120)).await;
    assert_eq!(
        mounted.tree.list("/rawmodels").await.unwrap(),
        std::slice::from_ref(&later)
    );
    mounted.close().await;
    let mounted = account.mount().await;
    assert_eq!(mounted.tree.list("/rawmodels").await.unwrap(), [later]);
    mounted.close().await;
}

/// Waits until `rawmodels/` has these names and no others.
async fn until_listed(mounted: &Mounted, names: &[&str]) {
    let mut listed = Vec::new();
    for _ in 0..100 {
        listed = mounted.tree.list("/rawmodels").await.unwrap();
        listed.sort();
        if listed == names {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("{listed:?}, not {names:?}");
}

/// An account with a model `chair` that the drive has listed while a draft had the name.
async fn chair_beside_a_draft() -> (Account, Mounted, String) {
    let (account, mounted) = Account::mounted().await;
    mounted.tree.mkdir("/rawmodels/chair").await.unwrap();
    let asset = account
        .upload_elsewhere("chair", &[("chair.gltf", MINIMAL_GLTF)])
        .await;
    let later = format!("chair~{asset}");
    until_listed(&mounted, &["chair", &later]).await;
    (account, mounted, later)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_was_listed_beside_a_draft_gets_the_plain_name_once_the_draft_gives_it_up() {
    let (account, mounted, later) = chair_beside_a_draft().await;
    mounted
        .tree
        .rename("/rawmodels/chair", "/rawmodels/stool")
        .await
        .unwrap();
    until_listed(&mounted, &["chair", "stool"]).await;
    assert!(mounted.tree.exists("/rawmodels/chair/chair.gltf").await);
    assert!(mounted.tree.exists(&format!("/rawmodels/{later}")).await);
    mounted.close().await;

    let mounted = account.mount().await;
    until_listed(&mounted, &["chair", "stool"]).await;
    mounted.tree.rmdir("/rawmodels/stool").await.unwrap();
    until_listed(&mounted, &["chair"]).await;
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_that_is_made_and_removed_later_changes_no_name() {
    let account = Account::new().await;
    let first = account.add_cube().await;
    let second = account.add_cube().await;
    let mounted = account.mount().await;
    let later = format!("cube~{second}");
    until_listed(&mounted, &["cube", &later]).await;
    account.client.assets().delete(first).await.unwrap();
    until_listed(&mounted, &[&later]).await;
    mounted.tree.mkdir("/rawmodels/cube").await.unwrap();
    until_listed(&mounted, &["cube", &later]).await;
    mounted.tree.rmdir("/rawmodels/cube").await.unwrap();
    mounted.tree.mkdir("/rawmodels/table").await.unwrap();
    until_listed(&mounted, &[&later, "table"]).await;
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_a_draft_gave_up_just_before_a_kill_is_passed_on_by_the_next_mount() {
    let (account, mounted, _) = chair_beside_a_draft().await;
    // Killed before the drive heard of it: only the outbox knows.
    mounted.drive.shut_down().await;
    let draft = mounted.outbox.drafts().find("chair").unwrap();
    mounted.outbox.drafts().remove(draft.id).unwrap();
    mounted.close().await;
    let mounted = account.mount().await;
    until_listed(&mounted, &["chair"]).await;
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_that_has_its_name_back_just_before_a_kill_is_the_only_one_of_that_name() {
    let (account, mounted) = Account::mounted_with_cube().await;
    until_listed(&mounted, &["cube"]).await;
    mounted.drive.shut_down().await;
    let caller = assetfs::outbox::Caller {
        pid: 1,
        uid: 0,
        gid: 0,
    };
    mounted
        .outbox
        .drafts()
        .create("cube", 0o755, &caller)
        .unwrap();
    mounted.close().await;
    let mounted = account.mount().await;
    let (asset, _) = account.assets().await.remove(0);
    until_listed(&mounted, &["cube", &format!("cube~{asset}")]).await;
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_name_of_the_service_can_leave_its_folder_or_break_a_listing() {
    let account = Account::new().await;
    let hostile = [
        "../../etc/passwd",
        "..",
        ".",
        ".assetfs",
        "a/b",
        "line\nbreak",
        "\u{202e}gpj.exe",
        "optimize",
        "50%25",
        "-rf",
    ];
    let mut taken = 0;
    for name in hostile {
        let request = assetfs::wire::StartUpload {
            model_name: name.to_owned(),
            filenames: vec!["x.glb".into()],
            is_zip: false,
        };
        // The service may refuse some of them; accepted names must be shown safely.
        taken += usize::from(account.client.assets().start_upload(&request).await.is_ok());
    }
    assert!(taken > 0);
    let mounted = account.mount().await;
    let listed = mounted.tree.list("/rawmodels").await.unwrap();
    assert_eq!(listed.len(), taken, "{listed:?}");
    for name in &listed {
        assert!(
            !name.contains('/') && !matches!(name.as_str(), "." | ".." | ".assetfs"),
            "{name:?}"
        );
        assert!(!name.chars().any(char::is_control), "{name:?}");
        let path = format!("/rawmodels/{name}");
        assert!(mounted.tree.exists(&path).await, "{name:?}");
        assert!(
            mounted
                .tree
                .exists(&format!("{path}/.assetfs/status"))
                .await,
            "{name:?}"
        );
    }
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_with_percent_signs_is_one_model_and_the_same_on_every_machine() {
    let account = Account::new().await;
    let here = account.mount().await;
    let (there, _) = account.mount_apart(1, |_| {}).await;
    // The third is found by its path there, before anything is listed.
    let names = ["50%25", "a%20b", "a%2Fb"];
    for name in names {
        let folder = format!("/rawmodels/{name}");
        here.tree.mkdir(&folder).await.unwrap();
        let file = format!("{folder}/{name}.gltf");
        here.tree.write(&file, MINIMAL_GLTF).await.unwrap();
        let hidden = format!("{folder}/.assetfs");
        here.tree
            .write(&format!("{hidden}/ctl"), b"commit")
            .await
            .unwrap();
        here.tree
            .until_status(&format!("{hidden}/status"), "complete")
            .await;
    }
    assert!(there.tree.exists("/rawmodels/a%2Fb/a%2Fb.gltf").await);
    for mounted in [&here, &there] {
        until_listed(mounted, &names).await;
    }
    for name in names {
        let again = there.tree.mkdir(&format!("/rawmodels/{name}")).await;
        assert_eq!(again.unwrap_err(), DriveError::Exists, "{name}");
    }
    assert_eq!(account.assets().await.len(), names.len());
    here.close().await;
    there.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_over_255_bytes_is_too_long_everywhere() {
    let (_account, mounted) = Account::mounted().await;
    let long = "x".repeat(256);
    assert_eq!(
        mounted
            .tree
            .look(&format!("/rawmodels/{long}"))
            .await
            .unwrap_err(),
        DriveError::NameTooLong
    );
    assert_eq!(
        mounted
            .tree
            .mkdir(&format!("/rawmodels/{long}"))
            .await
            .unwrap_err(),
        DriveError::NameTooLong
    );
    let fits = "x".repeat(255);
    mounted
        .tree
        .mkdir(&format!("/rawmodels/{fits}"))
        .await
        .unwrap();
    mounted.close().await;
}

/// A configuration that keeps so many percent of the faces: each is another text.
fn percent(faces: u8) -> String {
    format!(
        r#"{{"schema":"2.5","limits":{{"faces":{{"percentage":{faces}}}}},
        "compressionAndExport":{{"fileExports":[{{"fileType":"glb"}}]}}}}"#
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_later_result_is_named_by_its_text_in_optimize_and_keeps_that_name_over_remounts() {
    let account = Account::new().await;
    let cube = account.add_cube().await;
    let mounted = account.mount().await;
    let odd = ["small", "web", "50%25 \u{202e}off", "~7"];
    let named = [
        "cube",
        "cube (web)",
        "cube (50%2525 %E2%80%AEoff)",
        "cube (~7)",
    ];
    for (faces, text) in (10..).zip(odd) {
        let path = format!("/rawmodels/cube/optimize/{text}");
        let config = percent(faces);
        mounted
            .tree
            .write(&format!("{path}.json"), config.as_bytes())
            .await
            .unwrap();
        mounted
            .tree
            .until_status(&format!("{path}.status"), "done")
            .await;
    }
    // The same text is paid again: its name is taken by its first result.
    mounted
        .tree
        .write("/rawmodels/cube/.assetfs/ctl", b"run web.json")
        .await
        .unwrap();
    let web = "/rawmodels/cube/optimize/web";
    let first = format!("../../../rapidmodels/{}", named[1]);
    let is_second = |target: &String| *target != first;
    while !mounted
        .tree
        .read_link(web)
        .await
        .is_ok_and(|target| is_second(&target))
    {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let preset = account.client.presets().factory(Priority::Interactive);
    let preset = preset.await.unwrap().remove(0).id;
    let request = assetfs::wire::OptimizeRequest::by_preset(preset);
    let made = account
        .client
        .optimizations()
        .start(cube, &request)
        .await
        .unwrap();
    mounted.close().await;

    for _ in 0..2 {
        let mounted = account.mount().await;
        let tree = &mounted.tree;
        for (text, name) in odd.iter().zip(named) {
            let link = format!("/rawmodels/cube/optimize/{text}");
            let target = tree.read_link(&link).await.unwrap();
            if *text != "web" {
                assert_eq!(target, format!("../../../rapidmodels/{name}"));
            }
        }
        let listed = tree.list("/rapidmodels").await.unwrap();
        assert!(
            named
                .iter()
                .all(|name| listed.contains(&(*name).to_owned())),
            "{listed:?}"
        );
        assert_eq!(listed.len(), 6, "{listed:?}");
        assert!(listed.contains(&format!("cube~{}", made.id)), "{listed:?}");
        let again = listed
            .iter()
            .find(|name| name.starts_with("cube (web)~"))
            .unwrap_or_else(|| panic!("{listed:?}"));
        let target = tree.read_link("/rawmodels/cube/optimize/web").await;
        assert_eq!(target.unwrap(), format!("../../../rapidmodels/{again}"));
        let links = tree.list("/rawmodels/cube/rapidmodels").await.unwrap();
        assert_eq!(links, listed);
        for name in &listed {
            let path = format!("/rapidmodels/{name}");
            let id = tree.xattr(&path, "user.assetfs.id").await.unwrap();
            let by_id = tree.stat(&format!("/rapidmodels/cube~{id}")).await.unwrap();
            assert_eq!(by_id.ino, tree.stat(&path).await.unwrap().ino, "{name}");
        }
        mounted.close().await;
    }
}
