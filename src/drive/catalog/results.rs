//! Which result of a source model is the current one of a text, as the tags of the results say. It is the same on every
//! machine: the newest that is not stale, else the newest. While a newer one is made, or if it failed, there is no finished one.

use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::drive::catalog::asking::patience;
use crate::drive::catalog::models::rapids_of;
use crate::drive::catalog::parts::Catalog;
use crate::drive::catalog::stale::StaleCheck;
use crate::drive::values::known::KnownRapid;
use crate::wire::{AssetId, OptimizationStatus};

/// The current result of each text of a source model, by the name of the text without extension.
pub fn results_by_text(catalog: &Catalog, asset: AssetId) -> BTreeMap<String, KnownRapid> {
    let rows: Vec<KnownRapid> = {
        let known = catalog.known();
        let rows = known.rapids.rows();
        rows.filter(|row| row.source == Some(asset))
            .cloned()
            .collect()
    };
    // Most texts have one result, and need no comparison.
    let check = LazyCell::new(|| StaleCheck::new(catalog));
    // A text in `optimize/` has precedence over one in `jobs/` of the same name. If a preset goes back to its earlier
    // configuration, the earlier result is the current one again.
    let rank = |row: &KnownRapid| (!row.notes.is_of_several(), check.of(row).is_none(), row.id);
    let mut results: BTreeMap<String, KnownRapid> = BTreeMap::new();
    for row in &rows {
        for name in row.text_names() {
            match results.get(name) {
                Some(current) if rank(current) > rank(row) => {}
                _ => drop(results.insert(name.to_owned(), row.clone())),
            }
        }
    }
    results
}

/// The current result of one text, if it is done.
pub fn done_result(catalog: &Catalog, asset: AssetId, text: &str) -> Option<KnownRapid> {
    let current = results_by_text(catalog, asset).remove(text);
    current.filter(|row| row.state == OptimizationStatus::Done)
}

/// Brings what is known of a source model's results up to date: by their listing if that is known, else by one request.
/// Without an answer, what is known stands.
pub async fn learn_results_of(catalog: &Arc<Catalog>, asset: AssetId) {
    let learned = rapids_of(catalog, asset);
    match tokio::time::timeout(patience(catalog), learned).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => {
            tracing::debug!(%asset, %error, "the results of a model could not be listed")
        }
        Err(_) => {
            tracing::debug!(%asset, "the list of a model's results is slow; known ones are shown")
        }
    }
}
