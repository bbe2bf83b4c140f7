//! What is known of the service: listings, records, file maps, sizes. Each object is requested once at a time
//! and cached for a while; a failed request keeps what was known.

mod account;
mod archives;
mod asking;
mod blobs;
pub(super) mod change;
mod conversions;
mod events;
mod flight;
mod listings;
mod maps;
mod models;
mod orphans;
mod presets;
mod reasons;
mod sizes;
mod source_zip;
mod staged_zips;
mod state;
mod urls;
mod watch;
mod webhook;

pub(super) use account::{account_value, account_value_at_hand, room_changed};
pub(super) use archives::{files_folder, open_member, open_member_at, zip_in};
pub(super) use asking::{FlightKey, asked, blocking};
pub(super) use blobs::{Blob, blob_len, keep_len, read_blob, report_at};
pub(super) use conversions::watch_conversions;
pub(super) use events::{became, follow, is_asset_by_now, recall_made};
pub(super) use flight::FlightEnd;
pub(super) use listings::changes::{asset_gone, embed_gone, rapid_gone, write_tags};
pub(super) use listings::search::{NameAnswer, ask_for_name, found, listed_model};
pub(super) use listings::store::keep_for_good;
pub(super) use listings::{
    begin_first_listing, confirmed, doubt, is_listed, is_stale, news_of_pages, refreshed,
};
pub(super) use maps::told::rapid_is_final;
pub(super) use maps::{
    content_count, doubt_files, file_map, known_map, learn_folders, rapid_ended,
};
pub(super) use models::{
    detail_text, doubt_rapids_of, fresh_text, hidden_path, keep_detail, keep_detail_text,
    known_rapid, model_path, rapids_of, refreshed_asset, refreshed_rapid, shown_as, subject_of,
};
pub(super) use orphans::refresh_orphans;
pub(super) use presets::{preset_gone, preset_overlay};
pub(super) use reasons::{asset_failure, forget_reason, learn_reason, model_status, rapid_status};
pub(super) use sizes::{content_changed, content_of, first_block_landing, known_content};
pub(super) use source_zip::{source_zip, source_zip_len, source_zip_name};
pub(super) use staged_zips::{StagedZip, open_staged_member, staged_zip};
pub(super) use state::{Catalog, Known, ModelView, OnChange};
pub(super) use urls::remote_file;
pub(super) use watch::{look_at, was_listed, watch};
pub(super) use webhook::Receiver;
