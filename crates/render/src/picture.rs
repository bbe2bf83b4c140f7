//! Pictures, and the settings with which they are drawn.

/// The part number of a pixel that shows the background.
pub const NO_PART: u32 = u32::MAX;

/// Size, sampling and light of pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RenderSettings {
    /// Pixels on each side.
    pub size: usize,
    /// Samples on each side of a pixel: 1 to 4.
    pub samples: usize,
    /// The sRGB colour behind the model; `None` leaves it transparent.
    pub background: Option<[u8; 3]>,
    /// Lights that make up the sky, for soft shadows on the model and on a floor below it; 0 for none. For each light
    /// the depth of the scene is drawn once.
    pub sky_lights: usize,
}

impl Default for RenderSettings {
    fn default() -> RenderSettings {
        RenderSettings {
            size: 512,
            samples: 2,
            background: Some([236, 237, 239]),
            sky_lights: 0,
        }
    }
}

/// A square picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// Pixels on each side.
    pub size: usize,
    /// sRGB with straight alpha, four bytes a pixel, the top row first.
    pub rgba: Vec<u8>,
    /// The part seen in each pixel, or [`NO_PART`].
    pub parts: Vec<u32>,
    /// The distance of the nearest solid surface in each pixel, infinite without one; empty in views from outside.
    pub depths: Vec<f32>,
}

impl Picture {
    /// The picture in half of its size: each pixel is the mean of four. It has no parts and no depths.
    pub fn halved(&self) -> Picture {
        let size = self.size / 2;
        let from = |x: usize, y: usize, channel: usize| {
            u16::from(self.rgba[4 * (y * self.size + x) + channel])
        };
        let mut rgba = Vec::with_capacity(4 * size * size);
        for y in 0..size {
            for x in 0..size {
                let corners = [(0, 0), (1, 0), (0, 1), (1, 1)];
                for channel in 0..4 {
                    let sum: u16 = corners
                        .iter()
                        .map(|(right, down)| from(2 * x + right, 2 * y + down, channel))
                        .sum();
                    rgba.push(((sum + 2) / 4) as u8);
                }
            }
        }
        Picture {
            size,
            rgba,
            parts: Vec::new(),
            depths: Vec::new(),
        }
    }
}
