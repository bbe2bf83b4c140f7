//! Converts decoded images to red, green and blue, by ITU-T H.273. Transfer functions are left as they are: glTF reads
//! the colours as sRGB.

use super::calls::Av1Frame;
use super::container::ColourDescription;

/// What a file that says nothing gets: the matrix of BT.601, and the full range.
const UNKNOWN: ColourDescription = ColourDescription {
    matrix: 2,
    is_full_range: true,
};

/// How three samples become a colour.
#[derive(Clone, Copy)]
enum Matrix {
    /// The samples are green, blue and red.
    Identity,
    /// Brightness, and the differences of green and of orange.
    Differences,
    /// Brightness, and the differences of blue and of red; the parts that red and blue have in brightness.
    Parts { red: f32, blue: f32 },
}

impl Matrix {
    fn of(number: u32) -> Result<Matrix, String> {
        let (red, blue) = match number {
            0 => return Ok(Matrix::Identity),
            8 => return Ok(Matrix::Differences),
            1 => (0.2126, 0.0722),
            4 => (0.30, 0.11),
            2 | 5 | 6 => (0.299, 0.114),
            7 => (0.212, 0.087),
            9 => (0.2627, 0.0593),
            _ => {
                return Err(format!(
                    "the colours of this AVIF file have the matrix {number}, which is not read"
                ));
            }
        };
        Ok(Matrix::Parts { red, blue })
    }

    /// Brightness is from 0 to 1; differences are from -0.5 to 0.5, unless the samples are green, blue and red.
    fn colour(self, light: f32, first: f32, second: f32) -> [f32; 3] {
        match self {
            Matrix::Identity => [second, light, first],
            Matrix::Differences => {
                let rest = light - first;
                [rest + second, light + first, rest - second]
            }
            Matrix::Parts { red, blue } => {
                let more_red = 2.0 * (1.0 - red) * second;
                let more_blue = 2.0 * (1.0 - blue) * first;
                let less_green = (red * more_red + blue * more_blue) / (1.0 - red - blue);
                [light + more_red, light - less_green, light + more_blue]
            }
        }
    }
}

/// Maps samples to numbers.
#[derive(Clone, Copy)]
struct Scale {
    zero: f32,
    one: f32,
}

impl Scale {
    fn light(bits: u32, is_full_range: bool) -> Scale {
        let step = (1 << (bits - 8)) as f32;
        match is_full_range {
            true => Scale {
                zero: 0.0,
                one: 1.0 / ((1 << bits) - 1) as f32,
            },
            false => Scale {
                zero: 16.0 * step,
                one: 1.0 / (219.0 * step),
            },
        }
    }

    fn difference(bits: u32, is_full_range: bool) -> Scale {
        let step = (1 << (bits - 8)) as f32;
        Scale {
            zero: 128.0 * step,
            one: match is_full_range {
                true => 1.0 / ((1 << bits) - 1) as f32,
                false => 1.0 / (224.0 * step),
            },
        }
    }

    fn of(self, sample: f32) -> f32 {
        (sample - self.zero) * self.one
    }
}

/// Writes red, green and blue of all pixels; `outside` is what the file says beside the AV1 data, and counts more.
pub(super) fn fill_colours(
    frame: &Av1Frame,
    outside: Option<ColourDescription>,
    rgba: &mut [u8],
) -> Result<(), String> {
    let description = outside.or(frame.description()).unwrap_or(UNKNOWN);
    let is_full = description.is_full_range;
    let light_scale = Scale::light(frame.bits(), is_full);
    let Some((across, down)) = frame.subsampling() else {
        return fill(frame, rgba, |pixel, sample| {
            pixel[..3].fill(byte(light_scale.of(f32::from(sample))));
        });
    };
    let matrix = Matrix::of(description.matrix)?;
    let scale = match matrix {
        Matrix::Identity => light_scale,
        _ => Scale::difference(frame.bits(), is_full),
    };
    let width = frame.size().0 as usize;
    for (y, pixels) in (0..).zip(rgba.chunks_exact_mut(width * 4)) {
        let light = frame.row(0, y).ok_or_else(short)?;
        let [first, second] = [1, 2].map(|plane| smooth_row(frame, plane, y, down));
        let (first, second) = (first.ok_or_else(short)?, second.ok_or_else(short)?);
        for (x, pixel) in pixels.chunks_exact_mut(4).enumerate() {
            let [one, other] = [&first, &second].map(|row| scale.of(between(row, x, across)));
            let colour = matrix.colour(light_scale.of(f32::from(light[x])), one, other);
            pixel[..3].copy_from_slice(&colour.map(byte));
        }
    }
    Ok(())
}

/// Writes alpha of all pixels: the brightness of an image of its own.
pub(super) fn fill_alpha(frame: &Av1Frame, rgba: &mut [u8]) -> Result<(), String> {
    let description = frame.description().unwrap_or(UNKNOWN);
    let scale = Scale::light(frame.bits(), description.is_full_range);
    fill(frame, rgba, |pixel, sample| {
        pixel[3] = byte(scale.of(f32::from(sample)));
    })
}

/// Writes all pixels by their brightness.
fn fill(frame: &Av1Frame, rgba: &mut [u8], write: impl Fn(&mut [u8], u16)) -> Result<(), String> {
    let width = frame.size().0 as usize;
    for (y, pixels) in (0..).zip(rgba.chunks_exact_mut(width * 4)) {
        let samples = frame.row(0, y).ok_or_else(short)?;
        for (pixel, sample) in pixels.chunks_exact_mut(4).zip(samples) {
            write(pixel, sample);
        }
    }
    Ok(())
}

/// The row of a plane that may have half as many rows; a row between two is nearer to one of them.
fn smooth_row(frame: &Av1Frame, plane: usize, y: u32, down: u32) -> Option<Vec<f32>> {
    let near = frame.row(plane, y >> down)?;
    let far = match (down, y % 2) {
        (0, _) => None,
        (_, 0) => (y >> down).checked_sub(1),
        _ => Some((y >> down) + 1),
    };
    let far = far.and_then(|row| frame.row(plane, row));
    let near = near.into_iter().map(f32::from);
    Some(match far {
        Some(far) => near
            .zip(far)
            .map(|(near, far)| 0.75 * near + 0.25 * f32::from(far))
            .collect(),
        None => near.collect(),
    })
}

/// The same along a row.
fn between(row: &[f32], x: usize, across: u32) -> f32 {
    let near = row[x >> across];
    let far = match (across, x % 2) {
        (0, _) => None,
        (_, 0) => (x >> across).checked_sub(1),
        _ => Some((x >> across) + 1),
    };
    match far.and_then(|place| row.get(place)) {
        Some(far) => 0.75 * near + 0.25 * far,
        None => near,
    }
}

fn byte(number: f32) -> u8 {
    (number * 255.0 + 0.5) as u8
}

fn short() -> String {
    "the AV1 data is damaged: rows are missing".to_owned()
}
