//! The presets folder with the ways in which editors save.

use assetfs::client::Priority;
use assetfs::outbox::{OutboxError, PresetState};
use assetfs::wire::{CreatePreset, OptimizerConfig, Preset, PresetId};

use super::support::{Fault, World};

const A: &[u8] = br#"{"limits":{"faces":{"count":1}}}"#;
const B: &[u8] = br#"{"limits":{"faces":{"count":2}}}"#;

async fn presets(world: &World) -> Vec<Preset> {
    world
        .direct()
        .presets()
        .list(Priority::Interactive)
        .await
        .unwrap()
}

#[track_caller]
fn the_one(presets: &[Preset], name: &str, text: &[u8]) -> PresetId {
    assert_eq!(presets.len(), 1, "{presets:?}");
    assert_eq!(presets[0].name, name);
    let wanted = assetfs::wire::OptimizerConfig::parse(std::str::from_utf8(text).unwrap()).unwrap();
    assert!(
        presets[0].config.meaning_eq(&wanted),
        "{:?}",
        presets[0].config
    );
    presets[0].id
}

#[tokio::test]
async fn a_description_in_a_changed_text_replaces_that_of_the_service_and_one_without_keeps_it() {
    let world = World::start().await;
    let outbox = world.outbox();
    let described = async || {
        let all = presets(&world).await;
        assert_eq!(all.len(), 1, "{all:?}");
        all[0].description.clone().unwrap_or_default()
    };
    for (text, description) in [
        (
            r#"{"name":"web","description":"for pages","config":{"limits":{"faces":{"count":1}}}}"#,
            "for pages",
        ),
        (
            r#"{"name":"web","description":"for phones","config":{"limits":{"faces":{"count":2}}}}"#,
            "for phones",
        ),
        (
            r#"{"name":"web","description":"for all","config":{"limits":{"faces":{"count":2}}}}"#,
            "for all",
        ),
        (r#"{"limits":{"faces":{"count":3}}}"#, "for all"),
    ] {
        outbox
            .presets()
            .save("web.json", text.as_bytes())
            .await
            .unwrap();
        assert_eq!(described().await, description, "{text}");
    }
    outbox.shut_down().await;
}

#[tokio::test]
async fn writing_makes_and_updates_and_rm_deletes() {
    let world = World::start().await;
    let outbox = world.outbox();
    let PresetState::Saved { preset } = outbox.presets().save("web.json", A).await.unwrap() else {
        panic!("it is saved at once");
    };
    assert_eq!(the_one(&presets(&world).await, "web", A), preset);
    outbox.presets().save("web.json", B).await.unwrap();
    assert_eq!(the_one(&presets(&world).await, "web", B), preset);
    assert!(outbox.presets().overlay().files.is_empty());
    // An equivalent text sends nothing.
    let calls =
        || world.relay.calls("PATCH", "preset").len() + world.relay.calls("POST", "preset").len();
    let before = calls();
    outbox
        .presets()
        .save("web.json", b" {\"limits\": {\"faces\": {\"count\": 2.0}}}")
        .await
        .unwrap();
    assert_eq!(calls(), before);
    outbox
        .presets()
        .rename("web.json", "mobile.json")
        .await
        .unwrap();
    assert_eq!(the_one(&presets(&world).await, "mobile", B), preset);
    outbox.presets().remove("mobile.json").await.unwrap();
    assert!(presets(&world).await.is_empty());
    assert!(matches!(
        outbox.presets().remove("mobile.json").await,
        Err(OutboxError::NotFound(_))
    ));
    outbox.shut_down().await;
}

#[tokio::test]
async fn vim_keeps_the_id() {
    let world = World::start().await;
    let outbox = world.outbox();
    outbox.presets().save("web.json", A).await.unwrap();
    let id = the_one(&presets(&world).await, "web", A);
    outbox
        .presets()
        .save(".web.json.swp", b"b0VIM")
        .await
        .unwrap();
    outbox.presets().save("4913", b"").await.unwrap();
    outbox.presets().remove("4913").await.unwrap();
    outbox
        .presets()
        .rename("web.json", "web.json~")
        .await
        .unwrap();
    let overlay = outbox.presets().overlay();
    assert_eq!(overlay.hidden, [id]);
    assert!(
        overlay
            .files
            .iter()
            .any(|file| file.name == "web.json~" && !file.text.is_empty())
    );
    assert_eq!(
        the_one(&presets(&world).await, "web", A),
        id,
        "the rename is local"
    );
    outbox.presets().save("web.json", b"").await.unwrap();
    outbox.presets().save("web.json", B).await.unwrap();
    assert_eq!(the_one(&presets(&world).await, "web", B), id);
    outbox.presets().remove("web.json~").await.unwrap();
    outbox.presets().remove(".web.json.swp").await.unwrap();
    assert_eq!(
        the_one(&presets(&world).await, "web", B),
        id,
        "removing the backup sends nothing"
    );
    let overlay = outbox.presets().overlay();
    assert!(
        overlay.files.is_empty() && overlay.hidden.is_empty(),
        "{overlay:?}"
    );
    assert!(world.relay.calls("DELETE", "preset").is_empty());
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_preset_that_is_renamed_over_a_backup_name_keeps_the_id() {
    let world = World::start().await;
    let mut outbox = world.outbox();
    outbox.presets().save("web.json", A).await.unwrap();
    let id = the_one(&presets(&world).await, "web", A);
    outbox.presets().rename("web.json", "x.bak").await.unwrap();
    outbox
        .presets()
        .rename("x.bak", "other.json")
        .await
        .unwrap();
    for _ in 0..2 {
        assert_eq!(the_one(&presets(&world).await, "other", A), id);
        let overlay = outbox.presets().overlay();
        assert!(overlay.hidden.is_empty(), "{overlay:?}");
        assert!(overlay.files.is_empty(), "{overlay:?}");
        outbox = world.reopen(outbox).await;
    }
    // An edited backup goes out under its new name; one with another preset's name updates that.
    outbox
        .presets()
        .rename("other.json", "x.bak")
        .await
        .unwrap();
    outbox.presets().save("x.bak", B).await.unwrap();
    outbox.presets().rename("x.bak", "web.json").await.unwrap();
    assert_eq!(the_one(&presets(&world).await, "web", B), id);
    outbox.presets().save("second.json", A).await.unwrap();
    outbox.presets().rename("web.json", "x.bak").await.unwrap();
    outbox
        .presets()
        .rename("x.bak", "second.json")
        .await
        .unwrap();
    let found = presets(&world).await;
    let second = found.iter().find(|preset| preset.name == "second");
    assert_ne!(second.unwrap().id, id);
    assert!(world.relay.calls("DELETE", "preset").is_empty());
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_temporary_file_renamed_over_a_preset_updates_it() {
    let world = World::start().await;
    let outbox = world.outbox();
    outbox.presets().save("web.json", A).await.unwrap();
    let id = the_one(&presets(&world).await, "web", A);
    for (temporary, text) in [
        ("sedXb71Qa", B),
        (".goutputstream-8KQ2L1", A),
        ("tmpab12cd34", B),
    ] {
        assert_eq!(
            outbox.presets().save(temporary, text).await.unwrap(),
            PresetState::Local
        );
        outbox
            .presets()
            .rename(temporary, "web.json")
            .await
            .unwrap();
        assert_eq!(
            the_one(&presets(&world).await, "web", text),
            id,
            "{temporary}"
        );
    }
    assert!(outbox.presets().overlay().files.is_empty());
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_lost_reply_of_create_makes_one_preset() {
    for fault in [Fault::LostAfter, Fault::LostBefore] {
        let world = World::start().await;
        world.relay.fault("POST", "preset/create", fault, 1);
        let outbox = world.outbox();
        let state = outbox.presets().save("web.json", A).await.unwrap();
        assert!(!matches!(state, PresetState::Failed { .. }));
        super::support::eventually("it is saved", async || {
            outbox.presets().overlay().files.is_empty() && presets(&world).await.len() == 1
        })
        .await;
        the_one(&presets(&world).await, "web", A);
        outbox.shut_down().await;
    }
}

#[tokio::test]
async fn what_is_no_preset_is_refused_and_kept() {
    let world = World::start().await;
    let outbox = world.outbox();
    let refused = outbox
        .presets()
        .save("web.json", b"{\n oops")
        .await
        .unwrap_err();
    assert!(
        refused.to_string().contains("web.json is not JSON"),
        "{refused}"
    );
    assert!(refused.to_string().contains("line 2"), "{refused}");
    let overlay = outbox.presets().overlay();
    assert_eq!(overlay.files[0].text, b"{\n oops");
    assert!(matches!(overlay.files[0].state, PresetState::Failed { .. }));
    assert!(presets(&world).await.is_empty());
    outbox.presets().save("web.json", A).await.unwrap();
    the_one(&presets(&world).await, "web", A);
    assert!(outbox.presets().overlay().files.is_empty());
    outbox.shut_down().await;
}

#[tokio::test]
async fn of_two_presets_with_one_name_the_file_with_an_id_is_the_one_that_is_changed_renamed_or_removed()
 {
    let world = World::start().await;
    let outbox = world.outbox();
    let client = world.direct();
    for _ in 0..3 {
        let request = CreatePreset {
            name: "web".to_owned(),
            description: None,
            engine_core_version: None,
            config: OptimizerConfig::parse(std::str::from_utf8(A).unwrap()).unwrap(),
        };
        client.presets().create(&request).await.unwrap();
    }
    let ids: Vec<PresetId> = presets(&world).await.iter().map(|it| it.id).collect();
    let (second, third) = (ids[1], ids[2]);
    let folder = outbox.presets();
    let file = format!("web~{second}.json");
    folder.save(&file, B).await.unwrap();
    folder.rename(&file, "tv.json").await.unwrap();
    let gone = folder.remove(&format!("web~{third}.json")).await.unwrap();
    assert_eq!(gone, Some(third));
    let left = presets(&world).await;
    let shown: Vec<_> = left
        .iter()
        .map(|it| {
            let limits = it.config.to_pretty_text();
            (it.name.as_str(), it.id, limits.contains("\"count\": 2"))
        })
        .collect();
    assert_eq!(shown, [("web", ids[0], false), ("tv", second, true)]);
    outbox.shut_down().await;
}
