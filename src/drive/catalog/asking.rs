//! Asking the service: once at a time for each thing, with a deadline, and not for long while it is away.

use std::sync::Arc;
use std::time::Duration;

use super::blobs::Blob;
use super::flight::FlightEnd;
use super::state::Catalog;
use crate::client::ClientError;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::values::node::{AccountFile, Family, ListingKind, RemoteFolder};
use crate::wire::{AssetId, EmbedId, ModelId, RapidId};

/// What a flight fetches.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::drive) enum FlightKey {
    /// A whole listing.
    Listing(ListingKind),
    /// What a query finds.
    Search(Family, Arc<str>),
    /// One source model.
    Asset(AssetId),
    /// One optimized model.
    Rapid(RapidId),
    /// The optimized models of a source model.
    RapidsOf(AssetId),
    /// The files of a folder of the service.
    Files(RemoteFolder),
    /// The size of one file.
    Size(RemoteFolder, Arc<str>),
    /// A value of the account.
    Account(AccountFile),
    /// The exports of an optimized model.
    Exports(RapidId),
    /// The categories of presets.
    Categories,
    /// The conversions of a source model.
    Formats(AssetId),
    /// The tags of a family.
    Tags(Family),
    /// The record of an embed.
    Embed(EmbedId),
    /// A small file that the service makes.
    Blob(Blob),
    /// Why a model failed.
    Reason(ModelId),
    /// The optimizations under way.
    RunningJobs,
    /// Uploads that nobody finished.
    Orphans,
}

/// How long those who ask wait for news of what is known.
const PATIENCE: Duration = Duration::from_secs(5);
/// The same while the service is away.
const PATIENCE_OFFLINE: Duration = Duration::from_millis(250);

/// Work that keeps the local disk busy, away from the threads that answer everybody.
pub(in crate::drive) async fn blocking(
    catalog: &Catalog,
    work: impl FnOnce() -> DriveResult<()> + Send + 'static,
) -> DriveResult<()> {
    catalog
        .runtime
        .spawn_blocking(work)
        .await
        .unwrap_or_else(|_| Err(DriveError::Local("the drive failed inside".into())))
}

/// How long those who ask wait for news of what is known: shortly while the service is away.
pub(in crate::drive) fn patience(catalog: &Catalog) -> Duration {
    let offline = catalog.offline.lock();
    let is_offline = offline.is_ok_and(|offline| offline.is_some());
    if is_offline {
        PATIENCE_OFFLINE
    } else {
        PATIENCE
    }
}

/// Returns while the service cannot be reached, after a moment in which it may answer nevertheless.
pub(in crate::drive) async fn out_of_reach(catalog: &Catalog) {
    catalog.client.out_of_reach().await;
    tokio::time::sleep(PATIENCE_OFFLINE).await;
}

/// Waits for news: as long as it takes where nothing is known, a little where something is, and
/// then a failure that says nothing about the thing leaves what is known.
pub(in crate::drive) async fn landed(
    catalog: &Catalog,
    landing: FlightEnd,
    is_known: bool,
) -> DriveResult<()> {
    if !is_known {
        return landing.await;
    }
    match landing.within(patience(catalog)).await {
        Some(Err(error)) if !error.leaves_the_tree_as_it_was() => Err(error),
        Some(_) | None => Ok(()),
    }
}

/// Asks the service, with the deadline, and remembers whether it could be reached.
pub(in crate::drive) async fn asked<T>(
    catalog: &Catalog,
    request: impl Future<Output = Result<T, ClientError>>,
) -> DriveResult<T> {
    // The client repeats within its own patience; this is the last resort for one page or record.
    let limit = catalog.config.deadline;
    let reply = match tokio::time::timeout(limit, request).await {
        Ok(reply) => reply.map_err(DriveError::from),
        Err(_) => Err(DriveError::TimedOut(format!(
            "the service did not answer within {} s; try again later",
            limit.as_secs()
        ))),
    };
    remember_reach(catalog, &reply);
    reply
}

fn remember_reach<T>(catalog: &Catalog, reply: &DriveResult<T>) {
    let mut offline = catalog
        .offline
        .lock()
        .expect("no panic while the state of the line is held");
    match reply {
        Err(
            DriveError::Unreachable(why)
            | DriveError::TimedOut(why)
            | DriveError::AccessDenied(why),
        ) => {
            if offline.is_none() {
                tracing::warn!(why, "the service cannot be reached; what is known is shown");
            }
            *offline = Some(why.clone());
        }
        Err(_) => {}
        Ok(_) => {
            if offline.take().is_some() {
                tracing::info!("the service can be reached again");
            }
        }
    }
}
