//! Fuzzes the decoder of AVIF images.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| assetfs_fuzz::decode_image(data));
