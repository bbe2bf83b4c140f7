//! The presets of users. Factory presets are code, in `presets` of the service.

use jiff::Timestamp;

use super::database::{MAX_ROWS, Result, places};
use super::groups::PresetRecords;
use super::search::Search;
use super::sql::{Value, columns, record, select_from, sql};
use crate::wire::{FilenameRule, PresetId, UserId};

#[derive(Debug)]
pub struct NewPreset<'a> {
    pub name: &'a str,
    pub description: &'a str,
    /// The optimizer configuration as JSON text.
    pub config: &'a str,
    /// The oldest version of the optimizer that can use it.
    pub core_version: &'a str,
    /// The rule for the names of result files.
    pub filename_rule: FilenameRule,
}

record! {
    #[derive(Debug, Clone)]
    pub struct PresetRow {
        /// Its id, above those of the factory.
        pub id: PresetId,
        pub user: UserId = "user_id",
        /// Not unique.
        pub name: String,
        pub description: String,
        /// The optimizer configuration as JSON text, with the order of keys as sent.
        pub config: String,
        /// The oldest version of the optimizer that can use it.
        pub core_version: String,
        /// The rule for the names of result files.
        pub filename_rule: FilenameRule,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
    }
}

/// What changes of a preset. Without a value, the old one stays.
#[derive(Debug)]
pub struct PresetChange<'a> {
    pub name: &'a str,
    pub config: &'a str,
    pub description: Option<&'a str>,
    pub core_version: Option<&'a str>,
    pub filename_rule: Option<&'a FilenameRule>,
}

impl PresetRecords<'_> {
    pub async fn create(self, user: UserId, new: &NewPreset<'_>) -> Result<PresetRow> {
        let mut tx = self.database.begin_for(user).await?;
        let columns = columns::<PresetRow>("");
        let insert = sql!(
            format!(
                "INSERT INTO presets (user_id, name, description, folded, config, core_version, created_at, \
                 updated_at, filename_rule) VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $8) RETURNING {columns}"
            ),
            user,
            new.name,
            new.description,
            folded(new.name, new.description),
            new.config,
            new.core_version,
            tx.now(),
            new.filename_rule,
        );
        let preset = tx.one(insert).await?;
        tx.commit().await?;
        Ok(preset)
    }

    /// Changes a preset of `user`; `None` if there is no such preset.
    pub async fn update(
        self,
        user: UserId,
        preset: PresetId,
        change: &PresetChange<'_>,
    ) -> Result<Option<PresetRow>> {
        let mut tx = self.database.begin_locking(user).await?;
        let query = "SELECT description FROM presets WHERE id = $1 AND user_id = $2";
        let description: Option<String> = tx.optional(sql!(query, preset, user)).await?;
        let Some(old_description) = description else {
            return Ok(None);
        };
        let description = change.description.unwrap_or(&old_description);
        let columns = columns::<PresetRow>("");
        let update = sql!(
            format!(
                "UPDATE presets SET name = $2, folded = $3, config = $4, updated_at = $5, \
                 filename_rule = COALESCE($6, filename_rule), description = $7, \
                 core_version = COALESCE($8, core_version) WHERE id = $1 RETURNING {columns}"
            ),
            preset,
            change.name,
            folded(change.name, description),
            change.config,
            tx.now(),
            change.filename_rule.and_then(Value::stored),
            description,
            change.core_version,
        );
        let changed = tx.one(update).await?;
        tx.commit().await?;
        Ok(Some(changed))
    }

    /// The presets of `user` that `search` finds by name or description, oldest first.
    pub async fn list(self, user: UserId, search: &Search) -> Result<Vec<PresetRow>> {
        let query = select_from::<PresetRow>("presets WHERE user_id = $1 ORDER BY id");
        let mut presets: Vec<PresetRow> = self.database.all(sql!(query, user)).await?;
        presets.retain(|preset| search.matches(&folded(&preset.name, &preset.description)));
        Ok(presets)
    }

    /// One preset of `user`.
    pub async fn get(self, user: UserId, preset: PresetId) -> Result<Option<PresetRow>> {
        let query = select_from::<PresetRow>("presets WHERE id = $1 AND user_id = $2");
        self.database.optional(sql!(query, preset, user)).await
    }

    /// Those of these presets that `user` has.
    pub async fn get_all(self, user: UserId, presets: &[PresetId]) -> Result<Vec<PresetRow>> {
        let mut found = Vec::new();
        for presets in presets.chunks(MAX_ROWS) {
            let ids = places(2, presets.len());
            let query =
                select_from::<PresetRow>(&format!("presets WHERE user_id = $1 AND id IN ({ids})"));
            found.extend(
                self.database
                    .all(sql!(query, user).bind_all(presets))
                    .await?,
            );
        }
        Ok(found)
    }

    /// Deletes a preset of `user`; false if there is none.
    pub async fn delete(self, user: UserId, preset: PresetId) -> Result<bool> {
        let delete = "DELETE FROM presets WHERE id = $1 AND user_id = $2";
        Ok(self.database.run(sql!(delete, preset, user)).await? > 0)
    }
}

/// The text that a search matches, in lower case.
fn folded(name: &str, description: &str) -> String {
    format!("{name}\n{description}").to_lowercase()
}
