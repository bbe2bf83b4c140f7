//! Pages of listings, newest first. A page beyond the last one becomes the last one.
//!
//! Without a search, a page costs the same wherever it is in a listing: the table `counts` holds the length, and the end
//! of the page before tells where a page begins. `counts` also holds a number that every insertion and deletion raises,
//! so a remembered place is used only while the listing is unchanged, and a page contains exactly the rows that counting
//! from the start gives. A page whose place is unknown is looked for in `listing_blocks`, which holds how many rows each
//! block of ids has, and counted in its block.
//!
//! The generated SQL contains only placeholders, never values of callers.

use super::database::{Database, Result};
use super::page_ends::{PageEnd, PageKey};
use super::search::{ListOrder, ModelState, PageOf, PageRequest, Search};
use super::sql::{Bound, Record, Value as _, sql};
use crate::wire::{NOTE_PREFIX, UserId};

/// Ids of a block of `listing_blocks`.
const BLOCK: u64 = 4096;

/// How often a page is read that becomes empty while it is read.
const MAX_TRIES: u32 = 5;

/// A table that can be listed and searched.
pub(super) struct Listing<T> {
    /// The query without conditions; its first table is `t`.
    pub select: fn() -> String,
    /// The name of the table, also in `counts`.
    pub table: &'static str,
    /// The id of a row.
    pub id: fn(&T) -> u64,
    /// The owner kind of its tags; none when it has no tags.
    pub tags: Option<&'static str>,
    /// The condition that applies if a value for `$2` is given.
    pub filter: Option<&'static str>,
    /// What listings of models are narrowed by.
    pub model: Option<ModelColumns>,
}

/// How a listing of models is narrowed and sorted, in SQL.
pub(super) struct ModelColumns {
    /// The condition of each state.
    pub state: fn(ModelState) -> &'static str,
    /// The condition of a format, before and after the placeholder of its extension.
    pub format: [&'static str; 2],
    /// The bytes of a model.
    pub size: &'static str,
}

impl<T: Record> Listing<T> {
    /// One page of the rows of `user`. Rows may be added and deleted between the statements that count and read them: the page
    /// has the rows that were read, and its numbers fit them.
    pub(super) async fn page(
        &self,
        database: &Database,
        (user, filter): (UserId, Option<u64>),
        search: &Search,
        request: PageRequest,
    ) -> Result<PageOf<T>> {
        let is_of_all = search.is_empty() && filter.is_none();
        let mut tries = 0;
        loop {
            let mut found = match is_of_all {
                true => self.page_of_all(database, user, request).await?,
                false => {
                    self.page_of_found(database, (user, filter), search, request)
                        .await?
                }
            };
            tries += 1;
            if found.fit_total() || tries == MAX_TRIES {
                return Ok(found);
            }
        }
    }

    async fn page_of_found(
        &self,
        database: &Database,
        (user, filter): (UserId, Option<u64>),
        search: &Search,
        request: PageRequest,
    ) -> Result<PageOf<T>> {
        let (condition, values) = self.condition(search, filter.is_some());
        let statement =
            |text: String| sql!(text, user, filter.unwrap_or(0)).bind_stored(values.clone());
        let count = format!("SELECT COUNT(*) FROM {} t {condition}", self.table);
        let total: u64 = database.one(statement(count)).await?;
        let page = page_number(request, total);
        let per_page = request.per_page;
        let offset = (page - 1).saturating_mul(per_page);
        let select = (self.select)();
        let order = self.order(search.order);
        let rows =
            format!("{select} {condition} ORDER BY {order} LIMIT {per_page} OFFSET {offset}");
        Ok(PageOf {
            page,
            per_page,
            total,
            items: database.all(statement(rows)).await?,
        })
    }

    async fn page_of_all(
        &self,
        database: &Database,
        user: UserId,
        request: PageRequest,
    ) -> Result<PageOf<T>> {
        let count = "SELECT items, changes FROM counts WHERE user_id = $1 AND listing = $2";
        let count: Option<(u64, u64)> = database.optional(sql!(count, user, self.table)).await?;
        let (total, changes) = count.unwrap_or((0, 0));
        let page = page_number(request, total);
        let per_page = request.per_page;
        let key = |page| PageKey {
            table: self.table,
            user,
            per_page,
            page,
        };
        let offset = (page - 1).saturating_mul(per_page);
        let newest = match database.places().find(&key(page - 1), changes) {
            Some(before) => before.saturating_sub(1),
            None => self.newest_of(database, user, offset).await?,
        };
        let select = (self.select)();
        let rows = format!(
            "{select} WHERE t.user_id = $1 AND t.id <= $2 ORDER BY t.id DESC LIMIT {per_page}"
        );
        let items: Vec<T> = database.all(sql!(rows, user, newest)).await?;
        if let Some(last) = items.last() {
            let id = (self.id)(last);
            database.places().note(key(page), PageEnd { changes, id });
        }
        Ok(PageOf {
            page,
            per_page,
            total,
            items,
        })
    }

    /// The id of the row at `offset`; 0 if rows were deleted at the same moment.
    async fn newest_of(&self, database: &Database, user: UserId, offset: u64) -> Result<u64> {
        if offset == 0 {
            return Ok(i64::MAX.unsigned_abs());
        }
        let query = "SELECT block, newer FROM (SELECT block, items, \
             CAST(SUM(items) OVER (ORDER BY block DESC) AS BIGINT) - items AS newer \
             FROM listing_blocks WHERE user_id = $1 AND listing = $2) b \
             WHERE newer <= $3 AND $3 < newer + items";
        let found = database.optional(sql!(query, user, self.table, offset));
        let Some((block, newer)): Option<(u64, u64)> = found.await? else {
            return Ok(0);
        };
        let table = self.table;
        let query = format!(
            "SELECT t.id FROM {table} t WHERE t.user_id = $1 AND t.id < $2 \
             ORDER BY t.id DESC LIMIT 1 OFFSET $3"
        );
        let end = (block + 1) * BLOCK;
        let newest: Option<u64> = database
            .optional(sql!(query, user, end, offset - newer))
            .await?;
        Ok(newest.unwrap_or(0))
    }

    /// The `WHERE` clause and the values of its placeholders from `$3`. `$1` is the user, `$2` the filter's value.
    fn condition(&self, search: &Search, is_filtered: bool) -> (String, Vec<Bound>) {
        let mut values: Vec<Bound> = Vec::new();
        let mut place = |value: Bound| {
            values.push(value);
            values.len() + 2
        };
        // The filter's value is always bound, so it always has to be used.
        let mut condition = String::from("WHERE t.user_id = $1 AND $2 = $2");
        if let Some(filter) = self.filter.filter(|_| is_filtered) {
            condition.push_str(" AND ");
            condition.push_str(filter);
        }
        let tagged = |kind: &str, what: String| {
            format!(
                "t.id IN (SELECT g.owner_id FROM tags g WHERE g.user_id = $1 \
                 AND g.owner_kind = '{kind}' AND {what})"
            )
        };
        for pattern in search.patterns() {
            let place = place(pattern.stored().into());
            let name = format!("t.name_folded LIKE ${place} ESCAPE '\\'");
            match self.tags {
                None => condition.push_str(&format!(" AND {name}")),
                Some(kind) => {
                    // Notes of drives are no tags of people.
                    let tag = tagged(
                        kind,
                        format!(
                            "g.name_folded LIKE ${place} ESCAPE '\\' AND g.name NOT LIKE '{NOTE_PREFIX}%'"
                        ),
                    );
                    condition.push_str(&format!(" AND ({name} OR {tag})"));
                }
            }
        }
        if let (Some(kind), Some(tag)) = (self.tags, &search.tag) {
            let place = place(tag.stored().into());
            condition.push_str(&format!(
                " AND {}",
                tagged(kind, format!("g.name = ${place}"))
            ));
        }
        let Some(model) = &self.model else {
            return (condition, values);
        };
        if let Some(state) = search.state {
            condition.push_str(&format!(" AND {}", (model.state)(state)));
        }
        if let Some(format) = &search.format {
            let ([before, after], place) = (model.format, place(format.stored().into()));
            condition.push_str(&format!(" AND {before}${place}{after}"));
        }
        for (sign, bytes) in [(">=", search.least), ("<=", search.most)] {
            if let Some(bytes) = bytes {
                let place = place(bytes.stored().into());
                condition.push_str(&format!(" AND {} {sign} ${place}", model.size));
            }
        }
        (condition, values)
    }

    /// The `ORDER BY` clause; rows that are equal in it have the order of their ids.
    fn order(&self, order: ListOrder) -> String {
        let size = self.model.as_ref().map_or("t.id", |model| model.size);
        match order {
            ListOrder::Newest => "t.id DESC".to_owned(),
            ListOrder::Oldest => "t.id".to_owned(),
            ListOrder::Name => "t.name_folded, t.id DESC".to_owned(),
            ListOrder::Largest => format!("{size} DESC, t.id DESC"),
            ListOrder::Smallest => format!("{size}, t.id DESC"),
        }
    }
}

/// The requested page, or the last one.
fn page_number(request: PageRequest, total: u64) -> u64 {
    let last = total.div_ceil(request.per_page).max(1);
    request.page.clamp(1, last)
}

#[cfg(test)]
mod tests {
    use super::super::{RapidRow, Records, migrations};
    use super::*;
    use crate::service::records::shared::PoolKind;

    const LENGTHS: [u64; 5] = [0, 1, 7, 20, 21];

    async fn ids(records: &Records, request: PageRequest) -> (u64, u64, Vec<u64>) {
        let all = Search::default();
        let user = UserId(1);
        let page: PageOf<RapidRow> = records.rapids().list(user, &all, request).await.unwrap();
        let ids = page.items.iter().map(|row| row.id.0).collect();
        (page.total, page.page, ids)
    }

    /// Changes the number of rows to `length`: adds new ones, or removes some from the middle.
    async fn grow_or_shrink(records: &Records, model: &mut Vec<u64>, length: u64) {
        while (model.len() as u64) < length {
            let insert = sql!(
                "INSERT INTO rapids (user_id, token_id, uuid, name, name_folded, asset_id, asset_name, \
                 status, config, core_version, scale_factor, created_at, updated_at) \
                 VALUES (1, 1, '', 'a', 'a', 1, 'a', 'done', '{}', '', 1.0, 0, 0) RETURNING id"
            );
            let id: Option<u64> = records
                .database
                .in_pool(PoolKind::Changes)
                .change(insert)
                .await
                .unwrap();
            model.insert(0, id.unwrap());
        }
        while (model.len() as u64) > length {
            let id = model.remove(model.len() / 2);
            let delete = "DELETE FROM rapids WHERE id = $1";
            assert_eq!(records.database.run(sql!(delete, id)).await.unwrap(), 1);
        }
    }

    #[tokio::test]
    async fn every_page_has_the_rows_that_counting_gives() {
        let dir = tempfile::tempdir().unwrap();
        let records = Records::of_test(dir.path()).await;
        let mut model: Vec<u64> = Vec::new();
        for length in LENGTHS.into_iter().chain(LENGTHS.into_iter().rev()) {
            grow_or_shrink(&records, &mut model, length).await;
            // Forwards and backwards: with remembered places and without.
            for page in (1..6).chain((1..6).rev()).chain([100, u64::MAX / 8]) {
                let (total, got, ids) = ids(&records, PageRequest { page, per_page: 5 }).await;
                let last = length.div_ceil(5).max(1);
                assert_eq!((total, got), (length, page.min(last)));
                let from = ((got - 1) * 5) as usize;
                let expected: Vec<u64> = model.iter().skip(from).take(5).copied().collect();
                assert_eq!(ids, expected, "page {page} of {length}");
            }
        }
    }

    /// Adds an embed with this id.
    async fn add_embed(records: &Records, user: u64, id: u64) {
        let insert = sql!(
            "INSERT INTO embeds (id, user_id, identifier, name, name_folded, asset_id, config, view_count, created_at, \
             updated_at) VALUES ($1, $2, 'e' || $1, '', '', 1, '{}', 0, 0, 0)",
            id,
            user,
        );
        records.database.run(insert).await.unwrap();
    }

    /// Every page of the embeds of user 1 has the rows of `ids`, which are in order. The last page is read first, so that no
    /// place is known.
    async fn assert_pages(records: &Records, ids: &[u64]) {
        let newest: Vec<u64> = ids.iter().rev().copied().collect();
        let all = Search::default();
        for (page, expected) in newest.chunks(2).enumerate().rev() {
            let request = PageRequest {
                page: page as u64 + 1,
                per_page: 2,
            };
            let read = records.embeds().list(UserId(1), None, &all, request);
            let read = read.await.unwrap();
            let got: Vec<u64> = read.items.iter().map(|row| row.id.0).collect();
            assert_eq!(got, expected, "page {page}");
        }
    }

    #[tokio::test]
    async fn a_page_anywhere_among_distant_ids_has_its_rows() {
        let dir = tempfile::tempdir().unwrap();
        let records = Records::of_test(dir.path()).await;
        let mut ids = vec![1, 4_094, 4_095, 4_096, 4_097, 8_191, 8_192, 50_000, 50_001];
        for id in &ids {
            add_embed(&records, 1, *id).await;
            add_embed(&records, 2, id + 10).await;
        }
        assert_pages(&records, &ids).await;
        for gone in [4_095, 50_001, 8_192] {
            ids.retain(|id| *id != gone);
            let delete = "DELETE FROM embeds WHERE id = $1";
            records.database.run(sql!(delete, gone)).await.unwrap();
            assert_pages(&records, &ids).await;
        }
    }

    #[tokio::test]
    async fn rows_of_earlier_versions_are_in_blocks_after_the_migration() {
        let dir = tempfile::tempdir().unwrap();
        let records = Records::of_test(dir.path()).await;
        let ids = [3, 5_000, 5_001, 9_000];
        for id in ids {
            add_embed(&records, 1, id).await;
        }
        if !records.is_shared() {
            for table in ["assets", "rapids", "embeds"] {
                for what in ["added_to", "removed_from"] {
                    let drop = format!("DROP TRIGGER {table}_{what}_block");
                    records.database.run(sql!(drop)).await.unwrap();
                }
            }
        }
        for undo in [
            "DROP TABLE listing_blocks",
            "DELETE FROM schema_version WHERE version = 20",
        ] {
            records.database.run(sql!(undo)).await.unwrap();
        }
        migrations::apply(&records.database).await.unwrap();
        assert_pages(&records, &ids).await;
    }
}
