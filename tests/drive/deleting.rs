//! Deletions: one DELETE for an `rm -r`, none for the `rm` of a single file.

use std::time::Duration;

use assetfs::drive::{DriveError, FileKind, SetAttributes};

use assetfs::wire::RapidId;

use crate::support::account::{Account, MINIMAL_GLTF, OtherProcess};

#[tokio::test(flavor = "multi_thread")]
async fn rm_r_of_an_asset_deletes_it_on_the_service() {
    let account = Account::new().await;
    account
        .upload_elsewhere("cube", &[("cube.gltf", MINIMAL_GLTF), ("more.txt", b"x")])
        .await;
    account
        .upload_elsewhere("other", &[("cube.gltf", MINIMAL_GLTF)])
        .await;
    let mounted = account.mount().await;
    let tree = &mounted.tree;
    tree.remove_all("/rawmodels/cube").await.unwrap();
    assert_eq!(tree.list("/rawmodels").await.unwrap(), ["other"]);
    assert_eq!(
        tree.look("/rawmodels/cube").await.unwrap_err(),
        DriveError::NotFound
    );
    assert_eq!(account.assets().await.len(), 1);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_unlinked_is_back_when_the_rmdir_does_not_come() {
    let account = Account::new().await;
    account.add_cube().await;
    let mounted = account
        .mount_with(|config| config.restore_after = Duration::from_millis(300))
        .await;
    let tree = &mounted.tree;
    let before = tree.list("/rawmodels/cube").await.unwrap();
    tree.unlink("/rawmodels/cube/cube.gltf").await.unwrap();
    assert!(!tree.exists("/rawmodels/cube/cube.gltf").await);
    tokio::time::sleep(Duration::from_millis(350)).await;
    assert_eq!(tree.list("/rawmodels/cube").await.unwrap(), before);
    assert_eq!(account.assets().await.len(), 1);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_process_that_removed_the_entries_ends_the_deletion() {
    let (account, mounted) = Account::mounted_with_cube().await;
    let tree = &mounted.tree;
    assert_eq!(
        tree.rmdir("/rawmodels/cube").await.unwrap_err(),
        DriveError::NotEmpty
    );
    for (name, _) in tree.rows("/rawmodels/cube").await.unwrap() {
        let path = format!("/rawmodels/cube/{name}");
        if tree.unlink(&path).await == Err(DriveError::IsAFolder) {
            tree.remove_all(&path).await.unwrap();
        }
    }
    let other = OtherProcess::start();
    let refused = tree
        .as_process(other.pid())
        .rmdir("/rawmodels/cube")
        .await
        .unwrap_err();
    assert!(
        matches!(refused, DriveError::NotPermitted(_)),
        "{refused:?}"
    );
    assert_eq!(account.assets().await.len(), 1);
    tree.rmdir("/rawmodels/cube").await.unwrap();
    assert_eq!(account.assets().await.len(), 0);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_is_removed_on_a_service_that_is_slower_than_what_was_removed_stays_hidden() {
    const SLOW: &str = "[[rule]]\npath = \"/api/*\"\nfault = { kind = \"latency\", ms = 500 }\n";
    let mut account = Account::new().await;
    let files = [("a.png", &b"x"[..]), ("cube.gltf", MINIMAL_GLTF)];
    account.upload_elsewhere("cube", &files).await;
    account.meet_faults(SLOW).await;
    let mounted = account
        .mount_with(|config| config.restore_after = Duration::from_millis(300))
        .await;
    mounted.tree.remove_all("/rawmodels/cube").await.unwrap();
    assert_eq!(account.assets().await.len(), 0);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_removed_stays_hidden_while_its_program_removes_something_else() {
    let account = Account::new().await;
    account.add_cube().await;
    let files = ["a.txt", "b.txt", "c.txt", "d.txt"].map(|name| (name, &b"x"[..]));
    let files = [&files[..], &[("cube.gltf", MINIMAL_GLTF)]].concat();
    account.upload_elsewhere("other", &files).await;
    let mounted = account
        .mount_with(|config| config.restore_after = Duration::from_secs(2))
        .await;
    let tree = &mounted.tree;
    for (name, _) in tree.rows("/rawmodels/cube").await.unwrap() {
        let path = format!("/rawmodels/cube/{name}");
        if tree.unlink(&path).await == Err(DriveError::IsAFolder) {
            tree.remove_all(&path).await.unwrap();
        }
    }
    for name in ["a.txt", "b.txt", "c.txt", "d.txt"] {
        tokio::time::sleep(Duration::from_millis(700)).await;
        let path = format!("/rawmodels/other/{name}");
        tree.unlink(&path).await.unwrap();
    }
    tree.rmdir("/rawmodels/cube").await.unwrap();
    assert_eq!(account.assets().await.len(), 1);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rm_r_ends_although_the_import_adds_folders_between_its_listing_and_its_rmdir() {
    let account = Account::with_slow_imports().await;
    let mounted = account.mount().await;
    let tree = &mounted.tree;
    let files = [("cube.gltf".to_owned(), MINIMAL_GLTF.to_vec())];
    tree.copy_in(&files, "/rawmodels/cube").await.unwrap();
    tree.sync("/rawmodels/cube").await.unwrap();
    while !tree.exists("/rawmodels/cube/optimize").await {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let listed = tree.list("/rawmodels/cube").await.unwrap();
    assert_eq!(listed, ["cube.gltf", "optimize"], "the import is not over");
    let status = "/rawmodels/cube/.assetfs/status";
    tree.until_status(status, "complete").await;
    tree.unlink("/rawmodels/cube/cube.gltf").await.unwrap();
    let refused = tree.rmdir("/rawmodels/cube").await.unwrap_err();
    assert_eq!(refused, DriveError::NotEmpty, "`optimize/` was listed");
    tree.remove_all("/rawmodels/cube/optimize").await.unwrap();
    let other = OtherProcess::start();
    let another = tree.as_process(other.pid());
    let refused = another.rmdir("/rawmodels/cube").await.unwrap_err();
    assert_eq!(refused, DriveError::NotEmpty, "it listed nothing");
    tree.rmdir("/rawmodels/cube").await.unwrap();
    assert_eq!(account.assets().await.len(), 0);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rm_r_ends_although_a_retry_takes_away_what_it_has_listed() {
    let account = Account::with_slow_imports().await;
    let damaged = [("broken.glb", &b"glTF, but no more"[..])];
    let asset = account.upload_elsewhere("broken", &damaged).await;
    assert!(account.until_final(asset).await.is_failure());
    let mounted = account.mount().await;
    let tree = &mounted.tree;
    let listed = tree.rows("/rawmodels/broken").await.unwrap();
    let names: Vec<&str> = listed.iter().map(|(name, _)| name.as_str()).collect();
    assert!(names.contains(&"ERROR.txt") && names.contains(&"analysis"));
    tree.write("/rawmodels/broken/.assetfs/ctl", b"retry\n")
        .await
        .unwrap();
    let other = OtherProcess::start();
    let another = tree.as_process(other.pid());
    let error = "/rawmodels/broken/ERROR.txt";
    while another.exists(error).await {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(!tree.exists(error).await, "nothing was removed yet");
    tree.unlink("/rawmodels/broken/broken.glb").await.unwrap();
    assert_eq!(another.unlink(error).await, Err(DriveError::NotFound));
    assert_eq!(tree.read(error).await, Err(DriveError::NotFound));
    for (name, kind) in listed {
        let path = format!("/rawmodels/broken/{name}");
        match kind {
            FileKind::Folder => tree.remove_all(&path).await.unwrap(),
            _ if name == "broken.glb" => {}
            _ => tree.unlink(&path).await.unwrap(),
        }
        assert!(!tree.exists(&path).await, "{path} was removed");
    }
    tree.rmdir("/rawmodels/broken").await.unwrap();
    assert_eq!(account.assets().await.len(), 0);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_removed_file_of_a_listed_model_deletes_nothing() {
    let account = Account::with_slow_imports().await;
    let mounted = account.mount().await;
    let tree = &mounted.tree;
    let files = [("cube.gltf".to_owned(), MINIMAL_GLTF.to_vec())];
    tree.copy_in(&files, "/rawmodels/cube").await.unwrap();
    tree.sync("/rawmodels/cube").await.unwrap();
    let status = "/rawmodels/cube/.assetfs/status";
    tree.until_status(status, "complete").await;
    let listed = tree.list("/rawmodels/cube").await.unwrap();
    tree.unlink("/rawmodels/cube/cube.gltf").await.unwrap();
    let refused = tree.rmdir("/rawmodels/cube").await.unwrap_err();
    assert_eq!(refused, DriveError::NotEmpty);
    let left = tree.list("/rawmodels/cube").await.unwrap();
    assert_eq!(left.len() + 1, listed.len(), "{left:?}");
    assert_eq!(account.assets().await.len(), 1);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_than_the_limit_a_minute_is_refused_until_allow_delete() {
    let account = Account::new().await;
    for number in 0..3 {
        account.begin_elsewhere(&format!("model{number}")).await;
    }
    let mounted = account.mount_with(|config| config.delete_limit = 2).await;
    let tree = &mounted.tree;
    tree.remove_all("/rawmodels/model0").await.unwrap();
    tree.remove_all("/rawmodels/model1").await.unwrap();
    let refused = tree.remove_all("/rawmodels/model2").await.unwrap_err();
    assert!(
        matches!(refused, DriveError::NotPermitted(_)),
        "{refused:?}"
    );
    assert!(
        tree.why("/rawmodels/model2").await.contains("allow-delete")
            || refused.to_string().contains("allow-delete")
    );
    tree.write("/.assetfs/ctl", b"allow-delete\n")
        .await
        .unwrap();
    tree.remove_all("/rawmodels/model2").await.unwrap();
    assert_eq!(account.assets().await.len(), 0);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn beyond_the_limit_what_the_service_made_is_hidden_and_a_model_is_not_touched() {
    let account = Account::new().await;
    account.add_cube().await;
    let mounted = account.mount_with(|config| config.delete_limit = 0).await;
    let tree = &mounted.tree;
    tree.unlink("/rawmodels/cube/analysis/info.log")
        .await
        .unwrap();
    let own = tree.unlink("/rawmodels/cube/cube.gltf").await.unwrap_err();
    let asset = account.assets().await[0].0;
    let command = format!("delete rawmodels {asset}\n");
    let many = tree.write("/.assetfs/ctl", command.as_bytes()).await;
    for refused in [own, many.unwrap_err()] {
        assert!(refused.to_string().contains("allow-delete"), "{refused}");
    }
    let command = format!("delete rawmodels {asset} {asset}9\n");
    let many = tree.write("/.assetfs/ctl", command.as_bytes()).await;
    let said = many.unwrap_err().to_string();
    assert!(said.starts_with("this would delete 2 models"), "{said}");
    assert!(
        said.contains("`assetfs rm --yes`") && !said.contains("were deleted"),
        "{said}"
    );
    assert!(tree.exists("/rawmodels/cube/cube.gltf").await);
    assert_eq!(account.assets().await.len(), 1);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_models_are_deleted_as_one_is_also_where_one_is_gone_already() {
    let account = Account::new().await;
    for number in 0..3 {
        account.begin_elsewhere(&format!("model{number}")).await;
    }
    let mounted = account.mount_with(|config| config.delete_limit = 4).await;
    let tree = &mounted.tree;
    let ids: Vec<String> = account
        .assets()
        .await
        .iter()
        .map(|row| row.0.to_string())
        .collect();
    let command = format!("delete rawmodels {}\n", ids.join(" "));
    tree.write("/.assetfs/ctl", command.as_bytes())
        .await
        .unwrap();
    assert!(account.assets().await.is_empty());
    assert!(tree.list("/rawmodels").await.unwrap().is_empty());
    // They are gone by now, and counted.
    let again = format!("delete rawmodels {} {}\n", ids[0], ids[1]);
    let refused = tree.write("/.assetfs/ctl", again.as_bytes()).await;
    assert!(refused.unwrap_err().to_string().contains("allow-delete"));
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn read_only_and_no_delete_refuse_before_anything_is_hidden() {
    let account = Account::new().await;
    account.add_cube().await;
    let mounted = account.mount_with(|config| config.no_delete = true).await;
    let refused = mounted
        .tree
        .unlink("/rawmodels/cube/cube.gltf")
        .await
        .unwrap_err();
    assert!(
        matches!(refused, DriveError::NotPermitted(_)),
        "{refused:?}"
    );
    assert!(mounted.tree.exists("/rawmodels/cube/cube.gltf").await);
    mounted.close().await;
    let mounted = account.mount_with(|config| config.read_only = true).await;
    let refused = mounted
        .tree
        .unlink("/rawmodels/cube/cube.gltf")
        .await
        .unwrap_err();
    assert!(matches!(refused, DriveError::ReadOnly(_)), "{refused:?}");
    assert!(matches!(
        mounted.tree.mkdir("/rawmodels/new").await,
        Err(DriveError::ReadOnly(_))
    ));
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_copied_from_a_read_only_folder_can_be_deleted_by_its_owner() {
    let (_account, mounted) = Account::mounted().await;
    let tree = &mounted.tree;
    let files = [("cube.gltf".to_owned(), MINIMAL_GLTF.to_vec())];
    tree.copy_in(&files, "/rawmodels/cube").await.unwrap();
    let folder = tree.stat("/rawmodels/cube").await.unwrap();
    let read_only = SetAttributes {
        mode: Some(0o555),
        ..SetAttributes::default()
    };
    let shown = mounted.drive.setattr(folder.ino, &read_only, &tree.caller);
    assert_eq!(shown.await.unwrap().attributes.perm, 0o555, "in a draft");
    let other = OtherProcess::start();
    let from_elsewhere = tree.as_process(other.pid());
    from_elsewhere.sync("/rawmodels/cube").await.unwrap();
    let perm = tree.stat("/rawmodels/cube").await.unwrap().perm;
    assert_eq!(
        perm, 0o755,
        "the kernel lets its owner remove what is in it"
    );
    mounted.close().await;
}

/// Every deletion is slow.
const SLOW_DELETES: &str = "[[rule]]\nmethod = \"DELETE\"\npath = \"/api/*\"\n\
    fault = { kind = \"latency\", ms = 300 }\n";

#[tokio::test(flavor = "multi_thread")]
async fn optimized_models_embeds_and_presets_that_were_deleted_stay_deleted_over_a_kill() {
    let (preset_path, embed) = ("/presets/web.json", "/embeds/viewer.html");
    // The record of a deletion may be written with that of the next one, so each deletion is tested as the last one.
    // The service deletes an embed with its model.
    for order in [
        ["preset", "embed", "rapid"],
        ["embed", "rapid", "preset"],
        ["preset", "embed", ""],
    ] {
        let mut account = Account::new().await;
        account.add_cube().await;
        let mounted = account.mount().await;
        let tree = &mounted.tree;
        let preset = br#"{"limits":{"faces":{"percentage":50}}}"#;
        tree.write("/presets/web.json", preset).await.unwrap();
        tree.write("/rawmodels/cube/optimize/web.json", preset)
            .await
            .unwrap();
        tree.until_status("/rawmodels/cube/optimize/web.status", "done")
            .await;
        let rapid = tree.list("/rapidmodels").await.unwrap().remove(0);
        let rapid = format!("/rapidmodels/{rapid}");
        tree.write(&format!("{rapid}/embeds/viewer.json"), b"{}")
            .await
            .unwrap();
        tree.until_status(&format!("{rapid}/embeds/viewer.status"), "done")
            .await;
        mounted.close().await;

        account.meet_faults(SLOW_DELETES).await;
        let mounted = account.mount().await;
        let tree = &mounted.tree;
        assert_eq!(tree.list("/embeds").await.unwrap(), ["viewer.html"]);
        assert!(tree.exists("/presets/web.json").await);
        let mut gone = Vec::new();
        for which in order {
            match which {
                "preset" => tree.unlink(preset_path).await.unwrap(),
                "embed" => tree.unlink(embed).await.unwrap(),
                "rapid" => {
                    tree.remove_all(&rapid).await.unwrap();
                    gone.push(rapid.as_str());
                }
                _ => {}
            }
        }
        gone.extend([preset_path, embed]);
        account.stop_service().await;
        let after = account.mount_after_kill().await;
        let all_gone = async |when: &str| {
            for path in &gone {
                let looked = after.tree.look(path).await;
                assert!(looked.is_err(), "{path} is back {when}: {order:?}");
            }
        };
        all_gone("without the service").await;
        account.start_service().await;
        for _ in 0..10 {
            all_gone("with the service").await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        after.close().await;
        mounted.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_whose_results_were_deleted_can_be_deleted_too() {
    for is_deleted_here in [true, false] {
        let (account, mounted) = Account::mounted_with_cube().await;
        let tree = &mounted.tree;
        let preset = br#"{"limits":{"faces":{"percentage":50}}}"#;
        let (folder, status) = (
            "/rawmodels/cube/optimize",
            "/rawmodels/cube/optimize/web.status",
        );
        tree.write(&format!("{folder}/web.json"), preset)
            .await
            .unwrap();
        tree.until_status(status, "done").await;
        assert_eq!(
            tree.list(folder).await.unwrap(),
            ["web", "web.json", "web.status"]
        );
        let rapid = tree.list("/rapidmodels").await.unwrap().remove(0);
        let rapid = format!("/rapidmodels/{rapid}");
        if is_deleted_here {
            tree.remove_all(&rapid).await.unwrap();
        } else {
            let id = tree.xattr(&rapid, "user.assetfs.id").await.unwrap();
            let id = RapidId(id.parse().unwrap());
            account.client.rapids().delete(id).await.unwrap();
        }
        for name in tree.list(folder).await.unwrap() {
            let looked = tree.stat(&format!("{folder}/{name}")).await;
            assert!(looked.is_ok(), "{name} is listed: {looked:?}");
        }
        if is_deleted_here {
            let left = tree.list(folder).await.unwrap();
            assert_eq!(left, ["web.json", "web.status"], "the link leads nowhere");
        }
        tree.remove_all("/rawmodels/cube").await.unwrap();
        assert!(account.assets().await.is_empty());
        mounted.close().await;
    }
}
