//! Copying a model in: drafts, commits, what is shown afterwards.

use std::time::{Duration, SystemTime};

use assetfs::drive::{Access, DriveError, SetAttributes};
use assetfs::wire::UploadStatus;

use crate::support::account::{Account, MINIMAL_GLTF, OtherProcess, files_in};

fn is_complete(status: &str) -> bool {
    status == "complete"
}

/// The kernel keeps the number of a file that it moved, and asks for its attributes by that number alone.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_moves_between_drafts_has_its_attributes_under_its_number_at_once() {
    let (_account, mounted) = Account::mounted().await;
    let tree = &mounted.tree;
    for folder in ["/rawmodels/one", "/rawmodels/two", "/rawmodels/two/sub"] {
        tree.mkdir(folder).await.unwrap();
    }
    tree.write("/rawmodels/one/a.bin", b"a").await.unwrap();
    let path = [
        "/rawmodels/one/a.bin",
        "/rawmodels/two/a.bin",
        "/rawmodels/two/sub/b.bin",
        "/rawmodels/loose.bin",
        "/rawmodels/one/c.bin",
    ];
    let number = tree.stat(path[0]).await.unwrap().ino;
    for (from, to) in path.iter().zip(&path[1..]) {
        tree.rename(from, to).await.unwrap();
        let drive = &tree.drive;
        let found = drive.getattr(number, None).await;
        assert_eq!(found.unwrap().attributes.size, 1, "{to}");
        assert_eq!(tree.stat(to).await.unwrap().ino, number, "{to}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn holes_of_a_draft_take_no_room_whether_it_is_open_or_was_there_before_a_remount() {
    const GIB: u64 = 1 << 30;
    let (account, mounted) = Account::mounted().await;
    let path = "/rawmodels/sparse/hole.part";
    mounted.tree.mkdir("/rawmodels/sparse").await.unwrap();
    mounted.tree.write(path, &[7; 100_000]).await.unwrap();
    let written = mounted.tree.stat(path).await.unwrap();
    assert!(written.allocated >= Some(100_000), "{written:?}");
    let (ino, opened) = mounted.tree.open_for_writing(path).await.unwrap();
    let longer = SetAttributes {
        size: Some(GIB),
        ..SetAttributes::default()
    };
    let drive = &mounted.tree.drive;
    let caller = mounted.tree.caller;
    drive.setattr(ino, &longer, &caller).await.unwrap();
    let open = drive.getattr(ino, Some(opened.fh)).await.unwrap();
    drive.flush(ino, opened.fh, &caller).await.unwrap();
    drive.release(ino, opened.fh).await.unwrap();
    let closed = mounted.tree.stat(path).await.unwrap();
    mounted.close().await;
    let mounted = account.mount().await;
    let later = mounted.tree.stat(path).await.unwrap();
    mounted.close().await;
    for attributes in [open.attributes, closed, later] {
        assert_eq!(attributes.size, GIB);
        assert!(attributes.allocated < Some(1 << 20), "{attributes:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tree_that_was_copied_in_is_the_tree_that_is_shown_afterwards() {
    let (account, mounted) = Account::mounted().await;
    let tree = &mounted.tree;
    let files = files_in(&account.chair());
    tree.copy_in(&files, "/rawmodels/chair").await.unwrap();
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    tree.set_mtime("/rawmodels/chair/chair.bin", old)
        .await
        .unwrap();
    let folder = tree.stat("/rawmodels/chair").await.unwrap();
    let bin = tree.stat("/rawmodels/chair/chair.bin").await.unwrap();
    assert_eq!(bin.mtime, old);
    assert_eq!(tree.list("/rawmodels").await.unwrap(), ["chair"]);

    let other = OtherProcess::start();
    tree.as_process(other.pid())
        .sync("/rawmodels/chair")
        .await
        .unwrap();
    let assets = account.assets().await;
    assert_eq!(assets.len(), 1, "{assets:?}");
    assert_eq!(
        account.until_final(assets[0].0).await,
        UploadStatus::Complete
    );
    tree.until("/rawmodels/chair/.assetfs/status", is_complete)
        .await;

    assert_eq!(tree.list("/rawmodels").await.unwrap(), ["chair"]);
    let listed = tree.list("/rawmodels/chair").await.unwrap();
    for (name, bytes) in &files {
        assert!(listed.contains(name), "{name} in {listed:?}");
        assert_eq!(
            &tree
                .read(&format!("/rawmodels/chair/{name}"))
                .await
                .unwrap(),
            bytes,
            "{name}"
        );
    }
    for folder in ["analysis", "optimize", "rapidmodels"] {
        assert!(
            listed.contains(&folder.to_owned()),
            "{folder} in {listed:?}"
        );
    }
    assert_eq!(
        tree.stat("/rawmodels/chair").await.unwrap().ino,
        folder.ino,
        "the same folder"
    );
    let after = tree.stat("/rawmodels/chair/chair.bin").await.unwrap();
    assert_eq!(
        (after.ino, after.mtime, after.size),
        (bin.ino, old, bin.size),
        "the same file"
    );
    mounted.close().await;

    // The next mount shows the same.
    let mounted = account.mount().await;
    let again = mounted
        .tree
        .stat("/rawmodels/chair/chair.bin")
        .await
        .unwrap();
    assert_eq!(
        (again.ino, again.mtime, again.size),
        (bin.ino, old, bin.size)
    );
    assert_eq!(
        mounted
            .tree
            .xattr("/rawmodels/chair", "user.assetfs.id")
            .await
            .unwrap(),
        assets[0].0.to_string()
    );
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fsync_of_the_folder_by_a_process_that_wrote_into_it_only_makes_durable() {
    let (account, mounted) = Account::mounted().await;
    let tree = &mounted.tree;
    tree.mkdir("/rawmodels/cube").await.unwrap();
    tree.write("/rawmodels/cube/cube.glb", &truncated_glb())
        .await
        .unwrap();
    tree.sync("/rawmodels/cube").await.unwrap();
    assert_eq!(account.assets().await.len(), 0);
    let other = OtherProcess::start();
    let refused = tree
        .as_process(other.pid())
        .sync("/rawmodels/cube")
        .await
        .unwrap_err();
    assert!(matches!(refused, DriveError::Invalid(_)), "{refused:?}");
    assert!(!tree.why("/rawmodels/cube").await.is_empty());
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_is_an_ordinary_folder() {
    let (account, mounted) = Account::mounted().await;
    let tree = &mounted.tree;
    tree.mkdir("/rawmodels/draft").await.unwrap();
    tree.mkdir("/rawmodels/draft/textures").await.unwrap();
    tree.write("/rawmodels/draft/notes.txt", b"one")
        .await
        .unwrap();
    let ino = tree.stat("/rawmodels/draft/notes.txt").await.unwrap().ino;
    tree.rename(
        "/rawmodels/draft/notes.txt",
        "/rawmodels/draft/textures/moved.txt",
    )
    .await
    .unwrap();
    assert_eq!(
        tree.stat("/rawmodels/draft/textures/moved.txt")
            .await
            .unwrap()
            .ino,
        ino
    );
    assert!(!tree.exists("/rawmodels/draft/notes.txt").await);
    let change = SetAttributes {
        mode: Some(0o600),
        uid: Some(1234),
        ..SetAttributes::default()
    };
    let shown = mounted
        .drive
        .setattr(ino, &change, &tree.caller)
        .await
        .unwrap()
        .attributes;
    assert_eq!((shown.perm, shown.uid), (0o600, 1234), "shows what was set");
    tree.set_xattr(
        "/rawmodels/draft/textures/moved.txt",
        "user.anything",
        "kept",
    )
    .await
    .unwrap();
    assert_eq!(
        tree.xattr("/rawmodels/draft/textures/moved.txt", "user.anything")
            .await
            .unwrap(),
        "kept"
    );
    let (ino, opened) = tree
        .open("/rawmodels/draft/textures/moved.txt", Access::ReadWrite)
        .await
        .unwrap();
    tree.unlink("/rawmodels/draft/textures/moved.txt")
        .await
        .unwrap();
    assert_eq!(
        mounted
            .drive
            .getattr(ino, None)
            .await
            .unwrap()
            .attributes
            .size,
        3,
        "open, so still there"
    );
    assert_eq!(
        &mounted.drive.read(ino, opened.fh, 0, 10).await.unwrap()[..],
        b"one"
    );
    mounted.drive.release(ino, opened.fh).await.unwrap();
    assert_eq!(
        tree.rmdir("/rawmodels/draft").await.unwrap_err(),
        DriveError::NotEmpty
    );
    tree.rename("/rawmodels/draft", "/rawmodels/other")
        .await
        .unwrap();
    tree.remove_all("/rawmodels/other").await.unwrap();
    assert_eq!(tree.list("/rawmodels").await.unwrap(), [""; 0]);
    assert_eq!(account.assets().await.len(), 0);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn into_an_asset_that_exists_no_file_can_be_added_and_why_says_so() {
    let (_account, mounted) = Account::mounted_with_cube().await;
    let tree = &mounted.tree;
    for path in [
        "/rawmodels/cube/new.bin",
        "/rawmodels/cube/cube.gltf",
        "/rawmodels/cube/analysis/info.log",
    ] {
        let refused = tree.write(path, b"x").await.unwrap_err();
        assert!(
            matches!(refused, DriveError::ReadOnly(_)),
            "{path}: {refused:?}"
        );
    }
    assert!(
        tree.why("/rawmodels/cube/new.bin")
            .await
            .contains("cannot change or add files")
    );
    // As KDE copies.
    tree.write("/rawmodels/cube/part.bin.part", b"x")
        .await
        .unwrap_err();
    assert!(
        tree.why("/rawmodels/cube/part.bin")
            .await
            .contains("cannot change or add files")
    );
    assert!(matches!(
        tree.mkdir("/rawmodels/cube/sub").await,
        Err(DriveError::ReadOnly(_))
    ));
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_asset_folder_cannot_be_renamed() {
    let (_account, mounted) = Account::mounted_with_cube().await;
    let tree = &mounted.tree;
    let refused = tree
        .rename("/rawmodels/cube", "/rawmodels/dice")
        .await
        .unwrap_err();
    assert!(
        matches!(refused, DriveError::NotPermitted(_)),
        "{refused:?}"
    );
    let why = tree.why("/rawmodels/cube").await;
    assert!(why.contains("cannot be renamed"), "{why}");
    // A draft cannot take the name of an asset either.
    assert_eq!(
        tree.mkdir("/rawmodels/cube").await.unwrap_err(),
        DriveError::Exists
    );
    tree.mkdir("/rawmodels/draft").await.unwrap();
    assert_eq!(
        tree.rename("/rawmodels/draft", "/rawmodels/cube")
            .await
            .unwrap_err(),
        DriveError::NotEmpty
    );
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_loose_file_becomes_an_asset_and_its_name_keeps_resolving_unlisted() {
    let (account, mounted) = Account::mounted().await;
    let tree = &mounted.tree;
    tree.write("/rawmodels/cube.gltf", MINIMAL_GLTF)
        .await
        .unwrap();
    let file = tree.stat("/rawmodels/cube.gltf").await.unwrap();
    assert_eq!(tree.list("/rawmodels").await.unwrap(), ["cube.gltf"]);
    tree.until("/rawmodels/cube/.assetfs/status", is_complete)
        .await;
    assert_eq!(tree.list("/rawmodels").await.unwrap(), ["cube"]);
    let after = tree.stat("/rawmodels/cube.gltf").await.unwrap();
    assert_eq!(
        (after.ino, after.size, after.mtime),
        (file.ino, file.size, file.mtime)
    );
    assert_eq!(
        tree.read("/rawmodels/cube/cube.gltf").await.unwrap(),
        MINIMAL_GLTF
    );
    for path in ["/rawmodels/cube.gltf", "/rawmodels/cube/cube.gltf"] {
        // The same copy again, as every night, changes nothing.
        tree.write(path, MINIMAL_GLTF).await.unwrap();
        assert_eq!(tree.list("/rawmodels").await.unwrap(), ["cube"]);
        assert_eq!(tree.read(path).await.unwrap(), MINIMAL_GLTF);
    }
    assert_eq!(account.assets().await.len(), 1);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_import_puts_its_reason_into_error_txt_until_that_is_removed() {
    let (account, mounted) = Account::mounted().await;
    let tree = &mounted.tree;
    let glb = truncated_glb();
    tree.mkdir("/rawmodels/cut").await.unwrap();
    tree.write("/rawmodels/cut/cut.glb", &glb).await.unwrap();
    tree.write("/rawmodels/cut/.assetfs/ctl", b"commit --force\n")
        .await
        .unwrap();
    tree.until("/rawmodels/cut/.assetfs/status", |status| {
        status.starts_with("failed")
    })
    .await;
    let listed = tree.list("/rawmodels/cut").await.unwrap();
    assert!(listed.contains(&"ERROR.txt".to_owned()), "{listed:?}");
    let reason = tree.read_text("/rawmodels/cut/ERROR.txt").await.unwrap();
    assert!(reason.len() > 10, "{reason}");
    assert!(!tree.why("/rawmodels/cut").await.is_empty());
    assert_eq!(
        tree.read("/rawmodels/cut/cut.glb").await.unwrap(),
        glb,
        "the local copy is kept"
    );
    tree.unlink("/rawmodels/cut/ERROR.txt").await.unwrap();
    assert!(!tree.exists("/rawmodels/cut/ERROR.txt").await);
    tree.remove_all("/rawmodels/cut").await.unwrap();
    assert_eq!(tree.list("/rawmodels").await.unwrap(), [""; 0]);
    assert_eq!(account.assets().await.len(), 0);
    mounted.close().await;
}

/// A GLB whose header declares more bytes than the file has.
pub fn truncated_glb() -> Vec<u8> {
    let mut glb = b"glTF".to_vec();
    glb.extend(2_u32.to_le_bytes());
    glb.extend(1_000_000_u32.to_le_bytes());
    glb.extend([0; 2000]);
    glb
}
