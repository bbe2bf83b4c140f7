//! What the service knows, brought here: listings, records, file maps, sizes. Each thing is asked
//! for once at a time, is believed for a while, and what failed to come leaves what was known.

pub(super) mod account;
pub(super) mod events;
pub(super) mod flight;
pub(super) mod listings;
pub(super) mod maps;
pub(super) mod models;
pub(super) mod sizes;
pub(super) mod watch;

use std::sync::Arc;

use super::error::{DriveError, DriveResult};
use super::shared::Shared;
use super::tree::node::{AccountFile, RemoteFolder};
use crate::client::ClientError;
use crate::wire::{AssetId, RapidId};

/// What a flight fetches.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum FlightKey {
    /// The listing of source models.
    Assets,
    /// The listing of optimized models.
    Rapids,
    /// The user's presets.
    Presets,
    /// The service's presets.
    FactoryPresets,
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
    /// The optimizations under way.
    RunningJobs,
    /// Uploads that nobody finished.
    Orphans,
}

impl Shared {
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
