//! Searching and paging of listings.
//!
//! A search is a list of terms, each of which must occur in the name or in a tag. Case is ignored. A quoted phrase is
//! one term. A page beyond the last one becomes the last one. The generated SQL contains only placeholders, never
//! values.

use super::database::{Database, Result};
use super::sql::{Record, Statement, Value as _, sql};
use crate::wire::UserId;

/// Longer terms match nothing.
const LONGEST_TERM_BYTES: usize = 2_048;
const MOST_TERMS: usize = 16;

/// A parsed `q`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Search {
    terms: Vec<String>,
}

impl Search {
    /// Parses `q`: words and quoted phrases. An unclosed quote reaches to the end.
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

    /// Whether `folded` (in lower case) contains every term.
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

/// A requested page of a listing.
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
    /// The requested page, or the last one.
    pub page: u64,
    /// Size of a full page.
    pub per_page: u64,
    /// Number of items on all pages.
    pub total: u64,
    pub items: Vec<T>,
}

impl<T> PageOf<T> {
    /// The number of the last page, at least 1.
    pub fn last_page(&self) -> u64 {
        self.total.div_ceil(self.per_page).max(1)
    }
}

/// A table that can be listed and searched.
pub(super) struct Listing {
    /// The query without conditions; its first table is `t`.
    pub select: fn() -> String,
    /// The table whose rows are counted, as `t`.
    pub counted: &'static str,
    /// The owner kind of its tags; none when it has no tags.
    pub tags: Option<&'static str>,
    /// The condition that applies if a value for `$2` is given.
    pub filter: Option<&'static str>,
}

impl Listing {
    /// One page of the rows of `user`, newest first.
    pub(super) async fn page<T: Record>(
        &self,
        database: &Database,
        (user, filter): (UserId, Option<u64>),
        search: &Search,
        request: PageRequest,
    ) -> Result<PageOf<T>> {
        let condition = self.condition(search, filter.is_some());
        let statement = |text: String| {
            let values = sql!(text, user, filter.unwrap_or(0));
            search
                .patterns()
                .fold(values, |values: Statement, pattern| values.bind(&pattern))
        };
        let count = format!("SELECT COUNT(*) FROM {} {condition}", self.counted);
        let total: u64 = database.one(statement(count)).await?;
        let last = total.div_ceil(request.per_page).max(1);
        let page = request.page.clamp(1, last);
        let limit = request.per_page.stored();
        let offset = (page - 1).saturating_mul(request.per_page).stored();
        let select = (self.select)();
        let items = database
            .all(statement(format!(
                "{select} {condition} ORDER BY t.id DESC LIMIT {limit} OFFSET {offset}"
            )))
            .await?;
        Ok(PageOf {
            page,
            per_page: request.per_page,
            total,
            items,
        })
    }

    /// The `WHERE` clause. `$1` is the user, `$2` the filter's value, the patterns follow.
    fn condition(&self, search: &Search, is_filtered: bool) -> String {
        // The filter's value is always bound, so it always has to be used.
        let mut condition = String::from("WHERE t.user_id = $1 AND $2 = $2");
        if let Some(filter) = self.filter.filter(|_| is_filtered) {
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
