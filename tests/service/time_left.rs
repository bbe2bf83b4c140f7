//! What the page is told of the time that running jobs still take.

use serde_json::json;

use assetfs::service::ChaosPlan;

use super::support::Fixture;

/// The first optimization takes three seconds; the second waits for a file.
const WORKER: &str = r#"
task=$(cat)
here=$(dirname "$0")
case "$task" in
*'"task":"optimize"'*)
  echo $$ >> "$here/runs"
  if test "$(wc -l < "$here/runs")" -eq 1; then sleep 3
  else while ! test -e "$here/go"; do sleep 0.02; done; fi ;;
esac
"#;

#[tokio::test]
async fn a_running_job_takes_about_as_long_as_one_like_it_did() {
    let service = Fixture::with(WORKER, |_| {}).await;
    let asset = service.upload("chair", &[("a.glb", b"x")]).await;
    let left = async || service.get_json("/page/time_left.json").await;
    let nothing = json!({ "models": {}, "results": {} });
    let first = service.optimize(asset).await;
    service.until_runs(1).await;
    assert_eq!(left().await, nothing, "nothing is known of such a job");
    service.optimized(first).await;
    assert_eq!(left().await, nothing, "nothing runs");

    let clock_ahead = |secs: i64| {
        let plan = format!("clock_ahead_secs = {secs}");
        service
            .service
            .set_chaos(Some(ChaosPlan::parse(&plan).unwrap()));
    };
    let second = service.optimize(asset).await;
    service.until_runs(2).await;
    // So that a slow machine changes nothing.
    clock_ahead(-60);
    let told = left().await["results"][second.to_string()].as_u64();
    assert!(told.is_some_and(|left| left >= 60), "{told:?}");
    // It takes longer than the first: nobody knows how long.
    clock_ahead(3_600);
    assert_eq!(left().await, nothing);
    service.go();
    service.optimized(second).await;
}
