//! Lists of models that are wrong once: nothing known or cached is lost by them.

use std::time::Duration;

use assetfs::client::{Client, ClientConfig};

use crate::fault_server::{Relay, RelayFault};
use crate::support::account::{Account, MINIMAL_GLTF};

const REFRESH: Duration = Duration::from_millis(120);
const EMPTY: &str = r#"{"data": [], "meta": {"current_page": 1, "last_page": 1, "total": 0}}"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_lacks_a_model_once_costs_neither_its_name_nor_its_cached_bytes() {
    let account = Account::new().await;
    account.add_cube().await;
    let (relay, client) = relayed(&account);
    let mounted = account.mount_through(client, "state").await;
    let tree = &mounted.tree;
    let read = tree.read("/rawmodels/cube/cube.gltf").await.unwrap();
    assert_eq!(read, MINIMAL_GLTF);
    tree.write("/.assetfs/ctl", b"pin /rawmodels/cube\n")
        .await
        .unwrap();
    let ino = tree.stat("/rawmodels/cube/cube.gltf").await.unwrap().ino;

    // The confirming page and the full pass.
    relay.fault("GET", "/api/v2/rawmodel?", RelayFault::Json(EMPTY), 4);
    for _ in 0..3 {
        tokio::time::sleep(REFRESH).await;
        assert_eq!(tree.list("/rawmodels").await.unwrap(), ["cube"]);
    }
    assert!(relay.calls("GET", "/api/v2/rawmodel?").len() >= 2);
    relay.set_dead(true);
    tokio::time::sleep(REFRESH).await;
    assert_eq!(
        tree.read("/rawmodels/cube/cube.gltf").await.unwrap(),
        MINIMAL_GLTF,
        "the pinned file is read offline"
    );
    let now = tree.stat("/rawmodels/cube/cube.gltf").await.unwrap().ino;
    assert_eq!(now, ino);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_the_service_does_not_have_by_its_id_is_gone() {
    let account = Account::new().await;
    let cube = account.add_cube().await;
    let mounted = account.mount().await;
    let tree = &mounted.tree;
    tree.read("/rawmodels/cube/cube.gltf").await.unwrap();
    account.client.assets().delete(cube).await.unwrap();
    tokio::time::sleep(REFRESH).await;
    assert_eq!(tree.list("/rawmodels").await.unwrap(), [""; 0]);
    assert_eq!(mounted.drive.status().cache.objects, 0);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pinned_model_that_the_cache_has_lost_is_fetched_again() {
    let mut account = Account::new().await;
    account.add_cube().await;
    let mounted = account.mount().await;
    let tree = &mounted.tree;
    tree.read("/rawmodels/cube/cube.gltf").await.unwrap();
    tree.write("/.assetfs/ctl", b"pin /rawmodels/cube\n")
        .await
        .unwrap();
    tree.write("/.assetfs/ctl", b"cache clear\n").await.unwrap();
    assert_eq!(mounted.drive.status().cache.objects, 0);
    mounted.close().await;

    let mounted = account.mount().await;
    for _ in 0..200 {
        if mounted.drive.status().cache.objects > 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tokio::time::sleep(REFRESH).await;
    account.stop_service().await;
    assert_eq!(
        mounted
            .tree
            .read("/rawmodels/cube/cube.gltf")
            .await
            .unwrap(),
        MINIMAL_GLTF
    );
    mounted.close().await;
}

pub(crate) fn relayed(account: &Account) -> (Relay, Client) {
    let relay = Relay::start();
    relay.to(account.service_addr());
    let config = ClientConfig::new(&relay.url()).unwrap();
    let config = config.with_token(account.token());
    (relay, Client::new(config).unwrap())
}
