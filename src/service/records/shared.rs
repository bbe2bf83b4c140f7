//! A PostgreSQL database that several processes share: its connections, and whether it answers.
//!
//! One task asks the database every second over a connection of its own. If that connection stays silent, or two new
//! ones in sequence cannot be opened, the database is away: every statement fails at once with [`RecordsError::Away`],
//! and those that wait end; the log names the cause once. When the database answers again, the pools are replaced,
//! because their connections may be broken without reporting it. A server that has no connection left for this process
//! is not away: the open connections go on.
//!
//! Reads, changes and leases of jobs have connections of their own. Changes of one account wait for each other in this
//! process before they take a connection, so a locked account does not use up the connections of the others.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions};
use sqlx::{ConnectOptions as _, Connection as _};
use tokio::sync::{OwnedMutexGuard, watch};
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::error::{RecordsError, Result};
use crate::given_files;
use crate::locks::Locked;
use crate::service::causes::chain;
use crate::wire::UserId;

/// How long a connection to PostgreSQL may take.
pub(super) const CONNECT_TIME: Duration = Duration::from_secs(10);

/// How long the statements under way may take when the process ends.
const CLOSE_TIME: Duration = Duration::from_secs(5);

/// How long a statement waits for a connection while the database answers.
const ACQUIRE_TIME: Duration = Duration::from_secs(10);

/// How long a change waits for others of the same account. The database has the same limit for its locks.
const ACCOUNT_LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Pause between two questions to the database, and the time for its answer. A busy server may be some seconds late; a
/// connection that is silent for longer is broken, and so are those of the pools.
const PROBE_PAUSE: Duration = Duration::from_secs(1);
const PROBE_TIME: Duration = Duration::from_secs(4);

/// Time to open the connection for the questions.
const PROBE_CONNECT_TIME: Duration = Duration::from_secs(4);

/// Pause before the connection is opened again, and the number of failures in sequence that make an outage.
const RECONNECT_PAUSE: Duration = Duration::from_millis(250);
const MAX_FAILURES: u32 = 2;

/// Number of accounts from which the unused turns are removed.
const MANY_ACCOUNT_LOCKS: usize = 1_000;

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PoolKind {
    Reads,
    Changes,
    /// Claims and renewals of jobs, and messages about them.
    Leases,
}

/// The lanes and their maximum numbers of connections.
const POOLS: [(PoolKind, u32); 3] = [
    (PoolKind::Reads, 6),
    (PoolKind::Changes, 6),
    (PoolKind::Leases, 4),
];

/// The most connections of a process: those of the lanes, and the one for the questions.
const MAX_CONNECTIONS: u32 = POOLS[0].1 + POOLS[1].1 + POOLS[2].1 + 1;

/// The turn of an account.
pub(super) type AccountLock = OwnedMutexGuard<()>;

/// The connections to a shared database. Drop ends the task that watches it.
#[derive(Debug)]
pub(super) struct SharedDatabase {
    link: Arc<Reach>,
    _watching: DropGuard,
}

#[derive(Debug)]
struct Reach {
    /// With the newest password from the file.
    options: Mutex<PgConnectOptions>,
    password_file: Option<PathBuf>,
    /// The URL without the password.
    name: String,
    pools: Mutex<[PgPool; POOLS.len()]>,
    /// Why and since when the database does not answer, while it does not.
    away: watch::Sender<Option<(Arc<str>, Instant)>>,
    account_locks: Mutex<HashMap<UserId, Arc<tokio::sync::Mutex<()>>>>,
}

/// Reads a password from a file, without the line end.
pub(super) fn read_password(file: &Path) -> std::io::Result<String> {
    let text = given_files::read_text(file)?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

impl SharedDatabase {
    /// Opens the pools, and watches the database from now on.
    pub(super) fn open(
        options: PgConnectOptions,
        name: String,
        password_file: Option<PathBuf>,
    ) -> SharedDatabase {
        let link = Arc::new(Reach {
            pools: Mutex::new(pools(&options)),
            options: Mutex::new(options),
            password_file,
            name,
            away: watch::Sender::new(None),
            account_locks: Mutex::default(),
        });
        let stop = CancellationToken::new();
        let watching = Arc::clone(&link).watch();
        tokio::spawn(stop.clone().run_until_cancelled_owned(watching));
        SharedDatabase {
            link,
            _watching: stop.drop_guard(),
        }
    }

    /// The URL without the password.
    pub(super) fn name(&self) -> &str {
        &self.link.name
    }

    pub(super) fn pool(&self, pool_kind: PoolKind) -> PgPool {
        let place = POOLS.iter().position(|(it, _)| *it == pool_kind);
        let pools = self.link.pools.locked();
        pools[place.expect("every lane is in the list")].clone()
    }

    /// The error of every statement while the database does not answer.
    pub(super) fn outage(&self) -> Option<RecordsError> {
        let away = self.link.away.borrow().clone();
        away.map(|(reason, since)| RecordsError::Away { reason, since })
    }

    /// Why no connection can be opened now, if that is so.
    pub(super) async fn refusal(&self) -> Option<RecordsError> {
        match self.link.connect(PROBE_CONNECT_TIME).await {
            Ok(open) => {
                // It is not needed; the server notices its end.
                let _ = open.close().await;
                None
            }
            Err(refused) => Some(refused),
        }
    }

    /// Runs `work`; fails early if the database becomes unreachable.
    pub(super) async fn answered<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let mut away = self.link.away.subscribe();
        let lost = async {
            loop {
                if let Some(outage) = self.outage() {
                    return outage;
                }
                // It fails only without a sender, which `self` holds.
                let _ = away.wait_for(Option::is_some).await;
            }
        };
        tokio::select! {
            biased;
            outage = lost => Err(outage),
            done = work => done,
        }
    }

    /// Waits until no other task of this process changes the account.
    pub(super) async fn lock_account(&self, user: UserId) -> Result<AccountLock> {
        let account_lock = {
            let mut account_locks = self.link.account_locks.locked();
            if account_locks.len() >= MANY_ACCOUNT_LOCKS {
                account_locks.retain(|_, account_lock| Arc::strong_count(account_lock) > 1);
            }
            Arc::clone(account_locks.entry(user).or_default())
        };
        timeout(ACCOUNT_LOCK_TIMEOUT, account_lock.lock_owned())
            .await
            .map_err(|_| RecordsError::Busy)
    }

    /// Closes the connections once the statements under way have ended.
    pub(super) async fn close(&self) {
        let pools = self.link.pools.locked().clone();
        // The server ends connections that do not answer any more.
        let closing = futures_util::future::join_all(pools.iter().map(PgPool::close));
        let _ = timeout(CLOSE_TIME, closing).await;
    }
}

fn pools(options: &PgConnectOptions) -> [PgPool; POOLS.len()] {
    POOLS.map(|(_, most)| {
        PgPoolOptions::new()
            .max_connections(most)
            .acquire_timeout(ACQUIRE_TIME)
            .connect_lazy_with(options.clone())
    })
}

/// What the database did with a question.
enum Answer {
    Came,
    /// It has no connection left, so it runs.
    Full(RecordsError),
    NoConnection(RecordsError),
    /// An open connection is silent.
    Silence(RecordsError),
}

impl Reach {
    /// Asks the database again and again.
    async fn watch(self: Arc<Self>) {
        let mut link = None;
        let mut since: Option<Instant> = None;
        let mut failures = 0;
        let mut was_full = false;
        loop {
            self.read_password();
            let answer = self.ask(&mut link).await;
            failures = match answer {
                Answer::Came | Answer::Full(_) => 0,
                Answer::NoConnection(_) => failures + 1,
                Answer::Silence(_) => MAX_FAILURES,
            };
            let is_full = matches!(answer, Answer::Full(_));
            match answer {
                Answer::Full(error) if !was_full => tracing::warn!("{}", chain(&error)),
                Answer::NoConnection(error) | Answer::Silence(error)
                    if failures >= MAX_FAILURES && since.is_none() =>
                {
                    since = Some(self.note_away(&error));
                }
                _ => {}
            }
            was_full = is_full;
            if failures == 0
                && let Some(began) = since.take()
            {
                self.note_answer(began);
            }
            let is_unsure = failures > 0 && since.is_none();
            let pause = if is_unsure {
                RECONNECT_PAUSE
            } else {
                PROBE_PAUSE
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// If the password in the file has changed, uses it for new connections. Open connections stay open.
    fn read_password(&self) {
        let Some(file) = &self.password_file else {
            return;
        };
        // While the file is being replaced it may be missing; then the last password stays.
        let Ok(password) = read_password(file) else {
            return;
        };
        let mut options = self.options.locked();
        let changed = options.clone().password(&password);
        if changed.to_url_lossy().password() == options.to_url_lossy().password() {
            return;
        }
        *options = changed.clone();
        drop(options);
        for pool in self.pools.locked().iter() {
            pool.set_connect_options(changed.clone());
        }
        tracing::info!(
            server = self.name,
            "the password of the database was read again"
        );
    }

    fn options(&self) -> PgConnectOptions {
        self.options.locked().clone()
    }

    fn note_away(&self, error: &RecordsError) -> Instant {
        let reason = chain(error);
        tracing::error!("{reason}; requests get the status 503 until it answers");
        let now = Instant::now();
        self.away.send_replace(Some((reason.into(), now)));
        now
    }

    fn note_answer(&self, began: Instant) {
        self.renew_pools();
        self.away.send_replace(None);
        let seconds = began.elapsed().as_secs();
        tracing::info!(server = self.name, seconds, "the database answers again");
    }

    /// Asks the database once. Opens the connection anew if it is missing or broken.
    async fn ask(&self, link: &mut Option<PgConnection>) -> Answer {
        if let Some(mut open) = link.take() {
            match timeout(PROBE_TIME, open.ping()).await {
                Ok(Ok(())) => {
                    *link = Some(open);
                    return Answer::Came;
                }
                Ok(Err(_)) => {}
                Err(_) => return Answer::Silence(self.failure(late())),
            }
        }
        match self.connect(PROBE_CONNECT_TIME).await {
            Ok(open) => {
                *link = Some(open);
                Answer::Came
            }
            Err(error @ RecordsError::ServerFull { .. }) => Answer::Full(error),
            Err(error) => Answer::NoConnection(error),
        }
    }

    async fn connect(&self, time: Duration) -> Result<PgConnection> {
        let options = self.options();
        let opened = timeout(time, options.connect()).await;
        opened
            .unwrap_or_else(|_| Err(late()))
            .map_err(|error| self.failure(error))
    }

    fn failure(&self, error: sqlx::Error) -> RecordsError {
        connect_error(&self.options(), &self.name, error)
    }

    fn renew_pools(&self) {
        let new = pools(&self.options());
        let mut pools_now = self.pools.locked();
        for old in std::mem::replace(&mut *pools_now, new) {
            // Marks it as closed: its connections are closed when they come back.
            drop(old.close());
        }
    }
}

/// The error of an answer that did not come in time.
fn late() -> sqlx::Error {
    sqlx::Error::Io(std::io::ErrorKind::TimedOut.into())
}

/// The error codes of PostgreSQL for a wrong password, a login that its rules refuse, a missing database, and a server
/// without a free connection.
const WRONG_PASSWORD: &str = "28P01";
const LOGIN_REFUSED: &str = "28000";
const NO_DATABASE: &str = "3D000";
pub(super) const SERVER_FULL: &str = "53300";

/// The error code with which a pooler refuses parameters that it does not know.
const PROTOCOL_VIOLATION: &str = "08P01";

/// Why a connection could not be opened.
pub(super) fn connect_error(
    options: &PgConnectOptions,
    server: &str,
    error: sqlx::Error,
) -> RecordsError {
    let server = server.to_owned();
    let code = error.as_database_error().and_then(|error| error.code());
    match code.as_deref() {
        Some(WRONG_PASSWORD) if options.to_url_lossy().password().is_none() => {
            RecordsError::NoPassword { server }
        }
        Some(WRONG_PASSWORD) => RecordsError::Credential { server },
        Some(LOGIN_REFUSED) => RecordsError::LoginRefused {
            server,
            source: error,
        },
        Some(NO_DATABASE) => RecordsError::NoDatabase { server },
        Some(SERVER_FULL) => RecordsError::ServerFull {
            server,
            most: MAX_CONNECTIONS,
        },
        Some(PROTOCOL_VIOLATION) => RecordsError::Pooler {
            server,
            source: error,
        },
        _ => RecordsError::Unreachable {
            server,
            source: error,
        },
    }
}
