//! Copying and saving on a real mount with many tools: undisturbed, interrupted, killed with the mount, and with lost
//! answers of the service. In every case one copy creates one asset, one job one optimization, one preset file one
//! preset.

mod accidents;
mod chaos;
mod completed;
mod copying;
mod editing;
mod extremes;
mod failing;
mod interrupted;
mod killed;
mod killed_commands;
mod leaving;
mod lost_replies;
mod mirrors;
pub mod models;
mod promises;
mod recovered;
mod replacing;
mod slow_disk;
mod tools;
mod traces;
