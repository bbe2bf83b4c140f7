//! Fuzzes the importer of USD: layers as text.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| assetfs_fuzz::import_bytes("m.usda", data));
