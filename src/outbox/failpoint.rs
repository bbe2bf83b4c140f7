//! Named points at which a test can kill the process.
//!
//! `ASSETFS_FAILPOINT=name` aborts the process at that point, `name:3` when it passes the third time. Without the
//! variable a point costs one load.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

macro_rules! failpoints {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// Every point, in the order in which a copied model passes them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Failpoint {
            $($(#[$doc])* $variant,)*
        }

        impl Failpoint {
            /// All points, so that a test cannot forget one.
            pub const ALL: &[Failpoint] = &[$(Failpoint::$variant,)*];

            /// The name that `ASSETFS_FAILPOINT` takes.
            pub fn name(self) -> &'static str {
                match self {
                    $(Failpoint::$variant => $name,)*
                }
            }
        }
    };
}

failpoints! {
    /// A batch of records is about to be written.
    BeforeJournal = "before-journal",
    /// A batch of records is durable.
    AfterJournal = "after-journal",
    /// Data is durable, its record is not made yet.
    AfterData = "after-data",
    /// The record of the start request is durable.
    BeforeStart = "before-start",
    /// The service has answered; this is not recorded.
    AfterStart = "after-start",
    /// The asset's id is recorded.
    BeforePuts = "before-puts",
    /// A file was sent.
    AfterPut = "after-put",
    /// Every file was sent.
    AfterPuts = "after-puts",
    /// The record of the completion request is durable.
    BeforeComplete = "before-complete",
    /// The service has answered, the journal does not know.
    AfterComplete = "after-complete",
    /// The acceptance is recorded.
    AfterAccepted = "after-accepted",
    /// The import is complete.
    AfterImport = "after-import",
    /// The service's files are equal; the staged copy still exists.
    AfterVerified = "after-verified",
    /// The deletion of the staged copy is recorded; it still exists.
    BeforeDrop = "before-drop",
    /// An unwanted asset is about to be deleted.
    BeforeDiscard = "before-discard",
    /// It is deleted; this is not recorded.
    AfterDiscard = "after-discard",
    /// A job's text is recorded.
    AfterJobText = "after-job-text",
    /// The record of the optimize request is durable.
    BeforeOptimize = "before-optimize",
    /// The service has answered, the journal does not know.
    AfterOptimize = "after-optimize",
    /// The rapid model is recorded; its one-off tag still exists.
    BeforeTagRemoval = "before-tag-removal",
    /// The tag is removed; this is not recorded.
    AfterTagRemoval = "after-tag-removal",
    /// The record of the embed request is durable.
    BeforeEmbed = "before-embed",
    /// The service has answered, the journal does not know.
    AfterEmbed = "after-embed",
    /// The record of the preset request is durable.
    BeforePreset = "before-preset",
    /// The service has answered, the journal does not know.
    AfterPreset = "after-preset",
}

/// The armed point, and how many times it may be passed.
static ARMED: OnceLock<Option<(Failpoint, AtomicU32)>> = OnceLock::new();

/// Aborts the process if the point is armed.
pub fn hit(point: Failpoint) {
    #[cfg(test)]
    crate::outbox::simulator::hook::hit(point);
    let armed = ARMED.get_or_init(|| parse(&std::env::var("ASSETFS_FAILPOINT").ok()?));
    if let Some((at, left)) = armed
        && *at == point
        && left.fetch_sub(1, Ordering::Relaxed) == 1
    {
        tracing::error!(name = point.name(), "died at a failpoint");
        std::process::abort();
    }
}

/// Fails if a test simulates a full disk.
pub fn disk() -> io::Result<()> {
    #[cfg(test)]
    crate::outbox::simulator::hook::check_disk()?;
    Ok(())
}

/// Sleeps if a test simulates a slow disk: `ASSETFS_SLOW_SYNC_MS`.
pub fn slow_sync() {
    static SLOW: OnceLock<Option<Duration>> = OnceLock::new();
    let slow = SLOW.get_or_init(|| {
        let text = std::env::var("ASSETFS_SLOW_SYNC_MS").ok()?;
        text.parse().ok().map(Duration::from_millis)
    });
    if let Some(time) = slow {
        std::thread::sleep(*time);
    }
}

/// False for a process that a test has killed, which must not write to the disk.
pub fn alive() -> bool {
    #[cfg(test)]
    if crate::outbox::simulator::hook::is_dead() {
        return false;
    }
    true
}

fn parse(text: &str) -> Option<(Failpoint, AtomicU32)> {
    let (name, count) = text.split_once(':').unwrap_or((text, "1"));
    let point = Failpoint::ALL.iter().find(|point| point.name() == name)?;
    Some((*point, AtomicU32::new(count.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_are_understood() {
        let mut names: Vec<_> = Failpoint::ALL.iter().map(|point| point.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Failpoint::ALL.len());
        let (point, left) = parse("after-put:3").unwrap();
        assert_eq!((point, left.into_inner()), (Failpoint::AfterPut, 3));
        assert!(parse("nowhere").is_none());
    }
}
