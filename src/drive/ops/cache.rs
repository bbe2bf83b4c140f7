//! What the commands ask of the block cache on a running mount: its state, clearing, verifying, pins.

use std::sync::{Arc, Mutex};

use crate::cache::VerifyReport;
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::places::resolve;
use crate::drive::shared::Shared;
use crate::drive::status::{CacheStatus, VerifyStatus};

/// The verification that was asked for last.
#[derive(Debug, Default)]
pub(in crate::drive) struct Verification(Mutex<VerifyStatus>);

impl Verification {
    fn status(&self) -> VerifyStatus {
        self.0
            .lock()
            .expect("no panic while a report is held")
            .clone()
    }

    /// False while one is under way.
    fn begin(&self) -> bool {
        let mut status = self.0.lock().expect("no panic while a report is held");
        let begins = !status.running;
        status.running = true;
        begins
    }

    fn end(&self, report: VerifyReport) {
        let mut status = self.0.lock().expect("no panic while a report is held");
        *status = VerifyStatus {
            running: false,
            done: status.done + 1,
            objects: report.objects,
            blocks: report.blocks,
            bad_blocks: report.bad_blocks,
        };
    }
}

impl Shared {
    pub(in crate::drive) fn cache_status(&self) -> CacheStatus {
        let stats = self.cache.stats();
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
            disk_shortage: self.cache.disk_shortage(),
            pins: self
                .cache
                .pins()
                .iter()
                .map(|pin| self.pinned_path(pin))
                .collect(),
            verify: self.verification.status(),
        }
    }

    /// Drops everything that is cached, pinned or not; pins stay and hold for what comes.
    pub(in crate::drive) async fn clear_cache(&self) -> DriveResult<()> {
        let cache = self.cache.clone();
        self.blocking(move || {
            cache.clear();
            Ok(())
        })
        .await
    }

    /// Begins to compare everything that is cached with its checksums; the status tells the end.
    pub(in crate::drive) fn verify_cache(self: &Arc<Self>) {
        if self.verification.begin() {
            let shared = Arc::clone(self);
            self.runtime.spawn_blocking(move || {
                let report = shared.cache.verify();
                shared.verification.end(report);
            });
        }
    }

    pub(in crate::drive) async fn pin(self: &Arc<Self>, path: &str) -> DriveResult<()> {
        let prefix = resolve(self, path).await?.cache_name(self)?;
        let cache = self.cache.clone();
        self.blocking(move || cache.pin(&prefix).map_err(local))
            .await
    }

    pub(in crate::drive) async fn unpin(self: &Arc<Self>, path: &str) -> DriveResult<()> {
        let prefix = resolve(self, path).await?.cache_name(self)?;
        let cache = self.cache.clone();
        self.blocking(move || cache.unpin(&prefix).map_err(local))
            .await
    }

    /// Work that keeps the local disk busy, away from the threads that answer everybody.
    pub(in crate::drive) async fn blocking(
        &self,
        work: impl FnOnce() -> DriveResult<()> + Send + 'static,
    ) -> DriveResult<()> {
        self.runtime
            .spawn_blocking(work)
            .await
            .unwrap_or_else(|_| Err(DriveError::Local("the drive failed inside".into())))
    }

    /// The path of what a pin keeps, or the pin itself where nothing of that name is known.
    fn pinned_path(&self, pin: &str) -> String {
        let path = || {
            let (family, rest) = pin.split_once('/')?;
            let (id, rest) = rest.split_once('/').unwrap_or((rest, ""));
            let top = match family {
                "raw" => {
                    let home = self.home_of(id.parse().ok()?);
                    format!("rawmodels/{}", self.model_name(home)?)
                }
                "rapid" => format!("rapidmodels/{}", self.rapid_name(id.parse().ok()?)?),
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
}

fn local(error: crate::cache::CacheError) -> DriveError {
    DriveError::Local(error.to_string())
}
