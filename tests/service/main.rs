//! Tests of the local service over HTTP.

mod account_end;
mod admin;
mod archives;
mod bad_input;
mod browser;
mod bucket;
mod chaos;
mod config_keys;
mod connections;
mod database_access;
mod deliveries;
mod deployment;
mod embeds;
#[path = "../support/fault_server/mod.rs"]
mod fault_server;
mod foreign_files;
mod formats;
mod full_disk;
mod hostile;
mod http_rules;
mod joined_uploads;
mod kill_9;
mod later_pictures;
mod leases;
mod left_overs;
mod listings;
mod main_job;
#[path = "../../crates/engine/tests/engine_mutations/mutate.rs"]
mod mutate;
mod mutated_requests;
mod name_rules;
mod one_model;
mod outages;
mod pooler;
mod presets;
mod progress;
mod quotas;
mod races;
mod rates;
mod real_engine;
#[path = "../support/s3.rs"]
mod s3;
#[path = "../support/samples.rs"]
mod samples;
mod shared_records;
mod sign_in_link;
#[path = "../support/skip.rs"]
mod skip;
mod spec_forms;
#[path = "../support/square_glb.rs"]
mod square_glb;
mod stale;
mod start_page;
mod support;
#[path = "../support/test_records.rs"]
mod test_records;
mod time_left;
mod tls;
#[path = "../support/tmpfs.rs"]
mod tmpfs;
mod tokens;
mod uploads;
mod version_1;
mod webhooks;
mod worker_process;
mod workers;
#[path = "../support/zips.rs"]
mod zips;
