//! Events reach their webhooks at least once: after refusals, kills, and from several services.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::kill_9::Process;
use super::shared_records::Pair;
use super::support::{COPYING_WORKER, Fixture};
use super::webhooks::{WEBHOOKS, read_request};

/// What a receiver does with a call.
#[derive(Debug, Clone, Copy)]
enum Reply {
    Status(&'static str),
    /// It does not answer.
    None,
}

const ACCEPT: Reply = Reply::Status("204 No Content");
const REFUSE: Reply = Reply::Status("503 Service Unavailable");

/// A receiver that replies as listed, then accepts everything.
struct Receiver {
    addr: SocketAddr,
    /// The ids of the events of all calls.
    ids: Arc<Mutex<Vec<String>>>,
    serving: JoinHandle<()>,
}

impl Receiver {
    async fn start(addr: SocketAddr, replies: &[Reply]) -> Receiver {
        let listener = TcpListener::bind(addr).await.unwrap();
        let addr = listener.local_addr().unwrap();
        let ids = Arc::<Mutex<Vec<String>>>::default();
        let kept = Arc::clone(&ids);
        let mut replies = VecDeque::from(replies.to_vec());
        let serving = tokio::spawn(async move {
            let mut silent = Vec::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                let (head, _) = read_request(&mut stream).await;
                let id = head
                    .lines()
                    .find_map(|line| line.strip_prefix("x-engine-event-id: "))
                    .expect("a call has the id of its event");
                kept.lock().unwrap().push(id.to_owned());
                match replies.pop_front().unwrap_or(ACCEPT) {
                    Reply::Status(status) => super::webhooks::reply(&mut stream, status).await,
                    Reply::None => silent.push(stream),
                }
            }
        });
        Receiver { addr, ids, serving }
    }

    /// One that other processes reach, on any port.
    async fn local(replies: &[Reply]) -> Receiver {
        Receiver::start(SocketAddr::from(([127, 0, 0, 1], 0)), replies).await
    }

    fn webhook(&self) -> Value {
        json!({ "url": format!("http://{}/", self.addr), "verify_ssl": false })
    }

    fn ids(&self) -> Vec<String> {
        self.ids.lock().unwrap().clone()
    }

    /// Waits for this many calls, and returns the ids of their events.
    async fn calls(&self, count: usize) -> Vec<String> {
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.ids().len() < count {
            assert!(Instant::now() < deadline, "{:?}", self.ids());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        self.ids()
    }

    async fn stop(self) {
        self.serving.abort();
        let _ = self.serving.await;
    }
}

fn with_json(request: reqwest::RequestBuilder, body: &Value) -> reqwest::RequestBuilder {
    let request = request.header("content-type", "application/json");
    request.body(body.to_string())
}

#[tokio::test]
async fn an_event_is_sent_once_unless_the_service_shall_retry() {
    let service = Fixture::start().await;
    let receiver = Receiver::local(&[REFUSE]).await;
    service.post(WEBHOOKS, receiver.webhook()).await.expect(200);
    let id = service.upload("chair", &[("a.glb", b"x")]).await;
    receiver.calls(1).await;
    service.optimize(id).await;
    let calls = receiver.calls(2).await;
    assert!(calls[1].ends_with(".optimization_finished"), "{calls:?}");
    let given_up = |list: &Value| list[0]["failed_calls"] == 1 && list[0]["last_status"] == 204;
    service.until(WEBHOOKS, given_up).await;
}

#[tokio::test]
async fn a_refused_event_is_sent_again_with_its_id() {
    let service = Fixture::with(COPYING_WORKER, |config| config.retry_webhooks = true).await;
    let receiver = Receiver::local(&[REFUSE, REFUSE]).await;
    service.post(WEBHOOKS, receiver.webhook()).await.expect(200);
    let id = service.upload("chair", &[("a.glb", b"x")]).await;
    let calls = receiver.calls(3).await;
    assert!(calls[0].ends_with(".analysis_finished"), "{calls:?}");
    assert!(calls.iter().all(|call| *call == calls[0]), "{calls:?}");
    let is_noted = |list: &Value| list[0]["last_status"] == 204;
    let list = service.until(WEBHOOKS, is_noted).await;
    assert_eq!(list[0]["failed_calls"], 2);
    // Another event has another id, and the webhook does not pause any more.
    service.optimize(id).await;
    let calls = receiver.calls(4).await;
    assert!(calls[3].ends_with(".optimization_finished"), "{calls:?}");
}

/// `docs/service.md` promises the first pause; a look for events every few seconds must not prolong it.
#[tokio::test]
async fn the_first_pause_after_a_failed_call_is_no_longer_than_promised() {
    let service = Fixture::with("", |config| config.retry_webhooks = true).await;
    let receiver = Receiver::local(&[REFUSE]).await;
    let made = service.post(WEBHOOKS, receiver.webhook()).await;
    let test = format!("{WEBHOOKS}/test/{}", made.expect(200).json()["id"]);
    service.post(&test, json!({})).await.expect(200);
    receiver.calls(1).await;
    let failed = Instant::now();
    receiver.calls(2).await;
    let pause = failed.elapsed().as_secs_f64();
    // The event and its webhook each have a pause of their own.
    assert!((1.4..3.5).contains(&pause), "{pause} s");
}

#[tokio::test]
async fn a_service_that_is_killed_before_or_during_a_call_sends_the_event_after_its_restart() {
    let dir = tempfile::tempdir().unwrap();
    let receiver = Receiver::local(&[Reply::None]).await;
    let service = Process::start(dir.path());
    let request = service.request(Method::POST, WEBHOOKS);
    let made = service.send(with_json(request, &receiver.webhook())).await;
    let test = format!("{WEBHOOKS}/test/{}", made["id"]);
    service.send(service.request(Method::POST, &test)).await;
    let during = receiver.calls(1).await;
    service.kill();

    let addr = receiver.addr;
    receiver.stop().await;
    let service = Process::start(dir.path());
    // No receiver: this event waits, too.
    service.send(service.request(Method::POST, &test)).await;
    service.kill();

    let receiver = Receiver::start(addr, &[]).await;
    let _service = Process::start(dir.path());
    let after = receiver.calls(2).await;
    assert!(after.contains(&during[0]), "{during:?} {after:?}");
    assert_ne!(after[0], after[1], "each event comes once");
}

#[tokio::test]
async fn an_event_is_sent_by_one_of_two_services() {
    let Some(pair) = Pair::start(|_| {}).await else {
        return;
    };
    let receiver = Receiver::local(&[]).await;
    let made = pair.first.post(WEBHOOKS, receiver.webhook()).await;
    let test = format!("{WEBHOOKS}/test/{}", made.expect(200).json()["id"]);
    let mut sent = 0;
    for service in pair.in_turn() {
        service.post(&test, json!({})).await.expect(200);
        sent += 1;
    }
    receiver.calls(sent).await;
    let noted = "SELECT COUNT(*) FROM deliveries WHERE state = 'delivered' AND attempts = 1";
    let deadline = Instant::now() + Duration::from_secs(30);
    while pair.number(noted).await != i64::try_from(sent).unwrap() {
        assert!(Instant::now() < deadline, "{:?}", receiver.ids());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let mut ids = receiver.ids();
    ids.sort();
    ids.dedup();
    assert_eq!((ids.len(), receiver.ids().len()), (sent, sent));
}

#[tokio::test]
async fn events_that_wait_are_counted_and_end_with_their_webhook() {
    let service = Fixture::with("", |config| {
        config.admin_listen = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
        config.retry_webhooks = true;
    });
    let service = service.await;
    let waiting = async || {
        let admin = service.service.admin_addr().unwrap();
        let text = service
            .read(&format!("http://{admin}/metrics"))
            .await
            .text();
        let line = "assetfs_service_events_waiting ";
        let found = text.lines().find_map(|at| at.strip_prefix(line));
        found.expect("a line for the events").to_owned()
    };
    assert_eq!(waiting().await, "0");
    let receiver = Receiver::local(&[REFUSE; 100]).await;
    let made = service.post(WEBHOOKS, receiver.webhook()).await;
    let id = made.expect(200).json()["id"].clone();
    let test = format!("{WEBHOOKS}/test/{id}");
    service.post(&test, json!({})).await.expect(200);
    receiver.calls(1).await;
    assert_eq!(waiting().await, "1");
    let path = format!("{WEBHOOKS}/{id}");
    service.delete(&path).await.expect(200);
    assert_eq!(waiting().await, "0");
}
