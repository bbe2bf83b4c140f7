//! A simulation of whole histories in virtual time: users copy models in, drop jobs and edit presets; the process is
//! killed and restarted; the network loses and delays messages; another machine works on the same account; clocks
//! jump; the disk fills. The outbox and the client are real and use a real directory. The service is [`service`]
//! behind a [`network`]; the users' goals are in [`goals`].
//!
//! A run is determined by its seed: `ASSETFS_SIM_SEED=7 cargo test --lib simulator` runs one again and prints what
//! happened; `ASSETFS_SIM_SEEDS=1000..9000` runs many.

mod checks;
mod goals;
pub mod hook;
mod network;
mod people;
mod power;
mod service;
mod versions;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tempfile::TempDir;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use self::goals::Goals;
use self::hook::{below, chance};
use self::network::{FAIR, SimulatedService, Weather};
use self::people::{pursue_draft, pursue_job, pursue_preset};
use self::service::BASE_URL;
use self::versions::{VersionGoal, check_versions, pursue_versions};
use crate::client::{Client, ClientConfig};
use crate::locks::Locked;
use crate::outbox::{Outbox, OutboxConfig};
use crate::wire::Token;

/// Maximum duration of the last process, in virtual time, until everything has ended.
const MAX_FINAL_TIME: Duration = Duration::from_secs(3 * 3600);

struct World {
    dir: PathBuf,
    service: SimulatedService,
    goals: Goals,
    /// Models that are replaced by new versions.
    versions: Vec<Arc<Mutex<VersionGoal>>>,
    death: Arc<Notify>,
}

/// What happens besides. In each kind of history a seed stands for the history that it always stood for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    /// Models are replaced.
    Versions,
    /// Models are replaced, and another machine sends the same models at the same moment.
    Together,
}

/// A failed run.
#[derive(Debug)]
struct Failure {
    seed: u64,
    problems: Vec<String>,
    trace: Vec<String>,
}

/// A directory in memory if possible: the simulation does not need a real disk.
fn scratch() -> TempDir {
    let shm = Path::new("/dev/shm");
    let dir = match shm.is_dir() {
        true => tempfile::tempdir_in(shm),
        false => tempfile::tempdir(),
    };
    dir.expect("a directory for the simulation")
}

fn run_seed(seed: u64, kind: Kind) -> Result<Vec<String>, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let dir = scratch();
    let problems = runtime.block_on(async {
        let world = World {
            dir: dir.path().join("outbox"),
            death: hook::begin(seed),
            service: SimulatedService::new(),
            goals: Goals::new(),
            versions: match kind {
                Kind::Plain => Vec::new(),
                Kind::Versions | Kind::Together => versions::goals(),
            },
        };
        world.service.holdings().together = kind == Kind::Together;
        world.run().await
    });
    drop(runtime);
    let trace = hook::end();
    match problems.is_empty() {
        true => Ok(trace),
        false => Err(Failure {
            seed,
            problems,
            trace,
        }),
    }
}

impl World {
    async fn run(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for life in 0..below(6) {
            hook::note(format!("--- life {life}"));
            hook::live(chance(60).then(|| 1 + below(60) as u32));
            self.service.set_weather(|weather| {
                *weather = Weather {
                    trouble: below(35),
                    death: below(8),
                    ..FAIR
                };
            });
            let until = Duration::from_secs(1 + below(120));
            if let Err(error) = self.live(until).await {
                problems.push(error);
            }
        }
        hook::note("--- the last life");
        hook::live(None);
        self.service.set_weather(|weather| *weather = FAIR);
        self.service.holdings().storage_left = 1 << 40;
        match self.end().await {
            Ok(left) => problems.extend(left),
            Err(error) => problems.push(error),
        }
        problems.extend(std::mem::take(&mut self.service.holdings().violations));
        problems
    }

    fn open(&self) -> Result<Outbox, String> {
        let mut config = ClientConfig::new(BASE_URL).unwrap();
        config.token = Some(Token::parse("1|simulated").unwrap());
        let client = Client::scripted(config, Arc::new(self.service.clone()));
        let opened = Outbox::open(OutboxConfig::new(&self.dir), client);
        let (outbox, mut events) = opened.map_err(|error| format!("cannot be opened: {error}"))?;
        tokio::spawn(async move { while events.recv().await.is_some() {} });
        checks::forget_lost_starts(&outbox, &self.service);
        Ok(outbox)
    }

    fn start_people(&self, outbox: &Outbox) -> JoinSet<()> {
        let mut people = JoinSet::new();
        for goal in &self.goals.drafts {
            people.spawn(pursue_draft(outbox.clone(), goal.clone()));
        }
        for goal in &self.goals.jobs {
            people.spawn(pursue_job(outbox.clone(), goal.clone()));
        }
        for goal in &self.versions {
            people.spawn(pursue_versions(outbox.clone(), goal.clone()));
        }
        for goal in &self.goals.presets {
            people.spawn(pursue_preset(outbox.clone(), goal.clone()));
        }
        people
    }

    /// One process, until it is killed, shut down, or the time is over.
    async fn live(&self, until: Duration) -> Result<(), String> {
        let outbox = match self.open() {
            Ok(outbox) => outbox,
            Err(_) if hook::is_dead() => return Ok(()),
            Err(error) => return Err(error),
        };
        let mut people = self.start_people(&outbox);
        people.spawn(disturb(self.service.clone(), self.goals.clone()));
        tokio::select! {
            biased;
            () = self.death.notified() => {}
            () = tokio::time::sleep(until) => {}
        }
        let polite = !hook::is_dead() && chance(40);
        if polite {
            outbox.shut_down().await;
        }
        hook::die();
        drop_killed(outbox, people).await;
        Ok(())
    }

    /// The last process: no more faults; everything has to end.
    async fn end(&self) -> Result<Vec<String>, String> {
        let outbox = self.open()?;
        let mut people = self.start_people(&outbox);
        let everybody_done = async { while people.join_next().await.is_some() {} };
        let patience = tokio::time::timeout(MAX_FINAL_TIME, everybody_done).await;
        let mut problems = Vec::new();
        if patience.is_err() {
            problems.extend(self.goals.unreached());
            problems.extend(versions::unreached(&self.versions));
        }
        let mut waited = Duration::ZERO;
        while let Some(left) = checks::unfinished(&outbox) {
            checks::retry_failures(&outbox).await;
            if waited > MAX_FINAL_TIME {
                problems.push(format!("never came to an end: {left}"));
                break;
            }
            let pause = Duration::from_secs(20);
            tokio::time::sleep(pause).await;
            waited += pause;
        }
        // Jobs poll an asset that just became complete a little later.
        tokio::time::sleep(Duration::from_secs(60)).await;
        checks::leave_to_others(&outbox, &self.service);
        problems.extend(checks::all(&outbox, &self.service, &self.goals));
        problems.extend(check_versions(&outbox, &self.service, &self.versions));
        hook::die();
        drop_killed(outbox, people).await;
        Ok(problems)
    }
}

/// Drops the parts of a killed process.
async fn drop_killed(outbox: Outbox, mut people: JoinSet<()>) {
    people.abort_all();
    while people.join_next().await.is_some() {}
    outbox.owner.machines.foundation.tasks.abort().await;
}

/// Disturbances by other machines, the network, the clock and the disk.
async fn disturb(service: SimulatedService, goals: Goals) {
    loop {
        tokio::time::sleep(Duration::from_millis(200 + below(15_000))).await;
        let name = {
            let goal = goals.drafts[below(goals.drafts.len() as u64) as usize].locked();
            goal.name.trim_end_matches(".glb").to_owned()
        };
        let chosen = below(13);
        hook::note(format!("others: {chosen}"));
        let while_it_lasts = Duration::from_millis(500 + below(40_000));
        match chosen {
            0 => drop(service.holdings().foreign_asset(&name, "incomplete")),
            1 => drop(service.holdings().foreign_asset(&name, "complete")),
            2 => foreign_work(&service, &goals),
            3 => service.holdings().expire_urls(),
            4 => hook::skew(below(2_000_000) as i64 - 1_000_000),
            5 => {
                service.set_weather(|weather| weather.outage = true);
                tokio::time::sleep(while_it_lasts * 2).await;
                service.set_weather(|weather| weather.outage = false);
            }
            6 => {
                service.set_weather(|weather| weather.revoked = true);
                tokio::time::sleep(while_it_lasts).await;
                service.set_weather(|weather| weather.revoked = false);
            }
            7 | 8 => {
                hook::fill_disk(true);
                tokio::time::sleep(while_it_lasts / 4).await;
                hook::fill_disk(false);
            }
            9 => {
                service.holdings().storage_left = below(100);
                tokio::time::sleep(while_it_lasts).await;
                service.holdings().storage_left = 1 << 40;
            }
            10 if chance(15) => {
                let mut holdings = service.holdings();
                let ours = holdings.assets.iter().find(|(_, it)| !it.foreign);
                let ours = ours.map(|(id, _)| *id);
                if let Some(id) = ours {
                    holdings.delete_elsewhere(id);
                }
            }
            _ => {}
        }
    }
}

/// Another machine optimizes, embeds and makes presets like ours at the same time.
fn foreign_work(service: &SimulatedService, goals: &Goals) {
    let mut holdings = service.holdings();
    let complete = holdings.assets.iter();
    let complete = complete.filter(|(_, asset)| asset.status == "complete");
    let complete: Vec<u64> = complete.map(|(id, _)| *id).collect();
    for id in complete {
        for goal in &goals.jobs {
            let marker = goal.locked().marker.clone();
            let body = serde_json::json!({"config": {"limits": {"faces": {"count": marker}}}});
            holdings.add_rapid(id, &body, true);
        }
        holdings.foreign_embed(id, "e");
    }
}

/// Runs seeds on all CPUs; returns the failures and the number of runs.
fn run_many(seeds: Range<u64>, kind: Kind, longest: Option<Duration>) -> (Vec<Failure>, u64) {
    let next = AtomicU64::new(seeds.start);
    let failures = Mutex::new(Vec::new());
    let ran = AtomicU64::new(0);
    let started = std::time::Instant::now();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let late = longest.is_some_and(|longest| started.elapsed() > longest);
                    if seed >= seeds.end || late {
                        return;
                    }
                    if let Err(failure) = run_seed(seed, kind) {
                        failures.lock().unwrap().push(failure);
                    }
                    ran.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    (failures.into_inner().unwrap(), ran.into_inner())
}

#[expect(
    clippy::print_stdout,
    reason = "a failing run tells how to see it again"
)]
fn report(failures: &[Failure], ran: u64, took: Duration) {
    println!("{ran} runs in {:.1} s", took.as_secs_f64());
    for failure in failures.iter().take(3) {
        println!("=== seed {}", failure.seed);
        for line in &failure.trace {
            println!("{line}");
        }
    }
    for failure in failures {
        println!("seed {}: {}", failure.seed, failure.problems.join("; "));
    }
}

/// The seeds of `ASSETFS_SIM_SEED` or `ASSETFS_SIM_SEEDS`.
fn asked_for() -> Option<Range<u64>> {
    if let Ok(seed) = std::env::var("ASSETFS_SIM_SEED") {
        let seed = seed.parse().expect("a seed is a number");
        return Some(seed..seed + 1);
    }
    let seeds = std::env::var("ASSETFS_SIM_SEEDS").ok()?;
    let (from, to) = seeds.split_once("..").expect("seeds are given as FROM..TO");
    let number = |text: &str| text.parse().expect("a seed is a number");
    Some(number(from)..number(to))
}

fn run_histories(kind: Kind) {
    let started = std::time::Instant::now();
    let asked = asked_for();
    let longest = asked.is_none().then_some(Duration::from_secs(15));
    let (failures, ran) = run_many(asked.unwrap_or(0..400), kind, longest);
    report(&failures, ran, started.elapsed());
    assert!(failures.is_empty(), "{} of {ran} failed", failures.len());
}

#[test]
fn every_history_ends_with_what_was_promised() {
    run_histories(Kind::Plain);
}

#[test]
fn every_history_with_a_machine_that_sends_the_same_ends_with_what_was_promised() {
    run_histories(Kind::Together);
}

#[test]
fn every_history_with_new_versions_of_models_ends_with_what_was_promised() {
    run_histories(Kind::Versions);
}

/// Seeds that once found a bug: a preset came back after its removal; a job counted as wanted while the disk was
/// full; a removed file was reported as missing before the removal was durable; a one-off tag was removed before its
/// rapid model was recorded; a search continued after its result; bytes changed before the cancellation of their
/// upload was durable.
const FOUND_SOMETHING: [u64; 8] = [1559, 1938, 2503, 5207, 6146, 11851, 11879, 19067];

/// The same with new versions of models: of two embeds of one name whose requests were lost, each was taken for the
/// other.
const FOUND_SOMETHING_WITH_VERSIONS: [u64; 1] = [2044];

#[test]
fn histories_that_once_went_wrong_go_right() {
    let without = FOUND_SOMETHING.map(|seed| (seed, Kind::Plain));
    let with = FOUND_SOMETHING_WITH_VERSIONS.map(|seed| (seed, Kind::Versions));
    for (seed, kind) in without.into_iter().chain(with) {
        if let Err(failure) = run_seed(seed, kind) {
            report(&[failure], 1, Duration::ZERO);
            panic!("seed {seed} failed");
        }
    }
}

#[test]
fn a_seed_gives_the_same_history_each_time() {
    for seed in [3, 14, 27] {
        // Each run has its own folder, whose path is in messages about a full disk.
        let without_folder = |line: String| match line.split_once(" on the disk that holds ") {
            Some((before, _)) => before.to_owned(),
            None => line,
        };
        let run = || {
            let trace = run_seed(seed, Kind::Versions).unwrap_or_else(|failure| failure.trace);
            trace
                .into_iter()
                .map(without_folder)
                .collect::<Vec<String>>()
        };
        let (first, again) = (run(), run());
        assert_eq!(first, again, "seed {seed}");
    }
}
