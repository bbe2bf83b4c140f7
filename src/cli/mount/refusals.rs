//! Shows refused changes on the desktop of who tried them: file managers show the error number alone, and nobody looks into
//! `assetfs why` from there.
//!
//! The first refusal is shown at once, those of the next seconds together in one notification, and the same reason for the same
//! path once in an hour. The drive never waits: what its channel has no room for is left out.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::desktop::Desktop;
use super::notifications::body;
use crate::drive::{Refusal, RefusedUser};

/// Refusals that wait to be shown.
pub(super) const MAX_WAITING: usize = 64;
/// Shortest time between two notifications.
const NOTIFICATION_PAUSE: Duration = Duration::from_secs(5);
/// Time for which the same is not shown again.
const REPEAT_AFTER: Duration = Duration::from_secs(3600);
/// How many are remembered for that.
const MAX_REMEMBERED: usize = 500;
const TITLE: &str = "A change on the drive failed";

/// Shows refusals until the drive has ended.
pub(super) async fn show(mut refusals: mpsc::Receiver<Refusal>, mount_point: PathBuf) {
    let mut shown = Shown::default();
    while let Some(first) = refusals.recv().await {
        let mut batch = vec![first];
        while !batch.is_empty() {
            for (user, refused) in shown.new_ones(batch, Instant::now()) {
                let desktop = Desktop::of_user(user.uid, user.gid);
                Desktop::show(desktop, TITLE, text(&mount_point, &refused)).await;
            }
            tokio::time::sleep(NOTIFICATION_PAUSE).await;
            batch = std::iter::from_fn(|| refusals.try_recv().ok()).collect();
        }
    }
}

/// What was shown lately, oldest first.
#[derive(Default)]
struct Shown(VecDeque<(Instant, Refusal)>);

impl Shown {
    /// Those that were not shown yet, by their users. They count as shown from now on.
    fn new_ones(
        &mut self,
        batch: Vec<Refusal>,
        now: Instant,
    ) -> BTreeMap<RefusedUser, Vec<Refusal>> {
        self.0
            .retain(|(at, _)| now.saturating_duration_since(*at) < REPEAT_AFTER);
        let mut new = BTreeMap::<_, Vec<Refusal>>::new();
        for refusal in batch {
            if self.0.iter().any(|(_, known)| *known == refusal) {
                continue;
            }
            if self.0.len() == MAX_REMEMBERED {
                self.0.pop_front();
            }
            self.0.push_back((now, refusal.clone()));
            new.entry(refusal.user).or_default().push(refusal);
        }
        new
    }
}

/// The first of some refusals, and how many more there are.
fn text(mount_point: &Path, refused: &[Refusal]) -> String {
    let Some((first, more)) = refused.split_first() else {
        return String::new();
    };
    let first = body(mount_point, &first.path, Some(&first.why));
    match more.len() {
        0 => first,
        more => format!("{first}\n{more} more: run `assetfs status`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(path: &str, uid: u32) -> Refusal {
        Refusal {
            path: path.to_owned(),
            why: "it cannot be renamed".to_owned(),
            user: RefusedUser { uid, gid: uid },
        }
    }

    #[test]
    fn the_same_refusal_is_shown_once_in_an_hour_and_to_each_user_its_own() {
        let (mut shown, now) = (Shown::default(), Instant::now());
        let batch = || vec![refusal("/a", 1), refusal("/a", 1), refusal("/b", 2)];
        let new = shown.new_ones(batch(), now);
        let by_user: Vec<_> = new.values().map(Vec::len).collect();
        assert_eq!(by_user, [1, 1]);
        assert!(shown.new_ones(batch(), now).is_empty());
        let other = Refusal {
            why: "it is being written".to_owned(),
            ..refusal("/a", 1)
        };
        assert_eq!(shown.new_ones(vec![other], now).len(), 1);
        assert_eq!(shown.new_ones(batch(), now + REPEAT_AFTER).len(), 2);
    }

    #[test]
    fn what_is_remembered_is_limited() {
        let (mut shown, now) = (Shown::default(), Instant::now());
        let many = (0..MAX_REMEMBERED + 5).map(|number| refusal(&format!("/{number}"), 1));
        shown.new_ones(many.collect(), now);
        assert_eq!(shown.0.len(), MAX_REMEMBERED);
        assert_eq!(shown.new_ones(vec![refusal("/2", 1)], now).len(), 1);
    }

    #[test]
    fn many_refusals_are_one_notification_with_their_number() {
        let refused: Vec<_> = ["/rawmodels/a", "/b", "/c"]
            .map(|path| refusal(path, 1))
            .into();
        assert_eq!(
            text(Path::new("/mnt"), &refused),
            "/mnt/rawmodels/a: it cannot be renamed\n2 more: run `assetfs status`"
        );
        assert_eq!(
            text(Path::new("/mnt"), &refused[..1]),
            "/mnt/rawmodels/a: it cannot be renamed"
        );
    }
}
