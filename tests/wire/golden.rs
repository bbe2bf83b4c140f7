//! One sample of each shape of the API, read, looked at, and written back with the same meaning.

use std::collections::BTreeSet;
use std::path::PathBuf;

use assetfs::wire::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/wire")
}

pub fn sample(name: &str) -> String {
    let path = folder().join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub fn sample_value(name: &str) -> Value {
    serde_json::from_str(&sample(&format!("{name}.json"))).unwrap()
}

/// Reads a sample, and checks that writing it loses nothing and that what was written is read the same.
fn golden<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(name: &str) -> T {
    let value = sample_value(name);
    let read: T =
        serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{name}: {error}"));
    let written = serde_json::to_value(&read).unwrap();
    let text = serde_json::to_string(&read).unwrap();
    let again: T =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}, written: {error}"));
    assert_eq!(again, read, "{name}: read, written and read again");
    assert_same(&value, &written, name);
    read
}

/// Equal, where null is as good as absent, an instant may be written in another form, and a text that
/// holds JSON as good as the JSON itself.
fn assert_same(expected: &Value, found: &Value, at: &str) {
    match (expected, found) {
        (Value::Object(one), Value::Object(two)) => {
            let keys: BTreeSet<&String> = one.keys().chain(two.keys()).collect();
            for key in keys {
                let null = Value::Null;
                let (one, two) = (one.get(key).unwrap_or(&null), two.get(key).unwrap_or(&null));
                let is_empty = |value: &Value| {
                    value.is_null()
                        || value.as_array().is_some_and(Vec::is_empty)
                        || value.as_object().is_some_and(|map| {
                            map.values()
                                .all(|v| v.as_object().is_some_and(|m| m.is_empty()))
                        })
                };
                if !(is_empty(one) && is_empty(two)) {
                    assert_same(one, two, &format!("{at}.{key}"));
                }
            }
        }
        (Value::Array(one), Value::Array(two)) if one.len() == two.len() => {
            for (index, (one, two)) in one.iter().zip(two).enumerate() {
                assert_same(one, two, &format!("{at}[{index}]"));
            }
        }
        (Value::String(one), Value::String(two)) if one != two => {
            let instants = (one.parse::<Timestamp>(), two.parse::<Timestamp>());
            if let (Ok(one), Ok(two)) = instants {
                assert_eq!(one, two, "{at}");
                return;
            }
            let parse = |text: &str| {
                serde_json::from_str::<Value>(text).unwrap_or(Value::String(text.to_owned()))
            };
            assert_eq!(parse(one), parse(two), "{at}");
        }
        (Value::String(text), object @ Value::Object(_))
        | (object @ Value::Object(_), Value::String(text)) => {
            assert_same(&serde_json::from_str(text).unwrap(), object, at);
        }
        (Value::Number(one), Value::Number(two)) => assert_eq!(one.as_f64(), two.as_f64(), "{at}"),
        (one, two) => assert_eq!(one, two, "{at}"),
    }
}

fn same_keys(form: &Value, name: &str) {
    let keys = |value: &Value| -> BTreeSet<String> {
        value.as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(
        keys(form),
        keys(&sample_value(name)),
        "{name}: the fields of the form"
    );
    assert_same(&sample_value(name), form, name);
}

#[test]
fn base_assets() {
    let item: BaseAsset = golden("asset-list-item");
    assert_eq!(
        (item.id, item.name.as_str(), item.size),
        (AssetId(1042), "chair", Some(48_123_456))
    );
    assert_eq!(item.upload_status, UploadStatus::Complete);
    assert_eq!(
        item.created_at.unwrap().iso_micros(),
        "2024-05-06T07:08:09.123456Z"
    );
    assert_eq!(item.tags[0].created_at, item.created_at);
    assert_eq!(
        (item.tags[0].id, item.tags[0].raw_id),
        (TagId(31), Some(AssetId(1042)))
    );
    assert_eq!(item.downloads.len(), 7);
    assert!(item.other.is_empty());
    same_keys(&item.to_form(AssetForm::List), "asset-list-item");

    let detail: BaseAsset = golden("asset-detail");
    assert_eq!(detail.created_at.unwrap().plain(), "2024-05-06 07:08:09");
    assert_eq!(
        (detail.scale_factor, detail.has_errors, detail.progress),
        (Some(0.01), Some(true), Some(100.0))
    );
    assert_eq!(detail.rapid_models, [RapidId(2077), RapidId(2078)]);
    assert_eq!(
        detail
            .converted()
            .map(|(format, _)| format)
            .collect::<Vec<_>>(),
        ["glb", "gltf", "max", "fbx", "usdz"]
    );
    assert_eq!(detail.converted_fbx.as_ref().unwrap().name, "chair.fbx");
    assert!(detail.metadata.as_ref().unwrap().get("materials").is_some());
    assert!(detail.other.is_empty());
    same_keys(&detail.to_form(AssetForm::Detail), "asset-detail");

    let completed: BaseAsset = golden("asset-upload-complete");
    assert_eq!(
        (completed.upload_status.clone(), completed.processing),
        (UploadStatus::Waiting, Some(true))
    );
    assert_eq!(completed.created_at.unwrap().plain(), "2024-05-06 07:08:09");
    same_keys(
        &completed.to_form(AssetForm::UploadComplete),
        "asset-upload-complete",
    );

    let page: Page<BaseAsset> = golden("asset-page");
    assert_eq!(
        (
            page.data.len(),
            page.meta.last_page,
            page.meta.total,
            page.is_last()
        ),
        (1, 3, 21, false)
    );
    assert_eq!(
        (page.meta.links[1].label.as_str(), page.meta.links[1].active),
        ("1", true)
    );
    let update: AssetUpdate = golden("asset-update");
    assert_eq!(update.scale_factor, Some(0.01));
    assert_eq!(
        golden::<IdList<AssetId>>("id-list").ids,
        [AssetId(1042), AssetId(1043)]
    );
}

#[test]
fn conversions_and_files() {
    let jobs: Items<ConversionJob> = golden("conversion-jobs");
    let states: Vec<_> = jobs.0.iter().map(|job| job.status.clone()).collect();
    use ConversionStatus::{Executing, Failed, Finished, Queued};
    assert_eq!(states, [Executing, Finished, Queued, Failed]);
    assert_eq!(
        golden::<FormatsRequest>("formats-request").formats,
        ["fbx", "usdz"]
    );
    assert_eq!(
        golden::<FormatsAdded>("formats-added").formats,
        ["fbx", "usdz"]
    );
    let downloads: Downloads = golden("downloads");
    assert!(
        downloads
            .get("chair.bin")
            .unwrap()
            .expose()
            .ends_with("X-Amz-Signature=0a1b2c")
    );
    let pbr: PbrDownloads = golden("pbr-downloads");
    assert!(pbr.materials.get("wood.mdl").is_some() && pbr.qc.get("diff_0.png").is_some());
    let names: Items<TagName> = serde_json::from_value(sample_value("tag-names")).unwrap();
    assert_eq!(
        names
            .0
            .iter()
            .map(|tag| tag.name.as_str())
            .collect::<Vec<_>>(),
        ["oak", "web"]
    );
}

#[test]
fn uploads() {
    let start: StartUpload = golden("upload-start");
    assert_eq!((start.model_name.as_str(), start.is_zip), ("chair", false));
    let legacy: StartUpload = serde_json::from_value(sample_value("legacy-upload-start")).unwrap();
    assert!(legacy.model_name.is_empty() && !legacy.is_zip);
    let started: UploadStarted = golden("upload-started");
    assert_eq!(started.id, AssetId(1042));
    assert_eq!(
        started
            .links
            .s3_upload_urls
            .iter()
            .map(|(name, _)| name)
            .collect::<Vec<_>>(),
        ["chair.bin", "chair.gltf"]
    );
    assert!(
        started
            .links
            .complete_upload
            .unwrap()
            .ends_with(&paths::complete_upload(started.id))
    );
}

#[test]
fn rapid_models() {
    let rapid: RapidModel = golden("rapid-model");
    assert_eq!(
        (rapid.id, rapid.optimization_status.clone(), rapid.progress),
        (RapidId(2077), OptimizationStatus::Done, 100)
    );
    let job = rapid.job_status.as_ref().unwrap();
    assert_eq!(
        (job.status.clone(), job.kind.as_str()),
        (JobState::Finished, "OptimizeJob")
    );
    assert_eq!(rapid.rawmodel.as_ref().unwrap().id, AssetId(1042));
    assert_eq!(
        rapid.optimization_formats.as_ref().unwrap().0,
        ["glb", "usdz"]
    );
    let meta = rapid.meta.as_ref().unwrap();
    assert_eq!(
        (meta.export_size, meta.qc[0]["glb"].max_score),
        (Some(1_912_345), Some(0.9875))
    );
    assert_eq!(rapid.downloads.formats.len(), 2);
    assert!(rapid.downloads.all.get("chair.usdz").is_some());
    assert_eq!(rapid.thumbnail.as_ref().unwrap().turntable.len(), 1);
    assert!(rapid.other.is_empty() && rapid.rpd_error.is_some());
    same_keys(&rapid.to_form(RapidForm::Full), "rapid-model");

    let summary: RapidModel = golden("rapid-summary");
    assert_eq!(summary.optimization_status, OptimizationStatus::SentToQueue);
    assert_eq!(summary.rawmodel.as_ref().unwrap().processing, Some(false));
    assert_eq!(
        summary.job_status.as_ref().unwrap().status,
        JobState::Queued
    );
    same_keys(&summary.to_form(RapidForm::Summary), "rapid-summary");

    let legacy: Data<RapidModel> =
        serde_json::from_value(sample_value("legacy-rapid-model")).unwrap();
    assert_eq!(legacy.data.downloads.formats.len(), 4);
    let exports: Data<ExportList> = golden("exports");
    let glb = &exports.data.0["chair.glb"];
    assert_eq!(
        glb.info.as_ref().unwrap().images[0].compressed_byte_size,
        45_123
    );
    assert_eq!(exports.data.0["chair.usdz"].info, None);
    assert_eq!(golden::<TagsRequest>("rapid-tags").tags, ["web"]);
}

#[test]
fn optimizations() {
    let by_config: OptimizeRequest = golden("optimize-by-config");
    let layout_a: OptimizerConfig = golden("config-layout-a");
    let layout_b: OptimizerConfig = golden("config-layout-b");
    assert_eq!(
        by_config.settings,
        OptimizeSettings::Config(layout_a.clone())
    );
    let by_preset: OptimizeRequest = golden("optimize-by-preset");
    assert_eq!(
        (by_preset.settings, by_preset.tags),
        (
            OptimizeSettings::Preset(PresetId(7)),
            vec!["web".to_owned()]
        )
    );
    assert_eq!(
        golden::<OptimizeRequest>("optimize-bare").settings,
        OptimizeSettings::ServiceDefault
    );
    let multi: MultiOptimize = golden("multi-optimize");
    assert_eq!(multi.optimizations[0].config.preset_id, Some(PresetId(7)));
    assert_eq!(
        multi.optimizations[0].config.export_name.as_deref(),
        Some("chair-web")
    );
    assert!(OptimizerConfig(multi.optimizations[1].config.config.clone()).meaning_eq(&layout_b));
    let process: LegacyProcess = golden("legacy-process");
    assert_eq!(process.max_size_mb, Some(5.0));
    let reply: LegacyOptimizeReply = golden("legacy-optimize-reply");
    assert_eq!((reply.id, reply.accepted), (RapidId(2077), Some(true)));
}

#[test]
fn presets() {
    let layout_a: OptimizerConfig = golden("config-layout-a");
    let detail: Preset = golden("preset-detail");
    let item: Preset = golden("preset-list-item");
    assert_eq!(detail.config, layout_a, "a config as an object");
    assert_eq!(item.config, layout_a, "a config as a text");
    let rule = item.meta.as_ref().unwrap().filename.clone().unwrap();
    assert_eq!(
        (rule.use_id, rule.use_suffix, rule.use_preset_name),
        (false, Value::Null, true)
    );
    same_keys(&item.to_form(PresetForm::List), "preset-list-item");
    assert!(item.to_form(PresetForm::List)["config"].is_string());
    same_keys(&detail.to_form(PresetForm::Detail), "preset-detail");
    assert!(detail.to_form(PresetForm::Detail)["config"].is_object());
    let factory: FactoryPreset = golden("factory-preset");
    assert_eq!(
        (factory.name.as_str(), factory.config.clone()),
        ("Web Viewer", layout_a)
    );
    assert!(serde_json::to_value(&factory).unwrap()["config"].is_string());
    assert_eq!(
        golden::<PresetCategory>("preset-category").slug,
        "e-commerce"
    );
    assert_eq!(
        golden::<CreatePreset>("create-preset")
            .engine_core_version
            .as_deref(),
        Some("6.0.0")
    );
    assert_eq!(golden::<UpdatePreset>("update-preset").id, PresetId(7));
    assert!(!golden::<RpdxRequest>("rpdx-request").config.is_empty());
}

#[test]
fn embeds() {
    let detail: Embed = golden("embed-detail");
    assert_eq!(
        (detail.id, detail.model_id, detail.view_count),
        (EmbedId(90), Some(RapidId(2077)), Some(12))
    );
    same_keys(&detail.to_form(EmbedForm::Detail), "embed-detail");
    let item: Embed = golden("embed-list-item");
    assert_eq!(
        (item.rapid_model_id, item.rapid_model_name.as_deref()),
        (Some(RapidId(2077)), Some("chair"))
    );
    same_keys(&item.to_form(EmbedForm::List), "embed-list-item");
    let create: CreateEmbed = golden("create-embed");
    let viewer = ViewerConfig::parse(create.config.as_deref().unwrap()).unwrap();
    assert_eq!(viewer, golden::<ViewerConfig>("viewer-config"));
    assert!(
        viewer
            .0
            .keys()
            .all(|key| ViewerConfig::KEYS.contains(&key.as_str()))
    );
    assert_eq!(
        golden::<CreateRawEmbed>("create-raw-embed").raw_model_id,
        AssetId(1042)
    );
    assert_eq!(
        golden::<EmbedCreated>("embed-created").embed_id,
        EmbedId(90)
    );
    assert_eq!(
        golden::<RawEmbedCreated>("raw-embed-created").embed_id,
        EmbedId(91)
    );
}

#[test]
fn webhooks_and_events() {
    let webhook: Webhook = golden("webhook");
    assert_eq!(
        (webhook.id, webhook.verify_ssl, webhook.failed_calls),
        (WebhookId(3), Some(true), 0)
    );
    let create: CreateWebhook = golden("create-webhook");
    for shown in [format!("{webhook:?}"), format!("{create:?}")] {
        assert!(!shown.contains("hook-s3cret"), "{shown}");
    }
    let event: Event = golden("event-optimization");
    assert_eq!(
        (event.event_type, event.data.status),
        (
            EventType::OptimizationFinished,
            Some(EventStatus::Successful)
        )
    );
    assert_eq!(
        (event.data.rawmodel_id, event.data.rapidmodel_id),
        (Some(AssetId(1042)), Some(RapidId(2077)))
    );
    assert!(event.data.rapidmodel.get("rapid.glb").is_some());
    let event: Event = golden("event-analysis");
    assert_eq!(
        (event.event_type, event.data.status),
        (EventType::AnalysisFinished, Some(EventStatus::Failed))
    );
    assert_eq!(
        golden::<Event>("event-unzip").event_type,
        EventType::UnzipFinished
    );
}

#[test]
fn accounts_and_tokens() {
    let item: ApiToken = golden("token-list-item");
    assert_eq!(
        (item.id, item.optimization_count, item.last_used_at),
        (TokenId(17), Some(3), None)
    );
    same_keys(&item.to_form(TokenForm::List), "token-list-item");
    let single: ApiToken = golden("token-single");
    assert_eq!(
        (single.tokenable_id, single.abilities.as_slice()),
        (Some(UserId(4)), ["*".to_owned()].as_slice())
    );
    same_keys(&single.to_form(TokenForm::Single), "token-single");
    assert_eq!(golden::<CreateToken>("create-token").name, "laptop");
    let login: Login = golden("login");
    assert!(login.password.expose() == "hunter2" && !format!("{login:?}").contains("hunter2"));
    assert_eq!(
        golden::<DeleteAccount>("delete-account").password.expose(),
        "hunter2"
    );
    assert_eq!(golden::<RapidPoints>("rapid-points").rapidpoints, 120);
    assert_eq!(
        golden::<StorageLeft>("storage-left").storage_left,
        5_368_709_120
    );
    let token = LoginReply::from_body(&sample("new-token.txt"))
        .unwrap()
        .token;
    assert_eq!(
        (token.id(), token.expose()),
        (Some(TokenId(17)), "17|Zk3pQ9secretsecret")
    );
    assert!(!format!("{token} {token:?}").contains("secret"));
}

#[test]
fn error_bodies() {
    for (name, sentence) in [
        (
            "error-invalid-token.json",
            "Invalid token; Token format is invalid",
        ),
        (
            "error-login.json",
            "The given data was invalid.; These credentials do not match.",
        ),
        ("error-webhooks.json", "Maximum number of webhooks reached"),
        ("error-formats.json", "The model already has: glb, usdz"),
        (
            "error-multi-optimize.txt",
            "Could not process request: model_id is required",
        ),
        (
            "error-internal.txt",
            "An error occurred while processing your request: out of cheese",
        ),
        ("error-storage.xml", "Request has expired"),
    ] {
        let body = ErrorBody::read(sample(name).as_bytes());
        assert_eq!(body.sentence().as_deref(), Some(sentence), "{name}");
        let again = ErrorBody::read(&serde_json::to_vec(&body).unwrap());
        assert_eq!(again.sentence(), body.sentence(), "{name}");
    }
    assert_eq!(
        golden::<ErrorBody>("error-invalid-token"),
        ErrorBody::invalid_token()
    );
    let too_many = ErrorBody::too_many_webhooks("Maximum number of webhooks reached");
    assert_eq!(too_many, sample_value("error-webhooks"));
}

#[test]
fn every_sample_is_used() {
    let source = concat!(include_str!("golden.rs"), include_str!("tolerance.rs"));
    for entry in std::fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let stem = name.split('.').next().unwrap();
        assert!(
            source.contains(&format!("\"{stem}")),
            "{name} is read by no test"
        );
    }
}
