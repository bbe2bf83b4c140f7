//! How a local service does its jobs: the options that `serve` and `mount --local` share.

use serde::{Deserialize, Serialize};

/// Options for the jobs of a local service.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
pub(super) struct JobArgs {
    /// How many jobs of the local service run here at the same time; with 0, other processes do them (assetfs
    /// engine-worker) [default: 1]
    #[arg(long, value_name = "N")]
    pub(super) workers: Option<usize>,
    /// Let the local service render no thumbnails and views and compare nothing: faster, if only the files are needed
    #[arg(long)]
    pub(super) no_pictures: bool,
}

impl JobArgs {
    /// Whether none is given.
    pub(super) fn is_default(&self) -> bool {
        self.workers.is_none() && !self.no_pictures
    }
}
