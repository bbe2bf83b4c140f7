//! How much the progress of jobs costs the database.

use std::time::{Duration, Instant};

use assetfs::service::RecordsAt;

use super::skip::skipped;
use super::support::Fixture;
use super::test_records::{TestDatabase, database_url};

/// Optimizing says something new 50 times a second, until a file exists.
const TALKING_WORKER: &str = r#"
task=$(cat)
here=$(dirname "$0")
case "$task" in
*'"task":"optimize"'*)
  echo $$ >> "$here/runs"
  i=0
  while ! test -e "$here/go"; do
    i=$((i + 1)); echo "{\"percent\":$((i % 90)),\"step\":\"Step $i\"}"; sleep 0.02
  done ;;
esac
"#;

/// Counts the statements that change the progress of jobs.
const COUNTING: &str = "
CREATE TABLE progress_statements (at BIGINT);
CREATE FUNCTION count_progress() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM before b JOIN after a ON a.id = b.id AND a.state = 'running' AND a.step <> b.step) THEN
        INSERT INTO progress_statements VALUES (1);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER progress_statements AFTER UPDATE ON jobs REFERENCING OLD TABLE AS before NEW TABLE AS after
FOR EACH STATEMENT EXECUTE FUNCTION count_progress();";

#[tokio::test]
async fn progress_costs_one_statement_of_a_process_for_all_its_jobs_with_each_renewal() {
    let dir = tempfile::tempdir().unwrap();
    let Some(url) = database_url(dir.path()).await else {
        skipped("ASSETFS_TEST_RECORDS names no PostgreSQL server");
        return;
    };
    let renewal = Duration::from_secs(1);
    let service = Fixture::with(TALKING_WORKER, |config| {
        config.records = RecordsAt::Postgres(url.parse().unwrap());
        config.job_lease = renewal * 4;
        config.workers = 3;
    });
    let service = service.await;
    let asset = service.upload("chair", &[("a.glb", b"x")]).await;
    let mut rapids = Vec::new();
    for _ in 0..3 {
        rapids.push(service.optimize(asset).await);
    }
    service.until_runs(3).await;
    let mut database = TestDatabase::at(&url).await;
    database.run_text(COUNTING).await;
    let began = Instant::now();
    let shown = "SELECT COUNT(*) FROM jobs WHERE state = 'running' AND step LIKE 'Step %'";
    while database.number(shown).await < 3 {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "it is never shown"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    tokio::time::sleep(renewal * 4).await;
    let statements = database
        .number("SELECT COUNT(*) FROM progress_statements")
        .await;
    let most = began.elapsed().as_secs() as i64 + 2;
    assert!((3..=most).contains(&statements), "{statements}, not {most}");
    service.go();
    for rapid in rapids {
        service.optimized(rapid).await;
    }
}
