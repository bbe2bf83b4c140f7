//! Large accounts: how many requests a listing needs, and what is known right after a remount.

use std::time::{Duration, Instant};

use crate::support::account::Account;

const COUNT: u64 = 2_000;
const PER_PAGE: u64 = 50;

#[tokio::test(flavor = "multi_thread")]
async fn a_large_account_costs_few_requests_and_is_known_at_once_after_a_remount() {
    let account = Account::new().await;
    account.fill(COUNT).await;
    let refresh = Duration::from_millis(300);
    let mounted = account.mount_with(|config| config.refresh = refresh).await;
    let tree = &mounted.tree;

    let before = account.requests();
    let deep = tree.stat("/rawmodels/sample 001234/sample.glb").await;
    assert_eq!(deep.unwrap().size, 12);
    let deep = account.requests() - before;
    assert!(
        deep <= 4,
        "one deep path in a fresh mount took {deep} requests"
    );

    let before = account.requests();
    let listed = tree.list("/rawmodels").await.unwrap();
    assert_eq!(listed.len() as u64, COUNT);
    let pages = account.requests() - before;
    assert!(
        pages <= COUNT / PER_PAGE + 1,
        "the listing took {pages} requests"
    );

    tokio::time::sleep(refresh * 2).await;
    let before = account.requests();
    assert_eq!(tree.list("/rawmodels").await.unwrap().len() as u64, COUNT);
    assert_eq!(
        account.requests() - before,
        1,
        "an unchanged listing is confirmed by one request"
    );
    account.begin_elsewhere("new").await;
    tokio::time::sleep(refresh * 2).await;
    let before = account.requests();
    let listed = tree.list("/rawmodels").await.unwrap();
    assert!(listed.contains(&"new".to_owned()));
    assert_eq!(
        account.requests() - before,
        1,
        "and so is one with something new"
    );
    mounted.close().await;

    let mounted = account.mount().await;
    let began = Instant::now();
    let listed = mounted.tree.list("/rawmodels").await.unwrap();
    assert_eq!(listed.len() as u64, COUNT + 1);
    assert!(
        began.elapsed() < Duration::from_secs(1),
        "what an earlier mount knew is shown at once"
    );
    mounted.close().await;
}

/// `ASSETFS_LARGE=100000 cargo nextest run --release --test drive --run-ignored only large` prints the cost of an
/// account of that size.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures"]
async fn what_a_large_account_costs() {
    let count = std::env::var("ASSETFS_LARGE").map_or(10_000, |it| it.parse().expect("a number"));
    let account = Account::new().await;
    account.fill(count).await;
    let mounted = account
        .mount_with(|config| config.refresh = Duration::from_secs(10))
        .await;
    let measured = |what: &str, began: Instant, before: u64| {
        let requests = account.requests() - before;
        println!(
            "{what}: {:.3} s, {requests} requests",
            began.elapsed().as_secs_f64()
        );
    };
    let (began, before) = (Instant::now(), account.requests());
    let path = format!("/rawmodels/sample {:06}/sample.glb", count / 2);
    mounted.tree.stat(&path).await.unwrap();
    measured("one deep path in a fresh mount", began, before);
    let (began, before) = (Instant::now(), account.requests());
    assert_eq!(
        mounted.tree.list("/rawmodels").await.unwrap().len() as u64,
        count
    );
    measured("first listing", began, before);
    tokio::time::sleep(Duration::from_secs(11)).await;
    let (began, before) = (Instant::now(), account.requests());
    mounted.tree.list("/rawmodels").await.unwrap();
    measured("listing again", began, before);
    mounted.close().await;
    let began = Instant::now();
    let mounted = account.mount().await;
    println!("remount: {:.3} s", began.elapsed().as_secs_f64());
    let (began, before) = (Instant::now(), account.requests());
    assert_eq!(
        mounted.tree.list("/rawmodels").await.unwrap().len() as u64,
        count
    );
    measured("listing after a remount", began, before);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let rss = status
        .lines()
        .find(|line| line.starts_with("VmRSS"))
        .unwrap();
    println!("memory of drive and service together: {rss}");
    let began = Instant::now();
    mounted.close().await;
    println!("unmounting: {:.3} s", began.elapsed().as_secs_f64());
}
