//! Without network everything cached is readable and every draft is writable, also after a mount.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use assetfs::drive::{DriveError, HistoryKind};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::support::account::{Account, MINIMAL_GLTF};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_known_and_cached_is_shown_and_read_while_the_service_is_away() {
    let mut account = Account::new().await;
    account.add_cube().await;
    let mounted = account.mount().await;
    assert_eq!(
        mounted
            .tree
            .read("/rawmodels/cube/cube.gltf")
            .await
            .unwrap(),
        MINIMAL_GLTF
    );
    let before = mounted.tree.list("/rawmodels/cube").await.unwrap();
    mounted.tree.list("/rawmodels").await.unwrap();
    let ino = mounted
        .tree
        .stat("/rawmodels/cube/cube.gltf")
        .await
        .unwrap()
        .ino;
    mounted.close().await;
    account.stop_service().await;

    let mounted = account.mount().await;
    let tree = &mounted.tree;
    assert_eq!(tree.list("/rawmodels").await.unwrap(), ["cube"]);
    assert_eq!(tree.list("/rawmodels/cube").await.unwrap(), before);
    assert_eq!(
        tree.read("/rawmodels/cube/cube.gltf").await.unwrap(),
        MINIMAL_GLTF
    );
    assert_eq!(
        tree.stat("/rawmodels/cube/cube.gltf").await.unwrap().ino,
        ino
    );
    tree.mkdir("/rawmodels/draft").await.unwrap();
    tree.write("/rawmodels/draft/notes.txt", b"offline")
        .await
        .unwrap();
    assert_eq!(
        tree.read("/rawmodels/draft/notes.txt").await.unwrap(),
        b"offline"
    );
    assert!(mounted.drive.statfs().await.unwrap().blocks_available > 0);
    let refused = tree.unlink("/rawmodels/cube/cube.gltf").await.unwrap_err();
    assert!(
        matches!(refused, DriveError::NotPermitted(_)),
        "nothing is deleted by a stale listing: {refused:?}"
    );
    // The client retries for a while before it gives up.
    for _ in 0..900 {
        if !mounted.drive.status().online {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let status = mounted.drive.status();
    assert!(!status.online && status.offline_because.is_some());
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_never_known_fails_with_a_sentence_and_is_there_when_the_service_is_back() {
    let mut account = Account::new().await;
    account.add_cube().await;
    account.stop_service().await;
    let mounted = account.mount().await;
    let error = mounted.tree.list("/rawmodels").await.unwrap_err();
    assert!(
        matches!(error, DriveError::Unreachable(_) | DriveError::TimedOut(_)),
        "{error:?}"
    );
    assert!(!mounted.tree.why("/rawmodels").await.is_empty());
    let why = mounted.tree.why("/rawmodels/cube").await;
    assert!(
        why.starts_with("it is not known whether it exists: "),
        "{why:?}"
    );
    account.start_service().await;
    assert_eq!(mounted.tree.list("/rawmodels").await.unwrap(), ["cube"]);
    mounted.close().await;
}

/// `rsync --delete` would otherwise delete the copies of all models that are not known here.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_which_only_a_part_is_known_ends_with_an_error() {
    let mut account = Account::new().await;
    account.add_cube().await;
    let mounted = account.mount().await;
    let tree = &mounted.tree;
    tree.stat("/rawmodels/cube").await.unwrap();
    account.stop_service().await;
    tree.mkdir("/rawmodels/draft").await.unwrap();
    let (rows, end) = tree.rows_and_end("/rawmodels").await.unwrap();
    let names: Vec<&str> = rows.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["draft", "cube"]);
    assert!(
        matches!(
            end,
            Err(DriveError::Unreachable(_) | DriveError::TimedOut(_))
        ),
        "{end:?}"
    );
    account.start_service().await;
    assert_eq!(tree.list("/rawmodels").await.unwrap(), ["cube", "draft"]);
    mounted.close().await;
}

/// The kernel looks up a name before it creates it.
#[tokio::test(flavor = "multi_thread")]
async fn a_model_is_copied_in_at_once_while_the_service_is_away_and_was_never_seen() {
    let mut account = Account::new().await;
    let cube = account.add_cube().await;
    account.stop_service().await;
    let mounted = account.mount().await;
    let tree = &mounted.tree;
    let begun = Instant::now();
    for path in ["/rawmodels/cube", "/rawmodels/loose.glb"] {
        let missing = tree.stat(path).await.map(drop).unwrap_err();
        assert!(
            matches!(missing, DriveError::NotFound),
            "{path}: {missing:?}"
        );
    }
    tree.mkdir("/rawmodels/cube").await.unwrap();
    tree.write("/rawmodels/cube/cube.gltf", MINIMAL_GLTF)
        .await
        .unwrap();
    tree.write("/rawmodels/loose.glb", b"glTF").await.unwrap();
    assert!(
        begun.elapsed() < Duration::from_secs(15),
        "it took {:?}",
        begun.elapsed()
    );
    let (rows, end) = tree.rows_and_end("/rawmodels").await.unwrap();
    assert_eq!((rows.len(), end.is_err()), (2, true), "{rows:?}");

    account.start_service().await;
    let other = format!("cube~{}", cube.0);
    for _ in 0..600 {
        let listed = tree.list("/rawmodels").await;
        if listed.is_ok_and(|names| names.contains(&other)) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(
        tree.list("/rawmodels").await.unwrap(),
        ["cube", &other, "loose.glb"],
        "the draft keeps its name"
    );
    assert!(
        tree.stat(&format!("/rawmodels/{other}/cube.gltf"))
            .await
            .is_ok()
    );
    mounted.close().await;
}

/// Takes connections and never answers.
async fn hold_connections(addr: SocketAddr) -> JoinHandle<()> {
    let silent = TcpListener::bind(addr).await.unwrap();
    tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((connection, _)) = silent.accept().await {
            held.push(connection);
        }
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_service_is_waited_for_once_and_noticed_soon_when_it_answers() {
    let mut account = Account::new().await;
    account.add_cube().await;
    let addr = account.client.base_url().socket_addrs(|| None).unwrap()[0];
    account.stop_service().await;
    let holding = hold_connections(addr).await;
    let deadline = Duration::from_secs(1);
    let mounted = account
        .mount_with(|config| config.deadline = deadline)
        .await;
    let tree = &mounted.tree;
    let begun = Instant::now();
    assert!(tree.list("/rawmodels").await.is_err());
    let first = begun.elapsed();
    for folder in ["/rapidmodels", "/presets", "/account/tokens", "/rawmodels"] {
        let begun = Instant::now();
        assert!(tree.list(folder).await.is_err(), "{folder}");
        let waited = begun.elapsed();
        assert!(waited < deadline, "{folder} after {first:?}: {waited:?}");
    }
    assert!(!mounted.drive.status().online);
    // The kernel looks up a name before it creates it.
    let begun = Instant::now();
    let missing = tree.stat("/rawmodels/draft").await.map(drop).unwrap_err();
    assert_eq!(missing, DriveError::NotFound);
    tree.mkdir("/rawmodels/draft").await.unwrap();
    tree.write("/rawmodels/loose.glb", b"glTF").await.unwrap();
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "it took {:?}",
        begun.elapsed()
    );
    tree.rmdir("/rawmodels/draft").await.unwrap();
    tree.unlink("/rawmodels/loose.glb").await.unwrap();
    holding.abort();
    let _ = holding.await;
    account.start_service().await;
    let back = Instant::now();
    while !mounted.drive.status().online {
        assert!(back.elapsed() < Duration::from_secs(8), "still offline");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(tree.list("/rawmodels").await.unwrap(), ["cube"]);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_event_log_has_one_event_when_the_service_is_away_and_one_when_it_is_back() {
    let mut account = Account::new().await;
    account.stop_service().await;
    let (to, mut events) = tokio::sync::mpsc::channel(1000);
    let mounted = account.mount_with(|config| config.history = Some(to)).await;
    assert!(mounted.tree.list("/rawmodels").await.is_err());
    account.start_service().await;
    let back = Instant::now();
    while !mounted.drive.status().online {
        assert!(back.elapsed() < Duration::from_secs(10), "still offline");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    mounted.close().await;
    let events: Vec<_> = std::iter::from_fn(|| events.try_recv().ok())
        .filter(|event| matches!(event.kind, HistoryKind::Offline | HistoryKind::Online))
        .collect();
    let kinds: Vec<_> = events.iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [HistoryKind::Offline, HistoryKind::Online]);
    assert!(events[0].reason.as_ref().is_some_and(|why| !why.is_empty()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_was_silent_before_the_mount_is_not_waited_for_again() {
    let mut account = Account::new().await;
    let addr = account.client.base_url().socket_addrs(|| None).unwrap()[0];
    account.stop_service().await;
    let holding = hold_connections(addr).await;
    let why = "no answer within 5 s".to_owned();
    let mounted = account
        .mount_with(|config| config.away = Some(DriveError::TimedOut(why)))
        .await;
    let tree = &mounted.tree;
    assert!(!mounted.drive.status().online);
    let begun = Instant::now();
    let missing = tree.stat("/rawmodels/draft").await.map(drop).unwrap_err();
    assert_eq!(missing, DriveError::NotFound);
    tree.mkdir("/rawmodels/draft").await.unwrap();
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "it took {:?}",
        begun.elapsed()
    );
    mounted.close().await;
    holding.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_listed_is_known_after_a_kill_that_the_service_does_not_outlive() {
    let mut account = Account::new().await;
    account.add_cube().await;
    let mounted = account.mount().await;
    assert_eq!(mounted.tree.list("/rawmodels").await.unwrap(), ["cube"]);
    account.stop_service().await;
    // It is stored soon, not at once.
    let begun = std::time::Instant::now();
    loop {
        let after = account.mount_after_kill().await;
        let listed = after.tree.list("/rawmodels").await;
        after.close().await;
        std::fs::remove_dir_all(account.dir.path().join("killed")).unwrap();
        if listed.as_deref().is_ok_and(|names| names == ["cube"]) {
            break;
        }
        let late = begun.elapsed() > std::time::Duration::from_secs(20);
        assert!(!late, "{listed:?}");
    }
    mounted.close().await;
}
