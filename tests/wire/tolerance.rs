//! Foreign input is read as far as possible, and no input causes a panic.

use assetfs::wire::secret::{json_without_secrets, without_secrets};
use assetfs::wire::*;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::golden::sample_value;
use super::make::Maker;

#[test]
fn an_odd_base_asset_is_read_as_far_as_possible() {
    let asset: BaseAsset = serde_json::from_value(sample_value("asset-odd")).unwrap();
    assert_eq!(
        (asset.id, asset.name.as_str(), asset.size),
        (AssetId(1042), "7", Some(48_123_456))
    );
    assert_eq!(
        asset.upload_status,
        UploadStatus::Other("hibernating".into())
    );
    assert!(!asset.upload_status.is_final());
    assert_eq!(
        (asset.external, asset.has_errors, asset.scale_factor),
        (Some(true), Some(true), Some(0.5))
    );
    assert_eq!(
        (
            asset.created_at,
            asset.progress,
            asset.error_message.clone()
        ),
        (None, Some(12.5), None)
    );
    assert_eq!(
        asset.tags.len(),
        1,
        "a list written as an object, with one broken item"
    );
    assert_eq!(asset.rapid_models, [RapidId(2077), RapidId(2078)]);
    assert!(
        asset.downloads.is_empty(),
        "an empty list means an empty map"
    );
    assert_eq!(asset.converted().count(), 0);
    assert_eq!(asset.other["invented_later"], json!({"deep": [1, 2, 3]}));
    let again: BaseAsset = serde_json::from_value(serde_json::to_value(&asset).unwrap()).unwrap();
    assert_eq!(again, asset);
}

#[test]
fn an_odd_rapid_model_is_read_as_far_as_possible() {
    let rapid: RapidModel = serde_json::from_value(sample_value("rapid-odd")).unwrap();
    assert_eq!((rapid.id, rapid.progress), (RapidId(2077), 40));
    assert_eq!(rapid.optimization_status, OptimizationStatus::Failed);
    assert_eq!(
        (
            rapid.job_status.clone(),
            rapid.rawmodel.clone(),
            rapid.metrics.clone()
        ),
        (None, None, None)
    );
    assert_eq!(rapid.optimization_formats.unwrap().0, ["glb", "usdz"]);
    assert_eq!(
        rapid
            .downloads
            .formats
            .iter()
            .map(|(name, _)| name)
            .collect::<Vec<_>>(),
        ["usdz"]
    );
    assert!(rapid.downloads.all.is_empty());
}

#[test]
fn odd_maps_of_files_keep_the_entries_with_urls() {
    let downloads: Downloads = serde_json::from_value(sample_value("downloads-odd")).unwrap();
    assert_eq!(
        downloads.iter().map(|(name, _)| name).collect::<Vec<_>>(),
        ["chair.gltf"]
    );
    for empty in [sample_value("downloads-empty"), json!({}), json!(null)] {
        assert!(
            serde_json::from_value::<Downloads>(empty)
                .unwrap()
                .is_empty()
        );
    }
}

#[test]
fn an_odd_event_is_read() {
    let event: Event = serde_json::from_value(sample_value("event-odd")).unwrap();
    assert_eq!(event.event_type, EventType::Other("volcano_erupted".into()));
    assert_eq!((event.timestamp, event.data), (None, EventData::default()));
}

#[test]
fn every_known_state_is_distinguished_and_classified() {
    let cases = [
        ("incomplete", UploadStatus::Incomplete, false, false),
        ("waiting", UploadStatus::Waiting, false, false),
        ("unzipping", UploadStatus::Unzipping, false, false),
        ("analysing", UploadStatus::Analysing, false, false),
        ("dataprepping", UploadStatus::DataPrepping, false, false),
        (
            "dataprepping failed",
            UploadStatus::DataPreppingFailed,
            true,
            true,
        ),
        ("ServiceQC", UploadStatus::ServiceQc, false, false),
        ("BrandQC", UploadStatus::ServiceQc, false, false),
        ("complete", UploadStatus::Complete, false, true),
        ("Complete", UploadStatus::Complete, false, true),
        (
            "Importing Failed",
            UploadStatus::ImportingFailed,
            true,
            true,
        ),
        (
            "Importing Failed Import Limit Exceeded",
            UploadStatus::ImportLimitExceeded,
            true,
            true,
        ),
        (
            "Unzipping Failed",
            UploadStatus::Other("Unzipping Failed".into()),
            true,
            true,
        ),
        ("", UploadStatus::Other(String::new()), false, false),
    ];
    for (word, status, is_failure, is_final) in cases {
        assert_eq!(UploadStatus::from_word(word), status);
        assert_eq!(
            (status.is_failure(), status.is_final()),
            (is_failure, is_final),
            "{word}"
        );
    }
    for (word, is_final) in [
        ("sent_to_queue", false),
        ("done", true),
        ("failed", true),
        ("failed_hard", true),
        ("x", false),
    ] {
        assert_eq!(
            OptimizationStatus::from_word(word).is_final(),
            is_final,
            "{word}"
        );
    }
}

#[test]
fn a_record_without_its_id_is_refused_and_does_not_hide_others() {
    assert!(serde_json::from_value::<BaseAsset>(json!({"name": "chair"})).is_err());
    let text = json!({"data": [{"name": "chair"}, {"id": 2}, null, []]});
    let page: Page<BaseAsset> = serde_json::from_value(text).unwrap();
    assert_eq!((page.data.len(), page.unreadable), (1, 3));
}

#[test]
fn envelopes_are_optional() {
    let bare: Data<Preset> = serde_json::from_value(json!({"id": 7})).unwrap();
    let wrapped: Data<Preset> = serde_json::from_value(json!({"data": {"id": 7}})).unwrap();
    assert_eq!(bare, wrapped);
    for list in [
        json!([{"id": 7}]),
        json!({"data": [{"id": 7}]}),
        json!({"0": {"id": 7}}),
    ] {
        assert_eq!(
            serde_json::from_value::<Items<Preset>>(list)
                .unwrap()
                .0
                .len(),
            1
        );
    }
    assert!(serde_json::from_value::<Items<Preset>>(json!("no list")).is_err());
    assert!(serde_json::from_value::<Page<Preset>>(json!({"message": "no list"})).is_err());
}

#[test]
fn numbers_out_of_range_cause_no_panic() {
    let odd = json!({"id": 1, "size": -5, "progress": "NaN", "scale_factor": "1e400"});
    let asset: BaseAsset = serde_json::from_value(odd).unwrap();
    assert_eq!(
        (asset.size, asset.progress, asset.scale_factor),
        (Some(0), None, None)
    );
    let left: StorageLeft = serde_json::from_value(json!({"storage_left": -1})).unwrap();
    assert_eq!(left.storage_left, Some(0));
    let left: StorageLeft = serde_json::from_value(json!({"storage_left": "5368709120"})).unwrap();
    assert_eq!(left.storage_left, Some(5_368_709_120));
}

#[test]
fn storage_left_that_is_no_number_is_unknown_and_not_zero() {
    for odd in [
        json!({"storage_left": null}),
        json!({"storage_left": "unlimited"}),
        json!({}),
    ] {
        let left: StorageLeft = serde_json::from_value(odd.clone()).unwrap();
        assert_eq!(left.storage_left, None, "{odd}");
    }
}

#[test]
fn records_show_no_signature_in_debug() {
    let mut make = Maker::new(1);
    for _ in 0..50 {
        let asset = BaseAsset {
            metadata: None,
            other: Default::default(),
            converted_glb: Some(ConvertedFile {
                name: "a".into(),
                url: SignedUrl::new("https://h/a?sig=s3cret"),
                human_name: "".into(),
            }),
            ..make.asset()
        };
        assert!(!format!("{asset:?}").contains("sig="), "{asset:?}");
        let rapid = RapidModel {
            other: Default::default(),
            ..make.rapid()
        };
        assert!(!format!("{:?}", rapid.downloads).contains("sig="));
        let shown = json_without_secrets(serde_json::to_value(&asset).unwrap()).to_string();
        assert!(!shown.contains("sig="), "{shown}");
    }
}

proptest! {
    #[test]
    fn a_record_with_its_id_is_read_whatever_its_other_fields_are(seed: u64) {
        let mut make = Maker::new(seed);
        let asset = serde_json::to_value(make.asset()).unwrap();
        let rapid = serde_json::to_value(make.rapid()).unwrap();
        let preset = serde_json::to_value(make.preset()).unwrap();
        let embed = serde_json::to_value(make.embed()).unwrap();
        let webhook = serde_json::to_value(make.webhook()).unwrap();
        let token = serde_json::to_value(make.token()).unwrap();
        for _ in 0..8 {
            prop_assert!(serde_json::from_value::<BaseAsset>(make.spoil(asset.clone())).is_ok());
            prop_assert!(serde_json::from_value::<RapidModel>(make.spoil(rapid.clone())).is_ok());
            prop_assert!(serde_json::from_value::<Preset>(make.spoil(preset.clone())).is_ok());
            prop_assert!(serde_json::from_value::<Embed>(make.spoil(embed.clone())).is_ok());
            prop_assert!(serde_json::from_value::<Webhook>(make.spoil(webhook.clone())).is_ok());
            prop_assert!(serde_json::from_value::<ApiToken>(make.spoil(token.clone())).is_ok());
        }
    }

    #[test]
    fn no_json_causes_a_panic(seed: u64) {
        let value: Value = Maker::new(seed).json(4);
        let _ = serde_json::from_value::<BaseAsset>(value.clone());
        let _ = serde_json::from_value::<Page<RapidModel>>(value.clone());
        let _ = serde_json::from_value::<Event>(value.clone());
        let _ = serde_json::from_value::<MultiOptimize>(value.clone());
        let _ = OptimizerConfig::from_value(value.clone());
        let _ = ErrorBody::read(value.to_string().as_bytes()).sentence();
        let _ = LoginReply::from_body(&value.to_string());
    }

    #[test]
    fn no_text_causes_a_panic(text in ".{0,200}", bytes: Vec<u8>) {
        let _ = text.parse::<Timestamp>();
        let _ = UploadStatus::from_word(&text);
        let _ = Token::parse(&text);
        let _ = SignedUrl::new(text.clone()).expires_at();
        let _ = format!("{:?}", SignedUrl::new(text));
        let _ = ErrorBody::read(&bytes).sentence();
    }

    #[test]
    fn no_query_survives_cleaning(before in ".{0,30}", after in "[ <>\"'].{0,30}") {
        let shown = without_secrets(&format!("{before} https://h.example/a/b?sig=s3cret{after}"));
        prop_assert!(!shown.contains("s3cret"), "{}", shown);
        prop_assert_eq!(without_secrets(&shown), shown);
    }
}
