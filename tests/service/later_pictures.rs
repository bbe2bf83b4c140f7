//! Pictures that come after their results.

use assetfs::service::{LaterPictures, WorkerCommand};
use assetfs::wire::EventType;

use serde_json::Value;

use super::square_glb::numbered_glb;
use super::support::{Fixture, Stopped, engine, engine_without_pictures, script, settings};

/// Results without pictures, which `drawing` draws later.
fn later(drawing: WorkerCommand) -> Option<LaterPictures> {
    Some(LaterPictures {
        quick: Some(engine_without_pictures()),
        drawing,
    })
}

/// Never draws.
fn idle() -> WorkerCommand {
    WorkerCommand {
        program: "sleep".into(),
        args: vec!["600".into()],
    }
}

/// A service whose results wait for their pictures until another start.
async fn without_pictures() -> Fixture {
    Fixture::with("", |config| {
        config.worker = engine();
        config.later_pictures = later(idle());
    })
    .await
}

/// Uploads a model and waits until it can be optimized.
async fn uploaded(service: &Fixture, number: usize) -> u64 {
    let glb = numbered_glb(number);
    let asset = service.upload("square", &[("square.glb", &glb)]).await;
    service.analysed(asset).await;
    asset
}

/// Starts the service again, so that `drawing` draws what waits. It is made after the settings, which write a script of the
/// same name.
async fn start_drawing(stopped: Stopped, drawing: impl FnOnce() -> WorkerCommand) -> Fixture {
    let mut settings = settings(stopped.dir.path(), "", stopped.bucket.as_ref()).await;
    settings.worker = engine();
    settings.later_pictures = later(drawing());
    stopped.start_with(settings).await
}

fn is_compared(record: &Value) -> bool {
    record["data"]["meta"]["qc"][0]["glb"]["avgScore"].is_number()
}

async fn points(service: &Fixture) -> u64 {
    let answer = service.get("/api/v2/user/rapidpoints").await.expect(200);
    answer.json()["rapidpoints"].as_u64().unwrap()
}

#[tokio::test]
async fn results_are_done_before_their_pictures_and_one_process_draws_them_after_a_restart() {
    let service = without_pictures().await;
    let asset = uploaded(&service, 1).await;
    let mut ends = service.service.ends();
    let before = points(&service).await;
    let rapids = [service.optimize(asset).await, service.optimize(asset).await];
    let mut results = Vec::new();
    for rapid in rapids {
        let record = service.optimized(rapid).await;
        assert_eq!(record["optimization_status"], "done", "{record}");
        let path = format!("/api/v2/rapidmodel/{rapid}");
        service.get(&format!("{path}/renders")).await.expect(404);
        let quality = service
            .get(&format!("{path}/glb/downloadQc"))
            .await
            .expect(200);
        assert!(quality.json()["avgScore"].is_null());
        let url = record["downloads"]["glb"].as_str().unwrap().to_owned();
        results.push(service.read(&url).await.expect(200).body);
        let end = ends.recv().await.unwrap();
        assert_eq!(end.event_type, EventType::OptimizationFinished);
    }
    assert_eq!(points(&service).await, before - 2);

    let stopped = service.stop().await;
    let dir = stopped.dir.path().to_owned();
    let program = engine().program;
    let log = dir.join("drawn");
    let text = format!(
        "echo process >> '{}'\nexec '{}' engine-worker --kept",
        log.display(),
        program.display()
    );
    let service = start_drawing(stopped, || script(&dir, &text)).await;
    for (rapid, result) in rapids.into_iter().zip(results) {
        let path = format!("/api/v2/rapidmodel/{rapid}");
        let record = service.until(&path, is_compared).await;
        let renders = service.get(&format!("{path}/renders")).await.expect(200);
        assert_eq!(renders.json().as_object().unwrap().len(), 18);
        service
            .get(&format!("{path}/glb/downloadQc"))
            .await
            .expect(200);
        let url = record["data"]["downloads"]["glb"].as_str().unwrap();
        assert_eq!(service.read(url).await.expect(200).body, result);
    }
    assert_eq!(points(&service).await, before - 2);
    assert_eq!(std::fs::read_to_string(log).unwrap(), "process\n");
}

#[tokio::test]
async fn a_result_that_is_deleted_before_its_pictures_is_gone() {
    let service = without_pictures().await;
    let asset = uploaded(&service, 1).await;
    let rapid = service.optimize(asset).await;
    service.optimized(rapid).await;
    let path = format!("/api/v2/rapidmodel/{rapid}");
    service.delete(&path).await.expect(200);
    let stopped = service.stop().await;
    let mut drawing = engine();
    drawing.args.push("--kept".into());
    let service = start_drawing(stopped, || drawing).await;
    // A result that is made after it gets its pictures: the deleted one does not hold it up.
    let next = service.optimize(asset).await;
    let path_of_next = format!("/api/v2/rapidmodel/{next}");
    service.until(&path_of_next, is_compared).await;
    service.get(&path).await.expect(404);
}

#[tokio::test]
async fn a_model_that_kills_what_draws_it_three_times_does_not_hold_up_the_others() {
    let service = without_pictures().await;
    let mut rapids = Vec::new();
    for number in 1..=2 {
        let asset = uploaded(&service, number).await;
        let rapid = service.optimize(asset).await;
        service.optimized(rapid).await;
        rapids.push(rapid);
    }
    let stopped = service.stop().await;
    let dir = stopped.dir.path().to_owned();
    let log = dir.join("killed");
    let program = engine().program;
    let text = format!(
        "if [ \"$(cat '{log}')\" != xxx ]; then printf x >> '{log}'; kill -9 $$; fi\n\
         exec '{program}' engine-worker --kept",
        log = log.display(),
        program = program.display(),
    );
    let service = start_drawing(stopped, || script(&dir, &text)).await;
    let path = |rapid: u64| format!("/api/v2/rapidmodel/{rapid}");
    service.until(&path(rapids[1]), is_compared).await;
    assert_eq!(std::fs::read_to_string(log).unwrap(), "xxx");
    let record = service.get_json(&path(rapids[0])).await;
    assert!(!is_compared(&record), "{record}");
    assert_eq!(record["data"]["optimization_status"], "done");
}
