//! Every way in, on a real mount: the tools that people copy and save with, left alone, interrupted,
//! killed with the mount, and with answers of the service lost. Whatever happens, one copy makes one
//! asset, one job one optimization, one preset file one preset.

mod accidents;
mod chaos;
mod completed;
mod copying;
mod editing;
mod extremes;
mod failing;
mod interrupted;
mod killed;
mod leaving;
mod lost_replies;
pub mod models;
mod promises;
mod recovered;
mod slow_disk;
mod tools;
