//! How a local service does its jobs: the options that `serve` and `mount --local` share.

use serde::{Deserialize, Serialize};

/// Options for the jobs of a local service.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
pub(super) struct JobArgs {
    /// How many jobs of the local service run here at the same time; with 0, other processes do them (assetfs
    /// engine-worker) [default: 1]
    #[arg(long, value_name = "N")]
    pub(super) workers: Option<usize>,
    /// When the local service renders thumbnails and views of results and compares them with their sources. With
    /// `later`, a result of a small model is done when its files are there; pictures and similarity follow [default: now]
    #[arg(long, value_name = "WHEN")]
    pub(super) pictures: Option<PictureTime>,
    /// Let the local service render no thumbnails and views and compare nothing: faster, if only the files are needed
    #[arg(long, conflicts_with = "pictures")]
    pub(super) no_pictures: bool,
}

/// When pictures are rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
pub(super) enum PictureTime {
    /// Before a result is done
    Now,
    /// After a result is done
    Later,
}

impl JobArgs {
    /// Whether none is given.
    pub(super) fn is_default(&self) -> bool {
        self.workers.is_none() && self.pictures.is_none() && !self.no_pictures
    }
}
