//! The part of `status.json` about the block cache.

use crate::drive::status::CacheStatus;
use crate::drive::tree::Tree;

pub(super) fn cache_status(tree: &Tree) -> CacheStatus {
    let stats = tree.cache().stats();
    CacheStatus {
        used_bytes: stats.bytes,
        limit_bytes: stats.max_bytes,
        objects: stats.objects,
        hits: stats.hits,
        misses: stats.misses,
        evictions: stats.evictions,
        refused: stats.refused,
        bad_blocks: stats.bad_blocks,
        is_taken_up: stats.is_taken_up,
        disk_shortage: tree.cache().disk_shortage(),
        pins: tree
            .cache()
            .pins()
            .iter()
            .map(|pin| pinned_path(tree, pin))
            .collect(),
        verify: tree.verification().status(),
    }
}

/// The path that a pin keeps, or the pin itself if nothing of that name is known.
fn pinned_path(tree: &Tree, pin: &str) -> String {
    let path = || {
        let (family, rest) = pin.split_once('/')?;
        let (id, rest) = rest.split_once('/').unwrap_or((rest, ""));
        let top = match family {
            "raw" => {
                let home = tree.catalog().home_of(id.parse().ok()?);
                format!("rawmodels/{}", tree.catalog().model_name(home)?)
            }
            "rapid" => format!(
                "rapidmodels/{}",
                tree.catalog().rapid_name(id.parse().ok()?)?
            ),
            _ => return None,
        };
        let rest = rest.strip_prefix("files").unwrap_or(rest);
        let rest = rest.trim_start_matches('/');
        Some(match rest {
            "" => top,
            rest => format!("{top}/{rest}"),
        })
    };
    match pin {
        "raw" => "rawmodels".to_owned(),
        "rapid" => "rapidmodels".to_owned(),
        _ => path().unwrap_or_else(|| pin.to_owned()),
    }
}
