//! The safe face of the Basis Universal encoder; nothing else calls the library.
//!
//! It runs on the calling thread alone, so the same pixels always give the same bytes. It writes its own kind of file,
//! which [`super::basis`] reads.

use std::sync::Once;

use basis_universal_sys as library;
use library::{Compressor, CompressorParams, UastcPackFlags};

use super::super::pixels::Pixels;
use super::header::BasisCodec;

/// Of 255; above, files of ETC1S grow and hardly get better.
const ETC1S_QUALITY: i32 = 190;
/// The fast search among the modes of a block, which costs 0.3 dB and takes a third of the time of the default.
const UASTC_EFFORT: UastcPackFlags =
    library::UastcPackFlags_PackUASTCLevelFaster | library::UastcPackFlags_PackUASTCETC1FasterHints;

/// What the library allocates for one texture; freed when it is dropped.
struct BasisEncoding {
    settings: *mut CompressorParams,
    encoder: *mut Compressor,
}

impl Drop for BasisEncoding {
    #[expect(unsafe_code, reason = "a call of the library")]
    fn drop(&mut self) {
        // SAFETY: both were made by the library, and nothing refers to them any more.
        unsafe {
            library::compressor_delete(self.encoder);
            library::compressor_params_delete(self.settings);
        }
    }
}

/// Encodes the levels of a texture, the largest first, as a file of Basis Universal. Distances between colours are
/// measured as eyes see them if `is_srgb`.
#[expect(unsafe_code, reason = "calls of the library")]
pub(super) fn encode(
    levels: &[Pixels],
    codec: BasisCodec,
    is_srgb: bool,
) -> Result<Vec<u8>, String> {
    static STARTED: Once = Once::new();
    // SAFETY: the tables of the library are filled once.
    STARTED.call_once(|| unsafe { library::basisu_encoder_init() });
    // SAFETY: both constructors take no pointers; with one thread in total the library starts no others.
    let encoding = unsafe {
        BasisEncoding {
            settings: library::compressor_params_new(),
            encoder: library::compressor_new(1),
        }
    };
    let settings = encoding.settings;
    for (index, level) in levels.iter().enumerate() {
        let is_whole =
            level.rgba.len() as u64 == u64::from(level.width) * u64::from(level.height) * 4;
        if !is_whole || level.rgba.is_empty() {
            return Err("the KTX2 encoder cannot take this image".to_owned());
        }
        // SAFETY: the settings live until the end. The library makes the image, which stays where it is until the next
        // one is asked for, and copies `4 * width * height` bytes, as checked above.
        unsafe {
            let image = match index.checked_sub(1) {
                None => library::compressor_params_get_or_create_source_image(settings, 0),
                Some(smaller) => library::compressor_params_get_or_create_source_mipmap_image(
                    settings,
                    0,
                    smaller as u32,
                ),
            };
            library::image_init(image, level.rgba.as_ptr(), level.width, level.height, 4);
        }
    }
    // SAFETY: the settings and the encoder live until the end; the encoder copies the settings.
    let is_done = unsafe {
        library::compressor_params_set_status_output(settings, false);
        library::compressor_params_set_perceptual(settings, is_srgb);
        library::compressor_params_set_uastc(settings, codec == BasisCodec::Uastc);
        match codec {
            BasisCodec::Etc1s => {
                library::compressor_params_set_quality_level(settings, ETC1S_QUALITY)
            }
            BasisCodec::Uastc => {
                library::compressor_params_set_pack_uastc_flags(settings, UASTC_EFFORT)
            }
        }
        library::compressor_init(encoding.encoder, settings)
            && library::compressor_process(encoding.encoder)
                == library::basisu_basis_compressor_error_code_cECSuccess
    };
    if !is_done {
        return Err("the KTX2 encoder failed".to_owned());
    }
    // SAFETY: after success the encoder has `length` initialized bytes at `pData`, until it is deleted.
    let bytes = unsafe {
        let file = library::compressor_get_output_basis_file(encoding.encoder);
        std::slice::from_raw_parts(file.pData, file.length)
    };
    Ok(bytes.to_vec())
}
