//! How many requests the work on models costs: a service answers so many a minute, and hundreds of models wait for that.

use std::time::Duration;

use crate::support::account::{Account, Mounted};
use crate::wrong_lists::relayed;

const TEXTS: [&str; 3] = ["a", "b", "c"];

fn config(percentage: usize) -> String {
    format!(
        r#"{{"schema":"2.5","limits":{{"faces":{{"percentage":{percentage}}}}},
        "compressionAndExport":{{"fileExports":[{{"fileType":"glb"}}]}}}}"#
    )
}

/// Makes a result of each text.
async fn optimize_all(mounted: &Mounted) {
    for (number, text) in TEXTS.into_iter().enumerate() {
        mounted
            .tree
            .optimize("cube", text, config(10 + number))
            .await;
    }
}

/// An account whose model has a result of each text, made on another machine.
async fn with_results() -> Account {
    let account = Account::new().await;
    account.add_cube().await;
    let mounted = account.mount().await;
    optimize_all(&mounted).await;
    mounted.close().await;
    account
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_costs_its_order_and_one_look_and_what_its_model_is_asked_for_once() {
    let account = Account::new().await;
    account.add_cube().await;
    let (relay, client) = relayed(&account);
    let mounted = account.mount_through(client, "state").await;
    optimize_all(&mounted).await;
    let asked = |method, path| relay.calls(method, path).len();
    assert_eq!(asked("POST", "/rawmodel/optimize/"), 3);
    assert_eq!(asked("GET", "/api/v2/rapidmodel/"), 3, "each at its end");
    assert_eq!(asked("DELETE", "/tags/"), 0);
    assert_eq!(asked("GET", "/renders"), 0);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn results_are_walked_by_their_list_alone() {
    let account = with_results().await;
    let (relay, client) = relayed(&account);
    let mounted = account.mount_through(client, "elsewhere").await;
    let tree = &mounted.tree;
    let results = tree.list("/rapidmodels").await.unwrap();
    assert_eq!(results.len(), 3, "{results:?}");
    for result in results {
        let files = tree.list(&format!("/rapidmodels/{result}")).await.unwrap();
        assert!(files.iter().any(|name| name.ends_with(".glb")), "{files:?}");
        let reports = tree.list(&format!("/rapidmodels/{result}/analysis")).await;
        assert!(!reports.unwrap().is_empty());
    }
    // Until the list is older than the drive's refresh time.
    tokio::time::sleep(Duration::from_millis(150)).await;
    let links = tree.list("/rawmodels/cube/rapidmodels").await.unwrap();
    assert_eq!(links.len(), 3, "{links:?}");
    assert_eq!(relay.calls("GET", "/1/rapidmodels").len(), 0);
    assert_eq!(relay.calls("GET", "/api/v2/rapidmodel/").len(), 0);
    assert!(!relay.calls("GET", "/api/v2/rapidmodel?").is_empty());
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_machine_looks_once_for_the_results_of_a_model() {
    let account = with_results().await;
    let (relay, client) = relayed(&account);
    let mounted = account.mount_through(client, "elsewhere").await;
    let [first, others @ ..] = TEXTS;
    mounted.tree.optimize("cube", first, config(10)).await;
    for (number, text) in others.into_iter().enumerate() {
        let path = format!("/rawmodels/cube/optimize/{text}.json");
        let text = config(11 + number);
        mounted.tree.write(&path, text.as_bytes()).await.unwrap();
    }
    for text in others {
        let status = format!("/rawmodels/cube/optimize/{text}.status");
        mounted.tree.until_status(&status, "done").await;
    }
    assert_eq!(relay.calls("POST", "/rawmodel/optimize/").len(), 0);
    assert_eq!(relay.calls("GET", "/1/rapidmodels").len(), 1);
    assert_eq!(
        relay.calls("GET", "/api/v2/rapidmodel/").len(),
        3,
        "each is looked at itself"
    );
    mounted.close().await;
}
