//! Presets, embeds, webhooks, accounts, tokens, and error bodies.

use assetfs::wire::*;
use serde_json::Value;

use super::{golden, same_keys, sample, sample_value};

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
            .all(|key| ViewerConfig::keys().any(|known| known == key.as_str()))
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
        Some(5_368_709_120)
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
