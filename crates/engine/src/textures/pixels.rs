//! Decoded images.

/// An image as eight bits for red, green, blue and alpha.
#[derive(Debug, Clone)]
pub(super) struct Pixels {
    pub(super) width: u32,
    pub(super) height: u32,
    /// Four bytes a pixel.
    pub(super) rgba: Vec<u8>,
}

impl Pixels {
    /// Whether any pixel is not opaque.
    pub(super) fn has_alpha(&self) -> bool {
        self.rgba.chunks_exact(4).any(|pixel| pixel[3] != 255)
    }

    pub(super) fn forget_alpha(&mut self) {
        for pixel in self.rgba.chunks_exact_mut(4) {
            pixel[3] = 255;
        }
    }

    pub(super) fn flip_green(&mut self) {
        for pixel in self.rgba.chunks_exact_mut(4) {
            pixel[1] = 255 - pixel[1];
        }
    }

    /// Whether red, green and blue are the same everywhere.
    pub(super) fn is_grey(&self) -> bool {
        self.rgba
            .chunks_exact(4)
            .all(|pixel| pixel[0] == pixel[1] && pixel[1] == pixel[2])
    }
}
