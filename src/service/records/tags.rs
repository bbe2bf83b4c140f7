//! Tags of assets and of rapid models. A name occurs once per owner; adding it again changes nothing.

use std::collections::HashMap;

use jiff::Timestamp;
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Row as _};

use super::database::{Database, Result, Tx, count, key, moment, places};
use crate::wire::{ModelId, TagId, UserId};

/// One tag on one owner.
#[derive(Debug, Clone)]
pub struct TagRow {
    /// Its id; the same name on another owner has another.
    pub id: TagId,
    /// The text.
    pub name: String,
    pub created_at: Timestamp,
    /// The same: a tag does not change.
    pub updated_at: Timestamp,
}

fn tag_row(row: &SqliteRow) -> sqlx::Result<TagRow> {
    Ok(TagRow {
        id: TagId(count(row, "id")?),
        name: row.try_get("name")?,
        created_at: moment(row, "created_at")?,
        updated_at: moment(row, "updated_at")?,
    })
}

pub(super) async fn add(tx: &mut Tx, user: UserId, owner: ModelId, names: &[String]) -> Result<()> {
    for name in names {
        sqlx::query(
            "INSERT INTO tags (user_id, owner_kind, owner_id, name, name_folded, created_at, updated_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $6) ON CONFLICT DO NOTHING",
        )
        .bind(key(user.0))
        .bind(owner.kind())
        .bind(owner.key())
        .bind(name)
        .bind(name.to_lowercase())
        .bind(tx.now())
        .execute(&mut **tx)
        .await?;
    }
    Ok(())
}

pub(super) async fn remove_all(tx: &mut Tx, owner: ModelId) -> Result<()> {
    sqlx::query("DELETE FROM tags WHERE owner_kind = $1 AND owner_id = $2")
        .bind(owner.kind())
        .bind(owner.key())
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// Tags of models.
#[derive(Clone, Copy)]
pub struct TagRecords<'a> {
    pub(super) database: &'a Database,
}

impl TagRecords<'_> {
    /// Adds tags to an owner; false when `user` does not have it (any more).
    pub async fn add(self, user: UserId, owner: ModelId, names: &[String]) -> Result<bool> {
        let mut tx = self.database.begin().await?;
        if !tx.has(user, owner).await? {
            return Ok(false);
        }
        add(&mut tx, user, owner, names).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Removes one tag; false if it was not there.
    pub async fn remove(self, user: UserId, owner: ModelId, tag: TagId) -> Result<bool> {
        let done = sqlx::query(
            "DELETE FROM tags WHERE id = $1 AND user_id = $2 AND owner_kind = $3 AND owner_id = $4",
        )
        .bind(key(tag.0))
        .bind(key(user.0))
        .bind(owner.kind())
        .bind(owner.key())
        .execute(&self.database.writer)
        .await?;
        Ok(done.rows_affected() > 0)
    }

    /// The tags of each of `owners`, oldest first. All owners are of one kind.
    pub async fn list(self, owners: &[ModelId]) -> Result<HashMap<ModelId, Vec<TagRow>>> {
        let mut found: HashMap<ModelId, Vec<TagRow>> = HashMap::new();
        let Some(first) = owners.first() else {
            return Ok(found);
        };
        let sql = format!(
            "SELECT * FROM tags WHERE owner_kind = $1 AND owner_id IN ({}) ORDER BY id",
            places(2, owners.len())
        );
        let mut query = sqlx::query(AssertSqlSafe(sql)).bind(first.kind());
        for owner in owners {
            query = query.bind(owner.key());
        }
        for row in &query.fetch_all(&self.database.reader).await? {
            let owner = first.of_same_kind(count(row, "owner_id")?);
            found.entry(owner).or_default().push(tag_row(row)?);
        }
        Ok(found)
    }

    /// All names of tags that `user` has on assets, or on rapid models, in order.
    pub async fn names(self, user: UserId, owner_kind: &str) -> Result<Vec<String>> {
        let rows = sqlx::query(
            "SELECT DISTINCT name FROM tags WHERE user_id = $1 AND owner_kind = $2 ORDER BY name",
        )
        .bind(key(user.0))
        .bind(owner_kind)
        .fetch_all(&self.database.reader)
        .await?;
        Ok(rows
            .iter()
            .map(|row| row.try_get("name"))
            .collect::<sqlx::Result<_>>()?)
    }
}
