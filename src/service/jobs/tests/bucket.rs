//! Tests: whatever step a process dies at, the janitor makes the bucket equal to the records.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use jiff::{SignedDuration, Timestamp};

use super::test_bucket::TestBucket;
use super::{Waiting, lost_answer};
use crate::bucket::Credentials;
use crate::fault_server::{Relay, RelayFault};
use crate::service::files::owner::Epoch;
use crate::service::files::{BucketConfig, FilesError, TakenIn};
use crate::service::infra_fault::InfraFault;
use crate::service::janitor::clean_once;
use crate::service::jobs::collect::settle;
use crate::service::jobs::faults::find_fault;
use crate::service::records::{
    Completion, FileId, JobRow, NewAsset, NewFile, Publish, RecordsError, Stored,
};
use crate::skip::skipped;
use crate::wire::{AssetId, ModelId};

impl Waiting {
    async fn in_bucket(bucket: &TestBucket) -> Waiting {
        Waiting::in_bucket_at(bucket, &bucket.endpoint).await
    }

    /// The same with the bucket at another address.
    async fn in_bucket_at(bucket: &TestBucket, endpoint: &str) -> Waiting {
        let bucket = BucketConfig {
            address: bucket.url_at(endpoint).parse().unwrap(),
            credentials: Credentials {
                key_id: bucket.key.clone(),
                secret: bucket.secret.clone(),
                session_token: None,
            },
            public_endpoint: None,
        };
        let waiting = Waiting::start_with(|config| config.bucket = Some(bucket)).await;
        waiting.first_round_of_the_janitor().await;
        waiting
    }

    /// Waits until the janitor of the service has begun its first round and written its epoch, the second after that of the
    /// start: a test that writes an epoch of its own would lose it otherwise. The next round is in an hour.
    async fn first_round_of_the_janitor(&self) {
        let app = &self.service.app;
        let is_over = async || {
            let (count, newest) = app.records.epochs().count_and_newest().await.unwrap();
            let written = app.files.epoch().await.unwrap();
            count >= 2 && written.is_some_and(|written| written.epoch == newest)
        };
        let waited = tokio::time::timeout(Duration::from_secs(60), async {
            while !is_over().await {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        waited.await.expect("the janitor of the service works");
    }

    async fn clean(&self, hours: i64) -> usize {
        let app = &self.service.app;
        let now = Timestamp::now() + SignedDuration::from_hours(hours);
        app.files.clean(&app.records, now).await.unwrap()
    }

    /// A new upload with the named files, of which none is sent.
    async fn upload(&self, names: &[&str]) -> (AssetId, Vec<FileId>) {
        let filenames: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let new = NewAsset {
            name: "upload",
            filenames: &filenames,
            is_zip: false,
            format: "glb",
            main_file: "",
            start_key: None,
            join_key: None,
            token: self.service.token.id().unwrap(),
        };
        let assets = self.service.app.records.assets();
        let begun = assets.create(self.user, &new).await.unwrap();
        let files = begun.files.into_iter().map(|(_, file)| file);
        (begun.asset, files.collect())
    }

    /// Sends a file to its signed URL.
    async fn send(&self, asset: AssetId, file: FileId, bytes: &'static str) {
        let url = self.service.app.upload_url(asset, file, "a");
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let sent = http.put(url.expose()).body(bytes).send().await.unwrap();
        assert!(sent.status().is_success(), "{sent:?}");
    }

    async fn complete(&self, asset: AssetId) -> Completion {
        let app = &self.service.app;
        let arrived = app.files.arrived(asset).await.unwrap().unwrap();
        let incoming = app.records.incoming();
        incoming.complete(self.user, asset, &arrived).await.unwrap()
    }

    /// Copies the only file of an upload to a blob, as its analysis does; without the commit.
    async fn copy(&self, job: &JobRow) -> (FileId, Stored) {
        let app = &self.service.app;
        let frozen = app.records.incoming().frozen(job.asset).await.unwrap();
        let frozen = frozen.into_values().next().expect("a frozen file");
        let blob = app.records.blobs().fresh().await.unwrap();
        let target = app.work_dir.join("copy");
        let taken = app.files.take_in(&blob, job.asset, &frozen, target);
        match taken.await.unwrap() {
            TakenIn::Done(stored) => (frozen.file, stored),
            other => panic!("{other:?}"),
        }
    }

    /// The blobs of all files of `assets`.
    async fn owned(&self, assets: &[AssetId]) -> BTreeSet<String> {
        let owners: Vec<ModelId> = assets.iter().map(|asset| ModelId::Asset(*asset)).collect();
        let files = self.service.app.records.files();
        let files = files.list(&owners).await.unwrap();
        files.into_iter().filter_map(|file| file.blob).collect()
    }
}

#[tokio::test]
async fn whatever_step_a_process_dies_at_the_bucket_becomes_equal_to_the_records() {
    let bucket = TestBucket::start();
    let waiting = Waiting::in_bucket(&bucket).await;
    let app = &waiting.service.app;
    let job = waiting.claim().await;
    // A key is recorded and nothing is stored.
    app.records.blobs().fresh_keys(3).await.unwrap();
    // A result is stored and not committed.
    let stored = waiting.file("stored").await;
    // The reply to a commit without effect is lost.
    let unclear = waiting.file("unclear").await;
    let settled = settle(app, job.lease(), Err(lost_answer()), &[unclear]).await;
    assert!(settled.is_err());
    // A commit replaces files. The old ones are not removed yet.
    let first = waiting.file("first").await;
    waiting.end(&job, &first).await.unwrap().unwrap();
    // An upload that is taken in completely.
    let (done, files) = waiting.upload(&["a.glb"]).await;
    waiting.send(done, files[0], "done").await;
    assert_eq!(waiting.complete(done).await, Completion::Started);
    let job = waiting.claim().await;
    let (file, copied) = waiting.copy(&job).await;
    let incoming = app.records.incoming();
    assert!(
        incoming
            .take_in(job.lease(), waiting.user, file, &copied)
            .await
            .unwrap()
    );
    // An upload that is copied; the process dies before the commit.
    let (copying, files) = waiting.upload(&["a.glb"]).await;
    waiting.send(copying, files[0], "copied").await;
    assert_eq!(waiting.complete(copying).await, Completion::Started);
    let unfinished = waiting.claim().await;
    let (_, lost) = waiting.copy(&unfinished).await;
    // An upload that is under way, and one that was deleted.
    let (open, files) = waiting.upload(&["a.glb", "b.bin"]).await;
    waiting.send(open, files[0], "open").await;
    let (deleted, files) = waiting.upload(&["a.glb"]).await;
    waiting.send(deleted, files[0], "deleted").await;
    let models = [ModelId::Asset(deleted)];
    let removal = app.records.models().delete(waiting.user, &models).await;
    app.clear_away(removal.unwrap()).await;

    // Everything that a commit may still refer to is there, and so is what somebody may be reading.
    assert_eq!(waiting.clean(0).await, 0);
    assert!(waiting.is_stored(&stored).await);
    assert!(app.files.blobs().await.contains(&lost.blob));
    // After a day nobody commits it any more, and a day later nobody reads it.
    waiting.clean(25).await;
    waiting.clean(50).await;
    // The janitor dies after it has removed a blob and before it forgets it.
    let strays = [stored.bytes.blob.clone()];
    let noted = app.records.blobs().note_strays(&strays, Timestamp::now());
    noted.await.unwrap();
    waiting.clean(50).await;
    assert_eq!(waiting.clean(75).await, 0, "nothing is left to do");

    let owned = waiting.owned(&[waiting.asset, done, copying, open]).await;
    assert_eq!(app.files.blobs().await, owned);
    assert!(owned.contains(&copied.blob) && owned.contains(&first.bytes.blob));
    // What clients sent is kept for the analysis and for the open upload, and nothing else.
    let names = |assets: &[AssetId]| -> BTreeSet<String> {
        assets.iter().map(|asset| format!("in/{asset}/")).collect()
    };
    assert_eq!(app.files.sent_folders().await, names(&[copying, open]));
    // The next attempt takes the same version in.
    let (file, again) = waiting.copy(&unfinished).await;
    let lease = unfinished.lease();
    assert!(
        incoming
            .take_in(lease, waiting.user, file, &again)
            .await
            .unwrap()
    );
    // After a week an open upload is given up.
    waiting.clean(8 * 24).await;
    assert_eq!(app.files.sent_folders().await, names(&[]));
}

#[tokio::test]
async fn no_committed_blob_is_ever_removed() {
    let bucket = TestBucket::start();
    let waiting = Waiting::in_bucket(&bucket).await;
    let app = &waiting.service.app;
    let names: Vec<String> = (0..24).map(|number| format!("{number}.bin")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (asset, files) = waiting.upload(&names).await;
    let store = async |file: FileId| {
        let blob = app.records.blobs().fresh().await.unwrap();
        let body = stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"bytes"))]);
        let stored = app.files.receive(&blob, body, u64::MAX).await.unwrap();
        tokio::task::yield_now().await;
        match app.records.uploads().publish(file, &stored).await {
            Ok(Publish::Done { .. }) => true,
            Err(RecordsError::BlobExpired) => false,
            other => panic!("{other:?}"),
        }
    };
    // A janitor whose clock is days ahead gives every pending blob up at once.
    let stopped = tokio_util::sync::CancellationToken::new();
    let cleaning = async {
        for days in 1.. {
            if stopped.is_cancelled() {
                break;
            }
            waiting.clean(days * 49).await;
        }
    };
    let storing = async {
        let stored = futures_util::future::join_all(files.iter().map(|file| store(*file))).await;
        stopped.cancel();
        stored.into_iter().filter(|done| *done).count()
    };
    let ((), committed) = tokio::join!(cleaning, storing);
    for days in [1000, 1002, 1004] {
        waiting.clean(days * 24).await;
    }
    let owned = waiting.owned(&[asset]).await;
    assert_eq!(owned.len(), committed);
    assert_eq!(app.files.blobs().await, owned);
}

#[tokio::test]
async fn unfinished_uploads_in_parts_are_aborted_after_a_day() {
    let bucket = TestBucket::start();
    if !bucket.lists_unfinished_uploads() {
        skipped("ASSETFS_TEST_S3 is not set");
        return;
    }
    let waiting = Waiting::in_bucket(&bucket).await;
    let app = &waiting.service.app;
    app.files.begin_and_forget_upload().await;
    assert_eq!(waiting.clean(0).await, 0);
    assert_eq!(waiting.clean(25).await, 1);
    assert_eq!(waiting.clean(25).await, 0);
}

#[tokio::test]
async fn a_job_that_ends_after_its_file_was_given_up_stores_it_again() {
    let bucket = TestBucket::start();
    let waiting = Waiting::in_bucket(&bucket).await;
    let job = waiting.claim().await;
    let file: NewFile = waiting.file("slow").await;
    waiting.clean(25).await;
    let ended = waiting.end(&job, &file).await;
    assert!(matches!(ended, Err(RecordsError::BlobExpired)), "{ended:?}");
    let again = waiting.file("again").await;
    assert!(waiting.end(&job, &again).await.unwrap().is_some());
    waiting.clean(50).await;
    waiting.clean(75).await;
    assert!(waiting.is_stored(&again).await);
    assert!(!waiting.is_stored(&file).await);
}

#[tokio::test]
async fn a_process_that_lost_its_hold_says_so_and_removes_nothing() {
    let bucket = TestBucket::start();
    let waiting = Waiting::in_bucket(&bucket).await;
    let app = &waiting.service.app;
    assert!(
        app.bucket_fence
            .renew(&app.files, &app.records)
            .await
            .unwrap()
    );
    let known = app.files.epoch().await.unwrap().unwrap();
    let theirs = Epoch {
        database: None,
        epoch: "of another copy".to_owned(),
    };
    app.files.set_epoch(&theirs).await.unwrap();
    assert!(
        !app.bucket_fence
            .renew(&app.files, &app.records)
            .await
            .unwrap()
    );
    assert_eq!(app.files.epoch().await.unwrap(), Some(theirs));
    let parts = crate::service::health::parts(app).await;
    let files = parts.iter().find(|part| part.name == "files").unwrap();
    assert!(files.failure.as_ref().unwrap().contains("another copy"));
    // An epoch of another database does not count, although these records know it.
    let copied = Epoch {
        database: Some("another database".to_owned()),
        ..known.clone()
    };
    app.files.set_epoch(&copied).await.unwrap();
    let knows = app
        .bucket_fence
        .renew(&app.files, &app.records)
        .await
        .unwrap();
    assert_eq!(knows, known.database.is_none());
    app.bucket_fence
        .adopt(&app.files, &app.records)
        .await
        .unwrap();
    assert!(
        app.bucket_fence
            .renew(&app.files, &app.records)
            .await
            .unwrap()
    );
    let epochs = app.records.epochs();
    let now = Timestamp::now();
    assert!(
        epochs
            .is_new_owner(now + SignedDuration::from_hours(23))
            .await
            .unwrap()
    );
    assert!(
        !epochs
            .is_new_owner(now + SignedDuration::from_hours(25))
            .await
            .unwrap()
    );
}

#[tokio::test]
async fn every_answer_of_a_full_storage_is_known_as_such() {
    let Some(bucket) = TestBucket::start_own_or_skip() else {
        return;
    };
    let relay = Relay::start();
    let storage = bucket.endpoint.strip_prefix("http://").unwrap();
    relay.to(storage.parse().unwrap());
    let waiting = Waiting::in_bucket_at(&bucket, &relay.url()).await;
    let files = &waiting.service.app.files;
    files.check_writes().await.unwrap();
    for (status, code) in [
        (507, ""),
        (507, "XMinioStorageFull"),
        (400, "XMinioAdminBucketQuotaExceeded"),
        (403, "QuotaExceeded"),
        (500, "InsufficientStorage"),
        (403, "ServiceQuotaExceeded"),
    ] {
        relay.fault("PUT", "", RelayFault::Storage(status, code), usize::MAX);
        let full = files.check_writes().await.unwrap_err();
        assert!(full.is_full(), "{status} {code}: {full}");
        relay.mend();
    }
    relay.fault("PUT", "", RelayFault::Storage(403, "AccessDenied"), 1);
    assert!(!files.check_writes().await.unwrap_err().is_full());
    files.check_writes().await.unwrap();
}

#[tokio::test]
async fn a_bucket_that_is_missing_is_a_fault_and_no_file_that_is_gone() {
    let Some(bucket) = TestBucket::start_own_or_skip() else {
        return;
    };
    let relay = Relay::start();
    let storage = bucket.endpoint.strip_prefix("http://").unwrap();
    relay.to(storage.parse().unwrap());
    let waiting = Waiting::in_bucket_at(&bucket, &relay.url()).await;
    let app = &waiting.service.app;
    let (asset, files) = waiting.upload(&["a.glb"]).await;
    waiting.send(asset, files[0], "sent").await;
    assert_eq!(waiting.complete(asset).await, Completion::Started);
    let frozen = app.records.incoming().frozen(asset).await.unwrap();
    let frozen = frozen.into_values().next().unwrap();
    let take_in = async || {
        let blob = app.records.blobs().fresh().await.unwrap();
        let target = app.work_dir.join("copy");
        app.files.take_in(&blob, asset, &frozen, target).await
    };
    relay.fault(
        "PUT",
        "",
        RelayFault::Storage(404, "NoSuchBucket"),
        usize::MAX,
    );
    let missing = take_in().await;
    assert!(matches!(missing, Err(FilesError::Bucket(_))), "{missing:?}");
    let (fault, cause) = find_fault(app).await.expect("a fault");
    assert_eq!(fault, InfraFault::StorageRefuses);
    assert!(cause.contains("assetfs-test"), "{cause}");
    relay.mend();
    relay.fault("PUT", "", RelayFault::Storage(404, "NoSuchKey"), 1);
    assert!(matches!(take_in().await, Ok(TakenIn::Gone)));
    assert!(matches!(take_in().await, Ok(TakenIn::Done(_))));
}

#[tokio::test]
async fn the_janitor_of_a_copy_removes_nothing_and_that_of_a_new_owner_nothing_for_a_day() {
    let bucket = TestBucket::start();
    let waiting = Waiting::in_bucket(&bucket).await;
    let app = &waiting.service.app;
    // The records of a copy know nothing of what the original stores later.
    let file = waiting.file("of the original").await;
    let begun = Timestamp::now();
    let clean_after = async |hours| {
        clean_once(app, begun + SignedDuration::from_hours(hours)).await;
    };
    let theirs = Epoch {
        database: None,
        epoch: "of the original".to_owned(),
    };
    app.files.set_epoch(&theirs).await.unwrap();
    for hours in [0, 25, 50, 75] {
        clean_after(hours).await;
        assert!(waiting.is_stored(&file).await, "after {hours} hours");
    }
    assert_eq!(app.files.epoch().await.unwrap(), Some(theirs));
    assert!(app.bucket_fence.is_lost());

    app.bucket_fence
        .adopt(&app.files, &app.records)
        .await
        .unwrap();
    for hours in [0, 23] {
        clean_after(hours).await;
        assert!(waiting.is_stored(&file).await, "after {hours} hours");
    }
    // Now they are the janitor's: noted, and removed a day after that.
    clean_after(25).await;
    assert!(waiting.is_stored(&file).await);
    clean_after(50).await;
    assert!(!waiting.is_stored(&file).await);
}
