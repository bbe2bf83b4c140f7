//! What is known of the service: listings, records, file maps, sizes. Each object is requested once at a time
//! and cached for a while; a failed request keeps what was known.

mod account;
mod archives;
mod asking;
mod blob_sizes;
mod blobs;
pub(super) mod change;
mod conversions;
mod data;
mod events;
mod flight;
mod identity;
mod listings;
mod maps;
mod models;
mod opening;
mod orphans;
mod parts;
mod pins;
mod points;
mod presets;
mod reasons;
mod results;
mod sizes;
mod source_zip;
mod staged_zips;
mod stale;
mod stored_reasons;
mod stored_soon;
mod urls;
mod versions;
mod watch;
mod webhook;

pub(super) use account::{account_value, account_value_at_hand, room_changed};
pub use archives::files_of_zip;
pub(super) use archives::{files_folder, open_member, open_member_at, zip_in};
pub(super) use asking::{note_away, probe_until_reachable, run_blocking, send_with_deadline};
pub(super) use blob_sizes::keep_len;
pub(super) use blobs::{blob_len, read_blob, report_at};
pub(super) use conversions::watch_conversions;
pub(super) use data::blobs::Blob;
pub(super) use data::flight_key::FlightKey;
pub(super) use data::listing_refs;
pub(super) use data::listing_refs::ListingRef;
pub(super) use data::staged_zips::StagedZip;
pub(super) use events::{
    follow, is_asset_by_now, record_asset_of_draft, restore_names, restore_uploaded_assets,
    shown_job_folder,
};
pub(super) use flight::FlightEnd;
pub(super) use identity::{ModelView, hidden_path, model_path, shown_as, subject_of};
pub(super) use listings::freshness::{is_listed, is_stale, mark_stale, subscribe_to_pages};
pub(super) use listings::records::{asset_gone, embed_gone, keep_for_good, rapid_gone, write_tags};
pub(super) use listings::search::{NameAnswer, ask_for_name, found, listed_model};
pub(super) use listings::{begin_first_listing, confirm_listing, refresh_listing};
pub(super) use maps::store::{known_map, rapid_ended, rapid_is_final};
pub(super) use maps::{content_count, file_map, learn_folders, mark_files_stale};
pub(super) use models::{
    detail_text, forget_detail, fresh_text, keep_detail, keep_detail_text, known_asset,
    known_rapid, mark_rapids_stale, rapids_of, refresh_asset, refresh_rapid,
};
pub(super) use orphans::refresh_orphans;
pub(super) use parts::{Catalog, OnChange};
pub(super) use pins::keep_pins;
pub(super) use points::{POINTS_OF_A_RESULT, points_spent};
pub(super) use presets::{preset_gone, preset_overlay};
pub(super) use reasons::{asset_failure, asset_status, learn_reason, model_status, rapid_status};
pub(super) use results::{done_result, learn_results_of, results_by_text};
pub(super) use sizes::{
    content_of, join_first_block_fetch, known_content, refetch_changed_content,
};
pub(super) use source_zip::{source_zip, source_zip_len, source_zip_name};
pub(super) use staged_zips::{open_staged_member, staged_zip};
pub(super) use stale::{
    StaleCheck, StaleText, learn_versions, newer_result, stale_count, stale_texts,
};
pub(super) use stored_reasons::forget_reason;
pub(super) use stored_soon::store_soon;
pub(super) use urls::remote_file;
pub(super) use versions::{
    asset_with_source, first_version, model_like, newest_version, replaced_models,
};
pub(super) use watch::{look_at, was_listed, watch};
pub(super) use webhook::{Receiver, take_hint};
