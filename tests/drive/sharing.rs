//! Several mounts of one account share the requests that the service allows.

use std::time::{Duration, Instant};

use assetfs::drive::DriveConfig;

use crate::support::account::Account;

/// Requests a minute that the service allows.
const LIMIT: u32 = 150;

#[tokio::test(flavor = "multi_thread")]
async fn mounts_of_one_account_stay_within_its_limit_and_no_operation_fails() {
    let account = Account::with_rate(LIMIT).await;
    account.add_cube().await;
    let mut mounts = Vec::new();
    for number in 0..4 {
        let always_ask = |config: &mut DriveConfig| config.refresh = Duration::ZERO;
        mounts.push(account.mount_apart(number, always_ask).await);
    }
    let begun = Instant::now();
    let reading = mounts.iter().map(|(mounted, _)| async {
        let mut reads = 0;
        while begun.elapsed() < Duration::from_secs(40) {
            // Each read is a request.
            let path = "/rawmodels/cube/.assetfs/detail.json";
            let text = mounted.tree.read_text(path).await;
            assert!(
                text.as_ref().is_ok_and(|text| text.contains("cube")),
                "{text:?}"
            );
            reads += 1;
        }
        reads
    });
    let reads: Vec<u32> = futures_util::future::join_all(reading).await;
    let mut refused = 0;
    for (mounted, client) in mounts {
        refused += client.budget().refused;
        mounted.close().await;
    }
    let sum: u32 = reads.iter().sum();
    println!(
        "{reads:?} reads of 4 mounts in {} s",
        begun.elapsed().as_secs()
    );
    assert_eq!(refused, 0, "{reads:?}");
    assert!(sum > LIMIT / 6, "{reads:?}");
    assert!(reads.iter().all(|reads| *reads >= 5), "{reads:?}");
}
