//! The presets that users made. Those of the factory are code, see `presets` of the service.

use jiff::Timestamp;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use super::database::{Database, Result, count, key, moment};
use super::search::Search;
use crate::wire::{FilenameRule, PresetId, UserId};

/// A preset that is about to be made.
#[derive(Debug)]
pub struct NewPreset<'a> {
    pub name: &'a str,
    /// What it is for.
    pub description: &'a str,
    /// The optimizer configuration as JSON text.
    pub config: &'a str,
    /// The least version of the optimizer.
    pub core_version: &'a str,
    /// The rule for the names of result files.
    pub filename_rule: FilenameRule,
}

/// A preset of a user.
#[derive(Debug, Clone)]
pub struct PresetRow {
    /// Its id, above those of the factory.
    pub id: PresetId,
    /// The owner.
    pub user: UserId,
    /// Its name; two presets may have the same.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The optimizer configuration as JSON text, its keys in the order they were sent.
    pub config: String,
    /// The least version of the optimizer.
    pub core_version: String,
    /// The rule for the names of result files.
    pub filename_rule: FilenameRule,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// The rule in the column `filename_rule`; none is the default one.
pub(super) fn filename_rule(row: &SqliteRow) -> sqlx::Result<FilenameRule> {
    let text: Option<String> = row.try_get("filename_rule")?;
    // What was stored can be read; a rule of a newer version that cannot does nothing.
    Ok(text
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default())
}

/// A rule as the database has it.
pub(super) fn rule_text(rule: &FilenameRule) -> String {
    serde_json::to_string(rule).expect("a rule can be written")
}

fn preset_row(row: &SqliteRow) -> sqlx::Result<PresetRow> {
    Ok(PresetRow {
        id: PresetId(count(row, "id")?),
        user: UserId(count(row, "user_id")?),
        name: row.try_get("name")?,
        description: row.try_get("description")?,
        config: row.try_get("config")?,
        core_version: row.try_get("core_version")?,
        filename_rule: filename_rule(row)?,
        created_at: moment(row, "created_at")?,
        updated_at: moment(row, "updated_at")?,
    })
}

/// Presets of users.
#[derive(Clone, Copy)]
pub struct PresetRecords<'a> {
    pub(super) database: &'a Database,
}

impl PresetRecords<'_> {
    /// Makes a preset.
    pub async fn create(self, user: UserId, new: &NewPreset<'_>) -> Result<PresetRow> {
        let mut tx = self.database.begin_for(user).await?;
        let row = sqlx::query(
            "INSERT INTO presets (user_id, name, description, folded, config, core_version, created_at, \
             updated_at, filename_rule) VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $8) RETURNING *",
        )
        .bind(key(user.0))
        .bind(new.name)
        .bind(new.description)
        .bind(folded(new.name, new.description))
        .bind(new.config)
        .bind(new.core_version)
        .bind(self.database.now())
        .bind(rule_text(&new.filename_rule))
        .fetch_one(&mut *tx)
        .await?;
        let preset = preset_row(&row)?;
        tx.commit().await?;
        Ok(preset)
    }

    /// Gives a preset of `user` a new name, configuration and, where one is given, file-name rule; none when
    /// there is no such preset.
    pub async fn update(
        self,
        user: UserId,
        preset: PresetId,
        (name, config): (&str, &str),
        rule: Option<&FilenameRule>,
    ) -> Result<Option<PresetRow>> {
        let mut tx = self.database.begin().await?;
        let found = sqlx::query("SELECT * FROM presets WHERE id = $1 AND user_id = $2")
            .bind(key(preset.0))
            .bind(key(user.0))
            .fetch_optional(&mut *tx)
            .await?;
        let Some(found) = found.as_ref().map(preset_row).transpose()? else {
            return Ok(None);
        };
        let row = sqlx::query(
            "UPDATE presets SET name = $2, folded = $3, config = $4, updated_at = $5, \
             filename_rule = COALESCE($6, filename_rule) WHERE id = $1 RETURNING *",
        )
        .bind(key(preset.0))
        .bind(name)
        .bind(folded(name, &found.description))
        .bind(config)
        .bind(self.database.now())
        .bind(rule.map(rule_text))
        .fetch_one(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(Some(preset_row(&row)?))
    }

    /// The presets of `user` that `search` finds by name or description, oldest first.
    pub async fn list(self, user: UserId, search: &Search) -> Result<Vec<PresetRow>> {
        let rows = sqlx::query("SELECT * FROM presets WHERE user_id = $1 ORDER BY id")
            .bind(key(user.0))
            .fetch_all(&self.database.reader)
            .await?;
        let mut found = Vec::new();
        for row in &rows {
            if search.matches(row.try_get("folded")?) {
                found.push(preset_row(row)?);
            }
        }
        Ok(found)
    }

    /// One preset of `user`.
    pub async fn get(self, user: UserId, preset: PresetId) -> Result<Option<PresetRow>> {
        let row = sqlx::query("SELECT * FROM presets WHERE id = $1 AND user_id = $2")
            .bind(key(preset.0))
            .bind(key(user.0))
            .fetch_optional(&self.database.reader)
            .await?;
        Ok(row.as_ref().map(preset_row).transpose()?)
    }

    /// Deletes a preset of `user`; false if there is none.
    pub async fn delete(self, user: UserId, preset: PresetId) -> Result<bool> {
        let done = sqlx::query("DELETE FROM presets WHERE id = $1 AND user_id = $2")
            .bind(key(preset.0))
            .bind(key(user.0))
            .execute(&self.database.writer)
            .await?;
        Ok(done.rows_affected() > 0)
    }
}

/// What a search looks at.
fn folded(name: &str, description: &str) -> String {
    format!("{name}\n{description}").to_lowercase()
}
