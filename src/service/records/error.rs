//! Why a record could not be read or changed.

/// A failure of the database. Mistakes of callers are in the results of the single calls.
#[derive(Debug, thiserror::Error)]
pub enum RecordsError {
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    #[error("there is no such account any more")]
    NoAccount,
    #[error("the database has schema {version}, which this version does not know")]
    NewerSchema { version: i64 },
}
