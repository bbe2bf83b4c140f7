//! Why a record could not be read or changed.

/// A failure of the records. What a caller did wrong is not here: those are results of the single calls.
#[derive(Debug, thiserror::Error)]
pub enum RecordsError {
    /// The database failed.
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    /// The account was deleted meanwhile.
    #[error("there is no such account any more")]
    NoAccount,
    /// The data folder was written by a newer version of the program.
    #[error("the database has schema {version}, which this version does not know")]
    NewerSchema {
        /// The schema it has.
        version: i64,
    },
}
