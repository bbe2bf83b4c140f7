//! The safe face of the AV1 decoder rav1d; nothing else calls the library.
//!
//! It runs on the calling thread alone.

use std::mem::MaybeUninit;
use std::ptr::NonNull;

use re_rav1d::include::dav1d::data::Dav1dData;
use re_rav1d::include::dav1d::dav1d::{Dav1dContext, Dav1dLogger, Dav1dSettings};
use re_rav1d::include::dav1d::headers::{
    DAV1D_PIXEL_LAYOUT_I400, DAV1D_PIXEL_LAYOUT_I420, DAV1D_PIXEL_LAYOUT_I422, Dav1dSequenceHeader,
};
use re_rav1d::include::dav1d::picture::Dav1dPicture;
use re_rav1d::src::lib as library;

use super::container::ColourDescription;

/// What the library allocates for one image; freed when it is dropped.
struct Av1Decoding {
    decoder: Option<Dav1dContext>,
    data: Dav1dData,
}

impl Drop for Av1Decoding {
    #[expect(unsafe_code, reason = "calls of the library")]
    fn drop(&mut self) {
        // SAFETY: both were made by the library, and nothing refers to their memory any more.
        unsafe {
            library::dav1d_data_unref(Some(NonNull::from(&mut self.data)));
            library::dav1d_close(Some(NonNull::from(&mut self.decoder)));
        }
    }
}

/// A decoded image: brightness and, unless it is grey, two differences of colours.
pub(super) struct Av1Frame {
    picture: Dav1dPicture,
}

impl Drop for Av1Frame {
    #[expect(unsafe_code, reason = "a call of the library")]
    fn drop(&mut self) {
        // SAFETY: the library made the picture, and rows of it are only lent.
        unsafe { library::dav1d_picture_unref(Some(NonNull::from(&mut self.picture))) }
    }
}

/// Decodes the first image of AV1 data. An image with more than `max_pixels` is refused before memory is allocated for it.
#[expect(unsafe_code, reason = "calls of the library")]
pub(super) fn decode(data: &[&[u8]], max_pixels: u32) -> Result<Av1Frame, String> {
    let failed = |_| "the AV1 data is damaged".to_owned();
    let mut settings = MaybeUninit::<Dav1dSettings>::uninit();
    // SAFETY: the function initializes what it gets. Without a callback the logger is never called.
    let mut settings = unsafe {
        library::dav1d_default_settings(NonNull::from(&mut settings).cast());
        let mut settings = settings.assume_init();
        settings.logger = Dav1dLogger::new(None, None);
        settings
    };
    settings.n_threads = 1;
    settings.max_frame_delay = 1;
    settings.all_layers = 0;
    settings.frame_size_limit = max_pixels;
    let mut decoding = Av1Decoding {
        decoder: None,
        data: Dav1dData::default(),
    };
    let len: usize = data.iter().map(|part| part.len()).sum();
    let joined = data.concat();
    // SAFETY: decoder and settings live during the call. The library allocates `len` bytes, which are all written.
    unsafe {
        let (decoder, settings) = (&mut decoding.decoder, &mut settings);
        let opened =
            library::dav1d_open(Some(NonNull::from(decoder)), Some(NonNull::from(settings)));
        let place = library::dav1d_data_create(Some(NonNull::from(&mut decoding.data)), len);
        if opened.0 != 0 || place.is_null() {
            return Err("the AV1 decoder did not start".to_owned());
        }
        place.copy_from_nonoverlapping(joined.as_ptr(), len);
    }
    // SAFETY: the decoder is open, and the data was made by the library.
    let sent = unsafe {
        library::dav1d_send_data(decoding.decoder, Some(NonNull::from(&mut decoding.data)))
    };
    let mut frame = Av1Frame {
        picture: Dav1dPicture::default(),
    };
    // SAFETY: the decoder is open, and writes the picture.
    let taken = unsafe {
        library::dav1d_get_picture(decoding.decoder, Some(NonNull::from(&mut frame.picture)))
    };
    for result in [sent.0, taken.0] {
        (result == 0).then_some(()).ok_or(result).map_err(failed)?;
    }
    Ok(frame)
}

impl Av1Frame {
    /// Width and height.
    pub(super) fn size(&self) -> (u32, u32) {
        (self.picture.p.w as u32, self.picture.p.h as u32)
    }

    /// The bits of a sample: 8, 10 or 12.
    pub(super) fn bits(&self) -> u32 {
        self.picture.p.bpc as u32
    }

    /// By how many bits columns and rows of the differences of colours are fewer; `None` if the image is grey.
    pub(super) fn subsampling(&self) -> Option<(u32, u32)> {
        match self.picture.p.layout {
            DAV1D_PIXEL_LAYOUT_I400 => None,
            DAV1D_PIXEL_LAYOUT_I420 => Some((1, 1)),
            DAV1D_PIXEL_LAYOUT_I422 => Some((1, 0)),
            _ => Some((0, 0)),
        }
    }

    /// What the data itself says of its colours.
    #[expect(unsafe_code, reason = "the library hands out a pointer")]
    pub(super) fn description(&self) -> Option<ColourDescription> {
        // SAFETY: a picture holds its sequence header until it is released.
        let header: &Dav1dSequenceHeader = unsafe { self.picture.seq_hdr?.as_ref() };
        Some(ColourDescription {
            matrix: header.mtrx,
            is_full_range: header.color_range != 0,
        })
    }

    /// The samples of a row; plane 0 is brightness. `None` if the image has no such row.
    #[expect(unsafe_code, reason = "the library hands out a pointer")]
    pub(super) fn row(&self, plane: usize, row: u32) -> Option<Vec<u16>> {
        let (width, height) = self.size();
        let (columns, rows) = match plane {
            0 => (width, height),
            _ => {
                let (across, down) = self.subsampling()?;
                (width.div_ceil(1 << across), height.div_ceil(1 << down))
            }
        };
        if row >= rows {
            return None;
        }
        let start = (*self.picture.data.get(plane)?)?.cast::<u8>();
        let stride = self.picture.stride[plane.min(1)];
        // SAFETY: the plane has `rows` rows of `columns` samples, `stride` bytes apart, which are initialized and stay
        // until the picture is released. Rows of 16-bit samples start at multiples of 64 bytes.
        unsafe {
            let first = start.offset(stride * row as isize);
            Some(match self.bits() {
                8 => std::slice::from_raw_parts(first.as_ptr(), columns as usize)
                    .iter()
                    .map(|sample| u16::from(*sample))
                    .collect(),
                _ => std::slice::from_raw_parts(first.cast::<u16>().as_ptr(), columns as usize)
                    .to_vec(),
            })
        }
    }
}
