//! The state of a mount in the text format of Prometheus.

use std::fmt::Write as _;

use crate::drive::status::{MountStatus, TransferStatus};

/// Name, help text and value of a metric.
type Metric = (&'static str, &'static str, fn(&MountStatus) -> u64);

const GAUGES: &[Metric] = &[
    ("online", "1 while the service can be reached", |of| {
        of.online.into()
    }),
    ("drafts", "Models that are not uploaded yet", |of| {
        of.drafts.len() as u64
    }),
    (
        "drafts_stuck",
        "Models that need help before they can be sent",
        |of| of.drafts.iter().filter(|draft| draft.stuck).count() as u64,
    ),
    ("transfers", "Transfers that are running", |of| {
        of.transfers.len() as u64
    }),
    (
        "transfer_done_bytes",
        "Bytes that the running transfers have moved",
        |of| sum(of, |transfer| transfer.done_bytes),
    ),
    (
        "transfer_total_bytes",
        "Total bytes of the running transfers",
        |of| sum(of, |transfer| transfer.total_bytes),
    ),
    ("jobs", "Jobs of drop folders that are not done", |of| {
        of.jobs.len() as u64
    }),
    (
        "orphans",
        "Uploads that began without an answer, or were given up and are not deleted yet",
        |of| of.orphans.len() as u64,
    ),
    ("cache_used_bytes", "Bytes in the block cache", |of| {
        of.cache.used_bytes
    }),
    (
        "cache_limit_bytes",
        "Maximum size of the block cache",
        |of| of.cache.limit_bytes,
    ),
    ("cache_objects", "Files with blocks in the cache", |of| {
        of.cache.objects
    }),
    ("rate_limit_per_minute", "Requests allowed a minute", |of| {
        of.rate.limit_per_minute
    }),
    ("rate_available", "Requests that could be sent now", |of| {
        of.rate.available
    }),
    ("inodes", "Inodes that the kernel holds", |of| of.inodes),
    ("handles", "Open files and folders", |of| of.handles),
];

const COUNTERS: &[Metric] = &[
    ("requests", "Requests that were sent", |of| of.rate.taken),
    ("cache_hits", "Reads that the cache served", |of| {
        of.cache.hits
    }),
    (
        "cache_misses",
        "Reads with a block missing in the cache",
        |of| of.cache.misses,
    ),
    (
        "cache_evictions",
        "Files, or parts of open files, that were evicted from the cache",
        |of| of.cache.evictions,
    ),
    (
        "cache_refused",
        "Writes refused because the cache was full",
        |of| of.cache.refused,
    ),
    (
        "cache_bad_blocks",
        "Blocks of the cache that were damaged",
        |of| of.cache.bad_blocks,
    ),
    ("uploads", "Models that the service has accepted", |of| {
        of.history.uploads
    }),
    (
        "failures",
        "Models and jobs that failed, and operations that failed with a reason",
        |of| of.history.failures,
    ),
    (
        "deletions",
        "Models that were deleted on the service through the drive",
        |of| of.history.deletions,
    ),
    (
        "fetched_bytes",
        "Bytes of files that came from the service",
        |of| of.traffic.fetched_bytes,
    ),
    (
        "read_bytes",
        "Bytes that were read through the drive; reads served by the kernel are not counted",
        |of| of.traffic.read_bytes,
    ),
    (
        "written_bytes",
        "Bytes that were written through the drive",
        |of| of.traffic.written_bytes,
    ),
];

/// The text of `/.assetfs/metrics`.
pub(super) fn text(status: &MountStatus) -> String {
    let mut text = String::new();
    for (kind, suffix, metrics) in [("gauge", "", GAUGES), ("counter", "_total", COUNTERS)] {
        for (name, help, value) in metrics {
            let (name, value) = (format!("assetfs_{name}{suffix}"), value(status));
            writeln!(
                text,
                "# HELP {name} {help}.\n# TYPE {name} {kind}\n{name} {value}"
            )
            .expect("writing to a String does not fail");
        }
    }
    text
}

fn sum(status: &MountStatus, bytes: fn(&TransferStatus) -> u64) -> u64 {
    status.transfers.iter().map(bytes).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_comment_or_a_name_with_a_number() {
        let text = text(&MountStatus::default());
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.split_once(' ').unwrap();
            assert!(
                name.starts_with("assetfs_") && value.parse::<u64>().is_ok(),
                "{line}"
            );
        }
        assert!(text.contains("assetfs_online 0\n") && text.ends_with('\n'));
    }
}
