//! Fuzzes the decoder of KTX2 images.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| assetfs_fuzz::decode_image(data));
