//! Fuzzes the materials of a small OBJ file.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| assetfs_fuzz::import_materials(data));
