//! Statements with typed values, and rows that are read into types.
//!
//! `sql!("… $1 …", value)` makes a statement. [`Tx`](super::database::Tx) and
//! [`Database`](super::database::Database) run it: `run` counts the changed rows, `one`, `optional` and `all` read
//! what it returns as a [`Record`].

use jiff::Timestamp;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{ColumnIndex, Encode, Row as _, Sqlite, Type, ValueRef as _};

use crate::wire::{
    AssetId, EmbedId, FilenameRule, OptimizationStatus, PresetId, RapidId, TagId, TokenId,
    UploadStatus, UserId, WebhookId,
};

pub(super) type Statement<'a> = sqlx::query::Query<'a, Sqlite, SqliteArguments>;

/// Makes a [`Statement`] from its text and the values of `$1`, `$2`, ….
macro_rules! sql {
    ($text:expr $(, $value:expr)* $(,)?) => {
        sqlx::query::<sqlx::Sqlite>($text)
            $(.bind(crate::service::records::sql::Value::stored(&$value)))*
    };
}
pub(super) use sql;

/// A value of a statement.
pub(super) trait Value {
    type Stored: for<'a> Encode<'a, Sqlite> + Type<Sqlite>;

    fn stored(&self) -> Self::Stored;
}

/// A type that can be read from a column.
pub(super) trait Column: Sized {
    fn read<I: ColumnIndex<SqliteRow>>(row: &SqliteRow, column: I) -> sqlx::Result<Self>;
}

/// The type of a row: a `record!`, or the first columns.
pub(super) trait Record: Sized {
    fn read(row: &SqliteRow) -> sqlx::Result<Self>;
}

impl<T: Column> Record for T {
    fn read(row: &SqliteRow) -> sqlx::Result<T> {
        T::read(row, 0)
    }
}

impl<A: Column, B: Column> Record for (A, B) {
    fn read(row: &SqliteRow) -> sqlx::Result<(A, B)> {
        Ok((A::read(row, 0)?, B::read(row, 1)?))
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
/// `=`, or by the function behind `=>`.
macro_rules! record {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($(#[$doc:meta])* pub $field:ident: $type:ty $(= $column:literal)? $(=> $read:path)?,)*
        }
    ) => {
        $(#[$meta])*
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl crate::service::records::sql::Record for $name {
            fn read(row: &sqlx::sqlite::SqliteRow) -> sqlx::Result<Self> {
                use crate::service::records::sql::read_field;
                Ok(Self { $($field: read_field!(row, $field $(= $column)? $(=> $read)?),)* })
            }
        }
    };
}
pub(super) use record;

macro_rules! read_field {
    ($row:ident, $field:ident) => {
        read_field!($row, $field = (stringify!($field)))
    };
    ($row:ident, $field:ident = $column:tt) => {
        crate::service::records::sql::Column::read($row, $column)?
    };
    ($row:ident, $field:ident => $read:path) => {
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
    Option<T::Stored>: for<'a> Encode<'a, Sqlite> + Type<Sqlite>,
{
    type Stored = Option<T::Stored>;

    fn stored(&self) -> Self::Stored {
        self.as_ref().map(Value::stored)
    }
}

impl<T: Column> Column for Option<T> {
    fn read<I: ColumnIndex<SqliteRow>>(row: &SqliteRow, column: I) -> sqlx::Result<Self> {
        let index = column.index(row)?;
        match row.try_get_raw(index)?.is_null() {
            true => Ok(None),
            false => T::read(row, index).map(Some),
        }
    }
}

/// Types that the database knows.
macro_rules! plain {
    ($($type:ty),*) => {$(
        impl Value for $type {
            type Stored = $type;

            fn stored(&self) -> $type {
                self.clone()
            }
        }

        impl Column for $type {
            fn read<I: ColumnIndex<SqliteRow>>(row: &SqliteRow, column: I) -> sqlx::Result<Self> {
                row.try_get(column)
            }
        }
    )*};
}
plain!(i64, f64, String);

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
            fn read<I: sqlx::ColumnIndex<sqlx::sqlite::SqliteRow>>(
                row: &sqlx::sqlite::SqliteRow,
                column: I,
            ) -> sqlx::Result<Self> {
                let $read_value: $stored = sqlx::Row::try_get(row, column)?;
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
