//! Points at which a test can make the process die, by name.
//!
//! `ASSETFS_FAILPOINT=name` aborts the process when it comes there, `name:3` the third time. Without
//! the variable a point costs one load.

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
    /// The intent to start an upload is in the journal.
    BeforeStart = "before-start",
    /// The service has answered, the journal does not know.
    AfterStart = "after-start",
    /// The asset's id is in the journal.
    BeforePuts = "before-puts",
    /// A file is on the service.
    AfterPut = "after-put",
    /// Every file is on the service.
    AfterPuts = "after-puts",
    /// The intent to complete is in the journal.
    BeforeComplete = "before-complete",
    /// The service has answered, the journal does not know.
    AfterComplete = "after-complete",
    /// The journal knows that the service has accepted.
    AfterAccepted = "after-accepted",
    /// The service is done with the import.
    AfterImport = "after-import",
    /// The service's files match; the staged copy is still there.
    AfterVerified = "after-verified",
    /// The journal says that the staged copy may go; it is still there.
    BeforeDrop = "before-drop",
    /// An asset that nobody wants is about to be deleted.
    BeforeDiscard = "before-discard",
    /// It is deleted, the journal does not know.
    AfterDiscard = "after-discard",
    /// A job's text is in the journal.
    AfterJobText = "after-job-text",
    /// The intent to optimize is in the journal.
    BeforeOptimize = "before-optimize",
    /// The service has answered, the journal does not know.
    AfterOptimize = "after-optimize",
    /// The journal knows the rapid model; its one-off tag is still there.
    BeforeTagRemoval = "before-tag-removal",
    /// The tag is gone, the journal does not know.
    AfterTagRemoval = "after-tag-removal",
    /// The intent to make an embed is in the journal.
    BeforeEmbed = "before-embed",
    /// The service has answered, the journal does not know.
    AfterEmbed = "after-embed",
    /// The intent to save a preset is in the journal.
    BeforePreset = "before-preset",
    /// The service has answered, the journal does not know.
    AfterPreset = "after-preset",
}

/// The point that is armed, and how many times it may be passed.
static ARMED: OnceLock<Option<(Failpoint, AtomicU32)>> = OnceLock::new();

/// Dies here when the point is armed.
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

/// Refuses work on the local disk where a test says that it is full.
pub fn disk() -> io::Result<()> {
    #[cfg(test)]
    crate::outbox::simulator::hook::check_disk()?;
    Ok(())
}

/// Takes a while where a test asks for a slow disk: `ASSETFS_SLOW_SYNC_MS`.
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

/// False for a process that a test has killed: it must not touch the disk any more.
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
