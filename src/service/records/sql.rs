//! Statements with typed values, and rows that are read into types.
//!
//! `sql!("… $1 …", value)` makes a statement. [`Tx`](super::database::Tx) and
//! [`Database`](super::database::Database) run it: `run` counts the changed rows, `one`, `optional` and `all` read
//! what it returns as a [`Record`].
//!
//! Statements are written once, for PostgreSQL. SQLite gets the same text without row locks, because a transaction
//! that writes locks the whole database there. `now_micros()` is the clock of the database, in microseconds.

use std::borrow::Cow;
use std::time::Duration;

use jiff::Timestamp;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{AssertSqlSafe, ColumnIndex, Decode, Postgres, Row as _, Sqlite, Type, ValueRef as _};

use crate::wire::{
    AssetId, EmbedId, FilenameRule, OptimizationStatus, PresetId, RapidId, TagId, TokenId,
    UploadStatus, UserId, WebhookId,
};

/// A statement and the values of `$1`, `$2`, …. Its text contains only placeholders, never values.
#[derive(Debug, Clone)]
pub(super) struct Statement {
    text: Cow<'static, str>,
    values: Vec<Bound>,
}

/// A value in one of the types that both databases know. A NULL has a type, too: PostgreSQL needs it.
#[derive(Debug, Clone)]
pub(super) enum Bound {
    Integer(Option<i64>),
    Float(Option<f64>),
    Text(Option<String>),
}

/// Binds the values to a query of one database.
macro_rules! bind_all {
    ($query:expr, $values:expr, $text:expr) => {
        $values.iter().fold($query, |query, value| match value {
            Bound::Integer(value) => query.bind(*value),
            Bound::Float(value) => query.bind(*value),
            Bound::Text(value) => query.bind(value.as_deref().map($text)),
        })
    };
}

impl Statement {
    pub(super) fn new(text: impl Into<Cow<'static, str>>) -> Statement {
        Statement {
            text: text.into(),
            values: Vec::new(),
        }
    }

    /// Adds stored values of the next placeholders.
    pub(super) fn bind_stored(mut self, values: Vec<Bound>) -> Statement {
        self.values.extend(values);
        self
    }

    /// Adds the value of the next placeholder.
    pub(super) fn bind<T: Value + ?Sized>(mut self, value: &T) -> Statement {
        self.values.push(value.stored().into());
        self
    }

    /// Adds the values of the next placeholders, see `places`.
    pub(super) fn bind_all<T: Value>(self, values: impl IntoIterator<Item = T>) -> Statement {
        let values = values.into_iter();
        values.fold(self, |statement, value| statement.bind(&value))
    }

    pub(super) fn for_sqlite(&self) -> Query<'static, Sqlite, SqliteArguments> {
        let text = self
            .text
            .replace(" FOR UPDATE SKIP LOCKED", "")
            .replace(" FOR UPDATE", "")
            .replace(
                "now_micros()",
                "CAST(unixepoch('subsec') * 1000000 AS INTEGER)",
            );
        bind_all!(sqlx::query(AssertSqlSafe(text)), self.values, str::to_owned)
    }

    pub(super) fn for_postgres(&self) -> Query<'static, Postgres, PgArguments> {
        let text = self.text.replace(
            "now_micros()",
            "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)",
        );
        // PostgreSQL cannot store NUL in a text.
        bind_all!(
            sqlx::query(AssertSqlSafe(text)),
            self.values,
            |text: &str| text.replace('\0', "\u{fffd}")
        )
    }
}

/// Makes a [`Statement`] from its text and the values of `$1`, `$2`, ….
macro_rules! sql {
    ($text:expr $(, $value:expr)* $(,)?) => {
        crate::service::records::sql::Statement::new($text)$(.bind(&$value))*
    };
}
pub(super) use sql;

/// A row of either database.
pub(super) enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

/// The name of a column, or its number.
pub(super) trait Place: ColumnIndex<SqliteRow> + ColumnIndex<PgRow> {}

impl<T: ColumnIndex<SqliteRow> + ColumnIndex<PgRow>> Place for T {}

impl Row {
    pub(super) fn get<T>(&self, column: impl Place) -> sqlx::Result<T>
    where
        T: for<'r> Decode<'r, Sqlite> + Type<Sqlite>,
        T: for<'r> Decode<'r, Postgres> + Type<Postgres>,
    {
        match self {
            Row::Sqlite(row) => row.try_get(column),
            Row::Postgres(row) => row.try_get(column),
        }
    }

    /// The number of a column if its value is not NULL.
    fn filled(&self, column: impl Place) -> sqlx::Result<Option<usize>> {
        let (index, is_null) = match self {
            Row::Sqlite(row) => {
                let index = column.index(row)?;
                (index, row.try_get_raw(index)?.is_null())
            }
            Row::Postgres(row) => {
                let index = column.index(row)?;
                (index, row.try_get_raw(index)?.is_null())
            }
        };
        Ok((!is_null).then_some(index))
    }
}

/// A value of a statement.
pub(super) trait Value {
    type Stored: Into<Bound>;

    fn stored(&self) -> Self::Stored;
}

/// A type that can be read from a column.
pub(super) trait Column: Sized {
    fn read(row: &Row, column: impl Place) -> sqlx::Result<Self>;
}

/// The type of a row: a `record!`, or the first columns.
pub(super) trait Record: Sized {
    /// The columns that a `record!` is read from.
    const COLUMNS: &'static [&'static str] = &[];

    /// Reads a record. `prefix` stands before the names of its columns, see `columns_as`.
    fn read(row: &Row, prefix: &str) -> sqlx::Result<Self>;
}

/// The columns of a record for `SELECT` and `RETURNING`, each behind `table`, such as `t.`.
///
/// They are written out because the prepared `SELECT *` of a running version fails after a migration.
pub(super) fn columns<T: Record>(table: &str) -> String {
    let columns: Vec<String> = T::COLUMNS
        .iter()
        .map(|column| format!("{table}{column}"))
        .collect();
    columns.join(", ")
}

/// A query for records: all their columns, and `rest`, such as `users WHERE id = $1`.
pub(super) fn select_from<T: Record>(rest: &str) -> String {
    format!("SELECT {} FROM {rest}", columns::<T>(""))
}

/// The columns of a record from `table`, each named with `prefix`, for a query that has other columns of the same names.
pub(super) fn columns_as<T: Record>(table: &str, prefix: &str) -> String {
    let columns = T::COLUMNS.iter();
    let columns = columns.map(|column| format!("{table}{column} AS {prefix}{column}"));
    columns.collect::<Vec<_>>().join(", ")
}

impl<T: Column> Record for T {
    fn read(row: &Row, _: &str) -> sqlx::Result<T> {
        T::read(row, 0)
    }
}

impl<A: Column, B: Column> Record for (A, B) {
    fn read(row: &Row, _: &str) -> sqlx::Result<(A, B)> {
        Ok((A::read(row, 0)?, B::read(row, 1)?))
    }
}

impl<A: Column, B: Column, C: Column> Record for (A, B, C) {
    fn read(row: &Row, _: &str) -> sqlx::Result<(A, B, C)> {
        Ok((A::read(row, 0)?, B::read(row, 1)?, C::read(row, 2)?))
    }
}

/// Declares an enum whose variants are stored as words. An unknown word is read as the variant behind `else`.
macro_rules! words {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $($(#[$doc:meta])* $variant:ident = $word:literal,)+
        }
        else $other:ident
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$doc])* $variant,)+
        }

        impl $name {
            pub const ALL: &[$name] = &[$($name::$variant,)+];

            /// The word in records.
            pub fn text(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)+
                }
            }

            pub(super) fn from_text(text: &str) -> $name {
                let known = $name::ALL.iter().copied().find(|known| known.text() == text);
                known.unwrap_or($name::$other)
            }
        }

        crate::service::records::sql::converted! {
            $name as String: |word| word.text().to_owned(), |word| $name::from_text(&word);
        }
    };
}
pub(super) use words;

/// Declares a struct that rows are read into. A field is read from the column of its name, or from the column behind
/// `=`, or by the function behind `=>` from the columns in its parentheses.
macro_rules! record {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $(
                $(#[$doc:meta])*
                pub $field:ident: $type:ty $(= $column:literal)? $(=> $read:ident($($from:literal),*))?,
            )*
        }
    ) => {
        $(#[$meta])*
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl crate::service::records::sql::Record for $name {
            const COLUMNS: &'static [&'static str] = crate::service::records::sql::field_columns!(
                [] $($field $(= $column)? $(=> ($($from),*))?,)*
            );

            fn read(row: &crate::service::records::sql::Row, prefix: &str) -> sqlx::Result<Self> {
                use crate::service::records::sql::read_field;
                Ok(Self { $($field: read_field!(row, prefix, $field $(= $column)? $(=> $read)?),)* })
            }
        }
    };
}
pub(super) use record;

/// The list of the columns of all fields of a record.
macro_rules! field_columns {
    ([$($done:expr),* $(,)?]) => {
        &[$($done),*]
    };
    ([$($done:expr),* $(,)?] $field:ident, $($rest:tt)*) => {
        crate::service::records::sql::field_columns!([$($done,)* stringify!($field)] $($rest)*)
    };
    ([$($done:expr),* $(,)?] $field:ident = $column:literal, $($rest:tt)*) => {
        crate::service::records::sql::field_columns!([$($done,)* $column] $($rest)*)
    };
    ([$($done:expr),* $(,)?] $field:ident => ($($from:literal),*), $($rest:tt)*) => {
        crate::service::records::sql::field_columns!([$($done,)* $($from),*] $($rest)*)
    };
}
pub(super) use field_columns;

macro_rules! read_field {
    ($row:ident, $prefix:ident, $field:ident) => {
        read_field!($row, $prefix, $field = (stringify!($field)))
    };
    ($row:ident, $prefix:ident, $field:ident = $column:tt) => {
        crate::service::records::sql::Column::read($row, &*format!("{}{}", $prefix, $column))?
    };
    ($row:ident, $prefix:ident, $field:ident => $read:ident) => {
        $read($row)?
    };
}
pub(super) use read_field;

impl<T: Value + ?Sized> Value for &T {
    type Stored = T::Stored;

    fn stored(&self) -> T::Stored {
        (**self).stored()
    }
}

impl<T: Value> Value for Option<T>
where
    Option<T::Stored>: Into<Bound>,
{
    type Stored = Option<T::Stored>;

    fn stored(&self) -> Self::Stored {
        self.as_ref().map(Value::stored)
    }
}

impl<T: Column> Column for Option<T> {
    fn read(row: &Row, column: impl Place) -> sqlx::Result<Self> {
        match row.filled(column)? {
            None => Ok(None),
            Some(index) => T::read(row, index).map(Some),
        }
    }
}

/// Types that the databases know.
macro_rules! plain {
    ($($type:ty => $bound:ident),*) => {$(
        impl From<$type> for Bound {
            fn from(value: $type) -> Bound {
                Bound::$bound(Some(value))
            }
        }

        impl From<Option<$type>> for Bound {
            fn from(value: Option<$type>) -> Bound {
                Bound::$bound(value)
            }
        }

        impl Value for $type {
            type Stored = $type;

            fn stored(&self) -> $type {
                self.clone()
            }
        }

        impl Column for $type {
            fn read(row: &Row, column: impl Place) -> sqlx::Result<Self> {
                row.get(column)
            }
        }
    )*};
}
plain!(i64 => Integer, f64 => Float, String => Text);

impl Value for str {
    type Stored = String;

    fn stored(&self) -> String {
        self.to_owned()
    }
}

/// Types that are stored as an integer or as text: how they are stored, and how they are read.
macro_rules! converted {
    ($($type:ty as $stored:ty: |$value:ident| $write:expr, |$read_value:ident| $read:expr;)*) => {$(
        impl crate::service::records::sql::Value for $type {
            type Stored = $stored;

            fn stored(&self) -> $stored {
                let $value = self;
                $write
            }
        }

        impl crate::service::records::sql::Column for $type {
            fn read(
                row: &crate::service::records::sql::Row,
                column: impl crate::service::records::sql::Place,
            ) -> sqlx::Result<Self> {
                let $read_value: $stored = row.get(column)?;
                Ok($read)
            }
        }
    )*};
}
pub(super) use converted;

converted! {
    // The schema lets no number go below zero.
    u64 as i64: |number| i64::try_from(*number).unwrap_or(i64::MAX), |number| number.try_into().unwrap_or(0);
    u32 as i64: |number| (*number).into(), |number| number.try_into().unwrap_or(0);
    bool as i64: |flag| (*flag).into(), |number| number != 0;
    Timestamp as i64: |time| time.as_microsecond(),
        |micros| Timestamp::from_microsecond(micros).unwrap_or(Timestamp::UNIX_EPOCH);
    UploadStatus as String: |status| status.as_str().to_owned(), |word| UploadStatus::from_word(&word);
    OptimizationStatus as String: |status| status.as_str().to_owned(),
        |word| OptimizationStatus::from_word(&word);
    // A rule without text is the default. A rule of a newer version that cannot be read does nothing.
    FilenameRule as Option<String>: |rule| serde_json::to_string(rule).ok(),
        |text| text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
}

/// A duration in microseconds, for times by the clock of the database.
pub(super) fn micros(time: Duration) -> i64 {
    // Half of the range, so that it can be added to a time.
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX / 2)
}

/// Ids. No row has a negative id, so an id beyond the range of the column finds nothing.
macro_rules! ids {
    ($($id:ident),*) => {
        crate::service::records::sql::converted! {
            $($id as i64: |id| i64::try_from(id.0).unwrap_or(-1), |id| $id(id.try_into().unwrap_or(0));)*
        }
    };
}
pub(super) use ids;

ids!(
    AssetId, EmbedId, PresetId, RapidId, TagId, TokenId, UserId, WebhookId
);
