//! Fuzzes the glb that the reader of CAD files hands over.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| assetfs_fuzz::import_bytes("m.glb", data));
