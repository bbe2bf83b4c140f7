//! How many requests users and addresses sent in their current minute, counted by all services of these records.
//!
//! A service does not count each request here. It takes an allotment of some requests and hands them out itself. What
//! it does not use is lost when the window ends.

use std::time::Duration;

use super::database::Result;
use super::groups::RateRecords;
use super::shared::PoolKind;
use super::sql::{micros, sql};

/// Which requests are counted together, and how many are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateRule<'a> {
    /// The name of the user or address.
    pub requester: &'a str,
    /// Requests that a window allows.
    pub limit: u32,
    /// The length of a window. It begins with its first request.
    pub window: Duration,
}

/// Requests that one service may hand out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allotment {
    /// At most the wanted number; 0 when the window allows no more.
    pub requests: u32,
    /// How many more requests the window has for all services.
    pub left: u32,
    /// Time to the end of the window.
    pub ends_in: Duration,
}

impl RateRecords<'_> {
    /// Takes `wanted` requests out of the current window of `rule`, or what is left of it.
    pub async fn take(self, rule: RateRule<'_>, wanted: u32) -> Result<Allotment> {
        // The new end minus the length is one reading of the clock, which every comparison uses.
        let statement = sql!(
            "INSERT INTO rate_windows AS it (requester, ends_at, taken) VALUES ($1, now_micros() + $2, $3) \
             ON CONFLICT (requester) DO UPDATE SET \
             taken = excluded.taken + CASE WHEN it.ends_at > excluded.ends_at - $2 THEN it.taken ELSE 0 END, \
             ends_at = CASE WHEN it.ends_at > excluded.ends_at - $2 THEN it.ends_at ELSE excluded.ends_at END \
             RETURNING taken, ends_at - now_micros()",
            rule.requester,
            micros(rule.window),
            i64::from(wanted),
        );
        let changed = self.database.in_pool(PoolKind::Changes).change(statement);
        let (taken, ends_in): (i64, i64) = changed.await?.expect("an upsert returns its row");
        let before = taken - i64::from(wanted);
        let left_before = (i64::from(rule.limit) - before).max(0);
        let requests = left_before.min(i64::from(wanted));
        let small = |count: i64| u32::try_from(count).expect("at most the limit");
        Ok(Allotment {
            requests: small(requests),
            left: small(left_before - requests),
            ends_in: Duration::from_micros(ends_in.try_into().unwrap_or(0)),
        })
    }

    /// Removes windows that have ended.
    pub async fn tidy(self) -> Result<()> {
        let ended = sql!("DELETE FROM rate_windows WHERE ends_at < now_micros()");
        self.database.run(ended).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;

    use super::*;
    use crate::service::records::Records;

    const RULE: RateRule<'static> = RateRule {
        requester: "user 1",
        limit: 10,
        window: Duration::from_secs(60),
    };

    #[tokio::test]
    async fn a_window_hands_out_its_limit_and_a_new_one_begins_after_it() {
        let dir = tempfile::tempdir().unwrap();
        let records = Records::of_test(dir.path()).await;
        for (requests, left) in [(4, 6), (4, 2), (2, 0), (0, 0), (0, 0)] {
            let taken = records.rates().take(RULE, 4).await.unwrap();
            assert_eq!((taken.requests, taken.left), (requests, left));
            assert!(taken.ends_in > Duration::from_secs(30) && taken.ends_in <= RULE.window);
        }
        let other = RateRule {
            requester: "user 2",
            ..RULE
        };
        assert_eq!(records.rates().take(other, 4).await.unwrap().requests, 4);

        let end =
            sql!("UPDATE rate_windows SET ends_at = now_micros() - 1 WHERE requester = 'user 1'");
        assert_eq!(records.database.run(end.clone()).await.unwrap(), 1);
        let taken = records.rates().take(RULE, 4).await.unwrap();
        assert_eq!((taken.requests, taken.left), (4, 6));

        records.database.run(end).await.unwrap();
        records.rates().tidy().await.unwrap();
        let rest = sql!("SELECT COUNT(*) FROM rate_windows");
        assert_eq!(records.database.one::<i64>(rest).await.unwrap(), 1);
    }

    #[tokio::test]
    async fn calls_at_once_get_no_more_than_the_limit_together() {
        let dir = tempfile::tempdir().unwrap();
        let records = Records::of_test(dir.path()).await;
        let taken = join_all((0..16).map(|_| records.rates().take(RULE, 3))).await;
        let requests: u32 = taken.into_iter().map(|taken| taken.unwrap().requests).sum();
        assert_eq!(requests, RULE.limit);
    }
}
