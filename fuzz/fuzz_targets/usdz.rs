//! Fuzzes the importer of USD: packages.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| assetfs_fuzz::import_bytes("m.usdz", data));
