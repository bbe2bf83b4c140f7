//! Models that a list lacks although they were known. A list may be wrong or incomplete, and cached bytes, pins and local
//! copies go with a model. So each is asked for by its id, and only what the service does not have is removed.

use futures_util::StreamExt as _;
use futures_util::stream;
use tokio::time::Instant;

use crate::client::Priority;
use crate::drive::catalog::asking::send_with_deadline;
use crate::drive::catalog::listings::records::{asset_gone, rapid_gone, store_asset, store_rapid};
use crate::drive::catalog::parts::Catalog;
use crate::drive::error::DriveError;
use crate::drive::values::node::ListingKind;
use crate::wire::{AssetId, RapidId};

/// Requests in parallel.
const AT_ONCE: usize = 8;
/// Maximum number of models that are asked for after one pass. The next pass finds the rest again.
const AFTER_A_PASS: usize = 256;

/// Asks for the models that the last pass over a listing did not contain.
pub(super) async fn ask_for_unlisted(catalog: &Catalog, which: ListingKind) {
    let unlisted = match which {
        ListingKind::Assets => catalog.known().assets.take_unlisted(),
        ListingKind::Rapids => catalog.known().rapids.take_unlisted(),
        _ => return,
    };
    if unlisted.is_empty() {
        return;
    }
    tracing::info!(
        count = unlisted.len(),
        listing = which.table(),
        "a list lacks known models; asking for them"
    );
    let mut answers = stream::iter(unlisted.into_iter().take(AFTER_A_PASS))
        .map(|id| ask_for(catalog, which, id))
        .buffer_unordered(AT_ONCE);
    // While the service does not answer, the others wait for the next pass.
    while answers.next().await == Some(true) {}
    match which {
        ListingKind::Assets => catalog.known().assets.unlisted_were_asked_for(),
        _ => catalog.known().rapids.unlisted_were_asked_for(),
    }
}

/// Asks for one model; false if it is still unknown whether the service has it.
async fn ask_for(catalog: &Catalog, which: ListingKind, id: u64) -> bool {
    let (began, now) = (Instant::now(), Priority::Interactive);
    let (asset, rapid) = (AssetId(id), RapidId(id));
    let (assets, rapids) = (catalog.client.assets(), catalog.client.rapids());
    let answer = match which {
        ListingKind::Rapids => {
            let record = send_with_deadline(catalog, rapids.get(rapid, now)).await;
            record.map(|record| store_rapid(catalog, &record, began))
        }
        _ => {
            let record = send_with_deadline(catalog, assets.get(asset, now)).await;
            record.map(|record| store_asset(catalog, &record, began))
        }
    };
    match (answer, which) {
        (Err(DriveError::NotFound), ListingKind::Rapids) => rapid_gone(catalog, rapid),
        (Err(DriveError::NotFound), _) => asset_gone(catalog, asset),
        (Err(_), _) => return false,
        (Ok(()), _) => {}
    }
    true
}
