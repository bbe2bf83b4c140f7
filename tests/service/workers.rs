//! Faulty workers never harm the service.

use std::time::{Duration, Instant};

use assetfs::service::Service;
use serde_json::{Value, json};

use super::support::{COPYING_WORKER, Fixture, WAITING_WORKER, config, runs, script, upload_url};

/// A worker that does what the name of the model asks for.
const MOODY_WORKER: &str = r#"
task=$(cat)
out=$(printf %s "$task" | sed 's/.*"output_dir":"\([^"]*\)".*/\1/')
case "$task" in
*crash*) kill -SEGV $$ ;;
*refuse*) echo '{"error":"chair.glb ends in the middle of a chunk"}'; exit 1 ;;
*mute*) echo 'the last words' >&2; exit 3 ;;
*spin*) while :; do :; done ;;
*hang*) sleep 1000 & sleep 1000 ;;
*hog*) exit 12 ;;
*abort*) kill -ABRT $$ ;;
*words*) echo 'memory allocation of 5 bytes failed' >&2; exit 1 ;;
*flood*) yes '{"percent":5,"step":"x"}' | head -c 20000000; yes > /dev/stderr | head -c 1000000 ;;
*huge*) head -c 20000000 /dev/zero ; exit 1 ;;
*errors*) echo 'one texture is missing' > "$out/error.log" ;;
*link*) mkdir -p "$out/exports"; ln -s /etc/passwd "$out/exports/x.glb"; ln -s /etc/passwd "$out/info.log" ;;
esac
"#;

#[tokio::test]
async fn every_death_of_a_worker_has_a_reason_and_the_next_job_runs() {
    let service = Fixture::with(MOODY_WORKER, |config| {
        config.worker_limits.cpu = Duration::from_secs(1);
        config.worker_limits.memory_bytes = 200_000_000;
    })
    .await;
    let cases = [
        ("crash.glb", "signal 11"),
        ("refuse.glb", "ends in the middle of a chunk"),
        ("mute.glb", "the last words"),
        ("spin.glb", "processor time"),
        (
            "hog.glb",
            "processing needs more memory than its limit of 200 MB",
        ),
        ("abort.glb", "the worker aborted"),
        // The words of a program decide nothing.
        ("words.glb", "the worker ended with code 1"),
        ("huge.glb", "worker"),
    ];
    for (file, reason) in cases {
        let id = service.upload("x", &[(file, b"x")]).await;
        let asset = service.analysed(id).await;
        assert_eq!(asset["upload_status"], "Importing Failed", "{file}");
        assert_eq!(asset["has_errors"], true);
        let message = asset["error_message"].as_str().unwrap();
        assert!(message.contains(reason), "{file}: {message}");
        let log = asset["downloads"]["error.log"].as_str().unwrap();
        let log = service.read(log).await.expect(200).text();
        assert!(log.contains(message), "{file}: {log}");
    }
    for file in ["good.glb", "flood.glb"] {
        let id = service.upload("x", &[(file, b"x")]).await;
        assert_eq!(
            service.analysed(id).await["upload_status"],
            "complete",
            "{file}"
        );
    }
    let id = service.upload("x", &[("errors.glb", b"x")]).await;
    let asset = service.analysed(id).await;
    assert_eq!(asset["upload_status"], "complete");
    assert_eq!(asset["has_errors"], true);
    // Only regular files are stored.
    let id = service.upload("x", &[("link.glb", b"x")]).await;
    let asset = service.analysed(id).await;
    assert_eq!(asset["downloads"].as_object().unwrap().len(), 1, "{asset}");
}

#[tokio::test]
async fn a_worker_that_hangs_is_ended_with_all_it_started() {
    let service = Fixture::with(MOODY_WORKER, |config| {
        config.worker_limits.wall = Duration::from_secs(1);
    })
    .await;
    let id = service.upload("x", &[("hang.glb", b"x")]).await;
    let asset = service.analysed(id).await;
    let message = asset["error_message"].as_str().unwrap();
    assert!(message.contains("longer than 1 second"), "{message}");
}

/// A worker that something outside kills while `$here/killers` has lines: each line is a signal. A child of it holds its
/// pipes.
const KILLED_WORKER: &str = r#"
task=$(cat)
here=$(dirname "$0")
case "$task" in *'"task":"optimize"'*)
  signal=$(head -n 1 "$here/killers")
  sed -i 1d "$here/killers"
  if test -n "$signal"; then sleep 1000 & kill -s "$signal" $$; fi ;;
esac
"#;

async fn points(service: &Fixture) -> u64 {
    let points = service.get("/api/v2/user/rapidpoints").await.json();
    points["rapidpoints"].as_u64().unwrap()
}

#[tokio::test]
async fn a_job_whose_worker_was_killed_from_outside_is_tried_again() {
    for signal in ["KILL", "TERM"] {
        let service = Fixture::with(KILLED_WORKER, |_| {}).await;
        std::fs::write(service.dir.path().join("killers"), format!("{signal}\n")).unwrap();
        let before = points(&service).await;
        let rapid = service.optimize_one().await;
        let record = service.optimized(rapid).await;
        assert_eq!(record["optimization_status"], "done", "{signal}: {record}");
        assert_eq!(record["job_status"]["attempts"], 2, "{signal}");
        assert_eq!(points(&service).await, before - 1, "{signal}");
    }
}

#[tokio::test]
async fn a_job_whose_worker_is_killed_each_time_gives_its_point_back() {
    let service = Fixture::with(KILLED_WORKER, |config| config.worker_limits.attempts = 2).await;
    std::fs::write(service.dir.path().join("killers"), "KILL\nKILL\n").unwrap();
    let before = points(&service).await;
    let rapid = service.optimize_one().await;
    let record = service.optimized(rapid).await;
    assert_eq!(record["optimization_status"], "failed", "{record}");
    assert_eq!(points(&service).await, before);
    let log = record["rpd_error"].as_str().unwrap();
    let log = service.read(log).await.expect(200).text();
    for said in ["was killed", "the point is given back", "try again later"] {
        assert!(log.contains(said), "{log}");
    }
}

#[tokio::test]
async fn a_failed_import_can_be_tried_again() {
    let worker =
        r#"cat > /dev/null; test -e "$(dirname "$0")/fixed" || { echo '{"error":"no"}'; exit 1; }"#;
    let service = Fixture::with(worker, |_| {}).await;
    let id = service.upload("x", &[("a.glb", b"x")]).await;
    assert_eq!(service.analysed(id).await["error_message"], "no");
    let retry = format!("/api/v2/rawmodel/{id}/api-upload/retry");
    std::fs::write(service.dir.path().join("fixed"), "").unwrap();
    service.post(&retry, json!({})).await.expect(200);
    let asset = service.analysed(id).await;
    assert_eq!(asset["upload_status"], "complete");
    assert_eq!(asset["has_errors"], false);
    assert_eq!(asset["error_message"], json!(null));
    service.post(&retry, json!({})).await.expect(422);
    service
        .post("/api/v2/rawmodel/999/api-upload/retry", json!({}))
        .await
        .expect(404);
}

async fn optimizing(service: &Fixture) -> u64 {
    let rapid = service.optimize_one().await;
    let record = service.get(&format!("/api/v2/rapidmodel/{rapid}")).await;
    let status = record.json()["data"]["job_status"]["status"].clone();
    assert!(status == "queued" || status == "executing", "{status}");
    rapid
}

fn is_alive(dir: &std::path::Path) -> bool {
    let pid = runs(dir).pop().unwrap();
    std::path::Path::new(&format!("/proc/{pid}/stat")).exists()
}

async fn until_dead(dir: &std::path::Path) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while is_alive(dir) {
        assert!(Instant::now() < deadline, "the worker lives on");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn half_way(rapid: &Value) -> bool {
    rapid["data"]["progress"] == 40
}

#[tokio::test]
async fn progress_shows_while_a_worker_works() {
    let service = Fixture::with(WAITING_WORKER, |_| {}).await;
    let rapid = optimizing(&service).await;
    let path = format!("/api/v2/rapidmodel/{rapid}");
    let record = service.until(&path, half_way).await;
    assert_eq!(record["data"]["processing_step"], "Simplifying");
    assert_eq!(record["data"]["job_status"]["status"], "executing");
    assert_eq!(record["data"]["optimization_status"], "sent_to_queue");
    let jobs = service.get("/api/v2/rawmodel/jobs").await.json();
    assert_eq!(jobs["data"][0]["id"], rapid);
    std::fs::write(service.dir.path().join("go"), "").unwrap();
    assert_eq!(
        service.optimized(rapid).await["optimization_status"],
        "done"
    );
    let jobs = service.get("/api/v2/rawmodel/jobs").await.json();
    assert_eq!(jobs["data"], json!([]));
}

#[tokio::test]
async fn deleting_a_rapid_model_stops_its_worker() {
    let service = Fixture::with(WAITING_WORKER, |_| {}).await;
    let rapid = optimizing(&service).await;
    let path = format!("/api/v2/rapidmodel/{rapid}");
    service.until(&path, half_way).await;
    service.delete(&path).await.expect(200);
    until_dead(service.dir.path()).await;
    // And the next job can run.
    service.upload("table", &[("a.glb", b"x")]).await;
}

#[tokio::test]
async fn a_job_survives_a_service_shutdown_and_runs_again() {
    let service = Fixture::with(WAITING_WORKER, |_| {}).await;
    let rapid = optimizing(&service).await;
    let path = format!("/api/v2/rapidmodel/{rapid}");
    service.until(&path, half_way).await;
    let began = Instant::now();
    let stopped = service.stop().await;
    assert!(began.elapsed() < Duration::from_secs(8));
    assert!(
        !is_alive(stopped.dir.path()),
        "no worker outlives its service"
    );
    std::fs::write(stopped.dir.path().join("go"), "").unwrap();
    let service = stopped.start(WAITING_WORKER).await;
    let record = service.optimized(rapid).await;
    assert_eq!(record["optimization_status"], "done");
    assert_eq!(
        record["job_status"]["attempts"], 1,
        "a job given back was not tried"
    );
    let runs = std::fs::read_to_string(service.dir.path().join("runs")).unwrap();
    assert_eq!(runs.lines().count(), 2);
}

#[tokio::test]
async fn a_second_service_on_the_same_data_is_refused() {
    let service = Fixture::start().await;
    let worker = script(service.dir.path(), COPYING_WORKER);
    let config = config(&service.dir.path().join("data"), worker).await;
    let error = Service::start(config).await.unwrap_err();
    assert!(!error.to_string().is_empty());
}

#[tokio::test]
async fn a_worker_that_cannot_be_started_is_the_reason_of_a_model_that_waits() {
    let service = Fixture::with(COPYING_WORKER, |config| {
        config.worker.program = "/nowhere/worker".into();
        config.admin_listen = Some(([127, 0, 0, 1], 0).into());
    })
    .await;
    let (id, started) = service.begin("x", &["a.glb"]).await;
    let url = upload_url(&started, "a.glb");
    service.put(url, b"x").await.expect(200);
    service.complete(id).await.expect(200);
    let path = format!("/api/v2/rawmodel/{id}");
    // While the start is tried once more, the reason is that of the try before.
    let waits = |record: &Value| {
        let asset = &record["data"];
        asset["waits_because"].is_string() && asset["upload_status"] == "waiting"
    };
    let asset = service.until(&path, waits).await["data"].clone();
    // Users read no path of the service; its operator does.
    let reason = asset["waits_because"].as_str().unwrap();
    assert!(reason.contains("cannot start the program"), "{reason}");
    assert!(!reason.contains("/nowhere"), "{reason}");
    let (status, ready) = service.ready().await;
    assert_eq!(status, 503);
    let jobs = ready["parts"]["jobs"].as_str().unwrap();
    assert!(jobs.contains("/nowhere/worker"), "{ready}");
    assert!(
        service
            .metric("jobs_obstructed_total{fault=\"no_program\"}")
            .await
            >= 1.0
    );
}
