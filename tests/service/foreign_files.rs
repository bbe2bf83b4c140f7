//! Files and records that do not belong together: the janitor would remove the files, so the service does not start.

use std::fs;
use std::path::Path;
use std::process::Command;

use assetfs::service::{Adoption, RecordsAt, Service, ServiceConfig, ServiceError};

use super::s3::TestBucket;
use super::skip::skipped;
use super::support::{
    COPYING_WORKER, Fixture, blobs, config, files_are_in_a_bucket, script, settings,
};
use super::test_records::database_url;
use crate::needs_own_storage;

/// The data folder of a service that has a model and has ended.
async fn used_folder() -> (tempfile::TempDir, Vec<String>) {
    let fixture = Fixture::start().await;
    fixture.upload("chair", &[("chair.glb", b"glTF...")]).await;
    let Fixture { dir, service, .. } = fixture;
    service.shutdown().await;
    let stored = blobs(&dir.path().join("data"));
    assert!(!stored.is_empty());
    (dir, stored)
}

async fn start_in(data: &Path) -> Result<assetfs::service::RunningService, ServiceError> {
    let worker = script(data.parent().unwrap(), COPYING_WORKER);
    Service::start(config(data, worker).await).await
}

#[tokio::test]
async fn files_without_their_records_are_kept_and_the_service_does_not_start() {
    needs_own_storage!();
    let (dir, stored) = used_folder().await;
    let data = dir.path().join("data");
    for file in ["records.sqlite", "records.sqlite-wal", "records.sqlite-shm"] {
        let _ = fs::remove_file(data.join(file));
    }
    let mut empty = ServiceConfig::new(&data, script(dir.path(), COPYING_WORKER));
    empty.records = RecordsAt::DataFolder;
    let error = Service::start(empty).await.unwrap_err();
    assert!(
        matches!(error, ServiceError::ForeignFiles { .. }),
        "{error}"
    );
    assert!(error.to_string().contains("belong to other records"));
    assert_eq!(blobs(&data), stored);
}

#[tokio::test]
async fn records_with_files_are_not_opened_with_an_empty_bucket() {
    let (first, second) = (TestBucket::start(), TestBucket::start());
    let dir = tempfile::tempdir().unwrap();
    let Some(url) = database_url(dir.path()).await else {
        skipped("ASSETFS_TEST_RECORDS names no PostgreSQL server");
        return;
    };
    let with = async |bucket: &TestBucket| {
        let mut settings = settings(dir.path(), COPYING_WORKER, Some(bucket)).await;
        settings.records = RecordsAt::Postgres(url.parse().unwrap());
        Service::start(settings).await
    };
    with(&first).await.unwrap().shutdown().await;
    let error = with(&second).await.unwrap_err();
    assert!(matches!(error, ServiceError::NoFiles { .. }), "{error}");
    with(&first).await.unwrap().shutdown().await;
}

#[tokio::test]
async fn files_in_a_folder_are_not_opened_with_an_empty_shared_database() {
    needs_own_storage!();
    let (dir, stored) = used_folder().await;
    let data = dir.path().join("data");
    let elsewhere = tempfile::tempdir().unwrap();
    let Some(url) = database_url(elsewhere.path()).await else {
        skipped("ASSETFS_TEST_RECORDS names no PostgreSQL server");
        return;
    };
    let mut empty = ServiceConfig::new(&data, script(dir.path(), COPYING_WORKER));
    empty.records = RecordsAt::Postgres(url.parse().unwrap());
    let error = Service::start(empty).await.unwrap_err();
    assert!(
        matches!(error, ServiceError::ForeignFiles { .. }),
        "{error}"
    );
    assert_eq!(blobs(&data), stored);
}

#[tokio::test]
async fn files_of_a_version_that_wrote_no_owner_are_adopted_by_the_records_beside_them() {
    needs_own_storage!();
    let (dir, stored) = used_folder().await;
    let data = dir.path().join("data");
    if !data.join("records.sqlite").exists() {
        skipped("the records are not in SQLite");
        return;
    }
    fs::remove_file(data.join("files/owner")).unwrap();
    let service = start_in(&data).await.unwrap();
    service.shutdown().await;
    assert_eq!(blobs(&data), stored);
    assert!(data.join("files/owner").exists());
}

#[tokio::test]
async fn a_bucket_belongs_to_the_records_that_filled_it() {
    let bucket = match files_are_in_a_bucket() {
        true => None,
        false => Some(TestBucket::start()),
    };
    let Some(bucket) = bucket else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let (ours, theirs) = (dir.path().join("ours"), dir.path().join("theirs"));
    for folder in [&ours, &theirs] {
        fs::create_dir(folder).unwrap();
    }
    let of = async |folder: &Path| settings(folder, COPYING_WORKER, Some(&bucket)).await;
    let service = Service::start(of(&ours).await).await.unwrap();
    service.shutdown().await;
    let error = Service::start(of(&theirs).await).await.unwrap_err();
    assert!(
        matches!(error, ServiceError::ForeignFiles { .. }),
        "{error}"
    );
    let service = Service::start(of(&ours).await).await.unwrap();
    service.shutdown().await;
}

/// Copies the records of SQLite.
fn copy_records(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for file in ["records.sqlite-wal", "records.sqlite-shm"] {
        let _ = fs::remove_file(to.join(file));
    }
    for file in ["records.sqlite", "records.sqlite-wal", "account.json"] {
        if from.join(file).exists() {
            let bytes = fs::read(from.join(file)).unwrap();
            fs::write(to.join(file), bytes).unwrap();
        }
    }
}

#[tokio::test]
async fn a_copy_of_the_records_gets_the_bucket_only_when_it_says_that_it_takes_it_over() {
    let bucket = TestBucket::start();
    let dir = tempfile::tempdir().unwrap();
    let (original, copy) = (dir.path().join("original"), dir.path().join("copy"));
    let of = |data: &Path| {
        let mut config = ServiceConfig::new(data, script(dir.path(), COPYING_WORKER));
        config.bucket = Some(super::bucket::config(&bucket));
        config
    };
    let is_held = async |data: &Path| match Service::start(of(data)).await {
        Err(error @ ServiceError::HeldFiles { .. }) => {
            assert!(error.to_string().contains("--adopt-files"), "{error}");
            true
        }
        Err(error) => panic!("{error}"),
        Ok(service) => {
            service.shutdown().await;
            false
        }
    };
    assert!(!is_held(&original).await);
    let older = dir.path().join("older");
    copy_records(&original, &older);
    assert!(!is_held(&original).await, "the start exchanges the epoch");
    copy_records(&original, &copy);

    // A check of a backup beside the running service: another file with the same content.
    assert!(is_held(&copy).await);
    // A backup that is restored in place of the records, and an old primary that comes back.
    let now = dir.path().join("now");
    copy_records(&original, &now);
    copy_records(&older, &original);
    assert!(is_held(&original).await);
    copy_records(&now, &original);
    assert!(!is_held(&original).await);

    // The original is lost. Nothing is removed by taking its files over, and it has no hold any more.
    let adopted = Service::adopt_files(&of(&copy)).await.unwrap();
    assert_eq!(adopted, Adoption::Done);
    assert!(!is_held(&copy).await);
    assert!(is_held(&original).await);
    let adopted = Service::adopt_files(&of(&copy)).await.unwrap();
    assert_eq!(adopted, Adoption::NotNeeded);
}

#[tokio::test]
async fn serve_takes_a_bucket_over_only_with_the_option_that_says_so() {
    let bucket = TestBucket::start();
    let dir = tempfile::tempdir().unwrap();
    let (original, copy) = (dir.path().join("original"), dir.path().join("copy"));
    let mut config = ServiceConfig::new(&original, script(dir.path(), COPYING_WORKER));
    config.bucket = Some(super::bucket::config(&bucket));
    Service::start(config).await.unwrap().shutdown().await;
    copy_records(&original, &copy);
    let serve = |data: &Path, options: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assetfs"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]);
        command.arg(data).args(options).envs(bucket.variables());
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (
            output.status.success(),
            text(output.stdout),
            text(output.stderr),
        )
    };
    let files = bucket.url();
    let refused = serve(&copy, &["--files", &files]);
    assert!(
        !refused.0 && refused.2.contains("--adopt-files"),
        "{refused:?}"
    );
    let adopting = ["--files", files.as_str(), "--adopt-files"];
    let adopted = serve(&copy, &adopting);
    assert!(adopted.0, "{adopted:?}");
    assert!(
        adopted.1.contains("For a day nothing is removed"),
        "{adopted:?}"
    );
    let again = serve(&copy, &adopting);
    assert!(
        again.0 && again.1.contains("nothing was changed"),
        "{again:?}"
    );
    let refused = serve(&original, &["--files", &files]);
    assert!(
        !refused.0 && refused.2.contains("--adopt-files"),
        "{refused:?}"
    );
    let alone = serve(&copy, &["--adopt-files"]);
    assert!(!alone.0 && alone.2.contains("--files"), "{alone:?}");
}
