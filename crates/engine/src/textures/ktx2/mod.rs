//! KTX2 files with Basis Universal images, the only ones that `KHR_texture_basisu` allows: ETC1S packed with BasisLZ, and
//! UASTC, plain or packed with Zstandard.
//!
//! Files are written by the encoder of Basis Universal (C++); its files have the same parts as KTX2 and are repacked here.
//!
//! The header is checked here before the transcoder reads the file, because the transcoder trusts its offsets and lengths.

mod basis;
mod calls;
mod container;
mod encode;
mod header;

use std::panic::{AssertUnwindSafe, catch_unwind};

use basisu::{DecodeFlags, TargetFormat, Transcoder};

pub(super) use encode::{encode, size_of};
pub(super) use header::Ktx2Header;

/// Decodes the largest level to eight bits for red, green, blue and alpha.
pub(super) fn decode(bytes: &[u8]) -> Result<Vec<u8>, String> {
    Ktx2Header::read(bytes)?;
    // The transcoder should return an error for damaged data; a panic in it becomes a reason as well.
    catch_unwind(AssertUnwindSafe(|| {
        Transcoder::new(bytes)
            .and_then(|texture| texture.transcode(0, TargetFormat::Rgba32, DecodeFlags::NONE))
            .map_err(|error| format!("the KTX2 data is damaged: {error:?}"))
    }))
    .unwrap_or_else(|_| Err("the KTX2 data is damaged: the transcoder failed".to_owned()))
}
