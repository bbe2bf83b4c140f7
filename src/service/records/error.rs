//! Why a record could not be read or changed.

/// Error codes of PostgreSQL for a transaction that was rolled back because of another one, and that may succeed when
/// it is repeated: serialization failure and deadlock.
const CONFLICTS: [&str; 2] = ["40001", "40P01"];

/// A failure of the database. Mistakes of callers are in the results of the single calls.
#[derive(Debug, thiserror::Error)]
pub enum RecordsError {
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    #[error(
        "the database {server} cannot be reached: check that it runs and that the address is right"
    )]
    Unreachable {
        server: String,
        #[source]
        source: sqlx::Error,
    },
    #[error(
        "the database {server} refuses the login: check the user in the URL, and the password in --records-password-file, \
         in ~/.pgpass or in PGPASSWORD"
    )]
    Credential { server: String },
    #[error("the server has no database {server}: create it with createdb")]
    NoDatabase { server: String },
    #[error("there is no such account any more")]
    NoAccount,
    /// The janitor gave up a blob that took too long to store.
    #[error("storing the bytes took so long that they were given up")]
    BlobExpired,
    #[error(
        "the database has schema {version}, which this version does not know: start the version of assetfs that wrote \
         it, or a newer one"
    )]
    NewerSchema { version: i64 },
}

impl RecordsError {
    /// Whether the transaction was rolled back only because of another one.
    pub(super) fn is_conflict(&self) -> bool {
        let RecordsError::Database(error) = self else {
            return false;
        };
        let code = error.as_database_error().and_then(|error| error.code());
        code.is_some_and(|code| CONFLICTS.contains(&&*code))
    }
}
