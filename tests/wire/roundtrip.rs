//! Written records can be read back: for every record, and for timestamps in every form.

use assetfs::wire::*;
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::make::Maker;

/// Writes a record as text and as a value, and reads it back.
fn assert_read_back<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(record: &T) {
    let text = serde_json::to_string(record).unwrap();
    let read: T = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(&read, record, "{text}");
    let read: T = serde_json::from_value(serde_json::to_value(record).unwrap()).unwrap();
    assert_eq!(&read, record, "{text}");
}

proptest! {
    #[test]
    fn assets_are_read_back(seed: u64) {
        let mut make = Maker::new(seed);
        assert_read_back(&make.asset());
        assert_read_back(&make.page(Maker::asset));
        assert_read_back(&Data { data: make.asset() });
        assert_read_back(&Items(make.list(Maker::conversion)));
        assert_read_back(&AssetUpdate { tags: make.maybe(Maker::texts), scale_factor: make.maybe(Maker::fraction) });
        assert_read_back(&PbrDownloads { materials: make.downloads(), qc: make.downloads() });
        assert_read_back(&FormatsRequest { formats: make.texts() });
        assert_read_back(&FormatsAdded { message: make.text(), formats: make.texts(), other: make.object(2) });
    }

    #[test]
    fn rapid_models_are_read_back(seed: u64) {
        let mut make = Maker::new(seed);
        assert_read_back(&make.rapid());
        assert_read_back(&make.page(Maker::rapid));
        assert_read_back(&Data { data: make.exports() });
        assert_read_back(&make.legacy_reply());
    }

    #[test]
    fn requests_are_read_back(seed: u64) {
        let mut make = Maker::new(seed);
        assert_read_back(&StartUpload { model_name: make.text(), filenames: make.texts(), is_zip: make.flag() });
        assert_read_back(&make.upload_started());
        assert_read_back(&make.optimize());
        assert_read_back(&make.multi_optimize());
        assert_read_back(&LegacyProcess { max_size_mb: make.maybe(Maker::fraction), config: make.maybe(|m| m.text().into()) });
        assert_read_back(&TagsRequest { tags: make.texts() });
        assert_read_back(&IdList { ids: make.list(|m| AssetId(m.number())) });
        assert_read_back(&Items(make.list(|m| TagName { name: m.text() })));
    }

    #[test]
    fn presets_and_embeds_are_read_back(seed: u64) {
        let mut make = Maker::new(seed);
        let preset = make.preset();
        assert_read_back(&preset);
        for form in [PresetForm::List, PresetForm::Detail] {
            let read: Preset = serde_json::from_value(preset.to_form(form)).unwrap();
            prop_assert_eq!(&read, &preset);
        }
        assert_read_back(&make.factory_preset());
        assert_read_back(&PresetCategory {
            id: make.number(), name: make.text(), slug: make.text(), description: make.text(), other: make.object(2),
        });
        assert_read_back(&CreatePreset {
            name: make.text(),
            description: make.maybe(Maker::text),
            engine_core_version: make.maybe(Maker::text),
            config: make.config(),
        });
        assert_read_back(&UpdatePreset { id: PresetId(make.number()), name: make.text(), config: make.config(), description: Some(make.text()) });
        assert_read_back(&RpdxRequest { config: make.config() });
        assert_read_back(&make.embed());
        assert_read_back(&CreateEmbed {
            model_id: RapidId(make.number()),
            name: make.text(),
            save_user_theme: make.maybe(Maker::flag),
            config: make.maybe(Maker::text),
        });
        assert_read_back(&CreateRawEmbed {
            raw_model_id: AssetId(make.number()),
            name: make.text(),
            save_user_theme: make.maybe(Maker::flag),
            config: make.maybe(Maker::text),
        });
        assert_read_back(&EmbedCreated {
            status: make.text(),
            message: make.text(),
            rapidmodel_id: make.maybe(|m| RapidId(m.number())),
            embed_id: EmbedId(make.number()),
            embed_url: make.maybe(Maker::text),
            other: make.object(2),
        });
        assert_read_back(&RawEmbedCreated {
            message: make.text(),
            embed_id: EmbedId(make.number()),
            embed_url: make.maybe(Maker::text),
            other: make.object(2),
        });
        assert_read_back(&ViewerConfig(make.list(|m| (m.text(), m.text())).into_iter().collect()));
    }

    #[test]
    fn account_records_are_read_back(seed: u64) {
        let mut make = Maker::new(seed);
        assert_read_back(&make.webhook());
        assert_read_back(&CreateWebhook { url: make.text(), verify_ssl: make.flag(), secret: make.maybe(Maker::text) });
        assert_read_back(&make.event());
        assert_read_back(&make.token());
        assert_read_back(&CreateToken { name: make.text() });
        assert_read_back(&Login { email: make.text(), password: Password::new(make.text()) });
        assert_read_back(&DeleteAccount { password: Password::new(make.text()) });
        assert_read_back(&RapidPoints { rapidpoints: make.number() });
        assert_read_back(&StorageLeft { storage_left: make.maybe(Maker::number) });
        assert_read_back(&ErrorBody {
            message: make.maybe(Maker::text),
            error: make.maybe(Maker::text),
            errors: make.list(|m| (m.text(), m.texts())).into_iter().collect(),
            code: make.maybe(Maker::text),
        });
    }

    #[test]
    fn a_form_contains_the_fields_of_the_record(seed: u64) {
        let mut make = Maker::new(seed);
        let asset = make.asset();
        let read: BaseAsset = serde_json::from_value(asset.to_form(AssetForm::Detail)).unwrap();
        prop_assert_eq!(BaseAsset { processing: asset.processing, other: asset.other.clone(), ..read }, asset);
        let rapid = make.rapid();
        let read: RapidModel = serde_json::from_value(rapid.to_form(RapidForm::Full)).unwrap();
        prop_assert_eq!(RapidModel { other: rapid.other.clone(), ..read }, rapid);
    }

    #[test]
    fn timestamps_are_read_back_in_every_form(seed: u64) {
        let instant = Maker::new(seed).time();
        let read = |text: String| text.parse::<Timestamp>().unwrap();
        prop_assert_eq!(read(instant.iso_micros()), instant);
        let second = read(instant.plain());
        prop_assert_eq!(read(instant.tag_form()), second);
        prop_assert_eq!(read(instant.iso_offset()), second);
        prop_assert_eq!(second.unix_seconds(), instant.unix_seconds());
        prop_assert_eq!(Timestamp::from(std::time::SystemTime::from(instant)), instant);
        assert_read_back(&instant);
    }

    #[test]
    fn the_meaning_of_a_config_survives_text_and_order(seed: u64) {
        let mut make = Maker::new(seed);
        let config = make.config();
        let compact = OptimizerConfig::parse(&config.to_text()).unwrap();
        let pretty = OptimizerConfig::parse(&config.to_pretty_text()).unwrap();
        let reversed = OptimizerConfig(config.0.clone().into_iter().rev().collect());
        for other in [&compact, &pretty, &reversed] {
            prop_assert!(config.meaning_eq(other) && other.meaning_eq(&config));
        }
        let mut more = config.clone();
        more.0.insert("one more".into(), true.into());
        prop_assert!(!config.meaning_eq(&more) && !more.meaning_eq(&config));
    }

    #[test]
    fn ids_are_read_back(number: u64) {
        assert_read_back(&AssetId(number));
        prop_assert_eq!(number.to_string().parse::<RapidId>().unwrap(), RapidId(number));
        let text = format!("\"{number}\"");
        prop_assert_eq!(serde_json::from_str::<TokenId>(&text).unwrap(), TokenId(number));
    }
}
