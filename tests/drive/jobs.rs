//! Drop folders: copying a file starts an optimization.

use std::time::{Duration, Instant};

use assetfs::client::{ListQuery, Priority};
use assetfs::drive::{DriveError, FileKind};

use assetfs::wire::{
    CreateEmbed, EventType, MultiOptimize, MultiOptimizeConfig, MultiOptimizeItem, OptimizeRequest,
    OptimizeSettings, OptimizerConfig,
};

use serde_json::Value;

use crate::support::account::Account;
use crate::support::tree::Tree;

const TEN_PERCENT: &[u8] = br#"{"schema":"2.5","limits":{"faces":{"percentage":10}},
"compressionAndExport":{"fileExports":[{"fileType":"glb"}]}}"#;

/// The number of optimizations of the account.
async fn paid(account: &Account) -> u64 {
    let all = ListQuery::all();
    let page = account.client.rapids().list(all, Priority::Interactive);
    page.await.unwrap().meta.total
}

#[tokio::test(flavor = "multi_thread")]
async fn the_points_that_an_optimization_cost_show_at_once() {
    let account = Account::new().await;
    account.add_cube().await;
    let mounted = account
        .mount_with(|config| config.refresh = std::time::Duration::from_secs(600))
        .await;
    let tree = &mounted.tree;
    let points = async || -> u64 {
        let text = tree.read_text("/account/points").await.unwrap();
        text.trim().parse().unwrap()
    };
    let before = points().await;
    tree.optimize("cube", "small", TEN_PERCENT).await;
    assert_eq!(points().await, before - 1);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drive_that_is_told_the_end_of_a_job_does_not_wait_for_its_next_poll() {
    let account = Account::new().await;
    account.add_cube().await;
    // The next poll would be 10 s after the first.
    let (mounted, mut ends) = account.mount_with_ends().await;
    let tree = &mounted.tree;
    tree.write("/rawmodels/cube/optimize/small.json", TEN_PERCENT)
        .await
        .unwrap();
    let end = ends.recv().await.unwrap();
    assert_eq!(end.event_type, EventType::OptimizationFinished);
    let told = Instant::now();
    mounted.drive.heed(&end);
    tree.until_status("/rawmodels/cube/optimize/small.status", "done")
        .await;
    let taken = told.elapsed();
    assert!(taken < Duration::from_secs(5), "{taken:?}");
    let results = tree.list("/rapidmodels/cube").await.unwrap();
    let is_there = results.iter().any(|name| name.ends_with(".glb"));
    assert!(is_there, "{results:?}");
    mounted.close().await;
}

/// The numbers of results that have a similarity and of those that have views.
async fn drawn(tree: &Tree) -> (usize, usize) {
    let results = tree.read_text("/rapidmodels/.assetfs/results.jsonl").await;
    let lines = results.unwrap();
    let compared = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line["similarity"].is_number());
    let views = tree.list("/rapidmodels/cube/renders").await;
    (compared.count(), views.map_or(0, |views| views.len()))
}

async fn until_drawn(tree: &Tree) {
    let deadline = Instant::now() + Duration::from_secs(120);
    loop {
        match drawn(tree).await {
            (1, 18) => return,
            found => assert!(Instant::now() < deadline, "{found:?}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pictures_that_come_after_their_result_show_when_the_drive_hears_of_them() {
    let account = Account::with_later_pictures().await;
    account.add_cube().await;
    let (mounted, mut ends) = account.mount_with_ends().await;
    let tree = &mounted.tree;
    tree.write("/rawmodels/cube/optimize/small.json", TEN_PERCENT)
        .await
        .unwrap();
    mounted.drive.heed(&ends.recv().await.unwrap());
    tree.until_status("/rawmodels/cube/optimize/small.status", "done")
        .await;
    // What the drive knows now is known to be old when the pictures are there.
    drawn(tree).await;
    mounted.drive.heed(&ends.recv().await.unwrap());
    until_drawn(tree).await;
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pictures_that_come_after_their_result_show_in_a_drive_that_is_told_nothing() {
    let account = Account::with_later_pictures().await;
    account.add_cube().await;
    let mounted = account.mount().await;
    let tree = &mounted.tree;
    tree.optimize("cube", "small", TEN_PERCENT).await;
    // Another one that knows the result from a list, perhaps from before its pictures.
    let other = account.mount_elsewhere().await;
    let reports = async || other.tree.list("/rapidmodels/cube/analysis").await.unwrap();
    assert!(!reports().await.is_empty());
    until_drawn(tree).await;
    until_drawn(&other.tree).await;
    let deadline = Instant::now() + Duration::from_secs(60);
    while !reports().await.contains(&"thumb.jpg".to_owned()) {
        assert!(Instant::now() < deadline, "{:?}", reports().await);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    other.close().await;
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn next_to_a_dropped_preset_appear_its_status_and_a_link_to_the_result() {
    let (_account, mounted) = Account::mounted_with_cube().await;
    let tree = &mounted.tree;
    tree.optimize("cube", "small", TEN_PERCENT).await;
    let listed = tree.list("/rawmodels/cube/optimize").await.unwrap();
    assert_eq!(listed, ["small", "small.json", "small.status"]);
    assert_eq!(
        tree.read("/rawmodels/cube/optimize/small.json")
            .await
            .unwrap(),
        TEN_PERCENT
    );
    let target = tree
        .read_link("/rawmodels/cube/optimize/small")
        .await
        .unwrap();
    assert!(target.starts_with("../../../rapidmodels/"), "{target}");
    let time = async |path: &str| tree.look(path).await.unwrap().attributes.mtime;
    let written = time("/rawmodels/cube/optimize/small.json").await;
    let link = time("/rawmodels/cube/optimize/small").await;
    assert_eq!(link, written, "the link is as old as the text");

    let results = tree.list("/rawmodels/cube/optimize/small").await.unwrap();
    let glb = results
        .iter()
        .find(|name| name.ends_with(".glb"))
        .unwrap_or_else(|| panic!("{results:?}"));
    let path = format!("/rawmodels/cube/optimize/small/{glb}");
    let bytes = tree.read(&path).await.unwrap();
    assert_eq!(&bytes[..4], b"glTF");
    assert_eq!(
        tree.stat(&path).await.unwrap().size,
        bytes.len() as u64,
        "the true size"
    );

    let rapid = target.rsplit('/').next().unwrap();
    let links = tree.rows("/rawmodels/cube/rapidmodels").await.unwrap();
    assert_eq!(links, [(rapid.to_owned(), FileKind::Link)]);
    let made = time(&format!("/rapidmodels/{rapid}")).await;
    for link in [
        format!("/rawmodels/cube/rapidmodels/{rapid}"),
        format!("/rapidmodels/{rapid}/.assetfs/source"),
    ] {
        let made_at = time(&link).await;
        // The folder's time also moves when something in it changes.
        assert!(
            written <= made_at && made_at <= made,
            "{link} is as old as the model"
        );
    }
    let source = tree
        .stat(&format!("/rapidmodels/{rapid}/.assetfs/source"))
        .await
        .unwrap();
    assert_eq!(source.ino, tree.stat("/rawmodels/cube").await.unwrap().ino);
    assert_eq!(
        tree.read_text(&format!("/rapidmodels/{rapid}/.assetfs/status"))
            .await
            .unwrap(),
        "done\n"
    );
    let analysis = tree
        .list(&format!("/rapidmodels/{rapid}/analysis"))
        .await
        .unwrap();
    assert!(
        analysis.contains(&"rpd_info.json".to_owned()),
        "{analysis:?}"
    );
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn not_json_is_refused_at_close_the_text_stays_and_why_says_line_and_column() {
    let (account, mounted) = Account::mounted_with_cube().await;
    let tree = &mounted.tree;
    let path = "/rawmodels/cube/optimize/bad.json";
    let refused = tree
        .write(path, b"{\n  \"limits\": {,}\n}\n")
        .await
        .unwrap_err();
    assert!(matches!(refused, DriveError::Invalid(_)), "{refused:?}");
    assert_eq!(tree.read(path).await.unwrap(), b"{\n  \"limits\": {,}\n}\n");
    let why = tree.why(path).await;
    assert!(why.contains("line 2") && why.contains("column"), "{why}");
    assert_eq!(paid(&account).await, 0, "nothing was paid");
    tree.unlink(path).await.unwrap();
    assert!(!tree.exists(path).await);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rename_that_gives_a_job_its_name_sends_it() {
    let (_account, mounted) = Account::mounted_with_cube().await;
    let tree = &mounted.tree;
    tree.write("/rawmodels/cube/optimize/.web.json.Xa3bQ9", TEN_PERCENT)
        .await
        .unwrap();
    assert_eq!(
        tree.list("/rawmodels/cube/optimize").await.unwrap(),
        [".web.json.Xa3bQ9"],
        "a temporary name does nothing"
    );
    tree.rename(
        "/rawmodels/cube/optimize/.web.json.Xa3bQ9",
        "/rawmodels/cube/optimize/web.json",
    )
    .await
    .unwrap();
    let status = tree
        .until("/rawmodels/cube/optimize/web.status", |status| {
            !status.is_empty()
        })
        .await;
    assert!(!status.starts_with("failed"), "{status}");
    tree.until_status("/rawmodels/cube/optimize/web.status", "done")
        .await;
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_text_in_the_same_asset_does_not_pay_twice() {
    let (account, mounted) = Account::mounted_with_cube().await;
    let tree = &mounted.tree;
    let path = "/rawmodels/cube/optimize/small.json";
    tree.write(path, TEN_PERCENT).await.unwrap();
    tree.until_status("/rawmodels/cube/optimize/small.status", "done")
        .await;
    tree.write(path, TEN_PERCENT).await.unwrap();
    mounted.close().await;
    let mounted = account.mount().await;
    mounted.tree.write(path, TEN_PERCENT).await.unwrap();
    assert_eq!(paid(&account).await, 1);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rm_r_of_an_asset_with_jobs_finds_everything_that_it_listed() {
    let (account, mounted) = Account::mounted_with_cube().await;
    let tree = &mounted.tree;
    let folder = "/rawmodels/cube/optimize";
    tree.write(&format!("{folder}/small.json"), TEN_PERCENT)
        .await
        .unwrap();
    for name in ["bad.json", "worse.json"] {
        let refused = tree.write(&format!("{folder}/{name}"), b"{,").await;
        assert!(refused.is_err());
    }
    tree.until_status(&format!("{folder}/small.status"), "done")
        .await;
    let errors = tree.read_text(&format!("{folder}/ERROR.txt")).await;
    let errors = errors.unwrap();
    assert!(
        errors.contains("bad.json") && errors.contains("worse.json"),
        "{errors}"
    );
    // As `rm *` does: in the order of names.
    tree.unlink(&format!("{folder}/small.json")).await.unwrap();
    tree.unlink(&format!("{folder}/small.status"))
        .await
        .unwrap();
    assert!(!tree.exists(&format!("{folder}/small.status")).await);
    tree.remove_all("/rawmodels/cube").await.unwrap();
    assert_eq!(account.assets().await.len(), 0);
    assert_eq!(tree.list("/rapidmodels").await.unwrap().len(), 1);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_preset_file_of_the_command_line_is_a_job_too() {
    let (account, mounted) = Account::mounted_with_cube().await;
    let tree = &mounted.tree;
    let config = std::str::from_utf8(TEN_PERCENT).unwrap();
    let rpdx =
        format!(r#"{{"rpdx_version":"2.5","name":"Web","description":"","config":{config}}}"#);
    tree.write("/rawmodels/cube/optimize/Web.rpdx", rpdx.as_bytes())
        .await
        .unwrap();
    tree.until_status("/rawmodels/cube/optimize/Web.status", "done")
        .await;
    let refused = tree
        .write(
            "/rawmodels/cube/optimize/typo.json",
            br#"{"limits":{"faces":{"cuont":5}}}"#,
        )
        .await;
    let Err(DriveError::Invalid(reason)) = refused else {
        panic!("{refused:?}");
    };
    assert!(
        reason.contains("did you mean limits.faces.count?"),
        "{reason}"
    );
    assert_eq!(paid(&account).await, 1);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_with_the_longest_name_and_its_status_are_listed_and_removed() {
    let (_account, mounted) = Account::mounted_with_cube().await;
    let tree = &mounted.tree;
    let folder = "/rawmodels/cube/optimize";
    let text = format!("{}.json", "a".repeat(250));
    // It is no valid job, so it stays with a status and costs nothing.
    let refused = tree.write(&format!("{folder}/{text}"), b"{").await;
    assert!(
        matches!(refused, Err(DriveError::Invalid(_))),
        "{refused:?}"
    );
    let listed = tree.list(folder).await.unwrap();
    assert!(listed.contains(&text) && listed.len() > 1, "{listed:?}");
    for name in &listed {
        assert!(name.len() <= 255, "{name}");
        let path = format!("{folder}/{name}");
        if tree.exists(&path).await && name != "ERROR.txt" {
            tree.unlink(&path).await.unwrap();
        }
    }
    assert!(tree.list(folder).await.unwrap().is_empty());
    mounted.close().await;
}

const ALL: &[u8] = br#"{"optimizations": [{"model": "rawmodels/cube", "config": {"limits": {"faces": {"percentage": 50}}}},
{"model": "rawmodels/cube", "config": {"limits": {"faces": {"percentage": 25}}}}]}"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_joins_what_another_has_paid_for() {
    let account = Account::new().await;
    account.add_cube().await;
    let first = account.mount().await;
    let write = async |tree: &crate::support::tree::Tree, name: &str| {
        tree.write(
            &format!("/rawmodels/cube/optimize/{name}.json"),
            TEN_PERCENT,
        )
        .await
        .unwrap();
        tree.until_status(&format!("/rawmodels/cube/optimize/{name}.status"), "done")
            .await;
    };
    write(&first.tree, "small").await;
    first.tree.write("/jobs/all.json", ALL).await.unwrap();
    first.tree.until_status("/jobs/all.status", "done").await;
    assert_eq!(paid(&account).await, 3);

    // Without any state of the first: another machine, or a home that was set up anew.
    let second = account.mount_elsewhere().await;
    write(&second.tree, "other-name").await;
    second.tree.write("/jobs/again.json", ALL).await.unwrap();
    second.tree.until_status("/jobs/again.status", "done").await;
    assert_eq!(paid(&account).await, 3, "nothing is paid twice");
    let result = second
        .tree
        .read_link("/rawmodels/cube/optimize/other-name")
        .await
        .unwrap();
    let of_first = first
        .tree
        .read_link("/rawmodels/cube/optimize/small")
        .await
        .unwrap();
    assert_eq!(result, of_first);

    // The notes of the drive are no tags of the user, and survive a change of these.
    let folder = format!("/rapidmodels/{}", result.rsplit('/').next().unwrap());
    let tags = async || second.tree.xattr(&folder, "user.xdg.tags").await;
    assert_eq!(tags().await.unwrap_or_default(), "");
    let set = second.tree.set_xattr(&folder, "user.xdg.tags", "wood");
    set.await.unwrap();
    assert_eq!(tags().await.unwrap(), "wood");
    let listed = second.tree.read_text("/rapidmodels/.assetfs/tags").await;
    assert_eq!(listed.unwrap(), "wood\n");
    let third = account.mount_apart(3, |_| {}).await.0;
    write(&third.tree, "small").await;
    assert_eq!(paid(&account).await, 3);
    third
        .tree
        .write("/rawmodels/cube/.assetfs/ctl", b"run small.json\n")
        .await
        .unwrap();
    let paid_again = async {
        while paid(&account).await < 4 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), paid_again)
        .await
        .expect("a command pays again");
    first.close().await;
    second.close().await;
    third.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_was_made_without_a_drive_is_taken_for_its_configuration() {
    let account = Account::new().await;
    let cube = account.add_cube().await;
    let client = &account.client;
    let ten = OptimizerConfig::parse(std::str::from_utf8(TEN_PERCENT).unwrap()).unwrap();
    let factory = client.presets().factory(Priority::Interactive);
    let factory = factory.await.unwrap().remove(0);
    let mut made = Vec::new();
    for settings in [
        OptimizeSettings::Config(ten),
        OptimizeSettings::Preset(factory.id),
    ] {
        let request = OptimizeRequest {
            settings,
            tags: Vec::new(),
        };
        made.push(
            client
                .optimizations()
                .start(cube, &request)
                .await
                .unwrap()
                .id,
        );
    }
    let paid_before = paid(&account).await;

    let mounted = account.mount().await;
    let of_factory = format!(r#"{{"preset": "{}"}}"#, factory.name);
    for (name, text) in [
        // The same meaning in other bytes.
        (
            "small",
            r#"{"limits": {"faces": {"percentage": 10.0}}, "schema": "2.5",
                "compressionAndExport": {"fileExports": [{"fileType": "glb"}]}}"#,
        ),
        ("factory", &of_factory),
    ] {
        let path = format!("/rawmodels/cube/optimize/{name}.json");
        mounted.tree.write(&path, text.as_bytes()).await.unwrap();
        let status = format!("/rawmodels/cube/optimize/{name}.status");
        mounted.tree.until_status(&status, "done").await;
    }
    assert_eq!(paid(&account).await, paid_before);

    // A text that asks for more than that result has is sent.
    let tagged = r#"{"limits": {"faces": {"percentage": 10}}, "tags": ["wood"]}"#;
    let path = "/rawmodels/cube/optimize/tagged.json";
    mounted.tree.write(path, tagged.as_bytes()).await.unwrap();
    let status = "/rawmodels/cube/optimize/tagged.status";
    mounted.tree.until_status(status, "done").await;
    assert_eq!(paid(&account).await, paid_before + 1);
    mounted.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_machines_at_the_same_moment_make_one_result() {
    let account = Account::new().await;
    account.add_cube().await;
    let first = account.mount().await;
    let second = account.mount_elsewhere().await;
    let path = "/rawmodels/cube/optimize/small.json";
    let (one, other) = tokio::join!(
        first.tree.write(path, TEN_PERCENT),
        second.tree.write(path, TEN_PERCENT)
    );
    one.unwrap();
    other.unwrap();
    for mounted in [&first, &second] {
        let status = "/rawmodels/cube/optimize/small.status";
        mounted.tree.until_status(status, "done").await;
    }
    assert_eq!(paid(&account).await, 1);
    first.close().await;
    second.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_machines_at_the_same_moment_make_one_result_for_jobs_and_one_embed() {
    let account = Account::new().await;
    account.add_cube().await;
    let first = account.mount().await;
    let second = account.mount_elsewhere().await;
    let write = async |path: String, text: &[u8]| {
        let (one, other) = tokio::join!(
            first.tree.write(&path, text),
            second.tree.write(&path, text)
        );
        one.unwrap();
        other.unwrap();
        let status = path.replace(".json", ".status");
        for mounted in [&first, &second] {
            mounted.tree.until_status(&status, "done").await;
        }
    };
    write(
        "/rawmodels/cube/optimize/small.json".to_owned(),
        TEN_PERCENT,
    )
    .await;
    // The one result has the same name on both.
    let rapid = first.tree.list("/rapidmodels").await.unwrap().remove(0);
    write(format!("/rapidmodels/{rapid}/embeds/show.json"), b"{}").await;
    write("/jobs/all.json".to_owned(), ALL).await;
    assert_eq!(paid(&account).await, 3);
    let embeds = account.client.embeds().all(None, Priority::Interactive);
    assert_eq!(embeds.await.unwrap().len(), 1);
    first.close().await;
    second.close().await;
}

/// The promise of the service that this rests on.
#[tokio::test(flavor = "multi_thread")]
async fn requests_with_one_idempotency_key_make_and_cost_one_thing() {
    let account = Account::new().await;
    let cube = account.add_cube().await;
    let client = &account.client;
    let points = async || {
        client
            .account()
            .points(Priority::Interactive)
            .await
            .unwrap()
    };
    let config = OptimizerConfig::parse(std::str::from_utf8(TEN_PERCENT).unwrap()).unwrap();
    let request = OptimizeRequest {
        settings: OptimizeSettings::Config(config.clone()),
        tags: Vec::new(),
    };
    let before = points().await.rapidpoints;
    let start = |key| client.optimizations().start_keyed(cube, &request, key);
    let (one, two) = tokio::join!(start(Some("a key")), start(Some("a key")));
    let rapid = one.unwrap().id;
    assert_eq!(two.unwrap().id, rapid);
    assert_ne!(start(Some("another")).await.unwrap().id, rapid);
    assert_ne!(start(None).await.unwrap().id, rapid);
    assert_eq!(points().await.rapidpoints, before - 3);
    let too_long = "x".repeat(256);
    assert!(start(Some(&too_long)).await.is_err());

    let item = MultiOptimizeItem {
        model_id: cube,
        config: MultiOptimizeConfig {
            config: config.0.clone(),
            ..MultiOptimizeConfig::default()
        },
    };
    let many = MultiOptimize {
        optimizations: vec![item.clone(), item],
    };
    for _ in 0..2 {
        let sent = client.optimizations().start_many_keyed(&many, Some("many"));
        sent.await.unwrap();
    }
    assert_eq!(points().await.rapidpoints, before - 5);

    for _ in 0..600 {
        let record = client.rapids().get(rapid, Priority::Interactive).await;
        if record.unwrap().optimization_status.is_final() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let embed = CreateEmbed {
        model_id: rapid,
        name: "viewer".into(),
        save_user_theme: None,
        config: None,
    };
    let embed = |key| client.embeds().create_keyed(&embed, key);
    let made = embed(Some("e")).await.unwrap();
    let again = embed(Some("e")).await.unwrap();
    assert_eq!(
        (again.embed_id, &again.embed_url),
        (made.embed_id, &made.embed_url)
    );
    assert_ne!(embed(None).await.unwrap().embed_id, made.embed_id);
}
