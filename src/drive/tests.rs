//! A drive at rest, in virtual time: how many requests it sends in an hour, and what wakes it.

use std::ffi::OsStr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::cache::{CacheLimits, KeepFree};
use crate::client::ClientConfig;
use crate::client::scripted::{ScriptedFault, ScriptedReply, ScriptedRequest, ScriptedServer};
use crate::outbox::OutboxConfig;
use crate::wire::{AssetId, EventData, EventType, Token};

const HOUR: Duration = Duration::from_secs(3600);
const CALLER: Caller = Caller {
    pid: 0,
    uid: 0,
    gid: 0,
};

/// A service with one model, `chair`, and one result of it.
#[derive(Default)]
struct ScriptedAccount {
    asked: Mutex<Vec<String>>,
    /// The state of the model, and the progress of the result.
    state: Mutex<(&'static str, u64)>,
}

impl ScriptedAccount {
    fn set(&self, model: &'static str, progress: u64) {
        *self.state.locked() = (model, progress);
    }

    /// The requests since this was called last.
    fn take_asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.locked())
    }

    fn reply(&self, path: &str) -> Option<Value> {
        let (model, progress) = *self.state.locked();
        let asset = json!({ "id": 7, "name": "chair", "upload_status": model });
        let rapid = json!({
            "id": 9, "name": "chair", "optimization_status": "sent_to_queue", "progress": progress, "rawmodel": { "id": 7 },
        });
        let page = |data: Vec<Value>| {
            let meta =
                json!({ "current_page": 1, "last_page": 1, "per_page": 50, "total": data.len() });
            json!({ "data": data, "links": {}, "meta": meta })
        };
        Some(match path {
            "rawmodel" => page(vec![asset]),
            "rapidmodel" => page(vec![rapid]),
            "rawmodel/7" => json!({ "data": asset }),
            "rapidmodel/9" => json!({ "data": rapid }),
            "rawmodel/jobs" => json!({ "data": [rapid] }),
            "embeds" => page(Vec::new()),
            "preset" | "preset/factory" => json!([]),
            _ => return None,
        })
    }
}

impl ScriptedServer for ScriptedAccount {
    fn answer(
        &self,
        request: ScriptedRequest,
    ) -> BoxFuture<'static, Result<ScriptedReply, ScriptedFault>> {
        let path = request.url.path().trim_start_matches("/api/v2/");
        self.asked
            .locked()
            .push(format!("{} {path}", request.method));
        let found = self.reply(path);
        let reply = ScriptedReply {
            status: if found.is_some() { 200 } else { 404 },
            headers: Vec::new(),
            body: found.unwrap_or_default().to_string().into_bytes(),
        };
        Box::pin(async move { Ok(reply) })
    }
}

/// An open drive whose clock stands still while it works.
struct Rest {
    service: Arc<ScriptedAccount>,
    drive: Drive,
    outbox: Outbox,
    _dir: TempDir,
}

impl Rest {
    async fn open(model: &'static str) -> Rest {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let service = Arc::new(ScriptedAccount::default());
        service.set(model, 40);
        let config = ClientConfig::new("https://simulated.example").unwrap();
        let config = config.with_token(Token::parse("1|simulated").unwrap());
        let client = Client::scripted(config, Arc::clone(&service) as Arc<dyn ScriptedServer>);
        let limits = CacheLimits {
            max_bytes: 1 << 20,
            keep_free: KeepFree::NOTHING,
        };
        let cache = BlockCache::open(at("cache"), limits).unwrap();
        let meta = MetaStore::open(at("meta.redb")).unwrap();
        let (outbox, events) =
            Outbox::open(OutboxConfig::new(at("outbox")), client.clone()).unwrap();
        let config = DriveConfig::new("test", at("outbox"));
        let drive = Drive::open(config, client, cache, outbox.clone(), events, meta).await;
        Rest {
            service,
            drive: drive.unwrap(),
            outbox,
            _dir: dir,
        }
    }

    /// Finds a path, as a program that looks at it.
    async fn look(&self, path: &str) -> Ino {
        let mut at = Ino::ROOT;
        for name in path.split('/') {
            let found = self.drive.lookup(at, OsStr::new(name), &CALLER).await;
            at = found.unwrap().attributes.ino;
        }
        at
    }

    /// The requests of the next hour.
    async fn an_hour(&self) -> Vec<String> {
        self.service.take_asked();
        tokio::time::sleep(HOUR).await;
        self.service.take_asked()
    }

    async fn close(self) {
        self.drive.shut_down().await;
        self.outbox.shut_down().await;
    }
}

/// Checks that all requests are this one, and their number.
#[track_caller]
fn check(asked: &[String], request: &str, count: std::ops::RangeInclusive<usize>) {
    assert!(asked.iter().all(|it| it == request), "{asked:?}");
    assert!(count.contains(&asked.len()), "{} requests", asked.len());
}

#[tokio::test(start_paused = true)]
async fn a_drive_that_nobody_uses_sends_nothing_also_after_it_was_used() {
    let rest = Rest::open("complete").await;
    assert_eq!(rest.an_hour().await, [""; 0]);
    rest.look("rawmodels/chair").await;
    assert!(!rest.service.take_asked().is_empty());
    assert_eq!(rest.an_hour().await, [""; 0]);
    // What a program asks for then is asked of the service again.
    rest.look("rawmodels/chair").await;
    let model = rest.look("rawmodels").await;
    let listed = rest.drive.open_dir(model, &CALLER).await.unwrap();
    rest.drive.release_dir(listed).await.unwrap();
    assert!(!rest.service.take_asked().is_empty());
    rest.close().await;
}

/// The pauses between two polls are 1, 2, 4, 8, 16 and then 30 s, until ten minutes after the last look.
const POLLS_AFTER_A_LOOK: std::ops::RangeInclusive<usize> = 20..=24;

#[tokio::test(start_paused = true)]
async fn a_model_that_is_imported_is_polled_ever_more_rarely_and_not_at_all_ten_minutes_later() {
    let rest = Rest::open("analysing").await;
    rest.look("rawmodels/chair").await;
    check(&rest.an_hour().await, "GET rawmodel/7", POLLS_AFTER_A_LOOK);
    assert_eq!(rest.an_hour().await, [""; 0]);
    // A look wakes it.
    rest.look("rawmodels/chair").await;
    check(&rest.an_hour().await, "GET rawmodel/7", POLLS_AFTER_A_LOOK);
    // So does an event of the service, at once.
    rest.service.set("complete", 40);
    rest.drive.heed(&Event {
        event_type: EventType::AnalysisFinished,
        data: EventData {
            rawmodel_id: Some(AssetId(7)),
            ..EventData::default()
        },
        ..Event::default()
    });
    tokio::time::sleep(Duration::from_millis(1)).await;
    check(&rest.service.take_asked(), "GET rawmodel/7", 1..=1);
    // What is complete does not change any more.
    rest.look("rawmodels/chair").await;
    assert_eq!(rest.an_hour().await, [""; 0]);
    rest.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_change_that_a_poll_notices_has_the_next_ones_come_sooner_again() {
    let rest = Rest::open("complete").await;
    rest.look("rapidmodels/chair").await;
    rest.service.take_asked();
    // Five minutes without news: the pause is 30 s.
    tokio::time::sleep(Duration::from_secs(300)).await;
    rest.service.take_asked();
    let mut quiet = Duration::ZERO;
    rest.service.set("complete", 60);
    while rest.service.asked.locked().is_empty() {
        tokio::time::sleep(Duration::from_millis(500)).await;
        quiet += Duration::from_millis(500);
        assert!(quiet <= Duration::from_secs(31), "{quiet:?}");
    }
    rest.service.take_asked();
    // 1, 2, 4, 8 and 16 s after it.
    tokio::time::sleep(Duration::from_secs(33)).await;
    check(&rest.service.take_asked(), "GET rawmodel/jobs", 4..=5);
    check(&rest.an_hour().await, "GET rawmodel/jobs", 5..=12);
    rest.close().await;
}

#[tokio::test(start_paused = true)]
async fn while_somebody_reads_events_each_listing_is_confirmed_by_one_request_in_each_refresh_time()
{
    let rest = Rest::open("complete").await;
    rest.service.set("complete", 40);
    let events = rest.look(".assetfs/events").await;
    let stream = rest
        .drive
        .open_file(events, OpenFlags::READ, &CALLER)
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    let mut asked = rest.an_hour().await;
    asked.retain(|it| it != "GET rawmodel/jobs" && it != "GET rapidmodel/9");
    let refreshes = HOUR.as_secs() as usize / 10;
    for listing in ["rawmodel", "rapidmodel", "preset", "embeds"] {
        let line = format!("GET {listing}");
        let count = asked.iter().filter(|it| **it == line).count();
        assert!(
            (refreshes - 40..=refreshes + 40).contains(&count),
            "{line}: {count}"
        );
    }
    rest.drive.release(events, stream.fh).await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    let after = rest.an_hour().await;
    assert!(
        after.iter().all(|it| it == "GET rawmodel/jobs"),
        "{after:?}"
    );
    rest.close().await;
}
