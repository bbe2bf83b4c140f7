//! A service whose replies are damaged at random: every operation of the drive ends, with a result or an error, and
//! nothing panics.
//!
//! A relay damages a third of the replies of a real service: values of the JSON, bytes, lengths. A drive with empty
//! state walks over everything that it shows. The seeds decide all damages, so a seed that fails fails again.
//! `ASSETFS_MUTATIONS=1000` tries more drives than the usual few, `ASSETFS_MUTATIONS_FROM` begins at another seed.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use assetfs::client::{Client, ClientConfig};
use assetfs::drive::{DriveError, FileKind};

use crate::fault_server::{Asked, FaultServer, Reply};
use crate::mutate::{Dice, mutated, number_of};
use crate::support::account::{Account, Mounted};

/// Longer than any retry of a request that somebody waits for.
const TIME_LIMIT: Duration = Duration::from_secs(120);
/// Files that are longer are read up to here.
const READ_BYTES: u32 = 64 * 1024;
/// A walk ends after so many entries: damaged lists can be long.
const MAX_ENTRIES: usize = 1_500;
const MAX_DEPTH: usize = 7;

static PANICS: AtomicUsize = AtomicUsize::new(0);

/// The damages of one drive: `None` damages nothing.
struct Damage {
    dice: Option<Dice>,
    /// Replies that were damaged, by all drives.
    damaged: usize,
    /// Earlier replies to the same path, which are mixed into later ones.
    seen: BTreeMap<String, Vec<u8>>,
}

impl Damage {
    fn apply(&mut self, asked: &Asked, reply: PassedOn) -> Reply {
        let of_path = self
            .seen
            .insert(asked.path().to_owned(), reply.body.clone());
        let Some(dice) = &mut self.dice else {
            return reply.whole();
        };
        if dice.below(3) > 0 {
            return reply.whole();
        }
        self.damaged += 1;
        let samples = [reply.body.clone(), of_path.unwrap_or_default()];
        let samples = match samples[1].is_empty() {
            true => &samples[..1],
            false => &samples[..],
        };
        let body = mutated(samples, true, dice);
        match dice.below(12) {
            0 => Reply::new(
                [204, 206, 304, 400, 404, 422, 500][dice.below(7)],
                &[("content-type", "application/json")],
                body,
            ),
            1 => PassedOn { body, ..reply }
                .whole()
                .cut_after(dice.below(400)),
            2 => Reply::new(200, &[("content-type", "text/html")], body),
            _ => PassedOn { body, ..reply }.whole(),
        }
    }
}

/// The reply of the service.
struct PassedOn {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl PassedOn {
    fn whole(&self) -> Reply {
        let headers: Vec<(&str, &str)> = self
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        Reply::new(self.status, &headers, self.body.clone())
    }
}

/// Asks the service.
fn pass_on(asked: &Asked, upstream: SocketAddr) -> Option<PassedOn> {
    let mut head = format!("{} {} HTTP/1.1\r\n", asked.method, asked.target);
    for (name, value) in &asked.headers {
        if name != "connection" {
            head += &format!("{name}: {value}\r\n");
        }
    }
    let mut stream = TcpStream::connect(upstream).ok()?;
    stream
        .write_all(format!("{head}connection: close\r\n\r\n").as_bytes())
        .ok()?;
    stream.write_all(&asked.body).ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    let end = answer.windows(4).position(|at| at == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let is_kept = |name: &str| !["connection", "content-length"].contains(&name);
    let headers = lines
        .filter_map(|line| line.split_once(": "))
        .filter(|(name, _)| is_kept(name))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    Some(PassedOn {
        status,
        headers,
        body: answer[end + 4..].to_vec(),
    })
}

/// Fails with what was done if it does not end.
async fn ends<T>(what: &str, seed: u64, work: impl Future<Output = T>) -> T {
    let ended = tokio::time::timeout(TIME_LIMIT, work).await;
    ended.unwrap_or_else(|_| panic!("seed {seed}: {what} does not end"))
}

/// Reads all that the drive shows. Returns the number of entries.
async fn walk(mounted: &Mounted, seed: u64) -> usize {
    let tree = &mounted.tree;
    let mut folders = vec![(String::new(), 0)];
    let mut entries = 0;
    while let Some((folder, depth)) = folders.pop() {
        let listing = ends(
            &format!("listing {folder}"),
            seed,
            tree.rows(&format!("{folder}/")),
        )
        .await;
        for (name, kind) in listing.unwrap_or_default() {
            entries += 1;
            if entries > MAX_ENTRIES {
                return entries;
            }
            let is_name = !name.is_empty() && !name.contains(['/', '\0']) && name.len() <= 255;
            assert!(
                is_name && name != "." && name != "..",
                "seed {seed}: {name:?}"
            );
            let path = format!("{folder}/{name}");
            ends(&path, seed, look_at(mounted, &path, kind)).await;
            if kind == FileKind::Folder && depth < MAX_DEPTH {
                folders.push((path, depth + 1));
            }
        }
    }
    entries
}

/// Attributes, extended attributes and content of one entry. Errors are fine.
async fn look_at(mounted: &Mounted, path: &str, kind: FileKind) {
    let tree = &mounted.tree;
    let Ok(entry) = tree.look(path).await else {
        return;
    };
    let ino = entry.attributes.ino;
    let names = mounted.drive.list_xattr(ino).await;
    for name in names.into_iter().flatten() {
        let _ = mounted.drive.get_xattr(ino, &name).await;
    }
    match kind {
        FileKind::Link => drop(mounted.drive.readlink(ino).await),
        // What waits for events does not end by itself.
        FileKind::File if !path.ends_with("/events") => drop(read_some(mounted, path).await),
        FileKind::File | FileKind::Folder => {}
    }
}

async fn read_some(mounted: &Mounted, path: &str) -> Result<(), DriveError> {
    let tree = &mounted.tree;
    let (ino, opened) = tree.open(path, assetfs::drive::Access::Read).await?;
    let read = mounted.drive.read(ino, opened.fh, 0, READ_BYTES).await;
    mounted.drive.release(ino, opened.fh).await?;
    read.map(drop)
}

/// An account with a model, a result, an embed, a preset and a webhook.
async fn account_with_everything() -> Account {
    let (account, mounted) = Account::mounted_with_cube().await;
    let tree = &mounted.tree;
    let preset = br#"{"schema":"2.5","limits":{"faces":{"percentage":10}},"compressionAndExport":{"fileExports":[{"fileType":"glb"}]}}"#;
    tree.write("/presets/mine.json", preset).await.unwrap();
    tree.optimize("cube", "small", preset).await;
    let result = tree.list("/rapidmodels").await.unwrap().remove(0);
    let embeds = format!("/rapidmodels/{result}/embeds");
    tree.write(&format!("{embeds}/viewer.json"), b"{}")
        .await
        .unwrap();
    tree.until_status(&format!("{embeds}/viewer.status"), "done")
        .await;
    mounted.close().await;
    account
}

#[tokio::test(flavor = "multi_thread")]
async fn replies_that_are_damaged_at_random_neither_hang_nor_crash_the_drive() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        PANICS.fetch_add(1, Ordering::SeqCst);
        usual(panic);
    }));
    let account = account_with_everything().await;
    let upstream = account.service_addr();
    let damage = Arc::new(Mutex::new(Damage {
        dice: None,
        damaged: 0,
        seen: BTreeMap::new(),
    }));
    let shared = Arc::clone(&damage);
    let relay = FaultServer::start(move |asked, _| match pass_on(asked, upstream) {
        Some(reply) => shared.lock().unwrap().apply(asked, reply),
        None => Reply::hang_up(),
    });
    let from = number_of("ASSETFS_MUTATIONS_FROM", 0);
    let count = number_of("ASSETFS_MUTATIONS", 6);
    let mut entries = 0;
    // The first drive meets no damage, so that all paths have been seen.
    for seed in std::iter::once(None).chain((from..from + count).map(Some)) {
        damage.lock().unwrap().dice = seed.map(Dice::new);
        let config = ClientConfig::new(&relay.url())
            .unwrap()
            .with_token(account.token());
        let client = Client::new(config).unwrap();
        let number = seed.unwrap_or_default();
        let state = format!("seed-{number}-{}", seed.is_some());
        let mounted = account.mount_through(client, &state).await;
        entries += walk(&mounted, number).await;
        ends("closing", number, mounted.close()).await;
        std::fs::remove_dir_all(account.dir.path().join(&state)).unwrap();
        assert_eq!(PANICS.load(Ordering::SeqCst), 0, "seed {number} panics");
    }
    let damaged = damage.lock().unwrap().damaged;
    println!("{count} drives, {damaged} damaged replies, {entries} entries looked at");
    assert!(damaged > 0);
}
