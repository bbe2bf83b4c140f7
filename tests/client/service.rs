//! The client and the real local service: upload, optimize, and read the result.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use assetfs::client::{Client, ClientConfig, ClientError, ListQuery, Priority};
use assetfs::service::{Service, ServiceConfig, StorageOrigin, WorkerCommand};
use assetfs::wire::{
    AssetId, CreatePreset, OptimizationStatus, OptimizeRequest, OptimizerConfig, StartUpload,
    Token, UploadStatus,
};
use bytes::Bytes;
use futures_util::{TryStreamExt, stream};

const I: Priority = Priority::Interactive;

/// A worker whose result is the first file of the task.
const WORKER: &str = r#"#!/bin/sh
task=$(cat)
out=$(printf %s "$task" | sed 's/.*"output_dir":"\([^"]*\)".*/\1/')
in=$(printf %s "$task" | sed 's/.*"input_dir":"\([^"]*\)".*/\1/')
for file in rpd_info.json metrics.json; do echo '{}' > "$out/$file"; done
for file in info.log warning.log error.log thumb.jpg; do : > "$out/$file"; done
case "$task" in
*'"task":"optimize"'*)
  mkdir -p "$out/exports"
  cat "$in"/* > "$out/exports/chair.glb"
  echo '{"report":{"exports":[{"format":"glb","name":"chair.glb","parts":["chair.glb"],"size_bytes":5,"images":[]}],"files":[],"warnings":[],"source":{"triangles":0,"vertices":0,"meshes":0,"materials":0,"textures":0,"largest_texture":0,"bytes":0},"result":{"triangles":0,"vertices":0,"meshes":0,"materials":0,"textures":0,"largest_texture":0,"bytes":0}}}'
  ;;
esac
"#;

/// Repeats `ask` until it returns `Some`, for at most 30 s.
async fn until<T, R: Future<Output = Option<T>>>(mut ask: impl FnMut() -> R) -> T {
    let begun = Instant::now();
    loop {
        if let Some(done) = ask().await {
            return done;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "timeout");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn read(client: &Client, url: &assetfs::wire::SignedUrl, offset: u64) -> Vec<u8> {
    let reply = client
        .transfers()
        .get_range(url, offset, None, None)
        .await
        .unwrap();
    reply.stream.try_collect::<Vec<_>>().await.unwrap().concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_is_uploaded_optimized_and_read_through_signed_urls_of_another_origin() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("worker.sh");
    fs::write(&program, WORKER).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let worker = WorkerCommand {
        program,
        args: Vec::new(),
    };
    let mut config = ServiceConfig::new(dir.path().join("data"), worker);
    config.storage_origin = Some(StorageOrigin {
        listen: ([127, 0, 0, 1], 0).into(),
        public_url: None,
    });
    let service = Service::start(config).await.unwrap();
    let base_url = format!("http://{}", service.addr());
    let token = Token::parse(service.token()).unwrap();
    let client = Client::new(ClientConfig::new(&base_url).unwrap().with_token(token)).unwrap();

    let account = client.account().identity().await.unwrap();
    assert!(
        account.owner.is_some() && account.token_id.is_some(),
        "{account:?}"
    );

    let model: Vec<u8> = (0..2_000_000_u32).map(|i| (i / 7) as u8).collect();
    let start = StartUpload {
        model_name: "chair".into(),
        filenames: vec!["chair.glb".into()],
        is_zip: false,
    };
    let started = client.assets().start_upload(&start).await.unwrap();
    let url = started.links.s3_upload_urls.get("chair.glb").unwrap();
    let open = || {
        stream::iter(
            model
                .chunks(65_536)
                .map(|c| Ok(Bytes::copy_from_slice(c)))
                .collect::<Vec<_>>(),
        )
    };
    let sent = client
        .transfers()
        .put_file(url, model.len() as u64, open, |_| {})
        .await
        .unwrap();
    assert_eq!(sent.meta.size, Some(model.len() as u64));
    let completed = client.assets().complete_upload(started.id).await.unwrap();
    assert_eq!(completed.id, started.id);

    let asset = until(async || {
        let asset = client.assets().get(started.id, I).await.unwrap();
        assert!(!asset.upload_status.is_failure(), "{asset:?}");
        (asset.upload_status == UploadStatus::Complete).then_some(asset)
    })
    .await;
    assert_eq!(
        (asset.name.as_str(), asset.size),
        ("chair", Some(model.len() as u64))
    );
    let page = client
        .assets()
        .list(ListQuery::search("chair"), I)
        .await
        .unwrap();
    assert_eq!(
        page.data.iter().map(|asset| asset.id).collect::<Vec<_>>(),
        [started.id]
    );
    let files = client.assets().downloads(started.id, I).await.unwrap();
    let url = files.get("chair.glb").unwrap();
    let meta = client.transfers().probe(url).await.unwrap();
    assert_eq!(
        (meta.size, meta.etag.is_some()),
        (Some(model.len() as u64), true)
    );
    assert!(read(&client, url, 0).await == model);
    assert!(read(&client, url, 1_999_000).await == model[1_999_000..]);
    assert!(read(&client, url, 3_000_000).await.is_empty());

    let config =
        OptimizerConfig::parse(r#"{"schema": "2.5", "limits": {"faces": {"percentage": 10}}}"#)
            .unwrap();
    let preset = CreatePreset {
        name: "tenth".into(),
        description: None,
        engine_core_version: None,
        config: config.clone(),
    };
    client.presets().create(&preset).await.unwrap();
    let presets = client.presets().list(I).await.unwrap();
    let preset = presets
        .iter()
        .find(|preset| preset.name == "tenth")
        .unwrap();
    assert!(preset.config.meaning_eq(&config));
    assert!(
        client
            .presets()
            .get(preset.id, I)
            .await
            .unwrap()
            .config
            .meaning_eq(&config)
    );
    assert!(!client.presets().factory(I).await.unwrap().is_empty());

    let points = client.account().points(I).await.unwrap().rapidpoints;
    let mut request = OptimizeRequest::by_preset(preset.id);
    request.tags.push("assetfs-0a1b2c".into());
    let rapid = client
        .optimizations()
        .start(started.id, &request)
        .await
        .unwrap();
    let rapid = until(async || {
        let rapid = client.rapids().get(rapid.id, I).await.unwrap();
        assert!(!rapid.optimization_status.is_failure(), "{rapid:?}");
        (rapid.optimization_status == OptimizationStatus::Done).then_some(rapid)
    })
    .await;
    assert_eq!(
        client.account().points(I).await.unwrap().rapidpoints,
        points - 1
    );
    let result = rapid
        .downloads
        .all
        .iter()
        .find(|(name, _)| name.ends_with(".glb"))
        .unwrap()
        .1;
    assert!(read(&client, result, 0).await == model);
    let tag = rapid
        .tags
        .iter()
        .find(|tag| tag.name == "assetfs-0a1b2c")
        .unwrap()
        .id;
    client.rapids().remove_tag(rapid.id, tag).await.unwrap();
    assert!(
        client
            .rapids()
            .get(rapid.id, I)
            .await
            .unwrap()
            .tags
            .is_empty()
    );
    let of_asset = client.assets().rapid_models(started.id, I).await.unwrap();
    assert_eq!(
        of_asset.iter().map(|rapid| rapid.id).collect::<Vec<_>>(),
        [rapid.id]
    );

    let error = client
        .optimizations()
        .start(AssetId(999_999), &request)
        .await
        .unwrap_err();
    assert!(matches!(error, ClientError::NotFound { .. }), "{error:?}");
    client.rapids().delete(rapid.id).await.unwrap();
    client.presets().delete(preset.id).await.unwrap();
    client.assets().delete(started.id).await.unwrap();
    let error = client.assets().get(started.id, I).await.unwrap_err();
    assert!(matches!(error, ClientError::NotFound { .. }), "{error:?}");
    let wrong = Token::parse("1|wrong").unwrap();
    let config = ClientConfig::new(&base_url).unwrap().with_token(wrong);
    let error = Client::new(config)
        .unwrap()
        .account()
        .points(I)
        .await
        .unwrap_err();
    assert!(
        matches!(error, ClientError::Unauthorized { .. }),
        "{error:?}"
    );
}
