//! Base assets, rapid models, and their requests.

use assetfs::wire::paths::{fill, route};
use assetfs::wire::*;

use super::{golden, same_keys, sample_value};

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
        (page.data.len(), page.meta.last_page, page.meta.total),
        (1, 3, 21)
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
            .ends_with(&fill(route::COMPLETE_UPLOAD, &[&started.id]))
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
