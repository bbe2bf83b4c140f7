//! What the tags of the drive on models and results say on every machine: by-source addresses, names, stale results.

use std::time::{Duration, Instant};

use assetfs::client::{ListQuery, Priority};
use assetfs::drive::DriveError;
use assetfs::wire::{AssetId, RapidId};
use serde_json::json;

use crate::support::account::{Account, MINIMAL_GLTF, Mounted};
use crate::support::tree::Tree;

/// A configuration that keeps so many percent of the faces: each is another text.
pub fn percent(faces: u8) -> String {
    format!(
        r#"{{"schema":"2.5","limits":{{"faces":{{"percentage":{faces}}}}},
        "compressionAndExport":{{"fileExports":[{{"fileType":"glb"}}]}}}}"#
    )
}

/// Replaces the model as `assetfs replace` does, and returns the new version.
pub async fn replace(tree: &Tree, model: &str, file: &str) -> AssetId {
    replace_with(tree, model, file, MINIMAL_GLTF).await
}

/// The same with the content of the file.
async fn replace_with(tree: &Tree, model: &str, file: &str, content: &[u8]) -> AssetId {
    let (path, draft) = (
        format!("/rawmodels/{model}"),
        format!("/rawmodels/{model}~new"),
    );
    let old = tree.xattr(&path, "user.assetfs.id").await.unwrap();
    tree.mkdir(&draft).await.unwrap();
    let order = format!("replace {model}~new");
    tree.write(&format!("{path}/.assetfs/ctl"), order.as_bytes())
        .await
        .unwrap();
    tree.write(&format!("{draft}/{file}"), content)
        .await
        .unwrap();
    tree.write(&format!("{draft}/.assetfs/ctl"), b"commit")
        .await
        .unwrap();
    loop {
        let id = tree.xattr(&path, "user.assetfs.id").await.unwrap();
        if id != old {
            return AssetId(id.parse().unwrap());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The names and the ids of the results in the list of a drive.
pub async fn names(mounted: &Mounted) -> Vec<(String, String)> {
    let mut named = Vec::new();
    for name in mounted.tree.list("/rapidmodels").await.unwrap() {
        let path = format!("/rapidmodels/{name}");
        let id = mounted.tree.xattr(&path, "user.assetfs.id").await.unwrap();
        named.push((name, id));
    }
    named.sort();
    named
}

#[tokio::test(flavor = "multi_thread")]
async fn every_machine_has_the_result_of_a_text_under_the_name_of_its_model_and_text() {
    let (account, mounted) = Account::mounted_with_cube().await;
    mounted
        .tree
        .optimize("cube", "web, small", &percent(50))
        .await;
    mounted.tree.optimize("cube", "ar", &percent(40)).await;
    let (elsewhere, client) = account.mount_apart(1, |_| {}).await;
    for tree in [&mounted.tree, &elsewhere.tree] {
        let folder = "/rapidmodels/.assetfs/by-source";
        assert_eq!(tree.list(folder).await.unwrap(), ["cube"]);
        let links = tree.list(&format!("{folder}/cube")).await.unwrap();
        assert_eq!(links, ["ar", "web, small"]);
        for text in links {
            let by_source = tree.stat(&format!("{folder}/cube/{text}")).await.unwrap();
            let link = format!("/rawmodels/cube/optimize/{text}");
            let in_optimize = tree.stat(&link).await.unwrap();
            assert_eq!(by_source.ino, in_optimize.ino, "{text}");
            let status = tree.read_text(&format!("{link}.status")).await.unwrap();
            assert_eq!(status, "done\n");
        }
        let id = tree.xattr("/rawmodels/cube", "user.assetfs.id").await;
        let by_id = format!("{folder}/cube~{}", id.unwrap());
        assert_eq!(tree.list(&by_id).await.unwrap(), ["ar", "web, small"]);
        let target = tree.read_link(&format!("{by_id}/ar")).await.unwrap();
        assert_eq!(
            target,
            tree.read_link(&format!("{folder}/cube/ar")).await.unwrap()
        );
        let missing = tree.stat(&format!("{folder}/cube/web")).await;
        assert_eq!(missing.unwrap_err(), DriveError::NotFound);
        let missing = tree.stat(&format!("{folder}/table")).await;
        assert_eq!(missing.unwrap_err(), DriveError::NotFound);
    }
    let listed = elsewhere
        .tree
        .list("/rawmodels/cube/optimize")
        .await
        .unwrap();
    assert_eq!(
        listed,
        ["ar", "ar.status", "web, small", "web, small.status"]
    );
    // The text itself is paid once, whoever writes it.
    let path = "/rawmodels/cube/optimize/ar.json";
    elsewhere
        .tree
        .write(path, percent(40).as_bytes())
        .await
        .unwrap();
    let all = client
        .rapids()
        .list(ListQuery::all(), Priority::Interactive);
    assert_eq!(all.await.unwrap().meta.total, 2);
    let tags = elsewhere
        .tree
        .read_text("/rapidmodels/.assetfs/tags")
        .await
        .unwrap();
    assert_eq!(tags, "", "notes of drives are no tags");
    elsewhere.close().await;
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_that_looks_at_results_alone_has_the_names_of_new_versions() {
    let (account, mounted) = Account::mounted_with_cube().await;
    let tree = &mounted.tree;
    tree.optimize("cube", "web", &percent(50)).await;
    let (apart, _) = account.mount_apart(1, |_| {}).await;
    assert_eq!(names(&apart).await, names(&mounted).await);
    replace(tree, "cube", "other.gltf").await;
    tree.optimize("cube", "web", &percent(50)).await;
    let here = names(&mounted).await;
    let begun = Instant::now();
    while names(&apart).await != here {
        let late = begun.elapsed() > Duration::from_secs(10);
        assert!(!late, "{here:?}, but elsewhere {:?}", names(&apart).await);
    }
    apart.close().await;
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_is_copied_in_sends_no_list_request() {
    let (account, mounted) = Account::mounted_with_cube().await;
    mounted.tree.optimize("cube", "web", &percent(50)).await;
    tokio::time::sleep(Duration::from_millis(120)).await;
    let before = account.requests();
    for name in ["web", "web.json", "web.status", "other.json"] {
        let _ = mounted
            .tree
            .look(&format!("/rawmodels/cube/optimize/{name}"))
            .await;
    }
    let looked = account.requests() - before;
    assert!(
        looked <= 4,
        "{looked} requests, of which none is for a list of results"
    );
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn by_source_leads_to_the_new_version_and_to_nothing_until_that_has_a_result() {
    let (account, mounted) = Account::mounted_with_cube().await;
    let tree = &mounted.tree;
    tree.optimize("cube", "small", &percent(50)).await;
    tree.optimize("cube", "web", &percent(40)).await;
    let by_source = "/rapidmodels/.assetfs/by-source/cube/web";
    let first = tree
        .xattr("/rapidmodels/cube (web)", "user.assetfs.id")
        .await
        .unwrap();
    assert_eq!(
        tree.read_link(by_source).await.unwrap(),
        "../../../cube (web)"
    );
    let new = replace(tree, "cube", "other.gltf").await;
    assert_eq!(
        tree.stat(by_source).await.unwrap_err(),
        DriveError::NotFound
    );
    let old = tree
        .xattr("/rapidmodels/cube (web)", "user.assetfs.id")
        .await
        .unwrap();
    assert_eq!(
        old, first,
        "no folder is renamed before another takes its name"
    );

    tree.optimize("cube", "web", &percent(40)).await;
    let second = tree
        .xattr("/rapidmodels/cube (web)", "user.assetfs.id")
        .await
        .unwrap();
    assert_ne!(second, first);
    assert_eq!(
        tree.read_link(by_source).await.unwrap(),
        "../../../cube (web)"
    );
    let old = tree
        .xattr(&format!("/rapidmodels/cube~{first}"), "user.assetfs.id")
        .await;
    assert_eq!(old.unwrap(), first);
    let why = tree.why(&format!("/rapidmodels/cube~{first}")).await;
    assert!(
        why.contains("it was made from an earlier version of rawmodels/cube"),
        "{why}"
    );
    tree.optimize("cube", "small", &percent(50)).await;
    let here = names(&mounted).await;
    let shown: Vec<&str> = here.iter().map(|(name, _)| name.as_str()).collect();
    assert!(
        shown.contains(&"cube") && shown.contains(&"cube (web)"),
        "{here:?}"
    );

    // The note on the new version is written after it is complete.
    loop {
        let record = account
            .client
            .assets()
            .get(new, Priority::Interactive)
            .await
            .unwrap();
        if record
            .tags
            .iter()
            .any(|tag| tag.name.starts_with("assetfs:replaces="))
        {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let (apart, _) = account.mount_apart(1, |_| {}).await;
    let begun = Instant::now();
    // A machine that lists the results first names them before it knows the models.
    while names(&apart).await != here {
        let late = begun.elapsed() > Duration::from_secs(10);
        assert!(!late, "{here:?}, but elsewhere {:?}", names(&apart).await);
        apart.tree.list("/rawmodels").await.unwrap();
    }
    let id = apart
        .tree
        .xattr("/rawmodels/cube", "user.assetfs.id")
        .await
        .unwrap();
    assert_eq!(id, new.to_string());
    assert_eq!(
        of_target(&apart.tree, by_source, "user.assetfs.id").await,
        second
    );
    apart.close().await;
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_plain_name_is_that_of_the_lowest_id_whichever_result_is_seen_first() {
    let account = Account::new().await;
    let cube = account.add_cube().await;
    let mounted = account.mount().await;
    mounted.tree.optimize("cube", "small", &percent(50)).await;
    mounted.tree.optimize("cube", "web", &percent(40)).await;
    let here = names(&mounted).await;
    let mut ids: Vec<u64> = here.iter().map(|(_, id)| id.parse().unwrap()).collect();
    ids.sort_unstable();
    // Another machine looks at the later one first.
    let (apart, _) = account.mount_apart(1, |_| {}).await;
    let later = RapidId(ids[1]);
    let by_id = format!("/rapidmodels/.assetfs/by-id/{later}");
    assert!(apart.tree.read_link(&by_id).await.is_ok());
    assert_eq!(names(&apart).await, here, "of asset {cube}");
    assert_eq!(
        apart.tree.read_link(&by_id).await.unwrap(),
        "../../cube (web)"
    );
    apart.close().await;
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_is_stale_when_the_preset_that_its_text_names_has_changed() {
    let (account, mounted) = Account::mounted_with_cube().await;
    let tree = &mounted.tree;
    tree.write("/presets/shop.json", percent(50).as_bytes())
        .await
        .unwrap();
    tree.optimize("cube", "web", r#"{"preset": "shop"}"#).await;
    tree.optimize("cube", "own", &percent(50)).await;
    let stale = async |tree: &Tree| -> Vec<(String, String)> {
        let text = tree
            .read_text("/rapidmodels/.assetfs/results.jsonl")
            .await
            .unwrap();
        let lines = text.lines().map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            assert!(
                line["config_hash"]
                    .as_str()
                    .is_some_and(|hash| hash.len() == 32),
                "{line}"
            );
            let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
            let named = (text("preset") == "web").then_some("shop");
            assert_eq!(line["named_preset"].as_str(), named, "{line}");
            (text("preset"), text("stale"))
        });
        lines.collect()
    };
    let of = |web: &str| {
        let row = |preset: &str, stale: &str| (preset.to_owned(), stale.to_owned());
        vec![row("web", web), row("own", "")]
    };
    assert_eq!(stale(tree).await, of(""));
    // The order of keys and the form of numbers mean nothing.
    let reordered = r#"{"compressionAndExport":{"fileExports":[{"fileType":"glb"}]},
        "limits":{"faces":{"percentage":50.0}},"schema":"2.5"}"#;
    tree.write("/presets/shop.json", reordered.as_bytes())
        .await
        .unwrap();
    assert_eq!(stale(tree).await, of(""));
    tree.write("/presets/shop.json", percent(60).as_bytes())
        .await
        .unwrap();
    assert_eq!(stale(tree).await, of("preset_changed"));
    let why = tree.why("/rapidmodels/cube").await;
    assert!(
        why.contains("its preset has another configuration"),
        "{why}"
    );
    let status = tree.read_text("/.assetfs/status.json").await.unwrap();
    assert!(status.contains("\"stale_results\": 1"), "{status}");
    let (apart, _) = account.mount_apart(1, |_| {}).await;
    assert_eq!(
        stale(&apart.tree).await,
        of("preset_changed"),
        "on another machine"
    );
    // There the status alone is looked at, as a monitor does.
    tree.write("/presets/shop.json", percent(50).as_bytes())
        .await
        .unwrap();
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let status = apart.tree.read_text("/.assetfs/status.json").await.unwrap();
        if status.contains("\"stale_results\": 0") {
            break;
        }
        assert!(Instant::now() < end, "{status}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    apart.close().await;
    mounted.close().await;
}

/// An attribute of the result that a link leads to.
async fn of_target(tree: &Tree, link: &str, attribute: &str) -> String {
    let target = tree.read_link(link).await.unwrap();
    let name = target.rsplit('/').next().unwrap();
    tree.xattr(&format!("/rapidmodels/{name}"), attribute)
        .await
        .unwrap()
}

/// The lines of a file, as JSON.
pub async fn lines(tree: &Tree, path: &str) -> Vec<serde_json::Value> {
    let text = tree.read_text(path).await.unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_runs_again_what_is_stale_also_a_text_that_it_does_not_have() {
    let (account, mounted) = Account::mounted_with_cube().await;
    let tree = &mounted.tree;
    let preset = "/presets/shop.json";
    tree.write(preset, percent(50).as_bytes()).await.unwrap();
    tree.optimize("cube", "web", r#"{"preset": "shop", "tags": ["shop"]}"#)
        .await;
    let (apart, client) = account.mount_apart(1, |_| {}).await;
    let stale = "/rapidmodels/.assetfs/stale.jsonl";
    assert!(lines(&apart.tree, stale).await.is_empty());
    let ctl = "/rapidmodels/cube/.assetfs/ctl";
    let refused = apart.tree.write(ctl, b"run-stale").await.unwrap_err();
    assert!(refused.to_string().contains("it is not stale"), "{refused}");
    tree.write(preset, percent(60).as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(120)).await;
    let found = lines(&apart.tree, stale).await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["source"], "rawmodels/cube");
    assert_eq!(found[0]["preset"], "web");
    assert_eq!(found[0]["stale"], "preset_changed");
    apart.tree.write(ctl, b"run-stale").await.unwrap();
    apart
        .tree
        .until_status("/rawmodels/cube/optimize/web.status", "done")
        .await;
    assert!(lines(&apart.tree, stale).await.is_empty());
    let all = client
        .rapids()
        .list(ListQuery::all(), Priority::Interactive);
    assert_eq!(all.await.unwrap().meta.total, 2);
    let by_source = "/rapidmodels/.assetfs/by-source/cube/web";
    assert_eq!(
        of_target(&apart.tree, by_source, "user.xdg.tags").await,
        "shop"
    );
    apart.close().await;
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_that_run_again_what_is_stale_at_the_same_moment_pay_once() {
    let (account, mounted) = Account::mounted_with_cube().await;
    let tree = &mounted.tree;
    let preset = "/presets/shop.json";
    tree.write(preset, percent(50).as_bytes()).await.unwrap();
    tree.optimize("cube", "web", r#"{"preset": "shop"}"#).await;
    let (first, client) = account.mount_apart(1, |_| {}).await;
    let (second, _) = account.mount_apart(2, |_| {}).await;
    let stale = "/rapidmodels/.assetfs/stale.jsonl";
    for round in 1..=3 {
        tree.write(preset, percent(50 + round).as_bytes())
            .await
            .unwrap();
        tokio::time::sleep(Duration::from_millis(120)).await;
        let mut ctls = Vec::new();
        for machine in [&first, &second] {
            let found = lines(&machine.tree, stale).await;
            assert_eq!(found.len(), 1, "round {round}");
            ctls.push(format!(
                "/{}/.assetfs/ctl",
                found[0]["path"].as_str().unwrap()
            ));
        }
        let (one, same, other) = tokio::join!(
            first.tree.write(&ctls[0], b"run-stale"),
            first.tree.write(&ctls[0], b"run-stale"),
            second.tree.write(&ctls[1], b"run-stale"),
        );
        // The later ones may see that the result is made again already.
        let is_run = one.is_ok() || same.is_ok() || other.is_ok();
        assert!(is_run, "{one:?} {same:?} {other:?}");
        for machine in [&first, &second] {
            let status = "/rawmodels/cube/optimize/web.status";
            machine.tree.until_status(status, "done").await;
        }
        let all = client
            .rapids()
            .list(ListQuery::all(), Priority::Interactive);
        assert_eq!(all.await.unwrap().meta.total, 1 + u64::from(round));
    }
    first.close().await;
    second.close().await;
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_text_of_a_replaced_model_is_run_for_the_new_version() {
    let (_account, mounted) = Account::mounted_with_cube().await;
    let tree = &mounted.tree;
    tree.optimize("cube", "web", &percent(50)).await;
    let old = tree
        .xattr("/rapidmodels/cube", "user.assetfs.id")
        .await
        .unwrap();
    replace(tree, "cube", "other.gltf").await;
    let found = lines(tree, "/rapidmodels/.assetfs/stale.jsonl").await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["stale"], "source_replaced");
    assert_eq!(found[0]["source"], "rawmodels/cube");
    tree.write("/rapidmodels/cube/.assetfs/ctl", b"run-stale")
        .await
        .unwrap();
    tree.until_status("/rawmodels/cube/optimize/web.status", "done")
        .await;
    let text = tree
        .read_text("/rawmodels/cube/optimize/web.json")
        .await
        .unwrap();
    assert_eq!(text, percent(50));
    let new = tree
        .xattr("/rapidmodels/cube", "user.assetfs.id")
        .await
        .unwrap();
    assert_ne!(new, old);
    assert!(
        lines(tree, "/rapidmodels/.assetfs/stale.jsonl")
            .await
            .is_empty()
    );
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_machine_finds_a_model_by_the_checksum_of_its_files() {
    let (account, mounted) = Account::mounted().await;
    let tree = &mounted.tree;
    let files = [("chair.gltf".to_owned(), MINIMAL_GLTF.to_vec())];
    for model in ["chair", "stool"] {
        let path = format!("/rawmodels/{model}");
        tree.copy_in(&files, &path).await.unwrap();
        tree.write(&format!("{path}/.assetfs/ctl"), b"commit")
            .await
            .unwrap();
        tree.until_status(&format!("{path}/.assetfs/status"), "complete")
            .await;
    }
    let (apart, _) = account.mount_apart(1, |_| {}).await;
    let folder = "/rawmodels/.assetfs/by-hash";
    let begun = Instant::now();
    let hash = loop {
        let models = lines(&apart.tree, "/rawmodels/.assetfs/models.jsonl").await;
        let mut hashes = models.iter().filter_map(|it| it["source_hash"].as_str());
        match (hashes.next(), hashes.next()) {
            (Some(one), Some(other)) => {
                assert_eq!(one, other, "they have the same files");
                break one.to_owned();
            }
            _ => assert!(begun.elapsed() < Duration::from_secs(20), "{models:?}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert_eq!(apart.tree.list(folder).await.unwrap(), [hash.as_str()]);
    let target = apart.tree.read_link(&format!("{folder}/{hash}")).await;
    assert_eq!(target.unwrap(), "../../stool");
    let noted = apart
        .tree
        .xattr("/rawmodels/chair", "user.assetfs.source_hash")
        .await;
    assert_eq!(noted.unwrap(), hash);
    let missing = apart.tree.look(&format!("{folder}/{:032x}", 7)).await;
    assert_eq!(missing.unwrap_err(), DriveError::NotFound);
    let tags = apart.tree.xattr("/rawmodels/chair", "user.xdg.tags").await;
    assert_eq!(tags.unwrap_or_default(), "", "the note is no tag");
    apart.close().await;
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_of_points_keeps_what_was_deleted_over_remounts() {
    let (account, mounted) = Account::mounted_with_cube().await;
    let tree = &mounted.tree;
    tree.write("/presets/shop.json", percent(50).as_bytes())
        .await
        .unwrap();
    tree.optimize("cube", "web", r#"{"preset": "shop"}"#).await;
    tree.optimize("cube", "own", &percent(40)).await;
    tree.remove_all("/rapidmodels/cube").await.unwrap();
    mounted.close().await;
    let mounted = account.mount().await;
    let log = lines(&mounted.tree, "/account/points.jsonl").await;
    assert_eq!(log.len(), 2, "{log:?}");
    assert_eq!(log[0]["text"], "web");
    assert_eq!(log[0]["preset"], "shop");
    assert_eq!(log[0]["model"], "cube");
    assert_eq!(log[0]["is_deleted"], true);
    assert_eq!(log[1]["text"], "own");
    assert_eq!(log[1]["is_deleted"], false);
    assert!(
        log.iter()
            .all(|it| it["points"] == 1 && it["time"].is_string()),
        "{log:?}"
    );
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_has_every_name_under_which_its_text_was_copied_in() {
    let (account, mounted) = Account::mounted_with_cube().await;
    let tree = &mounted.tree;
    tree.optimize("cube", "web", &percent(50)).await;
    tree.optimize("cube", "shop", &percent(50)).await;
    let (apart, _) = account.mount_apart(1, |_| {}).await;
    let folder = "/rapidmodels/.assetfs/by-source/cube";
    let begun = Instant::now();
    while apart.tree.list(folder).await.unwrap() != ["shop", "web"] {
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "the second name is noted"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let link = async |text: &str| apart.tree.read_link(&format!("{folder}/{text}")).await;
    assert_eq!(link("shop").await, link("web").await);
    apart.close().await;
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_another_machine_has_sent_under_another_name_names_its_result_too() {
    let (account, mounted) = Account::mounted_with_cube().await;
    let (apart, _) = account.mount_apart(1, |_| {}).await;
    // This machine has just seen that there is no result, so its request meets that of the other one on the service.
    let before = apart.tree.list("/rawmodels/cube/rapidmodels").await;
    assert_eq!(before.unwrap(), Vec::<String>::new());
    mounted.tree.optimize("cube", "web", &percent(50)).await;
    apart.tree.optimize("cube", "shop", &percent(50)).await;
    let folder = "/rapidmodels/.assetfs/by-source/cube";
    let end = Instant::now() + Duration::from_secs(20);
    for tree in [&mounted.tree, &apart.tree] {
        while tree.list(folder).await.unwrap() != ["shop", "web"] {
            assert!(Instant::now() < end, "the second name is noted");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    assert_eq!(names(&mounted).await.len(), 1);
    apart.close().await;
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn optimize_has_the_names_of_all_machines_but_those_that_were_removed_here() {
    let optimize = "/rawmodels/cube/optimize";
    let until_listed = async |mounted: &Mounted, wanted: &[&str]| {
        let end = Instant::now() + Duration::from_secs(20);
        loop {
            let listed = mounted.tree.list(optimize).await.unwrap();
            if listed == wanted {
                return;
            }
            assert!(Instant::now() < end, "{listed:?}, not {wanted:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let (account, mounted) = Account::mounted_with_cube().await;
    let (apart, _) = account.mount_apart(1, |_| {}).await;
    mounted.tree.optimize("cube", "web", &percent(50)).await;
    apart.tree.optimize("cube", "shop", &percent(50)).await;
    let all = ["shop", "shop.status", "web", "web.json", "web.status"];
    until_listed(&mounted, &all).await;
    let all = ["shop", "shop.json", "shop.status", "web", "web.status"];
    until_listed(&apart, &all).await;
    let link = async |mounted: &Mounted, text: &str| {
        let path = format!("{optimize}/{text}");
        mounted.tree.read_link(&path).await.unwrap()
    };
    assert_eq!(link(&mounted, "shop").await, link(&mounted, "web").await);

    let (web, ar) = (
        format!("{optimize}/web.json"),
        format!("{optimize}/ar.json"),
    );
    mounted.tree.rename(&web, &ar).await.unwrap();
    let all = ["ar", "ar.json", "ar.status", "shop", "shop.status"];
    until_listed(&mounted, &all).await;
    mounted.tree.unlink(&ar).await.unwrap();
    until_listed(&mounted, &["shop", "shop.status"]).await;
    mounted.close().await;
    let mounted = account.mount().await;
    until_listed(&mounted, &["shop", "shop.status"]).await;
    // The others keep the names, and no name is missing in `by-source`.
    for folder in [optimize, "/rapidmodels/.assetfs/by-source/cube"] {
        let listed = apart.tree.list(folder).await.unwrap();
        assert!(
            ["shop", "web"]
                .iter()
                .all(|it| listed.contains(&(*it).to_owned())),
            "{listed:?}"
        );
    }
    apart.close().await;
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_goes_back_to_an_earlier_content_leads_to_its_earlier_result_everywhere() {
    let (account, mounted) = Account::mounted_with_cube().await;
    let (apart, _) = account.mount_apart(1, |_| {}).await;
    let mut results = Vec::new();
    for faces in [50, 40] {
        mounted.tree.optimize("cube", "web", &percent(faces)).await;
        let link = mounted.tree.read_link("/rawmodels/cube/optimize/web");
        let link = link.await.unwrap();
        results.push(link.rsplit('/').next().unwrap().to_owned());
    }
    let named = names(&apart).await;
    // The first machine goes back, then another one goes forward, and the first one back again.
    for (machine, faces, result) in [(&mounted, 50, 0), (&apart, 40, 1), (&mounted, 50, 0)] {
        // A text that is there with the same content would not be written again.
        let _ = machine
            .tree
            .unlink("/rawmodels/cube/optimize/web.json")
            .await;
        machine.tree.optimize("cube", "web", &percent(faces)).await;
        // At once where it was written.
        let own = machine
            .tree
            .read_link("/rapidmodels/.assetfs/by-source/cube/web");
        let own = own.await.unwrap();
        assert!(own.ends_with(&format!("/{}", results[result])), "{own}");
        let end = Instant::now() + Duration::from_secs(20);
        for tree in [&mounted.tree, &apart.tree] {
            loop {
                let link = tree.read_link("/rapidmodels/.assetfs/by-source/cube/web");
                let link = link.await.unwrap();
                if link.ends_with(&format!("/{}", results[result])) {
                    break;
                }
                assert!(Instant::now() < end, "{link}, not {}", results[result]);
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    assert_eq!(
        names(&apart).await,
        named,
        "no result has another name, and none was made"
    );
    apart.close().await;
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_of_results_is_made_from_list_pages_alone() {
    let (account, mounted) = Account::mounted_with_cube().await;
    let tree = &mounted.tree;
    let preset = percent(50);
    tree.write("/presets/shop.json", preset.as_bytes())
        .await
        .unwrap();
    tree.optimize("cube", "web", r#"{"preset": "shop"}"#).await;
    tree.optimize("cube", "ar", &percent(40)).await;
    mounted.close().await;
    let refresh = Duration::from_secs(600);
    let (apart, client) = account
        .mount_apart(1, |config| config.refresh = refresh)
        .await;
    let before = client.budget().taken;
    let mut read = Vec::new();
    for file in ["results.jsonl", "stale.jsonl", "results.jsonl"] {
        let path = format!("/rapidmodels/.assetfs/{file}");
        read.push(apart.tree.read_text(&path).await.unwrap());
    }
    let links = apart.tree.list("/rapidmodels/.assetfs/by-source/cube");
    assert_eq!(links.await.unwrap(), ["ar", "web"]);
    // One page of results, one of models, one of embeds, the presets of the account and of the service.
    assert_eq!(client.budget().taken - before, 5);
    assert_eq!(read[0], read[2]);
    for line in read[0].lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["files"], json!(["cube.glb"]), "{line}");
        assert!(
            line["triangles"].as_u64().is_some_and(|it| it > 0),
            "{line}"
        );
        let warnings = line["warnings"].as_array().unwrap();
        assert!(warnings.iter().all(|it| it["code"].is_string()), "{line}");
        // This worker makes no pictures.
        assert!(line.get("thumbnail").is_none(), "{line}");
        assert_eq!((&line["embeds"], &line["points"]), (&json!([]), &json!(1)));
    }
    apart.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_machines_that_replace_one_version_the_later_has_the_name_everywhere() {
    let (account, mounted) = Account::mounted_with_cube().await;
    // It does not learn of the first replacement before it makes the second.
    let refresh = Duration::from_secs(600);
    let (apart, _) = account
        .mount_apart(1, |config| config.refresh = refresh)
        .await;
    let first = apart.tree.xattr("/rawmodels/cube", "user.assetfs.id").await;
    let first: u64 = first.unwrap().parse().unwrap();
    let earlier = replace(&mounted.tree, "cube", "cube.gltf").await;
    // With the same bytes it could join the other's upload. Meanwhile it may see the other's version under the name.
    let other = [MINIMAL_GLTF, b"\n"].concat();
    let mut later = replace_with(&apart.tree, "cube", "cube.gltf", &other).await;
    let end = Instant::now() + Duration::from_secs(20);
    while later == earlier {
        assert!(Instant::now() < end, "its own version is not shown");
        tokio::time::sleep(Duration::from_millis(50)).await;
        let id = apart.tree.xattr("/rawmodels/cube", "user.assetfs.id").await;
        later = AssetId(id.unwrap().parse().unwrap());
    }
    assert!(AssetId(first) < earlier && earlier < later);
    let (third, _) = account.mount_apart(2, |_| {}).await;
    for tree in [&mounted.tree, &third.tree] {
        let shown = [
            "cube".to_owned(),
            format!("cube~{first}"),
            format!("cube~{earlier}"),
        ];
        let end = Instant::now() + Duration::from_secs(20);
        while tree.list("/rawmodels").await.unwrap() != shown {
            let now = tree.list("/rawmodels").await.unwrap();
            assert!(Instant::now() < end, "{now:?} is not {shown:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let id = tree.xattr("/rawmodels/cube", "user.assetfs.id").await;
        assert_eq!(id.unwrap(), later.to_string());
    }
    // The next replacement on the first machine is of the newest version.
    let newest = replace(&mounted.tree, "cube", "cube.gltf").await;
    assert!(newest > later);
    let old = format!("/rawmodels/cube~{later}");
    mounted.tree.stat(&old).await.unwrap();
    for mounted in [third, apart, mounted] {
        mounted.close().await;
    }
}
