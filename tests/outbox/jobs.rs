//! Drop folders: each job runs once, also if replies are lost.

use std::collections::BTreeSet;
use std::time::Duration;

use assetfs::client::Priority;
use assetfs::outbox::{EntryId, JobFolder, JobState, Outbox, OutboxError, OwnerFolder, StatusWord};
use assetfs::wire::{AssetId, CreatePreset, IDEMPOTENCY_KEY, OptimizerConfig, PresetId};

use super::support::{Fault, ME, World, copy_chair, eventually, glb, put};

const CONFIG: &[u8] = br#"{"limits":{"faces":{"count":1234}}}"#;

/// A world with a complete asset and its drop folder; the first request of a job may meet a fault.
async fn with_asset(fault: Option<Fault>) -> (World, Outbox, AssetId, JobFolder) {
    let world = World::start().await;
    if let Some(fault) = fault {
        world.relay.fault("POST", "rawmodel/optimize", fault, 1);
    }
    in_world(world).await
}

async fn in_world(world: World) -> (World, Outbox, AssetId, JobFolder) {
    let outbox = world.outbox();
    let draft = copy_chair(&outbox, "chair");
    let asset = outbox.uploads().commit(draft.id, false).await.unwrap();
    world.wait_complete(asset).await;
    let folder = JobFolder::Optimize(OwnerFolder::Asset(asset));
    (world, outbox, asset, folder)
}

/// Writes the configuration and closes the file.
async fn drop_config(outbox: &Outbox, folder: &JobFolder, name: &str) -> JobState {
    outbox.jobs().write(folder, name, CONFIG).unwrap();
    outbox.jobs().submit(folder, name).await.unwrap()
}

async fn done(outbox: &Outbox, folder: &JobFolder, name: &str) -> assetfs::wire::RapidId {
    eventually("the job is done", async || {
        matches!(
            outbox.jobs().get(folder, name).unwrap().state,
            JobState::Done
        )
    })
    .await;
    outbox.jobs().get(folder, name).unwrap().rapid.unwrap()
}

#[tokio::test]
async fn a_job_that_the_account_has_no_room_for_fails_like_a_full_disk_and_says_why() {
    let (_world, outbox, _, folder) = with_asset(Some(Fault::Status(413))).await;
    let jobs = outbox.jobs();
    jobs.write(&folder, "web.json", CONFIG).unwrap();
    let refused = jobs.submit(&folder, "web.json").await;
    assert!(
        matches!(refused, Err(OutboxError::AccountFull(_))),
        "{refused:?}"
    );
    let job = jobs.get(&folder, "web.json").unwrap();
    assert!(
        job.failure.is_some() && job.status.word() == StatusWord::Failed,
        "{job:?}"
    );
    // Another refusal is no matter of room.
    jobs.write(&folder, "bad.json", b"{\"limits\": 1}").unwrap();
    let refused = jobs.submit(&folder, "bad.json").await;
    assert!(
        matches!(refused, Err(OutboxError::Invalid(_))),
        "{refused:?}"
    );
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_dropped_job_makes_one_rapid_model_and_its_tag_goes() {
    // A service without idempotency keys.
    let (world, outbox, asset, folder) = {
        let world = World::start().await;
        world.relay.without(&[IDEMPOTENCY_KEY]);
        in_world(world).await
    };
    let state = drop_config(&outbox, &folder, "web.json").await;
    assert!(
        !matches!(state, JobState::Editing | JobState::Failed { .. }),
        "{state:?}"
    );
    let rapid = done(&outbox, &folder, "web.json").await;
    let sent = &world.relay.calls("POST", "rawmodel/optimize")[0];
    assert!(
        sent.text().contains("\"assetfs-") && sent.text().contains("1234"),
        "{}",
        sent.text()
    );
    eventually("the one-off tag is gone", async || {
        let model = world
            .direct()
            .rapids()
            .get(rapid, Priority::Interactive)
            .await
            .unwrap();
        // The checksum of the text stays.
        model
            .tags
            .iter()
            .all(|tag| !tag.name.starts_with("assetfs-"))
    })
    .await;
    // The same text starts nothing: rewritten, under another name, copied back, or after a restart.
    drop_config(&outbox, &folder, "web.json").await;
    drop_config(&outbox, &folder, "copy.json").await;
    assert_eq!(done(&outbox, &folder, "copy.json").await, rapid);
    outbox.jobs().remove(&folder, "web.json").unwrap();
    let outbox = world.reopen(outbox).await;
    drop_config(&outbox, &folder, "web.json").await;
    assert_eq!(done(&outbox, &folder, "web.json").await, rapid);
    assert_eq!(world.relay.calls("POST", "rawmodel/optimize").len(), 1);
    // Only the action `run` pays again.
    outbox.jobs().run(&folder, "web.json").await.unwrap();
    eventually("a second model comes", async || {
        world.rapid_models(asset).await.len() == 2
    })
    .await;
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_lost_reply_of_optimize_pays_once() {
    let (world, outbox, asset, folder) = with_asset(Some(Fault::LostAfter)).await;
    drop_config(&outbox, &folder, "web.json").await;
    done(&outbox, &folder, "web.json").await;
    assert_eq!(world.rapid_models(asset).await.len(), 1);
    // Its key makes sure of it: no tag has to be removed.
    let sent = world.relay.calls("POST", "rawmodel/optimize");
    assert!(!sent[0].text().contains("\"assetfs-"), "{}", sent[0].text());
    assert!(world.relay.calls("DELETE", "/tags/").is_empty());
    outbox.shut_down().await;
}

#[tokio::test]
async fn what_stays_unclear_is_unknown_and_never_sent_again_by_itself() {
    // After a 500 it is unknown whether the request had its effect.
    let (world, outbox, asset, folder) = with_asset(Some(Fault::Status(500))).await;
    world.relay.without(&[IDEMPOTENCY_KEY]);
    let outbox = world.reopen(outbox).await;
    drop_config(&outbox, &folder, "web.json").await;
    eventually("it is given up", async || {
        outbox.jobs().get(&folder, "web.json").unwrap().state == JobState::Unknown
    })
    .await;
    outbox.jobs().submit(&folder, "web.json").await.unwrap();
    let outbox = world.reopen(outbox).await;
    let state = drop_config(&outbox, &folder, "web.json").await;
    assert_eq!(state, JobState::Unknown);
    assert_eq!(world.relay.calls("POST", "rawmodel/optimize").len(), 1);
    outbox.jobs().run(&folder, "web.json").await.unwrap();
    done(&outbox, &folder, "web.json").await;
    assert_eq!(world.rapid_models(asset).await.len(), 1);
    outbox.shut_down().await;
}

#[tokio::test]
async fn what_a_service_with_idempotency_keys_does_not_have_is_sent_again_and_paid_once() {
    for fault in [Fault::Status(500), Fault::Status(503), Fault::LostBefore] {
        let (world, outbox, asset, folder) = with_asset(Some(fault)).await;
        drop_config(&outbox, &folder, "web.json").await;
        done(&outbox, &folder, "web.json").await;
        assert_eq!(world.rapid_models(asset).await.len(), 1, "{fault:?}");
        let sent = world.relay.calls("POST", "rawmodel/optimize");
        let keys = sent.iter().map(|it| it.header(IDEMPOTENCY_KEY));
        let keys: BTreeSet<_> = keys.map(|key| key.unwrap().to_owned()).collect();
        assert_eq!(keys.len(), 1, "{fault:?}: {keys:?}");
        outbox.shut_down().await;
    }
}

#[tokio::test]
async fn a_request_that_had_no_effect_for_sure_is_sent_again() {
    let (world, outbox, asset, folder) = with_asset(Some(Fault::Status(429))).await;
    drop_config(&outbox, &folder, "web.json").await;
    done(&outbox, &folder, "web.json").await;
    assert_eq!(world.rapid_models(asset).await.len(), 1);
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_text_that_is_no_job_is_refused_and_kept() {
    let (world, outbox, _, folder) = with_asset(None).await;
    let table: [(&[u8], &str); 3] = [
        (b"{\n \"limits\": }", "at line 2, column 12"),
        (
            br#"{"config":{"a":1},"preset_id":3}"#,
            "both \"config\" and \"preset_id\"",
        ),
        (
            br#"{"preset":"no such preset"}"#,
            "there is no preset \"no such preset\"",
        ),
    ];
    for (text, why) in table {
        outbox.jobs().write(&folder, "web.json", text).unwrap();
        let refused = outbox.jobs().submit(&folder, "web.json").await.unwrap_err();
        assert!(matches!(refused, OutboxError::Invalid(_)), "{refused}");
        assert!(refused.to_string().contains(why), "{refused}");
        let job = outbox.jobs().get(&folder, "web.json").unwrap();
        assert_eq!(job.text, text);
        assert!(job.failure.unwrap().contains(why));
        assert!(job.status.word() == StatusWord::Failed);
    }
    assert!(world.relay.calls("POST", "rawmodel/optimize").is_empty());
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_refusal_of_the_service_is_shown_in_its_words_and_may_be_sent_again() {
    let (_world, outbox, _, folder) = with_asset(Some(Fault::Status(422))).await;
    outbox.jobs().write(&folder, "web.json", CONFIG).unwrap();
    let refused = outbox.jobs().submit(&folder, "web.json").await.unwrap_err();
    assert_eq!(refused.to_string(), "by us");
    drop_config(&outbox, &folder, "web.json").await;
    done(&outbox, &folder, "web.json").await;
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_text_that_is_written_over_while_its_preset_is_looked_for_does_not_fail_for_it() {
    let (world, outbox, _, folder) = with_asset(None).await;
    let late = Fault::Late(Duration::from_millis(500));
    world.relay.fault("GET", "preset", late, 1);
    let jobs = outbox.jobs();
    let earlier = br#"{"preset":"nowhere"}"#;
    jobs.write(&folder, "web.json", earlier).unwrap();
    let (_, sent) = tokio::join!(jobs.submit(&folder, "web.json"), async {
        eventually("the preset is looked for", async || {
            !world.relay.calls("GET", "preset").is_empty()
        })
        .await;
        drop_config(&outbox, &folder, "web.json").await
    });
    assert!(!matches!(sent, JobState::Failed { .. }), "{sent:?}");
    done(&outbox, &folder, "web.json").await;
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_text_that_changes_while_its_earlier_result_gets_its_name_leaves_it_with_the_present_one()
{
    let (world, outbox, _, folder) = with_asset(None).await;
    let jobs = outbox.jobs();
    let send = async |text: &[u8]| {
        jobs.write(&folder, "web.json", text).unwrap();
        jobs.submit(&folder, "web.json").await.unwrap();
        done(&outbox, &folder, "web.json").await
    };
    let other = br#"{"limits":{"faces":{"count":99}}}"#;
    let first = send(CONFIG).await;
    let second = send(other).await;
    let named = |rapid| world.relay.calls("PUT", &format!("rapidmodel/{rapid}"));
    // The text goes back to the first content. While that result is being named, which is slow here, the text changes to the
    // second content again.
    let late = Fault::Late(Duration::from_millis(500));
    world.relay.fault("PUT", "rapidmodel", late, 1);
    assert_eq!(send(CONFIG).await, first);
    eventually("the first result gets the name", async || {
        !named(first).is_empty()
    })
    .await;
    assert_eq!(send(other).await, second);
    // The first result is older, and does not take the name from the second one.
    let direct = world.direct();
    let has_name = async |rapid| {
        let result = direct.rapids().get(rapid, Priority::Interactive).await;
        let tags = result.unwrap().tags;
        tags.iter().any(|tag| tag.name == "assetfs:name=web")
    };
    eventually("the first result has the note of the name", async || {
        has_name(first).await
    })
    .await;
    for _ in 0..20 {
        assert!(has_name(second).await);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_refusal_names_the_presets_id_only_if_the_text_does_and_the_refusal_may_be_about_it() {
    let (world, outbox, _, folder) = with_asset(None).await;
    let direct = world.direct();
    let factory = direct.presets().factory(Priority::Interactive).await;
    let factory = &factory.unwrap()[0];
    let (by_id, by_name) = (
        format!("{{\"preset_id\":{}}}", factory.id),
        format!("{{\"preset\":{:?}}}", factory.name),
    );
    let equal = factory.config.to_pretty_text();
    let named = format!(
        "the service refused \"preset_id\": {}: by us Write",
        factory.id
    );
    let table = [
        (&by_id, 422, Some(&named)),
        (&by_id, 400, Some(&named)),
        // No points are left.
        (&by_id, 402, None),
        (&by_id, 409, None),
        // Both are sent as the preset's id, which the user never wrote.
        (&by_name, 422, None),
        (&equal, 422, None),
    ];
    for (text, status, expected) in table {
        let fault = Fault::Status(status);
        world.relay.fault("POST", "rawmodel/optimize", fault, 1);
        let written = outbox.jobs().write(&folder, "web.json", text.as_bytes());
        written.unwrap();
        let refused = outbox.jobs().submit(&folder, "web.json").await.unwrap_err();
        let refused = refused.to_string();
        match expected {
            Some(named) => assert!(refused.starts_with(named), "{status}: {refused}"),
            None => assert_eq!(refused, "by us", "{status}: {text}"),
        }
    }
    let sent = world.relay.calls("POST", "rawmodel/optimize");
    assert_eq!(sent.len(), table.len());
    for call in sent {
        assert!(call.text().contains("\"preset_id\""), "{}", call.text());
    }
    outbox.shut_down().await;
}

#[tokio::test]
async fn empty_and_temporary_files_do_nothing_until_they_get_their_name() {
    let (_world, outbox, _, folder) = with_asset(None).await;
    for (name, text) in [
        ("web.json", b"".as_slice()),
        ("sedXa81bQ", CONFIG),
        (".web.json.swp", CONFIG),
    ] {
        outbox.jobs().write(&folder, name, text).unwrap();
        assert_eq!(
            outbox.jobs().submit(&folder, name).await.unwrap(),
            JobState::Editing
        );
    }
    outbox
        .jobs()
        .rename(&folder, "sedXa81bQ", "web.json")
        .unwrap();
    outbox.jobs().submit(&folder, "web.json").await.unwrap();
    done(&outbox, &folder, "web.json").await;
    let names: Vec<String> = outbox
        .jobs()
        .in_folder(&folder)
        .into_iter()
        .map(|it| it.name)
        .collect();
    assert_eq!(names, [".web.json.swp", "web.json"]);
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_config_equal_to_a_preset_is_sent_as_the_presets_id() {
    let (world, outbox, _, folder) = with_asset(None).await;
    let factory = world
        .direct()
        .presets()
        .factory(Priority::Interactive)
        .await
        .unwrap();
    let text = factory[0].config.to_pretty_text();
    outbox
        .jobs()
        .write(&folder, "web.json", text.as_bytes())
        .unwrap();
    outbox.jobs().submit(&folder, "web.json").await.unwrap();
    let by_name = format!("{{\"preset\":{:?},\"tags\":[\"mine\"]}}", factory[1].name);
    outbox
        .jobs()
        .write(&folder, "named.json", by_name.as_bytes())
        .unwrap();
    outbox.jobs().submit(&folder, "named.json").await.unwrap();
    let sent = world.relay.calls("POST", "rawmodel/optimize");
    assert!(
        sent[0]
            .text()
            .contains(&format!("\"preset_id\":{}", factory[0].id)),
        "{}",
        sent[0].text()
    );
    assert!(!sent[0].text().contains("\"config\""));
    assert!(
        sent[1]
            .text()
            .contains(&format!("\"preset_id\":{}", factory[1].id)),
        "{}",
        sent[1].text()
    );
    assert!(sent[1].text().contains("\"mine\""));
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_job_waits_for_its_asset_and_can_be_cancelled_until_then() {
    let world = World::start().await;
    let outbox = world.outbox();
    let draft = outbox.drafts().create("slow", 0o755, &ME).unwrap();
    put(&outbox, draft.id, EntryId::ROOT, "slow.glb", &glb(500));
    let asset = outbox.uploads().commit(draft.id, false).await.unwrap();
    let folder = JobFolder::Optimize(OwnerFolder::Draft(draft.id));
    for name in ["kept.json", "dropped.json"] {
        let text = format!("{{\"limits\":{{\"faces\":{{\"count\":{}}}}}}}", name.len());
        outbox.jobs().write(&folder, name, text.as_bytes()).unwrap();
        assert_eq!(
            outbox.jobs().submit(&folder, name).await.unwrap(),
            JobState::Waiting
        );
    }
    let by_asset = JobFolder::Optimize(OwnerFolder::Asset(asset));
    assert_eq!(
        outbox.jobs().in_folder(&by_asset).len(),
        2,
        "both names mean one folder"
    );
    outbox.jobs().remove(&folder, "dropped.json").unwrap();
    // The waiting state survives a restart.
    let outbox = world.reopen(outbox).await;
    done(&outbox, &by_asset, "kept.json").await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(world.relay.calls("POST", "rawmodel/optimize").len(), 1);
    outbox.shut_down().await;
}

/// Two presets of the account with one name, as its page can make them.
async fn two_presets(world: &World, name: &str) -> [PresetId; 2] {
    let presets = world.direct();
    let presets = presets.presets();
    for count in [5, 6] {
        let config = format!(r#"{{"limits":{{"faces":{{"count":{count}}}}}}}"#);
        let request = CreatePreset {
            name: name.to_owned(),
            description: None,
            engine_core_version: None,
            config: OptimizerConfig::parse(&config).unwrap(),
        };
        presets.create(&request).await.unwrap();
    }
    let all = presets.list(Priority::Interactive).await.unwrap();
    let mut ids: Vec<PresetId> = all.iter().map(|preset| preset.id).collect();
    ids.sort_unstable();
    ids.try_into().unwrap()
}

#[tokio::test]
async fn a_name_that_two_presets_have_is_refused_and_pays_nothing() {
    let (world, outbox, asset, folder) = with_asset(None).await;
    let [first, second] = two_presets(&world, "My Web").await;
    let many =
        format!(r#"{{"optimizations":[{{"model_id":{asset},"config":{{"preset":"My Web"}}}}]}}"#);
    let texts = [
        (&folder, r#"{"preset":"My Web"}"#.to_owned()),
        (&JobFolder::Multi, many),
    ];
    for (folder, text) in texts {
        outbox
            .jobs()
            .write(folder, "two.json", text.as_bytes())
            .unwrap();
        let refused = outbox.jobs().submit(folder, "two.json").await.unwrap_err();
        let said = refused.to_string();
        assert!(matches!(refused, OutboxError::Invalid(_)), "{said}");
        for part in [
            format!("My Web~{first}.json, My Web~{second}.json"),
            format!("{{\"preset_id\": {first}}}"),
        ] {
            assert!(said.contains(&part), "{said}");
        }
    }
    assert!(world.relay.calls("POST", "rawmodel/optimize").is_empty());
    let named = format!(r#"{{"preset":"My Web~{second}"}}"#);
    outbox
        .jobs()
        .write(&folder, "two.json", named.as_bytes())
        .unwrap();
    outbox.jobs().submit(&folder, "two.json").await.unwrap();
    let sent = world.relay.calls("POST", "rawmodel/optimize");
    let wanted = format!("\"preset_id\":{second}");
    assert!(sent[0].text().contains(&wanted), "{}", sent[0].text());
    outbox.shut_down().await;
}
