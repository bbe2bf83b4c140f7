//! What the service knows, brought here: listings, records, file maps, sizes. Each thing is asked
//! for once at a time, is believed for a while, and what failed to come leaves what was known.

pub(super) mod account;
pub(super) mod archives;
pub(super) mod blobs;
pub(super) mod conversions;
pub(super) mod events;
pub(super) mod flight;
pub(super) mod listings;
pub(super) mod maps;
pub(super) mod models;
mod presets;
pub(super) mod reasons;
pub(super) mod sizes;
pub(super) mod watch;
pub(super) mod webhook;

use std::sync::Arc;
use std::time::Duration;

use super::error::{DriveError, DriveResult};
use super::shared::Shared;
use super::tree::node::{AccountFile, Family, RemoteFolder};
use crate::client::ClientError;
use crate::wire::{AssetId, EmbedId, ModelId, RapidId};
use blobs::Blob;
use flight::Landing;
use listings::Which;

/// What a flight fetches.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum FlightKey {
    /// A whole listing.
    Listing(Which),
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

impl Shared {
    /// How long those who ask wait for news of what is known: shortly while the service is away.
    pub(in crate::drive) fn patience(&self) -> Duration {
        let offline = self.offline.lock();
        let is_offline = offline.is_ok_and(|offline| offline.is_some());
        if is_offline {
            PATIENCE_OFFLINE
        } else {
            PATIENCE
        }
    }

    /// Waits for news: as long as it takes where nothing is known, a little where something is, and
    /// then a failure that says nothing about the thing leaves what is known.
    pub(in crate::drive) async fn landed(
        &self,
        landing: Landing,
        is_known: bool,
    ) -> DriveResult<()> {
        if !is_known {
            return landing.await;
        }
        match landing.within(self.patience()).await {
            Some(Err(error)) if !error.leaves_the_tree_as_it_was() => Err(error),
            Some(_) | None => Ok(()),
        }
    }

    /// Asks the service, with the deadline, and remembers whether it could be reached.
    pub(in crate::drive) async fn asked<T>(
        &self,
        request: impl Future<Output = Result<T, ClientError>>,
    ) -> DriveResult<T> {
        // The client repeats within its own patience; this is the last resort for one page or record.
        let limit = self.config.deadline;
        let reply = match tokio::time::timeout(limit, request).await {
            Ok(reply) => reply.map_err(DriveError::from),
            Err(_) => Err(DriveError::TimedOut(format!(
                "the service did not answer within {} s; try again later",
                limit.as_secs()
            ))),
        };
        self.remember_reach(&reply);
        reply
    }

    fn remember_reach<T>(&self, reply: &DriveResult<T>) {
        let mut offline = self
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
}
