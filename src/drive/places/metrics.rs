//! The state of a mount in the text form that Prometheus reads.

use std::fmt::Write as _;

use crate::drive::status::MountStatus;

/// The text of `/.assetfs/metrics`.
pub(super) fn text(status: &MountStatus) -> String {
    let stuck = status.drafts.iter().filter(|draft| draft.stuck).count();
    let sent: u64 = status.transfers.iter().map(|it| it.done_bytes).sum();
    let total: u64 = status.transfers.iter().map(|it| it.total_bytes).sum();
    let gauges: [(&str, &str, u64); 15] = [
        (
            "online",
            "1 while the service can be reached",
            status.online.into(),
        ),
        (
            "drafts",
            "Models on their way in",
            status.drafts.len() as u64,
        ),
        (
            "drafts_stuck",
            "Models that do not go on without help",
            stuck as u64,
        ),
        (
            "transfers",
            "Files that move now",
            status.transfers.len() as u64,
        ),
        ("transfer_done_bytes", "Bytes of them that have moved", sent),
        ("transfer_total_bytes", "Bytes of them in all", total),
        (
            "jobs",
            "Jobs of drop folders that are not done",
            status.jobs.len() as u64,
        ),
        (
            "orphans",
            "Uploads that began without an answer",
            status.orphans.len() as u64,
        ),
        (
            "cache_used_bytes",
            "Bytes in the block cache",
            status.cache.used_bytes,
        ),
        (
            "cache_limit_bytes",
            "Bytes that the block cache may take",
            status.cache.limit_bytes,
        ),
        (
            "cache_objects",
            "Files of which the block cache holds something",
            status.cache.objects,
        ),
        (
            "rate_limit_per_minute",
            "Requests allowed a minute",
            status.rate.limit_per_minute,
        ),
        (
            "rate_available",
            "Requests that could go out now",
            status.rate.available,
        ),
        ("inodes", "Inodes that the kernel holds", status.inodes),
        ("handles", "Open files and folders", status.handles),
    ];
    let mut text = String::new();
    for (name, help, value) in gauges {
        writeln!(
            text,
            "# HELP assetfs_{name} {help}.\n# TYPE assetfs_{name} gauge\nassetfs_{name} {value}"
        )
        .expect("writing to a String does not fail");
    }
    let (cache, traffic) = (&status.cache, &status.traffic);
    let counters: [(&str, &str, u64); 9] = [
        ("requests", "Requests that went out", status.rate.taken),
        ("cache_hits", "Reads that the cache served", cache.hits),
        (
            "cache_misses",
            "Reads that lacked a block in the cache",
            cache.misses,
        ),
        (
            "cache_evictions",
            "Files, or parts of open ones, that left the cache",
            cache.evictions,
        ),
        (
            "cache_refused",
            "Times that the cache had no room",
            cache.refused,
        ),
        (
            "cache_bad_blocks",
            "Blocks of the cache that were damaged",
            cache.bad_blocks,
        ),
        (
            "fetched_bytes",
            "Bytes of files that came from the service",
            traffic.fetched_bytes,
        ),
        (
            "read_bytes",
            "Bytes that were read through the drive; what the kernel serves is not counted",
            traffic.read_bytes,
        ),
        (
            "written_bytes",
            "Bytes that were written through the drive",
            traffic.written_bytes,
        ),
    ];
    for (name, help, value) in counters {
        writeln!(
            text,
            "# HELP assetfs_{name}_total {help}.\n\
             # TYPE assetfs_{name}_total counter\nassetfs_{name}_total {value}"
        )
        .expect("writing to a String does not fail");
    }
    text
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
