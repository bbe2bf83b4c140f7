//! Embeds: viewers of a rapid model or of a base asset.

use jiff::Timestamp;

use super::database::Result;
use super::deliveries::{self, NewEvent};
use super::groups::EmbedRecords;
use super::listings::Listing;
use super::search::{PageOf, PageRequest, Search};
use super::sql::{Column, Row, columns, record, sql};
use crate::wire::{EmbedId, ModelId, RapidId, UserId};

#[derive(Debug)]
pub struct NewEmbed<'a> {
    /// Its unguessable name in URLs.
    pub identifier: &'a str,
    pub name: &'a str,
    /// The model that it shows.
    pub source: ModelId,
    /// The viewer configuration as JSON text.
    pub config: &'a str,
    /// Idempotency key: of requests with the same key only the first makes an embed.
    pub request_key: Option<&'a str>,
}

/// The embed of a request.
#[derive(Debug)]
pub enum CreatedEmbed {
    New(EmbedId),
    /// An earlier request with the same key has made it; with its identifier in URLs.
    Before(EmbedId, String),
}

record! {
    #[derive(Debug, Clone)]
    pub struct EmbedRow {
        pub id: EmbedId,
        pub user: UserId = "user_id",
        /// Its name in URLs.
        pub identifier: String,
        pub name: String,
        pub source: ModelId => source_of("rapid_id", "asset_id"),
        /// The name of the model, if it still exists.
        pub source_name: Option<String> => source_name_of(),
        /// The viewer configuration as JSON text.
        pub config: String,
        pub view_count: u64,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
    }
}

fn select(condition: &str) -> String {
    format!(
        "SELECT {}, COALESCE(r.name, a.name) AS source_name FROM embeds t \
         LEFT JOIN rapids r ON r.id = t.rapid_id LEFT JOIN assets a ON a.id = t.asset_id {condition}",
        columns::<EmbedRow>("t.")
    )
}

const LISTING: Listing<EmbedRow> = Listing {
    select: || select(""),
    table: "embeds",
    id: |row| row.id.0,
    tags: None,
    filter: Some("t.rapid_id = $2"),
    model: None,
};

fn source_of(row: &Row) -> sqlx::Result<ModelId> {
    Ok(match Column::read(row, "rapid_id")? {
        Some(rapid) => ModelId::Rapid(rapid),
        None => ModelId::Asset(Column::read(row, "asset_id")?),
    })
}

fn source_name_of(row: &Row) -> sqlx::Result<Option<String>> {
    Column::read(row, "source_name")
}

impl EmbedRecords<'_> {
    /// Creates an embed and adds its event; `None` if its model was deleted.
    pub async fn create(
        self,
        user: UserId,
        new: &NewEmbed<'_>,
        event: impl FnOnce(EmbedId) -> NewEvent,
    ) -> Result<Option<CreatedEmbed>> {
        let mut tx = self.database.begin_for(user).await?;
        if !tx.has(user, new.source).await? {
            return Ok(None);
        }
        if let Some(key) = new.request_key {
            let text =
                select("WHERE t.user_id = $1 AND t.request_key = $2 ORDER BY t.id DESC LIMIT 1");
            let query = sql!(text, user, key);
            if let Some(made) = tx.optional::<EmbedRow>(query).await? {
                return Ok(Some(CreatedEmbed::Before(made.id, made.identifier)));
            }
        }
        let (rapid, asset) = match new.source {
            ModelId::Rapid(rapid) => (Some(rapid), None),
            ModelId::Asset(asset) => (None, Some(asset)),
        };
        let insert = sql!(
            "INSERT INTO embeds (user_id, identifier, name, name_folded, rapid_id, asset_id, config, \
             view_count, created_at, updated_at, request_key) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $8, $8, $9) \
             RETURNING id",
            user,
            new.identifier,
            new.name,
            new.name.to_lowercase(),
            rapid,
            asset,
            new.config,
            tx.now(),
            new.request_key,
        );
        let id = tx.one(insert).await?;
        deliveries::add(&mut tx, user, &[event(id)]).await?;
        tx.commit().await?;
        Ok(Some(CreatedEmbed::New(id)))
    }

    /// One page of the embeds of `user`, or only of one rapid model, newest first.
    pub async fn list(
        self,
        user: UserId,
        rapid: Option<RapidId>,
        search: &Search,
        page: PageRequest,
    ) -> Result<PageOf<EmbedRow>> {
        let filter = rapid.map(|rapid| rapid.0);
        LISTING
            .page(self.database, (user, filter), search, page)
            .await
    }

    /// One embed of `user`.
    pub async fn get(self, user: UserId, embed: EmbedId) -> Result<Option<EmbedRow>> {
        let query = select("WHERE t.id = $1 AND t.user_id = $2");
        self.database.optional(sql!(query, embed, user)).await
    }

    /// The embed with this name in URLs. Counts a view.
    pub async fn view(self, identifier: &str) -> Result<Option<EmbedRow>> {
        let update = "UPDATE embeds SET view_count = view_count + 1 WHERE identifier = $1";
        self.database.run(sql!(update, identifier)).await?;
        self.find(identifier).await
    }

    /// The embed with this name in URLs.
    pub async fn find(self, identifier: &str) -> Result<Option<EmbedRow>> {
        let query = select("WHERE t.identifier = $1");
        self.database.optional(sql!(query, identifier)).await
    }

    /// Deletes an embed of `user`; false if there is none.
    pub async fn delete(self, user: UserId, embed: EmbedId) -> Result<bool> {
        let delete = "DELETE FROM embeds WHERE id = $1 AND user_id = $2";
        Ok(self.database.run(sql!(delete, embed, user)).await? > 0)
    }

    /// The viewer configuration that `user` saved as theme; an empty object if there is none.
    pub async fn theme(self, user: UserId) -> Result<String> {
        let query = "SELECT value FROM settings WHERE name = $1";
        let theme = self.database.optional(sql!(query, theme_setting(user)));
        Ok(theme.await?.unwrap_or_else(|| "{}".to_owned()))
    }

    pub async fn save_theme(self, user: UserId, config: &str) -> Result<()> {
        let mut tx = self.database.begin_for(user).await?;
        tx.run(sql!(
            "INSERT INTO settings (name, value) VALUES ($1, $2) \
             ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            theme_setting(user),
            config
        ))
        .await?;
        tx.commit().await
    }
}

fn theme_setting(user: UserId) -> String {
    format!("theme:{user}")
}
