//! Texts of the service that are cached for a while: records, exports, tags.

use std::sync::Arc;
use std::time::SystemTime;

use serde::Serialize;

use super::place::Text;
use crate::client::{Client, ClientError};
use crate::drive::catalog::{FlightKey, detail_text, fresh_text, keep_detail, send_with_deadline};
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

/// The JSON of a record that `request` asks for, at most as old as the refresh time.
pub(super) async fn record_text<R, Reply>(
    tree: &Arc<Tree>,
    key: FlightKey,
    request: impl FnOnce(Client) -> Reply + Send + 'static,
) -> DriveResult<Text>
where
    R: Serialize + Send,
    Reply: Future<Output = Result<R, ClientError>> + Send,
{
    let (of, kept) = (Arc::clone(tree), key.clone());
    cached_json(tree, key, async move {
        let record = send_with_deadline(of.catalog(), request(of.client().clone())).await?;
        keep_detail(of.catalog(), kept, &record);
        Ok(())
    })
    .await
}

/// The last record of the service, or the `known` data of it while the service is away.
pub(super) fn detail(
    tree: &Tree,
    key: &FlightKey,
    known: impl FnOnce() -> Option<String>,
) -> DriveResult<Text> {
    let stored = detail_text(tree.catalog(), key);
    let known = || Some(format!("{}\n", known()?).into());
    let text: Option<Arc<str>> = stored.or_else(known);
    let text = text.ok_or_else(|| {
        DriveError::Unreachable(
            "the record is not cached and the service cannot be reached; try again later".into(),
        )
    })?;
    Ok(Text::new(&*text, SystemTime::now()))
}
