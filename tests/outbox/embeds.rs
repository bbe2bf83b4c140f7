//! Embeds, and optimizations of several assets in one request: each is sent once, also if replies are lost.

use std::collections::BTreeMap;

use assetfs::client::Priority;
use assetfs::outbox::{
    EntryId, JobFolder, JobInfo, JobState, Jobs, Outbox, OutboxError, OwnerFolder,
};
use assetfs::wire::{AssetId, Embed, RapidId};

use super::support::{Fault, ME, World, copy_chair, eventually, glb, put};

const CONFIG: &[u8] = br#"{"limits":{"faces":{"count":4321}}}"#;

async fn glb_asset(world: &World, outbox: &Outbox, name: &str) -> AssetId {
    let draft = outbox.drafts().create(name, 0o755, &ME).unwrap();
    put(outbox, draft.id, EntryId::ROOT, "model.glb", &glb(600));
    let asset = outbox.uploads().commit(draft.id, false).await.unwrap();
    world.wait_complete(asset).await;
    asset
}

async fn submit(outbox: &Outbox, folder: &JobFolder, name: &str, text: &[u8]) -> JobState {
    outbox.jobs().write(folder, name, text).unwrap();
    outbox.jobs().submit(folder, name).await.unwrap()
}

async fn done(outbox: &Outbox, folder: &JobFolder, name: &str) -> JobInfo {
    eventually("the job is done", async || {
        outbox.jobs().get(folder, name).unwrap().state == JobState::Done
    })
    .await;
    outbox.jobs().get(folder, name).unwrap()
}

async fn embeds(world: &World) -> Vec<Embed> {
    let direct = world.direct();
    direct
        .embeds()
        .all(None, Priority::Interactive)
        .await
        .unwrap()
}

async fn rapids_of(world: &World, asset: AssetId) -> Vec<RapidId> {
    let models = world.rapid_models(asset).await;
    models.iter().map(|it| it.id).collect()
}

#[tokio::test]
async fn embeds_of_an_asset_and_of_a_rapid_model_are_made_once() {
    let world = World::start().await;
    let outbox = world.outbox();
    let asset = glb_asset(&world, &outbox, "chair").await;
    let optimize = JobFolder::Optimize(OwnerFolder::Asset(asset));
    submit(&outbox, &optimize, "web.json", CONFIG).await;
    let rapid = done(&outbox, &optimize, "web.json").await.rapid.unwrap();
    let folders = [
        JobFolder::Embeds(OwnerFolder::Asset(asset)),
        JobFolder::RapidEmbeds(rapid),
    ];
    for folder in &folders {
        assert_eq!(
            submit(&outbox, folder, "viewer.json", b"{}").await,
            JobState::Done
        );
        let named = br#"{"name":"Red chair","config":{"fxaaOn":true}}"#;
        submit(&outbox, folder, "red.json", named).await;
        // The same text again, rewritten or under another name, creates nothing.
        submit(&outbox, folder, "viewer.json", b"{}").await;
        submit(&outbox, folder, "copy.json", named).await;
        let first = done(&outbox, folder, "red.json").await.embed;
        assert_eq!(done(&outbox, folder, "copy.json").await.embed, first);
    }
    let mut names: Vec<String> = embeds(&world).await.into_iter().map(|it| it.name).collect();
    names.sort();
    assert_eq!(names, ["Red chair", "Red chair", "viewer", "viewer"]);
    assert_eq!(world.relay.calls("POST", "embeds/raw").len(), 2);
    assert_eq!(world.relay.calls("POST", "embeds/create").len(), 2);
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_lost_embed_is_not_mistaken_for_another_one_of_its_name() {
    let world = World::start().await;
    let outbox = world.outbox();
    let asset = glb_asset(&world, &outbox, "chair").await;
    let folder = JobFolder::Embeds(OwnerFolder::Asset(asset));
    // The first request never arrives; the reply to the second is lost.
    for fault in [Fault::Status(500), Fault::LostAfter] {
        world.relay.fault("POST", "embeds/raw", fault, 1);
    }
    let text = |unit: &str| format!(r#"{{"name":"viewer","config":{{"baseUnit":"{unit}"}}}}"#);
    let (metres, centimetres) = (text("m"), text("cm"));
    let first = submit(&outbox, &folder, "first.json", metres.as_bytes());
    let second = async {
        eventually("the first was sent", async || {
            world.relay.calls("POST", "embeds/raw").len() == 1
        })
        .await;
        submit(&outbox, &folder, "second.json", centimetres.as_bytes()).await
    };
    tokio::join!(first, second);
    done(&outbox, &folder, "second.json").await;
    let first = outbox.jobs().get(&folder, "first.json").unwrap();
    assert_eq!(first.state, JobState::Unknown);
    assert_eq!(embeds(&world).await.len(), 1);
    assert_eq!(world.relay.calls("POST", "embeds/raw").len(), 2);
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_lost_reply_of_an_embed_makes_one_embed() {
    let world = World::start().await;
    let outbox = world.outbox();
    let asset = glb_asset(&world, &outbox, "chair").await;
    let folder = JobFolder::Embeds(OwnerFolder::Asset(asset));
    // An embed of the same name exists already and is not mistaken for ours.
    submit(&outbox, &folder, "viewer.json", b"{}").await;
    let before = done(&outbox, &folder, "viewer.json").await.embed.unwrap();
    world.relay.fault("POST", "embeds/raw", Fault::LostAfter, 1);
    let text = br#"{"name":"viewer","config":{"baseUnit":"m"}}"#;
    submit(&outbox, &folder, "metres.json", text).await;
    let found = done(&outbox, &folder, "metres.json").await.embed.unwrap();
    assert_ne!(found, before);
    assert_eq!(embeds(&world).await.len(), 2);
    // A request that never arrived stays unknown and is sent again only by command.
    world
        .relay
        .fault("POST", "embeds/raw", Fault::Status(500), 1);
    submit(&outbox, &folder, "third.json", b"{\"name\":\"third\"}").await;
    eventually("it is given up", async || {
        outbox.jobs().get(&folder, "third.json").unwrap().state == JobState::Unknown
    })
    .await;
    submit(&outbox, &folder, "third.json", b"{\"name\":\"third\"}").await;
    assert_eq!(embeds(&world).await.len(), 2);
    outbox.jobs().run(&folder, "third.json").await.unwrap();
    done(&outbox, &folder, "third.json").await;
    assert_eq!(embeds(&world).await.len(), 3);
    outbox.shut_down().await;
}

#[tokio::test]
async fn an_embed_of_what_is_no_glb_is_refused_in_the_services_words() {
    let world = World::start().await;
    let outbox = world.outbox();
    let draft = copy_chair(&outbox, "chair");
    let asset = outbox.uploads().commit(draft.id, false).await.unwrap();
    world.wait_complete(asset).await;
    let folder = JobFolder::Embeds(OwnerFolder::Asset(asset));
    outbox.jobs().write(&folder, "viewer.json", b"{}").unwrap();
    let refused = outbox
        .jobs()
        .submit(&folder, "viewer.json")
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("not glb"), "{refused}");
    outbox.shut_down().await;
}

#[tokio::test]
async fn several_assets_are_optimized_by_one_request_once() {
    let world = World::start().await;
    let outbox = world.outbox();
    let first = glb_asset(&world, &outbox, "first").await;
    let second = glb_asset(&world, &outbox, "second").await;
    let text = format!(
        r#"{{"optimizations":[{{"model_id":{first},"config":{{"limits":{{"faces":{{"count":9}}}},"tags":["mine"]}}}},{{"model":"rawmodels/second","config":{{"limits":{{}}}}}}]}}"#
    );
    let folder = JobFolder::Multi;
    outbox
        .jobs()
        .write(&folder, "all.json", text.as_bytes())
        .unwrap();
    // An unknown path is reported at once.
    let refused = outbox.jobs().submit(&folder, "all.json").await.unwrap_err();
    assert!(
        refused.to_string().contains("no model at rawmodels/second"),
        "{refused}"
    );
    let paths = Jobs::paths_in("all.json", text.as_bytes()).unwrap();
    assert_eq!(paths, ["rawmodels/second"]);
    let owners = BTreeMap::from([(paths[0].clone(), OwnerFolder::Asset(second))]);
    outbox.jobs().set_paths("all.json", owners).unwrap();
    // The answer does not name the rapid models; this one is lost as well.
    let path = "rawmodel/optimize";
    world.relay.fault("POST", path, Fault::LostAfter, 1);
    outbox.jobs().submit(&folder, "all.json").await.unwrap();
    let job = done(&outbox, &folder, "all.json").await;
    let mut made = rapids_of(&world, first).await;
    made.extend(rapids_of(&world, second).await);
    assert_eq!(job.rapids, made);
    assert_eq!(made.len(), 2);
    eventually("the one-off tags are gone", async || {
        let direct = world.direct();
        let one = direct.rapids().get(made[0], Priority::Interactive).await;
        let two = direct.rapids().get(made[1], Priority::Interactive).await;
        let names = |model: assetfs::wire::RapidModel| {
            // The checksums of the texts stay.
            let tags = model.tags.into_iter().map(|tag| tag.name);
            let tags = tags.filter(|name| !name.starts_with("assetfs:"));
            tags.collect::<Vec<_>>()
        };
        names(one.unwrap()) == ["mine"] && names(two.unwrap()).is_empty()
    })
    .await;
    // Copied back under another name after a restart: nothing is paid again.
    let outbox = world.reopen(outbox).await;
    outbox
        .jobs()
        .write(&folder, "again.json", text.as_bytes())
        .unwrap();
    let owners = BTreeMap::from([(paths[0].clone(), OwnerFolder::Asset(second))]);
    outbox.jobs().set_paths("again.json", owners).unwrap();
    outbox.jobs().submit(&folder, "again.json").await.unwrap();
    assert_eq!(done(&outbox, &folder, "again.json").await.rapids.len(), 2);
    assert_eq!(world.relay.calls("POST", path).len(), 1);
    outbox.shut_down().await;
}

#[tokio::test]
async fn a_job_for_several_assets_waits_for_the_draft_it_names() {
    let world = World::start().await;
    let outbox = world.outbox();
    let draft = outbox.drafts().create("slow", 0o755, &ME).unwrap();
    let text = br#"{"optimizations":[{"model":"rawmodels/slow","config":{"limits":{}}}]}"#;
    let folder = JobFolder::Multi;
    outbox.jobs().write(&folder, "all.json", text).unwrap();
    let owner = OwnerFolder::Draft(draft.id);
    let owners = BTreeMap::from([("rawmodels/slow".to_owned(), owner)]);
    outbox.jobs().set_paths("all.json", owners).unwrap();
    assert_eq!(
        outbox.jobs().submit(&folder, "all.json").await.unwrap(),
        JobState::Waiting
    );
    put(&outbox, draft.id, EntryId::ROOT, "slow.glb", &glb(500));
    let asset = outbox.uploads().commit(draft.id, false).await.unwrap();
    done(&outbox, &folder, "all.json").await;
    assert_eq!(rapids_of(&world, asset).await.len(), 1);
    // The removal of a draft ends the wait for it.
    let gone = outbox.drafts().create("gone", 0o755, &ME).unwrap();
    let text = br#"{"optimizations":[{"model":"rawmodels/gone","config":{"limits":{}}}]}"#;
    outbox.jobs().write(&folder, "gone.json", text).unwrap();
    let owners = BTreeMap::from([("rawmodels/gone".to_owned(), OwnerFolder::Draft(gone.id))]);
    outbox.jobs().set_paths("gone.json", owners).unwrap();
    outbox.jobs().submit(&folder, "gone.json").await.unwrap();
    outbox.drafts().remove(gone.id).unwrap();
    eventually("it says so", async || {
        let job = outbox.jobs().get(&folder, "gone.json").unwrap();
        job.status
            .to_string()
            .contains("was removed before it was sent")
    })
    .await;
    assert!(matches!(
        outbox.jobs().submit(&folder, "gone.json").await,
        Err(OutboxError::Invalid(_))
    ));
    outbox.shut_down().await;
}
