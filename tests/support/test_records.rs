//! The records of a test's service: in its data folder, or in a database of the PostgreSQL server that the environment
//! variable `ASSETFS_TEST_RECORDS` names by its URL. Each data folder has a database of its own, so a service finds
//! its records after a restart.

#![allow(dead_code, reason = "each test binary uses its own part")]

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;

use sqlx::{AssertSqlSafe, Connection as _};

/// The URL of the database of a data folder, which is created if it is missing; none if the tests use SQLite.
pub async fn database_url(data: &Path) -> Option<String> {
    let server = std::env::var("ASSETFS_TEST_RECORDS").ok()?;
    let mut hasher = DefaultHasher::new();
    data.hash(&mut hasher);
    let name = format!("test_{:016x}", hasher.finish());
    let mut link = sqlx::PgConnection::connect(&server).await.unwrap();
    let create = AssertSqlSafe(format!("CREATE DATABASE {name}"));
    if let Err(error) = sqlx::query(create).execute(&mut link).await {
        let code = error.as_database_error().and_then(|error| error.code());
        assert_eq!(code.as_deref(), Some("42P04"), "only if it exists: {error}");
    }
    link.close().await.unwrap();
    let mut url = url::Url::parse(&server).unwrap();
    url.set_path(&name);
    Some(url.into())
}

/// The records of a data folder, changed behind the back of their service.
pub enum TestDatabase {
    Sqlite(sqlx::SqliteConnection),
    Postgres(sqlx::PgConnection),
}

impl TestDatabase {
    pub async fn open(data: &Path) -> TestDatabase {
        match database_url(data).await {
            Some(url) => TestDatabase::at(&url).await,
            None => {
                let options = sqlx::sqlite::SqliteConnectOptions::new()
                    .filename(data.join("records.sqlite"))
                    .busy_timeout(std::time::Duration::from_secs(10));
                let link = sqlx::SqliteConnection::connect_with(&options).await;
                TestDatabase::Sqlite(link.unwrap())
            }
        }
    }

    /// The PostgreSQL database of a URL.
    pub async fn at(url: &str) -> TestDatabase {
        TestDatabase::Postgres(sqlx::PgConnection::connect(url).await.unwrap())
    }

    /// Runs a statement; returns the number of changed rows.
    pub async fn run(&mut self, statement: &'static str) -> u64 {
        match self {
            TestDatabase::Sqlite(link) => {
                let done = sqlx::query(statement).execute(link).await;
                done.unwrap().rows_affected()
            }
            TestDatabase::Postgres(link) => {
                let done = sqlx::query(statement).execute(link).await;
                done.unwrap().rows_affected()
            }
        }
    }

    /// Runs statements that are not known when the test is built.
    pub async fn run_text(&mut self, statements: &str) {
        let statements = sqlx::raw_sql(AssertSqlSafe(statements.to_owned()));
        match self {
            TestDatabase::Sqlite(link) => statements.execute(link).await.map(drop).unwrap(),
            TestDatabase::Postgres(link) => statements.execute(link).await.map(drop).unwrap(),
        }
    }

    /// The number that a query returns.
    pub async fn number(&mut self, query: &str) -> i64 {
        let query = AssertSqlSafe(query.to_owned());
        match self {
            TestDatabase::Sqlite(link) => sqlx::query_scalar(query).fetch_one(link).await.unwrap(),
            TestDatabase::Postgres(link) => {
                sqlx::query_scalar(query).fetch_one(link).await.unwrap()
            }
        }
    }
}
