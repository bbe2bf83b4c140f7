//! Fuzzes GLB files with Draco data.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| assetfs_fuzz::import_bytes("m.glb", data));
