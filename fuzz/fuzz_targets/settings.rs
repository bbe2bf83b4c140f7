//! Fuzzes configurations.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| assetfs_fuzz::read_settings(data));
