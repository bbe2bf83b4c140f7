//! The safe face of libwebp's encoder; nothing else calls the library.

use std::mem::MaybeUninit;

use libwebp_sys::{
    WebPConfig, WebPEncode, WebPMemoryWrite, WebPMemoryWriter, WebPMemoryWriterClear,
    WebPMemoryWriterInit, WebPPicture, WebPPictureFree, WebPPictureImportRGBA, WebPValidateConfig,
};

use super::super::pixels::Pixels;

/// How exact the encoder is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Quality {
    Lossy(Lossy),
    /// Exact, also under transparent pixels; the effort is 0 to 100.
    Lossless(f32),
}

/// How much is lost. Differences between channels always have half the resolution.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lossy {
    /// From 0 to 100.
    pub(super) quality: f32,
    /// Whether these differences are chosen for the light of each pixel, which keeps edges of colours.
    pub(super) sharp: bool,
    /// Whether images with much detail get more bytes, as they do in JPEG.
    pub(super) detailed: bool,
}

/// The slowest search, of 0 to 6: several percent fewer bytes than the library's 4.
const LOSSY_METHOD: i32 = 6;
/// The same for images with alpha, which the slowest search packs in every way that it knows: 512 by 512 pixels took 9 s.
const LOSSY_METHOD_WITH_ALPHA: i32 = 5;

/// What the library allocates for one image; freed when it is dropped.
struct WebpEncoding {
    picture: WebPPicture,
    writer: WebPMemoryWriter,
}

impl Drop for WebpEncoding {
    #[expect(unsafe_code, reason = "a call of the library")]
    fn drop(&mut self) {
        // SAFETY: both were initialized by the library, and nothing refers to their memory any more.
        unsafe {
            WebPPictureFree(&mut self.picture);
            WebPMemoryWriterClear(&mut self.writer);
        }
    }
}

/// Encodes an image.
#[expect(unsafe_code, reason = "calls of the library")]
pub(super) fn encode(pixels: &Pixels, quality: Quality) -> Result<Vec<u8>, String> {
    let started = |_: ()| "the WebP encoder did not start".to_owned();
    let mut config = WebPConfig::new().map_err(started)?;
    match quality {
        Quality::Lossy(lossy) => {
            config.quality = lossy.quality;
            config.use_sharp_yuv = lossy.sharp.into();
            config.emulate_jpeg_size = lossy.detailed.into();
            config.method = match pixels.has_alpha() {
                true => LOSSY_METHOD_WITH_ALPHA,
                false => LOSSY_METHOD,
            };
        }
        Quality::Lossless(effort) => (config.lossless, config.quality) = (1, effort),
    }
    config.exact = 1;
    let (width, height) = (pixels.width as usize, pixels.height as usize);
    let is_whole = width < 1 << 15 && height < 1 << 15 && pixels.rgba.len() == width * height * 4;
    // SAFETY: the configuration was initialized above.
    if !is_whole || unsafe { WebPValidateConfig(&config) } == 0 {
        return Err("the WebP encoder cannot take this image".to_owned());
    }
    let mut writer = MaybeUninit::uninit();
    let mut encoding = WebpEncoding {
        picture: WebPPicture::new().map_err(started)?,
        writer: {
            // SAFETY: the function initializes what it gets.
            unsafe {
                WebPMemoryWriterInit(writer.as_mut_ptr());
                writer.assume_init()
            }
        },
    };
    encoding.picture.use_argb = 1;
    encoding.picture.width = width as i32;
    encoding.picture.height = height as i32;
    encoding.picture.writer = Some(WebPMemoryWrite);
    encoding.picture.custom_ptr = (&raw mut encoding.writer).cast();
    // SAFETY: the pixels are `height` rows of `4 * width` bytes, as checked above. The writer lives as long as the
    // picture that points to it, and neither moves before the call ends.
    let is_done = unsafe {
        WebPPictureImportRGBA(
            &mut encoding.picture,
            pixels.rgba.as_ptr(),
            width as i32 * 4,
        ) != 0
            && WebPEncode(&config, &mut encoding.picture) != 0
    };
    if !is_done {
        let why = encoding.picture.error_code;
        return Err(format!("the WebP encoder failed: {why:?}"));
    }
    // SAFETY: after success the writer has `size` initialized bytes at `mem`.
    let bytes = unsafe { std::slice::from_raw_parts(encoding.writer.mem, encoding.writer.size) };
    Ok(bytes.to_vec())
}
