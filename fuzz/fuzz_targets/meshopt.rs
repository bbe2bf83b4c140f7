//! Bytes of a GLB file; the corpus holds data packed with meshopt.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| assetfs_fuzz::import_bytes("m.glb", data));
