//! Makes one image from channels of several: glTF keeps roughness and metalness in one image, and alpha in that of the
//! base colour.

use std::io::Cursor;

use bytes::Bytes;
use image::imageops::{FilterType, resize};
use image::{DynamicImage, GrayImage, ImageReader, Limits, RgbImage, RgbaImage};

use super::images::as_png;
use assetfs_render::{linear_of_srgb, srgb_of_linear};

/// A channel of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ImageChannel {
    Red,
    Green,
    Blue,
    Alpha,
    /// The brightness of the colour.
    Luma,
}

/// A conversion of values between 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Curve {
    SrgbToLinear,
    LinearToSrgb,
}

impl Curve {
    fn apply(self, value: f32) -> f32 {
        match self {
            Curve::SrgbToLinear => linear_of_srgb(value),
            Curve::LinearToSrgb => srgb_of_linear(value),
        }
    }
}

/// A channel of an encoded image; `None` is 255 everywhere.
pub(super) type ChannelSource<'a> = Option<(&'a [u8], ImageChannel)>;

/// A PNG with these channels: red, green, blue and perhaps alpha. Images of other sizes are scaled to the largest. Errors
/// name what cannot be decoded.
pub(super) fn combined(
    colors: [ChannelSource<'_>; 3],
    alpha: ChannelSource<'_>,
) -> Result<Bytes, String> {
    let [red, green, blue] = colors.map(|source| source.map(channel).transpose());
    let planes = [red?, green?, blue?, alpha.map(channel).transpose()?];
    let size = planes.iter().flatten().map(GrayImage::dimensions);
    let (width, height) = size.fold((1, 1), |most, size| {
        (most.0.max(size.0), most.1.max(size.1))
    });
    let fit = |image: Option<GrayImage>| match image {
        None => GrayImage::from_pixel(width, height, image::Luma([255])),
        Some(image) if image.dimensions() == (width, height) => image,
        Some(image) => resize(&image, width, height, FilterType::Triangle),
    };
    let [red, green, blue, opacity] = planes.map(fit);
    let value = |plane: &GrayImage, x, y| plane.get_pixel(x, y)[0];
    let colour = |x, y| [value(&red, x, y), value(&green, x, y), value(&blue, x, y)];
    let combined = match alpha {
        None => RgbImage::from_fn(width, height, |x, y| image::Rgb(colour(x, y))).into(),
        Some(_) => RgbaImage::from_fn(width, height, |x, y| {
            let [red, green, blue] = colour(x, y);
            image::Rgba([red, green, blue, value(&opacity, x, y)])
        })
        .into(),
    };
    as_png(&combined)
}

/// A PNG of a channel, converted and then with a factor and a summand, in all its channels.
pub(super) fn shifted(
    source: (&[u8], ImageChannel),
    curve: Option<Curve>,
    [factor, summand]: [f32; 2],
) -> Result<Bytes, String> {
    let mut plane = channel(source)?;
    for pixel in plane.pixels_mut() {
        let value = f32::from(pixel[0]) / 255.0;
        let value = curve.map_or(value, |curve| curve.apply(value)) * factor + summand;
        pixel[0] = (value.clamp(0.0, 1.0) * 255.0).round() as u8;
    }
    as_png(&plane.into())
}

/// A PNG of an image whose colours are converted; alpha is kept.
pub(super) fn converted(bytes: &[u8], curve: Curve) -> Result<Bytes, String> {
    let mut pixels = decoded(bytes)?.into_rgba32f();
    for pixel in pixels.pixels_mut() {
        for value in &mut pixel.0[..3] {
            *value = curve.apply(value.clamp(0.0, 1.0));
        }
    }
    as_png(&DynamicImage::from(pixels).into_rgba8().into())
}

/// The channel that an image of opacity has its values in: alpha if it has one that is not opaque everywhere, else its
/// brightness.
pub(super) fn mask_channel(bytes: &[u8]) -> Result<ImageChannel, String> {
    let image = decoded(bytes)?;
    let has_alpha = image.color().has_alpha();
    let is_mask = has_alpha && image.into_rgba8().pixels().any(|pixel| pixel[3] < 255);
    Ok(match is_mask {
        true => ImageChannel::Alpha,
        false => ImageChannel::Luma,
    })
}

fn decoded(bytes: &[u8]) -> Result<DynamicImage, String> {
    let mut reader = ImageReader::new(Cursor::new(bytes))
        .with_guessed_format()
        .map_err(|error| error.to_string())?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(2 << 30);
    reader.limits(limits);
    reader.decode().map_err(|error| error.to_string())
}

fn channel((bytes, wanted): (&[u8], ImageChannel)) -> Result<GrayImage, String> {
    let image = decoded(bytes)?;
    let place = match wanted {
        ImageChannel::Luma => return Ok(image.into_luma8()),
        ImageChannel::Red => 0,
        ImageChannel::Green => 1,
        ImageChannel::Blue => 2,
        ImageChannel::Alpha => 3,
    };
    let pixels = image.into_rgba8();
    let (width, height) = pixels.dimensions();
    Ok(GrayImage::from_fn(width, height, |x, y| {
        image::Luma([pixels.get_pixel(x, y)[place]])
    }))
}

#[cfg(test)]
mod tests {
    use image::ImageFormat;

    use super::*;

    fn png(image: &GrayImage) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        image.write_to(&mut bytes, ImageFormat::Png).unwrap();
        bytes.into_inner()
    }

    #[test]
    fn images_of_two_sizes_become_one() {
        let rough = png(&GrayImage::from_pixel(4, 4, image::Luma([60])));
        let metal = png(&GrayImage::from_pixel(2, 2, image::Luma([200])));
        let (rough, metal) = (
            Some((rough.as_slice(), ImageChannel::Luma)),
            Some((metal.as_slice(), ImageChannel::Blue)),
        );
        let both = combined([None, rough, metal], None).unwrap();
        let both = image::load_from_memory(&both).unwrap().into_rgb8();
        assert_eq!(
            (both.dimensions(), both.get_pixel(3, 3).0),
            ((4, 4), [255, 60, 200])
        );
        let alone = combined([None, rough, None], rough).unwrap();
        let alone = image::load_from_memory(&alone).unwrap().into_rgba8();
        assert_eq!(alone.get_pixel(0, 0).0, [255, 60, 255, 60]);
        assert!(combined([Some((b"no image", ImageChannel::Red)), None, None], None).is_err());
    }
}
