//! API calls: retries, errors, tokens.

mod effects;
mod repeated;
mod what_is_sent;

use assetfs::client::Priority;

const I: Priority = Priority::Interactive;
