//! Sending drafts: what is sent ([`manifest`]), its bytes ([`body`], [`zip`]), the executor that does
//! what the planner says ([`run`], with its steps in [`start`], [`put`] and [`import`]), comparing
//! afterwards ([`verify`]), deleting what nobody wants ([`discard`]) or somebody deletes ([`deletion`]), and what a person asks for
//! ([`ops`], [`drain`], [`orphans`]), how fast it goes ([`rate`]). URLs outlive a restart under a seal ([`seal`]).

pub mod body;
mod deletion;
pub mod discard;
mod drain;
mod import;
pub mod info;
pub mod manifest;
mod ops;
mod orphans;
pub mod plan;
mod put;
pub mod rate;
mod run;
pub mod seal;
mod start;
mod verify;
pub mod zip;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tokio::sync::{Notify, watch};

use crate::outbox::drafts::activity::LiveUpload;
use crate::outbox::ids::DraftId;
use crate::outbox::shared::Shared;

/// Starts or takes up the upload of a draft, unless it runs. `generation` is that of the draft when
/// it was found ready: if it changed since, nothing happens.
pub fn begin(shared: &Arc<Shared>, draft: DraftId, generation: u64) {
    let mut core = shared.core();
    if !core.state.drafts.contains_key(&draft) {
        return;
    }
    let activity = core.activity(draft);
    if activity.upload.is_some() || activity.generation != generation {
        return;
    }
    let stop = watch::Sender::new(false);
    let live = LiveUpload {
        sent: Arc::new(AtomicU64::new(0)),
        total: 0,
        files_sent: 0,
        files: 0,
        objects: Arc::default(),
        rate: Arc::default(),
        stop,
        poke: Arc::new(Notify::new()),
    };
    activity.upload = Some(live.clone());
    drop(core);
    let task = run::Upload::new(Arc::clone(shared), draft, live);
    shared.spawn(task.run());
}
