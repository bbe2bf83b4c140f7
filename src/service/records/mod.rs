//! Every record of the service, in one SQL database: all SQL of the project is in this folder.
//!
//! `records.assets()` and its siblings group the calls by what they are about. What an API call changes, and the job
//! that it starts, are committed together. Every call fails with [`RecordsError::Database`] if the database fails.
//! Bytes of files are not here, see `files`.

mod accounts;
mod assets;
mod conversions;
mod database;
mod embeds;
mod error;
mod files;
mod imports;
mod jobs;
mod optimizations;
mod presets;
mod rapids;
mod search;
mod tags;
mod tokens;
mod uploads;
mod webhooks;

use std::path::Path;

use sqlx::Row as _;

use crate::service::clock::Clock;
use database::{Database, Result};

pub use accounts::{AccountRecords, NewUser, UserRow};
pub use assets::{AssetRecords, AssetRow, NewAsset};
pub use conversions::{Conversion, ConversionRecords, Uploaded};
pub use embeds::{EmbedRecords, EmbedRow, EmbedSource, NewEmbed};
pub use error::RecordsError;
pub use files::{Area, FileId, FileRecords, FileRow, NewFile};
pub use imports::{AnalysisEnd, Completion, ImportRecords};
pub use jobs::{JobId, JobKind, JobRecords, JobRow, JobState, Lease, Lost, Removal};
pub use optimizations::{NewRapid, OptimizationEnd, OptimizationRecords, Started};
pub use presets::{NewPreset, PresetRecords, PresetRow};
pub use rapids::{RapidRecords, RapidRow};
pub use search::{PageOf, PageRequest, Search};
pub use tags::{TagRecords, TagRow};
pub use tokens::{TokenRecords, TokenRow};
pub use uploads::{Publish, UploadRecords, Welcome};
pub use webhooks::{NewWebhook, WebhookRecords, WebhookRow};

/// All records of the service; clones share everything.
#[derive(Debug, Clone)]
pub struct Records {
    database: Database,
}

impl Records {
    /// Opens the database in the file `path`, creates it if it is missing, and migrates its schema.
    ///
    /// # Errors
    /// If the file cannot be opened, is not a database, or comes from a newer version.
    pub async fn open(path: &Path, clock: Clock) -> Result<Records> {
        let database = Database::open(path, clock).await?;
        Ok(Records { database })
    }

    /// Closes the database once the statements under way have ended.
    pub async fn close(&self) {
        self.database.close().await;
    }

    pub fn accounts(&self) -> AccountRecords<'_> {
        AccountRecords {
            database: &self.database,
        }
    }

    pub fn assets(&self) -> AssetRecords<'_> {
        AssetRecords {
            database: &self.database,
        }
    }

    pub fn conversions(&self) -> ConversionRecords<'_> {
        ConversionRecords {
            database: &self.database,
        }
    }

    pub fn embeds(&self) -> EmbedRecords<'_> {
        EmbedRecords {
            database: &self.database,
        }
    }

    pub fn files(&self) -> FileRecords<'_> {
        FileRecords {
            database: &self.database,
        }
    }

    pub fn imports(&self) -> ImportRecords<'_> {
        ImportRecords {
            database: &self.database,
        }
    }

    pub fn jobs(&self) -> JobRecords<'_> {
        JobRecords {
            database: &self.database,
        }
    }

    pub fn optimizations(&self) -> OptimizationRecords<'_> {
        OptimizationRecords {
            database: &self.database,
        }
    }

    pub fn presets(&self) -> PresetRecords<'_> {
        PresetRecords {
            database: &self.database,
        }
    }

    pub fn rapids(&self) -> RapidRecords<'_> {
        RapidRecords {
            database: &self.database,
        }
    }

    pub fn tags(&self) -> TagRecords<'_> {
        TagRecords {
            database: &self.database,
        }
    }

    pub fn tokens(&self) -> TokenRecords<'_> {
        TokenRecords {
            database: &self.database,
        }
    }

    pub fn uploads(&self) -> UploadRecords<'_> {
        UploadRecords {
            database: &self.database,
        }
    }

    pub fn webhooks(&self) -> WebhookRecords<'_> {
        WebhookRecords {
            database: &self.database,
        }
    }

    /// The setting `name`, made from `first` when it is not there yet.
    pub async fn setting(&self, name: &str, first: impl FnOnce() -> String) -> Result<String> {
        let mut tx = self.database.begin().await?;
        sqlx::query("INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING")
            .bind(name)
            .bind(first())
            .execute(&mut *tx)
            .await?;
        let row = sqlx::query("SELECT value FROM settings WHERE name = $1")
            .bind(name)
            .fetch_one(&mut *tx)
            .await?;
        tx.commit().await?;
        Ok(row.try_get("value")?)
    }
}
