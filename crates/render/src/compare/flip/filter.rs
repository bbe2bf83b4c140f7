//! Separable convolution of one channel: a row of weights, then a column of weights.

/// One channel of a picture.
pub(super) struct Plane {
    pub(super) width: usize,
    pub(super) values: Vec<f32>,
}

impl Plane {
    /// Convolves the channel with a row kernel, then with a column kernel. Outside of the picture the border pixels are
    /// repeated.
    pub(super) fn filtered(&self, across: &[f32], down: &[f32]) -> Plane {
        let rows = self.filtered_across(across);
        Plane {
            width: self.width,
            values: rows.filtered_down(down),
        }
    }

    fn filtered_across(&self, kernel: &[f32]) -> Plane {
        let radius = kernel.len() / 2;
        let width = self.width;
        let mut values = vec![0.0; self.values.len()];
        let mut padded = vec![0.0; width + 2 * radius];
        for (row, result) in self.values.chunks(width).zip(values.chunks_mut(width)) {
            padded[..radius].fill(row[0]);
            padded[radius..radius + width].copy_from_slice(row);
            padded[radius + width..].fill(row[width - 1]);
            for (weight, shifted) in kernel.iter().zip(padded.windows(width)) {
                add_scaled(result, shifted, *weight);
            }
        }
        Plane { width, values }
    }

    fn filtered_down(&self, kernel: &[f32]) -> Vec<f32> {
        let radius = kernel.len() / 2;
        let height = self.values.len() / self.width;
        let mut values = vec![0.0; self.values.len()];
        for (y, result) in values.chunks_mut(self.width).enumerate() {
            for (tap, weight) in kernel.iter().enumerate() {
                let row = (y + tap).saturating_sub(radius).min(height - 1);
                add_scaled(
                    result,
                    &self.values[row * self.width..(row + 1) * self.width],
                    *weight,
                );
            }
        }
        values
    }
}

fn add_scaled(sums: &mut [f32], values: &[f32], weight: f32) {
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum += value * weight;
    }
}
