//! Embeds: viewers of a rapid model or of a base asset.

use jiff::Timestamp;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use super::database::{Database, Result, count, key, moment, optional_count};
use super::search::{Listing, PageOf, PageRequest, Search};
use crate::wire::{AssetId, EmbedId, ModelId, RapidId, UserId};

/// What an embed shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbedSource {
    /// A rapid model.
    Rapid(RapidId),
    /// A base asset in glb format.
    Asset(AssetId),
}

/// An embed that is about to be made.
#[derive(Debug)]
pub struct NewEmbed<'a> {
    /// Its name in addresses, unguessable.
    pub identifier: &'a str,
    pub name: &'a str,
    /// What it shows.
    pub source: EmbedSource,
    /// The viewer configuration as JSON text.
    pub config: &'a str,
}

/// An embed.
#[derive(Debug, Clone)]
pub struct EmbedRow {
    pub id: EmbedId,
    /// The owner.
    pub user: UserId,
    /// Its name in addresses.
    pub identifier: String,
    pub name: String,
    /// What it shows.
    pub source: EmbedSource,
    /// The name of what it shows, where that is still there.
    pub source_name: Option<String>,
    /// The viewer configuration as JSON text.
    pub config: String,
    /// How often it was opened.
    pub view_count: u64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

macro_rules! columns {
    () => {
        "t.*, COALESCE(r.name, a.name) AS source_name"
    };
}

macro_rules! tables {
    () => {
        "embeds t LEFT JOIN rapids r ON r.id = t.rapid_id LEFT JOIN assets a ON a.id = t.asset_id"
    };
}

fn listing(of_rapid: bool) -> Listing {
    Listing {
        columns: columns!(),
        tables: tables!(),
        counted: "embeds t",
        tags: None,
        filter: of_rapid.then_some("t.rapid_id = $2"),
    }
}

fn embed_row(row: &SqliteRow) -> sqlx::Result<EmbedRow> {
    let source = match optional_count(row, "rapid_id")? {
        Some(rapid) => EmbedSource::Rapid(RapidId(rapid)),
        None => EmbedSource::Asset(AssetId(count(row, "asset_id")?)),
    };
    Ok(EmbedRow {
        id: EmbedId(count(row, "id")?),
        user: UserId(count(row, "user_id")?),
        identifier: row.try_get("identifier")?,
        name: row.try_get("name")?,
        source,
        source_name: row.try_get("source_name")?,
        config: row.try_get("config")?,
        view_count: count(row, "view_count")?,
        created_at: moment(row, "created_at")?,
        updated_at: moment(row, "updated_at")?,
    })
}

/// Embeds, and the theme that a user saved for them.
#[derive(Clone, Copy)]
pub struct EmbedRecords<'a> {
    pub(super) database: &'a Database,
}

impl EmbedRecords<'_> {
    /// Makes an embed; none when what it shows is gone.
    pub async fn create(self, user: UserId, new: &NewEmbed<'_>) -> Result<Option<EmbedId>> {
        let mut tx = self.database.begin_for(user).await?;
        let owner = match new.source {
            EmbedSource::Rapid(rapid) => ModelId::Rapid(rapid),
            EmbedSource::Asset(asset) => ModelId::Asset(asset),
        };
        if !tx.has(user, owner).await? {
            return Ok(None);
        }
        let (rapid, asset) = match new.source {
            EmbedSource::Rapid(rapid) => (Some(key(rapid.0)), None),
            EmbedSource::Asset(asset) => (None, Some(key(asset.0))),
        };
        let row = sqlx::query(
            "INSERT INTO embeds (user_id, identifier, name, name_folded, rapid_id, asset_id, config, \
             view_count, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $8, $8) \
             RETURNING id",
        )
        .bind(key(user.0))
        .bind(new.identifier)
        .bind(new.name)
        .bind(new.name.to_lowercase())
        .bind(rapid)
        .bind(asset)
        .bind(new.config)
        .bind(self.database.now())
        .fetch_one(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(Some(EmbedId(count(&row, "id")?)))
    }

    /// One page of the embeds of `user`, those of one rapid model where one is named, newest first.
    pub async fn list(
        self,
        user: UserId,
        rapid: Option<RapidId>,
        search: &Search,
        page: PageRequest,
    ) -> Result<PageOf<EmbedRow>> {
        let filter = rapid.map_or(0, |rapid| rapid.0);
        listing(rapid.is_some())
            .page(self.database, (user.0, filter), search, page, embed_row)
            .await
    }

    /// One embed of `user`.
    pub async fn get(self, user: UserId, embed: EmbedId) -> Result<Option<EmbedRow>> {
        let row = sqlx::query(concat!(
            "SELECT ",
            columns!(),
            " FROM ",
            tables!(),
            " WHERE t.id = $1 AND t.user_id = $2"
        ))
        .bind(key(embed.0))
        .bind(key(user.0))
        .fetch_optional(&self.database.reader)
        .await?;
        Ok(row.as_ref().map(embed_row).transpose()?)
    }

    /// The embed that an address names; it counts as seen once more.
    pub async fn view(self, identifier: &str) -> Result<Option<EmbedRow>> {
        sqlx::query("UPDATE embeds SET view_count = view_count + 1 WHERE identifier = $1")
            .bind(identifier)
            .execute(&self.database.writer)
            .await?;
        let row = sqlx::query(concat!(
            "SELECT ",
            columns!(),
            " FROM ",
            tables!(),
            " WHERE t.identifier = $1"
        ))
        .bind(identifier)
        .fetch_optional(&self.database.reader)
        .await?;
        Ok(row.as_ref().map(embed_row).transpose()?)
    }

    /// Deletes an embed of `user`; false if there is none.
    pub async fn delete(self, user: UserId, embed: EmbedId) -> Result<bool> {
        let done = sqlx::query("DELETE FROM embeds WHERE id = $1 AND user_id = $2")
            .bind(key(embed.0))
            .bind(key(user.0))
            .execute(&self.database.writer)
            .await?;
        Ok(done.rows_affected() > 0)
    }

    /// The viewer configuration that `user` saved as a theme; an empty object when there is none.
    pub async fn theme(self, user: UserId) -> Result<String> {
        let row = sqlx::query("SELECT value FROM settings WHERE name = $1")
            .bind(format!("theme:{user}"))
            .fetch_optional(&self.database.reader)
            .await?;
        match row {
            Some(row) => Ok(row.try_get("value")?),
            None => Ok("{}".to_owned()),
        }
    }

    /// Saves the theme of `user`.
    pub async fn save_theme(self, user: UserId, config: &str) -> Result<()> {
        let mut tx = self.database.begin_for(user).await?;
        sqlx::query(
            "INSERT INTO settings (name, value) VALUES ($1, $2) \
             ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        )
        .bind(format!("theme:{user}"))
        .bind(config)
        .execute(&mut *tx)
        .await?;
        tx.commit().await
    }
}
