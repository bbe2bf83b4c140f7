//! What has the names of stale results after they were run again, and what `why` says of each.

use std::time::{Duration, Instant};

use crate::by_source::{lines, names, percent, replace};
use crate::support::account::{Account, Mounted};

const STALE: &str = "/rapidmodels/.assetfs/stale.jsonl";

/// Runs again the one text that is stale.
async fn run_stale(mounted: &Mounted) {
    let found = lines(&mounted.tree, STALE).await;
    assert_eq!(found.len(), 1, "{found:?}");
    let path = found[0]["path"].as_str().unwrap();
    let ctl = format!("/{path}/.assetfs/ctl");
    mounted.tree.write(&ctl, b"run-stale").await.unwrap();
    let status = "/rawmodels/cube/optimize/web.status";
    mounted.tree.until_status(status, "done").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_result_of_a_new_version_has_the_plain_name_also_after_the_preset_changed() {
    let (account, mounted) = Account::mounted_with_cube().await;
    let tree = &mounted.tree;
    let preset = "/presets/shop.json";
    tree.write(preset, percent(50).as_bytes()).await.unwrap();
    tree.optimize("cube", "web", r#"{"preset": "shop"}"#).await;
    tree.write(preset, percent(60).as_bytes()).await.unwrap();
    run_stale(&mounted).await;
    let before = names(&mounted).await;
    assert_eq!(before[0].0, "cube");
    assert_eq!(before[1].0, "cube (web)");
    let why = tree.why("/rapidmodels/cube").await;
    let newer = "a newer result of the same text is rapidmodels/cube (web)";
    assert!(why.contains(newer) && !why.contains("--stale"), "{why}");
    // It sees each step as it happens, the third machine all of them at once.
    let (second, _) = account.mount_apart(1, |_| {}).await;
    assert_eq!(names(&second).await, before);

    let mut versions = vec![(before[0].1.clone(), before[1].1.clone())];
    // The second round: of two results with names, the plain one is not that of the lowest or highest id.
    for round in 0..2 {
        replace(tree, "cube", &format!("other{round}.gltf")).await;
        let old = tree.why("/rapidmodels/cube").await;
        let is_current = round > 0;
        assert_eq!(
            old.contains("`assetfs run --stale` makes it again"),
            is_current,
            "{old}"
        );
        run_stale(&mounted).await;
        let here = names(&mounted).await;
        let named: Vec<&str> = here.iter().map(|(name, _)| name.as_str()).collect();
        let (first, second_result) = versions.last().unwrap().clone();
        assert_eq!(&named[..2], ["cube", "cube (web)"], "{here:?}");
        assert_eq!(here[1].1, second_result, "it keeps its name");
        assert!(
            named.contains(&format!("cube~{first}").as_str()),
            "{here:?}"
        );
        versions.push((here[0].1.clone(), second_result));
        assert!(lines(tree, STALE).await.is_empty());
        for name in [format!("cube~{first}"), "cube (web)".to_owned()] {
            let why = tree.why(&format!("/rapidmodels/{name}")).await;
            let newer = "a newer result of the same text is rapidmodels/cube";
            assert!(why.contains(newer) && !why.contains("--stale"), "{why}");
        }
        let (third, _) = account.mount_apart(2 + round, |_| {}).await;
        for machine in [&second, &third] {
            let end = Instant::now() + Duration::from_secs(20);
            while names(machine).await != here {
                let now = names(machine).await;
                assert!(Instant::now() < end, "{here:?}, but elsewhere {now:?}");
                machine.tree.list("/rawmodels").await.unwrap();
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        third.close().await;
    }
    second.close().await;
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preset_that_goes_back_has_its_earlier_result_and_nothing_is_to_be_paid() {
    let (_account, mounted) = Account::mounted_with_cube().await;
    let tree = &mounted.tree;
    let preset = "/presets/shop.json";
    tree.write(preset, percent(50).as_bytes()).await.unwrap();
    tree.optimize("cube", "web", r#"{"preset": "shop"}"#).await;
    let link = "/rapidmodels/.assetfs/by-source/cube/web";
    let first = tree.read_link(link).await.unwrap();
    tree.write(preset, percent(60).as_bytes()).await.unwrap();
    run_stale(&mounted).await;
    let second = tree.read_link(link).await.unwrap();
    assert_ne!(first, second);
    for (percentage, result) in [(50, &first), (60, &second), (50, &first)] {
        tree.write(preset, percent(percentage).as_bytes())
            .await
            .unwrap();
        assert!(lines(tree, STALE).await.is_empty(), "{percentage}");
        assert_eq!(&tree.read_link(link).await.unwrap(), result);
    }
    assert_eq!(names(&mounted).await.len(), 2);
    mounted.close().await;
}
