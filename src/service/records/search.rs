//! What a listing is asked for: a search and a page.
//!
//! A search is a list of terms, each of which must occur in the name or in a tag. Case is ignored. A quoted phrase is
//! one term. Listings of models can be narrowed further, and have an order.

use crate::wire::search_terms;

/// Longer terms match nothing.
const MAX_TERM_BYTES: usize = 2_048;
const MAX_TERMS: usize = 16;

/// A parsed `q`, and what else a listing of models is narrowed to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Search {
    terms: Vec<String>,
    pub state: Option<ModelState>,
    /// An extension in lower case: of the upload, or of a file of the result.
    pub format: Option<String>,
    /// The whole name of a tag.
    pub tag: Option<String>,
    /// The least size in bytes.
    pub least: Option<u64>,
    /// The greatest size in bytes.
    pub most: Option<u64>,
    pub order: ListOrder,
}

/// The states of models, as far as a listing tells them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelState {
    Ready,
    Busy,
    Failed,
    /// An upload that was not completed.
    Unfinished,
}

impl ModelState {
    pub const ALL: [(&str, ModelState); 4] = [
        ("ready", ModelState::Ready),
        ("busy", ModelState::Busy),
        ("failed", ModelState::Failed),
        ("unfinished", ModelState::Unfinished),
    ];
}

/// The order of a listing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ListOrder {
    #[default]
    Newest,
    Oldest,
    Name,
    Largest,
    Smallest,
}

impl ListOrder {
    pub const ALL: [(&str, ListOrder); 5] = [
        ("newest", ListOrder::Newest),
        ("oldest", ListOrder::Oldest),
        ("name", ListOrder::Name),
        ("largest", ListOrder::Largest),
        ("smallest", ListOrder::Smallest),
    ];
}

impl Search {
    /// Parses `q` ([`search_terms`]).
    pub fn parse(q: &str) -> Search {
        let mut terms = search_terms(q);
        terms.truncate(MAX_TERMS);
        Search {
            terms,
            ..Search::default()
        }
    }

    /// Whether `folded` (in lower case) contains every term.
    pub fn matches(&self, folded: &str) -> bool {
        self.terms.iter().all(|term| folded.contains(term.as_str()))
    }

    /// Whether it finds everything, newest first.
    pub(super) fn is_empty(&self) -> bool {
        *self == Search::default()
    }

    /// The patterns of `LIKE`, one for each term, with `\` before the signs that stand for themselves.
    pub(super) fn patterns(&self) -> impl Iterator<Item = String> + '_ {
        self.terms.iter().map(|term| {
            let mut cut = term.len().min(MAX_TERM_BYTES);
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

    /// Makes the total fit the items, which were read after they were counted. False if the page has become empty, but is not the
    /// first: then another one is the last.
    pub(super) fn fit_total(&mut self) -> bool {
        let before = (self.page - 1).saturating_mul(self.per_page);
        let upto = before.saturating_add(self.items.len() as u64);
        let is_full = self.items.len() as u64 == self.per_page;
        self.total = if is_full { self.total.max(upto) } else { upto };
        !self.items.is_empty() || self.page == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_of_a_page_fits_its_items() {
        // Page of size 3, number counted, items read; the total, and whether the page can be shown.
        for (page, counted, read, total, is_shown) in [
            (1, 0, 0, 0, true),
            (1, 0, 1, 1, true),
            (1, 7, 3, 7, true),
            (2, 4, 3, 6, true),
            (2, 6, 1, 4, true),
            (2, 5, 0, 3, false),
            (1, 2, 0, 0, true),
        ] {
            let mut found = PageOf {
                page,
                per_page: 3,
                total: counted,
                items: vec![(); read],
            };
            let case = (page, counted, read);
            assert_eq!(found.fit_total(), is_shown, "{case:?}");
            assert_eq!(found.total, total, "{case:?}");
        }
    }

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
