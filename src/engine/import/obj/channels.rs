//! Combines the roughness and metalness images of a material file into the one image that glTF uses for both.

use std::io::Cursor;

use bytes::Bytes;
use image::imageops::{FilterType, resize};
use image::{GrayImage, ImageFormat, ImageReader, RgbImage};

/// One image of roughness (green) and metalness (blue). Where one of the two has no image, its channel is 255, so that
/// the factor alone counts. Errors name what cannot be decoded.
pub(super) fn together(roughness: Option<&[u8]>, metallic: Option<&[u8]>) -> Result<Bytes, String> {
    let [roughness, metallic] = [roughness, metallic].map(|bytes| bytes.map(grey).transpose());
    let (roughness, metallic) = (roughness?, metallic?);
    let sizes = [&roughness, &metallic].map(|image| {
        let image = image.as_ref();
        image.map_or((1, 1), GrayImage::dimensions)
    });
    let (width, height) = (sizes[0].0.max(sizes[1].0), sizes[0].1.max(sizes[1].1));
    let fit = |image: Option<GrayImage>| match image {
        None => GrayImage::from_pixel(width, height, image::Luma([255])),
        Some(image) if image.dimensions() == (width, height) => image,
        Some(image) => resize(&image, width, height, FilterType::Triangle),
    };
    let (roughness, metallic) = (fit(roughness), fit(metallic));
    let both = RgbImage::from_fn(width, height, |x, y| {
        image::Rgb([
            255,
            roughness.get_pixel(x, y)[0],
            metallic.get_pixel(x, y)[0],
        ])
    });
    let mut png = Cursor::new(Vec::new());
    both.write_to(&mut png, ImageFormat::Png)
        .map_err(|error| error.to_string())?;
    Ok(png.into_inner().into())
}

fn grey(bytes: &[u8]) -> Result<GrayImage, String> {
    let reader = ImageReader::new(Cursor::new(bytes))
        .with_guessed_format()
        .map_err(|error| error.to_string())?;
    let image = reader.decode().map_err(|error| error.to_string())?;
    Ok(image.into_luma8())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(image: GrayImage) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        image.write_to(&mut bytes, ImageFormat::Png).unwrap();
        bytes.into_inner()
    }

    #[test]
    fn images_of_two_sizes_become_one() {
        let rough = png(GrayImage::from_pixel(4, 4, image::Luma([60])));
        let metal = png(GrayImage::from_pixel(2, 2, image::Luma([200])));
        let both = together(Some(&rough), Some(&metal)).unwrap();
        let both = image::load_from_memory(&both).unwrap().into_rgb8();
        assert_eq!(
            (both.dimensions(), both.get_pixel(3, 3).0),
            ((4, 4), [255, 60, 200])
        );
        let alone = together(Some(&rough), None).unwrap();
        let alone = image::load_from_memory(&alone).unwrap().into_rgb8();
        assert_eq!(alone.get_pixel(0, 0).0, [255, 60, 255]);
        assert!(together(Some(b"no image"), None).is_err());
    }
}
