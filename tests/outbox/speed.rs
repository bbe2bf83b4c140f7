//! Compares copying in with a copy to the same disk that syncs each file and its folder. Run by hand; prints ratios.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use assetfs::outbox::{EntryId, Outbox, OutboxConfig};

use super::support::{ME, client};

const CHUNK: usize = 1 << 20;

fn locally(dir: &Path, files: usize, chunks: usize, chunk: &[u8]) -> Duration {
    fs::create_dir(dir).unwrap();
    let start = Instant::now();
    for n in 0..files {
        let mut file = File::create_new(dir.join(format!("f{n}.bin"))).unwrap();
        for _ in 0..chunks {
            file.write_all(chunk).unwrap();
        }
        file.sync_all().unwrap();
        File::open(dir).unwrap().sync_all().unwrap();
    }
    start.elapsed()
}

fn into_draft(outbox: &Outbox, name: &str, files: usize, chunks: usize, chunk: &[u8]) -> Duration {
    let start = Instant::now();
    let draft = outbox.drafts().create(name, 0o755, &ME).unwrap().id;
    for n in 0..files {
        let name = format!("f{n}.bin");
        let (_, file) = outbox
            .entries()
            .create_file(draft, EntryId::ROOT, &name, 0o644, &ME)
            .unwrap();
        for at in 0..chunks {
            file.write_at(chunk, (at * CHUNK) as u64).unwrap();
        }
        file.flush().unwrap();
        file.release();
    }
    start.elapsed()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement, run by hand"]
#[expect(clippy::print_stdout, reason = "it is there to print")]
async fn copying_in_against_a_synced_local_copy() {
    let dir = tempfile::tempdir_in(
        std::env::var("ASSETFS_SPEED_DIR").unwrap_or_else(|_| "/tmp".to_owned()),
    )
    .unwrap();
    let config = OutboxConfig {
        paused: true,
        ..OutboxConfig::new(dir.path().join("outbox"))
    };
    let (outbox, _events) = Outbox::open(config, client("http://127.0.0.1:9", "1|secret")).unwrap();
    let chunk: Vec<u8> = (0..CHUNK).map(|n| ((n * 7919) >> 3) as u8).collect();
    for round in 0..3 {
        for (files, chunks) in [(1000, 1), (1, 1024)] {
            let local = locally(
                &dir.path().join(format!("local{round}-{files}")),
                files,
                chunks,
                &chunk,
            );
            let ours = into_draft(&outbox, &format!("d{round}-{files}"), files, chunks, &chunk);
            println!(
                "{files} files of {chunks} MiB: local {local:.2?}, drive {ours:.2?}, ratio {:.2}",
                local.as_secs_f64() / ours.as_secs_f64()
            );
            for draft in outbox.drafts().all() {
                outbox.drafts().remove(draft.id).unwrap();
            }
            fs::remove_dir_all(dir.path().join(format!("local{round}-{files}"))).unwrap();
        }
    }
    outbox.shut_down().await;
}
