//! Texts of the service that are cached for a while: records, exports, tags.

use std::sync::Arc;
use std::time::SystemTime;

use super::place::Text;
use crate::drive::catalog::{FlightKey, detail_text, fresh_text};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::tree::Tree;

/// A text that `fetch` stores, at most as old as the refresh time.
pub(super) async fn cached_json(
    tree: &Tree,
    key: FlightKey,
    fetch: impl Future<Output = DriveResult<()>> + Send + 'static,
) -> DriveResult<Text> {
    let text = fresh_text(tree.catalog(), key, fetch).await?;
    Ok(Text::new(&*text, SystemTime::now()))
}

/// The last record of the service, or what is `known` of it while the service is away.
pub(super) fn detail(
    tree: &Tree,
    key: &FlightKey,
    known: impl FnOnce() -> Option<String>,
) -> DriveResult<Text> {
    let told = detail_text(tree.catalog(), key);
    let known = || Some(format!("{}\n", known()?).into());
    let text: Option<Arc<str>> = told.or_else(known);
    let text = text.ok_or_else(|| {
        DriveError::Unreachable(
            "the record is not known here and the service cannot be reached; try again later"
                .into(),
        )
    })?;
    Ok(Text::new(&*text, SystemTime::now()))
}
