//! Names that come from the service.

use assetfs::drive::DriveError;

use crate::support::account::{Account, MINIMAL_GLTF};

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
