//! Fuzzes rebaking, with glb files.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| assetfs_fuzz::rebake_bytes(data));
