//! All records of the service, in one SQL database. All SQL of the project is in this folder.
//!
//! `records.assets()` and its siblings group the calls by what they are about. What an API call changes, and the job
//! that it starts, are committed together. Every call fails with [`RecordsError::Database`] if the database fails.
//! Bytes of files are not here, see `files`.

mod accounts;
mod assets;
mod blobs;
mod connect;
mod conversions;
mod database;
mod deliveries;
mod drawings;
mod embeds;
mod epochs;
mod error;
#[cfg(test)]
mod figures;
mod files;
mod groups;
mod imports;
mod incoming;
mod jobs;
mod listings;
mod migrations;
mod optimizations;
mod page_ends;
mod presets;
mod rapids;
mod rates;
mod removal;
mod search;
mod shared;
mod sql;
mod starts;
mod tags;
mod tokens;
mod transaction;
mod uploads;
mod wakeups;
mod webhooks;

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;

use crate::durable::Reserve;
use crate::service::clock::Clock;
use database::{Database, Result};
use sql::sql;

pub use accounts::{NewUser, UserRow};
pub use assets::{AssetRow, NewAsset};
pub use blobs::{FreshBlob, Stored};
pub use connect::{DatabaseUrlError, PostgresServer, RecordsAt};
pub use conversions::{Conversion, ConversionRow, UnfinishedConversion, Uploaded};
pub use deliveries::{Call, DeliveryRow, EventLoad, NewEvent, WebhookLease};
pub use drawings::{DrawingEnd, DrawingRow};
pub use embeds::{CreatedEmbed, EmbedRow, NewEmbed};
pub use error::RecordsError;
pub use files::{Area, FileId, FileRow, NewFile};
pub use imports::{AnalysisEnd, Completion};
pub use incoming::{Arrived, Awaited};
pub use jobs::{
    Attempt, Heartbeat, JobId, JobKind, JobLoad, JobRow, JobState, Lease, Lost, Removal, TimedJob,
};
pub use optimizations::{NewRapid, OptimizationEnd, PicturesOfResult, Started};
pub use presets::{NewPreset, PresetChange, PresetRow};
pub use rapids::RapidRow;
pub use rates::{Allotment, RateRule};
pub use search::{ListOrder, ModelState, PageOf, PageRequest, Search};
pub use starts::Abandoned;
pub use tags::TagRow;
pub use tokens::TokenRow;
pub use uploads::{Publish, UploadRoom};
pub use wakeups::Added;
pub use webhooks::{NewWebhook, WebhookRow};

/// Disk space that is kept beside the file of SQLite, for the deletion of models and the next start while the disk is full.
const RESERVE_BYTES: u64 = 1 << 20;

/// All records of the service; clones share everything.
#[derive(Debug, Clone)]
pub struct Records {
    database: Database,
    /// None for a database server.
    reserve: Option<Arc<Reserve>>,
}

impl Records {
    /// Opens the database, creates the file of SQLite if it is missing, and migrates the schema.
    ///
    /// # Errors
    /// If the database cannot be reached or opened, refuses the login, comes from a newer version, or has no room on its disk.
    pub async fn open(at: &RecordsAt, file: &Path, clock: Clock) -> Result<Records> {
        if let RecordsAt::Postgres(_) = at {
            let database = connect::open(at, file, clock).await?;
            let reserve = None;
            return Ok(Records { database, reserve });
        }
        let reserve = Arc::new(Reserve::new(file.with_extension("reserve"), RESERVE_BYTES));
        let open = async || -> Result<Records> {
            let records = Records {
                database: connect::open(at, file, clock.clone()).await?,
                reserve: Some(Arc::clone(&reserve)),
            };
            // The start goes on to write.
            records.check_writes().await?;
            Ok(records)
        };
        let opened = match open().await {
            Err(error) if error.is_full() && reserve.free() => open().await,
            opened => opened,
        };
        opened.map_err(|error| match error {
            error if error.is_full() => RecordsError::DiskFull {
                file: file.to_owned(),
            },
            error => error,
        })
    }

    /// Keeps disk space for deletions, if there is room for it.
    pub fn keep_reserve(&self) {
        if let Some(reserve) = &self.reserve {
            reserve.keep();
        }
    }

    /// Gives the kept disk space back; false if there is none.
    pub fn free_reserve(&self) -> bool {
        self.reserve.as_ref().is_some_and(|reserve| reserve.free())
    }

    /// New records of a test: in a folder, or in the database of the test run.
    #[cfg(test)]
    pub async fn of_test(dir: &Path) -> Records {
        let at = match super::test_records::database_url(dir).await {
            Some(url) => RecordsAt::Postgres(url.parse().expect("a URL of PostgreSQL")),
            None => RecordsAt::DataFolder,
        };
        let file = dir.join("records.sqlite");
        let opened = Records::open(&at, &file, Clock::default()).await;
        opened.expect("a new database")
    }

    /// Whether other processes may work on the same records.
    pub fn is_shared(&self) -> bool {
        self.database.shared().is_some()
    }

    /// The error of every call, while the shared database does not answer.
    pub fn outage(&self) -> Option<RecordsError> {
        self.database.shared()?.outage()
    }

    /// Why the shared database gives this process no connection, if that is so.
    pub async fn refusal(&self) -> Option<RecordsError> {
        self.database.shared()?.refusal().await
    }

    /// The time by the clock of the database.
    pub async fn database_time(&self) -> Result<Timestamp> {
        self.database.one(sql!("SELECT now_micros()")).await
    }

    /// Changes a record that nobody reads.
    ///
    /// # Errors
    /// If the database does not answer, or takes no changes, for example because its disk is full.
    pub async fn check_writes(&self) -> Result<()> {
        let note = "INSERT INTO settings (name, value) VALUES ('write_check', CAST(now_micros() AS TEXT)) \
            ON CONFLICT (name) DO UPDATE SET value = excluded.value";
        self.database.run(sql!(note)).await.map(drop)
    }

    /// Closes the database after the running statements.
    pub async fn close(&self) {
        self.database.close().await;
    }

    pub async fn has_setting(&self, name: &str) -> Result<bool> {
        let query = sql!("SELECT value FROM settings WHERE name = $1", name);
        Ok(self.database.optional::<String>(query).await?.is_some())
    }

    /// The setting `name`. If it is missing, it is set to what `first` returns.
    pub async fn setting(&self, name: &str, first: impl FnOnce() -> String) -> Result<String> {
        let mut tx = self.database.begin().await?;
        tx.run(sql!(
            "INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING",
            name,
            first()
        ))
        .await?;
        let value = tx
            .one(sql!("SELECT value FROM settings WHERE name = $1", name))
            .await?;
        tx.commit().await?;
        Ok(value)
    }
}

/// Declares a method of [`Records`] for each group.
macro_rules! accessors {
    ($($method:ident: $group:ident,)*) => {
        impl Records {
            $(
                pub fn $method(&self) -> groups::$group<'_> {
                    groups::$group { database: &self.database }
                }
            )*
        }
    };
}

accessors! {
    accounts: AccountRecords,
    assets: AssetRecords,
    blobs: BlobRecords,
    conversions: ConversionRecords,
    deliveries: DeliveryRecords,
    drawings: DrawingRecords,
    embeds: EmbedRecords,
    epochs: EpochRecords,
    files: FileRecords,
    imports: ImportRecords,
    incoming: IncomingRecords,
    jobs: JobRecords,
    models: ModelRecords,
    optimizations: OptimizationRecords,
    presets: PresetRecords,
    rapids: RapidRecords,
    rates: RateRecords,
    tags: TagRecords,
    tokens: TokenRecords,
    uploads: UploadRecords,
    webhooks: WebhookRecords,
}
