//! Searching and paging of listings.
//!
//! A search is a list of terms, each of which must stand in the name or in a tag, upper and lower case
//! alike; a quoted phrase is one term. A page beyond the last is the last. The SQL that is built here
//! holds only places for values, never a value.

use sqlx::AssertSqlSafe;
use sqlx::sqlite::{SqliteArguments, SqliteRow};

use super::database::{Database, Result, key, stored};
use sqlx::Row as _;

/// Longer terms match no name and no tag.
const LONGEST_TERM_BYTES: usize = 2_048;
const MOST_TERMS: usize = 16;

/// What `q` asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Search {
    terms: Vec<String>,
}

impl Search {
    /// Reads `q`: words and quoted phrases. A quote that is not closed reaches to the end.
    pub fn parse(q: &str) -> Search {
        let mut terms = Vec::new();
        for (number, part) in q.split('"').enumerate() {
            if number % 2 == 1 {
                terms.push(part.to_lowercase());
            } else {
                terms.extend(part.split_whitespace().map(str::to_lowercase));
            }
        }
        terms.retain(|term| !term.is_empty());
        terms.truncate(MOST_TERMS);
        Search { terms }
    }

    /// Whether `folded` (in lower case) has every term.
    pub fn matches(&self, folded: &str) -> bool {
        self.terms.iter().all(|term| folded.contains(term.as_str()))
    }

    fn patterns(&self) -> impl Iterator<Item = String> + '_ {
        self.terms.iter().map(|term| {
            let mut cut = term.len().min(LONGEST_TERM_BYTES);
            while !term.is_char_boundary(cut) {
                cut -= 1;
            }
            let escaped = term[..cut]
                .replace('\\', r"\\")
                .replace('%', r"\%")
                .replace('_', r"\_");
            format!("%{escaped}%")
        })
    }
}

/// Which page of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRequest {
    /// From 1.
    pub page: u64,
    /// At least 1.
    pub per_page: u64,
}

/// One page of a listing.
#[derive(Debug, Clone)]
pub struct PageOf<T> {
    /// The page that this is: the one asked for, or the last.
    pub page: u64,
    /// The items of a full page.
    pub per_page: u64,
    /// All items of the listing.
    pub total: u64,
    pub items: Vec<T>,
}

impl<T> PageOf<T> {
    /// The number of the last page, at least 1.
    pub fn last_page(&self) -> u64 {
        self.total.div_ceil(self.per_page).max(1)
    }
}

/// A table that can be listed: its columns, its joins and where names and tags are.
pub(super) struct Listing {
    /// Everything between `SELECT` and `FROM`.
    pub columns: &'static str,
    /// The tables, the first as `t`.
    pub tables: &'static str,
    /// The first table alone, as `t`: what is counted.
    pub counted: &'static str,
    /// The owner kind of its tags; none when it has no tags.
    pub tags: Option<&'static str>,
    /// Another condition, on the second value; `$2` is `filter`.
    pub filter: Option<&'static str>,
}

impl Listing {
    /// One page of the rows of `user`, newest first.
    pub(super) async fn page<T>(
        &self,
        database: &Database,
        (user, filter): (u64, u64),
        search: &Search,
        request: PageRequest,
        read: impl Fn(&SqliteRow) -> sqlx::Result<T>,
    ) -> Result<PageOf<T>> {
        let condition = self.condition(search);
        let counting = format!("SELECT COUNT(*) AS n FROM {} {condition}", self.counted);
        let values = || -> Result<SqliteArguments> {
            let mut values = SqliteArguments::default();
            let add = |value: sqlx::Result<(), sqlx::error::BoxDynError>| {
                value.map_err(sqlx::Error::Encode)
            };
            use sqlx::Arguments as _;
            add(values.add(key(user)))?;
            add(values.add(key(filter)))?;
            for pattern in search.patterns() {
                add(values.add(pattern))?;
            }
            Ok(values)
        };
        let row = sqlx::query_with(AssertSqlSafe(counting), values()?)
            .fetch_one(&database.reader)
            .await?;
        let total = u64::try_from(row.try_get::<i64, _>("n")?).unwrap_or(0);
        let last = total.div_ceil(request.per_page).max(1);
        let page = request.page.clamp(1, last);
        let selecting = format!(
            "SELECT {} FROM {} {condition} ORDER BY t.id DESC LIMIT {} OFFSET {}",
            self.columns,
            self.tables,
            stored(request.per_page),
            stored((page - 1).saturating_mul(request.per_page)),
        );
        let rows = sqlx::query_with(AssertSqlSafe(selecting), values()?)
            .fetch_all(&database.reader)
            .await?;
        let items = rows.iter().map(read).collect::<sqlx::Result<Vec<T>>>()?;
        Ok(PageOf {
            page,
            per_page: request.per_page,
            total,
            items,
        })
    }

    /// The `WHERE` of a self. `$1` is the user, `$2` the filter's value, the patterns follow.
    fn condition(&self, search: &Search) -> String {
        // The filter's value is always bound, so it always has to be used.
        let mut condition = String::from("WHERE t.user_id = $1 AND $2 = $2");
        if let Some(filter) = self.filter {
            condition.push_str(" AND ");
            condition.push_str(filter);
        }
        for place in 3..3 + search.terms.len() {
            let name = format!("t.name_folded LIKE ${place} ESCAPE '\\'");
            match self.tags {
                None => condition.push_str(&format!(" AND {name}")),
                Some(kind) => condition.push_str(&format!(
                    " AND ({name} OR t.id IN (SELECT g.owner_id FROM tags g WHERE g.user_id = $1 \
                     AND g.owner_kind = '{kind}' AND g.name_folded LIKE ${place} ESCAPE '\\'))"
                )),
            }
        }
        condition
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_phrase_is_one_term_and_words_are_several() {
        let search = Search::parse(r#"Chair "Old Oak"  red"#);
        assert_eq!(search.terms, ["chair", "old oak", "red"]);
        assert!(search.matches("a red chair of old oak"));
        assert!(!search.matches("a red chair of oak, old"));
    }

    #[test]
    fn signs_of_patterns_stand_for_themselves() {
        let search = Search::parse(r"100%_\");
        assert_eq!(
            search.patterns().collect::<Vec<_>>(),
            [r"%100\%\_\\%".to_owned()]
        );
    }

    #[test]
    fn a_term_is_cut_between_characters() {
        let search = Search::parse(&"ä".repeat(4_000));
        assert!(search.patterns().all(|pattern| pattern.len() < 2_060));
    }
}
