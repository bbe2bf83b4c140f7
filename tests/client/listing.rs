//! Paged lists: their end, and that each item is returned once.

use assetfs::client::{ListQuery, Priority};
use futures_util::TryStreamExt;
use serde_json::{Value, json};

use super::client_of;
use crate::fault_server::{Asked, FaultServer, Reply};

fn page_of(seen: &Asked) -> u64 {
    let query = seen.target.split_once('?').map_or("", |(_, query)| query);
    let page = url::form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "page");
    page.map_or(1, |(_, page)| page.parse().unwrap())
}

fn page(ids: impl IntoIterator<Item = u64>, current: u64, last: u64) -> Reply {
    let data: Vec<Value> = ids
        .into_iter()
        .map(|id| json!({"id": id, "name": format!("asset {id}")}))
        .collect();
    Reply::json(json!({
        "data": data,
        "links": {"first": "x", "last": "x", "prev": null, "next": null},
        "meta": {"current_page": current, "last_page": last, "per_page": 50, "total": 120},
    }))
}

#[tokio::test]
async fn all_pages_come_in_order_and_the_last_one_ends_the_list() {
    let server = FaultServer::start(|seen, _| {
        let page_number = page_of(seen);
        assert!(page_number <= 7, "a page behind the last one was requested");
        page((page_number - 1) * 50..page_number * 50, page_number, 7)
    });
    let assets = client_of(&server)
        .assets()
        .all(None, Priority::Background)
        .await
        .unwrap();
    let ids: Vec<u64> = assets.iter().map(|asset| asset.id.0).collect();
    assert_eq!(ids, (0..350).collect::<Vec<_>>());
    assert_eq!(server.count(), 7);
    assert!(
        server
            .asked()
            .iter()
            .all(|seen| seen.target.contains("itemsPerPage=50"))
    );
}

#[tokio::test]
async fn a_list_whose_last_page_repeats_forever_ends_and_returns_each_id_once() {
    let server = FaultServer::start(|seen, _| match page_of(seen) {
        1 => page([1, 2, 3], 1, 1_000_000_000),
        2 => page([3, 4], 2, 1_000_000_000),
        n => page([3, 4], n, 1_000_000_000),
    });
    let assets = client_of(&server)
        .assets()
        .all(None, Priority::Interactive)
        .await
        .unwrap();
    assert_eq!(
        assets.iter().map(|asset| asset.id.0).collect::<Vec<_>>(),
        [1, 2, 3, 4]
    );
    assert!(server.count() < 12, "{}", server.count());
}

#[tokio::test]
async fn an_unreadable_item_does_not_hide_others() {
    let server = FaultServer::start(|_, _| {
        Reply::json(
            json!({"data": [{"id": 1}, {"name": "no id"}, 7, {"id": 2}], "meta": {"last_page": 1}}),
        )
    });
    let client = client_of(&server);
    let page = client
        .assets()
        .list(ListQuery::all(), Priority::Interactive)
        .await
        .unwrap();
    assert_eq!((page.data.len(), page.unreadable), (2, 2));
}

#[tokio::test]
async fn a_search_is_sent_escaped() {
    let server = FaultServer::start(|_, _| page([1], 1, 1));
    let client = client_of(&server);
    client
        .assets()
        .list(
            ListQuery::search("\"my chair\" & more"),
            Priority::Interactive,
        )
        .await
        .unwrap();
    assert_eq!(
        server.asked()[0].target,
        "/api/v2/rawmodel?q=%22my+chair%22+%26+more&itemsPerPage=50"
    );
}

#[tokio::test]
async fn a_failed_page_fails_the_list() {
    let server = FaultServer::start(|seen, _| match page_of(seen) {
        3 => Reply::status(403),
        n => page([n], n, 5),
    });
    let pages = client_of(&server)
        .rapids()
        .pages(None, Priority::Interactive);
    assert!(pages.try_collect::<Vec<_>>().await.is_err());
}

/// No page of it is requested after the first: neither the time nor the requests of the account are spent on it.
#[tokio::test]
async fn a_list_that_claims_to_never_end_is_refused_after_its_first_page() {
    let server = FaultServer::start(|seen, _| {
        let at = page_of(seen);
        let ids: Vec<Value> = (0..50).map(|id| json!({"id": at * 50 + id})).collect();
        let meta = json!({"current_page": at, "last_page": 1_000_000_000_u64, "total": 50_000_000_000_u64});
        Reply::json(json!({"data": ids, "meta": meta}))
    });
    let client = client_of(&server);
    let all = client.assets().all(None, Priority::Background).await;
    let oldest = client.assets().pages_oldest_first(Priority::Background);
    let oldest = oldest.try_collect::<Vec<_>>().await.map(drop);
    for error in [all.map(drop).unwrap_err(), oldest.unwrap_err()] {
        assert!(error.to_string().contains("1000000000 pages"), "{error}");
    }
    assert_eq!(server.count(), 2);
}
