//! How often leases are renewed.

use std::time::Duration;

/// Renewals of a lease in its lifetime, at least.
const RENEWALS: u32 = 4;

/// The longest pause between two renewals in shared records. They carry the progress, so it is also how late the
/// progress is.
const SHARED_PAUSE: Duration = Duration::from_secs(10);

/// The time between two renewals of a lease.
pub(super) fn renewal_pause(lease: Duration, is_shared: bool) -> Duration {
    let pause = lease / RENEWALS;
    match is_shared {
        true => pause.min(SHARED_PAUSE),
        false => pause,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::config::{ServiceConfig, WorkerCommand};

    #[test]
    fn a_lease_of_60_seconds_is_renewed_every_15_and_in_shared_records_every_10() {
        let worker = WorkerCommand {
            program: "assetfs".into(),
            args: Vec::new(),
        };
        let lease = ServiceConfig::new("/data", worker).job_lease;
        assert_eq!(lease.as_secs(), 60);
        assert_eq!(renewal_pause(lease, false).as_secs(), 15);
        assert_eq!(renewal_pause(lease, true).as_secs(), 10);
        let short = Duration::from_secs(4);
        assert_eq!(renewal_pause(short, true).as_secs(), 1);
    }
}
