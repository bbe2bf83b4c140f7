//! The small values of the account, kept over mounts so that they are answered offline too.

use std::sync::Arc;
use std::time::Instant;

use super::FlightKey;
use super::flight::Landing;
use crate::client::Priority;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::places::AccountValue;
use crate::drive::shared::Shared;
use crate::drive::tree::node::AccountFile;

const TABLE: &str = "account";

impl Shared {
    /// A value of the account, as fresh as the refresh time asks; what was known when the service
    /// is away.
    pub(in crate::drive) async fn account_value(
        self: &Arc<Self>,
        file: AccountFile,
    ) -> DriveResult<u64> {
        let known = self.known_account_value(file);
        if let Some((value, Some(told))) = known
            && told.elapsed() < self.config.refresh
        {
            return Ok(value);
        }
        self.landed(self.account_landing(file), known.is_some())
            .await?;
        let known = self.known_account_value(file);
        known.map(|(value, _)| value).ok_or(DriveError::NotFound)
    }

    /// What is known of a value, without waiting; when it is old it is asked for behind the scenes.
    pub(in crate::drive) fn account_value_at_hand(
        self: &Arc<Self>,
        file: AccountFile,
    ) -> Option<u64> {
        let known = self.known_account_value(file);
        let is_fresh =
            matches!(known, Some((_, Some(told))) if told.elapsed() < self.config.refresh);
        if !is_fresh {
            drop(self.account_landing(file));
        }
        known.map(|(value, _)| value)
    }

    /// What was sent or deleted here changes the room that is left: it is asked for anew, so that who
    /// looks next is told the truth at once.
    pub(in crate::drive) fn room_changed(self: &Arc<Self>) {
        if self.known_account_value(AccountFile::StorageLeft).is_some() {
            drop(self.account_landing(AccountFile::StorageLeft));
        }
    }

    fn account_landing(self: &Arc<Self>, file: AccountFile) -> Landing {
        let shared = Arc::clone(self);
        self.flights.join(FlightKey::Account(file), || async move {
            let (client, now) = (&shared.client, Priority::Interactive);
            let value = match file {
                AccountFile::Points => shared.asked(client.points(now)).await?.rapidpoints,
                AccountFile::StorageLeft => shared.asked(client.storage(now)).await?.storage_left,
            };
            if file == AccountFile::StorageLeft {
                shared.outbox.storage_is_left(value);
            }
            let before = shared
                .known()
                .account
                .insert(file, (value, Some(Instant::now())));
            if before.map(|(value, _)| value) != Some(value) {
                if let Err(error) = shared.meta.relaxed().put(TABLE, file.name(), &value) {
                    tracing::warn!(error = %error, "could not keep a value of the account");
                }
                shared.tell_attributes(AccountValue(file));
            }
            Ok(())
        })
    }

    fn known_account_value(&self, file: AccountFile) -> Option<(u64, Option<Instant>)> {
        if let Some(known) = self.known().account.get(&file) {
            return Some(*known);
        }
        let stored: u64 = self.meta.get(TABLE, file.name()).ok().flatten()?;
        if file == AccountFile::StorageLeft {
            self.outbox.storage_is_left(stored);
        }
        self.known().account.insert(file, (stored, None));
        Some((stored, None))
    }
}
