//! AVIF files with one AV1 image, and alpha as a second one. They are decoded, not written.
//!
//! The description around the AV1 data is read and checked here, before the decoder sees the data.

mod boxes;
mod calls;
mod colour;
mod container;

pub(super) use container::AvifHeader;

/// Decodes to eight bits for red, green, blue and alpha.
pub(super) fn decode(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let header = AvifHeader::read(bytes)?;
    let size = (header.width, header.height);
    let max_pixels = header.width.saturating_mul(header.height);
    let decode = |parts: &[std::ops::Range<usize>]| {
        let parts: Vec<&[u8]> = parts.iter().map(|part| &bytes[part.clone()]).collect();
        let frame = calls::decode(&parts, max_pixels)?;
        if frame.size() == size {
            return Ok(frame);
        }
        Err("the image of this AVIF file has another size than the file says".to_owned())
    };
    let frame = decode(&header.colours)?;
    let mut rgba = vec![255; size.0 as usize * size.1 as usize * 4];
    colour::fill_colours(&frame, header.description, &mut rgba)?;
    drop(frame);
    if let Some(alpha) = &header.alpha {
        colour::fill_alpha(&decode(alpha)?, &mut rgba)?;
    }
    Ok(rgba)
}
