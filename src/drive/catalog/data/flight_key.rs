//! What a request is for: requests with the same key share one flight.

use std::sync::Arc;

use crate::drive::catalog::data::blobs::Blob;
use crate::drive::values::node::{AccountFile, Family, ListingKind, RemoteFolder};
use crate::wire::{AssetId, EmbedId, ModelId, RapidId};

/// Identifies a fetch.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FlightKey {
    /// A whole listing.
    Listing(ListingKind),
    /// The results of a query.
    Search(Family, Arc<str>),
    /// One source model.
    Asset(AssetId),
    /// One optimized model.
    Rapid(RapidId),
    /// The optimized models of a source model.
    RapidsOf(AssetId),
    /// The files of a folder of the service.
    Files(RemoteFolder),
    /// The size of one file.
    Size(RemoteFolder, Arc<str>),
    /// A value of the account.
    Account(AccountFile),
    /// The exports of an optimized model.
    Exports(RapidId),
    /// The categories of presets.
    Categories,
    /// The conversions of a source model.
    Formats(AssetId),
    /// The tags of a family.
    Tags(Family),
    /// The record of an embed.
    Embed(EmbedId),
    /// A small file that the service generates.
    Blob(Blob),
    /// Why a model failed.
    Reason(ModelId),
    /// Running optimizations.
    RunningJobs,
    /// Unfinished uploads.
    Orphans,
}
