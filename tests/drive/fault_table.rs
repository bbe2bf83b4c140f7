//! Every fault of a connection or of the service, met by every operation: each call ends, nothing is lost, made twice or
//! paid twice, and `docs/reliability.md` says in its table what the user sees.
//!
//! The faults are those of `tests/fixtures/chaos-every-fault.toml`. Each meets all requests, from before the call until
//! it has returned.

use std::path::Path;
use std::time::Duration;

use assetfs::client::{EmbedQuery, ListQuery, Priority};
use assetfs::drive::{DriveError, DriveResult};
use assetfs::service::ChaosPlan;
use futures_util::future::join_all;

use crate::support::account::{Account, MINIMAL_GLTF, Mounted};

/// Longer than any request that somebody waits for, with its repetitions.
const TIME_LIMIT: Duration = Duration::from_secs(150);
const PRESET: &[u8] = br#"{"schema":"2.5","limits":{"faces":{"percentage":10}},
"compressionAndExport":{"fileExports":[{"fileType":"glb"}]}}"#;

/// An operation of a user: a column of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    /// Lists a model's files for the first time.
    List,
    /// Reads a file of a model for the first time.
    Read,
    Upload,
    Replace,
    Optimize,
    Embed,
    Preset,
    Tag,
    Delete,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Operation::List => "list",
            Operation::Read => "read",
            Operation::Upload => "upload",
            Operation::Replace => "replace",
            Operation::Optimize => "optimize",
            Operation::Embed => "embed",
            Operation::Preset => "preset",
            Operation::Tag => "tag",
            Operation::Delete => "delete",
        }
    }

    /// Whether the call returns when the order is safe on the local disk, and the drive sends it later.
    fn is_sent_later(self) -> bool {
        matches!(
            self,
            Operation::Upload | Operation::Optimize | Operation::Embed | Operation::Preset
        )
    }

    /// What has to be there before.
    async fn prepare(self, mounted: &Mounted) {
        let tree = &mounted.tree;
        match self {
            Operation::List => drop(tree.list("/rawmodels").await.unwrap()),
            Operation::Embed => {
                tree.optimize("cube", "small", PRESET).await;
                let embeds = "/rawmodels/cube/optimize/small/embeds";
                tree.list(embeds).await.unwrap();
            }
            _ => {
                tree.look("/rawmodels/cube/cube.gltf").await.unwrap();
                tree.list("/presets").await.unwrap();
            }
        }
    }

    async fn act(self, mounted: &Mounted) -> DriveResult<()> {
        let tree = &mounted.tree;
        match self {
            Operation::List => tree.list("/rawmodels/cube").await.map(drop),
            Operation::Read => tree.read("/rawmodels/cube/cube.gltf").await.map(drop),
            Operation::Upload => {
                unless_there(tree.mkdir("/rawmodels/new").await)?;
                tree.write("/rawmodels/new/new.gltf", MINIMAL_GLTF).await?;
                tree.sync("/rawmodels/new").await
            }
            Operation::Replace => {
                unless_there(tree.mkdir("/rawmodels/cube~new").await)?;
                tree.write("/rawmodels/cube/.assetfs/ctl", b"replace cube~new\n")
                    .await?;
                tree.write("/rawmodels/cube~new/cube.gltf", &changed())
                    .await?;
                tree.write("/rawmodels/cube~new/.assetfs/ctl", b"commit")
                    .await
            }
            Operation::Optimize => tree.write("/rawmodels/cube/optimize/a.json", PRESET).await,
            Operation::Embed => {
                let folder = "/rawmodels/cube/optimize/small/embeds";
                tree.write(&format!("{folder}/viewer.json"), b"{}").await
            }
            Operation::Preset => tree.write("/presets/web.json", PRESET).await,
            Operation::Tag => {
                tree.set_xattr("/rawmodels/cube", "user.xdg.tags", "oak")
                    .await
            }
            Operation::Delete => tree.remove_all("/rawmodels/cube").await,
        }
    }

    /// Waits until the operation is done on the service, and fails if it was done twice or differently.
    async fn verify(self, account: &Account, mounted: &Mounted) {
        let (tree, now) = (&mounted.tree, Priority::Interactive);
        let assets = async || account.assets().await.len();
        match self {
            Operation::List => {
                let names = tree.list("/rawmodels/cube").await.unwrap();
                assert!(names.contains(&"cube.gltf".to_owned()), "{names:?}");
            }
            Operation::Read => {
                let read = tree.read("/rawmodels/cube/cube.gltf").await.unwrap();
                assert_eq!(read, MINIMAL_GLTF);
            }
            Operation::Upload => {
                tree.until_status("/rawmodels/new/.assetfs/status", "complete")
                    .await;
                assert_eq!(assets().await, 2);
            }
            Operation::Replace => {
                let is_new = |text: &str| text.trim().as_bytes() == changed().trim_ascii();
                tree.until("/rawmodels/cube/cube.gltf", is_new).await;
                assert_eq!(assets().await, 2);
            }
            Operation::Optimize => {
                tree.until_status("/rawmodels/cube/optimize/a.status", "done")
                    .await;
                let rapids = account.client.rapids().list(ListQuery::all(), now);
                assert_eq!(rapids.await.unwrap().meta.total, 1);
            }
            Operation::Embed => {
                let status = "/rawmodels/cube/optimize/small/embeds/viewer.status";
                tree.until_status(status, "done").await;
                let embeds = account.client.embeds().list(EmbedQuery::default(), now);
                assert_eq!(embeds.await.unwrap().meta.total, 1);
            }
            Operation::Preset => {
                until("the preset is there", async || {
                    account.presets().await.len() == 1
                })
                .await;
            }
            Operation::Tag => {
                let tags = tree.xattr("/rawmodels/cube", "user.xdg.tags").await;
                assert_eq!(tags.unwrap(), "oak");
            }
            Operation::Delete => {
                until("the model is gone", async || assets().await == 0).await;
            }
        }
    }
}

async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    for _ in 0..600 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("waited too long until {what}");
}

/// A call that is made again finds what the first one made.
fn unless_there(made: DriveResult<()>) -> DriveResult<()> {
    match made {
        Err(DriveError::Exists) => Ok(()),
        made => made,
    }
}

/// Another version of the cube.
fn changed() -> Vec<u8> {
    let text = String::from_utf8_lossy(MINIMAL_GLTF);
    text.replace(
        "\"version\":\"2.0\"",
        "\"version\":\"2.0\",\"generator\":\"second\"",
    )
    .into_bytes()
}

/// The faults by their names, each as a plan in which it meets everything.
fn faults() -> Vec<(String, ChaosPlan)> {
    let every = ChaosPlan::parse(include_str!("../fixtures/chaos-every-fault.toml")).unwrap();
    let names: Vec<&str> = include_str!("../fixtures/chaos-every-fault.toml")
        .lines()
        .filter_map(|line| line.split_once("kind = \"")?.1.split('"').next())
        .collect();
    let rules = every.rules.iter().map(|rule| {
        let mut rule = rule.clone();
        (rule.method, rule.path) = (None, None);
        (rule.when.after, rule.when.times, rule.when.chance) = (0, None, 1.0);
        ChaosPlan {
            rules: vec![rule],
            ..ChaosPlan::default()
        }
    });
    let connections = every.connections.iter().map(|rule| {
        let mut rule = rule.clone();
        (rule.when.after, rule.when.times, rule.when.chance) = (0, None, 1.0);
        ChaosPlan {
            connections: vec![rule],
            ..ChaosPlan::default()
        }
    });
    let plans: Vec<ChaosPlan> = rules.chain(connections).collect();
    assert_eq!(names.len(), plans.len());
    let names = names.into_iter().map(|name| name.replace('_', " "));
    names.zip(plans).collect()
}

/// What the user sees of an operation that meets a fault, as the table says it.
async fn met(operation: Operation, fault: &str, plan: ChaosPlan) -> &'static str {
    let mut account = Account::new().await;
    account.add_cube().await;
    let mounted = account.mount().await;
    operation.prepare(&mounted).await;
    let is_of_connections = !plan.connections.is_empty();
    account.set_faults(Some(plan));
    if is_of_connections {
        // Open connections have met no fault.
        account.stop_service().await;
        account.start_service().await;
    }
    let acted = tokio::time::timeout(TIME_LIMIT, operation.act(&mounted)).await;
    let acted = acted.unwrap_or_else(|_| panic!("{fault}: {operation:?} does not end"));
    account.set_faults(None);
    let seen = match &acted {
        Ok(()) if operation.is_sent_later() => "accepted",
        Ok(()) => "done",
        Err(DriveError::Unreachable(_) | DriveError::TimedOut(_) | DriveError::Busy(_)) => "error",
        // A list that may be old is no reason to delete something.
        Err(DriveError::NotPermitted(_)) if operation == Operation::Delete => "error",
        Err(other) => panic!("{fault}: {operation:?} has the error {other:?}"),
    };
    if acted.is_err() {
        let again = operation.act(&mounted).await;
        again.unwrap_or_else(|error| panic!("{fault}: {operation:?} again: {error}"));
    }
    operation.verify(&account, &mounted).await;
    mounted.close().await;
    seen
}

/// The cell of the table in the documentation.
fn documented(fault: &str, operation: Operation) -> Option<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reliability.md");
    let page = std::fs::read_to_string(page).unwrap();
    let table = page.split("<!-- faults -->").nth(1)?.to_owned();
    let mut rows = table.lines().filter(|line| line.starts_with('|'));
    let cells = |row: &str| -> Vec<String> {
        let cells = row.trim_matches('|').split('|');
        cells.map(|cell| cell.trim().to_owned()).collect()
    };
    let column = cells(rows.next()?)
        .iter()
        .position(|it| it == operation.name())?;
    let row = rows.map(cells).find(|row| row[0] == format!("`{fault}`"))?;
    row.get(column).cloned()
}

/// All faults at once, each with an account of its own.
async fn check(operation: Operation) {
    let cells = faults().into_iter().map(|(fault, plan)| async move {
        let seen = met(operation, &fault, plan).await;
        (fault, seen)
    });
    let mut wrong = Vec::new();
    for (fault, seen) in join_all(cells).await {
        let said = documented(&fault, operation);
        if said.as_deref() != Some(seen) {
            wrong.push(format!("{fault}: {seen}, the table says {said:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}: {wrong:#?}", operation.name());
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_meet_every_fault() {
    check(Operation::List).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_meet_every_fault() {
    check(Operation::Read).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_meet_every_fault() {
    check(Operation::Upload).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn replacements_meet_every_fault() {
    check(Operation::Replace).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn optimizations_meet_every_fault() {
    check(Operation::Optimize).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn embeds_meet_every_fault() {
    check(Operation::Embed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn presets_meet_every_fault() {
    check(Operation::Preset).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tags_meet_every_fault() {
    check(Operation::Tag).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deletions_meet_every_fault() {
    check(Operation::Delete).await;
}
