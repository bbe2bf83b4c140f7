//! Texts that the service tells and the drive keeps for a while: records, exports, tags.

use std::sync::Arc;
use std::time::SystemTime;

use super::place::Text;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::fresh::FlightKey;
use crate::drive::shared::Shared as Tree;

/// A text that `fetch` keeps, as fresh as the refresh time asks.
pub(super) async fn cached_json(
    tree: &Tree,
    key: FlightKey,
    fetch: impl Future<Output = DriveResult<()>> + Send + 'static,
) -> DriveResult<Text> {
    if !tree.detail_is_young(&key, tree.config.refresh) {
        tree.flights.join(key.clone(), || fetch).await?;
    }
    let text = tree.detail_text(&key).ok_or(DriveError::NotFound)?;
    Ok(Text::new(&*text, SystemTime::now()))
}

/// The record as the service last told it, or what is `known` of it while the service is away.
pub(super) fn detail(
    tree: &Tree,
    key: &FlightKey,
    known: impl FnOnce() -> Option<String>,
) -> DriveResult<Text> {
    let told = tree.detail_text(key);
    let known = || Some(format!("{}\n", known()?).into());
    let text: Option<Arc<str>> = told.or_else(known);
    let text = text.ok_or_else(|| {
        DriveError::Unreachable("the record is not known and the service is away".into())
    })?;
    Ok(Text::new(&*text, SystemTime::now()))
}
