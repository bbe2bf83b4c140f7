//! Tags of assets and rapid models. A name occurs once per owner; adding it again changes nothing.

use std::collections::HashMap;

use jiff::Timestamp;

use super::database::{MAX_ROWS, Result, Tx, places, rows};
use super::groups::TagRecords;
use super::sql::{record, select_from, sql};
use crate::wire::{ModelId, TagId, UserId};

record! {
    #[derive(Debug, Clone)]
    pub struct TagRow {
        /// The same name on another owner has another id.
        pub id: TagId,
        /// The asset or rapid model.
        pub owner: u64 = "owner_id",
        pub name: String,
        pub created_at: Timestamp,
        /// Equal to `created_at`: a tag does not change.
        pub updated_at: Timestamp,
    }
}

/// Adds tags in this order, each to its owner.
pub(super) async fn add(tx: &mut Tx, user: UserId, tags: &[(ModelId, &String)]) -> Result<()> {
    for tags in tags.chunks(MAX_ROWS) {
        let rows = rows(tags.len(), "$1, $2, $2", 3, 4);
        let mut insert = sql!(
            format!(
                "INSERT INTO tags (user_id, created_at, updated_at, owner_kind, owner_id, name, name_folded) \
                 VALUES {rows} ON CONFLICT DO NOTHING"
            ),
            user,
            tx.now(),
        );
        for (owner, name) in tags {
            insert = insert.bind(owner.kind()).bind(&owner.key());
            insert = insert.bind(*name).bind(&name.to_lowercase());
        }
        tx.run(insert).await?;
    }
    Ok(())
}

/// Removes the tags of `owners`, which are of one kind.
pub(super) async fn remove_all(tx: &mut Tx, owners: &[ModelId]) -> Result<()> {
    let Some(first) = owners.first() else {
        return Ok(());
    };
    let ids = places(2, owners.len());
    let delete = format!("DELETE FROM tags WHERE owner_kind = $1 AND owner_id IN ({ids})");
    let delete = sql!(delete, first.kind()).bind_all(owners.iter().map(|owner| owner.key()));
    tx.run(delete).await.map(drop)
}

impl TagRecords<'_> {
    /// Adds tags to an owner; false if `user` does not have it (any more).
    pub async fn add(self, user: UserId, owner: ModelId, names: &[String]) -> Result<bool> {
        let mut tx = self.database.begin_locking(user).await?;
        if !tx.has(user, owner).await? {
            return Ok(false);
        }
        let tags: Vec<_> = names.iter().map(|name| (owner, name)).collect();
        add(&mut tx, user, &tags).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Removes a tag; false if it does not exist.
    pub async fn remove(self, user: UserId, owner: ModelId, tag: TagId) -> Result<bool> {
        let delete = sql!(
            "DELETE FROM tags WHERE id = $1 AND user_id = $2 AND owner_kind = $3 AND owner_id = $4",
            tag,
            user,
            owner.kind(),
            owner.key(),
        );
        Ok(self.database.run(delete).await? > 0)
    }

    /// The tags of each of `owners`, oldest first. All owners are of one kind.
    pub async fn list(self, owners: &[ModelId]) -> Result<HashMap<ModelId, Vec<TagRow>>> {
        let mut found: HashMap<ModelId, Vec<TagRow>> = HashMap::new();
        let Some(first) = owners.first() else {
            return Ok(found);
        };
        let ids = places(2, owners.len());
        let rest = format!("tags WHERE owner_kind = $1 AND owner_id IN ({ids}) ORDER BY id");
        let query = sql!(select_from::<TagRow>(&rest), first.kind());
        let query = query.bind_all(owners.iter().map(|owner| owner.key()));
        for tag in self.database.all::<TagRow>(query).await? {
            let owner = first.of_same_kind(tag.owner);
            found.entry(owner).or_default().push(tag);
        }
        Ok(found)
    }

    /// All names of tags that `user` has on assets, or on rapid models, sorted.
    pub async fn names(self, user: UserId, owner_kind: &str) -> Result<Vec<String>> {
        let query = "SELECT DISTINCT name FROM tags WHERE user_id = $1 AND owner_kind = $2";
        let mut names: Vec<String> = self.database.all(sql!(query, user, owner_kind)).await?;
        // Not by the database, whose order depends on its locale.
        names.sort_unstable();
        Ok(names)
    }
}
