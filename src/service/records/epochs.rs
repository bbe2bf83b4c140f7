//! The epochs of the bucket, which distinguish these records from a copy of them (`service/bucket_fence`).
//!
//! A copy has the same id as its original, but it is another database ([`EpochRecords::database`]), and it does not know
//! the epochs that its original wrote later. An epoch is recorded before it is written to the bucket: if the process dies
//! in between, its records still know the epoch of the bucket.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::UNIX_EPOCH;

use jiff::{SignedDuration, Timestamp};

use super::database::Result;
use super::groups::EpochRecords;
use super::sql::sql;
use crate::service::ids::random_name;

/// Number of newest epochs that are kept: many more than all processes record while one of them writes its epoch to the
/// bucket.
const KEPT: u64 = 64;

/// The setting with the time of the last adoption, in microseconds.
const ADOPTED: &str = "files_adopted_at";

/// For this time after an adoption no file is removed: if the operator was wrong, files that these records do not name
/// may still be needed.
const ADOPTION_GRACE: SignedDuration = SignedDuration::from_hours(24);

impl EpochRecords<'_> {
    /// The identity of this database. A copy of its content has another one, even on the same server. `file` is the file
    /// of SQLite. `None` if the server or the file system gives no identity.
    pub async fn database(self, file: &Path) -> Option<String> {
        if self.database.shared().is_none() {
            let file = std::fs::metadata(file).ok()?;
            let made = file.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
            return Some(format!("{}:{}", file.ino(), made.as_nanos()));
        }
        let query = "SELECT CAST(system_identifier AS TEXT) || ':' || CAST(oid AS TEXT) \
            FROM pg_control_system(), pg_database WHERE datname = current_database()";
        match self.database.one(sql!(query)).await {
            Ok(identity) => Some(identity),
            Err(error) => {
                tracing::debug!(%error, "the server does not tell which database it has");
                None
            }
        }
    }

    /// Records a new epoch and removes old ones, but not `kept`, the epoch of the bucket.
    pub async fn begin(self, kept: Option<&str>) -> Result<String> {
        let epoch = random_name();
        let mut tx = self.database.begin().await?;
        let insert = "INSERT INTO epochs (epoch, created_at) VALUES ($1, now_micros())";
        tx.run(sql!(insert, epoch)).await?;
        let forget = "DELETE FROM epochs WHERE epoch <> $1 AND epoch NOT IN \
            (SELECT epoch FROM epochs ORDER BY created_at DESC LIMIT $2)";
        tx.run(sql!(forget, kept.unwrap_or_default(), KEPT)).await?;
        tx.commit().await?;
        Ok(epoch)
    }

    /// Whether a process of these records wrote this epoch.
    pub async fn is_known(self, epoch: &str) -> Result<bool> {
        let query = "SELECT epoch FROM epochs WHERE epoch = $1";
        let found: Option<String> = self.database.optional(sql!(query, epoch)).await?;
        Ok(found.is_some())
    }

    /// Notes that the files were adopted. The waiting time of files that were noted for removal begins anew.
    pub async fn adopted(self) -> Result<()> {
        let mut tx = self.database.begin().await?;
        let note = "INSERT INTO settings (name, value) VALUES ($1, CAST(now_micros() AS TEXT)) \
            ON CONFLICT (name) DO UPDATE SET value = excluded.value";
        tx.run(sql!(note, ADOPTED)).await?;
        tx.run(sql!("DELETE FROM stray_blobs")).await?;
        tx.commit().await
    }

    /// Whether the files were adopted so recently that nothing may be removed from them.
    pub async fn is_new_owner(self, now: Timestamp) -> Result<bool> {
        let query = "SELECT value FROM settings WHERE name = $1";
        let noted: Option<String> = self.database.optional(sql!(query, ADOPTED)).await?;
        let noted = noted.and_then(|noted| Timestamp::from_microsecond(noted.parse().ok()?).ok());
        Ok(noted.is_some_and(|noted| now < noted + ADOPTION_GRACE))
    }

    /// How many epochs are recorded, and the newest.
    #[cfg(test)]
    pub async fn count_and_newest(self) -> Result<(i64, String)> {
        let query = "SELECT COUNT(*) FROM epochs";
        let count = self.database.one(sql!(query)).await?;
        let query = "SELECT epoch FROM epochs ORDER BY created_at DESC LIMIT 1";
        Ok((count, self.database.one(sql!(query)).await?))
    }
}
