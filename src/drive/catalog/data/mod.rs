//! The data of the catalog: the data in memory, and how they are stored across mounts. These files know no requests
//! and no other file of the catalog.

pub(super) mod archives;
pub(super) mod blobs;
pub(super) mod file_maps;
pub(super) mod flight_key;
pub(super) mod known;
pub mod listing_refs;
pub(super) mod reach;
pub(super) mod staged_zips;
pub(super) mod stale_count;
pub(super) mod stored_listings;
pub(super) mod watched;
