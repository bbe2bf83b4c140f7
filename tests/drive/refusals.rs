//! Operations that fail, and their errors.

use assetfs::drive::{Caller, DriveError};

use crate::support::account::Account;

#[tokio::test(flavor = "multi_thread")]
async fn nothing_can_be_made_where_it_has_no_meaning() {
    let (_account, mounted) = Account::mounted().await;
    let tree = &mounted.tree;
    for path in ["/new", "/rapidmodels/new", "/account/new", "/presets/new"] {
        let refused = tree.mkdir(path).await.unwrap_err();
        assert!(
            matches!(refused, DriveError::ReadOnly(_)),
            "{path}: {refused:?}"
        );
    }
    assert!(
        tree.why("/rapidmodels/new")
            .await
            .contains("optimize folder"),
        "{}",
        tree.why("/rapidmodels/new").await
    );
    let refused = tree.mkdir("/.Trash-1000").await.unwrap_err();
    assert!(
        matches!(refused, DriveError::NotPermitted(_)),
        "{refused:?}"
    );
    for path in ["/rawmodels", "/account/points", "/rawmodels/.assetfs"] {
        let refused = tree.rmdir(path).await.unwrap_err();
        assert!(
            matches!(
                refused,
                DriveError::NotPermitted(_) | DriveError::NotAFolder
            ),
            "{path}: {refused:?}"
        );
    }
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_of_another_user_than_the_owner_and_root_are_refused_with_a_sentence() {
    let (account, mounted) = Account::mounted_with_cube().await;
    let tree = &mounted.tree;
    let ctl = "/rawmodels/cube/.assetfs/ctl";
    let ino = tree.look(ctl).await.unwrap().attributes.ino;
    let other = Caller {
        uid: 6161,
        ..tree.caller
    };
    let refused = mounted.drive.command(ino, "cancel", &other).await;
    let Err(DriveError::NotPermitted(why)) = refused else {
        panic!("{refused:?}");
    };
    assert!(why.contains("belongs to another user"), "{why}");
    assert!(tree.why(ctl).await.contains("belongs to another user"));
    assert_eq!(account.assets().await.len(), 1);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_error_of_a_write_to_ctl_is_the_error_of_its_command() {
    let (_account, mounted) = Account::mounted_with_cube().await;
    let tree = &mounted.tree;
    let refused = tree
        .write("/rawmodels/cube/.assetfs/ctl", b"frobnicate\n")
        .await
        .unwrap_err();
    assert!(matches!(refused, DriveError::Invalid(_)), "{refused:?}");
    assert!(
        tree.why("/rawmodels/cube/.assetfs/ctl")
            .await
            .contains("frobnicate")
    );
    let refused = tree
        .write("/rawmodels/cube/.assetfs/ctl", b"scale tiny")
        .await
        .unwrap_err();
    assert!(
        matches!(refused, DriveError::Invalid(_)),
        "a last line that is not ended counts: {refused:?}"
    );
    tree.write("/rawmodels/cube/.assetfs/ctl", b"refresh\nscale 0.01\n")
        .await
        .unwrap();
    let detail = tree
        .read_text("/rawmodels/cube/.assetfs/detail.json")
        .await
        .unwrap();
    assert!(detail.contains("0.01"), "{detail}");
    let help = tree
        .read_text("/rawmodels/cube/.assetfs/ctl")
        .await
        .unwrap();
    assert!(help.contains("commit") && help.contains("retry"), "{help}");
    mounted.close().await;
}
