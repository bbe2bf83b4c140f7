//! Fuzzes the decoder of WebP images.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| assetfs_fuzz::decode_image(data));
